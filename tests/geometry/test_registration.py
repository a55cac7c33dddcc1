"""Rigid registration and the quaternion of a rotation, against SciPy."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from biodyn.geometry.points import rigid_fit
from biodyn.geometry.rotations import quaternion_from_matrix

SHAPE = np.array([[0.1, 0.0, 0.02], [-0.05, 0.12, 0.0], [0.0, -0.1, 0.07], [0.04, 0.03, -0.09]])


def test_many_frames_and_one_are_fitted_alike() -> None:
    rng = np.random.default_rng(2)
    R = Rotation.random(8, random_state=3).as_matrix()
    p = rng.normal(size=(8, 3))
    points = np.einsum("tij,kj->tki", R, SHAPE) + p[:, None] + rng.normal(scale=2e-3, size=(8, 4, 3))
    weights = np.array([1.0, 5.0, 0.5, 2.0])
    R_all, p_all = rigid_fit(SHAPE, points, weights)
    for t in range(8):
        R_one, p_one = rigid_fit(SHAPE, points[t], weights)
        np.testing.assert_allclose(R_one, R_all[t], atol=1e-12)
        np.testing.assert_allclose(p_one, p_all[t], atol=1e-12)
        middle_B, middle_W = (np.average(x, axis=0, weights=weights) for x in (SHAPE, points[t]))
        expected, _ = Rotation.align_vectors(points[t] - middle_W, SHAPE - middle_B, weights=weights)
        np.testing.assert_allclose(R_one, expected.as_matrix(), atol=1e-9)


def test_a_mirror_image_is_registered_by_a_rotation() -> None:
    R, _ = rigid_fit(SHAPE, SHAPE * (1.0, 1.0, -1.0))
    assert np.linalg.det(R) > 0.0


def test_quaternions_are_scipys_with_the_scalar_first_and_positive() -> None:
    half_turns = Rotation.from_rotvec(np.pi * np.eye(3)).as_matrix()  # the scalar is 0: the usual formula divides by it
    for R in (*Rotation.random(50, random_state=1).as_matrix(), *half_turns, np.eye(3)):
        w, *xyz = quaternion_from_matrix(R)
        assert w >= 0.0
        np.testing.assert_allclose(Rotation.from_quat([*xyz, w]).as_matrix(), R, atol=1e-12)
