"""Differences of curves over the gait cycle: those of the curves in time, and what the events that bound the cycles add.

A curve over 0-100 % is that in time, resampled between two strikes. Let N_a and N_b be the mean over each analysis' own cycles.
What is exchanged first matters: events before all other causes, or after them. The part of each is the mean over both orders
(Owen 1977, 10.1007/978-3-642-45494-3_7, with the events as one union and all other causes as the other):

    cause c:   (N_a + N_b) part_c / 2          events:   (N_b - N_a) (first + other) / 2

Both N are linear, so the parts add up to N_b other - N_a first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from biodyn.comparison.differences import LEAST_FRAMES, Difference, Quantity, difference
from biodyn.comparison.exchange import EVENTS
from biodyn.comparison.facts import Fact
from biodyn.conventions import SIDE_NAMES, SIDES, FloatArray
from biodyn.processing.gait.cycles import normalise

# Events nearer than this are the same: tables hold them to 10 microseconds.
_SAME_S = 1e-4
# Strikes of two analyses farther apart than this are not of the same step.
_SAME_STEP_S = 0.2
_OF_CYCLES: dict[Quantity, Quantity] = {"angle": "cycle angle", "moment": "cycle moment"}


@dataclass(frozen=True)
class Span:
    """A gait cycle of an analysis: its side, and from strike to strike, s."""

    side: str
    start_s: float
    end_s: float


def spans_differ(first: Sequence[Span], other: Sequence[Span]) -> bool:
    """Whether two analyses have different cycles."""
    if len(first) != len(other):
        return True
    pairs = zip(_sorted(first), _sorted(other), strict=True)
    return any(a.side != b.side or max(abs(a.start_s - b.start_s), abs(a.end_s - b.end_s)) > _SAME_S for a, b in pairs)


def cycle_differences(
    found: Iterable[Difference], time_s: FloatArray, rate_hz: float, first: Sequence[Span], other: Sequence[Span]
) -> tuple[Difference, ...]:
    """Return the differences of the mean curves over 0-100 % of the cycle, each analysis by its own cycles, with their causes.

    Parameters:
        found: differences in time at `time_s` (T,) s, frames of `rate_hz` that count from 0 s, gaps allowed.
        first, other: the cycles of the two analyses.

    Empty where both have the same cycles: curves over the cycle then say nothing else than those in time. A joint of the middle
    of the body is shown over the right cycles, over the left ones where there are none.
    """
    if not spans_differ(first, other):
        return ()
    rows = np.round(np.asarray(time_s) * rate_hz).astype(np.int64)
    result = []
    for one in found:
        side = one.side or next((s for s in SIDES if _of(first, s) and _of(other, s)), "")
        spans = _of(first, side), _of(other, side)
        if not all(spans) or one.quantity not in _OF_CYCLES:
            continue
        names = list(one.parts)
        curves = np.column_stack([one.first, one.other, *(one.parts[name] for name in names)])
        whole = np.full((int(rows[-1]) + 1, curves.shape[1]), np.nan)
        whole[rows] = curves
        a, b = (_mean(whole, rate_hz, own) for own in spans)
        known = np.asarray(np.isfinite(a).all(axis=1) & np.isfinite(b).all(axis=1))
        if known.sum() < LEAST_FRAMES:
            continue
        parts = {name: 0.5 * (a[:, 2 + k] + b[:, 2 + k]) for k, name in enumerate(names)}
        parts[EVENTS] = 0.5 * ((b - a)[:, 0] + (b - a)[:, 1])
        ends = a[:, 0], b[:, 1]
        result.append(difference(one.joint, one.side, one.plane, _OF_CYCLES[one.quantity], ends, parts, known))
    return tuple(result)


def event_facts(first: Sequence[Span], other: Sequence[Span]) -> tuple[Fact, ...]:
    """Return how far the strikes that bound the cycles lie apart, side by side, and how many only one analysis has."""
    found = []
    for side in SIDES:
        a, b = (_strikes(_of(spans, side)) for spans in (first, other))
        nearest = [min(b, key=lambda t, at=at: abs(t - at), default=np.inf) for at in a]  # type: ignore[misc]
        late = np.array([t - at for t, at in zip(nearest, a, strict=True) if abs(t - at) < _SAME_STEP_S])
        words = []
        if len(late) and np.abs(late).max() > _SAME_S:
            mean, most = 1e3 * float(late.mean()), 1e3 * float(np.abs(late).max())
            digits = 0 if most >= 1.0 else 1  # a difference is never told as none
            words.append(f"{mean:+.{digits}f} ms in the mean of {len(late)}, {most:.{digits}f} ms at most")
        alone = len(a) - len(late), len(b) - len(late)
        words += [f"{n} only in the {which}" for n, which in zip(alone, ("first", "second"), strict=True) if n > 0]
        if words:
            found.append(Fact(EVENTS, f"{SIDE_NAMES[side]} foot strikes of whole cycles: {', '.join(words)}"))
    return tuple(found)


def _mean(curves: FloatArray, rate_hz: float, spans: Sequence[Span]) -> FloatArray:
    """(101, k) mean over cycles of curves (T, k); every column has its gaps where the others have."""
    each = np.stack([normalise(curves, rate_hz, span.start_s, span.end_s) for span in spans])
    known = np.asarray(np.isfinite(each).all(axis=2))
    count = known.sum(axis=0)
    total = np.where(known[..., None], each, 0.0).sum(axis=0)
    return np.where(count[:, None] > 0, total / np.maximum(count, 1)[:, None], np.nan)


def _of(spans: Sequence[Span], side: str) -> list[Span]:
    return [span for span in spans if span.side == side]


def _strikes(spans: Sequence[Span]) -> list[float]:
    return sorted({round(t, 6) for span in spans for t in (span.start_s, span.end_s)})


def _sorted(spans: Sequence[Span]) -> list[Span]:
    return sorted(spans, key=lambda span: (span.side, span.start_s))
