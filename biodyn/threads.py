"""One thread for the libraries of linear algebra.

The matrices of a trial are small: threads that wait for each other double the processor time and gain none, and sums in another
order change the last digits. Work in parallel is across trials only, in processes (`study.running`).
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
    """Set the variables for this process and those it starts, where the user has not; called before numpy is imported."""
    for name, count in ONE_THREAD.items():
        os.environ.setdefault(name, count)


@contextmanager
def linear_algebra_in_one_thread() -> Iterator[None]:
    """Limit the loaded libraries of linear algebra to one thread, where no variable of `ONE_THREAD` is set.

    Analyses that overlap in several threads of a process should set one: the limit belongs to the whole process.
    """
    if any(os.environ.get(name) for name in ONE_THREAD):
        yield
        return
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"):
        yield


def processors() -> int:
    """Processors this process may use: those it may run on, and no more than a container's limit of processor time is worth."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return int(min(count, _time_limit()))


@cache
def _time_limit(groups: Path = Path("/sys/fs/cgroup")) -> float:
    """Processors' worth of time that the system's control groups allow this process, rounded up; infinite without a limit.

    A container sees its own group at the root: `cpu.max` of version 2 ("quota period" or "max period"), two files of version 1
    (quota -1 without a limit); microseconds.
    """
    for names in (("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us")):
        try:
            quota, period = " ".join((groups / name).read_text("ascii") for name in names).split()
            return math.ceil(int(quota) / int(period)) if int(quota) > 0 else math.inf
        except (OSError, ValueError):  # no such file, or "max"
            continue
    return math.inf
