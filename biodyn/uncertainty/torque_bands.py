"""Standard deviations of joint torques and joint powers in every frame, by source and in total."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import scipy

from biodyn.conventions import BoolArray, FloatArray, IntArray, with_side, without_side
from biodyn.model.body_model import SubjectModel
from biodyn.processing.kinematics.visibility import VISIBILITY_RAMP_S, visibility_weights
from biodyn.processing.signals.filtering import finite_stretches
from biodyn.rigid_body import body_poses
from biodyn.uncertainty import error_sources
from biodyn.uncertainty.error_sources import (
    ErrorEffects,
    MarkerMoments,
    MarkerTree,
    MotionFrames,
    Source,
    marker_moments,
    noise_variance,
    pose_offset_error_effects,
    to_single_precision,
)
from biodyn.uncertainty.fit_responses import (
    SmoothedResponse,
    append_power_rows,
    assumed_motion_steps,
    assumed_motion_variance,
    central_differences,
    frame_fit_response,
    model_marker_positions,
    regularised_coordinates,
    rotation_rates,
    torque_response,
    torque_weights,
    weights_in_segment_axes,
)
from biodyn.uncertainty.parameter_sensitivities import (
    RATE_HZ,
    ParameterEffects,
    ParameterSensitivities,
    PointCovariances,
    PointUncertainty,
    SoftTissue,
    parameter_sensitivities,
)
from biodyn.uncertainty.propagation_inputs import Magnitudes, TrialInputs, load_magnitudes
from biodyn.uncertainty.settings import UncertaintySettings

_BY_COLUMN: dict[str, Callable[[TrialInputs, Magnitudes], Source]] = {
    "joint_centres": error_sources.joint_centre_error_effects,
    "inertias": error_sources.inertia_error_effects,
    "centre_of_pressure": error_sources.centre_of_pressure_error_effects,
    "cutoff": error_sources.cutoff_error_effects,
}
# White noise, and movement with the stride, of markers or of measured poses.
_OF_MARKERS, _OF_POSES = ("marker_noise", "soft_tissue"), ("pose_noise", "pose_errors")
#: Sources of error of every trial with markers, in the order of tables.
SOURCES = (*_OF_MARKERS, *_BY_COLUMN)
#: Source of error of trials in which the motion of some segment is assumed.
UNSEEN = "unseen_segments"
#: Number of frames computed at a time, which limits the memory for long trials.
BLOCK_FRAMES = 256
_MARGIN_FRAMES = 2  # margin of the difference formula on both sides, frames
_LEAST_FRAMES = 2 * _MARGIN_FRAMES + 1


@dataclass(frozen=True)
class TorqueUncertainty:
    """Standard deviations of the joint torques and joint powers.

    Attributes:
        coordinates: names (C,). joints: names (J,), with the side.
        by_source: (T, C) Nm for each source, NaN without a torque.
        power_by_source: (T, J) W for each source, NaN without a power; includes the correlation of torques and angular
            velocities.
        noise_m: noise of each fitted marker (M,), or of the origin of each segment with a measured pose (S,), m per axis.
        turn_noise_rad: noise (S,) of the attitudes of these segments, rad per axis; None for markers.
        places: standard deviations of the positions of joints and segment ends, from all sources; None if not computed.
    """

    coordinates: tuple[str, ...]
    by_source: Mapping[str, FloatArray]
    noise_m: FloatArray
    turn_noise_rad: FloatArray | None = None
    places: PointUncertainty | None = None
    joints: tuple[str, ...] = ()
    power_by_source: Mapping[str, FloatArray] = field(default_factory=dict)

    @property
    def total(self) -> FloatArray:
        """Standard deviation (T, C) Nm of the torques from all sources, which are independent."""
        return root_sum_of_squares(self.by_source)

    @property
    def total_power(self) -> FloatArray:
        """Standard deviation (T, J) W of the joint powers from all sources."""
        return root_sum_of_squares(self.power_by_source)


def root_sum_of_squares(by_source: Mapping[str, FloatArray]) -> FloatArray:
    """Return the total standard deviation of independent sources: the root of the sum of squares of the arrays by source."""
    variance = np.zeros(next(iter(by_source.values())).shape)
    for sd in by_source.values():
        variance += sd**2
    return np.sqrt(variance, out=variance)


def torque_bands(
    inputs: TrialInputs,
    settings: UncertaintySettings,
    noise_in_torques: bool = True,
    constants: ParameterEffects | None = None,
    scale: Mapping[Any, float] | None = None,
) -> TorqueUncertainty | None:
    """Return the uncertainty of the torques of a trial, None if it is switched off; see `torque_uncertainty`."""
    if not settings.compute:
        return None
    magnitudes = load_magnitudes(settings.magnitudes)
    return torque_uncertainty(inputs, magnitudes, scale, noise_in_torques=noise_in_torques, constants=constants)


def torque_uncertainty(
    inputs: TrialInputs,
    magnitudes: Magnitudes,
    scale: Mapping[Any, float] | None = None,
    block_frames: int = BLOCK_FRAMES,
    subtract_noise: bool = True,
    noise_in_torques: bool = True,
    constants: ParameterEffects | None = None,
) -> TorqueUncertainty:
    """Propagate the errors of all inputs to the torques.

    Parameters:
        scale: factor on the standard deviation of each source by name (see `SOURCES`); 0 excludes the source.
        block_frames: number of frames computed at a time; affects only memory and time.
        subtract_noise: the signal removed by the filter is estimated from noisy markers; True subtracts the known contribution
            of the noise from its square. False for comparisons with repeated analyses, which cannot subtract it.
        noise_in_torques: False if the caller has a better estimate of the effect of noise on the torques, which is then 0 in
            the result. The joint positions always include it.
        constants: parameters that were estimated with the motion and respond to all errors; the effect of noise on them counts
            as noise.
    """
    names = error_source_names(inputs)
    factor = {name: (scale or {}).get(name, 1.0) for name in names}
    moving = np.asarray(np.isfinite(inputs.fit.motion.vdot).all(axis=1))
    errors, frames_at = _prepare_errors(inputs, magnitudes, factor, moving, constants)
    errors = replace(errors, subtract_noise=subtract_noise, noise_in_torques=noise_in_torques)
    model, markers = inputs.model, errors.markers
    joints, belongs = joint_coordinate_matrix(model)
    shape = (len(moving), len(model.coordinates) + len(joints))
    variance = {name: np.zeros(shape) for name in names}
    of_filter = np.zeros(shape)
    near_frames = round(inputs.rate_hz / inputs.cutoff_hz) if inputs.cutoff_hz else 1
    points = PointCovariances(MarkerTree.from_model(model), max(round(inputs.rate_hz / RATE_HZ), 1))
    for first, stop in finite_stretches(moving):
        if stop - first < _LEAST_FRAMES:
            continue
        for block, wide in frame_blocks(first, stop, block_frames):
            inner = slice(block.start - wide.start, block.stop - wide.start)
            of_block, share = _propagate(frames_at(np.arange(wide.start, wide.stop)), inner, errors, points)
            of_filter[block] = share[inner]
            for name, part in of_block.items():
                variance[name][block] = part[inner]
        stretch = slice(first, stop)
        of_filter[stretch] = scipy.ndimage.uniform_filter1d(of_filter[stretch], near_frames, axis=0, mode="nearest")
    variance["cutoff"] = np.maximum(variance["cutoff"] + np.maximum(of_filter, 0.0), 0.0)
    missing = np.isnan(inputs.dynamics.torques)
    missing = np.hstack([missing, missing.astype(float) @ belongs.T > 0.0])
    of_all = {name: np.where(missing, np.nan, factor[name] * np.sqrt(variance.pop(name))) for name in names}
    count = len(model.coordinates)
    noise = markers.noise_m if markers.poses is None else markers.noise_m[: len(markers.poses.groups)]
    return TorqueUncertainty(
        coordinates=tuple(coordinate.name for coordinate in model.coordinates),
        by_source={name: sd[:, :count] for name, sd in of_all.items()},
        noise_m=noise,
        turn_noise_rad=None if markers.poses is None else markers.noise_m[len(noise) :],
        places=points.result(),
        joints=joints,
        power_by_source={name: sd[:, count:] for name, sd in of_all.items()},
    )


def joint_coordinate_matrix(model: SubjectModel) -> tuple[tuple[str, ...], FloatArray]:
    """Return the names (J,) of the joints with free coordinates, and a matrix (J, C): 1 for the coordinates of each joint, else
    0."""
    definitions = [body.definition for body in model.moving_segments]
    names = [with_side(without_side(each.joint, each.side), each.side) for each in definitions]
    of_body = {definition.name: row for row, definition in enumerate(definitions)}
    belongs = np.zeros((len(names), len(model.coordinates)))
    for column, coordinate in enumerate(model.coordinates):
        if coordinate.body in of_body:
            belongs[of_body[coordinate.body], column] = 1.0
    return tuple(names), belongs


@dataclass(frozen=True, eq=False)
class _TrialErrors:
    """Properties of the errors of a trial that are the same in every block of frames.

    `sources`: sources with columns. `factor`: factor on the standard deviation of every source. `markers`: random errors of the
    markers. `smoothed`: response of regularised coordinates. `sensitivities`: to estimated parameters. For the others see
    `torque_uncertainty`.
    """

    sources: Mapping[str, Source]
    factor: Mapping[str, float]
    markers: MarkerMoments
    magnitudes: Magnitudes
    smoothed: SmoothedResponse
    sensitivities: ParameterSensitivities | None
    subtract_noise: bool = True
    noise_in_torques: bool = True


def _prepare_errors(
    inputs: TrialInputs,
    magnitudes: Magnitudes,
    factor: Mapping[str, float],
    moving: BoolArray,
    constants: ParameterEffects | None,
) -> tuple[_TrialErrors, Callable[[IntArray], MotionFrames]]:
    """Return the errors of a trial, and a function that returns some of its frames; `moving` (T,): frames with accelerations."""
    model, motion = inputs.model, inputs.fit.motion
    rows = np.array([coordinate.v_index for coordinate in model.coordinates], dtype=np.int64)
    seen = np.isfinite(inputs.fit.marker_error)
    weights = np.where(seen, inputs.marker_weights(seen), 0.0)
    ramp_frames = round(VISIBILITY_RAMP_S * inputs.rate_hz)
    held, stretches = regularised_coordinates(
        model, motion.q, visibility_weights(seen, ramp_frames), ramp_frames, inputs.rate_hz
    )
    markers, (_, belongs) = marker_moments(inputs, magnitudes), joint_coordinate_matrix(model)
    sources = {name: make(inputs, magnitudes) for name, make in _error_source_builders(inputs).items() if factor[name]}

    def select_frames(at: IntArray) -> MotionFrames:
        return MotionFrames(
            inputs=inputs,
            at=at,
            rows=rows,
            q=motion.q[at],
            v=motion.v[at],
            vdot=motion.vdot[at],
            wrenches=inputs.dynamics.foot_wrenches[at],
            seen_at=inputs.fitted_positions(inputs.markers, at),
            weights=weights[at],
            held=held[at],
            joints=belongs,
        )

    def compute_response(at: IntArray) -> tuple[FloatArray, dict[str, FloatArray]]:
        frames = select_frames(at)
        inverse_hessian, by_markers = frame_fit_response(frames)
        steps = {name: -inverse_hessian @ source(frames).gradient for name, source in sources.items()}
        return by_markers, steps

    smoothed = SmoothedResponse.from_response(
        tuple(each for each in stretches if moving[list(each.adjacent_frames)].all()), compute_response
    )
    sensitivities = None
    if constants is not None:
        frames = constants.information_frames()
        frames = frames[moving[frames]]
        if len(frames) >= _LEAST_FRAMES:
            stride_s = inputs.stride_s if np.isfinite(inputs.stride_s) else magnitudes.stride_s
            tissue = SoftTissue(
                np.column_stack([np.diag(markers.skin_m), markers.common_m]), magnitudes.shares, stride_s
            )
            sensitivities = parameter_sensitivities(constants, select_frames(frames), sources, smoothed, tissue)
    return _TrialErrors(sources, factor, markers, magnitudes, smoothed, sensitivities), select_frames


def error_source_names(inputs: TrialInputs) -> tuple[str, ...]:
    """Return the sources of error of a trial, in the order of tables."""
    names = (*(_OF_MARKERS if inputs.poses is None else _OF_POSES), *_BY_COLUMN)
    return (*names, UNSEEN) if inputs.model.assumed else names


def _error_source_builders(inputs: TrialInputs) -> dict[str, Callable[[TrialInputs, Magnitudes], Source]]:
    return _BY_COLUMN if inputs.poses is None else {_OF_POSES[1]: pose_offset_error_effects, **_BY_COLUMN}


def frame_blocks(first: int, stop: int, size: int) -> list[tuple[slice, slice]]:
    """Split the frames first .. stop - 1 into blocks of about `size`; return each block without and with margins.

    With the margins, the finite differences of every block equal those of the whole stretch.
    """
    count = max(round((stop - first) / max(size, _LEAST_FRAMES)), 1)
    edges = np.linspace(first, stop, count + 1).round().astype(int).tolist()
    return [
        (slice(low, high), slice(max(low - _MARGIN_FRAMES, first), min(high + _MARGIN_FRAMES, stop)))
        for low, high in pairwise(edges)
    ]


def _propagate(
    frames: MotionFrames, inner: slice, errors: _TrialErrors, points: PointCovariances
) -> tuple[dict[str, FloatArray], FloatArray]:
    """Return the variances (T, C) by source in a block of frames; margins outside `inner` are for differences only.

    `points` collects the positions of the joints. The second result (T, C) is the square of the last column of the source that
    is estimated from noisy markers, minus the known contribution of the noise. It is inaccurate in a single frame (near zero or
    negative), but accurate on average over a period of the filter.
    """
    inputs, count = frames.inputs, len(frames.at)
    markers, smoothed, sensitivities = errors.markers, errors.smoothed, errors.sensitivities
    mb, rate_hz = inputs.model.multibody, inputs.rate_hz
    random, moving = _OF_MARKERS if markers.poses is None else _OF_POSES
    shape = (count, len(frames.rows) + len(frames.joints))
    variance = {name: np.zeros(shape) for name in error_source_names(inputs)}
    columns = {name: smoothed.source_effects(name, source, frames) for name, source in errors.sources.items()}
    gradient = np.concatenate([column.gradient for column in columns.values()], axis=2) if columns else None
    G = torque_response(
        mb, frames.q, frames.v, frames.vdot, frames.wrenches, inputs.dynamics.foot_wrench_links, frames.rows
    )
    G = append_power_rows(G, frames, inputs.dynamics.torques[frames.at])
    if inputs.model.assumed:
        variance[UNSEEN] = assumed_motion_variance(inputs.model, frames.q, G, errors.magnitudes, inputs.stride_s)
    steps = np.zeros((count, mb.nv, 0 if gradient is None else gradient.shape[2]))
    of_links = inputs.model.marker_arrays()[0]
    if markers.poses is not None:
        of_links = of_links[np.tile(markers.poses.groups[:, 0], 2)]
    turning = rotation_rates(body_poses(mb, frames.q)[0], of_links, rate_hz)
    markers_at = model_marker_positions(inputs.model, frames.q)
    known = {name: np.zeros_like(variance[name]) for name in columns}
    wanted, by_markers = points.computed_indices(frames.at), []
    wanted = wanted[(wanted >= inner.start) & (wanted < inner.stop)]
    cached_frames = 64  # block size with which the largest arrays fit in the processor cache
    for block, wide in frame_blocks(0, count, cached_frames):
        core = slice(block.start - wide.start, block.stop - wide.start)
        inverse_hessian, A = frame_fit_response(frames, wide, smoothed)
        if gradient is not None:
            steps[block] = -inverse_hessian[core] @ gradient[block]
        rows = tuple(to_single_precision(part[block]) for part in G)
        if markers.poses is not None:
            A = markers.poses.shift_and_rotation_response(A, to_single_precision(markers_at[wide]))
        by_markers.append(A[core][wanted[(wanted >= block.start) & (wanted < block.stop)] - block.start])
        g = torque_weights(rows, A, core, rate_hz)
        if errors.noise_in_torques:
            variance[random][block] = noise_variance(g, markers.noise[frames.at[block]], markers.noise_m)
        for name, column in columns.items():
            for moments in column.noise if errors.subtract_noise else ():
                known[name][block] += noise_variance(g, markers.expand_moments(moments[block]), markers.noise_m)
        skin = weights_in_segment_axes(g, (turning[0][block], turning[1][block]))
        variance[moving][block] = markers.skin_variance(skin)
    if len(wanted):
        _add_joint_positions(points, frames, wanted, np.concatenate(by_markers), steps[wanted], errors, columns)
    motion = (steps, *central_differences(steps, rate_hz))
    if sensitivities is not None:
        by_parameters, through_skin, through_noise = sensitivities.torques(frames)
        variance[random], variance[moving] = variance[random] + through_noise, variance[moving] + through_skin
    # Over a period of the filter a square estimated from noise has one or two degrees of freedom. Because the noise of
    # poses can be large, only the excess over twice the known contribution is more than noise.
    noise_factor = 1.0 if markers.poses is None else 2.0
    of_filter = np.zeros(shape)
    at = 0
    for name, column in columns.items():
        here = slice(at, at + column.gradient.shape[2])
        at = here.stop
        change, by_motion = frames.append_powers(column.torque), np.zeros(1)
        if here.stop > here.start:
            by_motion = np.asarray(sum(part @ step[:, :, here] for part, step in zip(G, motion, strict=True)))
            change = change + by_motion
        if sensitivities is not None:
            change = change + by_parameters[name]
        variance[name] = variance[name] + np.sum(change**2, axis=2)
        if column.noise and errors.subtract_noise:
            through_markers = np.sum(by_motion[:, :, -len(column.noise) :] ** 2, axis=2)
            variance[name] -= through_markers
            of_filter += through_markers - noise_factor * known[name]
    return variance, of_filter


def _add_joint_positions(
    points: PointCovariances,
    frames: MotionFrames,
    at: IntArray,
    by_markers: FloatArray,
    steps: FloatArray,
    errors: _TrialErrors,
    columns: Mapping[str, ErrorEffects],
) -> None:
    """Add the joint positions in the rows `at`; `by_markers`, `steps`: responses of the fit to markers and parameters."""
    markers, factor = errors.markers, errors.factor
    random, moving = _OF_MARKERS if markers.poses is None else _OF_POSES
    noise = markers.noise if len(markers.noise) == 1 else markers.noise[frames.at[at]]
    variance = (factor[random] * markers.noise_m) ** 2 * noise[..., 0]
    variance = variance + (factor[moving] * markers.skin_m) ** 2 * markers.skin[0]
    common = np.tile(factor[moving] ** 2 * markers.skin[0], (len(at), 3 * markers.common_m.shape[1]))
    scaled: list[FloatArray] = []
    models: dict[int, tuple[float, MarkerTree]] = {}
    first = 0
    for name, column in columns.items():
        models |= {first + k: (factor[name] * step, other) for k, (step, other) in enumerate(column.models)}
        stop = first + column.gradient.shape[2]
        scaled.append(factor[name] * steps[:, :, first:stop])
        first = stop
    if UNSEEN in factor:
        model, stride_s = frames.inputs.model, frames.inputs.stride_s
        scaled.append(factor[UNSEEN] * assumed_motion_steps(model, frames.q[at], errors.magnitudes, stride_s))
    response = by_markers.reshape(*by_markers.shape[:2], -1)
    of_markers = [(response, np.tile(variance, 3)), (markers.shared_response(response), common)]
    points.add(frames.at[at], frames.q[at], of_markers, np.concatenate([*scaled, steps[:, :, :0]], axis=2), models)
