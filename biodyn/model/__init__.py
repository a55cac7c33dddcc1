"""The body model: segments, joints, masses and markers of one subject, and the multibody tree for the kernels.

Input: a skeleton (names and joints), scaled segments (pose in the parent, inertia, static angles), markers on segments,
outlines of the soles. Output: a `SubjectModel`, and models derived from it with more markers, another mass, other inertias,
shifted joint centres or locked coordinates. `from_library` creates a model from recipes and a static trial, `from_osim` from an
OpenSim file.

Read `skeleton` (segments, joints, inertias), `assembly` (scaled segments -> multibody tree), `body_model` (the model, derived
models, joint centres without skin markers), then `observability` (coordinates determined by the markers) and `pose_axes`
(angles of measured poses). `marker_roles` defines the role of each label. The code contains no names of markers, segments or
joints.
"""
