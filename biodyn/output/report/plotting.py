"""Figures of a result in Python and notebooks, by name or by variable, and overlays of several results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from markupsafe import Markup, escape

from biodyn.conventions import SIDE_NAMES, SIDES
from biodyn.diagnostics import Check, Verdict
from biodyn.errors import ResultError
from biodyn.library.toml_files import suggest_name
from biodyn.output.figures.curves import (
    COLUMNS,
    MEAN,
    CycleCurves,
    break_curve,
    cycle_figure,
    cycle_panel,
    lowest_panel_labels,
    norm_keys,
    norm_layer,
    percent_axis,
    sort_bands_first,
    value_axis,
)
from biodyn.output.figures.description import Area, Figure, Key, Layer, Line, Panel, Rule
from biodyn.output.figures.style import LEVEL_COLORS, apply_side_colors, report_setting
from biodyn.output.figures.svg import render_svg, standard_page_variables
from biodyn.output.tables.table_access import CLINICAL, COORDINATES, Signs, TableAttributes, require_signs
from biodyn.variables import PERCENT, NormCurve, Norms, choose_norms, is_known_variable, load_norms, variable
from biodyn.variables.cycle_parameters import nan_statistics
from biodyn.variables.gait_variables import variable_name_hint
from biodyn.variables.norms import read_covariates

if TYPE_CHECKING:
    import pandas as pd

    from biodyn.output.figures.matplotlib_backend import Axes, NotebookFigure
    from biodyn.output.figures.trial import TrialView


_CYCLE_KEYS = ("subject", "session", "condition", "group", "trial", "side", "cycle")


class VariableNames(tuple[str, ...]):
    """Names of variables, which are also attributes."""

    def __getattr__(self, name: str) -> str:
        if name not in self:
            raise AttributeError(f"'{name}' is not a variable. {variable_name_hint(name, self)}")
        return name

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]


class PlottableResult(TableAttributes):
    """A result with figures: `plot` in Python, a short page in a notebook. `folder`: its folder, None before it is saved."""

    folder: Path | None

    @property
    def view(self) -> TrialView:
        """Record, tables and arrays of the result."""
        raise NotImplementedError

    @property
    def verdict(self) -> Verdict:
        """Pass, warn, fail or not assessed, with the checks and the causes."""
        raise NotImplementedError

    @property
    def name(self) -> str:
        """Name of the file of the walk."""
        return str(self.view.record.get("input", {}).get("file", ""))

    @property
    def version(self) -> str:
        """Version of biodyn that wrote the result."""
        return str((self.view.record.get("versions") or {}).get("biodyn", "unknown"))

    @property
    def table_names(self) -> tuple[str, ...]:
        """Names of the tables."""
        return tuple(self.tables)

    @property
    def failed(self) -> bool:
        """True if a check failed or a finding is an error: do not use the numbers before its cause is corrected."""
        return self.verdict.status == "fail"

    @property
    def checks(self) -> tuple[Check, ...]:
        """The checks of the verdict."""
        return self.verdict.checks

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings of the analysis, as in `run.json`."""
        return dict(self.view.record["settings"])

    @property
    def parameters(self) -> pd.DataFrame:
        """Windowed parameters, one row per cycle and one column per parameter; `attrs["units"]` by column.

        Rows by side and cycle, in a session or study by subject, session, condition, group and trial before these.

        Definitions: `library/study/parameters.toml`. In clinical signs; NaN where the window was not measured.
        """
        tidy = self._parameter_rows
        wide = tidy.pivot(index=[key for key in _CYCLE_KEYS if key in tidy], columns="parameter", values="value")
        wide = wide.reindex(columns=list(dict.fromkeys(tidy["parameter"]))).rename_axis(columns=None)
        units = tidy.drop_duplicates("parameter").set_index("parameter")
        wide.attrs.update(units=units["unit"].to_dict(), about=units["title"].to_dict())
        return wide

    def summary(self) -> pd.DataFrame:
        """Return mean and standard deviation over the cycles of each windowed parameter by side, one row per parameter.

        In a study of several subjects over the means of the subjects.
        """
        tidy = self._parameter_rows
        if "subject" in tidy and tidy["subject"].nunique() > 1:
            tidy = tidy.groupby(["title", "unit", "subject", "side"], sort=False)["value"].mean().reset_index()
        table = tidy.assign(side=tidy["side"].map(SIDE_NAMES)).pivot_table(
            index=["title", "unit"], columns="side", values="value", aggfunc=["mean", "std", "count"], sort=False
        )
        whats, sides = (table.columns.get_level_values(level) for level in (0, 1))
        table.columns = [side if what == "mean" else f"{side}_{what}" for what, side in zip(whats, sides, strict=True)]
        return table.reset_index("unit").rename_axis("parameter")

    @property
    def _parameter_rows(self) -> pd.DataFrame:
        """The windowed parameters, one row each: parameter, title, unit, value, side, cycle."""
        return self.view.parameters

    def __repr__(self) -> str:
        file = self.name or "a walk"
        return f"<biodyn {self.version} result of {file}: {self.verdict.status}, {len(self.tables)} tables>"

    @property
    def variables(self) -> VariableNames:
        """Names of the variables of the gait cycles, also as attributes for tab completion: `variables.knee_angle`."""
        return VariableNames(self.view.curves)

    @overload
    def plot(
        self, *names: str, norms: str | None = ..., band: bool = ..., signs: Signs = ..., ax: None = ...
    ) -> NotebookFigure: ...
    @overload
    def plot(self, *names: str, norms: str | None = ..., band: bool = ..., signs: Signs = ..., ax: Axes) -> Axes: ...
    def plot(
        self,
        *names: str,
        norms: str | None = "auto",
        band: bool = True,
        signs: Signs = CLINICAL,
        ax: Axes | None = None,
    ) -> NotebookFigure | Axes:
        """Return a matplotlib Figure: a figure of the report by name, or the gait cycles of variables.

        Parameters:
            names: none for the panels of the report's standard page; "joint_torques"; or variables of the table
                `gait_cycles`, one panel each: "knee_angle", "hip_flexion_moment".
            norms: norms behind variables: a name or TOML file, "auto" (norms of the report) or None.
            band: whether to draw one standard deviation of the input errors around the mean, if computed.
            signs: of variables: "clinical" as in the report, the same for both sides, or "coordinates" as in the tables.
                With the latter, variables with opposite signs on both sides have no norms.
            ax: matplotlib Axes for one variable; they are returned, and `ax.legend()` shows the legend.

        Raises ResultError for an unknown name.
        """
        require_signs(signs)
        if not names:
            names = (
                tuple(name for name in standard_page_variables() if name in self.view.curves)
                or tuple(self.view.figures)[:1]
            )
        if len(names) == 1 and names[0] in self.view.figures:
            if ax is not None or signs != CLINICAL:
                raise ResultError(
                    f"'{names[0]}' is a figure of the report with its own axes and signs.",
                    f"ax and signs apply to variables: {', '.join(self.variables[:6])}, ...",
                )
            return _draw_figure(self._colored(self.view.figures[names[0]]), None)
        figure = self._colored(self._cycle_figure(names, norms, band, signs))
        if ax is not None and len(names) != 1:
            raise ResultError(f"Axes take one variable, not {len(names)}.", "Draw each variable into separate axes.")
        return _draw_figure(figure, ax)

    def cycles(self, *names: str, side: str | None = None, signs: Signs = COORDINATES) -> pd.DataFrame:
        """Return the gait cycles of variables as a tidy table, in the signs of the table `gait_cycles`.

        Columns: cycle, side, percent, variable, value, unit; one row per point of a cycle, NaN if not valid. `attrs`: `units`
        and the meaning of `positive` values, by variable, and `signs`.

        Parameters: `names` of variables, none for all; `side` "right" ("r") or "left" ("l"), None for both; `signs`:
        "clinical" for those of the figures.
        Raises ResultError for an unknown name.
        """
        table = self.table("gait_cycles", signs)
        variables = list(dict.fromkeys(table["variable"].astype(str)))
        for name in names:
            if name not in variables:
                raise ResultError(
                    f"'{name}' is not a variable of the gait cycles.", variable_name_hint(name, variables)
                )
        selected = names or variables
        rows = table["variable"].isin(selected) & table["side"].isin(side_list(side))
        cycles = table[rows].reset_index(drop=True)
        # new dictionaries: older pandas shares the attrs of the whole table
        for key in ("units", "positive"):
            omitted = set(variables) - set(selected)
            cycles.attrs[key] = {name: words for name, words in cycles.attrs[key].items() if name not in omitted}
        return cycles

    def cycle_curves(self, signs: Signs) -> Mapping[str, Mapping[str, CycleCurves]]:
        """Return the gait cycles by variable and side, in a sign convention."""
        if signs == CLINICAL:
            return self.view.curves
        return {
            name: {
                side: replace(
                    curves, values=curves.values * variable(name).clinical_factor(side)
                )  # signs are their own inverse
                for side, curves in sides.items()
            }
            for name, sides in self.view.curves.items()
        }

    def _cycle_figure(self, names: tuple[str, ...], norms: str | None, band: bool, signs: Signs = CLINICAL) -> Figure:
        view = self.view
        for name in names or ("",):
            if name in view.figures and name not in view.curves:
                raise ResultError(
                    f"'{name}' is a figure of the report, which cannot be combined with others.",
                    f"Variables can be combined: {', '.join(self.variables[:6])}, ...",
                )
            if name not in view.curves:
                known = [*view.figures, *view.curves]
                raise ResultError(f"'{name}' is neither a figure nor a variable.", variable_name_hint(str(name), known))
        shown_norms = self.background_norms(norms, signs)
        title = ", ".join(variable(name).title for name in names)
        errors = view.bands if band else {}
        figure = cycle_figure(title, view.curves, names, view.foot_off_percent, shown_norms, errors)
        if signs == CLINICAL:
            return figure
        curves = self.cycle_curves(signs)
        panels = [
            cycle_panel(
                variable(name).with_table_signs(),
                curves[name],
                view.foot_off_percent,
                shown_norms,
                panel.x.label,
                errors.get(name),
            )
            for name, panel in zip(names, figure.panels, strict=True)
            if panel is not None
        ]
        return replace(figure, panels=tuple(panels))

    def _colored(self, figure: Figure) -> Figure:
        """Return a figure in the colours of the setting [report] colors."""
        colored: Figure = apply_side_colors(figure, report_setting({"settings": self.settings}, "colors"))
        return colored

    def background_norms(self, name: str | None, signs: Signs) -> tuple[Norms, ...]:
        """Return the norms of the report ("auto"), none, or norms by name at the speed of this walk, if they depend on it.

        In signs of the coordinates, curves with opposite signs on both sides are omitted.
        """
        if name is None or name == "none":
            return ()
        if not isinstance(name, str):
            raise ResultError(f"norms must be a name, not {name!r}.", 'Use "auto", None, or the name or file of norms.')
        view, norms = self.view, self.view.norms
        if name != "auto":
            norms = choose_norms(name, read_covariates(view.record, view.speed_m_s)).norms or (load_norms(name),)
        if signs == CLINICAL:
            return tuple(norms)
        return tuple(
            replace(group, curves={key: curve for key, curve in group.curves.items() if not variable(key).mirrored})
            for group in norms
        )

    def _repr_html_(self) -> str:
        """Return verdict, subject, the first causes of the verdict, and sagittal motion and moments of the leg."""
        angles = ("hip_flexion", "knee_angle", "ankle_angle")
        names = (*angles, *(f"{angle}_moment" for angle in angles))
        names = tuple(name for name in names if is_known_variable(name) and name in self.view.curves)
        figure = render_svg(self._colored(self._cycle_figure(names, "auto", True))) if names else Markup()
        heading, lines = self._html_lines()
        rows = "".join(f"<br>{escape(line)}" for line in lines)
        return f'<div style="max-width:60em"><p><b>{escape(heading)}</b>{rows}</p>{figure}</div>'

    def _html_lines(self) -> tuple[str, list[str]]:
        """Return heading and further lines for a notebook."""
        record = self.view.record
        subject = record.get("subject", {})
        lines = []
        mass, height = subject.get("mass_kg"), subject.get("height_m")
        if mass and height:
            lines.append(f"{mass:.1f} kg, {height:.2f} m, {record.get('activity', {}).get('kind', '')}".rstrip(", "))
        causes = [check for check in record.get("checks") or () if check["status"] in ("fail", "warn")]
        lines += [f"{check['status']}: {check['title']}: {check['text']}" for check in causes[:3]]
        return f"{record.get('input', {}).get('file', 'a walk')}: {record.get('verdict') or 'no verdict'}", lines


