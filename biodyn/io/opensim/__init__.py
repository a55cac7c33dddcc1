"""Read and write OpenSim files other than models: tables over time (.mot, .sto), external loads (XML) and tool set-ups.

In: the path of a file, possibly damaged. Out: a `Storage` (names and columns as stored, with the unit of angles), or
`ExternalForces` (body and columns of force, point and moment of every load). A file that cannot be read raises
InputFileError.

Read `storage`, then `external_loads` and `tool_setups` (set-up files of OpenSim tools). `file_writers` generates such
files. Models are read by `biodyn.rigid_body.osim`; marker files (.trc) are recordings like any other, `io/formats/trc`.
"""
