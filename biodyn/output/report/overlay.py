"""Gait cycles of several results in one figure: before and after, with and without."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, overload

import numpy as np

from biodyn.conventions import SIDE_NAMES, SIDES, FloatArray
from biodyn.errors import ResultError
from biodyn.library.load import nearest
from biodyn.output.figures.curves import (
    COLUMNS,
    MEAN,
    CycleCurves,
    bands_first,
    broken,
    labels_below,
    nan_statistics,
    norm_key,
    norm_layer,
    percent_axis,
    value_axis,
)
from biodyn.output.figures.description import Area, Figure, Key, Layer, Line, Panel, Rule
from biodyn.output.figures.style import DOTTED, LEVEL_COLORS
from biodyn.output.report.in_python import ShownResult, only_known
from biodyn.output.tables.lazy import CLINICAL, Signs, require_signs
from biodyn.variables import PERCENT, Norms, variable

if TYPE_CHECKING:
    from biodyn.output.figures.matplotlib_backend import Axes, ShownFigure

_SD_KEY = Key("standard deviation of the cycles", LEVEL_COLORS[0], "area", opacity=0.3)
_SEEN = 0.1  # of the half width of a band: about what the pen of a mean covers


@overload
def overlay(
    results: Sequence[ShownResult],
    *names: str,
    labels: Sequence[str] | None = ...,
    side: str | None = ...,
    norms: str | None = ...,
    signs: Signs = ...,
    ax: None = ...,
) -> ShownFigure: ...
@overload
def overlay(
    results: Sequence[ShownResult],
    *names: str,
    labels: Sequence[str] | None = ...,
    side: str | None = ...,
    norms: str | None = ...,
    signs: Signs = ...,
    ax: Axes,
) -> Axes: ...
def overlay(
    results: Sequence[ShownResult],
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
        signs: see `ShownResult.plot`.
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
    named: Mapping[str, ShownResult],
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


def _named(results: Sequence[ShownResult], labels: Sequence[str] | None) -> dict[str, ShownResult]:
    """Results by their label; those of the same name are numbered."""
    if isinstance(results, ShownResult):
        results = [results]
    if not 1 <= len(results) <= len(LEVEL_COLORS):
        raise ResultError(
            f"{len(results)} results cannot be told apart in one figure.", f"Give 1 to {len(LEVEL_COLORS)}."
        )
    if labels is not None and len(labels) != len(results):
        raise ResultError(f"There are {len(labels)} labels for {len(results)} results.")
    named: dict[str, ShownResult] = {}
    for i, result in enumerate(results):
        if not isinstance(result, ShownResult):
            raise ResultError(f"{type(result).__name__} is no result of a walk.", "biodyn.load opens a result folder.")
        stem = str(result.view.record.get("input", {}).get("file", "result")).rpartition(".")
        label = str(labels[i]) if labels is not None else stem[0] or stem[2]
        number, own = 1, label
        while own in named:
            number += 1
            own = f"{label} ({number})"
        named[own] = result
    return named


def _norms_of(results: Sequence[ShownResult], norms: str | None, names: Sequence[str]) -> tuple[Norms, ...]:
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
    named: Mapping[str, ShownResult],
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
            layers += _layers(curves, color, result.view.values.foot_off_percent.get(side, np.nan))
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
