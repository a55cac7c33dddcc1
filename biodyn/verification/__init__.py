"""Verification of the mechanics: identities that hold to round-off, and forward integration of the motion.

Input: an `ActuatedMotion` (motion with torques and ground wrenches) and, for the replay, `ReplayOptions`. Output: `Consistency`,
one error per frame for each identity; the time for which recorded torques reproduce the motion, and the
feedback that keeps it; the contributions of gravity, inertia and ground reaction to the torques.

Call `consistency.check_consistency`, `replay.replay_trial` and `contributions.torque_contributions`. Read `consistency`, then
`integrators` (equations of motion, interpolation of forces, methods) and `replay` (open-loop windows, tracking).
"""
