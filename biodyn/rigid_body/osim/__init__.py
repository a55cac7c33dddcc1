"""OpenSim models (.osim, versions 1.9 to 4.x) as coupled multibodies.

In: the path of a model file. Out: an `OpenSimModel`: bodies, coordinates with their ranges, markers, couplings, and which
elements of the file are not used. Format: https://opensimconfluence.atlassian.net; every number is compared with
OpenSim's own solver in the tests.

`document` opens XML safely and reads numbers and names, `joints` reads bodies, frames, and joints as chains of one-axis steps,
`model` returns the model. `scaling` scales a model on the elements of its file, `write` writes a model or a tree on a free base.
"""
