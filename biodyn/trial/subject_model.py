"""The subject's model fitted to what the settings name: the walk, or all of its session."""

from __future__ import annotations

import hashlib
from collections import Counter, OrderedDict
from dataclasses import dataclass, replace

import numpy as np

from biodyn.diagnostics import Diagnostic
from biodyn.model.body_model import PLACED_WHILE_STANDING, SubjectModel
from biodyn.model.from_library.recognition.corrected import corrected
from biodyn.model.from_library.subject_scaling import SubjectScaling
from biodyn.processing.calibration.subject_fit.fit import FittedSubject, fit_subject
from biodyn.processing.calibration.subject_fit.seen import SeenTrial
from biodyn.processing.signals.orientation import facing_as, find_world, with_true_vertical
from biodyn.recording import Markers, Recording
from biodyn.session import SessionFiles
from biodyn.trial.session_trials import content_of, serving, session_files, session_trials
from biodyn.trial.state import TrialState

# With two of its own markers and the joint to its neighbour a segment's pose is known.
_ENOUGH_MARKERS = 2
_REMEMBERED = 8  # the walks of a session follow each other


@dataclass(frozen=True)
class SubjectModelFit:
    """The fit, None where the trials show too little, and what is said of files of the session."""

    fitted: FittedSubject | None
    notes: tuple[Diagnostic, ...] = ()


# Fits of sessions by everything that they depend on: every walk of a session has the same one.
_known: OrderedDict[str, SubjectModelFit] = OrderedDict()


def subject_model_fit(trial: TrialState) -> SubjectModelFit:
    """Return the model fitted to the walk, or to its whole session where `[model] fit` is "session"."""
    soft = frozenset(role.label for role in trial.mapping.roles if role.soft)
    # Moved centres are no reason to estimate the height, and the widths that follow from it, anew.
    scaling = replace(trial.scaling, options=replace(trial.scaling.options, height_m=trial.model.height_m))
    session = session_files(trial.path, trial.companions) if trial.settings.model.fit == "session" else None
    if session is None or not serving(session):
        return SubjectModelFit(fit_subject([_walk_alone(trial)], without_guesses(trial.model), scaling, soft))
    key = _key(trial, scaling, session)
    found = _known.pop(key, None) or _fitted(trial, scaling, soft, session)
    _known[key] = found
    while len(_known) > _REMEMBERED:
        _known.popitem(last=False)
    return found


def _walk_alone(trial: TrialState) -> SeenTrial:
    return SeenTrial(trial.signals.markers, trial.files.walk.path.name, trial.files.walk.sha256)


def _fitted(trial: TrialState, scaling: SubjectScaling, soft: frozenset[str], session: SessionFiles) -> SubjectModelFit:
    static, geometry = trial.files.static, trial.settings.model.geometry
    world = find_world(with_true_vertical(static, trial.files.walk))

    def prepared(recording: Recording) -> Markers:
        R_WL = find_world(recording, facing_as(recording, static, world)).R_WL
        markers = recording.rotated(R_WL).markers
        if not geometry or trial.files.source != "static trial":
            return markers
        return corrected(markers, trial.static.markers, trial.standing.points, trial.mapping).walk

    found = session_trials(session, trial.files, trial.walk.markers, prepared)
    trials = found.trials if len(found.trials) > 1 else (_walk_alone(trial),)
    return SubjectModelFit(fit_subject(trials, without_guesses(trial.model), scaling, soft), found.notes)


def without_guesses(model: SubjectModel) -> SubjectModel:
    """Return the model without markers that only their place while standing ties to a segment which others show.

    A point that software computed, or a corner of the laboratory, may lie beside a foot; it must not move an ankle. Its movement
    decides later what it rides on (`kinematics.tracking`).
    """
    sure = Counter(marker.body for marker in model.markers if marker.source != PLACED_WHILE_STANDING)
    kept = tuple(m for m in model.markers if m.source != PLACED_WHILE_STANDING or sure[m.body] < _ENOUGH_MARKERS)
    return model if len(kept) == len(model.markers) else replace(model, markers=kept)


def _key(trial: TrialState, scaling: SubjectScaling, session: SessionFiles) -> str:
    """Everything that the fit of a session depends on, the contents of all its files among it."""
    files = sorted((c.use, content_of(c.path)) for c in (*serving(session), *session.statics))
    walk = ("walk", trial.files.walk.sha256)
    made_of = (
        sorted({*files, walk}),
        [path.name for path in sorted(c.path for c in serving(session) if c.use == "unreadable")],
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
