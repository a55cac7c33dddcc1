"""What else of the person was recorded in the session of a walk, as the fit of the subject's model takes it.

A file serves where it is of the walk's person and day, its markers are the walk's in the same places, and the static trial of
the walk is its own. Every other file of the session is named, with the reason; nothing about it stops the analysis.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from biodyn.diagnostics import Diagnostic
from biodyn.errors import BiodynError, InputFileError
from biodyn.io import read, read_facts, remembered_sha256
from biodyn.processing.calibration.subject_fit.seen import SeenTrial, SeenUse
from biodyn.recording import FileFacts, Markers, Recording
from biodyn.session import Companion, SessionFiles, choose_static, glimpse_of_file, session_of
from biodyn.session.static_choice import compared_offsets
from biodyn.trial.files import TrialFiles

_MOST_FILES = 24  # beside the walk; more tell nothing new
# Median difference of the marker distances within segments: 1.9-2.9 mm between walks of one session, 3.9 where a walk turns.
_SAME_PLACES_M = 0.005
_LEAST_LABELS = 0.8  # of the walk's markers


@dataclass(frozen=True)
class SessionTrials:
    """The trials of a session in an order that does not depend on which walk asks, and what is said of the files left out."""

    trials: tuple[SeenTrial, ...]
    notes: tuple[Diagnostic, ...] = ()


def session_files(walk: Path, companions: Sequence[Path] | None) -> SessionFiles | None:
    """Return what lies beside a walk, or among the companions that a study knows; None where there is nothing to look at."""
    if companions is not None and not companions:
        return None
    try:
        return session_of(walk, among=companions or ())
    except (BiodynError, OSError):  # gone since it was read
        return None


def session_trials(
    session: SessionFiles, files: TrialFiles, own: Markers, prepared: Callable[[Recording], Markers]
) -> SessionTrials:
    """Return the walk and all of its session that can serve; the walk alone where nothing else does.

    Parameters: `own`: markers of the walk, and `prepared` makes those of another recording, labels put right, in World.
    """
    walk = files.walk
    notes: list[Diagnostic] = []
    found = {walk.sha256: SeenTrial(own, walk.path.name, walk.sha256)}
    shapes = {_movement(walk)}
    judge = _Judge(session, files)
    for companion in serving(session):
        why = companion.why if companion.use == "unreadable" else judge.against(companion)
        if not why:
            why = _taken(companion, prepared, found, shapes)
        if why:
            notes.append(_left_out(companion.path.name, why))
    return SessionTrials(tuple(found[key] for key in sorted(found)), tuple(notes))


def serving(session: SessionFiles) -> tuple[Companion, ...]:
    """Walks and functional trials of the session, and what is damaged."""
    return tuple(c for c in session.companions if c.use in ("walk", "functional", "unreadable"))[:_MOST_FILES]


def walks_of_session(session: SessionFiles, files: TrialFiles) -> list[Companion]:
    """Return the other walks of the session whose markers sit where the walk's do, each movement once."""
    judge, shapes, found = _Judge(session, files), {_movement(files.walk)}, []
    for companion in serving(session):
        if companion.use != "walk" or judge.against(companion):
            continue
        try:
            shape = _movement(read(companion.path))
        except (BiodynError, OSError):  # named where the model is fitted
            continue
        if shape not in shapes:
            shapes.add(shape)
            found.append(companion)
    return found


class _Judge:
    """Why a file of a session cannot serve its walk, by headers and glimpses."""

    def __init__(self, session: SessionFiles, files: TrialFiles) -> None:
        self.walk = read_facts(session.walk.path)
        self.statics = [c.path for c in session.statics]
        self.static: Path | None = None
        if files.source == "static trial" and len(self.statics) > 1:
            # which static is whose can be told only where it can be told of the walk itself
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
            if compared_offsets(self.walk.joint_offsets_rad, facts.joint_offsets_rad) == "different":
                return "it stores other joint offsets: another static trial is its own"
            if self.static is not None:
                own = self._own_static(facts)
                if own is not None and own != self.static:
                    return f"{own.name} is its own static trial"
        except (BiodynError, OSError) as error:
            return str(getattr(error, "message", error))
        return ""

    def _own_static(self, facts: FileFacts) -> Path | None:
        return choose_static(facts, glimpse_of_file(facts.path).markers, self.statics, same_person=True).path


def _taken(
    companion: Companion, prepared: Callable[[Recording], Markers], found: dict[str, SeenTrial], movements: set[str]
) -> str:
    """Read a file and add it to those found; why it cannot be added, "" where it was."""
    try:
        recording = read(companion.path)
        movement = _movement(recording)
        if movement in movements:
            return "it holds the same movement as another file"
        use: SeenUse = "functional" if companion.use == "functional" else "walk"
        seen = SeenTrial(prepared(recording), recording.path.name, recording.sha256, use)
    except (BiodynError, OSError) as error:
        return str(getattr(error, "message", error))
    except Exception as error:  # a companion that nobody thought of costs itself, not the walk
        return f"it is not understood ({type(error).__name__}: {error})"
    movements.add(movement)
    found[recording.sha256] = seen
    return ""


def _movement(recording: Recording) -> str:
    """The same for two files that hold the same positions, whatever else was computed from them."""
    positions = recording.markers.positions
    known = np.sort(np.round(1e4 * positions[np.isfinite(positions)]))
    return hashlib.sha256(known.tobytes()).hexdigest()


def _left_out(name: str, why: str) -> Diagnostic:
    return Diagnostic(
        "session-file-left-out",
        "info",
        f"{name} is not used for the subject's model: {why.rstrip('.')}.",
        hint="Where it should be: same person, day, marker set and marker places as the walk.",
        about=name,
    )


def content_of(path: Path) -> str:
    """Return the hash of a file's content, remembered while size and time of change stay; "" where it cannot be read."""
    try:
        return remembered_sha256(path, path.stat())
    except (InputFileError, OSError):
        return ""
