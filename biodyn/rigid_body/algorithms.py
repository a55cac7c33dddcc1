"""The textbook algorithms over arrays of frames (T, ...), in one place."""

from biodyn.rigid_body.dynamics import (
    bias_forces,
    coriolis_forces,
    forward_dynamics,
    gravity_forces,
    inverse_dynamics,
)
from biodyn.rigid_body.motion import body_accelerations, body_poses, body_velocities, difference, integrate

__all__ = [
    "bias_forces",
    "body_accelerations",
    "body_poses",
    "body_velocities",
    "coriolis_forces",
    "difference",
    "forward_dynamics",
    "gravity_forces",
    "integrate",
    "inverse_dynamics",
]
