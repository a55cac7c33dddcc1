"""One standard deviation of every joint torque in every frame, by source and together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.processing.filtering import finite_stretches
from biodyn.processing.uncertainty import parameters
from biodyn.processing.uncertainty.fit_response import fit_response
from biodyn.processing.uncertainty.inputs import TrialInputs
from biodyn.processing.uncertainty.magnitudes import Magnitudes
from biodyn.processing.uncertainty.parameters import Columns, Frames
from biodyn.processing.uncertainty.spectra import PAIRS, filtered_noise, measured_noise, stride_movement
from biodyn.processing.uncertainty.torque_response import rates, torque_response
from biodyn.rigid_body import body_poses

_BY_COLUMN: dict[str, Callable[[Frames, Magnitudes], Columns]] = {
    "joint_centres": parameters.joint_centres,
    "inertias": parameters.inertias,
    "centre_of_pressure": parameters.centre_of_pressure,
    "cutoff": parameters.cutoff,
}
#: Sources of error in the order of tables.
SOURCES = ("marker_noise", "soft_tissue", *_BY_COLUMN)
_BLOCK_FRAMES = 128  # keeps the arrays of a block in the processor's cache
_UNRELATED = 1e-7  # correlation that is round-off: far from the ends an error and its rate have none
_MARGIN_FRAMES = 2  # that the difference formula needs on both sides


@dataclass(frozen=True)
class TorqueUncertainty:
    """Standard deviations of the joint torques.

    Attributes:
        coordinates: names (C,).
        by_source: per source (T, C) Nm, NaN where there is no torque.
        noise_m: noise (M,) taken for each fitted marker, m an axis.
    """

    coordinates: tuple[str, ...]
    by_source: Mapping[str, FloatArray]
    noise_m: FloatArray

    @property
    def total(self) -> FloatArray:
        """All sources together (T, C) Nm: they are independent, so variances add."""
        return np.sqrt(np.sum([sd**2 for sd in self.by_source.values()], axis=0))


def torque_uncertainty(
    inputs: TrialInputs, magnitudes: Magnitudes, scale: Mapping[Any, float] | None = None
) -> TorqueUncertainty:
    """Propagate the errors of all inputs to the torques.

    `scale` multiplies the standard deviation of a source by its name (see `SOURCES`), 0 leaves it out.
    """
    factor = {name: (scale or {}).get(name, 1.0) for name in SOURCES}
    model, motion = inputs.model, inputs.fit.motion
    rows = np.array([coordinate.v_index for coordinate in model.coordinates], dtype=np.int64)
    noise = _noise(inputs, magnitudes)
    moving = np.asarray(np.isfinite(motion.vdot).all(axis=1))
    variance = {name: np.full((len(moving), len(rows)), np.nan) for name in SOURCES}
    seen_at = inputs.fitted(inputs.markers)
    seen = np.isfinite(inputs.fit.marker_error)
    weights = np.where(seen, inputs.marker_weights(seen), 0.0)
    moments = filtered_noise(len(moving), inputs.rate_hz, inputs.cutoff_hz, inputs.filter_order)
    stride_s = inputs.stride_s if np.isfinite(inputs.stride_s) else magnitudes.stride_s
    skin_moments = stride_movement(magnitudes.shares, stride_s, inputs.rate_hz, inputs.cutoff_hz, inputs.filter_order)
    skin_m = np.array([magnitudes.soft_tissue_m.get(marker.body, 0.0) for marker in model.markers])
    for first, stop in finite_stretches(moving):
        at = np.arange(first, stop)
        frames = Frames(
            inputs=inputs,
            at=at,
            rows=rows,
            q=motion.q[at],
            v=motion.v[at],
            vdot=motion.vdot[at],
            wrenches=inputs.dynamics.foot_wrenches[at],
            seen_at=seen_at[at],
            weights=weights[at],
        )
        columns = {name: make(frames, magnitudes) for name, make in _BY_COLUMN.items() if factor[name]}
        found = _propagate(frames, columns, noise, moments[at], skin_m, skin_moments)
        for name, part in found.items():
            variance[name][at] = part
    missing = np.isnan(inputs.dynamics.torques)
    return TorqueUncertainty(
        coordinates=tuple(coordinate.name for coordinate in model.coordinates),
        by_source={
            name: np.where(missing, np.nan, factor[name] * np.sqrt(np.nan_to_num(variance[name]))) for name in SOURCES
        },
        noise_m=noise,
    )


def _noise(inputs: TrialInputs, magnitudes: Magnitudes) -> FloatArray:
    """Noise (M,) of the fitted markers: the trial's own where it shows more than the least."""
    found = measured_noise(inputs.fitted(inputs.raw), inputs.rate_hz, magnitudes.noise_from_hz, inputs.filter_order)
    return np.fmax(found, magnitudes.marker_noise_m)


