"""Loads of both feet on one plate: frames of single support, and the share of each foot in double support."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from biodyn.conventions import SIDES, BoolArray, FloatArray, IntArray, Side
from biodyn.geometry.rotations import cross
from biodyn.library.toml_files import load_table
from biodyn.processing.contacts.contact_evidence import MIN_SHARED_S, PlateLoad
from biodyn.processing.contacts.foot_motion import FootOutline
from biodyn.processing.contacts.plate_loads import plate_surface
from biodyn.processing.signals.filtering import butterworth_lowpass
from biodyn.processing.signals.plate_wrenches import frame_samples
from biodyn.recording import SharedLoad


@dataclass(frozen=True)
class Sole:
    """Middle line of the sole of a foot over n samples: heel and toe (n, 3) m in World, and its length (m)."""

    heel: FloatArray
    toe: FloatArray
    length_m: float


@dataclass(frozen=True)
class DoubleSupport:
    """Double support on one plate.

    Attributes:
        sample: plate sample at the start of the window. first, stop: samples of the window between which the load is
            transferred.
        lead: F_Wo_W (n, 6) of the leading foot, Nm and N: zero before `first`, the whole load from `stop` on.
        sd: standard deviations (6, n, 6) of `lead` from independent error sources, with opposite sign for the rear foot:
            vertical force (from the centre of pressure of each foot), force along and across the line between the feet, free
            moment, and transverse centre of pressure.
        force_sd_n: largest standard deviation of the vertical force, N.
    """

    sample: int
    first: int
    stop: int
    lead: FloatArray
    sd: FloatArray
    force_sd_n: float


def share_double_support(
    wrench: FloatArray, rate_hz: float, rear: Sole, lead: Sole, height_m: float, middle: int, rear_is_right: bool
) -> DoubleSupport | None:
    """Share the load of a plate between rear and leading foot; return None if the centre of pressure does not determine the
    shares.

    Args:
        wrench: (n, 6) F_Wo_W of the plate, unfiltered, from single support of the rear foot to single support of the leading
            foot.
        rate_hz: samples per second.
        rear, lead: soles at these samples.
        height_m: World height of the surface.
        middle: approximate sample of the transfer, from the movement of the feet.
        rear_is_right: True if the rear foot is the right one; transverse quantities are mirrored between the sides.
    """
    # Least distance between the feet (errors of their centres of pressure are 2 cm), and largest distance of the
    # measured centre of pressure from their line.
    min_lever_m = 0.2
    max_offset_m = 0.10
    # Least vertical force with a usable centre of pressure, as a fraction of the largest force.
    min_force_share = 0.2
    table = load_table("gait/double_support")
    pressure = table["pressure"]
    smooth = butterworth_lowpass(wrench, rate_hz, min(pressure["cutoff_hz"], 0.4 * rate_hz))
    if np.min(smooth[:, 4]) < min_force_share * np.max(smooth[:, 4]) or not np.isfinite(smooth).all():
        return None
    cop = _centre_of_pressure(smooth, height_m)
    ends = _load_transfer_samples(cop, rate_hz, rear, lead, middle, pressure)
    if ends is None:
        return None
    first, stop = ends
    progress = np.clip((np.arange(len(wrench)) - first) / (stop - first), 0.0, 1.0)
    p_rear = _pressure_path(rear, _point_in_sole(cop[first], rear, first), None, pressure["rear_end"], progress)
    p_lead = _pressure_path(lead, None, _point_in_sole(cop[stop], lead, stop), pressure["lead_start"], progress)
    line = p_lead - p_rear
    lever = np.linalg.norm(line, axis=1, keepdims=True)
    along = line / lever
    share = np.clip(np.sum((cop - p_rear) * along, axis=1) / lever[:, 0], 0.0, 1.0)
    share[:first], share[stop:] = 0.0, 1.0
    offset = cop - (p_rear + share[:, None] * line)
    inner = slice(first, stop)
    if lever[inner].min() < min_lever_m or np.linalg.norm(offset[inner], axis=1).max() > max_offset_m:
        return None
    # Both centres of pressure are shifted by the distance of the measured one from their line.
    wrench_lead = _leading_foot_wrench(
        wrench, share, progress, p_rear + offset, p_lead + offset, along, height_m, (first, stop), rear_is_right
    )
    sd = _wrench_errors(wrench, share, p_rear, p_lead, along, height_m)
    return DoubleSupport(0, first, stop, wrench_lead, sd, table["error"]["vertical"] * float(wrench[inner, 4].max()))


def _centre_of_pressure(wrench: FloatArray, height_m: float) -> FloatArray:
    """Return the centre of pressure (n, 2) m, World x and z, at a height."""
    vertical = wrench[:, 4]
    x = (wrench[:, 2] + height_m * wrench[:, 3]) / vertical
    z = (height_m * wrench[:, 5] - wrench[:, 0]) / vertical
    return np.column_stack([x, z])


def _sole_axes(sole: Sole) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the heel (n, 2) and the unit vectors forward and to the right of the sole, seen from above."""
    heel, toe = sole.heel[:, ::2], sole.toe[:, ::2]
    forward = (toe - heel) / np.linalg.norm(toe - heel, axis=1, keepdims=True)
    return heel, forward, np.column_stack([-forward[:, 1], forward[:, 0]])


