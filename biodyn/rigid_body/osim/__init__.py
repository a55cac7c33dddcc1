"""OpenSim models (.osim, versions 1.9 to 4.x) as coupled multibodies.

Input: the path of a model file. Output: an `OpenSimModel` with bodies, coordinates and their ranges, markers, couplings, and
notes about unused elements of the file. Format: https://opensimconfluence.atlassian.net. The tests compare every number with
OpenSim's solver.

`document` opens XML safely and reads numbers and names, `joints` reads bodies, frames, and joints as chains of one-axis steps,
`model` builds the model. `scaling` scales the elements of a model file; `model_writer` writes a model, or a tree with a free
base.
"""
