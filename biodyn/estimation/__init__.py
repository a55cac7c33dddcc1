"""Joint estimate of motion and forces: the trajectory that fits markers, measured wrenches and the laws of motion best.

In: a trial after its inverse dynamics (`TrialInputs`), the ground reaction at full bandwidth, and the section [estimation]
(`settings`). Out: an `Estimate`: another `Fit`, `Dynamics` and ground reaction of the same trial, and a `summary` of residuals
before and after, changes of the motion and of each torque.

The entry point is `estimate.estimate_trial`. Read `problem` (the unknowns and the data), `terms` (markers, balance of the whole
body, smoothness of motion and torques), `noise_model` (their standard deviations), `parameters` (unknown inertias and plate
errors), `shared_parameters` (their estimate from one or several walks), `gauss_newton` (the steps, the posterior, the elimination
of the residual) and `solver` (banded equations); `on_coordinates` is the estimate for OpenSim models. docs/methods.md has the
equations and their evidence.
"""
