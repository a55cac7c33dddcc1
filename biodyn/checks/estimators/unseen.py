"""What segments without markers may do: how far the wrench that the body asks for is open because nobody saw them.

A segment whose motion is assumed may move otherwise: how far is data (`torque_response`). One that is fixed to its parent, as
in the static trial, need not be: a trunk stays nearly upright while the pelvis tilts, drops and turns below it. Both are bodies
that the markers allow, so the difference between the ground reaction that the fixed and the upright one ask for is what a
marker set leaves open. It comes from this trial's own motion and needs no number from elsewhere.
"""

from __future__ import annotations

import numpy as np
from scipy.ndimage import uniform_filter1d

from biodyn.conventions import FloatArray
from biodyn.model.body_model import SubjectModel
from biodyn.processing.dynamics.solve import Dynamics
from biodyn.processing.kinematics.fit import Fit
from biodyn.uncertainty.magnitudes import Magnitudes
from biodyn.uncertainty.torque_response import residual_sd

# The upright body faces where the pelvis faces on average over about a stride.
_FACING_S = 1.0


def unseen_wrench(
    fit: Fit, dynamics: Dynamics, magnitudes: Magnitudes, stride_s: float, rate_hz: float
) -> tuple[FloatArray, FloatArray]:
    """Size of force (T, 3) N and moment (T, 3) Nm about the root's origin that segments without markers leave open.

    Zero where every segment is seen; NaN beside frames without a pose.
    """
    fixed = _fixed_wrench(fit, rate_hz)
    assumed = residual_sd(fit, dynamics, magnitudes, stride_s)
    force, moment = (np.hypot(one, other) for one, other in zip(fixed, assumed, strict=True))
    return force, moment


def _fixed_wrench(fit: Fit, rate_hz: float) -> tuple[FloatArray, FloatArray]:
    """Of segments that are fixed to their parent."""
    force, moment = (np.zeros((len(fit.solved), 3)) for _ in range(2))
    groups = _fixed_groups(fit.model)
    if not groups:
        return force, moment
    root = fit.model.skeleton.root.name
    R_root, p_root = fit.body_pose(root)
    static = _static_attitudes(fit.model)
    facing = _facing(R_root, rate_hz)
    g = np.array(fit.model.multibody.gravity_W)
    for name, (mass, centre, inertia) in groups.items():
        R_WB, p_WB = fit.body_pose(name)
        upright = facing @ (_facing_of(static[root]).T @ static[name])
        wrenches = []
        for R in (R_WB, upright):
            lever = R @ centre
            pull = mass * (_second(p_WB + lever, rate_hz) - g)
            wrenches.append((pull, _spin_rate(R, inertia, rate_hz) + np.cross(p_WB + lever - p_root, pull)))
        force += wrenches[0][0] - wrenches[1][0]
        moment += wrenches[0][1] - wrenches[1][1]
    return force, moment


def _fixed_groups(model: SubjectModel) -> dict[str, tuple[float, FloatArray, FloatArray]]:
    """Mass, centre and inertia about it, in the axes of the seen segment, of what is fixed to each seen segment."""
    fixed = set(model.locked_segments) - {coordinate.body for coordinate in model.assumed}
    bearer: dict[str, str] = {}
    pose: dict[str, tuple[FloatArray, FloatArray]] = {}
    parts: dict[str, list[tuple[float, FloatArray, FloatArray]]] = {}
    for body in model.bodies:
        name, parent = body.definition.name, body.definition.parent
        if not parent or name not in fixed:
            bearer[name], pose[name] = name, (np.eye(3), np.zeros(3))
            continue
        R, p = pose[parent]
        bearer[name], pose[name] = bearer[parent], (R @ body.R_PB, p + R @ body.p_PB)
        R, p = pose[name]
        own = (body.inertia.mass, p + R @ body.inertia.com, R @ body.inertia.tensor @ R.T)
        parts.setdefault(bearer[name], []).append(own)
    return {name: _together(own) for name, own in parts.items()}


def _together(parts: list[tuple[float, FloatArray, FloatArray]]) -> tuple[float, FloatArray, FloatArray]:
    """One rigid body of several: parallel-axis theorem."""
    mass = sum(own[0] for own in parts)
    centre = np.sum([own[0] * own[1] for own in parts], axis=0) / mass
    inertia = np.zeros((3, 3))
    for m, c, tensor in parts:
        d = c - centre
        inertia += tensor + m * ((d @ d) * np.eye(3) - np.outer(d, d))
    return float(mass), centre, inertia


def _static_attitudes(model: SubjectModel) -> dict[str, FloatArray]:
    """R_WB of every segment while standing."""
    found: dict[str, FloatArray] = {}
    for body in model.bodies:
        parent = body.definition.parent
        found[body.definition.name] = found[parent] @ body.R_PB if parent else body.R_PB
    return found


def _facing_of(R_WB: FloatArray) -> FloatArray:
    """Rotation (..., 3, 3) about the vertical that turns World's X to where a segment's X points on the floor."""
    x = R_WB[..., :, 0]
    return _about_vertical(np.arctan2(-x[..., 2], x[..., 0]))


def _facing(R_WB: FloatArray, rate_hz: float) -> FloatArray:
    """The same through time, averaged over about a stride; NaN frames are bridged."""
    x = R_WB[:, :, 0]
    known = np.flatnonzero(np.isfinite(x[:, 0]))
    if not len(known):
        return np.full((len(x), 3, 3), np.nan)
    angle = np.interp(np.arange(len(x)), known, np.unwrap(np.arctan2(-x[known, 2], x[known, 0])))
    return _about_vertical(uniform_filter1d(angle, max(round(_FACING_S * rate_hz), 1), mode="nearest"))


def _about_vertical(angle: FloatArray) -> FloatArray:
    c, s, zero, one = np.cos(angle), np.sin(angle), np.zeros_like(angle), np.ones_like(angle)
    rows = [np.stack(row, axis=-1) for row in ((c, zero, s), (zero, one, zero), (-s, zero, c))]
    return np.stack(rows, axis=-2)


def _second(p: FloatArray, rate_hz: float) -> FloatArray:
    """Second derivative through time by differences: the markers are low-pass filtered."""
    return _first(_first(p, rate_hz), rate_hz)


def _first(p: FloatArray, rate_hz: float) -> FloatArray:
    if len(p) < 2:
        return np.full_like(p, np.nan)
    return np.asarray(np.gradient(p, 1.0 / rate_hz, axis=0))


def _spin_rate(R: FloatArray, inertia: FloatArray, rate_hz: float) -> FloatArray:
    """d/dt of the angular momentum about the centre of mass: L = R I R^T w, skew(w) = dR/dt R^T."""
    W = _first(R, rate_hz) @ np.swapaxes(R, 1, 2)
    w = np.stack([W[:, 2, 1], W[:, 0, 2], W[:, 1, 0]], axis=1)
    return _first(np.einsum("tij,jk,tlk,tl->ti", R, inertia, R, w), rate_hz)
