"""Register the formats that have a reader in `biodyn.io`: OpenSim tables, spreadsheets, MATLAB files of QTM, .b3d
archives.

The role of each column of a table is determined by its name (`io.tables.column_roles`). A .mot or .sto file holds joint
coordinates, ground forces, marker positions, or several of these; CSV, TSV and Parquet files are exports of Nexus, QTM and
Visual3D, or are written by the laboratory itself.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from biodyn.io.b3d import is_archive, read_b3d
from biodyn.io.format import FORMATS, Format
from biodyn.io.matlab import is_matlab
from biodyn.io.opensim.storage import TABLE_SUFFIXES, read_storage
from biodyn.io.qualisys_mat import SUFFIX, read_qualisys_mat
from biodyn.io.tables import determine_column_roles, recording_of_table
from biodyn.io.tables.spreadsheet import PARQUET_SUFFIXES, is_software_export, read_spreadsheet
from biodyn.recording import Recording


def read_opensim_table(path: Path) -> Recording:
    """Read one .mot or .sto file; raises InputFileError as `read_storage` does, and if no column belongs to a motion."""
    table = read_storage(path)
    return recording_of_table(table, determine_column_roles(table.names), table.sha256)


def read_spreadsheet_recording(path: Path) -> Recording:
    """Read one spreadsheet; raises InputFileError for a file without a table, without a time, or without a column of a motion."""
    sheet = read_spreadsheet(path)
    recording = recording_of_table(
        sheet.table, sheet.roles, sheet.table.sha256, sheet.length, sheet.angle, sheet.events, sheet.subject
    )
    first_frame = sheet.first_frame - 1 + recording.first_frame  # the table numbers its rows from 1
    return replace(recording, first_frame=first_frame, also_read=(*recording.also_read, *sheet.maps))


def _is_opensim_table(head: bytes) -> bool:
    """Return whether the first bytes contain the line that ends the header of every .mot or .sto file."""
    return b"\0" not in head and any(line.strip().lower() == b"endheader" for line in head.splitlines())


def _is_parquet(head: bytes) -> bool:
    return head[:4] == b"PAR1"


FORMATS.add("opensim_table", Format("OpenSim table", TABLE_SUFFIXES, _is_opensim_table, read_opensim_table))
FORMATS.add("qualisys_mat", Format("MATLAB file of QTM", (SUFFIX,), is_matlab, read_qualisys_mat))
FORMATS.add("b3d", Format("AddBiomechanics archive", (".b3d",), is_archive, read_b3d))
# last, because a text of any other format may have the suffix .csv
for _name, _title, _suffixes, _recognises in (
    ("spreadsheet", "CSV", (".csv", ".tsv"), is_software_export),
    ("parquet", "Parquet", PARQUET_SUFFIXES, _is_parquet),
):
    FORMATS.add(
        _name,
        Format(_title, _suffixes, _recognises, read_spreadsheet_recording, separate_forces=True, poses=True),
        10.0,
    )
