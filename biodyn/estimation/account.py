"""The account of an estimate: what was left over before and after, what was moved for it, and what it changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.estimation.inertias import InertiaUnknowns
from biodyn.estimation.plates import PlateAccount
from biodyn.estimation.posterior import Posterior
from biodyn.processing.dynamics.solve import Dynamics
from biodyn.processing.kinematics.fit import Fit
from biodyn.processing.signals.rms import rms, vector_rms
from biodyn.recording import GroundReaction
from biodyn.rigid_body import difference
from biodyn.uncertainty.found import FoundConstants
from biodyn.uncertainty.inputs import TrialInputs

#: Farther off than this many standard deviations an unknown is not what people and plates differ in.
FAR_SD = 3.0


@dataclass(frozen=True)
class EstimateAccount:
    """What the estimate did.

    Attributes:
        raw_fit, raw_dynamics, raw_reaction: before it: the motion as fitted, its torques, the ground reaction filtered alike.
        force_cutoff_hz: of the plate forces in the estimate.
        residual_before, residual_after: RMS of the base residual's force N and moment Nm, each over its own frames.
        residual_unclosed: the same before the last step, which brings the motion in balance (`closing`).
        balance_sd: error of the balance of forces N and of moments Nm in a hundredth of a second, as the trial showed it.
        coordinates: names; moved_rms_rad, moved_max_rad: (C,) how far each was moved.
        marker_rms_m, marker_max_m: how far the model's markers were moved.
        centre_shifts_m: (3,) of the mass centres by segment, in its own axes; centre_sd_m: (3,) what was known of it before.
        mass_change_kg: of the whole body; mass_sd_kg: what was known before.
        segment_mass_changes: of each segment, share of its own mass, that of the body's among it; segment_mass_sd: of
            each, known before.
        plates: what was found of the force plates, and taken into account.
        torque_change: (C,) Nm RMS where the torque is known before and after.
        random: one standard deviation (T, C) of angles and torques from what is random in the measurements; None if not asked.
        walks: of the session that told mass centres, mass and plates, this one among them.
        constants: these, as the bands ask for them (`uncertainty.found`); None if not asked, or where there are none.
    """

    raw_fit: Fit
    raw_dynamics: Dynamics
    raw_reaction: GroundReaction
    force_cutoff_hz: float
    residual_before: tuple[float, float]
    residual_after: tuple[float, float]
    residual_unclosed: tuple[float, float]
    balance_sd: tuple[float, float]
    coordinates: tuple[str, ...]
    moved_rms_rad: FloatArray
    moved_max_rad: FloatArray
    marker_rms_m: float
    marker_max_m: float
    centre_shifts_m: Mapping[str, FloatArray]
    centre_sd_m: Mapping[str, float]
    mass_change_kg: float
    mass_sd_kg: float
    segment_mass_changes: Mapping[str, float]
    segment_mass_sd: Mapping[str, float]
    torque_change: FloatArray
    plates: PlateAccount
    random: Posterior | None = None
    walks: int = 1
    constants: FoundConstants | None = None


def account_of(
    inputs: TrialInputs,
    fit: Fit,
    dynamics: Dynamics,
    unknowns: InertiaUnknowns | None,
    values: FloatArray,
    force_cutoff_hz: float,
    balance_sd: tuple[float, float],
    unbalanced: FloatArray,
    plates: PlateAccount,
    random: Posterior | None = None,
    walks: int = 1,
    constants: FoundConstants | None = None,
) -> EstimateAccount:
    """Return the account of an estimate of the trial `inputs`; unbalanced: (T, 6) [moment; force] before the last step."""
    before, model = inputs.fit, fit.model
    known = np.isfinite(before.motion.q).all(axis=1) & np.isfinite(fit.motion.q).all(axis=1)
    steps = np.zeros((int(known.sum()), model.multibody.nv))
    if known.any():
        steps = difference(model.multibody, before.motion.q[known], fit.motion.q[known])
    columns = [coordinate.v_index for coordinate in model.coordinates]
    moved = steps[:, columns] if len(steps) else np.zeros((1, len(columns)))
    places = [model.marker_places(f.link_R_W, f.link_p_W) for f in (before, fit)]
    apart = np.linalg.norm(places[1] - places[0], axis=2)[known]
    mass_kg = before.model.mass_kg
    return EstimateAccount(
        raw_fit=before,
        raw_dynamics=inputs.dynamics,
        raw_reaction=inputs.reaction,
        force_cutoff_hz=force_cutoff_hz,
        residual_before=_residual(inputs.dynamics),
        residual_after=_residual(dynamics),
        residual_unclosed=(float(vector_rms(unbalanced[:, 3:])), float(vector_rms(unbalanced[:, :3]))),
        balance_sd=balance_sd,
        coordinates=tuple(coordinate.name for coordinate in model.coordinates),
        moved_rms_rad=np.sqrt(np.mean(moved**2, axis=0)),
        moved_max_rad=np.abs(moved).max(axis=0),
        marker_rms_m=float(np.sqrt(np.mean(apart**2))) if apart.size else float("nan"),
        marker_max_m=float(apart.max()) if apart.size else float("nan"),
        centre_shifts_m={} if unknowns is None else unknowns.centre_shifts_m(values),
        centre_sd_m={} if unknowns is None else dict(zip(unknowns.segments, unknowns.sd_m.tolist(), strict=True)),
        mass_change_kg=0.0 if unknowns is None else mass_kg * unknowns.body_share(values),
        mass_sd_kg=0.0 if unknowns is None else mass_kg * unknowns.mass_share_sd,
        segment_mass_changes={} if unknowns is None else unknowns.mass_changes(values),
        segment_mass_sd={}
        if unknowns is None
        else dict(zip(unknowns.bodies, unknowns.segment_share_sd.tolist(), strict=True)),
        torque_change=np.asarray(rms((dynamics.torques - inputs.dynamics.torques).T)),
        plates=plates,
        random=random,
        walks=walks,
        constants=constants,
    )


def _residual(dynamics: Dynamics) -> tuple[float, float]:
    return float(vector_rms(dynamics.residual_force)), float(vector_rms(dynamics.residual_moment))