def _draw_figure(figure: Figure, ax: Axes | None) -> NotebookFigure | Axes:
    from biodyn.output.figures.matplotlib_backend import draw_into_axes, draw_with_matplotlib

    return draw_with_matplotlib(figure) if ax is None else draw_into_axes(ax, figure)


def side_list(side: str | None) -> tuple[str, ...]:
    """Return the sides of "right" ("r"), "left" ("l") or None for both. Raises ResultError for another word."""
    given: dict[str, str] = {name: side for side in SIDES for name in (side, SIDE_NAMES[side])}
    if side is not None and side not in given:
        raise ResultError(f"'{side}' is not a side.", f"Use {' or '.join(SIDE_NAMES[key] for key in SIDES)}.")
    return SIDES if side is None else (given[side],)


@overload
def overlay(
    results: Sequence[PlottableResult],
    *names: str,
    labels: Sequence[str] | None = ...,
    side: str | None = ...,
    norms: str | None = ...,
    signs: Signs = ...,
    ax: None = ...,
) -> NotebookFigure: ...
@overload
def overlay(
    results: Sequence[PlottableResult],
    *names: str,
    labels: Sequence[str] | None = ...,
    side: str | None = ...,
    norms: str | None = ...,
    signs: Signs = ...,
    ax: Axes,
) -> Axes: ...
def overlay(
    results: Sequence[PlottableResult],
    *names: str,
    labels: Sequence[str] | None = None,
    side: str | None = None,
    norms: str | None = "auto",
    signs: Signs = CLINICAL,
    ax: Axes | None = None,
) -> NotebookFigure | Axes:
    """Draw the mean of the cycles of several results with standard deviation, one panel per variable and side.

    Parameters:
        results: of `run_trial`, `load` and the like, at most six. labels: their names, by default the names of their files.
        names: variables of the table `gait_cycles`: "knee_angle", "hip_flexion_moment".
        side: "right" or "left"; by default both.
        norms: a name or TOML file, "auto" (norms of the reports) or None. Only norms that all results share are drawn: they may
            depend on the speed.
        signs: see `PlottableResult.plot`.
        ax: matplotlib Axes for one variable and one side; they are returned.

    The number of cycles is given above each panel, in the order of the legend. Raises ResultError for a name that no result
    has, and for more than six results.
    """
    require_signs(signs)
    labelled = _results_by_label(results, labels)
    sides = side_list(side)
    curves = {label: result.cycle_curves(signs) for label, result in labelled.items()}
    known = list(dict.fromkeys(name for by_name in curves.values() for name in by_name))
    for name in names or ("",):
        if name not in known:
            raise ResultError(f"No result has cycles of a variable '{name}'.", suggest_name(name, known))
    if ax is not None and len(names) * len(sides) != 1:
        raise ResultError("Axes take one variable of one side.", "Use side='r' or 'l', or draw without ax.")
    first, *others = [result.background_norms(norms, signs) for result in labelled.values()]
    shared = [
        group for group in first if all(any(_are_same_norms(group, o, names) for o in theirs) for theirs in others)
    ]
    columns = len(sides) if len(sides) > 1 else min(COLUMNS, len(names))
    places = [(name, side) for name in names for side in sides]
    panels = []
    for (name, on_side), label in zip(places, lowest_panel_labels("gait cycle (%)", len(places), columns), strict=True):
        known_norms = [group.curves[name] for group in shared if name in group.curves]
        drawn = [(by_name.get(name, {}).get(on_side), labelled[key].view) for key, by_name in curves.items()]
        panels.append(_overlay_panel(name, on_side, drawn, known_norms, signs, label))
    keys = [Key(label, color, width=MEAN) for label, color in zip(labelled, LEVEL_COLORS, strict=False)]
    if any(isinstance(layer, Area) and layer.color in LEVEL_COLORS for panel in panels for layer in panel.layers):
        keys.append(Key("standard deviation of the cycles", LEVEL_COLORS[0], "area", opacity=0.3))
    keys += norm_keys(names, shared)
    title = ", ".join(variable(name).title for name in names)
    return _draw_figure(Figure(title, tuple(panels), tuple(keys), columns), ax)


