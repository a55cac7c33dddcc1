"""Random field theory in one dimension: how high, how wide and how often smooth noise goes above a threshold.

Expected Euler characteristic of the part of a field above u: ``E(u) = R0 rho0(u) + R1 rho1(u)`` (Worsley et al. 1996, Human
Brain Mapping 4:58-73; Worsley et al. 2004, NeuroImage 23:S189-S195). Clusters come like a Poisson process (Adler &
Hasofer 1976), each with an extent k of ``P(K > k) = exp(-beta k^2)`` (Friston et al. 1994, Human Brain Mapping
1:210-220). In one dimension, for curves of human movement: Pataky (2016, J Stat Softw 71(7)).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from scipy.optimize import brentq
from scipy.special import fdtrc, gammaln, ndtr, stdtr
from scipy.stats import chi2

from biodyn.errors import StatisticsError

FieldKind = Literal["gauss", "t", "f", "chi2"]

_FOUR_LN_2 = 4.0 * math.log(2.0)


@dataclass(frozen=True)
class RandomField:
    """A field of a test statistic on a search region.

    Attributes:
        kind: distribution of each node: ``gauss``, ``t`` (df[1]), ``f`` (df[0], df[1]) or ``chi2`` (df[0]).
        df: degrees of freedom of effect and error.
        resels: R0 (pieces) and R1 (length in FWHM) of the search region.
        nodes: number of nodes, for the Bonferroni bound; 0: without that bound.
    """

    kind: FieldKind
    df: tuple[float, float]
    resels: tuple[float, float]
    nodes: int = 0

    def node_probability(self, u: float) -> float:
        """Return rho0(u) = P(z > u) at one node."""
        if self.kind == "gauss":
            return float(ndtr(-u))
        if self.kind == "t":
            return float(stdtr(self.df[1], -u))
        if self.kind == "chi2":
            return float(chi2.sf(u, self.df[0]))
        return float(fdtrc(self.df[0], self.df[1], max(u, 0.0)))

    def upcrossing_density(self, u: float) -> float:
        """Return rho1(u): expected upcrossings of u per resel (Worsley et al. 2004, table 1)."""
        scale = math.sqrt(_FOUR_LN_2)
        k, v = self.df
        if self.kind == "gauss":
            return scale / (2.0 * math.pi) * math.exp(-0.5 * u * u)
        if self.kind == "t":
            return scale / (2.0 * math.pi) * (1.0 + u * u / v) ** (-0.5 * (v - 1.0))
        if u <= 0.0:
            return 0.0
        if self.kind == "chi2":
            log_density = 0.5 * (k - 1.0) * math.log(u) - 0.5 * u - 0.5 * (k - 2.0) * math.log(2.0) - gammaln(0.5 * k)
        else:
            ratio = k * u / v
            log_density = (
                gammaln(0.5 * (v + k - 1.0)) - gammaln(0.5 * v) - gammaln(0.5 * k) + 0.5 * math.log(2.0)
                + 0.5 * (k - 1.0) * math.log(ratio) - 0.5 * (v + k - 2.0) * math.log1p(ratio)
            )  # fmt: skip
        return scale / math.sqrt(2.0 * math.pi) * math.exp(float(log_density))

    def expected_clusters(self, u: float) -> float:
        """Return the expected number of clusters above u (the expected Euler characteristic)."""
        return self.resels[0] * self.node_probability(u) + self.resels[1] * self.upcrossing_density(u)

    def maximum_probability(self, u: float) -> float:
        """Return P(max z > u), the p of a whole field: 1 - exp(-E(u)), or Bonferroni's bound where that is lower.

        Both are upper bounds; Bonferroni's is the lower one for curves as rough as their nodes are apart.
        """
        probability = -math.expm1(-self.expected_clusters(u))
        return min(probability, self.nodes * self.node_probability(u)) if self.nodes else probability

    def threshold(self, alpha: float) -> float:
        """Return u with P(max z > u) = alpha.

        Raises:
            StatisticsError: alpha is not in (0, 0.3]; a field of one resel exceeds its median in 39 % of cases.
        """
        if not 0.0 < alpha <= 0.3:
            raise StatisticsError(f"alpha must lie in (0, 0.3], found {alpha:g}.")
        # E(u) decreases above the mode of the upcrossing density: start well out in the tail and come back
        above = 2.0
        while self.maximum_probability(above) > alpha:
            above *= 2.0
        below = above
        while self.maximum_probability(below) <= alpha:
            below *= 0.8
        return float(brentq(lambda u: self.maximum_probability(u) - alpha, below, above, xtol=1e-12, rtol=1e-14))

    def cluster_probability(self, extent_resels: float, u: float) -> float:
        """Return P(some cluster above u is at least so wide), extent in resels; never more than P(max z > u)."""
        mean = self.expected_clusters(u) * self._extent_probability(extent_resels, u)
        return min(-math.expm1(-mean), self.maximum_probability(u))

    def set_probability(self, count: int, extent_resels: float, u: float) -> float:
        """Return P(at least `count` clusters above u are each at least so wide), a Poisson tail."""
        mean = self.expected_clusters(u) * self._extent_probability(extent_resels, u)
        # summed from `count` upwards: 1 minus the lower tail would lose small probabilities
        term = math.exp(-mean + count * math.log(mean) - math.lgamma(count + 1)) if mean > 0.0 else float(count == 0)
        total, n = 0.0, count
        while term > 1e-17 * total or n <= mean:
            total += term
            n += 1
            term *= mean / n
        return min(total, 1.0)

    def _extent_probability(self, extent_resels: float, u: float) -> float:
        """P(a cluster is at least so wide), with the mean width of a cluster inside the region, rho0 / rho1 resels."""
        mean_extent = self.node_probability(u) / self.upcrossing_density(u)
        return math.exp(-((math.gamma(1.5) * extent_resels / mean_extent) ** 2))
