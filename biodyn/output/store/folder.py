"""Result folders: file names, manifest of the files written by biodyn, and atomic replacement.

A folder is written under a temporary name next to its final path and renamed when it is complete. The manifest in its record
lists the files written by biodyn; other files are never replaced or removed. A killed run leaves the old or the new result,
and temporary folders that the next run removes.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, Final

from biodyn.errors import ResultError, printable_text

# -- names

#: Results of version 1 (biodyn 0.1.0) are not readable.
RECORD_VERSION = 2
RECORD_NAME = "run.json"
#: Record of a folder of exported files.
EXPORT_RECORD = "export.json"
#: Entry of `run.json` with the manifest.
FILES_ENTRY = "files"
#: Entry of `run.json` with the hash of its other entries.
DIGEST_ENTRY = "record_sha256"
#: Entries excluded from the hash; version 0.2 wrote the second one.
DIGESTS = (DIGEST_ENTRY, "looked_at_sha256")
TIMINGS_ENTRY = "timings_s"

#: Entry of `run.json` with the kind of a result on an OpenSim model, and this kind.
KIND_ENTRY = "kind"
COORDINATES = "coordinates"

ARRAYS_NAME = "result.npz"
#: OpenSim model of a trial, after scaling and estimation.
MODEL_NAME = "model.osim"
#: Estimated coordinates of this model.
MOTION_NAME = "coordinates.mot"
REPORT_NAME = "report.html"
PAPER_NAME = "report.pdf"
TABLES_FOLDER = "tables"
FIGURES_FOLDER = "figures"
#: Copies of the user's own files.
INPUTS_FOLDER = "inputs"

#: Folder of a replay in the result folder, and its files.
REPLAY_FOLDER = "replay"
REPLAY_RECORD = "replay.json"
REPLAY_FIGURES = ("drift", "feedback")


CSV_SUFFIX, PACKED_SUFFIX = ".csv", ".parquet"


def table_path(name: str) -> str:
    """Return the path of a table in the folder."""
    return f"{TABLES_FOLDER}/{name}{CSV_SUFFIX}"


def packed_table_path(name: str) -> str:
    """Return the path of a packed table in the folder."""
    return f"{TABLES_FOLDER}/{name}{PACKED_SUFFIX}"


# -- manifest: files written by biodyn

#: Returns whether biodyn wrote a path (relative to a folder, with '/').
IsWritten = Callable[[str], bool]


# Endings of files in a result, and in an export.
_RESULT = frozenset((CSV_SUFFIX, PACKED_SUFFIX, ".packed", ".png", ".svg", ".pdf", ".gif", ".json"))
_EXPORTED = frozenset(
    (".osim", ".mot", ".sto", ".trc", ".xml", ".c3d", ".mat", ".xlsx", ".csv", ".json", ".txt", ".md")
)


# Files of a trial of a study without a result, and of a result that was not completed.
_WITHOUT_MANIFEST = frozenset(("trial.json", "error.txt", RECORD_NAME, f".{RECORD_NAME}.part"))


def manifest_entries(record: Mapping[str, Any]) -> dict[str, Mapping[str, Any]] | None:
    """Return the entries of the manifest of a record by path, without paths outside the folder; None if there is no
    manifest."""
    listed = record.get(FILES_ENTRY)
    if not isinstance(listed, list):
        return None
    entries = [entry for entry in listed if isinstance(entry, Mapping) and isinstance(entry.get("path"), str)]
    return {entry["path"]: entry for entry in entries if _stays_inside(entry["path"])}


def _stays_inside(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return bool(parts) and not path.startswith("/") and ".." not in parts and "\\" not in path and "\0" not in path


def read_raw_record(folder: Path, name: str = RECORD_NAME) -> Mapping[str, Any] | None:
    """Return the content of a record (`run.json`, `export.json`); None if it is missing or was not written by biodyn."""
    try:
        content = json.loads((folder / name).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(content, dict) or "biodyn" not in mapping_or_empty(content.get("versions")):
        return None
    return content


def record_digest(record: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a record, independent of the order of its entries; the digests that it contains are left out."""
    content = {name: value for name, value in record.items() if name not in DIGESTS}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def mapping_or_empty(value: Any) -> Mapping[str, Any]:
    """Return a mapping unchanged, and an empty one for other values."""
    return value if isinstance(value, Mapping) else {}


