"""Typical and odd cycles, symmetry, gait scores: known answers by construction."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.smooth_noise import smooth_noise

from biodyn.errors import StatisticsError
from biodyn.statistics import (
    curve_difference,
    find_typical_cycle,
    fit_deviation_index,
    gait_profile_score,
    gait_variable_score,
    multiple_correlation,
    symmetry_angle,
    symmetry_index,
)

PERCENT = np.linspace(0.0, 1.0, 101)
WAVE = 30.0 * np.sin(2.0 * np.pi * PERCENT)

numbers = st.floats(-1e3, 1e3, allow_nan=False).map(lambda x: round(x, 6))


# -- typical cycles ----------------------------------------------------------------------------------------------------


def test_distances_are_areas_between_curve_and_median() -> None:
    """Curves shifted by known amounts: the distance is the shift from the median, the middle one is typical."""
    shifts = np.array([-3.0, -1.0, 0.5, 1.0, 40.0])
    found = find_typical_cycle((WAVE + shifts[:, None])[:, None], [1.0])
    np.testing.assert_allclose(found.distances, np.abs(shifts - 0.5), atol=1e-12)
    assert found.representative == 2
    # distances 0 0.5 1.5 3.5 39.5: quartiles 0.5 and 3.5, their cube roots 0.7937 and 1.5183, limit (1.5183 + 1.5 x 0.7246)^3
    assert found.limit == pytest.approx(2.6052**3, rel=1e-3)
    assert found.outliers.tolist() == [False, False, False, False, True]


def test_an_odd_shape_is_found_and_a_typical_one_is_not() -> None:
    rng = np.random.default_rng(0)
    cycles = WAVE + smooth_noise(20, 101, 20.0, rng)
    cycles[7] = np.roll(cycles[7], 12)  # a wrong event: same values, shifted in time
    found = find_typical_cycle(cycles[:, None], [1.0])
    assert found.outliers[7]
    assert found.representative != 7
    assert found.outliers.sum() <= 2  # itself, and at most one by chance


def test_good_cycles_are_rarely_outliers() -> None:
    rng = np.random.default_rng(2)
    share = np.mean(
        [find_typical_cycle(smooth_noise(10, 101, 20.0, rng)[:, None], [1.0]).outliers.mean() for _ in range(500)]
    )
    assert share < 0.03


def test_several_variables_and_their_sizes() -> None:
    a = np.array([0.0, 1.0, 2.0, 3.0, 4.0])[:, None] + WAVE
    b = np.array([0.4, 0.3, 0.2, 0.1, 0.0])[:, None] + WAVE
    c = np.array([0.0, 0.1, 2.0, 0.2, 0.3])[:, None] + WAVE
    cycles = np.stack([a, b, c], axis=1)
    # distances to the medians (2, 0.2, 0.2) of each variable
    expected = (
        np.array([2.0, 1.0, 0.0, 1.0, 2.0]) + np.array([0.2, 0.1, 0.0, 0.1, 0.2]) + np.array([0.2, 0.1, 1.8, 0.0, 0.1])
    ) / 3
    np.testing.assert_allclose(find_typical_cycle(cycles, [1.0, 1.0, 1.0]).distances, expected, atol=1e-12)
    assert (
        find_typical_cycle(cycles, [1.0, 1.0, 1.0]).representative == 3
    )  # (1 + 0.1 + 0) / 3: the third cycle is far off in one variable
    assert find_typical_cycle(cycles, sizes=[1.0, 1.0, 100.0]).representative == 2


def test_incomplete_cycles_are_never_typical_and_few_have_no_outliers() -> None:
    cycles = WAVE + np.array([0.0, 5.0, 6.0, 100.0])[:, None]
    cycles[1, 50] = np.nan
    found = find_typical_cycle(cycles[:, None], [1.0])
    assert math.isnan(found.distances[1])
    assert found.representative == 2
    assert not found.outliers.any()
    with pytest.raises(StatisticsError, match="complete"):
        find_typical_cycle(np.full((3, 1, 101), np.nan), [1.0])


# -- coefficient of multiple correlation -------------------------------------------------------------------------------


def test_multiple_correlation_by_its_definition() -> None:
    """Kadaba's sums written out as loops."""
    rng = np.random.default_rng(1)
    days, runs, frames = 3, 4, 11
    y = rng.normal(size=(days, runs, frames)) + 5.0 * np.sin(np.arange(frames)) + rng.normal(size=(days, 1, 1))
    inside = total = between = overall = 0.0
    for i in range(days):
        for j in range(runs):
            for t in range(frames):
                inside += (y[i, j, t] - y[i, :, t].mean()) ** 2
                total += (y[i, j, t] - y[i].mean()) ** 2
                between += (y[i, j, t] - y[:, :, t].mean()) ** 2
                overall += (y[i, j, t] - y.mean()) ** 2
    within_day = 1 - (inside / (days * frames * (runs - 1))) / (total / (days * (runs * frames - 1)))
    between_day = 1 - (between / (frames * (days * runs - 1))) / (overall / (days * runs * frames - 1))
    found = multiple_correlation(list(y))
    assert found == pytest.approx((math.sqrt(within_day), math.sqrt(between_day)), rel=1e-12)


