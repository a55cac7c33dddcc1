"""The same errors drawn at random and sent through the analysis itself: what the linear propagation is held against."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from biodyn.conventions import SIDE_SIGN, BoolArray, FloatArray
from biodyn.model.body_model import SubjectModel, with_inertias, with_misplaced_centre
from biodyn.processing.dynamics.inverse_dynamics import solve_dynamics
from biodyn.processing.kinematics.skeleton_fit import Fit
from biodyn.processing.signals.filtering import butterworth_lowpass
from biodyn.recording import GroundReaction
from biodyn.uncertainty.error_sources import (
    LOWEST_CUTOFF_HZ,
    filter_bias,
    filtered_wrenches,
    group_segments_by_kind,
    scale_mass,
    shared_load_errors,
)
from biodyn.uncertainty.monte_carlo_bands import skin_movement
from biodyn.uncertainty.propagation_inputs import Magnitudes, TrialInputs


@dataclass(frozen=True)
class Drawn:
    """One draw of errors: unfiltered markers, model, change of the wrenches on the feet (T, K, 6), cut-off.

    bias: (T, N, 3) m, added to the markers behind the filter; None = none.
    """

    raw: FloatArray
    model: SubjectModel
    wrench_change: FloatArray
    cutoff_hz: float
    bias: FloatArray | None = None


def draw(
    inputs: TrialInputs,
    magnitudes: Magnitudes,
    noise_m: FloatArray,
    sources: Sequence[str],
    rng: np.random.Generator,
) -> Drawn:
    """Draw one set of errors of the named sources; noise_m (M,) of the fitted markers."""
    raw = inputs.unfiltered_markers.positions
    columns = [inputs.unfiltered_markers.labels.index(label) for label in inputs.fit.labels]
    model = inputs.model
    wrenches = inputs.dynamics.foot_wrenches
    change = np.zeros_like(wrenches)
    cutoff_hz, bias = inputs.cutoff_hz, None
    if "marker_noise" in sources:
        raw = raw.copy()
        raw[:, columns] += noise_m[:, None] * rng.normal(size=raw[:, columns].shape)
    if "soft_tissue" in sources:
        raw = raw.copy()
        raw[:, columns] += skin_movement(inputs, magnitudes, [marker.body for marker in model.markers], rng)
    if "joint_centres" in sources:
        for body in inputs.model.moving_segments:
            sd = inputs.centre_sd(body.definition.name, magnitudes)
            if sd.any():
                model = with_misplaced_centre(model, body.definition.name, sd * rng.normal(size=3))
    if "inertias" in sources:
        model = drawn_inertias(model, magnitudes, rng)
    if "centre_of_pressure" in sources:
        shift = magnitudes.centre_of_pressure_m * rng.normal(size=(wrenches.shape[1], 3)) * (1.0, 0.0, 1.0)
        change[:, :, :3] += np.cross(shift, wrenches[:, :, 3:])
        shared = shared_load_errors(inputs)
        change += np.tensordot(rng.normal(size=len(shared)), shared, axes=1)
    if "cutoff" in sources:
        cutoff_hz = max(cutoff_hz + magnitudes.cutoff_sd_hz(cutoff_hz) * rng.normal(), LOWEST_CUTOFF_HZ)
        force = max(inputs.force_cutoff_hz + cutoff_hz - inputs.cutoff_hz, LOWEST_CUTOFF_HZ)
        change += filtered_wrenches(inputs, force) - filtered_wrenches(inputs, inputs.force_cutoff_hz)
        marker_bias, wrench_bias = filter_bias(inputs)
        size = rng.normal()
        change += size * wrench_bias
        bias = size * marker_bias
    return Drawn(raw, model, change, cutoff_hz, bias)


def drawn_inertias(model: SubjectModel, magnitudes: Magnitudes, rng: np.random.Generator) -> SubjectModel:
    """Draw other segment inertias: each kind of segment gains or loses mass, and all are scaled back to the body's mass."""
    inertias = {}
    for group in group_segments_by_kind(model):
        factor = 1.0 + magnitudes.mass_share * rng.normal()
        step = magnitudes.com_m * rng.normal(size=3) * (1.0, 1.0, 0.0)
        turn = 1.0 + magnitudes.moment_share * rng.normal()
        for name in group:
            one = next(body.inertia for body in model.bodies if body.definition.name == name)
            inertias[name] = scale_mass(replace(one, com=one.com + step, tensor=one.tensor * turn), factor)
    total = sum(inertia.mass for inertia in inertias.values())
    scale = model.mass_kg / total
    return with_inertias(model, {name: scale_mass(inertia, scale) for name, inertia in inertias.items()})


def repeated_fit(inputs: TrialInputs, drawn: Drawn) -> Fit:
    """Return the fit of one draw to its unfiltered markers."""
    geometry_changed = drawn.model.markers is not inputs.model.markers
    if geometry_changed or drawn.cutoff_hz != inputs.cutoff_hz or drawn.raw is not inputs.unfiltered_markers.positions:
        smooth = butterworth_lowpass(drawn.raw, inputs.rate_hz, drawn.cutoff_hz, inputs.filter_order)
        smooth += 0.0 if drawn.bias is None else drawn.bias
        smooth[np.isnan(inputs.markers.positions)] = np.nan  # what was left out stays out
        return inputs.refit(drawn.model, replace(inputs.markers, positions=smooth))
    return replace(inputs.fit, model=drawn.model)


def repeated_torques(inputs: TrialInputs, drawn: Drawn, fit: Fit) -> FloatArray:
    """Return the torques (T, C) Nm of one draw with its fit."""
    return solve_dynamics(fit, _changed(inputs, drawn.wrench_change)).torques


def _changed(inputs: TrialInputs, change: FloatArray) -> GroundReaction:
    sides = [side for side in inputs.reaction.wrench if side in inputs.model.sole_body]
    wrench = {side: inputs.reaction.wrench[side] + change[:, foot] for foot, side in enumerate(sides)}
    return replace(inputs.reaction, wrench={**inputs.reaction.wrench, **wrench})


def spread(
    inputs: TrialInputs,
    magnitudes: Magnitudes,
    noise_m: FloatArray,
    sources: Sequence[str],
    runs: int,
    seed: int,
) -> FloatArray:
    """Return the standard deviation (T, C) of the torques over `runs` draws of the named sources."""
    rng = np.random.default_rng(seed)
    drawn = (draw(inputs, magnitudes, noise_m, sources, rng) for _ in range(runs))
    draws = [repeated_torques(inputs, one, repeated_fit(inputs, one)) for one in drawn]
    return np.asarray(np.std(draws, axis=0, ddof=1))


# -- What a shift of known size does to the torques: the experiments of the literature, to compare sizes with.
#
# McCaw & DeVita 1995 moved the centre of pressure and looked at the largest torques of either direction and the angular
# impulses in
# stance; Stagni et al. 2000 moved the hip centre and looked at the hip moment.


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
    for body in model.moving_segments:
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
