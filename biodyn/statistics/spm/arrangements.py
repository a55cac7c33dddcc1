"""Every way, or a random draw of the ways, to exchange curves under the hypothesis of no effect."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

from biodyn.conventions import IntArray
from biodyn.statistics.spm.field import Arrangements, Exchange


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
