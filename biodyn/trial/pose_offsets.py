"""What the subject's model would be if one segment's pose were off by a small constant step: for the bands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.geometry.rotations import axis_angle
from biodyn.library.pose_systems import OF_SKELETON, PoseSystem
from biodyn.model.assembly import ScaledBody
from biodyn.model.body_model import SubjectModel
from biodyn.model.changes import with_bodies
from biodyn.model.from_library.motion_frames import evenly
from biodyn.model.from_library.pose_figure import PoseFigure, pose_figure
from biodyn.model.from_library.skeleton import SkeletonRecipe
from biodyn.model.parameters import PoseSettings
from biodyn.model.skeleton import static_angles
from biodyn.recording import SegmentPoses
from biodyn.uncertainty.inputs import PoseErrors, PoseOffset
from biodyn.uncertainty.magnitudes import Magnitudes

# Small against every segment, large against round-off.
_STEP_M, _STEP_RAD = 1e-4, 1e-4
_FRAMES = 30  # tell how a mean over all frames changes


@dataclass(frozen=True)
class _Base:
    """The model as it is and the figure of some frames, against which changes are taken."""

    model: SubjectModel
    figure: PoseFigure
    poses: SegmentPoses
    system: PoseSystem
    skeleton: SkeletonRecipe


def pose_errors(
    model: SubjectModel,
    poses: SegmentPoses,
    system: PoseSystem,
    skeleton: SkeletonRecipe,
    settings: PoseSettings,
    magnitudes: Magnitudes,
) -> PoseErrors:
    """Return the errors of the poses (World) that a model was made of; sizes of the settings before those of the table."""
    usual = magnitudes.pose_error
    size = (
        usual[0] if settings.origin_mm is None else 1e-3 * settings.origin_mm,
        usual[1] if settings.turn_deg is None else float(np.deg2rad(settings.turn_deg)),
    )
    segments = {segment.body: segment for segment in system.segments}
    fitted = list(dict.fromkeys(marker.body for marker in model.markers))
    seen = np.isfinite(poses.origins[:, [poses.labels.index(segments[b].label) for b in fitted], 0]).all(axis=1)
    rows = evenly(np.flatnonzero(seen), _FRAMES)
    assumed = frozenset(body for body in fitted if segments[body].joint == OF_SKELETON and body != skeleton.root.name)
    if not len(rows):
        return PoseErrors(size, magnitudes.pose_shares, (), assumed)
    some = SegmentPoses(poses.labels, poses.rotations[rows], poses.origins[rows], poses.rate_hz, None, poses.landmarks)
    base = _Base(model, pose_figure(some, system, skeleton, model.height_m), some, system, skeleton)
    offsets = tuple(
        _offset(base, body, segments[body].label, turns, axis)
        for body in fitted
        for turns in (False, True)
        for axis in np.eye(3)
    )
    return PoseErrors(size, magnitudes.pose_shares, offsets, assumed)


def _offset(base: _Base, body: str, label: str, turns: bool, axis: FloatArray) -> PoseOffset:
    """What a step of one segment along or about an axis of the body makes of the model and of the points."""
    step = _STEP_RAD if turns else _STEP_M
    V = base.system.R_VB @ axis  # the same in the segment's own axes
    at = base.poses.labels.index(label)
    rotations, origins = base.poses.rotations.copy(), base.poses.origins.copy()
    if turns:
        rotations[:, at] = rotations[:, at] @ axis_angle(V, step)
    else:
        origins[:, at] += step * (rotations[:, at] @ V)
    moved = replace(base.poses, rotations=rotations, origins=origins)
    figure = pose_figure(moved, base.system, base.skeleton, base.model.height_m)
    moved_L = np.zeros((len(base.model.markers), 3))
    for m, marker in enumerate(base.model.markers):
        if marker.body == body:
            R, p = base.figure.known[body]
            arm = R.T @ (base.figure.points[marker.label] - p) - _origin(base, body)
            moved_L[m] = base.model.frames[body].R_LB @ (step * np.cross(axis, arm) if turns else step * axis)
    return PoseOffset(body, turns, step, _refigured(base, figure), moved_L)


def _origin(base: _Base, body: str) -> FloatArray:
    """Origin (3,) m of a body's segment in the body's axes: the middle of its virtual points."""
    R, p = base.figure.known[body]
    own = [base.figure.points[m.label] for m in base.model.markers if m.body == body]
    return np.asarray(R.T @ (np.mean(own, axis=0) - p))


def _refigured(base: _Base, figure: PoseFigure) -> SubjectModel:
    """The model with joint centres, fixed angles and points on segments changed as the figure changed."""
    before, after = base.figure.known, figure.known
    bodies = tuple(_changed(body, before, after) for body in base.model.bodies)
    markers = tuple(
        replace(m, p_BM=m.p_BM + _local(figure, m.body, m.label) - _local(base.figure, m.body, m.label))
        for m in base.model.markers
    )
    return replace(with_bodies(base.model, bodies), markers=markers)


def _local(figure: PoseFigure, body: str, label: str) -> FloatArray:
    R, p = figure.known[body]
    return np.asarray(R.T @ (figure.points[label] - p))


_Known = Mapping[str, tuple[FloatArray, FloatArray]]


def _changed(body: ScaledBody, before: _Known, after: _Known) -> ScaledBody:
    name, parent = body.definition.name, body.definition.parent
    if name not in before or parent not in before:
        return body
    (R_old, p_old), (R_new, p_new) = (_in_parent(known, name, parent) for known in (before, after))
    R_PB = body.R_PB @ R_old.T @ R_new
    angles = tuple(
        angle + (new - old if step.coordinate is None else 0.0)
        for step, angle, old, new in zip(
            body.definition.rotations,
            body.static_angles_rad,
            static_angles(body.definition, R_old),
            static_angles(body.definition, R_new),
            strict=True,
        )
    )
    return replace(body, R_PB=R_PB, p_PB=body.p_PB + p_new - p_old, static_angles_rad=angles)


def _in_parent(known: _Known, name: str, parent: str) -> tuple[FloatArray, FloatArray]:
    (R_WP, p_WP), (R_WB, p_WB) = known[parent], known[name]
    return R_WP.T @ R_WB, R_WP.T @ (p_WB - p_WP)
