"""Trajectories that were stored in pieces: one label twice, LASI and LASI_2, or a named marker and a point that nobody named.

Pieces are joined where they are never seen together (but in one place), meet across a short break as the marker moves, and
keep the same distances to the markers that they move with. What does not fit stays apart.

All limits are shares of the person's size, so that any unit of length will do: of 1.7 m, 0.01 is 17 mm. They were chosen on
13 recorded walks. `benchmarks/pieces.py` counts: 94 % of unnamed pieces are joined and none to another marker, 4 % where
the point lies 2 cm beside the marker; two markers under one label are taken for one in 14 of 1150 cases.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.geometry.points import all_finite

#: What a point is that was joined to another.
PIECE = "piece"
# A label with a number that another program put behind it: LASI_2, LASI-2, LASI #2, LASI(2).
_NUMBERED = re.compile(r"(?P<base>\w*[A-Za-z]\w*?)[ _.\-]?(?:[_.\- #]\d{1,2}|\(\d{1,2}\))")
_LEAST_FRAMES = 5
# Markers whose distances are held against each other, and by how much these may differ beyond what they vary.
_MATES, _LEAST_MATES, _APART = 4, 3, 0.004
# Breaks that are short enough to see whether the marker goes on; where both are seen, they are in one place.
_SHORT, _MISSED, _TOGETHER = 10, 0.008, 0.003
_USUAL_BEND = 95.0  # percentile of a trajectory's second differences
_SHOWN = 6


@dataclass(frozen=True)
class Pieces:
    """Which points are pieces of which: `joined` pairs of columns, the trajectory and its piece; `notes` say so."""

    joined: tuple[tuple[int, int], ...] = ()
    notes: tuple[Diagnostic, ...] = ()


def pieces_of(
    labels: Sequence[str], kinds: Sequence[str], points: FloatArray, is_unnamed: Callable[[str], bool]
) -> Pieces:
    """Return which of the points (T, N, 3), NaN where not seen, are pieces of one trajectory; `kinds` as `point_roles` has."""
    markers = [i for i, kind in enumerate(kinds) if kind == "marker"]
    unnamed = [i for i, label in enumerate(labels) if kinds[i] == "dropped" and label and is_unnamed(label)]
    pairs = list(_named_alike(labels, markers))
    if not markers or not (pairs or unnamed) or len(points) < 2 * _LEAST_FRAMES:
        return Pieces()
    paths = _Paths(points.copy(), markers)
    joined = []
    for whole, piece in pairs:
        if paths.fit(whole, piece, near=False):
            paths.join(whole, piece)
            joined.append((whole, piece))
    wholes = [i for i in markers if i not in {piece for _, piece in joined}]
    while found := _of_unnamed(paths, wholes, unnamed):  # each may bring the next one near
        for piece, whole in found.items():
            paths.join(whole, piece)
            joined.append((whole, piece))
        unnamed = [i for i in unnamed if i not in found]
    return Pieces(tuple(joined), _notes(labels, joined))


def _named_alike(labels: Sequence[str], markers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Pairs of markers with one label, or with a label and that label numbered, the first in the file before the others."""
    first: dict[str, int] = {}
    for i in markers:
        if labels[i] in first:
            yield first[labels[i]], i
        first.setdefault(labels[i], i)
    for i in markers:
        numbered = _NUMBERED.fullmatch(labels[i])
        whole = first.get(numbered["base"]) if numbered else None
        if whole is not None:
            yield whole, i


def _of_unnamed(paths: _Paths, markers: Sequence[int], unnamed: Sequence[int]) -> dict[int, int]:
    """The marker that each unnamed piece continues, where it continues one only and no other piece does at that time."""
    broken = [i for i in markers if paths.is_broken(i)]
    fitting = {piece: [whole for whole in broken if paths.fit(whole, piece, near=True)] for piece in unnamed}
    single = {piece: wholes[0] for piece, wholes in fitting.items() if len(wholes) == 1}
    return {
        piece: whole
        for piece, whole in single.items()
        if not any(
            other != piece and of == whole and (paths.seen[:, piece] & paths.seen[:, other]).any()
            for other, of in single.items()
        )
    }


