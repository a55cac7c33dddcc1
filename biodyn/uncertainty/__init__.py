"""Uncertainty of the joint torques: one standard deviation by linear propagation of the errors of every input.

In: a trial after its inverse dynamics and the standard deviations of the errors (`inputs`, library/uncertainty/magnitudes.toml),
the section [uncertainty] (`settings`). Out: a `TorqueUncertainty`, one standard deviation of every torque in every frame, by
source and in total.

The entry point is `bands.torque_bands`. Read `inputs`, then `bands` and what it uses: `error_sources` (joint centres, inertias,
centre of pressure, cut-off, random errors of markers or poses), `responses` (of the fit to a changed marker, of the torques to a
changed fit) and `parameter_sensitivities` (positions of joints, estimated parameters). `imported` does the same for OpenSim
models by repeated fits with drawn errors. docs/uncertainty.md describes the contents of the bands.
"""
