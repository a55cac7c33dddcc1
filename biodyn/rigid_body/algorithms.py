"""The textbook algorithms over arrays of frames (T, ...), in one place."""

from biodyn.rigid_body.dynamics import (
    bias_forces,
    coriolis_forces,
    forward_dynamics,
    gravity_forces,
    inverse_dynamics,
)
from biodyn.rigid_body.jacobians import (
    centroidal_momentum_matrix,
    jacobian,
    jacobian_rate_times_v,
    joint_jacobians,
)
from biodyn.rigid_body.motion import body_accelerations, body_poses, body_velocities, difference, integrate
from biodyn.rigid_body.second_order import (
    coriolis_matrix,
    effects_of_inertia,
    forces_of_wrenches,
    inertial_parameters,
    inverse_dynamics_derivatives,
    inverse_mass_times,
    regressor,
)
from biodyn.rigid_body.whole_body import centre_of_mass, centre_of_mass_velocity, energies, mass_matrix, momentum

__all__ = [
    "bias_forces",
    "body_accelerations",
    "body_poses",
    "body_velocities",
    "centre_of_mass",
    "centre_of_mass_velocity",
    "centroidal_momentum_matrix",
    "coriolis_forces",
    "coriolis_matrix",
    "difference",
    "effects_of_inertia",
    "energies",
    "forces_of_wrenches",
    "forward_dynamics",
    "gravity_forces",
    "inertial_parameters",
    "integrate",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "inverse_mass_times",
    "jacobian",
    "jacobian_rate_times_v",
    "joint_jacobians",
    "mass_matrix",
    "momentum",
    "regressor",
]
