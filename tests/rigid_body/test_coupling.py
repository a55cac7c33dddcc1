"""Functions of coordinates and the layers they make: derivatives, rates, virtual power."""

from __future__ import annotations

import numpy as np
import pytest

from biodyn.errors import ModelError
from biodyn.rigid_body.coupling.coordinate_functions import (
    CoordinateMap,
    Linear,
    Polynomial,
    Term,
    cubic_spline,
    piecewise_linear,
    scale_function,
)

X = np.array([-1.0, -0.6, -0.3, 0.05, 0.3, 0.6, 1.0])
Y = np.array([0.0, 0.02, 0.01, 0.03, 0.04, 0.02, 0.05])
FUNCTIONS = {
    "constant": Linear((), 0.3),
    "linear of two": Linear((0.3, -0.7), 0.1),
    "polynomial": Polynomial((0.3, -0.2, 1.0, 0.1)),
    "spline": cubic_spline(X, Y),
    "scaled spline": scale_function(cubic_spline(X, Y), -2.5),
    "scaled polynomial": scale_function(Polynomial((0.3, -0.2, 1.0, 0.1)), -2.5),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_are_those_of_the_value(name):
    function = FUNCTIONS[name]
    # inside and beyond the knots, none on a knot: there the third derivative jumps
    x = np.random.default_rng(1).uniform(-1.4, 1.4, (function.arguments, 40))
    h = 1e-5
    _, gradient, second = function.evaluate(x)
    curvature = np.zeros((function.arguments, function.arguments, 40)) if second is None else second[None, None]
    for i in range(function.arguments):
        step = np.zeros_like(x)
        step[i] = h
        after, before = function.evaluate(x + step), function.evaluate(x - step)
        assert np.abs((after[0] - before[0]) / (2 * h) - gradient[i]).max() < 1e-8
        assert np.abs((after[1] - before[1]) / (2 * h) - curvature[i]).max() < 1e-5  # third derivatives of some 1


def test_the_cubic_spline_is_exact_for_cubics_and_straight_beyond_its_knots():
    cubic = np.poly1d([0.7, -0.3, 0.2, 0.1])
    spline = cubic_spline(X, cubic(X))
    x = np.linspace(-1.0, 1.0, 31)
    assert np.abs(spline.evaluate(x[None])[0] - cubic(x)).max() < 1e-14
    value, slope, curvature = spline.evaluate(np.array([[1.5, 2.0]]))
    np.testing.assert_allclose(slope[0], cubic.deriv()(1.0))
    np.testing.assert_allclose(value, cubic(1.0) + cubic.deriv()(1.0) * np.array([0.5, 1.0]))
    assert not curvature.any()


@pytest.mark.parametrize(("x", "y"), [([0.0, 0.0, 1.0], [0, 1, 2]), ([0.0, 1.0], [0.0]), ([0.0, np.nan], [0.0, 1.0])])
def test_points_that_make_no_function_are_refused(x, y):
    with pytest.raises(ModelError, match="function through points"):
        piecewise_linear(np.array(x), np.array(y, dtype=float))


def _layer() -> CoordinateMap:
    terms = (
        Term(1, (0,), cubic_spline(X, Y)),
        Term(2, (1, 2), Linear((0.3, -0.7), 0.1)),
        Term(5, (4,), Polynomial((0.5, 1.0, 0.2))),
    )
    return CoordinateMap(5, 6, ((0, 0), (3, 1), (4, 2)), terms, turning=(1,))


def _rates_of_angles(q, v):
    """qdot of speeds v, written from the angular velocity of three turns about body-fixed X, Y, Z."""
    from scipy.spatial.transform import Rotation

    qdot = v.copy()
    for t, (angles, omega) in enumerate(zip(q[:, 1:4], v[:, 1:4], strict=True)):
        first = Rotation.from_euler("X", angles[0]).as_matrix()
        second = Rotation.from_euler("XY", angles[:2]).as_matrix()
        E = np.stack([np.eye(3)[0], first @ np.eye(3)[1], second @ np.eye(3)[2]], axis=1)
        qdot[t, 1:4] = np.linalg.solve(E, omega)
    return qdot


def test_rates_and_accelerations_are_the_derivatives_of_the_coordinates_beneath():
    layer, rng = _layer(), np.random.default_rng(2)
    q, v, vdot = (rng.uniform(-0.8, 0.8, (20, 5)) for _ in range(3))
    at = layer.evaluate(q, v)
    h = 1e-5
    qdot = _rates_of_angles(q, v)
    zdot = (layer.evaluate(q + h * qdot).z - layer.evaluate(q - h * qdot).z) / (2 * h)
    np.testing.assert_allclose(at.map_speeds(v), zdot, atol=1e-9)

    def rates_at(t):
        middle = q + 0.5 * t * qdot
        moved = q + t * _rates_of_angles(middle, v + 0.5 * t * vdot)  # midpoint rule: error t^3
        speeds = v + t * vdot
        return layer.evaluate(moved, speeds).map_speeds(speeds)

    acceleration = (rates_at(h) - rates_at(-h)) / (2 * h)
    np.testing.assert_allclose(at.map_speeds(vdot) + at.bias, acceleration, atol=1e-6)


def test_forces_do_the_same_work_above_and_beneath():
    layer, rng = _layer(), np.random.default_rng(3)
    q, v = rng.uniform(-0.8, 0.8, (20, 5)), rng.normal(size=(20, 5))
    below = rng.normal(size=(20, 6))
    at = layer.evaluate(q, v)
    np.testing.assert_allclose((at.map_forces(below) * v).sum(1), (below * at.map_speeds(v)).sum(1), rtol=1e-12)
    np.testing.assert_allclose(np.einsum("tij,tj->ti", at.jacobian(), v), at.map_speeds(v), atol=1e-13)
