"""Rotations against each other and against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from biodyn.geometry import rotations


@pytest.fixture
def angles() -> np.ndarray:
    """Cardan angles (50, 3) rad away from the middle angle's 90 degrees, where the other two are not known apart."""
    return np.random.default_rng(3).uniform((-3.1, -1.4, -3.1), (3.1, 1.4, 3.1), (50, 3))


def test_cardan_angles_come_back(angles: np.ndarray):
    assert rotations.cardan_zxy(rotations.matrices_from_cardan_zxy(angles)) == pytest.approx(angles, abs=1e-12)


def test_cardan_matrix_is_the_product_of_three_turns(angles: np.ndarray):
    z, x, y = (rotations.matrices_from_axis_angle(axis, angles[:, k]) for k, axis in enumerate(np.eye(3)[[2, 0, 1]]))
    assert rotations.matrices_from_cardan_zxy(angles) == pytest.approx(z @ x @ y, abs=1e-14)


def test_frames_without_a_pose_stay_without(angles: np.ndarray):
    R = rotations.matrices_from_cardan_zxy(angles)
    R[7] = np.nan
    assert np.isnan(rotations.cardan_zxy(R)[7]).all()
    quaternions = np.array(
        [rotations.quaternion_from_matrix(each) for each in rotations.matrices_from_cardan_zxy(angles)]
    )
    quaternions[7] = np.nan
    back = rotations.matrices_from_quaternions(quaternions)
    assert np.isnan(back[7]).all()
    assert back[8] == pytest.approx(R[8], abs=1e-14)


def test_quaternions_and_matrices_turn_vectors_alike(angles: np.ndarray):
    R = rotations.matrices_from_cardan_zxy(angles)
    quaternions = np.array([rotations.quaternion_from_matrix(each) for each in R])
    vectors = np.random.default_rng(4).normal(size=(50, 3))
    assert (quaternions[:, 0] >= 0.0).all()
    assert rotations.rotate_by_quaternions(quaternions, vectors) == pytest.approx(
        rotations.rotate_vectors(R, vectors), abs=1e-14
    )
    assert rotations.matrices_from_quaternions(-quaternions) == pytest.approx(R, abs=1e-14)


def test_quaternions_are_those_of_scipy():
    """Each of x y z w is the largest of some; half turns, where w is zero and the first of x y z is positive."""
    some = Rotation.random(400, rng=np.random.default_rng(6)).as_matrix()
    signs = np.array([[a, b, c] for a in (-1.0, 1.0) for b in (-1.0, 1.0) for c in (-1.0, 1.0)])
    axes = np.array([[0.6, 0.8, 0.0], [0.0, 0.6, 0.8], [0.28, 0.0, 0.96], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    half = [2.0 * np.outer(a, a) - np.eye(3) for a in (axes[:, None] * signs).reshape(-1, 3)]
    R = np.concatenate([some, half, [np.eye(3)]])
    expected = Rotation.from_matrix(R).as_quat(canonical=True)[:, [3, 0, 1, 2]]
    assert set(np.abs(expected).argmax(axis=1)) == {0, 1, 2, 3}
    np.testing.assert_array_equal([rotations.quaternion_from_matrix(each) for each in R], expected)


def test_neighbouring_quaternions_lie_in_one_half_of_the_sphere():
    turning = rotations.matrices_from_axis_angle(np.array([0.0, 1.0, 0.0]), np.linspace(0.0, 6.0, 40))
    quaternions = np.array([rotations.quaternion_from_matrix(R) for R in turning])
    assert np.einsum("ij,ij->i", quaternions[1:], quaternions[:-1]).min() < 0.0  # w >= 0 makes one jump
    smooth = rotations.continuous_quaternions(2.0 * quaternions)
    assert np.einsum("ij,ij->i", smooth[1:], smooth[:-1]).min() > 0.9
    assert np.linalg.norm(smooth, axis=1) == pytest.approx(1.0)


def test_vector_products_agree_with_numpy():
    a, b = np.random.default_rng(5).normal(size=(2, 20, 3))
    assert rotations.cross(a, b) == pytest.approx(np.cross(a, b))
    assert rotations.cross3(a[0], b[0]) == pytest.approx(np.cross(a[0], b[0]))
    assert rotations.skew_matrix(a[0]) @ b[0] == pytest.approx(np.cross(a[0], b[0]))
    assert rotations.angle_between(a[0], -a[0]) == pytest.approx(np.pi)
