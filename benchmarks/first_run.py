"""What a first run waits for where no kernels came compiled: processor time and wall time of compiling those of a trial.

    python first_run.py [PROCESSES ...]      by default 1 and 2

Prints, for each count of processes, wall time and processor time of all together, then how long loading takes in a later
process. Wall times are worth something on an idle machine only.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

FIRST = """
import resource, sys, time
start = time.perf_counter()
from biodyn.rigid_body import compilation
imported = time.perf_counter()
compilation.processors = lambda: int(sys.argv[1])
compilation.warm_up()
wall = time.perf_counter() - imported
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
cpu = sum(one.ru_utime + one.ru_stime for one in used)
print(f"{imported - start:10.2f} {wall:12.2f} {cpu:12.2f}")
"""


def run(count: int, folder: str) -> str:
    """Warm up in a process of its own; what it printed."""
    environment = {**os.environ, "BIODYN_CACHE_DIR": folder, "BIODYN_OWN_KERNELS": "1"}
    return subprocess.run(
        [sys.executable, "-c", FIRST, str(count)], env=environment, capture_output=True, text=True, check=True
    ).stdout.rstrip()


def main() -> None:
    print("processes   import s    warm-up s    all CPU s")
    for count in [int(word) for word in sys.argv[1:]] or [1, 2]:
        with tempfile.TemporaryDirectory(prefix="biodyn-first-run-") as folder:
            print(f"{count:9d} {run(count, folder)}", flush=True)
            print(f"    later {run(count, folder)}", flush=True)


if __name__ == "__main__":
    main()
