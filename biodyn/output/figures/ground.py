"""The ground reaction as figures take it: stances that were measured, curves over them, stretches that were not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from biodyn.conventions import SIDE_NAMES, SIDES, FloatArray
from biodyn.output.figures.cycles import CycleCurves
from biodyn.output.figures.description import Axis, Key, Line, Shade
from biodyn.variables import PERCENT, variable

#: The entry of `unmeasured` in a legend.
UNMEASURED_KEY = Key("a foot was on the floor outside the plates", "unknown", "area")


def force_column(name: str, side: str) -> str:
    """Column of the ground-reaction table that holds a variable, e.g. the side's vertical force."""
    stem, _, axis = name.rpartition("_")
    return f"{stem}_{side}_{axis}_N"


def measured_stances(events: pd.DataFrame, ground_reaction: pd.DataFrame, side: str) -> Iterator[tuple[float, float]]:
    """Yield (strike, off) in s of the stances of a side whose ground reaction is known from beginning to end."""
    own = events[events["side"].astype(str) == side].sort_values("time_s")
    times, kinds = own["time_s"].to_numpy(), own["event"].astype(str).to_numpy()
    frame_s = ground_reaction["time_s"].to_numpy()
    measured = ground_reaction[f"measured_{side}"].to_numpy(dtype=bool)
    loaded = np.isfinite(ground_reaction[f"centre_of_pressure_{side}_x_m"].to_numpy())
    for i in range(len(own) - 1):
        if (kinds[i], kinds[i + 1]) != ("foot_strike", "foot_off"):
            continue
        rows = (frame_s >= times[i]) & (frame_s <= times[i + 1])
        # Known and loaded for nearly all of it: a stance beside the plates is known to be none of theirs only by name.
        if rows.any() and measured[rows].all() and loaded[rows].mean() > 0.8:
            yield float(times[i]), float(times[i + 1])


def stance_curves(
    events: pd.DataFrame, ground_reaction: pd.DataFrame, names: Sequence[str], weight_n: float
) -> dict[str, dict[str, CycleCurves]]:
    """Ground forces over 0-100 % of each measured stance, in body weights and with the signs people are shown."""
    time_s = ground_reaction["time_s"].to_numpy()
    found: dict[str, dict[str, CycleCurves]] = {}
    for side in SIDES:
        if f"measured_{side}" not in ground_reaction:
            continue
        stances = list(measured_stances(events, ground_reaction, side))
        for name in names:
            force = ground_reaction[force_column(name, side)].to_numpy() / weight_n * variable(name).clinical(side)
            rows = [np.interp(np.linspace(a, b, len(PERCENT)), time_s, force) for a, b in stances]
            found.setdefault(name, {})[side] = CycleCurves(np.array(rows).reshape(-1, len(PERCENT)), "BW")
    return found


def unmeasured(ground_reaction: pd.DataFrame, sides: Sequence[str] = SIDES) -> Shade:
    """Grey where the ground reaction on one of the sides is unknown, from half-way between frames to half-way."""
    time_s = ground_reaction["time_s"].to_numpy(dtype=np.float64)
    measured = [ground_reaction[f"measured_{side}"].to_numpy(dtype=bool) for side in sides]
    known = np.logical_and.reduce(measured) if measured else np.ones(len(time_s), dtype=bool)
    edges = np.flatnonzero(np.diff(np.concatenate(([False], ~known, [False])).astype(np.int8))).reshape(-1, 2)
    between = np.concatenate((time_s[:1], 0.5 * (time_s[1:] + time_s[:-1]), time_s[-1:]))
    return Shade(tuple((float(between[start]), float(between[end])) for start, end in edges), "unknown")


def time_axis(time_s: FloatArray, label: str = "time (s)") -> Axis:
    """The axis of the whole trial."""
    return Axis(label, limits=(float(time_s[0]), float(time_s[-1])) if len(time_s) > 1 else (0.0, 1.0))


def force_lines(ground_reaction: pd.DataFrame, name: str, weight_n: float) -> list[Line]:
    """A component of the force on each foot through the trial, body weights, in the shown sign."""
    time_s = ground_reaction["time_s"].to_numpy(dtype=np.float64)
    return [
        Line(
            time_s,
            ground_reaction[force_column(name, side)].to_numpy() / weight_n * variable(name).clinical(side),
            SIDE_NAMES[side],
        )
        for side in SIDES
        if force_column(name, side) in ground_reaction
    ]


def seen_from_above(p_W: FloatArray) -> FloatArray:
    """World points (..., 3) as (..., 2): forward to the right of the page, left upwards."""
    return np.stack([p_W[..., 0], -p_W[..., 2]], axis=-1)
