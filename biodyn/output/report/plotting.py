"""What a result shows of itself in Python and in a notebook: figures by name or by variable, and a short page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, overload

import numpy as np
from markupsafe import Markup, escape

from biodyn.conventions import SIDE_NAMES, SIDES, FloatArray
from biodyn.errors import ResultError
from biodyn.library.load import nearest
from biodyn.output.figures.curves import (
    COLUMNS,
    MEAN,
    CycleCurves,
    bands_first,
    broken,
    cycle_figure,
    cycle_panel,
    labels_below,
    nan_statistics,
    norm_key,
    norm_layer,
    percent_axis,
    value_axis,
)
from biodyn.output.figures.description import Area, Figure, Key, Layer, Line, Panel, Rule
from biodyn.output.figures.style import DOTTED, LEVEL_COLORS
from biodyn.output.figures.svg import svg
from biodyn.output.tables.lazy import CLINICAL, Signs, TableAttributes, require_signs
from biodyn.variables import PERCENT, Norms, choose_norms, is_known, load_norms, variable
from biodyn.variables.meaning import nearest_variable
from biodyn.variables.norm_choice import walker_of

if TYPE_CHECKING:
    import pandas as pd

    from biodyn.output.figures.matplotlib_backend import Axes, ShownFigure
    from biodyn.output.figures.trial import TrialView


#: The small grid of a notebook: motion and moments of the leg in the sagittal plane.
_SHOWN = ("hip_flexion", "knee_angle", "ankle_angle", "hip_flexion_moment", "knee_angle_moment", "ankle_angle_moment")
_LISTED = 6  # names in a hint


class VariableNames(tuple[str, ...]):
    """Names of variables; each is an attribute too, which is itself."""

    def __getattr__(self, name: str) -> str:
        if name not in self:
            raise AttributeError(f"there is no variable '{name}'. {nearest_variable(name, self)}")
        return name

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]


def only_known(norms: Sequence[Norms], signs: Signs) -> tuple[Norms, ...]:
    """Norms without the curves that have no one sign for both sides, where signs are those of the coordinates."""
    if signs == CLINICAL:
        return tuple(norms)
    return tuple(
        replace(own, curves={name: curve for name, curve in own.curves.items() if not variable(name).mirrored})
        for own in norms
    )


class PlottableResult(TableAttributes):
    """A result with a view: `plot` for people who write Python, a short page for a notebook."""

    @property
    def view(self) -> TrialView:
        """Record, tables and arrays of the result."""
        raise NotImplementedError

    @property
    def variables(self) -> VariableNames:
        """Names of the variables of the gait cycles; each is an attribute too, for tab completion: `variables.knee_angle`."""
        return VariableNames(self.view.curves)

    @overload
    def plot(
        self, *names: str, norms: str | None = ..., band: bool = ..., signs: Signs = ..., ax: None = ...
    ) -> ShownFigure: ...
    @overload
    def plot(self, *names: str, norms: str | None = ..., band: bool = ..., signs: Signs = ..., ax: Axes) -> Axes: ...
    def plot(
        self,
        *names: str,
        norms: str | None = "auto",
        band: bool = True,
        signs: Signs = CLINICAL,
        ax: Axes | None = None,
    ) -> ShownFigure | Axes:
        """Return a matplotlib Figure: one of the report's by its name, or the gait cycles of variables.

        Parameters:
            names: "joint_torques", or variables of the table `gait_cycles`, a panel each: "knee_angle", "hip_flexion_moment".
            norms: norms behind variables: a name or TOML file, "auto" (those of the report) or None.
            band: one standard deviation of the input errors around the mean, where it was computed.
            signs: of variables: "clinical" as in the report, the same for both sides, or "coordinates" as in the tables.
                In those, variables whose sign is towards one side of the walker have no norms.
            ax: matplotlib Axes to draw one variable into; they are returned, and `ax.legend()` shows what is in them.

        Raises ResultError for a name that there is not.
        """
        from biodyn.output.figures.matplotlib_backend import draw

        require_signs(signs)
        if len(names) == 1 and names[0] in self.view.figures:
            if ax is not None or signs != CLINICAL:
                raise ResultError(
                    f"'{names[0]}' is a figure of the report: it has its own axes and signs.",
                    f"Variables take ax and signs: {', '.join(self.variables[:_LISTED])}, ...",
                )
            return draw(self.view.figures[names[0]])
        figure = self._cycles(names, norms, band, signs)
        if ax is None:
            return draw(figure)
        if len(names) != 1:
            raise ResultError(f"Axes take one variable, not {len(names)}.", "Draw each into axes of its own.")
        from biodyn.output.figures.matplotlib_backend import draw_into

        return draw_into(ax, figure)

    def cycles(self, *names: str, side: str | None = None, signs: Signs = CLINICAL) -> pd.DataFrame:
        """Return the gait cycles of variables as a tidy table, in the signs of the figures.

        Columns: cycle, side, percent, variable, value, unit; a row a point of a cycle, NaN where it is not valid. `attrs`:
        `units` and what is `positive`, by variable, and `signs`.

        Parameters: `names` of variables, none for all; `side` "r" or "l", None for both; `signs`: see `plot`.
        Raises ResultError for a name that there is not.
        """
        table = self.table("gait_cycles", signs)
        known = list(dict.fromkeys(table["variable"].astype(str)))
        for name in names:
            if name not in known:
                raise ResultError(f"There are no cycles of a variable '{name}'.", nearest_variable(name, known))
        if side is not None and side not in SIDES:
            raise ResultError(f"There is no side '{side}'.", f"There are {' and '.join(SIDES)}.")
        wanted = table["variable"].isin(names or known) & (table["side"].isin(SIDES if side is None else (side,)))
        found = table[wanted].reset_index(drop=True)
        others = set(known) - set(names or known)
        # new ones: with an older pandas the rows share those of the whole table
        for key in ("units", "positive"):
            found.attrs[key] = {name: words for name, words in found.attrs[key].items() if name not in others}
        return found

    def curves_in(self, signs: Signs) -> Mapping[str, Mapping[str, CycleCurves]]:
        """Cycles by variable and side, in these signs."""
        clinical = self.view.curves
        if signs == CLINICAL:
            return clinical
        return {
            name: {
                side: replace(own, values=own.values * variable(name).clinical(side))  # either sign is its own inverse
                for side, own in sides.items()
            }
            for name, sides in clinical.items()
        }

    def _cycles(self, names: tuple[str, ...], norms: str | None, band: bool, signs: Signs = CLINICAL) -> Figure:
        values = self.view
        known = [*self.view.figures, *values.curves]
        for name in names or ("",):
            if name not in values.curves:
                if name in self.view.figures:
                    raise ResultError(
                        f"'{name}' is a figure of the report, and drawn alone.",
                        f"Beside others stand variables: {', '.join(self.variables[:_LISTED])}, ...",
                    )
                raise ResultError(
                    f"There is no figure '{name}', and no variable of that name.", nearest_variable(str(name), known)
                )
        behind = only_known(self.norms_behind(norms), signs)
        title = ", ".join(variable(name).title for name in names)
        errors = values.bands if band else {}
        figure = cycle_figure(title, values.curves, names, values.foot_off_percent, behind, errors)
        if signs == CLINICAL:
            return figure
        kept = self.curves_in(signs)
        panels = [
            cycle_panel(variable(n).as_kept(), kept[n], values.foot_off_percent, behind, panel.x.label, errors.get(n))
            for n, panel in zip(names, figure.panels, strict=True)
            if panel is not None
        ]
        return replace(figure, panels=tuple(panels))

    def norms_behind(self, name: str | None) -> tuple[Norms, ...]:
        """Those of the report ("auto"), none, or those of a name, at the speed of this walk where they know it."""
        values = self.view
        if name is None or name == "none":
            return ()
        if not isinstance(name, str):
            raise ResultError(f"norms is {name!r}, and no name.", 'Give "auto", None, or norms by name or file.')
        if name == "auto":
            return values.norms
        chosen = choose_norms(name, walker_of(self.view.record, values.speed_m_s)).norms
        return chosen or (load_norms(name),)

    def _lines(self) -> list[str]:
        """The verdict and what decided it, in a few lines."""
        record = self.view.record
        subject = record.get("subject", {})
        lines = [f"{record.get('input', {}).get('file', 'a walk')}: {record.get('verdict') or 'no verdict'}"]
        mass, height = subject.get("mass_kg"), subject.get("height_m")
        if mass and height:
            lines.append(f"{mass:.1f} kg, {height:.2f} m, {record.get('activity', {}).get('kind', '')}".rstrip(", "))
        deciding = [check for check in record.get("checks") or () if check["status"] in ("fail", "warn")]
        lines += [f"{check['status']}: {check['title']}: {check['text']}" for check in deciding[:3]]
        return lines

    def _repr_html_(self) -> str:
        first, *others = self._lines()
        shown = tuple(name for name in _SHOWN if is_known(name) and name in self.view.curves)
        figure = svg(self._cycles(shown, "auto", True)) if shown else Markup()
        rows = "".join(f"<br>{escape(line)}" for line in others)
        return f'<div style="max-width:60em"><p><b>{escape(first)}</b>{rows}</p>{figure}</div>'


_SD_KEY = Key("standard deviation of the cycles", LEVEL_COLORS[0], "area", opacity=0.3)
_SEEN = 0.1  # of the half width of a band: about what the pen of a mean covers


@overload
def overlay(
    results: Sequence[PlottableResult],
    *names: str,
    labels: Sequence[str] | None = ...,
    side: str | None = ...,
    norms: str | None = ...,
    signs: Signs = ...,
    ax: None = ...,
) -> ShownFigure: ...
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
) -> ShownFigure | Axes:
    """Draw the mean of each result's cycles with their standard deviation, a panel a variable and side.

    Parameters:
        results: of `run_trial`, `load` and the like, at most six. labels: their names; by default those of their files.
        names: variables of the table `gait_cycles`: "knee_angle", "hip_flexion_moment".
        side: "r" or "l"; by default both, beside each other.
        norms: a name or TOML file, "auto" (those of the reports) or None. Only those are drawn that all results have alike: walks
            at different speeds may have different ones.
        signs: see `PlottableResult.plot`.
        ax: matplotlib Axes to draw into, for one variable and one side; they are returned.

    The number of cycles stands above each panel, in the order of the legend. Raises ResultError for a name that no result
    has, and where there are more results than colours that everybody can tell apart.
    """
    require_signs(signs)
    named = _named(results, labels)
    if side is not None and side not in SIDES:
        raise ResultError(f"There is no side '{side}'.", f"There are {' and '.join(SIDES)}.")
    drawn = {label: result.curves_in(signs) for label, result in named.items()}
    every = list(dict.fromkeys(name for curves in drawn.values() for name in curves))
    for name in names or ("",):
        if name not in every:
            raise ResultError(f"No result has cycles of a variable '{name}'.", nearest(name, every))
    sides = SIDES if side is None else (side,)
    if ax is not None and len(names) * len(sides) != 1:
        raise ResultError("Axes take one variable of one side.", "Give side='r' or 'l', or draw without ax.")
    behind = only_known(_norms_of(list(named.values()), norms, names), signs)
    figure = _figure(names, sides, named, drawn, behind, signs)
    if ax is not None:
        from biodyn.output.figures.matplotlib_backend import draw_into

        return draw_into(ax, figure)
    from biodyn.output.figures.matplotlib_backend import draw

    return draw(figure)


def _figure(
    names: Sequence[str],
    sides: Sequence[str],
    named: Mapping[str, PlottableResult],
    drawn: Mapping[str, Mapping[str, Mapping[str, CycleCurves]]],
    behind: Sequence[Norms],
    signs: Signs,
) -> Figure:
    columns = len(sides) if len(sides) > 1 else min(COLUMNS, len(names))
    places = [(name, own) for name in names for own in sides]
    panels = [
        _panel(name, own, named, drawn, behind, signs, label)
        for (name, own), label in zip(places, labels_below("gait cycle (%)", len(places), columns), strict=True)
    ]
    keys = [Key(label, color, width=MEAN) for label, color in zip(named, LEVEL_COLORS, strict=False)]
    if any(isinstance(layer, Area) and layer.color in LEVEL_COLORS for panel in panels for layer in panel.layers):
        keys.append(_SD_KEY)
    for norms in behind:
        shown = [norms.curves[name] for name in names if name in norms.curves]
        if shown:
            keys.append(norm_key(f"{norms.short}, {norms.band}", shown[0].sd is not None))
    title = ", ".join(variable(name).title for name in names)
    return Figure(title, tuple(panels), tuple(keys), columns)


def _named(results: Sequence[PlottableResult], labels: Sequence[str] | None) -> dict[str, PlottableResult]:
    """Results by their label; those of the same name are numbered."""
    if isinstance(results, PlottableResult):
        results = [results]
    if not 1 <= len(results) <= len(LEVEL_COLORS):
        raise ResultError(
            f"{len(results)} results cannot be told apart in one figure.", f"Give 1 to {len(LEVEL_COLORS)}."
        )
    if labels is not None and len(labels) != len(results):
        raise ResultError(f"There are {len(labels)} labels for {len(results)} results.")
    named: dict[str, PlottableResult] = {}
    for i, result in enumerate(results):
        if not isinstance(result, PlottableResult):
            raise ResultError(f"{type(result).__name__} is no result of a walk.", "biodyn.load opens a result folder.")
        stem = str(result.view.record.get("input", {}).get("file", "result")).rpartition(".")
        label = str(labels[i]) if labels is not None else stem[0] or stem[2]
        number, own = 1, label
        while own in named:
            number += 1
            own = f"{label} ({number})"
        named[own] = result
    return named


def _norms_of(results: Sequence[PlottableResult], norms: str | None, names: Sequence[str]) -> tuple[Norms, ...]:
    """Those that every result has, the same."""
    first, *others = [result.norms_behind(norms) for result in results]
    return tuple(own for own in first if all(any(_same(own, other, names) for other in theirs) for theirs in others))


def _same(one: Norms, other: Norms, names: Sequence[str]) -> bool:
    """Whether norms are of one group and cannot be told apart in a figure: those of two speeds may differ."""
    if one.short != other.short:
        return False
    for name in names:
        if (name in one.curves) != (name in other.curves):
            return False
        if name in one.curves:
            width = one.curves[name].half_width
            allowed = 0.0 if width is None else _SEEN * float(np.max(width))
            if not np.max(np.abs(one.curves[name].mean - other.curves[name].mean)) <= allowed:
                return False
    return True


def _panel(
    name: str,
    side: str,
    named: Mapping[str, PlottableResult],
    drawn: Mapping[str, Mapping[str, Mapping[str, CycleCurves]]],
    behind: Sequence[Norms],
    signs: Signs,
    label: str,
) -> Panel:
    shown = variable(name) if signs == CLINICAL else variable(name).as_kept()
    layers: list[Layer] = [
        norm_layer(shown.clinical(SIDES[0]) * own.curves[name].mean, own.curves[name].half_width)
        for own in behind
        if name in own.curves
    ]
    counts, units = [], set()
    for color, (key, result) in zip(LEVEL_COLORS, named.items(), strict=False):
        curves = drawn[key].get(name, {}).get(side)
        counts.append("0" if curves is None else str(len(curves.values)))
        if curves is not None and len(curves.values):
            units.add(curves.unit)
            layers += _layers(curves, color, result.view.foot_off_percent.get(side, np.nan))
    if len(units) > 1:
        raise ResultError(f"'{name}' has different units in these results: {', '.join(sorted(units))}.")
    return Panel(
        f"{shown.title}, {SIDE_NAMES[side]}",
        percent_axis(label),
        value_axis(shown, next(iter(units), shown.unit)),
        bands_first(layers),
        corner=f"n: {', '.join(counts)}",
        note="" if units else "no valid cycle",
    )


def _layers(curves: CycleCurves, color: str, foot_off_percent: float) -> list[Layer]:
    mean, sd = nan_statistics(curves.values)
    bounds: tuple[FloatArray, FloatArray] = (mean - sd, mean + sd)
    layers: list[Layer] = [Line(*broken(mean, curves.values), color, MEAN)]
    if np.isfinite(sd).any():
        layers.append(Area(PERCENT, *bounds, color, 0.2))
    if np.isfinite(foot_off_percent):
        layers.append(Rule(foot_off_percent, "x", color, 1.1, DOTTED, 0.8))
    return layers
