"""From a statistic field to an answer: by random field theory, or by permutation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.integrate import trapezoid

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import StatisticsError
from biodyn.statistics.spm.field import StatisticField, all_arrangements, arrangement_count, random_arrangements
from biodyn.statistics.spm.linear_model import runs

Method = Literal["random field theory", "permutation"]


@dataclass(frozen=True)
class Cluster:
    """A stretch of the curves where the statistic is beyond the threshold. Positions in nodes from 0, interpolated.

    Attributes:
        start, end: crossings of the threshold; `end` < `start` where a cluster of cycles runs over their end.
        start_percent, end_percent: the same, first node 0, last node 100.
        extent: width in nodes; `extent_resels`: in FWHM.
        mass: area between statistic and threshold.
        peak, peak_node: most extreme value, and its node.
        sign: 1 above, -1 below.
        p: probability of a cluster of this size anywhere under the null hypothesis.
    """

    start: float
    end: float
    start_percent: float
    end_percent: float
    extent: float
    extent_resels: float
    mass: float
    peak: float
    peak_node: int
    sign: int
    p: float


@dataclass(frozen=True)
class Permutations:
    """How a permutation test was made.

    Attributes:
        count: arrangements that were computed, the data's own included.
        possible: arrangements that differ.
        exhaustive: whether all were computed.
        seed: of the random draw, where not.
        cluster_measure: what makes a cluster large: ``mass`` or ``extent``.
        maxima: (count,) largest statistic of each arrangement (of absolute values where two-tailed).
    """

    count: int
    possible: int
    exhaustive: bool
    seed: int
    cluster_measure: str
    maxima: FloatArray


@dataclass(frozen=True)
class SpmResult:
    """One-dimensional statistical parametric mapping of a set of curves.

    Attributes:
        field: the statistic and its smoothness.
        method: how the threshold was found.
        alpha: family-wise error rate under the null hypothesis.
        two_tailed: whether both signs count.
        circular: whether the end of the curves meets their start.
        threshold: critical value of the statistic (of its absolute value where two-tailed).
        p: of the whole field, by its most extreme value.
        clusters: in order of their start.
        p_set: probability of so many clusters at least as wide as the narrowest; NaN without clusters and by permutation.
        permutations: how the exchanging was done, None for random field theory.
        diagnostics: nodes left out, doubts about smoothness.
    """

    field: StatisticField
    method: Method
    alpha: float
    two_tailed: bool
    circular: bool
    threshold: float
    p: float
    clusters: tuple[Cluster, ...]
    p_set: float
    permutations: Permutations | None = None
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def significant(self) -> bool:
        """Whether anything is beyond the threshold."""
        return bool(self.clusters)

    @property
    def z(self) -> FloatArray:
        """The statistic (Q,), NaN at nodes that are not tested."""
        return self.field.z

    def band(self) -> tuple[FloatArray, FloatArray]:
        """Return the simultaneous 1 - alpha band (Q,), (Q,) about the effect, in its unit (two-tailed t; NaN for F)."""
        half = self.threshold * self.field.standard_error
        return self.field.effect - half, self.field.effect + half

    def sentence(self) -> str:
        """Return the finding, as one would print it in a paper."""
        sides = "|t|" if self.two_tailed else self.field.kind.replace("f", "F")
        critical = f"critical {sides} = {self.threshold:.3f}, alpha = {self.alpha:g}"
        name = f"{self.field.test[0].upper()}{self.field.test[1:]}, SPM{{{self.field.symbol}}}"
        if not self.clusters:
            return f"{name}: nowhere beyond the threshold ({critical}; {_p_text(self.p)})."
        parts = [
            f"{cluster.start_percent:.1f}-{cluster.end_percent:.1f} % ({_p_text(cluster.p)})"
            for cluster in self.clusters
        ]
        count = "one cluster" if len(parts) == 1 else f"{len(parts)} clusters"
        return f"{name}: {count} beyond the threshold ({critical}): {', '.join(parts)}."

    def methods(self) -> str:
        """Return what was done, for the methods section."""
        field = self.field
        tested = int(np.count_nonzero(field.nodes))
        pieces = int(field.resels[0])
        where = f"{tested} nodes" + (f" in {pieces} pieces" if pieces > 1 else "")
        text = f"One-dimensional statistical parametric mapping ({field.test}, {field.curves} curves, {where}). "
        tails = "" if field.kind == "f" else (", two-tailed" if self.two_tailed else ", one-tailed")
        if self.permutations is None:
            return text + (
                f"The critical threshold at alpha = {self.alpha:g}{tails} and the p of clusters come from random field theory "
                f"(smoothness FWHM = {field.fwhm:.1f} nodes, {field.resels[1]:.2f} resels; "
                "Friston et al. 2007; Pataky 2016)."
            )
        drawn = self.permutations
        how = f"all {drawn.count} arrangements" if drawn.exhaustive else (
            f"{drawn.count} arrangements drawn at random (seed {drawn.seed}) of {_many(drawn.possible)}"
        )  # fmt: skip
        return text + (
            f"The critical threshold at alpha = {self.alpha:g}{tails} and the p of clusters (by {drawn.cluster_measure}) "
            f"come from the largest values over {how} (Nichols & Holmes 2002)."
        )


def _p_text(p: float) -> str:
    if math.isnan(p):
        return "p unknown"
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def _many(count: int) -> str:
    """A count as text; factorials are too long to print and too large for a float."""
    return str(count) if count < 10**7 else f"about 10^{len(str(count)) - 1}"


# -- Clusters -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stretch:
    """One stretch above (sign 1) or below minus (sign -1) the threshold. Positions in nodes, from 0, interpolated.

    Attributes:
        start, end: where the field crosses the threshold; `end` < `start` in a stretch across the end of a cycle.
        extent: width in nodes.
        mass: area between field and threshold.
        peak, peak_node: the most extreme value and where it is.
        sign: 1 above, -1 below.
    """

    start: float
    end: float
    extent: float
    mass: float
    peak: float
    peak_node: int
    sign: int


def stretches(z: FloatArray, threshold: float, two_tailed: bool, circular: bool) -> tuple[Stretch, ...]:
    """Return the stretches of a field z (Q,) beyond the threshold, in order of their start; NaN is never beyond.

    With `circular` the two stretches that touch the first and the last node are one (both nodes are the same instant).
    """
    clusters = _one_sided(z, threshold, 1, circular) + (_one_sided(-z, threshold, -1, circular) if two_tailed else [])
    return tuple(sorted(clusters, key=lambda stretch: stretch.start))


def _one_sided(z: FloatArray, threshold: float, sign: int, circular: bool) -> list[Stretch]:
    excess = z - threshold
    clusters = []
    for first, last in runs(excess > 0.0):
        start = first - _overhang(excess, first, -1)
        end = last + _overhang(excess, last, 1)
        peak_node = first + int(np.argmax(excess[first : last + 1]))
        inside = np.concatenate([[0.0], excess[first : last + 1], [0.0]])
        at = np.concatenate([[start], np.arange(first, last + 1), [end]])
        mass = float(trapezoid(inside, at))
        clusters.append(Stretch(start, end, end - start, mass, sign * float(z[peak_node]), peak_node, sign))
    if circular and len(clusters) > 1 and clusters[0].start == 0.0 and clusters[-1].end == len(z) - 1.0:
        head, tail = clusters[0], clusters[-1]
        peak = max(head, tail, key=lambda stretch: abs(stretch.peak))
        joined = Stretch(
            tail.start, head.end, head.extent + tail.extent, head.mass + tail.mass, peak.peak, peak.peak_node, sign
        )
        clusters = [*clusters[1:-1], joined]
    return clusters


def _overhang(excess: FloatArray, node: int, step: int) -> float:
    """How far beyond its last node a stretch reaches: to the interpolated crossing, or not at all at an edge."""
    beyond = node + step
    if not 0 <= beyond < len(excess) or not np.isfinite(excess[beyond]):
        return 0.0
    return float(excess[node] / (excess[node] - excess[beyond]))


def largest_stretch(
    fields: FloatArray, gaps: FloatArray, threshold: float, two_tailed: bool, circular: bool
) -> tuple[FloatArray, FloatArray]:
    """Return mass and extent (N,) of the largest stretch of each field (N, nodes), zero where nothing is beyond.

    The same measures as `stretches`, for thousands of fields at once.

    Parameters: `gaps` (nodes - 1,) is 1 between neighbouring nodes of the curves, 0 across masked nodes.
    """
    mass, extent = _largest_one_sided(fields - threshold, gaps, circular)
    if two_tailed:
        below = _largest_one_sided(-fields - threshold, gaps, circular)
        mass, extent = np.maximum(mass, below[0]), np.maximum(extent, below[1])
    return mass, extent


def _largest_one_sided(excess: FloatArray, gaps: FloatArray, circular: bool) -> tuple[FloatArray, FloatArray]:
    mass, extent = np.zeros(len(excess)), np.zeros(len(excess))
    concerned = np.flatnonzero(excess.max(axis=1) > 0.0)
    if concerned.size == 0:
        return mass, extent
    part = excess[concerned]
    above = part > 0.0
    a, b = part[:, :-1], part[:, 1:]
    both, either = above[:, :-1] & above[:, 1:], above[:, :-1] | above[:, 1:]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(both, 1.0, np.where(either, np.maximum(a, b) / np.abs(a - b), 0.0)) * gaps
    area = share * np.where(both, 0.5 * (a + b), 0.5 * np.maximum(a, b))
    # every step belongs to the stretch of its nodes above; the step between two such nodes is shared in halves
    half = np.where(both, 0.5, 1.0)
    broken = gaps == 0.0
    for measure, result in ((area, mass), (share, extent)):
        weights = np.zeros(part.shape)
        weights[:, :-1] += half * measure * above[:, :-1]
        weights[:, 1:] += half * measure * above[:, 1:]
        result[concerned] = _largest_sum(weights, above, broken, circular)
    return mass, extent


def _largest_sum(weights: FloatArray, above: np.ndarray, broken: np.ndarray, circular: bool) -> FloatArray:
    """Largest sum of weights (n, nodes) over an unbroken run of `above`, a row at a time."""
    n, nodes = weights.shape
    begins = above.copy()
    begins[:, 1:] &= ~above[:, :-1] | broken
    number = np.cumsum(begins.reshape(-1)) - 1  # of the run each node above belongs to, over all rows
    flat = above.reshape(-1)
    sums = np.bincount(number[flat], weights=weights.reshape(-1)[flat])
    if circular:
        number = number.reshape(n, nodes)
        ends = np.flatnonzero(above[:, 0] & above[:, -1] & (number[:, 0] != number[:, -1]))
        sums[number[ends, -1]] += sums[number[ends, 0]]
    row = np.repeat(np.arange(n), nodes)[flat]
    largest = np.zeros(n)
    np.maximum.at(largest, row, sums[number.reshape(-1)[flat]])
    return largest


# -- Inference ------------------------------------------------------------------------------------------------------


#: Random relabellings and seed of a permutation test.
PERMUTATIONS, SEED = 10_000, 0


def random_field_inference(
    field: StatisticField, alpha: float = 0.05, two_tailed: bool = True, circular: bool = False
) -> SpmResult:
    """Return threshold, clusters and their p by random field theory.

    A two-tailed t uses alpha / 2 on each side and twice the one-sided p. F has one tail. `circular`: the curves are cycles,
    whose end meets their start; clusters at both ends are one, with the threshold for open curves (slightly conservative).
    """
    tails = _tails(field, alpha, two_tailed)
    null = field.random_field
    threshold = null.threshold(alpha / tails)
    intervals = stretches(field.z, threshold, tails == 2, circular)
    clusters = tuple(
        _cluster(stretch, field, min(1.0, tails * null.cluster_probability(stretch.extent / field.fwhm, threshold)))
        for stretch in intervals
    )
    p_set = math.nan
    if intervals:
        narrowest = min(stretch.extent for stretch in intervals) / field.fwhm
        p_set = min(1.0, tails * null.set_probability(len(intervals), narrowest, threshold))
    return SpmResult(
        field=field,
        method="random field theory",
        alpha=alpha,
        two_tailed=tails == 2,
        circular=circular,
        threshold=threshold,
        p=min(1.0, tails * null.maximum_probability(_extreme(field.z[field.nodes], tails == 2))),
        clusters=clusters,
        p_set=p_set,
        diagnostics=field.diagnostics + _smoothness_doubts(field),
    )


def permutation_inference(
    field: StatisticField,
    alpha: float = 0.05,
    two_tailed: bool = True,
    circular: bool = False,
    permutations: int = PERMUTATIONS,
    seed: int = SEED,
    cluster_measure: Literal["mass", "extent"] = "mass",
) -> SpmResult:
    """Return threshold, clusters and their p from the largest values over exchanged curves (Nichols & Holmes 2002, HBM 15:1-25).

    All arrangements are enumerated if they are at most `permutations`, otherwise that number is drawn with `seed`, the data's
    own among them. The threshold is the value that no more than alpha of the maxima exceed. The p of a cluster is the share
    of arrangements with a cluster as large (`cluster_measure`: area beyond the threshold, or width), the largest in each.

    Raises:
        StatisticsError: too few arrangements exist for alpha ever to be reached.
    """
    tails = _tails(field, alpha, two_tailed)
    exchange = field.statistic.exchange
    possible = arrangement_count(exchange)
    exhaustive = possible <= permutations
    count = possible if exhaustive else permutations
    if count * alpha < 1.0:
        raise StatisticsError(
            f"{count} arrangements cannot give a p of {alpha:g}: the least possible is {1.0 / count:.3g}.",
            "More curves are needed." if exhaustive else "More permutations are needed.",
        )
    arrangements = (
        all_arrangements(exchange) if exhaustive else random_arrangements(exchange, count, np.random.default_rng(seed))
    )
    fields = field.statistic.fields(arrangements)
    maxima = np.abs(fields).max(axis=1) if tails == 2 else fields.max(axis=1)
    threshold = float(np.sort(maxima)[::-1][math.floor(alpha * count + 1e-9)])
    gaps = (np.diff(np.flatnonzero(field.nodes)) == 1).astype(float)
    closed = circular and bool(field.nodes[0] and field.nodes[-1])
    mass, extent = largest_stretch(fields, gaps, threshold, tails == 2, closed)
    largest = mass if cluster_measure == "mass" else extent
    clusters = tuple(
        _cluster(stretch, field, _share_as_large(largest, getattr(stretch, cluster_measure)))
        for stretch in stretches(field.z, threshold, tails == 2, circular)
    )
    return SpmResult(
        field=field,
        method="permutation",
        alpha=alpha,
        two_tailed=tails == 2,
        circular=circular,
        threshold=threshold,
        p=_share_as_large(maxima, _extreme(field.z[field.nodes], tails == 2)),
        clusters=clusters,
        p_set=math.nan,
        permutations=Permutations(count, possible, exhaustive, seed, cluster_measure, maxima),
        diagnostics=field.diagnostics,
    )


def _tails(field: StatisticField, alpha: float, two_tailed: bool) -> int:
    max_alpha = 0.25
    if not 0.0 < alpha <= max_alpha:
        raise StatisticsError(f"alpha must be above 0 and at most {max_alpha:g}, found {alpha:g}.")
    return 2 if two_tailed and field.kind == "t" else 1


def _extreme(z: FloatArray, two_tailed: bool) -> float:
    return float(np.abs(z).max() if two_tailed else z.max())


def _share_as_large(drawn: FloatArray, observed: float) -> float:
    # the data's own arrangement comes back with round-off and must count
    return float(np.mean(drawn >= observed - 1e-9 * max(1.0, abs(observed))))


def _cluster(stretch: Stretch, field: StatisticField, p: float) -> Cluster:
    step = 100.0 / (len(field.z) - 1)
    return Cluster(
        start=stretch.start,
        end=stretch.end,
        start_percent=stretch.start * step,
        end_percent=stretch.end * step,
        extent=stretch.extent,
        extent_resels=stretch.extent / field.fwhm,
        mass=stretch.mass,
        peak=stretch.peak,
        peak_node=stretch.peak_node,
        sign=stretch.sign,
        p=p,
    )


def _smoothness_doubts(field: StatisticField) -> tuple[Diagnostic, ...]:
    smooth_resels = 0.5  # a region shorter than this in FWHM is nearly a scalar
    rough_fwhm = 3.0  # below this FWHM a field is not sampled finely enough for the theory of continuous fields
    doubts = []
    if field.fwhm < rough_fwhm:
        doubts.append(
            Diagnostic(
                code="spm-rough",
                severity="info",
                message=f"The curves are smooth over {field.fwhm:.1f} nodes only; the threshold is strict (conservative).",
                value=field.fwhm,
                limit=rough_fwhm,
                unit="nodes",
                hint="Permutation takes no theory of smooth fields.",
            )
        )
    if field.resels[1] < smooth_resels:
        doubts.append(
            Diagnostic(
                code="spm-smooth",
                severity="info",
                message=f"The curves are so smooth that they hold {field.resels[1]:.2f} independent stretches.",
                value=field.resels[1],
                limit=smooth_resels,
                unit="resels",
                hint="Check for an offset. A scalar test may be sufficient.",
            )
        )
    return tuple(doubts)