def trial_file_test(folder: Path, record_name: str = RECORD_NAME) -> IsWritten:
    """Return the test for files of a result or an export that biodyn wrote, from its manifest."""
    record = read_raw_record(folder, record_name)
    listed = None if record is None else manifest_entries(record)
    if listed is None and record_name == RECORD_NAME:
        return _WITHOUT_MANIFEST.__contains__
    # A record may be forged: a file of the user does not become one of biodyn's by being listed.
    own = {
        path for path, entry in (listed or {}).items() if entry.get("sha256") and _is_written_name(path, record_name)
    }
    # The record cannot list itself with its own digest.
    return {*own, record_name, f".{record_name}.part"}.__contains__


def _is_written_name(path: str, record_name: str) -> bool:
    """Return whether biodyn writes files with this name into result folders, or with this suffix into folders of exported
    files."""
    *folders, name = PurePosixPath(path).parts
    suffix = PurePosixPath(name).suffix
    if record_name != RECORD_NAME:
        return suffix in _EXPORTED
    if not folders:
        # the last two are of a trial of a study
        return name in (ARRAYS_NAME, MODEL_NAME, MOTION_NAME, REPORT_NAME, PAPER_NAME, "trial.json", "cycles.parquet")
    is_known = suffix in _RESULT or folders == [INPUTS_FOLDER]
    return is_known and folders in ([TABLES_FOLDER], [FIGURES_FOLDER], [REPLAY_FOLDER], [INPUTS_FOLDER])


def iterate_files(folder: Path) -> Iterator[str]:
    """Yield every file and link below a folder, with '/', without following links; OSError for an unreadable folder."""

    def raise_error(error: OSError) -> None:
        raise error

    for parent, folders, names in os.walk(folder, onerror=raise_error, followlinks=False):
        links = [name for name in folders if os.path.islink(os.path.join(parent, name))]
        for name in sorted((*names, *links)):
            yield Path(parent, name).relative_to(folder).as_posix()


def foreign_files(folder: Path, is_written: IsWritten) -> list[str]:
    """Return the files and links of a folder that biodyn did not write, without files of file managers."""

    def is_ignored(path: str) -> bool:
        parent, slash, name = path.rpartition("/")
        is_shadow = name.startswith("._") and is_written(f"{parent}{slash}{name[2:]}")
        return is_shadow or name in {".DS_Store", "Thumbs.db", "desktop.ini"}

    return [
        path
        for path in iterate_files(folder)
        if not is_ignored(path) and (not is_written(path) or (folder / path).is_symlink())
    ]


def _changed_files(folder: Path, record_name: str) -> list[str]:
    """Return the files of a result that changed after biodyn wrote them, except files that `biodyn report` regenerates."""
    manifest = manifest_entries(read_raw_record(folder, record_name) or {}) or {}
    return [
        path
        for path, entry in manifest.items()
        if entry.get("sha256") is not None
        and not path.startswith(("report.html", "figures/", "replay/"))
        and (folder / path).is_file()
        and hashlib.sha256((folder / path).read_bytes()).hexdigest() != entry["sha256"]
    ]


def _require_replaceable(folder: Path, record_name: str) -> None:
    """Raise ResultError if replacing a folder would lose files or changes of the user."""
    foreign = foreign_files(folder, trial_file_test(folder, record_name))
    changed = foreign or _changed_files(folder, record_name)
    if changed:
        problem = "holds files that biodyn did not write" if foreign else "was changed after biodyn wrote it"
        raise ResultError(
            f"'{folder}' {problem} ({path_list_text(changed)}) and is not replaced.",
            "Move these files to another folder, or choose another --out.",
        )


def remove_written_files(folder: Path, is_written: IsWritten) -> None:
    """Remove the files that biodyn wrote, and folders that are empty afterwards."""
    if folder.is_symlink() or not folder.is_dir():
        return
    foreign = set(foreign_files(folder, is_written))
    for path in list(iterate_files(folder)):
        if path not in foreign and (is_written(path) or not foreign):
            (folder / path).unlink()
    for parent, folders, _ in os.walk(folder, topdown=False):
        for name in folders:
            with suppress(OSError):  # not empty, or a link
                os.rmdir(os.path.join(parent, name))
    with suppress(OSError):
        folder.rmdir()


