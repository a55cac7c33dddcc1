"""Rows of a table as text, from columns of numbers and columns of words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from biodyn.kernels import text


@dataclass(frozen=True)
class Numbers:
    """Neighbouring columns of numbers (N, C), NaN where missing."""

    values: np.ndarray


@dataclass(frozen=True)
class Words:
    """A column of words by number (N,), a negative one where there is none."""

    codes: np.ndarray
    words: Sequence[str]


class Rows:
    """The rows of a table whose columns are given from left to right; numbers are written with `decimals` at most.

    A number is a decimal without trailing zeros: the shortest that reads as the same rounded number. What is missing is an
    empty cell.
    """

    def __init__(self, columns: Sequence[Numbers | Words], decimals: int) -> None:
        self._decimals = decimals
        told = [part for column in columns for part in _told(column, decimals)]
        self._numbers = [part.values for part in told if isinstance(part, Numbers)]
        self._words = [part for part in told if isinstance(part, Words)]
        places: list[int] = []  # a number for each column, see `kernels.text`
        numbers, words = 0, 0
        for part in told:
            if isinstance(part, Numbers):
                count = part.values.shape[1]
                places += range(numbers, numbers + count)
                numbers += count
            else:
                words += 1
                places.append(-words)
        self._order = np.array(places, dtype=np.int64)
        encoded = [[word.encode() for word in part.words] for part in self._words]
        every = [word for own in encoded for word in own]
        self._firsts = list(accumulate((len(own) for own in encoded), initial=0))
        self._begins = np.array(list(accumulate(map(len, every), initial=0)), dtype=np.int64)
        self._characters = np.frombuffer(bytearray(b"".join(every)), dtype=np.uint8)
        longest = sum(max(map(len, own), default=0) for own in encoded)
        self._width = numbers * text.NUMBER_WIDTH + longest + len(places)

    def text(self, rows: slice) -> memoryview:
        """Some rows, a line each."""
        count = rows.stop - rows.start
        numbers, at = np.empty((len(self._order) - len(self._words), count)), 0
        for values in self._numbers:
            numbers[at : at + values.shape[1]] = values[rows].T
            at += values.shape[1]
        codes = np.empty((len(self._words), count), dtype=np.int64)
        for own, part, first in zip(codes, self._words, self._firsts[:-1], strict=True):
            own[:] = part.codes[rows]
            own[own >= 0] += first
        room = np.empty(count * self._width, dtype=np.uint8)
        columns = numbers, self._decimals, codes, self._order
        return room[: text.rows(*columns, self._characters, self._begins, room)].data


def _told(column: Numbers | Words, decimals: int) -> list[Numbers | Words]:
    """The column as it can be written: infinite numbers, and those whose last decimals a double does not hold, are words."""
    if isinstance(column, Words):
        return [column]
    most = text.EXACT / 10.0**decimals
    large = np.any((column.values >= most) | (column.values <= -most), axis=0)
    if not large.any():
        return [column]
    return [
        _as_words(values, decimals) if is_large else Numbers(values[:, None])
        for values, is_large in zip(column.values.T, large, strict=True)
    ]


def _as_words(values: np.ndarray, decimals: int) -> Words:
    words = ["" if np.isnan(value) else repr(float(value) + 0.0).removesuffix(".0") for value in values.round(decimals)]
    return Words(np.arange(len(words)), words)
