"""Stretches of a trajectory that no camera saw: straight lines, and the last position held, as some software fills gaps.

A measured trajectory is never straight to the last digit, nor does a marker start off at half a metre a second from one frame
to the next out of perfect rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.diagnostics import Diagnostic

# Shorter stretches do no harm; and in so many frames nothing is straight by chance.
_LEAST_S, _LEAST_FRAMES = 0.05, 6
# A line goes farther than this, m: what stands still is as it was, to the last digit.
_LEAST_WAY_M = 0.01
# A trajectory tells lines from itself where rounding is this much less than its usual second difference.
_ROUNDING = 0.1
# The step out of a held position: more than a foot's that lifts off, m and m/s.
_STEP_M, _STEP_M_S = 0.005, 0.5
_SHOWN = 6


def without_drawn(
    labels: Sequence[str], positions: FloatArray, rate_hz: float
) -> tuple[FloatArray, tuple[Diagnostic, ...]]:
    """Return the positions (T, M, 3) m with drawn stretches as not seen, and what was found."""
    least = max(_LEAST_FRAMES, round(_LEAST_S * rate_hz))
    if len(positions) <= least + 2:
        return positions, ()
    drawn = np.zeros(positions.shape[:2], dtype=bool)
    for marker in range(positions.shape[1]):
        path = positions[:, marker]
        drawn[:, marker] = _lines(path, least) | _held(path, least, rate_hz)
    if not drawn.any():
        return positions, ()
    frames = {label: int(count) for label, count in zip(labels, drawn.sum(axis=0), strict=True) if count}
    most = sorted(frames, key=lambda label: -frames[label])
    shown = ", ".join(f"{label} {frames[label] / rate_hz:.2f} s" for label in most[:_SHOWN])
    note = Diagnostic(
        "gap-drawn",
        "info",
        f"Stretches of {len(frames)} {'markers are' if len(frames) > 1 else 'marker is'} straight lines or one position held, "
        f"to the last digit, as software fills gaps: they count as not seen ({shown}"
        f"{' and more' if len(most) > _SHOWN else ''}).",
        value=float(drawn.sum() / rate_hz),
        unit="s",
        hint="Export the trial without filling gaps, or fill them by the segment's other markers.",
    )
    return np.where(drawn[..., None], np.nan, positions), (note,)


def _lines(path: FloatArray, least: int) -> BoolArray:
    """Frames (T,) within straight lines of a trajectory (T, 3)."""
    result = np.zeros(len(path), dtype=bool)
    bend = np.linalg.norm(np.diff(path, 2, axis=0), axis=1)
    known = bend[np.isfinite(bend)]
    if not len(known):
        return result
    rounding = 4.0 * float(np.finfo(np.float32).eps) * float(np.nanmax(np.abs(path))) + 2.0 * _quantum(path)
    if rounding > _ROUNDING * float(np.median(known)):
        return result
    with np.errstate(invalid="ignore"):
        straight = bend <= rounding
    for first, stop in _runs(straight):
        # centres first to stop - 1 of three frames each: the frames first + 1 to stop lie between measured ends
        way = float(np.linalg.norm(path[stop + 1] - path[first]))
        if stop - first >= least and way > _LEAST_WAY_M:
            result[first + 1 : stop + 1] = True
    return result


def _quantum(path: FloatArray) -> float:
    """The step of the numbers that a file holds, m: the smallest difference that is none of rounding."""
    steps = np.abs(np.diff(path, axis=0))
    steps = steps[np.isfinite(steps) & (steps > 4.0 * np.finfo(np.float32).eps * np.nanmax(np.abs(path)))]
    return float(steps.min(initial=np.inf)) if len(steps) else 0.0


def _held(path: FloatArray, least: int, rate_hz: float) -> BoolArray:
    """Frames (T,) of a trajectory (T, 3) in which one position is held that it starts from, or comes to, all at once."""
    result = np.zeros(len(path), dtype=bool)
    steps = np.linalg.norm(np.diff(path, axis=0), axis=1)
    sudden = _STEP_M + _STEP_M_S / rate_hz
    for first, stop in _runs(steps == 0.0):
        if stop - first < least:
            continue
        after = steps[stop] if stop < len(steps) else 0.0
        before = steps[first - 1] if first else 0.0
        if after > sudden:  # frames first to stop are alike: one of them was seen, the last where all begins with them
            result[slice(0, stop) if first == 0 else slice(first + 1, stop + 1)] = True
        elif before > sudden and stop == len(steps):
            result[first + 1 :] = True
    return result


def _runs(flags: BoolArray) -> Iterator[tuple[int, int]]:
    """First and stop of the stretches of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    yield from zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
