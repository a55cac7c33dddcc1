"""Variances of what is random of markers, noise and skin, behind the filter, and what they make of a torque."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.processing.signals.filtering import measured_noise
from biodyn.uncertainty.inputs import TrialInputs
from biodyn.uncertainty.magnitudes import Magnitudes
from biodyn.uncertainty.marker_weights import single
from biodyn.uncertainty.pose_errors import PosePoints
from biodyn.uncertainty.spectra import PAIRS, filtered_noise, stride_movement

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
