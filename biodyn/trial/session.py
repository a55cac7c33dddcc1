"""What the walks of one person and day share: the subject's model, and the errors of its inertias and of the plates.

A file of the session is used where it is of the walk's person and day, its markers are the walk's in the same places, and the
static trial of the walk is its own. Every other file is named, with the reason; nothing about it stops the analysis.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import BiodynError, InputFileError
from biodyn.estimation.shared_parameters import InformationForm
from biodyn.io import read, read_facts, remembered_sha256
from biodyn.model.body_model import PLACED_WHILE_STANDING, SubjectModel
from biodyn.model.from_library.recognition.label_correction import correct_labels
from biodyn.model.from_library.scaling import SubjectScaling
from biodyn.processing.calibration.subject_fit.fit import SubjectFitResult, fit_subject
from biodyn.processing.calibration.subject_fit.unknowns import CalibrationTrial, CalibrationUse
from biodyn.processing.signals.orientation import facing_from_static, find_world, with_corrected_vertical
from biodyn.recording import FileFacts, Markers, Recording
from biodyn.session import Companion, SessionFiles, choose_static, preview_of_file, session_of
from biodyn.session.statics import compare_offsets
from biodyn.settings import with_subject, without_corrections
from biodyn.trial.files import TrialFiles
from biodyn.trial.request import TrialRequest
from biodyn.trial.stages import Prepared, Scaled, next_stage

_MOST_FILES = 24  # in addition to the walk; more files add little information
# Median difference of the marker distances within segments: 1.9-2.9 mm between walks of one session, 3.9 where a walk turns.
_SAME_PLACES_M = 0.005
_LEAST_LABELS = 0.8  # of the walk's markers
# With two of its own markers and the joint to its neighbour a segment's pose is known.
_ENOUGH_MARKERS = 2
_SAME_PLATES_M = 1e-3  # plates of one laboratory, as files round their corners

# -- files of the session -----------------------------------------------------------------------------------------------


def session_files(walk: Path, companions: Sequence[Path] | None) -> SessionFiles | None:
    """Return the files of a walk's session, or of the given companions; None if there are none."""
    if companions is not None and not companions:
        return None
    try:
        return session_of(walk, among=companions or ())
    except (BiodynError, OSError):  # gone since it was read
        return None


def session_trials(
    session: SessionFiles, files: TrialFiles, walk_markers: Markers, prepared: Callable[[Recording], Markers]
) -> tuple[tuple[CalibrationTrial, ...], tuple[Diagnostic, ...]]:
    """Return the walk and all usable files of its session, in an order that does not depend on the walk, and why others are not.

    walk_markers: of the walk. prepared: returns markers of another recording with corrected labels, in World.
    """
    walk = files.walk
    notes: list[Diagnostic] = []
    trials = {walk.sha256: CalibrationTrial(walk_markers, walk.path.name, walk.sha256)}
    shapes = {_movement_key(walk)}
    judge = _Judge(session, files)
    for companion in usable_files(session):
        why = companion.why if companion.use == "unreadable" else judge.against(companion)
        if not why:
            why = _add_file(companion, prepared, trials, shapes)
        if why:
            notes.append(_left_out(companion.path.name, why))
    return tuple(trials[key] for key in sorted(trials)), tuple(notes)


def usable_files(session: SessionFiles) -> tuple[Companion, ...]:
    """Return walks and functional trials of the session, and unreadable files."""
    return tuple(c for c in session.companions if c.use in ("walk", "functional", "unreadable"))[:_MOST_FILES]


def walks_of_session(session: SessionFiles, files: TrialFiles) -> list[Companion]:
    """Return the other walks of the session with the marker placement of the walk, each movement once."""
    judge, shapes, walks = _Judge(session, files), {_movement_key(files.walk)}, []
    for companion in usable_files(session):
        if companion.use != "walk" or judge.against(companion):
            continue
        try:
            shape = _movement_key(read(companion.path))
        except (BiodynError, OSError):  # named where the model is fitted
            continue
        if shape not in shapes:
            shapes.add(shape)
            walks.append(companion)
    return walks


