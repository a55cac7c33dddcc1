"""Wrenches along the tree, in lane memory whose link rows begin with the pose in the parent: R (9 fields), p (3)."""

from __future__ import annotations

from biodyn.kernels.jit import inline
from biodyn.kernels.lanes import WIDTH, load3, load9, store3
from biodyn.kernels.vec3 import add, cross, rotate, rotate_back, sub


@inline
def hand_on(links, here, there, force, n, f):
    """Add the wrench (n, f) of the link at row `here` to its parent's at `there`; `force` is the field of n, then f."""
    R, p = load9(links, here), load3(links, here + 9)
    f_P = rotate(R, f)
    n_P = add(rotate(R, n), cross(p, f_P))
    store3(links, there + force, add(load3(links, there + force), n_P))
    store3(links, there + force + 3, add(load3(links, there + force + 3), f_P))


@inline
def outer_wrench(wrenches, k, first, memory):
    """Return wrench k of frames first .. first + WIDTH - 1 of (T, K, 6) as (moment, force), by way of six fields of memory."""
    last = wrenches.shape[0] - 1
    for lane in range(WIDTH):
        row = min(first + lane, last)
        for j in range(6):
            memory[j * WIDTH + lane] = wrenches[row, k, j]
    return load3(memory, 0), load3(memory, 3)


@inline
def take_outer(links, row, force, path, start, end, n, f):
    """Subtract the wrench (n, f) about the world origin from the last link of path[start:end], links from the root.

    row: fields of a link; row 0 is the world's.
    """
    for k in range(start, end):
        here = (path[k] + 1) * row
        R, p = load9(links, here), load3(links, here + 9)
        n = rotate_back(R, sub(n, cross(p, f)))
        f = rotate_back(R, f)
    here = (path[end - 1] + 1) * row + force
    store3(links, here, sub(load3(links, here), n))
    store3(links, here + 3, sub(load3(links, here + 3), f))
