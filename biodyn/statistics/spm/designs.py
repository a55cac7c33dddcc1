"""The tests of curves: each is a design matrix and a contrast for the one linear model.

Curves are (J, Q) arrays, one row per curve (usually one mean curve per subject: several curves of one subject are not
independent). Every function returns a `StatisticField`; `random_field_inference` and `permutation_inference` take it further.
`invalid` says what happens to nodes that cannot be tested (missing in some curve, or without variance): "mask" leaves
them out and says so, "error" raises.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from biodyn.conventions import FloatArray, IntArray
from biodyn.errors import StatisticsError
from biodyn.statistics.spm.curves import Invalid, checked_curves, coded
from biodyn.statistics.spm.field import StatisticField
from biodyn.statistics.spm.linear_model import exchange_of, linear_field, linear_test
from biodyn.statistics.spm.sphericity import greenhouse_geisser, sphericity_doubts
from biodyn.statistics.spm.welch import welch_field

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
