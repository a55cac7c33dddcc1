"""The unknown motion: a small deviation from a smooth one, and what it does to velocities and accelerations.

The deviation of frame t along the coordinates of v is d_t, made of coefficients c by a compact stencil (Numerov):

    d_t = (c_-1 + 10 c_0 + c_1) / 12,    d'_t = (c_1 - c_-1) / 2 h,    d''_t = (c_-1 - 2 c_0 + c_1) / h^2.

Three coefficients a frame keep the equations narrow; the acceleration of a sine is right within 0.1 % at a tenth of the
frame rate and 1 % at a fifth, where plain differences are 3 and 13 % low. The root turns and moves about its own axes: for
q = q0 exp(d) its velocity is Ad(exp(-d)) v0 + J(d) d', J the right Jacobian of the rigid motions (Barfoot 2017, ch. 7).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.rigid_body import Multibody, integrate

#: Of the deviation, its rate and its acceleration times 1, h and h^2, on the coefficients of the frames t - 1, t, t + 1.
PLACE = np.array([1.0, 10.0, 1.0]) / 12.0
RATE = np.array([-0.5, 0.0, 0.5])
BEND = np.array([1.0, -2.0, 1.0])
_ROOT = slice(0, 6)


@dataclass(frozen=True)
class Path:
    """A motion: q (T, nq), v, vdot (T, nv)."""

    q: FloatArray
    v: FloatArray
    vdot: FloatArray


def stencils(rate_hz: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the weights (3,) of deviation, rate and acceleration at a frame rate."""
    return PLACE, RATE * rate_hz, BEND * rate_hz**2


def applied(weights: FloatArray, c: FloatArray) -> FloatArray:
    """Return a stencil's values (T, ...) on coefficients (T + 2, ...)."""
    frames = len(c) - 2
    return np.asarray(sum(w * c[i : i + frames] for i, w in enumerate(weights)))


def moved(mb: Multibody, start: Path, c: FloatArray, rate_hz: float) -> Path:
    """Return the motion that deviates from `start` by coefficients c (T + 2, nv); the root's terms to the third order."""
    d, d1, d2 = (applied(weights, c) for weights in stencils(rate_hz))
    v, vdot = start.v + d1, start.vdot + d2
    if _has_free_root(mb):
        d, d1, d2 = d[:, _ROOT], d1[:, _ROOT], d2[:, _ROOT]
        carried = adjoint_of_inverse(d)
        bracket = bracket_matrix(d)
        own_v = _times(carried, start.v[:, _ROOT])
        xi = _right_jacobian(bracket, d1)
        v[:, _ROOT] = own_v + xi
        vdot[:, _ROOT] = (
            _times(carried, start.vdot[:, _ROOT])
            + _times(bracket_matrix(own_v), xi)
            + _right_jacobian(bracket, d2)
            + _times(bracket_matrix(d1), _times(bracket, d1)) / 6.0
        )
        d = applied(PLACE, c)
    return Path(integrate(mb, start.q, d), v, vdot)


def by_deviation(
    mb: Multibody, path: Path, by_q: FloatArray, by_v: FloatArray, by_vdot: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return derivatives (T, m, nv) by the deviation, its rate and its acceleration, for those by q, v and vdot.

    The root's axes turn with it: dv = d' + [v, d] and dvdot = d'' + [v, d'] + [vdot, d].
    """
    if not _has_free_root(mb):
        return by_q, by_v, by_vdot
    of_v, of_vdot = bracket_matrix(path.v[:, _ROOT]), bracket_matrix(path.vdot[:, _ROOT])
    place, rate = by_q.copy(), by_v.copy()
    place[:, :, _ROOT] += by_v[:, :, _ROOT] @ of_v + by_vdot[:, :, _ROOT] @ of_vdot
    rate[:, :, _ROOT] += by_vdot[:, :, _ROOT] @ of_v
    return place, rate, by_vdot


def bracket_matrix(twist: FloatArray) -> FloatArray:
    """Return the matrix (T, 6, 6) of the Lie bracket with twists (T, 6) [angular; linear]."""
    result = np.zeros((len(twist), 6, 6))
    result[:, :3, :3] = result[:, 3:, 3:] = _cross_matrix(twist[:, :3])
    result[:, 3:, :3] = _cross_matrix(twist[:, 3:])
    return result


def adjoint_of_inverse(d: FloatArray) -> FloatArray:
    """Return Ad(exp(-d)) (T, 6, 6) of twists d (T, 6): what a twist is in axes moved by exp(d)."""
    w = _cross_matrix(d[:, :3])
    square = w @ w
    angle2 = np.sum(d[:, :3] ** 2, axis=1)[:, None, None]
    half, sixth = 0.5 - angle2 / 24.0, 1.0 / 6.0 - angle2 / 120.0
    R = np.eye(3) + (1.0 - angle2 / 6.0 + angle2**2 / 120.0) * w + (half + angle2**2 / 720.0) * square
    p = _times(np.eye(3) + half * w + sixth * square, d[:, 3:])
    result = np.zeros((len(d), 6, 6))
    turned = R.transpose(0, 2, 1)
    result[:, :3, :3] = result[:, 3:, 3:] = turned
    result[:, 3:, :3] = -turned @ _cross_matrix(p)
    return result


def _has_free_root(mb: Multibody) -> bool:
    return mb.bodies[0].joint.kind == "free"


def _right_jacobian(bracket: FloatArray, x: FloatArray) -> FloatArray:
    """J(d) x = x - [d, x] / 2 + [d, [d, x]] / 6 - [d, [d, [d, x]]] / 24."""
    once = _times(bracket, x)
    twice = _times(bracket, once)
    return x - once / 2.0 + twice / 6.0 - _times(bracket, twice) / 24.0


def _times(A: FloatArray, x: FloatArray) -> FloatArray:
    return np.asarray((A @ x[:, :, None])[..., 0])


def _cross_matrix(x: FloatArray) -> FloatArray:
    result = np.zeros((len(x), 3, 3))
    result[:, 0, 1], result[:, 0, 2], result[:, 1, 2] = -x[:, 2], x[:, 1], -x[:, 0]
    result[:, 1, 0], result[:, 2, 0], result[:, 2, 1] = x[:, 2], -x[:, 1], x[:, 0]
    return result
