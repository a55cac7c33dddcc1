"""Random errors of the measurements: of measured poses, and of markers (noise and skin movement) behind the filter."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from biodyn.conventions import FloatArray, IntArray
from biodyn.processing.signals.filtering import measured_noise
from biodyn.rigid_body import body_poses
from biodyn.uncertainty.error_sources import Columns, Fitted, Frames, Source, fit_gradient, no_columns, stacked, torques
from biodyn.uncertainty.inputs import TrialInputs
from biodyn.uncertainty.magnitudes import PAIRS, Magnitudes, filtered_noise, stride_movement
from biodyn.uncertainty.torque_response import single

# -- Errors of measured poses: white noise, movement within the stride, and offsets that the model itself has taken in.
#
# The virtual points of a segment err together: with its origin along an axis, and with its attitude about one. Their columns
# of the fit's answer become six a segment, three of its origin and three of its attitude. An offset that stays is another
# matter: joint centres and fixed angles are means of the same poses, so the model moves with it.


@dataclass(frozen=True)
class PosePoints:
    """Which fitted points make a segment's pose: `groups` (S, 4) columns of the fitted points."""

    groups: IntArray

    @classmethod
    def of(cls, inputs: TrialInputs) -> PosePoints:
        """Group the points by their segment, in the order of the fit."""
        bodies = [marker.body for marker in inputs.model.markers]
        return cls(np.array([[m for m, b in enumerate(bodies) if b == body] for body in dict.fromkeys(bodies)]))

    def columns(self, A: FloatArray, places: FloatArray) -> FloatArray:
        """Return the answer (T, nv, 3, 2 S) to origins, then attitudes, of that to points A (T, nv, 3, M) at `places` (T, M, 3).

        Of dq = sum A_m . (d + theta x r_m) with the arms r_m from a segment's origin: d . sum A_m + theta . sum r_m x A_m.
        """
        arms = places[:, self.groups]
        arms = (arms - arms.mean(axis=2, keepdims=True)).transpose(0, 3, 1, 2)[:, None]  # (T, 1, 3, S, 4)
        by_point = A[..., self.groups]
        turned = np.stack(
            [
                arms[:, :, a] * by_point[:, :, b] - arms[:, :, b] * by_point[:, :, a]
                for a, b in ((1, 2), (2, 0), (0, 1))
            ],
            axis=2,
        )
        return np.concatenate([by_point.sum(axis=-1), turned.sum(axis=-1)], axis=3)

    def of_each(self, values: FloatArray) -> FloatArray:
        """Return what belongs to points (..., M) for origins and attitudes (..., 2 S): that of a segment's first point."""
        first = values[..., self.groups[:, 0]]
        return np.concatenate([first, first], axis=-1)

    def noise(self, inputs: TrialInputs, magnitudes: Magnitudes) -> FloatArray:
        """Return the white noise (2 S,) of origins, m, and attitudes, rad, that the trial shows, at least the usual one.

        A corner of a tetrahedron at (a, a, a) errs by the origin's variance and 2 a^2 times the attitude's along each axis.
        """
        raw, rate_hz, order = inputs.fitted(inputs.raw), inputs.rate_hz, inputs.filter_order
        corners = raw[:, self.groups]
        origin = measured_noise(corners.mean(axis=2), rate_hz, magnitudes.noise_from_hz, order)
        points = measured_noise(raw, rate_hz, magnitudes.noise_from_hz, order)[self.groups]
        span = np.nanmedian(np.linalg.norm(corners - corners.mean(axis=2, keepdims=True), axis=3), axis=(0, 2))
        turn = np.sqrt(np.maximum(np.mean(points**2, axis=1) - origin**2, 0.0) * 1.5) / span
        usual = magnitudes.pose_noise
        return np.concatenate([np.fmax(origin, usual[0]), np.fmax(turn, usual[1])])


