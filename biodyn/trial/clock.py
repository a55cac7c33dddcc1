"""Time of the steps of a run, and its progress display."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

#: What a result's writing is made of, among the timings of `run.json`; all others are steps of its analysis.
WRITING = ("tables", "figures", "report", "pdf")


@dataclass
class Clock:
    """Seconds spent in each step, and the caller's progress display."""

    progress: Callable[[str], None] | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    _current: tuple[str, float] | None = None

    @contextmanager
    def step(self, name: str, shown: str = "") -> Iterator[None]:
        """Time a step; `shown` is what the display says instead of its name."""
        if self.progress is not None:
            self.progress(shown or name)
        start = time.perf_counter()
        yield
        self._add(name, start)

    def begin(self, name: str) -> None:
        """Time what follows as this step, until another one begins or `end`."""
        self.end()
        if self.progress is not None:
            self.progress(name)
        self._current = name, time.perf_counter()

    def end(self) -> None:
        """End the step that has begun, if one has."""
        if self._current is not None:
            self._add(*self._current)
        self._current = None

    def _add(self, name: str, start: float) -> None:
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start


def timing_lines(seconds: Mapping[str, float], whole_s: float) -> list[str]:
    """Where `whole_s` went, a line a step below the two parts of a run; the rest is loading of libraries and kernels."""
    parts = {
        "analysis": {name: s for name, s in seconds.items() if name not in WRITING},
        "writing": {name: seconds[name] for name in WRITING if name in seconds},
    }
    lines = [_line("all", whole_s)]
    for part, steps in parts.items():
        lines.append(_line(part, sum(steps.values()), 1))
        lines += [_line(name, s, 2) for name, s in steps.items()]
    lines.append(_line("libraries, kernels and all else", whole_s - sum(seconds.values()), 1))
    return lines


def _line(name: str, seconds: float, depth: int = 0) -> str:
    return f"{'  ' * depth + name:<36}{seconds:8.3f} s"
