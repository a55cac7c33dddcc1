"""Seconds of one trial with whichever version of biodyn is on the path: python one_trial.py WALK STATIC OUT.json

benchmarks/trial.py starts it to hold two versions against each other; it uses public names that every version has. The first
trial loads kernels and libraries and does not count; of the second, `run_trial` and `save` are timed.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

import biodyn


def main() -> None:
    """Run twice and write the seconds of the second time."""
    walk, static, answer = (Path(argument) for argument in sys.argv[1:4])
    seconds: dict[str, float] = {}
    for _ in range(2):
        with tempfile.TemporaryDirectory() as folder:
            start, started = time.perf_counter(), time.process_time()
            result = biodyn.run_trial(walk, static)
            analysed, to_end = time.perf_counter(), time.process_time()
            result.save(Path(folder) / "result")
            saved, to_saved = time.perf_counter(), time.process_time()
        seconds = {
            "run_trial": analysed - start,
            "save with figures and report": saved - analysed,
            "run_trial, processor": to_end - started,
            "save with figures and report, processor": to_saved - to_end,
        }
    answer.write_text(json.dumps(seconds), encoding="utf-8")


if __name__ == "__main__":
    main()
