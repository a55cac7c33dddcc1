"""Methods of the hip joint centre, one per file.

Input: a row of parameters (`library/body/joint_centres/hip.toml`, or a user's file) and a `HipInput`: sizes of the pelvis, leg
length, marker radius, side. Output: the centre in the pelvis frame.

Read `../hip_centre` first (input of a method, and selection of its row), then `regressions` (published coefficients of pelvis
and leg sizes; Davis 1991). A new method is a new file in this folder: a function with the decorator
`@register_hip_method("its_name", numbers=(...))`. A row with `method = "its_name"` and its numbers is then a valid
`model.hip_centre`.
"""
