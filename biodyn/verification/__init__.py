"""Is the mechanics right? Equations that must hold to round-off, and the motion integrated forwards again.

Goes in: an `ActuatedMotion` (the motion with its torques and ground wrenches) and, for the replay, the section [replay]
(`parameters`). Comes out: `Consistency`, one error a frame for each law; a `ForwardReplay`: how long recorded torques carry
the motion on, and how small the feedback is that keeps it; the contributions of gravity, inertia and the ground.

The calls are `consistency.verify`, `replay.replay_forwards` and `contributions.torque_contributions`. Read `consistency`
(what a check is, then all of them); then `integrators` (the equations of motion, forces between the frames, methods) and
`replay` (open-loop windows, tracking, orders of convergence, and all of it with the numbers of the section).
"""
