"""Run the tasks of a study in processes of this machine or on a Dask cluster."""

from __future__ import annotations

import errno
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from typing import Any

from biodyn.errors import BiodynError, StudyError
from biodyn.rigid_body import is_compiled
from biodyn.study.running.task import (
    Limits,
    Outcome,
    Task,
    kept_record,
    limited_key,
    outcome_without_report,
    require_output_folder,
    task_outcome,
    task_to_json,
    write_failure,
)
from biodyn.study.trial_record import FAILED, TrialRecord
from biodyn.threads import ONE_THREAD, processor_count

WORKER = (sys.executable, "-m", "biodyn.study.running.worker")
_SIGKILL = 9
# Freed memory is reused for later arrays and trials. By default the GNU C library returns every large array to the system,
# which then clears the same pages again, about 16,000 per trial. Other systems ignore these variables.
_KEEP_MEMORY = {
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(128 << 20),
    "MALLOC_TOP_PAD_": str(16 << 20),
    "ARROW_DEFAULT_MEMORY_POOL": "system",  # the default allocator reserves 1 GB, which counts toward the memory limit
}


def ignore_arguments(*_: Any) -> None:
    """Accept any arguments and do nothing; default of optional callbacks."""


class _ProcessEndedError(Exception):
    """Error raised if a trial process ends without an answer; `code`: return code as in `subprocess`."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class _TimeLimitError(Exception):
    """Error raised if a trial process exceeds its time limit."""


class TrialProcess:
    """A process that analyses trials one after the other.

    limits: limits of a trial. keep_open: descriptors that the process inherits (the lock of the study). command: command that
    implements the protocol of `worker`; it gets the memory limit and the process id of the parent. on_note: called with
    sentences on slow steps of the start.
    """

    def __init__(
        self,
        limits: Limits,
        keep_open: tuple[int, ...] = (),
        command: Sequence[str] = WORKER,
        on_note: Callable[[str], None] = ignore_arguments,
    ) -> None:
        self._limits = limits
        self._on_note = on_note
        self._command = command
        self._keep_open = keep_open
        self._process: subprocess.Popen[bytes] | None = None
        self._said: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()  # lines from the process; None at the end
        self._closed = False
        self._changing = threading.Lock()  # `close` is called from another thread

    def run(self, task: Task) -> Outcome:
        """Return the outcome of a task; a crash, a hang or lack of memory is recorded as its failure.

        Raises StudyError for an error that affects every trial (no disk space, another program version).
        """
        # SIGKILL is not due to a crash but to lack of memory or to a user
        max_kills = 10
        max_crashes = 2  # number of crashes after which a trial has failed
        crashes = kills = 0
        key = ""

        def store_key(message_key: str) -> None:
            nonlocal key
            key = message_key

        while True:
            self.start()
            try:
                return self._receive_outcome(task, store_key)
            except _TimeLimitError:
                self._end_process()
                reason = f"The analysis did not finish within {self._limits.time_s:g} s."
                hint = "For a long recording, raise time_limit_s under [running] in study.toml."
                return self._failed_outcome(task, key, limited_key(key, self._limits), "TimeLimit", reason, hint)
            except _ProcessEndedError as death:
                self._end_process()
                kills += death.code == -_SIGKILL
                crashes += death.code != -_SIGKILL
                if crashes >= max_crashes:
                    reason = f"The analysis process crashed {crashes} times ({_exit_reason(death.code)})."
                    return self._failed_outcome(
                        task, key, key, "Crash", reason, "Check the file with 'biodyn check FILE.c3d'."
                    )
                if kills >= max_kills:
                    reason = f"The analysis process was killed {kills} times."
                    hint = "The machine probably ran out of memory: use fewer --workers."
                    # without a key, so that another run repeats it
                    return self._failed_outcome(task, key, "", "Killed", reason, hint)

    def start(self) -> None:
        """Start the process if it does not run, and wait until it is ready; StudyError if it cannot start or was closed."""
        start_limit_s = 600.0  # duration of imports and, once per machine, compilation of the kernels, s
        while self._process is None or self._process.poll() is not None:
            self._end_process()
            self._process = self._new_process()
            try:
                message = self._first_answer(time.monotonic() + start_limit_s)
            except _ProcessEndedError as death:
                self._end_process()
                if death.code != -_SIGKILL:
                    raise StudyError(
                        f"No trial process could be started ({_exit_reason(death.code)}).",
                        "Raise memory_limit_mb under [running], or try 'biodyn run' on one trial.",
                    ) from death
            except _TimeLimitError as late:
                self._end_process()
                raise StudyError(f"A trial process did not start within {start_limit_s:g} s.") from late
            else:
                _raise_fatal_error(message)

    def _first_answer(self, deadline: float) -> dict[str, Any]:
        for message in self._receive_messages(deadline):
            if "note" not in message:
                return message
            self._on_note(message["note"])
        raise AssertionError("messages end only with an error")

    def close(self) -> None:
        """End the process permanently; can be called from any thread; a running task raises StudyError."""
        with self._changing:
            self._closed = True
        process = self._process
        if process is not None:
            _kill_group(process)
            process.wait()

    def _new_process(self) -> subprocess.Popen[bytes]:
        command = [*self._command, str(self._limits.memory_mb), str(os.getpid())]
        own_group: dict[str, Any] = {}
        if sys.platform != "win32":
            own_group = {"pass_fds": self._keep_open, "process_group": 0}
        with self._changing:
            if self._closed:
                raise StudyError("The study was stopped.", "Run it again; it resumes where it stopped.")
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**_KEEP_MEMORY, **os.environ, **ONE_THREAD},
                **own_group,
            )
        self._said = queue.SimpleQueue()
        threading.Thread(target=_queue_output_lines, args=(process, self._said), daemon=True).start()
        return process

    def _end_process(self) -> None:
        """End the process and its child processes, if any."""
        process, self._process = self._process, None
        if process is None:
            return
        _kill_group(process)
        process.wait()
        if process.stdin is not None:
            try:
                process.stdin.close()
            except OSError as error:
                if not _is_broken_pipe(error):
                    raise

    def _receive_outcome(self, task: Task, keep_key: Callable[[str], None]) -> Outcome:
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(task_to_json(task) + b"\n")
            self._process.stdin.flush()
        except OSError as error:
            if not _is_broken_pipe(error):
                raise
            raise _ProcessEndedError(self._process.wait()) from None
        for message in self._receive_messages(time.monotonic() + self._limits.time_s):
            if "key" in message:
                keep_key(message["key"])
            elif "outcome" in message:
                return Outcome(**message["outcome"])
            _raise_fatal_error(message)
        raise AssertionError("messages end only with an error")

    def _receive_messages(self, deadline: float) -> Iterator[dict[str, Any]]:
        """Yield the messages of the process; _ProcessEndedError if it ends, _TimeLimitError at the deadline."""
        poll_interval_s = 0.5
        assert self._process is not None
        while True:
            remaining_s = deadline - time.monotonic()
            if remaining_s <= 0.0:
                raise _TimeLimitError
            try:
                line = self._said.get(timeout=min(remaining_s, poll_interval_s))
            except queue.Empty:
                # a child process may outlive it and keep the pipe open
                if self._process.poll() is not None and self._said.empty():
                    raise _ProcessEndedError(self._process.returncode) from None
                continue
            if line is None:
                raise _ProcessEndedError(self._process.wait())
            yield json.loads(line)

    @staticmethod
    def _failed_outcome(task: Task, key: str, tried: str, error: str, reason: str, hint: str) -> Outcome:
        """Record the failure of a task under the key `tried`; an existing result for its `key` is kept."""
        require_output_folder(task.out)
        earlier = kept_record(task, key) if key else None
        if earlier is not None and not earlier.failed:
            return outcome_without_report(task_outcome(task.trial, earlier, kept=True), reason)
        record = TrialRecord(tried, FAILED, error, reason, hint)
        write_failure(task.folder, record)
        return task_outcome(task.trial, record)


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process group, if it still exists."""
    with suppress(ProcessLookupError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)


