"""Cholesky factor of matrices that couple each block of unknowns with a few next ones, and what is made of it.

A block column of n unknowns lies in memory as it is worked on: `panels` (flat) has n rows of `stride` numbers for each block,
    panels[(k n + p) stride + i] = A[k n + i, k n + p],   later L[k n + i, k n + p],   i >= p,
rows of the lower triangle from the block's first unknown on, (reach + 1) n of them, then WIDTH zeros. What stands at i < p is
never used. With U = L^T every row is one of U.

All work is done by `products.add_products`. Right-hand sides are rows, too: their number is a multiple of WIDTH. `np.int64`
stands where a plain number would have numba compile a part once more for that number.
"""

from __future__ import annotations

import math

import numpy as np

from biodyn.kernels.jit import kernel, part
from biodyn.kernels.lanes import WIDTH, broadcast, load, number, store
from biodyn.kernels.products import add_products

_TILE = 6  # rows that are put in together: those of a tile of products


@part
def _substitute(C, c, to_next, U, u, stride, n, lanes, factoring):
    """Put U^-T C into the n rows of C; return whether it could be done.

    factoring: 1 = C and U are the same panel of the matrix itself, whose rows become those of its factor one after the other.
    """
    one = np.int64(1)
    for first in range(0, n, _TILE):
        stop = min(first + _TILE, n)
        at = c + first * factoring
        left = lanes - first * factoring
        add_products(
            C, at + first * to_next, to_next, U, u + first, stride, one, C, at, to_next,
            stop - first, left, first, -1.0, n,
        )  # fmt: skip
        for r in range(first, stop):
            for p in range(first, r):
                x = -U[u + p * stride + r]
                for j in range(0, left, WIDTH):
                    store(C, at + r * to_next + j, load(C, at + r * to_next + j) + x * load(C, at + p * to_next + j))
            pivot = U[u + r * stride + r]
            if factoring == 1:
                if not pivot > 0.0:
                    return False
                pivot = math.sqrt(pivot)
            for j in range(0, left, WIDTH):
                store(C, at + r * to_next + j, load(C, at + r * to_next + j) * (1.0 / pivot))
    return True


@kernel
def factorise(panels, n, reach, stride, begin, end, eliminated):
    """Put the factor into the panels begin .. end - 1, those before being done; return whether it exists.

    Of the blocks from `eliminated` on, what the ones before take off the matrix is taken off, and that is all.
    """
    wide, one, nothing = (reach + 1) * n, np.int64(1), np.int64(0)
    for k in range(begin, end):
        own = k * n * stride
        for s in range(max(1, k - eliminated + 1), min(reach, k) + 1):
            x = own - s * n * (stride - 1)  # row s n of what the panel s blocks before has
            add_products(
                panels, own, stride, panels, x, stride, one, panels, x, stride, n, wide - s * n, n, -1.0, nothing
            )  # fmt: skip
        if k < eliminated and not _substitute(panels, own, stride, panels, own, stride, n, wide, one):
            return False
    return True


@kernel
def forward(panels, n, reach, stride, right, width, first, along, used, begin, end, eliminated):
    """Put L^-1 right into the blocks begin .. end - 1 of `right`, flat, (T n, width) by rows, those before being done.

    Block k of the panels is block first + along k of `right`. used: (F, 2), multiples of WIDTH, from which column on and up to
    which one block k is not zero, nor are those before. The width is a multiple of WIDTH.
    Of the blocks from `eliminated` on, what the ones before take off them is taken off, and that is all.
    """
    one, nothing = np.int64(1), np.int64(0)
    for k in range(begin, end):
        own = (first + along * k) * n * width
        for s in range(max(1, k - eliminated + 1), min(reach, k) + 1):
            before, low, high = (first + along * (k - s)) * n * width, used[k - s, 0], used[k - s, 1]
            add_products(
                right, own + low, width, panels, (k - s) * n * stride + s * n, stride, one, right, before + low, width,
                n, high - low, n, -1.0, n,
            )  # fmt: skip
        if k < eliminated:
            low = used[k, 0]
            _substitute(right, own + low, width, panels, k * n * stride, stride, n, used[k, 1] - low, nothing)


@kernel
def backward(panels, n, reach, stride, right, width, begin, end):
    """Put L^-T right into the blocks end - 1 .. begin of `right`, flat, (F n, width) by rows, those behind being done.

    `right` has the blocks of the panels in their order; the width is a multiple of WIDTH.
    """
    blocks, one = right.shape[0] // (n * width), np.int64(1)
    for k in range(end - 1, begin - 1, -1):
        own, behind = k * n, (k + 1) * n
        count = min(reach, blocks - 1 - k) * n
        add_products(
            right, own * width, width, panels, own * stride + n, one, stride, right, behind * width, width,
            n, width, count, -1.0, n,
        )  # fmt: skip
        for row in range(behind - 1, own - 1, -1):
            across = row - own
            for j in range(0, width, WIDTH):
                x = load(right, row * width + j) * (1.0 / panels[row * stride + across])
                store(right, row * width + j, x)
                for p in range(own, row):
                    y = load(right, p * width + j)
                    store(right, p * width + j, y - number(panels, p * stride + across) * x)


