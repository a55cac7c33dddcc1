"""Write the result of a trial, and keep the list of what was written in `run.json`."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np

from biodyn.errors import ResultError
from biodyn.output.store.leftovers import MARK
from biodyn.output.store.names import (
    ARRAYS_NAME,
    FIGURES_FOLDER,
    FILES_ENTRY,
    MODEL_NAME,
    RECORD_NAME,
    REPORT_NAME,
    TABLES_FOLDER,
    table_path,
)
from biodyn.output.store.owned import (
    foreign_files,
    listed_files,
    named,
    raw_record,
    trial_files,
    walk_files,
)
from biodyn.output.store.replacing import updating
from biodyn.output.store.user_files import write_user_files
from biodyn.output.tables.csv import write_csv

if TYPE_CHECKING:
    from biodyn.output.report.view import TrialView

Progress = Callable[[str], None]


def write_view(view: TrialView, folder: Path) -> None:
    """Write run.json, the tables, the arrays and copies of the user's own files into a folder; `seal` it when all is there."""
    (folder / TABLES_FOLDER).mkdir()
    for name, table in view.tables.items():
        write_csv(table, folder / table_path(name))
    (folder / RECORD_NAME).write_text(json.dumps(view.record, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    np.savez(folder / ARRAYS_NAME, allow_pickle=False, **view.arrays)
    write_user_files(view.user_files, folder)
    if view.model_file is not None:
        (folder / MODEL_NAME).write_bytes(view.model_file)


def write_report(
    view: TrialView, folder: Path, *, figures: bool, report: bool, dpi: int, progress: Progress | None = None
) -> None:
    """Write the figures and the report into an existing folder."""
    if figures:
        if progress is not None:
            progress("drawing figures")
        (folder / FIGURES_FOLDER).mkdir(exist_ok=True)
        for name, png in view.figures_png(dpi).items():
            (folder / FIGURES_FOLDER / f"{name}.png").write_bytes(png)
    if report:
        if progress is not None:
            progress("writing the report")
        from biodyn.output.report.trial_page import trial_report

        (folder / REPORT_NAME).write_text(trial_report(view, view.figures_svg()), encoding="utf-8")


def seal(folder: Path) -> None:
    """List every file of a folder in its record: call it when all is written, before the folder gets its name.

    Whatever else was written there, copies of a user's own tables say, is listed too.
    """
    _write_list(folder, [_entry(folder, path) for path in walk_files(folder) if path not in (RECORD_NAME, MARK)])


@contextmanager
def adding(folder: Path, paths: Iterable[str]) -> Iterator[Path]:
    """Yield a temporary folder to write files of these names into; they take their places in a finished result at the end.

    On an error the result stays as it was. The files are in its list from before they are there; a record of an older
    version gets a list of what that version wrote. Raises ResultError where one of the names is taken by what biodyn did
    not write.
    """
    paths = tuple(dict.fromkeys(paths))
    foreign = set(foreign_files(folder, trial_files(folder)))
    above = {str(parent) for path in paths for parent in PurePosixPath(path).parents}
    taken = sorted(foreign & {*paths, *above})
    if taken:
        raise ResultError(
            f"'{folder}' holds what biodyn did not write ({named(taken)}): it will not be replaced.",
            "Move that away, and try again.",
        )
    listed = listed_files(raw_record(folder) or {})
    if listed is None:
        owns = trial_files(folder)
        listed = {path: {"path": path} for path in walk_files(folder) if owns(path) and path != RECORD_NAME}
    others = [entry for path, entry in listed.items() if path not in paths]
    with updating(folder) as place:
        yield place
        written = [path for path in paths if (place / path).is_file()]
        _write_list(folder, [*others, *({"path": path} for path in written)])
    _write_list(folder, [*others, *(_entry(folder, path) for path in written)])


def _write_list(folder: Path, entries: Sequence[Mapping[str, Any]]) -> None:
    record = raw_record(folder)
    if record is None:
        raise ResultError(f"'{folder}' has no record of biodyn's ('{RECORD_NAME}').", "Run the trial again.")
    content = {**record, FILES_ENTRY: sorted(entries, key=lambda entry: str(entry["path"]))}
    temporary = folder / f".{RECORD_NAME}.part"
    try:
        temporary.write_text(json.dumps(content, indent=2, allow_nan=False) + "\n", encoding="utf-8")
        os.replace(temporary, folder / RECORD_NAME)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def _entry(folder: Path, path: str) -> dict[str, Any]:
    data = (folder / path).read_bytes()
    return {"path": path, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
