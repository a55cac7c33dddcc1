"""Which files of a folder biodyn wrote itself; everything else is the user's and stays."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

from biodyn.errors import ResultError, printable
from biodyn.library.load import load_table
from biodyn.output.store.names import COORDINATES, DIGESTS, FILES_ENTRY, KIND_ENTRY, RECORD_NAME

#: What can be made again from the rest, so that a changed one is no loss.
_REMADE = ("report.html", "figures/", "replay/")
# What file managers leave in every folder they show.
_LITTER = frozenset((".DS_Store", "Thumbs.db", "desktop.ini"))
_NAMED = 3

#: Tells of a path relative to a folder, '/' between its parts, whether biodyn wrote it.
Owns = Callable[[str], bool]
#: Looks at a folder and returns what of it is biodyn's.
OwnedIn = Callable[[Path], Owns]


@cache
def version_1() -> dict[str, Any]:
    """What biodyn 0.1.0 wrote, which kept no list (`version_1.toml`); treat it as read-only."""
    return load_table("results/version_1")


@cache
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


def raw_record(folder: Path) -> Mapping[str, Any] | None:
    """Return `run.json` as it stands; None where there is none, or none of biodyn's."""
    try:
        content = json.loads((folder / RECORD_NAME).read_text(encoding="utf-8"))
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


def trial_files(folder: Path) -> Owns:
    """What biodyn wrote of a trial's result: the record's own list, of an older record that version's files."""
    record = raw_record(folder)
    listed = None if record is None else listed_files(record)
    if listed is None:
        return _version_1_files().__contains__
    # The record cannot list itself with its own digest.
    return {*listed, RECORD_NAME, f".{RECORD_NAME}.part"}.__contains__


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


def changed_files(folder: Path) -> list[str]:
    """Return the files of a result that are no longer as biodyn wrote them, but for those it can make again."""
    record = raw_record(folder)
    listed = (listed_files(record) if record is not None else None) or {}
    return [
        path
        for path, entry in listed.items()
        if not path.startswith(_REMADE) and (folder / path).is_file() and not is_as_written(folder / path, entry)
    ]


def is_as_written(path: Path, entry: Mapping[str, Any]) -> bool:
    """True where a file has the digest of its entry, or the entry knows none."""
    digest = entry.get("sha256")
    return digest is None or hashlib.sha256(path.read_bytes()).hexdigest() == digest


def require_only_own(folder: Path) -> None:
    """Raise ResultError if a result folder holds anything that would be lost when it is replaced."""
    try:
        foreign = foreign_files(folder, trial_files(folder))
        changed = [] if foreign else changed_files(folder)
    except OSError as error:
        raise ResultError(
            f"'{folder}' cannot be looked into ({error.strerror or error}): it will not be replaced.",
            "Choose another --out.",
        ) from error
    if foreign:
        raise ResultError(
            f"'{folder}' holds what biodyn did not write ({named(foreign)}): it will not be replaced.",
            "Move that away, or choose another --out.",
        )
    if changed:
        raise ResultError(
            f"'{folder}' was changed after biodyn wrote it ({named(changed)}): it will not be replaced.",
            "Move it away, or choose another --out.",
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
