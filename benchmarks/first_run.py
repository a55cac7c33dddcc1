"""What a first run waits for: processor time and wall time of compiling the kernels of a trial, and of loading them later.

    python first_run.py

Wall times are worth something on an idle machine only.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

FIRST = """
import time
start = time.perf_counter()
from biodyn.rigid_body import compile_kernels
imported, cpu = time.perf_counter(), time.process_time()
compile_kernels()
print(f"{imported - start:10.2f} {time.perf_counter() - imported:12.2f} {time.process_time() - cpu:12.2f}")
"""


def run(folder: str) -> str:
    """Warm up in a process of its own; what it printed."""
    environment = {**os.environ, "BIODYN_CACHE_DIR": folder}
    words = [sys.executable, "-c", FIRST]
    return subprocess.run(words, env=environment, capture_output=True, text=True, check=True).stdout.rstrip()


def main() -> None:
    print("           import s    warm-up s        CPU s")
    with tempfile.TemporaryDirectory(prefix="biodyn-first-run-") as folder:
        print(f"first  {run(folder)}", flush=True)
        print(f"later  {run(folder)}", flush=True)


if __name__ == "__main__":
    main()
