"""What functional trials say of hips and knees by themselves, held against the fitted model: SCoRE and SARA.

The fit sees functional trials frame by frame, as it sees walks: what they tell of a joint counts by how far the joint moves and
how well the markers agree. Here the markers of two segments alone give the centre of their joint (Ehrig et al. 2006, doi
10.1016/j.jbiomech.2005.10.002) or its axis (Ehrig et al. 2007, doi 10.1016/j.jbiomech.2006.10.026), without model or priors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.spatial.transform import Rotation

from biodyn.conventions import FloatArray
from biodyn.geometry.points import rigid_fit
from biodyn.model.body_model import SubjectModel
from biodyn.processing.calibration.subject_fit.placement import SeenTrial

_LEAST_MARKERS = 3  # of a rigid pose
_LEAST_FRAMES = 20
_BALL = 3  # free rotations
# Of the rotation about the axis of the second and of the first largest range: less fixes no centre, no axis.
_LEAST_SECOND_RAD = np.deg2rad(15.0)
_LEAST_FIRST_RAD = np.deg2rad(30.0)


@dataclass(frozen=True)
class FunctionalJoint:
    """A joint as one functional trial shows it.

    Attributes:
        trial: name of its file. segment: beyond the joint. method: "SCoRE" of a centre, "SARA" of an axis.
        range_rad: about the axis of the largest range, and about the second.
        residual_m: RMS distance between the centres, or axes, found on both segments.
        off_m: of the fitted model's joint centre from the centre, or from the axis. off_rad: of its axis; None of a centre.
    """

    trial: str
    segment: str
    method: Literal["SCoRE", "SARA"]
    range_rad: tuple[float, float]
    residual_m: float
    off_m: float
    off_rad: float | None = None


def functional_joints(trials: Sequence[SeenTrial], model: SubjectModel) -> tuple[FunctionalJoint, ...]:
    """Return the joints of the legs that functional trials show, each by every trial that moves it far enough."""
    root = model.bodies[0].definition.name
    soles = set(model.sole_body.values())
    found = []
    for trial in trials:
        if trial.use != "functional":
            continue
        for body in model.moving:
            definition = body.definition
            if not definition.side or definition.name in soles:
                continue
            free = sum(c.body == definition.name for c in model.coordinates)
            relative = _relative(trial, model, definition.parent, definition.name)
            if relative is None or not free:
                continue
            if definition.parent == root and free >= _BALL:
                joint = _centre(trial.name, definition.name, *relative, body.p_PB)
            elif free < _BALL:
                axis = np.asarray(definition.rotations[0].axis, dtype=float)
                joint = _axis(trial.name, definition.name, *relative, body.p_PB, axis)
            else:
                joint = None
            if joint is not None:
                found.append(joint)
    return tuple(found)


def _relative(trial: SeenTrial, model: SubjectModel, above: str, below: str) -> tuple[FloatArray, FloatArray] | None:
    """Poses R (K, 3, 3), p (K, 3) m of a segment in the axes of the one above, None where too little is seen of one."""
    poses, seen = [], np.ones(trial.markers.frame_count, dtype=bool)
    points = {}
    for name in (above, below):
        own = [m for m in model.markers if m.body == name and m.label in trial.markers.labels and m.weight > 0.0]
        if len(own) < _LEAST_MARKERS:
            return None
        points[name] = own, trial.markers.positions[:, [trial.markers.index(m.label) for m in own]]
        seen &= np.isfinite(points[name][1]).all(axis=(1, 2))
    if seen.sum() < _LEAST_FRAMES:
        return None
    for own, positions in points.values():
        poses.append(rigid_fit(np.array([m.p_BM for m in own]), positions[seen]))
    (R_a, p_a), (R_b, p_b) = poses
    turned = R_a.swapaxes(1, 2)
    return turned @ R_b, (turned @ (p_b - p_a)[..., None])[..., 0]


def _solved(R: FloatArray, p: FloatArray, rank: int) -> tuple[FloatArray, FloatArray, float]:
    """Centre (3,) m in the segment above, right singular vectors, and RMS distance m: least |c_a - R c_b - p|."""
    A = np.concatenate([np.broadcast_to(np.eye(3), R.shape), -R], axis=2).reshape(-1, 6)
    U, size, V = np.linalg.svd(A, full_matrices=False)
    both = V[:rank].T @ ((U.T @ p.reshape(-1))[:rank] / size[:rank])
    apart = (A @ both - p.reshape(-1)).reshape(-1, 3)
    return both[:3], V, float(np.sqrt(np.mean(np.sum(apart**2, axis=1))))


def _ranges(R: FloatArray) -> tuple[float, float]:
    """Largest and second range of the rotation, rad, about axes at right angles."""
    rotations = Rotation.from_matrix(R)
    turns = (rotations.mean().inv() * rotations).as_rotvec()
    axes = np.linalg.svd(turns - turns.mean(axis=0), full_matrices=False)[2]
    return float(np.ptp(turns @ axes[0])), float(np.ptp(turns @ axes[1]))


def _centre(trial: str, segment: str, R: FloatArray, p: FloatArray, believed: FloatArray) -> FunctionalJoint | None:
    ranges = _ranges(R)
    if ranges[1] < _LEAST_SECOND_RAD:
        return None
    centre, _, residual = _solved(R, p, 6)
    return FunctionalJoint(trial, segment, "SCoRE", ranges, residual, float(np.linalg.norm(believed - centre)))


def _axis(
    trial: str, segment: str, R: FloatArray, p: FloatArray, believed: FloatArray, axis: FloatArray
) -> FunctionalJoint | None:
    ranges = _ranges(R)
    if ranges[0] < _LEAST_FIRST_RAD:
        return None
    point, V, residual = _solved(R, p, 5)
    along = V[5, :3] / np.linalg.norm(V[5, :3])
    off = believed - point
    angle = float(np.arccos(min(1.0, abs(float(along @ axis)) / float(np.linalg.norm(axis)))))
    return FunctionalJoint(
        trial, segment, "SARA", ranges, residual, float(np.linalg.norm(off - along * (off @ along))), angle
    )