def pose_offsets(inputs: TrialInputs, magnitudes: Magnitudes) -> Source:
    """Columns for the constant errors of every segment's pose: six each, the model made anew for each."""
    errors = inputs.poses
    if errors is None or not errors.shares[0]:
        return no_columns
    own = Fitted.of(inputs.model)
    others = [
        (
            np.sqrt(errors.shares[0]) * errors.size[int(offset.turns)] / offset.step,
            Fitted.of(offset.model),
            offset.moved_L,
        )
        for offset in errors.offsets
    ]

    def columns(frames: Frames) -> Columns:
        tau, gradient = torques(frames, own.tree), fit_gradient(frames, own)
        R = body_poses(own.tree, frames.q)[0]
        found_tau, found_gradient = [], []
        for factor, other, moved_L in others:
            seen_at = frames.seen_at.copy()
            some = np.flatnonzero(moved_L.any(axis=1))
            seen_at[:, some] += (R[:, own.links[some]] @ moved_L[some, :, None])[..., 0]
            found_tau.append(factor * (torques(frames, other.tree) - tau))
            found_gradient.append(factor * (fit_gradient(replace(frames, seen_at=seen_at), other) - gradient))
        models = tuple((float(factor), other) for factor, other, _ in others)
        return replace(stacked(frames, found_tau, found_gradient), models=models)

    return columns


# -- Variances of what is random of markers, noise and skin, behind the filter, and what they make of a torque.

_UNRELATED = 1e-7  # correlation that is round-off: far from the ends an error and its rate have none


@dataclass(frozen=True)
class MarkerMoments:
    """Variances of the markers' errors: noise_m, skin_m (M,) m, and the moments of their shapes (T, M or 1, 6) and (6,).

    Where poses were measured, those of their origins, m, and attitudes, rad, (2 S,) instead.
    """

    noise_m: FloatArray
    skin_m: FloatArray
    noise: FloatArray
    skin: FloatArray
    poses: PosePoints | None = None

    def moments_of(self, moments: FloatArray) -> FloatArray:
        """Moments (T, M or 1, 6) of single markers as those of what `noise_m` belongs to."""
        if self.poses is None or moments.shape[1] == 1:
            return moments
        return self.poses.of_each(moments.transpose(0, 2, 1)).transpose(0, 2, 1)


def marker_moments(inputs: TrialInputs, magnitudes: Magnitudes) -> MarkerMoments:
    """Return those of a trial: the noise that it shows itself, where that is more than the least."""
    rate_hz, cutoff_hz, order = inputs.rate_hz, inputs.cutoff_hz, inputs.filter_order
    stride_s = inputs.stride_s if np.isfinite(inputs.stride_s) else magnitudes.stride_s
    raw = inputs.fitted(inputs.raw)
    if inputs.poses is not None:
        poses, errors = PosePoints.of(inputs), inputs.poses
        noise = filtered_noise(np.isfinite(raw[..., 0]), rate_hz, cutoff_hz, order)
        moving = (0.0, *errors.shares[1:])  # the offset is the model's too: `pose_offsets`
        return MarkerMoments(
            noise_m=poses.noise(inputs, magnitudes),
            skin_m=np.repeat(errors.size, len(poses.groups)),
            noise=poses.of_each(noise.transpose(0, 2, 1)).transpose(0, 2, 1) if noise.shape[1] > 1 else noise,
            skin=stride_movement(moving, stride_s, rate_hz, cutoff_hz, order),
            poses=poses,
        )
    found = measured_noise(raw, rate_hz, magnitudes.noise_from_hz, order)
    return MarkerMoments(
        noise_m=np.fmax(found, magnitudes.marker_noise_m),
        skin_m=np.array([magnitudes.soft_tissue_m.get(marker.body, 0.0) for marker in inputs.model.markers]),
        noise=filtered_noise(np.isfinite(raw[..., 0]), rate_hz, cutoff_hz, order),
        skin=stride_movement(magnitudes.shares, stride_s, rate_hz, cutoff_hz, order),
    )


def quadratic(g: tuple[FloatArray, ...], moments: FloatArray, sd: FloatArray) -> FloatArray:
    """Return the variance (T, C) of g0 n + g1 n' + g2 n'' (T, C, 3M).

    Of n there are moments (T or 1, M or 1, 6) and standard deviations (M,).
    """
    total = np.zeros(g[0].shape[:2])
    for column, (i, j) in enumerate(PAIRS):
        size = np.sqrt(moments[..., PAIRS.index((i, i))] * moments[..., PAIRS.index((j, j))])
        if np.any(np.abs(moments[..., column]) > _UNRELATED * size):
            twice = 1.0 if i == j else 2.0
            weight = single(np.tile(twice * moments[..., column] * sd**2, (1, 3)))
            total += ((g[i] * g[j]) @ weight[:, :, None])[..., 0]
    return np.maximum(total, 0.0)  # round-off where nothing moves
