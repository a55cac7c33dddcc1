"""The file of forces that lies beside a motion: found by its name, its folder, and what its columns are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from biodyn.errors import InputFileError, ModelError
from biodyn.io.files import file_head
from biodyn.io.ground_forces.read import LOADS_SUFFIX, read_ground_forces
from biodyn.io.opensim.storage import TABLE_SUFFIXES
from biodyn.io.plate_exports import cortex, exported_beside
from biodyn.io.tables.columns import force_columns
from biodyn.io.tables.spreadsheet import SPREADSHEET_SUFFIXES, read_spreadsheet
from biodyn.library.load import load_table

_KINDS = ((LOADS_SUFFIX,), TABLE_SUFFIXES, (cortex.SUFFIX,), SPREADSHEET_SUFFIXES)  # what stands over what
_HEAD_BYTES = 65_536  # column names stand in it
_MOST_FILES = 2_000  # of a folder


@dataclass(frozen=True)
class ForcesBeside:
    """What lies beside a motion.

    Attributes:
        path: the file of its forces, None where there is none, or several that could be it: `several`. unread: without any of
            these, a table that is called after its forces, but whose columns are none that are known.
    """

    path: Path | None
    several: tuple[Path, ...] = ()
    unread: Path | None = None


def forces_beside(motion: Path) -> ForcesBeside:
    """Look for the forces of a motion file: in its folder, then in folders for forces beside that and one above.

    A file belongs to the motion where its name without the words for forces is the motion's without the words for markers:
    `walk1.trc` and `walk1_grf.mot`, `MarkerData/walk1.trc` and `ForceData/walk1_forces.mot`, `walk2/markers.trc` and
    `walk2/grf.mot`; and where its columns are ground forces. An ExternalLoads XML, which names the feet, stands over its table,
    a table over a file of Cortex, that over a spreadsheet. Before all of these come the plates that the program of the motion
    itself exported (`plate_exports`): in the file of the motion, or of `walk1.tsv` as `walk1_f_1.tsv`, the first plate's.
    """
    try:
        exported = exported_beside(motion)
    except InputFileError:  # who reads it is told what is wrong with it
        exported = None
    if exported is not None:
        return ForcesBeside(exported)
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
            return ForcesBeside(chosen[0])
        if chosen:
            return ForcesBeside(None, tuple(chosen))
    return ForcesBeside(None, unread=unread)


def files_beside(motion: Path) -> tuple[Path, ...]:
    """Return the files beyond its own that a motion would be read from: its forces, and the table that external loads name."""
    found = forces_beside(motion).path
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
    if path.suffix.lower() == cortex.SUFFIX:
        return cortex.FIRST_WORDS in head
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
