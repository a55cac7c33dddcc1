"""A trial's result in the files of other programs.

In: the result of a trial as a value, or its folder. Out: a folder of its own with the files of another program, and
`export.json`, which says what they are and keeps their digests. Nothing is computed again: numbers are renamed, turned into
other axes and units, and written.

The model becomes OpenSim's joint by joint (`biodyn.rigid_body.osim`), so that its coordinates keep names and values. A
folder appears whole or not at all, and one that holds anything else is left alone (`biodyn.output.store.write`).

Read `export` (what can be asked for, and where it goes), then `opensim` (model, motion, loads, torques), `c3d` (the walk's own
file with the result in it; names, signs and units of other programs) and `sheets` (workbook and MATLAB file).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from biodyn.errors import ResultError
from biodyn.output.store.folder import ARRAYS_NAME, listed_files, model_record
from biodyn.output.store.read import StoredResult, coordinates_view
from biodyn.output.store.record import program_versions
from biodyn.output.store.write import write_export
from biodyn.trial.export.c3d import c3d_file
from biodyn.trial.export.opensim import model_files, opensim_files
from biodyn.trial.export.sheets import mat_file, xlsx_file

if TYPE_CHECKING:
    from biodyn.output.figures.trial import TrialView
    from biodyn.trial.result import TrialResult


__all__ = ["FORMATS", "Export", "export"]


#: Files by name, and sentences on what they lack.
Files = tuple[dict[str, bytes], tuple[str, ...]]


def _opensim(view: TrialView, convention: str, _: Path | None) -> Files:
    if convention not in ("", "opensim"):
        raise ResultError(
            f"Files for OpenSim have OpenSim's conventions, not '{convention}'.",
            "Leave --convention out, or export to c3d, mat or xlsx.",
        )
    return opensim_files(view) if view.model_file is None else model_files(view, view.model_file)


#: What makes the files of each format from a trial, the convention of names and signs ("" = the usual one), and the path of the
#: walk's own file where it is not where the record says.
FORMATS: Final[dict[str, Callable[[TrialView, str, Path | None], Files]]] = {
    "opensim": _opensim,
    "c3d": c3d_file,
    "mat": lambda view, convention, _: mat_file(view, convention),
    "xlsx": lambda view, convention, _: xlsx_file(view, convention),
}
# Formats for a result that has tables alone.
_OF_TABLES: Final = ("mat", "xlsx")


@dataclass(frozen=True)
class Export:
    """What was written: the folder, the names of its files, and sentences on what they lack."""

    folder: Path
    files: tuple[str, ...]
    notes: tuple[str, ...]


def export(
    source: TrialResult | StoredResult | str | Path,
    to: str,
    folder: str | Path | None = None,
    *,
    convention: str = "",
    recording: str | Path | None = None,
    force: bool = False,
) -> Export:
    """Write a trial's result for another program, all or nothing.

    Parameters:
        source: the result of `run_trial` or `load`, or a result folder.
        to: a name of `FORMATS`. folder: where to; None = next to the result folder, `<result folder>_<to>`.
        convention: of names, signs, frames, units: isb, opensim, plug_in_gait, visual3d; "" = the format's usual one.
        recording: the walk's C3D where it has moved (`to="c3d"`).
        force: replace an earlier export in which nothing was changed.

    Raises ResultError in one sentence: no result, an unknown format, a folder that is taken, what the result does not hold.
    """
    if to not in FORMATS:
        raise ResultError(f"An export to '{to}' does not exist.", f"There are {', '.join(FORMATS)}.")
    if recording is not None and to != "c3d":
        raise ResultError(f"An export to '{to}' takes nothing from the walk's own file.", "Leave --recording out.")
    place = source.folder if isinstance(source, StoredResult) else source if isinstance(source, str | Path) else None
    if folder is None and place is None:
        raise ResultError("A result that was not saved has no folder of its own.", "Say where to export it.")
    target = Path(folder) if folder is not None else _beside(Path(str(place)), to)
    view = _view(source, to, convention)
    files, notes = FORMATS[to](view, convention, None if recording is None else Path(recording))
    made = view.record.get("input", {})
    record = {
        "export": to,
        "convention": convention,
        "versions": program_versions(),
        "of": {name: made.get(name) for name in ("file", "sha256")},
        "notes": list(notes),
    }
    write_export(target, files, record, force)
    return Export(target, tuple(sorted(files)), notes)


def _beside(result: Path, to: str) -> Path:
    result = result.absolute()
    return result.with_name(f"{result.name}_{to}")


def _view(source: TrialResult | StoredResult | str | Path, to: str, convention: str) -> TrialView:
    """Record, tables and arrays; of a result of an OpenSim model the tables alone, which few formats can do with."""
    if not isinstance(source, str | Path):
        return source.view
    record = model_record(Path(source))
    if record is None or ARRAYS_NAME in (listed_files(record) or {}):
        return StoredResult(source).view
    if to not in _OF_TABLES or convention:
        raise ResultError(
            f"'{source}' holds joint torques of an OpenSim model: its model, motion and loads are the files they came from.",
            f"Export it to {' or '.join(_OF_TABLES)}, without --convention.",
        )
    return coordinates_view(Path(source), record)
