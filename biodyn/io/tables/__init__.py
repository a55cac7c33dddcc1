"""Tables of numbers through time as recordings: OpenSim's .mot and .sto, and spreadsheets.

In: a table (`io.opensim.storage.Storage`: names, times, columns), from whatever file. Out: what its columns are
(`ColumnRoles`: markers, poses, ground forces, force plates, joint coordinates, none of these), by their names or by what the user
says, and the `Recording` that they make, in SI units. What cannot be told from the file is a `Diagnostic`; what contradicts
itself is an InputFileError in one sentence.

Read `roles` and what it asks: `force_columns`, `pose_columns`, `plate_columns`; then `recording`, with `force_plates` and
`unknown_rows`; of spreadsheets `sheet` (text), `column_map` (what a user says), `text_events` and `spreadsheet` (all of it).
"""

from biodyn.io.tables.columns import ColumnRoles, roles_of
from biodyn.io.tables.recording import recording_of

__all__ = ["ColumnRoles", "recording_of", "roles_of"]
