"""The files of a trial: the walk, the static trial that belongs to it, and the user's own settings and tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from biodyn.errors import InputFileError, PlateError, SettingsError, StaticTrialError
from biodyn.io import format_of, read, read_facts, read_many
from biodyn.io.opensim.storage import TABLE_SUFFIXES
from biodyn.library.load import UserFile, read_user_toml
from biodyn.model.from_library.user_tables import user_tables
from biodyn.processing.calibration.standing import CalibrationSource
from biodyn.recording import Recording
from biodyn.session import another_person, find_static
from biodyn.settings import Settings
from biodyn.trial.on_poses import PoseUse, with_choice
from biodyn.trial.quiet_parts import is_quiet_somewhere, quiet_part_elsewhere

#: Given instead of a static trial: none is looked for, the walk itself has to tell.
NO_STATIC = "none"
# Findings of the reading that say why there is no plate.
_UNUSABLE = ("plate-size", "plate-unreadable", "forces-unusable", "forces-unclear")
#: First and last frame of standing, counted as the file counts its frames.
FrameRange: TypeAlias = tuple[int, int]


@dataclass(frozen=True)
class TrialFiles:
    """The files of a trial, as they were read.

    Attributes:
        walk: recording to be analysed.
        static: recording in which the same subject stands: a static trial, or the walk itself where there is none.
        why: why this one was taken, without a full stop.
        source: what the static recording is. "walk": whether somebody stands still in it, or what else it tells, is found out
            later ("quiet part", "stored offsets").
        static_frames: frames of the static recording to take, by the file's own numbers; None = its quietest half second.
    """

    walk: Recording
    static: Recording
    why: str
    source: CalibrationSource = "static trial"
    static_frames: FrameRange | None = None

    @property
    def standing_rows(self) -> FrameRange | None:
        """The first and last of `static_frames` counted from 0; StaticTrialError where the recording does not hold them."""
        if self.static_frames is None:
            return None
        first, last = self.static_frames
        begin, step = self.static.first_frame, self.static.frame_step
        end = begin + step * (self.static.markers.frame_count - 1)
        if not begin <= first <= last <= end:
            raise StaticTrialError(
                f"'{self.static.path.name}' holds no frames {first} to {last}: it counts them from {begin} to {end}.",
                "Give the first and the last frame of standing as the file counts them: --static-frames A-B.",
            )
        return (first - begin) // step, (last - begin) // step


def needs_model(path: Path) -> bool:
    """Whether a file can only be analysed on an OpenSim model, by its name: a table of coordinates."""
    return path.suffix.lower() in TABLE_SUFFIXES


def read_files(
    walk: Path,
    static: str | Path | None,
    among: Sequence[Path] = (),
    static_frames: FrameRange | None = None,
    poses: PoseUse = "auto",
    forces: str | Path | None = None,
) -> TrialFiles:
    """Return the walk, the static trial, and why that one was taken; errors as for `run_trial`.

    Poses of segments need no static trial: where the walk is analysed on them (`poses`), none is looked for. Without a static
    trial it is looked for beside the walk, or `among` files known to be this person's. Where none is found, or
    `static` is "none", the walk stands for it. `forces`: the walk's, in a file of their own, see `io.read`.
    """
    if not _holds_poses(walk):
        return _on_markers(walk, static, among, static_frames, forces)
    chosen = with_choice(_readable(read_many([walk])[0]) if forces is None else read(walk, forces), poses, static)
    if chosen.on_poses:
        return TrialFiles(chosen, chosen, "Poses of segments tell joint centres and axes themselves", "poses")
    files = _on_markers(walk, static, among, static_frames, forces)
    said = tuple(note for note in chosen.diagnostics if note not in files.walk.diagnostics)
    return replace(files, walk=replace(files.walk, diagnostics=(*files.walk.diagnostics, *said)))


def _on_markers(
    walk: Path,
    static: str | Path | None,
    among: Sequence[Path],
    static_frames: FrameRange | None,
    forces: str | Path | None,
) -> TrialFiles:
    given = None if forces is None else read(walk, forces)
    if static is None:
        search = find_static(walk if given is None else given, among=among)
        noted = replace(search.walk, diagnostics=(*search.walk.diagnostics, *search.diagnostics))
        if search.recording is not None:
            return TrialFiles(noted, search.recording, search.why, static_frames=static_frames)
        quiet = None if is_quiet_somewhere(noted.markers) else quiet_part_elsewhere(search)
        if quiet is not None:
            return TrialFiles(noted, quiet.recording, quiet.why, "quiet part", static_frames)
        return TrialFiles(noted, search.walk, search.reason, "walk", static_frames)
    if str(static) == NO_STATIC:
        alone = read(walk) if given is None else given
        return TrialFiles(alone, alone, "No static trial was to be looked for", "walk", static_frames)
    walk_read, static_read = read_many([walk, static]) if given is None else (given, *read_many([static]))
    same = _same_file(walk, Path(static))
    source: CalibrationSource = "walk" if same else "static trial"
    files = TrialFiles(
        _readable(walk_read), _readable(static_read), "named by the user", source, static_frames=static_frames
    )
    return files if same else with_doubt(files)


def with_doubt(files: TrialFiles) -> TrialFiles:
    """Return the files of a walk whose static trial was named, with a warning where that looks like another person's."""
    doubt = another_person(files.walk, files.static)
    if doubt is None:
        return files
    return replace(files, walk=replace(files.walk, diagnostics=(*files.walk.diagnostics, doubt)))


def _holds_poses(walk: Path) -> bool:
    try:
        return format_of(walk).poses and bool(read_facts(walk).segments)
    except InputFileError:  # told where it is read
        return False


def _same_file(walk: Path, static: Path) -> bool:
    try:
        return walk.samefile(static)
    except OSError:  # told where it is read
        return False


def _readable(result: Recording | InputFileError) -> Recording:
    if isinstance(result, InputFileError):
        raise result
    return result


def require_plates(recording: Recording) -> None:
    """Raise PlateError where there is no usable force plate, and say why."""
    if not recording.plates:
        unusable = [note for note in recording.diagnostics if note.code in _UNUSABLE]
        if unusable:
            found = " ".join(note.message for note in unusable)
            raise PlateError(f"'{recording.path.name}' holds no usable force plate. {found}", unusable[0].hint)
        text = f"'{recording.path.name}' holds no force plate: joint torques need the ground reaction."
        unread = [note.message for note in recording.diagnostics if note.code == "columns-not-read"]
        if unread:  # forces under names that nobody knows may be among them
            table = f"{recording.path.stem}.columns.toml"
            raise PlateError(
                f"{text} {unread[0]}",
                f"Say in {table} beside it which of them are forces (docs/formats.md), or name their table: --forces GRF.mot.",
            )
        c3d = recording.path.with_suffix(".c3d")
        if c3d.name != recording.path.name and c3d.is_file():
            raise PlateError(text, f"'{c3d.name}' lies beside it and may hold them: run that.")
        raise PlateError(
            text,
            "Export the trial as C3D with its force plates (FORCE_PLATFORM parameters and analog channels); or name the table "
            "of its ground forces: --forces GRF.mot.",
        )


def own_files_of(settings: object, options: Settings) -> tuple[UserFile, ...]:
    """Return the user's own files behind an analysis, checked: the settings file, and every table that is named by path."""
    files = user_tables(options.tables)
    if isinstance(settings, (str, Path)):
        return (read_user_toml(settings, "settings file", SettingsError), *files)
    return files
