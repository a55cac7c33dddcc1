"""Stored values of a trial and its figures, with one function per figure.

In: `TrialView`, the content of a result folder. Out: the description of a figure, or None if nothing can be drawn.

A function with `@figure(name, place, needs, section)` is a figure: `figures/NAME.png`, `TrialResult.plot(NAME)`, and a picture
in the given section of the report, or in a separate section. New files in this folder are registered automatically.

Read `ground.py` (gait cycle, ground reaction, whole trial), then `quality.py`. Figures over the gait cycle
need no code: an entry in library/figures/display.toml adds one (`ground.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from biodyn.conventions import SIDES, STANDARD_GRAVITY_M_S2, FloatArray, Side, with_side
from biodyn.errors import ResultError
from biodyn.library.registry import Registry
from biodyn.library.toml_files import UserFile
from biodyn.output.figures.curves import TORQUE_SD, Bands, CycleCurves, curves_by_variable, cycle_bands, display_table
from biodyn.output.figures.description import Figure
from biodyn.output.figures.style import apply_side_colors, report_setting
from biodyn.output.tables.gait import curves_of_cycles, trial_parameters
from biodyn.output.tables.table_access import table_used_once
from biodyn.variables import Norms
from biodyn.variables.norms import norms_from_record, reasons_from_record


@dataclass(frozen=True)
class ReplayView:
    """Output of `biodyn replay` in a result folder.

    Attributes:
        record: content of `replay.json`.
        drift, feedback: its tables.
        figures: PNG images by name (drift, feedback).
    """

    record: Mapping[str, Any]
    drift: pd.DataFrame
    feedback: pd.DataFrame
    figures: Mapping[str, bytes]


@dataclass(frozen=True)
class TrialView:
    """The contents of a result folder of a trial, from which figures and reports are generated.

    Attributes:
        record, tables, arrays: content of `run.json`, tables by name, arrays of `result.npz`.
        replay: output of `biodyn replay`, if any.
        user_files: the user's input files, copied into a new result.
        model_file, motion_file: .osim file of an imported model, and its estimated coordinates (.mot).
    """

    record: Mapping[str, Any]
    tables: Mapping[str, pd.DataFrame]
    arrays: Mapping[str, np.ndarray]
    replay: ReplayView | None = None
    user_files: tuple[UserFile, ...] = ()
    model_file: bytes | None = None
    motion_file: bytes | None = None

    @property
    def mass_kg(self) -> float:
        """Body mass."""
        return float(self.record["subject"]["mass_kg"])

    @property
    def weight_n(self) -> float:
        """Body weight."""
        return self.mass_kg * STANDARD_GRAVITY_M_S2

    @property
    def speed_m_s(self) -> float:
        """Mean walking speed over the cycles of both sides; NaN without a cycle."""
        return float(self.tables["spatiotemporal"]["speed_m_s"].mean())

    @cached_property
    def norms(self) -> tuple[Norms, ...]:
        """Norms that match the subject and the walking speed; empty if none matches or the activity is not walking."""
        return norms_from_record(self.record)

    @property
    def norm_reasons(self) -> tuple[str, ...]:
        """Sentences that justify the choice of norms."""
        return reasons_from_record(self.record)

    @property
    def is_walking(self) -> bool:
        """True if the activity is walking."""
        return bool(self.record["activity"]["kind"] == "walking")

    @property
    def sides(self) -> tuple[Side, ...]:
        """Sides with ground reaction columns; an imported model may have no identified foot."""
        return tuple(side for side in SIDES if f"measured_{side}" in self.tables["ground_reaction"])

    def coordinate(self, variable: str, side: str) -> tuple[str, float]:
        """Return the coordinate of a variable and side ("" for midline), and the factor to the sign of the variable."""
        for name, entry in self.record["model"].get("variables", {}).items():
            if entry["variable"] == variable and entry["side"] == side:
                return str(name), float(entry["sign"])
        return with_side(variable, side), 1.0

    @cached_property
    def curves_of_cycles(self) -> tuple[pd.DataFrame, FloatArray]:
        """First row of each curve of the table of gait cycles, and the values (n, 101) of all curves."""
        return curves_of_cycles(table_used_once(self.tables, "gait_cycles"))

    @cached_property
    def curves(self) -> dict[str, dict[str, CycleCurves]]:
        """Gait cycles by variable and side, in clinical signs."""
        return curves_by_variable(*self.curves_of_cycles)

    @cached_property
    def bands(self) -> Bands:
        """One standard deviation of torques and powers from input errors, by variable and side; empty if not computed."""
        if "joint_torques_sd" not in self.tables:
            return {}
        table = table_used_once(self.tables, "joint_torques_sd")
        for name, entry in self.record["model"].get("variables", {}).items():
            column = f"{entry['variable']}_{entry['side']}" if entry["side"] else entry["variable"]
            table = table.rename(columns={f"{name}{TORQUE_SD}": f"{column}{TORQUE_SD}"})
        tables = [table]
        if "joint_powers_sd" in self.tables:
            tables.append(table_used_once(self.tables, "joint_powers_sd"))
        bands = [cycle_bands(each, self.tables["spatiotemporal"], self.mass_kg, self.curves) for each in tables]
        return {variable: of_sides for each in bands for variable, of_sides in each.items()}

    @cached_property
    def parameter_sd(self) -> dict[tuple[str, str], float]:
        """Mean change of each windowed parameter of each side if its curve changes by one standard deviation of `bands`.

        Exact for an error of one sign over the window, an upper bound for others.
        """
        heads, values = self.curves_of_cycles
        has_band = heads["variable"].isin(list(self.bands)).to_numpy()
        heads, changed = heads[has_band], values[has_band]
        keys = zip(heads["variable"].astype(str), heads["side"].astype(str), strict=True)
        for row, (name, side) in enumerate(keys):
            changed[row] += self.bands.get(name, {}).get(side, 0.0)
        shifted = trial_parameters(heads, changed, self.tables["spatiotemporal"])
        merged = self.parameters.merge(shifted, on=["parameter", "side", "cycle"], suffixes=("", "_shifted"))
        merged["sd"] = (merged["value_shifted"] - merged["value"]).abs()
        return dict(merged.groupby(["parameter", "side"])["sd"].mean())  # by parameter and side

    @cached_property
    def parameters(self) -> pd.DataFrame:
        """Windowed parameters of every cycle, tidy (`output.tables.gait.trial_parameters`)."""
        return trial_parameters(*self.curves_of_cycles, self.tables["spatiotemporal"])

    @cached_property
    def foot_off_percent(self) -> dict[str, float]:
        """Mean foot off of each side in per cent of the cycle; NaN where unknown."""
        table = self.tables["spatiotemporal"]
        sides = table["side"].astype(str)
        return {side: float(table.loc[sides == side, "stance_percent"].mean()) for side in SIDES}

    @cached_property
    def figures(self) -> dict[str, Figure]:
        """Descriptions of all figures by name, in the order of the report."""
        return trial_figures(self)

    def figures_svg(self) -> dict[str, Markup]:
        """Return the figures of the report as SVG, followed by the images of a replay.

        Figures over the gait cycle are omitted: the report shows the standard grid and further panels instead.
        """
        from biodyn.output.figures.svg import image_markup, render_svg

        images = {} if self.replay is None else self.replay.figures
        in_grid = {figure["name"] for figure in display_table()["figure"]} if self.curves else set()
        drawn = {name: render_svg(figure) for name, figure in self.figures.items() if name not in in_grid}
        return drawn | {
            f"replay_{name}": image_markup(image, f"Forward replay, {name}") for name, image in images.items()
        }

    def figures_png(self) -> dict[str, bytes]:
        """Return all figures as PNG."""
        from biodyn.output.figures.png import render_png

        colors = report_setting(self.record, "colors")
        return {name: render_png(apply_side_colors(figure, colors)) for name, figure in self.figures.items()}


Describe = Callable[[TrialView], Figure | None]


#: A figure of a trial: its function, the tables it requires, and its section of the report ("" for a section of its own).
TrialFigure = tuple[Describe, Sequence[str], str]
#: All figures of a trial.
FIGURES: Registry[TrialFigure] = Registry("biodyn.output.figures.trial", "figure", ResultError)


def figure(name: str, place: float, needs: Sequence[str] = (), section: str = "") -> Callable[[Describe], Describe]:
    """Register a figure: name, position in the order, required tables, section of the report."""

    def register(describe: Describe) -> Describe:
        FIGURES.add(name, (describe, needs, section), place)
        return describe

    return register


def trial_figures(view: TrialView) -> dict[str, Figure]:
    """Describe every available figure of a trial, by name, in order."""
    figures = {}
    for name, (describe, needs, _) in FIGURES.items():
        described = describe(view) if all(table in view.tables for table in needs) else None
        if described is not None:
            figures[name] = described
    return figures


def group_by_section(names: Iterable[str]) -> dict[str, list[str]]:
    """Group figure names by section of the report; "" holds figures with a section of their own."""
    sections: dict[str, list[str]] = {}
    for name in names:
        *_, section = FIGURES[name]
        sections.setdefault(section, []).append(name)
    return sections
