"""Read the data set of a study: selected rows, or one subject at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import and_
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from biodyn.errors import ResultError
from biodyn.study.collecting.cycles import DATA_SET_COLUMNS, DATA_SET_SCHEMA, LATER_LABELS, WORD, WORD_COLUMNS

DATA_SET_NAME = "study.parquet"
Wanted = str | float | bool | Sequence[str] | Sequence[float]


def read_cycles(source: str | Path, columns: Sequence[str] | None = None, **wanted: Wanted) -> pd.DataFrame:
    """Return the selected rows of study.parquet; row groups of other subjects are not read.

    Parameters:
        source: output folder of a study, or a data set file.
        columns: names of the columns to return; None = all.
        wanted: values by column, one or several: `subject="S01", variable=["knee_angle", "hip_flexion"], valid=True`.

    Text columns are returned as pandas categories, missing values as NaN.

    Raises ResultError with the available names if the data set, a column or a value does not exist.
    """
    _require_columns([*wanted, *(columns or ())])
    shown = list(DATA_SET_COLUMNS if columns is None else columns)
    needed = [name for name in DATA_SET_COLUMNS if name in shown or name in wanted]
    terms = [_membership_filter(name, values) for name, values in wanted.items()]
    with pq.ParquetFile(data_set_path(source)) as file:
        numbers = range(file.num_row_groups)
        parts = [DATA_SET_SCHEMA.empty_table().select(shown)]
        for number in numbers:
            if "subject" not in wanted or _row_group_subject(file, number) in _as_list(wanted["subject"]):
                rows = _read_rows(file, [number], needed)
                parts.append((rows.filter(reduce(and_, terms)) if terms else rows).select(shown).cast(parts[0].schema))
        table = pa.concat_tables(parts)
        for name in WORD_COLUMNS if table.num_rows == 0 and len(numbers) else ():
            known = _read_rows(file, numbers, [name])[name].unique().to_pylist() if name in wanted else []
            if known and not set(_as_list(wanted[name])) & set(known):
                requested = ", ".join(map(repr, _as_list(wanted[name])))
                hint = f"Its values are {', '.join(sorted(map(repr, known)))}."
                raise ResultError(f"The data set has no {name} {requested}.", hint)
    frame = _to_data_frame(table)
    for name in frame.columns:
        if isinstance(frame[name].dtype, pd.CategoricalDtype):
            frame[name] = frame[name].cat.remove_unused_categories()
    return frame


def read_subject_names(source: str | Path) -> tuple[str, ...]:
    """Return the subjects of a data set in order; only the file metadata are read."""
    with pq.ParquetFile(data_set_path(source)) as file:
        return tuple(dict.fromkeys(_row_group_subject(file, number) for number in range(file.num_row_groups)))


def iterate_subjects(source: str | Path, columns: Sequence[str] | None = None) -> Iterator[pd.DataFrame]:
    """Yield the rows of one subject at a time, in the order of the data set; only these rows are in memory.

    Parameters: as for `read_cycles`.
    """
    _require_columns(columns or ())
    with pq.ParquetFile(data_set_path(source)) as file:
        groups: dict[str, list[int]] = {}
        for number in range(file.num_row_groups):
            groups.setdefault(_row_group_subject(file, number), []).append(number)
        for numbers in groups.values():
            yield _to_data_frame(_read_rows(file, numbers, columns))


def data_set_path(source: str | Path) -> Path:
    """Return the data set of a study's output folder, or the file itself; ResultError if it does not exist."""
    path = Path(source)
    if path.is_dir():
        path = path / DATA_SET_NAME
    if not path.is_file():
        raise ResultError(f"'{path}' does not exist.", "Run 'biodyn study FOLDER --out DIR' to its end.")
    return path


def _read_rows(file: pq.ParquetFile, numbers: Sequence[int], columns: Sequence[str] | None) -> pa.Table:
    """Return columns (None = all) of some row groups; labels that earlier versions did not write are ""."""
    table = file.read_row_groups(list(numbers), columns=None if columns is None else list(columns))
    missing = [n for n in LATER_LABELS if n not in table.column_names and (columns is None or n in columns)]
    for name in missing:
        codes = pa.array(np.zeros(table.num_rows, dtype=np.int32))
        words = pa.DictionaryArray.from_arrays(codes, pa.array([""], pa.string()))
        table = table.append_column(pa.field(name, WORD, nullable=False), words)
    return table.select([n for n in DATA_SET_COLUMNS if n in table.column_names]) if missing else table


def _row_group_subject(file: pq.ParquetFile, number: int) -> str:
    """Return the subject of a row group, which is both minimum and maximum in the statistics of its subject column."""
    column = file.metadata.row_group(number).column(file.schema_arrow.get_field_index("subject")).statistics
    if column is None or not column.has_min_max or column.min != column.max:
        raise ResultError("A row group of the data set contains several subjects.", "Collect the study again.")
    return str(column.min)


def _as_list(values: Wanted) -> list[Any]:
    return [values] if isinstance(values, (str, bool, int, float)) else list(values)


def _membership_filter(name: str, values: Wanted) -> pc.Expression:
    kind = pa.string() if name in WORD_COLUMNS else DATA_SET_SCHEMA.field(name).type
    try:
        known = pa.array(_as_list(values), kind)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise ResultError(f"'{values}' is not a value of column '{name}' ({kind}).") from error
    return pc.field(name).isin(known)


def _require_columns(names: Sequence[str]) -> None:
    unknown = [name for name in names if name not in DATA_SET_COLUMNS]
    if unknown:
        raise ResultError(
            f"The data set has no column '{unknown[0]}'.", f"Its columns are {', '.join(DATA_SET_COLUMNS)}."
        )


def _to_data_frame(table: pa.Table) -> pd.DataFrame:
    # unify the dictionaries of the row groups
    frame: pd.DataFrame = table.unify_dictionaries().to_pandas()
    return frame
