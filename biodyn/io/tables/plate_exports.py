"""Force plates as laboratories' software exports them as text: forces, moments and centres of pressure of every plate.

Vicon Nexus writes them as the table "Devices" above the trajectories, in one file and the laboratory's axes, without the plates'
corners. Qualisys Track Manager writes a file for each plate beside that of the trajectories, `walk_f_1.tsv`, with its corners,
in the axes of the plate or of the laboratory. Neither says about which point the moments are: `pressure`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError
from biodyn.io.files import COPY_AGAIN, EXPORT_AGAIN
from biodyn.io.opensim.storage import Storage
from biodyn.io.tables.force_columns import ForceColumns
from biodyn.io.tables.plate_columns import METRES, PlateColumns
from biodyn.io.tables.pressure import free_moment
from biodyn.io.tables.sections import Section
from biodyn.io.tables.sheet import Sheet, read_sheet, split_cells

#: A file of one plate, as Qualisys Track Manager names it: the trial, _f_, the plate's number.
PLATE_FILE: Final = re.compile(r"(?P<trial>.+)_f_(?P<number>\d+)")
_CORNERS: Final = ("POSX_POSY", "NEGX_POSY", "NEGX_NEGY", "POSX_NEGY")  # as C3D files order them
_CORNER_WORD: Final = "FORCE_PLATE_CORNER_"
_DEVICE: Final = re.compile(r"(?i)(?P<device>.+?)\s+-\s+(?P<what>force|moment|cop)")
_AXES: Final = "xyz"
_LOADED_SHARE, _LEAST_N = 0.1, 5.0
_LARGEST_NUMBER = 1e9


@dataclass(frozen=True, eq=False)
class ExportedPlates:
    """Plates of an export.

    Attributes:
        table: their numbers in N, m and N m. forces: plates whose corners are not told; plates: those whose corners are.
        notes: what was decided on the way.
    """

    table: Storage
    forces: tuple[ForceColumns, ...] = ()
    plates: tuple[PlateColumns, ...] = ()
    notes: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, eq=False)
class _Loads:
    """Force (T, 3) N, stored moment (T, 3), centre of pressure (T, 3) m, NaN where there is none, of one plate, by its name."""

    name: str
    force: FloatArray
    moment: FloatArray
    pressure: FloatArray

    def on_person(self, up: FloatArray) -> _Loads:
        """The same as the ground's action on the person, where the programs also write what the person does to the plate.

        up: (3,) in the axes of the loads.
        """
        sense = -1.0 if float(np.nansum(self.force @ up)) < 0.0 else 1.0
        return replace(self, force=sense * self.force, moment=sense * self.moment)

    def at_pressure(self, up: int) -> tuple[FloatArray, bool]:
        """The moment (T, 3) N m about the centre of pressure, along the axis `up`, and whether the file tells it."""
        size = np.nan_to_num(np.linalg.norm(self.force, axis=1))
        known = np.isfinite(self.moment).all(axis=1) & np.isfinite(self.pressure).all(axis=1)
        loaded = known & (size > max(_LEAST_N, _LOADED_SHARE * float(size.max(initial=0.0))))
        found = free_moment(
            np.nan_to_num(self.force), np.nan_to_num(self.moment), np.nan_to_num(self.pressure), loaded, up
        )
        moment = np.zeros_like(self.force)
        moment[known, up] = found.moment[known]
        return moment, found.told


def devices(path: Path, section: Section, sha256: str) -> ExportedPlates:
    """Return the force plates of the table "Devices" of an export of Nexus; none where it holds none with all nine columns.

    sha256: of the file. Raises InputFileError where the table is none.
    """
    loads = _device_loads(*_device_table(path, section))
    columns: list[FloatArray] = []
    forces: list[ForceColumns] = []
    notes: list[Diagnostic] = []
    names: list[str] = []
    rate_hz = _rate(section)
    for stored in loads:
        up = int(np.argmax(np.nansum(np.abs(stored.force), axis=0)))
        plate = stored.on_person(np.eye(3)[up])
        moment, told = plate.at_pressure(up)
        if not told:
            notes.append(_not_told(path, plate.name))
        own = [tuple(f"{plate.name} {what}{axis}" for axis in _AXES) for what in ("F", "C", "T")]
        forces.append(ForceColumns(plate.name, None, *own))
        names += [name for three in own for name in three]
        columns += [plate.force, plate.pressure, moment]
    rows = len(loads[0].force) if loads else 0
    values = np.hstack(columns) if columns else np.empty((0, 0))
    table = Storage(path, tuple(names), np.arange(rows) / rate_hz, values, None, notes=(), sha256=sha256)
    return ExportedPlates(table, tuple(forces), notes=tuple(notes))


def is_plate_file(head: str) -> bool:
    """Whether a text begins as a plate's file of Qualisys Track Manager."""
    return _CORNER_WORD in head


