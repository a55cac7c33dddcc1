"""What a shift of known size does to the torques: the experiments of the literature, to compare sizes with.

McCaw & DeVita 1995 moved the centre of pressure and looked at the largest torques of either direction and the angular impulses in
stance; Stagni et al. 2000 moved the hip centre and looked at the hip moment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from biodyn.conventions import SIDE_SIGN, BoolArray, FloatArray
from biodyn.model.body_model import SubjectModel
from biodyn.model.moved_centre import with_misplaced_centre
from biodyn.recording import GroundReaction


@dataclass(frozen=True)
class LobeChange:
    """Change of one direction of a torque curve in stance, per cent of itself.

    Attributes:
        peak: of the largest value. impulse: of the area. peak_nm: the largest value itself.
    """

    peak: float
    impulse: float
    peak_nm: float


def with_shifted_pressure(reaction: GroundReaction, shift_W: FloatArray) -> GroundReaction:
    """Return the reaction with every foot's wrench acting (3,) m further on, in World axes."""
    wrench = {}
    for side, values in reaction.wrench.items():
        moved = values.copy()
        moved[:, :3] += np.cross(shift_W, values[:, 3:])
        wrench[side] = moved
    return replace(reaction, wrench=wrench)


def with_shifted_hips(model: SubjectModel, forward_m: float, outward_m: float) -> SubjectModel:
    """Return the model with the centres of the joints that carry the legs believed elsewhere in the root's axes."""
    for body in model.moving:
        side = body.definition.side
        if side and body.definition.parent == model.skeleton.root.name:
            shift = np.array([forward_m, 0.0, SIDE_SIGN[side] * outward_m])
            model = with_misplaced_centre(model, body.definition.name, shift)
    return model


def moved_moment(moment: FloatArray, force: FloatArray, shift: FloatArray) -> FloatArray:
    """Return the net moment (T, 3) about a centre (3,) m further on, all in the same axes: M' = M - shift x F.

    Nothing else changes: the same force, the same segments. What a wrong centre does besides, through the fit of the skeleton,
    is not in it.
    """
    return np.asarray(moment - np.cross(shift, force))


def lobe_changes(base: FloatArray, changed: FloatArray, frames: BoolArray, least: float) -> list[LobeChange]:
    """Changes of the positive and of the negative part of a torque curve (T,) Nm over some frames (T,).

    A direction whose largest value stays below `least` Nm is left out: per cents of next to nothing say nothing.
    """
    use = frames & np.isfinite(base) & np.isfinite(changed)
    found = []
    for sign in (1.0, -1.0):
        own, other = (np.maximum(sign * values[use], 0.0) for values in (base, changed))
        if own.size and own.max() >= least:
            found.append(
                LobeChange(
                    peak=100.0 * float(other.max() / own.max() - 1.0),
                    impulse=100.0 * float(other.sum() / own.sum() - 1.0),
                    peak_nm=float(sign * own.max()),
                )
            )
    return found


def stride_mean(values: FloatArray, stance: BoolArray, stance_share: float) -> float:
    """Mean of a curve (T,) over a stride that stands for `stance_share` of its time, whatever part of it was measured.

    NaN where stance or swing was not measured at all.
    """
    known = np.isfinite(values)
    if not (known & stance).any() or not (known & ~stance).any():
        return float("nan")
    return float(stance_share * values[known & stance].mean() + (1.0 - stance_share) * values[known & ~stance].mean())


def mean_changes(parts: Mapping[str, list[LobeChange]]) -> dict[str, tuple[float, float]]:
    """Mean size of the changes of peak and impulse, per cent, by name; every direction of every curve counts once."""
    return {
        name: (float(np.mean([abs(c.peak) for c in found])), float(np.mean([abs(c.impulse) for c in found])))
        for name, found in parts.items()
        if found
    }
