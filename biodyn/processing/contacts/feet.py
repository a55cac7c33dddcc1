"""Heels, toes and pelvis through the trial, for events, steps and contacts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from biodyn.conventions import FloatArray, Side
from biodyn.processing.contacts.foot_outline import floor_velocity
from biodyn.processing.kinematics.fit import Fit
from biodyn.processing.signals.filtering import butterworth_lowpass, second_cutoff_hz

# What tells a standing foot and a step from the movement (`library/gait/`) was measured with markers filtered at this.
_STEPS_HZ = 6.0


@dataclass(frozen=True)
class GaitPoints:
    """Points of the fitted skeleton in World, NaN where a frame could not be solved.

    Attributes:
        sole: per side (T, K, 3) m, outline of the sole.
        heel, toe: per side (T, 3) m, back and front end of the sole.
        pelvis: (T, 3) m, midway between the joint centres of the root's jointed neighbours on both sides.
        forward: (T, 3) unit, the root's anterior axis.
        floor_velocity: (3,) m/s of what the feet stand on: zero, or that of a treadmill's belt.
    """

    sole: Mapping[Side, FloatArray]
    heel: Mapping[Side, FloatArray]
    toe: Mapping[Side, FloatArray]
    pelvis: FloatArray
    forward: FloatArray
    floor_velocity: FloatArray

    def of_steps(self, rate_hz: float, cutoff_hz: float) -> GaitPoints:
        """Return the points as contacts and steps are told by: 3 dB down at 6 Hz, where the markers passed `cutoff_hz`.

        Faster ones shake as a standing foot does not. Unchanged where the markers' cut-off is as low, or 0 (none).
        """
        hz = second_cutoff_hz(cutoff_hz, _STEPS_HZ)
        if not 0.0 < hz < 0.5 * rate_hz:
            return self

        def smooth(x: FloatArray) -> FloatArray:
            return butterworth_lowpass(x, rate_hz, hz)

        forward = smooth(self.forward)
        return replace(
            self,
            sole={side: smooth(x) for side, x in self.sole.items()},
            heel={side: smooth(x) for side, x in self.heel.items()},
            toe={side: smooth(x) for side, x in self.toe.items()},
            pelvis=smooth(self.pelvis),
            forward=forward / np.linalg.norm(forward, axis=1, keepdims=True),
        )

    def long_axis(self, side: Side) -> FloatArray:
        """Unit vectors (T, 3) along the foot, from heel to toe, World."""
        foot = self.toe[side] - self.heel[side]
        return foot / np.linalg.norm(foot, axis=1, keepdims=True)


def gait_points(fit: Fit, sides: tuple[Side, ...], rate_hz: float) -> GaitPoints:
    """Return the points from the poses of the fit; `rate_hz` of the frames."""
    model = fit.model
    sole: dict[Side, FloatArray] = {}
    heel: dict[Side, FloatArray] = {}
    toe: dict[Side, FloatArray] = {}
    for side in sides:
        R, p = fit.body_pose(model.sole_body[side])
        outline = np.einsum("tij,kj->tki", R, model.foot_outlines[side]) + p[:, None]
        half = len(model.foot_outlines[side]) // 2  # the outline runs heel - toes on one edge and back on the other
        sole[side] = outline
        heel[side] = 0.5 * (outline[:, 0] + outline[:, -1])
        toe[side] = 0.5 * (outline[:, half - 1] + outline[:, half])
    root = model.skeleton.root.name
    R_root, p_root = fit.body_pose(root)
    hips = [body.p_PB for body in model.moving if body.definition.parent == root and body.definition.side]
    centre = np.mean(hips, axis=0) if hips else np.zeros(3)
    seen = [outline for outline in sole.values() if np.isfinite(outline).all(axis=(1, 2)).any()]
    floor = np.mean([floor_velocity(outline, rate_hz) for outline in seen], axis=0) if seen else np.zeros(3)
    return GaitPoints(sole, heel, toe, p_root + R_root @ centre, R_root[:, :, 0], floor)
