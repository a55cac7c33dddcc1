"""How a steadied coordinate answers to errors: partly as the curve through the frames around it does.

With the pull B towards the curve (`steadied`) and the answer A of the curve, H dxi = J^T W n in a frame becomes
(H + B) dxi = J^T W n + B A n. Between the last frame before the steadied ones and the first behind, A changes evenly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from biodyn.conventions import FloatArray, IntArray
from biodyn.uncertainty.error_sources import Columns, Frames, Source
from biodyn.uncertainty.fit_response import FitResponse, fit_response
from biodyn.uncertainty.steadied import Stretch


@dataclass(frozen=True)
class Towards:
    """Where errors move the curves of some stretches to.

    Attributes:
        by_markers: (S, 2, 3, M) answer of each stretch's coordinate to the markers, before and behind it; rad/m.
        by_columns: by source, (S, 2, N) to each of its parameters.
    """

    stretches: tuple[Stretch, ...]
    by_markers: FloatArray
    by_columns: Mapping[str, FloatArray]

    @classmethod
    def of(
        cls,
        stretches: tuple[Stretch, ...],
        answers: Callable[[IntArray], tuple[FloatArray, Mapping[str, FloatArray]]],
    ) -> Towards:
        """Return those of some stretches.

        answers: of the fit in frames (K,) to the markers (K, nv, 3, M), and by source to its parameters (K, nv, N).
        """
        if not stretches:
            return cls((), np.zeros(0), {})
        asked, places = np.unique([one.sides for one in stretches], return_inverse=True)
        at = places.reshape(len(stretches), 2)
        by_markers, by_columns = answers(asked)
        rows = np.array([[one.place] for one in stretches])
        return cls(stretches, by_markers[at, rows], {name: part[at, rows] for name, part in by_columns.items()})

    def add_markers(self, at: IntArray, pulled: FloatArray) -> None:
        """Add what the curves pull with in the frames `at` (T,), for a step of the markers, to `pulled` (T, nv, 3, M)."""
        for number, one in self._within(at):
            rows, pull = _between(one, at, self.by_markers[number])
            pulled[rows, one.place] += pull

    def of_source(self, name: str, source: Source, frames: Frames) -> Columns:
        """Return what a source does in some frames; what the curves pull with for it is taken off the gradient of the fit."""
        found = source(frames)
        for number, one in self._within(frames.at) if found.gradient.shape[2] else ():
            rows, pull = _between(one, frames.at, self.by_columns[name][number])
            found.gradient[rows, one.place] -= pull
        return found

    def _within(self, at: IntArray) -> list[tuple[int, Stretch]]:
        """The stretches with frames from the first to the last of `at`, which ascends, and their numbers."""
        return [(k, one) for k, one in enumerate(self.stretches) if one.first <= at[-1] and at[0] < one.stop]


def _between(one: Stretch, at: IntArray, values: FloatArray) -> tuple[IntArray, FloatArray]:
    """Rows of the frames `at` (T,) in the stretch, and what it pulls with there for the values (2, ...) on both sides of it."""
    rows = np.flatnonzero((at >= one.first) & (at < one.stop))
    before, behind = one.sides
    share = (at[rows] - before) / (behind - before)
    parts = np.stack([1.0 - share, share], axis=1) * one.pull[at[rows] - one.first, None]
    return rows, np.tensordot(parts, values, axes=1)


def fit_of(frames: Frames, some: slice = slice(None), towards: Towards | None = None) -> FitResponse:
    """Return how the fit answers to its markers in some of the frames."""
    add = None if towards is None else partial(towards.add_markers, frames.at[some])
    q, seen_at, weights, held = frames.q[some], frames.seen_at[some], frames.weights[some], frames.held[some]
    return fit_response(frames.inputs.model, q, seen_at, weights, held, frames.inputs.curved, add)
