"""What all foot strikes of a trial have in common."""

from __future__ import annotations

import numpy as np
import pytest

from biodyn.conventions import FloatArray
from biodyn.estimation.gauss_newton import impact_template, solve_template_step
from biodyn.estimation.noise_model import CoordinateKinds, StrikeMap
from biodyn.estimation.normal_equation_terms import TorqueRows
from biodyn.estimation.solver import CholeskyFactor, NormalEquations

RATE_HZ, FRAMES = 100.0, 400
STRIKES_S = (0.503, 1.497, 2.505, 3.5)  # two of the right foot, two of the left
CHANGE_NM, COMMON_NM, OWN_NM, NOISE_NM = 0.2, 6.0, 1.0, 2.0


def since() -> FloatArray:
    away = np.arange(FRAMES)[:, None] / RATE_HZ - np.array(STRIKES_S)
    nearest = [away[:, [0, 2]], away[:, [1, 3]]]
    return np.stack([own[np.arange(FRAMES), np.abs(own).argmin(axis=1)] for own in nearest], axis=1)


def knees() -> CoordinateKinds:
    return CoordinateKinds(np.zeros(2, dtype=np.int64), ("r", "l"))


def test_a_course_is_the_same_after_every_strike() -> None:
    course = impact_template(knees(), since())
    numbers = np.random.default_rng(1).normal(size=course.count)
    values = course.apply(numbers)
    at = np.round(np.array(STRIKES_S) * RATE_HZ).astype(int)
    assert (values[:40] == 0.0).all()  # beside strikes there is none
    own = [values[k - 5 : k + 12, side] for k, side in zip(at, (0, 1, 0, 1), strict=True)]
    other = [values[k - 5 : k + 12, 1 - side] for k, side in zip(at, (0, 1, 0, 1), strict=True)]
    late_s = at / RATE_HZ - np.array(STRIKES_S)  # the frames lie this much behind the strikes
    steepest = float(np.abs(np.diff(numbers)).max()) * RATE_HZ
    for one, late in zip(own[1:], late_s[1:], strict=True):
        assert np.abs(one - own[0]).max() <= steepest * abs(late - late_s[0]) + 1e-12
    assert np.abs(own[0] - other[0]).max() > 1.0  # one's own strikes and those of the other side differ


def test_what_has_no_side_meets_right_and_left_strikes_apart() -> None:
    one = impact_template(CoordinateKinds(np.zeros(1, dtype=np.int64), ("",)), since())
    two = impact_template(CoordinateKinds(np.zeros(1, dtype=np.int64), ("r",)), since())
    assert one.count == two.count  # as many as one leg has for own and other strikes


def test_gathered_is_the_transposed_of_values() -> None:
    course, rng = impact_template(knees(), since()), np.random.default_rng(2)
    numbers, values = rng.normal(size=course.count), rng.normal(size=course.shape)
    assert np.sum(course.apply(numbers) * values) == pytest.approx(numbers @ course.apply_transpose(values), rel=1e-12)
    scale = np.abs(values)
    units = [course.apply(one) for one in np.eye(course.count)]
    np.testing.assert_allclose(
        course.apply_squared_transpose(scale), [np.sum(scale * unit**2) for unit in units], rtol=1e-12
    )


def test_a_strike_at_a_knot_asks_for_no_number_that_nothing_tells() -> None:
    """Every fiftieth of a second from it on: the hundredths between them have no weight at all, and no equation."""
    since_s = np.stack([np.arange(60) / 50.0, np.full(60, np.inf)], axis=1)
    course = impact_template(knees(), since_s)
    assert (course.apply_squared_transpose(np.ones(course.shape)) > 0.0).all()
    normal, part = equations(np.zeros((62, 2)), course)
    factor = CholeskyFactor(normal)
    step = np.ones((62, 2))
    assert np.isfinite(solve_template_step(course, [part], np.full(course.shape, COMMON_NM), factor, step)).all()


def equations(tau: FloatArray, course: StrikeMap) -> tuple[NormalEquations, TorqueRows]:
    """Torques (K, 2) measured with `NOISE_NM`, whose second differences are small but for what a single strike may."""
    count = len(tau)
    normal = NormalEquations(count, 2, 2)
    normal.add_diagonal(0, np.ones(1), np.full(tau.shape, NOISE_NM**-2), tau / NOISE_NM**2)
    struck = course.apply(np.ones(course.count)) > 0.0
    scale = 1.0 / np.hypot(CHANGE_NM, OWN_NM * struck)
    rows = np.einsum("s,ij->isj", [1.0, -2.0, 1.0], np.eye(2)) * scale[:, :, None, None]
    part = TorqueRows(np.arange(2), np.arange(2), rows, np.zeros(scale.shape), scale)
    normal.add_rows(0, part.rows, part.rest)
    return normal, part


def test_the_step_is_that_of_all_unknowns_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against the dense solution of coefficients and course at once."""
    monkeypatch.setattr("biodyn.estimation.gauss_newton._SOLUTIONS", 200)
    course, rng = impact_template(knees(), since()[1:-1]), np.random.default_rng(3)
    tau = rng.normal(size=(FRAMES, 2)).cumsum(axis=0)
    normal, part = equations(tau, course)
    right = normal.right.ravel()
    factor = CholeskyFactor(normal)
    step = factor.solve(normal.right)
    found = step + solve_template_step(course, [part], np.full(course.shape, COMMON_NM), factor, step)
    D = np.zeros((*course.shape, FRAMES, 2))
    for k in range(len(D)):
        D[k, :, k : k + 3] = part.rows[k]
    D = D.reshape(-1, 2 * FRAMES)
    W = np.stack([(part.scale * course.apply(one)).ravel() for one in np.eye(course.count)], axis=1)
    both = np.hstack([D, -W])
    whole = both.T @ both
    whole[: 2 * FRAMES, : 2 * FRAMES] += np.eye(2 * FRAMES) / NOISE_NM**2
    whole[2 * FRAMES :, 2 * FRAMES :] += np.eye(course.count) / COMMON_NM**2
    expected = np.linalg.solve(whole, np.concatenate([right, np.zeros(course.count)]))[: 2 * FRAMES]
    np.testing.assert_allclose(found.ravel(), expected, atol=1e-6 * np.abs(expected).max())


def test_bursts_that_all_strikes_share_are_kept() -> None:
    """A burst of 20 Nm in 50 ms at each strike, in noise: what is alike in four of them is drawn to zero no more."""
    rng, s = np.random.default_rng(4), since()
    own = np.stack([s[:, 0], s[:, 1]], axis=1)
    burst = -20.0 * np.exp(-0.5 * (own / 0.015) ** 2)
    course = impact_template(knees(), s[1:-1])
    normal, part = equations(burst + NOISE_NM * rng.normal(size=burst.shape), course)
    factor = CholeskyFactor(normal)
    alone = factor.solve(normal.right)
    found = alone + solve_template_step(course, [part], np.full(course.shape, COMMON_NM), factor, alone)
    near = np.abs(own) < 0.05
    before, after = (float(np.sqrt(np.mean((one - burst)[near] ** 2))) for one in (alone, found))
    assert before > 1.5
    # the noise of four strikes together is half that of one
    assert after < 0.75 * before
