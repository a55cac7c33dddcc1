"""Figures of curves over the gait cycle: of groups with their tests, of one subject with all its cycles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from biodyn.conventions import SIDE_NAMES, SIDES, BoolArray, FloatArray
from biodyn.output.figures.cycles import broken, nan_statistics, unit_words
from biodyn.output.figures.display import display_table
from biodyn.output.figures.style import BAND, MUTED, NORM_LINE, SIDE_COLORS
from biodyn.study.report.drawing import Area, Key, Line, Mark, Panel, Strip, figure
from biodyn.study.report.means import BOTH, Cell, CurveMeans
from biodyn.study.report.source import parts_of, rows_of
from biodyn.study.report.words import level_words, probability
from biodyn.variables import PERCENT, Variable, load_norms, variable

#: Columns that tell the tests of one curve apart.
TEST_KEY = ("family", "within", "comparison", "side")
# Okabe & Ito's colours that are not those of the sides; dashes tell further levels.
LEVEL_COLORS = ("#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#1f2933", "#7b6fd0")
# Darker than its side, for the representative cycle.
_REPRESENTATIVE = {"r": "#00324f", "l": "#5e2900"}
_EVERY = 2  # single cycles at every second percent: half the size, the same picture


@dataclass(frozen=True)
class Norm:
    """A published band in the shown sign: mean and sd (101,) by variable; sd None where the source has none."""

    words: str
    curves: Mapping[str, tuple[FloatArray, FloatArray | None]]

    @property
    def filled(self) -> bool:
        """Whether it is a band rather than a line."""
        return any(sd is not None for _, sd in self.curves.values())


def norms_of(table: pd.DataFrame) -> tuple[Norm, ...]:
    """The bands of normative_bands.csv as shown for a right side."""
    found = []
    for name in dict.fromkeys(table["norms"]) if len(table) else ():
        norms = load_norms(str(name))
        curves = {}
        own = table[(table["norms"] == name) & (table["side"] == SIDES[0])]
        for (key,), rows in parts_of(own, "variable"):
            mean, sd = rows["mean"].to_numpy(float), rows["sd"].to_numpy(float)
            sign = variable(str(key)).clinical(SIDES[0])
            curves[str(key)] = (sign * mean, sd if np.isfinite(sd).any() else None)
        found.append(Norm(f"{norms.short}, {norms.band}", curves))
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


def group_figure(means: CurveMeans, view: View, names: Sequence[str], norms: Sequence[Norm], alt: str) -> Markup:
    """Mean and SD between subjects of every level, tests below each panel; one level alone: its two sides."""
    drawn = _drawn(view)
    present = [name for name in names if any(means.curve(cell, side, name) for _, cell, side, _, _ in drawn)]
    panels, compared, spread = [], 0, False
    for number, name in enumerate(present):
        shown = variable(name)
        lines, areas, counts = [], list(_norm_areas(norms, name)), []
        for _, cell, side, color, dash in drawn:
            found = means.curve(cell, side, name)
            if found is None:
                continue
            counts.append(int(found.subjects.max()))
            spread = spread or bool(np.isfinite(found.sd).any())
            areas.append(Area(found.mean - found.sd, found.mean + found.sd, color, 0.16))
            lines.append(Line(found.mean, color, 2.0, dash=dash))
        strips = _strips(view.tests, name)
        compared = max(compared, len(strips))
        last = number + 3 >= len(present)
        panels.append(
            _panel(shown, means.units[name], [*_norm_lines(norms, name), *lines], areas, last, strips, _people(counts))
        )
    keys = [Key(words, color, dash=dash) for words, _, _, color, dash in drawn]
    if spread:
        keys.append(Key("± 1 SD between subjects", MUTED, "area", opacity=0.3))
    keys += _norm_keys(norms, present)
    if compared:
        keys.append(Key("beyond the threshold (SPM)", "#1f2933", "area"))
    return figure(panels, keys, alt)


def _drawn(view: View) -> list[tuple[str, Cell, str, str, str]]:
    """(words, cell, side, colour, dash) of every line."""
    if len(view.cells) == 1:
        cell = view.cells[0][1]
        return [(SIDE_NAMES[side], cell, side, SIDE_COLORS[side], "") for side in SIDES]
    count = len(LEVEL_COLORS)
    return [
        (words, cell, BOTH, LEVEL_COLORS[i % count], "" if i < count else "6 3")
        for i, (words, cell) in enumerate(view.cells)
    ]


def _panel(
    shown: Variable,
    unit: str,
    lines: Sequence[Line],
    areas: Sequence[Area],
    last: bool,
    strips: Sequence[Strip] = (),
    corner: str = "",
    marks: Sequence[Mark] = (),
    note: str = "",
) -> Panel:
    return Panel(
        title=shown.title,
        ylabel=f"{unit_words(unit)}, {shown.positive} +",
        x=PERCENT,
        xlabel="gait cycle (%)" if last else "",
        lines=tuple(lines),
        areas=tuple(areas),
        marks=tuple(marks),
        strips=tuple(strips),
        corner=corner,
        note=note,
        xlim=(0.0, 100.0),
    )


def _people(counts: Sequence[int]) -> str:
    return "n " + ", ".join(str(count) for count in counts) if counts else ""


def _norm_areas(norms: Sequence[Norm], name: str) -> list[Area]:
    found = []
    for norm in norms:
        mean, sd = norm.curves.get(name, (None, None))
        if mean is not None and sd is not None:
            found.append(Area(mean - sd, mean + sd, BAND))
    return found


def _norm_lines(norms: Sequence[Norm], name: str) -> list[Line]:
    return [
        Line(mean, NORM_LINE, 1.0, dash="4 2")
        for mean, sd in (norm.curves[name] for norm in norms if name in norm.curves)
        if sd is None
    ]


def _norm_keys(norms: Sequence[Norm], names: Sequence[str]) -> list[Key]:
    found = []
    for norm in norms:
        if any(name in norm.curves for name in names):
            filled = norm.filled
            found.append(
                Key(
                    norm.words,
                    BAND if filled else NORM_LINE,
                    "area" if filled else "line",
                    1.0,
                    "" if filled else "4 2",
                )
            )
    return found


def _strips(tests: pd.DataFrame, name: str) -> list[Strip]:
    """One a test of the variable; lettered as in the table below the figure."""
    if not len(tests):
        return []
    letters = test_letters(tests)
    found = []
    for key, rows in parts_of(tests[tests["variable"] == name], *TEST_KEY):
        clusters = rows[rows["start_percent"].notna()]
        spans = tuple(
            (float(row.start_percent), float(row.end_percent), f"{row.comparison}: p {probability(row.p_cluster)}")
            for row in rows_of(clusters)
        )
        found.append(Strip(letters[key], "#1f2933", spans))
    return found


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


def subject_figure(
    cycles: Mapping[str, SideCycles], variables: Sequence[str], units: Mapping[str, str], names: Sequence[str],
    norms: Sequence[Norm], alt: str,
) -> Markup:  # fmt: skip
    """All cycles of one subject thin, outliers dashed, mean thick, the representative cycle bold and dark."""
    present = [name for name in names if name in variables]
    panels = []
    for number, name in enumerate(present):
        shown, place = variable(name), list(variables).index(name)
        thin, bold, counts = [], [], []
        for side, own in cycles.items():
            values = own.values[:, place] * shown.clinical(side)
            known = np.isfinite(values).any(axis=1)
            counts.append(f"{SIDE_NAMES[side][0].upper()} {int(known.sum())}")  # type: ignore[index]
            if not known.any():
                continue
            color = SIDE_COLORS[side]
            percent, coarse = PERCENT[::_EVERY], values[:, ::_EVERY]
            thin.append(Line(coarse[known & ~own.outlier], color, 0.6, 0.45, x=percent))
            thin.append(Line(coarse[known & own.outlier], color, 0.9, 0.9, "3 2", percent))
            at, mean = broken(nan_statistics(values[known])[0], values[known])
            bold.append(Line(mean, color, 2.0, x=at))
            bold.append(Line(values[own.representative], _REPRESENTATIVE[side], 1.5))
        marks = [
            Mark(own.foot_off, "v", SIDE_COLORS[side], "2 2")
            for side, own in cycles.items()
            if np.isfinite(own.foot_off)
        ]
        note = "" if bold else "no valid cycle"
        corner = "n: " + ", ".join(counts) if counts else ""
        lines = [*_norm_lines(norms, name), *thin, *bold]
        last = number + 3 >= len(present)
        panels.append(_panel(shown, units[name], lines, _norm_areas(norms, name), last, (), corner, marks, note))
    keys = [Key(f"mean, {SIDE_NAMES[side]}", SIDE_COLORS[side]) for side in cycles]  # type: ignore[index]
    keys += [
        Key("single cycle", MUTED, width=0.8), Key("outlier", MUTED, width=1.2, dash="3 2"),
        Key("representative cycle", "#1f2933", width=1.6), Key("foot off", MUTED, width=0.9, dash="2 2"),
    ]  # fmt: skip
    return figure(panels, [*keys, *_norm_keys(norms, present)], alt)


def display_figures() -> list[dict[str, Any]]:
    """Figures over the cycle as the trial report has them: name, title, panels; ground forces last."""
    table = display_table()
    return [*table["figure"], table["stance_figure"]]
