"""What one does with one trial: analyse it, look at it, vary it, replay it, compare it.

Goes in: paths of C3D files, settings, or a result folder. Comes out: a `TrialResult` (tables, figures, saved folder) or the
answer to one question. These modules are the only ones that know the order of an analysis and touch files for it.

Read `steps` first: the analysis from top to bottom, a step a function, of which any can be replaced. Then `state` (what
the steps fill), `run` (`run_trial`: the steps one after the other, timed), `files` (the walk, its static trial, the user's
own tables) and `result`. Beside them, one use case a file: `inspect` (what is in a file), `sensitivity` (the same walk with
other choices), `replay` (forward dynamics of a result), `compare` (against the laboratory's own software).
"""
