"""The figure of a comparison: both curves of every sagittal moment, and which cause makes how much of the difference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from biodyn.comparison.differences import UNEXPLAINED, Difference
from biodyn.comparison.segments import PLANES
from biodyn.conventions import SIDE_NAMES, FloatArray
from biodyn.output.figures.curves import time_axis
from biodyn.output.figures.description import Axis, Bars, Figure, Key, Line, Panel
from biodyn.output.figures.style import LEVEL_COLORS
from biodyn.output.tables.differences import causes_in
from biodyn.variables.meaning import positive_about_transverse_axis

_MORE_COLORS = ("#0072B2", "#D55E00", "#8c6d31", "#b3de69", "#999999")
# More would not be read: those that differ most are drawn.
_MOST_CURVES, _MOST_BARS = 12, 8
# Causes below this share of every row are not drawn.
_LEAST = 0.01


def differences_figure(found: Sequence[Difference], time_s: FloatArray, names: tuple[str, str]) -> Figure:
    """Curves above, RMS differences in parts below."""
    moments = [one for one in found if one.quantity == "moment"] or list(found)
    curves = [one for one in moments if one.plane == moments[0].plane]
    largest = sorted(curves, key=lambda one: -one.rms)[:_MOST_CURVES]
    curves = [one for one in curves if any(one is other for other in largest)]
    panels = [
        Panel(
            _title(one),
            time_axis(time_s, "time (s)"),
            Axis(_unit_and_sign(one), holds=(0.0,), grid=True),
            (Line(time_s, one.first, "ink", 2.0), Line(time_s, one.other, "limit", 1.8)),
            corner=f"RMS {one.rms:.2g} {one.unit}",
        )
        for one in curves
    ]
    causes = [
        c for c in causes_in(moments) if c == UNEXPLAINED or any(abs(o.shares.get(c, 0.0)) > _LEAST for o in moments)
    ]
    colors = dict(zip(causes, (*LEVEL_COLORS, *_MORE_COLORS), strict=False))
    rows = [one for one in moments if one.shares]
    keys = (
        Key(names[0], "ink", width=2.0),
        Key(names[1], "limit", width=1.8),
        *(Key(cause, colors[cause], "area") for cause in causes if cause in colors),
    )
    for plane in dict.fromkeys(one.plane for one in rows):
        own = sorted((one for one in rows if one.plane == plane), key=lambda one: -one.rms)[:_MOST_BARS]
        panels.append(_bars([one for one in rows if any(one is other for other in own)], colors))
    return Figure("Differences and their causes", tuple(panels), keys, columns=3)


def _title(one: Difference) -> str:
    if one.of_coordinate:
        return one.title
    return f"{SIDE_NAMES.get(one.side, '')} {one.joint}, {one.plane} {one.quantity}".strip()


def _unit_and_sign(one: Difference) -> str:
    """The unit, and what is positive where that is known: of the torque of a coordinate its name tells."""
    positive = positive_about_transverse_axis(one.joint) if one.plane == PLANES[0] else ""
    return f"{one.unit}, {positive} +" if positive else one.unit


def _bars(rows: Sequence[Difference], colors: dict[str, str]) -> Panel:
    """One lying bar a row, as long as the RMS difference, cut by its shares; negative shares lie left of zero."""
    at = -np.arange(len(rows), dtype=np.float64)
    right, left = np.zeros(len(rows)), np.zeros(len(rows))
    layers = []
    for cause, color in colors.items():
        size = np.array([one.rms * one.shares.get(cause, 0.0) for one in rows])
        base = np.where(size >= 0.0, right, left)
        layers.append(Bars(at, base, base + size, 0.75, color, lying=True))
        right, left = right + np.maximum(size, 0.0), left + np.minimum(size, 0.0)
    ticks = tuple((float(y), f"{one.joint} {one.side.upper()}".strip()) for y, one in zip(at, rows, strict=True))
    unit = rows[0].unit
    return Panel(
        f"RMS by cause, {rows[0].plane}",
        Axis(f"{unit}; negative: offsets other causes", holds=(0.0,), grid=True),
        Axis("", limits=(float(at[-1]) - 0.7, 0.7), ticks=ticks),
        tuple(layers),
    )
