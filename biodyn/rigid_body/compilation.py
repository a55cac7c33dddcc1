"""Compile the kernels before they are needed, and tell whether that will take a while."""

from __future__ import annotations

from typing import Any

import numpy as np

from biodyn.kernels import ik, kinematics, manifold, rnea
from biodyn.kernels.jit import is_cached
from biodyn.rigid_body.algorithms import (
    body_accelerations,
    body_poses,
    difference,
    energies,
    forward_dynamics,
    integrate,
    inverse_dynamics,
    mass_matrix,
)
from biodyn.rigid_body.joint import Body, Joint
from biodyn.rigid_body.marker_fit import inverse_kinematics
from biodyn.rigid_body.multibody import Multibody


def _kernels() -> tuple[Any, ...]:
    """The kernels that the analysis of a walk runs; the others compile when somebody first uses them."""
    return (ik.inverse_kinematics, rnea.inverse_dynamics, kinematics.poses, manifold.integrate)


def is_compiled() -> bool:
    """Tell whether the kernels of a trial are compiled for this processor already, in memory or on disk."""
    return all(kernel.signatures or is_cached(kernel) for kernel in _kernels())


def warm_up() -> None:
    """Compile, or load from disk, the kernels of a trial by running each on one frame of a tiny model."""
    inertia = 0.01 * np.eye(3)
    foot = Body("foot", "trunk", Joint("revolute", (0.0, 0.0, 1.0)), mass_kg=1.0, inertia_com=inertia)
    trunk = Body("trunk", None, Joint("free"), mass_kg=1.0, inertia_com=inertia)
    mb = Multibody((trunk, foot))
    q, v = mb.neutral()[None], np.zeros((1, mb.nv))
    wrenches = np.zeros((1, 1, 6))
    p_BM = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.5, 0.5, 0.0]])
    inverse_kinematics(mb, np.array([0, 0, 0, 0, 1]), p_BM, p_BM[None], np.ones(5))
    inverse_dynamics(mb, q, v, v, wrenches, [1])
    forward_dynamics(mb, q, v, v, wrenches, [1])
    mass_matrix(mb, q)
    body_poses(mb, q)
    body_accelerations(mb, q, v, v)
    energies(mb, q, v)
    integrate(mb, q, difference(mb, q, q))
