"""Export the result of a trial to files of other programs.

In: the result of a trial or its folder. Out: a folder with files of another program, and `export.json`, which describes the
files and holds their digests. Nothing is computed again: numbers are renamed, converted to other axes and units, and written.

The model is converted to OpenSim joint by joint (`biodyn.rigid_body.osim`), so that coordinates keep names and values. A folder
is written completely or not at all, and a folder with other files is not changed (`biodyn.output.store.result_writer`).

Read `export` (formats and target folder), then `opensim` (model, motion, loads, torques), `c3d` (the recording with the result
added; names, signs and units of other programs) and `sheets` (workbook and MATLAB file).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from biodyn.errors import ResultError
from biodyn.output.store.record import program_versions
from biodyn.output.store.result_reader import StoredResult
from biodyn.output.store.result_writer import write_export
from biodyn.trial.export.c3d import c3d_file
from biodyn.trial.export.opensim import model_files, opensim_files
from biodyn.trial.export.sheets import mat_file, xlsx_file

if TYPE_CHECKING:
    from biodyn.output.figures.trial import TrialView
    from biodyn.trial.result import ExportableResult


__all__ = ["FORMATS", "Export", "export"]


#: Contents of files by name, and sentences on missing data.
Files = tuple[dict[str, bytes], tuple[str, ...]]


def _export_opensim(view: TrialView, convention: str, _: Path | None) -> Files:
    if convention not in ("", "opensim"):
        raise ResultError(
            f"Files for OpenSim use OpenSim's conventions, not '{convention}'.",
            "Omit --convention, or export to c3d, mat or xlsx.",
        )
    return opensim_files(view) if view.model_file is None else model_files(view, view.model_file)


#: Function of each format that generates the files from a trial, the convention of names and signs ("" = the usual one), and
# the
#: path of the recording (None = the path in the record).
FORMATS: Final[dict[str, Callable[[TrialView, str, Path | None], Files]]] = {
    "opensim": _export_opensim,
    "c3d": c3d_file,
    "mat": lambda view, convention, _: mat_file(view, convention),
    "xlsx": lambda view, convention, _: xlsx_file(view, convention),
}
# Formats for a result that has only tables.


@dataclass(frozen=True)
class Export:
    """A written export: the folder, the names of its files, and sentences on missing data."""

    folder: Path
    files: tuple[str, ...]
    notes: tuple[str, ...]


def export(
    source: ExportableResult | str | Path,
    to: str,
    folder: str | Path | None = None,
    *,
    convention: str = "",
    recording: str | Path | None = None,
    force: bool = False,
) -> Export:
    """Export the result of a trial for another program; either all files are written or none.

    Parameters:
        source: the result of `run_trial` or `load`, or a result folder.
        to: a name of `FORMATS`. folder: target folder; None = `<result folder>_<to>` next to the result folder.
        convention: convention of names, signs, axes and units: isb, opensim, plug_in_gait, visual3d; "" = default of the
        format.
        recording: path of the C3D file of the walk if it was moved (`to="c3d"`).
        force: whether to replace an earlier export whose files are unchanged.

    Raises ResultError if no result is found, the format is unknown, the folder is in use, or the result lacks the data.
    """
    if to not in FORMATS:
        raise ResultError(f"'{to}' is not an export format.", f"The formats are {', '.join(FORMATS)}.")
    if recording is not None and to != "c3d":
        raise ResultError(f"An export to '{to}' does not use the recording.", "Omit --recording.")
    place = source if isinstance(source, str | Path) else source.folder
    if folder is None and place is None:
        raise ResultError("The result was not saved, so it has no default export folder.", "Give the target folder.")
    target = Path(folder) if folder is not None else _default_folder(Path(str(place)), to)
    view = StoredResult(source).view if isinstance(source, str | Path) else source.view
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


def _default_folder(result: Path, to: str) -> Path:
    result = result.absolute()
    return result.with_name(f"{result.name}_{to}")
