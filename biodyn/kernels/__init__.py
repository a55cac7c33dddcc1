"""Compiled loops over frames. Each file contains a group of algorithms with their equations (Featherstone 2008).

Kernels take a `Tree` of arrays in topological order, constants, inputs and output arrays, all contiguous float64. They
neither check arguments nor allocate memory. `biodyn.rigid_body` is the public interface with shapes, names and errors.

| file | contents |
|---|---|
| `vec3`, `tree` | vectors and matrices as tuples; tree of links, joint kinds, wrenches |
| `kinematics`, `dynamics`, `dynamics_derivatives` | poses and motion; RNEA, ABA, CRBA, energies; derivatives, regressor |
| `inverse_kinematics`, `coupled_coordinates` | marker fit; marker fit with coordinates that drive the joints by functions |
| `linear_algebra`, `recursive_filters`, `table_text` | tree-sparse and normal equations; filters; rows of tables |
| `lanes`, `jit`, `array_bundles` | SIMD over eight frames; compilation and its cache; NamedTuples of arrays as one argument |
"""