def path_list_text(paths: list[str]) -> str:
    """Return the first three paths and the number of the others."""
    more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
    return ", ".join(f"'{printable_text(path)}'" for path in paths[:3]) + more


# -- manifest of a study's folders: the tables of group/ and the pages of subjects/

GROUP_RECORD = "group.json"
# Files of all versions; a manifest may list more.
_GROUP = frozenset(
    (
        GROUP_RECORD, "parameters.csv", "subject_curves.parquet", "group_curves.csv", "normative_bands.csv",
        "parameters_wide.csv", "cycles.csv", "gait_scores.csv", "symmetry.csv", "repeatability.csv", "comparisons.csv",
        "mixed_models.csv", "session_means.csv", "spm.csv", "spm_curves.csv",
    )
)  # fmt: skip


def group_file_test(folder: Path) -> IsWritten:
    """Return the test for files of a folder of group results."""
    try:
        listed = json.loads((folder / GROUP_RECORD).read_text(encoding="utf-8"))["files"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        listed = []
    names = {name for name in listed if isinstance(name, str)} if isinstance(listed, list) else set()
    return (_GROUP | names).__contains__


def subject_page_test(folder: Path) -> IsWritten:
    """Return the test for pages of biodyn in a folder, which have its name in the head."""
    return lambda path: _is_biodyn_page(folder / path)


def _is_biodyn_page(path: Path) -> bool:
    if path.suffix != ".html" or path.is_symlink():
        return False
    try:
        with path.open("rb") as stream:
            return b'<meta name="generator" content="biodyn' in stream.read(2048)  # bytes of the head
    except OSError:
        return False


def copy_files(source: Path, paths: Iterable[str], target: Path) -> None:
    """Copy files of a folder, given relative to it with '/'."""
    for path in paths:
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / path, target / path)


# -- stale temporary folders of killed runs

UNFINISHED, REPLACED = ".part", ".old"
#: Lock file of a folder while it is written.
MARK = ".unfinished"
_RANDOM = "[a-z0-9_]{8}"  # names as generated by tempfile


def short_name(name: str, max_bytes: int = 120) -> str:
    """Return the name of a folder for use in the names of its temporary siblings; a long name is replaced by a hash.

    File systems limit a file name to 255 bytes; that of a sibling also contains a random part and a suffix.
    """
    encoded = os.fsencode(name)
    return name if len(encoded) <= max_bytes else hashlib.sha256(encoded).hexdigest()[:16]


@contextmanager
def mark_unfinished(folder: Path) -> Iterator[None]:
    """Mark a folder as unfinished, with a lock held by this process."""
    mark = folder / MARK
    descriptor = os.open(mark, os.O_CREAT | os.O_RDWR, 0o644)
    try:
        _try_lock(descriptor)
        yield
    finally:
        os.close(descriptor)
    mark.unlink(missing_ok=True)  # Windows does not remove open files


