"""Positions that no camera saw: straight lines, the last position held, and whole frames repeated, as some software fills gaps.

A measured trajectory is never straight to the last digit, nor does a marker start off at half a metre a second from one frame
to the next out of perfect rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.geometry.points import lengths

# Shorter stretches do no harm; and in so many frames nothing is straight by chance.
_LEAST_S, _LEAST_FRAMES = 0.05, 6
# A line goes farther than this, m: what stands still is as it was, to the last digit.
_LEAST_WAY_M = 0.01
# A trajectory tells lines from itself where rounding is this much less than its usual second difference.
_ROUNDING = 0.1
# A line stays within so many times rounding of the line between its ends.
_BOW = 4.0
# The step out of a held position: more than a foot's that lifts off, m and m/s.
_STEP_M, _STEP_M_S = 0.005, 0.5
# Frames that repeat the one before as a whole: at least so many markers; in more than this share of the frames it is the rate of
# the cameras, or a person who was put there once.
_LEAST_MARKERS, _MOST_REPEATED = 4, 0.4
_SHOWN = 6


def without_drawn(
    labels: Sequence[str], positions: FloatArray, rate_hz: float
) -> tuple[FloatArray, tuple[Diagnostic, ...]]:
    """Return the positions (T, M, 3) m with drawn stretches and repeated frames as not seen, and what was found."""
    positions, notes = _without_repeated(positions, rate_hz)
    least = max(_LEAST_FRAMES, round(_LEAST_S * rate_hz))
    if len(positions) <= least + 2:
        return positions, notes
    drawn = np.zeros(positions.shape[:2], dtype=bool)
    for marker in range(positions.shape[1]):
        path = positions[:, marker]
        drawn[:, marker] = _lines(path, least) | _held(path, least, rate_hz)
    if not drawn.any():
        return positions, notes
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
    return np.where(drawn[..., None], np.nan, positions), (*notes, note)


def _without_repeated(positions: FloatArray, rate_hz: float) -> tuple[FloatArray, tuple[Diagnostic, ...]]:
    """The positions without frames in which every marker that is seen is where it was in the frame before, to the last digit."""
    seen = np.isfinite(positions[..., 0])
    both = seen[1:] & seen[:-1]
    alike = np.where(both, (positions[1:] == positions[:-1]).all(axis=2), seen[1:] == seen[:-1])
    repeated = np.concatenate([[False], alike.all(axis=1) & (both.sum(axis=1) >= _LEAST_MARKERS)])
    count = int(repeated.sum())
    if not count:
        return positions, ()
    share = count / len(positions)
    if share > _MOST_REPEATED:
        moved = np.nanmax(lengths(positions - positions[:1]), initial=0.0)
        return positions, (_slower_cameras(share, rate_hz),) if moved > _LEAST_WAY_M else ()
    note = Diagnostic(
        "frames-repeated",
        "warning",
        f"{count} {'frames repeat' if count > 1 else 'frame repeats'} the one before in every marker, to the last digit: the "
        f"cameras missed {'them' if count > 1 else 'it'}, and the markers count as not seen there.",
        value=float(count),
        limit=0.0,
        frames=(int(np.argmax(repeated)), len(repeated) - 1 - int(np.argmax(repeated[::-1]))),
        hint="Look why the cameras dropped frames; whether forces and markers are still of the same time is another question.",
    )
    return np.where(repeated[:, None, None], np.nan, positions), (note,)


def _slower_cameras(share: float, rate_hz: float) -> Diagnostic:
    return Diagnostic(
        "frames-repeated",
        "warning",
        f"{100 * share:.0f} % of the frames repeat the one before in every marker: the cameras recorded about "
        f"{(1.0 - share) * rate_hz:.3g} frames a second, not {rate_hz:g}. Accelerations, and joint moments with them, are wrong.",
        value=share,
        limit=_MOST_REPEATED,
        hint="Export the trial at the rate of the cameras.",
    )


def _lines(path: FloatArray, least: int) -> BoolArray:
    """Frames (T,) within straight lines of a trajectory (T, 3)."""
    result = np.zeros(len(path), dtype=bool)
    bend = np.linalg.norm(np.diff(path, 2, axis=0), axis=1)
    known = bend[np.isfinite(bend)]
    if not len(known):
        return result
    rounding = 4.0 * float(np.finfo(np.float32).eps) * float(np.nanmax(np.abs(path))) + 2.0 * least_step(path)
    if rounding > _ROUNDING * float(np.median(known)):
        return result
    with np.errstate(invalid="ignore"):
        straight = bend <= rounding
    for first, stop in _runs(straight):
        # centres first to stop - 1 of three frames each: the frames first + 1 to stop lie between measured ends
        way = float(np.linalg.norm(path[stop + 1] - path[first]))
        if stop - first >= least and way > _LEAST_WAY_M and _bow(path[first : stop + 2]) <= _BOW * rounding:
            result[first + 1 : stop + 1] = True
    return result


def _bow(path: FloatArray) -> float:
    """How far a stretch (n, 3) of a trajectory leaves the line between its ends, m.

    At a high rate the second differences of a smooth motion, too, are as small as rounding; over the stretch they add up.
    """
    share = np.linspace(0.0, 1.0, len(path))[:, None]
    return float(np.linalg.norm(path - path[0] - share * (path[-1] - path[0]), axis=1).max())


def least_step(path: FloatArray) -> float:
    """Return the step (m) of the numbers that a file holds of a trajectory (T, 3) m: its smallest difference beyond rounding."""
    largest = np.abs(path[np.isfinite(path)]).max(initial=0.0)
    steps = np.abs(np.diff(path, axis=0))
    steps = steps[np.isfinite(steps) & (steps > 4.0 * np.finfo(np.float32).eps * largest)]
    return float(steps.min(initial=np.inf)) if len(steps) else 0.0


def _held(path: FloatArray, least: int, rate_hz: float) -> BoolArray:
    """Frames (T,) of a trajectory (T, 3) in which one position is held that it starts from, or comes to, all at once."""
    result = np.zeros(len(path), dtype=bool)
    steps = np.linalg.norm(np.diff(path, axis=0), axis=1)
    if np.mean(steps == 0.0) > _MOST_REPEATED:  # it was put there, or stands on the floor: what jumps is the rest
        return result
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
