"""What one does with one trial: analyse it, look at it, vary it, replay it, compare it, export it.

Goes in: paths of recordings, settings, or a result folder. Comes out: a `TrialResult` (tables, figures, saved folder) or the
answer to one question. These modules are the only ones that know the order of an analysis and touch files for it.

Read `steps` first: the analysis from top to bottom, each step a function that can be replaced. Then `stages` (the frozen values
that steps take and return), `bodies/` (what differs between markers and poses), `session` (what walks of a session share), `run`,
`files` and `result`. Then one use case a file: `inspect`, `sensitivity`, `replay`, `compare` (agreement of curves with the
laboratory's software), `differences` with `laboratory_file` (why two analyses differ), and `export/`. An
OpenSim model is the body of `bodies/opensim`, with the torques of its coordinates.
"""
