"""The skeleton fitted to the markers of a whole walk, and its motion.

Goes in: the subject's model, `TrialSignals` and the section [inverse_kinematics] (`parameters`). Comes out: a `Fit` (q, v,
vdot, poses of the segments, marker errors, and what is not known in which frame), and the signals without outliers.

The call is `tracking.track`: fit, attach markers that the static trial did not show, leave out outliers, fit again. Read
`tracking`, `fit` (the value), `methods/` (how the motion is estimated: one method a file, chosen by
`inverse_kinematics.method`), `visibility` (markers that come and go, outliers, coordinates that nothing shows) and
`model_markers` (an imported model on markers).
"""
