"""One door to the equations of motion for the replay: of a plain tree, or of one whose joints follow coupled coordinates."""

from __future__ import annotations

from typing import TypeAlias

from biodyn import rigid_body
from biodyn.conventions import FloatArray, IntArray
from biodyn.rigid_body import Multibody
from biodyn.rigid_body.coupling.reduced import ReducedTree

#: What is replayed: seven position coordinates of a free base first.
Mechanics: TypeAlias = Multibody | ReducedTree


def floats(mb: Mechanics) -> bool:
    """Whether the first body, and no other, is on a free joint."""
    if isinstance(mb, ReducedTree):
        return True
    return mb.bodies[0].joint.kind == "free" and sum(body.joint.kind == "free" for body in mb.bodies) == 1


def forward_dynamics(
    mb: Mechanics, q: FloatArray, v: FloatArray, tau: FloatArray, wrenches: FloatArray, bodies: IntArray
) -> FloatArray:
    """Return accelerations (T, nv)."""
    if isinstance(mb, ReducedTree):
        return mb.forward_dynamics(q, v, tau, wrenches, bodies)
    return rigid_body.forward_dynamics(mb, q, v, tau, wrenches, bodies)


def inverse_dynamics(
    mb: Mechanics, q: FloatArray, v: FloatArray, vdot: FloatArray, wrenches: FloatArray, bodies: IntArray
) -> FloatArray:
    """Return generalised forces (T, nv)."""
    if isinstance(mb, ReducedTree):
        return mb.inverse_dynamics(q, v, vdot, wrenches, bodies)
    return rigid_body.inverse_dynamics(mb, q, v, vdot, wrenches, bodies)


def mass_matrix(mb: Mechanics, q: FloatArray) -> FloatArray:
    """Return the mass matrix (T, nv, nv)."""
    return mb.mass_matrix(q) if isinstance(mb, ReducedTree) else rigid_body.mass_matrix(mb, q)


def integrate(mb: Mechanics, q: FloatArray, step: FloatArray) -> FloatArray:
    """Return configurations (T, nq) after steps (T, nv)."""
    return mb.integrate(q, step) if isinstance(mb, ReducedTree) else rigid_body.integrate(mb, q, step)


def difference(mb: Mechanics, q0: FloatArray, q1: FloatArray) -> FloatArray:
    """Return the steps (T, nv) from q0 to q1."""
    return mb.difference(q0, q1) if isinstance(mb, ReducedTree) else rigid_body.difference(mb, q0, q1)


def coordinate_rates(mb: Mechanics, q: FloatArray, v: FloatArray) -> FloatArray:
    """Return dq/dt (T, nq)."""
    return mb.coordinate_rates(q, v) if isinstance(mb, ReducedTree) else rigid_body.coordinate_rates(mb, q, v)


def centre_of_mass(mb: Mechanics, q: FloatArray) -> FloatArray:
    """Return the centre of mass (T, 3) m."""
    return mb.centre_of_mass(q) if isinstance(mb, ReducedTree) else rigid_body.centre_of_mass(mb, q)
