"""Points, rotations, registration and polygons: geometric functions shared by the whole program.

Input: arrays of points, vectors, matrices and quaternions, frames first. Output: arrays, independent of markers and segments.
Quaternions are w x y z outside; the order x y z w of SciPy is converted only in `rotations`. The kernels have compiled
functions (`biodyn.kernels.vec3`), because compiled code cannot call these.

Read `rotations` (matrices, quaternions, Cardan angles, vector products), then `points` (finite points, lengths, the pose of
a rigid body from its points, distances to polygons on the floor).
"""
