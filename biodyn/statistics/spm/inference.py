"""Inference from a statistic field by random field theory or by permutation."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import scipy

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import StatisticsError
from biodyn.statistics.spm.linear_model import (
    StatisticField,
    all_arrangements,
    arrangement_count,
    random_arrangements,
    true_intervals,
)

Method = Literal["random field theory", "permutation"]


@dataclass(frozen=True)
class Cluster:
    """Part of the curve in which the statistic exceeds the threshold (sign 1) or is below its negative (sign -1).

    Attributes:
        start, end: interpolated crossings of the threshold, in nodes from 0. mass: area between statistic and threshold.
        peak, peak_node: most extreme value, and its node.
        sign: 1 above, -1 below.
        p: probability of a cluster of this size anywhere under the null hypothesis, NaN before inference.
    """

    start: float
    end: float
    mass: float
    peak: float
    peak_node: int
    sign: int
    p: float = math.nan


@dataclass(frozen=True)
class SpmResult:
    """Result of one-dimensional statistical parametric mapping of a set of curves.

    Attributes:
        field: the statistic and its smoothness.
        method: method by which the threshold was determined.
        threshold: critical value of the statistic (of its absolute value if two-tailed).
        p: p-value of the whole field, from its most extreme value.
        clusters: clusters in order of their start.
        diagnostics: findings about excluded nodes and smoothness.
        maxima: (arrangements,) largest statistic of each arrangement of a permutation test (of absolute values if two-tailed).
    """

    field: StatisticField
    method: Method
    threshold: float
    p: float
    clusters: tuple[Cluster, ...]
    diagnostics: tuple[Diagnostic, ...]
    maxima: FloatArray | None = None

    @property
    def is_significant(self) -> bool:
        """Return whether the statistic exceeds the threshold at any node."""
        return bool(self.clusters)

    def confidence_band(self) -> tuple[FloatArray, FloatArray]:
        """Return the simultaneous 1 - alpha band (Q,), (Q,) about the effect, in its unit (two-tailed t; NaN for F)."""
        half = self.threshold * self.field.standard_error
        return self.field.effect - half, self.field.effect + half


# -- Clusters -------------------------------------------------------------------------------------------------------


def find_clusters(z: FloatArray, threshold: float, two_tailed: bool) -> tuple[Cluster, ...]:
    """Return the clusters of a field z (Q,) beyond the threshold, sorted by start; NaN never exceeds it."""
    clusters = _one_sided_clusters(z, threshold, 1) + (_one_sided_clusters(-z, threshold, -1) if two_tailed else [])
    return tuple(sorted(clusters, key=lambda cluster: cluster.start))


def _one_sided_clusters(z: FloatArray, threshold: float, sign: int) -> list[Cluster]:
    excess = z - threshold
    clusters = []
    for first, last in true_intervals(excess > 0.0):
        start = first - _edge_extension(excess, first, -1)
        end = last + _edge_extension(excess, last, 1)
        peak_node = first + int(np.argmax(excess[first : last + 1]))
        inside = np.concatenate([[0.0], excess[first : last + 1], [0.0]])
        at = np.concatenate([[start], np.arange(first, last + 1), [end]])
        mass = float(scipy.integrate.trapezoid(inside, at))
        clusters.append(Cluster(start, end, mass, sign * float(z[peak_node]), peak_node, sign))
    return clusters


def _edge_extension(excess: FloatArray, node: int, step: int) -> float:
    """Return the distance from the last node of a cluster to the interpolated crossing, or 0 at an edge."""
    beyond = node + step
    if not 0 <= beyond < len(excess) or not np.isfinite(excess[beyond]):
        return 0.0
    return float(excess[node] / (excess[node] - excess[beyond]))


def largest_cluster_mass(fields: FloatArray, gaps: FloatArray, threshold: float, two_tailed: bool) -> FloatArray:
    """Return the mass (N,) of the largest cluster of each field (N, nodes), zero if nothing exceeds the threshold.

    The mass is that of `find_clusters`, computed for thousands of fields at once.

    Parameters: `gaps` (nodes - 1,) is 1 between neighbouring nodes of the curves, 0 across masked nodes.
    """
    mass = _largest_one_sided_mass(fields - threshold, gaps)
    return np.maximum(mass, _largest_one_sided_mass(-fields - threshold, gaps)) if two_tailed else mass


def _largest_one_sided_mass(excess: FloatArray, gaps: FloatArray) -> FloatArray:
    mass = np.zeros(len(excess))
    concerned = np.flatnonzero(excess.max(axis=1) > 0.0)
    if concerned.size == 0:
        return mass
    part = excess[concerned]
    above = part > 0.0
    a, b = part[:, :-1], part[:, 1:]
    both, either = above[:, :-1] & above[:, 1:], above[:, :-1] | above[:, 1:]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(both, 1.0, np.where(either, np.maximum(a, b) / np.abs(a - b), 0.0)) * gaps
    area = share * np.where(both, 0.5 * (a + b), 0.5 * np.maximum(a, b))
    # every interval belongs to the cluster of its nodes above the threshold; an interval between two such nodes is halved
    area *= np.where(both, 0.5, 1.0)
    weights = np.zeros(part.shape)
    weights[:, :-1] += area * above[:, :-1]
    weights[:, 1:] += area * above[:, 1:]
    # number, over all rows, of the continuous run to which each node above the threshold belongs
    begins = above.copy()
    begins[:, 1:] &= ~above[:, :-1] | (gaps == 0.0)
    flat = above.reshape(-1)
    number = np.cumsum(begins.reshape(-1))[flat] - 1
    sums = np.bincount(number, weights=weights.reshape(-1)[flat])
    largest = np.zeros(len(part))
    np.maximum.at(largest, np.repeat(np.arange(len(part)), part.shape[1])[flat], sums[number])
    mass[concerned] = largest
    return mass


# -- Inference ------------------------------------------------------------------------------------------------------


#: Random relabellings and seed of a permutation test.
PERMUTATIONS, SEED = 10_000, 0


def random_field_inference(field: StatisticField, alpha: float = 0.05, two_tailed: bool = True) -> SpmResult:
    """Return threshold, clusters and their p-values from random field theory.

    A two-tailed t uses alpha / 2 on each side and twice the one-sided p. F has one tail.
    """
    tails = _tail_count(field, alpha, two_tailed)
    null = field.null_distribution
    threshold = null.threshold(alpha / tails)
    clusters = tuple(
        replace(c, p=min(1.0, tails * null.cluster_probability((c.end - c.start) / field.fwhm, threshold)))
        for c in find_clusters(field.z, threshold, tails == 2)
    )
    p = min(1.0, tails * null.maximum_probability(_extreme_value(field.z[field.nodes], tails == 2)))
    diagnostics = field.diagnostics + _smoothness_findings(field)
    return SpmResult(field, "random field theory", threshold, p, clusters, diagnostics)


def permutation_inference(
    field: StatisticField,
    alpha: float = 0.05,
    two_tailed: bool = True,
    permutations: int = PERMUTATIONS,
    seed: int = SEED,
) -> SpmResult:
    """Return threshold, clusters and their p-values from a permutation test of maxima (Nichols & Holmes 2002, HBM 15:1-25).

    All arrangements are enumerated if there are at most `permutations`; otherwise this number, including the observed
    arrangement, is drawn with `seed`. The threshold is exceeded by a fraction of at most alpha of the maxima. The p-value of a
    cluster is the fraction of arrangements whose largest cluster (area beyond the threshold) is at least as large.

    Raises:
        StatisticsError: there are too few arrangements to reach alpha.
    """
    tails = _tail_count(field, alpha, two_tailed)
    exchange = field.statistic.exchange
    possible = arrangement_count(exchange)
    exhaustive = possible <= permutations
    count = possible if exhaustive else permutations
    if count * alpha < 1.0:
        raise StatisticsError(
            f"With {count} arrangements the smallest possible p-value is {1.0 / count:.3g}, which exceeds alpha = "
            f"{alpha:g}.",
            "More curves are needed." if exhaustive else "More permutations are needed.",
        )
    arrangements = (
        all_arrangements(exchange) if exhaustive else random_arrangements(exchange, count, np.random.default_rng(seed))
    )
    fields = field.statistic.statistic_fields(arrangements)
    maxima = np.abs(fields).max(axis=1) if tails == 2 else fields.max(axis=1)
    threshold = float(np.sort(maxima)[::-1][math.floor(alpha * count + 1e-9)])
    gaps = (np.diff(np.flatnonzero(field.nodes)) == 1).astype(float)
    largest = largest_cluster_mass(fields, gaps, threshold, tails == 2)
    clusters = tuple(
        replace(cluster, p=_permutation_p_value(largest, cluster.mass))
        for cluster in find_clusters(field.z, threshold, tails == 2)
    )
    p = _permutation_p_value(maxima, _extreme_value(field.z[field.nodes], tails == 2))
    return SpmResult(field, "permutation", threshold, p, clusters, field.diagnostics, maxima)


def _tail_count(field: StatisticField, alpha: float, two_tailed: bool) -> int:
    max_alpha = 0.25
    if not 0.0 < alpha <= max_alpha:
        raise StatisticsError(f"alpha must be above 0 and at most {max_alpha:g}, found {alpha:g}.")
    return 2 if two_tailed and field.kind == "t" else 1


def _extreme_value(z: FloatArray, two_tailed: bool) -> float:
    return float(np.abs(z).max() if two_tailed else z.max())


def _permutation_p_value(drawn: FloatArray, observed: float) -> float:
    # the observed arrangement is recomputed with round-off and must be counted
    return float(np.mean(drawn >= observed - 1e-9 * max(1.0, abs(observed))))


def _smoothness_findings(field: StatisticField) -> tuple[Diagnostic, ...]:
    smooth_resels = 0.5  # a shorter region, in units of the FWHM, is nearly a scalar
    rough_fwhm = 3.0  # below this FWHM a field is not sampled finely enough for the theory of continuous fields
    doubts = []
    if field.fwhm < rough_fwhm:
        doubts.append(
            Diagnostic(
                code="spm-rough",
                severity="info",
                message=f"The smoothness of the curves (FWHM) is only {field.fwhm:.1f} nodes, so that the threshold is "
                "conservative.",
                value=field.fwhm,
                limit=rough_fwhm,
                unit="nodes",
                hint="A permutation test does not assume smooth fields.",
            )
        )
    if field.resels[1] < smooth_resels:
        doubts.append(
            Diagnostic(
                code="spm-smooth",
                severity="info",
                message=f"The curves are so smooth that they have only {field.resels[1]:.2f} independent sections "
                "(resels).",
                value=field.resels[1],
                limit=smooth_resels,
                unit="resels",
                hint="Check for an offset between the curves. A test of a single number may be sufficient.",
            )
        )
    return tuple(doubts)
