"""Tables of numbers through time as recordings: OpenSim's .mot and .sto, and spreadsheets.

In: a table (`io.opensim.storage.Storage`: names, times, columns), from whatever file. Out: what its columns are
(`ColumnRoles`: markers, poses, ground forces, force plates, joint coordinates, none of these), by their names or by what the user
says, and the `Recording` that they make, in SI units. What cannot be told from the file is a `Diagnostic`; what contradicts
itself is an InputFileError in one sentence.

Read `columns` (what columns are by their names), then `recording` (rows and columns become a recording) with `force_plates`
(ground forces become plates); of spreadsheets `sheet` (text becomes a table), `column_map` (what a user specifies) and
`spreadsheet` (all of it, with the events of exports).
"""

from biodyn.io.tables.columns import ColumnRoles, roles_of
from biodyn.io.tables.recording import recording_of

__all__ = ["ColumnRoles", "recording_of", "roles_of"]
