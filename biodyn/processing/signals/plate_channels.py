"""Damaged channels of a force plate: cut off at the end of their range, constant, without a number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.processing.signals.filtering import finite_stretches
from biodyn.processing.signals.gaps import median_of_five
from biodyn.recording import ForcePlate
from biodyn.recording.wrenches import PlateZero, ZeroSource

# A plate that carries more than this shows it in every channel.
_LOADED_N = 50.0
# Equal samples at the largest value for this long are looked at ...
_FLAT_S = 0.005
# ... if that value is farther than this from where the channel rests, as a share of all it does.
_AWAY_SHARE = 0.2
_SLOPE_S, _SLOPE_SHARE = 0.01, 0.25  # the slope beside the flat is taken over this time, or share of the flat
# Cut off is what would have risen by more than this share of all it does beyond the top. A smooth peak that is stored in
# steps is flat too, but falls by 9/4 of a step over a quarter of its flat (a parabola), one more by rounding.
_OVERSHOOT_SHARE, _FALL_STEPS = 0.02, 6.0
# A sample off the median of the five around by more than this, of all that the channel measures, came and went within two
# samples: no load does. And by so many times the usual, where nothing is measured but noise.
_SPIKE_SHARE, _SPIKE_NOISE = 1.5, 20.0
_WINDOW = 5
# Type 1 stores forces, the centre of pressure and the free moment.
_PLACES_TYPE, _VERTICAL, _PLACES = 1, 2, 3
_ROUNDING = 1e-6  # smaller differences of stored values are round-off of their scale, no steps


#: Samples [first, stop) in which a channel stands at the end of its range, by its column.
CutOff: TypeAlias = Mapping[int, Sequence[tuple[int, int]]]


def without_spikes(plate: ForcePlate) -> tuple[ForcePlate, tuple[Diagnostic, ...]]:
    """Return the plate with samples that jump away and back within two samples as those beside them, and a note.

    Such a sample is a fault of converter or file; a filter would spread it over the step.
    """
    channels = plate.channels
    if len(channels) < _WINDOW:
        return plate, ()
    hit = np.zeros(channels.shape, dtype=np.bool_)
    for column in _rough_columns(channels):
        hit[:, column] = _spikes(channels[:, column])
    if plate.type == _PLACES_TYPE:
        # the centre of pressure and the moment about it are quotients, mere noise where nothing presses
        hit[:, _PLACES:] &= np.abs(channels[:, _VERTICAL, None]) > _LOADED_N
    columns = np.flatnonzero(hit.any(axis=0)).tolist()
    if not columns:
        return plate, ()
    mended = channels.copy()
    rows = np.arange(len(channels))
    for column in columns:
        good = ~hit[:, column]
        mended[~good, column] = np.interp(rows[~good], rows[good], channels[good, column])
    count = int(hit.any(axis=1).sum())
    first, last = np.flatnonzero(hit.any(axis=1))[[0, -1]] / plate.rate_hz
    note = Diagnostic(
        "recording-repaired",
        "warning",
        f"Plate {plate.number} jumps away and back within two samples {count} {'times' if count > 1 else 'time'}, between "
        f"{first:.2f} and {last:.2f} s (channel {', '.join(_name(plate, column) for column in columns)}): those samples were "
        "taken from the ones beside them.",
        value=float(count),
        limit=0.0,
        hint="Look at cables, converter and export; a load lasts longer.",
    )
    return replace(plate, channels=mended), (note,)


def _rough_columns(channels: FloatArray) -> list[int]:
    """The columns that change so much from one sample to the next that a spike may be in them: most do not, and are quickly told.

    A spike is off by s times the span R of all else, s being `_SPIKE_SHARE` at least, from a value within that span. It is
    reached within two steps: one has (s - 1) R / 2 at least. The whole span is (1 + 2 s) R at most. Their ratio grows with s.
    """
    steps = np.nan_to_num(np.nanmax(np.abs(np.diff(channels, axis=0)), axis=0, initial=0.0))
    span = np.nan_to_num(
        np.nanmax(channels, axis=0, initial=-np.inf) - np.nanmin(channels, axis=0, initial=np.inf), neginf=0.0
    )
    least = 0.5 * (_SPIKE_SHARE - 1.0) / (1.0 + 2.0 * _SPIKE_SHARE)
    known = np.isfinite(channels).all(axis=0)
    return [int(column) for column in np.flatnonzero((steps >= least * span) | ~known)]


def _spikes(channel: FloatArray) -> BoolArray:
    """The samples (T,) of one channel that jump away and back."""
    half = _WINDOW // 2
    usual = median_of_five(channel)
    off = np.zeros(channel.shape)
    with np.errstate(invalid="ignore"):
        off[half : len(off) - half] = np.nan_to_num(np.abs(channel[half : len(off) - half] - usual))
    span = float(np.nan_to_num(np.nanmax(usual, initial=-np.inf) - np.nanmin(usual, initial=np.inf), neginf=0.0))
    noise = float(np.median(off[off > 0.0])) if (off > 0.0).any() else 0.0
    return np.asarray((off > _SPIKE_SHARE * span) & (off > _SPIKE_NOISE * noise))


def channel_notes(plate: ForcePlate, cut: CutOff, largest_n: float) -> tuple[Diagnostic, ...]:
    """Name channels that say nothing while the plate is loaded, and the time others are `cut` off.

    `largest_n`: largest component of the force, N. Where the vertical one is dead the horizontal ones tell the load.
    """
    notes: list[Diagnostic] = []
    silent = [column for column in range(plate.channels.shape[1]) if _is_constant(plate.channels[:, column])]
    if silent and largest_n > _LOADED_N:
        names = ", ".join(_name(plate, column) for column in silent)
        notes.append(
            Diagnostic(
                "plate-channel-constant",
                "warning",
                f"Plate {plate.number} is loaded, but its channel {names} is constant: what it measures is missing.",
                value=float(len(silent)),
                limit=0.0,
                hint="Check the cables and FORCE_PLATFORM:CHANNEL; moments and centre of pressure need every channel.",
            )
        )
    if cut:
        longest = max(stop - first for runs in cut.values() for first, stop in runs) / plate.rate_hz
        names = ", ".join(_name(plate, column) for column in cut)
        notes.append(
            Diagnostic(
                "plate-saturated",
                "error",
                f"Plate {plate.number} is cut off at the end of its range for up to {1000 * longest:.0f} ms "
                f"(channel {names}): its real force was larger.",
                value=longest,
                limit=_FLAT_S,
                unit="s",
                hint="Choose a larger range of the plate's amplifier; the contacts concerned are not used.",
            )
        )
    return tuple(notes)


def cut_off(plate: ForcePlate, rest: FloatArray) -> CutOff:
    """Return where channels stand at the end of their range; those that nowhere do are left out.

    `rest` (C,) is what the channels read unloaded, in their own units.
    """
    channels = np.ascontiguousarray(plate.channels.T)
    return {
        column: runs
        for column, values in enumerate(channels)
        if (runs := _cut_off(plate, column, values, float(rest[column])))
    }


def saturated(plate: ForcePlate, cut: CutOff) -> tuple[tuple[float, float], ...]:
    """Begin and end in s of the stretches in which some channel is `cut` off."""
    hit = np.zeros(len(plate.channels), dtype=bool)
    for runs in cut.values():
        for first, stop in runs:
            hit[first:stop] = True
    return tuple((first / plate.rate_hz, stop / plate.rate_hz) for first, stop in finite_stretches(hit))


def unrecorded(vertical_n: FloatArray, rate_hz: float) -> tuple[tuple[float, float], ...]:
    """Begin and end in s of the stretches without a number between two samples that are loaded; `vertical_n` (T,) N.

    They reach to the samples on either side. Elsewhere no number is how some exporters say that nothing was there.
    """
    known = np.isfinite(vertical_n)
    return tuple(
        ((first - 1) / rate_hz, stop / rate_hz)
        for first, stop in finite_stretches(~known)
        if first > 0 and stop < len(known) and min(vertical_n[first - 1], vertical_n[stop]) > _LOADED_N
    )


def unrecorded_note(number: int, stretches: tuple[tuple[float, float], ...]) -> tuple[Diagnostic, ...]:
    """Say that a plate holds no number while something stands on it; nothing where `stretches` is empty."""
    if not stretches:
        return ()
    longest = max(end - begin for begin, end in stretches)
    return (
        Diagnostic(
            "forces-incomplete",
            "warning",
            f"Plate {number} holds no number while it is loaded, {len(stretches)} times, for up to {1000 * longest:.0f} ms.",
            value=longest,
            limit=0.0,
            unit="s",
            hint="Export the trial again; the contacts concerned are not used.",
        ),
    )


def _name(plate: ForcePlate, column: int) -> str:
    label = plate.channel_labels[column] if column < len(plate.channel_labels) else ""
    return label or f"number {column + 1}"


def _is_constant(values: FloatArray) -> bool:
    seen = values[np.isfinite(values)]
    return not len(seen) or bool(np.ptp(seen) == 0.0)


def _cut_off(plate: ForcePlate, column: int, values: FloatArray, rest: float) -> list[tuple[int, int]]:
    """Samples [first, stop) of the flat tops of a channel (T,), at its largest and at its smallest value."""
    if plate.type == _PLACES_TYPE and column in (3, 4):  # positions are computed
        return []
    seen = values[np.isfinite(values)]
    if not len(seen) or np.ptp(seen) == 0.0:
        return []
    found: list[tuple[int, int]] = []
    for sense in (1.0, -1.0):
        found += _flat_tops(sense * values, sense * seen, sense * rest, plate.rate_hz)
    return found


def _flat_tops(values: FloatArray, seen: FloatArray, rest: float, rate_hz: float) -> list[tuple[int, int]]:
    """Flat stretches at the largest value that a parabola with the slopes at both ends would have exceeded by far.

    A parabola over the duration D with slopes s and -s at its ends rises by s D / 4 in between.
    """
    top, reach = float(seen.max()), float(np.ptp(seen))
    if top - rest < _AWAY_SHARE * reach:
        return []  # the unloaded level: some software stores it without noise
    found = []
    step = float("nan")
    for first, stop in finite_stretches(values == top):
        length = stop - first
        beside = max(2, round(_SLOPE_S * rate_hz), round(_SLOPE_SHARE * length))
        if length < max(3, _FLAT_S * rate_hz) or first < beside or stop + beside > len(values):
            continue
        if not np.isfinite(step):
            steps = np.diff(np.unique(seen))
            step = float(steps[steps > _ROUNDING * reach].min(initial=reach))
        fall = 0.5 * (2.0 * top - values[first - beside] - values[stop + beside - 1])
        if fall > _FALL_STEPS * step and fall / beside * length / 4.0 > _OVERSHOOT_SHARE * reach:
            found.append((first, stop))
    return found


# From the force alone, a level above this may be somebody or something standing on the plate.
_LARGEST_OFFSET_N = 60.0
_BLOCK_S = 0.05  # the force is called steady over blocks of this length
# Standard deviation within a block of noise: belts are noisier than plates, and noisy plates than both.
_STEADY_N, _NOISIEST_N = 5.0, 20.0
_SHORTEST_UNLOADED_S = 0.25
_SHORTEST_BESIDE_S = 0.1  # enough where the feet are known to be elsewhere: a mean of 100 samples
# The level of a plate with nobody on it hardly moves: 80 % of the block means lie within this around a straight line.
_LEVEL_SPREAD_N = 10.0
# A drift is a straight line through unloaded frames that span half of the recording, or a third where the line is clear
# (amplifiers wander, too, and a line is carried on over the load then). Below this it is not told from noise.
_DRIFT_SPAN, _CLEAR_SPAN, _CLEAR_SHARE = 0.5, 1.0 / 3.0, 0.9
_LEAST_DRIFT_N = 2.0
_DRIFT_ERRORS = 5.0
_WORTH_SAYING_N = 2.0


@dataclass(frozen=True)
class Offset:
    """What to take off a plate's channels.

    Attributes:
        channels: (T, C) in the units of the channels, a straight line over the recording at most.
        zero: the numbers, in the sense in which the file stores the vertical force.
        notes: what was decided on the way.
    """

    channels: FloatArray
    zero: PlateZero
    notes: tuple[Diagnostic, ...] = ()


def find_offset(plate: ForcePlate, up: FloatArray, marker_rate_hz: float, beside: BoolArray | None = None) -> Offset:
    """Find what the unloaded plate reads.

    Args:
        plate: as stored. up: (T,) N, its stored vertical force, in whichever sense the file has it.
        marker_rate_hz: frames per second.
        beside: (frames,) marker frames in which both feet are known and not over the plate; None = feet not known yet.
    """
    notes: tuple[Diagnostic, ...] = ()
    nothing = np.zeros(plate.channels.shape)
    unloaded = np.zeros(len(up), dtype=bool)
    if beside is not None:
        unloaded = _level_beside(up, plate.rate_hz, _at_samples(beside, len(up), plate.rate_hz / marker_rate_hz))
    zero_source: ZeroSource = "feet"
    if not unloaded.any():
        unloaded, zero_source, notes = _from_force_and_file(plate, up, marker_rate_hz)
    finite = np.isfinite(plate.channels)
    unloaded = unloaded & finite[:, finite.any(axis=0)].all(axis=1)  # one missing sample would spoil its channel's mean
    if not unloaded.any():
        return Offset(nothing, PlateZero("unknown"), notes)
    time = np.arange(len(up)) / max(len(up) - 1, 1) - 0.5  # the recording lasts from -1/2 to 1/2
    drifts = zero_source == "feet" and _drifts(up, unloaded, time, plate.rate_hz)
    offset = _line(plate.channels, unloaded, time, drifts)
    if plate.type == 1:
        offset[:, 3:5] = 0.0  # positions have no offset
    line = _line(up[:, None], unloaded, time, drifts)[:, 0]
    zero = PlateZero(
        zero_source,
        offset_n=float(np.mean(line)),
        drift_n=float(line[-1] - line[0]),
        noise_n=float(np.std(up[unloaded] - line[unloaded])),
        unloaded_s=float(np.count_nonzero(unloaded) / plate.rate_hz),
    )
    return Offset(offset, zero, notes)


def offset_notes(number: int, zero: PlateZero, feet_known: bool, largest_n: float) -> tuple[Diagnostic, ...]:
    """Say what was taken off, or that it is not known although the plate (up to `largest_n`, N) seems loaded."""
    if zero.source == "unknown":
        if not feet_known or largest_n < _LARGEST_OFFSET_N:
            return ()
        text = f"Plate {number} is at no time seen unloaded: its offset is not known, and nothing was taken off."
        hint = "Record a moment with nobody on the plate, or zero it before the recording."
        return (Diagnostic("plate-zero-unknown", "warning", text, hint=hint),)
    if abs(zero.offset_n) <= _WORTH_SAYING_N and abs(zero.drift_n) <= _WORTH_SAYING_N:
        return ()
    how = {
        "feet": f"no foot is over it for {zero.unloaded_s:.1f} s",
        "force": "frames found in the force",
        "file": "frames named by FORCE_PLATFORM:ZERO",
        "balance": "from the balance of forces",
    }[zero.source]
    drift = f", drifting by {zero.drift_n:.1f} N over the recording" if zero.drift_n else ""
    return (
        Diagnostic(
            "plate-baseline",
            "info",
            f"Plate {number} reads {zero.offset_n:.1f} N when unloaded{drift}; removed ({how}).",
            value=zero.offset_n,
            unit="N",
        ),
    )


# -- from the feet --------------------------------------------------------------------------------------------------


def _at_samples(frames: BoolArray, count: int, ratio: float) -> BoolArray:
    """The mask of marker frames at the analog samples; a sample between two frames needs both."""
    if not len(frames):
        return np.zeros(count, dtype=bool)
    at = np.arange(count) / ratio
    before = np.minimum(np.floor(at).astype(np.int64), len(frames) - 1)
    after = np.minimum(before + 1, len(frames) - 1)
    return np.asarray(frames[before] & frames[after])


def _level_beside(up: FloatArray, rate_hz: float, beside: BoolArray) -> BoolArray:
    """The samples of blocks with nobody's foot over the plate that lie on one steady level, or one straight line."""
    none = np.zeros(len(up), dtype=bool)
    means, spreads = _blocks(np.where(beside, up, np.nan), rate_hz)
    rows = np.flatnonzero(np.isfinite(means))
    if len(rows) * _BLOCK_S < _SHORTEST_BESIDE_S:
        return none
    level = means[rows]
    off = level - _robust_line(rows.astype(np.float64), level, len(means))
    low, high = np.percentile(off, [10.0, 90.0])
    if high - low > _LEVEL_SPREAD_N:
        return none  # a hand, a stick, somebody without markers
    size = _block_size(rate_hz)
    expected = float(np.median(spreads[rows])) / np.sqrt(size)
    tolerance = max(3.0 * 1.4826 * float(np.median(np.abs(off))), 3.0 * expected, 1e-9)
    return _samples_of(rows[np.abs(off - np.median(off)) <= tolerance], size, len(up))


