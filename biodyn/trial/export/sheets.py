"""Export the tables of a result with the meaning of every column, or its curves in the convention of another program."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
from scipy.io import savemat

from biodyn.errors import ResultError, printable_text
from biodyn.output.tables import TABLES
from biodyn.output.tables.table_access import Column, column_description
from biodyn.trial.export.c3d import convention_channels, read_convention

if TYPE_CHECKING:
    from biodyn.output.figures.trial import TrialView


# Tables without a convention of signs and axes.
_WITHOUT_SIGNS = ("marker_errors", "events", "contacts", "spatiotemporal")


@dataclass(frozen=True, eq=False)
class Sheet:
    """One table: name, description, columns and rows."""

    name: str
    about: str
    columns: Sequence[Column]
    rows: pd.DataFrame


def make_sheets(view: TrialView, convention: str = "") -> list[Sheet]:
    """Return every table of a result; with a convention, the curves in this convention and all tables without signed curves.

    Raises ResultError for an unknown convention.
    """
    if not convention:
        return [_unchanged_sheet(name, table) for name, table in view.tables.items()]
    convention_table = read_convention(convention)
    exported = convention_channels(view, convention)
    columns = [column_description("joint_angles", "time_s")]
    curves = {"time_s": view.tables["joint_angles"]["time_s"].to_numpy()}
    for channel in exported:
        for name, meaning, values in channel.columns():
            unit, _, positive = meaning.partition("; ")
            columns.append(Column(name, unit, positive))
            curves[name] = values
    about = (
        f"The curves with the names, signs and units of {convention_table['title']} ({convention_table['citation']})."
    )
    first = Sheet("curves", about, columns, pd.DataFrame(curves))
    return [first, *(_unchanged_sheet(name, view.tables[name]) for name in _WITHOUT_SIGNS if name in view.tables)]


def _unchanged_sheet(name: str, table: pd.DataFrame) -> Sheet:
    about = TABLES[name].description if name in TABLES else ""
    return Sheet(name, about, [column_description(name, str(column)) for column in table.columns], table)


# -- Excel

MOST_ROWS, MOST_COLUMNS = 1_048_576, 16_384  # limits of Excel, including the header
_LONGEST_TEXT: Final = 32_767
_CONTROL_CHARACTERS: Final = re.compile("[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f]")
_CREATED: Final = datetime(2000, 1, 1)  # the same in every file, so that equal tables give equal bytes


def write_workbook(
    target: Path | BytesIO,
    first: str,
    explanation: Sequence[Sequence[str]],
    tables: Iterable[tuple[str, Sequence[str], Iterable[Iterable[Any]]]],
    widths: Sequence[float],
    frozen_columns: int = 0,
) -> None:
    """Write an Excel workbook; equal tables give equal bytes. Texts that start with "=" are not formulas.

    Args:
        first, explanation, widths: name, rows and column widths (characters) of the first sheet.
        tables: name, column names and rows of the other sheets. Missing and infinite numbers are empty cells.
        frozen_columns: number of columns of these sheets that stay visible when the sheet is scrolled.
    """
    from xlsxwriter import Workbook

    with Workbook(target, {"constant_memory": True}) as book:
        book.set_properties({"author": "biodyn", "created": _CREATED})
        bold = book.add_format({"bold": True})
        page = book.add_worksheet(first)
        for column, width in enumerate(widths):
            page.set_column(column, column, width)
        for number, texts in enumerate(explanation):
            _write_row(page, number, texts)
        for name, columns, rows in tables:
            page = book.add_worksheet(name)
            page.freeze_panes(1, frozen_columns)
            _write_row(page, 0, columns, bold)
            for number, row in enumerate(rows, 1):
                _write_row(page, number, row)


def _write_row(page: Any, number: int, row: Iterable[Any], style: Any = None) -> None:
    for column, value in enumerate(row):
        if isinstance(value, str):
            page.write_string(number, column, _CONTROL_CHARACTERS.sub(" ", value)[:_LONGEST_TEXT], style)
        elif isinstance(value, (bool, np.bool_)):
            page.write_boolean(number, column, bool(value))
        elif value is not None and np.isfinite(value):
            page.write_number(number, column, value)


def xlsx_file(view: TrialView, convention: str) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Return the workbook by its file name, and a sentence for each table that is too large for a sheet.

    Raises ResultError if xlsxwriter is not installed.
    """
    if find_spec("xlsxwriter") is None:
        raise ResultError(
            "An Excel workbook requires the package xlsxwriter, which is not installed.", "pip install 'biodyn[excel]'"
        )
    file = str(view.record["input"].get("file", "result"))
    explained: list[tuple[str, ...]] = [
        ("recording", file),
        ("convention", convention or "biodyn"),
        ("empty cell", "not measured or not computable, never zero"),
        (),
        ("sheet", "column", "unit", "meaning"),
    ]
    tables, notes = [], []
    for sheet in make_sheets(view, convention):
        if len(sheet.rows) >= MOST_ROWS or len(sheet.columns) > MOST_COLUMNS:
            notes.append(
                f"The table '{sheet.name}' has {len(sheet.rows):,} rows, more than a sheet can hold, and is omitted."
            )
            continue
        explained.append((sheet.name, "", "", sheet.about))
        explained += [(sheet.name, column.name, column.unit, column.meaning) for column in sheet.columns]
        values = zip(*(sheet.rows[column.name].astype(object) for column in sheet.columns), strict=True)
        tables.append((sheet.name, [column.name for column in sheet.columns], values))
    stream = BytesIO()
    write_workbook(stream, "columns", explained, tables, widths=(22, 34, 12, 100), frozen_columns=1)
    return {f"{Path(file).stem}.xlsx": stream.getvalue()}, tuple(notes)


