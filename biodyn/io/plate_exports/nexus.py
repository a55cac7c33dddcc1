"""Vicon Nexus: the table "Devices" above the trajectories, in one file and the laboratory's axes, without the plates' corners."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError
from biodyn.io.files import EXPORT_AGAIN
from biodyn.io.plate_exports.loads import ExportedPlates, PlateLoads, in_laboratory, not_told, placed, require_possible
from biodyn.io.tables.columns import METRES
from biodyn.io.tables.sheet import Section, Sheet, read_sheet, split_cells

_DEVICE: Final = re.compile(r"(?i)(?P<device>.+?)\s+-\s+(?P<what>force|moment|cop)")


def has_plates(section: Section) -> bool:
    """Whether a table "Devices" names the centres of pressure of plates."""
    return bool(re.search(r"(?i) - cop\b", "".join(section.lines[1:2])))


def devices(path: Path, section: Section, sha256: str) -> ExportedPlates:
    """Return the force plates of the table "Devices" of an export of Nexus; none where it holds none with all nine columns.

    sha256: of the file. Raises InputFileError where the table is none.
    """
    plates: list[tuple[PlateLoads, FloatArray]] = []
    notes: list[Diagnostic] = []
    for stored in _loads(*_table(path, section)):
        loads = stored.on_person(np.eye(3)[stored.up])
        moment, told = loads.at_pressure(loads.up)
        if not told:
            notes.append(not_told(path, loads.name))
        plates.append((loads, moment))
    return in_laboratory(path, plates, _rate(section), sha256, notes)


def _rate(section: Section) -> float:
    """Samples per second: the first line below the word "Devices"."""
    cells = split_cells(section.lines[0]) if section.lines else []
    try:
        rate_hz = float(cells[0])
    except (ValueError, IndexError):
        rate_hz = float("nan")
    return rate_hz if rate_hz > 0.0 else float("nan")


def _table(path: Path, section: Section) -> tuple[Sheet, dict[str, str]]:
    """The numbers under names of their own, "device - Force Fx", and the unit of each."""
    if not _rate(section) > 0.0 or len(section.lines) < 5:
        raise InputFileError(f"The table 'Devices' of '{path.name}' states no rate or holds no rows.", EXPORT_AGAIN)
    over, axes, units = (split_cells(line) for line in section.lines[1:4])
    # a spreadsheet program fills lines up with empty cells
    width = max((k + 1 for k, axis in enumerate(axes) if axis), default=0)
    names, device = [], ""
    for k in range(width):
        device = (over[k] if k < len(over) else "") or device
        names.append(axes[k] if k < 2 else f"{device} {axes[k]}")
    stated = {name: units[k] if k < len(units) else "" for k, name in enumerate(names)}
    rows = [line for line in section.lines[4:] if line.strip(" \t,;")]
    separator = max(",;\t", key=section.lines[2].count)
    text = "\n".join([f"Rate{separator}{_rate(section)}", separator.join(f'"{name}"' for name in names), *rows])
    sheet = read_sheet(path.name, text)
    require_possible(path, sheet)
    return sheet, stated


def _loads(sheet: Sheet, units: dict[str, str]) -> list[PlateLoads]:
    """The plates whose force, moment and centre of pressure are all there."""
    parts: dict[str, dict[str, list[str]]] = {}
    for name in sheet.names:
        match = _DEVICE.match(name)
        if match is not None:
            parts.setdefault(match["device"], {}).setdefault(match["what"].lower(), []).append(name)
    found = []
    for device, own in parts.items():
        if {what: len(names) for what, names in own.items()} != {"force": 3, "moment": 3, "cop": 3}:
            continue
        force, moment, pressure = (
            np.column_stack([sheet.values[:, sheet.names.index(name)] for name in own[what]])
            for what in ("force", "moment", "cop")
        )
        length = METRES.get(units.get(own["cop"][0], "").strip().lower(), METRES["mm"])
        found.append(PlateLoads(device, force, moment, placed(force, pressure * length)))
    return found
