"""Measure the time of the steps of a run, and report progress."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

#: Timings in `run.json` that belong to writing the result; all others are steps of the analysis.
WRITING = ("tables", "figures", "report", "pdf")


@dataclass
class StepClock:
    """Timer that measures the seconds of each step and calls the progress display of the caller."""

    progress: Callable[[str], None] | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    _current: tuple[str, float] | None = None

    @contextmanager
    def time_step(self, name: str, shown: str = "") -> Iterator[None]:
        """Context manager that measures the time of a step; `shown`: text displayed instead of the name of the step."""
        if self.progress is not None:
            self.progress(shown or name)
        start = time.perf_counter()
        yield
        self._add_seconds(name, start)

    def start_step(self, name: str) -> None:
        """Start the timing of a step, which lasts until another one starts or `end` is called."""
        self.end_step()
        if self.progress is not None:
            self.progress(name)
        self._current = name, time.perf_counter()

    def end_step(self) -> None:
        """End the current step, if any."""
        if self._current is not None:
            self._add_seconds(*self._current)
        self._current = None

    def _add_seconds(self, name: str, start: float) -> None:
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start


def timing_lines(seconds: Mapping[str, float], whole_s: float) -> list[str]:
    """Return lines with the time of each step in both parts of a run; the rest of `whole_s` is loading of libraries and
    kernels."""
    parts = {
        "analysis": {name: s for name, s in seconds.items() if name not in WRITING},
        "writing": {name: seconds[name] for name in WRITING if name in seconds},
    }
    lines = [_timing_line("all", whole_s)]
    for part, steps in parts.items():
        lines.append(_timing_line(part, sum(steps.values()), 1))
        lines += [_timing_line(name, s, 2) for name, s in steps.items()]
    lines.append(_timing_line("libraries, kernels and others", whole_s - sum(seconds.values()), 1))
    return lines


def _timing_line(name: str, seconds: float, depth: int = 0) -> str:
    return f"{'  ' * depth + name:<36}{seconds:8.3f} s"
