"""Calibration of the subject: mass, height, joint centres and axes.

Input: the static trial, the marker mapping, the markers of the walk, and the values given by the user. Output: body mass and
height with their sources, and the `SubjectModel` that is fitted to the walk. This stage has no settings of its own.

`standing_posture` averages the quietest part of the static trial, `subject_measurements` determines mass and height,
`subject_fit` fits joint centres, axes and marker positions to the static trial and the walk, and `model_scaling`
computes the scale factors of the bodies of an OpenSim model.
"""
