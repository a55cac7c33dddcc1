"""Motion and forces as one estimate: what is consistent stays, what is not is brought together, and the algebra is exact."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path as FilePath

import numpy as np
import pytest

from biodyn.analysis import TrialAnalysis
from biodyn.conventions import FloatArray, IntArray
from biodyn.estimation.banded import Factor, Normal, lower_band
from biodyn.estimation.deviation import Knots, Path, moved
from biodyn.estimation.estimate import estimate_trial
from biodyn.estimation.inertias import InertiaUnknowns
from biodyn.estimation.parameters import EstimationSettings
from biodyn.estimation.problem import Problem, torque_places
from biodyn.estimation.sizes import sizes_of
from biodyn.estimation.solve import solve
from biodyn.estimation.terms import REACH, add_dynamics, add_markers, add_smoothness
from biodyn.processing.kinematics.fit import q_kinds
from biodyn.processing.signals.derivatives import motion_from_configuration
from biodyn.rigid_body import body_poses, difference, inverse_dynamics
from biodyn.trial.run import analyse_trial
from biodyn.uncertainty.magnitudes import load_magnitudes

WALK = FilePath(__file__).parents[2] / "sample_data" / "subject01" / "walk01.c3d"
FIRST, FRAMES = 100, 60
NOTHING = InertiaUnknowns((), np.zeros(0), 0.0)


@pytest.fixture(scope="module")
def walk() -> TrialAnalysis:
    return analyse_trial(WALK, torques_only=True)


def consistent(walk: TrialAnalysis, settings: EstimationSettings, step: int = 1) -> Problem:
    """A stretch of the walk with markers where the model has them and one foot's wrench that balances the body exactly."""
    model, part = walk.model, slice(FIRST, FIRST + FRAMES)
    motion = walk.fit.motion
    path = motion_from_configuration(np.arange(FRAMES) / 100.0, motion.q[part], q_kinds(model))
    start = Path(path.q, path.v, path.vdot)
    links, p_LM, _ = model.marker_arrays()
    R, p = body_poses(model.multibody, start.q)
    seen_at = p[:, links] + (R[:, links] @ p_LM[:, :, None])[..., 0]
    feet = walk.dynamics.foot_wrench_links[:1]
    needed = inverse_dynamics(model.multibody, start.q, start.v, start.vdot)[:, :6]
    moment, force = (np.einsum("tij,tj->ti", R[:, 0], needed[:, k : k + 3]) for k in (0, 3))
    wrench = np.concatenate([moment + np.cross(p[:, 0], force), force], axis=1)[:, None]
    assert walk.propagation is not None
    places = torque_places(model)
    return Problem(
        model=model,
        start=start,
        knots=Knots(FRAMES, step, 100.0),
        sizes=sizes_of(walk.propagation, settings, load_magnitudes()),
        seen_at=seen_at,
        weights=np.ones(seen_at.shape[:2]),
        wrenches=wrench,
        wrench_links=feet,
        balanced=np.ones(FRAMES, dtype=bool),
        torque_rows=places,
        torque_known=np.ones((FRAMES, len(places)), dtype=bool),
        inertias=NOTHING,
    )


def residual(problem: Problem, path: Path) -> FloatArray:
    mb = problem.model.multibody
    return inverse_dynamics(mb, path.q, path.v, path.vdot, problem.wrenches, problem.wrench_links)[:, :6]


LOOSE = EstimationSettings(smoothness=1e-4, torque_roughness=0.0)  # type: ignore[call-arg]


def test_what_is_consistent_stays(walk: TrialAnalysis) -> None:
    problem = consistent(walk, LOOSE)
    assert np.abs(residual(problem, problem.start)).max() < 1e-8  # the balance is exact
    found = solve(problem, 2)
    step = difference(problem.model.multibody, problem.start.q, found.path.q)
    assert np.abs(np.rad2deg(step)).max() < 0.02


def test_a_disturbed_start_comes_back_to_the_truth(walk: TrialAnalysis) -> None:
    """Half a degree of a wave in every coordinate, which neither markers nor forces know of."""
    problem = consistent(walk, LOOSE)
    mb = problem.model.multibody
    wave = np.sin(np.linspace(0.0, 6.0, problem.knots.count))[:, None] * np.deg2rad(0.5) * np.ones(mb.nv)
    wave[:, 3:6] *= 0.3  # m
    away = moved(mb, problem.start, problem.knots, wave)
    before = np.sqrt(np.mean(residual(problem, away) ** 2))
    found = solve(replace(problem, start=away), 3)
    after = np.sqrt(np.mean(residual(problem, found.path) ** 2))
    step = difference(mb, problem.start.q, found.path.q)
    assert before > 10.0
    assert after < 0.5
    assert np.abs(np.rad2deg(step[:, :3])).max() < 0.1  # of half a degree


