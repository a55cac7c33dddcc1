"""Compiled loops over frames, a file for each group of algorithms with its equations (Featherstone 2008).

Kernels take a `Tree` of arrays in topological order, constants, inputs, and outputs to fill, all contiguous float64. They check
no arguments and allocate nothing. `biodyn.rigid_body` is the public interface with shapes, names and errors.

| file | holds |
|---|---|
| `vec3`, `tree` | vectors and matrices as tuples; the tree, joint kinds, wrenches |
| `kinematics`, `dynamics`, `second_order` | poses and motion; RNEA, ABA, CRBA, energies; derivatives, regressor |
| `inverse_kinematics`, `coupled` | marker fit; the same, and equations of motion, for coordinates that move joints by functions |
| `linear_algebra`, `banded_filters`, `text` | tree-sparse and normal equations; filters and splines; rows of tables |
| `lanes`, `jit`, `bundle` | eight frames at once; compilation and its cache; NamedTuples of arrays as one argument |
"""
