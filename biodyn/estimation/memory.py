"""Memory of the large equations, kept from one stretch to the next and from one trial to the next.

What the system hands out it first fills with zeros, page by page, and it takes large pieces back as soon as they are free: for
the equations of ten seconds that takes as long as their Cholesky factor, in every trial anew.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from biodyn.conventions import FloatArray

#: Bytes that are kept for the next trial, a second of usual walking being 8.4 MB; larger equations give theirs back.
LARGEST_KEPT = 100 << 20

_kept: list[Memory] = []


class Memory:
    """One array of doubles, which grows to what is asked of it."""

    def __init__(self) -> None:
        self._whole = np.empty(0)

    @property
    def nbytes(self) -> int:
        """Bytes that it holds."""
        return self._whole.nbytes

    def array(self, shape: tuple[int, ...]) -> FloatArray:
        """Return an array of whatever numbers, which is the same memory at every call: the array of the call before is lost."""
        size = math.prod(shape)
        if size > self._whole.size:
            self._whole = np.empty(0)  # given back before the larger one is asked for
            self._whole = np.empty(size)
        return self._whole[:size].reshape(shape)


@contextmanager
def borrowed() -> Iterator[Memory]:
    """Give out a memory, one that an earlier caller left where there is one; nothing of it may be used afterwards.

    Several threads get one each, and one is kept.
    """
    try:
        memory = _kept.pop()
    except IndexError:
        memory = Memory()
    try:
        yield memory
    finally:
        if memory.nbytes <= LARGEST_KEPT and not _kept:
            _kept.append(memory)
