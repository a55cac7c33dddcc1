"""Read result folders, following the manifest in their record."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from biodyn.diagnostics import Check, Diagnostic, Verdict
from biodyn.errors import ResultError
from biodyn.output.report.plotting import PlottableResult
from biodyn.output.store.folder import (
    ARRAYS_NAME,
    CSV_SUFFIX,
    DIGEST_ENTRY,
    DIGESTS,
    FILES_ENTRY,
    MODEL_NAME,
    PACKED_SUFFIX,
    RECORD_NAME,
    RECORD_VERSION,
    REPLAY_FIGURES,
    REPLAY_FOLDER,
    REPLAY_RECORD,
    TABLES_FOLDER,
    copy_files,
    iterate_files,
    manifest_entries,
    record_digest,
    write_folder,
)
from biodyn.output.tables.csv import read_csv
from biodyn.output.tables.parquet_tables import from_packed_version_0_2, from_parquet
from biodyn.output.tables.table_access import CoordinateVariables, LazyTables
from biodyn.processing.dynamics.actuated_motion import with_derived_arrays

if TYPE_CHECKING:
    from biodyn.output.figures.trial import ReplayView, TrialView


_AGAIN = "Run the trial again."
#: Readers of tables by file suffix; `.packed` was written by version 0.2.
TABLE_READERS: Mapping[str, Callable[[bytes], pd.DataFrame]] = {
    CSV_SUFFIX: lambda content: read_csv(io.BytesIO(content)),
    PACKED_SUFFIX: from_parquet,
    ".packed": from_packed_version_0_2,
}


class ResultFolder:
    """Reader of a result folder; the record is read immediately, tables and arrays on demand.

    Raises ResultError if the folder is not a result, was written by a newer version, or lacks a file of its manifest.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.record = read_record(self.folder)
        listed = manifest_entries(self.record)
        if listed is None:
            raise self._damage_error(RECORD_NAME, f"it has no '{FILES_ENTRY}'")
        self._listed = listed

    @property
    def table_names(self) -> tuple[str, ...]:
        """Names of the tables in the folder, in the order of its manifest."""
        paths = [Path(path) for path in self._listed]
        return tuple(p.stem for p in paths if p.parent.as_posix() == TABLES_FOLDER and p.suffix in TABLE_READERS)

    def table(self, name: str) -> pd.DataFrame:
        """Return a table by name, with its original texts."""
        if name not in self.table_names:
            raise ResultError(
                f"'{self.folder}' has no table '{name}'.", f"Its tables are {', '.join(self.table_names)}."
            )
        path = self._table_path(name)
        content = self._read_bytes(path)
        try:
            return TABLE_READERS[Path(path).suffix](content)
        except (ValueError, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
            raise self._damage_error(path, str(error)) from error

    def _table_path(self, name: str) -> str:
        paths = [f"{TABLES_FOLDER}/{name}{suffix}" for suffix in TABLE_READERS]
        return next(path for path in paths if path in self._listed)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays of result.npz, and those that packed results omit."""
        content = self._read_bytes(ARRAYS_NAME)
        most_bytes = 1_500_000_000  # three times the size of ten minutes on a treadmill
        try:
            with zipfile.ZipFile(io.BytesIO(content)) as packed:
                if sum(member.file_size for member in packed.infolist()) > most_bytes:
                    raise ValueError("its arrays are larger than those of any recording")
            with np.load(io.BytesIO(content), allow_pickle=False) as stored:
                return with_derived_arrays({name: stored[name] for name in stored.files})
        except Exception as error:  # zipfile, zlib and numpy raise different errors for damaged files
            raise self._damage_error(ARRAYS_NAME, str(error)) from error

    def model_file(self) -> bytes | None:
        """Return the .osim file of a trial with an imported model, None for other trials."""
        return self._read_bytes(MODEL_NAME) if MODEL_NAME in self._listed else None

    def require_complete(self) -> None:
        """Raise ResultError if a table or the arrays are missing."""
        wanted = [ARRAYS_NAME, *(self._table_path(name) for name in self.table_names)]
        missing = [path for path in wanted if not (self.folder / path).is_file()]
        if missing:
            more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
            raise ResultError(
                f"'{self.folder}' is not a complete biodyn result: {', '.join(missing[:3])}{more} not found.", _AGAIN
            )

    def _read_bytes(self, path: str) -> bytes:
        """Return the content of a file; ResultError if it is missing or differs from its digest."""
        place = self.folder / path
        if not place.is_file():  # rejects links to devices, which have no end
            raise ResultError(f"'{self.folder}' is not a complete biodyn result: {path} not found.", _AGAIN)
        try:
            content = place.read_bytes()
        except OSError as error:
            raise ResultError(f"'{place}' cannot be read: {error.strerror}.", "Check the permissions.") from error
        entry = self._listed.get(path, {})
        digest = entry.get("sha256")
        if digest is not None and hashlib.sha256(content).hexdigest() != digest:
            size = entry.get("bytes")
            sizes = f"{len(content)} bytes, {size} were written" if size != len(content) else "its content differs"
            raise self._damage_error(path, f"it differs from what biodyn wrote ({sizes})")
        return content

    def _damage_error(self, path: str, why: str) -> ResultError:
        first = why.splitlines()[0] if why else "it is empty"
        return ResultError(f"'{self.folder / path}' is damaged or was changed: {first.rstrip('.')}.", _AGAIN)


def read_record(folder: Path) -> dict[str, Any]:
    """Return the content of `run.json`; ResultError if it is invalid or of another version."""
    path = folder / RECORD_NAME
    if not path.is_file():
        _require_no_study(folder)
        problem = f"is not a complete biodyn result: {RECORD_NAME} not found"
        if not folder.exists():
            problem = "does not exist; the folder of a biodyn result is expected"
        elif not folder.is_dir():
            problem = "is a file; the folder of a biodyn result is expected"
        raise ResultError(f"'{folder}' {problem}.", "Create one with 'biodyn run WALK.c3d --out DIR'.")
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ResultError(f"'{path}' cannot be read: {error.strerror}.", "Check the permissions.") from error
    except (ValueError, RecursionError) as error:
        raise ResultError(f"'{path}' is damaged or was changed: {error}.", _AGAIN) from error
    version = record.get("record_version") if isinstance(record, dict) else None
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise ResultError(f"'{path}' is not a record of biodyn: it has no record_version.", _AGAIN)
    if version > RECORD_VERSION:
        program = dict(record.get("versions") or {}).get("biodyn", "a newer version")
        raise ResultError(
            f"'{folder}' was written by a newer biodyn ({program}, record version {version}; this one reads up to "
            f"{RECORD_VERSION}).",
            "Update biodyn to read it.",
        )
    if version < RECORD_VERSION:
        raise ResultError(f"'{folder}' was written by biodyn 0.1.0, which is too old to be read.", _AGAIN)
    if DIGEST_ENTRY in record and record[DIGEST_ENTRY] != record_digest(record):
        raise ResultError(f"'{path}' is damaged or was changed: it differs from what biodyn wrote.", _AGAIN)
    missing = [name for name in ("input", "settings", "subject") if not isinstance(record.get(name), dict)]
    if missing:
        raise ResultError(f"'{path}' is damaged or was changed: it has no '{missing[0]}'.", _AGAIN)
    return record


def _require_no_study(folder: Path) -> None:
    if (folder / "study.json").is_file():
        raise ResultError(
            f"'{folder}' is the result of a study, not of a trial.",
            f"Give one of its trials, '{folder}/trials/SUBJECT/TRIAL', or open it with biodyn.load(folder) in Python.",
        )


def read_view(folder: Path) -> TrialView:
    """Return record, tables and arrays of a result folder; ResultError if it is not a complete result."""
    from biodyn.output.figures.trial import TrialView

    source = ResultFolder(folder)
    source.require_complete()
    tables = {name: source.table(name) for name in source.table_names}
    record = {name: value for name, value in source.record.items() if name not in (FILES_ENTRY, *DIGESTS)}
    return TrialView(record, tables, source.arrays(), _read_replay(source.folder), model_file=source.model_file())


def _read_replay(folder: Path) -> ReplayView | None:
    """Return the output of `biodyn replay` in a result folder, None if missing."""
    from biodyn.output.figures.trial import ReplayView

    place = folder / REPLAY_FOLDER
    if not (place / REPLAY_RECORD).is_file():
        return None
    try:
        record: Mapping[str, Any] = json.loads((place / REPLAY_RECORD).read_text(encoding="utf-8"))
        return ReplayView(
            record=record,
            drift=read_csv(place / "replay_drift.csv"),
            feedback=read_csv(place / "replay_feedback.csv"),
            figures={name: (place / f"{name}.png").read_bytes() for name in REPLAY_FIGURES},
        )
    except (ValueError, OSError) as error:
        raise ResultError(f"The replay in '{place}' cannot be read: {error}.", "Run 'biodyn replay' again.") from error


class StoredResult(PlottableResult):
    """A result of a trial in its folder, written by any version.

    Every table is an attribute (`result.joint_torques`), read on first use. `table_names` lists the available tables.

    Attributes:
        folder: path of the result. record: content of `run.json`.
    """

    def __init__(self, folder: str | Path) -> None:
        self._source = ResultFolder(folder)
        self._source.require_complete()
        self.folder: Path = self._source.folder
        self.record: Mapping[str, Any] = self._source.record

    @property
    def table_names(self) -> tuple[str, ...]:
        """Names of the tables in the folder."""
        return self._source.table_names

    @cached_property
    def _lazy_tables(self) -> Mapping[str, pd.DataFrame]:
        return LazyTables(self.table_names, self._source.table)

    def _read_table(self, name: str) -> pd.DataFrame:
        """Return a table by name; ResultError if missing."""
        return self._lazy_tables[name] if name in self._lazy_tables else self._source.table(name)

    def _coordinate_variables(self) -> CoordinateVariables:
        return dict(self.record.get("model", {})).get("variables", {})

    def _table_attributes(self) -> Collection[str]:
        return self.table_names

    @cached_property
    def arrays(self) -> Mapping[str, np.ndarray]:
        """Arrays of result.npz: motion, torques, wrenches and bodies, SI."""
        return self._source.arrays()

    @cached_property
    def verdict(self) -> Verdict:
        """Pass, warn, fail or not assessed, with the checks and the causes."""
        causes = tuple(_check_from_entry(entry) for entry in self.record.get("verdict_checks") or ())
        checks = tuple(_check_from_entry(entry) for entry in self.record.get("checks") or ())
        return Verdict(self.record.get("verdict") or "not_assessed", checks, causes)

    @cached_property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Findings of the analysis."""
        return diagnostics_from_record(self.record)

    @cached_property
    def view(self) -> TrialView:
        """Record, tables, arrays and replay, from which figures and report are made."""
        return read_view(self.folder)

    def save(self, folder: str | Path, force: bool = False) -> Path:
        """Copy the result into another folder, completely or not at all, and return its path; see `TrialResult.save`."""
        target = Path(folder)
        listed = (*(manifest_entries(self.record) or ()), RECORD_NAME)
        paths = [path for path in iterate_files(self.folder) if path in listed]
        with write_folder(target, force) as place:
            copy_files(self.folder, paths, place)
        return target


def diagnostics_from_record(record: Mapping[str, Any]) -> tuple[Diagnostic, ...]:
    """Return the findings that are stored in a record."""
    names = {field.name for field in fields(Diagnostic)}
    findings = []
    for entry in record.get("diagnostics") or ():
        known = {name: value for name, value in entry.items() if name in names}
        known["frames"] = tuple(known["frames"]) if known.get("frames") else None
        known["alternatives"] = tuple(known.get("alternatives") or ())
        findings.append(Diagnostic(**known))
    return tuple(findings)


def _check_from_entry(entry: Mapping[str, Any]) -> Check:
    """Return the check that is stored in an entry of a record."""
    known: dict[str, Any] = {field.name: entry[field.name] for field in fields(Check) if field.name in entry}
    known |= {name: tuple(known[name]) for name in ("covers", "found") if name in known}
    return Check(**known)
