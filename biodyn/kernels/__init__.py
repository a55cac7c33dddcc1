"""Compiled loops over frames, one algorithm a file beside its equations (Featherstone 2008); nothing here checks its arguments.

Goes in: a `Tree` of arrays in topological order, constants, inputs, and the outputs to fill, all contiguous float64.
Comes out: nothing but the filled outputs; nothing is allocated in a loop over frames.

Read `types` (the tree) and `vec3` (vectors as tuples), `joints` (the only file that knows kinds of joints), then
`kinematics`, `rnea`, `aba`, `crba`, `energetics`, `id_derivatives`, `regressor`, `manifold`, and `ik` with `ik_terms`
(inverse kinematics); `coupled_ik` over `laws` is the same for coordinates that move several joints by functions, `normal`
sums the equations of an estimate; `recursion` runs along time, `text`
writes the rows of tables. `lanes` and `sweep` are the same algorithms on eight frames side by
side, `blocks` takes frames in and out of the lanes. `jit` holds the decorators and where
compiled kernels are kept.
`biodyn.rigid_body` is the public face: shapes, names and errors.
"""