def _raise_fatal_error(message: dict[str, Any]) -> None:
    """Raise StudyError for a message about an error that affects every trial."""
    if "fatal" in message:
        raise StudyError(message["fatal"], message.get("hint", ""))


def _queue_output_lines(process: subprocess.Popen[bytes], said: queue.SimpleQueue[bytes | None]) -> None:
    """Put every line that the process writes into a queue, and None when its output ends."""
    assert process.stdout is not None
    with process.stdout as lines:
        for line in lines:
            said.put(line)
    said.put(None)


def _is_broken_pipe(error: OSError) -> bool:
    """Return whether an error is due to a closed pipe (Windows: "invalid argument")."""
    return error.errno in (errno.EPIPE, errno.EINVAL)


def _exit_reason(code: int) -> str:
    if code >= 0:
        return f"exit status {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


OnOutcome = Callable[[Outcome], None]


def run_locally(
    tasks: Sequence[Task],
    workers: int | None,
    limits: Limits,
    on_outcome: OnOutcome,
    keep_open: tuple[int, ...] = (),
    say: Callable[[str], None] = ignore_arguments,
) -> None:
    """Run the tasks in `workers` processes of this machine (None: one per core).

    Each thread of a pool supervises one process. `on_outcome` is called when a task ends, one call at a time; `say` is called
    with each step.
    Raises StudyError for an error that affects every trial.
    """
    count = max(1, min(workers or processor_count(), len(tasks)))
    first = TrialProcess(limits, keep_open, on_note=say)
    started, thread_state, reporting = [first], threading.local(), threading.Lock()
    idle = [first]

    def run_task(task: Task) -> None:
        if not hasattr(thread_state, "process"):
            with reporting:
                thread_state.process = idle.pop() if idle else TrialProcess(limits, keep_open)
                started.append(thread_state.process)
        outcome = thread_state.process.run(task)
        with reporting:
            on_outcome(outcome)

    pool = ThreadPoolExecutor(count)
    try:
        if not is_compiled():  # the first process compiles the kernels, which the others then load
            pool.submit(first.start).result()
        say("analysing trials")
        for ended in as_completed([pool.submit(run_task, task) for task in tasks]):
            ended.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in list(started):
            process.close()
        pool.shutdown()


