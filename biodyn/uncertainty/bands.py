"""One standard deviation of every joint torque in every frame, by source and together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.ndimage import uniform_filter1d

from biodyn.conventions import BoolArray, FloatArray, IntArray
from biodyn.processing.kinematics.visibility import visibility_weights
from biodyn.processing.signals.filtering import finite_stretches
from biodyn.rigid_body import body_poses
from biodyn.uncertainty import error_sources
from biodyn.uncertainty.error_sources import (
    Columns,
    Fitted,
    Frames,
    MarkerMoments,
    Source,
    marker_moments,
    pose_offsets,
    quadratic,
)
from biodyn.uncertainty.inputs import Magnitudes, TrialInputs, load_magnitudes
from biodyn.uncertainty.parameter_sensitivities import (
    RATE_HZ,
    Answers,
    FoundConstants,
    Places,
    PlaceUncertainty,
    Skin,
    answers_of,
    found_places,
)
from biodyn.uncertainty.responses import (
    Towards,
    along_segments,
    fit_of,
    held_coordinates,
    marker_places,
    rates,
    single,
    torque_response,
    torque_weights,
    turning_of,
    unseen_steps,
    unseen_variance,
)
from biodyn.uncertainty.settings import UncertaintySettings

_BY_COLUMN: dict[str, Callable[[TrialInputs, Magnitudes], Source]] = {
    "joint_centres": error_sources.joint_centres,
    "inertias": error_sources.inertias,
    "centre_of_pressure": error_sources.centre_of_pressure,
    "cutoff": error_sources.cutoff,
}
# What is random of single markers, and what moves with the stride; of poses where they were measured instead.
_OF_MARKERS, _OF_POSES = ("marker_noise", "soft_tissue"), ("pose_noise", "pose_errors")
#: Sources of error in the order of tables; of every trial on markers.
SOURCES = (*_OF_MARKERS, *_BY_COLUMN)
#: Of trials in which the motion of some segment is assumed (`unseen`).
UNSEEN = "unseen_segments"
#: Frames whose columns are held at a time: what bounds the memory, whatever the length of the trial.
BLOCK_FRAMES = 256
_CACHED_FRAMES = 64  # keeps the largest arrays in the processor's cache
# Over a period of the filter a square estimated from noise has one or two degrees of freedom: where the noise is as large as that
# of poses can be, only what exceeds it twice is more than noise.
_TWICE = 2.0
_MARGIN_FRAMES = 2  # that the difference formula needs on both sides
_LEAST_FRAMES = 2 * _MARGIN_FRAMES + 1  # that it needs at all


@dataclass(frozen=True)
class TorqueUncertainty:
    """Standard deviations of the joint torques.

    Attributes:
        coordinates: names (C,).
        by_source: per source (T, C) Nm, NaN where there is no torque.
        noise_m: noise taken for each fitted marker (M,), or for the origin of each segment whose pose was measured (S,), m an
            axis. turn_noise_rad: noise (S,) of those segments' attitudes, rad an axis; None of markers.
        places: of joints and segments' ends, of all sources together; None where it was not asked for.
    """

    coordinates: tuple[str, ...]
    by_source: Mapping[str, FloatArray]
    noise_m: FloatArray
    turn_noise_rad: FloatArray | None = None
    places: PlaceUncertainty | None = None

    @property
    def total(self) -> FloatArray:
        """All sources together (T, C) Nm: they are independent, so variances add."""
        variance = np.zeros(next(iter(self.by_source.values())).shape)
        for sd in self.by_source.values():
            variance += sd**2
        return np.sqrt(variance, out=variance)


def torque_bands(
    inputs: TrialInputs,
    settings: UncertaintySettings,
    noise_in_torques: bool = True,
    constants: FoundConstants | None = None,
) -> TorqueUncertainty | None:
    """Return the bands of a trial's torques, None where the settings switch them off; see `torque_uncertainty`."""
    if not settings.compute:
        return None
    magnitudes = load_magnitudes(settings.magnitudes)
    return torque_uncertainty(
        inputs, magnitudes, settings.scale, noise_in_torques=noise_in_torques, constants=constants
    )


