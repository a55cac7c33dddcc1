"""What the assumed motion of segments without markers leaves open: in the torques above it, and in the base residual.

An assumed segment may be turned by e(t) against what is assumed, while those that it carries keep their own attitude in World.
That is a step of the assumed coordinates, and the torques answer to it as to any other step (`torque_response`). e is a random
curve of the gait cycle for each axis of the segment: an offset and harmonics of the stride.
"""

from __future__ import annotations

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.model.body_model import SubjectModel
from biodyn.processing.dynamics.solve import Dynamics
from biodyn.processing.kinematics.fit import Fit
from biodyn.rigid_body import body_poses, joint_jacobians
from biodyn.uncertainty.magnitudes import Magnitudes
from biodyn.uncertainty.spectra import PAIRS, stride_movement
from biodyn.uncertainty.torque_response import torque_response

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
