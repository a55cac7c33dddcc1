"""What the group analysis hands on: small tables, sentences, findings; the large tables stay on disk."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from biodyn.diagnostics import Diagnostic
from biodyn.errors import StatisticsError
from biodyn.output.store.folder import GROUP_RECORD
from biodyn.output.tables.csv import write_rows
from biodyn.study.group.options import AnalysisOptions

FOLDER_NAME = "group"
PARAMETERS_NAME = "parameters.csv"
SUBJECT_CURVES_NAME = "subject_curves.parquet"
_NAMED = 5


@dataclass(frozen=True)
class GroupResults:
    """Results of a study's group analysis; every table is also a file of its name in `folder`.

    Attributes:
        folder: OUT/group, which also holds parameters.csv and subject_curves.parquet.
        options: what ran.
        tables: by name: group_curves, normative_bands, parameters_wide, cycles, gait_scores, symmetry, repeatability,
            comparisons, mixed_models, spm, spm_curves.
        parameters: name, title, unit, source of every parameter, and of how many cycles it is known and not known.
        notes: sentences by section (the table's name): what was done and why, and what could not be done.
        diagnostics: doubts.
    """

    folder: Path
    options: AnalysisOptions
    tables: Mapping[str, pd.DataFrame]
    parameters: pd.DataFrame
    notes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def record(self) -> dict[str, Any]:
        """The values of group.json: what a report needs besides the tables."""
        return {
            "options": self.options.model_dump(mode="json"),
            "parameters": json.loads(self.parameters.to_json(orient="records")),
            "notes": {name: list(sentences) for name, sentences in self.notes.items()},
            "diagnostics": [finding.as_dict() for finding in self.diagnostics],
        }


def write_record(results: GroupResults, folder: Path) -> None:
    """Write group.json, the last file of a folder of group results; it lists the others."""
    files = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    text = json.dumps(
        {**results.record, "files": [*files, GROUP_RECORD]},
        indent=2,
        sort_keys=True,
        allow_nan=False,
        ensure_ascii=False,
    )
    (folder / GROUP_RECORD).write_text(text + "\n", encoding="utf-8")


def joined_finding(code: str, found: Sequence[tuple[str, str]], unit: str) -> Diagnostic:
    """One finding for all tests or models (name, message) that have it: the first in full, some of the others by name."""
    name, message = found[0]
    others = [other for other, _ in found[1:]]
    more = f", and {len(others) - _NAMED} more" if len(others) > _NAMED else ""
    likewise = f" Likewise: {', '.join(others[:_NAMED])}{more}." if others else ""
    return Diagnostic(code, "info", f"{name}: {message}{likewise}", value=float(len(found)), unit=unit)


def reason_of(error: Exception) -> str:
    """Why a test could not be made, in a sentence."""
    if isinstance(error, StatisticsError):
        return error.message
    return f"Its equations have no solution ({error})."


def joined_notes(found: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """One line for all names (name, sentence) of which the same is said."""
    names: dict[str, list[str]] = {}
    for name, sentence in found:
        names.setdefault(sentence, []).append(name)
    return tuple(f"{', '.join(own)}: {sentence}" for sentence, own in names.items())


# -- Files that grow subject by subject -----------------------------------------------------------------------------


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
