"""Integration of forward dynamics in time, as an independent check of the engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from biodyn.conventions import FloatArray, IntArray
from biodyn.rigid_body import Multibody, forward_dynamics, integrate


def _lie_bracket(mb: Multibody, a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the Lie bracket (T, nv) of two steps a, b (T, nv), joint by joint; it is zero for joints with commuting motions."""
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


def _step_rate(mb: Multibody, step: FloatArray, v: FloatArray) -> FloatArray:
    """Return the rate (T, nv) of a step from q for which the configuration after the step moves with speed v.

    This is dexp^-1 up to the order that a fourth-order method requires.
    """
    once = _lie_bracket(mb, step, v)
    return v + 0.5 * once + _lie_bracket(mb, step, once) / 12.0


def simulate(
    mb: Multibody,
    q0: ArrayLike,
    v0: ArrayLike,
    times: ArrayLike,
    forces: Callable[[float, FloatArray, FloatArray], ArrayLike] | None = None,
    wrenches: Callable[[float, FloatArray, FloatArray], ArrayLike] | None = None,
    wrench_bodies: Sequence[int] | IntArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Integrate q (N, nq) and v (N, nv) to the times (N,) by one fourth-order Runge-Kutta-Munthe-Kaas step per interval.

    Args:
        q0, v0: (nq,), (nv,) at times[0].
        forces: generalised forces (1, nv) at time t, q (1, nq), v (1, nv); None = the joints move freely.
        wrenches, wrench_bodies: function of the same arguments, and bodies, as for `forward_dynamics`.

    Munthe-Kaas 1998, doi 10.1007/BF02510919.
    """
    q, v, instants = np.asarray(q0)[None], np.asarray(v0)[None], np.asarray(times)

    def vdot(t: float, q: FloatArray, v: FloatArray) -> FloatArray:
        tau = np.zeros_like(v) if forces is None else forces(t, q, v)
        loads = None if wrenches is None else wrenches(t, q, v)
        return forward_dynamics(mb, q, v, tau, loads, wrench_bodies)

    all_q, all_v = np.empty((len(instants), mb.nq)), np.empty((len(instants), mb.nv))
    all_q[0], all_v[0] = q[0], v[0]
    for k in range(1, len(instants)):
        t, h = instants[k - 1], instants[k] - instants[k - 1]
        k1, a1 = v, vdot(t, q, v)
        s2, v2 = 0.5 * h * k1, v + 0.5 * h * a1
        k2, a2 = _step_rate(mb, s2, v2), vdot(t + 0.5 * h, integrate(mb, q, s2), v2)
        s3, v3 = 0.5 * h * k2, v + 0.5 * h * a2
        k3, a3 = _step_rate(mb, s3, v3), vdot(t + 0.5 * h, integrate(mb, q, s3), v3)
        s4, v4 = h * k3, v + h * a3
        k4, a4 = _step_rate(mb, s4, v4), vdot(t + h, integrate(mb, q, s4), v4)
        q = integrate(mb, q, h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4))
        v = v + h / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)
        all_q[k], all_v[k] = q[0], v[0]
    return all_q, all_v
