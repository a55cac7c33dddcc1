"""Read the files of a trial: the walk, its static trial, and the settings and tables of the user."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np

from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError, MarkerSetError, PlateError, SettingsError, StaticTrialError
from biodyn.io import format_of, read, read_facts
from biodyn.io.opensim.storage import TABLE_SUFFIXES
from biodyn.io.segment_poses import require_known_system, require_seen_segment, virtual_points
from biodyn.library.pose_systems import find_pose_system
from biodyn.library.toml_files import UserFile, read_user_toml
from biodyn.model.from_library.markersets import recognise_marker_set
from biodyn.model.from_library.user_tables import TableChoice, load_user_tables
from biodyn.processing.calibration.standing_posture import CalibrationSource
from biodyn.recording import Markers, PlateCalibration, Recording, SegmentPoses, quietest_part
from biodyn.recording.stillness import QUIET_RANGE_M
from biodyn.session import StaticSearch, find_static, other_person_warning
from biodyn.session.static_trials import DOUBTFUL_BODY_M, SAME_BODY_M, body_difference_m

#: Given instead of a static trial: none is searched, and the walk itself is used for calibration.
NO_STATIC = "none"
# Codes of reader findings that explain missing plates.
_UNUSABLE = ("plate-not-used", "forces-unusable")
#: First and last frame of standing, numbered as in the file.
FrameRange: TypeAlias = tuple[int, int]
PoseUse: TypeAlias = Literal["auto", "poses", "markers"]


@dataclass(frozen=True)
class TrialFiles:
    """The recordings of a trial as read.

    Attributes:
        walk: recording to be analysed.
        static: recording of the standing subject: a static trial, else the walk itself.
        why: reason for this choice, without a full stop.
        source: kind of the static recording. For "walk" it is determined later whether the subject stands still in it
            ("quiet part", "stored offsets").
        static_frames: frames of the static recording to use, numbered as in the file; None = its quietest half second.
    """

    walk: Recording
    static: Recording
    why: str
    source: CalibrationSource = "static trial"
    static_frames: FrameRange | None = None

    @property
    def standing_rows(self) -> FrameRange | None:
        """Return first and last of `static_frames`, counted from 0; StaticTrialError if the recording does not contain them."""
        if self.static_frames is None:
            return None
        first, last = self.static_frames
        begin = self.static.first_frame
        end = begin + self.static.markers.frame_count - 1
        if not begin <= first <= last <= end:
            raise StaticTrialError(
                f"'{self.static.path.name}' does not contain frames {first} to {last}; its frames are numbered {begin} to {end}.",
                "Give the first and last frame of standing, numbered as in the file: --static-frames A-B.",
            )
        return first - begin, last - begin


def needs_model(path: Path) -> bool:
    """Return whether a file name denotes a table of coordinates, which can only be analysed on an OpenSim model."""
    return path.suffix.lower() in TABLE_SUFFIXES


def read_files(
    walk: Path,
    static: str | Path | None,
    among: Sequence[Path] = (),
    static_frames: FrameRange | None = None,
    poses: PoseUse = "auto",
    forces: str | Path | None = None,
) -> TrialFiles:
    """Read the walk and its static trial; raises errors as `run_trial` does.

    If no static trial is given, it is searched next to the walk or `among` files of this person. If none is found, or `static`
    is "none", the walk is used instead. An analysis on segment poses (`poses`) needs no static trial. `forces`: ground forces
    in a separate file, see `io.read`.
    """
    if not _holds_poses(walk):
        return _read_marker_files(walk, static, among, static_frames, forces)
    chosen = choose_poses_or_markers(read(walk, forces), poses, static)
    if chosen.uses_poses:
        return TrialFiles(chosen, chosen, "Segment poses already define joint centres and axes", "poses")
    files = _read_marker_files(walk, static, among, static_frames, forces)
    said = tuple(note for note in chosen.diagnostics if note not in files.walk.diagnostics)
    return replace(files, walk=replace(files.walk, diagnostics=(*files.walk.diagnostics, *said)))


def _read_marker_files(
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
        quiet = None if has_quiet_part(noted.markers) else find_quiet_recording(search)
        if quiet is not None:
            return TrialFiles(noted, *quiet, "quiet part", static_frames)
        return TrialFiles(noted, search.walk, search.reason, "walk", static_frames)
    if str(static) == NO_STATIC:
        alone = read(walk) if given is None else given
        return TrialFiles(alone, alone, "The search for a static trial was disabled", "walk", static_frames)
    same = _is_same_file(walk, Path(static))
    source: CalibrationSource = "walk" if same else "static trial"
    files = TrialFiles(
        read(walk) if given is None else given, read(static), "given by the user", source, static_frames=static_frames
    )
    return files if same else with_other_person_warning(files)


def keep_points_on_body(files: TrialFiles, marker_set: str) -> TrialFiles:
    """Return the files without points that are not on the body: scalars, points of the laboratory, other people.

    Such a point has an unknown label, and is far from every known marker or has no constant distance from any. Without a known
    marker set all points are kept.
    """
    walk, static = files.walk, files.static
    if files.source == "poses" or walk.motion.markers is None or static.motion.markers is None:
        return files
    try:
        unknown = recognise_marker_set(
            tuple(dict.fromkeys(walk.markers.labels + static.markers.labels)), marker_set
        ).unknown
    except MarkerSetError:
        return files
    strays = {label for recording in (walk, static) for label in _stray_labels(recording.markers, unknown)}
    if not strays:
        return files
    shown = sorted(strays)[:8]
    note = Diagnostic(
        "computed-points",
        "info",
        f"{len(strays)} points are not on the body and are ignored: {', '.join(shown)}{' ...' if len(strays) > 8 else ''}.",
        value=float(len(strays)),
    )
    cleaned = _without_points(walk, strays)
    cleaned = replace(cleaned, diagnostics=(*cleaned.diagnostics, note))
    return replace(files, walk=cleaned, static=cleaned if static is walk else _without_points(static, strays))


def with_marker_names(
    files: TrialFiles, names: Mapping[str, str], of_statics: Mapping[Path, Mapping[str, str]]
) -> TrialFiles:
    """Return the files with labels corrected by the user; raises SettingsError for a label that the walk lacks.

    `names` are labels of the walk; `of_statics` labels of static trials, by path. A label of the walk is also corrected in the
    static trial if that has the wrong label and not the right one. Exchanged labels are corrected in the walk only,
    because they may be right in the static trial.
    """
    if files.walk.motion.markers is None or not (names or of_statics):
        return files
    walk = _rename_markers(files.walk, names)
    if files.static is files.walk or files.static.motion.markers is None:
        return replace(files, walk=walk, static=walk if files.static is files.walk else files.static)
    labels = files.static.motion.markers.labels
    shared = {old: new for old, new in names.items() if new not in labels} | dict(of_statics.get(files.static.path, {}))
    static = _rename_markers(files.static, {old: new for old, new in shared.items() if old in labels})
    return replace(files, walk=walk, static=static)


def _rename_markers(recording: Recording, names: Mapping[str, str]) -> Recording:
    markers = recording.markers
    labels = tuple(names.get(label, label) for label in markers.labels)
    problem = next((f"it has no marker '{label}'" for label in names if label not in markers.labels), "")
    twice = next((f"two markers would have the label '{label}'" for label, n in Counter(labels).items() if n > 1), "")
    if problem or twice:
        raise SettingsError(
            f"model.marker_names does not fit '{recording.path.name}': {problem or twice}.",
            f"Markers of the file: {', '.join(markers.labels)}.",
        )
    return recording.with_markers(replace(markers, labels=labels)) if names else recording


def unify_spelling(files: TrialFiles) -> TrialFiles:
    """Return the files with static trial labels spelled as in the walk; R_Asis, RAsis and R.ASIS are one marker."""
    walk, static = files.walk.motion.markers, files.static.motion.markers
    if walk is None or static is None or files.static is files.walk:
        return files
    spelled = static.with_spelling_of(walk.labels)
    return files if spelled is static else replace(files, static=files.static.with_markers(spelled))


def _stray_labels(markers: Markers, unknown: Sequence[str]) -> list[str]:
    """Return the unknown labels of points that are not rigidly close to any known marker."""
    farthest_m = 0.5  # distance from the nearest known marker
    steady_m = 0.1  # variation of the distance to the marker with the least variation
    frames = np.linspace(0, markers.frame_count - 1, min(markers.frame_count, 60)).round().astype(int)
    known = np.array([label not in unknown for label in markers.labels])
    points, strays = markers.positions[frames], []
    for k in np.flatnonzero(~known).tolist():
        distances = np.linalg.norm(points[:, known] - points[:, k, None], axis=2)
        common = np.isfinite(distances).sum(axis=0)
        distances = distances[:, common > 0.5 * common.max(initial=1)]
        if not distances.size:
            continue
        low, middle, high = np.nanpercentile(distances, (10, 50, 90), axis=0)
        if middle.min() > farthest_m or (high - low).min() > steady_m:
            strays.append(markers.labels[k])
    return strays


def _without_points(recording: Recording, labels: Collection[str]) -> Recording:
    markers = recording.markers
    kept = [k for k, label in enumerate(markers.labels) if label not in labels]
    positions = markers.positions[:, kept]
    return recording.with_markers(replace(markers, labels=tuple(markers.labels[k] for k in kept), positions=positions))


def with_other_person_warning(files: TrialFiles) -> TrialFiles:
    """Return the files of a walk with a given static trial, with a warning if it seems to be of another person."""
    doubt = other_person_warning(files.walk, files.static)
    if doubt is None:
        return files
    return replace(files, walk=replace(files.walk, diagnostics=(*files.walk.diagnostics, doubt)))


def _holds_poses(walk: Path) -> bool:
    try:
        return format_of(walk).poses and bool(read_facts(walk).segments)
    except InputFileError:  # reported when the file is read
        return False


def _is_same_file(walk: Path, static: Path) -> bool:
    try:
        return walk.samefile(static)
    except OSError:  # reported when the file is read
        return False


# -- markers or poses, if a file has both --------------------------------------------------------------------------


def choose_poses_or_markers(recording: Recording, use: PoseUse, static: str | Path | None = None) -> Recording:
    """Select poses (`Recording.uses_poses`) or markers for the analysis of a recording, with findings about the choice.

    Raises InputFileError if requested poses cannot be used, or if markers are requested but missing.
    """
    poses = recording.motion.poses
    if poses is None:
        return recording
    notes: list[Diagnostic] = []
    if recording.uses_poses:
        if use == "markers":
            raise InputFileError(
                f"'{recording.path}' contains no markers; it contains {', '.join(recording.motion.available_forms())}.",
                'Set [poses] use = "auto".',
            )
    else:
        use_poses = use == "poses" or (
            use == "auto" and not _has_known_marker_set(recording.markers) and _has_known_pose_system(poses)
        )
        notes.append(_unused_motion_note(recording.markers, poses, use_poses))
        if use_poses:
            system = require_known_system(recording.path, poses.labels)
            require_seen_segment(recording.path, poses, system)
            recording = recording.with_markers(virtual_points(poses, system))
    if recording.uses_poses and static is not None and str(static) != "none":
        text = "The given static trial is not used, because segment poses already define joint centres and axes."
        notes.append(Diagnostic("data-not-used", "info", text))
    return replace(recording, diagnostics=(*recording.diagnostics, *notes))


def _has_known_marker_set(markers: Markers) -> bool:
    try:
        recognise_marker_set(markers.labels)
    except MarkerSetError:
        return False
    return True


def _has_known_pose_system(poses: SegmentPoses) -> bool:
    return find_pose_system(poses.labels) is not None


def _unused_motion_note(markers: Markers, poses: SegmentPoses, use_poses: bool) -> Diagnostic:
    used, other = ("poses", "markers") if use_poses else ("markers", "poses")
    return Diagnostic(
        "data-not-used",
        "info",
        f"The file contains {len(markers.labels)} markers and poses of {len(poses.labels)} segments; the {used} are used.",
        hint=f'To use the {other}, set [poses] use = "{other}".',
    )


# -- quiet standing in another trial, if no static trial was recorded ------------------------------------


def has_quiet_part(markers: Markers) -> bool:
    """Return whether the markers rest for half a second in any part of a recording."""
    least_s = 0.4  # shorter rest is not standing
    part = quietest_part(markers)
    return part.movement_m <= QUIET_RANGE_M and (part.last - part.first + 1) / markers.rate_hz >= least_s


def find_quiet_recording(search: StaticSearch) -> tuple[Recording, str] | None:
    """Return the quietest recording of the same person among those examined in the search for a static trial, and the reason
    for its use, without a full stop; None if there is none."""
    most_reads = 4  # recordings that are read completely; the trials of a person are similar
    likely = [candidate for candidate in search.candidates if not candidate.strange]
    likely = sorted(likely, key=lambda candidate: -candidate.score)[:most_reads]
    candidates = []
    for file in likely:
        try:
            other = read(file.path)
        except InputFileError:
            continue
        # same marker placement as in the walk: distances within segments agree as within one session
        limit = DOUBTFUL_BODY_M if file.doubt else SAME_BODY_M
        if other.motion.markers is None or not has_quiet_part(other.markers):
            continue
        difference = body_difference_m(search.walk.markers, other.markers)
        if difference is not None and difference <= limit:
            candidates.append((quietest_part(other.markers).movement_m, difference, other))
    if not candidates:
        return None
    movement_m, difference, recording = min(candidates, key=lambda item: item[0])
    why = (
        f"no static trial was found, but the same person stands in {recording.path.name}: markers move by "
        f"{1000 * movement_m:.0f} mm in it, and their distances within segments agree to {1000 * difference:.2g} mm"
    )
    return recording, why


# -- plates, errors that end an analysis, and files of the user
# --------------------------------------------------------------------


def with_calibrated_plates(recording: Recording, calibration: PlateCalibration) -> Recording:
    """Return a recording (laboratory axes) with corrected plates and a finding; PlateError if the calibration does not fit."""
    require_plates(recording)
    note, plates = calibration.correction_finding(recording.plates), calibration.correct_plates(recording.plates)
    return replace(recording, plates=plates, diagnostics=(*recording.diagnostics, note))


def with_plate_calibration(files: TrialFiles, calibration: PlateCalibration | None) -> TrialFiles:
    """Return the files with corrected plates; plates of the static trial are corrected if the calibration fits them."""
    if calibration is None:
        return files
    walk = with_calibrated_plates(files.walk, calibration)
    if files.static is files.walk:
        return replace(files, walk=walk, static=walk)
    try:
        return replace(files, walk=walk, static=with_calibrated_plates(files.static, calibration))
    except PlateError:  # no plates, or other plates than in the walk
        return replace(files, walk=walk)


def require_plates(recording: Recording) -> None:
    """Raise PlateError, with the reason, if a recording has no usable force plate."""
    if not recording.plates:
        unusable = [note for note in recording.diagnostics if note.code in _UNUSABLE]
        if unusable:
            reasons = " ".join(note.message for note in unusable)
            raise PlateError(f"'{recording.path.name}' has no usable force plate. {reasons}", unusable[0].hint)
        text = f"'{recording.path.name}' has no force plate; joint torques require the ground reaction."
        unread = [
            note.message
            for note in recording.diagnostics
            if note.code == "columns-not-read" and note.severity == "info"  # warnings are about duplicate names
        ]
        if unread:  # unused columns may be forces with unknown names
            table = f"{recording.path.stem}.columns.toml"
            raise PlateError(
                f"{text} {unread[0]}",
                f"Declare the force columns in {table} next to it (docs/formats.md), or give a force table: --forces GRF.mot.",
            )
        c3d = recording.path.with_suffix(".c3d")
        if c3d.name != recording.path.name and c3d.is_file():
            raise PlateError(text, f"'{c3d.name}' next to it may contain the force plates; analyse that file instead.")
        raise PlateError(
            text,
            "Export the trial as C3D with its force plates (FORCE_PLATFORM parameters and analog channels), or give "
            "the table of its ground forces: --forces GRF.mot.",
        )


def user_files_of_settings(settings: object, tables: TableChoice) -> tuple[UserFile, ...]:
    """Return the checked files of the user for an analysis: the settings file, and every table given by its path."""
    files = load_user_tables(tables)
    if isinstance(settings, (str, Path)):
        return (read_user_toml(settings, "settings file", SettingsError), *files)
    return files
