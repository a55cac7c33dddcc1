"""The one reader of TOML files. What a user wrote is given back with its place and the hash of its bytes."""

from __future__ import annotations

import hashlib
import json
import os
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from biodyn.errors import BiodynError, TableError

SUFFIX = ".toml"
#: Of a body model in OpenSim's format.
MODEL_SUFFIX = ".osim"
# The largest table of the library has 60 kB; beyond this somebody named the wrong file.
_LARGEST_BYTES = 5_000_000
_DEEPEST = 50
_ALLOWED_CONTROLS = "\n\r\t"
_MOST_SHOWN = 24
_LONGEST_PATH = 300


@dataclass(frozen=True)
class UserFile:
    """A TOML file of the user: what it is for, where it lies (absolute), its bytes, and what it says.

    `content` is shared between readers of the same bytes: not to be changed.
    """

    role: str
    path: Path
    data: bytes = field(repr=False)
    content: dict[str, Any] = field(compare=False, repr=False)

    @property
    def name(self) -> str:
        """The file's name in messages."""
        return self.path.name

    @property
    def sha256(self) -> str:
        """Hash of the bytes."""
        return hashlib.sha256(self.data).hexdigest()


def is_path(name: str) -> bool:
    """True if a name of a table is the path of a user's own file."""
    return name.lower().endswith((SUFFIX, MODEL_SUFFIX))


def beside(name: str, naming_file: Path) -> str:
    """Return a table's name as it is meant in `naming_file`: a path is relative to that file's folder."""
    return os.path.normpath(naming_file.absolute().parent / Path(name).expanduser()) if is_path(name) else name


def read_user_toml(
    path: str | Path, role: str, fault: type[BiodynError] = TableError, missing: str = "Give the path of a TOML file."
) -> UserFile:
    """Read a user's TOML file; `fault` is raised, in one sentence, where that cannot be done.

    A byte order mark is accepted. Parameters: `role` names the file's purpose in messages; `missing`: what to do where
    there is no such file.
    """
    shown = _shown(path)
    try:
        place = Path(path).expanduser()
        if not place.is_file():
            raise fault(f"The {role} '{shown}' does not exist{_or_is_none(place)}.", missing)
        size = place.stat().st_size
        if size > _LARGEST_BYTES:
            raise fault(
                f"The {role} '{shown}' has {size / 1e6:.0f} MB: a table has less than {_LARGEST_BYTES / 1e6:.0f}.",
                missing,
            )
        data = place.read_bytes()
        place = place.absolute()
    except OSError as error:
        raise fault(f"The {role} '{shown}' cannot be read: {error.strerror}.", missing) from error
    except (ValueError, RuntimeError) as error:  # a NUL in the path; "~somebody" without a home
        raise fault(f"{shown!r} is no path of a {role}: {error}.", missing) from error
    return UserFile(role, place, data, _parsed(data, shown, fault))  # type: ignore[arg-type]  # a class is hashable


def read_entry(text: str, fault: type[BiodynError] = TableError) -> dict[str, Any]:
    """Return the entry that "section.key=value" states, nested as in a TOML file; `fault` where it states none.

    The value is written as in TOML; what is no TOML value is a text, so that `model.fit=session` needs no quotes.
    """
    key, equals, value = (part.strip() for part in text.partition("="))
    if not (key and equals and value) or len((key + value).splitlines()) > 1:
        raise fault(f"'{_shown(text)}' is no entry of the settings.", "Write section.key=value: model.fit=session.")
    try:
        return _parsed(f"{key} = {value}".encode(), text, fault)  # type: ignore[arg-type]  # as above
    except fault:
        quoted = json.dumps(value, ensure_ascii=False)
        return _parsed(f"{key} = {quoted}".encode(), text, fault)  # type: ignore[arg-type]


@lru_cache(maxsize=64)
def _parsed(data: bytes, shown: str, fault: type[BiodynError]) -> dict[str, Any]:
    try:
        content = tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise fault(
            f"'{shown}' is no TOML file: byte {error.start + 1} is not UTF-8 text.",
            "Name a TOML file; save it as UTF-8.",
        ) from error
    except RecursionError:
        raise fault(f"'{shown}' nests lists or tables too deeply.", "Write it like the library's own tables.") from None
    except ValueError as error:  # TOMLDecodeError, and numbers with more digits than Python takes
        raise fault(f"'{shown}' is not a valid TOML file: {error}.", "Correct the line it names.") from error
    for key, text in _texts(content, "", shown, fault):
        control = next((c for c in text if (ord(c) < 32 and c not in _ALLOWED_CONTROLS) or ord(c) == 127), None)
        if control is not None:
            raise fault(f"Entry '{key}' of '{shown}' holds the control character {control!r}.", "Take it out.")
    return content


def _texts(value: Any, key: str, shown: str, fault: type[BiodynError], depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield (where, text) of every text and every key."""
    if depth > _DEEPEST:
        raise fault(f"'{shown}' nests lists or tables too deeply.", "Write it like the library's own tables.")
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, dict):
        for name, item in value.items():
            yield repr(name), name
            yield from _texts(item, f"{key}.{name}" if key else name, shown, fault, depth + 1)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item, key, shown, fault, depth + 1)


def _shown(path: str | Path) -> str:
    """A path in a message: the end of a very long one."""
    text = str(path)
    return text if len(text) <= _LONGEST_PATH else f"...{text[-_LONGEST_PATH:]}"


def _or_is_none(place: Path) -> str:
    return " as a file" if place.exists() else ""


@cache
def load_table(name: str) -> dict[str, Any]:
    """Return one of biodyn's own TOML files by its path in this folder, without suffix; not to be changed."""
    return tomllib.loads(files(__package__).joinpath(f"{name}{SUFFIX}").read_text(encoding="utf-8"))


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a hint: the known name that comes nearest, and what there is."""
    known = tuple(known)
    folded = {candidate.casefold(): candidate for candidate in known}
    near = get_close_matches(name.casefold(), folded, 1)
    return (f"Did you mean '{folded[near[0]]}'? " if near else "") + listed(known)


def listed(known: Sequence[str]) -> str:
    """Return what there is, as a sentence; of many names the first."""
    return f"There are {', '.join(known[:_MOST_SHOWN]) or 'none'}{', ...' if len(known) > _MOST_SHOWN else ''}."
