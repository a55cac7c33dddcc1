"""OpenSim models (.osim, versions 1.9 to 4.x) as coupled multibodies.

In: the path of a model file. Out: an `OpenSimModel`: bodies, coordinates with their ranges, markers, couplings, and what of
the file is not used. Format and meaning: OpenSim's documentation, https://opensimconfluence.atlassian.net; every number is
compared with OpenSim's own solver in the tests.

Read `document` (XML that is safe to open), `elements` (numbers and names of an element), `functions`, `joints` (a joint as a
chain of one-axis steps), `tree` (bodies, joints, frames of all versions), `model` (what comes out). The way back: `chains`
(one-axis bodies as joints), `write` (the file), `from_multibody` (a tree on a free base as such a model). `scaling` makes a
model larger or smaller on the elements of its file.
"""
