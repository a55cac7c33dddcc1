"""Result of the fit of the subject model: shifts, posterior SDs, marker errors, functional joints, soft tissue.

The frames of functional trials enter the fit like frames of walks. For comparison, the markers of two segments alone determine
the centre of their joint (SCoRE, Ehrig et al. 2006, doi 10.1016/j.jbiomech.2005.10.002) or its axis (SARA, Ehrig et al. 2007,
doi 10.1016/j.jbiomech.2006.10.026), without a model or priors.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from scipy.spatial.transform import Rotation

from biodyn.conventions import FloatArray, IntArray
from biodyn.diagnostics import Diagnostic
from biodyn.geometry.points import rigid_fit
from biodyn.library.tables import segment_title
from biodyn.model.body_model import SubjectModel
from biodyn.processing.calibration.subject_fit.unknowns import (
    CalibrationTrial,
    CalibrationUse,
    ModelPoses,
    Priors,
    Unknowns,
)

_LEAST_MARKERS = 3  # of a segment, for a rigid pose
_LEAST_FRAMES = 20


@dataclass(frozen=True)
class FunctionalJoint:
    """Joint centre or axis estimated from one functional trial.

    Attributes:
        trial: name of the file. segment: distal segment. method: "SCoRE" for a centre, "SARA" for an axis.
        range_rad: largest range of rotation, and the largest about a perpendicular axis.
        residual_m: RMS distance between the centres, or axes, on both segments.
        off_m: distance between the joint centre of the fitted model and this centre or axis.
        off_rad: angle between the axes of the fitted model and of the trial; None for a centre.
    """

    trial: str
    segment: str
    method: Literal["SCoRE", "SARA"]
    range_rad: tuple[float, float]
    residual_m: float
    off_m: float
    off_rad: float | None = None


def functional_joints(trials: Sequence[CalibrationTrial], model: SubjectModel) -> tuple[FunctionalJoint, ...]:
    """Return the joints of the legs estimated from functional trials; a trial is used for joints with a sufficient range."""
    ball = 3  # number of free rotations
    root = model.bodies[0].definition.name
    soles = set(model.sole_body.values())
    joints = []
    for trial in trials:
        if trial.use != "functional":
            continue
        for body in model.moving_segments:
            definition = body.definition
            if not definition.side or definition.name in soles:
                continue
            free = sum(c.body == definition.name for c in model.coordinates)
            relative = _relative_poses(trial, model, definition.parent, definition.name)
            if relative is None or not free:
                continue
            if definition.parent == root and free >= ball:
                joint = _estimate_centre(trial.name, definition.name, *relative, body.p_PB)
            elif free < ball:
                axis = np.asarray(definition.rotations[0].axis, dtype=float)
                joint = _estimate_axis(trial.name, definition.name, *relative, body.p_PB, axis)
            else:
                joint = None
            if joint is not None:
                joints.append(joint)
    return tuple(joints)


def _relative_poses(
    trial: CalibrationTrial, model: SubjectModel, above: str, below: str
) -> tuple[FloatArray, FloatArray] | None:
    """Return the poses R (K, 3, 3), p (K, 3) m of a segment in the axes of its parent; None if there are too few markers."""
    poses, seen = [], np.ones(trial.markers.frame_count, dtype=bool)
    points = {}
    for name in (above, below):
        markers = [m for m in model.markers if m.body == name and m.label in trial.markers.labels and m.weight > 0.0]
        if len(markers) < _LEAST_MARKERS:
            return None
        points[name] = markers, trial.markers.positions[:, [trial.markers.index(m.label) for m in markers]]
        seen &= np.isfinite(points[name][1]).all(axis=(1, 2))
    if seen.sum() < _LEAST_FRAMES:
        return None
    for markers, positions in points.values():
        poses.append(rigid_fit(np.array([m.p_BM for m in markers]), positions[seen]))
    (R_a, p_a), (R_b, p_b) = poses
    turned = R_a.swapaxes(1, 2)
    return turned @ R_b, (turned @ (p_b - p_a)[..., None])[..., 0]


def _solve_centre(R: FloatArray, p: FloatArray, rank: int) -> tuple[FloatArray, FloatArray, float]:
    """Return the centre c_a (3,) m in parent axes, the right singular vectors, and the RMS distance (m) of the least-squares
    solution of c_a = R c_b + p."""
    A = np.concatenate([np.broadcast_to(np.eye(3), R.shape), -R], axis=2).reshape(-1, 6)
    U, size, V = np.linalg.svd(A, full_matrices=False)
    both = V[:rank].T @ ((U.T @ p.reshape(-1))[:rank] / size[:rank])
    apart = (A @ both - p.reshape(-1)).reshape(-1, 3)
    return both[:3], V, float(np.sqrt(np.mean(np.sum(apart**2, axis=1))))


def _rotation_ranges(R: FloatArray) -> tuple[float, float]:
    """Return the range (rad) of the rotations R (K, 3, 3) about the axis of largest range, and the larger of the ranges about
    perpendicular axes."""
    rotations = Rotation.from_matrix(R)
    turns = (rotations.mean().inv() * rotations).as_rotvec()
    axes = np.linalg.svd(turns - turns.mean(axis=0), full_matrices=False)[2]
    return float(np.ptp(turns @ axes[0])), float(np.ptp(turns @ axes[1]))


def _estimate_centre(
    trial: str, segment: str, R: FloatArray, p: FloatArray, believed: FloatArray
) -> FunctionalJoint | None:
    # least second-largest range of rotation for a centre
    least_second_rad = np.deg2rad(15.0)
    ranges = _rotation_ranges(R)
    if ranges[1] < least_second_rad:
        return None
    centre, _, residual = _solve_centre(R, p, 6)
    return FunctionalJoint(trial, segment, "SCoRE", ranges, residual, float(np.linalg.norm(believed - centre)))


def _estimate_axis(
    trial: str, segment: str, R: FloatArray, p: FloatArray, believed: FloatArray, axis: FloatArray
) -> FunctionalJoint | None:
    least_first_rad = np.deg2rad(30.0)
    ranges = _rotation_ranges(R)
    if ranges[0] < least_first_rad:
        return None
    point, V, residual = _solve_centre(R, p, 5)
    along = V[5, :3] / np.linalg.norm(V[5, :3])
    off = believed - point
    angle = float(np.arccos(min(1.0, abs(float(along @ axis)) / float(np.linalg.norm(axis)))))
    return FunctionalJoint(
        trial, segment, "SARA", ranges, residual, float(np.linalg.norm(off - along * (off @ along))), angle
    )


@dataclass(frozen=True)
class CentreShift:
    """Shift (3,) m of a joint centre in the axes of the parent, with prior and posterior standard deviations."""

    segment: str
    shift_m: FloatArray
    prior_sd_m: FloatArray
    sd_m: FloatArray


@dataclass(frozen=True)
class AxisTurn:
    """Rotation of the axes of a segment about its long axis, rad, with prior and posterior standard deviations."""

    segment: str
    turn_rad: float
    prior_sd_rad: float
    sd_rad: float


@dataclass(frozen=True)
class MarkerShift:
    """Shift of a marker on its segment.

    Attributes:
        shift_m, prior_sd_m: fitted shift (3,), and its prior standard deviation per axis.
        error_m: standard deviation of the marker's error per axis.
        off_m: vector (3,) from its position in the static trial to its mean position in the walk; the prior keeps the shift
            smaller.
        rms_before_m, rms_after_m: RMS distance from the model before and after the fit.
        soft: True if its position is not known from the static trial.
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
    """Trial used in the fit: file, number of frames, and RMS distance of the markers from the model, m."""

    name: str
    sha256: str
    use: CalibrationUse
    frames: int
    rms_before_m: float
    rms_after_m: float


