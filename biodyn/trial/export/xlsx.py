"""A result as a workbook: a first sheet that explains every column, then a sheet a table."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
from openpyxl import Workbook
from openpyxl.cell import WriteOnlyCell
from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE
from openpyxl.styles import Font

from biodyn.trial.export.sheets import sheets

if TYPE_CHECKING:
    from biodyn.output.report.view import TrialView

_MOST_ROWS: Final = 1_048_575  # Excel's, without the header
_MOST_COLUMNS: Final = 16_384
_LONGEST_TEXT: Final = 32_767
_WIDTHS: Final = {"A": 22, "B": 34, "C": 12, "D": 100}


def xlsx_file(view: TrialView, convention: str) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Return the workbook by its name, and a sentence for each table that is too large for a sheet."""
    book = Workbook(write_only=True)
    book.properties.creator = "biodyn"
    first = book.create_sheet("columns")
    for letter, width in _WIDTHS.items():
        first.column_dimensions[letter].width = width
    file = str(view.record["input"].get("file", "result"))
    first.append([_cell(first, text) for text in ("recording", file)])
    first.append([_cell(first, text) for text in ("convention", convention or "biodyn")])
    first.append([_cell(first, text) for text in ("empty cell", "not measured or not computable, never zero")])
    first.append([])
    first.append([_cell(first, text, bold=True) for text in ("sheet", "column", "unit", "meaning")])
    notes = []
    for sheet in sheets(view, convention):
        if len(sheet.rows) > _MOST_ROWS or len(sheet.columns) > _MOST_COLUMNS:
            notes.append(f"The table '{sheet.name}' has {len(sheet.rows):,} rows, more than a sheet holds: left out.")
            continue
        first.append([_cell(first, text) for text in (sheet.name, "", "", sheet.about)])
        for column in sheet.columns:
            first.append([_cell(first, text) for text in (sheet.name, column.name, column.unit, column.meaning)])
        page = book.create_sheet(sheet.name)
        page.freeze_panes = "B2"
        page.append([_cell(page, column.name, bold=True) for column in sheet.columns])
        for row in zip(*(_plain(sheet.rows[column.name]) for column in sheet.columns), strict=True):
            page.append([_cell(page, value) if isinstance(value, str) else value for value in row])
    stream = BytesIO()
    book.save(stream)
    return {f"{Path(file).stem}.xlsx": stream.getvalue()}, tuple(notes)


def _plain(series: pd.Series[Any]) -> list[Any]:
    """The values as a sheet takes them: None where there is none."""
    values = series.astype(object).to_numpy()
    return [
        None if value is None or (isinstance(value, (float, np.floating)) and not np.isfinite(value)) else value
        for value in values
    ]


def _cell(page: Any, value: str, bold: bool = False) -> Any:
    """A text that stays a text even if it begins with "="."""
    text = ILLEGAL_CHARACTERS_RE.sub(" ", value)[:_LONGEST_TEXT]
    if not bold and not text.startswith("="):
        return text
    cell = WriteOnlyCell(page, value=text)
    cell.data_type = "s"
    if bold:
        cell.font = Font(bold=True)
    return cell
