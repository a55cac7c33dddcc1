"""Forward in time: the equations of motion for standard solvers, and steps that stay on the configuration kinematics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from biodyn.conventions import FloatArray
from biodyn.errors import ModelError
from biodyn.kernels import kinematics
from biodyn.rigid_body.arguments import checked, state
from biodyn.rigid_body.dynamics import Indices, forward_dynamics
from biodyn.rigid_body.kinematics import integrate
from biodyn.rigid_body.multibody import Multibody

#: Generalised forces (T, nv) at time t, q (T, nq), v (T, nv).
Forces = Callable[[float, FloatArray, FloatArray], ArrayLike]
#: Wrenches (T, K, 6) about the world origin at time t, q, v.
Wrenches = Callable[[float, FloatArray, FloatArray], ArrayLike]
Method = Literal["rk4", "symplectic"]


def coordinate_rates(mb: Multibody, q: ArrayLike, v: ArrayLike) -> FloatArray:
    """Return dq/dt (T, nq) of q (T, nq) moving with v (T, nv): quaternions by q (0, omega) / 2."""
    positions, rates = state(mb, q, v=v)
    result = np.empty_like(positions)
    kinematics.coordinate_rates(mb.tree, positions, rates, result)
    return result


def accelerations(
    mb: Multibody,
    forces: Forces | None = None,
    wrenches: Wrenches | None = None,
    wrench_bodies: Indices | None = None,
) -> Callable[[float, FloatArray, FloatArray], FloatArray]:
    """Return vdot(t, q, v) under the forces and wrenches; no forces = the joints move freely."""

    def vdot(t: float, q: FloatArray, v: FloatArray) -> FloatArray:
        tau = np.zeros_like(v) if forces is None else forces(t, q, v)
        loads = None if wrenches is None else wrenches(t, q, v)
        return forward_dynamics(mb, q, v, tau, loads, wrench_bodies)

    return vdot


def state_derivative(
    mb: Multibody,
    forces: Forces | None = None,
    wrenches: Wrenches | None = None,
    wrench_bodies: Indices | None = None,
) -> Callable[[float, FloatArray], FloatArray]:
    """Return f(t, x) = dx/dt of the state x = [q, v] (nq + nv,), as scipy's `solve_ivp` takes it.

    Quaternions drift from length one by the solver's error only; their direction alone counts.
    """
    vdot = accelerations(mb, forces, wrenches, wrench_bodies)

    def f(t: float, x: FloatArray) -> FloatArray:
        q, v = x[None, : mb.nq], x[None, mb.nq :]
        return np.concatenate([coordinate_rates(mb, q, v)[0], vdot(t, q, v)[0]])

    return f


def _bracket(mb: Multibody, a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the Lie bracket of two steps (T, nv), joint by joint (zero where the joint's motions commute)."""
    result = np.zeros_like(a)
    for body in mb.bodies:
        if body.joint.kind in ("spherical", "free"):
            at = mb.v_slice(body.name)
            turn_a, turn_b = a[:, at][:, :3], b[:, at][:, :3]
            parts = [np.cross(turn_a, turn_b)]
            if body.joint.kind == "free":
                parts.append(np.cross(turn_a, b[:, at][:, 3:]) + np.cross(a[:, at][:, 3:], turn_b))
            result[:, at] = np.concatenate(parts, axis=1)
    return result


def _pulled_back(mb: Multibody, step: FloatArray, v: FloatArray) -> FloatArray:
    """Return the rate of `step` for which q (+) step moves with v: dexp^-1 to the order a fourth-order method needs."""
    once = _bracket(mb, step, v)
    return v + 0.5 * once + _bracket(mb, step, once) / 12.0


def simulate(
    mb: Multibody,
    q0: ArrayLike,
    v0: ArrayLike,
    times: ArrayLike,
    forces: Forces | None = None,
    wrenches: Wrenches | None = None,
    wrench_bodies: Indices | None = None,
    method: Method = "rk4",
) -> tuple[FloatArray, FloatArray]:
    """Return q (N, nq) and v (N, nv) at the times (N,), one step from each to the next.

    Args:
        q0, v0: (nq,), (nv,) at times[0].
        forces, wrenches, wrench_bodies: see `accelerations`; frames T = 1.
        method: rk4 is the fourth-order Runge-Kutta-Munthe-Kaas method (Munthe-Kaas 1998); symplectic advances v, then
            q with the new v, first order, with bounded energy error.

    Raises ModelError for an unknown method, times that do not increase, or wrong shapes.
    """
    q, v = checked(q0, (mb.nq,), "q0")[None], checked(v0, (mb.nv,), "v0")[None]
    instants = checked(times, (None,), "times")
    if not (np.diff(instants) > 0).all():
        raise ModelError("times must increase.")
    if method not in ("rk4", "symplectic"):
        raise ModelError(f"Unknown method '{method}'; known: rk4, symplectic.")
    vdot = accelerations(mb, forces, wrenches, wrench_bodies)
    all_q, all_v = np.empty((len(instants), mb.nq)), np.empty((len(instants), mb.nv))
    all_q[0], all_v[0] = q[0], v[0]
    for k in range(1, len(instants)):
        t, h = instants[k - 1], instants[k] - instants[k - 1]
        if method == "symplectic":
            v = v + h * vdot(t, q, v)
            q = integrate(mb, q, h * v)
        else:
            k1, a1 = v, vdot(t, q, v)
            s2, v2 = 0.5 * h * k1, v + 0.5 * h * a1
            k2, a2 = _pulled_back(mb, s2, v2), vdot(t + 0.5 * h, integrate(mb, q, s2), v2)
            s3, v3 = 0.5 * h * k2, v + 0.5 * h * a2
            k3, a3 = _pulled_back(mb, s3, v3), vdot(t + 0.5 * h, integrate(mb, q, s3), v3)
            s4, v4 = h * k3, v + h * a3
            k4, a4 = _pulled_back(mb, s4, v4), vdot(t + h, integrate(mb, q, s4), v4)
            q = integrate(mb, q, h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4))
            v = v + h / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)
        all_q[k], all_v[k] = q[0], v[0]
    return all_q, all_v
