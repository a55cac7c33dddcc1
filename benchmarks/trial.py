"""Time a whole trial: 10 s at 100 Hz from C3D to all tables, then figures and report: python benchmarks/trial.py [--other TREE]

Prints seconds of a first and a second run in one process (the second is without compilation and first imports), where the
time went, and in fresh processes the whole command, its help, the import and a first-ever compilation of all kernels; seconds of
the processor too, which hold on a busy machine. With --other, the folder of another version, each version analyses and saves
the same walk in processes of its own that take turns.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import REPOSITORY, Record, Timing, in_tree, parser_of, write_session
from simulator import Person, TrialOptions, session

import biodyn
from biodyn.output.store.result_writer import write_report, write_view

_ONE_TRIAL = Path(__file__).with_name("one_trial.py")


def main() -> None:
    """Print seconds of this version, and of another one where it is named."""
    parser = parser_of(__doc__)
    parser.add_argument("--other", type=Path, metavar="TREE", help="folder of another version")
    parser.add_argument("--turns", type=int, default=3, help="processes of each version")
    asked = parser.parse_args()
    record = Record("trial", vars(asked))
    with tempfile.TemporaryDirectory() as folder:
        walk, static = _long_walk(Path(folder))
        for name in ("first run (compiles or loads the kernels)", "second run"):
            start, started = time.perf_counter(), time.process_time()
            result = biodyn.run_trial(walk, static)
            analysed = time.perf_counter()
            out = Path(folder) / f"out {name}"
            out.mkdir()
            write_view(result.view, out)
            tabled, to_tables = time.perf_counter(), time.process_time()
            write_report(result.view, out, figures=True, report=True)
            done, to_report = time.perf_counter(), time.process_time()
            frames = result.analysis.recording.markers.frame_count
            print(f"{name}: {frames} frames, {len(result.analysis.model.markers)} markers")
            print(f"  C3D to all tables on disk {tabled - start:.2f} s (analysis {analysed - start:.2f} s); ", end="")
            print(f"figures and report {done - tabled:.2f} s")
            record.add(f"{name}: C3D to tables", tabled - start)
            record.add(f"{name}: figures and report", done - tabled)
            print(f"  of the processor {to_tables - started:.2f} s and {to_report - to_tables:.2f} s")
            record.add(f"{name}: C3D to tables, processor", to_tables - started)
            record.add(f"{name}: figures and report, processor", to_report - to_tables)
        for step, seconds in result.analysis.timings.items():
            print(f"    {step:<20} {1000 * seconds:7.1f} ms")
        if asked.other is not None:
            _against(record, asked.other.resolve(), asked.turns, walk, static)
        command = [sys.executable, "-m", "biodyn.cli", "run", str(walk), "--static", str(static), "--out"]
        _fresh(record, "the whole command", [*command, str(Path(folder) / "of a process")])
    _fresh(record, "import biodyn", [sys.executable, "-c", "import biodyn"])
    _fresh(record, "biodyn --help", [sys.executable, "-m", "biodyn.cli", "--help"])
    with tempfile.TemporaryDirectory() as cache:
        code = "from biodyn.rigid_body import compile_kernels; compile_kernels()"
        _fresh(record, "first-ever compilation", [sys.executable, "-c", code], BIODYN_CACHE_DIR=cache)
        _fresh(record, "the same from the cache", [sys.executable, "-c", code], BIODYN_CACHE_DIR=cache)
    record.close()


def _long_walk(folder: Path) -> tuple[Path, Path]:
    person = Person("S01", height_m=1.78, mass_kg=74.0, sex="male")
    static, walk = session(person, TrialOptions(strides=9.1, noise_mm=1.0, soft_tissue=1.0, seed=1))
    return write_session(folder, static, walk)


def _against(record: Record, other: Path, turns: int, walk: Path, static: Path) -> None:
    """Both versions by turns, each time in a fresh process; of the second trial of each process."""
    seconds: dict[str, list[float]] = {}
    for _ in range(turns):
        for name, tree in (("this tree", REPOSITORY), (other.name, other)):
            for what, lasted in in_tree(tree, _ONE_TRIAL, walk, static).items():
                seconds.setdefault(f"{what}, {name}", []).append(lasted)
    for name, values in seconds.items():
        print(f"{name}: {Timing.of(values)}")
        record.add(name, Timing.of(values))


def _fresh(record: Record, name: str, command: list[str], **environment: str) -> None:
    start, before = time.perf_counter(), os.times()
    subprocess.run(command, env={**os.environ, **environment}, check=True, stdout=subprocess.DEVNULL)
    seconds, after = time.perf_counter() - start, os.times()
    processor = after.children_user + after.children_system - before.children_user - before.children_system
    print(f"{name}: {seconds:.2f} s, of the processor {processor:.2f} s")
    record.add(name, seconds)
    record.add(f"{name}, processor", processor)


if __name__ == "__main__":
    main()
