"""Restricted maximum likelihood by statsmodels, its trouble turned into diagnostics."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from biodyn.conventions import FloatArray, IntArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import StatisticsError

# statsmodels' optimisers, the next where one does not converge
_OPTIMISERS = ("bfgs", "lbfgs", "powell")
_GRADIENT = 1e-7  # of the likelihood for unit-variance values; the default 1e-5 leaves 4 digits of a variance
# a random variance below this share of the residual's is on the edge (the estimate is zero)
_EDGE = 1e-6


@dataclass(frozen=True)
class Fit:
    """A REML fit in the values' unit.

    Attributes:
        fixed (p,), covariance (p, p): fixed effects and their covariance.
        random: (1, 1) or (2, 2) covariance of the random intercept (and slope).
        residual: residual variance.
        converged: whether an optimiser said so.
        diagnostics: what went wrong.
    """

    fixed: FloatArray
    covariance: FloatArray
    random: FloatArray
    residual: float
    converged: bool
    diagnostics: tuple[Diagnostic, ...]


def fit_reml(values: FloatArray, matrix: FloatArray, who: IntArray, slope: FloatArray | None) -> Fit:
    """Fit values (n,) on matrix (n, p), its first column ones, with random effects of subjects who (n,).

    Raises:
        StatisticsError: the values do not vary about the fixed effects.
    """
    from statsmodels.regression.mixed_linear_model import MixedLM  # slow to import, needed only here

    spread = float(np.std(values - matrix @ np.linalg.lstsq(matrix, values, rcond=None)[0]))
    if not spread > 1e-12 * max(float(np.abs(values).max()), 1e-300):
        raise StatisticsError("The values do not vary about the fixed effects.", "Are they copies of each other?")
    centre = float(values.mean())
    unit = 1.0 if slope is None else float(np.abs(slope).max()) or 1.0
    random = np.ones((len(values), 1)) if slope is None else np.column_stack([np.ones(len(values)), slope / unit])
    model = MixedLM((values - centre) / spread, matrix, groups=who, exog_re=random)
    found, trouble = None, list[str]()
    for optimiser in _OPTIMISERS:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            options = {} if optimiser == "powell" else {"gtol": _GRADIENT}
            try:
                found = model.fit(reml=True, method=optimiser, maxiter=1000, **options)
            except np.linalg.LinAlgError as error:
                # a step beyond the edge of the possible variances; the next optimiser steps otherwise
                trouble.append(f"{optimiser}: {error}")
                continue
        trouble += [f"{optimiser}: {entry.message}" for entry in caught]
        if found.converged:
            break
    if found is None:
        raise StatisticsError(
            f"The mixed model could not be fitted ({'; '.join(trouble)}).",
            "Leave the random slope out, or fewer effects.",
        )
    scale = np.diag([1.0] if slope is None else [1.0, 1.0 / unit])
    covariance = spread**2 * (scale @ np.atleast_2d(np.asarray(found.cov_re)) @ scale)
    fixed = spread * np.asarray(found.fe_params)
    fixed[0] += centre
    p = len(fixed)
    return Fit(
        fixed=fixed,
        covariance=spread**2 * np.asarray(found.cov_params())[:p, :p],
        random=covariance,
        residual=float(spread**2 * found.scale),
        converged=bool(found.converged),
        diagnostics=_doubts(
            bool(found.converged), np.atleast_2d(np.asarray(found.cov_re)), float(found.scale), trouble
        ),
    )


def _doubts(converged: bool, random: FloatArray, residual: float, trouble: list[str]) -> tuple[Diagnostic, ...]:
    doubts = []
    least = float(np.linalg.eigvalsh(random).min()) / residual
    if not converged:
        doubts.append(
            Diagnostic(
                code="mixed-not-converged",
                severity="warning",
                message="The maximum of the likelihood was not found: " + "; ".join(trouble),
                hint="Do not use the numbers. Leave the random slope out, or look for values of another size.",
            )
        )
    elif trouble:
        doubts.append(
            Diagnostic(
                code="mixed-trouble",
                severity="info",
                message="The fit converged, but the optimisers complained on the way: " + "; ".join(trouble),
            )
        )
    if least < _EDGE:
        doubts.append(
            Diagnostic(
                code="mixed-singular",
                severity="warning",
                message="A variance of the random effects is zero (singular fit): the subjects differ no more than by chance.",
                value=least,
                limit=_EDGE,
                unit="of the residual variance",
                hint="The fixed effects stand; a random slope the data do not support is better left out.",
            )
        )
    return tuple(doubts)
