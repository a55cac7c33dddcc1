"""Analyse every trial of a plan: each in a process that may crash, hang or run out of memory at its own cost only.

In: planned trials, limits of time and memory, the number of processes or the address of a cluster. Out: a result folder and a
record (status, reason, key) a trial, and an `Outcome` as each ends.

Read `task` (what is asked and what became of it) and `run` (all tasks, here or on a cluster), then `trial_process` (watches one
process from outside) and `worker` (that process from inside), `perform` (the work itself). `key` tells whether a result is still
true for its inputs, settings and `program`; `lock` keeps one run at a time in a folder and tells when that folder is gone;
`recording_cache` shares static trials.
"""
