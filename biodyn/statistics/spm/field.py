"""A test statistic at every node of a set of curves, and what inference needs to know about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from biodyn.conventions import BoolArray, FloatArray, IntArray
from biodyn.diagnostics import Diagnostic
from biodyn.statistics.spm.random_field import RandomField


@dataclass(frozen=True)
class Exchange:
    """What may be exchanged between curves if there is no effect.

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
        residuals: (J, Q) of the model, from which the smoothness comes.
        fwhm: smoothness, in nodes.
        resels: R0 (pieces of the region) and R1 (its length in FWHM).
        curves: how many curves (pairs for a paired test).
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
    residuals: FloatArray
    fwhm: float
    resels: tuple[float, float]
    curves: int
    statistic: Statistic
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def random_field(self) -> RandomField:
        """The field's null distribution."""
        return RandomField(self.kind, self.df, self.resels, int(np.count_nonzero(self.nodes)))

    @property
    def symbol(self) -> str:
        """The statistic as printed, e.g. ``t(9)`` or ``F(2, 18)``."""
        numerator, error = (f"{value:.4g}" for value in self.df)
        return f"t({error})" if self.kind == "t" else f"F({numerator}, {error})"
