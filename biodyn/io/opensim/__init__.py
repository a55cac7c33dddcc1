"""Files of OpenSim other than models: tables through time (.mot, .sto), and which column loads which body (ExternalLoads XML).

In: the path of a file, possibly damaged. Out: a `Storage` (names and columns, as the file has them, with its unit of
angle), or `ExternalForces` (per load the body and the columns of force, point and moment). One InputFileError in a sentence
where that cannot be.

Read `storage`, then `external_loads` and `setups` (set-up files of OpenSim's tools); `write` makes such files.
Models are read by `biodyn.rigid_body.osim`; marker files (.trc) are recordings like any other, `io/formats/trc`.
"""
