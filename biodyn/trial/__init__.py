"""Use cases of a single trial: analyse, inspect, vary, replay, compare and export it.

In: paths of recordings, settings, or a result folder. Out: a `TrialResult` (tables, figures, saved folder) or the result of one
use case. Only these modules define the order of an analysis and read or write its files.

Read `steps` first: the analysis from top to bottom, in which each step is a replaceable function. Then `stages`
(arguments and results of the steps), `bodies/` (steps that differ between markers and poses), `session_estimates` (values
shared by the walks of a session), `run`, `trial_files` and `result`. Then one use case per file: `inspection`,
`sensitivity`, `replay`, `result_comparison` with
`laboratory_comparison` (causes of differences between two analyses), and `export/`. `bodies/opensim` analyses trials on an
OpenSim model, with the torques of its coordinates.
"""
