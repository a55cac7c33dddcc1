"""The result of a trial as people use it from Python: tables, figures, a folder on disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from biodyn.analysis import TrialAnalysis
from biodyn.checks import judge
from biodyn.conventions import SIDE_NAMES
from biodyn.diagnostics import STATUS_WORDS, Diagnostic, Verdict
from biodyn.errors import ResultError
from biodyn.output.store.replacing import writing
from biodyn.output.store.write import seal, write_report, write_view
from biodyn.output.tables import ON_REQUEST, tables_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from biodyn.output.report.view import TrialView

Progress = Callable[[str], None]
_WORD_WIDTH = max(len(word) for word in STATUS_WORDS.values())


@dataclass(frozen=True)
class TrialResult:
    """Tables, figures and files of one analysed walk; `analysis` holds every number behind them."""

    analysis: TrialAnalysis
    _tables: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def table(self, name: str) -> pd.DataFrame:
        """Return a table by name (`tables.TABLES`), made when first asked for."""
        makers = tables_of(self.analysis)
        if name not in makers:
            raise ResultError(f"There is no table '{name}'.", ON_REQUEST.get(name, f"There are {', '.join(makers)}."))
        if name not in self._tables:
            self._tables[name] = makers[name](self.analysis)
        return self._tables[name]

    @property
    def joint_angles(self) -> pd.DataFrame:
        """Angle of every coordinate through time, deg."""
        return self.table("joint_angles")

    @property
    def joint_torques(self) -> pd.DataFrame:
        """Torque of every coordinate (Nm) and the base residual through time."""
        return self.table("joint_torques")

    @property
    def joint_torque_parts(self) -> pd.DataFrame:
        """Gravity, inertia, velocity and ground-reaction part of every joint torque, tidy."""
        return self.table("joint_torque_parts")

    @property
    def joint_torques_sd(self) -> pd.DataFrame:
        """One standard deviation of every torque, together and by source of error, Nm; only where bands were computed."""
        return self.table("joint_torques_sd")

    @property
    def sensitivity(self) -> pd.DataFrame:
        """Mean moment curves with other choices, tidy; only of `vary_trial`."""
        return self.table("sensitivity")

    @property
    def sensitivity_summary(self) -> pd.DataFrame:
        """Change of every moment curve with other choices; only of `vary_trial`."""
        return self.table("sensitivity_summary")

    @property
    def joint_moments(self) -> pd.DataFrame:
        """Net moment and force at every joint centre in three frames, tidy."""
        return self.table("joint_moments")

    @property
    def joint_powers(self) -> pd.DataFrame:
        """Power of every joint through time, W."""
        return self.table("joint_powers")

    @property
    def ground_reaction(self) -> pd.DataFrame:
        """Force, centre of pressure and free moment of each foot through time, World."""
        return self.table("ground_reaction")

    @property
    def marker_errors(self) -> pd.DataFrame:
        """Distance of every marker from its place on the skeleton, m."""
        return self.table("marker_errors")

    @property
    def events(self) -> pd.DataFrame:
        """Foot strikes and foot offs."""
        return self.table("events")

    @property
    def contacts(self) -> pd.DataFrame:
        """Every loading of a plate, whose foot it was and why."""
        return self.table("contacts")

    @property
    def gait_cycles(self) -> pd.DataFrame:
        """Every variable over 0-100 % of each cycle, tidy."""
        return self.table("gait_cycles")

    @property
    def spatiotemporal(self) -> pd.DataFrame:
        """Times, lengths and speeds of the steps."""
        return self.table("spatiotemporal")

    @cached_property
    def view(self) -> TrialView:
        """Record, tables and arrays: what a result folder keeps."""
        from biodyn.output.report.record import result_arrays, run_record
        from biodyn.output.report.view import TrialView

        tables = {name: self.table(name) for name in tables_of(self.analysis)}
        arrays = result_arrays(self.analysis)
        return TrialView(run_record(self._judged), tables, arrays, None, self.analysis.user_files)

    @property
    def record(self) -> Mapping[str, Any]:
        """The values of `run.json`."""
        return self.view.record

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Everything noticed on the way."""
        return self.analysis.diagnostics

    @property
    def failed(self) -> bool:
        """True if a check failed or a finding is an error: the numbers must not be used before its cause is mended."""
        return self.verdict.status == "fail"

    @property
    def verdict(self) -> Verdict:
        """Pass, warn, fail or not assessed, with the checks and what decided."""
        verdict = self._judged.verdict
        assert verdict is not None
        return verdict

    @cached_property
    def _judged(self) -> TrialAnalysis:
        return self.analysis if self.analysis.verdict is not None else judge(self.analysis)

    def plot(self, name: str) -> Figure:
        """Return a figure by name; ResultError names those there are."""
        from biodyn.output.figures.matplotlib_backend import draw

        figures = self.view.figures
        if name not in figures:
            raise ResultError(f"There is no figure '{name}'.", f"There are {', '.join(figures)}.")
        return draw(figures[name])

    def save(self, folder: str | Path, force: bool = False, progress: Progress | None = None) -> Path:
        """Write the result folder, all or nothing, and return its path.

        An existing result is replaced only with `force`, and only where it holds nothing but what biodyn wrote;
        ResultError otherwise.
        """
        target = Path(folder)
        output = self.analysis.settings.output
        with writing(target, force) as place:
            if progress is not None:
                progress("writing tables")
            write_view(self.view, place)
            write_report(
                self.view, place, figures=output.figures, report=output.report, dpi=output.figure_dpi, progress=progress
            )
            seal(place)
        return target

    def summary(self) -> list[str]:
        """Plain lines for the console: the verdict, what was used, and what the checks say."""
        a = self.analysis
        who = a.subject
        return [
            f"{self.verdict.sentence}.",
            f"{a.static.path.name} is used as the static trial: {a.static.reason}.",
            f"Subject: {who.mass_kg:.1f} kg ({who.mass_source}), {who.height_m:.2f} m ({who.height_source}), "
            f"{len(a.model.markers)} markers of {a.mapping.title}",
            *(
                f"Plate {c.plate}, {c.start_s:.2f}-{c.end_s:.2f} s: {SIDE_NAMES[c.side] if c.side else 'no'} foot, "
                f"{c.decision}: {c.reason}"
                for c in a.contacts
            ),
            *(f"{STATUS_WORDS[c.status]:<{_WORD_WIDTH}} {c.title}: {c.text}" for c in self.verdict.checks),
        ]
