"""What one does with one trial: analyse it, look at it, vary it, replay it, compare it, export it.

Goes in: paths of recordings, settings, or a result folder. Comes out: a `TrialResult` (tables, figures, saved folder) or the
answer to one question. These modules are the only ones that know the order of an analysis and touch files for it.

Read `steps` first: the analysis from top to bottom, a step a function, of which any can be replaced. Then `state` (what the
steps fill), `run` (`run_trial`: the steps one after the other, timed), `files` (the
walk, its static trial, the user's own tables) and `result`; `on_poses` and `pose_offsets` are what differs where poses of
segments were measured. Beside them, one use case a file: `inspect` with `inspect_tables` (what is in a file), `sensitivity`
(the same walk with other choices), `replay` (forward dynamics of a result), `compare` (how well curves agree with the
laboratory's own software), `differences` with `laboratory_file` and `torque_tables` (why two analyses differ), `export/` (a
result in the files of other programs). An OpenSim model has a way of its own, `on_model`: `from_coordinates`, or `from_markers`
with `scaled_model`, `model_recording`, `model_plates` and `model_corners`, `model_torques`, `model_result`; then
`model_analysis`; `model_replay`. `stored` is `biodyn.load`.
"""
