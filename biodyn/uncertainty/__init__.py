"""Uncertainty of the joint torques: one standard deviation by linear propagation of the errors of every input.

Input: a trial after its inverse dynamics, the standard deviations of the errors (`propagation_inputs`,
library/uncertainty/magnitudes.toml) and the section [uncertainty] (`settings`). Output: a `TorqueUncertainty`, one
standard deviation of every torque in every frame, by source and in total.

Entry point: `torque_bands.torque_bands`. Read `propagation_inputs`, then `torque_bands` and its modules:
`error_sources` (joint centres, inertias, centre of pressure, cut-off, random errors of markers or poses),
`fit_responses` (of the fit to changed markers, of the torques to a changed fit) and `parameter_sensitivities` (joint
positions, estimated parameters). `monte_carlo_bands` computes the bands of OpenSim models by repeated fits with random
errors. docs/uncertainty.md describes the bands.
"""
