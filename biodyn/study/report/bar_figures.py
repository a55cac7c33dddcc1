"""Figures of numbers: quality over all trials against its limits, the movement analysis profile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from markupsafe import Markup

from biodyn.conventions import SIDE_NAMES, SIDES, FloatArray
from biodyn.output.figures.description import Axis, Bars, Figure, Key, Panel, Rule
from biodyn.output.figures.style import DASHED
from biodyn.output.figures.svg import svg
from biodyn.study.collecting.metrics import DECISIONS
from biodyn.study.group.statistics.gait_scores import BOTH_SIDES, score_variables
from biodyn.study.group.statistics.session_means import SCORE
from biodyn.study.report.means import Cell
from biodyn.study.report.source import Trial
from biodyn.study.report.words import Names, level_words

_BINS = 24
_MOST_CYCLES = 8  # from here on counted together
_MOST_OF_SCORE = 1.5  # how far beyond the largest score the profile reaches


@dataclass(frozen=True)
class Limits:
    """Limits of the checks that ran: RMS of the markers, mm."""

    marker_rms_mm: float


def quality_figure(trials: Sequence[Trial], limits: Limits) -> Markup:
    """Distributions over the trials that have a result."""
    done = [trial for trial in trials if trial.done]
    markers = _known([trial.number("marker_rms_mm") for trial in done])
    panels = [_histogram("Marker tracking error", "RMS of the trial, mm", markers, (), limits.marker_rms_mm)]
    for kind, unit in (("force", "N"), ("moment", "Nm")):
        share = np.array([trial.number(f"residual_{kind}_rms_percent_of_limit") for trial in done])
        mean = np.array([trial.number(f"residual_{kind}_rms_{unit}") for trial in done])
        peak = np.array([trial.number(f"residual_{kind}_peak_{unit}") for trial in done])
        with np.errstate(invalid="ignore", divide="ignore"):
            peaks = np.where(mean > 0, share * peak / mean, np.nan)
        panels.append(_histogram(f"Residual {kind}", "% of its limit", _known(share), _known(peaks), 100.0))
    panels.append(_contact_panel(done))
    panels.append(_cycle_panel("All cycles", "cycles", done))
    panels.append(_cycle_panel("Cycles with all moments", "kinetic_cycles", done))
    keys = [
        Key("RMS of a trial", "bar", "area"), Key("largest value of a trial", "ink", "outline"),
        Key("limit", "limit", width=1.0, dash=DASHED), *(Key(side, side, "area") for side in SIDE_NAMES.values()),
    ]  # fmt: skip
    return svg(Figure("Quality over all trials", tuple(panels), tuple(keys), height=125.0))


def _known(values: Sequence[float] | FloatArray) -> FloatArray:
    array = np.asarray(values, dtype=np.float64)
    return array[np.isfinite(array)]


def _histogram(
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
        _counted("trials"),
        (*bars, Rule(limit, "x", "limit", 1.0, DASHED)),
        corner=f"{beyond} of {len(filled)}" if len(filled) else "",
        note="" if len(filled) else "not known for any trial",
    )


def _counted(what: str) -> Axis:
    return Axis(what, floor=0.0, counts=True, grid=True)


def _contact_panel(done: Sequence[Trial]) -> Panel:
    counts = [sum(_known([trial.number(f"contacts_{name}") for trial in done])) for name in DECISIONS]
    bars = tuple(
        Bars(np.array([float(i)]), np.zeros(1), np.array([count], dtype=float), 0.6, name)
        for i, (count, name) in enumerate(zip(counts, DECISIONS, strict=True))
    )
    ticks = tuple((float(i), f"{name} {int(counts[i])}") for i, name in enumerate(DECISIONS))
    return Panel("Foot-plate contacts", Axis(limits=(-0.6, 2.6), ticks=ticks), _counted("contacts"), bars)


def _cycle_panel(title: str, figure_name: str, done: Sequence[Trial]) -> Panel:
    found = {side: _known([trial.number(f"{figure_name}_{SIDE_NAMES[side]}") for trial in done]) for side in SIDES}
    most = int(min(max((own.max(initial=0.0) for own in found.values()), default=0.0), _MOST_CYCLES))
    places = np.arange(most + 1, dtype=np.float64)
    bars = tuple(
        Bars(
            places + shift, np.zeros(most + 1),
            np.array([np.count_nonzero(np.minimum(own, _MOST_CYCLES) == n) for n in places], dtype=float), 0.36,
            SIDE_NAMES[side],
        )
        for shift, (side, own) in zip((-0.2, 0.2), found.items(), strict=True)
    )  # fmt: skip
    ticks = tuple((n, f"{n:.0f}+" if n == _MOST_CYCLES else f"{n:.0f}") for n in places.tolist())
    total = ", ".join(f"{SIDE_NAMES[side][0].upper()} {int(own.sum())}" for side, own in found.items())
    x = Axis("cycles of a side in a trial", limits=(-0.6, max(most, 1) + 0.6), ticks=ticks)
    return Panel(title, x, _counted("trials"), bars, corner=total)


def profile_figure(
    scores: pd.DataFrame, cells: Sequence[Cell], names: Names, means: pd.DataFrame | None = None
) -> Figure:
    """Baker's Movement Analysis Profile: the scores side by side, the Gait Profile Score at the end; one panel per cell.

    `means` (session_means.csv of one person and session): whiskers of one SEM, and above each bar the smallest change that
    could be detected; of several people whiskers of the SD between them.
    """
    nine = score_variables()
    labels = [names.title(one.variable) for one in nine]
    columns = [f"gvs_{one.name}" for one in nine]
    panels: list[Panel] = []
    several = scores["subject"].nunique() > 1
    known = means if means is not None and len(means) and scores["session"].nunique() == 1 else None
    for cell in cells:
        own = scores[(scores["condition"] == cell[0]) & (scores["group"] == cell[1])]
        if not len(own):
            continue
        per_subject = own.groupby(["subject", "side"], sort=False)[[*columns, "gps"]].mean().reset_index()
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
                bars += _with_errors(own_bars, shown, known[(known["condition"] == cell[0]) & (known["side"] == side)])
        words = [*(label.replace(" ", "\n") for label in labels), "GPS\nof a side", "GPS"]
        x = Axis(limits=(-0.6, len(words) - 0.4), ticks=tuple((float(i), label) for i, label in enumerate(words)))
        title = ", ".join(
            filter(None, (level_words(*_factor(cell, cells)), _people(own["subject"].nunique()) if several else ""))
        )
        panels.append(Panel(title, x, Axis(_score_axis(scores), floor=0.0, grid=True), tuple(bars)))
    keys = [Key(SIDE_NAMES[side], SIDE_NAMES[side], "area") for side in SIDES]
    keys += [Key("both sides", "muted", "area")]
    keys += [Key("± 1 SD between subjects", "ink", width=1.0)] if several else []
    drawn = [bars for panel in panels for bars in panel.layers if isinstance(bars, Bars)]
    if known is not None and any(bars.outline for bars in drawn):
        keys += [Key("± 1 SEM", "ink", width=1.0), Key("up to here a change may be chance (MDC95)", "muted", "outline")]
    largest = max((bars.reach for bars in drawn if not bars.outline), default=0.0)
    # The detectable change of two walks may be many times the score: its box is then open above, the table has the number.
    most = max(largest, min(max((bars.reach for bars in drawn), default=0.0), _MOST_OF_SCORE * largest))
    panels = [replace(panel, y=replace(panel.y, limits=(0.0, 1.04 * most or 1.0))) for panel in panels]
    return Figure("Movement analysis profile", tuple(panels), tuple(keys), 1, 130.0)


def _people(count: int) -> str:
    return f"{count} subject{'' if count == 1 else 's'}"


def _factor(cell: Cell, cells: Sequence[Cell]) -> tuple[str, str]:
    several = [len({c[i] for c in cells}) > 1 for i in (0, 1)]
    words = [level_words(cell[i], factor) for i, factor in enumerate(("condition", "group")) if several[i]]
    return (", ".join(words) or "All", "condition")


def _score_axis(scores: pd.DataFrame) -> str:
    """What the scores measure: whose gait they are the distance to, where that is known."""
    reference = str(scores["reference"].iloc[0]) if "reference" in scores else ""
    return f"degrees from {reference}" if reference else "degrees"


def _with_errors(bars: Bars, columns: Sequence[str], means: pd.DataFrame) -> list[Bars]:
    """The bars with whiskers of one SEM, and a narrow box above each as high as the smallest detectable change."""
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
    known = np.isfinite(values).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(known > 0, np.nansum(values, axis=0) / known, np.nan)
        squares = np.nansum((values - mean) ** 2, axis=0)
        sd = np.where(known > 1, np.sqrt(squares / np.maximum(known - 1, 1)), np.nan)
    place = start + np.arange(len(columns), dtype=np.float64) + shift
    return Bars(place, np.zeros(len(columns)), mean, width, color, sd)
