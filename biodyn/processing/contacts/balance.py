"""The balance of forces on the whole body: what all ground contacts together must carry.

Newton's and Euler's equations of the whole body need no force plate: m (a_com - g) and the moment about any point follow
from the motion alone (recursive Newton-Euler without external forces; its base wrench is what is missing). What the plates
under the feet do not carry of it, something else carries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from biodyn.conventions import STANDARD_GRAVITY_M_S2, BoolArray, FloatArray
from biodyn.geometry.rotations import cross
from biodyn.processing.kinematics.fit import Fit
from biodyn.rigid_body import inverse_dynamics

# Forces are compared over this time: a single frame of a filtered acceleration means little.
WINDOW_S = 0.1


@dataclass(frozen=True)
class BodyBalance:
    """What the ground must carry and what each plate carries, filtered alike.

    Attributes:
        required: (T, 6) F_Wo_W [moment about the world origin; force] that the body's motion needs, Nm and N, with the
            model's mass; NaN where the motion is unknown.
        plates: per plate (T, 6), filtered with the cut-off of the motion.
        model_mass_kg: that `required` holds for.
        mass_known: it is the body's; else a stand-in, and only the course of `required` means something.
    """

    required: FloatArray
    plates: Sequence[FloatArray]
    model_mass_kg: float
    mass_known: bool

    @property
    def known(self) -> BoolArray:
        """Frames (T,) in which the motion tells the force."""
        return np.asarray(np.isfinite(self.required).all(axis=1))


def required_wrench(fit: Fit) -> FloatArray:
    """Return the wrench (T, 6) F_Wo_W that the ground must exert on the body; NaN where the motion is not reliable."""
    known, motion = fit.reliable, fit.motion
    base = np.full((len(known), 6), np.nan)
    if known.any():
        base[known] = inverse_dynamics(fit.model.multibody, motion.q[known], motion.v[known], motion.vdot[known])[:, :6]
    R, p = fit.link_R_W[:, 0], fit.link_p_W[:, 0]
    force = np.einsum("tij,tj->ti", R, base[:, 3:])
    moment = np.einsum("tij,tj->ti", R, base[:, :3]) + cross(p, force)
    return np.hstack([moment, force])


@dataclass(frozen=True)
class Missing:
    """What the plates do not carry, in body weights: (T,) each, NaN where the motion is unknown.

    Attributes:
        share: vertical force that the body needs beyond what the plates carry, 1 = body weight; negative = they carry more.
        sustained: its mean over `WINDOW_S`, from known frames within the mask it was made for.
        arm_m: distance on the floor between the centre of pressure of the plates and the one that the body needs.
    """

    share: FloatArray
    sustained: FloatArray
    arm_m: FloatArray


def missing_force(
    balance: BodyBalance, carried: FloatArray, told: BoolArray, scale: float, weight_n: float, rate_hz: float
) -> Missing:
    """Compare `scale` times the required wrench with what plates carry (T, 6), in the frames `told` (T,).

    `weight_n`: body weight.
    """
    need = scale * balance.required
    share = np.where(told, (need[:, 4] - carried[:, 4]) / weight_n, np.nan)
    sustained = moving_mean(share, max(round(WINDOW_S * rate_hz), 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        gap = [need[:, k] / need[:, 4] - carried[:, k] / carried[:, 4] for k in (2, 0)]
    firm = told & (carried[:, 4] > 0.25 * weight_n)
    arm = np.where(firm, np.hypot(gap[0], gap[1]), np.nan)
    return Missing(share, sustained, arm)


def moving_mean(values: FloatArray, width: int) -> FloatArray:
    """Mean (T,) over `width` frames around each, of the finite ones; NaN where there is none in the middle."""
    finite = np.isfinite(values)
    kernel = np.ones(width)
    total = np.convolve(np.where(finite, values, 0.0), kernel, mode="same")
    count = np.convolve(finite.astype(np.float64), kernel, mode="same")
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(finite, total / count, np.nan)


def weight_of(mass_kg: float) -> float:
    """Body weight, N."""
    return mass_kg * STANDARD_GRAVITY_M_S2
