"""The zero of a force plate: which samples carry nothing, and the channels without their mean there."""

from __future__ import annotations

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.trial.recording import ForcePlate

# A baseline is a drift of amplifiers; a level above this is somebody or something standing on the plate.
_LARGEST_BASELINE_N = 60.0
_BLOCK_S = 0.05  # the force is called steady over blocks of this length
_STEADY_N = 5.0  # standard deviation within a block of noise (belts are noisier than plates)
_SHORTEST_UNLOADED_S = 0.25
_WORTH_SAYING_N = 2.0


def without_baseline(
    plate: ForcePlate, up: FloatArray, marker_rate_hz: float
) -> tuple[FloatArray, tuple[Diagnostic, ...]]:
    """Return the plate's channels (T, C) less their mean over unloaded frames, and what was decided.

    The frames are those the file names (FORCE_PLATFORM:ZERO) if nobody stands there, else ones found in the data.
    `up` (T,) is the stored vertical force in N, in whichever sense the file has it; `marker_rate_hz` in Hz.
    """
    channels = plate.channels
    unloaded = _unloaded_samples(up, plate.rate_hz)
    source = "found"
    notes: list[Diagnostic] = []
    named = _named_samples(plate, up, marker_rate_hz)
    if named.any():
        level = float(up[named].mean())
        # Loaded: clearly off another unloaded stretch (below it where the file stores the action on the plate); or, where
        # there is none, more than any amplifier's drift, unless it is the floor from which everything else rises: a force
        # far below zero is then no load but an offset (seen: -212 N in c3d.org's sample 10).
        excess = level - (float(up[unloaded].mean()) if unloaded.any() else 0.0)
        limit = _LARGEST_BASELINE_N / 2 if unloaded.any() else _LARGEST_BASELINE_N
        if abs(excess) < limit or (not unloaded.any() and level < 0.0 and _is_floor(up, level, plate.rate_hz)):
            unloaded, source = named, "named by FORCE_PLATFORM:ZERO"
        else:
            notes.append(
                Diagnostic(
                    "plate-zero-loaded",
                    "warning",
                    f"Plate {plate.number} carries {excess:.0f} N in the frames FORCE_PLATFORM:ZERO calls unloaded; "
                    f"{'another unloaded stretch' if unloaded.any() else 'no baseline'} is used instead.",
                    value=excess,
                    limit=limit,
                    unit="N",
                )
            )
    if not unloaded.any():
        return channels, tuple(notes)
    baseline = channels[unloaded].mean(axis=0)
    if plate.type == 1:
        baseline[3:5] = 0.0  # positions have no baseline
    level = float(up[unloaded].mean())
    if abs(level) > _WORTH_SAYING_N:
        notes.append(
            Diagnostic(
                "plate-baseline",
                "info",
                f"Plate {plate.number} reads {level:.1f} N when unloaded; removed (frames {source}).",
                value=level,
                unit="N",
            )
        )
    return channels - baseline, tuple(notes)


def _is_floor(up: FloatArray, level: float, rate_hz: float) -> bool:
    """Is `level` where the force usually rests, rising far above it and hardly ever falling below?"""
    means, spreads = _blocks(up, rate_hz)
    resting = means[spreads < _STEADY_N]
    if not len(resting) or abs(float(np.median(resting)) - level) > 2.0 * _STEADY_N:
        return False
    low, high = np.nanpercentile(up, [0.5, 99.5])  # leave single samples out
    return bool(high - level > 2.0 * _LARGEST_BASELINE_N and level - low < _LARGEST_BASELINE_N / 2)


def _blocks(up: FloatArray, rate_hz: float) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation of the force over blocks of `_BLOCK_S`; NaN in blocks with a missing sample."""
    size = max(2, round(_BLOCK_S * rate_hz))
    count = len(up) // size
    blocks = up[: count * size].reshape(count, size)
    return blocks.mean(axis=1), blocks.std(axis=1)


def _named_samples(plate: ForcePlate, up: FloatArray, marker_rate_hz: float) -> BoolArray:
    """Mask of the finite samples in the frames FORCE_PLATFORM:ZERO names; all False where it names none."""
    mask = np.zeros(len(up), dtype=bool)
    if plate.zero_frames is not None:
        first, last = plate.zero_frames
        ratio = plate.rate_hz / marker_rate_hz
        mask[round(first * ratio) : round((last + 1) * ratio)] = True
    return mask & np.isfinite(up)


def _unloaded_samples(up: FloatArray, rate_hz: float) -> BoolArray:
    """Mask of the samples where the plate clearly carries nothing; all False where there is no such stretch.

    Clear means: blocks with hardly any variation, at the level nearest to no force, long enough together.
    """
    mask = np.zeros(len(up), dtype=bool)
    means, spreads = _blocks(up, rate_hz)
    count = len(means)
    if count == 0:
        return mask
    size = max(2, round(_BLOCK_S * rate_hz))
    steady = (spreads < _STEADY_N) & (np.abs(means) < _LARGEST_BASELINE_N)
    if not steady.any():
        return mask
    level = np.median(means[steady])
    flat = steady & (np.abs(means - level) < _STEADY_N)
    if flat.sum() * size < _SHORTEST_UNLOADED_S * rate_hz:
        return mask
    mask[: count * size] = np.repeat(flat, size)
    return mask