def _load_transfer_samples(
    cop: FloatArray, rate_hz: float, rear: Sole, lead: Sole, middle: int, pressure: dict[str, float]
) -> tuple[int, int] | None:
    """Return the samples at which the centre of pressure leaves the rear foot and comes to rest under the leading foot."""
    # Longer double support is standing, not a step.
    max_double_support_s = 0.8
    heel, forward, _ = _sole_axes(rear)
    start = heel + pressure["rear_end"] * rear.length_m * forward
    heel, forward, _ = _sole_axes(lead)
    line = heel + 0.12 * lead.length_m * forward - start
    way = np.sum((cop - start) * line, axis=1) / np.sum(line**2, axis=1)
    half = np.flatnonzero((way[:-1] < 0.5) & (way[1:] >= 0.5))
    if not len(half):
        return None
    at = int(half[np.argmin(np.abs(half - middle))])
    speed = np.gradient(way)
    reach = max(round(0.04 * rate_hz), 1)
    still = pressure["still"] * float(speed[max(at - reach, 0) : at + reach].max())
    # Search backwards and forwards from there until the centre of pressure is near a foot and slow.
    moving = (speed > still) | (way > pressure["near"])
    before = np.flatnonzero(~moving[: at + 1])
    moving = (speed > still) | (way < 1.0 - pressure["near"])
    after = np.flatnonzero(~moving[at:])
    if not len(before) or not len(after):
        return None
    first, stop = int(before[-1]), at + int(after[0])
    return (first, stop) if 2 <= stop - first <= max_double_support_s * rate_hz else None


def _point_in_sole(point: FloatArray, sole: Sole, sample: int) -> FloatArray:
    """Return the coordinates (2,) m of a point in the axes of a sole, forward of the heel and to the right."""
    heel, forward, right = _sole_axes(sole)
    offset = point - heel[sample]
    return np.array([offset @ forward[sample], offset @ right[sample]])


def _pressure_path(
    sole: Sole, begin: FloatArray | None, end: FloatArray | None, known_share: float, progress: FloatArray
) -> FloatArray:
    """Return the path (n, 2) of the centre of pressure under a foot, with one known end: `begin` (2,) or `end` (2,)."""
    usual = known_share * sole.length_m
    if end is not None:
        begin = np.array([min(usual, end[0]), 0.0])
    else:
        assert begin is not None
        end = np.array([max(usual, begin[0]), begin[1]])
    local = begin + progress[:, None] * (end - begin)
    heel, forward, right = _sole_axes(sole)
    return heel + local[:, :1] * forward + local[:, 1:] * right


def _leading_foot_wrench(
    wrench: FloatArray,
    share: FloatArray,
    progress: FloatArray,
    p_rear: FloatArray,
    p_lead: FloatArray,
    along: FloatArray,
    height_m: float,
    ends: tuple[int, int],
    rear_is_right: bool,
) -> FloatArray:
    """Return the wrench (n, 6) of the leading foot: its share of the force, acting at its centre of pressure."""
    table = load_table("gait/double_support")["direction"]
    across = np.column_stack([-along[:, 1], along[:, 0]]) * (1.0 if rear_is_right else -1.0)
    vertical = wrench[:, 4]
    of_lead, of_rear = share * vertical, (1.0 - share) * vertical
    weight = of_lead**2 / np.maximum(of_lead**2 + of_rear**2, 1e-9)
    first, stop = ends
    parts = []
    for axis, growth, rear_change, lead_change in (
        (along, table["rear_growth"], 0.0, table["lead"]),
        (across, 0.0, table["rear_across"], table["lead_across"]),
    ):
        total = np.sum(wrench[:, [3, 5]] * axis, axis=1)
        tilt = total / vertical
        rear = _mean_next_to_sample(tilt, first, -1) * (1.0 + growth * progress) + rear_change * progress
        lead = _mean_next_to_sample(tilt, stop, 1) + lead_change * (1.0 - progress)
        guess = of_lead * lead
        parts.append(guess + weight * (total - guess - of_rear * rear))
    horizontal = parts[0][:, None] * along + parts[1][:, None] * across
    force = np.column_stack([horizontal[:, 0], of_lead, horizontal[:, 1]])
    both = wrench[:, 1] - _vertical_moment(p_lead, force) - _vertical_moment(p_rear, wrench[:, 3:] - force)
    result = _wrench_at_points(p_lead, height_m, force)
    result[:, 1] += share * both
    result[:first] = 0.0
    result[stop:] = wrench[stop:]
    return result


