"""Gap filling against known trajectories."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from biodyn.geometry.points import rigid_fit
from biodyn.processing.signals.gaps import fill_gaps

RATE_HZ = 100.0
SPLINE_S, RIGID_S = 0.1, 0.5
LOCAL = np.array([[0.0, 0.0, 0.05], [0.0, 0.3, 0.04], [0.05, 0.15, 0.0], [-0.05, 0.1, 0.06], [0.02, 0.25, -0.05]])


def segment(frames=300):
    """A segment that swings and twists at 1 Hz; five markers, (T, 5, 3)."""
    time_s = np.arange(frames) / RATE_HZ
    angles = np.column_stack([0.6 * np.sin(2 * np.pi * time_s), 0.2 * np.cos(2 * np.pi * time_s), 0.1 * time_s])
    R = Rotation.from_euler("ZXY", angles).as_matrix()
    p = np.column_stack([1.3 * time_s, 0.5 + 0.05 * np.sin(4 * np.pi * time_s), 0.1 * np.sin(2 * np.pi * time_s)])
    return np.einsum("tij,kj->tki", R, LOCAL) + p[:, None]


def fill(p_WM, groups=((0, 1, 2, 3, 4),), spline_s=SPLINE_S, rigid_s=RIGID_S):
    return fill_gaps(p_WM, RATE_HZ, groups, spline_s, rigid_s)


def methods(result):
    return [(gap.marker, gap.first, gap.last, gap.method) for gap in result.record]


def test_nothing_missing_nothing_changed():
    truth = segment()
    result = fill(truth)
    np.testing.assert_array_equal(result.positions, truth)
    assert result.record == []
    assert not result.filled.any()


def test_short_gap_by_spline():
    truth = segment()
    with_gap = truth.copy()
    with_gap[100:110, 2] = np.nan
    result = fill(with_gap, groups=())
    assert methods(result) == [(2, 100, 109, "spline")]
    # Cubic interpolation error 5/384 h^4 |x''''| with h = 0.11 s and 4 pi^2-fold derivatives: about a millimetre.
    np.testing.assert_allclose(result.positions, truth, atol=1.5e-3)
    assert result.filled.sum() == 10
    assert result.filled[100:110, 2].all()


def test_spline_is_exact_for_a_cubic():
    time_s = np.arange(60) / RATE_HZ
    truth = (0.3 + time_s - 2 * time_s**2 + 5 * time_s**3)[:, None, None] * np.array([1.0, -0.5, 2.0])
    with_gap = truth.copy()
    with_gap[20:29] = np.nan
    np.testing.assert_allclose(fill(with_gap, groups=()).positions, truth, atol=1e-12)


def test_long_gap_from_the_segment_is_exact_for_a_rigid_one():
    truth = segment()
    with_gap = truth.copy()
    with_gap[100:140, 2] = np.nan
    result = fill(with_gap)
    assert methods(result) == [(2, 100, 139, "rigid")]
    np.testing.assert_allclose(result.positions, truth, atol=1e-12)


def test_skin_that_slid_during_the_gap_makes_no_jump():
    truth = segment()
    slide = np.clip((np.arange(300) - 100) / 40, 0, 1)[:, None] * np.array([0.01, 0.0, 0.0])
    with_gap = truth.copy()
    with_gap[:, 2] += slide
    with_gap[100:140, 2] = np.nan
    steps = np.linalg.norm(np.diff(fill(with_gap).positions[:, 2], axis=0), axis=1)
    smooth = np.linalg.norm(np.diff(truth[:, 2], axis=0), axis=1)
    # 1 cm over 41 frames adds a quarter of a millimetre a frame.
    assert np.abs(steps - smooth).max() < 0.3e-3


@pytest.mark.parametrize("rows", [slice(0, 30), slice(270, 300)])
def test_gap_at_an_end_takes_the_offset_of_its_one_edge(rows):
    truth = segment()
    with_gap = truth.copy()
    with_gap[rows, 1] = np.nan
    result = fill(with_gap)
    assert [gap.method for gap in result.record] == ["rigid"]
    np.testing.assert_allclose(result.positions, truth, atol=1e-12)


def test_short_gap_at_an_end_is_never_extrapolated():
    with_gap = segment()
    with_gap[:3, 1] = np.nan
    with_gap[-1, 2] = np.nan
    result = fill(with_gap, groups=())
    assert [gap.method for gap in result.record] == ["left", "left"]
    np.testing.assert_array_equal(result.positions, with_gap)


def test_what_cannot_be_filled_is_left():
    truth = segment()
    with_gap = truth.copy()
    with_gap[50:120, 0] = np.nan  # longer than the limit
    with_gap[200:230, [1, 2, 3]] = np.nan  # two markers left in the segment
    with_gap[:, 4] = np.nan  # never seen
    result = fill(with_gap)
    assert {gap.method for gap in result.record} == {"left"}
    np.testing.assert_array_equal(result.positions, with_gap)
    assert not result.filled.any()


def test_markers_in_a_line_do_not_carry_a_fourth():
    truth = segment()
    line = truth[:, :1] + np.linspace(0, 1, 4)[1:, None] * (truth[:, 1:2] - truth[:, :1])
    markers = np.concatenate([line, truth[:, 4:]], axis=1)
    markers[100:140, 3] = np.nan
    result = fill(markers, groups=((0, 1, 2, 3),))
    assert [gap.method for gap in result.record] == ["left"]


def test_two_long_gaps_at_once_need_three_others_each():
    truth = segment()
    with_gap = truth.copy()
    with_gap[100:130, 0] = np.nan
    with_gap[110:140, 1] = np.nan
    result = fill(with_gap)
    assert [gap.method for gap in result.record] == ["rigid", "rigid"]
    np.testing.assert_allclose(result.positions, truth, atol=1e-12)


def test_one_missing_component_is_a_missing_marker():
    with_gap = segment()
    with_gap[50, 3, 1] = np.nan
    result = fill(with_gap)
    assert methods(result) == [(3, 50, 50, "spline")]
    assert np.isfinite(result.positions).all()


def test_registration_finds_the_pose_and_never_a_mirror():
    generator = np.random.default_rng(4)
    R = Rotation.random(20, random_state=4).as_matrix()
    p = generator.normal(size=(20, 3))
    flat = LOCAL[:3]  # three points are always in a plane: the mirror image fits as well
    R_found, p_found = rigid_fit(flat, np.einsum("tij,kj->tki", R, flat) + p[:, None])
    np.testing.assert_allclose(R_found, R, atol=1e-12)
    np.testing.assert_allclose(p_found, p, atol=1e-12)
