"""How far a kernel is from what this processor can do: its counted work a frame against ceilings measured in the same run.

Ceilings: products and sums, fused, of eight lanes and of scalars; numbers between the first cache and registers; bytes
copied between arrays as large as the kernel's. The ceiling of which the largest share is used bounds the kernel, as far as
one does: shuffles, divisions, sums that cannot be fused and waiting for results come on top (Williams, Waterman &
Patterson 2009, doi 10.1145/1498765.1498785).
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from biodyn.kernels.jit import kernel
from biodyn.kernels.lanes import WIDTH, load, store
from common.data import REPOSITORY
from common.native import peaks_library
from common.timing import take_turns

_TURNS = 100_000
_NUMBERS = 1024  # 8 kB a side: both fit the first cache
_SWEEPS = 200


@dataclass(frozen=True)
class Ceilings:
    """Per second: operations of eight lanes and of scalars, numbers moved between first cache and registers."""

    lanes: float
    scalar: float
    transports: float


@dataclass(frozen=True)
class Work:
    """What a task does for one frame: operations, numbers moved in the first cache, bytes of its arrays."""

    operations: int
    transports: int
    bytes: int


@kernel
def _lane_chains(memory, turns):
    """Eight chains of fused products and sums of Lanes: 16 WIDTH operations a turn."""
    x, y = load(memory, 0), load(memory, WIDTH)
    a, b, c, d = x, y, x + y, x - y
    e, f, g, h = x * x, x * y, y * y, -x
    for _ in range(turns):
        a, b, c, d = a * x + y, b * x + y, c * x + y, d * x + y
        e, f, g, h = e * x + y, f * x + y, g * x + y, h * x + y
    store(memory, 2 * WIDTH, a + b + c + d + e + f + g + h)


@kernel
def _move_lanes(there, memory, sweeps):
    """Load and store all numbers, WIDTH at a time: two transports a number."""
    for _ in range(sweeps):
        for at in range(0, memory.shape[0], WIDTH):
            store(there, at, load(memory, at))


def best_rate(call: Callable[[], object], amount: float, turns: int = 15) -> float:
    """Return amount a second of processor time of a call's best turn."""
    return amount / take_turns({"": call}, turns, warm_up=1, clock=time.thread_time)[""].lowest


def ceilings() -> Ceilings:
    """Measure the processor."""
    scalar = peaks_library().scalar_chains
    scalar.restype, scalar.argtypes = ctypes.c_double, [ctypes.c_int64, ctypes.c_double, ctypes.c_double]
    few, here, there = np.full(3 * WIDTH, 0.5), np.ones(_NUMBERS + WIDTH), np.ones(_NUMBERS + WIDTH)
    aligned = [x[-(x.ctypes.data // 8) % WIDTH :][:_NUMBERS] for x in (here, there)]
    return Ceilings(
        best_rate(lambda: _lane_chains(few, _TURNS), 16.0 * WIDTH * _TURNS),
        best_rate(lambda: scalar(_TURNS, 0.5, 0.5), 16.0 * _TURNS),
        best_rate(lambda: _move_lanes(*aligned, _SWEEPS), 2.0 * _NUMBERS * _SWEEPS),
    )


def copied_bytes_a_second(size: int) -> float:
    """Return bytes read and written a second by a copy that touches `size` bytes in all."""
    source = np.ones(max(size // 16, 1))
    target = np.zeros_like(source)
    return best_rate(lambda: np.copyto(target, source), 16.0 * len(source), turns=5)


def counted(model: str) -> dict[str, dict[str, Any]]:
    """Return what `common.counting` finds, in a process of its own."""
    command = [sys.executable, "-m", "common.counting", model]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        command, cwd=REPOSITORY / "benchmarks", env=environment, capture_output=True, text=True, check=True
    )
    found: dict[str, dict[str, Any]] = json.loads(done.stdout)
    return found


def shares(work: Work, seconds: float, found: Ceilings, bytes_a_second: float) -> dict[str, float]:
    """Return per cent of each ceiling that a task reaches which takes `seconds` a frame."""
    return {
        "eight lanes": 100 * work.operations / seconds / found.lanes,
        "scalar": 100 * work.operations / seconds / found.scalar,
        "first cache": 100 * work.transports / seconds / found.transports,
        "memory": 100 * work.bytes / seconds / bytes_a_second,
    }
