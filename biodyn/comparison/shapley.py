"""Shares of a difference that do not depend on the order in which its causes are exchanged.

What a cause changes depends on which others were exchanged before it. Its part here is the mean of that change over all orders
(Shapley 1953, doi 10.1515/9781400881970-018): parts add up to the whole difference exactly, a cause that changes nothing gets
nothing, and two that do the same get the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from math import comb

import numpy as np

from biodyn.conventions import FloatArray


def parts_of_difference(
    causes: Sequence[str], value: Callable[[frozenset[str]], FloatArray]
) -> tuple[dict[str, FloatArray], FloatArray, FloatArray]:
    """Return each cause's part of value(all) - value(none), and both ends.

    Parameters:
        causes: n names; `value` is called 2^n times.
        value: the result, of one shape, with the named causes exchanged.
    """
    n = len(causes)
    none, both = value(frozenset()), value(frozenset(causes))
    parts = {cause: np.zeros_like(none) for cause in causes}
    for size in range(n + 1):
        for names in combinations(causes, size):
            held = frozenset(names)
            found = none if size == 0 else both if size == n else value(held)
            for cause in causes:
                if cause in held:
                    parts[cause] += found / (n * comb(n - 1, size - 1))
                else:
                    parts[cause] -= found / (n * comb(n - 1, size))
    return parts, none, both


def shares(parts: dict[str, FloatArray], whole: FloatArray) -> dict[str, float]:
    """Return how much of the mean square of `whole` each part makes: its projection on it; NaN frames do not count.

    Shares add up to 1 where the parts add up to the whole. One below zero makes the difference smaller than it would be.
    """
    known = np.isfinite(whole)
    square = float(np.sum(whole[known] ** 2))
    if square <= 0.0:
        return dict.fromkeys(parts, float("nan"))
    return {name: float(np.sum(part[known] * whole[known])) / square for name, part in parts.items()}