def _robust_line(x: FloatArray, y: FloatArray, count: int) -> FloatArray:
    """Line through the medians of the first and the last third where they are far apart, else the median of all."""
    if len(x) < 6 or x[-1] - x[0] < _CLEAR_SPAN * count:
        return np.full(len(y), np.median(y))
    third = len(x) // 3
    x0, x1 = np.median(x[:third]), np.median(x[-third:])
    slope = (np.median(y[-third:]) - np.median(y[:third])) / (x1 - x0)
    line: FloatArray = np.median(y - slope * x) + slope * x
    return line


def _line(values: FloatArray, unloaded: BoolArray, time: FloatArray, drifts: bool) -> FloatArray:
    """Mean of the unloaded samples of values (T, C), or the straight line through them; (T, C)."""
    mean = values[unloaded].mean(axis=0)
    if not drifts:
        return np.tile(mean, (len(values), 1))
    centre = time[unloaded].mean()
    lever = time[unloaded] - centre
    slope = lever @ (values[unloaded] - mean) / (lever @ lever)
    line: FloatArray = mean + np.outer(time - centre, slope)
    return line


def _drifts(up: FloatArray, unloaded: BoolArray, time: FloatArray, rate_hz: float) -> bool:
    """Does the unloaded level change over the recording, seen over enough of it and told from noise?"""
    means, _ = _blocks(np.where(unloaded, up, np.nan), rate_hz)
    rows = np.flatnonzero(np.isfinite(means))
    span = (rows[-1] - rows[0]) / len(means) if len(rows) >= 6 else 0.0
    if span < _CLEAR_SPAN:
        return False
    x = time[np.minimum(rows * _block_size(rate_hz), len(time) - 1)]
    (slope, constant) = np.polyfit(x, means[rows], 1)
    left = means[rows] - (constant + slope * x)
    error = float(np.sqrt(np.sum(left**2) / (len(rows) - 2) / np.sum((x - x.mean()) ** 2)))
    clear = span >= _DRIFT_SPAN or float(np.var(left)) <= (1.0 - _CLEAR_SHARE) * float(np.var(means[rows]))
    return bool(clear and abs(slope) > max(_LEAST_DRIFT_N, _DRIFT_ERRORS * error))


