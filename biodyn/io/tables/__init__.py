"""Convert tables over time to recordings: .mot and .sto files of OpenSim, and spreadsheets.

In: a table (`io.opensim.storage.Storage`: names, times, columns). Out: the roles of its columns (`ColumnRoles`: markers, poses,
ground forces, force plates, joint coordinates, others) by their names or by a column map, and the `Recording` in SI units.
Doubtful data are reported as `Diagnostic`; contradictory data raise InputFileError.

Read `column_roles` (roles of columns by their names), then `table_to_recording` (conversion to a recording) with `force_plates`
(conversion of ground forces to plates). For spreadsheets: `text_tables` (text to table), `column_map` (roles specified by the
user) and `spreadsheet` (the complete reader, with the events of exports).
"""

from biodyn.io.tables.column_roles import determine_column_roles
from biodyn.io.tables.table_to_recording import recording_of_table

__all__ = ["determine_column_roles", "recording_of_table"]
