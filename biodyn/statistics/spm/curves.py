"""Curves as (J, Q) arrays: which nodes can be tested, how smooth the curves are, and smooth noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.ndimage import correlate1d

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


# -- Smoothness -----------------------------------------------------------------------------------------------------


def smoothness(residuals: FloatArray, nodes: BoolArray) -> float:
    """Return the FWHM, in nodes, of the Gaussian kernel that would make white noise as smooth as the residuals (J, Q).

    With r_j the residuals and r_j' their central differences inside each unbroken stretch of nodes (Q,), the resels a node
    are ``sqrt(sum r_j'^2 / (4 ln 2 sum r_j^2))``, and the FWHM is one over their mean (Kiebel et al. 1999, NeuroImage
    10:756-766; Worsley et al. 1992, J Cereb Blood Flow Metab 12:900-918; the estimator of SPM and of spm1d).

    Raises:
        StatisticsError: no two neighbouring nodes are left.
    """
    density: list[FloatArray] = []
    for first, last in runs(nodes):
        if last > first:
            piece = residuals[:, first : last + 1]
            slope = np.gradient(piece, axis=1)
            density.append(np.sqrt(np.sum(slope**2, axis=0) / (4.0 * math.log(2.0) * np.sum(piece**2, axis=0))))
    if not density:
        raise StatisticsError(
            "No two neighbouring nodes can be tested, so the smoothness is unknown.",
            "Curves with so many gaps need a scalar test of single instants instead.",
        )
    mean = float(np.mean(np.concatenate(density)))
    if not mean > 0.0:
        raise StatisticsError("The residuals are constant over the nodes: this is a scalar, not a curve.")
    return 1.0 / mean


def resel_counts(nodes: BoolArray, fwhm: float) -> tuple[float, float]:
    """Return the resel counts (R0, R1) of a search region: its number of pieces and its length in FWHM.

    A region broken by masked nodes has more pieces (R0 grows) and less length (the broken steps do not count).
    """
    pieces = runs(nodes)
    return float(len(pieces)), float(sum(last - first for first, last in pieces)) / fwhm


# -- Smooth noise ---------------------------------------------------------------------------------------------------


_REACH = 4.0  # standard deviations of the kernel that are kept


def smooth_noise(count: int, nodes: int, fwhm: float, rng: np.random.Generator) -> FloatArray:
    """Return (count, nodes) stationary Gaussian curves of unit variance: white noise under a Gaussian kernel of `fwhm` nodes.

    The noise reaches beyond both ends before smoothing, so the curves are as smooth there as inside.
    """
    if not fwhm > 0.0:
        raise StatisticsError(f"The FWHM must be positive, found {fwhm:g}.")
    deviation = fwhm / math.sqrt(8.0 * math.log(2.0))
    reach = math.ceil(_REACH * deviation)
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / deviation) ** 2)
    kernel /= math.sqrt(float(np.sum(kernel**2)))
    noise = rng.standard_normal((count, nodes + 2 * reach))
    return np.asarray(correlate1d(noise, kernel, axis=1)[:, reach : reach + nodes])
