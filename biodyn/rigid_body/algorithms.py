"""The textbook algorithms over arrays of frames (T, ...), in one place."""

from biodyn.rigid_body.dynamics import (
    bias_forces,
    coriolis_forces,
    forward_dynamics,
    gravity_forces,
    inverse_dynamics,
)
from biodyn.rigid_body.motion import body_accelerations, body_poses, body_velocities, difference, integrate
from biodyn.rigid_body.whole_body import centre_of_mass, centre_of_mass_velocity, energies, mass_matrix, momentum

__all__ = [
    "bias_forces",
    "body_accelerations",
    "body_poses",
    "body_velocities",
    "centre_of_mass",
    "centre_of_mass_velocity",
    "coriolis_forces",
    "difference",
    "energies",
    "forward_dynamics",
    "gravity_forces",
    "integrate",
    "inverse_dynamics",
    "mass_matrix",
    "momentum",
]