@kernel
def inverse_block(panels, n, reach, stride, k, ring, across, work):
    """Replace block k + reach by block k in the `ring` of the inverse over the blocks k + 1 .. k + reach.

    Z[k, j] = -U^-1 B Z[., j] and Z[k, k] = U^-1 U^-T - Z[k, .] (U^-1 B)^T, with B what L^T has behind the diagonal block
    (Takahashi 1973). ring: flat, (reach n, across) by rows, block j at the place j % reach; from column reach n on zeros.
    work: see `inverse_work`.
    """
    lanes = n + (-n) % WIDTH
    one, nothing = np.int64(1), np.int64(0)
    V, G, crossed = nothing, n * lanes, (reach + 1) * n * lanes  # L^-1; (U^-1 B)^T; Z[k, .]
    square, total = crossed + n * across, crossed + n * (across + lanes)
    work[:total] = 0.0
    for i in range(n):
        work[V + i * lanes + i] = 1.0
    own, all_rows = k * n * stride, reach * n
    _substitute(work, V, lanes, panels, own, stride, n, lanes, nothing)
    for s in range(reach):
        at = G + (k + 1 + s) % reach * n * lanes
        add_products(
            work, at, lanes, panels, own + (s + 1) * n, stride, one, work, V, lanes, n, lanes, n, 1.0, n,
        )  # fmt: skip
    for s in range(reach):  # a block of the ring after the other stays near the processor
        at = s * n
        add_products(
            work, crossed, across, work, G + at * lanes, lanes, one, ring, at * across, across, n, all_rows, n, -1.0, all_rows,
        )  # fmt: skip
    add_products(work, square, lanes, work, V, lanes, one, work, V, lanes, n, lanes, n, 1.0, n)
    add_products(
        work, square, lanes, work, crossed, one, across, work, G, lanes, n, lanes, all_rows, -1.0, n,
    )  # fmt: skip
    here = k % reach * n
    for i in range(n):
        for j in range(all_rows):
            value = work[crossed + i * across + j]
            ring[(here + i) * across + j] = value
            ring[j * across + here + i] = value
    for i in range(n):
        for j in range(n):  # unless symmetric, the recursion grows without bound
            value = 0.5 * (work[square + i * lanes + j] + work[square + j * lanes + i])
            ring[(here + i) * across + here + j] = value


def inverse_work(n: int, reach: int, across: int) -> int:
    """Return how many doubles `inverse_block` needs as `work`."""
    return (reach + 2) * n * (n + (-n) % WIDTH) + n * across


@kernel
def variances(ring, n, reach, across, weights, by_place, by_rate, by_acceleration, place, force, work):
    """Fill the variances place (n,) of what has weights (3, reach) on the blocks of the ring, and force (n,) of D times it.

    weights: of place, rate and acceleration; D: (n, n) by each of these. work: see `variances_work`.
    """
    lanes = n + (-n) % WIDTH
    wide = 3 * lanes
    one, nothing = np.int64(1), np.int64(0)
    half, whole = (
        nothing,
        3 * n * across,
    )  # covariance of (place, rate, acceleration) with the ring's blocks, and with each other
    product, total = whole + 3 * n * wide, whole + 4 * n * wide
    for a in range(n):
        for j in range(0, reach * n, WIDTH):
            x = y = z = broadcast(0.0)
            for s in range(reach):
                row = load(ring, (s * n + a) * across + j)
                x, y, z = x + weights[0, s] * row, y + weights[1, s] * row, z + weights[2, s] * row
            at = half + a * across + j
            store(work, at, x)
            store(work, at + n * across, y)
            store(work, at + 2 * n * across, z)
    for row in range(3 * n):
        for j in range(0, n, WIDTH):
            x = y = z = broadcast(0.0)
            for s in range(reach):
                between = load(work, half + row * across + s * n + j)
                x, y, z = x + weights[0, s] * between, y + weights[1, s] * between, z + weights[2, s] * between
            at = whole + row * wide + j
            store(work, at, x)
            store(work, at + lanes, y)
            store(work, at + 2 * lanes, z)
    work[product:total] = 0.0
    for order in range(3):
        D = by_place if order == 0 else (by_rate if order == 1 else by_acceleration)
        add_products(
            work, product, wide, D, nothing, one, n, work, whole + order * n * wide, wide, n, wide, n, 1.0, n,
        )  # fmt: skip
    for i in range(n):
        place[i] = work[whole + i * wide + i]
        variance = 0.0
        for j in range(n):
            at = product + i * wide + j
            variance += by_place[i * n + j] * work[at] + by_rate[i * n + j] * work[at + lanes]
            variance += by_acceleration[i * n + j] * work[at + 2 * lanes]
        force[i] = variance


def variances_work(n: int, across: int) -> int:
    """Return how many doubles `variances` needs as `work`."""
    return 3 * n * across + 12 * n * (n + (-n) % WIDTH)