# -- MATLAB

_MATLAB_KEYWORD: Final = re.compile(
    "break|case|catch|classdef|continue|else|elseif|end|for|function|global|if|otherwise|parfor|persistent|return|spmd|switch|"
    "try|while"
)
_LONGEST: Final = 63  # longest name in MATLAB


def mat_file(view: TrialView, convention: str) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Return the MATLAB file by its name, with `info` and one struct per table.

    A struct has one field per column ((T, 1) numbers, NaN if missing; or cells of text) and `columns`, a struct array with the
    name, unit, meaning and field of each column.
    """
    content: dict[str, Any] = {"info": _info_struct(view, convention)}
    for sheet in make_sheets(view, convention):
        content[sheet.name] = _matlab_struct(sheet)
    stream: Any = BytesIO()  # the type stubs accept only paths
    savemat(stream, content, long_field_names=True, oned_as="column", do_compression=True)
    # the header text is replaced because it has the time of writing; equal results give equal bytes
    data = b"MATLAB 5.0 MAT-file, written by biodyn".ljust(116) + stream.getvalue()[116:]
    return {f"{Path(str(view.record['input'].get('file', 'result'))).stem}.mat": data}, ()


def _info_struct(view: TrialView, convention: str) -> dict[str, Any]:
    record = view.record
    subject = dict(record.get("subject") or {})
    return {
        "file": printable_text(str(record["input"].get("file", ""))),  # undecodable bytes are written as escapes
        "sha256": str(record["input"].get("sha256", "")),
        "biodyn": str(dict(record.get("versions") or {}).get("biodyn", "")),
        "verdict": str(record.get("verdict", "")),
        "convention": convention or "biodyn",
        "mass_kg": _number_or_nan(subject.get("mass_kg")),
        "height_m": _number_or_nan(subject.get("height_m")),
        "missing": "NaN: not measured or not computable, never zero",
    }


def _number_or_nan(value: Any) -> float:
    return float("nan") if value is None else float(value)


def _matlab_struct(sheet: Sheet) -> dict[str, Any]:
    fields = field_names([column.name for column in sheet.columns])
    kinds = [("field", object), ("name", object), ("unit", object), ("meaning", object)]
    columns = np.empty((len(fields), 1), dtype=kinds)
    for k, (field, column) in enumerate(zip(fields, sheet.columns, strict=True)):
        columns[k, 0] = (field, column.name, column.unit, column.meaning)
    values = {
        field: _array_values(sheet.rows[column.name]) for field, column in zip(fields, sheet.columns, strict=True)
    }
    return {"about": sheet.about, **values, "columns": columns}


def _array_values(series: pd.Series[Any]) -> np.ndarray:
    if pd.api.types.is_bool_dtype(series.dtype):
        return series.to_numpy(dtype=bool)
    if pd.api.types.is_numeric_dtype(series.dtype):
        return series.to_numpy(dtype=np.float64)
    texts = np.empty(len(series), dtype=object)
    texts[:] = ["" if pd.isna(text) else str(text) for text in series]
    return texts


def field_names(names: list[str]) -> list[str]:
    """Return unique names that are valid for MATLAB fields."""
    taken: list[str] = []
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9_]", "_", name)[: _LONGEST - 4]
        plain = plain if re.match(r"[A-Za-z]", plain) and not _MATLAB_KEYWORD.fullmatch(plain) else f"x_{plain}"
        field, count = plain, 2
        while field in (*taken, "about", "columns"):
            field, count = f"{plain}_{count}", count + 1
        taken.append(field)
    return taken
