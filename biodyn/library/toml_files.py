"""Reader of TOML files. A user's file is returned with its path and the hash of its bytes."""

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
# Largest size of a table; the largest table of the library has 60 kB.
_LARGEST_BYTES = 5_000_000


@dataclass(frozen=True)
class UserFile:
    """TOML file of the user: its role in messages, absolute path, bytes and content; `content` must not be changed."""

    role: str
    path: Path
    data: bytes = field(repr=False)
    content: dict[str, Any] = field(compare=False, repr=False)

    @property
    def name(self) -> str:
        """Return the file name, for messages."""
        return self.path.name

    @property
    def sha256(self) -> str:
        """Return the SHA-256 of the bytes in hexadecimal."""
        return hashlib.sha256(self.data).hexdigest()


def is_path(name: str) -> bool:
    """Return whether the name of a table or model is the path of a user's file, and not a name in the library."""
    return name.lower().endswith((SUFFIX, ".osim"))


def resolve_table_name(name: str, naming_file: Path) -> str:
    """Return the name of a table that a file names; a path is resolved relative to the folder of this file (`naming_file`)."""
    return os.path.normpath(naming_file.absolute().parent / Path(name).expanduser()) if is_path(name) else name


def read_user_toml(
    path: str | Path, role: str, fault: type[BiodynError] = TableError, missing: str = "Give the path of a TOML file."
) -> UserFile:
    """Read a user's TOML file, with or without byte order mark; `fault` is raised if it cannot be read.

    Args: `role`: purpose of the file in messages; `missing`: hint if it does not exist.
    """
    source = _shorten_path(path)
    try:
        place = Path(path).expanduser()
        if not place.is_file():
            raise fault(f"The {role} '{source}' does not exist{' as a file' if place.exists() else ''}.", missing)
        size = place.stat().st_size
        if size > _LARGEST_BYTES:
            raise fault(
                f"The {role} '{source}' has {size / 1000000.0:.0f} MB; expected a table of less than "
                f"{_LARGEST_BYTES / 1000000.0:.0f} MB.",
                missing,
            )
        data = place.read_bytes()
        place = place.absolute()
    except OSError as error:
        raise fault(f"The {role} '{source}' cannot be read: {error.strerror}.", missing) from error
    except (ValueError, RuntimeError) as error:  # a NUL in the path, or "~somebody" without a home directory
        raise fault(f"{source!r} is not the path of a {role}: {error}.", missing) from error
    return UserFile(role, place, data, _parse_toml(data, source, fault))  # type: ignore[arg-type]  # a class is hashable


def parse_setting_entry(text: str, fault: type[BiodynError] = TableError) -> dict[str, Any]:
    """Return the entry of "section.key=value", nested as in a TOML file; `fault` is raised for an invalid one.

    The value is written as in TOML; a value that is not valid TOML is text, so that `model.fit=session` needs no quotes.
    """
    key, equals, value = (part.strip() for part in text.partition("="))
    if not (key and equals and value) or len((key + value).splitlines()) > 1:
        raise fault(
            f"'{_shorten_path(text)}' is not an entry of the settings.",
            "Use the form section.key=value, e.g. model.fit=session.",
        )
    try:
        return _parse_toml(f"{key} = {value}".encode(), text, fault)  # type: ignore[arg-type]  # as above
    except fault:
        quoted = json.dumps(value, ensure_ascii=False)
        return _parse_toml(f"{key} = {quoted}".encode(), text, fault)  # type: ignore[arg-type]


@lru_cache(maxsize=64)
def _parse_toml(data: bytes, source: str, fault: type[BiodynError]) -> dict[str, Any]:
    try:
        content = tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise fault(
            f"'{source}' is not a TOML file: byte {error.start + 1} is not UTF-8 text.",
            "Specify a TOML file that is saved as UTF-8.",
        ) from error
    except RecursionError:
        raise fault(
            f"Lists or tables in '{source}' are nested too deeply.", "Use the structure of the tables of the library."
        ) from None
    except ValueError as error:  # also raised for numbers with too many digits for Python
        raise fault(f"'{source}' is not a valid TOML file: {error}.", "Correct this line.") from error
    for key, text in _iterate_texts(content, "", source, fault):
        control = next((c for c in text if (ord(c) < 32 and c not in "\n\r\t") or ord(c) == 127), None)
        if control is not None:
            raise fault(f"Entry '{key}' of '{source}' contains the control character {control!r}.", "Remove it.")
    return content


def _iterate_texts(
    value: Any, key: str, source: str, fault: type[BiodynError], depth: int = 0
) -> Iterator[tuple[str, str]]:
    """Yield (key, text) for every text value and every key of a TOML table."""
    if depth > 50:
        raise fault(
            f"Lists or tables in '{source}' are nested too deeply.", "Use the structure of the tables of the library."
        )
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, dict):
        for name, item in value.items():
            yield repr(name), name
            yield from _iterate_texts(item, f"{key}.{name}" if key else name, source, fault, depth + 1)
    elif isinstance(value, list):
        for item in value:
            yield from _iterate_texts(item, key, source, fault, depth + 1)


def _shorten_path(path: str | Path) -> str:
    """Return a path for messages: the last 300 characters of a very long one."""
    text = str(path)
    return text if len(text) <= 300 else f"...{text[-300:]}"


@cache
def load_table(name: str) -> dict[str, Any]:
    """Return a table of the library by its path in this folder, without suffix; it must not be changed."""
    return tomllib.loads(files(__package__).joinpath(f"{name}{SUFFIX}").read_text(encoding="utf-8"))


def toml_text(value: Any, digits: int = 9) -> str:
    """Return a value in TOML syntax; numbers are rounded to some digits, and each row of a matrix has its own line."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, str):
        quoted = json.dumps(value, ensure_ascii=False)
        return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in quoted)
    if isinstance(value, float):
        return str(float(f"{value:.{digits}g}"))
    if not isinstance(value, Sequence):
        return str(value)
    items = [toml_text(item, digits) for item in value]
    if items and items[0].startswith("["):
        return "[\n" + "".join(f"    {item},\n" for item in items) + "]"
    return f"[{', '.join(items)}]"


def suggest_name(name: str, known: Iterable[str]) -> str:
    """Return a hint with the most similar known name and all known names."""
    known = tuple(known)
    folded = {candidate.casefold(): candidate for candidate in known}
    near = get_close_matches(name.casefold(), folded, 1)
    return (f"Did you mean '{folded[near[0]]}'? " if near else "") + list_names(known)


def list_names(known: Sequence[str]) -> str:
    """Return the list of the known names, at most 24, for a message."""
    return f"Valid names: {', '.join(known[:24]) or 'none'}{(', ...' if len(known) > 24 else '')}."
