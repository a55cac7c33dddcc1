"""Ground forces in a file next to the motion: force, point and free moment, or the components of plates.

A motion's `Recording` gets a `ForcePlate` for each force. Its edges are not known, and no force or moment depends on where it is
drawn; the foot is known where the file states it. The file is named by the user or found by name, folder and columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from biodyn.conventions import SIDE_NAMES
from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError, ModelError
from biodyn.io.events import later
from biodyn.io.files import file_head, file_sha256
from biodyn.io.opensim.external_loads import ExternalForce, read_external_loads
from biodyn.io.opensim.storage import TABLE_SUFFIXES, Storage, read_storage
from biodyn.io.plate_exports import (
    CORTEX_SUFFIX,
    CORTEX_WORDS,
    exported_plate_file,
    plate_files_of,
    read_exported_plates,
)
from biodyn.io.tables.columns import ForceColumns, PlateColumns, force_columns, side_of
from biodyn.io.tables.force_plates import frame_forces
from biodyn.io.tables.spreadsheet import SPREADSHEET_SUFFIXES, read_spreadsheet
from biodyn.library.load import load_table
from biodyn.recording import Recording

LOADS_SUFFIX = ".xml"


@dataclass(frozen=True, eq=False)
class GroundForces:
    """Ground forces of a walk.

    Attributes:
        path: the file that was named. table: their numbers. forces: its columns, plates: those of plates by six components.
        left_out: loads on bodies that are no foot. files: everything that was read, with the hash of its bytes. notes: what was
            decided on the way.
    """

    path: Path
    table: Storage
    forces: tuple[ForceColumns, ...]
    left_out: tuple[str, ...]
    files: tuple[tuple[Path, str], ...]
    plates: tuple[PlateColumns, ...] = ()
    notes: tuple[Diagnostic, ...] = ()


def read_ground_forces(path: str | Path) -> GroundForces:
    """Return the ground forces of a table, of an ExternalLoads XML, of a spreadsheet or of what a laboratory's software exports.

    Raises InputFileError in one sentence: no such file, no force with its point, forces in the axes of a body.
    """
    path = Path(path)
    if path.suffix.lower() == ".c3d" and path.is_file():
        raise InputFileError(
            f"'{path.name}' is a recording with plates of its own, no table of ground forces.",
            "Run it itself, with its markers; or export its forces as a table.",
        )
    exported = read_exported_plates(path)
    if exported is not None:
        files = tuple((file, file_sha256(file)) for file in plate_files_of(path))
        return GroundForces(path, exported.table, exported.forces, (), files, exported.plates, exported.notes)
    if path.suffix.lower() in SPREADSHEET_SUFFIXES:
        sheet = read_spreadsheet(path)
        forces, plates = sheet.roles.forces, sheet.roles.plates
        if not (forces or plates):
            raise _no_force(sheet.table)
        return GroundForces(path, sheet.table, forces, (), ((path, sheet.table.sha256), *sheet.maps), plates)
    if path.suffix.lower() != LOADS_SUFFIX:
        table = read_storage(path)
        forces = force_columns(table.names)
        if not forces:
            raise _no_force(table)
        return GroundForces(path, table, forces, (), ((path, table.sha256),))
    loads = read_external_loads(path)
    feet = [load for load in loads.loads if side_of(load.body) is not None and load.point]
    if not feet:
        raise InputFileError(f"'{path.name}' loads no foot: {', '.join(load.body for load in loads.loads)}.")
    for load in feet:
        if not load.force_in.lower() == load.point_in.lower() == "ground":
            raise InputFileError(
                f"'{path.name}' gives the load '{load.name}' in the axes of a body: that needs the model it was made for.",
                "Run it on that model (--model MODEL.osim).",
            )
    left_out = tuple(load.name for load in loads.loads if load not in feet)
    files = ((path, file_sha256(path)), (loads.table.path, loads.table.sha256))
    return GroundForces(path, loads.table, tuple(map(_columns, feet)), left_out, files)


def _no_force(table: Storage) -> InputFileError:
    return InputFileError(
        f"'{table.path.name}' holds no ground force: no three columns of force with three of the point where it acts.",
        f"Its columns are {', '.join(table.names[:6])} ...; expected such as ground_force_vx and ground_force_px.",
    )


def _columns(load: ExternalForce) -> ForceColumns:
    return ForceColumns(load.name, side_of(load.body), load.force, load.point, load.moment)


_KINDS = ((LOADS_SUFFIX,), TABLE_SUFFIXES, (CORTEX_SUFFIX,), SPREADSHEET_SUFFIXES)  # what stands over what
_HEAD_BYTES = 65_536  # column names stand in it
_MOST_FILES = 2_000  # of a folder


@dataclass(frozen=True)
class ForcesSearch:
    """What lies beside a motion.

    Attributes:
        path: the file of its forces, None where there is none, or several that could be it: `several`. unread: without any of
            these, a table that is called after its forces, but whose columns are none that are known.
    """

    path: Path | None
    several: tuple[Path, ...] = ()
    unread: Path | None = None


def find_forces(motion: Path) -> ForcesSearch:
    """Look for the forces of a motion file: in its folder, then in folders for forces beside that and one above.

    A file belongs to the motion where its name without the words for forces is the motion's without the words for markers:
    `walk1.trc` and `walk1_grf.mot`, `MarkerData/walk1.trc` and `ForceData/walk1_forces.mot`, `walk2/markers.trc` and
    `walk2/grf.mot`; and where its columns are ground forces. An ExternalLoads XML, which names the feet, stands over its table,
    a table over a file of Cortex, that over a spreadsheet. Before all of these come the plates that the program of the motion
    itself exported (`plate_exports`): in the file of the motion, or of `walk1.tsv` as `walk1_f_1.tsv`, the first plate's.
    """
    try:
        exported = exported_plate_file(motion)
    except InputFileError:  # who reads it is told what is wrong with it
        exported = None
    if exported is not None:
        return ForcesSearch(exported)
    own = bare_name(motion.stem)
    unread: Path | None = None
    for folder in _folders(motion.resolve().parent):
        same_folder = folder == motion.resolve().parent
        called = [
            path
            for path in _files(folder)
            if path.name != motion.name
            and bare_name(path.stem) == own
            and (own or same_folder or folder.name == motion.resolve().parent.name)
        ]
        found = [path for path in called if _is_forces(path)]
        unread = unread or next((path for path in called if path not in found and _is_called_after_forces(path)), None)
        chosen = next((some for kind in _KINDS if (some := [p for p in found if p.suffix.lower() in kind])), [])
        if len(chosen) == 1:
            return ForcesSearch(chosen[0])
        if chosen:
            return ForcesSearch(None, tuple(chosen))
    return ForcesSearch(None, unread=unread)


def force_files(motion: Path) -> tuple[Path, ...]:
    """Return the files beyond its own that a motion would be read from: its forces, and the table that external loads name."""
    found = find_forces(motion).path
    if found is None:
        return ()
    if found.suffix.lower() in TABLE_SUFFIXES:
        return (found,)
    try:
        return tuple(path for path, _ in read_ground_forces(found).files)
    except InputFileError:
        return (found,)


@lru_cache(4096)
def bare_name(stem: str) -> str:
    """Return the name of a file without the words that say what it holds: walk1 of walk1_grf, walk1_ik and walk1_markers."""
    table = load_table("formats/opensim_names")["beside"]
    words = {*table["force_words"], *table["motion_words"]}
    return " ".join(part for part in _parts(stem) if part not in words)


def _parts(stem: str) -> list[str]:
    """The words of a file's name: a change from small to large letters begins one (walk1GRF, WalkForces)."""
    parts = re.split(r"[\W_]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", stem))
    return [part.lower() for part in parts if part]


