"""Joint estimate of motion and forces: the trajectory that best fits markers, measured wrenches and the equations of motion.

Input: a trial after its inverse dynamics (`TrialInputs`), the ground reaction at full bandwidth, and the section [estimation]
(`settings`). Output: an `Estimate` with a new `Fit`, `Dynamics` and ground reaction of the trial, and a `summary` of residuals
before and after, and of the changes of motion and torques.

Entry point: `estimate.estimate_trial`. Read `estimation_problem` (unknowns and data), `normal_equation_terms` (markers,
balance of the whole body, smoothness of motion and torques), `noise_model` (their standard deviations),
`unknown_parameters` (unknown inertias and plate errors), `shared_parameters` (their estimate from one or several
walks), `gauss_newton` (the steps, the posterior, the elimination of the residual) and `solver` (banded equations);
`coordinate_estimate` is the estimate for OpenSim models. docs/methods.md has the equations and their evidence.
"""