# -- from the force and the file ------------------------------------------------------------------------------------


def _from_force_and_file(
    plate: ForcePlate, up: FloatArray, marker_rate_hz: float
) -> tuple[BoolArray, ZeroSource, tuple[Diagnostic, ...]]:
    """Unloaded samples, where they come from, and a note where the frames the file names are loaded."""
    unloaded = _low_level(up, plate.rate_hz)
    named = _named_samples(plate, up, marker_rate_hz)
    if not named.any():
        return unloaded, "force", ()
    level = float(up[named].mean())
    # Loaded: clearly off another unloaded stretch (below it where the file stores the action on the plate); or, where
    # there is none, more than any amplifier's drift, unless it is the floor from which everything else rises: a force
    # far below zero is then no load but an offset (seen: -212 N in c3d.org's sample 10).
    excess = level - (float(up[unloaded].mean()) if unloaded.any() else 0.0)
    limit = _LARGEST_OFFSET_N / 2 if unloaded.any() else _LARGEST_OFFSET_N
    if abs(excess) < limit or (not unloaded.any() and level < 0.0 and _is_floor(up, level, plate.rate_hz)):
        # Both are unloaded: the longer one is the better mean, and a frame or two at the start of a recording is none.
        if np.count_nonzero(unloaded) >= np.count_nonzero(named):
            return unloaded, "force", ()
        return named, "file", ()
    note = Diagnostic(
        "plate-zero-loaded",
        "warning",
        f"Plate {plate.number} carries {excess:.0f} N in the frames FORCE_PLATFORM:ZERO calls unloaded; "
        f"{'another unloaded stretch' if unloaded.any() else 'no offset'} is used instead.",
        value=excess,
        limit=limit,
        unit="N",
    )
    return unloaded, "force", (note,)


