"""Motion and forces as one estimate: the trajectory that fits markers, measured wrenches and the laws of motion best.

In: a trial after its inverse dynamics (`TrialInputs`), the ground reaction at full bandwidth, and the section [estimation]
(`settings`). Out: an `Estimate`: another `Fit`, `Dynamics` and ground reaction of the same trial, and a `summary` of residuals
before and after, of what was moved, and of how much each torque changed.

The entry point is `estimate.estimate_trial`. Read `problem` (the unknowns and the data), `terms` (markers, balance of the whole
body, smoothness of motion and torques), `noise_model` (their sizes), `inertias` and `plates` (unknown parameters),
`shared_parameters` (their estimate from one or several walks), `gauss_newton` (the steps), `solver` (banded equations) and
`posterior` (standard deviations). docs/methods.md has the equations and their evidence.
"""
