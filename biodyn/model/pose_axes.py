"""Attitudes of bodies as a system's poses have them, and their angles by direct decomposition: no skeleton, no fit."""

from __future__ import annotations

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.geometry.rotations import cardan_zxy
from biodyn.library.pose_systems import PoseSystem
from biodyn.model.skeleton import BodyDefinition, SkeletonDefinition
from biodyn.recording import SegmentPoses

_AXIS = {"z": (0, 2), "x": (1, 0), "y": (2, 1)}  # place in cardan_zxy, component of the rotation's axis


def body_rotations(poses: SegmentPoses, system: PoseSystem) -> dict[str, FloatArray]:
    """Return R_WB (T, 3, 3) in ISB axes of every body that the poses show, NaN where a segment was not seen."""
    bodies = {label: body for label, body in system.bodies.items() if label in poses.labels}
    return {body: poses.pose(label)[0] @ system.R_VB for label, body in bodies.items()}


def relative_angles(R_WP: FloatArray, R_WB: FloatArray) -> FloatArray:
    """Return the angles (T, 3) rad about z, x, y of a body against its parent, R_PB = Rz Rx Ry; NaN where one is not seen."""
    angles = np.full((len(R_WB), 3), np.nan)
    R_PB = np.swapaxes(R_WP, 1, 2) @ R_WB
    seen = np.isfinite(R_PB).all(axis=(1, 2))
    angles[seen] = cardan_zxy(R_PB[seen])
    return angles


def joint_angles_of_poses(
    poses: SegmentPoses, system: PoseSystem, skeleton: SkeletonDefinition
) -> dict[str, FloatArray]:
    """Return the three angles (T,) rad of every joint between segments that the poses show, by name.

    Of R_PB = Rz Rx Ry, with the signs of the skeleton's coordinates; a rotation that the skeleton does not free has its
    joint's name and axis. NaN where a segment was not seen.
    """
    R = body_rotations(poses, system)
    angles: dict[str, FloatArray] = {}
    for body in skeleton.bodies:
        if not body.parent or body.name not in R or body.parent not in R:
            continue
        found = relative_angles(R[body.parent], R[body.name])
        for axis, name, sign in _named(body):
            angles[name] = sign * found[:, _AXIS[axis][0]]
    return angles


def _named(body: BodyDefinition) -> list[tuple[str, str, float]]:
    """Axis, name and sign of each of the joint's three angles."""
    return [
        (
            str(step.principal),
            step.coordinate or (step.freed.coordinate if step.freed else f"{body.joint}_{step.principal}"),
            float(step.axis[_AXIS[str(step.principal)][1]]),
        )
        for step in body.rotations
        if step.principal is not None
    ]