def _low_level(up: FloatArray, rate_hz: float) -> BoolArray:
    """The samples where the plate clearly carries nothing, judged by the force alone; all False where there are none.

    Clear means: blocks with hardly any variation, at the level nearest to no force, long enough together.
    """
    none = np.zeros(len(up), dtype=bool)
    means, spreads = _blocks(up, rate_hz)
    known = np.isfinite(spreads)
    if not known.any():
        return none
    quiet = float(np.clip(3.0 * np.percentile(spreads[known], 10.0), _STEADY_N, _NOISIEST_N))
    steady = known & (np.nan_to_num(spreads) < quiet) & (np.abs(np.nan_to_num(means)) < _LARGEST_OFFSET_N)
    if not steady.any():
        return none
    rows = np.flatnonzero(steady & (np.abs(np.nan_to_num(means) - np.median(means[steady])) < _STEADY_N))
    size = _block_size(rate_hz)
    return _samples_of(rows, size, len(up)) if len(rows) * size >= _SHORTEST_UNLOADED_S * rate_hz else none


def _named_samples(plate: ForcePlate, up: FloatArray, marker_rate_hz: float) -> BoolArray:
    """Mask of the finite samples in the frames FORCE_PLATFORM:ZERO names; all False where it names none."""
    mask = np.zeros(len(up), dtype=bool)
    if plate.zero_frames is not None:
        first, last = plate.zero_frames
        ratio = plate.rate_hz / marker_rate_hz
        mask[round(first * ratio) : round((last + 1) * ratio)] = True
    return mask & np.isfinite(up)