@dataclass(frozen=True)
class SubjectFit:
    """Fitted model and summary of the fit.

    Attributes:
        centres, postures, turns, markers: one entry for each unknown; postures are the shifts between standing and walking of
            segments without a fitted joint centre.
        rms_before_m, rms_after_m: RMS distance of all fitted markers from the model in the frames of the fit.
        trials: used trials, with their frames and marker errors.
        functional: joints estimated from functional trials alone.
    """

    model: SubjectModel
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
        """Number of frames used in the fit."""
        return sum(trial.frames for trial in self.trials)

    def centre_sd_m(self) -> dict[str, FloatArray]:
        """Return the standard deviation (3,) m of each fitted joint centre by segment, in the axes of the parent."""
        return {centre.segment: centre.sd_m for centre in self.centres}


def fit_summary(
    model: SubjectModel,
    fitted: SubjectModel,
    unknowns: Unknowns,
    theta: FloatArray,
    sd: FloatArray,
    before: Sequence[tuple[FloatArray, FloatArray]],
    after: Sequence[tuple[FloatArray, FloatArray]],
    marker_m: FloatArray,
    trials: Sequence[CalibrationTrial],
) -> SubjectFit:
    """Return the summary of a solution theta (P,) with posterior sd (P,).

    model: model of the static trial. before, after: distances (T, M) m and errors (T, M, 3) m in segment axes of the markers of
    each trial; NaN if missing.
    """

    def centre_shift(name: str, at: int) -> CentreShift:
        span = slice(at, at + 3)
        return CentreShift(name, theta[span], unknowns.sd[span], sd[span])

    seen = [i for i, marker in enumerate(model.markers) if marker.label in unknowns.markers]
    old, new = (np.concatenate([distance_m for distance_m, _ in errors]) for errors in (before, after))
    mean_m = _mean_error(np.concatenate([local_m for _, local_m in after]))
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
                rms_before_m=_rms_error(old[:, i]),
                rms_after_m=_rms_error(new[:, i]),
            )
        )
    return SubjectFit(
        model=fitted,
        centres=tuple(centre_shift(name, at) for name, at in unknowns.centres.items()),
        postures=tuple(centre_shift(name, at) for name, at in unknowns.postures.items()),
        turns=tuple(
            AxisTurn(n, float(theta[at]), float(unknowns.sd[at]), float(sd[at])) for n, at in unknowns.turns.items()
        ),
        markers=tuple(markers),
        rms_before_m=_rms_error(old[:, seen]),
        rms_after_m=_rms_error(new[:, seen]),
        trials=tuple(
            FittedTrial(
                trial.name, trial.sha256, trial.use, len(old_m), _rms_error(old_m[:, seen]), _rms_error(new_m[:, seen])
            )
            for trial, (old_m, _), (new_m, _) in zip(trials, before, after, strict=True)
        ),
    )


