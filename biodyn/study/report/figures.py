"""Describe the figures of a study: group curves with tests, cycles of one subject, quality of all trials, gait profile."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pandas as pd
from markupsafe import Markup

from biodyn.conventions import SIDE_NAMES, SIDES, BoolArray, FloatArray
from biodyn.errors import ResultError
from biodyn.output.figures.curves import (
    FOOT_OFF_KEY,
    SINGLE,
    break_curve,
    display_table,
    foot_off_layer,
    lowest_panel_labels,
    norm_key,
    norm_layer,
    percent_axis,
    sort_bands_first,
    value_axis,
)
from biodyn.output.figures.description import Area, Axis, Bars, Figure, Key, Layer, Line, Panel, Rule, Span, Strip
from biodyn.output.figures.style import DASHED, LEVEL_COLORS
from biodyn.output.figures.svg import render_svg
from biodyn.output.figures.trial import TrialView
from biodyn.output.report.comparison_page import multi_trial_scene
from biodyn.output.report.scene import MOST_BYTES
from biodyn.output.store.result_reader import StoredResult
from biodyn.study.collecting.cycles import DECISIONS
from biodyn.study.group.group_data import MEAN_OF_SIDES
from biodyn.study.group.statistics.gait_scores import BOTH_SIDES, score_variables
from biodyn.study.group.statistics.session_means import SCORE
from biodyn.study.report.aggregation import Cell, CurveMeans
from biodyn.study.report.report_inputs import (
    DisplayNames,
    StudySource,
    Trial,
    iterate_groups,
    iterate_rows,
    level_label,
    p_value_text,
)
from biodyn.study.trial_record import count_with_noun
from biodyn.variables import PERCENT, variable
from biodyn.variables.cycle_parameters import nan_statistics

#: Columns that identify the tests of one curve.
TEST_KEY = ("family", "within", "comparison", "side")
_MEAN = 2.0
_OUTLIER = (3.0, 2.0)


@dataclass(frozen=True)
class NormBand:
    """Norms in the signs of the figures: mean (101,) and half width (101,) of the band by variable; None without a band."""

    words: str
    curves: Mapping[str, tuple[FloatArray, FloatArray | None]]

    @property
    def has_band(self) -> bool:
        """Return whether the norms have a band, and not only a mean line."""
        return any(sd is not None for _, sd in self.curves.values())


def norm_bands_from_table(table: pd.DataFrame) -> tuple[NormBand, ...]:
    """Return the norms in normative_bands.csv for the right side, in the signs of the figures."""
    norms = []
    width = "half_width" if "half_width" in table else "sd"
    for name in dict.fromkeys(table["norms"]) if len(table) else ():
        curves = {}
        rows_of_norm = table[(table["norms"] == name) & (table["side"] == SIDES[0])]
        for (key,), rows in iterate_groups(rows_of_norm, "variable"):
            mean, half = rows["mean"].to_numpy(float), rows[width].to_numpy(float)
            sign = variable(str(key)).clinical_factor(SIDES[0])
            curves[str(key)] = (sign * mean, half if np.isfinite(half).any() else None)
        words = str(rows_of_norm["shown_as"].iloc[0]) if "shown_as" in rows_of_norm else str(name)
        norms.append(NormBand(words, curves))
    return tuple(norms)


@dataclass(frozen=True)
class ComparisonView:
    """Curves in one figure: the levels of one factor within one level of the other.

    Attributes:
        title: title of the figure. cells: (label, cell). tests: rows of spm.csv that compare them.
    """

    title: str
    cells: tuple[tuple[str, Cell], ...]
    tests: pd.DataFrame


def comparison_views(cells: Sequence[Cell], tests: pd.DataFrame) -> list[ComparisonView]:
    """Return the views: one for all cells, or, with several conditions and groups, one per factor and level of the other
    factor."""
    conditions = list(dict.fromkeys(condition for condition, _ in cells))
    groups = list(dict.fromkeys(group for _, group in cells))
    if len(conditions) == 1 or len(groups) == 1:
        by_group = len(groups) > 1
        words = [level_label(c[1], "group") if by_group else level_label(c[0], "condition") for c in cells]
        title = "Groups" if by_group else "Conditions" if len(conditions) > 1 else ""
        return [ComparisonView(title, tuple(zip(words, cells, strict=True)), tests)]
    drawn = []
    for group in groups:
        members = tuple((level_label(c[0], "condition"), c) for c in cells if c[1] == group)
        title = f"Conditions in group {level_label(group, 'group')}"
        drawn.append(ComparisonView(title, members, _select_tests(tests, ("condition",), group)))
    for condition in conditions:
        members = tuple((level_label(c[1], "group"), c) for c in cells if c[0] == condition)
        title = f"Groups in condition {level_label(condition, 'condition')}"
        drawn.append(ComparisonView(title, members, _select_tests(tests, ("group", "predictor"), condition)))
    return [view for view in drawn if len(view.cells) > 1]


def _select_tests(tests: pd.DataFrame, factors: Sequence[str], level: str) -> pd.DataFrame:
    if not len(tests):
        return tests
    return tests[tests["factor"].isin(factors) & (tests["within"] == level)]


def group_figure(
    means: CurveMeans, view: ComparisonView, names: Sequence[str], norms: Sequence[NormBand], alt: str
) -> Figure:
    """Return the figure with mean and SD between subjects of every level, and the tests below each panel.

    If the view has a single level, both sides are drawn instead.
    """
    present = available_variables(means, view, names)
    labels = lowest_panel_labels("gait cycle (%)", len(present))
    panels = tuple(group_panel(means, view, name, norms, label) for name, label in zip(present, labels, strict=True))
    keys = group_keys(means, view, present, norms)
    if any(panel.strips for panel in panels):
        keys.append(Key("beyond the threshold (SPM)", "ink", "area"))
    return Figure(alt, panels, tuple(keys))


def available_variables(means: CurveMeans, view: ComparisonView, names: Sequence[str]) -> list[str]:
    """Return the named variables for which a level of the view has curves."""
    return [name for name in names if any(means.curve(cell, side, name) for _, cell, side in _lines_with_keys(view))]


def group_panel(
    means: CurveMeans, view: ComparisonView, name: str, norms: Sequence[NormBand], label: str = ""
) -> Panel:
    """Return the panel with mean and SD between subjects of one variable at every level, and its tests below."""
    layers, counts = norm_layers(norms, name), []
    for line, cell, side in _lines_with_keys(view):
        curve = means.curve(cell, side, name)
        if curve is None:
            continue
        mean, sd, subjects = curve
        counts.append(int(subjects.max()))
        layers.append(Area(PERCENT, mean - sd, mean + sd, line.color, 0.16))
        layers.append(Line(PERCENT, mean, line.color, _MEAN, dash=line.dash))
    shown = variable(name)
    return Panel(
        shown.title,
        percent_axis(label),
        value_axis(shown, means.units[name]),
        sort_bands_first(layers),
        _test_strips(view.tests, name),
        f"n {', '.join(map(str, counts))}" if counts else "",
    )


def group_keys(means: CurveMeans, view: ComparisonView, names: Sequence[str], norms: Sequence[NormBand]) -> list[Key]:
    """Return the legend of panels of these variables: levels, spread, norms."""
    drawn = _lines_with_keys(view)
    curves = [means.curve(cell, side, name) for name in names for _, cell, side in drawn]
    keys = [line for line, _, _ in drawn]
    if any(curve is not None and np.isfinite(curve[1]).any() for curve in curves):
        keys.append(Key("± 1 SD between subjects", "muted", "area", opacity=0.3))
    return [*keys, *norm_keys(norms, names)]


def _lines_with_keys(view: ComparisonView) -> list[tuple[Key, Cell, str]]:
    """Return the entry in the legend, the condition and group, and the side of every line of a view."""
    further_dash = (6.0, 3.0)  # dash patterns of levels beyond the number of colours
    if len(view.cells) == 1:
        cell = view.cells[0][1]
        return [(Key(SIDE_NAMES[side], SIDE_NAMES[side]), cell, side) for side in SIDES]
    count = len(LEVEL_COLORS)
    return [
        (Key(words, LEVEL_COLORS[i % count], dash=() if i < count else further_dash), cell, MEAN_OF_SIDES)
        for i, (words, cell) in enumerate(view.cells)
    ]


def norm_layers(norms: Sequence[NormBand], name: str) -> list[Layer]:
    """Return the drawn curves and bands of the norms of a variable."""
    return [norm_layer(*norm.curves[name]) for norm in norms if name in norm.curves]


def norm_keys(norms: Sequence[NormBand], names: Sequence[str]) -> list[Key]:
    """Return legend entries of norms that are available for one of the variables."""
    return [norm_key(norm.words, norm.has_band) for norm in norms if any(name in norm.curves for name in names)]


def _test_strips(tests: pd.DataFrame, name: str) -> tuple[Strip, ...]:
    """Return one strip for each test of the variable; the strips are labelled with the letters of the table below the figure."""
    if not len(tests):
        return ()
    letters = test_letters(tests)
    strips = []
    for key, rows in iterate_groups(tests[tests["variable"] == name], *TEST_KEY):
        clusters = rows[rows["start_percent"].notna()]
        spans = tuple(
            Span(float(row.start_percent), float(row.end_percent), f"{row.comparison}: p {p_value_text(row.p_cluster)}")
            for row in iterate_rows(clusters)
        )
        strips.append(Strip(letters[key], "ink", spans))
    return tuple(strips)


def test_letters(tests: pd.DataFrame) -> dict[tuple[str, ...], str]:
    """Return a letter for every comparison of a view, by the values of `TEST_KEY`."""
    keys = list(dict.fromkeys(tests[list(TEST_KEY)].itertuples(index=False, name=None)))
    return {key: chr(ord("a") + i) if i < 26 else str(i + 1) for i, key in enumerate(keys)}


@dataclass(frozen=True)
class SideCycles:
    """Cycles of one side: values (n, V, 101) in the signs of the tables, outliers, and the representative cycle."""

    values: FloatArray
    outlier: BoolArray
    representative: BoolArray
    foot_off: float


def subject_panel(
    name: str, cycles: Mapping[str, SideCycles], place: int, unit: str, norms: Sequence[NormBand], axes: str = ""
) -> tuple[Panel, str]:
    """Return the panel of a variable: thin cycles, dashed outliers, thick mean with SD band, bold representative cycle.

    Also returned is a text with the extremes of the means and the SD between cycles. `place`: index of the variable in the
    values of the cycles; `axes`: the setting [report] axes.
    """
    step_percent = 2  # single cycles at every second percent, which halves the size without a visible difference
    shown = variable(name) if axes != "auto" else replace(variable(name), scale=())
    thin: list[Layer] = []
    bold: list[Layer] = []
    axis = value_axis(shown, unit)
    words = [f"{shown.title}, {axis.label}"]
    for side, side_cycles in cycles.items():
        values = side_cycles.values[:, place] * shown.clinical_factor(side)
        known = np.isfinite(values).any(axis=1)
        if not known.any():
            words.append(f"{SIDE_NAMES[side]}: no valid cycle")
            continue
        color = SIDE_NAMES[side]
        percent, coarse = PERCENT[::step_percent], values[:, ::step_percent]
        thin.append(Line(percent, coarse[known & ~side_cycles.outlier], color, SINGLE, 0.45))
        thin.append(Line(percent, coarse[known & side_cycles.outlier], color, 0.9, 0.9, _OUTLIER))
        mean, sd = nan_statistics(values[known])
        if known.sum() > 1:
            thin.insert(0, Area(PERCENT, mean - sd, mean + sd, color, 0.16))
        bold.append(Line(*break_curve(mean, values[known]), color, _MEAN))
        if len(values) > 1:  # a single cycle equals its mean
            bold.append(Line(PERCENT, values[side_cycles.representative], f"{color}_dark", 1.5))
        spread = f", SD {np.nanmean(sd):.2g} on average" if np.isfinite(sd).any() else ""
        words.append(
            f"{SIDE_NAMES[side]}, mean of {int(known.sum())} cycles: {np.nanmin(mean):.3g} at {int(np.nanargmin(mean))} % to "
            f"{np.nanmax(mean):.3g} at {int(np.nanargmax(mean))} %{spread}"
        )
    marks = [layer for side, side_cycles in cycles.items() for layer in foot_off_layer(side, side_cycles.foot_off)]
    layers = [*norm_layers(norms, name), *marks, *thin, *bold]
    return Panel(
        shown.title, percent_axis(), axis, sort_bands_first(layers), note="" if bold else "no valid cycle"
    ), "; ".join(words)


def subject_keys(cycles: Mapping[str, SideCycles], norms: Sequence[NormBand], names: Sequence[str]) -> list[Key]:
    """Return the legend of the panels of these variables on the page of a subject."""
    keys = [Key(f"mean, {SIDE_NAMES[side]}", SIDE_NAMES[side]) for side in cycles]
    several = [side_cycles for side_cycles in cycles.values() if len(side_cycles.values) > 1]
    if several:
        keys += [Key("± 1 SD of the cycles", "muted", "area", opacity=0.3), Key("single cycle", "muted", width=SINGLE)]
    if any(side_cycles.outlier.any() for side_cycles in several):
        keys.append(Key("outlier", "muted", width=1.2, dash=_OUTLIER))
    if any(side_cycles.representative.any() for side_cycles in several):
        keys.append(Key("representative cycle", "ink", width=1.6))
    return [*keys, FOOT_OFF_KEY, *norm_keys(norms, names)]


def display_figures() -> list[dict[str, Any]]:
    """Return the figures over the gait cycle as in the trial report: name, title, panels; ground forces last."""
    table = display_table()
    return [*table["figure"], table["stance_figure"]]


_BINS = 24


def quality_figure(trials: Sequence[Trial], marker_limit_mm: float) -> Markup:
    """Return histograms of the quality measures of all trials with a result; `marker_limit_mm`: limit of the marker RMS."""
    done = [trial for trial in trials if trial.has_result]
    markers = _finite_values([trial.metric("marker_rms_mm") for trial in done])
    panels = [_histogram_panel("Marker tracking error", "RMS of the trial, mm", markers, (), marker_limit_mm)]
    for kind, unit in (("force", "N"), ("moment", "Nm")):
        share = np.array([trial.metric(f"residual_{kind}_rms_percent_of_limit") for trial in done])
        mean = np.array([trial.metric(f"residual_{kind}_rms_{unit}") for trial in done])
        peak = np.array([trial.metric(f"residual_{kind}_peak_{unit}") for trial in done])
        with np.errstate(invalid="ignore", divide="ignore"):
            peaks = np.where(mean > 0, share * peak / mean, np.nan)
        panels.append(
            _histogram_panel(f"Residual {kind}", "% of its limit", _finite_values(share), _finite_values(peaks), 100.0)
        )
    panels.append(_contact_panel(done))
    panels.append(_cycle_panel("All cycles", "cycles", done))
    panels.append(_cycle_panel("Cycles with all moments", "kinetic_cycles", done))
    keys = [
        Key("RMS of a trial", "bar", "area"), Key("largest value of a trial", "ink", "outline"),
        Key("limit", "limit", width=1.0, dash=DASHED), *(Key(side, side, "area") for side in SIDE_NAMES.values()),
    ]  # fmt: skip
    return render_svg(Figure("Quality over all trials", tuple(panels), tuple(keys), height=125.0))


def _finite_values(values: Sequence[float] | FloatArray) -> FloatArray:
    array = np.asarray(values, dtype=np.float64)
    return array[np.isfinite(array)]


def _histogram_panel(
    title: str, xlabel: str, filled: FloatArray, outlined: FloatArray | Sequence[float], limit: float
) -> Panel:
    other = np.asarray(outlined, dtype=np.float64)
    largest = max(float(filled.max(initial=0.0)), float(other.max(initial=0.0)), 1.15 * limit)
    edges = np.linspace(0.0, largest, _BINS + 1)
    middle, width = 0.5 * (edges[1:] + edges[:-1]), float(edges[1] - edges[0])
    zero = np.zeros(_BINS)
    bars = [Bars(middle, zero, np.histogram(filled, edges)[0].astype(float), 0.9 * width, "bar")]
    if len(other):
        bars.append(Bars(middle, zero, np.histogram(other, edges)[0].astype(float), 0.9 * width, "ink", outline=True))
    beyond = f"beyond: {int((filled > limit).sum())}"
    if len(other):
        beyond = f"beyond: {int((filled > limit).sum())}, {int((other > limit).sum())}"
    return Panel(
        title,
        Axis(xlabel, limits=(0.0, largest)),
        _count_axis("trials"),
        (*bars, Rule(limit, "x", "limit", 1.0, DASHED)),
        corner=f"{beyond} of {len(filled)}" if len(filled) else "",
        note="" if len(filled) else "unknown for all trials",
    )


def _count_axis(what: str) -> Axis:
    return Axis(what, floor=0.0, counts=True, grid=True)


def _contact_panel(done: Sequence[Trial]) -> Panel:
    counts = [sum(_finite_values([trial.metric(f"contacts_{name}") for trial in done])) for name in DECISIONS]
    bars = tuple(
        Bars(np.array([float(i)]), np.zeros(1), np.array([count], dtype=float), 0.6, name)
        for i, (count, name) in enumerate(zip(counts, DECISIONS, strict=True))
    )
    ticks = tuple((float(i), f"{name} {int(counts[i])}") for i, name in enumerate(DECISIONS))
    return Panel("Foot-plate contacts", Axis(limits=(-0.6, 2.6), ticks=ticks), _count_axis("contacts"), bars)


def _cycle_panel(title: str, figure_name: str, done: Sequence[Trial]) -> Panel:
    max_cycles = 8  # larger numbers are counted together
    counts = {
        side: _finite_values([trial.metric(f"{figure_name}_{SIDE_NAMES[side]}") for trial in done]) for side in SIDES
    }
    most = int(min(max((side_counts.max(initial=0.0) for side_counts in counts.values()), default=0.0), max_cycles))
    places = np.arange(most + 1, dtype=np.float64)
    bars = tuple(
        Bars(
            places + shift, np.zeros(most + 1),
            np.array([np.count_nonzero(np.minimum(side_counts, max_cycles) == n) for n in places], dtype=float), 0.36,
            SIDE_NAMES[side],
        )
        for shift, (side, side_counts) in zip((-0.2, 0.2), counts.items(), strict=True)
    )  # fmt: skip
    ticks = tuple((n, f"{n:.0f}+" if n == max_cycles else f"{n:.0f}") for n in places.tolist())
    total = ", ".join(f"{SIDE_NAMES[side][0].upper()} {int(side_counts.sum())}" for side, side_counts in counts.items())
    x = Axis("cycles of a side in a trial", limits=(-0.6, max(most, 1) + 0.6), ticks=ticks)
    return Panel(title, x, _count_axis("trials"), bars, corner=total)


def profile_figure(
    scores: pd.DataFrame, cells: Sequence[Cell], names: DisplayNames, means: pd.DataFrame | None = None
) -> Figure:
    """Return the Movement Analysis Profile (Baker et al. 2009): the scores and the Gait Profile Score; one panel per cell.

    `means`: session_means.csv of one person and session, for whiskers of one SEM and boxes of the minimal detectable change;
    for several people, whiskers are the SD between them.
    """
    max_of_score = 1.5  # axis limit relative to the largest score
    nine = score_variables()
    labels = [names.title(variable) for _, variable, _ in nine]
    columns = [f"gvs_{name}" for name, _, _ in nine]
    panels: list[Panel] = []
    several = scores["subject"].nunique() > 1
    known = means if means is not None and len(means) and scores["session"].nunique() == 1 else None
    for cell in cells:
        cell_scores = scores[(scores["condition"] == cell[0]) & (scores["group"] == cell[1])]
        if not len(cell_scores):
            continue
        per_subject = cell_scores.groupby(["subject", "side"], sort=False)[[*columns, "gps"]].mean().reset_index()
        bars = []
        places: list[tuple[str, list[str], float, str, float, int]] = [
            (side, [*columns, "gps"], shift, SIDE_NAMES[side], 0.34, 0)
            for shift, side in zip((-0.19, 0.19), SIDES, strict=True)
        ]
        places.append((BOTH_SIDES, ["gps"], 0.0, "muted", 0.5, len(columns) + 1))
        for side, shown, shift, color, width, start in places:
            own_bars = _profile_bars(per_subject[per_subject["side"] == side], shown, shift, color, width, start)
            if known is None:
                bars.append(own_bars)
            else:
                bars += _add_error_bars(
                    own_bars, shown, known[(known["condition"] == cell[0]) & (known["side"] == side)]
                )
        words = [*(label.replace(" ", "\n") for label in labels), "GPS\nof a side", "GPS"]
        x = Axis(limits=(-0.6, len(words) - 0.4), ticks=tuple((float(i), label) for i, label in enumerate(words)))
        title = cell_label(cell, cells) or "All"
        title += f", {count_with_noun(cell_scores['subject'].nunique(), 'subject')}" if several else ""
        reference = (
            f" from {scores['reference'].iloc[0]}" if "reference" in scores and scores["reference"].iloc[0] else ""
        )
        panels.append(Panel(title, x, Axis(f"degrees{reference}", floor=0.0, grid=True), tuple(bars)))
    keys = [Key(SIDE_NAMES[side], SIDE_NAMES[side], "area") for side in SIDES]
    keys += [Key("both sides", "muted", "area")]
    keys += [Key("± 1 SD between subjects", "ink", width=1.0)] if several else []
    drawn = [bars for panel in panels for bars in panel.layers if isinstance(bars, Bars)]
    if known is not None and any(bars.outline for bars in drawn):
        keys += [Key("± 1 SEM", "ink", width=1.0), Key("minimal detectable change (MDC95)", "muted", "outline")]
    largest = max((bars.largest_end for bars in drawn if not bars.outline), default=0.0)
    # The detectable change of two walks may exceed the axis; its box is then open at the top, and the table has the number.
    most = max(largest, min(max((bars.largest_end for bars in drawn), default=0.0), max_of_score * largest))
    panels = [replace(panel, y=replace(panel.y, limits=(0.0, 1.04 * most or 1.0))) for panel in panels]
    return Figure("Movement analysis profile", tuple(panels), tuple(keys), 1, 130.0)


def cell_label(cell: Cell, cells: Sequence[Cell]) -> str:
    """Return condition and group as a label; a part that is equal in all `cells` is omitted."""
    several = [len({other[i] for other in cells}) > 1 for i in (0, 1)]
    words = [level_label(cell[i], factor) for i, factor in enumerate(("condition", "group")) if several[i]]
    return ", ".join(words)


def _add_error_bars(bars: Bars, columns: Sequence[str], means: pd.DataFrame) -> list[Bars]:
    """Return the bars with whiskers of one SEM, and above each a narrow box with the height of the minimal detectable change."""
    scores = means[means["kind"] == SCORE].drop_duplicates("name").set_index("name").reindex(list(columns))
    sem, mdc = scores["sem"].to_numpy(float), scores["mdc95"].to_numpy(float)
    if not np.isfinite(sem).any():
        return [bars]
    box = Bars(bars.at, bars.top, bars.top + mdc, 0.5 * bars.width, bars.color, outline=True)
    return [replace(bars, error=sem), box]


def _profile_bars(
    rows: pd.DataFrame, columns: Sequence[str], shift: float, color: str, width: float, start: int = 0
) -> Bars:
    values = rows[list(columns)].to_numpy(dtype=np.float64)
    mean, sd = nan_statistics(values)
    place = start + np.arange(len(columns), dtype=np.float64) + shift
    return Bars(place, np.zeros(len(columns)), mean, width, color, sd)


#: Walks of a session in one view; more cannot be distinguished.
MOST_WALKS: Final = 4


def read_trial_view(source: StudySource, trial: Trial) -> TrialView:
    """Return the data of a stored result for a 3-D view; ResultError if it is incomplete."""
    result = StoredResult(source.out / trial.folder)
    return TrialView(result.record, result.tables, result.arrays)


def typical_walk(source: StudySource) -> Trial | None:
    """Return the walk with the first representative cycle, else the first walk with a result; None if no walk has a result."""
    done = {(trial.subject, trial.trial): trial for trial in source.trials if trial.has_result}
    cycles = source.table("cycles")
    if "representative" in cycles:
        for subject, trial in cycles.loc[cycles["representative"].astype(bool), ["subject", "trial"]].itertuples(
            index=False
        ):
            if (subject, trial) in done:
                return done[subject, trial]
    return next(iter(done.values()), None)


def walks_scene(walks: Sequence[tuple[str, StudySource, Trial]], most_bytes: int = MOST_BYTES) -> dict[str, Any] | None:
    """Return the 3-D view of walks (name, study, trial), with at most `most_bytes` of numbers; None if none has a motion.

    Walks that do not fit are listed with the reason.
    """
    trial_views: dict[str, TrialView] = {}
    left_out = []
    for name, source, trial in walks:
        try:
            trial_views[name] = read_trial_view(source, trial)
        except ResultError as error:
            # paths relative to the study folder, so that equal results give equal pages
            left_out.append(f" Not shown: {name}. {error}".replace(f"{source.out}{os.sep}", ""))
    context = multi_trial_scene(trial_views, most_bytes=most_bytes) if trial_views else None
    return context and {**context, "drawn": context["drawn"] + "".join(left_out)}


def session_scene(source: StudySource, trials: Sequence[Trial]) -> dict[str, Any] | None:
    """Return the 3-D view of the first walks of a session that have a result; further walks are listed in its text."""
    done = [(trial.trial, source, trial) for trial in trials if trial.has_result]
    scene = walks_scene(done[:MOST_WALKS])
    others = ", ".join(name for name, _, _ in done[MOST_WALKS:])
    if scene is None or not others:
        return scene
    return {
        **scene,
        "drawn": f"{scene['drawn']} Not shown (more than {MOST_WALKS} walks cannot be distinguished): {others}.",
    }
