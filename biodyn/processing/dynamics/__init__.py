"""Joint torques, net joint moments and forces, powers and the base residual.

Goes in: a `Fit` and the `GroundReaction` (no numbers that a user would choose: there is no section). Comes out: `Dynamics`,
NaN with a reason in every frame whose ground contact or pose is not known. What the model cannot explain is kept as the
residual at the base: it is never spread over the joints.

The call is `solve.solve_dynamics`. Read `solve` (recursive Newton-Euler, which frames are valid, moments in three frames
and in axes as clinical software builds them), then `actuated`: motion, torques and wrenches together, as they
stand in a result folder and go into checks and replay.
"""
