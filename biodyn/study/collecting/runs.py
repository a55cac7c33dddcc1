"""Columns of few different values as runs: (how many rows, which value), and as bytes of Parquet.

A curve has 101 rows of one variable, a trial tens of thousands of one subject: what is known by run need not be made row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

_SEVEN_BITS = 0x7F
_BYTES_OF_A_LENGTH = 5  # at most, of 32 bits in sevens


class Runs(NamedTuple):
    """A column as runs: `lengths` (R,) in rows, `codes` (R,) of each."""

    lengths: np.ndarray
    codes: np.ndarray

    def __len__(self) -> int:
        return int(self.lengths.sum())


def runs_of(codes: np.ndarray) -> Runs:
    """The runs of a column (N,) that is there row by row."""
    begins = _begins(codes)
    return Runs(np.diff(begins, append=len(codes)), codes[begins])


def merged(parts: Sequence[Runs]) -> Runs:
    """The runs of several columns one below the other, neighbours of one value as one run."""
    lengths = np.concatenate([part.lengths for part in parts])
    codes = np.concatenate([part.codes for part in parts])
    begins = _begins(codes)
    return Runs(np.add.reduceat(lengths, begins), codes[begins])


def _begins(codes: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.flatnonzero(codes[1:] != codes[:-1]) + 1])


def run_bytes(runs: Runs, bits: int) -> bytes:
    """Runs as Parquet has them ("RLE/bit-packing hybrid" of its encodings, run-length runs only); codes of `bits` bits."""
    head = runs.lengths.astype(np.int64) << 1
    sevens = 1 + np.sum(head[:, None] >> 7 * np.arange(1, _BYTES_OF_A_LENGTH) > 0, axis=1)
    width = (bits + 7) // 8
    ends = np.cumsum(sevens + width)
    begins = ends - sevens - width
    content = np.zeros(int(ends[-1]), dtype=np.uint8)
    for place in range(int(sevens.max())):
        there = sevens > place
        more = np.where(sevens[there] > place + 1, 0x80, 0)
        content[begins[there] + place] = (head[there] >> (7 * place) & _SEVEN_BITS) | more
    for place in range(width):
        content[begins + sevens + place] = runs.codes >> (8 * place) & 0xFF
    return content.tobytes()


def bits_of(words: int) -> int:
    """Bits that the code of one of so many words takes."""
    return max(1, (words - 1).bit_length())
