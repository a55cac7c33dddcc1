"""Analyse every trial of a plan in a separate process, so that a crash, a hang or lack of memory affects only that trial.

In: planned trials, limits of time and memory, number of processes or address of a cluster. Out: a result folder and a record
(status, reason, key) per trial, and an `Outcome` when a trial ends.

- `task`: request and outcome of a trial, program version, lock of the output folder.
- `task_execution`: all tasks on this machine or a cluster; `TrialProcess` supervises one process.
- `worker`: the trial process; `trial_analysis` analyses a trial and computes the key that determines whether a result is up to
date.
"""
