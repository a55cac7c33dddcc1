"""What all benchmarks share: calls that take turns, a line about the machine, results kept as JSON and held against the last.

A benchmark makes a `Record`, adds its numbers to it and calls `close`, which prints each number beside that of the last run
on the same kind of machine and then keeps the new ones in benchmarks/results/ (not a part of the repository; another folder
with BIODYN_BENCHMARK_RESULTS).
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any

from biodyn.errors import InputFileError
from biodyn.io.formats.c3d.read import read_c3d
from biodyn.session import typical_motion_m

REPOSITORY = Path(__file__).resolve().parents[1]
_RESULTS = "BIODYN_BENCHMARK_RESULTS"
_WALKING_M = 0.3  # markers of walking people travel farther
_LIBRARIES = ("biodyn", "numpy", "scipy", "numba", "pandas", "ezc3d")


@dataclass(frozen=True)
class Timing:
    """Seconds of one call over several turns."""

    lowest: float
    median: float
    highest: float

    def __str__(self) -> str:
        return f"{self.median:.3g} s (lowest {self.lowest:.3g}, highest {self.highest:.3g})"


def take_turns(calls: Mapping[str, Callable[[], object]], turns: int, warm_up: int = 0) -> dict[str, Timing]:
    """Time every call `turns` times, one after the other in each turn, so that a slow minute of the machine meets all.

    Parameters:
        warm_up: turns that are not counted, first.
    """
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(warm_up + turns):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            if turn >= warm_up:
                seconds[name].append(time.perf_counter() - start)
    return {name: Timing(min(values), median(values), max(values)) for name, values in seconds.items()}


def environment() -> dict[str, Any]:
    """Return what a number depends on: processor, cores, system, Python and libraries."""
    found: dict[str, Any] = {
        "processor": _processor(),
        "cores": os.cpu_count() or 0,
        "system": platform.system(),
        "python": platform.python_version(),
    }
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def environment_line() -> str:
    """Return `environment` as one line, with what else the machine was doing."""
    found = environment()
    libraries = ", ".join(f"{name} {found[name]}" for name in _LIBRARIES if name in found)
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return f"{found['processor']}, {found['cores']} cores{load}; Python {found['python']}, {libraries}"


def _processor() -> str:
    """The processor's own name where the system tells it."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        return platform.processor() or platform.machine()
    return platform.processor() or platform.machine()


@dataclass
class Record:
    """The numbers of one benchmark: name -> (value, unit); smaller is better unless the unit says otherwise."""

    name: str
    numbers: dict[str, tuple[float, str]] = field(default_factory=dict)

    def add(self, name: str, value: float | Timing, unit: str = "s") -> None:
        """Add a number; of a `Timing` its median, lowest and highest."""
        if isinstance(value, Timing):
            for part, seconds in asdict(value).items():
                self.numbers[f"{name}, {part}"] = (seconds, unit)
        else:
            self.numbers[name] = (float(value), unit)

    def close(self) -> Path:
        """Print every number beside the last run's on the same kind of machine, keep them, and return the file."""
        last = self._last()
        print(f"\n{self.name}: {environment_line()}")
        width = max((len(name) for name in self.numbers), default=0)
        for name, (value, unit) in self.numbers.items():
            text = f"  {name:<{width}} {value:12.4g} {unit}"
            if last.get(name):
                text += f"   last {last[name]:.4g} ({value / last[name]:.2f} x)"
            print(text)
        file = self._folder() / f"{self.name}.json"
        runs = self._runs()
        runs.append(
            {
                "date": datetime.now(UTC).isoformat(timespec="seconds"),
                "environment": environment(),
                "numbers": {name: {"value": value, "unit": unit} for name, (value, unit) in self.numbers.items()},
            }
        )
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(runs, indent=1) + "\n", encoding="utf-8")
        return file

    def _last(self) -> dict[str, float]:
        """The numbers of the last run on this kind of processor; none where there was none."""
        here = environment()
        for run in reversed(self._runs()):
            if all(run["environment"].get(key) == here[key] for key in ("processor", "cores")):
                return {name: entry["value"] for name, entry in run["numbers"].items()}
        return {}

    def _runs(self) -> list[dict[str, Any]]:
        file = self._folder() / f"{self.name}.json"
        if not file.is_file():
            return []
        runs: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
        return runs

    @staticmethod
    def _folder() -> Path:
        return Path(os.environ.get(_RESULTS) or REPOSITORY / "benchmarks" / "results")


def real_recordings() -> Path:
    """Return the folder of real recordings, or end with one sentence."""
    return _folder_of("BIODYN_TEST_DATA", "real recordings")


def recordings_at_hand() -> list[Path]:
    """Return the folders of recordings there are: the sample data, and that of real recordings where it is named."""
    folders = [REPOSITORY / "sample_data"]
    if os.environ.get("BIODYN_TEST_DATA"):
        folders.append(real_recordings())
    return folders


def walks_below(folder: Path) -> Iterator[Path]:
    """Yield the C3D files below a folder that have force plates and markers that travel."""
    for path in sorted(p for p in folder.rglob("*") if p.suffix.lower() == ".c3d"):
        try:
            recording = read_c3d(path)
        except InputFileError:
            continue
        if recording.plates and typical_motion_m(recording.markers) >= _WALKING_M:
            yield path


def reference_vectors() -> Path:
    """Return the folder of reference vectors, or end with one sentence."""
    return _folder_of("BIODYN_TEST_REFERENCE", "reference vectors")


def _folder_of(variable: str, what: str) -> Path:
    value = os.environ.get(variable)
    if not value or not Path(value).is_dir():
        sys.exit(f"Set {variable} to the folder of {what}.")
    return Path(value)