def _mean_next_to_sample(values: FloatArray, at: int, sense: int) -> float:
    """Return the mean of the samples next to `at` in single support, to average out ringing of the raw force."""
    width = 8
    part = values[max(at - width, 0) : at + 1] if sense < 0 else values[at : at + width + 1]
    return float(part.mean())


def _vertical_moment(point: FloatArray, force: FloatArray) -> FloatArray:
    """Return the vertical moment (n,) about the world origin of forces (n, 3) at points (n, 2)."""
    return np.asarray(point[:, 1] * force[:, 0] - point[:, 0] * force[:, 2])


def _wrench_at_points(point: FloatArray, height_m: float, force: FloatArray) -> FloatArray:
    """Return the wrench (n, 6) about the world origin of forces (n, 3) at points (n, 2) of a horizontal plane."""
    place = np.column_stack([point[:, 0], np.full(len(point), height_m), point[:, 1]])
    return np.hstack([cross(place, force), force])


def _wrench_errors(
    wrench: FloatArray, share: FloatArray, p_rear: FloatArray, p_lead: FloatArray, along: FloatArray, height_m: float
) -> FloatArray:
    """Return the standard deviations (6, n, 6) of the wrench of the leading foot.

    An error of the centre of pressure of one foot does not change the moment of the other foot, because the exchanged force
    acts at the other centre of pressure.
    """
    table = load_table("gait/double_support")["error"]
    size = 4.0 * share * (1.0 - share) * wrench[:, 4]
    across = np.column_stack([-along[:, 1], along[:, 0]])
    up = np.tile([0.0, 1.0, 0.0], (len(share), 1))
    vertical_sd = (table["vertical"] / np.sqrt(2.0) * size)[:, None]
    flat = [np.column_stack([axis[:, 0], np.zeros(len(axis)), axis[:, 1]]) for axis in (along, across)]
    nothing = np.zeros((len(share), 3))
    return np.stack(
        [
            _wrench_at_points(p_rear, height_m, vertical_sd * up),
            _wrench_at_points(p_lead, height_m, vertical_sd * up),
            _wrench_at_points(p_lead, height_m, (table["along"] * size)[:, None] * flat[0]),
            _wrench_at_points(p_lead, height_m, (table["across"] * size)[:, None] * flat[1]),
            np.hstack([(table["twist_m"] * size)[:, None] * up, nothing]),
            np.hstack([(table["point_m"] * size)[:, None] * flat[0], nothing]),
        ]
    )


@dataclass(frozen=True)
class Stance:
    """Stance of one foot in a load of both feet.

    Attributes:
        side: side of the foot. first, stop: range of frames, stop exclusive. alone: frames with only this foot on the plate.
        start_s, end_s: times of the force of this foot. cut_before, cut_after: True if its force is unknown before or after.
        share: wrench of this foot. shared_s: duration of the shared load. force_sd_n: SD of the vertical force during it.
    """

    side: Side
    first: int
    stop: int
    alone: tuple[int, int]
    start_s: float
    end_s: float
    cut_before: bool
    cut_after: bool
    share: SharedLoad
    shared_s: float
    force_sd_n: float


def label_stance(right: BoolArray, left: BoolArray) -> IntArray:
    """Label frames with 1 (right foot alone), 2 (left foot alone) or 3 (both feet)."""
    label = right.astype(np.int64) + 2 * left.astype(np.int64)
    labelled = np.flatnonzero(label)
    # Frames in which neither foot stands (because of errors of the motion) get the label of the nearest labelled frame.
    frames = np.arange(len(label))
    after = np.clip(np.searchsorted(labelled, frames), 0, len(labelled) - 1)
    before = np.maximum(after - 1, 0)
    nearer = np.where(
        np.abs(labelled[before] - frames) <= np.abs(labelled[after] - frames), labelled[before], labelled[after]
    )
    return np.asarray(label[nearer])


