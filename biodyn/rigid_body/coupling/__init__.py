"""Coordinates that move several joints by a law: z = f(q) around a tree of one-axis joints.

In: coordinates q (T, n) of a model. Out: coordinates z (T, nz) of the `Multibody` beneath, and forces the other way round.
The engine stays that of the textbook: an OpenSim knee, a patella or a ball joint with angular velocities is a layer around
it, and the layers lie one over another.

Read `functions` (scalar functions with two derivatives), `maps` (one layer: zdot = G v, zddot = G vdot + bias, tau_q = G^T
tau_z), `coupled` (a multibody beneath its layers), `marker_fit` (inverse kinematics of its coordinates, over `laws`: the
layers as the kernels take them), `floating` (the same bodies below a free root).
"""