@pytest.mark.parametrize("step", [1, 2])
def test_the_gradient_is_that_of_the_sum_of_squares(walk: TrialAnalysis, step: int) -> None:
    """Against central differences of the cost, in a random direction; markers off by a centimetre, forces by 3 %."""
    settings = EstimationSettings()  # type: ignore[call-arg]
    problem = consistent(walk, settings, step)
    rng = np.random.default_rng(3)
    problem = replace(
        problem,
        seen_at=problem.seen_at + rng.normal(0.0, 0.01, problem.seen_at.shape),
        wrenches=1.03 * problem.wrenches,
    )
    mb, stiff = problem.model.multibody, np.full(problem.model.multibody.nv, 1e4)
    direction = rng.normal(size=(problem.knots.count, mb.nv)) * 1e-2

    def cost(c: FloatArray) -> float:
        path = moved(mb, problem.start, problem.knots, c)
        normal = _Squares.empty(problem.knots.count, REACH, mb.nv)
        add_dynamics(normal, problem, mb, path)
        add_smoothness(normal, problem, c, stiff)
        links, p_LM, _ = problem.model.marker_arrays()
        R, p = body_poses(mb, path.q)
        rest = (problem.seen_at - p[:, links] - (R[:, links] @ p_LM[:, :, None])[..., 0]) / problem.sizes.marker_sd_m[
            :, None
        ]
        return float(0.5 * (np.sum(rest**2) + sum(normal.squares)))

    normal = Normal.empty(problem.knots.count, REACH, mb.nv)
    add_markers(normal, problem, problem.start)
    add_dynamics(normal, problem, mb, problem.start)
    add_smoothness(normal, problem, np.zeros_like(direction), stiff)
    h = 1e-4
    numeric = (cost(h * direction) - cost(-h * direction)) / (2.0 * h)
    assert -float(np.sum(normal.g * direction)) == pytest.approx(numeric, rel=1e-5)


class _Squares(Normal):
    """Equations that keep the squares of their terms."""

    @property
    def squares(self) -> list[float]:
        return self.__dict__.setdefault("_squares", [])

    def add_wide(
        self, first: int, rows: list[FloatArray], residual: FloatArray, columns: IntArray | None = None
    ) -> None:
        self.squares.append(float(np.sum(residual**2)))

    def add_diagonal(self, first: int, weights: FloatArray, precision: FloatArray, right: FloatArray) -> None:
        self.squares.append(float(np.sum(right**2 / precision)))


def test_the_deviation_of_the_root_belongs_to_its_path(walk: TrialAnalysis) -> None:
    """Velocity and acceleration against the spline through the configurations: a tenth of a radian of turning root."""
    mb, part = walk.model.multibody, slice(FIRST, FIRST + FRAMES)
    path = motion_from_configuration(np.arange(FRAMES) / 100.0, walk.fit.motion.q[part], q_kinds(walk.model))
    knots = Knots(FRAMES, 1, 100.0)
    c = np.zeros((knots.count, mb.nv))
    c[:, :6] = 0.1 * np.sin(np.linspace(0.0, 9.0, knots.count)[:, None] + np.arange(6.0))
    away = moved(mb, Path(path.q, path.v, path.vdot), knots, c)
    again = motion_from_configuration(path.time_s, away.q, q_kinds(walk.model))
    inner = slice(8, -8)  # the spline's ends are its own
    np.testing.assert_allclose(away.v[inner], again.v[inner], atol=2e-4)
    np.testing.assert_allclose(away.vdot[inner], again.vdot[inner], atol=2e-2)


@pytest.mark.parametrize("step", [1, 2, 3])
def test_the_spline_takes_straight_lines_as_they_are(step: int) -> None:
    knots = Knots(50, step, 100.0)
    place, rate, bend = knots.values((np.arange(knots.count) - 2.0)[:, None] * knots.knot_s)
    np.testing.assert_allclose(place[:, 0], np.arange(50) / 100.0, atol=1e-14)
    np.testing.assert_allclose(rate, 1.0, atol=1e-12)
    np.testing.assert_allclose(bend, 0.0, atol=1e-10)


def test_the_banded_system_is_the_dense_one() -> None:
    rng = np.random.default_rng(1)
    frames, n, reach = 7, 3, 2
    normal = Normal.empty(frames, reach, n)
    dense = np.zeros((frames * n, frames * n))
    for first in range(frames - reach):
        rows = [rng.normal(size=(1, 5, n)) for _ in range(reach + 1)]
        normal.add_wide(first, rows, rng.normal(size=(1, 5)))
        flat = np.concatenate(rows, axis=2)[0]
        at = slice(first * n, (first + reach + 1) * n)
        dense[at, at] += flat.T @ flat
    dense += np.eye(len(dense))
    normal.H[:, 0] += np.eye(n)
    ab = lower_band(normal.H)
    for k in range(len(ab)):
        np.testing.assert_allclose(ab[k, : len(dense) - k], np.diag(dense, -k), atol=1e-12)
    right = rng.normal(size=(frames, n, 2))
    expected = np.linalg.solve(dense, right.reshape(frames * n, 2)).reshape(right.shape)
    np.testing.assert_allclose(Factor(normal.H).solve(right), expected, atol=1e-10)


def test_the_estimate_closes_the_residual_and_keeps_the_raw_one(walk: TrialAnalysis) -> None:
    assert walk.propagation is not None
    settings = EstimationSettings()  # type: ignore[call-arg]
    found = estimate_trial(walk.propagation, walk.reaction, 6.0, settings, load_magnitudes())
    account = found.account
    assert account.residual_before[0] > 10.0
    assert account.residual_after[0] < 3.0
    assert account.residual_after[1] < 1.0
    assert account.marker_rms_m < 1e-3
    assert account.raw_dynamics is walk.dynamics
    assert max(np.abs(shift).max() for shift in account.centre_shifts_m.values()) < 0.03


def test_the_method_of_the_settings_asks_for_it() -> None:
    analysis = analyse_trial(WALK, settings={"signals": {"method": "estimate"}}, torques_only=True)
    assert analysis.estimate is not None
    assert analysis.force_cutoff_hz == 40.0  # 0.4 of 100 frames a second
    assert analysis.as_fitted.dynamics is analysis.estimate.raw_dynamics
    assert analysis.as_fitted.force_cutoff_hz == 6.0
