"""Spreadsheets: CSV and TSV as text, Parquet; exports of Nexus, QTM and Visual3D, or a laboratory's own.

What the columns are, their names tell, or a column map beside the file (`io.tables.column_map`, docs/formats.md). No format
of its own bytes: only the name says that a file is one.
"""

from __future__ import annotations

import math
from hashlib import sha256
from pathlib import Path

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.errors import InputFileError
from biodyn.io.files import COPY_AGAIN, check_path, file_bytes, file_sha256
from biodyn.io.format import FORMATS, Format
from biodyn.io.opensim.storage import Storage
from biodyn.io.tables import recording_of
from biodyn.io.tables.column_map import ColumnMap, column_map, map_file, mapped_roles
from biodyn.io.tables.sheet import Sheet, is_time_or_frame, read_sheet, time_of
from biodyn.io.text import clean_text
from biodyn.recording import Recording

_MOST_TEXT_BYTES = 500_000_000
_MOST_PARQUET_CELLS = 200_000_000


def read_spreadsheet(path: Path) -> Recording:
    """Read one CSV or TSV file; raises InputFileError in one sentence for what is no table, or has no time."""
    check_path(path)
    if path.stat().st_size > _MOST_TEXT_BYTES:
        raise InputFileError(
            f"'{path.name}' has more than {_MOST_TEXT_BYTES / 1e6:.0f} MB.", "Export it as Parquet or C3D."
        )
    content = file_bytes(path)
    if b"\0" in content[:1000] and content[:2] not in (b"\xff\xfe", b"\xfe\xff"):
        raise InputFileError(f"'{path.name}' is no text: a spreadsheet was expected.")
    text = content.decode("utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig", errors="replace")
    return _recording(path, read_sheet(path.name, text), content)


def read_parquet(path: Path) -> Recording:
    """Read one Parquet file with a column for every signal; raises InputFileError in one sentence."""
    content = file_bytes(path)
    try:
        import pyarrow  # a fifth of a second that no other format should wait for
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise InputFileError(
            f"'{path.name}' is Parquet, which needs pyarrow; it is not installed.",
            "Install: pip install 'biodyn[study]', or export the file as CSV.",
        ) from error
    try:
        file = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(content))
        if file.metadata.num_rows * max(file.metadata.num_columns, 1) > _MOST_PARQUET_CELLS:
            raise InputFileError(f"'{path.name}' holds more numbers than any motion.")
        table = file.read()
        names, columns = [], []
        for name, column in zip(table.column_names, table.columns, strict=True):
            kind = column.type
            if pyarrow.types.is_floating(kind) or pyarrow.types.is_integer(kind):
                names.append(clean_text(str(name)))
                columns.append(np.asarray(column.to_numpy(), dtype=np.float64))
    except (pyarrow.ArrowException, OSError, MemoryError, UnicodeDecodeError) as error:
        said = clean_text((str(error).splitlines() or [""])[0][:100]).rstrip(".")
        raise InputFileError(f"'{path.name}' is no sound Parquet file: {said}.", COPY_AGAIN) from error
    if not columns or not len(columns[0]) or len(set(names)) != len(names):
        raise InputFileError(f"'{path.name}' holds no table of numbers with a name for each column.")
    return _recording(path, Sheet(tuple(names), np.column_stack(columns), math.nan, "", time_of(names)), content)


def _recording(path: Path, sheet: Sheet, content: bytes) -> Recording:
    given = column_map(path)
    time_s, used = _times(path, sheet, given)
    kept = [k for k, name in enumerate(sheet.names) if name not in used]
    names = tuple(sheet.names[k] for k in kept)
    roles, renamed = mapped_roles(names, given)
    plain = tuple(renamed.get(name, name) for name in names)
    table = Storage(path, plain, time_s, sheet.values[:, kept], None)
    found = recording_of(
        table,
        roles.renamed(renamed),
        sha256(content).hexdigest(),
        given.text("length") or sheet.length,
        given.text("angle"),
    )
    place = map_file(path)
    return found if place is None else found.made_with(place, file_sha256(place))


def _times(path: Path, sheet: Sheet, given: ColumnMap) -> tuple[FloatArray, set[str]]:
    """Time (T,) s of every row, and the columns that told it."""
    beside = {name for name in sheet.names if is_time_or_frame(name)}
    named = given.text("time") or sheet.time
    if named and named not in sheet.names:
        raise InputFileError(f"'{given.path}' names the column '{named}' for the time, which is not there.")
    if given.content.get("rate_hz") is None and named:
        time_s = sheet.values[:, sheet.names.index(named)]
        scale = 1e-3 if "ms" in named.lower() else 1.0
        if not (np.isfinite(time_s).all() and (np.diff(time_s) > 0.0).all()):
            raise InputFileError(f"The time in '{path.name}' (column '{named}') does not increase from row to row.")
        return scale * time_s, beside | {named}
    rate_hz = float(given.content.get("rate_hz") or sheet.rate_hz)
    if not (math.isfinite(rate_hz) and rate_hz > 0.0):
        raise InputFileError(
            f"'{path.name}' tells no time: it has no column of time and states no rate.",
            f"Say it in {path.stem}.columns.toml: rate_hz = 100.0 (docs/formats.md).",
        )
    return np.arange(len(sheet.values)) / rate_hz, beside | ({named} if named else set())


# asked last: a text of any other format may be called .csv
FORMATS.add(
    "spreadsheet", Format("CSV", (".csv", ".tsv"), lambda head: False, read_spreadsheet, forces_beside=True), 10.0
)
FORMATS.add(
    "parquet",
    Format("Parquet", (".parquet",), lambda head: head[:4] == b"PAR1", read_parquet, forces_beside=True),
    10.0,
)
