"""The methods of the hip joint centre, one a file.

Goes in: a row of numbers (`library/body/joint_centres/hip.toml`, or a user's own file) and a `HipInput`: sizes of the
pelvis, leg length, marker radius, side, the points of the static trial, and, where there is one, a trial in which the
thigh moves about the hip. Comes out: the centre in the pelvis frame, or one sentence that says what is lacking.

Read `hip_centre` next to this folder first (the input of a method, and how its row is found), then `regressions` (published
coefficients of pelvis and leg sizes: many rows; Davis 1991) and `score` (from a functional trial).
A new method is one more file here: a function under `@hip_method("its_name", numbers=(...))`. A row that says
`method = "its_name"` and gives the numbers makes it a choice for `model.hip_centre`.
"""
