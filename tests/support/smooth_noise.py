"""Smooth random curves without any effect."""

from __future__ import annotations

import math

import numpy as np
from scipy.ndimage import correlate1d


def smooth_noise(count: int, nodes: int, fwhm: float, rng: np.random.Generator) -> np.ndarray:
    """Return (count, nodes) stationary Gaussian curves of unit variance: white noise under a Gaussian kernel of `fwhm` nodes.

    The noise reaches beyond both ends before smoothing, so the curves are as smooth there as inside.
    """
    deviation = fwhm / math.sqrt(8.0 * math.log(2.0))
    reach = math.ceil(4.0 * deviation)
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / deviation) ** 2)
    kernel /= math.sqrt(float(np.sum(kernel**2)))
    noise = rng.standard_normal((count, nodes + 2 * reach))
    return np.asarray(correlate1d(noise, kernel, axis=1)[:, reach : reach + nodes])
