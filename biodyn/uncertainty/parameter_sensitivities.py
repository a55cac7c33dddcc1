"""Sensitivity of joint positions, and of parameters estimated together with the motion, to all errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from biodyn.conventions import FloatArray, IntArray
from biodyn.rigid_body import body_poses, inertia_sensitivities
from biodyn.uncertainty.error_sources import MarkerTree, MotionFrames, Source, to_single_precision
from biodyn.uncertainty.fit_responses import (
    SmoothedResponse,
    central_differences,
    frame_fit_response,
    rotation_rates,
    torque_response,
    torque_weights,
    weights_in_segment_axes,
)

# -- Standard deviation of the positions of joints and ends of segments, from the same errors as the uncertainty of the torques
#
# An error changes the fitted configuration by a step xi (`fit_responses`), and a point of the body by J xi. A model error
# (e.g. of a joint centre) also moves the point at the same configuration. The largest principal standard deviation of
# each point is stored.

#: Interval of the computed frames; positions change little within 80 ms.
RATE_HZ = 12.5


@dataclass(frozen=True, eq=False)
class PointUncertainty:
    """Standard deviations of the points of a `StickFigure`.

    Attributes:
        frames: (K,) frame numbers. sd_m: (K, 2 B) largest principal standard deviations, m, joints first.
    """

    frames: IntArray
    sd_m: FloatArray


@dataclass(eq=False)
class PointCovariances:
    """Accumulator of the position covariances of joints and segment ends of a fitted tree, in equally spaced frames."""

    fitted: MarkerTree
    every: int
    frames: list[IntArray] = field(default_factory=list)
    sd_m: list[FloatArray] = field(default_factory=list)

    def computed_indices(self, frames: IntArray) -> IntArray:
        """Return the indices in `frames` (T,) of the frames in which covariances are computed."""
        return np.flatnonzero(frames % self.every == 0)

    def add(
        self,
        frames: IntArray,
        q: FloatArray,
        by_errors: Sequence[tuple[FloatArray, FloatArray]],
        steps: FloatArray,
        models: Mapping[int, tuple[float, MarkerTree]],
    ) -> None:
        """Add frames (K,) with q (K, nq).

        Parameters:
            by_errors: steps (K, nv, N) of the configuration per unit of each error, and variances (K or 1, N) of the errors.
            steps: (K, nv, P) for one standard deviation of each of P parameters.
            models: for columns that are model parameters, number of steps in one SD, and model after one step.
        """
        figure, tree = self.fitted.figure, self.fitted.tree
        J = figure.jacobians(tree, q)
        wide = J.reshape(len(q), -1, J.shape[3])
        covariance = np.zeros((*J.shape[:3], 3))
        for columns, variance in by_errors:
            changes = (wide @ columns).reshape(*J.shape[:3], -1)
            covariance += (changes * variance[:, None, None]) @ changes.transpose(0, 1, 3, 2)
        changes = (wide @ steps).reshape(*J.shape[:3], -1)
        points = figure.points_in_configuration(tree, q)
        for column, (factor, other) in models.items():
            changes[..., column] += factor * (other.figure.points_in_configuration(other.tree, q) - points)
        covariance += changes @ changes.transpose(0, 1, 3, 2)
        self.frames.append(frames)
        self.sd_m.append(largest_principal_sd(covariance))

    def result(self) -> PointUncertainty | None:
        """Return the standard deviations of all points; None if no frame was added."""
        if not self.frames:
            return None
        return PointUncertainty(np.concatenate(self.frames), np.concatenate(self.sd_m))


def largest_principal_sd(covariance: FloatArray) -> FloatArray:
    """Return the standard deviations (...) along the first principal axes of covariances (..., 3, 3)."""
    return np.sqrt(np.maximum(np.linalg.eigvalsh(covariance)[..., -1], 0.0))


# -- Response of estimated parameters (mass centres, masses) to the errors of all other inputs
#
# An estimate of motion and forces attributes the residual of the balance to errors of the inertias. Any other error
# with a residual, for example of a joint centre, also changes these parameters and thus the torques: if the joint of
# the trunk is a centimetre too far left, its mass centre is estimated some millimetres too far right. With the
# residual r (T, 6) of force and moment caused by an error, the residual E (T, 6, P) of one standard deviation of each
# parameter, W (T, 6) the precision of the balance and B = 1 the prior precision of the parameters,
#
#     x = -(E^T W E + B)^-1 E^T W r
#
# is the change of the parameters, which changes the torques in addition. The motion is fixed: it responds to residuals that
# oscillate, parameters to those that persist.

_ROOT = np.arange(6)


@dataclass(frozen=True)
class ParameterEffects:
    """Effects of estimated parameters (in units of their prior SDs) on the equations of motion, and where they were estimated.

    Attributes:
        parameters: (10 B, N) change of the `inertial_parameters` of the model by a unit of each inertia.
        precision: (T, 6) of the balance of the whole body, [moment; force] in axes of the root; 0 = no information.
        rate_hz: marker rate.
    """

    parameters: FloatArray
    precision: FloatArray
    rate_hz: float

    def information_frames(self, every_s: float = 0.04) -> IntArray:
        """Return frames every `every_s` seconds from the first to the last frame with information about the parameters."""
        informative = np.flatnonzero(self.precision.any(axis=1))
        step = max(round(every_s * self.rate_hz), 1)
        return np.arange(informative[0], informative[-1] + 1, step) if len(informative) else informative

    def effects(self, frames: MotionFrames) -> FloatArray:
        """Return the change of the generalised forces `frames.rows`, then of powers, by a unit of each parameter, (T, R, N)."""
        tree = frames.inputs.model.multibody
        effects = inertia_sensitivities(tree, frames.q, frames.v, frames.vdot, self.parameters)
        return frames.append_powers(effects[:, frames.rows])


@dataclass(frozen=True)
class SoftTissue:
    """Soft-tissue movement of markers along the axes of their segments.

    shares: fractions of its variance, first the offset, then the harmonics of the stride. sd_m: (M, N) m for N independent
    movements of one marker, or of all markers of a segment together.
    """

    sd_m: FloatArray
    shares: tuple[float, ...]
    stride_s: float


@dataclass(frozen=True)
class ParameterSensitivities:
    """Response of P estimated parameters to the errors of all inputs.

    Attributes:
        by_column: (P, N) response to one SD of each of the N parameters, by source.
        to_soft_tissue, to_noise: (P, P) covariances of the responses to marker movement and to the noise of the balance.
    """

    effects: ParameterEffects
    by_column: Mapping[str, FloatArray]
    to_soft_tissue: FloatArray
    to_noise: FloatArray

    def torques(self, frames: MotionFrames) -> tuple[dict[str, FloatArray], FloatArray, FloatArray]:
        """Return the changes of torques by source (T, R, N), and variances (T, R) by soft tissue and noise through the
        parameters.

        Computed in single precision, which is sufficient for standard deviations with three digits.
        """
        effects = to_single_precision(self.effects.effects(frames))
        changes = {name: effects @ to_single_precision(x) for name, x in self.by_column.items()}
        tissue, noise = (
            np.sum((effects @ to_single_precision(part)) * effects, axis=2)
            for part in (self.to_soft_tissue, self.to_noise)
        )
        return changes, tissue, noise


def parameter_sensitivities(
    parameters: ParameterEffects,
    frames: MotionFrames,
    sources: Mapping[str, Source],
    smoothed: SmoothedResponse,
    tissue: SoftTissue,
) -> ParameterSensitivities:
    """Return the response of the estimated parameters to the errors of all inputs; frames: their `information_frames`."""
    frames = replace(frames, rows=_ROOT, joints=np.zeros((0, len(_ROOT))))
    inputs, mb = frames.inputs, frames.inputs.model.multibody
    effects, apart = parameters.effects(frames), int(frames.at[1] - frames.at[0])
    weighted = effects * (apart * parameters.precision[frames.at])[:, :, None]
    weighted = weighted.reshape(-1, weighted.shape[2]).T  # (P, 6 T)
    information = weighted @ effects.reshape(weighted.shape[1], -1)
    covariance = np.linalg.inv(information + np.eye(len(information)))
    inverse_hessian, by_markers = frame_fit_response(frames, smoothed=smoothed)
    links = inputs.dynamics.foot_wrench_links
    G = torque_response(mb, frames.q, frames.v, frames.vdot, frames.wrenches, links, frames.rows)
    rate_hz = inputs.rate_hz / apart
    by_column = {}
    for name, source in sources.items():
        column = smoothed.source_effects(name, source, frames)
        change = column.torque
        if column.gradient.shape[2]:
            step = -inverse_hessian @ column.gradient
            change = change + sum(
                part @ rate for part, rate in zip(G, (step, *central_differences(step, rate_hz)), strict=True)
            )
        by_column[name] = -covariance @ (weighted @ change.reshape(weighted.shape[1], -1))
    of_tissue = covariance @ _gradients_of_soft_tissue(frames, weighted, G, by_markers, tissue, rate_hz)
    return ParameterSensitivities(parameters, by_column, of_tissue @ of_tissue.T, covariance @ information @ covariance)


def _gradients_of_soft_tissue(
    frames: MotionFrames,
    weighted: FloatArray,
    G: tuple[FloatArray, ...],
    by_markers: FloatArray,
    tissue: SoftTissue,
    rate_hz: float,
) -> FloatArray:
    """Return the gradients (P, N) of the parameters for one standard deviation of each part of the soft-tissue movement.

    by_markers: (T, nv, 3, M) response of the fit to its markers.
    A part is the offset, the cosine or the sine of a harmonic of the stride, of one marker along one axis of its segment.
    """
    model = frames.inputs.model
    links = model.marker_arrays()[0]
    R = body_poses(model.multibody, frames.q)[0]
    every = slice(0, len(frames.at))
    g = weights_in_segment_axes(torque_weights(G, by_markers, every, rate_hz), rotation_rates(R, links, rate_hz))
    axes = np.moveaxis(R[:, links], 1, 3)[:, None]  # (T, 1, World's axis, the segment's, M)
    of_segment = [np.einsum("trbm,tkbam->tram", part.reshape(*part.shape[:2], 3, -1), axes) for part in g]
    time_s = frames.at / frames.inputs.rate_hz
    gradients = []
    for k, share in enumerate(tissue.shares):
        w = 2.0 * np.pi * k / tissue.stride_s
        for phase in (0.0, -0.5 * np.pi) if k else (0.0,):
            angle = w * time_s + phase
            shape = np.stack([np.cos(angle), -w * np.sin(angle), -(w**2) * np.cos(angle)])
            change = sum(part * rate[:, None, None, None] for part, rate in zip(of_segment, shape, strict=True))
            gradients.append(np.sqrt(share) * weighted @ (change @ tissue.sd_m).reshape(weighted.shape[1], -1))
    return np.concatenate(gradients, axis=1)
