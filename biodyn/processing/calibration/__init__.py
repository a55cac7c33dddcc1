"""What standing and the walk itself tell about the subject: mass, joint axes, joint centres.

Goes in: the static trial, the marker mapping, the walk's markers and the section [model] (`model/parameters.py`; this
stage has no numbers of its own that a user would choose). Comes out: body mass with where it comes from, and the
`SubjectModel` that the walk is fitted with.

Read `standing` (the quietest half second, averaged, and markers that only the walk shows), `subject` (mass and height: given,
stored or measured) and `subject_fit`: joint centres, axial rotation offsets and marker places fitted
over static trial and walk.
`model_scaling` tells how large the bodies of an imported model are.
"""
