"""Faults and offsets of the channels of a force plate: spikes, saturation, constant or missing channels, unloaded level.

Unloaded samples are determined, in order of preference, from frames without a foot above the plate (known after the fit of the
body), from a long and steady low level of the force, or from the frames stated in FORCE_PLATFORM:ZERO.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import scipy

from biodyn.conventions import BoolArray, FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.processing.signals.filtering import finite_stretches
from biodyn.recording import ForcePlate
from biodyn.recording.wrenches import PlateZero, ZeroSource

# Force above which every channel of a loaded plate has a signal.
_LOADED_N = 50.0
# Shortest flat maximum that is checked ...
_FLAT_S = 0.005
# Type 1 stores forces, the centre of pressure and the free moment.
_PLACES_TYPE, _VERTICAL, _PLACES = 1, 2, 3


#: Saturated samples [first, stop) by channel column.
CutOff: TypeAlias = Mapping[int, Sequence[tuple[int, int]]]


def remove_spikes(plate: ForcePlate) -> tuple[ForcePlate, tuple[Diagnostic, ...]]:
    """Interpolate samples that jump away and back, and return the plate with a finding.

    Jumps of one or two samples are detected at any rate if they exceed every load, jumps of up to five samples if they last at
    most 5 ms, because the force of a foot strike rises in 5 ms or more. Such samples are faults of the converter or the file,
    and a filter would spread them over the step.
    """
    channels = plate.channels
    fast_hz = 900.0  # five samples are 5 ms
    longest, least_share = (5, 0.5) if plate.rate_hz >= fast_hz else (2, 1.5)
    if len(channels) <= longest:
        return plate, ()
    hit = np.column_stack([_find_short_jumps(channel, longest, least_share) for channel in channels.T])
    if plate.type == _PLACES_TYPE:
        # centre of pressure and free moment are quotients, which are noise without load
        hit[:, _PLACES:] &= np.abs(channels[:, _VERTICAL, None]) > _LOADED_N
    columns = np.flatnonzero(hit.any(axis=0)).tolist()
    if not columns:
        return plate, ()
    corrected = channels.copy()
    rows = np.arange(len(channels))
    for column in columns:
        good = ~hit[:, column]
        corrected[~good, column] = np.interp(rows[~good], rows[good], channels[good, column])
    count = int(hit.any(axis=1).sum())
    first, last = np.flatnonzero(hit.any(axis=1))[[0, -1]] / plate.rate_hz
    note = Diagnostic(
        "recording-repaired",
        "warning",
        f"Plate {plate.number} has {count} sample{'s' if count > 1 else ''} in spikes of up to 5 ms, {first:.2f} to {last:.2f} s "
        f"(channel {', '.join(_channel_name(plate, column) for column in columns)}); they were interpolated.",
        value=float(count),
        limit=0.0,
        hint="Check cables, converter and export.",
    )
    return replace(plate, channels=corrected), (note,)


def _find_short_jumps(channel: FloatArray, longest: int, least_share: float) -> BoolArray:
    """Return the samples (T,) of a channel in jumps of up to `longest` samples that start and end within one sample.

    least_share: size of a jump as a fraction of the range of all other samples.
    """
    edge_share = 0.3
    outlier_sd = 8.0  # noise and single steps of a converter are smaller
    usual = scipy.ndimage.median_filter(np.nan_to_num(channel), 2 * longest + 1, mode="nearest")
    off = np.nan_to_num(channel - usual)
    span = float(np.ptp(usual))
    high = np.abs(off) > max(least_share * span, outlier_sd * float(off.std()))
    hit = np.zeros(channel.shape, dtype=np.bool_)
    if not span:
        return hit
    for first, stop in finite_stretches(high):
        if first == 0 or stop == len(channel) or stop - first > longest:
            continue
        edges = np.abs([channel[first] - channel[first - 1], channel[stop] - channel[stop - 1]])
        inside = float(np.abs(off[first:stop]).max())
        if edges.min() > edge_share * span and edges.min() > 0.5 * inside:
            hit[first:stop] = True
    return hit


def channel_findings(plate: ForcePlate, cut: CutOff, largest_n: float) -> tuple[Diagnostic, ...]:
    """Return findings about channels that are constant while the plate is loaded, and about saturated ones (`cut`).

    largest_n: largest component of the force, N. If the vertical channel is constant, the horizontal channels show the load.
    """
    notes: list[Diagnostic] = []
    silent = [column for column in range(plate.channels.shape[1]) if _is_constant(plate.channels[:, column])]
    if silent and largest_n > _LOADED_N:
        names = ", ".join(_channel_name(plate, column) for column in silent)
        notes.append(
            Diagnostic(
                "plate-channel-constant",
                "warning",
                f"Plate {plate.number} is loaded, but its channel {names} is constant, so that this component is "
                "missing.",
                value=float(len(silent)),
                limit=0.0,
                hint="Check the cables and FORCE_PLATFORM:CHANNEL. Moments and centre of pressure need every channel.",
            )
        )
    if cut:
        longest = max(stop - first for runs in cut.values() for first, stop in runs) / plate.rate_hz
        names = ", ".join(_channel_name(plate, column) for column in cut)
        notes.append(
            Diagnostic(
                "forces-incomplete",
                "error",
                f"Plate {plate.number} is saturated for up to {1000 * longest:.0f} ms (channel {names}). The true "
                "force was larger.",
                value=longest,
                limit=_FLAT_S,
                unit="s",
                hint="These contacts are not used. Select a larger range of the amplifier.",
            )
        )
    return tuple(notes)


def find_saturation(plate: ForcePlate, rest: FloatArray) -> CutOff:
    """Return the saturated samples of each channel that has any.

    rest: unloaded values (C,) of the channels, in their units.
    """
    channels = np.ascontiguousarray(plate.channels.T)
    return {
        column: runs
        for column, values in enumerate(channels)
        if (runs := _saturated_samples(plate, column, values, float(rest[column])))
    }


def saturated_times(plate: ForcePlate, cut: CutOff) -> tuple[tuple[float, float], ...]:
    """Return start and end (s) of the stretches with a saturated channel."""
    hit = np.zeros(len(plate.channels), dtype=bool)
    for runs in cut.values():
        for first, stop in runs:
            hit[first:stop] = True
    return tuple((first / plate.rate_hz, stop / plate.rate_hz) for first, stop in finite_stretches(hit))


def missing_times(vertical_n: FloatArray, rate_hz: float) -> tuple[tuple[float, float], ...]:
    """Return start and end (s) of the stretches without samples between two loaded samples; `vertical_n` (T,) N.

    They extend to the samples on either side. Unloaded stretches without samples are normal for some exporters. A load that
    disappears and returns abruptly within 0.25 s is also a dropout, because a foot cannot cause it.
    """
    longest_s, abrupt_s = 0.25, 0.003
    large_share, gone_share = 0.2, 0.03  # fraction of the largest force
    known = np.isfinite(vertical_n)
    gaps = [
        (first, stop)
        for first, stop in finite_stretches(~known)
        if first > 0 and stop < len(known) and min(vertical_n[first - 1], vertical_n[stop]) > _LOADED_N
    ]
    force = np.nan_to_num(vertical_n)
    largest = max(float(force.max(initial=0.0)), _LOADED_N)
    edge = max(round(abrupt_s * rate_hz), 1)
    for first, stop in finite_stretches(np.abs(force) < gone_share * largest):
        whole = first >= edge and stop + edge <= len(force) and 1 < stop - first <= longest_s * rate_hz
        if whole and min(force[first - edge], force[stop + edge - 1]) > large_share * largest:
            gaps.append((first, stop))
    return tuple(((first - 1) / rate_hz, stop / rate_hz) for first, stop in sorted(set(gaps)))


def missing_samples_note(number: int, stretches: tuple[tuple[float, float], ...]) -> tuple[Diagnostic, ...]:
    """Return the finding about missing samples of a loaded plate; () if `stretches` is empty."""
    if not stretches:
        return ()
    longest = max(end - begin for begin, end in stretches)
    return (
        Diagnostic(
            "forces-incomplete",
            "warning",
            f"Plate {number} has {len(stretches)} stretches without a signal while loaded, of up to "
            f"{1000 * longest:.0f} ms (the first at {stretches[0][0]:.2f} s).",
            value=longest,
            limit=0.0,
            unit="s",
            hint="These contacts are not used. Check the cable and export the trial again.",
        ),
    )


def _channel_name(plate: ForcePlate, column: int) -> str:
    label = plate.channel_labels[column] if column < len(plate.channel_labels) else ""
    return label or f"number {column + 1}"


def _is_constant(values: FloatArray) -> bool:
    seen = values[np.isfinite(values)]
    return not len(seen) or bool(np.ptp(seen) == 0.0)


def _saturated_samples(plate: ForcePlate, column: int, values: FloatArray, rest: float) -> list[tuple[int, int]]:
    """Return the flat stretches [first, stop) of a channel (T,) at its largest and at its smallest value."""
    if plate.type == _PLACES_TYPE and column in (3, 4):  # centre-of-pressure channels are computed, not measured
        return []
    seen = values[np.isfinite(values)]
    if not len(seen) or np.ptp(seen) == 0.0:
        return []
    tops: list[tuple[int, int]] = []
    for sense in (1.0, -1.0):
        tops += _flat_maxima(sense * values, sense * seen, sense * rest, plate.rate_hz)
    return tops


def _flat_maxima(values: FloatArray, seen: FloatArray, rest: float, rate_hz: float) -> list[tuple[int, int]]:
    """Return the flat stretches at the largest value that a parabola with the slopes at both ends would exceed by far.

    A parabola over the duration D with slopes s and -s at its ends rises by s D / 4 in between.
    """
    # ... if its distance from the unloaded level is more than this fraction of the range.
    away_share = 0.2
    # time, or fraction of the flat maximum, over which the slope next to it is measured
    slope_s, slope_share = 0.01, 0.25
    # A channel is saturated if the parabola rises above the maximum by more than this fraction of the range. A smooth
    # peak stored in steps is also flat, but falls by 9/4 of a step over a quarter of its flat maximum (a parabola),
    # and one more by rounding.
    overshoot_share, fall_steps = 0.02, 6.0
    rounding = 1e-6  # smaller differences of stored values are round-off of their scale
    top, reach = float(seen.max()), float(np.ptp(seen))
    if top - rest < away_share * reach:
        return []  # this is the unloaded level, which some software stores without noise
    tops = []
    step = float("nan")
    for first, stop in finite_stretches(values == top):
        length = stop - first
        margin = max(2, round(slope_s * rate_hz), round(slope_share * length))
        if length < max(3, _FLAT_S * rate_hz) or first < margin or stop + margin > len(values):
            continue
        if not np.isfinite(step):
            steps = np.diff(np.unique(seen))
            step = float(steps[steps > rounding * reach].min(initial=reach))
        fall = 0.5 * (2.0 * top - values[first - margin] - values[stop + margin - 1])
        if fall > fall_steps * step and fall / margin * length / 4.0 > overshoot_share * reach:
            tops.append((first, stop))
    return tops


# Largest unloaded level: a higher one may be a load.
_LARGEST_OFFSET_N = 60.0
_BLOCK_S = 0.05  # length of a block
# Usual and largest limit of the standard deviation within an unloaded block (belts are noisier than plates).
_STEADY_N, _NOISIEST_N = 5.0, 20.0
# A drift is a straight line through unloaded frames that span half of the recording, or a third of it if the line
# explains most of the variance. A smaller drift is noise.
_DRIFT_SPAN, _CLEAR_SPAN, _CLEAR_SHARE = 0.5, 1.0 / 3.0, 0.9


def find_offset(
    plate: ForcePlate, up: FloatArray, marker_rate_hz: float, clear: BoolArray | None = None
) -> tuple[FloatArray, PlateZero, tuple[Diagnostic, ...]]:
    """Return the offset of the channels of a plate from its unloaded samples, with findings.

    The offset (T, C) is in the units of the channels, constant or a straight line over the recording. The numbers in the record
    have the sign of the stored vertical force.

    Args:
        plate: the plate as stored. up: (T,) N, its stored vertical force, with the sign of the file.
        marker_rate_hz: frames per second.
        clear: (frames,) marker frames in which both feet are known and not above the plate; None = feet not known yet.
    """
    notes: tuple[Diagnostic, ...] = ()
    nothing = np.zeros(plate.channels.shape)
    unloaded = np.zeros(len(up), dtype=bool)
    if clear is not None:
        unloaded = _unloaded_samples_by_feet(
            up, plate.rate_hz, _resample_frame_mask(clear, len(up), plate.rate_hz / marker_rate_hz)
        )
    zero_source: ZeroSource = "feet"
    if not unloaded.any():
        unloaded, zero_source, notes = _unloaded_samples_by_force(plate, up, marker_rate_hz)
    finite = np.isfinite(plate.channels)
    # exclude missing samples from the mean of a channel
    unloaded = unloaded & finite[:, finite.any(axis=0)].all(axis=1)
    if not unloaded.any():
        return nothing, PlateZero("unknown"), notes
    time = np.arange(len(up)) / max(len(up) - 1, 1) - 0.5  # time from -1/2 to 1/2 over the recording
    drifts = zero_source == "feet" and _has_drift(up, unloaded, time, plate.rate_hz)
    offset = _fit_unloaded_line(plate.channels, unloaded, time, drifts)
    if plate.type == 1:
        offset[:, 3:5] = 0.0  # centre-of-pressure channels have no offset
    line = _fit_unloaded_line(up[:, None], unloaded, time, drifts)[:, 0]
    zero = PlateZero(
        zero_source,
        offset_n=float(np.mean(line)),
        drift_n=float(line[-1] - line[0]),
        noise_n=float(np.std(up[unloaded] - line[unloaded])),
        unloaded_s=float(np.count_nonzero(unloaded) / plate.rate_hz),
    )
    return offset, zero, notes


def channel_offset_findings(number: int, zero: PlateZero, feet_known: bool, largest_n: float) -> tuple[Diagnostic, ...]:
    """Return findings about a removed offset, or an unknown one of a loaded plate (up to `largest_n`, N)."""
    reported_n = 2.0
    if zero.source == "unknown":
        if not feet_known or largest_n < _LARGEST_OFFSET_N:
            return ()
        text = f"Plate {number} is never unloaded, so that its offset is unknown and was not removed."
        hint = "Record a period with the plate unloaded, or zero the plate before the recording."
        return (Diagnostic("plate-zero-unknown", "warning", text, hint=hint),)
    if abs(zero.offset_n) <= reported_n and abs(zero.drift_n) <= reported_n:
        return ()
    how = {
        "feet": f"measured while no foot was above the plate for {zero.unloaded_s:.1f} s",
        "force": "measured in unloaded frames detected from the force",
        "file": "measured in the frames stated in FORCE_PLATFORM:ZERO",
    }[zero.source]
    drift = f", drifting by {zero.drift_n:.1f} N over the recording" if zero.drift_n else ""
    return (
        Diagnostic(
            "plate-baseline",
            "info",
            f"Plate {number} has an offset of {zero.offset_n:.1f} N{drift}, which was removed ({how}).",
            value=zero.offset_n,
            unit="N",
        ),
    )


def _resample_frame_mask(frames: BoolArray, count: int, ratio: float) -> BoolArray:
    """Resample a mask of marker frames to the analog samples; a sample is True if both neighbouring frames are."""
    if not len(frames):
        return np.zeros(count, dtype=bool)
    at = np.arange(count) / ratio
    before = np.minimum(np.floor(at).astype(np.int64), len(frames) - 1)
    after = np.minimum(before + 1, len(frames) - 1)
    return np.asarray(frames[before] & frames[after])


def _unloaded_samples_by_feet(up: FloatArray, rate_hz: float, clear: BoolArray) -> BoolArray:
    """Return the samples of blocks without a foot above the plate whose level is constant or on a straight line."""
    shortest_beside_s = 0.1  # sufficient if the feet are known to be elsewhere
    # 80 % of the block means of an unloaded plate are within this distance of a straight line.
    level_spread_n = 10.0
    none = np.zeros(len(up), dtype=bool)
    means, spreads = _block_statistics(np.where(clear, up, np.nan), rate_hz)
    rows = np.flatnonzero(np.isfinite(means))
    if len(rows) * _BLOCK_S < shortest_beside_s:
        return none
    level = means[rows]
    deviation = level - _fit_robust_line(rows.astype(np.float64), level, len(means))
    low, high = np.percentile(deviation, [10.0, 90.0])
    if high - low > level_spread_n:
        return none  # loaded by a hand, a stick or a person without markers
    size = _block_size(rate_hz)
    expected = float(np.median(spreads[rows])) / np.sqrt(size)
    tolerance = max(3.0 * 1.4826 * float(np.median(np.abs(deviation))), 3.0 * expected, 1e-9)
    return _block_samples(rows[np.abs(deviation - np.median(deviation)) <= tolerance], size, len(up))


def _fit_robust_line(x: FloatArray, y: FloatArray, count: int) -> FloatArray:
    """Return a robust straight line through points x, y (n,), evaluated at x.

    Its slope is that between the medians of the first and last third. If the points cover little of `count` samples, the line
    is constant at the median of y.
    """
    if len(x) < 6 or x[-1] - x[0] < _CLEAR_SPAN * count:
        return np.full(len(y), np.median(y))
    third = len(x) // 3
    x0, x1 = np.median(x[:third]), np.median(x[-third:])
    slope = (np.median(y[-third:]) - np.median(y[:third])) / (x1 - x0)
    line: FloatArray = np.median(y - slope * x) + slope * x
    return line


def _fit_unloaded_line(values: FloatArray, unloaded: BoolArray, time: FloatArray, drifts: bool) -> FloatArray:
    """Return the mean of the unloaded samples of values (T, C), or the straight line through them, as (T, C)."""
    mean = values[unloaded].mean(axis=0)
    if not drifts:
        return np.tile(mean, (len(values), 1))
    centre = time[unloaded].mean()
    lever = time[unloaded] - centre
    slope = lever @ (values[unloaded] - mean) / (lever @ lever)
    line: FloatArray = mean + np.outer(time - centre, slope)
    return line


def _has_drift(up: FloatArray, unloaded: BoolArray, time: FloatArray, rate_hz: float) -> bool:
    """Return whether the unloaded level drifts over a sufficient part of the recording and by more than noise."""
    least_drift_n = 2.0
    drift_errors = 5.0
    means, _ = _block_statistics(np.where(unloaded, up, np.nan), rate_hz)
    rows = np.flatnonzero(np.isfinite(means))
    span = (rows[-1] - rows[0]) / len(means) if len(rows) >= 6 else 0.0
    if span < _CLEAR_SPAN:
        return False
    x = time[np.minimum(rows * _block_size(rate_hz), len(time) - 1)]
    (slope, constant) = np.polyfit(x, means[rows], 1)
    residual = means[rows] - (constant + slope * x)
    error = float(np.sqrt(np.sum(residual**2) / (len(rows) - 2) / np.sum((x - x.mean()) ** 2)))
    clear = span >= _DRIFT_SPAN or float(np.var(residual)) <= (1.0 - _CLEAR_SHARE) * float(np.var(means[rows]))
    return bool(clear and abs(slope) > max(least_drift_n, drift_errors * error))


def _unloaded_samples_by_force(
    plate: ForcePlate, up: FloatArray, marker_rate_hz: float
) -> tuple[BoolArray, ZeroSource, tuple[Diagnostic, ...]]:
    """Return the unloaded samples, their source, and a finding if the frames stated in the file are loaded."""
    unloaded = _samples_at_lowest_level(up, plate.rate_hz)
    named = _samples_named_in_file(plate, up, marker_rate_hz)
    if not named.any():
        return unloaded, "force", ()
    level = float(up[named].mean())
    # These frames are loaded if they differ from another unloaded stretch, or, without one, if they exceed the drift
    # of any amplifier, unless all other forces rise from this level (seen: -212 N in c3d.org's sample 10).
    excess = level - (float(up[unloaded].mean()) if unloaded.any() else 0.0)
    limit = _LARGEST_OFFSET_N / 2 if unloaded.any() else _LARGEST_OFFSET_N
    if abs(excess) < limit or (not unloaded.any() and level < 0.0 and _is_unloaded_level(up, level, plate.rate_hz)):
        # Both stretches are unloaded, and the longer one has the more accurate mean.
        if np.count_nonzero(unloaded) >= np.count_nonzero(named):
            return unloaded, "force", ()
        return named, "file", ()
    note = Diagnostic(
        "plate-zero-loaded",
        "warning",
        f"Plate {plate.number} carries {excess:.0f} N in the frames that FORCE_PLATFORM:ZERO states as unloaded; "
        f"{('another unloaded stretch' if unloaded.any() else 'no offset')} is used instead.",
        value=excess,
        limit=limit,
        unit="N",
    )
    return unloaded, "force", (note,)


def _samples_at_lowest_level(up: FloatArray, rate_hz: float) -> BoolArray:
    """Return the samples in which the plate is unloaded according to the force alone; all False if none exist.

    These are blocks with almost no variation at the level nearest to zero force, if their total duration is sufficient.
    """
    shortest_unloaded_s = 0.25
    none = np.zeros(len(up), dtype=bool)
    means, spreads = _block_statistics(up, rate_hz)
    known = np.isfinite(spreads)
    if not known.any():
        return none
    quiet = float(np.clip(3.0 * np.percentile(spreads[known], 10.0), _STEADY_N, _NOISIEST_N))
    steady = known & (np.nan_to_num(spreads) < quiet) & (np.abs(np.nan_to_num(means)) < _LARGEST_OFFSET_N)
    if not steady.any():
        return none
    rows = np.flatnonzero(steady & (np.abs(np.nan_to_num(means) - np.median(means[steady])) < _STEADY_N))
    size = _block_size(rate_hz)
    return _block_samples(rows, size, len(up)) if len(rows) * size >= shortest_unloaded_s * rate_hz else none


def _samples_named_in_file(plate: ForcePlate, up: FloatArray, marker_rate_hz: float) -> BoolArray:
    """Return the mask of the finite samples in the frames stated in FORCE_PLATFORM:ZERO; all False if none exist."""
    mask = np.zeros(len(up), dtype=bool)
    if plate.zero_frames is not None:
        first, last = plate.zero_frames
        ratio = plate.rate_hz / marker_rate_hz
        mask[round(first * ratio) : round((last + 1) * ratio)] = True
    return mask & np.isfinite(up)


def _is_unloaded_level(up: FloatArray, level: float, rate_hz: float) -> bool:
    """Return whether `level` is the typical unloaded force, with forces far above it and almost none below."""
    means, spreads = _block_statistics(up, rate_hz)
    resting = means[spreads < _STEADY_N]
    if not len(resting) or abs(float(np.median(resting)) - level) > 2.0 * _STEADY_N:
        return False
    low, high = np.nanpercentile(up, [0.5, 99.5])  # excluding single samples
    return bool(high - level > 2.0 * _LARGEST_OFFSET_N and level - low < _LARGEST_OFFSET_N / 2)


def _block_size(rate_hz: float) -> int:
    return max(2, round(_BLOCK_S * rate_hz))


def _block_statistics(up: FloatArray, rate_hz: float) -> tuple[FloatArray, FloatArray]:
    """Return the mean and standard deviation of the force over blocks of `_BLOCK_S`; NaN in blocks with a missing sample."""
    size = _block_size(rate_hz)
    count = len(up) // size
    blocks = up[: count * size].reshape(count, size)
    return blocks.mean(axis=1), blocks.std(axis=1)


def _block_samples(rows: np.ndarray, size: int, count: int) -> BoolArray:
    """Return the mask (count,) of the samples in some blocks of `size` samples; `rows`: indices of these blocks."""
    mask = np.zeros(count, dtype=bool)
    mask[(rows[:, None] * size + np.arange(size)).ravel()] = True
    return mask
