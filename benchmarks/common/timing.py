"""Seconds: of calls that take turns, and of a whole benchmark."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from statistics import median


@dataclass(frozen=True)
class Timing:
    """Seconds of one call over several turns."""

    lowest: float
    median: float
    highest: float

    def __str__(self) -> str:
        return f"{self.median:.3g} s (lowest {self.lowest:.3g}, highest {self.highest:.3g})"

    @classmethod
    def of(cls, seconds: list[float]) -> Timing:
        """Return lowest, median and highest of measured seconds."""
        return cls(min(seconds), median(seconds), max(seconds))


def take_turns(
    calls: Mapping[str, Callable[[], object]],
    turns: int = 1,
    warm_up: int = 0,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, Timing]:
    """Time every call `turns` times, one after the other in each turn, so that a slow minute of the machine meets all.

    Parameters:
        calls: what to time, by name.
        warm_up: turns that are not counted, first.
        clock: seconds; `time.thread_time` counts those only in which this thread ran.
    """
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(warm_up + turns):
        for name, call in calls.items():
            start = clock()
            call()
            if turn >= warm_up:
                seconds[name].append(clock() - start)
    return {name: Timing.of(values) for name, values in seconds.items()}


@dataclass
class Stopwatch:
    """Seconds since it was made."""

    started: float = field(default_factory=time.perf_counter)

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.started
