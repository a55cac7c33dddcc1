"""Count what is done, and say how fast it goes and when it will end."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from biodyn.study.running.task import Outcome


@dataclass
class Progress:
    """Outcomes so far of `total` trials; `clock` gives seconds."""

    total: int
    clock: Callable[[], float] = time.monotonic
    done: int = 0
    failed: int = 0
    kept: int = 0
    checks_failed: int = 0
    _start: float = field(init=False)

    def __post_init__(self) -> None:
        self._start = self.clock()

    def add(self, outcome: Outcome) -> None:
        """Count one more."""
        self.done += 1
        self.failed += outcome.failed
        self.checks_failed += outcome.status == "fail"
        self.kept += outcome.kept

    @property
    def rate_per_s(self) -> float | None:
        """Trials analysed a second since the start, None before the first; earlier results do not count."""
        seconds, analysed = self.clock() - self._start, self.done - self.kept
        return analysed / seconds if analysed and seconds > 0.0 else None

    @property
    def left_s(self) -> float | None:
        """Seconds until all are done, at the present rate; None while there is none."""
        rate = self.rate_per_s
        return None if rate is None else (self.total - self.done) / rate

    def remaining(self) -> str:
        """A sentence for who stops here: what is done and kept, what remains."""
        if self.done == self.total:
            return f"all {self.total} trials are done, group results and report remain."
        return f"{self.done} of {self.total} trials are done and kept, {self.total - self.done} remain."

    def line(self) -> str:
        """One line: done, failed, kept, rate, time left."""
        parts = [f"{self.done} of {self.total} trials", f"{self.failed} failed"]
        if self.kept:
            parts.append(f"{self.kept} kept from before")
        if self.rate_per_s is not None and self.left_s is not None:
            parts += [f"{self.rate_per_s:.1f} per second", f"{clock_text(self.left_s)} left"]
        return ", ".join(parts)


def told(
    progress: Callable[[str], None] | None, total: int, on_outcome: Callable[[Outcome], None]
) -> tuple[Callable[[Outcome], None], Callable[[str], None]]:
    """Return `on_outcome` and `say` of a run of `total` trials that tell `progress` each step, and how many trials are done."""
    if progress is None:
        return on_outcome, lambda _: None
    say, count = progress, Progress(total)

    def ended(outcome: Outcome) -> None:
        on_outcome(outcome)
        count.add(outcome)
        say(count.line())

    return ended, say


def clock_text(seconds: float) -> str:
    """Return h:mm:ss, or m:ss below an hour."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