def plate_files(texts: Sequence[tuple[Path, str]]) -> ExportedPlates:
    """Return the plates of files of Qualisys Track Manager, one a plate, as (path, text), on one clock.

    Raises InputFileError where one is no such file, or they are of different times.
    """
    read = [(path, _head(text), read_sheet(path.name, text)) for path, text in texts]
    for path, _, sheet in read:
        _require_possible(path, sheet)
    times = [_times(path, sheet) for path, _, sheet in read]
    rows = min(map(len, times))
    for (path, _, _), own in zip(read, times, strict=True):
        if len(own) > rows + 1 or not np.allclose(own[:rows], times[0][:rows], atol=1e-6):
            raise InputFileError(
                f"'{path.name}' and '{read[0][0].name}' are of different times: {len(own)} and {len(times[0])} samples.",
                EXPORT_AGAIN,
            )
    names: list[str] = []
    columns: list[FloatArray] = []
    plates: list[PlateColumns] = []
    notes: list[Diagnostic] = []
    stored = [(_plate_loads(path, sheet, rows), _corners(path, head)) for path, head, sheet in read]
    local = _in_plate_axes(" ".join(head.get("DESCRIPTION", "") for _, head, _ in read), stored)
    for number, ((path, _, _), (loads, corners)) in enumerate(zip(read, stored, strict=True), start=1):
        middle = np.zeros(3) if local else corners.mean(axis=0)
        level = int(np.argmin(np.ptp(corners, axis=0)))
        up = 2 if local else level
        acting = loads.on_person(np.eye(3)[up] * (_z_up(corners, level) if local else 1.0))
        moment, told = acting.at_pressure(up)
        if not told:
            notes.append(_not_told(path, f"plate {number}"))
        about_middle = moment + np.cross(np.nan_to_num(acting.pressure) - middle, acting.force)
        force, about = (tuple(f"plate {number} {what}{axis}" for axis in _AXES) for what in ("F", "M"))
        plates.append(PlateColumns(force, about, corners, "plate" if local else "laboratory"))
        names += [*force, *about]
        columns += [acting.force, about_middle]
    table = Storage(read[0][0], tuple(names), times[0][:rows], np.hstack(columns), None)
    return ExportedPlates(table, plates=tuple(plates), notes=tuple(notes))


def _not_told(path: Path, plate: str) -> Diagnostic:
    return Diagnostic(
        "free-moment-not-told",
        "warning",
        f"The moments of {plate} in '{path.name}' are about no point that goes with its centre of pressure: its free moment is "
        "taken for 0.",
        hint="Export the trial as C3D, which says what the moments are about.",
    )


# -- Vicon Nexus -------------------------------------------------------------------------------------------------------


def _rate(section: Section) -> float:
    """Samples per second: the first line below the word "Devices"."""
    cells = split_cells(section.lines[0]) if section.lines else []
    try:
        rate_hz = float(cells[0])
    except (ValueError, IndexError):
        rate_hz = float("nan")
    return rate_hz if rate_hz > 0.0 else float("nan")


def _device_table(path: Path, section: Section) -> tuple[Sheet, dict[str, str]]:
    """The numbers under names of their own, "device - Force Fx", and the unit of each."""
    if not _rate(section) > 0.0 or len(section.lines) < 5:
        raise InputFileError(f"The table 'Devices' of '{path.name}' states no rate or holds no rows.", EXPORT_AGAIN)
    over, axes, units = (split_cells(line) for line in section.lines[1:4])
    width = len(axes)
    names, device = [], ""
    for k in range(width):
        device = (over[k] if k < len(over) else "") or device
        names.append(axes[k] if k < 2 else f"{device} {axes[k]}")
    stated = {name: units[k] if k < len(units) else "" for k, name in enumerate(names)}
    rows = [line for line in section.lines[4:] if line.strip(" \t,;")]
    separator = max(",;\t", key=section.lines[2].count)
    text = "\n".join([f"Rate{separator}{_rate(section)}", separator.join(f'"{name}"' for name in names), *rows])
    sheet = read_sheet(path.name, text)
    _require_possible(path, sheet)
    return sheet, stated


