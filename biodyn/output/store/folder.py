"""Result folders: names of their files, which files biodyn wrote, and writing that is complete or leaves the older result.

A folder is written next to its place under a temporary name and renamed when it is complete. Its record lists what biodyn wrote;
nothing else is ever replaced or removed. A killed run leaves the old or the new result, and temporary folders that the next run
recognises and removes."""

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

from biodyn.errors import ResultError, printable
from biodyn.library.load import load_table

# -- names

# 2: lists the files that were written with it; `verdict` and `verdict_checks` instead of `status`, in the words of `read.py`.
RECORD_VERSION = 2
RECORD_NAME = "run.json"
#: Record of a folder of exported files.
EXPORT_RECORD = "export.json"
#: Where `run.json` lists the files that were written with it.
FILES_ENTRY = "files"
#: Where `run.json` holds the hash of the rest of itself.
DIGEST_ENTRY = "record_sha256"
#: No part of what a record says; version 0.2 wrote the second one.
DIGESTS = (DIGEST_ENTRY, "looked_at_sha256")
TIMINGS_ENTRY = "timings_s"

#: Where `run.json` says what kind of result it is, if not a walk's; and the kind of the torques of an OpenSim model alone.
KIND_ENTRY = "kind"
COORDINATES = "coordinates"

ARRAYS_NAME = "result.npz"
#: The OpenSim model of a trial on one, scaled or estimated where it was.
MODEL_NAME = "model.osim"
#: Its coordinates where they were estimated with it.
MOTION_NAME = "coordinates.mot"
REPORT_NAME = "report.html"
PAPER_NAME = "report.pdf"
TABLES_FOLDER = "tables"
FIGURES_FOLDER = "figures"
#: Copies of the user's own files.
INPUTS_FOLDER = "inputs"

#: Where a replay lies in its result folder, and the names of its files.
REPLAY_FOLDER = "replay"
REPLAY_RECORD = "replay.json"
REPLAY_ANIMATION = "replay.gif"
REPLAY_FIGURES = ("drift", "feedback", "convergence")


CSV_SUFFIX, PACKED_SUFFIX = ".csv", ".parquet"


def table_path(name: str) -> str:
    """Path of a table in the folder, as text."""
    return f"{TABLES_FOLDER}/{name}{CSV_SUFFIX}"


def packed_table_path(name: str) -> str:
    """Path of a table in the folder where it is packed (`output.tables`)."""
    return f"{TABLES_FOLDER}/{name}{PACKED_SUFFIX}"


# -- manifest: which files biodyn wrote

#: What can be made again from the rest, so that a changed one is no loss.
_REMADE = ("report.html", "figures/", "replay/")
# What file managers leave in every folder they show.
_LITTER = frozenset((".DS_Store", "Thumbs.db", "desktop.ini"))
_NAMED = 3

#: Tells of a path relative to a folder, '/' between its parts, whether biodyn wrote it.
Owns = Callable[[str], bool]
#: Looks at a folder and returns what of it is biodyn's.
OwnedIn = Callable[[Path], Owns]


def version_1() -> dict[str, Any]:
    """What biodyn 0.1.0 wrote, which kept no list (`version_1.toml`); treat it as read-only."""
    return load_table("results/version_1")


def _version_1_files() -> frozenset[str]:
    kept = version_1()
    names = {f"tables/{name}.csv" for name in (*kept["tables"], *kept["tables_on_request"])}
    names |= {f"figures/{name}.png" for name in kept["figures"]}
    names |= {f"replay/{name}" for name in kept["replay"]} | {f".{RECORD_NAME}.part"}
    return frozenset(names | set(kept["files"]))


def listed_files(record: Mapping[str, Any]) -> dict[str, Mapping[str, Any]] | None:
    """Return the list that a record keeps, by path; None where it keeps none. A path that leads out is left out."""
    listed = record.get(FILES_ENTRY)
    if not isinstance(listed, list):
        return None
    entries = [entry for entry in listed if isinstance(entry, Mapping) and isinstance(entry.get("path"), str)]
    return {entry["path"]: entry for entry in entries if _stays_inside(entry["path"])}


