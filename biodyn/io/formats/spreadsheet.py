"""Spreadsheets: CSV and TSV as text, Parquet; exports of Nexus, QTM and Visual3D, or a laboratory's own.

No format of its own bytes: only the name says that a text is one, or the first words of a known program. What is in them:
`io.tables.spreadsheet`.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from biodyn.io.format import FORMATS, Format
from biodyn.io.tables import recording_of
from biodyn.io.tables.spreadsheet import PARQUET_SUFFIXES, is_export, read_spreadsheet
from biodyn.recording import Recording


def read_as_recording(path: Path) -> Recording:
    """Read one file; raises InputFileError in one sentence for what is no table, has no time or nothing of a motion."""
    sheet = read_spreadsheet(path)
    found = recording_of(
        sheet.table, sheet.roles, sheet.table.sha256, sheet.length, sheet.angle, sheet.events, sheet.subject
    )
    first_frame = sheet.first_frame - 1 + found.first_frame  # the table counts its rows from 1
    return replace(found, first_frame=first_frame, also_read=(*found.also_read, *sheet.maps))


# asked last: a text of any other format may be called .csv
FORMATS.add(
    "spreadsheet",
    Format("CSV", (".csv", ".tsv"), is_export, read_as_recording, forces_beside=True, poses=True),
    10.0,
)
FORMATS.add(
    "parquet",
    Format(
        "Parquet", PARQUET_SUFFIXES, lambda head: head[:4] == b"PAR1", read_as_recording, forces_beside=True, poses=True
    ),
    10.0,
)
