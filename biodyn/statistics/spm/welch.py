"""Two independent groups, each with its own variance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from biodyn.conventions import FloatArray, IntArray
from biodyn.errors import StatisticsError
from biodyn.statistics.spm.curves import Invalid, testable_nodes
from biodyn.statistics.spm.field import Arrangements, Exchange, StatisticField
from biodyn.statistics.spm.smoothness import resel_counts, smoothness


@dataclass(frozen=True)
class WelchStatistic:
    """Welch's t for exchanged group labels.

    Attributes:
        response: (J, nodes) curves without their common mean.
        group: (J,) 0 for the first group, 1 for the second.
        exchange: what may be exchanged.
    """

    response: FloatArray
    group: IntArray
    exchange: Exchange

    def fields(self, arrangements: Arrangements) -> FloatArray:
        """Return t (N, nodes)."""
        squares = self.response**2
        means, variances = [], []
        for number in (0, 1):
            member = (self.group[arrangements.rows] == number).astype(float)
            n = np.count_nonzero(self.group == number)
            mean = member @ self.response / n
            means.append(mean)
            variances.append((member @ squares / n - mean**2) / (n - 1))
        error = np.maximum(variances[0] + variances[1], 1e-14 * squares.mean(axis=0))
        return np.asarray((means[0] - means[1]) / np.sqrt(error))


def welch_field(name: str, curves: FloatArray, group: IntArray, invalid: Invalid) -> StatisticField:
    """Return the field of Welch's t test of curves (J, Q) of group 0 against group 1 (Welch 1947, Biometrika 34:28-35).

    The degrees of freedom of Welch and Satterthwaite hang on the groups' shares of the variance, which a node alone knows
    poorly; a field has one number, so the shares are averaged over the nodes first (on null curves this keeps the error
    rate; the mean of the nodes' own 1/df made it 2 % instead of 5 % for two groups of five).
    Smoothness comes from residuals scaled as they enter the statistic: each group by 1/sqrt(n (n - 1)).

    Parameters: the curves of group 0 stand before those of group 1.

    Raises:
        StatisticsError: a group of fewer than two curves.
    """
    sizes = np.bincount(group, minlength=2)
    if sizes.min() < 2:
        raise StatisticsError(f"Each group needs at least two curves for its own variance, found {sizes.tolist()}.")
    parts = [curves[group == number] for number in (0, 1)]
    means = [part.mean(axis=0) for part in parts]
    squared = [part.var(axis=0, ddof=1) / len(part) for part in parts]
    residuals = np.vstack([part - mean for part, mean in zip(parts, means, strict=True)])
    nodes, diagnostics = testable_nodes(curves, residuals, invalid)
    variance = np.where(nodes, squared[0] + squared[1], np.nan)
    first_share = float(np.mean((squared[0] / variance)[nodes]))
    df = 1.0 / (first_share**2 / (sizes[0] - 1) + (1.0 - first_share) ** 2 / (sizes[1] - 1))
    scaled = residuals / np.sqrt(np.repeat(sizes * (sizes - 1.0), sizes))[:, None]
    fwhm = smoothness(scaled, nodes)
    effect = np.where(nodes, means[0] - means[1], np.nan)
    valid = curves[:, nodes]
    return StatisticField(
        test=name,
        kind="t",
        z=effect / np.sqrt(variance),
        df=(1.0, float(df)),
        nodes=nodes,
        effect=effect,
        standard_error=np.sqrt(variance),
        residuals=residuals,
        fwhm=fwhm,
        resels=resel_counts(nodes, fwhm),
        curves=curves.shape[0],
        statistic=WelchStatistic(
            valid - valid.mean(axis=0), group, Exchange("rows", np.zeros(len(group), dtype=np.int64), group)
        ),
        diagnostics=diagnostics,
    )
