"""Seconds and memory of long recordings: `python benchmarks/long_recording.py --minutes 1 5`.

A person walks on a treadmill with a belt for each foot, at 100 frames and 1,000 samples a second. Each recording is analysed with
bands by `biodyn run`, and by `biodyn study` under its usual limit of memory, in processes of their own. A row each: seconds of
the processor, the process' peak memory, the size of the result, and whether the study's trial succeeded.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from common import RECORDED, Record, Table, parser_of, write_session
from simulator import Person, embody, solve_walk
from simulator.scenes import record_treadmill
from simulator.trial import simulate_trial

PERSON = Person("S01", height_m=1.78, mass_kg=74.0, sex="male")


def main() -> None:
    """Print one table: lengths down."""
    parser = parser_of(__doc__)
    parser.add_argument("--minutes", type=float, nargs="+", default=[1.0, 5.0])
    asked = parser.parse_args()
    record = Record("long_recording", vars(asked))
    options = replace(RECORDED, rate_hz=100.0, soft_tissue=0.5)
    walk = solve_walk(embody(PERSON), options.speed_m_s, options.stride_s)
    static = simulate_trial(PERSON, options, "static", walk)
    columns = (
        "minutes",
        "frames",
        "run: processor s",
        "run: peak MB",
        "run: disk MB",
        "study: trial",
        "study: peak MB",
    )
    table = Table(columns)
    for minutes in asked.minutes:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / "S01"
            folder.mkdir()
            # a C3D names at most 255 events in one list, so they are left out
            trial = replace(
                record_treadmill(walk, replace(options, strides=60.0 * minutes / options.stride_s)), events=()
            )
            paths = write_session(folder, static, trial)
            seconds, run_mb, status = _measured("run", str(paths[0]), "--static", str(paths[1]), "--out", f"{name}/run")
            if status:
                raise SystemExit(f"The recording of {minutes} minutes could not be analysed.")
            written_mb = sum(file.stat().st_size for file in Path(name, "run").rglob("*") if file.is_file()) / 1e6
            out = Path(name) / "study"
            asked_bands = ("--workers", "1", "--set", "uncertainty.compute=true")
            _, study_mb, _ = _measured("study", str(folder.parent), "--out", str(out), *asked_bands)
            cells = f"{seconds:.1f}", f"{run_mb:.0f}", f"{written_mb:.1f}", _status(out), f"{study_mb:.0f}"
            table.row(f"{minutes:g}", len(trial.markers), *cells)
            record.add(f"{minutes:g} minutes: run, processor", seconds)
            record.add(f"{minutes:g} minutes: run, peak memory", run_mb, "MB")
            record.add(f"{minutes:g} minutes: run, disk", written_mb, "MB")
            record.add(f"{minutes:g} minutes: study, peak memory", study_mb, "MB")
    record.close()


def _measured(*arguments: str) -> tuple[float, float, int]:
    """Seconds of the processor, peak memory in MB of the largest process, and the status of a command of the program."""
    process = subprocess.Popen([sys.executable, "-m", "biodyn.cli", *arguments], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024.0, os.waitstatus_to_exitcode(status)


def _status(study: Path) -> str:
    with (study / "summary.csv").open(encoding="utf-8", newline="") as stream:
        return ", ".join(row["status"] for row in csv.DictReader(stream))


if __name__ == "__main__":
    main()
