"""Restriction of the linear algebra libraries to one thread.

The matrices of a trial are small: waiting threads would double the processor time without any gain, and a different order of
summation changes the last digits. Only trials are processed in parallel, in separate processes (`study.running`).
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final

#: Environment variables that OpenBLAS, MKL, Accelerate and OpenMP read when they are loaded.
ONE_THREAD: Final = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)


def use_one_thread() -> None:
    """Set the thread variables for this process and its children unless the user has set them; call before importing numpy."""
    for name, count in ONE_THREAD.items():
        os.environ.setdefault(name, count)


@contextmanager
def limit_to_one_thread() -> Iterator[None]:
    """Limit the loaded linear algebra libraries to one thread if no variable of `ONE_THREAD` is set.

    Analyses that overlap in several threads of a process should set one: the limit belongs to the whole process.
    """
    if any(os.environ.get(name) for name in ONE_THREAD):
        yield
        return
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"):
        yield


def processor_count() -> int:
    """Return the number of processors this process may use, at most the processor time that its container allows."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return int(min(count, _processor_time_limit()))


@cache
def _processor_time_limit(groups: Path = Path("/sys/fs/cgroup")) -> float:
    """Return the processor time that the control groups of the system allow, in processors, rounded up; inf without a limit.

    The control group of a container is at the root: `cpu.max` of version 2 ("quota period" or "max period"), two files
    of version 1
    (quota -1 without a limit); microseconds.
    """
    for names in (("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us")):
        try:
            quota, period = " ".join((groups / name).read_text("ascii") for name in names).split()
            return math.ceil(int(quota) / int(period)) if int(quota) > 0 else math.inf
        except (OSError, ValueError):  # no such file, or "max"
            continue
    return math.inf
