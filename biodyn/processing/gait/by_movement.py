"""What the movement tells of foot strikes and foot offs, before the trial's own plates correct it (`events`).

The steps say near which times events are: at the extremes of the feet against the pelvis. In walking a strike is where contact
becomes likely and an off between two marks; in other gaits both are where the foot marks them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from biodyn.conventions import SIDES, FloatArray, Side
from biodyn.library.load import load_table
from biodyn.processing.contacts.feet import GaitPoints
from biodyn.processing.gait.activity import Direction
from biodyn.processing.gait.contact_likelihood import likely_strikes
from biodyn.processing.gait.event_confidence import probability_close
from biodyn.processing.gait.foot_motion import at_marks, offs_by_toes
from biodyn.processing.gait.moving_feet import leading_points, with_standing_feet
from biodyn.processing.gait.peaks import distinct_peaks
from biodyn.processing.signals.filtering import finite_stretches
from biodyn.recording import EventKind, GaitEvent

KINDS: tuple[EventKind, EventKind] = ("foot_strike", "foot_off")
#: Two events of a side and kind are farther apart.
MIN_STRIDE_S = 0.4
# A fore-aft excursion of the heel or toe below this is no gait; a peak must stand out by this share of the excursion.
MIN_EXCURSION_M = 0.1
PEAK_SHARE = 0.1


def movement_events(
    points: GaitPoints, rate_hz: float, direction: Direction = "forwards", walking: bool = True
) -> list[GaitEvent]:
    """Return the strikes and offs of both feet, sorted by side, not by time.

    Args:
        points: as steps are told by (`GaitPoints.of_steps`). A foot without a sole is not asked whether it comes to stand.
        rate_hz: marker rate.
        direction: of the steps against the pelvis (`activity`); "" = no steps, the movement has no events.
        walking: False in running, on stairs.
    """
    if not direction:
        return []
    heel_W, toe_W, floor = points.heel, points.toe, points.floor_velocity
    ahead = leading_points(direction, heel_W, toe_W, points.pelvis, points.forward, floor, rate_hz)
    found = expected_events(kinematic_events(*ahead, rate_hz))
    if direction == "forwards":
        # What was learnt was learnt of walking people.
        if walking:
            found = likely_strikes(offs_by_toes(found, toe_W, rate_hz), heel_W, toe_W, floor, rate_hz)
        else:
            found = at_marks(found, heel_W, toe_W, rate_hz)
    return with_standing_feet(found, points.sole, rate_hz)


def kinematic_events(
    heel_W: Mapping[Side, FloatArray],
    toe_W: Mapping[Side, FloatArray],
    pelvis_W: FloatArray,
    forward_W: FloatArray,
    rate_hz: float,
) -> list[GaitEvent]:
    """Events from the movement: strike = heel farthest ahead of the pelvis, off = toe farthest behind (Zeni 2008).

    10.1016/j.gaitpost.2007.07.007. All arrays (T, 3) m in World, low-pass filtered, NaN where unknown. `forward_W` is
    the pelvis' own anterior direction frame by frame, so that turns need no straight walkway. Sub-frame by a parabola.
    """
    forward = np.array(forward_W, dtype=np.float64)
    forward[:, 1] = 0.0
    forward /= np.linalg.norm(forward, axis=1, keepdims=True)
    events: list[GaitEvent] = []
    for side in SIDES:
        for kind, points, sign in (("foot_strike", heel_W[side], 1.0), ("foot_off", toe_W[side], -1.0)):
            ahead = sign * np.sum((points - pelvis_W) * forward, axis=1)
            for time_s in _peak_times(ahead, rate_hz):
                events.append(GaitEvent(time_s, side, kind, "kinematic"))  # type: ignore[arg-type]
    return events


def expected_events(extremes: Sequence[GaitEvent]) -> list[GaitEvent]:
    """Return the extremes of `kinematic_events` at the times of the events that they stand for, with their confidence.

    What is typical of people is taken off, in shares of the stride (`library/gait/events.toml`).
    """
    stride_s, known = usual_stride_s(extremes), load_table("gait/events")["kinematic"]
    return [
        replace(
            event,
            time_s=event.time_s - known[event.kind]["late_strides"] * stride_s,
            confidence=probability_close(known[event.kind]["error_s"], known[event.kind]["bias_s"]),
        )
        for event in extremes
    ]


def _peak_times(signal: FloatArray, rate_hz: float) -> list[float]:
    """Times in s of the distinct maxima of a signal (T,) m with gaps."""
    finite = np.isfinite(signal)
    if not finite.any():
        return []
    low, high = np.percentile(signal[finite], [5.0, 95.0])
    if high - low < MIN_EXCURSION_M:
        return []
    times: list[float] = []
    for first, stop in finite_stretches(finite):
        part = signal[first:stop]
        for peak in distinct_peaks(part, PEAK_SHARE * (high - low), max(1.0, MIN_STRIDE_S * rate_hz)):
            before, at, after = part[peak - 1 : peak + 2]
            bend = before - 2.0 * at + after
            shift = 0.5 * (before - after) / bend if bend < 0.0 else 0.0
            times.append(float((first + peak + shift) / rate_hz))
    return times


def usual_stride_s(events: Sequence[GaitEvent]) -> float:
    """Median time between successive events of one kind and side, else twice that between the sides; 0 if unknown."""
    for sides, factor in (([("r",), ("l",)], 1.0), ([("r", "l")], 2.0)):
        gaps: list[float] = []
        for kind in KINDS:
            for which in sides:
                times = sorted(event.time_s for event in events if event.kind == kind and event.side in which)
                gaps += [factor * (later - earlier) for earlier, later in pairwise(times)]
        if gaps:
            return float(np.median(gaps))
    return 0.0
