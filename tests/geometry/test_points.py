"""Flags and lengths of points are those that NumPy's general functions give, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from biodyn.geometry.points import all_coordinates_true, all_finite, lengths, points_axis_first, squared_lengths


def points(shape: tuple[int, ...]) -> np.ndarray:
    random = np.random.default_rng(3)
    found = random.normal(size=shape) * 10.0 ** random.uniform(-160.0, 150.0, shape)  # squares that vanish and overflow
    for value in (np.nan, np.inf, -np.inf, 0.0):
        found[random.random(shape) < 0.1] = value
    return found


@pytest.mark.parametrize("shape", [(3,), (0, 3), (200, 3), (50, 7, 3), (4, 5, 6, 3)])
def test_they_are_what_numpy_finds(shape):
    p = points(shape)
    np.testing.assert_array_equal(all_finite(p), np.isfinite(p).all(axis=-1))
    np.testing.assert_array_equal(all_coordinates_true(p > 0.0), (p > 0.0).all(axis=-1))
    with np.errstate(over="ignore", under="ignore"):
        np.testing.assert_array_equal(lengths(p), np.linalg.norm(p, axis=-1))
        np.testing.assert_array_equal(squared_lengths(p), (p**2).sum(axis=-1))


def test_sums_over_points_are_those_of_numpy():
    p = np.random.default_rng(4).normal(size=(300, 41, 3))
    assert points_axis_first(p).flags.c_contiguous
    np.testing.assert_array_equal(points_axis_first(p).sum(axis=0), p.sum(axis=1))