def _device_loads(sheet: Sheet, units: dict[str, str]) -> list[_Loads]:
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
        found.append(_Loads(device, force, moment, _placed(force, pressure * length)))
    return found


def _require_possible(path: Path, sheet: Sheet) -> None:
    """Raise InputFileError where a number is larger than any in a laboratory, N, mm, N mm."""
    largest = float(np.nanmax(np.abs(sheet.values), initial=0.0))
    if largest > _LARGEST_NUMBER:
        raise InputFileError(f"'{path.name}' is damaged: its forces hold numbers up to {largest:.1e}.", COPY_AGAIN)


def _placed(force: FloatArray, pressure: FloatArray) -> FloatArray:
    """Centres of pressure, NaN where there is no force."""
    acts = np.asarray((np.abs(force) > 0.0).any(axis=1))
    return np.where(acts[:, None], pressure, np.nan)


# -- Qualisys Track Manager --------------------------------------------------------------------------------------------


def _head(text: str) -> dict[str, str]:
    """What stands behind the words above the numbers."""
    pairs = [split_cells(line) for line in text.splitlines()[:60]]
    return {cells[0]: " ".join(cells[1:]) for cells in pairs if len(cells) > 1 and re.fullmatch("[A-Z_]+", cells[0])}


def _times(path: Path, sheet: Sheet) -> FloatArray:
    if sheet.time is not None:
        return np.asarray(sheet.values[:, sheet.names.index(sheet.time)])
    if not sheet.rate_hz > 0.0:
        raise InputFileError(f"'{path.name}' states no FREQUENCY.", EXPORT_AGAIN)
    return np.arange(len(sheet.values)) / sheet.rate_hz


def _corners(path: Path, head: dict[str, str]) -> FloatArray:
    """(4, 3) m."""
    try:
        stored = [[float(head[f"{_CORNER_WORD}{corner}_{axis}"]) for axis in "XYZ"] for corner in _CORNERS]
    except (KeyError, ValueError) as error:
        raise InputFileError(
            f"'{path.name}' does not give the four corners of its plate ({_CORNER_WORD}...).", EXPORT_AGAIN
        ) from error
    return METRES["mm"] * np.array(stored)


def _plate_loads(path: Path, sheet: Sheet, rows: int) -> _Loads:
    wanted = [[f"{what}_{axis}" for axis in "XYZ"] for what in ("Force", "Moment", "COP")]
    missing = [name for three in wanted for name in three if name not in sheet.names]
    if missing:
        raise InputFileError(f"'{path.name}' has no column '{missing[0]}'.", EXPORT_AGAIN)
    force, moment, pressure = (
        np.column_stack([sheet.values[:rows, sheet.names.index(name)] for name in three]) for three in wanted
    )
    return _Loads(path.stem, force, moment, _placed(force, METRES["mm"] * pressure))


def _z_up(corners: FloatArray, level: int) -> float:
    """1 where the plate's z axis points along the laboratory's axis `level`, else -1."""
    z = np.cross(corners[0] - corners[1], corners[0] - corners[3])
    return float(np.sign(z[level]))


def _in_plate_axes(said: str, stored: Sequence[tuple[_Loads, FloatArray]]) -> bool:
    """Whether forces are in the plates' own axes: as the files say, else by where the centres of pressure would lie.

    stored: of every plate its loads and its corners (4, 3) m.
    """
    words = said.lower()
    if "local" in words or "plate)" in words:
        return True
    if "lab" in words or "world" in words or "global" in words:
        return False
    away = np.zeros(2)  # from the middle of the plate, where they are in its axes and where in the laboratory's
    for loads, corners in stored:
        size = np.linalg.norm(loads.force, axis=1)
        loaded = (size > _LOADED_SHARE * size.max(initial=0.0)) & np.isfinite(loads.pressure).all(axis=1)
        middles = np.array([np.zeros(3), corners.mean(axis=0)])
        away += np.linalg.norm(loads.pressure[loaded] - middles[:, None], axis=2).sum(axis=1)
    return bool(away[0] < away[1])
