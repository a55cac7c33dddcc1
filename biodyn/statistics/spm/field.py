"""A test statistic at every node of a set of curves, and what inference needs to know about it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, Protocol

import numpy as np
from scipy.optimize import brentq
from scipy.special import fdtrc, gammaln, stdtr

from biodyn.conventions import BoolArray, FloatArray, IntArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import StatisticsError


@dataclass(frozen=True)
class Exchange:
    """Exchangeability of curves under the null hypothesis.

    Attributes:
        kind: ``rows`` (curves may change places) or ``signs`` (each curve may change its sign).
        blocks: (J,) curves change places only within their block, e.g. a subject.
        alike: (J,) curves with the same number have the same place in the design: exchanging them changes nothing.
    """

    kind: Literal["rows", "signs"]
    blocks: IntArray
    alike: IntArray


@dataclass(frozen=True)
class Arrangements:
    """N ways to exchange J curves: curve j of the data takes the place `rows[n, j]` of the design, times `signs[n, j]`."""

    rows: IntArray
    signs: FloatArray


class Statistic(Protocol):
    """The same statistic for other arrangements of the same curves."""

    @property
    def exchange(self) -> Exchange:
        """What may be exchanged."""
        ...

    def fields(self, arrangements: Arrangements) -> FloatArray:
        """Return the statistic (N, nodes) for N arrangements, at the nodes that are tested."""
        ...


@dataclass(frozen=True)
class StatisticField:
    """A test statistic over the nodes of curves.

    Attributes:
        test: what was tested, in words, e.g. ``paired t test``.
        kind: ``t`` or ``f``.
        z: (Q,) the statistic, NaN at nodes that are not tested.
        df: degrees of freedom of effect (1 for t) and error.
        nodes: (Q,) True where tested.
        effect: (Q,) estimated effect in the unit of the curves (mean difference, slope), NaN for F.
        standard_error: (Q,) of the effect, NaN for F.
        fwhm: smoothness, in nodes.
        resels: R0 (pieces of the region) and R1 (its length in FWHM).
        statistic: recomputes the field for exchanged curves.
        diagnostics: nodes left out, and other doubts.
    """

    test: str
    kind: Literal["t", "f"]
    z: FloatArray
    df: tuple[float, float]
    nodes: BoolArray
    effect: FloatArray
    standard_error: FloatArray
    fwhm: float
    resels: tuple[float, float]
    statistic: Statistic
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def random_field(self) -> RandomField:
        """The field's null distribution."""
        return RandomField(self.kind, self.df, self.resels, int(np.count_nonzero(self.nodes)))


# -- Arrangements of exchanged curves -------------------------------------------------------------------------------


def arrangement_count(exchange: Exchange) -> int:
    """Return how many arrangements differ: 2^J signs, or the product over blocks of J_b! / prod(alike!)."""
    if exchange.kind == "signs":
        return 1 << len(exchange.blocks)
    count = 1
    for block in np.unique(exchange.blocks):
        sizes = np.unique(exchange.alike[exchange.blocks == block], return_counts=True)[1]
        count *= math.factorial(int(sizes.sum())) // math.prod(math.factorial(int(size)) for size in sizes)
    return count


def all_arrangements(exchange: Exchange) -> Arrangements:
    """Return each arrangement that differs, once."""
    curves = len(exchange.blocks)
    if exchange.kind == "signs":
        bits = (np.arange(1 << curves)[:, None] >> np.arange(curves)) & 1
        return Arrangements(np.tile(np.arange(curves), (len(bits), 1)), np.where(bits == 1, -1.0, 1.0))
    rows = np.arange(curves)[None, :]
    for block in np.unique(exchange.blocks):
        members = np.flatnonzero(exchange.blocks == block)
        places = _distinct_orders(exchange.alike[members])  # (n, members): a place of the block for each member
        rows = np.repeat(rows, len(places), axis=0)
        rows[:, members] = np.tile(members[places], (len(rows) // len(places), 1))
    return Arrangements(rows, np.ones(rows.shape))


def random_arrangements(exchange: Exchange, count: int, rng: np.random.Generator) -> Arrangements:
    """Return the data's own arrangement and count - 1 drawn at random.

    The own one belongs to the null distribution, or p could be zero (Phipson & Smyth 2010, Stat Appl Genet Mol Biol 9:39).
    """
    curves = len(exchange.blocks)
    rows = np.tile(np.arange(curves), (count, 1))
    signs = np.ones((count, curves))
    if exchange.kind == "signs":
        signs[1:] = rng.choice([-1.0, 1.0], size=(count - 1, curves))
    else:
        for block in np.unique(exchange.blocks):
            members = np.flatnonzero(exchange.blocks == block)
            rows[1:, members] = rng.permuted(rows[1:, members], axis=1)
    return Arrangements(rows, signs)


def _distinct_orders(alike: IntArray) -> IntArray:
    """Return each order (n, J) of places 0..J-1 that puts unlike places elsewhere, the unchanged one included."""
    kinds, sizes = np.unique(alike, return_counts=True)
    orders = np.full((1, len(alike)), -1)
    for kind, size in zip(kinds, sizes, strict=True):
        places = np.flatnonzero(alike == kind)
        free = np.nonzero(orders < 0)[1].reshape(len(orders), -1)
        chosen = np.array(list(combinations(range(free.shape[1]), int(size))))
        members = free[:, chosen].reshape(-1, int(size))  # who of the free takes these places
        orders = np.repeat(orders, len(chosen), axis=0)
        orders[np.arange(len(orders))[:, None], members] = places
    return orders


@dataclass(frozen=True)
class RandomField:
    """A field of a test statistic on a search region.

    Attributes:
        kind: distribution of each node: ``t`` (df[1]) or ``f`` (df[0], df[1]).
        df: degrees of freedom of effect and error.
        resels: R0 (pieces) and R1 (length in FWHM) of the search region.
        nodes: number of nodes, for the Bonferroni bound.
    """

    kind: Literal["t", "f"]
    df: tuple[float, float]
    resels: tuple[float, float]
    nodes: int

    def node_probability(self, u: float) -> float:
        """Return rho0(u) = P(z > u) at one node."""
        if self.kind == "t":
            return float(stdtr(self.df[1], -u))
        return float(fdtrc(self.df[0], self.df[1], max(u, 0.0)))

    def upcrossing_density(self, u: float) -> float:
        """Return rho1(u): expected upcrossings of u per resel (Worsley et al. 2004, table 1)."""
        four_ln_2 = 4.0 * math.log(2.0)
        scale = math.sqrt(four_ln_2)
        k, v = self.df
        if self.kind == "t":
            return scale / (2.0 * math.pi) * (1.0 + u * u / v) ** (-0.5 * (v - 1.0))
        if u <= 0.0:
            return 0.0
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
        return min(probability, self.nodes * self.node_probability(u))

    def threshold(self, alpha: float) -> float:
        """Return u with P(max z > u) = alpha.

        Raises:
            StatisticsError: alpha is not in (0, 0.3]; a field of one resel exceeds its median in 39 % of cases.
        """
        if not 0.0 < alpha <= 0.3:
            raise StatisticsError(f"alpha must be in (0, 0.3], found {alpha:g}.")
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
        # the mean width of a cluster inside the region is rho0 / rho1 resels
        mean_extent = self.node_probability(u) / self.upcrossing_density(u)
        wider = math.exp(-((math.gamma(1.5) * extent_resels / mean_extent) ** 2))
        return min(-math.expm1(-self.expected_clusters(u) * wider), self.maximum_probability(u))
