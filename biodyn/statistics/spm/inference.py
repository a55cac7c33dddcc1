"""From a statistic field to an answer: by random field theory, or by permutation."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import StatisticsError
from biodyn.statistics.levels import ALPHA, PERMUTATIONS, SEED
from biodyn.statistics.spm.arrangements import all_arrangements, arrangement_count, random_arrangements
from biodyn.statistics.spm.clusters import Stretch, largest_stretch, stretches
from biodyn.statistics.spm.field import StatisticField
from biodyn.statistics.spm.result import Cluster, Permutations, SpmResult

_ROUGH_NODES = 3.0  # below this FWHM a field is not sampled finely enough for the theory of continuous fields
_LARGEST_ALPHA = 0.25
_SMOOTH_RESELS = 0.5  # a region shorter than this in FWHM is nearly a scalar


def random_field_inference(
    field: StatisticField, alpha: float = ALPHA, two_tailed: bool = True, circular: bool = False
) -> SpmResult:
    """Return threshold, clusters and their p by random field theory.

    A two-tailed t uses alpha / 2 on each side and twice the one-sided p. F has one tail. `circular`: the curves are cycles,
    whose end meets their start; clusters at both ends are one, the threshold stays that of open curves (a little strict).
    """
    tails = _tails(field, alpha, two_tailed)
    null = field.random_field
    threshold = null.threshold(alpha / tails)
    found = stretches(field.z, threshold, tails == 2, circular)
    clusters = tuple(
        _cluster(stretch, field, min(1.0, tails * null.cluster_probability(stretch.extent / field.fwhm, threshold)))
        for stretch in found
    )
    p_set = math.nan
    if found:
        narrowest = min(stretch.extent for stretch in found) / field.fwhm
        p_set = min(1.0, tails * null.set_probability(len(found), narrowest, threshold))
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
    alpha: float = ALPHA,
    two_tailed: bool = True,
    circular: bool = False,
    permutations: int = PERMUTATIONS,
    seed: int = SEED,
    cluster_measure: Literal["mass", "extent"] = "mass",
) -> SpmResult:
    """Return threshold, clusters and their p from the largest values over exchanged curves (Nichols & Holmes 2002, HBM 15:1-25).

    All arrangements are enumerated where there are no more than `permutations`, else so many are drawn with `seed`, the data's
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
    if not 0.0 < alpha <= _LARGEST_ALPHA:
        raise StatisticsError(f"alpha must lie above 0 and be no more than {_LARGEST_ALPHA:g}, found {alpha:g}.")
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
    doubts = []
    if field.fwhm < _ROUGH_NODES:
        doubts.append(
            Diagnostic(
                code="spm-rough",
                severity="info",
                message=f"The curves are smooth over {field.fwhm:.1f} nodes only; the threshold is strict (conservative).",
                value=field.fwhm,
                limit=_ROUGH_NODES,
                unit="nodes",
                hint="Permutation takes no theory of smooth fields.",
            )
        )
    if field.resels[1] < _SMOOTH_RESELS:
        doubts.append(
            Diagnostic(
                code="spm-smooth",
                severity="info",
                message=f"The curves are so smooth that they hold {field.resels[1]:.2f} independent stretches.",
                value=field.resels[1],
                limit=_SMOOTH_RESELS,
                unit="resels",
                hint="Was an offset left in them? A scalar test may say the same.",
            )
        )
    return tuple(doubts)
