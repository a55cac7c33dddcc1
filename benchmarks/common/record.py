"""The numbers of a benchmark: beside those of the last run, and kept as JSON with the machine they belong to.

A benchmark makes a `Record`, adds its numbers to it and calls `close`, which prints each number beside that of the last run
that was asked for the same on the same kind of machine, and then keeps the new ones in benchmarks/results/ (not a part of the
repository; another folder with BIODYN_BENCHMARK_RESULTS).
"""

from __future__ import annotations

import json
import math
import os
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from biodyn.version import VERSION
from common.data import REPOSITORY
from common.timing import Timing

_RESULTS = "BIODYN_BENCHMARK_RESULTS"
_LIBRARIES = ("numpy", "scipy", "numba", "pandas", "ezc3d")


def environment() -> dict[str, Any]:
    """Return what a number depends on: processor, cores, system, Python and libraries."""
    found: dict[str, Any] = {
        "processor": _processor(),
        "cores": os.cpu_count() or 0,
        "system": platform.system(),
        "python": platform.python_version(),
        "biodyn": VERSION,
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
    """The numbers of one benchmark: name -> (value, unit); smaller is better unless the unit says otherwise.

    Attributes:
        asked: the arguments of the run; only runs that were asked for the same are compared.
    """

    name: str
    asked: Mapping[str, Any] = field(default_factory=dict)
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
        asked = {name: value if isinstance(value, int | float) else str(value) for name, value in self.asked.items()}
        last = self._last(asked)
        print(f"\n{self.name}: {environment_line()}")
        width = max((len(name) for name in self.numbers), default=0)
        for name, (value, unit) in self.numbers.items():
            text = f"  {name:<{width}} {value:12.5g} {unit}"
            if last.get(name):
                text += f"   last {last[name]:.4g} ({value / last[name]:.2f} x)"
            print(text)
        file = self._folder() / f"{self.name}.json"
        runs = self._runs()
        runs.append(
            {
                "date": datetime.now(UTC).isoformat(timespec="seconds"),
                "environment": environment(),
                "asked": asked,
                "numbers": {
                    name: {"value": value, "unit": unit}
                    for name, (value, unit) in self.numbers.items()
                    if math.isfinite(value)
                },
            }
        )
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(runs, indent=1) + "\n", encoding="utf-8")
        return file

    def _last(self, asked: Mapping[str, Any]) -> dict[str, float]:
        """The numbers of the last run asked for the same on this kind of processor; none where there was none."""
        here = environment()
        for run in reversed(self._runs()):
            if run.get("asked", {}) == asked and all(
                run["environment"].get(key) == here[key] for key in ("processor", "cores")
            ):
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
