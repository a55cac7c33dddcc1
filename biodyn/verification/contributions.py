"""Contributions of gravity, inertia, velocity and ground reaction to the joint torques.

tau = gravity(q) + M(q) vdot' + C(q, v') v' - J^T F, each contribution by its own pass of the recursive Newton-Euler algorithm.

The split between inertia and velocity depends on the observer: the spatial acceleration of the root contains omega x v, so the
contributions would differ for a moving observer or relative to a treadmill. v' and vdot' therefore refer to an observer that
moves with the origin of the root at that instant (zero velocity, classical acceleration), and the contributions are the same
for all uniformly moving observers. Each contribution is due to the segments distal to the joint: the gravity part of a leg
torque is due to the weight of the leg; the weight of the trunk is part of the ground reaction.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.geometry.rotations import cross
from biodyn.processing.dynamics.actuated_motion import ActuatedMotion
from biodyn.rigid_body import inverse_dynamics

#: Contributions in the order of tables and figures.
CONTRIBUTIONS = ("gravity", "inertia", "velocity", "ground")


def torque_contributions(actuated: ActuatedMotion) -> dict[str, FloatArray]:
    """Return the contributions (T, nv) to the generalised forces by name; NaN rows without motion or forces.

    The columns of the base hold the contributions to the residual.
    """
    mb, known = actuated.multibody, actuated.known
    weightless = replace(mb, gravity_W=(0.0, 0.0, 0.0))
    q = actuated.q[known]
    v, vdot = actuated.v[known].copy(), actuated.vdot[known].copy()
    vdot[:, 3:6] += cross(v[:, :3], v[:, 3:6])
    v[:, 3:6] = 0.0
    still = np.zeros_like(v)
    values = {name: np.full_like(actuated.v, np.nan) for name in CONTRIBUTIONS}
    values["gravity"][known] = inverse_dynamics(mb, q, still, still)
    values["inertia"][known] = inverse_dynamics(weightless, q, still, vdot)
    values["velocity"][known] = inverse_dynamics(weightless, q, v, still)
    loads = actuated.wrenches[known], actuated.wrench_bodies
    values["ground"][known] = inverse_dynamics(weightless, q, still, still, *loads)
    return values