class _Paths:
    """Trajectories of all points, and what is known of each; those that are joined count as one from then on."""

    def __init__(self, points: FloatArray, markers: Sequence[int]) -> None:
        self.points, self.markers = points, list(markers)
        self.seen = all_finite(points)
        self.size = _size(points[:, self.markers])

    def is_broken(self, i: int) -> bool:
        return _LEAST_FRAMES <= int(self.seen[:, i].sum()) < len(self.seen)

    def join(self, whole: int, piece: int) -> None:
        """From now on the piece belongs to the trajectory."""
        self.points[:, whole] = np.where(self.seen[:, [whole]], self.points[:, whole], self.points[:, piece])
        self.seen[:, whole] |= self.seen[:, piece]
        self.markers = [i for i in self.markers if i != piece]

    def fit(self, whole: int, piece: int, near: bool) -> bool:
        """Whether both are one marker; `near`: only where a break between them is short enough to be seen across."""
        one, other = self.seen[:, whole], self.seen[:, piece]
        if not self.size > 0.0 or min(one.sum(), other.sum()) < _LEAST_FRAMES:
            return False
        both = one & other
        if both.any():
            apart = np.linalg.norm(self.points[both, whole] - self.points[both, piece], axis=1)
            if float(apart.max()) > _TOGETHER * self.size:
                return False
        order = {True: (whole, piece), False: (piece, whole)}
        meets = [self._meet(*order[first], at, then) for first, at, then in _breaks(one, other)]
        if not all(meets) or (near and not meets):
            return False
        alike = self._keep_distances(whole, piece)
        return bool(meets) and not near if alike is None else alike

    def _meet(self, before: int, after: int, at: int, then: int) -> bool:
        """Whether the marker goes on from the piece `before` up to frame `at` to the piece `after` from frame `then` on."""
        here, there = self._end(before, at, -1), self._end(after, then, 1)
        if here is None or there is None:
            return True  # too short a stretch to tell where it goes
        half = 0.5 * (then - at)
        missed = np.linalg.norm((here[0] + half * here[1]) - (there[0] - half * there[1]))
        bend = max(self._bend(before), self._bend(after))
        return bool(missed <= _MISSED * self.size + bend * half**2)

    def _end(self, i: int, at: int, back: int) -> tuple[FloatArray, FloatArray] | None:
        """Place and step a frame at the end `at` of a stretch, from two frames behind it."""
        inner = at + 2 * back
        if not 0 <= inner < len(self.seen) or not self.seen[[inner, at + back], i].all():
            return None
        return self.points[at, i], (self.points[at, i] - self.points[inner, i]) * (-0.5 * back)

    def _bend(self, i: int) -> float:
        """Usual length of a trajectory's second difference."""
        bend = np.linalg.norm(np.diff(self.points[:, i], 2, axis=0), axis=1)
        bend = bend[np.isfinite(bend)]
        return float(np.percentile(bend, _USUAL_BEND)) if bend.size else 0.0

    def _keep_distances(self, whole: int, piece: int) -> bool | None:
        """Whether both are as far from the markers that they move with; None where there are too few of these."""
        mates = [i for i in self.markers if i not in (whole, piece)]
        known, means, spreads = [], [], []
        for i in (whole, piece):
            away = np.linalg.norm(self.points[:, mates] - self.points[:, [i]], axis=2)
            there = np.isfinite(away)
            count = np.maximum(there.sum(axis=0), 1)
            mean = np.where(there, away, 0.0).sum(axis=0) / count
            spreads.append(np.sqrt(np.where(there, (away - mean) ** 2, 0.0).sum(axis=0) / count))
            known.append(there.sum(axis=0) >= _LEAST_FRAMES)
            means.append(mean)
        usable = known[0] & known[1]
        if usable.sum() < _LEAST_MATES:
            return None
        spread = np.where(usable, np.maximum(*spreads), np.inf)
        nearest = np.argsort(spread, kind="stable")[: min(_MATES, int(usable.sum()))]
        differ = np.abs(means[0] - means[1])[nearest]
        return bool((differ <= _APART * self.size + spread[nearest]).all())


def _breaks(one: BoolArray, other: BoolArray) -> Iterator[tuple[bool, int, int]]:
    """Breaks of at most `_SHORT` frames between the two: whether `one` comes first, its last frame, the first frame then."""
    frames = np.flatnonzero(one ^ other)
    both = np.concatenate([[0], np.cumsum(one & other)])
    at, then = frames[:-1], frames[1:]
    short = (one[at] != one[then]) & (then - at <= _SHORT) & (both[then] == both[at])
    for k in np.flatnonzero(short).tolist():
        yield bool(one[at[k]]), int(at[k]), int(then[k])


def _size(points: FloatArray) -> float:
    """The usual diagonal of the box around all markers (T, M, 3), file units; NaN where none are seen."""
    seen = all_finite(points)
    known = points[seen.any(axis=1)]
    if not len(known):
        return float("nan")
    high = np.where(np.isnan(known), -np.inf, known).max(axis=1)
    low = np.where(np.isnan(known), np.inf, known).min(axis=1)
    return float(np.median(np.linalg.norm(high - low, axis=1)))


def _told(label: str, found: Sequence[str]) -> str:
    """How the pieces beside the first are called."""
    others = [name for name in found if name != label]
    return f"with {', '.join(others)}" if others else f"{len(found) + 1} points of that label"


def _notes(labels: Sequence[str], joined: Sequence[tuple[int, int]]) -> tuple[Diagnostic, ...]:
    if not joined:
        return ()
    of: dict[int, list[str]] = {}
    for whole, piece in joined:
        of.setdefault(whole, []).append(labels[piece])
    told = [f"{labels[whole]} ({_told(labels[whole], found)})" for whole, found in of.items()]
    shown = "; ".join(told[:_SHOWN]) + (f"; and {len(told) - _SHOWN} more" if len(told) > _SHOWN else "")
    many = "1 trajectory" if len(of) == 1 else f"{len(of)} trajectories"
    text = f"The file holds {many} in pieces that continue each other; they are joined"
    hint = "Join and label the trajectories in the capture software if these are different markers."
    return (Diagnostic("trajectory-joined", "info", f"{text}: {shown}.", value=float(len(joined)), hint=hint),)
