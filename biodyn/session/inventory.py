"""Find every recording below a folder and read its header.

Recordings are C3D, TRC and .b3d files; trajectories exported as text by Nexus, Qualisys Track Manager, Visual3D or D-Flow, or
for MATLAB by Qualisys Track Manager; other spreadsheets that have a column map or are listed in study.toml; and coordinates of
a model (.mot, .sto) in a study with a model.
"""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from biodyn.errors import InputFileError
from biodyn.io import file_sha256, read_facts
from biodyn.io.b3d import SeveralTrialsError
from biodyn.io.ground_forces import strip_content_words
from biodyn.io.opensim.storage import TABLE_SUFFIXES
from biodyn.io.qualisys_mat import SUFFIX as MAT_SUFFIX
from biodyn.io.qualisys_mat import holds_measurement
from biodyn.io.tables.column_map import column_map_file
from biodyn.io.tables.spreadsheet import SPREADSHEET_SUFFIXES, contains_trajectories
from biodyn.library.toml_files import load_table
from biodyn.recording import FileFacts
from biodyn.session.person_comparison import is_folder

# A folder with one of these files is a result folder of biodyn and contains no recordings to analyse.
RESULT_MARKS = ("study.json", "run.json")
_ALWAYS = (".c3d", ".trc", ".b3d")
#: Suffixes of possible recordings of a study; for two files with one name in a folder, the first suffix is preferred.
SUFFIXES = (*_ALWAYS, MAT_SUFFIX, *SPREADSHEET_SUFFIXES, *TABLE_SUFFIXES)
_END_BYTES = 1 << 18


@dataclass(frozen=True)
class FoundFile:
    """A file found below the root: its path, and its facts or the reason why it has none.

    Attributes:
        path: path relative to the root. facts: facts of the header, None if it cannot be read. trouble: reason of the failure.
        twin: path of the same file, or of a file with equal contents, that was found earlier; else None.
    """

    path: Path
    facts: FileFacts | None = None
    trouble: str = ""
    twin: Path | None = None


IsRecording = Callable[[Path], bool]


def take_inventory(
    root: Path, is_named: Callable[[Path], bool] = lambda path: False, on_model: bool = False
) -> tuple[list[FoundFile], list[tuple[Path, str]]]:
    """Find the recordings below `root` and read their headers; raises InputFileError if `root` is not a folder.

    The second result lists skipped files and folders with the reason.

    is_named: returns whether study.toml lists a spreadsheet. on_model: whether coordinates (.mot, .sto) are recordings.
    """

    def may_be_recording(path: Path) -> bool:
        """Return whether a file may be a recording, by its suffix; tables also by column map or contents."""
        suffix = path.suffix.lower()
        if suffix in SPREADSHEET_SUFFIXES:
            return is_named(path) or column_map_file(root / path) is not None or contains_trajectories(root / path)
        if suffix == MAT_SUFFIX:
            return holds_measurement(root / path)
        return suffix in _ALWAYS or (suffix in TABLE_SUFFIXES and on_model)

    if not root.is_dir():
        what = "is not a folder" if root.exists() else "does not exist"
        raise InputFileError(f"'{root}' {what}; the folder of a study is expected.", "Check the path.")
    passed: list[tuple[Path, str]] = []
    paths = sorted(_recording_paths(root, may_be_recording, passed))
    if not paths and (closed := next((why for path, why in passed if path == Path()), "")):
        raise InputFileError(f"'{root}': {closed}", "Check the permissions.")
    twins = _find_copies(root, paths)
    twins |= _find_conversions([path for path in paths if path not in twins])
    files = []
    for path in paths:
        file = FoundFile(path, twin=twins[path]) if path in twins else _read_facts(root, path)
        if isinstance(file, FoundFile):
            files.append(file)
        else:
            passed.append((path, file))
    return files, sorted(passed)


def _read_facts(root: Path, path: Path) -> FoundFile | str:
    """Return the facts of a file, or the reason why it is not a recording."""
    if (root / path).is_symlink() and not (root / path).exists():
        return FoundFile(path, trouble=f"'{path}' is a link to a file that does not exist.")
    try:
        facts = read_facts(root / path)
        if path.suffix.lower() not in _ALWAYS and _holds_only_forces(path, facts):
            return "It contains the ground forces of the motion with the same name."
        return FoundFile(path, facts)
    except SeveralTrialsError as error:
        return f"{error.message} {error.hint}"
    except InputFileError as error:
        if path.suffix.lower() in TABLE_SUFFIXES:  # results of other programs have the same format
            return error.message
        return FoundFile(path, trouble=error.message.replace(str(root / path), str(path)))
    except OSError as error:
        return FoundFile(path, trouble=f"'{path}' cannot be read: {error.strerror}.")
    except Exception as error:  # an unexpected header excludes one trial, not the study
        return FoundFile(
            path, trouble=f"The header of '{path}' cannot be interpreted ({type(error).__name__}: {error})."
        )


