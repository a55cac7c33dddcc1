"""Foot strikes and foot offs from the movement of the feet, before correction by the plates of the trial (`events`).

Approximate events are the extremes of the feet relative to the pelvis (Zeni 2008). In walking a strike is refined by the
likelihood of contact. A foot off is the mean of two estimates with independent errors: the largest upward acceleration of the
toe (after Hreljac & Marshall 2000) and the time at which the toe is farthest behind the pelvis. In other gaits a strike is the
time at which the middle of heel and toe falls fastest (O'Connor et al. 2007), and a foot off is determined by the toe.

Likelihood of contact: around a strike the foot changes once from the air to the floor. The kinematics x of each frame give the
log odds l(x) of contact (logistic regression; `library/gait/events.toml`, estimated by `benchmarks/events.py`). For a
transition at s, log p(x | s) is the sum of l(x) over the frames after s, up to a constant; l is interpolated linearly between
frames. Mean and standard deviation over s are the time of the strike and its uncertainty. Heights above the low points of the
foot, velocities and accelerations are scaled by the 95th percentile of their size, so that they are comparable between people
and need no floor height.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise

import numpy as np
from scipy.special import stdtr

from biodyn.conventions import SIDES, BoolArray, FloatArray, IntArray, Side
from biodyn.library.toml_files import load_table
from biodyn.processing.contacts.foot_motion import GaitPoints
from biodyn.processing.gait.activity import Direction, travel_velocity, visible_soles
from biodyn.processing.signals.filtering import finite_stretches
from biodyn.recording import EventKind, GaitEvent


def probability_within_tolerance(error_s: float, bias_s: float = 0.0) -> float:
    """Return the probability that an event with a bias and an SD (s, Student t with `tail_df`) is within `close_s` of the
    truth."""
    table = load_table("gait/events")
    df, close_s = float(table["tail_df"]), float(table["close_s"])
    scale = error_s * math.sqrt((df - 2.0) / df)
    return float(stdtr(df, (close_s - bias_s) / scale) - stdtr(df, (-close_s - bias_s) / scale))


def distinct_peaks(x: FloatArray, prominence: float, distance: float) -> IntArray:
    """Return the samples of the maxima of a signal (T,) without gaps, as `scipy.signal.find_peaks` does.

    The highest of several maxima within `distance` samples is selected. Maxima must have at least the `prominence`, in the unit
    of `x`. The peak of a plateau is its middle; ends are not maxima. Implemented here because importing `scipy.signal` is slow.
    """
    change = np.flatnonzero(np.diff(x))  # last sample of each stretch of equal values
    heights = x[np.append(change, len(x) - 1)]
    top = np.flatnonzero((heights[1:-1] > heights[:-2]) & (heights[1:-1] > heights[2:])) + 1
    peaks = (change[top - 1] + 1 + change[top]) // 2
    selected = np.ones(len(peaks), dtype=bool)
    for index in np.argsort(x[peaks])[::-1]:
        if selected[index]:
            selected[np.abs(peaks - peaks[index]) < math.ceil(distance)] = False
            selected[index] = True
    peaks = peaks[selected]
    return peaks[[_peak_prominence(x, int(peak)) >= prominence for peak in peaks]]


def _peak_prominence(x: FloatArray, peak: int) -> float:
    """Return the height of a maximum above the higher of its two neighbouring minima."""
    higher = np.flatnonzero(x > x[peak])
    place = int(np.searchsorted(higher, peak))
    first = int(higher[place - 1]) if place else 0
    last = int(higher[place]) if place < len(higher) else len(x)
    return float(x[peak] - max(x[first : peak + 1].min(), x[peak:last].min()))


#: Features of the foot, in the order of `foot_kinematics`.
FEATURES = (
    "heel_height",
    "toe_height",
    "heel_upward_velocity",
    "toe_upward_velocity",
    "heel_speed",
    "toe_speed",
    "heel_upward_acceleration",
    "toe_upward_acceleration",
)
_STEP_S = 0.001  # time resolution of a strike


@dataclass(frozen=True)
class ContactOdds:
    """Log odds of contact: `intercept` + sum of `weights` (8,) times `FEATURES`.

    half_s: half width of the search window of a strike. spread_s: standard deviation between people in addition to the
    likelihood.
    """

    intercept: float
    weights: tuple[float, ...]
    half_s: float
    spread_s: float

    def log_odds(self, kinematics: FloatArray) -> FloatArray:
        """Return the log odds (T,) of contact for kinematics (T, 8)."""
        return np.asarray(self.intercept + kinematics @ np.array(self.weights))


@cache
def load_strike_odds() -> ContactOdds:
    """Return the log odds of contact around a foot strike from `library/gait/events.toml`."""
    table = load_table("gait/events")["contact"]
    weights = tuple(float(table["weights"][name]) for name in FEATURES)
    return ContactOdds(float(table["intercept"]), weights, float(table["half_s"]), float(table["spread_s"]))


def foot_kinematics(heel_W: FloatArray, toe_W: FloatArray, floor_velocity_W: FloatArray, rate_hz: float) -> FloatArray:
    """Return `FEATURES` (T, 8) of one foot, each scaled by its range in the trial; NaN where the foot is not visible.

    heel_W, toe_W: (T, 3) m, filtered. floor_velocity_W: (3,) m/s of the surface under the foot.
    """
    low, size_percentile = 5.0, 95.0  # percentiles over the trial
    least_frames = 5
    if len(heel_W) < least_frames or not np.isfinite(heel_W + toe_W).all(axis=1).any():
        return np.full((len(heel_W), len(FEATURES)), np.nan)
    heights, falls, speeds, accelerations = [], [], [], []
    for point in (heel_W, toe_W):
        velocity = np.gradient(point, 1.0 / rate_hz, axis=0) - floor_velocity_W
        heights.append(point[:, 1] - np.nanpercentile(point[:, 1], low))
        falls.append(velocity[:, 1])
        speeds.append(np.hypot(velocity[:, 0], velocity[:, 2]))
        accelerations.append(np.gradient(velocity[:, 1], 1.0 / rate_hz))
    features = np.column_stack([*heights, *falls, *speeds, *accelerations])
    size = np.nanpercentile(np.abs(features), size_percentile, axis=0)
    return features / np.where(size > 0.0, size, np.nan)


def contact_transition(log_odds: FloatArray, rate_hz: float, about_s: float, half_s: float) -> tuple[float, float]:
    """Return mean and standard deviation (s) of the transition from air to contact, within `half_s` of `about_s`.

    log_odds: log odds (T,) of contact. The results are NaN if a part of the interval is unknown or if it contains no transition.
    """
    # Frame rate of the training data. Higher rates add no information, because neighbouring frames are correlated.
    learnt_hz = 100.0
    within_sd = 2.0
    at_s = np.arange(about_s - half_s, about_s + half_s, _STEP_S)
    first, last = math.floor(at_s[0] * rate_hz), math.ceil(at_s[-1] * rate_hz)
    if first < 0 or last >= len(log_odds) or not np.isfinite(log_odds[first : last + 1]).all():
        return math.nan, math.nan
    odds = np.interp(at_s * rate_hz, np.arange(first, last + 1), log_odds[first : last + 1])
    before = np.concatenate(([0.0], np.cumsum(0.5 * (odds[1:] + odds[:-1])))) * _STEP_S * learnt_hz
    chance = np.exp(before.min() - before)
    chance /= chance.sum()
    mean = float(chance @ at_s)
    sd = float(np.sqrt(chance @ (at_s - mean) ** 2))
    # If the mean is near an end of the interval, the transition is outside.
    return (mean, sd) if at_s[0] + within_sd * sd < mean < at_s[-1] - within_sd * sd else (math.nan, math.nan)


def refine_strikes(
    expected: Sequence[GaitEvent],
    heel_W: Mapping[Side, FloatArray],
    toe_W: Mapping[Side, FloatArray],
    floor_velocity_W: FloatArray,
    rate_hz: float,
    odds: ContactOdds | None = None,
) -> list[GaitEvent]:
    """Return the events with each foot strike at its most likely time, with the confidence of that time.

    Parameters:
        expected: approximate events. heel_W, toe_W: positions (T, 3) m by side, filtered at 6 Hz. odds: None = library values.

    Foot offs, and strikes without a transition from air to contact, are unchanged.
    """
    odds = odds or load_strike_odds()
    log_odds = {
        side: odds.log_odds(foot_kinematics(heel_W[side], toe_W[side], np.asarray(floor_velocity_W), rate_hz))
        for side in heel_W
    }
    events = []
    for event in expected:
        time_s, sd_s = math.nan, math.nan
        if event.kind == "foot_strike":
            time_s, sd_s = contact_transition(log_odds[event.side], rate_hz, event.time_s, odds.half_s)
        if math.isfinite(time_s):
            sure = probability_within_tolerance(math.hypot(sd_s, odds.spread_s))
            event = replace(event, time_s=time_s, confidence=sure)
        events.append(event)
    return events


def refine_events_from_kinematics(
    expected: Sequence[GaitEvent], heel_W: Mapping[Side, FloatArray], toe_W: Mapping[Side, FloatArray], rate_hz: float
) -> list[GaitEvent]:
    """Return the events moved to the times at which the motion of the feet marks them; events without such a mark are
    unchanged.

    A strike is marked by the fastest fall of the middle of heel and toe, a foot off by the largest upward acceleration of the
    toe.
    heel_W, toe_W: positions (T, 3) m by side, filtered at 6 Hz.
    """
    falls = {side: -_time_derivative(0.5 * (heel + toe_W[side])[:, 1], rate_hz) for side, heel in heel_W.items()}
    pulled = {side: _upward_acceleration(toe, rate_hz) for side, toe in toe_W.items()}
    events = []
    for event in expected:
        if event.kind == "foot_strike":
            marked_s = _peak_time_near(falls[event.side], event.time_s, rate_hz)
        else:
            marked_s = _toe_acceleration_peak_time(event, pulled[event.side], rate_hz)
        events.append(replace(event, time_s=marked_s) if math.isfinite(marked_s) else event)
    return events


def refine_foot_offs(
    expected: Sequence[GaitEvent], toe_W: Mapping[Side, FloatArray], rate_hz: float
) -> list[GaitEvent]:
    """Return the events with each foot off at the weighted mean of its expected time and the mark of the toe.

    toe_W: positions (T, 3) m by side, filtered at 6 Hz. The confidence decreases with the difference between the two times.
    Events without a mark are unchanged.
    """
    table = load_table("gait/events")["marked"]["foot_off"]
    share = float(table["share"])
    events = []
    pulled = {side: _upward_acceleration(toe, rate_hz) for side, toe in toe_W.items()}
    for event in expected:
        if event.kind == "foot_off":
            apart_s = _toe_acceleration_peak_time(event, pulled[event.side], rate_hz) - event.time_s
            if math.isfinite(apart_s):
                # the variance between two estimates with these weights
                error_s = math.sqrt(float(table["error_s"]) ** 2 + share * (1.0 - share) * apart_s**2)
                event = replace(
                    event, time_s=event.time_s + share * apart_s, confidence=probability_within_tolerance(error_s)
                )
        events.append(event)
    return events


def _upward_acceleration(toe_W: FloatArray, rate_hz: float) -> FloatArray:
    """Return the upward acceleration (T,) m/s^2 of the toe at positions (T, 3) m."""
    return _time_derivative(_time_derivative(toe_W[:, 1], rate_hz), rate_hz)


def _toe_acceleration_peak_time(event: GaitEvent, pulled: FloatArray, rate_hz: float) -> float:
    """Return the time (s) of the largest `_upward_acceleration` of the toe near a foot off; NaN without a maximum."""
    late_s = float(load_table("gait/events")["marked"]["foot_off"]["late_s"])
    return _peak_time_near(pulled, event.time_s + late_s, rate_hz) - late_s


def _time_derivative(values: FloatArray, rate_hz: float) -> FloatArray:
    return np.gradient(values, 1.0 / rate_hz) if len(values) > 1 else np.zeros_like(values)


def _peak_time_near(signal: FloatArray, about_s: float, rate_hz: float) -> float:
    """Return the time (s) of the highest maximum of a signal (T,) in the window, interpolated by a parabola; NaN if there is
    none."""
    # Half width of the search window for a mark of the foot: three standard deviations of the expected time.
    window_s = 0.09
    first = max(round((about_s - window_s) * rate_hz), 1)
    stop = min(round((about_s + window_s) * rate_hz) + 1, len(signal) - 1)
    if stop - first < 1 or not np.isfinite(signal[first - 1 : stop + 1]).all():
        return float("nan")
    before, here, after = signal[first - 1 : stop - 1], signal[first:stop], signal[first + 1 : stop + 1]
    peaks = np.flatnonzero((here >= before) & (here > after) & (here > 0.0))
    if not len(peaks):
        return float("nan")
    best = int(peaks[np.argmax(here[peaks])])
    bend = before[best] - 2.0 * here[best] + after[best]
    return float((first + best + 0.5 * (before[best] - after[best]) / bend) / rate_hz)


def event_points_for_direction(
    direction: Direction,
    heel_W: Mapping[Side, FloatArray],
    toe_W: Mapping[Side, FloatArray],
    pelvis_W: FloatArray,
    forward_W: FloatArray,
    floor_velocity_W: FloatArray,
    rate_hz: float,
) -> tuple[Mapping[Side, FloatArray], Mapping[Side, FloatArray], FloatArray, FloatArray]:
    """Return the points (T, 3) m by side that strike and that leave the floor, the pelvis (T, 3) m, and the step direction (T,
    3).

    In forward walking the heel strikes, the toe leaves, and the direction is the anterior axis of the pelvis. In backward
    walking these are toe, heel and the opposite direction; in sideways walking the middle of the foot and the direction of
    travel.
    """
    if direction == "backwards":
        return toe_W, heel_W, pelvis_W, -forward_W
    if direction == "sideways":
        middle = {side: 0.5 * (heel_W[side] + toe_W[side]) for side in heel_W}
        velocity = travel_velocity(pelvis_W, floor_velocity_W, rate_hz)
        velocity[np.linalg.norm(velocity, axis=1) == 0.0] = np.nan
        return middle, middle, pelvis_W, velocity
    return heel_W, toe_W, pelvis_W, forward_W


def select_stance_changes(
    events: Sequence[GaitEvent], soles_W: Mapping[Side, FloatArray], rate_hz: float
) -> list[GaitEvent]:
    """Return the events that start (strikes) or end (foot offs) a stance of the foot.

    Sway of the pelvis above standing feet also causes extremes of the feet relative to the pelvis; these are removed. Events
    are kept if the sole (T, K, 3) m or its stance is unknown.
    """
    # Longest time (s) from an event to stance or swing, and largest error of an event.
    stand_s = 0.3
    error_s = 0.12
    # Least fraction of standing frames for which the stance of a foot is considered known.
    known_share = 0.1
    feet = visible_soles(soles_W, rate_hz)
    checked = []
    for event in events:
        foot = feet.get(event.side)
        if foot is None or foot.bearing[foot.known].mean() < known_share:
            checked.append(event)
            continue
        strike = event.kind == "foot_strike"
        before = _frame_window(event.time_s - stand_s, event.time_s + error_s, rate_hz)
        after = _frame_window(event.time_s - error_s, event.time_s + stand_s, rate_hz)
        air, ground = (before, after) if strike else (after, before)
        if _is_condition_met_or_unknown(~foot.bearing, foot.known, air) and _is_condition_met_or_unknown(
            foot.bearing, foot.known, ground
        ):
            checked.append(event)
    return checked


def _frame_window(begin_s: float, end_s: float, rate_hz: float) -> tuple[int, int]:
    return round(begin_s * rate_hz), round(end_s * rate_hz) + 1


def _is_condition_met_or_unknown(wanted: BoolArray, known: BoolArray, window: tuple[int, int]) -> bool:
    """Return True if a frame of the window [first, stop) fulfils `wanted`, or if the window is not `known` entirely."""
    first, stop = window
    if first < 0 or stop > len(known) or not known[first:stop].all():
        return True
    return bool(wanted[first:stop].any())


KINDS: tuple[EventKind, EventKind] = ("foot_strike", "foot_off")
#: Shortest time between two events of a side and kind.
MIN_STRIDE_S = 0.4


def kinematic_events(
    points: GaitPoints, rate_hz: float, direction: Direction = "forwards", walking: bool = True
) -> list[GaitEvent]:
    """Return the strikes and offs of both feet, sorted by side, not by time.

    Args:
        points: points for steps (`GaitPoints.filter_for_steps`). Stance is not checked for a foot without a sole.
        rate_hz: marker rate.
        direction: direction of the steps relative to the pelvis (`activity`); "" = no steps and no events.
        walking: False in running and on stairs.
    """
    if not direction:
        return []
    heel_W, toe_W, floor = points.heel, points.toe, points.floor_velocity
    ahead = event_points_for_direction(direction, heel_W, toe_W, points.pelvis, points.forward, floor, rate_hz)
    events = correct_mean_delays(foot_excursion_events(*ahead, rate_hz))
    if direction == "forwards":
        # the odds were estimated from walking trials
        if walking:
            events = refine_strikes(refine_foot_offs(events, toe_W, rate_hz), heel_W, toe_W, floor, rate_hz)
        else:
            events = refine_events_from_kinematics(events, heel_W, toe_W, rate_hz)
    return select_stance_changes(events, points.sole, rate_hz)


def foot_excursion_events(
    heel_W: Mapping[Side, FloatArray],
    toe_W: Mapping[Side, FloatArray],
    pelvis_W: FloatArray,
    forward_W: FloatArray,
    rate_hz: float,
) -> list[GaitEvent]:
    """Return strikes (heel farthest ahead of the pelvis) and foot offs (toe farthest behind).

    Source: Zeni et al. 2008, 10.1016/j.gaitpost.2007.07.007. All arrays are (T, 3) m in World, low-pass filtered, NaN where
    unknown. `forward_W`: anterior direction of the pelvis in each frame, which covers turns. Times are interpolated by a
    parabola.
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