def _stays_inside(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return bool(parts) and not path.startswith("/") and ".." not in parts and "\\" not in path and "\0" not in path


def raw_record(folder: Path, name: str = RECORD_NAME) -> Mapping[str, Any] | None:
    """Return a record (`run.json`, `export.json`) as it is; None where there is none, or none of biodyn's."""
    try:
        content = json.loads((folder / name).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(content, dict) or "biodyn" not in dict_of(content.get("versions")):
        return None
    return content


def record_digest(record: Mapping[str, Any]) -> str:
    """Return the SHA-256 of what a record says, whatever the order of its entries, its own digests left out."""
    content = {name: value for name, value in record.items() if name not in DIGESTS}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def model_record(folder: Path) -> Mapping[str, Any] | None:
    """Return `run.json` of a result that holds the torques of an OpenSim model alone; None of any other folder."""
    record = raw_record(folder)
    return record if record is not None and record.get(KIND_ENTRY) == COORDINATES else None


def dict_of(value: Any) -> Mapping[str, Any]:
    """The value where it is a table, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def trial_files(folder: Path, record_name: str = RECORD_NAME) -> Owns:
    """Which files biodyn wrote of a result or an export: the record's own list, of an older record that version's files."""
    record = raw_record(folder, record_name)
    listed = None if record is None else listed_files(record)
    if listed is None and record_name == RECORD_NAME:
        return _version_1_files().__contains__
    # The record cannot list itself with its own digest.
    return {*(listed or ()), record_name, f".{record_name}.part"}.__contains__


def walk_files(folder: Path) -> Iterator[str]:
    """Yield every file and link below a folder, '/' between the parts, links not followed.

    Raises OSError for a folder that cannot be looked into: what it holds is not known.
    """

    def refuse(error: OSError) -> None:
        raise error

    for place, folders, names in os.walk(folder, onerror=refuse, followlinks=False):
        links = [name for name in folders if os.path.islink(os.path.join(place, name))]
        for name in sorted((*names, *links)):
            yield Path(place, name).relative_to(folder).as_posix()


def foreign_files(folder: Path, owns: Owns) -> list[str]:
    """Return the files and links of a folder that biodyn did not write."""
    found = []
    for path in walk_files(folder):
        if _is_litter(path, owns) or (owns(path) and not (folder / path).is_symlink()):
            continue
        found.append(path)
    return found


def _is_litter(path: str, owns: Owns) -> bool:
    place, _, name = path.rpartition("/")
    beside = f"{place}/" if place else ""
    return name in _LITTER or (name.startswith("._") and owns(f"{beside}{name[2:]}"))


def _changed_files(folder: Path, record_name: str) -> list[str]:
    """Return the files of a result that are no longer as biodyn wrote them, but for those it can make again."""
    listed = listed_files(raw_record(folder, record_name) or {}) or {}

    def is_changed(path: str, digest: object) -> bool:
        return digest is not None and hashlib.sha256((folder / path).read_bytes()).hexdigest() != digest

    return [
        path
        for path, entry in listed.items()
        if not path.startswith(_REMADE) and (folder / path).is_file() and is_changed(path, entry.get("sha256"))
    ]


def _require_only_own(folder: Path, record_name: str) -> None:
    """Raise ResultError if a folder holds anything that would be lost when it is replaced."""
    foreign = foreign_files(folder, trial_files(folder, record_name))
    changed = foreign or _changed_files(folder, record_name)
    if changed:
        what = "holds what biodyn did not write" if foreign else "was changed after biodyn wrote it"
        raise ResultError(
            f"'{folder}' {what} ({named(changed)}): it will not be replaced.",
            "Move that away, or choose another --out.",
        )


def remove_owned(folder: Path, owns: Owns) -> None:
    """Remove from a folder what biodyn wrote, and the folders that are empty then; the rest stays."""
    if folder.is_symlink() or not folder.is_dir():
        return
    foreign = set(foreign_files(folder, owns))
    for path in list(walk_files(folder)):
        if path not in foreign and (owns(path) or not foreign):
            (folder / path).unlink()
    for place, folders, _ in os.walk(folder, topdown=False):
        for name in folders:
            with suppress(OSError):  # not empty, or a link
                os.rmdir(os.path.join(place, name))
    with suppress(OSError):
        folder.rmdir()


def named(paths: list[str]) -> str:
    """The first few paths, and how many more there are."""
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return ", ".join(f"'{printable(path)}'" for path in paths[:_NAMED]) + more


# -- manifest of a study's folders: the tables of group/ and the pages of subjects/

GROUP_RECORD = "group.json"
# Of every version so far; a record that lists its files adds to them.
_GROUP = frozenset(
    (
        GROUP_RECORD, "parameters.csv", "subject_curves.parquet", "group_curves.csv", "normative_bands.csv",
        "parameters_wide.csv", "cycles.csv", "gait_scores.csv", "symmetry.csv", "repeatability.csv", "comparisons.csv",
        "mixed_models.csv", "session_means.csv", "spm.csv", "spm_curves.csv",
    )
)  # fmt: skip
_PAGE_MARK = b'<meta name="generator" content="biodyn'
_HEAD = 2048


def group_files(folder: Path) -> Owns:
    """What biodyn wrote into a folder of group results."""
    try:
        listed = json.loads((folder / GROUP_RECORD).read_text(encoding="utf-8"))["files"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        listed = []
    names = {name for name in listed if isinstance(name, str)} if isinstance(listed, list) else set()
    return (_GROUP | names).__contains__


def subject_pages(folder: Path) -> Owns:
    """What biodyn wrote into a folder of pages: each says so in its head."""
    return lambda path: _is_page(folder / path)


def is_study_file(folder: Path, path: str) -> bool:
    """True for a file of group results or a page."""
    return path in _GROUP or _is_page(folder / path)


def _is_page(path: Path) -> bool:
    if path.suffix != ".html" or path.is_symlink():
        return False
    try:
        with path.open("rb") as stream:
            return _PAGE_MARK in stream.read(_HEAD)
    except OSError:
        return False


# -- stale temporary folders of killed runs

UNFINISHED, REPLACED = ".part", ".old"
#: Lies in a folder that is being written, and is locked meanwhile.
MARK = ".unfinished"
_RANDOM = "[a-z0-9_]{8}"  # as tempfile makes names
_SURELY_OVER_S = 86_400.0  # no writing takes a day
_LONGEST_NAME = 120  # bytes; with the random part and the suffix it must stay below 255


def short_name(name: str) -> str:
    """The name of a folder as it stands in the names of its temporary siblings."""
    if len(os.fsencode(name)) <= _LONGEST_NAME:
        return name
    return hashlib.sha256(os.fsencode(name)).hexdigest()[:16]


@contextmanager
def being_written(folder: Path) -> Iterator[None]:
    """Mark a folder as unfinished, and hold the mark as long as this process works on it."""
    mark = folder / MARK
    descriptor = os.open(mark, os.O_CREAT | os.O_RDWR, 0o644)
    try:
        _lock(descriptor)
        yield
    finally:
        os.close(descriptor)
    mark.unlink(missing_ok=True)  # Windows removes no file that is open


def _lock(descriptor: int) -> bool | None:
    """Lock an open file; False where another holds it, None where the file system knows no locks."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:  # some network ones
        return None
    return True


def remove_unfinished(folder: Path) -> None:
    """Remove what killed runs left when they wrote `folder`; others may be writing it, and its siblings.

    Where a run was killed between the two renames that replace a folder, the older one takes its name again.
    """
    name = re.escape(short_name(folder.name))
    if folder.parent.is_dir():
        _remove(folder.parent, re.compile(rf"\.(?P<name>{name})\.{_RANDOM}(?P<kind>\.part|\.old)"))


def remove_all_unfinished(parent: Path, files: Iterable[str] = ()) -> None:
    """Remove what killed runs left when they wrote folders in `parent`, and the unfinished ones of these files."""
    _remove(parent, re.compile(rf"\.(?P<name>.+)\.{_RANDOM}(?P<kind>\.part|\.old)", re.DOTALL))
    for name in files:
        for left in (parent / f".{name}{UNFINISHED}", parent / f".{name}{UNFINISHED}.raw"):
            if left.is_file() and not left.is_symlink():
                left.unlink(missing_ok=True)


def _remove(parent: Path, pattern: re.Pattern[str]) -> None:
    for left in sorted(parent.iterdir()):
        match = pattern.fullmatch(left.name)
        if match is None or left.is_symlink() or not left.is_dir():
            continue
        with suppress(OSError):  # what cannot be looked into stays
            if match["kind"] == UNFINISHED:
                _remove_new(left)
            else:
                _put_back_or_remove(left, match["name"])


def _remove_new(left: Path) -> None:
    """Remove a folder that was never completed."""
    mark = left / MARK
    if mark.is_file() and not mark.is_symlink():
        descriptor = os.open(mark, os.O_RDWR)
        try:
            free = _lock(descriptor)
            old = time.time() - os.fstat(descriptor).st_mtime > _SURELY_OVER_S
        finally:
            os.close(descriptor)
        if free or (free is None and old):
            shutil.rmtree(left, ignore_errors=True)
    elif _holds_only_ours(left):
        shutil.rmtree(left, ignore_errors=True)


def _put_back_or_remove(left: Path, name: str) -> None:
    """Of a folder that was moved aside: back to its name where that is free, else away with what biodyn wrote."""
    for old in sorted(left.iterdir()):
        target = left.parent / old.name
        if short_name(old.name) == name and not os.path.lexists(target):
            os.replace(old, target)
        elif _holds_only_ours(old):
            remove_owned(old, lambda path: True)
    with suppress(OSError):
        left.rmdir()


def _holds_only_ours(folder: Path) -> bool:
    """True where every file has a name that biodyn gives: of a trial, of a study's group results, or of its pages."""
    owns = trial_files(folder)
    return not foreign_files(folder, lambda path: owns(path) or is_study_file(folder, path)) and all(
        not (folder / path).is_symlink() for path in walk_files(folder)
    )


# -- names and lengths of paths that a system refuses

_WINDOWS = os.name == "nt"
# Stand for devices in every folder of Windows, with any suffix (learn.microsoft.com, "Naming Files, Paths, and Namespaces").
_DEVICE: Final = re.compile(r"(?i:con|prn|aux|nul|com[\d¹²³]|lpt[\d¹²³]|conin\$|conout\$) *(?:\..*)?")
_FORBIDDEN: Final = frozenset('<>:"|?*')
# Characters of a path that every system takes: Windows 247 of a folder and 259 of a file where long ones are not switched on.
_ORDINARY: Final = 200
# Characters of the longest path of a file in a result ("tables/ground_reaction_full_rate.csv"), some to spare, and of its name.
_INSIDE, _FILE = 42, 32
_RANDOM_CHARACTERS: Final = 8  # characters that `tempfile` adds
_PART: Final = 100  # of a name, on any file system


def is_device(name: str) -> bool:
    """True for a name that is a device on Windows whatever the folder."""
    return _DEVICE.fullmatch(name) is not None


def portable_name(name: str) -> str:
    """Return the name of a folder without the dots and spaces at its end, which Windows drops, and not as a device's.

    Empty where it was nothing but those.
    """
    kept = name.rstrip(". ")
    if not is_device(kept):
        return kept
    stem, dot, rest = kept.partition(".")
    return f"{stem.rstrip()}_{dot}{rest}"


def require_possible(folder: Path) -> None:
    """Raise ResultError if this system can have no result in `folder`, for its names or for the length of its files' paths.

    What a system takes depends on its version, its settings and the disk: long paths are tried, in the folder above that exists.
    """
    if _WINDOWS:
        for part in folder.parts[bool(folder.anchor) :]:
            if is_device(part) or _FORBIDDEN & set(part):
                raise ResultError(f"Windows has no folder with the name '{part}'.", "Choose another --out.")
    place = Path(os.path.realpath(folder))
    # it is written beside its place
    beside = place.parent / f".{short_name(place.name)}.{'x' * _RANDOM_CHARACTERS}{UNFINISHED}"
    needed = len(str(beside)) + 1 + _INSIDE
    if needed <= _ORDINARY:
        return
    above = next((parent for parent in place.parents if os.path.isdir(parent)), None)
    refusal = None if above is None else _refusal(above, place.name, needed)
    if refusal is not None:
        shown = f"{str(folder)[:_SHOWN]}{'...' if len(str(folder)) > _SHOWN else ''}"
        raise ResultError(
            f"'{shown}' cannot be written: the paths of its files would have {needed} characters, and this system refuses "
            f"them ({refusal.strerror or refusal}).",
            f"Choose a shorter --out{', or allow long paths in the settings of Windows' if _WINDOWS else ''}.",
        ) from refusal


def _refusal(above: Path, name: str, needed: int) -> OSError | None:
    """Make a file whose path has `needed` characters, and remove it; why that is not possible."""
    try:
        temporary = tempfile.mkdtemp(prefix=f".{short_name(name)}.", suffix=UNFINISHED, dir=above)
    except OSError as error:
        return error
    try:
        folder, left = temporary, needed - _FILE - 1 - len(temporary)
        while left > 1:
            folder = os.path.join(folder, "x" * min(_PART, left - 1))
            os.mkdir(folder)
            left = needed - _FILE - 1 - len(folder)
        with open(os.path.join(folder, "x" * _FILE), "wb"):
            pass
    except OSError as error:
        return error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return None


# -- replacing a folder

_SHOWN = 120  # characters of a path on the screen
# Tell that a folder is complete: they are moved last.
_RECORDS = ("trial.json", "run.json", "group.json")


def require_free(folder: Path, force: bool, record_name: str = RECORD_NAME) -> None:
    """Raise ResultError if `folder` cannot become a result folder, for its name, its length or what is there.

    An existing folder is replaced only with `force`, and only if it is empty, or a result that holds nothing but what
    biodyn wrote into it. `record_name`: `EXPORT_RECORD` for a folder of exported files.
    """
    require_possible(folder)
    try:
        remove_unfinished(without_links(folder))  # an older result that a killed run had moved aside comes back first
        _require_free(folder, force, record_name)
    except OSError as error:  # such as a name that is too long
        raise _unwritable(folder, error) from error


def _require_free(folder: Path, force: bool, record_name: str) -> None:
    if not folder.exists():
        above = next((parent for parent in without_links(folder).parents if parent.exists()), None)
        if above is None or not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
            raise ResultError(
                f"'{folder}' cannot be written: '{above}' is no folder to write into.", "Choose another --out."
            )
        # full and locked disks show now
        os.rmdir(tempfile.mkdtemp(prefix=f".{short_name(folder.name)}.", suffix=UNFINISHED, dir=above))
        return
    if not folder.is_dir():
        raise ResultError(f"'{folder}' is a file, not a folder.", "Choose another --out.")
    try:
        if not any(folder.iterdir()):
            return
        is_result = record_name == RECORD_NAME
        if raw_record(folder, record_name) is None:
            what = "is not a biodyn result" if is_result else "holds no export of biodyn"
            raise ResultError(f"'{folder}' exists and {what}: it will not be replaced.", "Choose another --out.")
        remove_all_unfinished(folder)  # of a report or replay that was killed
        if not force:
            raise ResultError(
                f"'{folder}' already holds {'a result' if is_result else 'an export'}.",
                "Choose another --out, or replace it with --force.",
            )
        _require_only_own(folder, record_name)
    except OSError as error:
        raise ResultError(
            f"'{folder}' cannot be read: {error.strerror or error}. It will not be replaced.", "Choose another --out."
        ) from error


def _unwritable(folder: Path, error: OSError) -> ResultError:
    shown = str(folder) if len(str(folder)) <= _SHOWN else f"{str(folder)[:_SHOWN]}..."
    return ResultError(f"'{shown}' cannot be written: {error.strerror or error}.", "Choose another --out.")


def without_links(folder: Path) -> Path:
    """The absolute path with links followed, also where nothing is there yet."""
    return Path(os.path.realpath(folder))


def default_folder(walk: Path) -> Path:
    """Where the result of a walk goes when no folder is named: reports/<name of the walk>, always inside of reports."""
    name = portable_name(walk.absolute().stem)
    return Path("reports") / (
        name if name.strip(". ") and printable(name) == name else short_name(name.strip(". ") or "walk")
    )


@contextmanager
def writing(folder: Path, force: bool = False, record_name: str = RECORD_NAME) -> Iterator[Path]:
    """Yield a temporary sibling of `folder` to write into; it takes the folder's name when the block ends well.

    On an error it is removed and an older result stays as it was. Raises ResultError as `require_free` does.
    """
    require_possible(folder)  # a name as it is given: Windows finds devices elsewhere
    folder = without_links(folder)  # what a link points to is replaced, not the link
    require_free(folder, force, record_name)
    with replacing(folder, partial(trial_files, record_name=record_name)) as temporary:
        yield temporary
        require_free(folder, force, record_name)  # another run may have been quicker, or somebody put a file there


@contextmanager
def replacing(folder: Path, owned: OwnedIn) -> Iterator[Path]:
    """Yield a temporary sibling of `folder` that takes its place when the block ends well.

    `owned` tells which files of an older folder biodyn wrote: these go. Where it holds others they stay in their place,
    and the new files come beside them.
    """
    folder = without_links(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = _beside(folder, UNFINISHED)
    except OSError as error:
        raise _unwritable(folder, error) from error
    try:
        with being_written(temporary):
            yield temporary
        os.chmod(temporary, 0o755)  # mkdtemp makes it private
        _put(temporary, folder, owned)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


@contextmanager
def updating(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder whose files take their places in `folder` when the block ends well.

    On an error nothing in `folder` has changed: what needs room or permission is done before the first file moves.
    """
    remove_all_unfinished(folder)  # of an update that was killed
    temporary = Path(tempfile.mkdtemp(prefix=f".{short_name(folder.name)}.", suffix=UNFINISHED, dir=folder))
    try:
        with being_written(temporary):
            yield temporary
        files = sorted(path for path in temporary.rglob("*") if path.is_file())
        for path in files:
            (folder / path.relative_to(temporary)).parent.mkdir(parents=True, exist_ok=True)
        for path in files:
            os.replace(path, folder / path.relative_to(temporary))
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _beside(folder: Path, suffix: str) -> Path:
    return Path(tempfile.mkdtemp(prefix=f".{short_name(folder.name)}.", suffix=suffix, dir=folder.parent))


def _put(new: Path, folder: Path, owned: OwnedIn) -> None:
    """Give a complete folder its name."""
    if not os.path.lexists(folder):
        os.replace(new, folder)
        return
    if not folder.is_dir():
        raise ResultError(f"'{folder}' is a file, not a folder.", "Move it away, or choose another --out.")
    owns = owned(folder)
    if foreign_files(folder, owns):
        _merge(new, folder, owns)
        return
    old = _beside(folder, REPLACED)
    try:
        os.replace(folder, old / folder.name)
    except OSError:  # on Windows where a program has one of its files open
        old.rmdir()
        raise
    try:
        os.replace(new, folder)
    except OSError:
        os.replace(old / folder.name, folder)
        old.rmdir()
        raise
    # Whatever somebody put there in the last moment comes back.
    remove_owned(old / folder.name, owned(old / folder.name))
    if (old / folder.name).exists():
        _merge(old / folder.name, folder, lambda path: False)
    with suppress(OSError):
        old.rmdir()


def _merge(new: Path, folder: Path, owns: Owns) -> None:
    """Put the files of `new` among those of `folder`, file by file; its own older ones go, others keep their content.

    The record goes first and comes last: without one a folder counts as unfinished.
    """
    foreign = set(foreign_files(folder, owns))
    names = sorted(walk_files(new), key=lambda path: (path in _RECORDS, path))
    for path in _RECORDS:
        if path not in foreign:
            (folder / path).unlink(missing_ok=True)
    for path in names:
        target = folder / path
        _make_way(folder, path, foreign)
        target.parent.mkdir(parents=True, exist_ok=True)
        os.replace(new / path, target)
    for path in set(walk_files(folder)) - set(names) - foreign:
        if owns(path):
            (folder / path).unlink(missing_ok=True)
    shutil.rmtree(new, ignore_errors=True)


def _make_way(folder: Path, path: str, foreign: set[str]) -> None:
    """Rename a user's file or link that has the name of a new file or of a folder above it."""
    parts = path.split("/")
    for i in range(1, len(parts) + 1):
        place = folder.joinpath(*parts[:i])
        is_link_or_file = place.is_symlink() or place.is_file()
        if is_link_or_file and (i < len(parts) or "/".join(parts) in foreign):
            os.rename(place, _free_name(place))
            return
        if i == len(parts) and place.is_dir():
            os.rename(place, _free_name(place))


def _free_name(path: Path) -> Path:
    number = 1
    while os.path.lexists(found := path.with_name(f"{path.stem} (yours {number}){path.suffix}")):
        number += 1
    return found
