"""Figures of curves over the gait cycle: of groups with their tests, of one subject with all its cycles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from biodyn.conventions import SIDE_NAMES, SIDES, BoolArray, FloatArray
from biodyn.output.figures.curves import (
    FOOT_OFF_KEY,
    SINGLE,
    bands_first,
    broken,
    display_table,
    foot_off_layer,
    labels_below,
    nan_statistics,
    norm_key,
    norm_layer,
    percent_axis,
    value_axis,
)
from biodyn.output.figures.description import Area, Figure, Key, Layer, Line, Panel, Span, Strip
from biodyn.output.figures.style import LEVEL_COLORS
from biodyn.study.report.means import BOTH, Cell, CurveMeans
from biodyn.study.report.source import parts_of, rows_of
from biodyn.study.report.words import level_words, probability
from biodyn.variables import PERCENT, variable

#: Columns that tell the tests of one curve apart.
TEST_KEY = ("family", "within", "comparison", "side")
_MEAN = 2.0
_OUTLIER = (3.0, 2.0)
_FURTHER = (6.0, 3.0)  # dashes of the levels for which there are no colours left
_EVERY = 2  # single cycles at every second percent: half the size, the same picture


@dataclass(frozen=True)
class Norm:
    """Norms in the shown sign: mean and half the width of the band (101,) by variable, None where it is not known."""

    words: str
    curves: Mapping[str, tuple[FloatArray, FloatArray | None]]

    @property
    def filled(self) -> bool:
        """Whether it is a band rather than a line."""
        return any(sd is not None for _, sd in self.curves.values())


def norms_of(table: pd.DataFrame) -> tuple[Norm, ...]:
    """The bands of normative_bands.csv as shown for a right side."""
    found = []
    width = "half_width" if "half_width" in table else "sd"
    for name in dict.fromkeys(table["norms"]) if len(table) else ():
        curves = {}
        own = table[(table["norms"] == name) & (table["side"] == SIDES[0])]
        for (key,), rows in parts_of(own, "variable"):
            mean, half = rows["mean"].to_numpy(float), rows[width].to_numpy(float)
            sign = variable(str(key)).clinical(SIDES[0])
            curves[str(key)] = (sign * mean, half if np.isfinite(half).any() else None)
        words = str(own["shown_as"].iloc[0]) if "shown_as" in own else str(name)
        found.append(Norm(words, curves))
    return tuple(found)


@dataclass(frozen=True)
class View:
    """Curves that are drawn over each other: of the levels of one factor, in one level of the other.

    Attributes:
        title: words. cells: (words, cell). tests: rows of spm.csv that compare them.
    """

    title: str
    cells: tuple[tuple[str, Cell], ...]
    tests: pd.DataFrame


def views(cells: Sequence[Cell], tests: pd.DataFrame) -> list[View]:
    """Return what to draw: everything together, or with several conditions and groups each factor in each other level."""
    conditions = list(dict.fromkeys(condition for condition, _ in cells))
    groups = list(dict.fromkeys(group for _, group in cells))
    if len(conditions) == 1 or len(groups) == 1:
        by_group = len(groups) > 1
        words = [level_words(c[1], "group") if by_group else level_words(c[0], "condition") for c in cells]
        title = "Groups" if by_group else "Conditions" if len(conditions) > 1 else ""
        return [View(title, tuple(zip(words, cells, strict=True)), tests)]
    found = []
    for group in groups:
        own = tuple((level_words(c[0], "condition"), c) for c in cells if c[1] == group)
        found.append(
            View(f"Conditions in group {level_words(group, 'group')}", own, _within(tests, ("condition",), group))
        )
    for condition in conditions:
        own = tuple((level_words(c[1], "group"), c) for c in cells if c[0] == condition)
        title = f"Groups in condition {level_words(condition, 'condition')}"
        found.append(View(title, own, _within(tests, ("group", "predictor"), condition)))
    return [view for view in found if len(view.cells) > 1]


def _within(tests: pd.DataFrame, factors: Sequence[str], level: str) -> pd.DataFrame:
    if not len(tests):
        return tests
    return tests[tests["factor"].isin(factors) & (tests["within"] == level)]


def group_figure(means: CurveMeans, view: View, names: Sequence[str], norms: Sequence[Norm], alt: str) -> Figure:
    """Mean and SD between subjects of every level, tests below each panel; one level alone: its two sides."""
    present = present_in(means, view, names)
    labels = labels_below("gait cycle (%)", len(present))
    panels = tuple(group_panel(means, view, name, norms, label) for name, label in zip(present, labels, strict=True))
    keys = group_keys(means, view, present, norms)
    if any(panel.strips for panel in panels):
        keys.append(Key("beyond the threshold (SPM)", "ink", "area"))
    return Figure(alt, panels, tuple(keys))


def present_in(means: CurveMeans, view: View, names: Sequence[str]) -> list[str]:
    """Those of the variables that a level of the view has."""
    return [name for name in names if any(means.curve(cell, side, name) for _, cell, side in _drawn(view))]


def group_panel(means: CurveMeans, view: View, name: str, norms: Sequence[Norm], label: str = "") -> Panel:
    """Mean and SD between subjects of one variable at every level, its tests below."""
    layers, counts = norm_layers(norms, name), []
    for line, cell, side in _drawn(view):
        found = means.curve(cell, side, name)
        if found is None:
            continue
        counts.append(int(found.subjects.max()))
        layers.append(Area(PERCENT, found.mean - found.sd, found.mean + found.sd, line.color, 0.16))
        layers.append(Line(PERCENT, found.mean, line.color, _MEAN, dash=line.dash))
    shown = variable(name)
    return Panel(
        shown.title,
        percent_axis(label),
        value_axis(shown, means.units[name]),
        bands_first(layers),
        _strips(view.tests, name),
        _people(counts),
    )


def group_keys(means: CurveMeans, view: View, names: Sequence[str], norms: Sequence[Norm]) -> list[Key]:
    """The legend of panels of these variables: the levels, their spread, the norms."""
    drawn = _drawn(view)
    curves = [means.curve(cell, side, name) for name in names for _, cell, side in drawn]
    keys = [line for line, _, _ in drawn]
    if any(curve is not None and np.isfinite(curve.sd).any() for curve in curves):
        keys.append(Key("± 1 SD between subjects", "muted", "area", opacity=0.3))
    return [*keys, *norm_keys(norms, names)]


def _drawn(view: View) -> list[tuple[Key, Cell, str]]:
    """Every line with its entry in the legend."""
    if len(view.cells) == 1:
        cell = view.cells[0][1]
        return [(Key(SIDE_NAMES[side], SIDE_NAMES[side]), cell, side) for side in SIDES]
    count = len(LEVEL_COLORS)
    return [
        (Key(words, LEVEL_COLORS[i % count], dash=() if i < count else _FURTHER), cell, BOTH)
        for i, (words, cell) in enumerate(view.cells)
    ]


def _people(counts: Sequence[int]) -> str:
    return "n " + ", ".join(str(count) for count in counts) if counts else ""


def norm_layers(norms: Sequence[Norm], name: str) -> list[Layer]:
    """The published curves of a variable."""
    return [norm_layer(*norm.curves[name]) for norm in norms if name in norm.curves]


def norm_keys(norms: Sequence[Norm], names: Sequence[str]) -> list[Key]:
    """Entries of those norms that one of the variables has."""
    return [norm_key(norm.words, norm.filled) for norm in norms if any(name in norm.curves for name in names)]


def _strips(tests: pd.DataFrame, name: str) -> tuple[Strip, ...]:
    """One a test of the variable; lettered as in the table below the figure."""
    if not len(tests):
        return ()
    letters = test_letters(tests)
    found = []
    for key, rows in parts_of(tests[tests["variable"] == name], *TEST_KEY):
        clusters = rows[rows["start_percent"].notna()]
        spans = tuple(
            Span(float(row.start_percent), float(row.end_percent), f"{row.comparison}: p {probability(row.p_cluster)}")
            for row in rows_of(clusters)
        )
        found.append(Strip(letters[key], "ink", spans))
    return tuple(found)


def test_letters(tests: pd.DataFrame) -> dict[tuple[str, ...], str]:
    """A letter for every comparison of a view, by the values of `TEST_KEY`."""
    keys = list(dict.fromkeys(tests[list(TEST_KEY)].itertuples(index=False, name=None)))
    return {key: chr(ord("a") + i) if i < 26 else str(i + 1) for i, key in enumerate(keys)}


@dataclass(frozen=True)
class SideCycles:
    """Cycles of one side: values (n, V, 101) in the tables' signs; which are outliers, which one represents them."""

    values: FloatArray
    outlier: BoolArray
    representative: BoolArray
    foot_off: float