def _holds_only_forces(path: Path, facts: FileFacts) -> bool:
    """Return whether a table holds ground forces and no motion; unknown columns may look like coordinates."""
    if path.suffix.lower() not in TABLE_SUFFIXES or not facts.plate_count:
        return not facts.has_motion
    beginnings = tuple(load_table("formats/opensim_names")["coordinates"]["beginnings"])
    return not any(name.lower().startswith(beginnings) for name in facts.coordinates)


def _find_copies(root: Path, paths: list[Path]) -> dict[Path, Path]:
    """Return the original of each duplicate file, by path of the duplicate.

    The original is preferably not a link, then the file with the fewest parent folders, then the one with the shortest name.
    """
    by_size: dict[int, list[Path]] = defaultdict(list)
    for path in paths:
        with suppress(OSError):
            by_size[(root / path).stat().st_size].append(path)
    copies: dict[Path, Path] = {}
    for size, same in by_size.items():
        first: dict[str, Path] = {}
        for path in (
            sorted(same, key=lambda p: ((root / p).is_symlink(), len(p.parts), len(p.name), p))
            if size and len(same) > 1
            else ()
        ):
            with suppress(OSError, InputFileError):
                original = first.setdefault(_content_hash(root / path, size), path)
                if original != path:
                    copies[path] = original
    return copies


def _find_conversions(paths: list[Path]) -> dict[Path, Path]:
    """Return the file that is used instead of each recording that exists in several formats in one folder.

    Files in different formats have the same name with another suffix. The name of a coordinate file may also contain a word for
    its contents: walk1.trc, walk1_ik.mot.
    """
    first: dict[Path, Path] = {}
    bare: dict[Path, Path] = {}
    conversions: dict[Path, Path] = {}
    for path in sorted(paths, key=lambda path: (SUFFIXES.index(path.suffix.lower()), path)):
        if path.suffix.lower() in TABLE_SUFFIXES:
            markers = bare.get(path.parent / strip_content_words(path.stem))
            conversions |= {} if markers is None else {path: markers}
            continue
        bare.setdefault(path.parent / strip_content_words(path.stem), path)
        original = first.setdefault(path.parent / path.stem.casefold(), path)
        if original.suffix.lower() != path.suffix.lower():
            conversions[path] = original
    return conversions


def _content_hash(path: Path, size: int) -> str:
    """Return a hash of the contents of a file; of a long file, only start and end are read, in which two recordings always
    differ."""
    if size <= 2 * _END_BYTES:
        return file_sha256(path)
    with path.open("rb") as stream:
        begin = stream.read(_END_BYTES)
        stream.seek(-_END_BYTES, os.SEEK_END)
        return hashlib.sha256(begin + stream.read()).hexdigest()


def _recordings_in(root: Path, folder: Path, holds: IsRecording) -> list[Path]:
    """Return the recordings directly in a folder; empty if it cannot be opened."""
    try:
        names = sorted(entry.name for entry in os.scandir(root / folder))
    except OSError:
        return []
    return [folder / name for name in names if holds(folder / name)]


def _recording_paths(root: Path, holds: IsRecording, passed: list[tuple[Path, str]]) -> Iterator[Path]:
    """Yield the paths of all possible recordings; each real folder once, linked folders last.

    Folders that cannot be opened, and files of skipped folders, are added to `passed` with the reason.
    """
    visited: set[tuple[int, int]] = set()
    linked: list[Path] = []
    waiting = [Path()]
    while waiting or linked:
        folder = waiting.pop() if waiting else linked.pop(0)
        try:
            status = (root / folder).stat()
            if (status.st_dev, status.st_ino) in visited:
                continue
            visited.add((status.st_dev, status.st_ino))
            with os.scandir(root / folder) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            passed.append((folder, f"This folder cannot be opened: {error.strerror or 'it cannot be read'}."))
            continue
        if folder != Path() and any(entry.name in RESULT_MARKS for entry in listed):
            passed += [(path, "It is in a result folder of biodyn.") for path in _recordings_in(root, folder, holds)]
            continue
        for entry in listed:
            path = folder / entry.name
            if is_folder(entry):
                if entry.is_symlink():
                    linked += [path] if not _leads_to_ancestor(root, path) else []
                elif not entry.name.startswith("."):
                    waiting.append(path)
                else:
                    passed += [(below, "It is in a hidden folder.") for below in _recordings_in(root, path, holds)]
            elif holds(path):
                yield path


def _leads_to_ancestor(root: Path, path: Path) -> bool:
    """Return whether a link leads to a folder that contains the whole study and must not be followed."""
    return root.resolve().is_relative_to((root / path).resolve())
