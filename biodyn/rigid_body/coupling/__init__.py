"""Coordinates that move several joints by functions: z = f(q) around a tree of one-axis joints.

In: coordinates q (T, n) of a model. Out: coordinates z (T, nz) of the `Multibody` below, and generalised forces along q.
The algorithms of the tree remain unchanged: an OpenSim knee, a patella or a ball joint with angular velocities is a layer
around it, and layers can be stacked.

`functions` has scalar functions, a layer (zdot = G v, zddot = G vdot + bias, tau_q = G^T tau_z) and the list that kernels take;
`coupled` a multibody with its layers and the fit of its coordinates to markers; `reduced` the same bodies below a free root.
"""