def correct_mean_delays(extremes: Sequence[GaitEvent]) -> list[GaitEvent]:
    """Shift the extremes of `foot_excursion_events` to the expected times of the events and set their confidence.

    The mean delays, as fractions of the stride (`library/gait/events.toml`), are subtracted.
    """
    stride_s, known = usual_stride_s(extremes), load_table("gait/events")["kinematic"]
    return [
        replace(
            event,
            time_s=event.time_s - known[event.kind]["late_strides"] * stride_s,
            confidence=probability_within_tolerance(known[event.kind]["error_s"], known[event.kind]["bias_s"]),
        )
        for event in extremes
    ]


def _peak_times(signal: FloatArray, rate_hz: float) -> list[float]:
    """Return the times in s of the distinct maxima of a signal (T,) m with gaps."""
    # Least fore-aft excursion of heel or toe in a gait, and prominence of a peak as a fraction of it.
    min_excursion_m = 0.1
    peak_share = 0.1
    finite = np.isfinite(signal)
    if not finite.any():
        return []
    low, high = np.percentile(signal[finite], [5.0, 95.0])
    if high - low < min_excursion_m:
        return []
    times: list[float] = []
    for first, stop in finite_stretches(finite):
        part = signal[first:stop]
        for peak in distinct_peaks(part, peak_share * (high - low), max(1.0, MIN_STRIDE_S * rate_hz)):
            before, at, after = part[peak - 1 : peak + 2]
            bend = before - 2.0 * at + after
            shift = 0.5 * (before - after) / bend if bend < 0.0 else 0.0
            times.append(float((first + peak + shift) / rate_hz))
    return times


def usual_stride_s(events: Sequence[GaitEvent]) -> float:
    """Return the median stride time (s) from events of one side and kind, else from twice the time between sides; 0 if
    unknown."""
    for sides, factor in (([("r",), ("l",)], 1.0), ([("r", "l")], 2.0)):
        gaps: list[float] = []
        for kind in KINDS:
            for which in sides:
                times = sorted(event.time_s for event in events if event.kind == kind and event.side in which)
                gaps += [factor * (later - earlier) for earlier, later in pairwise(times)]
        if gaps:
            return float(np.median(gaps))
    return 0.0
