"""The answer of a test of curves, and the sentences that say it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.statistics.spm.field import StatisticField

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
        p: probability of a cluster so large anywhere, if there is no effect.
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
        alpha: chance to find anything anywhere if there is no effect.
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
