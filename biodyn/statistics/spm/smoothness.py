"""How smooth is a field: its full width at half maximum, and the size of the search region in such widths (resels)."""

from __future__ import annotations

import math

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.errors import StatisticsError
from biodyn.statistics.spm.curves import runs


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