def _folders(own: Path) -> Iterator[Path]:
    """The motion's folder, then those for forces beside it and beside the one above, with their subfolder of its name."""
    yield own
    known = set(load_table("formats/opensim_names")["beside"]["force_folders"])
    for above in (own, own.parent, own.parent.parent):
        for folder in _entries(above):
            if re.sub(r"[\W_]+", "", folder.name.lower()) in known and folder != own and folder.is_dir():
                yield folder
                if (folder / own.name).is_dir():
                    yield folder / own.name


def _files(folder: Path) -> list[Path]:
    suffixes = {suffix for kind in _KINDS for suffix in kind}
    return [path for path in _entries(folder) if path.suffix.lower() in suffixes and path.is_file()]


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())[:_MOST_FILES]
    except OSError:
        return []


def _is_forces(path: Path) -> bool:
    """Whether the head of a file shows ground forces: columns with their points, or external loads; a spreadsheet, no markers."""
    if path.suffix.lower() in SPREADSHEET_SUFFIXES:
        return _is_sheet_of_forces(path, path.stat().st_mtime_ns)
    try:
        head = file_head(path, _HEAD_BYTES).decode("utf-8", errors="replace")
    except (InputFileError, ModelError, OSError):
        return False
    if path.suffix.lower() == LOADS_SUFFIX:
        return "<ExternalLoads" in head
    if path.suffix.lower() == CORTEX_SUFFIX:
        return CORTEX_WORDS in head
    _, ended, rest = head.lower().partition("endheader")
    lines = rest.splitlines()[1:]
    labels = next((line for line in lines if line.strip()), "") if ended else ""
    return bool(force_columns(labels.split()))


