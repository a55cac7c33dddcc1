"""Files of the group results that grow subject by subject."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from biodyn.output.tables.csv import write_rows

#: Of statistics: a p of 1e-8 is not zero.
STATISTICS_DECIMALS = 10


@dataclass
class CsvFile:
    """A CSV file to which tables of the same columns are added."""

    stream: BinaryIO
    decimals: int
    begun: bool = False

    def add(self, frame: pd.DataFrame) -> None:
        """Write the rows at the end of the file."""
        write_rows(frame, self.stream, header=not self.begun, decimals=self.decimals)
        self.begun = True


@contextmanager
def csv_file(path: Path, columns: list[str]) -> Iterator[CsvFile]:
    """Yield a CSV file to add tables to; one to which nothing is added holds its header."""
    with path.open("wb") as stream:
        file = CsvFile(stream, STATISTICS_DECIMALS)
        yield file
        if not file.begun:
            file.add(pd.DataFrame(columns=columns))


class ParquetFile:
    """A Parquet file to which tables are added, a row group each; dictionary columns may bring new words."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._writer = pq.ParquetWriter(path, schema, compression="zstd")
        self._schema = schema

    def add(self, table: pa.Table) -> None:
        """Write the table as a row group."""
        self._writer.write_table(table.cast(self._schema))

    def close(self) -> None:
        """Finish the file."""
        self._writer.close()


@contextmanager
def parquet_file(path: Path, schema: pa.Schema) -> Iterator[ParquetFile]:
    """Yield a Parquet file to add tables to."""
    file = ParquetFile(path, schema)
    try:
        yield file
    finally:
        file.close()