def torque_uncertainty(
    inputs: TrialInputs,
    magnitudes: Magnitudes,
    scale: Mapping[Any, float] | None = None,
    block_frames: int = BLOCK_FRAMES,
    noise_taken_off: bool = True,
    noise_in_torques: bool = True,
    constants: FoundConstants | None = None,
) -> TorqueUncertainty:
    """Propagate the errors of all inputs to the torques.

    Parameters:
        scale: multiplies the standard deviation of a source by its name (see `SOURCES`), 0 leaves it out.
        block_frames: how many frames are worked on at a time; of no consequence but memory and time.
        noise_taken_off: what the filter took away is estimated from noisy markers; take the known share of the noise off
            its square. False for comparisons with repeated analyses, which cannot.
        noise_in_torques: False where the caller knows better what noise does to the torques: 0 stands for it then. The places of
            the joints know of it all the same.
        constants: that were found together with the motion, and answer to all errors; what noise does to them counts as noise.
    """
    names = sources_of(inputs)
    factor = {name: (scale or {}).get(name, 1.0) for name in names}
    moving = np.asarray(np.isfinite(inputs.fit.motion.vdot).all(axis=1))
    errors, frames_at = _prepared(inputs, magnitudes, factor, moving, constants)
    errors = replace(errors, noise_taken_off=noise_taken_off, noise_in_torques=noise_in_torques)
    model, markers = inputs.model, errors.markers
    variance = {name: np.zeros((len(moving), len(model.coordinates))) for name in names}
    estimated = np.zeros((len(moving), len(model.coordinates)))
    near_frames = round(inputs.rate_hz / inputs.cutoff_hz) if inputs.cutoff_hz else 1
    fitted, every = Fitted.of(model), max(round(inputs.rate_hz / RATE_HZ), 1)
    unbroken = [(a, b) for a, b in finite_stretches(moving) if b - a >= _LEAST_FRAMES]

    places = Places(fitted, every)
    for first, stop in unbroken:
        for own, wide in blocks(first, stop, block_frames):
            inner = slice(own.start - wide.start, own.stop - wide.start)
            found, share = _propagate(frames_at(np.arange(wide.start, wide.stop)), inner, errors, places)
            estimated[own] = share[inner]
            for name, part in found.items():
                variance[name][own] = part[inner]
        stretch = slice(first, stop)
        estimated[stretch] = uniform_filter1d(estimated[stretch], near_frames, axis=0, mode="nearest")
    variance["cutoff"] = np.maximum(variance["cutoff"] + np.maximum(estimated, 0.0), 0.0)
    missing = np.isnan(inputs.dynamics.torques)
    noise = markers.noise_m if markers.poses is None else markers.noise_m[: len(markers.poses.groups)]
    return TorqueUncertainty(
        coordinates=tuple(coordinate.name for coordinate in model.coordinates),
        by_source={name: np.where(missing, np.nan, factor[name] * np.sqrt(variance[name])) for name in names},
        noise_m=noise,
        turn_noise_rad=None if markers.poses is None else markers.noise_m[len(noise) :],
        places=found_places(places),
    )


@dataclass(frozen=True, eq=False)
class _Errors:
    """What every block of a trial's frames is propagated with: the same in all of them.

    `sources`: a column each. `factor`: of every source's standard deviation. `markers`: what is random of them. `towards`:
    coordinates that are regularised. `answers`: of constants that were found with the motion. The rest: see `torque_uncertainty`.
    """

    sources: Mapping[str, Source]
    factor: Mapping[str, float]
    markers: MarkerMoments
    magnitudes: Magnitudes
    towards: Towards
    answers: Answers | None
    noise_taken_off: bool = True
    noise_in_torques: bool = True