def _mean_error(errors: FloatArray) -> FloatArray:
    """Return the mean error (M, 3) of each marker over its visible frames (T, M, 3); zero if it is never visible."""
    known = np.isfinite(errors)
    return np.asarray(np.where(known, errors, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1))


def _rms_error(error: FloatArray) -> float:
    seen = error[np.isfinite(error)]
    return float(np.sqrt(np.mean(seen**2))) if len(seen) else float("nan")


def subject_fit_findings(fit: SubjectFit, wands: Collection[str]) -> list[Diagnostic]:
    """Return findings about large shifts of joint centres and axes, and about markers that moved after the static trial.

    wands: segments with axes defined by a wand marker.
    """
    # Smaller changes are within the variation of careful marker placement.
    reported_shift_m = 0.010
    reported_turn_rad = np.deg2rad(5.0)
    # Changes above this multiple of the prior standard deviation suggest misplaced markers.
    strange = 3.0
    most_off_m = 0.015
    notes = []
    for centre in fit.centres:
        size = float(np.linalg.norm(centre.shift_m))
        far = float(np.max(np.abs(centre.shift_m) / centre.prior_sd_m))
        if size >= reported_shift_m:
            notes.append(
                Diagnostic(
                    "centre-from-walk",
                    "warning" if far >= strange else "info",
                    f"The joint centre of the {segment_title(centre.segment)} was refined by {1000 * size:.0f} mm from its "
                    "landmark position to fit the walking trial.",
                    value=size,
                    limit=strange * float(np.linalg.norm(centre.prior_sd_m)),
                    unit="m",
                    hint="Misplaced markers can cause such a shift. Check the markers of the joint.",
                )
            )
    for turn in fit.turns:
        if abs(turn.turn_rad) >= reported_turn_rad:
            limit_deg = float(np.rad2deg(strange * turn.prior_sd_rad))
            notes.append(
                Diagnostic(
                    "axis-from-walk",
                    "warning" if abs(turn.turn_rad) >= strange * turn.prior_sd_rad else "info",
                    f"The axes of the {segment_title(turn.segment)} were rotated by {np.rad2deg(turn.turn_rad):+.0f} degrees "
                    "about the long axis to fit the walking trial.",
                    value=float(np.rad2deg(turn.turn_rad)),
                    limit=limit_deg,
                    unit="deg",
                    hint="A wand that is not in the plane of the joint rotates the axis. Use medial markers in the "
                    "static trial to avoid this."
                    if turn.segment in wands
                    else "Check the markers of its distal joint in the static trial.",
                )
            )
    for marker in fit.markers:
        off = float(np.linalg.norm(marker.off_m))
        if off > most_off_m and not marker.soft:
            notes.append(
                Diagnostic(
                    "marker-off-place",
                    "warning",
                    f"Marker {marker.label} is {1000 * off:.0f} mm from its calibrated position throughout the walk.",
                    value=off,
                    limit=most_off_m,
                    unit="m",
                    hint="The marker was moved after the calibration, or its segment moves differently from the model.",
                    about=marker.label,
                )
            )
    return notes + [note for joint in fit.functional if (note := _disagreement_note(joint)) is not None]


