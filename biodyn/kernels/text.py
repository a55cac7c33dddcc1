"""The rows of a table as text: decimals without trailing zeros, and words, between commas."""

from __future__ import annotations

from typing import Final

import numpy as np

from biodyn.kernels.jit import inline, kernel

#: Characters that a number of 15 decimals or fewer takes at most: sign, sixteen digits, the zero before the point, the point.
NUMBER_WIDTH: Final = 19
#: Whole numbers below it are exact in a double.
EXACT: Final = 1e15
_COMMA, _LINE, _MINUS, _POINT = 44, 10, 45, 46
# unsigned: dividing by them takes no look at the sign
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
    """Write size / unit, unit = 10^decimals, from text[at] on; return where it ends."""
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
    """Fill text with the rows of a table, a line each; return how many characters they are.

    numbers (F, N): NaN is an empty cell; below `EXACT` in units of the last decimal. codes (K, N): words by number, an empty cell
    where negative. order (C,): of each column its row of `numbers`, or `-1 - row` of `codes`. words: all words one after the
    other, word i from begins[i] to begins[i + 1]. text must have room.
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
