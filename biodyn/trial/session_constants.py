"""What the other walks of a session tell of the body's inertias and of the plates, for the estimate of one of them.

Each walk is analysed up to its torques, on the model of the session, and its estimate gives an information matrix and a
gradient of what all walks share. A walk whose plates lie elsewhere, or that cannot be analysed, tells nothing and is named.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import BiodynError
from biodyn.estimation.estimate import Estimate
from biodyn.estimation.told import Told
from biodyn.session import Companion
from biodyn.trial.session_trials import content_of, session_files, walks_of_session
from biodyn.trial.state import TrialState

_REMEMBERED = 32  # the walks of a session follow each other
_SAME_PLACE_M = 1e-3  # plates of one laboratory, as files round their corners


@dataclass(frozen=True)
class SessionConstants:
    """What every other walk tells, and what is said of those that tell nothing."""

    told: tuple[Told, ...] = ()
    notes: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True)
class _Walk:
    """What a walk tells, or why it tells nothing; and where its plates lie: corners (P, 4, 3) m in axes of the laboratory."""

    told: Told | str
    corners_L: FloatArray | None = None


# What walks tell, by everything that it depends on: not by the walk that asks, whose plates may lie elsewhere.
_known: OrderedDict[str, _Walk] = OrderedDict()


def constants_of_session(
    trial: TrialState, fitted: Callable[[TrialState], None], estimated: Callable[[TrialState], Estimate]
) -> SessionConstants:
    """Return what the other walks of the session of `trial` tell.

    fitted: analyses a walk up to its torques. estimated: makes the estimate of one by itself.
    """
    session = session_files(trial.path, trial.companions)
    if session is None:
        return SessionConstants()
    found: list[Told] = []
    notes: list[Diagnostic] = []
    among = sorted(content_of(companion.path) for companion in session.companions)
    for companion in sorted(walks_of_session(session, trial.files), key=lambda walk: content_of(walk.path)):
        key = _key(trial, companion, among)
        known = _known.pop(key) if key in _known else _of_walk(trial, companion, fitted, estimated)
        _known[key] = known
        while len(_known) > _REMEMBERED:
            _known.popitem(last=False)
        told = known.told
        if known.corners_L is not None and not _same_plates(_corners_L(trial), known.corners_L):
            told = "its plates lie elsewhere"
        if isinstance(told, str):
            notes.append(_tells_nothing(companion.path.name, told))
        else:
            found.append(told)
    return SessionConstants(tuple(found), tuple(notes))


def _of_walk(
    trial: TrialState,
    companion: Companion,
    fitted: Callable[[TrialState], None],
    estimated: Callable[[TrialState], Estimate],
) -> _Walk:
    """What a walk tells, analysed by itself as `trial` is."""
    other = TrialState(
        companion.path,
        trial.files.static.path if trial.files.source == "static trial" else None,
        trial.mass_kg,
        trial.given_height_m,
        trial.settings,
        trial.user_files,
        static_frames=trial.static_frames,
        companions=_beside(companion, trial),
    )
    try:
        fitted(other)
        told = estimated(other).told
        return _Walk("no frame of it is in balance" if told is None else told, _corners_L(other))
    except (BiodynError, OSError) as error:
        return _Walk(str(getattr(error, "message", error)))
    except Exception as error:  # a companion that nobody thought of costs itself, not the walk
        return _Walk(f"it is not understood ({type(error).__name__}: {error})")


def _beside(companion: Companion, trial: TrialState) -> list[Path] | None:
    """What else is of the session, seen from a companion: the same model for whichever walk asks. None: what lies beside it."""
    if trial.companions is None:
        return None
    return [path for path in (trial.path, *map(Path, trial.companions)) if path.resolve() != companion.path.resolve()]


def _same_plates(one: FloatArray, other: FloatArray) -> bool:
    return one.shape == other.shape and bool(np.abs(one - other).max(initial=0.0) < _SAME_PLACE_M)


def _corners_L(trial: TrialState) -> FloatArray:
    """Corners (P, 4, 3) m of the plates in axes of the laboratory."""
    corners = [plate.corners for plate in trial.signals.raw_plates]
    return np.array(corners).reshape(-1, 4, 3) @ trial.world.R_WL


def _key(trial: TrialState, companion: Companion, among: list[str]) -> str:
    """Everything that the answer of a walk depends on."""
    made_of = (
        content_of(companion.path),
        sorted({*among, trial.files.walk.sha256}),
        trial.files.static.sha256,
        trial.files.source,
        trial.static_frames,
        trial.mass_kg,
        trial.given_height_m,
        trial.settings.model_dump_json(),
        [file.sha256 for file in trial.user_files],
    )
    return hashlib.sha256(repr(made_of).encode()).hexdigest()


def _tells_nothing(name: str, why: str) -> Diagnostic:
    return Diagnostic(
        "session-walk-tells-nothing",
        "info",
        f"{name} tells nothing of mass centres and plates: {why.rstrip('.')}.",
        hint="Where it should: a walk on the same plates that can be analysed by itself.",
        about=name,
    )
