"""The trial process: answers requests on standard input, one JSON line each; it may be killed at any time.

    python -m biodyn.study.running.worker MEMORY_MB PARENT_PID

Messages to the parent on standard output: {"ready": true}, {"key": ...} before an analysis, then {"outcome": ...} or
{"fatal": ...}, which ends the study; {"note": ...} before "ready" is a progress message. Output of libraries is discarded.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import threading
import time
from dataclasses import asdict
from typing import Any


def main() -> None:
    gc_threshold = 100_000  # garbage is collected after each trial
    memory_mb, parent = int(sys.argv[1]), int(sys.argv[2])
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)

    def say(**message: Any) -> None:
        answers.write(json.dumps(message) + "\n")
        answers.flush()

    try:
        from biodyn.errors import BiodynError
        from biodyn.rigid_body import compilation_note, warm_up
        from biodyn.study.running.perform import RecordingCache, perform
        from biodyn.study.running.task import from_json

        _limit_memory(memory_mb)
        note = compilation_note()
        if note:
            say(note=note)
        warm_up()
    except Exception as error:  # reported to the parent, which ends the study
        say(
            fatal=f"A trial process cannot start: {type(error).__name__}: {error}.",
            hint="Try 'biodyn run' on one trial.",
        )
        return
    recordings = RecordingCache()
    gc.freeze()  # objects of libraries and kernels are permanent; scanning them repeatedly would take 5 % of a trial
    gc.set_threshold(gc_threshold, 20, 20)
    say(ready=True)
    for line in sys.stdin:
        try:
            outcome = perform(from_json(line), recordings, lambda key: say(key=key))
        except BiodynError as error:  # errors that affect every trial
            say(fatal=error.message, hint=error.hint)
        except OSError as error:
            where = f": '{error.filename}'" if error.filename else ""
            say(
                fatal=f"Results cannot be written: {error.strerror}{where}.",
                hint="Free disk space and run the study again.",
            )
        else:
            say(outcome=asdict(outcome))
        gc.collect()


def _end_with(parent: int) -> None:
    """End this process when its parent has ended (not on Windows)."""
    poll_interval_s = 0.5
    while sys.platform == "win32" or os.getppid() == parent:
        time.sleep(poll_interval_s)
    os._exit(1)


def _limit_memory(memory_mb: int) -> None:
    """Limit the memory of this process and its children, if the system supports it."""
    if sys.platform == "win32" or not memory_mb:
        return
    import resource

    limit = memory_mb << 20
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    resource.setrlimit(resource.RLIMIT_DATA, (limit if hard < 0 else min(limit, hard), hard))


if __name__ == "__main__":
    main()
