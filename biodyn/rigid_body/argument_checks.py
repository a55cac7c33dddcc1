"""Check the arguments of the kernels (float64, C order, valid shapes) and raise an error that names the faulty one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from biodyn.conventions import FloatArray, IntArray
from biodyn.errors import ModelError
from biodyn.rigid_body.multibody import Multibody


def checked_array(values: ArrayLike, shape: tuple[int | None, ...], name: str) -> FloatArray:
    """Return `values` as a C-ordered float64 array of the given shape; None in `shape` means any length.

    Raises ModelError that names the argument if its shape is wrong or if it contains non-numbers or infinite numbers. NaN is
    accepted and means missing.
    """
    try:
        array = np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{name} must be an array of numbers: {error}.") from error
    if array.ndim != len(shape) or any(n is not None and n != m for n, m in zip(shape, array.shape, strict=True)):
        wanted = ", ".join("any" if n is None else str(n) for n in shape)
        raise ModelError(f"{name} must have shape ({wanted}), found {array.shape}.")
    if np.isinf(array).any():
        raise ModelError(f"{name} contains infinite numbers.", "Use NaN for missing values.")
    if not array.flags.writeable:
        # read-only arrays are another type in numba, for which the kernels would be compiled again
        array = array.copy()
    return array


def zero_workspace(numbers: int) -> FloatArray:
    """Return an array of zeros aligned to a cache line, as working memory of a kernel."""
    line = 8
    memory = np.zeros(numbers + line)
    start = -(memory.ctypes.data // memory.itemsize) % line
    return memory[start : start + numbers]


def checked_state(mb: Multibody, q: ArrayLike, **rates: ArrayLike) -> tuple[FloatArray, ...]:
    """Return the configurations q (T, nq) and each named rate (T, nv) as valid arrays; ModelError for a wrong shape."""
    positions = checked_array(q, (None, mb.nq), "q")
    frames = positions.shape[0]
    return (positions, *(checked_array(values, (frames, mb.nv), name) for name, values in rates.items()))


def checked_wrenches(
    mb: Multibody, frames: int, wrenches: ArrayLike | None, bodies: Sequence[int] | IntArray | None
) -> tuple[FloatArray, IntArray, IntArray]:
    """Return the wrenches (T, K, 6), checked, the links from the root to each loaded body, and the start index of each path."""
    if wrenches is None:
        return np.zeros((frames, 0, 6)), np.zeros(0, dtype=np.int64), np.zeros(1, dtype=np.int64)
    index = np.asarray([] if bodies is None else bodies)
    if index.ndim != 1 or (index.size and not np.issubdtype(index.dtype, np.integer)):
        raise ModelError(f"wrench_bodies must be body indices (K,), found {bodies!r}.")
    bad = [int(b) for b in index if not 0 <= b < len(mb.bodies)]
    if bad:
        raise ModelError(f"wrench_bodies contains the indices {bad}, but the model has {len(mb.bodies)} bodies.")
    loads = checked_array(wrenches, (frames, len(index), 6), "wrenches")
    path: list[int] = []
    start = [0]
    for b in index:
        link, upwards = int(b), []
        while link >= 0:
            upwards.append(link)
            link = int(mb.tree.parent[link])
        path += upwards[::-1]
        start.append(len(path))
    return loads, np.array(path, dtype=np.int64), np.array(start, dtype=np.int64)
