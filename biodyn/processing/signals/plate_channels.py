"""Damaged channels of a force plate: cut off at the end of their range, constant, without a number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.processing.signals.filtering import finite_stretches
from biodyn.processing.signals.gaps import median_of_five
from biodyn.recording import ForcePlate

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
        "plate-spike",
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
            "plate-unrecorded",
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
