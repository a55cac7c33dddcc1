"""A test statistic at every node of a set of curves, and what inference needs to know about it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
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
