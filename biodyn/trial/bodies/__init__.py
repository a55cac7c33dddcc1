"""What differs between the bodies of an analysis; everything else is the same step for all of them.

Goes in: a stage of a trial (`biodyn.trial.stages`). Comes out: the next one, for the steps that depend on the body: axes,
roles of the markers, and the scaled model.

A recording of markers and one of poses have the same step everywhere else, so nothing asks which of them it is.

Each body has one module: a class with the methods of `Body`, which says there what it does not support.
`skeleton` is a skeleton of the library that markers move; `poses` the same skeleton moved by measured poses of its segments.
"""
