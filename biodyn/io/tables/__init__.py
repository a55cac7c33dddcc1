"""Convert tables of numbers over time to recordings: OpenSim's .mot and .sto, and spreadsheets.

In: a table (`io.opensim.storage.Storage`: names, times, columns). Out: the roles of its columns (`ColumnRoles`: markers, poses,
ground forces, force plates, joint coordinates, others) by their names or by a column map, and the `Recording` in SI units. Open
questions are a `Diagnostic`; a contradiction is an InputFileError.

Read `columns` (what columns are by their names), then `recording` (rows and columns become a recording) with `force_plates`
(ground forces become plates); of spreadsheets `sheet` (text becomes a table), `column_map` (what a user specifies) and
`spreadsheet` (all of it, with the events of exports).
"""

from biodyn.io.tables.columns import ColumnRoles, roles_of
from biodyn.io.tables.recording import recording_of

__all__ = ["ColumnRoles", "recording_of", "roles_of"]
