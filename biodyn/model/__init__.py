"""The body model: the segments, joints, masses and markers of one person, and the tree that the kernels compute with.

Goes in: a skeleton (names and joints), scaled segments (pose in the parent, inertia, static angles), markers on segments,
outlines of the soles. Comes out: a `SubjectModel`, and from it others: with more markers, another mass, other inertias,
joint centres elsewhere, coordinates locked. How the segments were found is not known here: `from_library`, one storey
above, makes a model from recipes and a static trial; one read from a file needs neither.

Read `skeleton` (segments, their joints, inertias), `assembly` (scaled segments -> multibody tree), `body_model` (the model,
models derived from it, shifted joint centres, points that no skin marker can be), then `observability` (what the markers
determine) and `pose_axes` (angles of measured poses). `marker_roles` holds what each label of a recording is for. No marker,
segment or joint is named in code: names are data.
"""
