"""Elimination from both ends: the first frames in their order, the last ones backwards, and those between both at the end.

Frames farther apart than `reach` know nothing of each other, so what is eliminated from one end meets what is eliminated from the
other in `reach` frames between them only (the "burn at both ends" of twisted factorisations, van der Vorst 1987). Both halves
are the same work, and two processors do one each; what comes out is the same to the last bit with one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from biodyn.conventions import FloatArray, IntArray
from biodyn.estimation.memory import Memory
from biodyn.kernels import panels as kernels
from biodyn.kernels.lanes import WIDTH

#: Frames whose columns are worked on at once: some hundred kilobytes, which the processor keeps near.
FRAMES_AT_ONCE = 8

#: Adds what a term says of the columns of the frames begin .. end - 1, counted as a half counts them.
Sum = Callable[[int, int], None]


class Term(Protocol):
    """A part of the equations."""

    def on(self, half: Half) -> Sum:
        """Return what adds it to the panels of a half."""


@dataclass(frozen=True)
class Half:
    """One of the two: F frames, of which the first `own` are eliminated in it and the others lie between both.

    Attributes:
        panels: (F, n, (reach + 1) n + WIDTH) of `kernels.panels`. frames: T of both halves together.
        backwards: its frames are T - 1, T - 2, ...; else 0, 1, ...
    """

    panels: FloatArray
    own: int
    frames: int
    backwards: bool

    @property
    def shape(self) -> tuple[int, int, int]:
        """n, reach and stride as the kernels take them."""
        _, n, stride = self.panels.shape
        return n, (stride - WIDTH) // n - 1, stride

    @property
    def places(self) -> tuple[int, int]:
        """The first frame, and the step to the next one."""
        return (self.frames - 1, -1) if self.backwards else (0, 1)

    def seen(self, first: int, width: int, count: int) -> tuple[int, int, int, int]:
        """Of `count` parts of a term, the t-th on the frames first + t .. first + t + width - 1, those that reach the half.

        Returns where, in this half, the first of them begins, how many they are, which it is, and the step to the next one.
        """
        if not self.backwards:
            return first, max(min(count, len(self.panels) - first), 0), 0, 1
        begin = max(self.frames - self.own - first - width + 1, 0)
        return self.frames - first - width - count + 1, max(count - begin, 0), count - 1, -1

    def eliminate(self, terms: Sequence[Term], diagonals: FloatArray) -> bool:
        """Sum the equations and put their factor into the own panels; return whether it exists.

        diagonals: (T, reach + 1, n) of `Normal`. The panels between both halves hold the equations themselves where this is the
        first half, and in the other what it takes off them.
        """
        adds = [term.on(self) for term in terms]
        summed = self.own if self.backwards else len(self.panels)
        self.panels[summed:] = 0.0
        for begin in range(0, summed, FRAMES_AT_ONCE):
            end = min(begin + FRAMES_AT_ONCE, summed)
            self._begin_sum(begin, end, diagonals)
            for add in adds:
                add(begin, end)
            if not self._factorised(begin, min(end, self.own), self.own):
                return False
        return not self.backwards or self._factorised(self.own, len(self.panels), self.own)

    def _begin_sum(self, begin: int, end: int, diagonals: FloatArray) -> None:
        here = self.panels[begin:end]
        here[:] = 0.0
        frame, column, row = here.strides
        _, blocks, n = diagonals.shape
        on_diagonals = np.lib.stride_tricks.as_strided(
            here, (len(here), blocks, n), (frame, n * row, column + row), writeable=True
        )
        if not self.backwards:
            on_diagonals[:] = diagonals[begin:end]
            return
        for ahead in range(blocks):  # of the frames k and k + ahead, which come the other way round
            last = self.frames - 1 - ahead - begin
            low = max(last - (end - begin) + 1, 0)
            on_diagonals[: last - low + 1, ahead] = diagonals[low : last + 1, ahead][::-1]

    def _factorised(self, begin: int, end: int, eliminated: int) -> bool:
        return begin >= end or bool(kernels.factorise(self.panels.ravel(), *self.shape, begin, end, eliminated))

    def eliminate_between(self, other: Half) -> bool:
        """Take off the frames between both halves what the other one found, and factor what is left; in the first half."""
        n, own, between = self.shape[0], self.panels[self.own :], other.panels[other.own :][::-1]
        for j in range(len(between)):
            own[j, :, :n] += between[j, :, :n]
            for ahead in range(1, j + 1):
                block = slice(ahead * n, (ahead + 1) * n)
                own[j - ahead, :, block] += between[j, :, block].T
        return self._factorised(self.own, len(self.panels), len(self.panels))

    def forward(self, right: FloatArray, used: IntArray, between: bool) -> None:
        """Solve forward for right (T, n, P) in the own frames, or between both halves; used: (F, 2) of `kernels.forward`.

        In the second half what it takes off the frames between both is taken off, and that is all.
        """
        own, count = self.own, len(self.panels)
        begin, end, eliminated = (own, count, own if self.backwards else count) if between else (0, own, own)
        flat, width = right.reshape(-1), right.shape[2]
        kernels.forward(self.panels.ravel(), *self.shape, flat, width, *self.places, used, begin, end, eliminated)

    def backward(self, right: FloatArray, between: bool) -> None:
        """Solve backward for right (T, n, P) in the own frames, or between both halves, which the first one does."""
        begin, end, width = *((self.own, len(self.panels)) if between else (0, self.own)), right.shape[2]
        in_order = right[:: self.places[1]][: len(self.panels)]
        found = np.ascontiguousarray(in_order)
        kernels.backward(self.panels.ravel(), *self.shape, found.reshape(-1), width, begin, end)
        if self.backwards:
            in_order[begin:end] = found[begin:end]


def halves_of(panels: FloatArray, frames: int) -> tuple[Half, Half]:
    """Return the two halves of T frames in the memory of `panels_of`."""
    _, n, stride = panels.shape
    between = min((stride - WIDTH) // n - 1, frames)
    first = (frames - between) // 2
    return (
        Half(panels[: first + between], first, frames, backwards=False),
        Half(panels[first + between :], frames - between - first, frames, backwards=True),
    )


def panels_of(frames: int, reach: int, n: int, memory: Memory | None = None) -> FloatArray:
    """Return the panels of both halves, in a `memory` or in their own; they hold nothing yet."""
    return (memory or Memory()).array((frames + min(reach, frames), n, (reach + 1) * n + WIDTH))
