"""What the fit of the subject's model moved, how well it is known, and what it did to the marker errors."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from biodyn.conventions import FloatArray, IntArray
from biodyn.diagnostics import Diagnostic
from biodyn.model.body_model import SubjectModel
from biodyn.processing.calibration.subject_fit.functional import FunctionalJoint
from biodyn.processing.calibration.subject_fit.placement import SeenTrial, SeenUse
from biodyn.processing.calibration.subject_fit.unknowns import Posed, Priors, Unknowns


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


# Below these a change is within what a careful marker placement can differ by.
_TELLING_SHIFT_M = 0.010
_TELLING_TURN_RAD = np.deg2rad(5.0)
# A change this many standard deviations of its prior away asks for a look at the markers.
_STRANGE = 3.0
_MOST_OFF_M = 0.015
# Skin lets SCoRE and SARA miss by about half of these.
_FUNCTIONAL_M = 0.020
_FUNCTIONAL_RAD = np.deg2rad(12.0)


def fit_notes(fit: SubjectFit, wands: Collection[str]) -> list[Diagnostic]:
    """Return joint centres and axes that moved far, and markers that are not where the static trial had them.

    wands: segments whose axes rest on a skin wand.
    """
    notes = []
    for centre in fit.centres:
        size = float(np.linalg.norm(centre.shift_m))
        far = float(np.max(np.abs(centre.shift_m) / centre.prior_sd_m))
        if size >= _TELLING_SHIFT_M:
            notes.append(
                Diagnostic(
                    "centre-from-walk",
                    "warning" if far >= _STRANGE else "info",
                    f"The joint centre of {centre.segment} lies {1000 * size:.0f} mm from where its landmarks have it: there the "
                    "markers of the walk fit best.",
                    value=size,
                    limit=_STRANGE * float(np.linalg.norm(centre.prior_sd_m)),
                    unit="m",
                    hint="Markers beside their landmarks move it; check those of the joint.",
                )
            )
    for turn in fit.turns:
        if abs(turn.turn_rad) >= _TELLING_TURN_RAD:
            limit_deg = float(np.rad2deg(_STRANGE * turn.prior_sd_rad))
            notes.append(
                Diagnostic(
                    "axis-from-walk",
                    "warning" if abs(turn.turn_rad) >= _STRANGE * turn.prior_sd_rad else "info",
                    f"Axial rotation offset of {turn.segment}: {np.rad2deg(turn.turn_rad):+.0f} degrees; there its hinge fits "
                    "the markers of the walk best.",
                    value=float(np.rad2deg(turn.turn_rad)),
                    limit=limit_deg,
                    unit="deg",
                    hint="A wand off the joint's plane turns the axis; medial markers in the static trial resolve it."
                    if turn.segment in wands
                    else "Check the markers of its far joint in the static trial.",
                )
            )
    for marker in fit.markers:
        off = float(np.linalg.norm(marker.off_m))
        if off > _MOST_OFF_M and not marker.soft:
            notes.append(
                Diagnostic(
                    "marker-off-place",
                    "warning",
                    f"Marker {marker.label} lies {1000 * off:.0f} mm from its place in the static trial throughout the walk.",
                    value=off,
                    limit=_MOST_OFF_M,
                    unit="m",
                    hint="It was moved between the trials, or its segment does not move as the model's; see the marker errors.",
                    about=marker.label,
                )
            )
    return notes + [note for joint in fit.functional if (note := _disagreement(joint)) is not None]


def _disagreement(joint: FunctionalJoint) -> Diagnostic | None:
    """A joint that a functional trial alone puts elsewhere than the fitted model."""
    turned = joint.off_rad is not None and joint.off_rad > _FUNCTIONAL_RAD
    if joint.off_m <= _FUNCTIONAL_M and not turned:
        return None
    what = f"{1000 * joint.off_m:.0f} mm" + (
        "" if joint.off_rad is None else f" and {np.rad2deg(joint.off_rad):.0f} degrees"
    )
    return Diagnostic(
        "functional-disagrees",
        "warning",
        f"{joint.trial}: {joint.method} finds the joint of {joint.segment} {what} from where the model has it (markers of both "
        f"segments agree to {1000 * joint.residual_m:.0f} mm, range {np.rad2deg(joint.range_rad[0]):.0f} degrees).",
        value=joint.off_m,
        limit=_FUNCTIONAL_M,
        unit="m",
        hint='Skin of the thigh, or markers beside their landmarks; compare with [model] fit = "trial".',
        about=joint.segment,
    )


@dataclass(frozen=True)
class Skin:
    """Markers that slide in proportion to angles: c (S, 3) m/rad, S slides, axes of their segments, all beside zero.

    Attributes:
        marker, coordinate: (S,) indices of the model's marker and coordinate of each.
        static_rad: (S,) of the coordinate, where no marker is off its place.
        covariance: (3 S, 3 S) of the prior; the markers of a segment slide together in part.
    """

    marker: tuple[int, ...]
    coordinate: tuple[int, ...]
    static_rad: FloatArray
    covariance: FloatArray

    @property
    def count(self) -> int:
        """Of unknown numbers, 3 S."""
        return len(self.covariance)

    @cached_property
    def information(self) -> FloatArray:
        """(3 S, 3 S) of the prior."""
        return np.asarray(np.linalg.inv(self.covariance), dtype=np.float64)

    def of_marker(self, model: SubjectModel, i: int, q: FloatArray, at: Posed) -> tuple[IntArray, FloatArray]:
        """Return the numbers (c,) of the unknowns that move marker i, and how far one unit of each does in World (T, 3, c)."""
        slides = [k for k, marker in enumerate(self.marker) if marker == i]
        if not slides:
            return np.zeros(0, dtype=np.int64), np.zeros((len(q), 3, 0))
        R = at.R_WB[model.markers[i].body]
        angles = [model.coordinates[self.coordinate[k]].q_index for k in slides]
        bent = q[:, angles] - self.static_rad[slides]
        moved = R[:, :, None, :] * bent[:, None, :, None]
        numbers = (3 * np.array(slides)[:, None] + np.arange(3)).ravel()
        return numbers, moved.reshape(len(q), 3, -1)


def skin_of(model: SubjectModel, unknowns: Unknowns, priors: Priors) -> Skin:
    """Return the slides of the markers that the fit places, with the flexion of the joints at both ends of their segment."""
    static = model.static_configuration(np.eye(3), np.zeros(3))
    bends: dict[str, list[int]] = {}
    for index, c in enumerate(model.coordinates):
        definition = next(body.definition for body in model.bodies if body.definition.name == c.body)
        if definition.rotations and definition.rotations[0].coordinate == c.name:
            for segment in (definition.name, definition.parent):
                bends.setdefault(segment, []).append(index)
    marker, coordinate, sizes = [], [], []
    for i, one in enumerate(model.markers):
        if one.label in unknowns.markers and one.body in priors.skin_m_rad:
            for index in bends.get(one.body, ()):
                marker.append(i)
                coordinate.append(index)
                sizes.append(priors.skin_m_rad[one.body])
    sd = np.array(sizes)
    bodies = [model.markers[i].body for i in marker]
    together = np.array(
        [
            [priors.skin_common * (bodies[a] == bodies[b] and coordinate[a] == coordinate[b]) for b in range(len(sd))]
            for a in range(len(sd))
        ]
    ).reshape(len(sd), len(sd))
    np.fill_diagonal(together, 1.0)
    columns = [c.q_index for c in model.coordinates]
    return Skin(
        tuple(marker),
        tuple(coordinate),
        static[[columns[c] for c in coordinate]],
        np.kron(together * np.outer(sd, sd), np.eye(3)),
    )
