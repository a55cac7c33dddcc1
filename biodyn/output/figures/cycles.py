"""Curves over the gait cycle: both sides, normative band, foot off, valid parts only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator

from biodyn.conventions import CYCLE_POINTS, SIDE_NAMES, SIDES, FloatArray
from biodyn.output.figures.style import (
    BAND,
    INK,
    LABEL_PT,
    MUTED,
    NORM_LINE,
    SIDE_COLORS,
    TICK_PT,
    TITLE_PT,
    dress,
    new_figure,
    note,
    panel_size_in,
    panels,
    zero_line,
)
from biodyn.variables import PERCENT, Norms, Variable, variable

# From this many cycles on their spread says more than the single curves.
_SPREAD_FROM = 4
_COLUMNS = 3


@dataclass(frozen=True)
class CycleCurves:
    """Cycles of one variable and side: values (n, 101) as shown, only those with numbers; unit as in the table."""

    values: FloatArray
    unit: str

    @property
    def mean(self) -> FloatArray:
        """Mean (101,) over the cycles that have a number there, NaN where none has."""
        return nan_statistics(self.values)[0]


def nan_statistics(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation (n - 1) over the first axis of the numbers that are there; NaN below one and two."""
    known = np.isfinite(values)
    count = known.sum(axis=0)
    filled = np.where(known, values, 0.0)
    empty = np.full(count.shape, np.nan)
    mean = np.divide(filled.sum(axis=0), count, out=empty.copy(), where=count > 0)
    square = np.where(known, (values - mean) ** 2, 0.0).sum(axis=0)
    sd = np.sqrt(np.divide(square, count - 1, out=empty.copy(), where=count > 1))
    return mean, sd


def curves_by_variable(gait_cycles: pd.DataFrame) -> dict[str, dict[str, CycleCurves]]:
    """Sort the tidy table of gait cycles into {variable: {side: CycleCurves}}, with the signs people are shown.

    Relies on the table's layout: 101 rows per curve, percent ascending.
    """
    found: dict[str, dict[str, CycleCurves]] = {}
    if gait_cycles.empty:
        return found
    values = gait_cycles["value"].to_numpy(dtype=np.float64).reshape(-1, CYCLE_POINTS)
    heads = gait_cycles.iloc[::CYCLE_POINTS]
    units = heads["unit"].astype(str).to_numpy()
    rows: dict[tuple[str, str], list[int]] = {}
    for row, key in enumerate(zip(heads["variable"].astype(str), heads["side"].astype(str), strict=True)):
        rows.setdefault(key, []).append(row)
    known = np.isfinite(values).any(axis=1)
    for (name, side), own in rows.items():
        shown = values[[row for row in own if known[row]]] * variable(name).clinical(side)
        found.setdefault(name, {})[side] = CycleCurves(shown, units[own[0]])
    return found