def test_multiple_correlation_at_its_limits() -> None:
    assert multiple_correlation([np.vstack([WAVE, WAVE]), WAVE[None]]) == (1.0, 1.0)
    # flat curves that differ by an offset only: the coefficient is imaginary
    flat = np.tile(0.01 * np.sin(PERCENT), (4, 1)) + np.arange(4.0)[:, None]
    assert math.isnan(multiple_correlation([flat])[0])
    assert math.isnan(multiple_correlation([WAVE[None]])[0])


# -- symmetry ----------------------------------------------------------------------------------------------------------


@given(numbers, numbers)
def test_exchanged_sides_change_the_sign(right: float, left: float) -> None:
    assert symmetry_index(left, right) == pytest.approx(-symmetry_index(right, left), nan_ok=True)
    there, back = float(symmetry_angle(right, left)), float(symmetry_angle(left, right))
    # equal and opposite sides are both +100 %: there the sign has no meaning
    assert there == pytest.approx(-back, abs=1e-6, nan_ok=True) or abs(abs(there) - 100.0) < 1e-6


@given(numbers.filter(bool))
def test_equal_sides_are_symmetric(value: float) -> None:
    assert symmetry_index(value, value) == 0.0
    assert symmetry_angle(value, value) == pytest.approx(0.0, abs=1e-9)


def test_symmetry_by_hand() -> None:
    assert symmetry_index(12.0, 8.0) == pytest.approx(40.0)
    # atan(1 / 2) = 26.565 degrees; (45 - 26.565) / 90
    assert symmetry_angle(2.0, 1.0) == pytest.approx(20.4833, abs=1e-4)
    assert symmetry_angle(1.0, -1.0) == pytest.approx(100.0)
    # 45 - atan(-2) = 108.4, beyond 90: less 180
    assert symmetry_angle(1.0, -2.0) == pytest.approx((108.4349 - 180.0) / 0.9, abs=1e-4)
    assert symmetry_angle(0.0, 3.0) == pytest.approx(-50.0)
    assert np.isnan(symmetry_angle(0.0, 0.0))
    assert np.isnan(symmetry_index(1.0, -1.0))
    np.testing.assert_allclose(curve_difference([WAVE + 3.0, WAVE], WAVE), [3.0, 0.0])


# -- scores ------------------------------------------------------------------------------------------------------------


def test_scores_are_root_mean_squares() -> None:
    curves = np.stack([WAVE + 3.0, 0.5 * WAVE - 4.0, np.where(PERCENT < 0.5, 12.0, -12.0)])
    scores = gait_variable_score(curves, np.stack([WAVE, 0.5 * WAVE, np.zeros(101)]))
    np.testing.assert_allclose(scores, [3.0, 4.0, 12.0])
    # root mean square, not the mean: sqrt((9 + 16 + 144) / 3)
    assert gait_profile_score(scores) == pytest.approx(math.sqrt(169.0 / 3.0))
    assert gait_profile_score([3.0, 4.0]) == pytest.approx(math.sqrt(12.5))


def test_missing_stays_missing() -> None:
    broken = WAVE.copy()
    broken[3] = np.nan
    assert np.isnan(gait_variable_score(broken, WAVE))
    assert np.isnan(gait_profile_score([1.0, np.nan]))


def test_the_deviation_index_scales_the_log_distance_of_controls_to_100_and_10() -> None:
    rng = np.random.default_rng(3)
    features = np.linalg.qr(rng.normal(size=(459, 20)))[0].T
    walks = rng.normal(size=(60, 20)) * np.linspace(8.0, 0.5, 20) @ features
    controls = walks[:30] - walks[:30].mean(axis=0)
    index = fit_deviation_index(walks, controls, np.ones(30))
    np.testing.assert_allclose(index.vectors @ index.vectors.T, np.eye(15), atol=1e-12)
    # by hand: eigenvectors of the matrix of products, as in the paper
    by_hand = np.linalg.eigh(walks.T @ walks)[1][:, -15:]
    logs = np.log(np.linalg.norm(controls @ by_hand, axis=1))
    np.testing.assert_allclose([index.log_mean, index.log_sd], [logs.mean(), logs.std(ddof=1)], rtol=1e-9)
    curves = np.repeat(controls[0].reshape(9, 51), 2, axis=1)[:, :101]
    assert index.score(curves) == pytest.approx(100.0 - 10.0 * (logs[0] - logs.mean()) / logs.std(ddof=1))
    assert np.isnan(index.score(np.full((9, 101), np.nan)))