def split_stances(load: PlateLoad, label: IntArray, smear: int) -> tuple[list[Stance], list[tuple[int, int]]]:
    """Return the stances of each foot on the plate with their wrenches, and the stretches of frames that cannot be shared.

    If no double support can be shared, there are no stances and one stretch with the whole load. `label`: see `label_stance`.
    `smear`: number of frames over which the filter spreads unknown forces.
    """
    whole = [(load.first, load.stop)]
    alone = _single_support_stretches(load, label)
    if load.plate.raw is None or len(alone) < 2:
        return [], whole
    double_supports = [_solve_double_support(load, a, b) for a, b in pairwise(alone)]
    if not any(double_supports):
        return [], whole
    # The load before the first and after the last single support cannot be shared either.
    begins = alone[0][1] - load.first <= MIN_SHARED_S * load.rate_hz
    ends = load.stop - alone[-1][2] <= MIN_SHARED_S * load.rate_hz
    gaps = [] if begins else [(load.first, alone[0][1] + smear)]
    gaps += [
        (a[2] - smear, b[1] + smear)
        for a, b, shared in zip(alone, alone[1:], double_supports, strict=False)
        if shared is None
    ]
    gaps += [] if ends else [(alone[-1][2] - smear, load.stop)]
    before: list[DoubleSupport | None] = [None, *double_supports]
    after: list[DoubleSupport | None] = [*double_supports, None]
    stances = []
    for number, (side, first, stop) in enumerate(alone):
        known_from = begins if number == 0 else double_supports[number - 1] is not None
        known_to = ends if number == len(alone) - 1 else double_supports[number] is not None
        inner = (first if known_from else first + smear, stop if known_to else stop - smear)
        if inner[1] > inner[0]:
            stances.append(_combine_stance(load, side, inner, before[number], after[number], known_from, known_to))
    return stances, gaps


def _single_support_stretches(load: PlateLoad, label: IntArray) -> list[tuple[Side, int, int]]:
    """Return the stretches (side, first, stop) of frames with one foot on the plate, without those that are too short."""
    edges = np.concatenate(([0], np.flatnonzero(np.diff(label)) + 1, [len(label)]))
    stretches: list[tuple[Side, int, int]] = []
    for a, b in pairwise(edges):
        if label[a] == 3 or b - a < MIN_SHARED_S * load.rate_hz:
            continue
        stretches.append((SIDES[int(label[a]) - 1], load.first + int(a), load.first + int(b)))
    return stretches


def _solve_double_support(
    load: PlateLoad, rear: tuple[Side, int, int], lead: tuple[Side, int, int]
) -> DoubleSupport | None:
    """Share the double support between two stretches of single support; return None if the shares cannot be determined."""
    # Duration of the single supports used on both sides of a double support.
    margin_s = 0.3
    # If another plate measures more than this fraction of the load, a foot is on two plates and its centre of pressure
    # is unknown.
    other_plate_share = 0.05
    raw = load.plate.raw
    if raw is None or rear[0] == lead[0]:
        return None
    margin = round(margin_s * load.rate_hz)
    first, stop = max(rear[1], rear[2] - margin), min(lead[2], lead[1] + margin)
    vertical = load.plate.wrench[first:stop, 4]
    for number, other in enumerate(load.plates):
        if number != load.index and other.wrench[first:stop, 4].max() > other_plate_share * vertical.max():
            return None
    ratio = load.plate.analog_rate_hz / load.rate_hz
    begin, end = round(first * ratio), min(round((stop - 1) * ratio) + 1, len(raw))
    soles = [
        _sole_line(load.foot_outlines[side], first, stop, np.arange(begin, end) / ratio) for side in (rear[0], lead[0])
    ]
    if soles[0] is None or soles[1] is None:
        return None
    height = float(plate_surface(load.plate.corners_W)[0][1])
    middle = round(0.5 * (rear[2] + lead[1]) * ratio) - begin
    shared = share_double_support(
        raw[begin:end], load.plate.analog_rate_hz, soles[0], soles[1], height, middle, rear_is_right=rear[0] == "r"
    )
    return None if shared is None else replace(shared, sample=begin)


