"""Attitudes of bodies from measured poses, and their angles by direct decomposition without a fit."""

from __future__ import annotations

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.geometry.rotations import cardan_zxy
from biodyn.library.pose_systems import PoseSystem
from biodyn.model.skeleton import BodyDefinition, SkeletonDefinition
from biodyn.recording import SegmentPoses

_AXIS = {"z": (0, 2), "x": (1, 0), "y": (2, 1)}  # index in cardan_zxy, component of the rotation axis


def body_rotations(poses: SegmentPoses, system: PoseSystem) -> dict[str, FloatArray]:
    """Return R_WB (T, 3, 3) in ISB axes of every body of the poses, NaN where a segment was not measured."""
    bodies = {label: body for label, body in system.bodies.items() if label in poses.labels}
    return {body: poses.pose(label)[0] @ system.R_VB for label, body in bodies.items()}


def cardan_angles(R_WP: FloatArray, R_WB: FloatArray) -> FloatArray:
    """Return the angles (T, 3) rad about z, x, y of a body in its parent, R_PB = Rz Rx Ry; NaN where one was not measured."""
    angles = np.full((len(R_WB), 3), np.nan)
    R_PB = np.swapaxes(R_WP, 1, 2) @ R_WB
    seen = np.isfinite(R_PB).all(axis=(1, 2))
    angles[seen] = cardan_zxy(R_PB[seen])
    return angles


def joint_angles_of_poses(
    poses: SegmentPoses, system: PoseSystem, skeleton: SkeletonDefinition
) -> dict[str, FloatArray]:
    """Return the three angles (T,) rad of every joint between measured segments, by name; NaN where one was not measured.

    R_PB = Rz Rx Ry, with the signs of the skeleton's coordinates; the name of a fixed rotation consists of joint and axis.
    """
    R = body_rotations(poses, system)
    angles: dict[str, FloatArray] = {}
    for body in skeleton.bodies:
        if not body.parent or body.name not in R or body.parent not in R:
            continue
        cardan = cardan_angles(R[body.parent], R[body.name])
        for axis, name, sign in _angle_names(body):
            angles[name] = sign * cardan[:, _AXIS[axis][0]]
    return angles


def _angle_names(body: BodyDefinition) -> list[tuple[str, str, float]]:
    """Return axis, name and sign of each of the joint's three angles."""
    return [
        (
            str(step.principal),
            step.coordinate or (step.freed and step.freed.coordinate) or f"{body.joint}_{step.principal}",
            float(step.axis[_AXIS[str(step.principal)][1]]),
        )
        for step in body.rotations
        if step.principal is not None
    ]
