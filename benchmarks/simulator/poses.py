"""Simulated trials as a markerless system would have stored them: poses of segments, with errors of known size.

Names, axes and origins are those of a system of the library. What is written is a C3D file with a ROTATION group and the
plates' analog samples, without points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from biodyn.conventions import FloatArray
from biodyn.library.pose_systems import OF_SKELETON, PoseSystem
from biodyn.recording import SegmentPoses
from biodyn.rigid_body import body_poses
from simulator import c3d_writer
from simulator.c3d_writer import C3dContent
from simulator.files import analog_channels, trial_parameters
from simulator.trial import SimulatedTrial

_TOES = 0.72  # of the sole's length, where the toes begin
_TOES_ABOVE_M = 0.02


@dataclass(frozen=True)
class PoseNoise:
    """Errors of simulated poses; standard deviations along and about each axis of the segment.

    Attributes:
        origin_m, turn_rad: of an error that is a random curve of the stride; shares: of its variance, offset first, then the
            harmonics.
        white_m, white_rad: of white noise beside it.
    """

    origin_m: float = 0.0
    turn_rad: float = 0.0
    shares: Sequence[float] = (1.0,)
    white_m: float = 0.0
    white_rad: float = 0.0


def true_poses(trial: SimulatedTrial, system: PoseSystem) -> SegmentPoses:
    """Return the poses of the bones in World as the system has its segments' axes and origins."""
    model = trial.body.model
    links = body_poses(model.multibody, trial.q)
    poses = {body.definition.name: model.body_poses(*links, body.definition.name) for body in model.bodies}
    labels, R, p = [], [], []
    for segment in system.segments:
        if segment.body not in poses:
            continue
        labels.append(segment.label)
        R.append(poses[segment.body][0] @ system.R_VB.T)
        p.append(_origin(trial, system, segment.body, segment.joint, poses))
    for point in system.points:
        if point.at:
            body = system.bodies[point.segment]
            labels.append(point.at)
            R.append(poses[body][0] @ system.R_VB.T)
            p.append(_toes(trial, body, poses))
    return SegmentPoses(tuple(labels), np.stack(R, axis=1), np.stack(p, axis=1), trial.options.rate_hz)


_Poses = dict[str, tuple[FloatArray, FloatArray]]


def _origin(trial: SimulatedTrial, system: PoseSystem, body: str, joint: str, poses: _Poses) -> FloatArray:
    """Origin (T, 3) of a segment: its joint; of one whose joint the system does not tell, the middle of the joints beyond it."""
    if joint != OF_SKELETON:
        return poses[body][1]
    named = {segment.joint: segment.body for segment in system.segments}
    label = next(segment.label for segment in system.segments if segment.body == body)
    if label in named:
        return poses[named[label]][1]
    beyond = [b.definition.name for b in trial.body.model.bodies if b.definition.parent == body and b.definition.side]
    return np.asarray(np.mean([poses[name][1] for name in beyond], axis=0))


def _toes(trial: SimulatedTrial, body: str, poses: _Poses) -> FloatArray:
    model = trial.body.model
    side = next(side for side, carrier in model.sole_body.items() if carrier == body)
    outline = model.foot_outlines[side]
    half = len(outline) // 2
    heel, tip = 0.5 * (outline[0] + outline[-1]), 0.5 * (outline[half - 1] + outline[half])
    R, p = poses[body]
    return np.asarray(p + R @ (heel + _TOES * (tip - heel) + np.array([0.0, _TOES_ABOVE_M, 0.0])))


def with_errors(poses: SegmentPoses, noise: PoseNoise, stride_s: float, rng: np.random.Generator) -> SegmentPoses:
    """Return the poses as they would have been measured; every segment errs by itself."""
    shape = (len(poses.labels), 3)
    origin, turn = (
        size * _curve(noise.shares, poses.time_s / stride_s, shape, rng)
        + white * rng.normal(size=(poses.frame_count, *shape))
        for size, white in ((noise.origin_m, noise.white_m), (noise.turn_rad, noise.white_rad))
    )
    turned = Rotation.from_rotvec(turn.reshape(-1, 3)).as_matrix().reshape(*turn.shape, 3)
    return SegmentPoses(
        poses.labels,
        poses.rotations @ turned,
        poses.origins + (poses.rotations @ origin[..., None])[..., 0],
        poses.rate_hz,
    )


def _curve(shares: Sequence[float], phase: FloatArray, shape: tuple[int, int], rng: np.random.Generator) -> FloatArray:
    """Random curves (T, S, 3) of the stride with variance 1 each."""
    total = np.sqrt(shares[0]) * rng.normal(size=shape) * np.ones((len(phase), 1, 1))
    for k, share in enumerate(shares[1:], start=1):
        angle = 2.0 * np.pi * k * phase[:, None, None]
        sine, cosine = rng.normal(size=(2, *shape))
        total = total + np.sqrt(share) * (sine * np.sin(angle) + cosine * np.cos(angle))
    return np.asarray(total)


def write_pose_c3d(path: str | Path, trial: SimulatedTrial, poses: SegmentPoses) -> None:
    """Write poses (World) and the trial's plates as a markerless system does: laboratory axes, mm, no points, no events."""
    R_LW = trial.options.R_LW
    matrices = np.zeros((*poses.origins.shape[:2], 4, 4))
    matrices[..., :3, :3] = R_LW @ poses.rotations
    matrices[..., :3, 3] = 1e3 * poses.origins @ R_LW.T
    matrices[..., 3, 3] = 1.0
    channels, labels, units = analog_channels(trial)
    content = C3dContent(
        labels=[],
        positions=np.zeros((poses.frame_count, 0, 3)),
        rate_hz=poses.rate_hz,
        analog=channels,
        analog_labels=labels,
        analog_units=units,
        parameters=trial_parameters(trial, False, ""),
        segments=poses.labels,
        poses=matrices,
    )
    c3d_writer.write_c3d(path, content)
