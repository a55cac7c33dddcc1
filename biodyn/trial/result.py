"""The result of a trial for use in Python: tables, figures, and a folder on disk."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from biodyn.analysis import TrialAnalysis
from biodyn.checks import add_verdict, check_recording
from biodyn.conventions import SIDE_NAMES
from biodyn.diagnostics import STATUS_WORDS, Diagnostic, Status, Verdict
from biodyn.errors import ResultError
from biodyn.output.report.formatted_parameters import peak_lines
from biodyn.output.report.plotting import PlottableResult
from biodyn.output.store.folder import write_folder
from biodyn.output.store.result_reader import StoredResult
from biodyn.output.store.result_writer import Progress, write_manifest, write_pdf_report, write_report, write_view
from biodyn.output.tables import TABLES, trial_tables
from biodyn.output.tables.table_access import CoordinateVariables
from biodyn.trial.stage_timing import StepClock

if TYPE_CHECKING:
    import pandas as pd

    from biodyn.output.figures.trial import TrialView
    from biodyn.processing.signals.signal_preparation import TrialSignals
    from biodyn.trial.export import Export


class ExportableResult(PlottableResult):
    """A result of a trial, fresh or loaded, that can be exported for other programs."""

    def export(self, to: str, folder: str | Path | None = None, *, convention: str = "", force: bool = False) -> Export:
        """Export the result for another program (opensim, c3d, mat, xlsx); see `biodyn.trial.export.export`.

        folder: target folder; None = next to the result folder.
        """
        from biodyn.trial.export import export

        return export(self, to, folder, convention=convention, force=force)


class LoadedResult(StoredResult, ExportableResult):
    """The result of a trial loaded from its folder, of this or an older version."""


_LOOKED_AT = 3  # number of causes shown with a hint
_WORD_WIDTH = max(len(word) for word in STATUS_WORDS.values())


def _method_lines(signals: TrialSignals, points: str) -> list[str]:
    """Return lines on the smoothing method and its filter."""
    method = signals.method
    words = f"{method.description}{f' ({method.reason})' if method.reason else ''}"
    before = "Filter before the estimate" if method.is_estimate else "Filter"
    return [f"Method: {words}", f"{before}: {signals.filter_text(points)}"]


@dataclass(frozen=True, repr=False)
class TrialResult(ExportableResult):
    """Tables, figures and files of one analysed walk; `analysis` holds all numbers.

    Every table is an attribute (`result.joint_torques`); `tables` lists them. `folder`: folder of the last save, None before. A
    result of `biodyn.load` has the same attributes except `analysis`.
    """

    analysis: TrialAnalysis
    folder: Path | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        self._lazy_tables.keys()  # listed now: whether there is EMG is read from the recording

    @cached_property
    def _lazy_tables(self) -> Mapping[str, pd.DataFrame]:
        return trial_tables(self.analysis)

    def _read_table(self, name: str) -> pd.DataFrame:
        """Return a table by name; if it is missing, ResultError lists the tables or states how to request this one."""
        if name not in self._lazy_tables:
            request = TABLES[name].request if name in TABLES else ""
            raise ResultError(
                f"The result has no table '{name}'.", request or f"Valid names: {', '.join(self._lazy_tables)}."
            )
        return self._lazy_tables[name]

    def _table_attributes(self) -> Collection[str]:
        return TABLES

    def _coordinate_variables(self) -> CoordinateVariables:
        return {} if self.analysis.imported is None else self.view.record["model"].get("variables", {})

    @cached_property
    def view(self) -> TrialView:
        """Return record, tables and arrays, the contents of a result folder."""
        from biodyn.output.store.result_writer import trial_view

        return trial_view(self._checked_analysis, self._lazy_tables)

    @property
    def record(self) -> Mapping[str, Any]:
        """Return the values of `run.json`."""
        return self.view.record

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Return all findings."""
        return self.analysis.diagnostics

    @property
    def verdict(self) -> Verdict:
        """Return the verdict (pass, warn, fail or not assessed) with the checks and its causes."""
        verdict = self._checked_analysis.verdict
        assert verdict is not None
        return verdict

    @cached_property
    def _checked_analysis(self) -> TrialAnalysis:
        return self.analysis if self.analysis.verdict is not None else add_verdict(check_recording(self.analysis))

    def save(
        self,
        folder: str | Path,
        force: bool = False,
        progress: Progress | None = None,
        *,
        pdf: bool = False,
        head: str | Path | None = None,
    ) -> Path:
        """Write the result folder, completely or not at all, and return its path.

        An existing result is replaced only with `force`, and only if all its files were written by biodyn; ResultError
        otherwise. `pdf`: whether to write report.pdf; `head`: TOML file with the letterhead of the laboratory
        (docs/results.md).
        """
        from biodyn.output.report.pdf_report import requested_letterhead

        target, above = Path(folder), requested_letterhead(pdf, head)
        output = self.analysis.settings.output
        pack = output.is_packed(float(np.ptp(self.analysis.time_s)))
        clock = StepClock(progress)
        with write_folder(target, force) as place:
            with clock.time_step("tables", "writing tables"):
                write_view(self.view, place, pack)
            if output.figures:
                with clock.time_step("figures", "drawing figures"):
                    write_report(self.view, place, figures=True, report=False)
            if output.report:
                with clock.time_step("report", "writing the report"):
                    write_report(self.view, place, figures=False, report=True)
            if above is not None:
                with clock.time_step("pdf", "writing the PDF"):
                    write_pdf_report(self.view, place, above)
            write_manifest(place, clock.seconds, pack)
        object.__setattr__(self, "folder", target)  # the only mutable attribute of a result
        return target

    def status_lines(self) -> list[tuple[str, Status | None]]:
        """Return lines for the screen, with the status of the verdict and of checks.

        They contain the verdict, hints, parameters, inputs and checks.
        """
        verdict = self.verdict
        checks = [(f"{STATUS_WORDS[c.status]:<{_WORD_WIDTH}} {c.title}: {c.text}", c.status) for c in verdict.checks]
        hints = dict.fromkeys((cause.title, cause.hint) for cause in verdict.ordered_causes if cause.hint)
        first: list[tuple[str, Status | None]] = [(f"{verdict.sentence}.", verdict.status)]
        looked = [f"To check: {title}: {hint}" for title, hint in list(hints)[:_LOOKED_AT]]
        plain = [*looked, *peak_lines(self.view), *self._input_lines()]
        return [*first, *((text, None) for text in plain), *checks]

    def _input_lines(self) -> list[str]:
        """Return lines on the inputs of the analysis."""
        a = self.analysis
        who = a.subject
        points, misfit = "poses" if a.recording.uses_poses else "markers", a.pose_misfit
        seen = f"{len(a.model.markers)} markers" if misfit is None else f"poses of {len(misfit.labels)} segments"
        return [
            a.static.sentence,
            f"Subject: {who.mass_kg:.1f} kg ({who.mass_source}), {who.height_m:.2f} m ({who.height_source}), "
            f"{seen} of {a.mapping.title}",
            f"Activity: {a.activity.kind}: {a.activity.reason}",
            *([] if a.propagation is None else _method_lines(a.propagation.signals, points)),
            *(
                f"Plate {c.plate}, {c.start_s:.2f}-{c.end_s:.2f} s: {SIDE_NAMES[c.side] if c.side else 'no'} foot, "
                f"{c.decision}: {c.reason}"
                for c in a.contacts
            ),
        ]