class _Judge:
    """Why a file of a session cannot serve its walk, by headers and previews."""

    def __init__(self, session: SessionFiles, files: TrialFiles) -> None:
        self.walk = read_facts(session.walk.path)
        self.statics = [c.path for c in session.statics]
        self.static: Path | None = None
        if files.source == "static trial" and len(self.statics) > 1:
            # static trials are assigned to other files only if the walk's own can be identified
            chosen = self._own_static(self.walk)
            if chosen is not None and chosen.resolve() == files.static.path.resolve():
                self.static = chosen

    def against(self, companion: Companion) -> str:
        """Why it cannot serve, "" where it can."""
        try:
            facts = read_facts(companion.path)
            shared = len(self.walk.labels & facts.labels)
            if shared < _LEAST_LABELS * len(self.walk.labels):
                return f"it holds {shared} of the walk's {len(self.walk.labels)} point labels"
            if companion.body_m is None:
                return "too few of its markers move as one to tell whether they sit where the walk's do"
            if companion.body_m > _SAME_PLACES_M:
                apart = f"{1000.0 * companion.body_m:.1f} mm"
                return f"its markers sat elsewhere: their distances within segments differ by {apart} from the walk's"
            if compare_offsets(self.walk.joint_offsets_rad, facts.joint_offsets_rad) == "different":
                return "it stores other joint offsets: another static trial is its own"
            if self.static is not None:
                own_static = self._own_static(facts)
                if own_static is not None and own_static != self.static:
                    return f"{own_static.name} is its own static trial"
        except (BiodynError, OSError) as error:
            return str(getattr(error, "message", error))
        return ""

    def _own_static(self, facts: FileFacts) -> Path | None:
        return choose_static(facts, preview_of_file(facts.path).markers, self.statics, same_person=True).path


def _add_file(
    companion: Companion,
    prepared: Callable[[Recording], Markers],
    trials: dict[str, CalibrationTrial],
    movements: set[str],
) -> str:
    """Read a file and add it to those found; why it cannot be added, "" where it was."""
    try:
        recording = read(companion.path)
        movement = _movement_key(recording)
        if movement in movements:
            return "it holds the same movement as another file"
        use: CalibrationUse = "functional" if companion.use == "functional" else "walk"
        seen = CalibrationTrial(prepared(recording), recording.path.name, recording.sha256, use)
    except (BiodynError, OSError) as error:
        return str(getattr(error, "message", error))
    except Exception as error:  # an unexpected companion is excluded; the walk is analysed
        return f"it is not understood ({type(error).__name__}: {error})"
    movements.add(movement)
    trials[recording.sha256] = seen
    return ""


def _movement_key(recording: Recording) -> str:
    """The same for two files that hold the same positions, whatever else was computed from them."""
    positions = recording.markers.positions
    known = np.sort(np.round(1e4 * positions[np.isfinite(positions)]))
    return hashlib.sha256(known.tobytes()).hexdigest()


def _left_out(name: str, why: str) -> Diagnostic:
    return Diagnostic(
        "data-not-used",
        "info",
        f"{name} is not used for the subject's model: {why.rstrip('.')}.",
        hint="Where it should be: same person, day, marker set and marker places as the walk.",
        about=name,
    )


def content_hash(path: Path) -> str:
    """Return the hash of a file's content, remembered while size and time of change stay; "" where it cannot be read."""
    try:
        return remembered_sha256(path, path.stat())
    except (InputFileError, OSError):
        return ""


# -- the subject's model ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SubjectModelFit:
    """The fit, None without enough data, and findings about files of the session."""

    fitted: SubjectFitResult | None
    notes: tuple[Diagnostic, ...] = ()


def subject_model_fit(trial: Scaled) -> SubjectModelFit:
    """Return the model fitted to the walk, or to its whole session where `[model] fit` is "session"."""
    soft = frozenset(role.label for role in trial.mapping.roles if role.soft)
    # Moved centres do not change the estimated height and widths.
    scaling = replace(trial.scaling, options=replace(trial.scaling.options, height_m=trial.model.height_m))
    session = session_files(trial.path, trial.companions) if trial.settings.model.fit == "session" else None
    if session is None or not usable_files(session):
        return SubjectModelFit(fit_subject([_walk_alone(trial)], without_guesses(trial.model), scaling, soft))
    key = _key_of_model(trial, scaling, session)
    return trial.memory.of(key, lambda: _fit_subject(trial, scaling, soft, session))