def _propagate(
    frames: Frames,
    columns: Mapping[str, Columns],
    noise_m: FloatArray,
    noise_moments: FloatArray,
    skin_m: FloatArray,
    skin_moments: FloatArray,
) -> dict[str, FloatArray]:
    """Variances (T, C) by source over one stretch of frames."""
    count, rate_hz = len(frames.at), frames.inputs.rate_hz
    mb = frames.inputs.model.multibody
    variance = {name: np.zeros((count, len(frames.rows))) for name in SOURCES}
    gradients = np.concatenate([column.gradient for column in columns.values()], axis=2) if columns else None
    steps = np.zeros((count, mb.nv, 0 if gradients is None else gradients.shape[2]))
    responses = [np.zeros((count, len(frames.rows), mb.nv)) for _ in range(3)]
    skin_variance = np.repeat(skin_m**2, 3)
    noise_variance = np.repeat(noise_m**2, 3)
    edges = [*range(0, count, _BLOCK_FRAMES), count]
    for first, stop in pairwise(edges):
        low, high = max(first - _MARGIN_FRAMES, 0), min(stop + _MARGIN_FRAMES, count)
        wide, inner = slice(low, high), slice(first - low, stop - low)
        fit = fit_response(frames.inputs.model, frames.q[wide], frames.seen_at[wide], frames.weights[wide])
        if steps.shape[2] and gradients is not None:
            steps[first:stop] = -fit.inverse_hessian[inner] @ gradients[first:stop]
        own = slice(first, stop)
        G = torque_response(
            mb,
            frames.q[own],
            frames.v[own],
            frames.vdot[own],
            frames.wrenches[own],
            frames.inputs.dynamics.foot_wrench_links,
            frames.rows,
        )
        for response, part in zip(responses, G, strict=True):
            response[own] = part
        A = _single(fit.by_markers.reshape(high - low, mb.nv, -1))
        G = (_single(G[0]), _single(G[1]), _single(G[2]))
        A1, A2 = (rate[inner] for rate in rates(A, rate_hz))
        A = A[inner]
        # xi = A n:  xi' = A n' + A' n,  xi'' = A n'' + 2 A' n' + A'' n
        g = (G[0] @ A + G[1] @ A1 + G[2] @ A2, G[1] @ A + 2.0 * (G[2] @ A1), G[2] @ A)
        noise_rows = noise_moments[own]
        variance["marker_noise"][own] = _quadratic(g, noise_rows, noise_variance)
        variance["soft_tissue"][own] = _quadratic(_in_segments(frames, own, g), skin_moments[None], skin_variance)
    at = 0
    moved = rates(steps, rate_hz)
    for name, column in columns.items():
        change = column.torque
        width = column.gradient.shape[2]
        if width:
            own = slice(at, at + width)
            change = change + sum(
                response @ step[:, :, own] for response, step in zip(responses, (steps, *moved), strict=True)
            )
            at += width
        variance[name] = np.sum(change**2, axis=2)
    return variance


def _single(values: FloatArray) -> FloatArray:
    """Single precision, in half the time: a standard deviation needs three digits, and no differences of large numbers follow."""
    return values.astype(np.float32)  # type: ignore[return-value]


def _quadratic(g: tuple[FloatArray, ...], moments: FloatArray, variance: FloatArray) -> FloatArray:
    """Variance (T, C) of g0 n + g1 n' + g2 n'' (T, C, 3M) for moments (T or 1, 6) and variances (3M,) of n."""
    total = np.zeros(g[0].shape[:2])
    for column, (i, j) in enumerate(PAIRS):
        size = np.sqrt(moments[:, PAIRS.index((i, i))] * moments[:, PAIRS.index((j, j))])
        if np.any(np.abs(moments[:, column]) > _UNRELATED * size):
            twice = 1.0 if i == j else 2.0
            total += twice * moments[:, column, None] * ((g[i] * g[j]) @ _single(variance))
    return np.maximum(total, 0.0)  # round-off where nothing moves


def _in_segments(frames: Frames, own: slice, g: tuple[FloatArray, ...]) -> tuple[FloatArray, ...]:
    """The same for errors along the axes of the markers' links: n = R s, n' = R s' + R' s, n'' = R s'' + 2 R' s' + R'' s."""
    model = frames.inputs.model
    links = model.marker_arrays()[0]
    wide = slice(max(own.start - _MARGIN_FRAMES, 0), own.stop + _MARGIN_FRAMES)
    inner = slice(own.start - wide.start, own.stop - wide.start)
    attitude, _ = body_poses(model.multibody, frames.q[wide])
    turn, bend = (rate[inner] for rate in rates(attitude, frames.inputs.rate_hz))
    R, R1, R2 = (_single(part[:, links]) for part in (attitude[inner], turn, bend))
    frames_count, rows = g[0].shape[:2]
    # (T, M, C, 3) @ (T, M, 3, 3)
    by_marker = [part.reshape(frames_count, rows, -1, 3).transpose(0, 2, 1, 3) for part in g]
    g0 = by_marker[0] @ R + by_marker[1] @ R1 + by_marker[2] @ R2
    g1 = by_marker[1] @ R + 2.0 * (by_marker[2] @ R1)
    g2 = by_marker[2] @ R
    return tuple(part.transpose(0, 2, 1, 3).reshape(frames_count, rows, -1) for part in (g0, g1, g2))
