"""Motion and forces as one estimate: the trajectory that best explains markers, measured wrenches and the laws of motion.

Goes in: a trial after its inverse dynamics (`TrialInputs`), the ground reaction at full bandwidth, and the section
[estimation] (`parameters`). Comes out: an `Estimate`: another `Fit`, `Dynamics` and ground reaction of the same trial, and an
account of what was left over before and after, what was moved for it, and by how much each torque changed.

The call is `estimate.estimate_trial`. Read `deviation` (the unknowns: a small change of the motion, and how it changes
velocities and accelerations), `terms` (what the markers, the balance of the whole body and the smoothness of motion and
torques say of it), `sizes`, `torques` and `strikes` (how much each of them counts, and how fast each torque may change, in
the stride and about foot strikes), `shared_course` (what all strikes have in common), `inertias` (mass centres that the trial
may move), `plates` (errors of the force plates), `constants` (what a trial tells of both, and of the balance's error), `solve`
(Gauss-Newton over all frames at once, by `banded` and `halves`; of long trials in `windows`), `closing` (the motion in balance
that is nearest), `account`.
docs/methods.md tells the equations and their evidence.
"""
