"""Inverse kinematics: the skeleton fitted to the markers of a trial.

Input: the subject's model, `TrialSignals` and the section [inverse_kinematics] (`settings`). Output: a `Fit` (q, v, vdot,
segment poses, marker errors, unknown frames and coordinates), and the signals without outliers.

Entry point: `skeleton_tracking.track_skeleton` fits, attaches markers that the static trial lacks, excludes outliers and fits
again. `least_squares` is the fit, `visibility` handles markers with gaps, outliers and unobserved
coordinates, and `opensim_inverse_kinematics` fits an OpenSim model.
"""
