"""Qualisys Track Manager: a file for each plate beside that of the trajectories, with its corners, in either axes."""

from __future__ import annotations

import glob
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError
from biodyn.io.files import COPY_AGAIN, EXPORT_AGAIN
from biodyn.io.format import LARGEST_NUMBER
from biodyn.io.opensim.storage import Storage
from biodyn.io.plate_exports.loads import (
    AXES,
    ExportedPlates,
    PlateLoads,
    not_told,
    placed,
    require_possible,
)
from biodyn.io.tables.columns import METRES, PlateColumns
from biodyn.io.tables.force_plates import unknown_note
from biodyn.io.tables.sheet import Sheet, read_sheet, split_cells

_CORNERS: Final = ("POSX_POSY", "NEGX_POSY", "NEGX_NEGY", "POSX_NEGY")  # as C3D files order them
_CORNER_WORD: Final = "FORCE_PLATE_CORNER_"
_PLATE_FILE: Final = re.compile(r"(?P<trial>.+)_f_(?P<number>\d+)")


def first_plate_file(motion: Path) -> Path | None:
    """Return the file of the first plate beside the trajectories `walk.tsv`: `walk_f_1.tsv`; None where there is none."""
    found = plate_files_of(motion.with_name(f"{motion.stem}_f_1{motion.suffix}"))
    return found[0] if found and found[0].is_file() else None


def plate_files_of(path: Path) -> tuple[Path, ...]:
    """Return the files of the plates of the trial of which `path` is one, by number; itself where its name is of no such form."""
    match = _PLATE_FILE.fullmatch(path.stem)
    if match is None:
        return (path,)
    numbered = []
    for other in path.parent.glob(f"{glob.escape(match['trial'])}_f_*{path.suffix}"):
        own = _PLATE_FILE.fullmatch(other.stem)
        if own is not None and own["trial"] == match["trial"]:
            numbered.append((int(own["number"]), other))
    return tuple(other for _, other in sorted(numbered))


def is_plate_file(head: str) -> bool:
    """Whether a text begins as a plate's file of Qualisys Track Manager."""
    return _CORNER_WORD in head


def plate_files(texts: Sequence[tuple[Path, str]]) -> ExportedPlates:
    """Return the plates of files of Qualisys Track Manager, one a plate, as (path, text), on one clock.

    Raises InputFileError where one is no such file, or they are of different times.
    """
    read = [(path, _head(text), read_sheet(path.name, text)) for path, text in texts]
    for path, _, sheet in read:
        require_possible(path, sheet)
    times = [_times(path, sheet) for path, _, sheet in read]
    rows = min(map(len, times))
    for (path, _, _), own in zip(read, times, strict=True):
        if len(own) > rows + 1 or not np.allclose(own[:rows], times[0][:rows], atol=1e-6):
            raise InputFileError(
                f"'{path.name}' and '{read[0][0].name}' are of different times: {len(own)} and {len(times[0])} samples.",
                EXPORT_AGAIN,
            )
    stored = [(_plate_loads(path, sheet, rows), _corners(path, head)) for path, head, sheet in read]
    said = " ".join(head.get("DESCRIPTION", "") for _, head, _ in read)
    return plates_of_loads([path for path, _, _ in read], stored, said, times[0][:rows])


def plates_of_loads(
    paths: Sequence[Path], stored: Sequence[tuple[PlateLoads, FloatArray]], said: str, time_s: FloatArray
) -> ExportedPlates:
    """Return plates with corners of what the program stores of them: loads, and corners (4, 3) m.

    paths: the file of each. said: words of the program that say in whose axes the loads are, "" where it says nothing.
    time_s: (T,).
    """
    names: list[str] = []
    columns: list[FloatArray] = []
    plates: list[PlateColumns] = []
    notes: list[Diagnostic] = []
    local = _in_plate_axes(said, stored)
    for number, (path, (loads, corners)) in enumerate(zip(paths, stored, strict=True), start=1):
        middle = np.zeros(3) if local else corners.mean(axis=0)
        level = int(np.argmin(np.ptp(corners, axis=0)))
        up = 2 if local else level
        acting = loads.on_person(np.eye(3)[up] * (_z_up(corners, level) if local else 1.0))
        moment, told = acting.at_pressure(up)
        if not told:
            notes.append(not_told(path, f"plate {number}"))
        acts = np.asarray(np.isfinite(acting.pressure).all(axis=1))
        acting_force = np.where(acts[:, None], acting.force, 0.0)  # one that acts nowhere is none
        about_middle = moment + np.cross(np.nan_to_num(acting.pressure) - middle, acting_force)
        force, about = (tuple(f"plate {number} {what}{axis}" for axis in AXES) for what in ("F", "M"))
        plates.append(PlateColumns(force, about, corners, "plate" if local else "laboratory"))
        names += [*force, *about]
        unknown = acting.unknown
        if unknown.any():
            notes.append(unknown_note(f"plate {number}", path.name, unknown))
        for values in (acting_force, about_middle):
            values[unknown] = np.nan
            columns.append(values)
    table = Storage(paths[0], tuple(names), time_s, np.hstack(columns), None)
    return ExportedPlates(table, plates=tuple(plates), notes=tuple(notes))


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
        words = [[head[f"{_CORNER_WORD}{corner}_{axis}"] for axis in "XYZ"] for corner in _CORNERS]
        stored = [[float(word.replace(",", ".")) for word in three] for three in words]
    except (KeyError, ValueError) as error:
        raise InputFileError(
            f"'{path.name}' does not give the four corners of its plate ({_CORNER_WORD}...).", EXPORT_AGAIN
        ) from error
    corners = METRES["mm"] * np.array(stored)
    if not np.abs(corners).max() < LARGEST_NUMBER:
        raise InputFileError(f"'{path.name}' is damaged: its plate has a corner at {corners.max():.1e} m.", COPY_AGAIN)
    return corners


def _plate_loads(path: Path, sheet: Sheet, rows: int) -> PlateLoads:
    wanted = [[f"{what}_{axis}" for axis in "XYZ"] for what in ("Force", "Moment", "COP")]
    missing = [name for three in wanted for name in three if name not in sheet.names]
    if missing:
        raise InputFileError(f"'{path.name}' has no column '{missing[0]}'.", EXPORT_AGAIN)
    force, moment, pressure = (
        np.column_stack([sheet.values[:rows, sheet.names.index(name)] for name in three]) for three in wanted
    )
    return PlateLoads(path.stem, force, moment, placed(force, METRES["mm"] * pressure))


def _z_up(corners: FloatArray, level: int) -> float:
    """1 where the plate's z axis points along the laboratory's axis `level`, else -1."""
    z = np.cross(corners[0] - corners[1], corners[0] - corners[3])
    return float(np.sign(z[level]))


def _in_plate_axes(said: str, stored: Sequence[tuple[PlateLoads, FloatArray]]) -> bool:
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
        middles = np.array([np.zeros(3), corners.mean(axis=0)])
        away += np.linalg.norm(loads.pressure[loads.loaded] - middles[:, None], axis=2).sum(axis=1)
    return bool(away[0] < away[1])