def _sole_line(foot: FootOutline, first: int, stop: int, at: FloatArray) -> Sole | None:
    """Return the middle line of the sole at the frames `at` (n,), between `first` and `stop`; None if unknown."""
    outline = foot.outline_W[first:stop]
    if not np.isfinite(outline).all() or stop - first < 2:
        return None
    half = outline.shape[1] // 2  # the outline runs from heel to toes along one edge and back along the other
    ends = [0.5 * (outline[:, 0] + outline[:, -1]), 0.5 * (outline[:, half - 1] + outline[:, half])]
    frames = np.arange(first, stop)
    heel, toe = (np.column_stack([np.interp(at, frames, end[:, axis]) for axis in range(3)]) for end in ends)
    return Sole(heel, toe, float(np.median(np.linalg.norm(ends[1] - ends[0], axis=1))))


def _combine_stance(
    load: PlateLoad,
    side: Side,
    alone: tuple[int, int],
    before: DoubleSupport | None,
    after: DoubleSupport | None,
    known_from: bool,
    known_to: bool,
) -> Stance:
    """Return the stance of a foot: its shares in the double supports before and after, and the whole load in between.

    alone: frames [first, stop) with only this foot. before, after: double supports, None without one. known_from, known_to:
    whether the force is known at the start and at the end of the stance.
    """
    # Time before and after a load in which the force below the threshold is included.
    tail_s = 0.02
    # Filter response of a stance, in periods of the cut-off.
    filter_periods = 3.0
    plate, rate = load.plate, load.plate.analog_rate_hz
    assert plate.raw is not None
    ratio = rate / load.rate_hz
    tail = round(tail_s * rate)
    # Next to loads that cannot be shared the whole load is used, because the filter spreads it.
    begin = max(round(load.start_s * rate) - tail, 0) if before is None else before.sample + before.first
    end = min(round(load.end_s * rate) + tail, len(plate.raw)) if after is None else after.sample + after.stop
    pad = round(filter_periods / plate.cutoff_hz * load.rate_hz) if plate.cutoff_hz else 1
    first_frame = max(int(begin / ratio) - pad, 0)
    last_frame = min(int(np.ceil(end / ratio)) + pad, len(plate.wrench))
    origin = round(first_frame * ratio)
    window = np.zeros((min(round((last_frame - first_frame) * ratio), len(plate.raw) - origin), 6))
    window[begin - origin : end - origin] = plate.raw[begin:end]
    sd = np.zeros((0, *window.shape))
    shared_s, force_sd_n = 0.0, 0.0
    for shared, sign in ((before, 1.0), (after, -1.0)):
        if shared is None:
            continue
        rows = slice(shared.sample + shared.first - origin, shared.sample + shared.stop - origin)
        inner = slice(shared.first, shared.stop)
        whole = plate.raw[rows.start + origin : rows.stop + origin]
        window[rows] = shared.lead[inner] if sign > 0.0 else whole - shared.lead[inner]
        if not len(sd):
            sd = np.zeros((len(shared.sd), *window.shape))
        sd[:, rows] += sign * shared.sd[:, inner]
        shared_s += (shared.stop - shared.first) / rate
        force_sd_n = max(force_sd_n, shared.force_sd_n)
    count = last_frame - first_frame
    return Stance(
        side=side,
        first=max(int(begin / ratio), load.first) if known_from else alone[0],
        stop=min(int(np.ceil(end / ratio)) + 1, load.stop) if known_to else alone[1],
        alone=alone,
        start_s=(load.start_s if before is None else begin / rate) if known_from else alone[0] / load.rate_hz,
        end_s=(load.end_s if after is None else end / rate) if known_to else alone[1] / load.rate_hz,
        cut_before=not known_from,
        cut_after=not known_to,
        share=SharedLoad(
            plate=plate.number,
            side=side,
            first_sample=origin,
            raw=window,
            first_frame=first_frame,
            wrench=plate.resample_to_frames(window, load.rate_hz, count),
            sd=_sd_at_frames(load, sd, count),
        ),
        shared_s=shared_s,
        force_sd_n=force_sd_n,
    )


def _sd_at_frames(load: PlateLoad, sd: FloatArray, count: int) -> FloatArray:
    """Resample and filter standard deviations (K, n, 6) at the rate of the plate to the marker frames (K, count, 6)."""
    plate = load.plate
    picked = np.array([frame_samples(values, plate.analog_rate_hz, count, load.rate_hz) for values in sd]).reshape(
        len(sd), count, 6
    )
    cutoff_hz = plate.cutoff_hz if plate.cutoff_hz < 0.45 * load.rate_hz else 0.0
    return butterworth_lowpass(picked, load.rate_hz, cutoff_hz, plate.order, axis=1)
