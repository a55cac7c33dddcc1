"""Joint angles and net joint moments of moving segments: Newton and Euler in World, no coordinates needed."""

from __future__ import annotations

import numpy as np

from biodyn.comparison.segments import MovingBody, SegmentInertias, SegmentMotion
from biodyn.conventions import BoolArray, FloatArray
from biodyn.geometry.rotations import cardan_zxy
from biodyn.processing.dynamics.solve import joint_coordinate_axes

#: The planes of a joint, in the order of the last axis of its angles and moments: about the parent's transverse axis (z),
#: the floating axis (x) and the segment's long axis (y), Grood & Suntay 1983, doi 10.1115/1.3138397.
PLANES = ("sagittal", "frontal", "transverse")
_PLANE_AXES = (2, 0, 1)


def moment_of_segments(
    motion: SegmentMotion, inertias: SegmentInertias, gravity_W: FloatArray, beyond: BoolArray
) -> FloatArray:
    """Moments (T, S, 3) Nm, World, that the joints need to move and carry the segments beyond them, without the ground."""
    own = motion.moved(inertias.com)
    force = inertias.mass[:, None] * (own.a - gravity_W)
    tensor_W = motion.R @ inertias.tensor @ np.swapaxes(motion.R, -1, -2)
    spin = np.einsum("tsij,tsj->tsi", tensor_W, motion.omega)
    moment = np.einsum("tsij,tsj->tsi", tensor_W, motion.alpha) + np.cross(motion.omega, spin)
    return _about_joints(moment + np.cross(own.p, force), force, motion.p, beyond)


def moment_of_ground(motion: SegmentMotion, wrench: FloatArray, beyond: BoolArray) -> FloatArray:
    """Moments (T, S, 3) Nm, World, with which the joints answer the ground wrenches (T, S, 6)."""
    return -_about_joints(wrench[..., :3], wrench[..., 3:], motion.p, beyond)


def _about_joints(moment_Wo: FloatArray, force: FloatArray, p: FloatArray, beyond: BoolArray) -> FloatArray:
    below = beyond.astype(np.float64)
    total = np.einsum("js,tsi->tji", below, force)
    return np.asarray(np.einsum("js,tsi->tji", below, moment_Wo) - np.cross(p, total))


def in_planes(moment_W: FloatArray, motion: SegmentMotion, parents: tuple[int, ...]) -> FloatArray:
    """Moments (T, S, 3) along the axes of their joint, in the order of `PLANES`; the root's stay NaN."""
    found = np.full_like(moment_W, np.nan)
    for s, parent in enumerate(parents):
        if parent >= 0:
            axes = joint_coordinate_axes(motion.R[:, parent], motion.R[:, s])
            found[:, s] = np.einsum("tij,ti->tj", axes, moment_W[:, s])[:, _PLANE_AXES]
    return found


def joint_moments(body: MovingBody) -> FloatArray:
    """Net joint moments (T, S, 3) Nm by plane; NaN for the root."""
    total = moment_of_segments(body.motion, body.inertias, body.gravity_W, body.beyond)
    return in_planes(total + moment_of_ground(body.motion, body.wrench, body.beyond), body.motion, body.parents)


def joint_angles(motion: SegmentMotion, parents: tuple[int, ...]) -> FloatArray:
    """Joint angles (T, S, 3) rad by plane, each curve without jumps of a whole turn; NaN for the root."""
    found = np.full(motion.p.shape, np.nan)
    for s, parent in enumerate(parents):
        if parent >= 0:
            angles = cardan_zxy(np.swapaxes(motion.R[:, parent], -1, -2) @ motion.R[:, s])
            found[:, s] = np.unwrap(angles, axis=0)
    return found
