"""Two factors at once: both between subjects, both within, or one of each. All through the one linear model.

Main effects and interaction are contrasts in sum-to-zero coding (type III: unweighted means), so group sizes may differ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from biodyn.conventions import FloatArray, IntArray
from biodyn.errors import StatisticsError
from biodyn.statistics.spm.curves import Invalid, checked_curves, coded
from biodyn.statistics.spm.designs import Labels, anova, anova_repeated, cell_means
from biodyn.statistics.spm.field import StatisticField
from biodyn.statistics.spm.linear_model import exchange_of, linear_field, linear_test


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
    found = len(np.unique(cells, axis=0))
    if found != expected or len(cells) != expected:
        raise StatisticsError(
            f"Every subject needs each combination once: expected {expected} curves, found {len(cells)} of {found} kinds.",
            "Average repeated curves with `cell_means`; leave incomplete subjects out, or use a linear mixed model.",
        )
