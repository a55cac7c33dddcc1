"""Threads of the libraries below numpy: one each.

Matrices here are small: threads of linear algebra that wait for each other double the processor time and win none, and sums
in another order change the last digits. To be said before numpy is imported; loops of our own are not concerned.
"""

from __future__ import annotations

import os
from typing import Final

#: What OpenBLAS, MKL, Accelerate and OpenMP read when they are loaded.
ONE_THREAD: Final = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)


def use_one_thread() -> None:
    """Say so to this process and those it starts, where the user has not chosen otherwise."""
    for name, count in ONE_THREAD.items():
        os.environ.setdefault(name, count)
