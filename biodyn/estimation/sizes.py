"""How much each measurement counts: the noise of the markers, and the smoothness of the motion that they ask for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.estimation.parameters import EstimationSettings
from biodyn.model.body_model import SubjectModel
from biodyn.processing.signals.filtering import measured_noise
from biodyn.processing.signals.smoothing.spline import chosen_cutoffs, stiffness
from biodyn.uncertainty.inputs import TrialInputs
from biodyn.uncertainty.magnitudes import Magnitudes

# Segments that no marker shows move with the stride: the second harmonic of a fast one, and little above.
_CARRIED_HZ = 3.0
_BENT = 3  # the derivative that is held small, as in the smoothing spline
# What settings of errors are given for: a frame of this length. Others count in proportion.
FRAME_S = 0.01
# A coordinate keeps to where it was fitted within this where its markers tell it well, and the closer the less they tell.
_KEPT_RAD = np.radians(2.0)
_KEPT_LEVER_M = 0.06
_AT_LIMIT_RAD = np.radians(0.1)
_LIMIT_TOLERANCE_RAD = 1e-6
# Expected error of the balance of moments in a hundredth of a second, Nm.
MOMENT_SD_NM = 1.5
# Factor on the smoothness that the markers themselves ask for.
_SMOOTHNESS = 5.0
# Time over which errors of the body model stay alike, s.
_CORRELATION_S = 0.07
# Knots of the estimated trajectory, 1/s.
KNOTS_HZ = 100.0
# Share of the variance of the torques' changes at foot strikes that all strikes of a person have in common.
_STRIKES_ALIKE = 0.9


@dataclass(frozen=True)
class Sizes:
    """Standard deviations and weights of one trial.

    Attributes:
        marker_sd_m: (M,) error of each fitted marker in a frame, an axis.
        stiffness: (nv,) of the smoothing spline with the cut-off that the markers of the segment ask for.
        balance: (6,) [moment; force], Nm and N, error of the balance of the whole body in a frame: as expected, later as found.
        strikes_alike_share: of the variance of the torques' changes at strikes, that all strikes have in common.
        alike_frames: how many frames a model's error stays alike.
        unseen_sd_rad: (nv,) of coordinates whose motion is assumed; infinite for others.
    """

    marker_sd_m: FloatArray
    stiffness: FloatArray
    balance: FloatArray
    strikes_alike_share: float
    alike_frames: float
    unseen_sd_rad: FloatArray


def knot_step(rate_hz: float) -> int:
    """Return how many frames lie between two knots."""
    return max(round(rate_hz / KNOTS_HZ), 1)


def sizes_of(inputs: TrialInputs, settings: EstimationSettings, magnitudes: Magnitudes) -> Sizes:
    """Return the sizes for a trial: noise and smoothness are its own, the others come from the settings."""
    model, rate_hz = inputs.model, inputs.rate_hz
    raw = inputs.fitted(inputs.raw)
    noise = np.fmax(
        measured_noise(raw, rate_hz, magnitudes.noise_from_hz, inputs.filter_order), magnitudes.marker_noise_m
    )
    cutoffs = coordinate_cutoffs(model, chosen_cutoffs(raw, rate_hz), inputs.cutoff_hz)
    frame = np.sqrt(FRAME_S * rate_hz)
    alike = max(2.0 * _CORRELATION_S * rate_hz, 1.0)
    return Sizes(
        marker_sd_m=np.hypot(noise, settings.marker_sd_m * frame),
        stiffness=_SMOOTHNESS * np.array([stiffness(hz, rate_hz, _BENT) for hz in cutoffs]),
        balance=frame * np.repeat([MOMENT_SD_NM, settings.force_sd_n], 3),
        strikes_alike_share=_STRIKES_ALIKE,
        alike_frames=alike,
        unseen_sd_rad=_unseen(model, magnitudes) * frame,
    )


def balance_of(sizes: Sizes, rate_hz: float) -> tuple[float, float]:
    """Return the error of the balance of forces, N, and of moments, Nm, as the settings give it: in a hundredth of a second."""
    force, moment = sizes.balance[[3, 0]] / np.sqrt(FRAME_S * rate_hz)
    return float(force), float(moment)


def coordinate_cutoffs(model: SubjectModel, marker_hz: FloatArray, otherwise_hz: float) -> FloatArray:
    """Return the cut-off (nv,) of each coordinate: the mean of the markers on its segment, else on the next towards the root."""
    parent = {body.definition.name: body.definition.parent for body in model.bodies}
    of_body: dict[str, list[float]] = {}
    for marker, hz in zip(model.markers, marker_hz, strict=True):
        if np.isfinite(hz):
            of_body.setdefault(marker.body, []).append(float(np.log(hz)))
    every = [value for values in of_body.values() for value in values] or [float(np.log(otherwise_hz or 6.0))]

    def cutoff(name: str) -> float:
        while name and name not in of_body:
            name = parent[name]
        return float(np.exp(np.mean(of_body[name] if name else every)))

    result = np.full(model.multibody.nv, cutoff(model.skeleton.root.name))
    for coordinate in model.coordinates:
        result[coordinate.v_index] = cutoff(coordinate.body)
    for coordinate in model.assumed:
        result[coordinate.v_index] = _CARRIED_HZ
    return result


def kept(model: SubjectModel, q: FloatArray, lever_m: FloatArray, sizes: Sizes) -> FloatArray:
    """Return the precision (T, nv) with which coordinates keep to where they were fitted, 1/rad^2 and 1/m^2.

    lever_m: (T, nv) how far the markers move for one radian of a coordinate that nothing else undoes. One that rests on its
    limit stays there; one that is assumed keeps to its assumption within what is known of people.
    """
    sd = np.full(q.shape[:1] + (model.multibody.nv,), 1e3)
    for coordinate in model.coordinates:
        at = coordinate.v_index
        sd[:, at] = _KEPT_RAD / (1.0 + (_KEPT_LEVER_M / np.maximum(lever_m[:, at], 1e-3)) ** 2)
        sd[_resting(q[:, coordinate.q_index], coordinate.range_rad), at] = _AT_LIMIT_RAD
    sd = np.where(np.isfinite(sizes.unseen_sd_rad), sizes.unseen_sd_rad, sd)
    return 1.0 / sd**2


def _resting(angle: FloatArray, range_rad: tuple[float, float]) -> BoolArray:
    low, high = range_rad
    return np.asarray((angle <= low + _LIMIT_TOLERANCE_RAD) | (angle >= high - _LIMIT_TOLERANCE_RAD))


def _unseen(model: SubjectModel, magnitudes: Magnitudes) -> FloatArray:
    """SD (nv,) rad of assumed coordinates: the root mean square of their segment's three axes."""
    result = np.full(model.multibody.nv, np.inf)
    for coordinate in model.assumed:
        offset, stride = magnitudes.unseen_rad.get(coordinate.body, (np.zeros(3), np.zeros(3)))
        sd = float(np.sqrt(np.mean(offset**2 + stride**2)))
        result[coordinate.v_index] = sd or _KEPT_RAD
    return result
