"""What differs between the bodies of an analysis; everything else is the same step for all of them.

Goes in: a stage of a trial (`biodyn.trial.stages`). Comes out: the next one, for the steps that depend on the body: axes,
roles of the markers, and the scaled model.

A recording of markers and one of poses have the same step everywhere else, so nothing asks which of them it is.

Each body on a skeleton of the library has one module, a class with the methods of `Body`: `skeleton` is moved by markers,
`poses` by measured poses of its segments. `opensim` is an OpenSim model: `opensim_reading` (files, scaling), `opensim_motion`
(torques from markers or coordinates), `opensim_loads`, `opensim_estimate` and `opensim_result`.
"""