def _prepared(
    inputs: TrialInputs,
    magnitudes: Magnitudes,
    factor: Mapping[str, float],
    moving: BoolArray,
    constants: FoundConstants | None,
) -> tuple[_Errors, Callable[[IntArray], Frames]]:
    """The errors of a trial, and what gives some of its frames to propagate them through; `moving` (T,) have accelerations."""
    model, motion = inputs.model, inputs.fit.motion
    rows = np.array([coordinate.v_index for coordinate in model.coordinates], dtype=np.int64)
    seen = np.isfinite(inputs.fit.marker_error)
    weights = np.where(seen, inputs.marker_weights(seen), 0.0)
    seen_at = inputs.fitted(inputs.markers)
    ramp_frames = round(inputs.visibility_ramp_s * inputs.rate_hz)
    held, stretches = held_coordinates(
        model,
        motion.q,
        visibility_weights(seen, ramp_frames),
        ramp_frames,
        inputs.rate_hz,
        inputs.fit_settings.steady_lever_m,
    )
    markers = marker_moments(inputs, magnitudes)
    sources = {name: make(inputs, magnitudes) for name, make in _columns_of(inputs).items() if factor[name]}

    def frames_at(at: IntArray) -> Frames:
        return Frames(
            inputs=inputs,
            at=at,
            rows=rows,
            q=motion.q[at],
            v=motion.v[at],
            vdot=motion.vdot[at],
            wrenches=inputs.dynamics.foot_wrenches[at],
            seen_at=seen_at[at],
            weights=weights[at],
            held=held[at],
        )

    def answered(at: IntArray) -> tuple[FloatArray, dict[str, FloatArray]]:
        frames = frames_at(at)
        fit = fit_of(frames)
        steps = {name: -fit.inverse_hessian @ source(frames).gradient for name, source in sources.items()}
        return fit.by_markers, steps

    towards = Towards.of(tuple(one for one in stretches if moving[list(one.sides)].all()), answered)
    answers = None
    if constants is not None:
        told = frames_at(constants.told[moving[constants.told]])
        answers = _answers(constants, told, sources, towards, markers, magnitudes)
    return _Errors(sources, factor, markers, magnitudes, towards, answers), frames_at


def _answers(
    constants: FoundConstants,
    frames: Frames,
    sources: Mapping[str, Source],
    towards: Towards,
    markers: MarkerMoments,
    magnitudes: Magnitudes,
) -> Answers | None:
    """The answers of constants that were found from some frames; None where too few told anything."""
    if len(frames.at) < _LEAST_FRAMES:
        return None
    stride_s = frames.inputs.stride_s if np.isfinite(frames.inputs.stride_s) else magnitudes.stride_s
    return answers_of(constants, frames, sources, towards, Skin(markers.skin_m, magnitudes.shares, stride_s))


def sources_of(inputs: TrialInputs) -> tuple[str, ...]:
    """Return the sources of error of a trial, in the order of tables."""
    names = (*(_OF_MARKERS if inputs.poses is None else _OF_POSES), *_BY_COLUMN)
    return (*names, UNSEEN) if inputs.model.assumed else names


def _columns_of(inputs: TrialInputs) -> dict[str, Callable[[TrialInputs, Magnitudes], Source]]:
    return _BY_COLUMN if inputs.poses is None else {_OF_POSES[1]: pose_offsets, **_BY_COLUMN}


def blocks(first: int, stop: int, size: int) -> list[tuple[slice, slice]]:
    """Cut the frames first .. stop - 1 into blocks of about `size`: their own frames, and with a margin for differences.

    The margin is wide enough for every block to differentiate as the whole stretch would.
    """
    count = max(round((stop - first) / max(size, _LEAST_FRAMES)), 1)
    edges = np.linspace(first, stop, count + 1).round().astype(int).tolist()
    return [
        (slice(low, high), slice(max(low - _MARGIN_FRAMES, first), min(high + _MARGIN_FRAMES, stop)))
        for low, high in pairwise(edges)
    ]


