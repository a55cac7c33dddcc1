"""Analyse trials of the opened folder in a separate process, with progress and cancellation."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

_WORKER = (sys.executable, "-m", "biodyn.app.analysis_job")
_STOP_S = 20.0  # a running trial ends within seconds


@dataclass
class Job:
    """The running analysis process of the page, or the last one.

    Attributes: `total` number of trials, `done` number of finished trials, `step` name of the current step, `error` message
    of a failed run in one sentence, `outcomes` outcomes of the finished trials.
    """

    root: Path
    total: int = 0
    done: int = 0
    step: str = ""
    error: str = ""
    outcomes: list[dict[str, Any]] = field(default_factory=list)
    _process: subprocess.Popen[str] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def is_running(self) -> bool:
        """Return whether an analysis process is running."""
        return self._process is not None and self._process.poll() is None

    def start(self, paths: Sequence[str] | None) -> bool:
        """Start the analysis of the trials of these recordings (None = all); return False if an analysis is already running."""
        with self._lock:
            if self.is_running:
                return False
            self.total = self.done = 0
            self.step, self.error, self.outcomes = "starting", "", []
            self._process = subprocess.Popen(_WORKER, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps({"root": str(self.root), "paths": paths}) + "\n")
            self._process.stdin.flush()  # remains open; its end signals that the page process has ended
            threading.Thread(target=self._follow_progress, args=(self._process,), daemon=True).start()
            return True

    def _follow_progress(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            message = json.loads(line)
            if "outcome" in message:
                self.done += 1
                self.outcomes.append(message["outcome"])
            self.total = message.get("total", self.total)
            self.step = message.get("step", self.step)
            self.error = message.get("error", self.error)
        failed = process.wait() != 0
        assert process.stdin is not None
        process.stdin.close()
        if failed and not self.error:
            self.error = "The run was stopped. Finished trials are kept; run again to continue."
        self.step = ""

    def cancel(self) -> None:
        """Stop the analysis; results of finished trials are kept."""
        process = self._process
        if process is not None and process.poll() is None:
            process.terminate()
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()

    def as_dict(self) -> dict[str, Any]:
        """Return the progress of the analysis as JSON values."""
        names = ("total", "done", "step", "error", "outcomes")
        return {"running": self.is_running, **{name: getattr(self, name) for name in names}}


def _print_message(**message: Any) -> None:
    print(json.dumps(message), flush=True)


def _stop_with_page() -> None:
    """Stop this process when the page process that started it has ended; results of finished trials are kept."""
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _main() -> int:
    """Run the study of a folder; the request is one line of standard input, each progress message one line of output."""
    from biodyn.errors import BiodynError
    from biodyn.study import Study
    from biodyn.study.discovery.definition import path_text

    # The end of the study runs on SIGTERM too, and leaves nothing unfinished.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    request = json.loads(sys.stdin.readline())
    threading.Thread(target=_stop_with_page, daemon=True).start()
    root, paths = Path(request["root"]), request["paths"]
    try:
        study = Study.open(root)
        only = None if paths is None else {trial.path for trial in study.plan.trials if path_text(trial.path) in paths}
        _print_message(total=len(study.plan.trials if only is None else only))
        study.run(
            root / study.default_folder,
            only=only,
            on_outcome=lambda outcome: _print_message(outcome=asdict(outcome)),
            say=lambda step: _print_message(step=step),
        )
    except BiodynError as error:
        _print_message(error=str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(_main())