def _results_by_label(results: Sequence[PlottableResult], labels: Sequence[str] | None) -> dict[str, PlottableResult]:
    """Return the results by label; equal labels are numbered."""
    if isinstance(results, PlottableResult):
        results = [results]
    if not 1 <= len(results) <= len(LEVEL_COLORS):
        raise ResultError(
            f"{len(results)} results cannot be distinguished in one figure.", f"Use 1 to {len(LEVEL_COLORS)} results."
        )
    if labels is not None and len(labels) != len(results):
        raise ResultError(f"There are {len(labels)} labels for {len(results)} results.")
    labelled: dict[str, PlottableResult] = {}
    for i, result in enumerate(results):
        if not isinstance(result, PlottableResult):
            raise ResultError(f"{type(result).__name__} is not a result of a walk.", "Open a result with biodyn.load.")
        stem = str(result.view.record.get("input", {}).get("file", "result")).rpartition(".")
        label = str(labels[i]) if labels is not None else stem[0] or stem[2]
        number, unique = 1, label
        while unique in labelled:
            number += 1
            unique = f"{label} ({number})"
        labelled[unique] = result
    return labelled


def _are_same_norms(norms: Norms, others: Norms, names: Sequence[str]) -> bool:
    """True for norms of the same group with indistinguishable curves in a figure.

    Means may differ by a tenth of the half width of a band, about the width of a line: norms may depend on the speed.
    """
    if norms.short != others.short:
        return False
    for name in names:
        if (name in norms.curves) != (name in others.curves):
            return False
        if name in norms.curves:
            width = norms.curves[name].half_width
            allowed = 0.0 if width is None else 0.1 * float(np.max(width))
            if not np.max(np.abs(norms.curves[name].mean - others.curves[name].mean)) <= allowed:
                return False
    return True


