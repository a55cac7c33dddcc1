"""The largest values of a few mean curves with their uncertainty, as lines for the screen."""

from __future__ import annotations

import numpy as np

from biodyn.conventions import SIDE_NAMES, SIDES
from biodyn.output.figures.curves import TrialValues, display_table, stance_known, unit_words
from biodyn.variables import variable


def peak_lines(values: TrialValues) -> list[str]:
    """A line a variable (`screen` in display.toml): its largest value on each side ± one SD of the input errors there.

    A value of a curve that is not known over the whole cycle has a star, a curve that is not known in stance a dash. No lines
    without cycles.
    """
    rows, starred = [], False
    for name in display_table()["screen"]:
        sides = values.curves.get(name, {})
        cells = []
        for side in SIDES:
            cell = _peak(values, name, side)
            starred = starred or cell.endswith("*")
            cells.append(f"{SIDE_NAMES[side]} {cell}")
        if any(len(sides[side].values) for side in sides):
            unit = unit_words(next(iter(sides.values())).unit)
            rows.append((f"Peak {variable(name).title.lower()}, {unit}", *cells))
    if not rows:
        return []
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    lines = [f"{title:<{widths[0]}}  {right:<{widths[1]}}  {left}" for title, right, left in rows]
    banded = any(name in values.bands for name in display_table()["screen"])
    notes = (["± one standard deviation of the input errors"] if banded else []) + (
        ["* the curve is not known over the whole cycle"] if starred else []
    )
    return [*lines, *([f"  {'; '.join(notes)}."] if notes else [])]


def _peak(values: TrialValues, name: str, side: str) -> str:
    """The largest value of a side's mean curve with its band and percent of the cycle; a dash where there is none."""
    curves = values.curves.get(name, {}).get(side)
    if curves is None or not stance_known(curves, values.foot_off_percent[side]):
        return "–"
    mean, digits = curves.mean, 1 if curves.unit == "deg" else 2
    at = int(np.nanargmax(np.round(mean, 4)))
    band = values.bands.get(name, {}).get(side)
    error = f" ± {band[at]:.{digits}f}" if band is not None and np.isfinite(band[at]) else ""
    return f"{mean[at]:.{digits}f}{error} at {at} %{'' if np.isfinite(mean).all() else '*'}"
