"""How far repeated measures are from sphericity."""

from __future__ import annotations

import numpy as np
from scipy.linalg import helmert

from biodyn.conventions import FloatArray, IntArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import StatisticsError

_LEAST_EPSILON = 0.75  # below it the correction is recommended (Girden 1992, ANOVA: Repeated Measures)


def greenhouse_geisser(curves: FloatArray, condition: IntArray, subject: IntArray) -> float:
    """Return epsilon of Greenhouse & Geisser (1959, Psychometrika 24:95-112) for curves (J, Q), one number for all nodes.

    With S the covariance of orthonormal contrasts between the k conditions, ``trace(S)^2 / ((k - 1) trace(S S))``. A field has
    one pair of degrees of freedom, so S is averaged over the nodes, each scaled to the same trace.

    Raises:
        StatisticsError: a subject lacks a condition.
    """
    levels, names = int(condition.max()) + 1, int(subject.max()) + 1
    if len(curves) != levels * names:
        raise StatisticsError(
            f"Sphericity can only be judged from complete data: {names} subjects x {levels} conditions, found {len(curves)}.",
            'Leave incomplete subjects out, or use sphericity="assumed", or a linear mixed model.',
        )
    table = np.empty((names, levels, curves.shape[1]))
    table[subject, condition] = curves
    scores = np.einsum("kc,scq->skq", helmert(levels), table[:, :, np.isfinite(table).all(axis=(0, 1))])
    scores = scores - scores.mean(axis=0)
    covariance = np.einsum("skq,slq->qkl", scores, scores)
    trace = np.trace(covariance, axis1=1, axis2=2)
    varies = trace > 0.0
    mean = np.mean(covariance[varies] / trace[varies, None, None], axis=0)
    return float(np.trace(mean) ** 2 / ((levels - 1) * np.sum(mean**2)))


def sphericity_doubts(epsilon: float) -> tuple[Diagnostic, ...]:
    """Return the Diagnostic that sphericity should not be assumed, where it should not."""
    if epsilon >= _LEAST_EPSILON:
        return ()
    return (
        Diagnostic(
            code="spm-sphericity",
            severity="warning",
            message=f"Differences between the conditions vary unequally (epsilon {epsilon:.2f}): the threshold is too low.",
            value=epsilon,
            limit=_LEAST_EPSILON,
            hint='Use sphericity="greenhouse-geisser"; permutation supposes the same and is no way out.',
        ),
    )
