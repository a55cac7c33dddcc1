"""OpenSim's tables through time, .mot and .sto: joint coordinates, ground forces, marker places, or several of them.

What each column is, its name tells (`io.tables.roles`). The torques of a model that moves as the coordinates say are a run with
that model; ground forces belong to the markers of another file (`io.ground_forces`).
"""

from __future__ import annotations

from pathlib import Path

from biodyn.io.format import FORMATS, Format
from biodyn.io.opensim.storage import TABLE_SUFFIXES, read_storage
from biodyn.io.tables import recording_of, roles_of
from biodyn.recording import Recording


def read_table(path: Path) -> Recording:
    """Read one .mot or .sto; raises InputFileError as `read_storage`, and where no column is of a motion."""
    table = read_storage(path)
    return recording_of(table, roles_of(table.names), table.sha256)


def _is_table(head: bytes) -> bool:
    """True where a line of the head is the one that ends the header of every such file."""
    return b"\0" not in head and any(line.strip().lower() == b"endheader" for line in head.splitlines())


FORMATS.add("opensim_table", Format("OpenSim table", TABLE_SUFFIXES, _is_table, read_table))
