"""Reader of the packed tables that biodyn 0.2 wrote (`tables/<name>.packed`). Read only; to be removed with version 0.4.

File: `MAGIC`, then one zlib stream of a line of JSON (`decimals`, `rows`, `columns`, `streams`) and the bytes of all columns:
whole numbers as differences of some order, folded (0, -1, 1, -2 ... are 0, 1, 2, 3 ...), bytes of equal weight together.
"""

from __future__ import annotations

import json
import zlib
from typing import Any, Final

import numpy as np
import pandas as pd

MAGIC: Final = b"biodyn packed table 1\n"


def unpacked_0_2(content: bytes) -> pd.DataFrame:
    """Return the table, with the dtypes that its CSV is read with; ValueError where the bytes are none."""
    if not content.startswith(MAGIC):
        raise ValueError("it is no packed table of this version")
    try:
        line, _, body = zlib.decompress(content[len(MAGIC) :]).partition(b"\n")
        head = json.loads(line)
        rows, begin, streams = int(head["rows"]), 0, []
        if sum(planes for _, planes in head["streams"]) * rows != len(body):
            raise ValueError("its bytes are not those of its columns")
        for order, planes in head["streams"]:
            part = np.frombuffer(body, dtype=np.uint8, count=planes * rows, offset=begin).reshape(planes, rows)
            begin += planes * rows
            folded = np.zeros(rows, dtype=np.uint64)
            for place, plane in enumerate(part):
                folded |= plane.astype(np.uint64) << np.uint64(8 * place)
            counts = (folded >> np.uint64(1)).view(np.int64) ^ -((folded & np.uint64(1)).view(np.int64))
            for number in range(order, 0, -1):
                counts[number - 1 :] = np.cumsum(counts[number - 1 :])
            streams.append(counts)
        return _frame(head, streams)
    except (zlib.error, KeyError, TypeError, IndexError, RecursionError) as error:
        raise ValueError(f"it is no whole packed table ({error})") from error


def _frame(head: dict[str, Any], streams: list[np.ndarray]) -> pd.DataFrame:
    entries = head["columns"]
    if not streams:
        return pd.DataFrame({entry["name"]: [] for entry in entries})
    gaps = iter(streams[len(entries) :])
    return pd.DataFrame(
        {
            entry["name"]: _values(
                entry,
                counts,
                10 ** int(entry.get("decimals", head["decimals"])),
                next(gaps) != 0 if entry.get("missing") else None,
            )
            for entry, counts in zip(entries, streams, strict=False)
        }
    )


def _values(entry: dict[str, Any], counts: np.ndarray, unit: int, missing: np.ndarray | None) -> Any:
    kind = entry["kind"]
    if kind == "word":
        if missing is not None and missing.all():
            return np.full(len(counts), np.nan)
        words = np.array([*entry["words"], np.nan], dtype=object)
        return words[counts if missing is None else np.where(missing, len(words) - 1, counts)]
    if kind == "flag":
        return counts != 0
    if kind == "whole":
        return counts
    if kind == "raw":
        return counts.view(np.float64)
    values = counts / float(unit)
    if missing is not None:
        values[missing] = np.nan
    elif not (counts % unit).any():
        return counts // unit
    return values
