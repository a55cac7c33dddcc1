"""Distinct maxima of a signal: those that SciPy finds."""

import numpy as np
import pytest
from scipy.signal import find_peaks

from biodyn.processing.gait.kinematic_events import distinct_peaks


@pytest.mark.parametrize("digits", [None, 0])  # without digits: flat tops, and maxima of one height
def test_they_are_those_of_scipy(digits):
    random = np.random.default_rng(3)
    found = 0
    for length in [*range(1, 8), *random.integers(8, 300, 200)]:
        x = np.cumsum(random.standard_normal(length))
        x = x if digits is None else np.round(x, digits)
        prominence, distance = random.uniform(0.0, 4.0), random.uniform(1.0, 25.0)
        expected, _ = find_peaks(x, prominence=prominence, distance=distance)
        np.testing.assert_array_equal(distinct_peaks(x, prominence, distance), expected)
        found += len(expected)
    assert found > 200
