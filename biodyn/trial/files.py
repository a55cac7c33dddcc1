"""The files of a trial: the walk, the static trial that belongs to it, and the user's own settings and tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from biodyn.errors import InputFileError, PlateError, SettingsError, StaticTrialError
from biodyn.io import read_many
from biodyn.library.load import UserFile, read_user_toml
from biodyn.model.from_library.user_tables import user_tables
from biodyn.recording import Recording
from biodyn.session import find_static
from biodyn.settings import Settings


@dataclass(frozen=True)
class TrialFiles:
    """The files of a trial, as they were read.

    Attributes:
        walk: recording to be analysed. static: the static trial of the same subject.
        why: why this static trial was taken, without a full stop.
    """

    walk: Recording
    static: Recording
    why: str


def read_files(walk: Path, static: str | Path | None, among: Sequence[Path] = ()) -> TrialFiles:
    """Return the walk, the static trial, and why that one was taken; errors as for `run_trial`.

    Without a static trial it is looked for beside the walk, or `among` files known to be this person's.
    """
    if static is not None:
        walk_read, static_read = read_many([walk, static])
        return TrialFiles(_readable(walk_read), _readable(static_read), "named by the user")
    search = find_static(walk, among=among)
    if search.recording is None:
        require_plates(search.walk)  # what no static trial can mend is said first
        raise StaticTrialError(search.reason, "Name it with --static STATIC.c3d.")
    noted = replace(search.walk, diagnostics=(*search.walk.diagnostics, *search.diagnostics))
    return TrialFiles(noted, search.recording, search.why)


def _readable(result: Recording | InputFileError) -> Recording:
    if isinstance(result, InputFileError):
        raise result
    return result


def require_plates(recording: Recording) -> None:
    """Raise PlateError where there is no usable force plate, and say why."""
    if not recording.plates:
        unusable = [note for note in recording.diagnostics if note.code in ("plate-size", "plate-unreadable")]
        if unusable:
            found = " ".join(note.message for note in unusable)
            raise PlateError(f"'{recording.path.name}' holds no usable force plate. {found}", unusable[0].hint)
        raise PlateError(
            f"'{recording.path.name}' holds no force plate: joint torques need the ground reaction.",
            "Export the trial as C3D with its force plates (FORCE_PLATFORM parameters and analog channels).",
        )


def own_files_of(settings: object, options: Settings) -> tuple[UserFile, ...]:
    """Return the user's own files behind an analysis, checked: the settings file, and every table that is named by path."""
    files = user_tables(options.tables)
    if isinstance(settings, (str, Path)):
        return (read_user_toml(settings, "settings file", SettingsError), *files)
    return files
