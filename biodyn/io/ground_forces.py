"""Find and read the ground forces in a separate file: force, point and free moment, or the components of plates.

The `Recording` of a motion gets one `ForcePlate` per force. The edges of these plates are unknown, but forces and moments do not
depend on them; the foot is known if the file states it. The file is given by the user, or found by its name, folder and columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from biodyn.conventions import SIDE_NAMES
from biodyn.diagnostics import Diagnostic
from biodyn.errors import BiodynError, InputFileError, ModelError
from biodyn.io.file_access import ReaderLimits, file_head, file_sha256
from biodyn.io.opensim.external_loads import ExternalForce, read_external_loads
from biodyn.io.opensim.storage import TABLE_SUFFIXES, Storage, read_storage
from biodyn.io.plate_exports import (
    CORTEX_SUFFIX,
    CORTEX_WORDS,
    GroundForces,
    exported_plate_file,
    plate_files_of,
    read_exported_plates,
)
from biodyn.io.tables.column_roles import ForceColumns, find_side, force_columns
from biodyn.io.tables.force_plates import plates_of_forces
from biodyn.io.tables.spreadsheet import SPREADSHEET_SUFFIXES, read_spreadsheet
from biodyn.library.toml_files import load_table
from biodyn.recording import Recording

LOADS_SUFFIX = ".xml"


def read_ground_forces(path: str | Path) -> GroundForces:
    """Return the ground forces of a table, an ExternalLoads XML, a spreadsheet, or an export of capture software.

    Raises InputFileError if the file is missing, has no force with its point of application, or has forces expressed in the
    axes of a body.
    """
    path = Path(path)
    if path.suffix.lower() == ".c3d" and path.is_file():
        raise InputFileError(
            f"'{path.name}' is a recording with force plates, not a table of ground forces.",
            "Analyse this recording itself with its markers, or export its forces as a table.",
        )
    exported = read_exported_plates(path)
    if exported is not None:
        return replace(exported, path=path, files=tuple((file, file_sha256(file)) for file in plate_files_of(path)))
    if path.suffix.lower() in SPREADSHEET_SUFFIXES:
        sheet = read_spreadsheet(path)
        forces, plates = sheet.roles.forces, sheet.roles.plates
        if not (forces or plates):
            raise _no_force_error(sheet.table)
        return GroundForces(path, sheet.table, forces, plates, files=((path, sheet.table.sha256), *sheet.maps))
    if path.suffix.lower() != LOADS_SUFFIX:
        table = read_storage(path)
        forces = force_columns(table.names)
        if not forces:
            raise _no_force_error(table)
        return GroundForces(path, table, forces, files=((path, table.sha256),))
    loads = read_external_loads(path)
    feet = [load for load in loads.loads if find_side(load.body) is not None and load.point]
    if not feet:
        raise InputFileError(
            f"'{path.name}' has no load on a foot; its loads act on {', '.join(load.body for load in loads.loads)}."
        )
    for load in feet:
        if not load.force_in.lower() == load.point_in.lower() == "ground":
            raise InputFileError(
                f"'{path.name}' expresses the load '{load.name}' in the axes of a body, which requires the OpenSim model.",
                "Analyse the trial with this model (--model MODEL.osim).",
            )
    ignored = tuple(load.name for load in loads.loads if load not in feet)
    files = ((path, file_sha256(path)), (loads.table.path, loads.table.sha256))
    return GroundForces(path, loads.table, tuple(map(_force_columns, feet)), ignored=ignored, files=files)


def _no_force_error(table: Storage) -> InputFileError:
    return InputFileError(
        f"'{table.path.name}' holds no ground force: it needs three columns of a force and three of its point of application.",
        f"Its columns are {', '.join(table.names[:6])} ...; names such as ground_force_vx and ground_force_px are expected.",
    )


def _force_columns(load: ExternalForce) -> ForceColumns:
    return ForceColumns(load.name, find_side(load.body), load.force, load.point, load.moment)


_KINDS = ((LOADS_SUFFIX,), TABLE_SUFFIXES, (CORTEX_SUFFIX,), SPREADSHEET_SUFFIXES)  # in order of preference


def find_force_files(motion: Path) -> tuple[Path, ...]:
    """Return the possible force files of a motion: in its folder, then in folders named for forces.

    A file belongs to the motion if both names are equal after removing the words for their contents (grf, forces, markers):
    `walk1.trc` and `walk1_grf.mot`, `MarkerData/walk1.trc` and `ForceData/walk1_forces.mot`, `walk2/markers.trc` and
    `walk2/grf.mot`. Its columns must be ground forces. An ExternalLoads XML, which states the feet, is preferred to its table,
    a table to a file of Cortex, and that to a spreadsheet. Plates that were exported with the motion (`plate_exports`) have
    priority: in the file of the motion, or in `walk1_f_1.tsv` for `walk1.tsv`. If no other file is found, a table whose name
    denotes forces is returned, even if its columns are unknown.
    """
    try:
        exported = exported_plate_file(motion)
    except InputFileError:  # reported when the motion is read
        exported = None
    if exported is not None:
        return (exported,)
    motion_name = strip_content_words(motion.stem)
    unread: tuple[Path, ...] = ()
    for folder in _possible_force_folders(motion.resolve().parent):
        same_folder = folder == motion.resolve().parent
        called = [
            path
            for path in _possible_force_files(folder)
            if path.name != motion.name
            and strip_content_words(path.stem) == motion_name
            and (motion_name or same_folder or folder.name == motion.resolve().parent.name)
        ]
        force_paths = [path for path in called if _contains_ground_forces(path)]
        unread = unread or tuple(path for path in called if path not in force_paths and _has_force_name(path))[:1]
        chosen = next((some for kind in _KINDS if (some := [p for p in force_paths if p.suffix.lower() in kind])), [])
        if chosen:
            return tuple(chosen)
    return unread


def force_files(motion: Path) -> tuple[Path, ...]:
    """Return the additional files that a motion is read with: its forces, and the table stated in the external loads."""
    found_paths = find_force_files(motion)
    if len(found_paths) != 1:
        return ()
    forces = found_paths[0]
    if forces.suffix.lower() in TABLE_SUFFIXES:
        return (forces,)
    try:
        return tuple(path for path, _ in read_ground_forces(forces).files)
    except InputFileError:
        return (forces,)


@lru_cache(4096)
def strip_content_words(stem: str) -> str:
    """Return a file name without the words that denote its contents: walk1 for walk1_grf, walk1_ik and walk1_markers."""
    table = load_table("formats/opensim_names")["beside"]
    words = {*table["force_words"], *table["motion_words"]}
    return " ".join(part for part in _words_of_name(stem) if part not in words)


def _words_of_name(stem: str) -> list[str]:
    """Return the words of a file name; a capital after a small letter starts a word (walk1GRF, WalkForces)."""
    parts = re.split(r"[\W_]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", stem))
    return [part.lower() for part in parts if part]


def _possible_force_folders(motion_folder: Path) -> Iterator[Path]:
    """Yield the folder of the motion, then folders named for forces in it and up to two levels above.

    Each of these is followed by its subfolder with the name of the motion's folder, if there is one.
    """
    yield motion_folder
    known = set(load_table("formats/opensim_names")["beside"]["force_folders"])
    for above in (motion_folder, motion_folder.parent, motion_folder.parent.parent):
        for folder in _folder_entries(above):
            if re.sub(r"[\W_]+", "", folder.name.lower()) in known and folder != motion_folder and folder.is_dir():
                yield folder
                if (folder / motion_folder.name).is_dir():
                    yield folder / motion_folder.name


def _possible_force_files(folder: Path) -> list[Path]:
    suffixes = {suffix for kind in _KINDS for suffix in kind}
    return [path for path in _folder_entries(folder) if path.suffix.lower() in suffixes and path.is_file()]


def _folder_entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())[: ReaderLimits.FOLDER_ENTRIES]
    except OSError:
        return []


def _contains_ground_forces(path: Path) -> bool:
    """Return whether the first bytes of a file show ground forces: columns of forces with their points of application, external
    loads, or a spreadsheet without markers."""
    head_bytes = 65_536  # contains the column names
    if path.suffix.lower() in SPREADSHEET_SUFFIXES:
        return _is_force_spreadsheet(path, path.stat().st_mtime_ns)
    try:
        head = file_head(path, head_bytes).decode("utf-8", errors="replace")
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


def _has_force_name(path: Path) -> bool:
    """Return whether the name of a table contains a word for forces."""
    words = load_table("formats/opensim_names")["beside"]["sure_words"]
    tables = (*TABLE_SUFFIXES, *SPREADSHEET_SUFFIXES)
    return path.suffix.lower() in tables and not set(_words_of_name(path.stem)).isdisjoint(words)


@lru_cache(256)
def _is_force_spreadsheet(path: Path, changed_ns: int) -> bool:
    try:
        roles = read_spreadsheet(path).roles
    except InputFileError:  # a file named after forces is reported when it is read
        return not set(_words_of_name(path.stem)).isdisjoint(
            load_table("formats/opensim_names")["beside"]["force_words"]
        )
    return bool(roles.forces or roles.plates) and not (roles.markers or roles.poses)


_OTHERS = "If these forces do not belong to the trial, use --forces FILE or --forces none."


def with_forces_of_file(recording: Recording, path: str | Path) -> Recording:
    """Return a recording with the ground forces of a file as its plates.

    Frames without force data are omitted. Raises InputFileError if the file cannot be read or does not overlap the recording in
    time.
    """
    return with_ground_forces(recording, read_ground_forces(path))


def with_ground_forces(recording: Recording, forces: GroundForces) -> Recording:
    """Return a recording with the given ground forces as its plates; see `with_forces_of_file`."""
    markers = recording.markers
    plates, first, stop, notes = plates_of_forces(
        forces.table,
        forces.forces,
        markers.frame_count,
        markers.rate_hz,
        recording.start_s,
        markers.positions,
        forces.plates,
    )
    covered = replace(recording, plates=()).select_frames(first, stop)
    return replace(
        covered,
        plates=plates,
        also_read=(*recording.also_read, *forces.files),
        diagnostics=(
            *recording.diagnostics,
            _forces_note(forces),
            *forces.table.notes,
            *forces.notes,
            *_ignored_loads_note(forces),
            *notes,
        ),
    )


def with_separate_forces(recording: Recording) -> Recording:
    """Return a recording with the ground forces of its separate file, if one is found; see `find_force_files`."""
    paths = find_force_files(recording.path)
    if not paths:
        return recording
    if len(paths) == 1:
        try:
            return with_forces_of_file(recording, paths[0])
        except InputFileError as error:
            return with_unusable_forces_note(
                recording, f"The ground forces in the folder of '{recording.path.name}'", error
            )
    names = ", ".join(path.name for path in paths)
    note = Diagnostic(
        "forces-unusable",
        "warning",
        f"Several files may contain the ground forces of '{recording.path.name}': {names}. None of them is used.",
        hint="Choose one: --forces FILE.",
    )
    return replace(recording, diagnostics=(*recording.diagnostics, note))


def with_unusable_forces_note(recording: Recording, forces: str, error: InputFileError) -> Recording:
    """Return a recording with the note of `unusable_forces_note`."""
    return replace(recording, diagnostics=(*recording.diagnostics, unusable_forces_note(forces, error)))


def unusable_forces_note(forces: str, error: BiodynError) -> Diagnostic:
    """Return the note on `forces` that are not used, and the reason."""
    return Diagnostic("forces-unusable", "warning", f"{forces} are not used: {error.message}", hint=error.hint)


def _forces_note(forces: GroundForces) -> Diagnostic:
    """Return the note that states the file, the plates or columns, and the feet of the ground forces in use."""
    if not forces.forces:
        text = f"The ground forces are read from {len(forces.plates)} plates in '{forces.path.name}'."
        return Diagnostic("forces-of-a-table", "info", text, hint=_OTHERS)
    named = [f"{force.force[0]} ... on the {SIDE_NAMES[force.side]} foot" for force in forces.forces if force.side]
    unnamed = [f"{force.force[0]} ..." for force in forces.forces if not force.side]
    by_pressure = [f"{', '.join(unnamed)} (foot assigned by the centre of pressure)"] if unnamed else []
    return Diagnostic(
        "forces-of-a-table",
        "info",
        f"The ground forces are read from '{forces.path.name}': {'; '.join((*named, *by_pressure))}. A table of forces does "
        f"not "
        "contain the edges of the plates: whether a foot is over an edge cannot be checked.",
        hint=_OTHERS,
    )


def _ignored_loads_note(forces: GroundForces) -> tuple[Diagnostic, ...]:
    if not forces.ignored:
        return ()
    names = ", ".join(forces.ignored)
    text = f"'{forces.path.name}' also loads bodies other than feet: {names}. These loads are ignored."
    return (Diagnostic("forces-unusable", "warning", text, value=float(len(forces.ignored))),)
