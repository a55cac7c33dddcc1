"""Body models from recipes (tables of the library or of the user) and a static trial.

Input: a skeleton with its recipes, a marker set, an anthropometric table, a hip joint centre method; the points of the static
trial, body mass, height and measures. Output: a `SubjectModel` (`biodyn.model`) and findings about assumptions.

Read `skeleton_recipes` (bodies and their recipes) and `markersets` (labels -> landmarks and segments); `static_pose`
(points and axes of the standing subject) with `constructions`, `hip_centre` and the methods in `joint_centres`;
`anthropometry` (masses and inertias); then `scaling`, which combines them, with `scaling_notes`. `posture_from_poses`
creates the standing subject from measured poses, `posture_from_motion` from a motion. `user_tables` checks the tables
of a user before the analysis, and lists the library.
"""
