"""Run the tasks of a study: on processes of this machine, or on a Dask cluster."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

from biodyn.errors import BiodynError, StudyError
from biodyn.rigid_body import is_compiled
from biodyn.study.running.task import Limits, Outcome, Task
from biodyn.study.running.trial_process import TrialProcess
from biodyn.threads import processors

OnOutcome = Callable[[Outcome], None]
_LOST_WORKERS = 20  # times a task is given to another worker after a whole worker was lost
_WAIT_FOR_WORKERS_S = 60.0


def _silent(*_: object) -> None:
    """Tell nobody."""


def run_local(
    tasks: Sequence[Task],
    workers: int | None,
    limits: Limits,
    on_outcome: OnOutcome,
    keep_open: tuple[int, ...] = (),
    say: Callable[[str], None] = _silent,
) -> None:
    """Perform the tasks in `workers` processes of this machine (None: one per core).

    Each thread of a pool watches over one process of its own.
    `on_outcome` is called as each ends, one call at a time; `say` hears what is being done.
    Raises StudyError for what is true of every trial.
    """
    count = max(1, min(workers or processors(), len(tasks)))
    first = TrialProcess(limits, keep_open, on_note=say)
    started, own, telling = [first], threading.local(), threading.Lock()
    idle = [first]

    def perform(task: Task) -> None:
        if not hasattr(own, "process"):
            with telling:
                own.process = idle.pop() if idle else TrialProcess(limits, keep_open)
                started.append(own.process)
        outcome = own.process.run(task)
        with telling:
            on_outcome(outcome)

    pool = ThreadPoolExecutor(count)
    try:
        if not is_compiled():  # the first process compiles the kernels, the others then load them
            pool.submit(first.start).result()
        say("analysing trials")
        for ended in as_completed([pool.submit(perform, task) for task in tasks]):
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
    say: Callable[[str], None] = _silent,
) -> None:
    """Perform the tasks on the workers of a Dask cluster that share this machine's files; see `run_local`.

    Raises StudyError where the cluster cannot be reached, has no workers, or cannot do what every trial needs.
    """
    try:
        from distributed import Client
        from distributed import as_completed as as_they_end
    except ImportError as error:
        raise StudyError(
            "--scheduler needs Dask's distributed scheduler, which is not installed.", "pip install 'biodyn[cluster]'"
        ) from error
    try:
        client = Client(scheduler, timeout=_WAIT_FOR_WORKERS_S, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise StudyError(
            f"No Dask scheduler answers at '{scheduler}': {error}.", "Check address and network."
        ) from error
    with client:
        say("analysing trials")
        try:
            client.wait_for_workers(1, timeout=_WAIT_FOR_WORKERS_S)
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
            elif isinstance(fault, BiodynError) or lost[index] >= _LOST_WORKERS:
                client.cancel(list(futures))
                raise StudyError(f"A worker of the cluster reports: {fault}") from fault
            else:  # the worker was lost with the task
                lost[index] += 1
                again = client.submit(perform_on_worker, tasks[index], limits, pure=False)
                futures[again] = index
                running.add(again)


_own = threading.local()


def perform_on_worker(task: Task, limits: Limits) -> Outcome:
    """Perform a task in the trial process of this thread of a Dask worker."""
    if getattr(_own, "limits", None) != limits:
        _own.process, _own.limits = TrialProcess(limits), limits
    outcome: Outcome = _own.process.run(task)
    return outcome
