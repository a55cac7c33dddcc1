"""Labels on the wrong markers: exchanged pairs.

Distances between markers of one segment do not change between static trial and walk, those to the neighbouring segments little.
Two markers are exchanged where the distances of both fit far better the other way round.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.processing.filtering import finite_stretches
from biodyn.trial import Markers

# An exchange must improve the distances of both markers by this much on average, in frame after frame, ...
_LEAST_GAIN_M = 0.02
# ... and leave at most this share of the misfit.
_REMAINING = 0.4
_LEAST_S = 0.05
# Neighbours that count for a marker; more only cost time. Those of its own segment suffice where there are enough.
_NEIGHBOURS = 6
_ENOUGH = 3
_FRAMES_A_SECOND = 50.0


@dataclass(frozen=True)
class Exchange:
    """Markers `one` and `other` carry each other's label in frames first to last (inclusive); gain in m."""

    one: str
    other: str
    first: int
    last: int
    frames: int
    gain_m: float


def exchanged_markers(
    markers: Markers, static: Mapping[str, FloatArray], bodies: Mapping[str, str], parents: Mapping[str, str]
) -> tuple[Diagnostic, ...]:
    """Name exchanged markers. `static`: (3,) m by label; `bodies`: label to segment; `parents`: segment to its parent."""
    return tuple(_note(found, markers.rate_hz) for found in exchanges(markers, static, bodies, parents))


def exchanges(
    markers: Markers, static: Mapping[str, FloatArray], bodies: Mapping[str, str], parents: Mapping[str, str]
) -> list[Exchange]:
    """Find pairs that fit better exchanged, the clearest first; a marker is named once."""
    labels = [label for label in markers.labels if label in static and label in bodies]
    step = max(1, round(markers.rate_hz / _FRAMES_A_SECOND))
    p = markers.positions[::step][:, [markers.labels.index(label) for label in labels]]
    shape = np.stack([static[label] for label in labels]) if labels else np.zeros((0, 3))
    own = np.linalg.norm(shape[:, None] - shape[None], axis=-1)
    distance = np.linalg.norm(p[:, :, None] - p[:, None], axis=-1)
    misfit = np.abs(distance - own)
    near = _neighbours(labels, own, bodies, parents)
    found: list[Exchange] = []
    # A marker whose distances fit takes part in no exchange.
    shortest = max(_LEAST_S * markers.rate_hz / step, 1.0)
    suspects = [
        i
        for i in range(len(labels))
        if near[i] and np.count_nonzero(_mean(misfit[:, i, near[i]]) > _LEAST_GAIN_M / 2) >= shortest
    ]
    for i, j in combinations(suspects, 2):
        others_i = [k for k in near[i] if k != j]
        others_j = [k for k in near[j] if k != i]
        if not others_i or not others_j:
            continue
        as_labelled = _mean(misfit[:, i, others_i]) + _mean(misfit[:, j, others_j])
        exchanged = _mean(np.abs(distance[:, j, others_i] - own[i, others_i])) + _mean(
            np.abs(distance[:, i, others_j] - own[j, others_j])
        )
        gain = 0.5 * (as_labelled - exchanged)
        better: BoolArray = np.asarray((gain > _LEAST_GAIN_M) & (exchanged < _REMAINING * as_labelled))
        count = int(better.sum())
        longest = max((stop - first for first, stop in finite_stretches(better)), default=0)
        if longest * step >= _LEAST_S * markers.rate_hz:
            rows = np.flatnonzero(better) * step
            found.append(
                Exchange(
                    labels[i], labels[j], int(rows[0]), int(rows[-1]), count * step, float(np.median(gain[better]))
                )
            )
    found.sort(key=lambda item: item.frames * item.gain_m, reverse=True)
    named: set[str] = set()
    kept = []
    for item in found:
        if not named & {item.one, item.other}:
            kept.append(item)
            named |= {item.one, item.other}
    return kept


def _neighbours(
    labels: Sequence[str], own: FloatArray, bodies: Mapping[str, str], parents: Mapping[str, str]
) -> list[list[int]]:
    """For each marker the nearest ones (while standing) of its own segment, and of those beside it if they are few."""
    result = []
    for i, label in enumerate(labels):
        mine = bodies[label]
        same = [k for k, other in enumerate(labels) if k != i and bodies[other] == mine]
        beside = [
            k
            for k, other in enumerate(labels)
            if parents.get(mine) == bodies[other] or parents.get(bodies[other]) == mine
        ]
        chosen = sorted(same, key=lambda k: own[i, k])
        if len(same) < _ENOUGH:
            chosen += sorted(beside, key=lambda k: own[i, k])
        result.append(chosen[:_NEIGHBOURS])
    return result


def _mean(values: FloatArray) -> FloatArray:
    """Mean over neighbours of (T, K), NaN where none is seen."""
    seen = np.isfinite(values)
    total: FloatArray = np.where(seen, values, 0.0).sum(axis=1)
    with np.errstate(invalid="ignore"):
        return total / np.where(seen.any(axis=1), seen.sum(axis=1), np.nan)


def _note(found: Exchange, rate_hz: float) -> Diagnostic:
    return Diagnostic(
        "labels-exchanged",
        "warning",
        f"Markers {found.one} and {found.other} seem exchanged in {found.frames} frames ({found.first / rate_hz:.2f} to "
        f"{found.last / rate_hz:.2f} s): the other way round their distances to neighbouring markers are "
        f"{1000 * found.gain_m:.0f} mm nearer to those of the static trial. Nothing was changed.",
        value=found.gain_m,
        limit=_LEAST_GAIN_M,
        unit="m",
        frames=(found.first, found.last),
        hint="Correct the labels of these two trajectories.",
    )
