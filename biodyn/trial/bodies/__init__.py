"""The steps that differ between the bodies of an analysis; all other steps are common.

In: a stage of a trial (`biodyn.trial.stages`). Out: the next stage, for the steps that depend on the body: axes, roles of the
markers, and the scaled model.

Each body on a library skeleton is one module with a class that implements `Body`: `body_from_markers` follows markers,
`body_from_poses` follows measured segment poses. `opensim` is an OpenSim model: `opensim_inputs` (files, scaling),
`opensim_motion` (torques from markers or coordinates), `opensim_loads`, `opensim_estimate` and `opensim_result`.
"""
