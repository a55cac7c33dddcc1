"""Cost of whole commands, this tree and another version in turns: python benchmarks/versions.py BEFORE [--turns N]

BEFORE is the folder of another version. Measured: `import biodyn`; `biodyn --help`; `biodyn run` on a sample walk with
compiled kernels; a study of the sample data with one worker, without and with bands, for each trial; the first run with an empty
kernel cache. Processor time and peak memory are those of the command with all its processes; disk is the size of the result
folders of a study's trials; medians of paired turns.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median

from common import REPOSITORY, Record, environment_of, parser_of, sample_walks, tell

_STUDY_TRIALS = len(sample_walks())
_KINDS = {"import": 1, "help": 1, "run": 1, "study without bands": _STUDY_TRIALS, "study": _STUDY_TRIALS}
_MEASURES = ("processor", "clock", "memory_mb", "disk_mb")


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
    probe = (
        "import resource, subprocess, sys; done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL); "
        "use = resource.getrusage(resource.RUSAGE_CHILDREN); print(use.ru_utime + use.ru_stime, use.ru_maxrss, done.returncode)"
    )
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", probe, *command], env=environment, cwd=folder, capture_output=True, text=True, check=True
    )
    processor, memory, code = done.stdout.split()[-3:]
    if code not in ("0", "1"):
        sys.exit(f"{kind} with {tree} ended with {code}: {done.stderr[-600:]}")
    kilobytes = 1024 if sys.platform == "linux" else 1
    clock = time.perf_counter() - start
    size = sum(path.stat().st_size for path in (out / "trials").rglob("*") if path.is_file())
    return {
        "processor": float(processor),
        "clock": clock,
        "memory_mb": float(memory) / kilobytes,
        "disk_mb": size / 1e6,
    }


if __name__ == "__main__":
    main()
