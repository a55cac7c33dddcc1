"""A trial's result in the files of other programs.

In: the result of a trial as a value, or its folder. Out: a folder of its own with the files of another program, and
`export.json`, which says what they are and keeps their digests. Nothing is computed again: numbers are renamed, turned into
other axes and units, and written.

The model becomes OpenSim's joint by joint (`biodyn.rigid_body.osim`), so that its coordinates keep names and values. A
folder appears whole or not at all, and one that holds anything else is left alone (`biodyn.output.store.exported`).

Read `export` (what can be asked for, and where it goes), then `opensim` (model, motion, loads, torques), `c3d` (the walk's own
file with the result in it; names, signs and units of other programs) and `sheets` (workbook and MATLAB file).
"""

from biodyn.trial.export.export import FORMATS, Export, export

__all__ = ["FORMATS", "Export", "export"]