def _overlay_panel(
    name: str,
    side: str,
    drawn: Sequence[tuple[CycleCurves | None, TrialView]],
    norms: Sequence[NormCurve],
    signs: Signs,
    label: str,
) -> Panel:
    """Return the panel of a variable and side with mean and SD of each result."""
    definition = variable(name) if signs == CLINICAL else variable(name).with_table_signs()
    layers: list[Layer] = [
        norm_layer(definition.clinical_factor(SIDES[0]) * curve.mean, curve.half_width) for curve in norms
    ]
    units = set()
    for color, (curves, view) in zip(LEVEL_COLORS, drawn, strict=False):
        if curves is None or not len(curves.values):
            continue
        units.add(curves.unit)
        mean, sd = nan_statistics(curves.values)
        layers.append(Line(*break_curve(mean, curves.values), color, MEAN))
        if np.isfinite(sd).any():
            layers.append(Area(PERCENT, mean - sd, mean + sd, color, 0.2))
        foot_off = view.foot_off_percent.get(side, np.nan)
        if np.isfinite(foot_off):
            layers.append(Rule(foot_off, "x", color, 1.4))
    if len(units) > 1:
        raise ResultError(f"'{name}' has different units in these results: {', '.join(sorted(units))}.")
    counts = ["0" if curves is None else str(len(curves.values)) for curves, _ in drawn]
    return Panel(
        f"{definition.title}, {SIDE_NAMES[side]}",
        percent_axis(label),
        value_axis(definition, next(iter(units), definition.unit)),
        sort_bands_first(layers),
        corner=f"n: {', '.join(counts)}",
        note="" if units else "no valid cycle",
    )
