"""Denominator degrees of freedom of the fixed effects: of the level at which each of them varies.

With random intercepts the inner-outer rule (Pinheiro & Bates 2000, 2.4.2). With a random slope the containment rule: a
coefficient that also varies at random between subjects is known from as many numbers as there are subjects, not values.
"""

from __future__ import annotations

import numpy as np

from biodyn.conventions import BoolArray, FloatArray, IntArray

# A column within this of what the subjects' own lines can make is made by them: round-off of a few hundred sums.
_WITHIN = 1e-9


def inner_outer(matrix: FloatArray, who: IntArray) -> FloatArray:
    """Return the degrees of freedom (p,) of the columns of (n, p) with a random intercept for each of the subjects (n,).

    ``n - subjects - inner`` for columns that change within some subject, and the intercept (as in R's nlme);
    ``subjects - 1 - outer`` for those that do not.
    """
    subjects = len(np.unique(who))
    inner = ~_spanned(_own_lines(matrix, who, None), matrix)
    inner[0] = True
    within = len(matrix) - subjects - (int(inner.sum()) - 1)
    between = subjects - 1 - int((~inner).sum())
    return np.where(inner, float(within), float(between))


def containment(matrix: FloatArray, who: IntArray, slope: FloatArray) -> FloatArray:
    """Return the degrees of freedom (p,) with a random intercept and a random slope on a covariate (n,) for each subject.

    With X the fixed effects, Z0 the subjects and Z1 their slopes: columns that Z0 makes have ``rank [X Z0] - rank X``, those
    that Z1 makes besides, the slope itself and its products with differences between subjects, ``rank [X Z0 Z1] - rank [X Z0]``,
    the others ``n - rank [X Z0 Z1]``. One covariate: subjects - 1, as the mean of the subjects' own slopes.
    """
    level, line = _own_lines(matrix, who, None), _own_lines(matrix, who, slope)
    subjects = len(np.unique(who))
    sloped = sum(bool(np.ptp(slope[who == subject]) > 0.0) for subject in np.unique(who))
    rank_x = matrix.shape[1]
    rank_level = subjects + _rank(level, matrix)
    rank_line = subjects + sloped + _rank(line, matrix)
    by_level, by_line = _spanned(level, matrix), _spanned(line, matrix)
    found = np.full(rank_x, float(len(matrix) - rank_line))
    found[by_line] = rank_line - rank_level
    found[by_level] = rank_level - rank_x
    return found


def _own_lines(matrix: FloatArray, who: IntArray, slope: FloatArray | None) -> FloatArray:
    """What is left of the columns (n, p) when each subject's own mean, or straight line over `slope`, is taken off."""
    left = np.empty_like(matrix)
    for subject in np.unique(who):
        rows = who == subject
        left[rows] = matrix[rows] - matrix[rows].mean(axis=0)
        if slope is not None and np.ptp(slope[rows]) > 0.0:
            run = slope[rows] - slope[rows].mean()
            left[rows] -= np.outer(run, run @ left[rows]) / (run @ run)
    return left


def _spanned(left: FloatArray, matrix: FloatArray) -> BoolArray:
    """Whether nothing is left of each column."""
    return np.asarray(np.linalg.norm(left, axis=0) <= _WITHIN * np.linalg.norm(matrix, axis=0))


def _rank(left: FloatArray, matrix: FloatArray) -> int:
    """Rank of what is left, columns in units of the whole ones."""
    return int(np.linalg.matrix_rank(left / np.linalg.norm(matrix, axis=0), tol=_WITHIN * np.sqrt(len(left))))
