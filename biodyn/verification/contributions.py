"""Contributions of gravity, inertia, velocity and ground reaction to the joint torques.

tau = gravity(q) + M(q) vdot' + C(q, v') v' - J^T F, each contribution by its own pass of the recursive Newton-Euler algorithm.

How much is inertia and how much velocity depends on the observer: the root's spatial acceleration holds omega x v, so to
a moving observer, or relative to a treadmill, the contributions would differ. v' and vdot' refer to the observer that moves with
the root's origin at that instant (its velocity is zero, its acceleration the classical one); any steadily moving observer
finds the same contributions then. Each contribution concerns the segments distal to the joint: the gravity part of a leg's torque
is due to the leg, not the trunk, whose weight is part of the ground reaction.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.geometry.rotations import cross
from biodyn.processing.dynamics.actuated import ActuatedMotion
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
    parts = {
        "gravity": inverse_dynamics(mb, q, still, still),
        "inertia": inverse_dynamics(weightless, q, still, vdot),
        "velocity": inverse_dynamics(weightless, q, v, still),
        "ground": inverse_dynamics(weightless, q, still, still, actuated.wrenches[known], actuated.wrench_bodies),
    }
    values = {name: np.full_like(actuated.v, np.nan) for name in CONTRIBUTIONS}
    for name, part in parts.items():
        values[name][known] = part
    return values
