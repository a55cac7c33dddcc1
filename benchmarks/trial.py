"""Time a whole trial: 10 s at 100 Hz from C3D to all tables, then figures and report. Run by hand: python benchmarks/trial.py

Prints seconds of a first and a second run in one process (the second is without compilation and first imports), the
steps, and in fresh processes the command line's help and a first-ever compilation of all kernels.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import Record

import biodyn
from biodyn.output.store.write import write_report, write_view
from biodyn.simulation import Person, TrialOptions, session, write_c3d


def main() -> None:
    record = Record("trial")
    with tempfile.TemporaryDirectory() as folder:
        walk, static = _long_walk(Path(folder))
        for name in ("first run (compiles or loads the kernels)", "second run"):
            start = time.perf_counter()
            result = biodyn.run_trial(walk, static)
            analysed = time.perf_counter()
            out = Path(folder) / f"out {name}"
            out.mkdir()
            write_view(result.view, out)
            tabled = time.perf_counter()
            write_report(result.view, out, figures=True, report=True, dpi=result.analysis.settings.output.figure_dpi)
            done = time.perf_counter()
            frames = result.analysis.recording.markers.frame_count
            print(f"{name}: {frames} frames, {len(result.analysis.model.markers)} markers")
            print(f"  C3D to all tables on disk {tabled - start:.2f} s (analysis {analysed - start:.2f} s); ", end="")
            print(f"figures and report {done - tabled:.2f} s")
            record.add(f"{name}: C3D to tables", tabled - start)
            record.add(f"{name}: figures and report", done - tabled)
        for step, seconds in result.analysis.timings.items():
            print(f"    {step:<20} {1000 * seconds:7.1f} ms")
    _fresh(record, "biodyn --help", [sys.executable, "-m", "biodyn.cli", "--help"])
    with tempfile.TemporaryDirectory() as cache:
        code = "from biodyn.rigid_body import warm_up; warm_up()"
        _fresh(record, "first-ever compilation", [sys.executable, "-c", code], BIODYN_CACHE_DIR=cache)
        _fresh(record, "the same from the cache", [sys.executable, "-c", code], BIODYN_CACHE_DIR=cache)
    record.close()


def _long_walk(folder: Path) -> tuple[Path, Path]:
    person = Person("S01", height_m=1.78, mass_kg=74.0, sex="male")
    static, walk = session(person, TrialOptions(strides=9.1, noise_mm=1.0, soft_tissue=1.0, seed=1))
    paths = folder / "walk.c3d", folder / "static.c3d"
    for path, trial in zip(paths, (walk, static), strict=True):
        write_c3d(path, trial)
    return paths


def _fresh(record: Record, name: str, command: list[str], **environment: str) -> None:
    start = time.perf_counter()
    subprocess.run(command, env={**os.environ, **environment}, check=True, stdout=subprocess.DEVNULL)
    seconds = time.perf_counter() - start
    print(f"{name}: {seconds:.2f} s")
    record.add(name, seconds)


if __name__ == "__main__":
    main()
