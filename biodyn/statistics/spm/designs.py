"""The tests of curves: each is a design matrix and a contrast for the one linear model.

Curves are (J, Q) arrays, one row per curve (usually one mean curve per subject: several curves of one subject are not
independent). Every function returns a `StatisticField`; `random_field_inference` and `permutation_inference` take it further.
`invalid` says what happens to nodes that cannot be tested (missing in some curve, or without variance): "mask" leaves
them out with a finding, "error" raises.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import helmert

from biodyn.conventions import FloatArray, IntArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import StatisticsError
from biodyn.statistics.spm.field import StatisticField
from biodyn.statistics.spm.linear_model import (
    Invalid,
    checked_curves,
    coded,
    exchange_of,
    linear_field,
    linear_test,
    welch_field,
)

Labels = Sequence[object] | ArrayLike


def one_sample_t(curves: ArrayLike, against: ArrayLike = 0.0, invalid: Invalid = "mask") -> StatisticField:
    """Test whether the mean of curves (J, Q) differs from a number or a curve (Q,)."""
    return _against_zero("one-sample t test", checked_curves(curves) - np.asarray(against, dtype=float), invalid)


def paired_t(first: ArrayLike, second: ArrayLike, invalid: Invalid = "mask") -> StatisticField:
    """Test whether first - second differs from zero; row j of both (J, Q) is the same subject."""
    a, b = checked_curves(first, "first"), checked_curves(second, "second")
    if a.shape != b.shape:
        raise StatisticsError(f"A paired test needs equal shapes, found {a.shape} and {b.shape}.")
    return _against_zero("paired t test", a - b, invalid)


def two_sample_t(
    first: ArrayLike, second: ArrayLike, equal_variance: bool = True, invalid: Invalid = "mask"
) -> StatisticField:
    """Test whether the means of two independent groups (J1, Q) and (J2, Q) differ, first - second.

    With `equal_variance` the variance is pooled (Student); without, each group has its own (Welch 1947), which is the
    safe choice for groups of different size.
    """
    a, b = checked_curves(first, "first"), checked_curves(second, "second")
    curves = _stacked([a, b])
    group = np.repeat([0, 1], [len(a), len(b)])
    if not equal_variance:
        return welch_field("two-sample t test (Welch)", curves, group, invalid)
    matrix = _indicators(group)
    test = linear_test(matrix, np.array([[1.0, -1.0]]), "t")
    return linear_field("two-sample t test (pooled variance)", curves, test, exchange_of(matrix), invalid)


def regression(
    curves: ArrayLike, predictor: ArrayLike, covariates: ArrayLike | None = None, invalid: Invalid = "mask"
) -> StatisticField:
    """Test the slope of curves (J, Q) on a predictor (J,), adjusted for covariates (J, c) where given.

    `effect` is the slope, in units of the curves per unit of the predictor.
    """
    y = checked_curves(curves)
    x = np.asarray(predictor, dtype=float)
    if x.shape != (y.shape[0],):
        raise StatisticsError(f"predictor: expected one number per curve ({y.shape[0]}), found shape {x.shape}.")
    columns = [x, np.ones(len(x))]
    if covariates is not None:
        columns += list(np.asarray(covariates, dtype=float).reshape(len(x), -1).T)
    return linear_model(y, np.column_stack(columns), [1.0] + [0.0] * (len(columns) - 1), "linear regression", invalid)


def anova(curves: ArrayLike, groups: Labels, invalid: Invalid = "mask") -> StatisticField:
    """Test whether the means of independent groups differ (one-way, F); groups (J,) of any labels and any sizes."""
    y = checked_curves(curves)
    code, levels = coded(groups, y.shape[0], "groups")
    matrix = _indicators(code)
    test = linear_test(matrix, _differences(len(levels)), "f")
    return linear_field("one-way analysis of variance", y, test, exchange_of(matrix), invalid)


def anova_repeated(
    curves: ArrayLike,
    conditions: Labels,
    subjects: Labels,
    sphericity: Literal["assumed", "greenhouse-geisser"] = "assumed",
    invalid: Invalid = "mask",
) -> StatisticField:
    """Test whether conditions (J,) measured in the same subjects (J,) differ (one-way repeated measures, F).

    One curve per subject and condition; subjects may lack conditions. Differences between conditions are assumed to vary
    equally (sphericity) unless the degrees of freedom are corrected ("greenhouse-geisser", complete data only); a Diagnostic
    says where the assumption looks wrong.
    """
    y = checked_curves(curves)
    condition, levels = coded(conditions, y.shape[0], "conditions")
    subject, names = coded(subjects, y.shape[0], "subjects")
    _once_a_cell(np.column_stack([subject, condition]))
    matrix = np.hstack([_indicators(condition), _indicators(subject)])
    contrast = np.hstack([_differences(len(levels)), np.zeros((len(levels) - 1, len(names)))])
    test = linear_test(matrix, contrast, "f")
    name, df = "one-way repeated-measures analysis of variance", None
    if sphericity == "greenhouse-geisser":
        epsilon = greenhouse_geisser(y, condition, subject)
        df = (epsilon * test.effect.shape[1], epsilon * test.error_df)
        name += f" (Greenhouse-Geisser, epsilon {epsilon:.3f})"
    field = linear_field(name, y, test, exchange_of(matrix, blocks=subject), invalid, df)
    if df is None and len(levels) > 2 and len(y) == len(levels) * len(names):
        doubts = sphericity_doubts(greenhouse_geisser(y, condition, subject))
        field = replace(field, diagnostics=field.diagnostics + doubts)
    return field


def linear_model(
    curves: ArrayLike,
    matrix: ArrayLike,
    contrast: ArrayLike,
    name: str = "general linear model",
    invalid: Invalid = "mask",
    blocks: Labels | None = None,
) -> StatisticField:
    """Test any contrast of any design: `contrast @ b = 0` in `curves = matrix @ b + error`.

    Parameters: `matrix` (J, p); `contrast` (p,) for t, (k, p) for F; `blocks` (J,) keep permutations inside a block.
    """
    y = checked_curves(curves)
    x, c = np.asarray(matrix, dtype=float), np.asarray(contrast, dtype=float)
    if x.ndim != 2 or x.shape[0] != y.shape[0]:
        raise StatisticsError(f"The design needs one row per curve ({y.shape[0]}), found shape {x.shape}.")
    within = None if blocks is None else coded(blocks, y.shape[0], "blocks")[0]
    test = linear_test(x, c, "t" if c.ndim == 1 else "f")
    return linear_field(name, y, test, exchange_of(x, blocks=within), invalid)


def _against_zero(name: str, curves: FloatArray, invalid: Invalid) -> StatisticField:
    matrix = np.ones((curves.shape[0], 1))
    test = linear_test(matrix, np.ones(1), "t")
    return linear_field(name, curves, test, exchange_of(matrix, "signs"), invalid)


def _stacked(groups: Sequence[FloatArray]) -> FloatArray:
    if len({group.shape[1] for group in groups}) > 1:
        raise StatisticsError(f"Groups must have equally many nodes, found {[group.shape[1] for group in groups]}.")
    return np.vstack(groups)


def _indicators(code: IntArray) -> FloatArray:
    return (code[:, None] == np.arange(code.max() + 1)).astype(float)


def _differences(levels: int) -> FloatArray:
    """Contrasts (levels - 1, levels) of every level with the first."""
    if levels < 2:
        raise StatisticsError("An analysis of variance needs at least two groups or conditions, found one.")
    return np.hstack([-np.ones((levels - 1, 1)), np.eye(levels - 1)])


def _once_a_cell(cells: IntArray) -> None:
    if len(np.unique(cells, axis=0)) < len(cells):
        raise StatisticsError(
            "A subject has several curves in one condition; as if they were independent they would count too much.",
            "Average them first, e.g. with `cell_means`.",
        )


def cell_means(curves: ArrayLike, *factors: Labels) -> tuple[FloatArray, tuple[list[object], ...]]:
    """Return the mean curve of every combination of labels that occurs (cells, Q), and its label by each factor.

    NaN nodes do not count; a node without any value stays NaN. Cells come in order of first appearance.
    """
    y = checked_curves(curves)
    lists = [list(np.asarray(factor, dtype=object).tolist()) for factor in factors]
    if not lists or any(len(entries) != len(y) for entries in lists):
        raise StatisticsError(f"Expected one label per curve ({len(y)}) for each factor.")
    cells: dict[tuple[object, ...], list[int]] = {}
    for at, cell in enumerate(zip(*lists, strict=True)):
        cells.setdefault(cell, []).append(at)
    means = np.empty((len(cells), y.shape[1]))
    for at, members in enumerate(cells.values()):
        valid = np.isfinite(y[members])
        with np.errstate(invalid="ignore"):
            means[at] = np.where(valid, y[members], 0.0).sum(axis=0) / valid.sum(axis=0)
    return means, tuple([cell[at] for cell in cells] for at in range(len(lists)))


# -- Two factors: contrasts in sum-to-zero coding (type III), group sizes may differ --------------------------------


@dataclass(frozen=True)
class TwoFactors:
    """The three tests of a design with two factors; correct over the three where all are looked at (e.g. Holm).

    Attributes:
        first, second: main effects.
        interaction: does the effect of one depend on the other?
    """

    first: StatisticField
    second: StatisticField
    interaction: StatisticField


def anova_two_way(curves: ArrayLike, first: Labels, second: Labels, invalid: Invalid = "mask") -> TwoFactors:
    """Test two factors (J,) between independent curves (J, Q), every combination measured, any group sizes."""
    y = checked_curves(curves)
    a, b = _factor(first, len(y), "first"), _factor(second, len(y), "second")
    main_a, main_b = _coding(a), _coding(b)
    parts = [np.ones((len(y), 1)), main_a, main_b, _products(main_a, main_b)]
    name = "two-way analysis of variance, "
    return TwoFactors(
        first=_tested(name + "first factor", y, parts, 1, None, invalid),
        second=_tested(name + "second factor", y, parts, 2, None, invalid),
        interaction=_tested(name + "interaction", y, parts, 3, None, invalid),
    )


def anova_two_way_repeated(
    curves: ArrayLike, first: Labels, second: Labels, subjects: Labels, invalid: Invalid = "mask"
) -> TwoFactors:
    """Test two factors that every subject went through in all combinations, one curve each.

    Each effect has its own interaction with the subjects as error: a main effect is the one-way test of the curves averaged over
    the other factor.

    Raises:
        StatisticsError: a combination is missing or measured twice.
    """
    y = checked_curves(curves)
    a, b, s = (
        _factor(labels, len(y), name) for labels, name in ((first, "first"), (second, "second"), (subjects, "subjects"))
    )
    _complete(np.column_stack([s, a, b]))
    main_a, main_b, subject = _coding(a), _coding(b), _coding(s)
    parts = [
        np.ones((len(y), 1)),
        main_a,
        main_b,
        _products(main_a, main_b),
        np.hstack([subject, _products(subject, main_a), _products(subject, main_b)]),
    ]  # fmt: skip
    return TwoFactors(
        first=_main_within(y, a, s, invalid),
        second=_main_within(y, b, s, invalid),
        interaction=_tested("two-way repeated-measures analysis of variance, interaction", y, parts, 3, s, invalid),
    )


def anova_mixed(
    curves: ArrayLike, groups: Labels, conditions: Labels, subjects: Labels, invalid: Invalid = "mask"
) -> TwoFactors:
    """Test groups of subjects (first), conditions that every subject went through (second), and their interaction.

    Groups may differ in size. Subjects with the same label in different groups are different subjects.

    Raises:
        StatisticsError: a subject lacks a condition, or has it twice.
    """
    y = checked_curves(curves)
    g, c = _factor(groups, len(y), "groups"), _factor(conditions, len(y), "conditions")
    given = coded(subjects, len(y), "subjects")[0]
    s = np.unique(np.column_stack([g, given]), axis=0, return_inverse=True)[1].reshape(-1)
    _complete(np.column_stack([s, c]))
    condition = _coding(c)
    parts = [np.eye(s.max() + 1)[s], condition, _products(_coding(g), condition)]
    name = "mixed analysis of variance, "
    means, (group_of, _) = cell_means(y, g, s)
    return TwoFactors(
        first=anova(means, group_of, invalid),
        second=_tested(name + "conditions", y, parts, 1, s, invalid),
        interaction=_tested(name + "interaction", y, parts, 2, s, invalid),
    )


def _tested(
    name: str, y: FloatArray, parts: list[FloatArray], at: int, blocks: IntArray | None, invalid: Invalid
) -> StatisticField:
    """Test that all parameters of one part of the design are zero."""
    matrix = np.hstack(parts)
    before = sum(part.shape[1] for part in parts[:at])
    contrast = np.eye(matrix.shape[1])[before : before + parts[at].shape[1]]
    test = linear_test(matrix, contrast, "f")
    return linear_field(name, y, test, exchange_of(matrix, blocks=blocks), invalid)


def _main_within(y: FloatArray, factor: IntArray, subject: IntArray, invalid: Invalid) -> StatisticField:
    means, (levels, names) = cell_means(y, factor, subject)
    return anova_repeated(means, levels, names, invalid=invalid)


def _factor(labels: Labels, count: int, name: str) -> IntArray:
    code, levels = coded(labels, count, name)
    if len(levels) < 2:
        raise StatisticsError(f"{name}: needs at least two levels, found {levels}.")
    return code


def _coding(code: IntArray) -> FloatArray:
    """Sum-to-zero columns (J, levels - 1): the last level is minus the others."""
    levels = int(code.max()) + 1
    return np.asarray(np.vstack([np.eye(levels - 1), -np.ones(levels - 1)])[code])


def _products(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.asarray((a[:, :, None] * b[:, None, :]).reshape(len(a), -1))


def _complete(cells: IntArray) -> None:
    expected = int(np.prod(cells.max(axis=0) + 1))
    observed = len(np.unique(cells, axis=0))
    if observed != expected or len(cells) != expected:
        raise StatisticsError(
            f"Every subject needs each combination once: expected {expected} curves, found {len(cells)} of {observed} kinds.",
            "Average repeated curves with `cell_means`; leave incomplete subjects out, or use a linear mixed model.",
        )


# -- Sphericity of repeated measures --------------------------------------------------------------------------------


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
    min_epsilon = 0.75  # below it the correction is recommended (Girden 1992, ANOVA: Repeated Measures)
    if epsilon >= min_epsilon:
        return ()
    return (
        Diagnostic(
            code="spm-sphericity",
            severity="warning",
            message=f"Differences between the conditions vary unequally (epsilon {epsilon:.2f}): the threshold is too low.",
            value=epsilon,
            limit=min_epsilon,
            hint='Use sphericity="greenhouse-geisser"; permutation has the same assumption.',
        ),
    )