def subject_panel(
    name: str, cycles: Mapping[str, SideCycles], place: int, unit: str, norms: Sequence[Norm]
) -> tuple[Panel, str]:
    """All cycles of one subject thin, outliers dashed, mean ± SD thick in its band, representative cycle bold and dark.

    Also the extremes of the means and the SD from cycle to cycle in words.

    `place` of the variable in the values of the cycles.
    """
    shown = variable(name)
    thin: list[Layer] = []
    bold: list[Layer] = []
    axis = value_axis(shown, unit)
    words = [f"{shown.title}, {axis.label}"]
    for side, own in cycles.items():
        values = own.values[:, place] * shown.clinical(side)
        known = np.isfinite(values).any(axis=1)
        if not known.any():
            words.append(f"{SIDE_NAMES[side]}: no valid cycle")
            continue
        color = SIDE_NAMES[side]
        percent, coarse = PERCENT[::_EVERY], values[:, ::_EVERY]
        thin.append(Line(percent, coarse[known & ~own.outlier], color, SINGLE, 0.45))
        thin.append(Line(percent, coarse[known & own.outlier], color, 0.9, 0.9, _OUTLIER))
        mean, sd = nan_statistics(values[known])
        if known.sum() > 1:
            thin.insert(0, Area(PERCENT, mean - sd, mean + sd, color, 0.16))
        bold.append(Line(*broken(mean, values[known]), color, _MEAN))
        if len(values) > 1:  # a single cycle is its own mean
            bold.append(Line(PERCENT, values[own.representative], f"{color}_dark", 1.5))
        words.append(
            f"{SIDE_NAMES[side]}, mean of {int(known.sum())} cycles: {np.nanmin(mean):.3g} at {int(np.nanargmin(mean))} % to "
            f"{np.nanmax(mean):.3g} at {int(np.nanargmax(mean))} %" + _spread_words(sd)
        )
    marks = [layer for side, own in cycles.items() for layer in foot_off_layer(side, own.foot_off)]
    layers = [*norm_layers(norms, name), *marks, *thin, *bold]
    return Panel(
        shown.title, percent_axis(), axis, bands_first(layers), note="" if bold else "no valid cycle"
    ), "; ".join(words)


def _spread_words(sd: FloatArray) -> str:
    return f", SD {np.nanmean(sd):.2g} on average" if np.isfinite(sd).any() else ""


def subject_keys(cycles: Mapping[str, SideCycles], norms: Sequence[Norm], names: Sequence[str]) -> list[Key]:
    """The legend of panels of these variables."""
    keys = [Key(f"mean, {SIDE_NAMES[side]}", SIDE_NAMES[side]) for side in cycles]
    if any(len(own.values) > 1 for own in cycles.values()):
        keys += [
            Key("± 1 SD of the cycles", "muted", "area", opacity=0.3), Key("single cycle", "muted", width=SINGLE),
            Key("outlier", "muted", width=1.2, dash=_OUTLIER), Key("representative cycle", "ink", width=1.6),
        ]  # fmt: skip
    return [*keys, FOOT_OFF_KEY, *norm_keys(norms, names)]


def display_figures() -> list[dict[str, Any]]:
    """Figures over the cycle as the trial report has them: name, title, panels; ground forces last."""
    table = display_table()
    return [*table["figure"], table["stance_figure"]]
