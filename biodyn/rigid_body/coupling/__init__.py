"""Coordinates that move several joints by functions: z = f(q) around a tree of one-axis joints.

Input: coordinates q (T, n) of a model. Output: coordinates z (T, nz) of the underlying `Multibody`, and generalised forces
along q. The algorithms of the tree are unchanged: an OpenSim knee, a patella or a ball joint with angular velocities is a layer
above the tree, and layers can be stacked.

`coordinate_functions` has scalar functions, a layer (zdot = G v, zddot = G vdot + bias, tau_q = G^T tau_z) and the list
that kernels take; `coupled_multibody` has a multibody with its layers and fits its coordinates to markers;
`reduced_tree` has the same bodies with a free root.
"""
