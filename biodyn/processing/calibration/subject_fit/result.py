"""What the fit of the subject's model moved, how well it is known, and what it did to the marker errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.model.body_model import SubjectModel
from biodyn.processing.calibration.subject_fit.functional import FunctionalJoint
from biodyn.processing.calibration.subject_fit.seen import SeenTrial, SeenUse
from biodyn.processing.calibration.subject_fit.unknowns import Unknowns


@dataclass(frozen=True)
class CentreShift:
    """A joint centre: its shift (3,) m in the axes of the parent, with standard deviations before and after."""

    segment: str
    shift_m: FloatArray
    prior_sd_m: FloatArray
    sd_m: FloatArray


@dataclass(frozen=True)
class AxisTurn:
    """Axes of a segment about its long axis, rad, with standard deviations before and after."""

    segment: str
    turn_rad: float
    prior_sd_rad: float
    sd_rad: float


@dataclass(frozen=True)
class MarkerShift:
    """A marker on its segment.

    Attributes:
        shift_m, prior_sd_m: (3,) of its place, and the prior's standard deviation along an axis.
        error_m: standard deviation of its error along an axis, as found.
        off_m: (3,) from its place in the static trial to its mean place in the walk; the prior holds the shift short of it.
        rms_before_m, rms_after_m: of its distance from the model.
        soft: the static trial does not tell its place.
    """

    label: str
    segment: str
    shift_m: FloatArray
    prior_sd_m: float
    error_m: float
    off_m: FloatArray
    soft: bool
    rms_before_m: float
    rms_after_m: float


@dataclass(frozen=True)
class FittedTrial:
    """A trial that the fit saw: its file, frames that were used, and RMS distance of their markers from the model, m."""

    name: str
    sha256: str
    use: SeenUse
    frames: int
    rms_before_m: float
    rms_after_m: float


@dataclass(frozen=True)
class SubjectFit:
    """What moved.

    Attributes:
        centres, postures, turns, markers: by unknown; postures as centres (no segment's own centre, its place while walking).
        rms_before_m, rms_after_m: of the distances of all fitted markers from the model, in the frames of the fit.
        trials: that were used, with their frames and marker errors.
        functional: joints as functional trials alone show them.
    """

    centres: tuple[CentreShift, ...]
    postures: tuple[CentreShift, ...]
    turns: tuple[AxisTurn, ...]
    markers: tuple[MarkerShift, ...]
    rms_before_m: float
    rms_after_m: float
    trials: tuple[FittedTrial, ...]
    functional: tuple[FunctionalJoint, ...] = ()

    @property
    def frames(self) -> int:
        """How many were used."""
        return sum(trial.frames for trial in self.trials)

    def centre_sd_m(self) -> dict[str, FloatArray]:
        """Standard deviation (3,) m of each fitted joint centre by segment, in the axes of the parent."""
        return {centre.segment: centre.sd_m for centre in self.centres}


@dataclass(frozen=True)
class MarkerErrors:
    """Markers of a trial against a model: distances (T, M) m, errors (T, M, 3) m in their segments' axes; NaN where unseen."""

    distance_m: FloatArray
    local_m: FloatArray


def account_of(
    model: SubjectModel,
    unknowns: Unknowns,
    theta: FloatArray,
    sd: FloatArray,
    before: Sequence[MarkerErrors],
    after: Sequence[MarkerErrors],
    marker_m: FloatArray,
    trials: Sequence[SeenTrial],
) -> SubjectFit:
    """Return the account of a solution theta (P,) with posterior sd (P,); `model` is that of the static trial.

    before, after: the markers of each of the trials.
    """

    def three(name: str, at: int) -> CentreShift:
        span = slice(at, at + 3)
        return CentreShift(name, theta[span], unknowns.sd[span], sd[span])

    seen = [i for i, marker in enumerate(model.markers) if marker.label in unknowns.markers]
    old, new = (np.concatenate([errors.distance_m for errors in one]) for one in (before, after))
    mean_m = _mean(np.concatenate([errors.local_m for errors in after]))
    markers = []
    for i in seen:
        label, at = model.markers[i].label, unknowns.markers[model.markers[i].label]
        shift = theta[at : at + 3]
        markers.append(
            MarkerShift(
                label=label,
                segment=model.markers[i].body,
                shift_m=shift,
                prior_sd_m=float(unknowns.sd[at]),
                error_m=float(marker_m[i]),
                off_m=shift + mean_m[i],
                soft=model.markers[i].label in unknowns.soft,
                rms_before_m=_rms(old[:, i]),
                rms_after_m=_rms(new[:, i]),
            )
        )
    return SubjectFit(
        centres=tuple(three(name, at) for name, at in unknowns.centres.items()),
        postures=tuple(three(name, at) for name, at in unknowns.postures.items()),
        turns=tuple(
            AxisTurn(n, float(theta[at]), float(unknowns.sd[at]), float(sd[at])) for n, at in unknowns.turns.items()
        ),
        markers=tuple(markers),
        rms_before_m=_rms(old[:, seen]),
        rms_after_m=_rms(new[:, seen]),
        trials=tuple(
            FittedTrial(
                trial.name,
                trial.sha256,
                trial.use,
                len(b.distance_m),
                _rms(a.distance_m[:, seen]),
                _rms(b.distance_m[:, seen]),
            )
            for trial, a, b in zip(trials, before, after, strict=True)
        ),
    )


def _mean(errors: FloatArray) -> FloatArray:
    """Mean over the frames (T, M, 3) in which a marker is seen; zero for one that never is."""
    known = np.isfinite(errors)
    return np.asarray(np.where(known, errors, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1))


def _rms(error: FloatArray) -> float:
    seen = error[np.isfinite(error)]
    return float(np.sqrt(np.mean(seen**2))) if len(seen) else float("nan")
