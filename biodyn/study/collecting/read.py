"""Read the data set of a study: only the rows that are asked for, or one subject after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from biodyn.errors import ResultError
from biodyn.study.collecting.schema import DATA_SET_COLUMNS, DATA_SET_SCHEMA, WORD_COLUMNS

DATA_SET_NAME = "study.parquet"
Wanted = str | float | bool | Sequence[str] | Sequence[float]


def read_cycles(source: str | Path, columns: Sequence[str] | None = None, **wanted: Wanted) -> pd.DataFrame:
    """Return rows of study.parquet; what is not wanted is not read.

    Parameters:
        source: output folder of a study, or a data set file.
        columns: names of the columns to return; None = all.
        wanted: values by column, one or several: `subject="S01", variable=["knee_angle", "hip_flexion"], valid=True`.

    Text columns come as pandas categories, missing values as NaN.

    Raises ResultError where there is no data set, or no such column or value; it names those there are.
    """
    path = data_set_path(source)
    _require_columns([*wanted, *(columns or ())])
    condition = None
    for name, values in wanted.items():
        term = _is_one_of(name, values)
        condition = term if condition is None else condition & term
    dataset = ds.dataset(path, schema=DATA_SET_SCHEMA, format="parquet")
    table = dataset.to_table(columns=None if columns is None else list(columns), filter=condition)
    if table.num_rows == 0:
        _require_values(dataset, wanted)
    return _frame(table)


def subjects(source: str | Path) -> tuple[str, ...]:
    """Return the subjects of a data set in their order, from its table of contents alone."""
    with pq.ParquetFile(data_set_path(source)) as file:
        return tuple(dict.fromkeys(_subject_of(file, number) for number in range(file.num_row_groups)))


def iterate_subjects(source: str | Path, columns: Sequence[str] | None = None) -> Iterator[pd.DataFrame]:
    """Yield the rows of one subject at a time, in the order of the data set; nothing else is kept in memory.

    Parameters: as for `read_cycles`.
    """
    _require_columns(columns or ())
    with pq.ParquetFile(data_set_path(source)) as file:
        groups: dict[str, list[int]] = {}
        for number in range(file.num_row_groups):
            groups.setdefault(_subject_of(file, number), []).append(number)
        for numbers in groups.values():
            table = file.read_row_groups(numbers, columns=None if columns is None else list(columns))
            yield _frame(table)


def data_set_path(source: str | Path) -> Path:
    """Return the data set of a study's output folder, or the file itself; ResultError where there is none."""
    path = Path(source)
    if path.is_dir():
        path = path / DATA_SET_NAME
    if not path.is_file():
        raise ResultError(f"'{path}' does not exist.", "Run 'biodyn study FOLDER --out DIR' to its end.")
    return path


def _subject_of(file: pq.ParquetFile, number: int) -> str:
    """Subject of a row group: its smallest and its largest."""
    column = DATA_SET_COLUMNS.index("subject")
    statistics = file.metadata.row_group(number).column(column).statistics
    if statistics is None or statistics.min != statistics.max:
        raise ResultError("The row groups of the data set do not hold one subject each.", "Collect the study again.")
    return str(statistics.min)


def _is_one_of(name: str, values: Wanted) -> ds.Expression:
    several = values if isinstance(values, (list, tuple, set, frozenset, pd.Series, pd.Index)) else [values]
    kind = pa.string() if name in WORD_COLUMNS else DATA_SET_SCHEMA.field(name).type
    try:
        known = pa.array(list(several), kind)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise ResultError(f"'{values}' is no value of column '{name}' ({kind}).") from error
    if len(known) == 1:
        return ds.field(name) == known[0]
    return ds.field(name).isin(known)


def _require_columns(names: Sequence[str]) -> None:
    unknown = [name for name in names if name not in DATA_SET_COLUMNS]
    if unknown:
        raise ResultError(
            f"The data set has no column '{unknown[0]}'.", f"Its columns are {', '.join(DATA_SET_COLUMNS)}."
        )


def _require_values(dataset: ds.Dataset, wanted: dict[str, Wanted]) -> None:
    """Raise ResultError if one of the wanted words occurs nowhere in the data set."""
    for name in wanted:
        if name not in WORD_COLUMNS:
            continue
        there: dict[str, None] = {}
        for batch in dataset.to_batches(columns=[name]):
            there.update(dict.fromkeys(pc.unique(batch.column(0)).to_pylist()))
        values = wanted[name]
        asked = [values] if isinstance(values, str) else list(values)  # type: ignore[arg-type]
        if there and not set(asked) & set(there):
            shown = ", ".join(sorted(map(repr, there)))
            raise ResultError(f"The data set has no {name} {', '.join(map(repr, asked))}.", f"There are {shown}.")


def _frame(table: pa.Table) -> pd.DataFrame:
    # Every row group brings its own words: one list for all, without those that no row uses.
    frame: pd.DataFrame = table.unify_dictionaries().to_pandas()
    for name in frame.columns:
        if isinstance(frame[name].dtype, pd.CategoricalDtype):
            frame[name] = frame[name].cat.remove_unused_categories()
    return frame
