"""Motion and forces as one estimate: what is consistent stays, what is not is brought together, and the algebra is exact."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path as FilePath

import numpy as np
import pytest

from biodyn.analysis import TrialAnalysis
from biodyn.checks.motion import check_filters
from biodyn.checks.trial_facts import TrialFacts
from biodyn.conventions import SIDES, FloatArray, IntArray
from biodyn.estimation.estimate import estimate_trial
from biodyn.estimation.estimation_problem import DEGREE, EstimationProblem, StretchMotion, UniformSpline, apply_update
from biodyn.estimation.gauss_newton import posterior_sd, power_derivatives, solve_problem
from biodyn.estimation.noise_model import (
    FRAME_S,
    StrikeMap,
    estimate_noise_model,
    smooth_torque_indices,
    torque_smoothness_prior,
)
from biodyn.estimation.normal_equation_terms import (
    REACH,
    THIRD,
    BalanceRows,
    add_balance_terms,
    add_marker_terms,
    add_smoothness,
    add_torque_terms,
    marker_information,
    smoothness_precision,
    third_difference_precisions,
    torque_change_sd,
    torque_derivatives,
)
from biodyn.estimation.settings import EstimationSettings
from biodyn.estimation.shared_parameters import correlation_length
from biodyn.estimation.solver import CholeskyFactor, NormalEquations
from biodyn.estimation.unknown_parameters import InertiaUnknowns, PlateUnknowns, change_inertias, inertia_unknowns
from biodyn.processing.dynamics.inverse_dynamics import known_loads
from biodyn.processing.gait.events import plate_events
from biodyn.processing.signals.derivatives import motion_from_configuration
from biodyn.rigid_body import body_poses, difference, inverse_dynamics
from biodyn.rigid_body.dynamics import inertial_parameters
from biodyn.rigid_body.kinematics import jacobian
from biodyn.trial.run import analyse_trial
from biodyn.uncertainty.propagation_inputs import load_magnitudes

WALK = FilePath(__file__).parents[2] / "sample_data" / "subject01" / "walk01.c3d"
FIRST, FRAMES = 100, 60
NOTHING = InertiaUnknowns.empty()


@pytest.fixture(scope="module")
def estimated() -> TrialAnalysis:
    return analyse_trial(WALK, settings={"signals": {"method": "estimate"}}, torques_only=True)


@pytest.fixture(scope="module")
def walk(estimated: TrialAnalysis) -> TrialAnalysis:
    """The same walk as it was fitted."""
    return estimated.before_estimate


def consistent(walk: TrialAnalysis, step: int = 1, loose: bool = False) -> EstimationProblem:
    """A stretch of the walk with markers where the model has them and one foot's wrench that balances the body exactly.

    loose: the motion is hardly smoothed, and torques may change without a limit.
    """
    model, part = walk.model, slice(FIRST, FIRST + FRAMES)
    motion = walk.fit.motion
    path = motion_from_configuration(np.arange(FRAMES) / 100.0, motion.q[part])
    start = StretchMotion(path.q, path.v, path.vdot)
    links, p_LM, _ = model.marker_arrays()
    R, p = body_poses(model.multibody, start.q)
    seen_at = p[:, links] + (R[:, links] @ p_LM[:, :, None])[..., 0]
    feet = walk.dynamics.foot_wrench_links[:1]
    needed = inverse_dynamics(model.multibody, start.q, start.v, start.vdot)[:, :6]
    moment, force = (np.einsum("tij,tj->ti", R[:, 0], needed[:, k : k + 3]) for k in (0, 3))
    wrench = np.concatenate([moment + np.cross(p[:, 0], force), force], axis=1)[:, None]
    assert walk.propagation is not None
    places = smooth_torque_indices(model)
    sizes = estimate_noise_model(walk.propagation, load_magnitudes())
    return EstimationProblem(
        model=model,
        start=start,
        knots=UniformSpline(FRAMES, step, 100.0),
        sizes=replace(sizes, stiffness=1e-4 / 5.0 * sizes.stiffness) if loose else sizes,
        seen_at=seen_at,
        weights=np.ones(seen_at.shape[:2]),
        wrenches=wrench,
        wrench_links=feet,
        balanced=np.ones(FRAMES, dtype=bool),
        to_close=np.ones(FRAMES, dtype=bool),
        torque_rows=places,
        torque_known=np.ones((FRAMES, len(places)), dtype=bool),
        torque_change_nm=np.full(len(places), np.inf if loose else 30.0 * model.mass_kg * 0.01**1.5),
        since_strike_s=np.full((FRAMES, len(SIDES)), np.inf),
        inertias=NOTHING,
        plates=PlateUnknowns.empty(100.0),
    )


def residual(problem: EstimationProblem, path: StretchMotion) -> FloatArray:
    mb = problem.model.multibody
    return inverse_dynamics(mb, path.q, path.v, path.vdot, problem.wrenches, problem.wrench_links)[:, :6]


def test_each_torque_may_change_as_fast_as_its_own_movement_does(walk: TrialAnalysis) -> None:
    inputs = walk.propagation
    assert inputs is not None
    loads = known_loads(inputs.fit, walk.reaction)
    usual = torque_smoothness_prior(inputs, loads)
    limit = dict(zip(usual.places.tolist(), usual.change_nm.tolist(), strict=True))
    of = {c.name: limit[c.v_index] for c in walk.model.coordinates if c.v_index in limit}
    assert of["hip_flexion_r"] == of["hip_flexion_l"]  # both sides count together
    assert of["hip_flexion_r"] > 2.0 * of["hip_rotation_r"]
    motion = inputs.fit.motion
    hasty = replace(inputs, fit=replace(inputs.fit, motion=replace(motion, v=2.0 * motion.v, vdot=4.0 * motion.vdot)))
    twice = torque_smoothness_prior(hasty, loads)
    assert (twice.change_nm > usual.change_nm).mean() > 0.8  # legs that swing at twice the speed


def test_motion_and_torques_are_nearly_free_at_a_strike_at_any_rate(walk: TrialAnalysis) -> None:
    """As long as no step has shown what they do; elsewhere they keep to what is usual."""
    problem = consistent(walk)
    stiff = smoothness_precision(problem, np.eye(problem.model.multibody.nv))

    def freedom(times: int) -> tuple[FloatArray, FloatArray]:
        time_s = np.arange(times * FRAMES) / (100.0 * times)
        since_s = np.stack([time_s - 0.3, np.full(len(time_s), np.inf)], axis=1)
        knots = UniformSpline(len(time_s), times, 100.0 * times)
        start = StretchMotion(
            *(np.repeat(part, times, axis=0) for part in (problem.start.q, problem.start.v, problem.start.vdot))
        )
        at_rate = replace(problem, start=start, knots=knots, since_strike_s=since_s)
        precision, _ = third_difference_precisions(
            at_rate, np.zeros((knots.coefficient_count, len(stiff))), times**DEGREE * stiff
        )
        return torque_change_sd(at_rate, None) / problem.torque_change_nm, np.sqrt(precision[0] / precision)

    torque, motion = freedom(1)
    burst = 1.0 * problem.model.mass_kg / problem.torque_change_nm
    np.testing.assert_allclose(torque[29], burst)  # the second difference about the frame of the strike
    np.testing.assert_allclose(torque[:25], 1.0)
    np.testing.assert_allclose(torque[35:], 1.0)
    assert motion.max() == pytest.approx(16.0)
    np.testing.assert_allclose(motion[40 : FRAMES - 10], 1.0)
    np.testing.assert_allclose(freedom(2)[0][: len(torque)], torque)
    np.testing.assert_allclose(freedom(2)[1][:FRAMES], motion[:FRAMES])


def test_what_is_consistent_stays(walk: TrialAnalysis) -> None:
    problem = consistent(walk, loose=True)
    assert np.abs(residual(problem, problem.start)).max() < 1e-8  # the balance is exact
    found = solve_problem(problem, 2)
    step = difference(problem.model.multibody, problem.start.q, found.path.q)
    assert np.abs(np.rad2deg(step)).max() < 0.02


def test_a_disturbed_start_comes_back_to_the_truth(walk: TrialAnalysis) -> None:
    """Half a degree of a wave in every coordinate, which neither markers nor forces know of."""
    problem = consistent(walk, loose=True)
    mb = problem.model.multibody
    wave = np.sin(np.linspace(0.0, 6.0, problem.knots.coefficient_count))[:, None] * np.deg2rad(0.5) * np.ones(mb.nv)
    wave[:, 3:6] *= 0.3  # m
    away = apply_update(mb, problem.start, problem.knots, wave)
    before = np.sqrt(np.mean(residual(problem, away) ** 2))
    found = solve_problem(replace(problem, start=away), 3)
    after = np.sqrt(np.mean(residual(problem, found.path) ** 2))
    step = difference(mb, problem.start.q, found.path.q)
    assert before > 10.0
    assert after < 0.5
    assert np.abs(np.rad2deg(step[:, :3])).max() < 0.1  # of half a degree


def test_the_error_of_the_balance_is_found_from_what_is_left(walk: TrialAnalysis) -> None:
    """3 N are expected. Forces that are off by a slow wave of 20 N move it; those without error only show that they fit."""
    problem = consistent(walk)

    def found(error_n: float) -> float:
        wrenches = problem.wrenches.copy()
        wave = np.sqrt(2.0) * np.sin(2.0 * np.pi * np.arange(FRAMES) / 60.0)
        wrenches[:, 0, 3:] += error_n * wave[:, None]
        return float(solve_problem(replace(problem, wrenches=wrenches), 1).problem.sizes.balance[3])

    assert 1.5 < found(0.0) < 3.5
    assert 7.0 < found(20.0) < 25.0


def test_an_error_that_lasts_tells_as_little_as_it_changes(walk: TrialAnalysis) -> None:
    """The same power in every frame, once new and once one slow wave: the wave counts as few samples."""
    problem = consistent(walk)
    rng, time_s = np.random.default_rng(4), np.arange(FRAMES) / 100.0
    waves = 15.0 * np.sqrt(2.0) * np.sin(2.0 * np.pi * time_s / 0.8)[:, None] * np.ones(3)
    samples = [correlation_length(errors) for errors in (waves, rng.normal(0.0, 15.0, (FRAMES, 3)))]
    assert samples[0] > 10.0
    assert samples[1] < 2.0
    unbalanced = replace(problem, balanced=np.zeros(FRAMES, dtype=bool))
    np.testing.assert_array_equal(
        solve_problem(unbalanced, 1).problem.sizes.balance, problem.sizes.balance
    )  # nothing told: as expected


@pytest.mark.parametrize("step", [1, 2])
def test_the_gradient_is_that_of_the_sum_of_squares(walk: TrialAnalysis, step: int) -> None:
    """Against central differences of the cost, in a random direction; markers off by a centimetre, forces by 3 %."""
    problem = consistent(walk, step)
    rng = np.random.default_rng(3)
    problem = replace(
        problem,
        seen_at=problem.seen_at + rng.normal(0.0, 0.01, problem.seen_at.shape),
        wrenches=1.03 * problem.wrenches,
    )
    mb, stiff = problem.model.multibody, np.full(problem.model.multibody.nv, 1e4)
    direction = rng.normal(size=(problem.knots.coefficient_count, mb.nv)) * 1e-2

    def cost(c: FloatArray) -> float:
        path = apply_update(mb, problem.start, problem.knots, c)
        normal = _Squares(problem.knots.coefficient_count, REACH, mb.nv)
        add_dynamics_terms(normal, problem, path)
        add_smoothness(normal, problem, c, stiff)
        links, p_LM, _ = problem.model.marker_arrays()
        R, p = body_poses(mb, path.q)
        rest = (problem.seen_at - p[:, links] - (R[:, links] @ p_LM[:, :, None])[..., 0]) / problem.sizes.marker_sd_m[
            :, None
        ]
        return float(0.5 * (np.sum(rest**2) + sum(normal.squares)))

    normal = NormalEquations(problem.knots.coefficient_count, REACH, mb.nv)
    add_marker_terms(normal, problem, *marker_information(problem, problem.start.q))
    add_dynamics_terms(normal, problem, problem.start)
    add_smoothness(normal, problem, np.zeros_like(direction), stiff)
    h = 1e-4
    numeric = (cost(h * direction) - cost(-h * direction)) / (2.0 * h)
    assert -float(np.sum(normal.right * direction)) == pytest.approx(numeric, rel=1e-5)


def add_dynamics_terms(normal: NormalEquations, problem: EstimationProblem, path: StretchMotion) -> list[BalanceRows]:
    """Add the terms of balance and torques at a motion, and return the rows of the balance."""
    mb = problem.model.multibody
    derivatives = torque_derivatives(problem, mb, path)
    tau = inverse_dynamics(mb, path.q, path.v, path.vdot, problem.wrenches, problem.wrench_links)
    balance = add_balance_terms(normal, problem, tau, derivatives)
    add_torque_terms(normal, problem, tau, derivatives)
    return balance


class _Squares(NormalEquations):
    """Equations that keep the squares of their terms."""

    @property
    def squares(self) -> list[float]:
        return self.__dict__.setdefault("_squares", [])

    def add_rows(self, first: int, rows: FloatArray, residual: FloatArray, columns: IntArray | None = None) -> None:
        self.squares.append(float(np.sum(residual**2)))

    def add_diagonal(self, first: int, weights: FloatArray, precision: FloatArray, right: FloatArray) -> None:
        self.squares.append(float(np.sum(right**2 / precision)))


def test_the_deviation_of_the_root_belongs_to_its_path(walk: TrialAnalysis) -> None:
    """Velocity and acceleration against the spline through the configurations: a tenth of a radian of turning root."""
    mb, part = walk.model.multibody, slice(FIRST, FIRST + FRAMES)
    path = motion_from_configuration(np.arange(FRAMES) / 100.0, walk.fit.motion.q[part])
    knots = UniformSpline(FRAMES, 1, 100.0)
    c = np.zeros((knots.coefficient_count, mb.nv))
    c[:, :6] = 0.1 * np.sin(np.linspace(0.0, 9.0, knots.coefficient_count)[:, None] + np.arange(6.0))
    away = apply_update(mb, StretchMotion(path.q, path.v, path.vdot), knots, c)
    again = motion_from_configuration(path.time_s, away.q)
    inner = slice(8, -8)  # the spline's ends are its own
    np.testing.assert_allclose(away.v[inner], again.v[inner], atol=2e-4)
    np.testing.assert_allclose(away.vdot[inner], again.vdot[inner], atol=2e-2)


@pytest.mark.parametrize("step", [1, 2, 3])
def test_the_spline_takes_straight_lines_as_they_are(step: int) -> None:
    knots = UniformSpline(50, step, 100.0)
    place, rate, bend = knots.evaluate((np.arange(knots.coefficient_count) - 2.0)[:, None] * knots.knot_s)
    np.testing.assert_allclose(place[:, 0], np.arange(50) / 100.0, atol=1e-14)
    np.testing.assert_allclose(rate, 1.0, atol=1e-12)
    np.testing.assert_allclose(bend, 0.0, atol=1e-10)


@pytest.mark.parametrize(("frames", "m"), [(6, 3), (7, 3), (19, 3), (19, 5), (40, 5)])
def test_the_banded_system_is_the_dense_one(frames: int, m: int) -> None:
    """Terms of all kinds, one of some unknowns only, against the same sum without a band; more frames than are summed at once."""
    rng = np.random.default_rng(1)
    n, reach = 3, 2
    normal, dense, right = NormalEquations(frames, reach, n), np.eye(frames * n), np.zeros(frames * n)
    identity = np.ones((frames, n))
    normal.add_diagonal(0, np.ones(1), identity, 0.0 * identity)

    def add(first: int, rows: FloatArray, rest: FloatArray) -> None:
        at = slice(first * n, (first + rows.shape[1]) * n)
        flat = rows.reshape(len(rows), -1)
        dense[at, at] += flat.T @ flat
        right[at] += flat.T @ rest

    rows, rest = rng.normal(size=(frames - reach, m, reach + 1, n)), rng.normal(size=(frames - reach, m))
    normal.add_rows(0, rows, rest)
    some, some_rest, columns = rng.normal(size=(4, m, 2, 2)), rng.normal(size=(4, m)), np.array([0, 2])
    normal.add_rows(1, some, some_rest, columns)
    weights, J, pull = (
        np.array([1.0, -2.0, 0.5]),
        rng.normal(size=(frames - reach, m, n)),
        rng.normal(size=(frames - reach, m)),
    )
    turned = J.transpose(0, 2, 1)
    normal.add_weighted_terms(0, weights, turned @ J, (turned @ pull[:, :, None])[..., 0])
    for t in range(frames - reach):
        add(t, rows[t], rest[t])
        add(t, weights[:, None] * J[t][:, None], pull[t])
    for t in range(4):
        whole = np.zeros((m, 2, n))
        whole[:, :, columns] = some[t]
        add(1 + t, whole, some_rest[t])
    np.testing.assert_allclose(normal.right.ravel(), right, atol=1e-12)
    several = rng.normal(size=(frames, n, 3))
    several[:2, :, 0] = several[:4, :, 2] = 0.0  # columns may begin later, in no order
    factor, L = CholeskyFactor(normal), np.linalg.cholesky(dense)
    for found, matrix in ((factor.solve(several), dense), (factor.solve_forward(several.copy()), L)):
        np.testing.assert_allclose(found.reshape(-1, 3), np.linalg.solve(matrix, several.reshape(-1, 3)), atol=1e-10)
    assert factor.solve(several[..., :0]).shape == (frames, n, 0)
    back = factor.solve_backward(several[..., 0])
    np.testing.assert_allclose(back.ravel(), np.linalg.solve(L.T, several[..., 0].ravel()), atol=1e-10)


def test_equations_without_a_solution_are_refused() -> None:
    normal = NormalEquations(3, 1, 2)
    normal.add_diagonal(0, np.ones(1), np.array([[1.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.zeros((3, 2)))
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        CholeskyFactor(normal)


def test_unit_changes_of_inertias_are_those_of_the_changed_model(walk: TrialAnalysis) -> None:
    unknowns = inertia_unknowns(walk.model, EstimationSettings())  # type: ignore[call-arg]
    found, before = unknowns.inertial_parameter_changes(walk.model), inertial_parameters(walk.model.multibody)
    assert unknowns.count == found.shape[1] > 20
    for value in range(0, unknowns.count, 3):
        changed = change_inertias(walk.model, unknowns, np.eye(unknowns.count)[value])
        np.testing.assert_allclose(found[:, value], inertial_parameters(changed.multibody) - before, atol=1e-12)


def test_markers_say_what_their_jacobians_say(walk: TrialAnalysis) -> None:
    problem = consistent(walk, loose=True)
    rng, mb = np.random.default_rng(2), walk.model.multibody
    weights = rng.choice([0.0, 0.5, 1.0], problem.weights.shape)
    problem = replace(problem, weights=weights, seen_at=problem.seen_at + rng.normal(0.0, 0.01, problem.seen_at.shape))
    square, pull = marker_information(problem, problem.start.q)
    links, p_LM, _ = problem.model.marker_arrays()
    expected, pulled = np.zeros_like(square), np.zeros_like(pull)
    R, p = body_poses(mb, problem.start.q)
    for m, (link, place) in enumerate(zip(links, p_LM, strict=True)):
        J = jacobian(mb, problem.start.q, int(link), place)[:, 3:]
        weight = weights[:, m, None] / problem.sizes.marker_sd_m[m] ** 2
        rest = problem.seen_at[:, m] - p[:, link] - R[:, link] @ place
        expected += weight[:, :, None] * (J.transpose(0, 2, 1) @ J)
        pulled += weight * (J.transpose(0, 2, 1) @ rest[:, :, None])[..., 0]
    np.testing.assert_allclose(square, expected, atol=1e-9 * np.abs(expected).max())
    np.testing.assert_allclose(pull, pulled, atol=1e-9 * np.abs(pulled).max())


def test_accelerations_may_change_about_strikes_as_an_earlier_step_shows(
    walk: TrialAnalysis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A coordinate that was seen to change ten times as fast there is held a hundredth as much, and alike on both sides."""
    problem = consistent(walk)
    monkeypatch.setattr("biodyn.estimation.normal_equation_terms._THIRD_DIFFERENCE_FACTOR", 1.0)
    frames = 2 * FRAMES
    time_s = np.arange(frames) / 100.0
    since_s = np.stack([time_s - (0.3 if side == "r" else 0.8) for side in SIDES], axis=1)
    start = StretchMotion(
        *(np.zeros((frames, part.shape[1])) for part in (problem.start.q, problem.start.v, problem.start.vdot))
    )
    still = np.zeros((frames, *problem.wrenches.shape[1:]))
    problem = replace(
        problem, start=start, knots=UniformSpline(frames, 1, 100.0), wrenches=still, since_strike_s=since_s
    )
    nv = problem.model.multibody.nv
    knees = [c.v_index for c in problem.model.coordinates if c.gait_variable == "knee_angle"]
    third = np.full((problem.knots.coefficient_count - 3, nv), 1e-3)
    third[25:45, knees[0]] = third[75:95, knees[1]] = 1e-2
    c = np.zeros((problem.knots.coefficient_count, nv))
    c[3:] = np.cumsum(np.cumsum(np.cumsum(third, axis=0), axis=0), axis=0)

    def held(problem: EstimationProblem, precision: float, from_previous_solution: bool) -> FloatArray:
        normal = NormalEquations(problem.knots.coefficient_count, REACH, nv)
        add_smoothness(normal, problem, c, np.full(nv, precision), from_previous_solution=from_previous_solution)
        return np.asarray(normal.band[:, 0].reshape(-1, nv) / np.sum(THIRD**2))

    found = held(problem, 1e12, True)  # next to nothing is usual
    np.testing.assert_allclose(found[52:60], 1e6, rtol=0.02)
    # a coefficient belongs to four differences: all of these lie about the strike
    np.testing.assert_allclose(found[37, knees[0]], 1e4, rtol=0.02)
    np.testing.assert_allclose(found[87, knees[1]], 1e4, rtol=0.02)
    np.testing.assert_allclose(found[37, [at for at in range(nv) if at not in knees]], 1e6, rtol=0.02)
    np.testing.assert_allclose(held(problem, 1.0, True)[52:60], 1.0, rtol=1e-5)  # the usual limit stays beside it
    nowhere = replace(problem, since_strike_s=np.full_like(since_s, np.inf))
    np.testing.assert_array_equal(held(nowhere, 1.0, True), held(nowhere, 1.0, False))  # no strike, nothing to learn


