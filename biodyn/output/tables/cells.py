"""Cells of a table as bytes, many at once: a row is a matrix of characters with a mask of those that are written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

_SIGN, _ZERO, _POINT = ord("-"), ord("0"), ord(".")
#: Decimal digits that every double holds; a number with more is written by Python, one by one.
_EXACT = 1e15


@dataclass(frozen=True)
class Cells:
    """Characters (N rows, W) of one or several columns, and which of them are written."""

    characters: np.ndarray
    written: np.ndarray

    def text(self) -> bytes:
        """All rows, one after the other."""
        return self.characters[self.written].tobytes()


def joined(parts: Sequence[Cells]) -> Cells:
    """The cells of several columns as one."""
    return Cells(np.hstack([part.characters for part in parts]), np.hstack([part.written for part in parts]))


def constant(character: str, rows: int) -> Cells:
    """A character in every row."""
    return Cells(np.full((rows, 1), ord(character), dtype=np.uint8), np.ones((rows, 1), dtype=bool))


def number_cells(values: np.ndarray, decimals: int, separator: str = ",") -> Cells:
    """Numbers (N, C) as decimals without trailing zeros, with a separator between the columns; NaN is an empty cell.

    The text is the shortest that reads as the same rounded number.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        scaled = np.rint(values * 10.0**decimals)
    known = ~np.isnan(scaled)
    if not (np.abs(scaled, where=known, out=np.zeros_like(scaled)) < _EXACT).all():
        return _one_by_one(values, decimals, separator)
    count = np.where(known, scaled, 0.0).astype(np.int64)
    rows, columns = count.shape
    left = np.abs(count)
    most = int(left.max(initial=0))
    digits = max(len(str(most)), decimals + 1)
    left = left.astype(np.uint32 if most <= np.iinfo(np.uint32).max else np.uint64)  # half the work, as a rule
    # sign, digits before the point, point, digits behind it, separator
    width = digits + 3
    characters = np.empty((rows, columns, width), dtype=np.uint8)
    written = np.zeros((rows, columns, width), dtype=bool)
    characters[..., 0], written[..., 0] = _SIGN, count < 0
    behind = np.zeros(count.shape, dtype=bool)  # whether a digit other than zero stands in this place or after it
    point = digits - decimals + 1
    for place in range(digits):
        rest = left // 10
        digit = (left - 10 * rest).astype(np.uint8)
        at = digits - place + (place < decimals)
        characters[..., at] = digit + _ZERO
        if place < decimals:
            behind |= digit > 0
            written[..., at] = behind
        else:
            written[..., at] = known if place == decimals else known & (left > 0)
        left = rest
    characters[..., point], written[..., point] = _POINT, behind
    characters[..., -1] = ord(separator)
    written[..., -1] = True
    written[:, -1, -1] = False
    return Cells(characters.reshape(rows, -1), written.reshape(rows, -1))


def _one_by_one(values: np.ndarray, decimals: int, separator: str) -> Cells:
    """Infinite numbers, and those whose last decimals a double does not hold."""
    lines = [
        separator.join("" if np.isnan(value) else repr(float(value) + 0.0).removesuffix(".0") for value in row)
        for row in np.round(values, decimals)
    ]
    return word_cells(np.arange(len(lines)), lines)


def word_cells(codes: np.ndarray, words: Sequence[str]) -> Cells:
    """The words of codes (N,); a negative code is an empty cell."""
    encoded = [word.encode() for word in words]
    lengths = np.array([*(len(word) for word in encoded), 0], dtype=np.int64)
    width = int(lengths.max())
    joined = b"".join(word.ljust(width, b"\0") for word in [*encoded, b""])
    table = np.frombuffer(joined, dtype=np.uint8).reshape(len(lengths), width)
    written = np.arange(width) < lengths[:, None]
    return Cells(table.take(codes, axis=0), written.take(codes, axis=0))
