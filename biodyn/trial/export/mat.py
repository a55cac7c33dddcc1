"""A result as a MATLAB file (version 5): a struct a table."""

from __future__ import annotations

import re
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
from scipy.io import savemat

from biodyn.errors import printable
from biodyn.trial.export.sheets import Sheet, sheets

if TYPE_CHECKING:
    from biodyn.output.report.view import TrialView

_LONGEST: Final = 63  # characters of a name in MATLAB
_WORDS: Final = frozenset(
    [
        "break",
        "case",
        "catch",
        "classdef",
        "continue",
        "else",
        "elseif",
        "end",
        "for",
        "function",
        "global",
        "if",
        "otherwise",
        "parfor",
        "persistent",
        "return",
        "spmd",
        "switch",
        "try",
        "while",
    ]
)


def mat_file(view: TrialView, convention: str) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Return the file by its name: `info`, and a struct for each table.

    A struct has a field a column ((T, 1) numbers, NaN where missing; cells of text) and `columns`, a struct array with the
    name, unit and meaning of each, and the field that holds it.
    """
    content: dict[str, Any] = {"info": _info(view, convention)}
    for sheet in sheets(view, convention):
        content[sheet.name] = _struct(sheet)
    stream: Any = BytesIO()  # the stubs know paths alone
    savemat(stream, content, long_field_names=True, oned_as="column", do_compression=True)
    # the header's text has the time of writing: the same result gives the same bytes
    data = b"MATLAB 5.0 MAT-file, written by biodyn".ljust(116) + stream.getvalue()[116:]
    return {f"{Path(str(view.record['input'].get('file', 'result'))).stem}.mat": data}, ()


def _info(view: TrialView, convention: str) -> dict[str, Any]:
    record = view.record
    subject = dict(record.get("subject") or {})
    return {
        "file": printable(str(record["input"].get("file", ""))),  # bytes that are no Unicode as their escapes
        "sha256": str(record["input"].get("sha256", "")),
        "biodyn": str(dict(record.get("versions") or {}).get("biodyn", "")),
        "verdict": str(record.get("verdict", "")),
        "convention": convention or "biodyn",
        "mass_kg": _number(subject.get("mass_kg")),
        "height_m": _number(subject.get("height_m")),
        "missing": "NaN: not measured or not computable, never zero",
    }


def _number(value: Any) -> float:
    return float("nan") if value is None else float(value)


def _struct(sheet: Sheet) -> dict[str, Any]:
    fields = field_names([column.name for column in sheet.columns])
    kinds = [("field", object), ("name", object), ("unit", object), ("meaning", object)]
    columns = np.empty((len(fields), 1), dtype=kinds)
    for k, (field, column) in enumerate(zip(fields, sheet.columns, strict=True)):
        columns[k, 0] = (field, column.name, column.unit, column.meaning)
    values = {field: _values(sheet.rows[column.name]) for field, column in zip(fields, sheet.columns, strict=True)}
    return {"about": sheet.about, **values, "columns": columns}


def _values(series: pd.Series[Any]) -> np.ndarray:
    if pd.api.types.is_bool_dtype(series.dtype):
        return series.to_numpy(dtype=bool)
    if pd.api.types.is_numeric_dtype(series.dtype):
        return series.to_numpy(dtype=np.float64)
    texts = np.empty(len(series), dtype=object)
    texts[:] = ["" if pd.isna(text) else str(text) for text in series]
    return texts


def field_names(names: list[str]) -> list[str]:
    """Names as MATLAB's fields may have them, each one once."""
    taken: list[str] = []
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9_]", "_", name)[: _LONGEST - 4]
        plain = plain if re.match(r"[A-Za-z]", plain) and plain not in _WORDS else f"x_{plain}"
        field, count = plain, 2
        while field in (*taken, "about", "columns"):
            field, count = f"{plain}_{count}", count + 1
        taken.append(field)
    return taken
