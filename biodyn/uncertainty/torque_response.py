"""How the torques answer to a change of the configuration's curve: dtau = G0 xi + G1 dxi/dt + G2 d2xi/dt2."""

from __future__ import annotations

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.rigid_body import Multibody, inverse_dynamics_derivatives


def torque_response(
    mb: Multibody,
    q: FloatArray,
    v: FloatArray,
    vdot: FloatArray,
    wrenches: FloatArray,
    wrench_bodies: np.ndarray,
    rows: np.ndarray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return G0, G1, G2 (T, C, nv) of the torques `rows` (C,).

    xi (T, nv) are steps along the coordinates of v. For the free base, whose v is a body-frame twist, such a step changes
    dv = dxi/dt + v x xi and dvdot = d2xi/dt2 + vdot x xi + v x dxi/dt; elsewhere the derivatives of xi are the changes.
    """
    by_q, by_v, by_vdot = (
        np.ascontiguousarray(part[:, rows])
        for part in inverse_dynamics_derivatives(mb, q, v, vdot, wrenches, wrench_bodies)
    )
    twist, push = cross_motion_matrix(v[:, :6]), cross_motion_matrix(vdot[:, :6])
    G0, G1 = by_q, by_v.copy()
    G0[:, :, :6] += by_v[:, :, :6] @ twist + by_vdot[:, :, :6] @ push
    G1[:, :, :6] += by_vdot[:, :, :6] @ twist
    return G0, G1, by_vdot


def cross_motion_matrix(v: FloatArray) -> FloatArray:
    """Return the matrices (T, 6, 6) of v x, for motion vectors [angular; linear] (T, 6) (Featherstone 2008, eq. 2.31)."""
    result = np.zeros((len(v), 6, 6))
    for block, part in ((0, v[:, :3]), (3, v[:, 3:])):
        for a, b, c in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
            result[:, block + b, a] = part[:, c]
            result[:, block + a, b] = -part[:, c]
    result[:, 3:, 3:] = result[:, :3, :3]
    return result


def rates(x: FloatArray, rate_hz: float) -> tuple[FloatArray, FloatArray]:
    """First and second derivative over the first axis by central differences, of fourth order inside, second at the ends.

    At 100 Hz the error is below 0.2 % up to 8 Hz, beyond which nothing is left behind the filter. Fewer than five samples
    give zeros: such a stretch has no torques.
    """
    first, second = np.zeros_like(x), np.zeros_like(x)
    if len(x) < 5:
        return first, second
    first[2:-2] = (8.0 * (x[3:-1] - x[1:-3]) - (x[4:] - x[:-4])) * (rate_hz / 12.0)
    second[2:-2] = (16.0 * (x[3:-1] + x[1:-3]) - 30.0 * x[2:-2] - (x[4:] + x[:-4])) * (rate_hz**2 / 12.0)
    for at in (1, -2):
        low, high = (0, 2) if at == 1 else (-3, -1)
        first[at] = 0.5 * rate_hz * (x[high] - x[low])
        second[at] = rate_hz**2 * (x[high] - 2.0 * x[at] + x[low])
    first[0], first[-1] = rate_hz * (x[1] - x[0]), rate_hz * (x[-1] - x[-2])
    second[0], second[-1] = second[1], second[-2]
    return first, second
