"""Smooth random curves without any effect: what tests are tried on, and what power is computed against."""

from __future__ import annotations

import math

import numpy as np
from scipy.ndimage import correlate1d

from biodyn.conventions import FloatArray
from biodyn.errors import StatisticsError

_REACH = 4.0  # standard deviations of the kernel that are kept


def smooth_noise(count: int, nodes: int, fwhm: float, rng: np.random.Generator) -> FloatArray:
    """Return (count, nodes) stationary Gaussian curves of unit variance: white noise under a Gaussian kernel of `fwhm` nodes.

    The noise reaches beyond both ends before smoothing, so the curves are as smooth there as inside.
    """
    if not fwhm > 0.0:
        raise StatisticsError(f"The FWHM must be positive, found {fwhm:g}.")
    deviation = fwhm / math.sqrt(8.0 * math.log(2.0))
    reach = math.ceil(_REACH * deviation)
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / deviation) ** 2)
    kernel /= math.sqrt(float(np.sum(kernel**2)))
    noise = rng.standard_normal((count, nodes + 2 * reach))
    return np.asarray(correlate1d(noise, kernel, axis=1)[:, reach : reach + nodes])
