"""Read force plates that capture software exports as text next to the trajectories: Vicon Nexus, Qualisys, Cortex.

The exports do not state the reference point of the moments, and may store the action of the person on the plate instead of the
reaction. Only the free moment is used, about the point for which no horizontal moment remains (`free_moment`). Nexus: table
"Devices" above the trajectories, in laboratory axes, without corners. Qualisys Track Manager: one file per plate, with corners.
Cortex: forces, centres of pressure and free moments of all plates in `walk.forces`.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Final

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError
from biodyn.io.file_access import COPY_AGAIN, EXPORT_AGAIN, file_bytes
from biodyn.io.format import LARGEST_NUMBER
from biodyn.io.opensim.storage import Storage
from biodyn.io.tables.column_roles import METRES, ForceColumns, PlateColumns
from biodyn.io.tables.force_plates import (
    LARGEST_FREE_NM,
    free_moment,
    load_threshold_n,
    missing_load_rows,
    missing_rows_note,
)
from biodyn.io.tables.spreadsheet import TEXT_SUFFIXES, decode_text, is_utf16
from biodyn.io.tables.text_tables import Section, Sheet, read_sheet, split_cells, split_sections

#: Letters of the axes in column names.
AXES: Final = "xyz"


@dataclass(frozen=True, eq=False)
class GroundForces:
    """Ground forces of a file, in N, m and N m.

    Attributes:
        path: path of the file. table: table that contains all columns. forces: columns of forces, and of plates without corners.
        plates: columns of
            plates with corners. notes: notes for the user. ignored: names of loads on bodies other than feet. files: all files
            that were read, with their hashes.
    """

    path: Path
    table: Storage
    forces: tuple[ForceColumns, ...] = ()
    plates: tuple[PlateColumns, ...] = ()
    notes: tuple[Diagnostic, ...] = ()
    ignored: tuple[str, ...] = ()
    files: tuple[tuple[Path, str], ...] = ()


@dataclass(frozen=True, eq=False)
class PlateLoads:
    """Force (T, 3) N, moment as stored (T, 3) N m, and centre of pressure (T, 3) m of one plate; NaN if missing."""

    name: str
    force: FloatArray
    moment: FloatArray
    pressure: FloatArray

    @property
    def vertical_axis(self) -> int:
        """Return the index (0, 1, 2) of the axis along which most force acts."""
        return int(np.argmax(np.nansum(np.abs(self.force), axis=0)))

    def as_reaction_on_person(self, up: FloatArray) -> PlateLoads:
        """Return the loads with the sign of the ground reaction on the person; some programs write the action on the plate.

        up: (3,) upward direction in the axes of the loads.
        """
        sense = -1.0 if float(np.nansum(self.force @ up)) < 0.0 else 1.0
        return replace(self, force=sense * self.force, moment=sense * self.moment)

    def select_rows_before(self, row: int) -> PlateLoads:
        """Return the loads of the first `row` rows."""
        return replace(self, force=self.force[:row], moment=self.moment[:row], pressure=self.pressure[:row])

    @property
    def complete_rows(self) -> BoolArray:
        """Return a mask (T,) of the rows with stored moment and centre of pressure."""
        return np.asarray(np.isfinite(self.moment).all(axis=1) & np.isfinite(self.pressure).all(axis=1))

    @property
    def loaded_rows(self) -> BoolArray:
        """Return a mask (T,) of the rows with stored moment and centre of pressure and a force above a tenth of its maximum."""
        size = np.linalg.norm(self.force, axis=1)
        return np.asarray(self.complete_rows & (np.nan_to_num(size) > load_threshold_n(size)))

    @property
    def missing_rows(self) -> BoolArray:
        """Return a mask (T,) of the rows between loaded rows that lack a force or a centre of pressure."""
        return missing_load_rows(self.force, self.pressure, load_threshold_n(np.linalg.norm(self.force, axis=1)))

    def moment_about_cop(self, up: int) -> tuple[FloatArray, bool]:
        """Return the moment (T, 3) N m about the centre of pressure, along the axis `up`, and whether the file determines it."""
        free, _, is_known = free_moment(
            np.nan_to_num(self.force), np.nan_to_num(self.moment), np.nan_to_num(self.pressure), self.loaded_rows, up
        )
        moment = np.zeros_like(self.force)
        moment[self.complete_rows, up] = free[self.complete_rows]
        return moment, is_known


def forces_in_laboratory_axes(
    path: Path,
    plates: Sequence[tuple[PlateLoads, FloatArray]],
    rate_hz: float,
    sha256: str,
    notes: Sequence[Diagnostic] = (),
) -> GroundForces:
    """Return the ground forces of plates without corners, in laboratory axes.

    plates: loads on the person and moment (T, 3) N m about the centre of pressure of each plate; sha256: hash of the file.
    """
    columns = [values for loads, moment in plates for values in (loads.force, loads.pressure, moment)]
    forces = tuple(_force_columns(loads.name) for loads, _ in plates)
    names = tuple(name for force in forces for name in force.columns)
    values = np.hstack(columns) if columns else np.empty((0, 0))
    table = Storage(path, names, np.arange(len(values)) / rate_hz, values, None, sha256=sha256)
    return GroundForces(path, table, forces, notes=tuple(notes))


def _force_columns(plate: str) -> ForceColumns:
    """Return the column names of the force, the centre of pressure and the free moment of a plate."""
    force, point, moment = (tuple(f"{plate} {what}{axis}" for axis in AXES) for what in ("F", "C", "T"))
    return ForceColumns(plate, None, force, point, moment)


def require_possible_values(path: Path, sheet: Sheet) -> None:
    """Raise InputFileError if a force, position or moment (N, mm, N mm) is too large for a force plate in a laboratory."""
    largest = float(np.nanmax(np.abs(sheet.values), initial=0.0))
    if largest > LARGEST_NUMBER:
        raise InputFileError(
            f"'{path.name}' is damaged: its force data contain numbers up to {largest:.1e}.", COPY_AGAIN
        )


def mask_unloaded_cop(force: FloatArray, pressure: FloatArray) -> FloatArray:
    """Return the centres of pressure (T, 3), replaced by NaN in rows without a force."""
    acts = np.asarray((np.abs(force) > 0.0).any(axis=1))
    return np.where(acts[:, None], pressure, np.nan)


def _unknown_free_moment_note(path: Path, plate: str) -> Diagnostic:
    return Diagnostic(
        "forces-incomplete",
        "warning",
        f"The moments of {plate} in '{path.name}' fit neither its centre of pressure nor another reference point; its free "
        f"moment is set to 0.",
        hint="Export the trial as C3D, which defines the reference point of the moments.",
    )


_DEVICE: Final = re.compile(r"(?i)(?P<device>.+?)\s+-\s+(?P<what>force|moment|cop)")


def has_plates(section: Section) -> bool:
    """Return whether a table "Devices" contains centres of pressure of plates."""
    return bool(re.search(r"(?i) - cop\b", "".join(section.lines[1:2])))


def read_nexus_plates(path: Path, section: Section, sha256: str) -> GroundForces:
    """Return the force plates with all nine columns in the table "Devices" of a Nexus export.

    sha256: hash of the file. Raises InputFileError if the table is not valid.
    """
    plates: list[tuple[PlateLoads, FloatArray]] = []
    notes: list[Diagnostic] = []
    for stored in _nexus_loads(*_plate_table(path, section)):
        loads = stored.as_reaction_on_person(np.eye(3)[stored.vertical_axis])
        moment, known = loads.moment_about_cop(loads.vertical_axis)
        if not known:
            notes.append(_unknown_free_moment_note(path, loads.name))
        plates.append((loads, moment))
    return forces_in_laboratory_axes(path, plates, _sample_rate(section), sha256, notes)


def _sample_rate(section: Section) -> float:
    """Return the samples per second: the first line below the word "Devices"."""
    cells = split_cells(section.lines[0]) if section.lines else []
    try:
        rate_hz = float(cells[0])
    except (ValueError, IndexError):
        rate_hz = float("nan")
    return rate_hz if rate_hz > 0.0 else float("nan")


def _plate_table(path: Path, section: Section) -> tuple[Sheet, dict[str, str]]:
    """Return the table with columns named "device - Force Fx", and the unit of each column."""
    if not _sample_rate(section) > 0.0 or len(section.lines) < 5:
        raise InputFileError(
            f"The table 'Devices' of '{path.name}' states no sample rate or has no rows.", EXPORT_AGAIN
        )
    over, axes, units = (split_cells(line) for line in section.lines[1:4])
    # a spreadsheet program appends empty cells to lines
    width = max((k + 1 for k, axis in enumerate(axes) if axis), default=0)
    names, device = [], ""
    for k in range(width):
        device = (over[k] if k < len(over) else "") or device
        names.append(axes[k] if k < 2 else f"{device} {axes[k]}")
    stated = {name: units[k] if k < len(units) else "" for k, name in enumerate(names)}
    rows = [line for line in section.lines[4:] if line.strip(" \t,;")]
    separator = max(",;\t", key=section.lines[2].count)
    text = "\n".join([f"Rate{separator}{_sample_rate(section)}", separator.join(f'"{name}"' for name in names), *rows])
    sheet = read_sheet(path.name, text)
    require_possible_values(path, sheet)
    return sheet, stated


def _nexus_loads(sheet: Sheet, units: dict[str, str]) -> list[PlateLoads]:
    """Return the loads of the plates with force, moment and centre of pressure."""
    parts: dict[str, dict[str, list[str]]] = {}
    for name in sheet.names:
        match = _DEVICE.match(name)
        if match is not None:
            parts.setdefault(match["device"], {}).setdefault(match["what"].lower(), []).append(name)
    plates = []
    for device, columns in parts.items():
        if {what: len(names) for what, names in columns.items()} != {"force": 3, "moment": 3, "cop": 3}:
            continue
        force, moment, pressure = (
            np.column_stack([sheet.values[:, sheet.names.index(name)] for name in columns[what]])
            for what in ("force", "moment", "cop")
        )
        length = METRES.get(units.get(columns["cop"][0], "").strip().lower(), METRES["mm"])
        plates.append(PlateLoads(device, force, moment, mask_unloaded_cop(force, pressure * length)))
    return plates


_CORNERS: Final = ("POSX_POSY", "NEGX_POSY", "NEGX_NEGY", "POSX_NEGY")  # in the order of C3D files
_CORNER_WORD: Final = "FORCE_PLATE_CORNER_"
_PLATE_FILE: Final = re.compile(r"(?P<trial>.+)_f_(?P<number>\d+)")


def first_plate_file(motion: Path) -> Path | None:
    """Return the file of the first plate of `walk.tsv`, which is `walk_f_1.tsv`; None if absent."""
    plate_paths = plate_files_of(motion.with_name(f"{motion.stem}_f_1{motion.suffix}"))
    return plate_paths[0] if plate_paths and plate_paths[0].is_file() else None


def plate_files_of(path: Path) -> tuple[Path, ...]:
    """Return the files of all plates of a trial, by plate number, for the file of one plate; only `path` if its name has no
    number."""
    match = _PLATE_FILE.fullmatch(path.stem)
    if match is None:
        return (path,)
    numbered = []
    for other in path.parent.glob(f"{glob.escape(match['trial'])}_f_*{path.suffix}"):
        name = _PLATE_FILE.fullmatch(other.stem)
        if name is not None and name["trial"] == match["trial"]:
            numbered.append((int(name["number"]), other))
    return tuple(other for _, other in sorted(numbered))


def is_plate_file(head: str) -> bool:
    """Return whether a text starts like a plate file of Qualisys Track Manager."""
    return _CORNER_WORD in head


def read_qualisys_plates(texts: Sequence[tuple[Path, str]]) -> GroundForces:
    """Return the ground forces in the plate files (path, text) of Qualisys Track Manager, one file per plate.

    Raises InputFileError if a file has another form, or the times of the files differ.
    """
    read = [(path, _header_entries(text), read_sheet(path.name, text)) for path, text in texts]
    for path, _, sheet in read:
        require_possible_values(path, sheet)
    times = [_sample_times(path, sheet) for path, _, sheet in read]
    rows = min(map(len, times))
    for (path, _, _), time_s in zip(read, times, strict=True):
        if len(time_s) > rows + 1 or not np.allclose(time_s[:rows], times[0][:rows], atol=1e-6):
            raise InputFileError(
                f"'{path.name}' and '{read[0][0].name}' differ in their times: {len(time_s)} and {len(times[0])} samples.",
                EXPORT_AGAIN,
            )
    stored = [(_plate_loads(path, sheet, rows), _plate_corners(path, head)) for path, head, sheet in read]
    stated_axes = " ".join(head.get("DESCRIPTION", "") for _, head, _ in read)
    return plates_of_loads([path for path, _, _ in read], stored, stated_axes, times[0][:rows])


def plates_of_loads(
    paths: Sequence[Path], stored: Sequence[tuple[PlateLoads, FloatArray]], stated_axes: str, time_s: FloatArray
) -> GroundForces:
    """Return the ground forces of plates from stored loads and corners (4, 3) m.

    paths: file of each plate. stated_axes: statement of the file about the axes of the loads, "" if absent. time_s: (T,) s.
    """
    names: list[str] = []
    columns: list[FloatArray] = []
    plates: list[PlateColumns] = []
    notes: list[Diagnostic] = []
    local = _are_in_plate_axes(stated_axes, stored)
    for number, (path, (loads, corners)) in enumerate(zip(paths, stored, strict=True), start=1):
        middle = np.zeros(3) if local else corners.mean(axis=0)
        level = int(np.argmin(np.ptp(corners, axis=0)))
        up = 2 if local else level
        acting = loads.as_reaction_on_person(np.eye(3)[up] * (_vertical_sign(corners, level) if local else 1.0))
        moment, known = acting.moment_about_cop(up)
        if not known:
            notes.append(_unknown_free_moment_note(path, f"plate {number}"))
        acts = np.asarray(np.isfinite(acting.pressure).all(axis=1))
        acting_force = np.where(acts[:, None], acting.force, 0.0)  # a force without a point is missing
        about_middle = moment + np.cross(np.nan_to_num(acting.pressure) - middle, acting_force)
        force, about = (tuple(f"plate {number} {what}{axis}" for axis in AXES) for what in ("F", "M"))
        plates.append(PlateColumns(force, about, corners, "plate" if local else "laboratory"))
        names += [*force, *about]
        unknown = acting.missing_rows
        if unknown.any():
            notes.append(missing_rows_note(f"plate {number}", path.name, unknown))
        for values in (acting_force, about_middle):
            values[unknown] = np.nan
            columns.append(values)
    table = Storage(paths[0], tuple(names), time_s, np.hstack(columns), None)
    return GroundForces(paths[0], table, plates=tuple(plates), notes=tuple(notes))


def _header_entries(text: str) -> dict[str, str]:
    """Return the values of the header lines of a plate file by their names."""
    pairs = [split_cells(line) for line in text.splitlines()[:60]]
    return {cells[0]: " ".join(cells[1:]) for cells in pairs if len(cells) > 1 and re.fullmatch("[A-Z_]+", cells[0])}


def _sample_times(path: Path, sheet: Sheet) -> FloatArray:
    if sheet.time is not None:
        return np.asarray(sheet.values[:, sheet.names.index(sheet.time)])
    if not sheet.rate_hz > 0.0:
        raise InputFileError(f"'{path.name}' states no FREQUENCY.", EXPORT_AGAIN)
    return np.arange(len(sheet.values)) / sheet.rate_hz


def _plate_corners(path: Path, head: dict[str, str]) -> FloatArray:
    """Return the corners (4, 3) m of a plate from the header of its file; InputFileError if they are missing."""
    try:
        words = [[head[f"{_CORNER_WORD}{corner}_{axis}"] for axis in "XYZ"] for corner in _CORNERS]
        stored = [[float(word.replace(",", ".")) for word in three] for three in words]
    except (KeyError, ValueError) as error:
        raise InputFileError(
            f"'{path.name}' does not state the four corners of its plate ({_CORNER_WORD}...).", EXPORT_AGAIN
        ) from error
    corners = METRES["mm"] * np.array(stored)
    if not np.abs(corners).max() < LARGEST_NUMBER:
        raise InputFileError(f"'{path.name}' is damaged: a plate corner is at {corners.max():.1e} m.", COPY_AGAIN)
    return corners


def _plate_loads(path: Path, sheet: Sheet, rows: int) -> PlateLoads:
    wanted = [[f"{what}_{axis}" for axis in "XYZ"] for what in ("Force", "Moment", "COP")]
    missing = [name for three in wanted for name in three if name not in sheet.names]
    if missing:
        raise InputFileError(f"'{path.name}' has no column '{missing[0]}'.", EXPORT_AGAIN)
    force, moment, pressure = (
        np.column_stack([sheet.values[:rows, sheet.names.index(name)] for name in three]) for three in wanted
    )
    return PlateLoads(path.stem, force, moment, mask_unloaded_cop(force, METRES["mm"] * pressure))


def _vertical_sign(corners: FloatArray, level: int) -> float:
    """Return 1 if the z axis of a plate with these corners points along the laboratory axis `level`, else -1."""
    z = np.cross(corners[0] - corners[1], corners[0] - corners[3])
    return float(np.sign(z[level]))


def _are_in_plate_axes(stated_axes: str, stored: Sequence[tuple[PlateLoads, FloatArray]]) -> bool:
    """Return whether forces are in plate axes, as stated (`stated_axes`); else if these axes give centres of pressure on the
    plates.

    stored: loads and corners (4, 3) m of every plate.
    """
    words = stated_axes.lower()
    if "local" in words or "plate)" in words:
        return True
    if "lab" in words or "world" in words or "global" in words:
        return False
    away = np.zeros(2)  # distances from the plate centre, if in plate axes and if in laboratory axes
    for loads, corners in stored:
        middles = np.array([np.zeros(3), corners.mean(axis=0)])
        away += np.linalg.norm(loads.pressure[loads.loaded_rows] - middles[:, None], axis=2).sum(axis=1)
    return bool(away[0] < away[1])


#: Suffix and first word of the force file.
CORTEX_SUFFIX: Final = ".forces"
CORTEX_WORDS: Final = "[Force Data]"


def read_cortex_plates(path: Path, text: str, sha256: str) -> GroundForces:
    """Return the ground forces of a Cortex file: FX1 FY1 FZ1 N, X1 Y1 Z1 mm, MZ1 N mm or N m, and likewise for every plate.

    sha256: hash of the file. Raises InputFileError if it is not such a file.
    """
    lines = text.splitlines()
    begin = next((k for k, line in enumerate(lines) if line.lstrip().startswith("#")), None)
    head = dict(line.split("=", 1) for line in lines[:begin] if "=" in line)
    try:
        rate_hz = float(head.get("SampleRate", "nan"))
    except ValueError:
        rate_hz = float("nan")
    if begin is None or not 0.0 < rate_hz < LARGEST_NUMBER:
        raise InputFileError(
            f"'{path.name}' is not a force file of Cortex: it has no SampleRate or no columns.", EXPORT_AGAIN
        )
    rows = ["\t".join(line.split()) for line in lines[begin:] if line.strip()]
    sheet = read_sheet(path.name, "\n".join([f"Rate\t{rate_hz}", rows[0].lstrip("#"), *rows[1:]]), begin - 1)
    require_possible_values(path, sheet)
    numbers = sorted({int(match[1]) for name in sheet.names if (match := re.fullmatch(r"FX(\d+)", name))})
    stored = [_cortex_loads(path, sheet, number) for number in numbers]
    if not stored:
        raise InputFileError(f"'{path.name}' holds no force: it has no column FX1.", EXPORT_AGAIN)
    largest = max(float(np.abs(loads.moment[loads.loaded_rows]).max(initial=0.0)) for loads in stored)
    unit = 1.0 if largest < LARGEST_FREE_NM else METRES["mm"]
    plates: list[tuple[PlateLoads, FloatArray]] = []
    for loads in stored:
        acting = loads.as_reaction_on_person(np.eye(3)[loads.vertical_axis])
        moment = np.zeros_like(acting.force)
        moment[:, acting.vertical_axis] = unit * acting.moment[:, 2]
        plates.append((acting, moment))
    return forces_in_laboratory_axes(path, plates, rate_hz, sha256)


def _cortex_loads(path: Path, sheet: Sheet, number: int) -> PlateLoads:
    """Return the loads of a plate; the free moment is the last component of the moment."""
    wanted = [f"{what}{number}" for what in ("FX", "FY", "FZ", "X", "Y", "Z", "MZ")]
    missing = [name for name in wanted if name not in sheet.names]
    if missing:
        raise InputFileError(f"'{path.name}' has no column '{missing[0]}'.", EXPORT_AGAIN)
    columns = np.column_stack([sheet.values[:, sheet.names.index(name)] for name in wanted])
    force, pressure = columns[:, :3], METRES["mm"] * columns[:, 3:6]
    return PlateLoads(
        f"plate {number}", force, columns[:, 6:] * np.array([0.0, 0.0, 1.0]), mask_unloaded_cop(force, pressure)
    )


def read_exported_plates(path: Path) -> GroundForces | None:
    """Return the force plates that capture software exported as text; None if the file has no known form.

    Vicon Nexus: table "Devices"; Qualisys Track Manager: the plate of the file and the other plates of the trial; Cortex: the
    force file. Raises InputFileError if the data cannot be read.
    """
    head_characters = 10_000
    if path.suffix.lower() == CORTEX_SUFFIX:
        content = file_bytes(path)
        return read_cortex_plates(path, decode_text(path, content), sha256(content).hexdigest())
    if path.suffix.lower() not in TEXT_SUFFIXES:
        return None
    content = file_bytes(path)
    if content[:4] == b"PAR1":
        return None
    text = decode_text(path, content)
    if is_plate_file(text[:head_characters]):
        return read_qualisys_plates(
            [(plate_path, decode_text(plate_path, file_bytes(plate_path))) for plate_path in plate_files_of(path)]
        )
    section = split_sections(text).get("Devices")
    if section is None:
        return None
    plates = read_nexus_plates(path, section, sha256(content).hexdigest())
    return plates if plates.forces else None


def exported_plate_file(motion: Path) -> Path | None:
    """Return the file of the plates that were exported with a motion: a separate file or the motion itself; None if absent.

    Raises InputFileError if the file of the motion should be a text but is not.
    """
    if motion.suffix.lower() not in TEXT_SUFFIXES:
        return None
    of_plates = first_plate_file(motion)
    if of_plates is not None:
        return of_plates
    content = file_bytes(motion)
    if not is_utf16(content) and (b"Devices" not in content or b"Trajectories" not in content):
        return None
    section = split_sections(decode_text(motion, content)).get("Devices")
    return motion if section is not None and has_plates(section) else None
