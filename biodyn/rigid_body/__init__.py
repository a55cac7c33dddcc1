"""Rigid-body dynamics over arrays of frames; see docs/engine.md. Names load what they need when first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from biodyn.rigid_body.algorithms import (
        bias_forces,
        body_accelerations,
        body_poses,
        body_velocities,
        centre_of_mass,
        centre_of_mass_velocity,
        centroidal_momentum_matrix,
        coriolis_forces,
        coriolis_matrix,
        difference,
        effects_of_inertia,
        energies,
        forces_of_wrenches,
        forward_dynamics,
        gravity_forces,
        inertial_parameters,
        integrate,
        inverse_dynamics,
        inverse_dynamics_derivatives,
        inverse_mass_times,
        jacobian,
        jacobian_rate_times_v,
        joint_jacobians,
        mass_matrix,
        momentum,
        regressor,
    )
    from biodyn.rigid_body.compilation import is_compiled, warm_up
    from biodyn.rigid_body.constraints import (
        Constraint,
        constrained_dynamics,
        constrained_inverse_dynamics,
        constraint_state,
        point_contact,
    )
    from biodyn.rigid_body.identification import Masses, estimate_masses
    from biodyn.rigid_body.joint import Body, Joint
    from biodyn.rigid_body.loads import Passive, wrenches_at_points, wrenches_of_bodies
    from biodyn.rigid_body.marker_fit import InverseKinematics, inverse_kinematics
    from biodyn.rigid_body.mjcf import to_mjcf
    from biodyn.rigid_body.motion import random_configuration
    from biodyn.rigid_body.multibody import Multibody
    from biodyn.rigid_body.simulation import coordinate_rates, simulate, state_derivative
    from biodyn.rigid_body.urdf import from_urdf, to_urdf
    from biodyn.rigid_body.whole_body import momentum_rate, solve_with_mass, subtree_masses

__all__ = [
    "Body",
    "Constraint",
    "InverseKinematics",
    "Joint",
    "Masses",
    "Multibody",
    "Passive",
    "bias_forces",
    "body_accelerations",
    "body_poses",
    "body_velocities",
    "centre_of_mass",
    "centre_of_mass_velocity",
    "centroidal_momentum_matrix",
    "constrained_dynamics",
    "constrained_inverse_dynamics",
    "constraint_state",
    "coordinate_rates",
    "coriolis_forces",
    "coriolis_matrix",
    "difference",
    "effects_of_inertia",
    "energies",
    "estimate_masses",
    "forces_of_wrenches",
    "forward_dynamics",
    "from_urdf",
    "gravity_forces",
    "inertial_parameters",
    "integrate",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "inverse_kinematics",
    "inverse_mass_times",
    "is_compiled",
    "jacobian",
    "jacobian_rate_times_v",
    "joint_jacobians",
    "mass_matrix",
    "momentum",
    "momentum_rate",
    "point_contact",
    "random_configuration",
    "regressor",
    "simulate",
    "solve_with_mass",
    "state_derivative",
    "subtree_masses",
    "to_mjcf",
    "to_urdf",
    "warm_up",
    "wrenches_at_points",
    "wrenches_of_bodies",
]
_HOMES = {
    "Body": "joint",
    "Joint": "joint",
    "Multibody": "multibody",
    "InverseKinematics": "marker_fit",
    "inverse_kinematics": "marker_fit",
    "is_compiled": "compilation",
    "warm_up": "compilation",
    "random_configuration": "motion",
    "momentum_rate": "whole_body",
    "solve_with_mass": "whole_body",
    "subtree_masses": "whole_body",
    "Masses": "identification",
    "estimate_masses": "identification",
    "from_urdf": "urdf",
    "to_urdf": "urdf",
    "to_mjcf": "mjcf",
    "Passive": "loads",
    "wrenches_at_points": "loads",
    "wrenches_of_bodies": "loads",
    "coordinate_rates": "simulation",
    "simulate": "simulation",
    "state_derivative": "simulation",
    "Constraint": "constraints",
    "constrained_dynamics": "constraints",
    "constrained_inverse_dynamics": "constraints",
    "constraint_state": "constraints",
    "point_contact": "constraints",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'algorithms')}"), name)
