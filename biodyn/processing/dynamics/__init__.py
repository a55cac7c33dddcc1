"""Inverse dynamics: joint torques, net joint moments and forces, powers and the base residual.

Input: a `Fit` and the `GroundReaction`. Output: `Dynamics`, with NaN and a reason in every
frame with unknown ground contact or pose. This stage has no settings. The base residual is
reported and never distributed over the joints.

Entry point: `inverse_dynamics.solve_dynamics`. `actuated_motion` combines motion, torques and
wrenches for result folders, checks and replay; `opensim_inverse_dynamics` computes the loads of
an OpenSim model.
"""