def test_strikes_share_a_course_only_where_there_are_some(walk: TrialAnalysis, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = consistent(walk)
    noise = np.random.default_rng(0).normal(0.0, 0.002, problem.seen_at.shape)
    problem = replace(problem, seen_at=problem.seen_at + noise)
    since_s = np.full((FRAMES, len(SIDES)), np.inf)
    since_s[:, SIDES.index("r")] = np.where(np.arange(FRAMES) < 60, -0.3, -0.8) + np.arange(FRAMES) / 100.0
    struck = replace(problem, since_strike_s=since_s)
    alone = replace(struck, sizes=replace(struck.sizes, strikes_alike_share=0.0))
    without = [solve_problem(one, 2).coefficients for one in (struck, alone)]
    assert np.abs(without[0] - without[1]).max() > 1e-5
    asked: list[StrikeMap] = []
    monkeypatch.setattr(
        "biodyn.estimation.gauss_newton.solve_template_step", lambda course, *_: asked.append(course) or 0.0
    )
    for one in (problem, alone):
        solve_problem(one, 2)
    solve_problem(struck, 1)  # a single step has none before it that could show anything
    assert not asked
    solve_problem(struck, 3)
    assert len(asked) == 1  # in the last step
    assert asked[0].shape == (FRAMES - 2, len(problem.torque_rows))


@pytest.mark.slow
def test_no_strike_lies_on_a_border(walk: TrialAnalysis) -> None:
    """Strikes midway between two hundredths, a rounding error earlier and later: the torques are the same."""
    inputs = walk.propagation
    assert inputs is not None
    strike = next(e for e in plate_events(inputs.contacts, 1e3, 0.01) if e.kind == "foot_strike")
    late_s = 0.005 - strike.time_s % FRAME_S
    found = []
    for more_s in (-1e-12, 1e-12):
        moved = [
            replace(one, start_s=one.start_s + late_s + more_s, end_s=one.end_s + late_s + more_s)
            for one in inputs.contacts
        ]
        shifted = replace(inputs, contacts=tuple(moved))
        settings = EstimationSettings()  # type: ignore[call-arg]
        found.append(estimate_trial(shifted, walk.reaction, 6.0, settings, load_magnitudes()).dynamics.torques)
    # shares change by a ten-thousand-millionth of themselves; torques by little more than sums in another order do
    assert np.nanmax(np.abs(found[1] - found[0])) < 1e-6 * walk.model.mass_kg


@pytest.mark.slow
def test_windows_of_a_long_trial_give_what_the_whole_gives(
    walk: TrialAnalysis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond the overlap nothing is felt, so that a minute needs no more memory than ten seconds."""
    held = EstimationSettings(inertia_sd_factor=0.0)  # type: ignore[call-arg]

    def torques(learning: bool) -> FloatArray:
        assert walk.propagation is not None
        with pytest.MonkeyPatch.context() as patch:
            for name in ("TORQUE_CHANGE_FACTOR", "_THIRD_DIFFERENCE_FACTOR") if not learning else ():
                patch.setattr(f"biodyn.estimation.normal_equation_terms.{name}", 0.0)
            patch.setattr("biodyn.estimation.gauss_newton.TORQUE_CHANGE_FACTOR", 2.0 if learning else 0.0)
            return estimate_trial(walk.propagation, walk.reaction, 6.0, held, load_magnitudes()).dynamics.torques

    whole, with_strikes = torques(learning=False), torques(learning=True)
    monkeypatch.setattr("biodyn.estimation.estimation_problem._LONGEST_S", 2.0)
    monkeypatch.setattr("biodyn.estimation.estimation_problem._WINDOW_S", 1.5)
    assert np.nanmax(np.abs(torques(learning=False) - whole)) < 1e-4 * np.nanmax(np.abs(whole))
    # how fast torques change about strikes, a window of two seconds learns from fewer strikes
    assert np.nanmax(np.abs(torques(learning=True) - with_strikes)) < 0.01 * np.nanmax(np.abs(with_strikes))


def test_the_estimate_closes_the_residual_and_keeps_the_raw_one(estimated: TrialAnalysis) -> None:
    account = estimated.estimate
    assert account is not None
    assert account.residual_before[0] > 10.0
    assert account.residual_unclosed[0] < 8.0
    assert account.residual_unclosed[1] < 2.0
    assert account.residual_after[0] < 3.0
    assert account.residual_after[1] < 1.0
    assert account.marker_rms_m < 1e-3
    assert max(np.abs(shift).max() for shift in account.centre_shifts_m.values()) < 0.03
    assert account.random is not None
    known = np.isfinite(estimated.dynamics.torques)
    assert (account.random.force[known] > 0.0).all()


def test_checks_see_the_trial_as_it_was_fitted(estimated: TrialAnalysis, walk: TrialAnalysis) -> None:
    assert estimated.estimate is not None
    assert walk.estimate is None
    assert walk.dynamics is estimated.estimate.raw_dynamics
    assert estimated.force_cutoff_hz == 40.0  # 0.4 of 100 frames a second
    assert walk.force_cutoff_hz == 6.0


def test_the_filters_of_the_start_are_no_filters_of_the_result(walk: TrialAnalysis) -> None:
    """Unequal cut-offs put artefacts into torques that are filtered; those of the estimate are not."""

    def found(method: str) -> list[str]:
        signals = walk.settings.signals.model_copy(update={"method": method, "force_cutoff_hz": 25.0})
        trial = replace(
            walk,
            settings=walk.settings.model_copy(update={"signals": signals}),
            propagation=None,
        )
        return [finding.code for finding in check_filters(TrialFacts(trial), 6.0).findings]

    assert found("butterworth") == ["filters-differ"]
    assert found("estimate") == []


@pytest.mark.parametrize("frames", [2, 3, 4, 5, 40, 41])
def test_the_inverse_near_the_diagonal_is_the_dense_one(frames: int) -> None:
    n, reach = 3, 2
    factor = some_factor(frames, n, reach)
    dense = factor.solve(np.eye(frames * n).reshape(frames, n, -1)).reshape(frames * n, frames * n)
    met = []
    for k, near in factor.inverse_blocks():
        met.append(k)
        there = slice(k * n, (k + reach) * n)
        np.testing.assert_allclose(near, dense[there, there], atol=1e-12)
    assert met == list(range(frames - reach, -1, -1))


def some_factor(frames: int, n: int, reach: int) -> CholeskyFactor:
    rng = np.random.default_rng(1)
    normal = NormalEquations(frames, reach, n)
    count = max(frames - reach, 0)
    normal.add_rows(0, rng.normal(size=(count, 5, reach + 1, n)), rng.normal(size=(count, 5)))
    normal.add_diagonal(0, np.ones(1), np.ones((frames, n)), np.zeros((frames, n)))
    return CholeskyFactor(normal)


def test_the_posterior_is_the_scatter_of_repeated_noise(walk: TrialAnalysis) -> None:
    """Markers and balance drawn anew 200 times with the errors that they are taken to have; the smoothness is weak."""
    problem = consistent(walk, loose=True)
    mb, nv, draws = problem.model.multibody, problem.model.multibody.nv, 200
    normal = NormalEquations(problem.knots.coefficient_count, REACH, nv)
    information, pull = marker_information(problem, problem.start.q)
    add_marker_terms(normal, problem, information, pull)
    derivatives = torque_derivatives(problem, mb, problem.start)
    balance = add_dynamics_terms(normal, problem, problem.start)
    add_smoothness(normal, problem, np.zeros((problem.knots.coefficient_count, nv)), np.full(nv, 10.0))
    factor = CholeskyFactor(normal)
    rng = np.random.default_rng(5)
    right = np.zeros((problem.knots.coefficient_count, nv, draws))
    marker_errors = np.linalg.cholesky(information + 1e-9 * np.eye(nv)) @ rng.normal(size=(FRAMES, nv, draws))
    balance_errors = rng.normal(size=(FRAMES, 6, draws))
    for j in range(balance[0].rows.shape[2]):
        block = balance[0].rows[:, :, j]
        right[j : j + FRAMES] += (
            problem.knots.weights[0][0, j] * marker_errors + block.transpose(0, 2, 1) @ balance_errors
        )
    found = factor.solve(right).reshape(problem.knots.coefficient_count, -1)
    place = problem.knots.evaluate(found)[0].reshape(FRAMES, nv, draws)
    expected = posterior_sd(problem, factor, derivatives).place
    legs = [c.v_index for c in problem.model.coordinates if problem.model.skeleton.body(c.body).side and c.v_index < 18]
    ratio = place.std(axis=2)[10:-10, legs] / expected[10:-10, legs]
    assert np.abs(np.median(ratio, axis=0) - 1.0).max() < 0.1


@pytest.mark.parametrize("step", [1, 2, 7])
def test_every_frame_behind_the_last_knot_has_its_certainty(walk: TrialAnalysis, step: int) -> None:
    """The same as the whole inverse says, also where the frames are no multiple of those between two knots."""
    problem = consistent(walk, step)
    frames = FRAMES - 3
    problem = replace(
        problem,
        start=StretchMotion(*(part[:frames] for part in (problem.start.q, problem.start.v, problem.start.vdot))),
        knots=UniformSpline(frames, step, 100.0),
        seen_at=problem.seen_at[:frames],
        weights=problem.weights[:frames],
        wrenches=problem.wrenches[:frames],
        balanced=problem.balanced[:frames],
        to_close=problem.to_close[:frames],
        torque_known=problem.torque_known[:frames],
        since_strike_s=problem.since_strike_s[:frames],
    )
    solution = solve_problem(problem, 1)
    count, nv = problem.knots.coefficient_count, problem.model.multibody.nv
    powers = power_derivatives(solution, np.eye(nv)[10:12])
    found = posterior_sd(problem, solution.factor, solution.derivatives, powers)
    whole = solution.factor.solve(np.eye(count * nv).reshape(count, nv, -1)).reshape(count, nv, count, nv)
    for t in (0, frames // 2, frames - 1):
        k, offset = divmod(t, step)
        weights = np.stack([weights[offset] for weights in problem.knots.weights])
        near = whole[k : k + weights.shape[1], :, k : k + weights.shape[1]]
        assert np.einsum("a,aibi,b->i", weights[0], near, weights[0]) == pytest.approx(found.place[t] ** 2, rel=1e-6)
        by_motion = sum(
            part[t][:, None] * w[None, :, None] for part, w in zip(solution.derivatives, weights, strict=True)
        )
        assert np.einsum("cai,aibj,cbj->c", by_motion, near, by_motion) == pytest.approx(found.force[t] ** 2, rel=1e-6)
        by_power = np.einsum("cki,ka->cai", powers[t].reshape(2, 3, nv), weights)
        assert np.einsum("cai,aibj,cbj->c", by_power, near, by_power) == pytest.approx(found.power[t] ** 2, rel=1e-6)


def test_fewer_than_three_knots_have_no_change_of_torques(walk: TrialAnalysis) -> None:
    """There is no second difference; the rest of the equations stands."""
    problem = consistent(walk, FRAMES)
    assert problem.knots.knot_count == 1
    assert np.isfinite(solve_problem(problem, 2).path.q).all()
