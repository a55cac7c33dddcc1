"""Parameters of the strides of one trial, as its table `spatiotemporal` holds them: text, or packed where it is long."""

from __future__ import annotations

import csv
import math
from pathlib import Path

from biodyn.errors import ResultError
from biodyn.output.store.names import PACKED_SUFFIX
from biodyn.output.tables.packed import unpacked

STRIDES_NAME = "tables/spatiotemporal.csv"  # in the folder of a trial
_TIMES = ("start_s", "foot_off_s", "end_s")  # within the trial: no parameters of the stride


def read_strides(path: Path) -> dict[tuple[str, int], dict[str, float]]:
    """Read spatiotemporal.csv of a trial, or its packed form beside it: (side, cycle) -> parameters of the stride.

    Nothing where there is no file. Raises ResultError where it is no such table.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return _packed_strides(path)
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(path) from error
    try:
        return {
            (row["side"], int(row["cycle"])): {
                name: float(word) if word else math.nan
                for name, word in row.items()
                if name not in ("side", "cycle", *_TIMES)
            }
            for row in csv.DictReader(text.splitlines())
        }
    except (KeyError, ValueError, TypeError, csv.Error) as error:
        raise _unreadable(path) from error


def strides_bytes(path: Path) -> bytes:
    """The content of the file that `read_strides` reads; nothing where there is none. OSError where it cannot be read."""
    for one in (path, path.with_suffix(PACKED_SUFFIX)):
        try:
            return one.read_bytes()
        except FileNotFoundError:
            continue
    return b""


def _packed_strides(path: Path) -> dict[tuple[str, int], dict[str, float]]:
    """The same of a packed table."""
    packed = path.with_suffix(PACKED_SUFFIX)
    if not packed.is_file():
        return {}
    try:
        rows = unpacked(packed.read_bytes()).to_dict("records")
        return {
            (str(row["side"]), int(row["cycle"])): {
                str(name): float(value) for name, value in row.items() if name not in ("side", "cycle", *_TIMES)
            }
            for row in rows
        }
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise _unreadable(path) from error


def _unreadable(path: Path) -> ResultError:
    folder = path.parent.parent
    return ResultError(
        f"'{STRIDES_NAME}' of trial '{folder.name}' cannot be read.",
        f"Remove the folder '{folder.name}' and run the study again.",
    )
