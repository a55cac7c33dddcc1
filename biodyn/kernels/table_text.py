"""Rows of a comma-separated table as text: decimals without trailing zeros, and words."""

from __future__ import annotations

from typing import Final

import numpy as np

from biodyn.kernels.jit import inline, kernel

#: Largest number of characters of a number with up to 15 decimals: sign, sixteen digits, zero before the point, point.
NUMBER_WIDTH: Final = 19
#: Whole numbers below this limit are exact in double precision.
EXACT: Final = 1e15
_COMMA, _LINE, _MINUS, _POINT = 44, 10, 45, 46
# unsigned, because division then needs no check of the sign
_NONE, _TEN, _ZERO = np.uint64(0), np.uint64(10), np.uint64(48)


@inline
def _write_digits(value, count, text, at):
    """Write the last `count` decimal digits of a whole number into text[at : at + count]."""
    for place in range(at + count - 1, at - 1, -1):
        rest = value // _TEN
        text[place] = _ZERO + value - rest * _TEN
        value = rest


@inline
def _write_number(size, unit, decimals, text, at):
    """Write size / unit with unit = 10^decimals, starting at text[at]; return the index after its last character."""
    whole = size // unit
    part = size - whole * unit
    count, bound = 1, _TEN
    while whole >= bound:
        bound *= _TEN
        count += 1
    _write_digits(whole, count, text, at)
    at += count
    if part == _NONE:
        return at
    text[at] = _POINT
    rest = part // _TEN
    while part == rest * _TEN:
        part, rest = rest, rest // _TEN
        decimals -= 1
    _write_digits(part, decimals, text, at + 1)
    return at + decimals + 1


@kernel
def write_rows(numbers, decimals, codes, order, words, begins, text):
    """Fill text with the rows of a table, one line per row; return the number of characters.

    numbers (F, N): below `EXACT` in units of the last decimal; NaN is an empty cell. codes (K, N): index of a word; a negative
    number is an empty cell. order (C,): for each column its row in `numbers`, or `-1 - row` for a row in `codes`. words: all
    words in succession, word i from begins[i] to begins[i + 1]. text must be long enough.
    """
    scale, at = 10.0**decimals, 0
    unit = np.uint64(scale)
    for t in range(numbers.shape[1]):
        for c in range(order.shape[0]):
            k = order[c]
            if k >= 0:
                x = numbers[k, t]
                if x == x:  # NaN is not equal to itself
                    count = round(x * scale)
                    if count < 0:
                        text[at] = _MINUS
                        at += 1
                    at = _write_number(np.uint64(abs(count)), unit, decimals, text, at)
            elif codes[-1 - k, t] >= 0:
                word = codes[-1 - k, t]
                for i in range(begins[word], begins[word + 1]):
                    text[at] = words[i]
                    at += 1
            text[at] = _COMMA
            at += 1
        text[at - 1] = _LINE
    return at
