"""Estimate values shared by the walks of a session: the model of the subject, and errors of inertias and plates.

A file of the session is used if person, day, marker placement and static trial are those of the walk. Every other file is
reported with the reason, and does not stop the analysis.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import BiodynError, InputFileError
from biodyn.estimation.shared_parameters import InformationForm
from biodyn.io import cached_sha256, format_of, read, read_facts
from biodyn.model.body_model import PLACED_WHILE_STANDING, SubjectModel
from biodyn.model.from_library.recognition.label_correction import correct_labels
from biodyn.model.from_library.scaling import SubjectScaling
from biodyn.processing.calibration.subject_fit.fit_result import SubjectFit
from biodyn.processing.calibration.subject_fit.subject_model_fit import fit_subject
from biodyn.processing.calibration.subject_fit.unknowns import CalibrationTrial, CalibrationUse
from biodyn.processing.signals.emg import muscle_activity
from biodyn.processing.signals.world_frame import correct_static_vertical, facing_direction_from_static, find_world
from biodyn.recording import FileFacts, Markers, Recording
from biodyn.session import (
    Companion,
    SessionFiles,
    choose_static,
    find_session_files,
    is_contraction,
    preview_of_file,
    static_candidates,
)
from biodyn.session.static_trials import compare_offsets
from biodyn.settings import with_subject_record, without_corrections
from biodyn.trial.request import TrialRequest
from biodyn.trial.stages import PreparedTrial, ScaledTrial, next_stage
from biodyn.trial.trial_files import TrialFiles

_MOST_FILES = 24  # number of files in addition to the walk; more files add little information
# Median difference of the marker distances within segments: 1.9-2.9 mm between walks of one session, 3.9 where a walk turns.
_SAME_PLACES_M = 0.005
_LEAST_LABELS = 0.8  # share of the markers of the walk
# Two markers and the joint to its neighbour determine the pose of a segment.
_ENOUGH_MARKERS = 2
_SAME_PLATES_M = 1e-3  # rounding of plate corners in files, m

# -- files of the session -----------------------------------------------------------------------------------------------


def session_files(walk: Path, companions: Sequence[Path] | None) -> SessionFiles | None:
    """Return the files of the session of a walk, found or among the given companions; None if none exist."""
    if companions is not None and not companions:
        return None
    try:
        return find_session_files(walk, among=companions or ())
    except (BiodynError, OSError):  # removed after it was read
        return None


def session_trials(
    session: SessionFiles, files: TrialFiles, walk_markers: Markers, prepared: Callable[[Recording], Markers]
) -> tuple[tuple[CalibrationTrial, ...], tuple[Diagnostic, ...]]:
    """Return the walk and all usable files of its session, in the same order for every walk, and notes on other files.

    walk_markers: markers of the walk. prepared: returns the markers of another recording in World, with corrected labels.
    """
    walk = files.walk
    notes: list[Diagnostic] = []
    trials = {walk.sha256: CalibrationTrial(walk_markers, walk.path.name, walk.sha256)}
    shapes = {_movement_key(walk)}
    judge = _CompanionCheck(session, files)
    for companion in usable_files(session):
        why = companion.why if companion.use == "unreadable" else judge.reason_to_exclude(companion)
        if not why:
            why = _add_file(companion, prepared, trials, shapes)
        if why:
            notes.append(unused_file_note(companion.path.name, "for the subject's model", why, _SAME_SESSION))
    return tuple(trials[key] for key in sorted(trials)), tuple(notes)


def usable_files(session: SessionFiles) -> tuple[Companion, ...]:
    """Return the walks and functional trials of the session, including unreadable files."""
    return tuple(c for c in session.companions if c.use in ("walk", "functional", "unreadable"))[:_MOST_FILES]


def contraction_peaks(trial: TrialRequest) -> Mapping[str, tuple[float, str]]:
    """Return the largest envelope (mV) of each EMG channel in the maximal contractions of the session, and its file, by label."""
    near = static_candidates(trial.path) if trial.companions is None else trial.companions
    session = session_files(trial.path, [path for path in near if is_contraction(path)])
    peaks: dict[str, tuple[float, str]] = {}
    for companion in () if session is None else session.companions_with_use("other"):
        with suppress(BiodynError, OSError):  # damaged
            read_analog = format_of(companion.path).analog
            for signal in () if read_analog is None else muscle_activity(read_analog(companion.path)):
                peak = (float(signal.envelope.max()), companion.path.name)
                peaks[signal.label] = max(peaks.get(signal.label, peak), peak)
    return peaks


def walks_of_session(session: SessionFiles, files: TrialFiles) -> list[Companion]:
    """Return the other walks of the session with the same marker placement, without duplicates."""
    judge, shapes, walks = _CompanionCheck(session, files), {_movement_key(files.walk)}, []
    for companion in usable_files(session):
        if companion.use != "walk" or judge.reason_to_exclude(companion):
            continue
        try:
            shape = _movement_key(read(companion.path))
        except (BiodynError, OSError):  # reported in the fit of the model
            continue
        if shape not in shapes:
            shapes.add(shape)
            walks.append(companion)
    return walks


class _CompanionCheck:
    """Checks by headers and previews whether a file of a session can be used for its walk."""

    def __init__(self, session: SessionFiles, files: TrialFiles) -> None:
        self.walk = read_facts(session.walk.path)
        self.statics = [c.path for c in session.static_trials]
        self.static: Path | None = None
        if files.source == "static trial" and len(self.statics) > 1:
            # static trials are assigned to other files only if that of the walk is identified
            chosen = self._static_of_file(self.walk)
            if chosen is not None and chosen.resolve() == files.static.path.resolve():
                self.static = chosen

    def reason_to_exclude(self, companion: Companion) -> str:
        """Return the reason why a companion cannot be used; "" if it can."""
        try:
            facts = read_facts(companion.path)
            shared = len(self.walk.labels & facts.labels)
            if shared < _LEAST_LABELS * len(self.walk.labels):
                return f"it has only {shared} of the {len(self.walk.labels)} point labels of the walk"
            if companion.body_m is None:
                return "too few of its markers move rigidly to compare the marker placement"
            if companion.body_m > _SAME_PLACES_M:
                apart = f"{1000.0 * companion.body_m:.1f} mm"
                return f"its marker placement differs: distances within segments differ by {apart} from the walk"
            if compare_offsets(self.walk.joint_offsets_rad, facts.joint_offsets_rad) == "different":
                return "its stored joint offsets differ, so it belongs to another static trial"
            if self.static is not None:
                own_static = self._static_of_file(facts)
                if own_static is not None and own_static != self.static:
                    return f"its static trial is {own_static.name}"
        except (BiodynError, OSError) as error:
            return str(getattr(error, "message", error))
        return ""

    def _static_of_file(self, facts: FileFacts) -> Path | None:
        return choose_static(facts, preview_of_file(facts.path).markers, self.statics, same_person=True).path


def _add_file(
    companion: Companion,
    prepared: Callable[[Recording], Markers],
    trials: dict[str, CalibrationTrial],
    movements: set[str],
) -> str:
    """Read a file and add it to `trials`; return the reason if it cannot be added, else ""."""
    try:
        recording = read(companion.path)
        movement = _movement_key(recording)
        if movement in movements:
            return "it contains the same movement as another file"
        use: CalibrationUse = "functional" if companion.use == "functional" else "walk"
        seen = CalibrationTrial(prepared(recording), recording.path.name, recording.sha256, use)
    except Exception as error:
        return exclusion_reason(error)
    movements.add(movement)
    trials[recording.sha256] = seen
    return ""


def exclusion_reason(error: Exception) -> str:
    """Return the reason why an error, also an unexpected one, excludes another file of the session; the walk is analysed."""
    if isinstance(error, (BiodynError, OSError)):
        return str(getattr(error, "message", error))
    return f"it cannot be interpreted ({type(error).__name__}: {error})"


def _movement_key(recording: Recording) -> str:
    """Return a key of the marker positions, equal for files with the same positions and different computed data."""
    positions = recording.markers.positions
    known = np.sort(np.round(1e4 * positions[np.isfinite(positions)]))
    return hashlib.sha256(known.tobytes()).hexdigest()


_SAME_SESSION: Final = "To use it, person, day, marker set and marker placement must be those of the walk."


def unused_file_note(name: str, purpose: str, why: str, hint: str) -> Diagnostic:
    """Return the finding on a file of the session that is not used for a purpose."""
    return Diagnostic(
        "data-not-used", "info", f"{name} is not used {purpose}: {why.rstrip('.')}.", hint=hint, about=name
    )


def content_hash(path: Path) -> str:
    """Return the hash of a file, cached while size and modification time are unchanged; "" if it cannot be read."""
    try:
        return cached_sha256(path, path.stat())
    except (InputFileError, OSError):
        return ""


# -- the subject's model ------------------------------------------------------------------------------------------------


_SubjectModelFit: TypeAlias = tuple[SubjectFit | None, tuple[Diagnostic, ...]]


def fit_subject_model(trial: ScaledTrial) -> _SubjectModelFit:
    """Fit the model to the walk, or to its session if `[model] fit` is "session"; return the fit and findings on session files.

    The fit is None without enough data.
    """
    soft = frozenset(role.label for role in trial.mapping.roles if role.soft)
    # Shifted centres do not change the estimated height and widths.
    scaling = replace(trial.scaling, options=replace(trial.scaling.options, height_m=trial.model.height_m))
    session = session_files(trial.path, trial.companions) if trial.settings.model.fit == "session" else None
    if session is None or not usable_files(session):
        return fit_subject([_trial_of_walk(trial)], without_guessed_markers(trial.model), scaling, soft), ()
    key = _key_of_model(trial, scaling, session)
    return trial.memory.get_or_compute(key, lambda: _fit_session_model(trial, scaling, soft, session))


def _trial_of_walk(trial: ScaledTrial) -> CalibrationTrial:
    return CalibrationTrial(trial.signals.markers, trial.files.walk.path.name, trial.files.walk.sha256)


def _fit_session_model(
    trial: ScaledTrial, scaling: SubjectScaling, soft: frozenset[str], session: SessionFiles
) -> _SubjectModelFit:
    static, geometry = trial.files.static, trial.settings.model.geometry
    world = find_world(correct_static_vertical(static, trial.files.walk))

    def prepare_markers(recording: Recording) -> Markers:
        R_WL = find_world(recording, facing_direction_from_static(recording, static, world)).R_WL
        markers = recording.rotated(R_WL).markers
        if not geometry or trial.files.source != "static trial":
            return markers
        return correct_labels(markers, trial.static.markers, trial.standing.points, trial.mapping).walk

    trials, notes = session_trials(session, trial.files, trial.walk.markers, prepare_markers)
    if len(trials) == 1:
        trials = (_trial_of_walk(trial),)
    return fit_subject(trials, without_guessed_markers(trial.model), scaling, soft), notes


def without_guessed_markers(model: SubjectModel) -> SubjectModel:
    """Return the model without markers that are assigned by their standing position to a segment with other markers.

    A computed point or a point of the laboratory may be next to a foot and must not shift an ankle. Such points are later
    assigned by their movement (`kinematics.skeleton_tracking`).
    """
    sure = Counter(marker.body for marker in model.markers if marker.source != PLACED_WHILE_STANDING)
    reliable = tuple(m for m in model.markers if m.source != PLACED_WHILE_STANDING or sure[m.body] < _ENOUGH_MARKERS)
    return model if len(reliable) == len(model.markers) else replace(model, markers=reliable)


def _key_of_model(trial: ScaledTrial, scaling: SubjectScaling, session: SessionFiles) -> str:
    """Return the cache key of a session fit: a hash of all its inputs, including the contents of its files."""
    files = sorted((c.use, content_hash(c.path)) for c in (*usable_files(session), *session.static_trials))
    walk = ("walk", trial.files.walk.sha256)
    made_of = (
        sorted({*files, walk}),
        [path.name for path in sorted(c.path for c in usable_files(session) if c.use == "unreadable")],
        trial.files.static.sha256,
        trial.files.source,
        trial.settings.model.model_dump_json(),
        scaling.skeleton,
        scaling.mapping.roles,
        sorted(scaling.tracked),
        scaling.options,
        [(label, np.asarray(point).tobytes().hex()) for label, point in sorted(scaling.points.items())],
    )
    return hashlib.sha256(repr(made_of).encode()).hexdigest()


# -- information of the other walks on inertias and plates -----------------------------------------------------------


@dataclass(frozen=True)
class WalkInformation:
    """Information that a walk provides about inertias and plate errors.

    information: information matrix and vector, or the reason why they are missing. numbers: plate numbers. corners_L: (P, 4,
        3) m, corners of its plates in laboratory axes. up_L: (3,) vertical in these axes.
    """

    information: InformationForm | str
    corners_L: FloatArray | None = None
    numbers: tuple[int, ...] = ()
    up_L: FloatArray | None = None


def requests_of_other_walks(trial: ScaledTrial) -> Iterator[tuple[TrialRequest, str]]:
    """Yield the analysis request of every other walk of the session, with a cache key computed from all its inputs."""
    session = session_files(trial.path, trial.companions)
    if session is None:
        return
    among = sorted(content_hash(companion.path) for companion in session.companions)
    for companion in sorted(walks_of_session(session, trial.files), key=lambda walk: content_hash(walk.path)):
        other = next_stage(
            trial,
            TrialRequest,
            path=companion.path,
            static_path=trial.files.static.path if trial.files.source == "static trial" else None,
            settings=with_subject_record(without_corrections(trial.settings), {}, {"mass_kg": trial.mass_kg}),
            companions=_companions_of_companion(companion, trial),
            forces=None,
            files=None,
            notes=(),
        )
        made_of = (
            content_hash(companion.path),
            sorted({*among, trial.files.walk.sha256}),
            trial.files.static.sha256,
            trial.files.source,
            trial.static_frames,
            trial.mass_kg,
            trial.settings.model_dump_json(),
            [file.sha256 for file in trial.user_files],
            [] if trial.plate_calibration is None else [plate.as_dict() for plate in trial.plate_calibration.plates],
        )
        yield other, hashlib.sha256(repr(made_of).encode()).hexdigest()


def _companions_of_companion(companion: Companion, trial: TrialRequest) -> tuple[Path, ...] | None:
    """Return the companions of another walk of the session, so that all walks have one model; None = search in its folder."""
    if trial.companions is None:
        return None
    return tuple(path for path in (trial.path, *trial.companions) if path.resolve() != companion.path.resolve())


def are_same_plates(first: FloatArray, other: FloatArray) -> bool:
    """Return whether two walks have the same plates, by the corners (P, 4, 3) m of the plates."""
    return first.shape == other.shape and bool(np.abs(first - other).max(initial=0.0) < _SAME_PLATES_M)


def plate_corners_L(trial: PreparedTrial) -> FloatArray:
    """Return the corners (P, 4, 3) m of the plates in axes of the laboratory."""
    corners = [plate.corners for plate in trial.signals.raw_plates]
    return np.array(corners).reshape(-1, 4, 3) @ trial.world.R_WL