def _is_called_after_forces(path: Path) -> bool:
    """Whether the name of a table says that it holds forces, and nothing else."""
    words = load_table("formats/opensim_names")["beside"]["sure_words"]
    tables = (*TABLE_SUFFIXES, *SPREADSHEET_SUFFIXES)
    return path.suffix.lower() in tables and not set(_parts(path.stem)).isdisjoint(words)


@lru_cache(256)
def _is_sheet_of_forces(path: Path, changed_ns: int) -> bool:
    try:
        roles = read_spreadsheet(path).roles
    except InputFileError:  # called after forces it is taken for them: who reads it is told what is wrong with it
        return not set(_parts(path.stem)).isdisjoint(load_table("formats/opensim_names")["beside"]["force_words"])
    return bool(roles.forces or roles.plates) and not (roles.markers or roles.poses)


_OTHERS = "Where these are not its forces: --forces FILE, or --forces none."


def with_forces(recording: Recording, path: str | Path) -> Recording:
    """Return a recording with the ground forces of a file (`read`) as its plates, whatever plates it had.

    Frames that the forces do not cover are left out. Raises InputFileError where the file cannot be read or is of another time.
    """
    return with_ground_forces(recording, read_ground_forces(path))


def with_ground_forces(recording: Recording, forces: GroundForces) -> Recording:
    """Return a recording with ground forces that were read; see `with_forces`."""
    markers = recording.markers
    made = frame_forces(
        forces.table,
        forces.forces,
        markers.frame_count,
        markers.rate_hz,
        recording.start_s,
        markers.positions,
        forces.plates,
    )
    kept = replace(markers, positions=markers.positions[made.first : made.stop])
    outputs = {
        label: replace(output, values=output.values[made.first : made.stop])
        for label, output in recording.model_outputs.items()
    }
    return replace(
        recording.with_markers(kept),
        plates=made.plates,
        events=later(recording.events, made.first / markers.rate_hz, kept.frame_count, markers.rate_hz),
        model_outputs=outputs,
        first_frame=recording.first_frame + made.first,
        start_s=recording.start_s + made.first / markers.rate_hz,
        also_read=(*recording.also_read, *forces.files),
        diagnostics=(
            *recording.diagnostics,
            _taken(forces),
            *forces.table.notes,
            *forces.notes,
            *_left_out(forces),
            *made.notes,
        ),
    )


def with_forces_nearby(recording: Recording) -> Recording:
    """Return a recording with the forces of the file beside it that belongs to it, if there is one; see `find_forces`."""
    found = find_forces(recording.path)
    try:
        if found.path is not None:
            return with_forces(recording, found.path)
        if found.unread is not None:
            read_ground_forces(found.unread)  # says what it lacks
    except InputFileError as error:
        return with_unusable(recording, f"The ground forces beside '{recording.path.name}'", error)
    if not found.several:
        return recording
    names = ", ".join(path.name for path in found.several)
    note = Diagnostic(
        "forces-unusable",
        "warning",
        f"Several files beside '{recording.path.name}' could hold its ground forces: {names}; none is taken.",
        hint="Name one: --forces FILE.",
    )
    return replace(recording, diagnostics=(*recording.diagnostics, note))


def with_unusable(recording: Recording, forces: str, error: InputFileError) -> Recording:
    """Return a recording that says why some `forces` are not used."""
    note = Diagnostic("forces-unusable", "warning", f"{forces} are not used: {error.message}", hint=error.hint)
    return replace(recording, diagnostics=(*recording.diagnostics, note))


def _taken(forces: GroundForces) -> Diagnostic:
    """What was taken, and what a table of forces cannot tell."""
    if not forces.forces:
        text = f"The ground forces are those of {len(forces.plates)} plates in '{forces.path.name}'."
        return Diagnostic("forces-of-a-table", "info", text, hint=_OTHERS)
    named = [f"{one.force[0]} ... on the {SIDE_NAMES[one.side]} foot" for one in forces.forces if one.side]
    unnamed = [f"{one.force[0]} ..." for one in forces.forces if not one.side]
    by_pressure = [f"{', '.join(unnamed)} (whose foot: by the centre of pressure)"] if unnamed else []
    return Diagnostic(
        "forces-of-a-table",
        "info",
        f"The ground forces are those of '{forces.path.name}': {'; '.join((*named, *by_pressure))}. A table of forces does not "
        "tell the edges of the plates: whether a foot hung over one cannot be checked.",
        hint=_OTHERS,
    )


def _left_out(forces: GroundForces) -> tuple[Diagnostic, ...]:
    if not forces.left_out:
        return ()
    names = ", ".join(forces.left_out)
    text = f"'{forces.path.name}' also loads what is no foot: {names}. These loads are left out."
    return (Diagnostic("forces-unusable", "warning", text, value=float(len(forces.left_out))),)
