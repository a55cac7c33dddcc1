"""Statistical tests of curves: each is a design matrix and a contrast for the general linear model.

Curves are (J, Q) arrays, one row per curve (usually one mean curve per subject: several curves of one subject are not
independent). Every function returns a `StatisticField`, the input of `random_field_inference` and `permutation_inference`.
Nodes that cannot be tested (missing in some curve, or without variance) are excluded, with a finding.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import helmert

from biodyn.conventions import FloatArray, IntArray
from biodyn.errors import StatisticsError
from biodyn.statistics.spm.linear_model import StatisticField, encode_labels, linear_field, validate_curves, welch_field

Labels = Sequence[object] | ArrayLike


def one_sample_t(curves: ArrayLike) -> StatisticField:
    """Test whether the mean of curves (J, Q) differs from zero."""
    return _test_against_zero("one-sample t test", validate_curves(curves))


def paired_t(first: ArrayLike, second: ArrayLike) -> StatisticField:
    """Test whether first - second differs from zero; row j of both (J, Q) is the same subject."""
    a, b = validate_curves(first, "first"), validate_curves(second, "second")
    if a.shape != b.shape:
        raise StatisticsError(f"A paired test needs equal shapes, found {a.shape} and {b.shape}.")
    return _test_against_zero("paired t test", a - b)


def two_sample_t(first: ArrayLike, second: ArrayLike, equal_variance: bool = True) -> StatisticField:
    """Test whether the means of two independent groups (J1, Q) and (J2, Q) differ, first - second.

    With `equal_variance` the variance is pooled (Student); without, each group has its own (Welch 1947), which is the
    safe choice for groups of different size.
    """
    a, b = validate_curves(first, "first"), validate_curves(second, "second")
    if a.shape[1] != b.shape[1]:
        raise StatisticsError(f"Groups must have the same number of nodes, found {a.shape[1]} and {b.shape[1]}.")
    curves, group = np.vstack([a, b]), np.repeat([0, 1], [len(a), len(b)])
    if not equal_variance:
        return welch_field("two-sample t test (Welch)", curves, group)
    contrast = np.array([[1.0, -1.0]])
    return linear_field("two-sample t test (pooled variance)", curves, _indicator_columns(group), contrast, "t")


def regression(curves: ArrayLike, predictor: ArrayLike) -> StatisticField:
    """Test the slope of curves (J, Q) on a predictor (J,).

    `effect` is the slope, in units of the curves per unit of the predictor.
    """
    y = validate_curves(curves)
    x = np.asarray(predictor, dtype=float)
    if x.shape != (y.shape[0],):
        raise StatisticsError(f"predictor: expected one number per curve ({y.shape[0]}), found shape {x.shape}.")
    return linear_field("linear regression", y, np.column_stack([x, np.ones(len(x))]), np.array([[1.0, 0.0]]), "t")


def anova(curves: ArrayLike, groups: Labels) -> StatisticField:
    """Test whether the means of independent groups differ (one-way, F); group labels (J,), groups of any size."""
    y = validate_curves(curves)
    code, levels = encode_labels(groups, y.shape[0], "groups")
    return linear_field(
        "one-way analysis of variance", y, _indicator_columns(code), _difference_contrasts(len(levels)), "f"
    )


def anova_repeated(
    curves: ArrayLike, conditions: Labels, subjects: Labels, assume_sphericity: bool = False
) -> StatisticField:
    """Test whether conditions (J,) measured in the same subjects (J,) differ (one-way repeated measures, F).

    One curve per subject and condition. The degrees of freedom are corrected for differences between conditions that vary
    unequally (Greenhouse & Geisser), which requires every condition of every subject, unless sphericity is assumed.
    """
    y = validate_curves(curves)
    condition, levels = encode_labels(conditions, y.shape[0], "conditions")
    subject, names = encode_labels(subjects, y.shape[0], "subjects")
    cells = np.column_stack([subject, condition])
    if len(np.unique(cells, axis=0)) < len(cells):
        raise StatisticsError(
            "A subject has several curves in one condition, which would be counted as independent.",
            "Average them first.",
        )
    matrix = np.hstack([_indicator_columns(condition), _indicator_columns(subject)])
    contrast = np.hstack([_difference_contrasts(len(levels)), np.zeros((len(levels) - 1, len(names)))])
    name, epsilon = "one-way repeated-measures analysis of variance", 1.0
    if not assume_sphericity:
        epsilon = greenhouse_geisser(y, condition, subject)
        name += f" (Greenhouse-Geisser, epsilon {epsilon:.3f})"
    return linear_field(name, y, matrix, contrast, "f", blocks=subject, epsilon=epsilon)


def _test_against_zero(name: str, curves: FloatArray) -> StatisticField:
    return linear_field(name, curves, np.ones((curves.shape[0], 1)), np.ones((1, 1)), "t", exchange="signs")


def _indicator_columns(code: IntArray) -> FloatArray:
    return (code[:, None] == np.arange(code.max() + 1)).astype(float)


def _difference_contrasts(levels: int) -> FloatArray:
    """Return contrasts (levels - 1, levels) between every level and the first."""
    if levels < 2:
        raise StatisticsError("An analysis of variance needs at least two groups or conditions, found one.")
    return np.hstack([-np.ones((levels - 1, 1)), np.eye(levels - 1)])


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
            f"Sphericity can only be estimated from complete data of {names} subjects x {levels} conditions, found "
            f"{len(curves)} curves.",
            "Exclude incomplete subjects, or use a linear mixed model.",
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