def _is_floor(up: FloatArray, level: float, rate_hz: float) -> bool:
    """Is `level` where the force usually rests, rising far above it and hardly ever falling below?"""
    means, spreads = _blocks(up, rate_hz)
    resting = means[spreads < _STEADY_N]
    if not len(resting) or abs(float(np.median(resting)) - level) > 2.0 * _STEADY_N:
        return False
    low, high = np.nanpercentile(up, [0.5, 99.5])  # leave single samples out
    return bool(high - level > 2.0 * _LARGEST_OFFSET_N and level - low < _LARGEST_OFFSET_N / 2)


# -- blocks ---------------------------------------------------------------------------------------------------------


def _block_size(rate_hz: float) -> int:
    return max(2, round(_BLOCK_S * rate_hz))


def _blocks(up: FloatArray, rate_hz: float) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation of the force over blocks of `_BLOCK_S`; NaN in blocks with a missing sample."""
    size = _block_size(rate_hz)
    count = len(up) // size
    blocks = up[: count * size].reshape(count, size)
    return blocks.mean(axis=1), blocks.std(axis=1)


def _samples_of(rows: np.ndarray, size: int, count: int) -> BoolArray:
    """Mask (count,) of the samples of the blocks `rows`."""
    mask = np.zeros(count, dtype=bool)
    mask[(rows[:, None] * size + np.arange(size)).ravel()] = True
    return mask
