"""From the tables of the library, or a user's own, and a static trial to a body model: the recipes.

Goes in: a skeleton with its recipes, a marker set, an anthropometric table, a row of the hip joint centre; the points of the
static trial, body mass, height and measures. Comes out: a `SubjectModel` (`biodyn.model`) and notes on what was assumed.

Read `skeleton` (bodies and how each is found) and `markersets` (labels -> landmarks and segments); `landmarks` (points and
axes of the standing person) with `constructions`, `hip_centre` and the methods in `joint_centres`; `anthropometry` (masses
and inertias); then `scaling`, which combines them, with `scaling_notes`. `pose_figure` makes the standing person of measured
poses, `without_static` that of a motion. `functional_trial` prepares a recording for joint centres from movement.
`user_tables` checks a user's own files before anything runs, and lists what the library offers.
"""
