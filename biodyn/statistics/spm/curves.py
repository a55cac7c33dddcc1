"""Curves as the tests want them: (J, Q) arrays, and which of their nodes can be tested at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from biodyn.conventions import BoolArray, FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import StatisticsError

Invalid = Literal["mask", "error"]

_LEAST_NODES = 3


def checked_curves(curves: ArrayLike, name: str = "curves") -> FloatArray:
    """Return curves as float (J, Q): J curves of Q equidistant nodes; NaN is allowed, infinity is not.

    Raises:
        StatisticsError: not two axes, too few nodes, an infinite value, or a curve without a single value.
    """
    array = np.asarray(curves, dtype=float)
    if array.ndim != 2 or array.shape[0] < 1 or array.shape[1] < _LEAST_NODES:
        raise StatisticsError(
            f"{name}: expected an array (curves, nodes) with at least {_LEAST_NODES} nodes, found shape {array.shape}.",
            "One row per curve, all curves of the same length, e.g. 101 nodes over the cycle.",
        )
    if np.isinf(array).any():
        raise StatisticsError(f"{name}: infinite values in rows {_listed(np.isinf(array).any(axis=1))}.")
    empty = np.isnan(array).all(axis=1)
    if empty.any():
        raise StatisticsError(
            f"{name}: rows {_listed(empty)} hold no value at all.", "Leave these curves out; NaN marks single nodes."
        )
    return array


def testable_nodes(
    curves: FloatArray, residuals: FloatArray, invalid: Invalid
) -> tuple[BoolArray, tuple[Diagnostic, ...]]:
    """Return which nodes (Q,) can be tested, and what had to be left out and why.

    A node drops out where a curve is missing (NaN), and where nothing varies about the model (no variance: the statistic is
    infinite or 0/0). The search region breaks there; the resel counts of the pieces account for it.

    Parameters: `curves` (J, Q); `residuals` (J', Q) of the model, NaN where curves are.

    Raises:
        StatisticsError: nothing is left, or something has to be left out and `invalid` is "error".
    """
    missing: BoolArray = np.asarray(np.isnan(curves).any(axis=0))
    with np.errstate(invalid="ignore"):
        spread = np.sqrt(np.sum(residuals**2, axis=0))
        size = np.sqrt(np.nansum(curves**2, axis=0))
        # residuals of a curve known to 16 digits are noise of that size: no variance, but never exactly zero
        constant: BoolArray = ~missing & ~(spread > 1e-12 * size)
    found = []
    reasons: tuple[tuple[BoolArray, str, str], ...] = (
        (missing, "spm-missing-nodes", "at least one curve has no value there"),
        (constant, "spm-no-variance", "the curves do not vary about the model there"),
    )
    for nodes, code, reason in reasons:
        if nodes.any():
            found.append(
                Diagnostic(
                    code=code,
                    severity="info" if code == "spm-missing-nodes" else "warning",
                    message=f"{int(nodes.sum())} of {nodes.size} nodes ({_listed(nodes)}) are not tested: {reason}.",
                    value=float(nodes.sum()),
                    unit="nodes",
                    hint="The threshold is that of the nodes that remain.",
                )
            )
    usable = ~missing & ~constant
    if found and invalid == "error":
        raise StatisticsError(found[0].message, 'Repair the curves, or pass invalid="mask" to leave the nodes out.')
    if not usable.any():
        raise StatisticsError(
            "No node is left to test: " + " ".join(entry.message for entry in found),
            "Look for a curve that is missing nearly everywhere, or for curves that are copies of each other.",
        )
    return usable, tuple(found)


def runs(flags: BoolArray) -> tuple[tuple[int, int], ...]:
    """Return (first, last) node, inclusive, of every unbroken stretch of True in flags (Q,)."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    return tuple((int(first), int(after) - 1) for first, after in zip(edges[::2], edges[1::2], strict=True))


def coded(labels: Sequence[object] | ArrayLike, count: int, name: str) -> tuple[np.ndarray, list[object]]:
    """Return labels as integers 0.. in order of first appearance (J,), and the labels themselves.

    Raises:
        StatisticsError: not one label per curve.
    """
    given = list(np.asarray(labels, dtype=object).tolist())
    if len(given) != count:
        raise StatisticsError(f"{name}: expected one label per curve ({count}), found {len(given)}.")
    levels = list(dict.fromkeys(given))
    number = {level: at for at, level in enumerate(levels)}
    return np.array([number[label] for label in given], dtype=np.int64), levels


def _listed(flags: BoolArray) -> str:
    """Return True positions as ranges, e.g. ``0-3, 7``; the first five."""
    stretches = runs(flags)
    text = ", ".join(f"{a}-{b}" if b > a else str(a) for a, b in stretches[:5])
    return text + (", ..." if len(stretches) > 5 else "")
