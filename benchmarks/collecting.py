"""How long it takes to collect many trials, and how much memory: `python benchmarks/collecting.py [TRIALS ...]`.

Simulated walks of 4 s at 100 Hz are analysed once, as a study does it; what they left, each time with other values so that
nothing compresses better than it would, is linked to as many trials as asked for (20 per subject).
Prints seconds, rows a second and the peak memory of a fresh process for each number of trials.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import pyarrow.compute as pc
from common import REPOSITORY, Record, parser_of, take_turns, tell
from simulator.study import write_study

from biodyn.output.store.folder import RECORD_NAME
from biodyn.study import Study
from biodyn.study.collecting import collect_results
from biodyn.study.collecting.cycles import CYCLE_COLUMNS, read_cycle_table, write_cycle_table
from biodyn.study.collecting.data_set_reader import iterate_subjects, read_cycles
from biodyn.study.plan import PlannedTrial, StudyPlan
from biodyn.study.trial_record import CYCLES_NAME, STRIDES_NAME, TRIAL_RECORD_NAME

TRIALS_A_SUBJECT = 20
WALKS = 6
VARIATIONS = 10  # of each walk


def main() -> None:
    """Print the table."""
    parser = parser_of(__doc__)
    parser.add_argument("trials", nargs="*", type=int, default=[1000, 10_000])
    parser.add_argument("--one", type=Path, nargs=2, help=argparse.SUPPRESS)  # what the fresh process is to do
    asked = parser.parse_args()
    if asked.one is not None:
        measure(asked.one[0], asked.trials[0], asked.one[1])
        return
    record = Record("collecting", {"trials": asked.trials})
    with tempfile.TemporaryDirectory(prefix="collecting_", dir=REPOSITORY / "reports") as folder:
        samples = write_samples(Path(folder) / "samples")
        for count in asked.trials:
            out = Path(folder) / str(count)
            link(samples, plan_of(count), out)
            answer = Path(folder) / f"{count}.json"
            command = [sys.executable, __file__, str(count), "--one", str(out), str(answer)]
            subprocess.run(command, check=True)
            for name, (value, unit) in json.loads(answer.read_text(encoding="utf-8")).items():
                record.add(f"{count} trials: {name}", value, unit)
    record.close()


def write_samples(folder: Path) -> list[Path]:
    """Analyse simulated walks; return the folders of what they and their variations left."""
    write_study(folder / "walks", subjects=1, trials=WALKS, seed=3)
    study = Study.open(folder / "walks")
    out = study.run(folder / "study").folder
    found = []
    for trial in study.plan.trials:
        rows = read_cycle_table(out / trial.folder)
        for variation in range(VARIATIONS):
            place = folder / f"{trial.trial}_{variation}"
            shutil.copytree(out / trial.folder, place)
            values = pc.multiply(rows["value"], 1.0 + 0.01 * variation)
            write_cycle_table(rows.set_column(CYCLE_COLUMNS.index("value"), "value", values), place)
            found.append(place)
    return found


def plan_of(count: int) -> StudyPlan:
    """A plan of so many trials."""
    trials = tuple(
        PlannedTrial(
            f"S{n // TRIALS_A_SUBJECT:04d}",
            f"walk{n % TRIALS_A_SUBJECT:02d}",
            Path(f"S{n // TRIALS_A_SUBJECT:04d}/walk{n % TRIALS_A_SUBJECT:02d}.c3d"),
            condition="slow" if n % 2 else "fast",
        )
        for n in range(count)
    )
    return StudyPlan("benchmark", Path("."), trials, ())


def link(samples: list[Path], plan: StudyPlan, out: Path) -> None:
    """Give every planned trial what collecting reads of a sample."""
    for n, trial in enumerate(plan.trials):
        folder = out / trial.folder
        for name in (CYCLES_NAME, TRIAL_RECORD_NAME, RECORD_NAME, STRIDES_NAME):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            os.link(samples[n % len(samples)] / name, folder / name)


def measure(out: Path, count: int, answer: Path) -> None:
    """Collect in this process, print what it took, and leave the numbers in the file `answer`."""
    start, cpu = time.perf_counter(), time.process_time()
    found = collect_results(plan_of(count), out)
    if found.with_cycles != count:
        raise SystemExit(f"Only {found.with_cycles} of {count} trials were collected: {found.diagnostics[:1]}")
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sizes = {path.name: path.stat().st_size / 1e6 for path in sorted(out.glob("s*.*"))}
    tell(
        f"{count:6d} trials, {found.rows:,} rows: {seconds:.1f} s ({cpu:.1f} s of processor), "
        f"{1000 * seconds / count:.2f} ms a trial, {found.rows / seconds / 1e6:.1f} million rows/s, "
        f"peak memory {peak:.0f} MB; " + ", ".join(f"{name} {size:.0f} MB" for name, size in sizes.items())
    )
    columns = ["subject", "trial", "cycle", "side", "percent", "value"]
    reading = take_turns(
        {
            "one subject read": partial(read_cycles, out, subject="S0001"),
            "one variable of all read": partial(read_cycles, out, columns, variable="knee_angle"),
            "all subjects, one after the other": lambda: sum(1 for _ in iterate_subjects(out)),
        }
    )
    tell("        " + ", ".join(f"{name} in {timing.median:.2f} s" for name, timing in reading.items()))
    numbers = {
        "collected": (seconds, "s"),
        "a trial": (1000 * seconds / count, "ms"),
        "peak memory": (peak, "MB"),
        **{name: (timing.median, "s") for name, timing in reading.items()},
    }
    answer.write_text(json.dumps(numbers), encoding="utf-8")


if __name__ == "__main__":
    main()