def _propagate(
    frames: Frames, inner: slice, errors: _Errors, places: Places
) -> tuple[dict[str, FloatArray], FloatArray]:
    """Variances (T, C) by source over a block of frames, whose margins, all but `inner`, serve the differences alone.

    `places` gathers those of the joints.

    The second part (T, C) belongs to the source whose last column was estimated from noisy markers: its square without the
    noise's known share. In one frame that is a poor number, near zero or below; over a period of the filter it is a good one.
    """
    inputs, count = frames.inputs, len(frames.at)
    markers, towards, answers = errors.markers, errors.towards, errors.answers
    mb, rate_hz = inputs.model.multibody, inputs.rate_hz
    random, moving = _OF_MARKERS if markers.poses is None else _OF_POSES
    variance = {name: np.zeros((count, len(frames.rows))) for name in sources_of(inputs)}
    columns = {name: towards.of_source(name, source, frames) for name, source in errors.sources.items()}
    gradient = np.concatenate([column.gradient for column in columns.values()], axis=2) if columns else None
    G = torque_response(
        mb, frames.q, frames.v, frames.vdot, frames.wrenches, inputs.dynamics.foot_wrench_links, frames.rows
    )
    if inputs.model.assumed:
        variance[UNSEEN] = unseen_variance(inputs.model, frames.q, G, errors.magnitudes, inputs.stride_s)
    steps = np.zeros((count, mb.nv, 0 if gradient is None else gradient.shape[2]))
    of_links = inputs.model.marker_arrays()[0]
    if markers.poses is not None:
        of_links = of_links[np.tile(markers.poses.groups[:, 0], 2)]
    turning = turning_of(body_poses(mb, frames.q)[0], of_links, rate_hz)
    markers_at = marker_places(inputs.model, frames.q)
    known = {name: np.zeros_like(variance[name]) for name in columns}
    drawn_at, by_markers = places.wanted(frames.at), []
    drawn_at = drawn_at[(drawn_at >= inner.start) & (drawn_at < inner.stop)]
    for own, wide in blocks(0, count, _CACHED_FRAMES):
        core = slice(own.start - wide.start, own.stop - wide.start)
        fit = fit_of(frames, wide, towards)
        if gradient is not None:
            steps[own] = -fit.inverse_hessian[core] @ gradient[own]
        rows = tuple(single(part[own]) for part in G)
        A = fit.by_markers
        if markers.poses is not None:
            A = markers.poses.columns(A, single(markers_at[wide]))
        by_markers.append(A[core][drawn_at[(drawn_at >= own.start) & (drawn_at < own.stop)] - own.start])
        g = torque_weights(rows, A, core, rate_hz)
        if errors.noise_in_torques:
            variance[random][own] = quadratic(g, markers.noise[frames.at[own]], markers.noise_m)
        for name, column in columns.items():
            for moments in column.noise if errors.noise_taken_off else ():
                known[name][own] += quadratic(g, markers.moments_of(moments[own]), markers.noise_m)
        skin = along_segments(g, (turning[0][own], turning[1][own]))
        variance[moving][own] = quadratic(skin, markers.skin[None, None], markers.skin_m)
    if len(drawn_at):
        _add_places(places, frames, drawn_at, np.concatenate(by_markers), steps[drawn_at], errors, columns)
    moved = (steps, *rates(steps, rate_hz))
    if answers is not None:
        by_constants, through_skin, through_noise = answers.torques(frames)
        variance[random], variance[moving] = variance[random] + through_noise, variance[moving] + through_skin
    estimated = np.zeros((count, len(frames.rows)))
    at = 0
    for name, column in columns.items():
        here = slice(at, at + column.gradient.shape[2])
        at = here.stop
        change, by_motion = column.torque, np.zeros(1)
        if here.stop > here.start:
            by_motion = np.asarray(sum(part @ step[:, :, here] for part, step in zip(G, moved, strict=True)))
            change = change + by_motion
        if answers is not None:
            change = change + by_constants[name]
        variance[name] = variance[name] + np.sum(change**2, axis=2)
        if column.noise and errors.noise_taken_off:
            through_markers = np.sum(by_motion[:, :, -len(column.noise) :] ** 2, axis=2)
            variance[name] -= through_markers
            estimated += through_markers - (1.0 if markers.poses is None else _TWICE) * known[name]
    return variance, estimated


def _add_places(
    places: Places,
    frames: Frames,
    at: IntArray,
    by_markers: FloatArray,
    steps: FloatArray,
    errors: _Errors,
    columns: Mapping[str, Columns],
) -> None:
    """Add the places of the joints in the rows `at`; `by_markers`, `steps`: what markers and parameters do to the fit there."""
    markers, factor = errors.markers, errors.factor
    random, moving = _OF_MARKERS if markers.poses is None else _OF_POSES
    noise = markers.noise if len(markers.noise) == 1 else markers.noise[frames.at[at]]
    variance = (factor[random] * markers.noise_m) ** 2 * noise[..., 0]
    variance = variance + (factor[moving] * markers.skin_m) ** 2 * markers.skin[0]
    scaled: list[FloatArray] = []
    models: dict[int, tuple[float, Fitted]] = {}
    first = 0
    for name, column in columns.items():
        models |= {first + k: (factor[name] * step, other) for k, (step, other) in enumerate(column.models)}
        stop = first + column.gradient.shape[2]
        scaled.append(factor[name] * steps[:, :, first:stop])
        first = stop
    if UNSEEN in factor:
        model, stride_s = frames.inputs.model, frames.inputs.stride_s
        scaled.append(factor[UNSEEN] * unseen_steps(model, frames.q[at], errors.magnitudes, stride_s))
    answer = by_markers.reshape(*by_markers.shape[:2], -1)
    of_markers = [(answer, np.tile(variance, 3))]
    places.add(frames.at[at], frames.q[at], of_markers, np.concatenate([*scaled, steps[:, :, :0]], axis=2), models)