def _try_lock(descriptor: int) -> bool | None:
    """Lock an open file; False if another process holds the lock, None if the file system has no locks."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:  # some network file systems
        return None
    return True


def remove_unfinished_folders(folder: Path) -> None:
    """Remove stale temporary folders of `folder`; folders of running processes are kept.

    If a run was killed between the two renames that replace a folder, the older folder is restored.
    """
    if folder.parent.is_dir():
        _remove_stale_folders(folder.parent, re.escape(short_name(folder.name)))


def remove_all_unfinished(parent: Path, files: Iterable[str] = ()) -> None:
    """Remove stale temporary folders in `parent`, and temporary files of `files`."""
    _remove_stale_folders(parent, ".+")
    for name in files:
        for stale in (parent / f".{name}{UNFINISHED}", parent / f".{name}{UNFINISHED}.raw"):
            if stale.is_file() and not stale.is_symlink():
                stale.unlink(missing_ok=True)


def _remove_stale_folders(parent: Path, name: str) -> None:
    pattern = re.compile(rf"\.(?P<name>{name})\.{_RANDOM}(?P<kind>\.part|\.old)", re.DOTALL)
    for stale in sorted(parent.iterdir()):
        match = pattern.fullmatch(stale.name)
        if match is None or stale.is_symlink() or not stale.is_dir():
            continue
        with suppress(OSError):  # unreadable folders are kept
            if match["kind"] == UNFINISHED:
                if _is_abandoned(stale):
                    shutil.rmtree(stale, ignore_errors=True)
            else:
                _restore_or_remove(stale, match["name"])


def _is_abandoned(folder: Path, max_age_s: float = 86_400.0) -> bool:
    """Return whether no process writes to an unfinished folder: it is unlocked, or a day old if locks are not available."""
    mark = folder / MARK
    if not mark.is_file() or mark.is_symlink():
        return _has_only_written_files(folder)
    descriptor = os.open(mark, os.O_RDWR)
    try:
        is_free = _try_lock(descriptor)
        is_old = time.time() - os.fstat(descriptor).st_mtime > max_age_s
    finally:
        os.close(descriptor)
    return is_old if is_free is None else is_free


def _restore_or_remove(stale: Path, name: str) -> None:
    """Rename a replaced folder back if its name is free; otherwise remove the files that biodyn wrote."""
    for old in sorted(stale.iterdir()):
        target = stale.parent / old.name
        if short_name(old.name) == name and not os.path.lexists(target):
            os.replace(old, target)
        elif _has_only_written_files(old):
            remove_written_files(old, lambda path: True)
    with suppress(OSError):
        stale.rmdir()


def _has_only_written_files(folder: Path) -> bool:
    """Return whether all files of a folder have names that biodyn writes (trial, group results or pages) and none is a link."""
    is_trial_file = trial_file_test(folder)

    def is_written(path: str) -> bool:
        return is_trial_file(path) or path in _GROUP or _is_biodyn_page(folder / path)

    return not foreign_files(folder, is_written) and not any(
        (folder / path).is_symlink() for path in iterate_files(folder)
    )


# -- names and lengths of paths that Windows rejects

_WINDOWS = os.name == "nt"
_LONGEST_WINDOWS_PATH = 259
#: Number of characters of the longest path within a result ("tables/ground_reaction_full_rate.csv").
LONGEST_PATH = 42
# Device names in every folder of Windows, with any suffix (learn.microsoft.com, "Naming Files, Paths, and Namespaces").
_DEVICE: Final = re.compile(r"(?i:con|prn|aux|nul|com[\d¹²³]|lpt[\d¹²³]|conin\$|conout\$) *(?:\..*)?")


def is_device_name(name: str) -> bool:
    """Return whether a name is reserved for a device on Windows."""
    return _DEVICE.fullmatch(name) is not None


def portable_name(name: str) -> str:
    """Return a folder name without trailing dots and spaces and without a device name, as Windows requires; may be empty."""
    trimmed = name.rstrip(". ")
    if not is_device_name(trimmed):
        return trimmed
    stem, dot, rest = trimmed.partition(".")
    return f"{stem.rstrip()}_{dot}{rest}"


def require_valid_path(folder: Path) -> None:
    """Raise ResultError if Windows rejects a result in `folder`, for its name or the length of its paths."""
    if not _WINDOWS:
        return
    for part in folder.parts[bool(folder.anchor) :]:
        if is_device_name(part) or set('<>:"|?*') & set(part):
            raise ResultError(f"Windows does not allow a folder with the name '{part}'.", "Choose another --out.")
    target = Path(os.path.realpath(folder))
    temporary = target.parent / f".{short_name(target.name)}.{'x' * 8}{UNFINISHED}"  # tempfile adds 8 characters
    needed = len(str(temporary)) + 1 + LONGEST_PATH
    if needed > _LONGEST_WINDOWS_PATH:
        raise ResultError(
            f"'{_shorten_path(folder)}' cannot be written: the paths of its files would have {needed} characters, "
            f"and Windows allows {_LONGEST_WINDOWS_PATH}.",
            "Choose a shorter --out.",
        )


def _shorten_path(folder: Path, max_characters: int = 120) -> str:
    text = str(folder)
    return text if len(text) <= max_characters else f"{text[:max_characters]}..."


# -- replacing a folder

# A folder with one of these files is complete: they are moved last.
_RECORDS = ("trial.json", "run.json", "group.json")


def require_usable_folder(folder: Path, force: bool, record_name: str = RECORD_NAME) -> None:
    """Raise ResultError if `folder` cannot become a result folder, due to its name, length or content.

    An existing folder is replaced only with `force`, and only if it is empty or a result without files of the user.
    `record_name`: `EXPORT_RECORD` for a folder of exported files.
    """
    require_valid_path(folder)
    try:
        remove_unfinished_folders(resolve_links(folder))  # restores an older result first
        _require_usable_content(folder, force, record_name)
    except OSError as error:  # for example a name that is too long
        raise _write_error(folder, error) from error


def _require_usable_content(folder: Path, force: bool, record_name: str) -> None:
    if not folder.exists():
        parent = next((parent for parent in resolve_links(folder).parents if parent.exists()), None)
        if parent is None or not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
            raise ResultError(f"'{folder}' cannot be written: '{parent}' is not writable.", "Choose another --out.")
        # detects full and locked disks
        os.rmdir(tempfile.mkdtemp(prefix=f".{short_name(folder.name)}.", suffix=UNFINISHED, dir=parent))
        return
    if not folder.is_dir():
        raise ResultError(f"'{folder}' is a file, not a folder.", "Choose another --out.")
    try:
        if not any(folder.iterdir()):
            return
        is_result = record_name == RECORD_NAME
        if read_raw_record(folder, record_name) is None:
            problem = "is not a biodyn result" if is_result else "is not an export of biodyn"
            raise ResultError(f"'{folder}' exists, {problem}, and is not replaced.", "Choose another --out.")
        remove_all_unfinished(folder)  # left by a killed report or replay
        if not force:
            raise ResultError(
                f"'{folder}' already holds {'a result' if is_result else 'an export'}.",
                "Choose another --out, or replace it with --force.",
            )
        _require_replaceable(folder, record_name)
    except OSError as error:
        raise ResultError(
            f"'{folder}' cannot be read: {error.strerror or error}. It will not be replaced.", "Choose another --out."
        ) from error


def _write_error(folder: Path, error: OSError) -> ResultError:
    return ResultError(
        f"'{_shorten_path(folder)}' cannot be written: {error.strerror or error}.", "Choose another --out."
    )


def resolve_links(folder: Path) -> Path:
    """Return the absolute path with links resolved; the folder need not exist."""
    return Path(os.path.realpath(folder))


def default_result_folder(walk: Path) -> Path:
    """Return the default result folder of a walk: reports/<name of the walk>."""
    name = portable_name(walk.absolute().stem)
    return Path("reports") / (
        name if name.strip(". ") and printable_text(name) == name else short_name(name.strip(". ") or "walk")
    )


@contextmanager
def write_folder(folder: Path, force: bool = False, record_name: str = RECORD_NAME) -> Iterator[Path]:
    """Yield a temporary folder that replaces `folder` when the block ends without error.

    After an error it is removed and an older result is unchanged. Raises ResultError as `require_usable_folder` does.
    """
    require_valid_path(folder)  # the name as given: Windows resolves device names
    folder = resolve_links(folder)  # the target of a link is replaced, not the link
    require_usable_folder(folder, force, record_name)
    with replace_folder(folder, partial(trial_file_test, record_name=record_name)) as temporary:
        yield temporary
        require_usable_folder(folder, force, record_name)  # another process may have written there meanwhile


@contextmanager
def replace_folder(folder: Path, written_in: Callable[[Path], IsWritten]) -> Iterator[Path]:
    """Yield a temporary folder that replaces `folder` when the block ends without error.

    `written_in`: returns the test for files of the older folder that biodyn wrote, which are removed. Other files stay.
    """
    folder = resolve_links(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = _sibling_path(folder, UNFINISHED)
    except OSError as error:
        raise _write_error(folder, error) from error
    try:
        with mark_unfinished(temporary):
            yield temporary
        os.chmod(temporary, 0o755)  # mkdtemp makes it private
        _move_into_place(temporary, folder, written_in)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


@contextmanager
def update_folder(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder whose files are moved into `folder` when the block ends without error.

    After an error `folder` is unchanged: space and permissions are requested before the first file is moved.
    """
    remove_all_unfinished(folder)  # left by a killed update
    temporary = Path(tempfile.mkdtemp(prefix=f".{short_name(folder.name)}.", suffix=UNFINISHED, dir=folder))
    try:
        with mark_unfinished(temporary):
            yield temporary
        files = sorted(path for path in temporary.rglob("*") if path.is_file())
        for path in files:
            (folder / path.relative_to(temporary)).parent.mkdir(parents=True, exist_ok=True)
        for path in files:
            os.replace(path, folder / path.relative_to(temporary))
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def replace_file(path: Path, content: bytes) -> None:
    """Write a file under a temporary name and rename it, so that readers never get an incomplete file.

    The permissions of an existing file are kept. Another user may have created the temporary name as a link, so that it is
    removed first. Raises OSError.
    """
    temporary = path.with_name(f".{path.name}.part")
    temporary.unlink(missing_ok=True)
    mode = path.stat().st_mode & 0o666 if path.exists() else 0o666
    try:
        with open(temporary, "xb", opener=partial(os.open, mode=mode)) as file:
            file.write(content)
        if path.exists():
            shutil.copymode(path, temporary)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _sibling_path(folder: Path, suffix: str) -> Path:
    return Path(tempfile.mkdtemp(prefix=f".{short_name(folder.name)}.", suffix=suffix, dir=folder.parent))


