"""How segments move that no marker shows: as people carry them, instead of fixed to the segment below.

A trunk stays upright and faces where its owner walks, while the pelvis tilts, drops and turns below it; the arms swing
against the legs. Fixed to the pelvis it would be thrown about with it. `UnseenMotion`, in the skeleton's TOML, says how each
segment is carried; the pelvis and the thighs of the trial say when. No torque of a leg depends on it: it goes into the
motion of the whole body, its centre of mass and the base residual.
"""

from __future__ import annotations

import numpy as np
from scipy.ndimage import gaussian_filter1d

from biodyn.conventions import FloatArray
from biodyn.geometry.rotations import cardan_zxy, from_cardan_zxy
from biodyn.model.body_model import SubjectModel
from biodyn.model.skeleton import BodyDefinition
from biodyn.rigid_body import body_poses

# The heading is that of the pelvis without its turn in every stride: of 0.9 Hz this leaves 8 %.
_HEADING_SD_S = 0.4
_ORDER_ZXY = {"z": 0, "x": 1, "y": 2}
_COMPONENT = {"x": 0, "y": 1, "z": 2}


def with_unseen_motion(model: SubjectModel, q: FloatArray, rate_hz: float) -> FloatArray:
    """Return configurations (T, nq) with the assumed coordinates filled; the others as they are, NaN rows stay NaN."""
    if not model.assumed:
        return q
    filled = q.copy()
    for name, angles in assumed_angles(model, q, rate_hz).items():
        at = next(c.q_index for c in model.assumed if c.name == name)
        filled[:, at] = np.where(np.isfinite(q[:, 0]), angles, np.nan)
    return filled


def assumed_angles(model: SubjectModel, q: FloatArray, rate_hz: float) -> dict[str, FloatArray]:
    """Return the angle (T,) rad of every assumed coordinate for the fitted q (T, nq); NaN where q is not known."""
    known = np.flatnonzero(np.isfinite(q).all(axis=1))
    found = {coordinate.name: np.full(len(q), np.nan) for coordinate in model.assumed}
    if not len(known):
        return found
    R_link, p_link = body_poses(model.multibody, q[known])
    before = {b.definition.name: model.body_poses(R_link, p_link, b.definition.name)[0] for b in model.bodies}
    facing = heading(before[model.skeleton.root.name], known, len(q), rate_hz)[known]
    stride = _stride_angle(model, before, facing)
    after: dict[str, FloatArray] = {}
    for body in model.bodies:
        definition, parent = body.definition, body.definition.parent
        if not parent:
            after[definition.name] = before[definition.name]
            continue
        mine = [step for step in definition.rotations if step.coordinate in found]
        after[definition.name] = after[parent] @ np.swapaxes(before[parent], 1, 2) @ before[definition.name]
        if mine:
            R_WB = _about_vertical(facing) @ _attitude(definition, stride)
            angles = cardan_zxy(np.swapaxes(after[parent], 1, 2) @ R_WB)
            for step in mine:
                if step.principal is None:  # an oblique axis has no angle in the sequence: it keeps its place
                    continue
                sign = float(step.axis[_COMPONENT[step.principal]])
                low, high = step.range_rad
                found[str(step.coordinate)][known] = np.clip(sign * angles[:, _ORDER_ZXY[step.principal]], low, high)
            if len(mine) == len(definition.coordinates):
                after[definition.name] = R_WB
    return found


def heading(R_root: FloatArray, known: np.ndarray, frames: int, rate_hz: float) -> FloatArray:
    """Return where the walker faces (T,) rad, a turn about the vertical from World's X, smoothed over a stride.

    R_root: (K, 3, 3) attitude of the root in the frames `known` (K,); the others are bridged.
    """
    x = R_root[:, :, 0]
    angle = np.interp(np.arange(frames), known, np.unwrap(np.arctan2(-x[:, 2], x[:, 0])))
    return np.asarray(gaussian_filter1d(angle, _HEADING_SD_S * rate_hz, mode="nearest"))


def _stride_angle(model: SubjectModel, R_WB: dict[str, FloatArray], facing: FloatArray) -> FloatArray:
    """Half of what the right thigh leans farther forward than the left one (K,) rad; zero without both."""
    root = model.skeleton.root.name
    leaning = {}
    for side, foot in model.sole_body.items():
        body = model.skeleton.body(foot)
        while body.parent and body.parent != root:
            body = model.skeleton.body(body.parent)
        down = np.einsum("tji,tj->ti", _about_vertical(facing), -R_WB[body.name][:, :, 1])
        leaning[side] = np.arctan2(down[:, 0], -down[:, 1])
    if set(leaning) != {"r", "l"}:
        return np.zeros(len(facing))
    return 0.5 * (leaning["r"] - leaning["l"])


def _attitude(definition: BodyDefinition, stride_r: FloatArray) -> FloatArray:
    """Attitude (K, 3, 3) of a segment in the axes of the heading, for the right side's stride angle (K,)."""
    motion = definition.unseen
    assert motion is not None  # only such segments have assumed coordinates
    stride = -stride_r if definition.side == "l" else stride_r
    tilt, list_, turn = motion.attitude_rad
    angles = np.stack([tilt + motion.swing * stride, np.full(len(stride), list_), np.full(len(stride), turn)], axis=1)
    return from_cardan_zxy(angles)


def _about_vertical(angle: FloatArray) -> FloatArray:
    """Rotations (K, 3, 3) about World's Y."""
    zero = np.zeros_like(angle)
    return from_cardan_zxy(np.stack([zero, zero, angle], axis=1))
