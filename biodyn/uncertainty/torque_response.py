"""How the torques answer to a change of the configuration's curve: dtau = G0 xi + G1 dxi/dt + G2 d2xi/dt2."""

from __future__ import annotations

import numpy as np

from biodyn.conventions import FloatArray, IntArray
from biodyn.model.body_model import SubjectModel
from biodyn.processing.dynamics.solve import Dynamics
from biodyn.processing.kinematics.fit import Fit
from biodyn.rigid_body import Multibody, body_poses, inverse_dynamics_derivatives, joint_jacobians
from biodyn.uncertainty.magnitudes import PAIRS, Magnitudes, stride_movement


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


# -- What an error of a marker does to the torques: weights of it and of its first two rates, in axes of World or of a segment.


def single(values: FloatArray) -> FloatArray:
    """Single precision, in half the time: a standard deviation needs three digits, and no differences of large numbers follow."""
    return values.astype(np.float32)  # type: ignore[return-value]


def torque_weights(
    G: tuple[FloatArray, ...], A: FloatArray, inner: slice, rate_hz: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return g0, g1, g2 (T, C, 3M) of dtau = g0 n + g1 n' + g2 n'' for errors n of the markers that move the fit by A n.

    G: (T, C, nv) each; A: (T, nv, 3, M), with margins around the frames `inner`.
    """
    A0 = A.reshape(*A.shape[:2], -1)
    A1, A2 = (rate[inner] for rate in rates(A0, rate_hz))
    A0 = A0[inner]
    G0, G1, G2 = G
    # xi = A n:  xi' = A n' + A' n,  xi'' = A n'' + 2 A' n' + A'' n
    return G0 @ A0 + G1 @ A1 + G2 @ A2, G1 @ A0 + 2.0 * (G2 @ A1), G2 @ A0


def turning_of(attitude: FloatArray, links: IntArray, rate_hz: float) -> tuple[FloatArray, FloatArray]:
    """R' R^T and R'' R^T (T, 3, 3, M) of the links (M,) that carry the markers, for attitudes R (T, L, 3, 3)."""
    carrying, of_marker = np.unique(links, return_inverse=True)
    R = attitude[:, carrying]
    turned = (part @ R.transpose(0, 1, 3, 2) for part in rates(R, rate_hz))
    first, second = (single(part)[:, of_marker].transpose(0, 2, 3, 1) for part in turned)
    return np.ascontiguousarray(first), np.ascontiguousarray(second)


def along_segments(
    g: tuple[FloatArray, ...], turning: tuple[FloatArray, FloatArray]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The weights g (T, C, 3M) for errors s along the axes of the markers' segments, n = R s, but for a turn by R.

    n' = R s' + R' s and n'' = R s'' + 2 R' s' + R'' s. With R' = W R and R'' = (W' + W W) R the weights of s, s', s'' are
    (g0 + g1 W + g2 (W' + W W)) R, (g1 + 2 g2 W) R and g2 R. What is made of them are products of two of a marker's, and a
    common turn R changes none. `turning`: W and W' + W W (T, 3, 3, M).
    """
    frames, torques = g[0].shape[:2]
    g0, g1, g2 = (part.reshape(frames, torques, 3, -1) for part in g)
    W, bent = (part[:, None] for part in turning)
    first, second = g0.copy(), g1.copy()
    for b in range(3):
        for a in range(3):
            if a != b:
                first[:, :, b] += g1[:, :, a] * W[:, :, a, b]
                second[:, :, b] += g2[:, :, a] * (2.0 * W[:, :, a, b])
            first[:, :, b] += g2[:, :, a] * bent[:, :, a, b]
    return first.reshape(g[0].shape), second.reshape(g[0].shape), g[2]


# -- What the assumed motion of segments without markers leaves open: in the torques above it, and in the base residual.
#
# An assumed segment may be turned by e(t) against what is assumed, while those that it carries keep their own attitude in World.
# That is a step of the assumed coordinates, and the torques answer to it as to any other step (`torque_response`). e is a random
# curve of the gait cycle for each axis of the segment: an offset and harmonics of the stride.

_AXES = {"tilt": 2, "list": 0, "turn": 1}  # about z, x and y of the segment, the order of `UnseenMotion`


def unseen_variance(
    model: SubjectModel,
    q: FloatArray,
    response: tuple[FloatArray, FloatArray, FloatArray],
    magnitudes: Magnitudes,
    stride_s: float,
) -> FloatArray:
    """Variance (T, R) of the generalised forces whose `response` (T, R, nv each) is given, for q (T, nq)."""
    total = np.zeros(response[0].shape[:2])
    if not np.isfinite(stride_s):
        stride_s = magnitudes.stride_s
    for direction, moments in _directions(model, q, magnitudes, stride_s):
        g = [(part @ direction[:, :, None])[..., 0] for part in response]
        for (i, j), moment in zip(PAIRS, moments, strict=True):
            total += (1.0 if i == j else 2.0) * moment * g[i] * g[j]
    return np.maximum(total, 0.0)


def unseen_steps(model: SubjectModel, q: FloatArray, magnitudes: Magnitudes, stride_s: float) -> FloatArray:
    """Steps (T, nv, N) of the configuration q (T, nq), one standard deviation each of N independent errors."""
    if not np.isfinite(stride_s):
        stride_s = magnitudes.stride_s
    found = [step * np.sqrt(moments[0]) for step, moments in _directions(model, q, magnitudes, stride_s)]
    return np.stack(found, axis=2) if found else np.zeros((len(q), model.multibody.nv, 0))


def residual_sd(fit: Fit, dynamics: Dynamics, magnitudes: Magnitudes, stride_s: float) -> tuple[FloatArray, FloatArray]:
    """One standard deviation of the base residual's force (T, 3) N and moment (T, 3) Nm, body axes of the root.

    Zero where every segment is seen or fixed; NaN where the motion is not known.
    """
    sd = np.zeros((len(fit.solved), 6))
    motion = fit.motion
    known = np.isfinite(motion.vdot).all(axis=1)
    if fit.model.assumed and known.any():
        q, v, vdot = motion.q[known], motion.v[known], motion.vdot[known]
        response = torque_response(
            fit.model.multibody,
            q,
            v,
            vdot,
            dynamics.foot_wrenches[known],
            dynamics.foot_wrench_links,
            np.arange(6),
        )
        sd[known] = np.sqrt(unseen_variance(fit.model, q, response, magnitudes, stride_s))
        sd[~known] = np.nan
    return sd[:, 3:], sd[:, :3]


def _directions(
    model: SubjectModel, q: FloatArray, magnitudes: Magnitudes, stride_s: float
) -> list[tuple[FloatArray, FloatArray]]:
    """For every axis of every assumed segment: the step (T, nv) for one radian, and the moments (6,) of its error."""
    tree = model.multibody
    omega = joint_jacobians(tree, q)[:, :3]  # (T, 3, nv)
    R, p = body_poses(tree, q)
    columns: dict[str, list[int]] = {}
    for coordinate in model.assumed:
        columns.setdefault(coordinate.body, []).append(coordinate.v_index)
    inverse = {name: np.linalg.pinv(omega[:, :, at], rcond=1e-3) for name, at in columns.items()}
    parent = {body.definition.name: body.definition.parent for body in model.bodies}
    found = []
    for name in columns:
        offset_rad, stride_rad = magnitudes.unseen_rad.get(name, (np.zeros(3), np.zeros(3)))
        attitude = model.body_poses(R, p, name)[0]
        for k, axis in enumerate(_AXES.values()):
            variances = [offset_rad[k] ** 2, *(share * stride_rad[k] ** 2 for share in magnitudes.unseen_harmonics)]
            if not any(variances):
                continue
            turn = attitude[:, :, axis, None]
            step = np.zeros((len(q), tree.nv))
            for other, at in columns.items():
                if other == name:
                    step[:, at] += (inverse[other] @ turn)[..., 0]
                elif parent[other] == name:
                    step[:, at] -= (inverse[other] @ turn)[..., 0]
            found.append((step, stride_movement(variances, stride_s, 1.0, 0.0, 2)))
    return found
