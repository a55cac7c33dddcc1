"""Repair a recording after reading: an ordered registry of functions, each with a finding that states the change.

A repair returns the corrected recording and its findings; `seen_in` cites a recording or a report in which the fault occurs.
The unit of length is corrected earlier, before positions are converted to metres: see `length_units`.

Moments of plates: some files state N mm for moments in N m, or the opposite, for one or all plates. The horizontal moments of a
step then have a lever arm of a tenth of a millimetre about the sensor, or of many metres; neither is possible for a foot. A
calibration pole may push exactly above the sensor, but its lever arm changes when it tilts, because the sensor is below the
surface. Moments with a short lever arm are therefore corrected only if the force moves over the surface.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import numpy as np

from biodyn.conventions import BoolArray, FloatArray, IntArray
from biodyn.diagnostics import Diagnostic
from biodyn.geometry.points import lengths
from biodyn.recording import ForcePlate, Markers, Recording, is_person_visible

Findings = tuple[Diagnostic, ...]


@dataclass(frozen=True)
class Repair:
    """One repair: `apply` returns the corrected recording and its findings; `seen_in` cites a file or report with the fault."""

    apply: Callable[[Recording], tuple[Recording, Findings]]
    seen_in: str


def apply_repairs(recording: Recording) -> Recording:
    """Apply all repairs in the order of `REPAIRS`; return the recording with their findings."""
    for repair in REPAIRS:
        recording, findings = repair.apply(recording)
        recording = replace(recording, diagnostics=(*recording.diagnostics, *findings))
    return recording


# -- frames -----------------------------------------------------------------------------------------------------------

# A larger share of repeated frames is due to a lower camera rate, or to a single stored posture.
_MOST_REPEATED = 0.4


def remove_repeated_frames(recording: Recording) -> tuple[Recording, Findings]:
    """Return the recording with markers set to NaN in frames that exactly repeat the previous one, and findings."""
    markers = recording.motion.markers
    if markers is None or markers.virtual:
        return recording, ()
    positions, findings = _without_repeated_frames(markers.positions, markers.rate_hz)
    return (recording.with_markers(replace(markers, positions=positions)), findings) if findings else (recording, ())


def _without_repeated_frames(positions: FloatArray, rate_hz: float) -> tuple[FloatArray, tuple[Diagnostic, ...]]:
    """Return positions with NaN in frames in which all visible markers have exactly the position of the previous frame, and
    notes."""
    least_markers, moves_m = 4, 0.01
    seen = np.isfinite(positions[..., 0])
    both = seen[1:] & seen[:-1]
    alike = np.where(both, (positions[1:] == positions[:-1]).all(axis=2), seen[1:] == seen[:-1])
    repeated = np.concatenate([[False], alike.all(axis=1) & (both.sum(axis=1) >= least_markers)])
    count = int(repeated.sum())
    if not count:
        return positions, ()
    share = count / len(positions)
    if share > _MOST_REPEATED:
        distance_m = np.nanmax(lengths(positions - positions[:1]), initial=0.0)
        return positions, (_slower_cameras_note(share, rate_hz),) if distance_m > moves_m else ()
    note = Diagnostic(
        "recording-repaired",
        "warning",
        f"{count} {'frames repeat' if count > 1 else 'frame repeats'} the previous one exactly in every marker: the cameras "
        f"dropped {'them' if count > 1 else 'it'}, and the markers are treated as missing.",
        value=float(count),
        limit=0.0,
        frames=(int(np.argmax(repeated)), len(repeated) - 1 - int(np.argmax(repeated[::-1]))),
        hint="Check why the cameras dropped frames, and whether forces and markers are still synchronous.",
    )
    return np.where(repeated[:, None, None], np.nan, positions), (note,)


def _slower_cameras_note(share: float, rate_hz: float) -> Diagnostic:
    return Diagnostic(
        "recording-repaired",
        "warning",
        f"{100 * share:.0f} % of the frames repeat the previous one in every marker: the cameras recorded about "
        f"{(1.0 - share) * rate_hz:.3g} frames per second, not {rate_hz:g}. Accelerations and joint moments are therefore "
        f"wrong.",
        value=share,
        limit=_MOST_REPEATED,
        hint="Export the trial at the rate of the cameras.",
    )


def remove_held_positions(recording: Recording) -> tuple[Recording, Findings]:
    """Return the recording with markers set to NaN in intervals of exactly constant position that begin or end with a jump,
    and findings."""
    markers = recording.motion.markers
    if markers is None or markers.virtual:
        return recording, ()
    rate_hz, positions = markers.rate_hz, markers.positions
    shown_labels = 6
    least_s, least_frames = 0.05, 6  # shortest held position
    least = max(least_frames, round(least_s * rate_hz))
    if len(positions) <= least + 2:
        return recording, ()
    held = np.stack([_held_frames(path, least, rate_hz) for path in np.moveaxis(positions, 1, 0)], axis=1)
    if not held.any():
        return recording, ()
    frames = {label: int(count) for label, count in zip(markers.labels, held.sum(axis=0), strict=True) if count}
    longest = sorted(frames, key=lambda label: -frames[label])
    shown = ", ".join(f"{label} {frames[label] / rate_hz:.2f} s" for label in longest[:shown_labels])
    finding = Diagnostic(
        "recording-repaired",
        "info",
        f"While {len(frames)} {'markers were' if len(frames) > 1 else 'marker was'} not visible, the last position was stored "
        f"repeatedly. It is treated as missing ({shown}{' and more' if len(longest) > shown_labels else ''}).",
        value=float(held.sum() / rate_hz),
        unit="s",
        hint="Export the trial without filling gaps, or fill them from other markers of the segment.",
    )
    return recording.with_markers(replace(markers, positions=np.where(held[..., None], np.nan, positions))), (finding,)


def _held_frames(path: FloatArray, least: int, rate_hz: float) -> BoolArray:
    """Return (T,) whether a trajectory (T, 3) m holds one position that it reaches or leaves with a jump."""
    result = np.zeros(len(path), dtype=bool)
    steps = np.linalg.norm(np.diff(path, axis=0), axis=1)
    if np.mean(steps == 0.0) > _MOST_REPEATED:  # the marker was placed there, or is fixed to the floor
        return result
    sudden = 0.005 + 0.5 / rate_hz  # m and m/s: a step larger than that of a foot at toe-off
    edges = np.flatnonzero(np.diff(np.concatenate([[False], steps == 0.0, [False]]).astype(np.int8)))
    for first, stop in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        if stop - first < least:
            continue
        after = steps[stop] if stop < len(steps) else 0.0
        before = steps[first - 1] if first else 0.0
        if after > sudden:  # frames first to stop are equal; one was measured
            result[slice(0, stop) if first == 0 else slice(first + 1, stop + 1)] = True
        elif before > sudden and stop == len(steps):
            result[first + 1 :] = True
    return result


# -- recordings that were joined or cut -------------------------------------------------------------------------------


def longest_continuous_part(recording: Recording) -> Recording:
    """Return the longest continuous part of a recording that was joined or cut, and a finding; other recordings are unchanged.

    At a join, the whole body jumps from one frame to the next; swapped labels do not change the set of positions.
    """
    motion = recording.motion
    form = motion.markers if motion.markers is not None and not motion.markers.virtual else motion.poses
    if form is None:
        return recording
    points = form.positions if isinstance(form, Markers) else form.origins
    joints = part_start_frames(points, form.rate_hz)
    most_joints = 20  # noise in all frames
    if not 0 < len(joints) <= most_joints:
        return recording
    edges = [0, *joints, len(points)]
    first, stop = max(pairwise(edges), key=lambda part: part[1] - part[0])
    numbers = [recording.first_frame + joint for joint in joints]
    shown = f"frame {numbers[0]}" if len(numbers) == 1 else f"frames {', '.join(map(str, numbers[:8]))}"
    finding = Diagnostic(
        "recording-repaired",
        "warning",
        f"The whole body jumps from one frame to the next at {shown}: recordings were joined, or a part was cut out. Only "
        f"the longest part is analysed: frames {recording.first_frame + first} to "
        f"{recording.first_frame + stop - 1} of {recording.first_frame} to {recording.first_frame + len(points) - 1}.",
        value=float(len(joints)),
        hint="Export each recording to a separate file, without cutting out frames.",
    )
    kept = recording.select_frames(first, stop)
    return replace(kept, diagnostics=(*kept.diagnostics, finding))


def part_start_frames(points: FloatArray, rate_hz: float) -> list[int]:
    """Return the frames at which a part of a joined recording starts, without the first part; empty for a continuous
    recording.

    points: (T, M, 3) m, NaN if missing. Frames in which the person is not visible are ignored. A few displaced frames after
    which the points return to the same trajectory are not a join.
    """
    shortest_s = 0.1  # shortest part
    seen = np.isfinite(points[..., 0])
    there = np.flatnonzero(is_person_visible(seen))
    joints = _discontinuities(points, there, rate_hz)
    edges = np.array([*joints, len(points)])
    short = [(a, b) for a, b in pairwise(edges.tolist()) if b - a < shortest_s * rate_hz]
    if short:  # longest camera error, frames
        passed = ~np.any([(there >= a) & (there < b) for a, b in short], axis=0)
        joints = _discontinuities(points, there[passed], rate_hz)
    return joints


def _discontinuities(points: FloatArray, there: IntArray, rate_hz: float) -> list[int]:
    """Return the frames (among `there`) at which most points deviate from positions extrapolated from both sides."""
    least_points, most_points = 4, 0.5
    block = 2_000  # frames per block
    joints: list[int] = []
    for begin in range(0, len(there) - 1, block):
        rows = there[max(begin - 1, 0) : begin + block + 2]
        steps_s = np.diff(rows)[:, None, None] / rate_hz
        steps = np.diff(points[rows], axis=0)
        speeds = steps / steps_s
        before = np.concatenate([np.zeros_like(speeds[:1]), speeds[:-1]])
        after = np.concatenate([speeds[1:], np.zeros_like(speeds[:1])])
        residuals = [lengths(steps - np.nan_to_num(speed) * steps_s) for speed in (before, after)]
        least = _largest_deviation_m(steps_s[..., 0], rate_hz)
        off = np.fmin(*residuals) > least
        counts = np.isfinite(steps[..., 0]).sum(axis=1)
        for k in np.flatnonzero((counts >= least_points) & (off.sum(axis=1) > most_points * counts)).tolist():
            frame, limit = int(rows[k + 1]), float(least[k, 0])
            if begin <= np.searchsorted(there, rows[k]) < begin + block and _are_displaced(
                points[rows[k]] + np.nan_to_num(before[k]) * steps_s[k], points[frame], limit
            ):
                joints.append(frame)
    return joints


def _largest_deviation_m(steps_s: FloatArray, rate_hz: float) -> FloatArray:
    """Return the largest plausible deviation (m) of most body points in a sprint from positions extrapolated over `steps_s`."""
    noise_m, most_m_s2 = 0.03, 200.0  # acceleration of the feet at foot strike; most of the body has much smaller ones
    sprint_m_s = 12.0
    of_gap = np.where(steps_s * rate_hz > 1.5, sprint_m_s * steps_s, 0.0)
    return np.maximum(np.maximum(noise_m, 0.5 * most_m_s2 * steps_s**2), of_gap)


def _are_displaced(expected: FloatArray, points: FloatArray, limit_m: float) -> bool:
    """Return whether most points (M, 3) are farther than `limit_m` from every expected point; labels are ignored."""
    most_points = 100  # number of points used
    known, now = (part[np.isfinite(part).all(axis=1)] for part in (expected, points))
    now = now[:: 1 + len(now) // most_points]
    nearest = np.linalg.norm(now[:, None] - known[None], axis=2).min(axis=1)
    return bool(np.mean(nearest > limit_m) > 0.5)


# -- 16-bit wrap-around of analog channels ----------------------------------------------------------------------------


def unwrap_samples(samples: FloatArray, period: float) -> FloatArray | None:
    """Return samples (T,) with 16-bit wrap-around undone; None if none exists.

    A multiple of `period` is added, which is lossless. A wrap-around is a step of nearly one period between both ends of the
    range, after which the signal continues smoothly; a spike does not.
    """
    nearly, least_allowance = 0.75, 1e-3  # share of the period
    known = np.flatnonzero(np.isfinite(samples))
    if len(known) < 3 or not nearly * period < np.ptp(samples[known]) < period:
        return None
    steps = np.diff(samples[known])
    wraps = np.abs(steps) > nearly * period
    others = float(np.abs(steps[~wraps]).max(initial=0.0))
    continued = steps - np.sign(steps) * period
    is_rough = others > (1.0 - nearly) * period  # steps are as large as a wrap-around: noise
    if is_rough or np.abs(continued[wraps]).max(initial=0.0) > 3.0 * others + least_allowance * period:
        return None
    turns = np.concatenate([[0.0], np.cumsum(-np.sign(steps) * wraps)])
    values, counts = np.unique(turns, return_counts=True)
    result = samples.copy()
    result[known] += period * (turns - values[np.argmax(counts)])  # most samples are within the range
    return result if wraps.any() else None


def wrap_around_note(channels: Sequence[str]) -> Diagnostic:
    """Return the finding about channels that were unwrapped."""
    return Diagnostic(
        "recording-repaired",
        "warning",
        f"16-bit wrap-around in {', '.join(channels)}: values beyond the range of the stored integers continued at its other "
        f"end. They were unwrapped without loss.",
        value=float(len(channels)),
        hint="Export with a larger ANALOG:SCALE, or as floating-point numbers.",
    )


def unwrap_plate_channels(recording: Recording) -> tuple[Recording, Findings]:
    """Return the recording with unwrapped plate channels, if these were stored in a decimal unit such as 0.001 Nm; and
    findings."""
    plates, names = [], []
    for plate in recording.plates:
        channels = plate.channels.copy()
        for column in range(channels.shape[1]):
            steps = np.abs(np.diff(channels[:, column]))
            largest = float(np.nanmax(steps, initial=0.0))
            if largest <= 0.0:
                continue
            decimals = round(np.log10(largest / 2**16))
            better = unwrap_samples(channels[:, column], 2**16 * 10.0**decimals)
            if better is not None:
                channels[:, column] = better
                label = plate.channel_labels[column : column + 1]
                names.append(label[0] if label else f"channel {column + 1} of plate {plate.number}")
        plates.append(replace(plate, channels=channels) if names else plate)
    return (replace(recording, plates=tuple(plates)), (wrap_around_note(names),)) if names else (recording, ())


# -- moments of plates --------------------------------------------------------------------------------------------

# Plate types with moments among their channels or as outputs of their calibration matrix.
_WITH_MOMENTS = (2, 4, 5)
# Possible lever arms (RMS during a load, m) and 1000-fold ones: from a foot at the centre above a sensor some centimetres below
# the surface, to the far end of a treadmill.
_TOO_SHORT_M, _TOO_LONG_M = (5e-6, 5e-4), (10.0, 3e3)
_FACTORS = (1e3, 1e-3)


def _moment_factor(size_m: float, wanders_m: float) -> float:
    """Return the factor by which moments must be multiplied so that their lever arm is possible for a foot.

    size_m: RMS lever arm about the sensor. wanders_m: SD of the lever arm about the surface.
    """
    if _TOO_LONG_M[0] < size_m < _TOO_LONG_M[1]:
        return _FACTORS[1]
    short = _TOO_SHORT_M[0] < size_m < _TOO_SHORT_M[1]
    # The lever arm of a force at one point varies by less than half of its size about the sensor.
    return _FACTORS[0] if short and wanders_m > 0.5 * size_m else 1.0


def correct_moment_units(plates: Sequence[ForcePlate]) -> tuple[tuple[ForcePlate, ...], tuple[Diagnostic, ...]]:
    """Return the plates with moments in Nm, and notes on corrected plates.

    The unit of each plate is determined from its own loads. Plates without a load get the correction of the loaded plates if
    these agree.
    """
    levers = [_lever_arm_spread(plate) if plate.type in _WITH_MOMENTS else None for plate in plates]
    factors = {_moment_factor(*lever) for lever in levers if lever is not None}
    shared = factors.pop() if len(factors) == 1 else 1.0
    chosen = [shared if lever is None else _moment_factor(*lever) for lever in levers]
    moments = [plate.type in _WITH_MOMENTS for plate in plates]
    wrong = [n for n, factor in enumerate(chosen) if factor != 1.0 and moments[n]]
    scaled = tuple(_scaled_moments(plate, factor) for plate, factor in zip(plates, chosen, strict=True))
    whole = len(wrong) == sum(moments)
    notes = []
    for factor in _FACTORS:
        affected = [n for n in wrong if chosen[n] == factor]
        known_levers = [lever[0] for n in affected if (lever := levers[n]) is not None]
        if known_levers:
            notes.append(_moment_note(known_levers, factor, [] if whole else [plates[n].number for n in affected]))
    return scaled if notes else tuple(plates), tuple(notes)


def _lever_arm_spread(plate: ForcePlate) -> tuple[float, float] | None:
    """Return the RMS lever arm of the horizontal moments about the sensor and its SD about the surface, m.

    None if the plate is never loaded, or if the moments are not larger than their noise.
    """
    # A load exceeds the baseline by this force (N), and its moments exceed the baseline moments by this factor.
    loaded_n, loaded_share, over_noise = 100.0, 0.3, 5.0
    outputs = plate.outputs
    known = outputs[np.isfinite(outputs).all(axis=1)]
    if not len(known):
        return None
    low, high = np.percentile(known[:, 2], [2.0, 98.0])
    rest = low if abs(low) < abs(high) else high
    loaded = np.abs(known[:, 2] - rest) > loaded_share * (high - low)
    empty = np.abs(known[:, 2] - rest) < 0.1 * loaded_share * (high - low)
    if high - low < loaded_n or loaded.sum() < 3 or empty.sum() < 3:
        return None
    known = known - np.median(known[empty], axis=0)
    moment = _root_mean_square(known[loaded, 3:5])
    if moment <= over_noise * _root_mean_square(known[empty, 3:5]):
        return None
    lever, direction = (known[loaded, columns] / known[loaded, 2:3] for columns in (slice(3, 5), slice(0, 2)))
    # M_surface = M_sensor + F x ORIGIN, with either sign of ORIGIN; the moment of one point is constant
    tilted = plate.origin[2] * direction[:, ::-1] * (1.0, -1.0)
    wanders = min(_root_mean_square(at - at.mean(axis=0)) for at in (lever + tilted, lever - tilted))
    return moment / _root_mean_square(known[loaded, 2:3]), wanders


def _root_mean_square(rows: FloatArray) -> float:
    return float(np.sqrt(np.mean(np.sum(rows**2, axis=1))))


def _scaled_moments(plate: ForcePlate, factor: float) -> ForcePlate:
    """Return the plate with its three moments multiplied by the factor."""
    if plate.type not in _WITH_MOMENTS or factor == 1.0:
        return plate
    factors = np.where(np.arange(6) < 3, 1.0, factor)
    if plate.cal_matrix is None:
        return replace(plate, channels=plate.channels * factors)
    return replace(plate, cal_matrix=plate.cal_matrix * factors[:, None])


def _moment_note(levers: Sequence[float], factor: float, numbers: Sequence[int]) -> Diagnostic:
    """Return the note on corrected moments; `numbers`: the corrected plates, empty if all were corrected."""
    lever = float(np.median(levers))
    which = f"force plate {numbers[0]}" if len(numbers) == 1 else "the force plates"
    if len(numbers) > 1:
        which = f"force plates {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"
    return Diagnostic(
        "unit-corrected",
        "warning",
        f"In the stated unit, the moments of {which} have a lever arm of {lever:.2g} m, which is not possible for a foot. "
        f"They are multiplied by {factor:g}, which gives {lever * factor:.2g} m.",
        value=lever,
        limit=_TOO_SHORT_M[1] if factor > 1.0 else _TOO_LONG_M[0],
        unit="m",
        hint="Correct ANALOG:UNITS (or ANALOG:SCALE) of the moment channels in the export settings: N and Nmm are usual.",
    )


def correct_recording_moments(recording: Recording) -> tuple[Recording, Findings]:
    """Return the recording with the moments of its plates in Nm; see `correct_moment_units`."""
    if not all(plate.outlined for plate in recording.plates):  # plates of a table are already in N m
        return recording, ()
    plates, findings = correct_moment_units(recording.plates)
    return (replace(recording, plates=plates), findings) if findings else (recording, ())


#: Repairs in the order of application: missing positions first, then units.
REPAIRS: Final = (
    Repair(
        unwrap_plate_channels,
        "analogfpscale04i.c3d of sample 25 of c3d.org: Mx1, which equals that of the floating-point file after unwrapping",
    ),
    Repair(remove_repeated_frames, "badParameterOffset.c3d of the BTK edge cases"),
    Repair(
        remove_held_positions,
        "Motek D-Flow repeats the last position of a lost marker: MissingMarkerIdentifier of csu-hmc/GaitAnalysisToolKit",
    ),
    Repair(correct_recording_moments, "pyCGM2/pyCGM2#33: analog signals of Bertec plates in wrong units"),
)
