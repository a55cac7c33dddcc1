"""Writes norms as a TOML file that a person can read."""

from __future__ import annotations

import json
import os
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from biodyn.errors import StudyError
from biodyn.library.load import read_user_toml
from biodyn.library.schema import require_valid

_HEAD = """\
# Norms made by biodyn; what every entry means: docs/norms.md. Signs are those of biodyn's tables, of a right side.
# A curve is mean[0] + mean[1] (v - reference) + mean[2] (v - reference)^2 at the dimensionless speed v; its band reaches
# reach * sd * exp(sd_growth (v - reference)) to either side."""
_WIDTH = 118


def write_norms(table: Mapping[str, Any], path: Path) -> None:
    """Write the file, whole or not at all. Raises StudyError where that cannot be, TableError where it is no norms."""
    part = path.with_name(f".{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text("\n".join(_lines(table)) + "\n", encoding="utf-8")
        require_valid(read_user_toml(part, "table of norms"), "variables/norms")
        os.replace(part, path)
    except OSError as error:
        raise StudyError(f"'{path}' cannot be written: {error.strerror}.", "Choose another place.") from error
    finally:
        part.unlink(missing_ok=True)


def _lines(table: Mapping[str, Any]) -> Iterator[str]:
    yield _HEAD
    nested = {key for key, value in table.items() if isinstance(value, Mapping)}
    for key, value in table.items():
        if key not in nested:
            yield from _entry(key, value)
    yield from ("", "[speed]")
    for key, value in table["speed"].items():
        yield from _entry(key, value)
    for kind in ("curve", "scalar"):
        for name, entry in table[kind].items():
            yield from ("", f"[{kind}.{json.dumps(name)}]")
            for key, value in entry.items():
                yield from _entry(key, value)


def _entry(key: str, value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield f"{key} = {json.dumps(value, ensure_ascii=False)}"
        return
    values = np.asarray(value)
    if values.ndim < 2:
        yield from textwrap.wrap(f"{key} = {_text(values)}", _WIDTH, subsequent_indent="    ")
        return
    yield f"{key} = ["
    for row in values:
        yield from textwrap.wrap(f"{_text(row)},", _WIDTH, initial_indent="    ", subsequent_indent="     ")
    yield "]"


def _text(values: np.ndarray) -> str:
    """A number or a list of numbers with five digits; TOML's decimals have a digit on either side of the point."""
    if values.ndim == 0:
        if np.issubdtype(values.dtype, np.integer):
            return str(int(values))
        text = f"{float(values):.5g}"
        return text if set(text) & set(".e") else f"{text}.0"
    return "[" + ", ".join(_text(np.asarray(value)) for value in values) + "]"