def run_on_cluster(
    tasks: Sequence[Task],
    scheduler: str,
    limits: Limits,
    on_outcome: OnOutcome,
    say: Callable[[str], None] = ignore_arguments,
) -> None:
    """Run the tasks on the workers of a Dask cluster with access to the same files; see `run_locally`.

    Raises StudyError if the cluster cannot be reached, has no workers, or has an error that affects every trial.
    """
    wait_for_workers_s = 60.0
    max_resubmissions = 20  # number of times a task is given to another worker after a worker was lost
    try:
        from distributed import Client
        from distributed import as_completed as as_they_end
    except ImportError as error:
        raise StudyError(
            "--scheduler requires the package dask.distributed, which is not installed.",
            "pip install 'biodyn[cluster]'",
        ) from error
    try:
        client = Client(scheduler, timeout=wait_for_workers_s, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise StudyError(
            f"No Dask scheduler answers at '{scheduler}': {error}.", "Check address and network."
        ) from error
    with client:
        say("analysing trials")
        try:
            client.wait_for_workers(1, timeout=wait_for_workers_s)
        except TimeoutError as error:
            raise StudyError(
                f"The cluster at '{scheduler}' has no workers.", "Start some with 'dask worker'."
            ) from error
        lost = dict.fromkeys(range(len(tasks)), 0)
        futures = {client.submit(perform_on_worker, task, limits, pure=False): i for i, task in enumerate(tasks)}
        running = as_they_end(list(futures), loop=client.loop)  # the client is not the default one
        for future in running:
            index = futures.pop(future)
            fault = future.exception()
            if fault is None:
                on_outcome(future.result())
            elif isinstance(fault, BiodynError) or lost[index] >= max_resubmissions:
                client.cancel(list(futures))
                raise StudyError(f"A worker of the cluster reports: {fault}") from fault
            else:  # the worker was lost with the task
                lost[index] += 1
                again = client.submit(perform_on_worker, tasks[index], limits, pure=False)
                futures[again] = index
                running.add(again)


_own = threading.local()


def perform_on_worker(task: Task, limits: Limits) -> Outcome:
    """Run a task in the trial process of this thread of a Dask worker."""
    if getattr(_own, "limits", None) != limits:
        _own.process, _own.limits = TrialProcess(limits), limits
    outcome: Outcome = _own.process.run(task)
    return outcome
