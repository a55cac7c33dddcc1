"""Cost of whole commands, this tree and another version in turns: python benchmarks/versions.py BEFORE [--turns N]

BEFORE is the folder of another version. Measured: `import biodyn`; `biodyn --help`; `biodyn run` on a sample walk with
compiled kernels; a study of the sample data with one worker, without and with bands, for each trial; the first run with an empty
kernel cache. Processor time and peak memory are those of the command with all its processes; disk is the size of the result
folders of a study's trials; medians of paired turns. Needs Linux.
"""

from __future__ import annotations

import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from statistics import median

from common import REPOSITORY, Record, environment_of, parser_of, sample_walks, tell

_STUDY_TRIALS = len(sample_walks())
_KINDS = {"import": 1, "help": 1, "run": 1, "study without bands": _STUDY_TRIALS, "study": _STUDY_TRIALS}
_MEASURES = ("processor", "clock", "memory_mb", "disk_mb")
_SAMPLING_S = 0.05


def main() -> None:
    """Print medians of both versions and their ratio."""
    parser = parser_of(__doc__)
    parser.add_argument("before", type=Path, metavar="BEFORE", help="folder of another version")
    parser.add_argument("--turns", type=int, default=5, help="paired turns of each command")
    options = parser.parse_args()
    record = Record("versions", {"before": options.before.name, "turns": options.turns})
    trees = {"before": options.before.resolve(), "now": REPOSITORY}
    with tempfile.TemporaryDirectory() as folder:
        caches = {name: Path(folder) / f"cache-{name}" for name in trees}
        first = {name: _command(tree, caches[name], Path(folder), "run") for name, tree in trees.items()}
        for what in ("clock", "processor"):
            _report(record, f"first run, {what} s", {name: [cost[what]] for name, cost in first.items()})
        for kind, trials in _KINDS.items():
            costs: dict[str, list[Mapping[str, float]]] = {name: [] for name in trees}
            for turn in range(options.turns + 1):
                for name, tree in trees.items():
                    cost = _command(tree, caches[name], Path(folder), kind)
                    if turn:  # the first turn warms caches
                        costs[name].append(cost)
            for what in _MEASURES if kind.startswith("study") else _MEASURES[:3]:
                divisor = 1 if what == "memory_mb" else trials
                _report(record, f"{kind}, {what}", {n: [c[what] / divisor for c in cs] for n, cs in costs.items()})
    record.close()


def _report(record: Record, name: str, values: Mapping[str, list[float]]) -> None:
    before, now = (median(values[version]) for version in ("before", "now"))
    tell(f"{name}: {before:.2f} -> {now:.2f}, ratio {now / before:.2f}")
    record.add(f"{name}, now", now, "")
    record.add(f"{name}, ratio to before", now / before, "smaller is better")


def _command(tree: Path, cache: Path, folder: Path, kind: str) -> dict[str, float]:
    """Run a command of a version; return its seconds of processor and clock, its peak memory and its size on disk in MB."""
    cache.mkdir(exist_ok=True)
    out = folder / f"out-{tree.name}-{kind.replace(' ', '-')}"
    bands = f"uncertainty.compute={'false' if 'without' in kind else 'true'}"
    study = ["study", str(REPOSITORY / "sample_data"), "--out", str(out), "--workers", "1", "--set", bands]
    words = {
        "import": ["-c", "import biodyn; biodyn.run_trial"],
        "help": ["-m", "biodyn", "--help"],
        "run": ["-m", "biodyn", "run", str(sample_walks()[0]), "--out", str(out), "--force"],
    }
    if kind.startswith("study"):
        subprocess.run(["rm", "-rf", str(out)], check=True)
    command = [sys.executable, *words.get(kind, ["-m", "biodyn", *study])]
    environment = {**environment_of(tree), "BIODYN_CACHE_DIR": str(cache)}
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    start, memory = time.perf_counter(), 0
    with (folder / "errors").open("w+") as errors:
        process = subprocess.Popen(command, env=environment, cwd=folder, stdout=subprocess.DEVNULL, stderr=errors)
        while process.poll() is None:
            memory = max(memory, sum(map(_resident_kb, _processes_of(process.pid))))
            time.sleep(_SAMPLING_S)
        clock = time.perf_counter() - start
        if process.returncode not in (0, 1):
            errors.seek(0)
            sys.exit(f"{kind} with {tree} ended with {process.returncode}: {errors.read()[-600:]}")
    use = resource.getrusage(resource.RUSAGE_CHILDREN)
    size = sum(path.stat().st_size for path in (out / "trials").rglob("*") if path.is_file())
    return {
        "processor": use.ru_utime + use.ru_stime - used.ru_utime - used.ru_stime,
        "clock": clock,
        "memory_mb": memory / 1024,
        "disk_mb": size / 1e6,
    }


def _processes_of(process: int) -> list[int]:
    """Return a process and all its descendants."""
    with suppress(OSError):  # it has ended
        of_threads = [path.read_text(encoding="ascii") for path in Path(f"/proc/{process}/task").glob("*/children")]
        return [process, *(each for child in " ".join(of_threads).split() for each in _processes_of(int(child)))]
    return []


def _resident_kb(process: int) -> int:
    """Return the memory of a process; memory that processes share is divided between them (proportional set size)."""
    with suppress(OSError):
        found = re.search(r"^Pss: +(\d+) kB", Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii"), re.M)
        return int(found[1]) if found else 0
    return 0


if __name__ == "__main__":
    main()