def _move_into_place(new: Path, folder: Path, written_in: Callable[[Path], IsWritten]) -> None:
    """Rename a complete folder to its final name; of an older folder, only files that biodyn did not write are kept."""
    if not os.path.lexists(folder):
        os.replace(new, folder)
        return
    if not folder.is_dir():
        raise ResultError(f"'{folder}' is a file, not a folder.", "Move it, or choose another --out.")
    is_written = written_in(folder)
    if foreign_files(folder, is_written):
        _merge_folders(new, folder, is_written)
        return
    old = _sibling_path(folder, REPLACED)
    try:
        os.replace(folder, old / folder.name)
    except OSError:  # on Windows if a program has one of its files open
        old.rmdir()
        raise
    try:
        os.replace(new, folder)
    except OSError:
        os.replace(old / folder.name, folder)
        old.rmdir()
        raise
    # files that another process wrote meanwhile are restored
    remove_written_files(old / folder.name, written_in(old / folder.name))
    if (old / folder.name).exists():
        _merge_folders(old / folder.name, folder, lambda path: False)
    with suppress(OSError):
        old.rmdir()


def _merge_folders(new: Path, folder: Path, is_written: IsWritten) -> None:
    """Move the files of `new` into `folder`; older files of biodyn are removed, other files keep their content.

    The record is removed first and moved last: a folder without a record counts as unfinished.
    """
    foreign = set(foreign_files(folder, is_written))
    names = sorted(iterate_files(new), key=lambda path: (path in _RECORDS, path))
    for path in _RECORDS:
        if path not in foreign:
            (folder / path).unlink(missing_ok=True)
    for path in names:
        target = folder / path
        _rename_conflict(folder, path, foreign)
        target.parent.mkdir(parents=True, exist_ok=True)
        os.replace(new / path, target)
    for path in set(iterate_files(folder)) - set(names) - foreign:
        if is_written(path):
            (folder / path).unlink(missing_ok=True)
    shutil.rmtree(new, ignore_errors=True)


def _rename_conflict(folder: Path, path: str, foreign: set[str]) -> None:
    """Rename a user's file or link that has the name of a new file (or of a folder in its path) to "NAME (yours 1)"."""
    parts = path.split("/")
    for i in range(1, len(parts) + 1):
        place = folder.joinpath(*parts[:i])
        is_last = i == len(parts)
        is_file = place.is_symlink() or place.is_file()
        if (is_file and (not is_last or path in foreign)) or (is_last and place.is_dir() and not is_file):
            number = 1
            while os.path.lexists(free := place.with_name(f"{place.stem} (yours {number}){place.suffix}")):
                number += 1
            os.rename(place, free)
            return
