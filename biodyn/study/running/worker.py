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
    gc.set_threshold(100_000, 20, 20)  # garbage is collected after each trial, not during imports
    memory_mb, parent = int(sys.argv[1]), int(sys.argv[2])
    threading.Thread(target=_exit_with_parent, args=(parent,), daemon=True).start()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)

    def send_message(**message: Any) -> None:
        answers.write(json.dumps(message) + "\n")
        answers.flush()

    try:
        from biodyn.errors import BiodynError
        from biodyn.rigid_body import compilation_note, compile_kernels
        from biodyn.study.running.task import task_from_json
        from biodyn.study.running.trial_analysis import RecordingCache, perform_task

        _limit_memory(memory_mb)
        note = compilation_note()
        if note:
            send_message(note=note)
        compile_kernels()
    except Exception as error:  # reported to the parent, which ends the study
        send_message(
            fatal=f"A trial process cannot start: {type(error).__name__}: {error}.",
            hint="Try 'biodyn run' on one trial.",
        )
        return
    recordings = RecordingCache()
    gc.freeze()  # objects of libraries and kernels are permanent; scanning them repeatedly would take 5 % of a trial
    send_message(ready=True)
    for line in sys.stdin:
        try:
            outcome = perform_task(task_from_json(line), recordings, lambda key: send_message(key=key))
        except BiodynError as error:  # errors that affect every trial
            send_message(fatal=error.message, hint=error.hint)
        except OSError as error:
            where = f": '{error.filename}'" if error.filename else ""
            send_message(
                fatal=f"Results cannot be written: {error.strerror}{where}.",
                hint="Free disk space and run the study again.",
            )
        else:
            send_message(outcome=asdict(outcome))
        gc.collect()


def _exit_with_parent(parent: int) -> None:
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