def cycle_figure(
    curves: Mapping[str, Mapping[str, CycleCurves]],
    names: Sequence[str],
    foot_off_percent: Mapping[str, float],
    band: Norms | None = None,
    line: Norms | None = None,
    bands: Mapping[str, Mapping[str, FloatArray]] | None = None,
) -> Figure:
    """Panels of variables over the gait cycle; variables without any cycle are left out.

    Args:
        curves: from `curves_by_variable`.
        names: variables in order of the panels.
        foot_off_percent: mean foot off by side, NaN where unknown.
        band, line: normative groups drawn as a grey band and as a dashed line.
        bands: by variable and side, one standard deviation (101,) of its input errors, drawn around the mean.
    """
    present = [name for name in names if name in curves] or list(names[:1])
    columns = min(_COLUMNS, len(present))
    rows = -(-len(present) // columns)
    figure = new_figure(9.4, 0.8 + 1.95 * rows)
    axes = panels(figure, rows, columns, down_in=0.4)
    for i, (ax, name) in enumerate(zip(axes, present, strict=False)):
        last = i + columns >= len(present)
        shown = variable(name)
        errors = (bands or {}).get(name, {})
        cycle_panel(ax, shown, curves.get(name, {}), foot_off_percent, band, line, label_x=last, errors=errors)
    for ax in axes[len(present) :]:
        ax.set_axis_off()
    drawn_band = band if band and any(name in band.curves for name in present) else None
    drawn_line = line if line and any(name in line.curves for name in present) else None
    _legend(figure, drawn_band, drawn_line)
    return figure


def cycle_panel(
    ax: Axes,
    shown: Variable,
    sides: Mapping[str, CycleCurves],
    foot_off_percent: Mapping[str, float],
    band: Norms | None,
    line: Norms | None,
    *,
    label_x: bool = True,
    xlabel: str = "gait cycle (%)",
    errors: Mapping[str, FloatArray] | None = None,
) -> None:
    """One variable: every cycle thin, their mean thick, the number of cycles, foot off, the norms behind."""
    unit = next((curve.unit for curve in sides.values()), "")
    dress(ax, shown.title, f"{unit_words(unit)}, {shown.positive} +", xlabel if label_x else "")
    ax.set_xlim(0.0, 100.0)
    if label_x:
        ax.xaxis.set_major_locator(FixedLocator((0, 20, 40, 60, 80, 100)))
    for norms in (band, line):
        curve = norms.curves.get(shown.name) if norms else None
        if curve is None:
            continue
        sign = shown.clinical(SIDES[0])
        if curve.sd is not None:
            ax.fill_between(
                PERCENT, sign * curve.mean - curve.sd, sign * curve.mean + curve.sd, color=BAND, linewidth=0, zorder=0
            )
        else:
            ax.plot(PERCENT, sign * curve.mean, color=NORM_LINE, linewidth=0.9, dashes=(4, 2), zorder=1)
    zero_line(ax)
    counts = []
    for side in SIDES:
        curves = sides.get(side)
        count = 0 if curves is None else len(curves.values)
        counts.append(f"{SIDE_NAMES[side][0].upper()} {_count_words(curves)}")
        if curves is None or not count:
            continue
        color = SIDE_COLORS[side]
        mean, sd = nan_statistics(curves.values)
        error = (errors or {}).get(side)
        if error is not None:
            ax.fill_between(PERCENT, mean - error, mean + error, color=color, alpha=0.18, linewidth=0)
        elif count >= _SPREAD_FROM:
            ax.fill_between(PERCENT, mean - sd, mean + sd, color=color, alpha=0.18, linewidth=0)
        if 1 < count < _SPREAD_FROM or (error is not None and count > 1):
            ax.plot(PERCENT, curves.values.T, color=color, linewidth=0.6, alpha=0.5)
        ax.plot(*broken(mean, curves.values), color=color, linewidth=1.7)
        if np.isfinite(foot_off_percent.get(side, np.nan)):
            ax.axvline(foot_off_percent[side], color=color, linewidth=0.8, linestyle=(0, (2, 2)), alpha=0.8)
    if not any(len(curves.values) for curves in sides.values()):
        note(ax, "no valid cycle")
    words = "n: " + ", ".join(counts)
    beside = _letters_in(shown.title, TITLE_PT) + _letters_in(words, TICK_PT) < panel_size_in(ax)[0]
    ax.text(
        1.0,
        1.03 if beside else 0.98,  # beside a long title there is no room
        words,
        transform=ax.transAxes,
        ha="right",
        va="bottom" if beside else "top",
        fontsize=TICK_PT - 0.5,
        color=MUTED,
    )


def _letters_in(text: str, points: float) -> float:
    """Width of a text, inches, at most: a bold letter is two thirds of its size wide on average."""
    return 0.66 * points / 72.0 * len(text)


def _count_words(curves: CycleCurves | None) -> str:
    """How many cycles a mean is made of, "1-2" where it changes over the cycle."""
    if curves is None or not len(curves.values):
        return "0"
    counts = np.isfinite(curves.values).sum(axis=0)
    low, high = int(counts[counts > 0].min()), int(counts.max())
    return str(high) if low == high else f"{low}-{high}"


def broken(mean: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Percent and mean with a break wherever the number of cycles changes: a step there is none of the walker's."""
    at = np.flatnonzero(np.diff(np.isfinite(values).sum(axis=0))) + 1
    return np.insert(PERCENT, at, np.nan), np.insert(mean, at, np.nan)


def unit_words(unit: str) -> str:
    """A unit as written on an axis."""
    return {"deg": "degrees", "BW": "body weights"}.get(unit, unit)


def _legend(figure: Figure, band: Norms | None, line: Norms | None) -> None:
    handles: list[Line2D | Patch] = [
        Line2D([], [], color=SIDE_COLORS[side], linewidth=1.8, label=SIDE_NAMES[side]) for side in SIDES
    ]
    handles.append(Line2D([], [], color=MUTED, linewidth=0.9, linestyle=(0, (2, 2)), label="foot off"))
    if band is not None:
        handles.append(Patch(color=BAND, label=f"{band.short}, {band.band}"))
    if line is not None:
        handles.append(
            Line2D([], [], color=NORM_LINE, linewidth=1.0, dashes=(4, 2), label=f"{line.short}, {line.band}")
        )
    figure.legend(
        handles=handles,
        loc="lower center",
        ncols=len(handles),
        frameon=False,
        fontsize=LABEL_PT,
        labelcolor=INK,
        bbox_to_anchor=(0.5, 0.0),
        handlelength=1.8,
        columnspacing=1.6,
    )