def _walk_alone(trial: Scaled) -> CalibrationTrial:
    return CalibrationTrial(trial.signals.markers, trial.files.walk.path.name, trial.files.walk.sha256)


def _fit_subject(
    trial: Scaled, scaling: SubjectScaling, soft: frozenset[str], session: SessionFiles
) -> SubjectModelFit:
    static, geometry = trial.files.static, trial.settings.model.geometry
    world = find_world(with_corrected_vertical(static, trial.files.walk))

    def prepared(recording: Recording) -> Markers:
        R_WL = find_world(recording, facing_from_static(recording, static, world)).R_WL
        markers = recording.rotated(R_WL).markers
        if not geometry or trial.files.source != "static trial":
            return markers
        return correct_labels(markers, trial.static.markers, trial.standing.points, trial.mapping).walk

    trials, notes = session_trials(session, trial.files, trial.walk.markers, prepared)
    if len(trials) == 1:
        trials = (_walk_alone(trial),)
    return SubjectModelFit(fit_subject(trials, without_guesses(trial.model), scaling, soft), notes)


def without_guesses(model: SubjectModel) -> SubjectModel:
    """Return the model without markers that only their place while standing ties to a segment which others show.

    A point that software computed, or a corner of the laboratory, may be next to a foot; it must not move an ankle. Its movement
    decides later what it rides on (`kinematics.tracking`).
    """
    sure = Counter(marker.body for marker in model.markers if marker.source != PLACED_WHILE_STANDING)
    reliable = tuple(m for m in model.markers if m.source != PLACED_WHILE_STANDING or sure[m.body] < _ENOUGH_MARKERS)
    return model if len(reliable) == len(model.markers) else replace(model, markers=reliable)


def _key_of_model(trial: Scaled, scaling: SubjectScaling, session: SessionFiles) -> str:
    """Everything that the fit of a session depends on, the contents of all its files among it."""
    files = sorted((c.use, content_hash(c.path)) for c in (*usable_files(session), *session.statics))
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


# -- what the other walks show of the inertias and the plates -----------------------------------------------------------


@dataclass(frozen=True)
class WalkInformation:
    """What a walk shows, or why it shows nothing.

    corners_L: (P, 4, 3) m of its plates in axes of the laboratory, with these numbers. up_L: (3,) the vertical in these axes.
    """

    information: InformationForm | str
    corners_L: FloatArray | None = None
    numbers: tuple[int, ...] = ()
    up_L: FloatArray | None = None


def other_walks(trial: Scaled) -> Iterator[tuple[TrialRequest, str]]:
    """The other walks of the session as they are analysed, each with a key of everything that its result depends on."""
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
            settings=with_subject(without_corrections(trial.settings), {}, {"mass_kg": trial.mass_kg}),
            companions=_companion_session(companion, trial),
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
            [] if trial.plate_calibration is None else [plate.entry() for plate in trial.plate_calibration.plates],
        )
        yield other, hashlib.sha256(repr(made_of).encode()).hexdigest()


def _companion_session(companion: Companion, trial: TrialRequest) -> tuple[Path, ...] | None:
    """The rest of the session, seen from a companion: the same model for every walk. None: the folder of the companion."""
    if trial.companions is None:
        return None
    return tuple(path for path in (trial.path, *trial.companions) if path.resolve() != companion.path.resolve())


def same_plates(first: FloatArray, other: FloatArray) -> bool:
    """Return whether the corners (P, 4, 3) m of the plates of two walks are the same."""
    return first.shape == other.shape and bool(np.abs(first - other).max(initial=0.0) < _SAME_PLATES_M)


def corners_L(trial: Prepared) -> FloatArray:
    """Return the corners (P, 4, 3) m of the plates in axes of the laboratory."""
    corners = [plate.corners for plate in trial.signals.raw_plates]
    return np.array(corners).reshape(-1, 4, 3) @ trial.world.R_WL


def tells_nothing(name: str, why: str) -> Diagnostic:
    """Return the finding on a walk that shows nothing."""
    return Diagnostic(
        "data-not-used",
        "info",
        f"{name} tells nothing of mass centres and plates: {why.rstrip('.')}.",
        hint="Where it should: a walk on the same plates that can be analysed alone.",
        about=name,
    )
