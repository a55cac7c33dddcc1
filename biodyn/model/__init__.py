"""The body model: the segments, joints, masses and markers of one person, and the tree that the kernels compute with.

Goes in: a skeleton (names and joints), scaled segments (pose in the parent, inertia, static angles), markers on segments,
outlines of the soles. Comes out: a `SubjectModel`, and from it others: with more markers, another mass, other inertias,
joint centres elsewhere, coordinates locked. How the segments were found is not known here: `from_library`, one storey
above, makes a model from recipes and a static trial; one read from a file needs neither.

Read `skeleton` (segments and their joints) and `inertia`, `assembly` (scaled segments -> multibody tree), `body_model` (the
model itself), `changes` (another one from it) and `moved_centre` (a joint centre believed elsewhere), then `observability`
over `factors` (what the markers can see), `inside_body` (points that no skin marker can be) and `pose_axes` (angles of measured
poses). `marker_roles` says what each label of a recording is for. No marker, segment or joint is named in code: names are data.
"""