def _disagreement_note(joint: FunctionalJoint) -> Diagnostic | None:
    """Return a finding about a joint with different positions in a functional trial alone and in the fitted model."""
    # Soft tissue causes errors of SCoRE and SARA of about half of these.
    functional_m = 0.020
    functional_rad = np.deg2rad(12.0)
    turned = joint.off_rad is not None and joint.off_rad > functional_rad
    if joint.off_m <= functional_m and not turned:
        return None
    what = f"{1000 * joint.off_m:.0f} mm" + (
        "" if joint.off_rad is None else f" and {np.rad2deg(joint.off_rad):.0f} degrees"
    )
    return Diagnostic(
        "functional-disagrees",
        "warning",
        f"{joint.trial}: the joint of the {segment_title(joint.segment)} from {joint.method} differs by {what} from the "
        f"model (RMS residual {1000 * joint.residual_m:.0f} mm, range of motion {np.rad2deg(joint.range_rad[0]):.0f} degrees).",
        value=joint.off_m,
        limit=functional_m,
        unit="m",
        hint='Possible causes are soft tissue of the thigh and misplaced markers. Compare with [model] fit = "trial".',
        about=joint.segment,
    )


@dataclass(frozen=True)
class SoftTissue:
    """Prior of marker slides in proportion to joint angles: S slides c (S, 3) m/rad in segment axes, with mean zero.

    Attributes:
        marker, coordinate: indices (S,) of the marker and the coordinate of each slide.
        static_rad: coordinate values (S,) at which the slides are zero.
        covariance: prior covariance (3 S, 3 S); the slides of the markers of a segment are correlated.
    """

    marker: tuple[int, ...]
    coordinate: tuple[int, ...]
    static_rad: FloatArray
    covariance: FloatArray

    @property
    def count(self) -> int:
        """Number of unknown components of the slides, 3 S."""
        return len(self.covariance)

    @cached_property
    def information(self) -> FloatArray:
        """Information matrix (3 S, 3 S) of the prior of the slides, the inverse of `covariance`."""
        return np.asarray(np.linalg.inv(self.covariance), dtype=np.float64)

    def marker_derivative(
        self, model: SubjectModel, i: int, q: FloatArray, at: ModelPoses
    ) -> tuple[IntArray, FloatArray]:
        """Return the indices (c,) of the unknowns that slide marker i, and the derivative (T, 3, c) of its position in World
        (m) with respect to these unknowns (m/rad)."""
        slides = [k for k, marker in enumerate(self.marker) if marker == i]
        if not slides:
            return np.zeros(0, dtype=np.int64), np.zeros((len(q), 3, 0))
        R = at.R_WB[model.markers[i].body]
        angles = [model.coordinates[self.coordinate[k]].q_index for k in slides]
        bent = q[:, angles] - self.static_rad[slides]
        effect = R[:, :, None, :] * bent[:, None, :, None]
        numbers = (3 * np.array(slides)[:, None] + np.arange(3)).ravel()
        return numbers, effect.reshape(len(q), 3, -1)


def soft_tissue_slides(model: SubjectModel, unknowns: Unknowns, priors: Priors) -> SoftTissue:
    """Return the soft-tissue slides of the fitted markers, driven by the flexion of the joints at both ends of their segment."""
    static = model.static_configuration(np.eye(3), np.zeros(3))
    bends: dict[str, list[int]] = {}
    for index, c in enumerate(model.coordinates):
        definition = next(body.definition for body in model.bodies if body.definition.name == c.body)
        if definition.rotations and definition.rotations[0].coordinate == c.name:
            for segment in (definition.name, definition.parent):
                bends.setdefault(segment, []).append(index)
    marker, coordinate, sizes = [], [], []
    for i, model_marker in enumerate(model.markers):
        if model_marker.label in unknowns.markers and model_marker.body in priors.skin_m_rad:
            for index in bends.get(model_marker.body, ()):
                marker.append(i)
                coordinate.append(index)
                sizes.append(priors.skin_m_rad[model_marker.body])
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
    return SoftTissue(
        tuple(marker),
        tuple(coordinate),
        static[[columns[c] for c in coordinate]],
        np.kron(together * np.outer(sd, sd), np.eye(3)),
    )
