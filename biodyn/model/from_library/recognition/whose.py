"""In which of two recordings two labels are exchanged, static trial or walk: the one in which they do not fit the body.

A label that marks a place of the person is judged by the person's shape; one that does not (a cluster, a second wand) by the
segment that it belongs to: its marker is near those that mark places there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.model.from_library.recognition.between import TimedExchange
from biodyn.model.from_library.recognition.exchanged import exchange_gain
from biodyn.recording import Markers

#: "either": both are on one segment, and whichever is exchanged back, the same comes out. "": it cannot be told.
Whose = Literal["walk", "static trial", "either", ""]

_FRAMES_OF_PAIR = 7  # of a walk that are asked about one pair
_LEAST_DIFFERENCE = 10.0  # of squared distances, between the two files' gains: which of them is wrong
_LEAST_NEARER_M = 0.05  # the same of the sum of both markers' distances from their segments
_ALWAYS = 0.9  # of the frames in which it can be told: nothing speaks for the labels in the others


def whose_exchange(
    found: TimedExchange,
    standing: Mapping[str, FloatArray],
    walk: Markers,
    places: Mapping[str, str],
    bodies: Mapping[str, str],
) -> Whose:
    """Return whose an exchange between static trial and walk is.

    Parameters: `standing` (3,) m by label in the static trial; `places`: place of the labels that mark one; `bodies`: segment by
    label.

    Where the walk shows both orders, it is the walk's. Else the body must tell: in the middle one of some frames of the walk,
    since where feet pass each other either order makes a person. Two labels with places that fit the static trial worse were
    judged before: that is no news of the walk.
    """
    pair = found.one, found.other
    if found.as_labelled > (1.0 - _ALWAYS) * found.told:
        return "walk"
    placed = set(pair) & set(places)
    if not placed and bodies[found.one] == bodies[found.other]:
        return "either"
    frames = [*frames_of(walk, places, pair, _FRAMES_OF_PAIR)]
    if placed:
        gain, gains = exchange_gain(standing, places, *pair), [exchange_gain(one, places, *pair) for one in frames]
        least = _LEAST_DIFFERENCE
    else:
        gain = _nearer_m(standing, places, bodies, *pair)
        gains = [_nearer_m(one, places, bodies, *pair) for one in frames]
        least = _LEAST_NEARER_M
    more = _difference(gain, [value for value in gains if np.isfinite(value)], alone=not placed)
    if more > least:
        return "walk"
    return "static trial" if more < -least and len(placed) < len(pair) else ""


def _difference(standing: float, walking: Sequence[float], alone: bool) -> float:
    """Gain of an exchange in the walk less that in the static trial; 0 where nothing tells it.

    `alone`: one of them may tell it by itself, for in one of both the labels are exchanged.
    """
    if walking and np.isfinite(standing):
        return float(np.median(walking)) - standing
    if not alone:
        return 0.0
    return float(np.median(walking)) if walking else -standing if np.isfinite(standing) else 0.0


def _nearer_m(
    points: Mapping[str, FloatArray], places: Mapping[str, str], bodies: Mapping[str, str], one: str, other: str
) -> float:
    """By how much both markers are nearer to their own segments exchanged, m; NaN where one has no marker with a place."""

    def apart(label: str, at: str) -> float:
        own = [points[near] for near in places if near in points and bodies.get(near) == bodies[label]]
        far = [float(np.linalg.norm(points[at] - point)) for point in own]
        return min((value for value in far if np.isfinite(value)), default=float("nan"))

    if not {one, other} <= set(points):
        return float("nan")
    return apart(one, one) + apart(other, other) - apart(one, other) - apart(other, one)


def frames_of(
    walk: Markers, places: Mapping[str, str], needed: Sequence[str], count: int
) -> Iterator[dict[str, FloatArray]]:
    """Points by label of some frames that show the `needed` ones and as many others with a place as any."""
    columns = [i for i, label in enumerate(walk.labels) if label in places]
    whole = np.isfinite(walk.positions[:, [walk.index(label) for label in needed], 0]).all(axis=1)
    seen = np.where(whole, np.isfinite(walk.positions[:, columns, 0]).sum(axis=1), 0)
    if not columns or not seen.any():
        return
    rows = np.flatnonzero(seen == seen.max())
    chosen = rows[np.linspace(0, len(rows) - 1, count + 2).round().astype(int)[1:-1]]
    for row in dict.fromkeys(int(row) for row in chosen):
        yield {walk.labels[i]: walk.positions[row, i] for i in dict.fromkeys((*columns, *map(walk.index, needed)))}
