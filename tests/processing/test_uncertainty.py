"""Propagation of errors: every piece against a number that is known, the whole against repeated analyses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from biodyn.analysis import TrialAnalysis
from biodyn.errors import SettingsError
from biodyn.model.moved_centre import with_misplaced_centre
from biodyn.model.subject import SubjectModel
from biodyn.processing.dynamics import solve_dynamics
from biodyn.processing.filtering import butterworth_lowpass
from biodyn.processing.kinematics import Fit
from biodyn.processing.tracking import fit_with
from biodyn.processing.uncertainty import SOURCES, load_magnitudes, torque_uncertainty
from biodyn.processing.uncertainty.fit_response import fit_response, marker_places
from biodyn.processing.uncertainty.repeated import spread
from biodyn.processing.uncertainty.spectra import PAIRS, filter_gain, filtered_noise, measured_noise, stride_movement
from biodyn.processing.uncertainty.torque_response import cross_motion_matrix, rates
from biodyn.trial import Markers
from biodyn.workflow import analyse_trial, tracking_options

_SAMPLE = Path(__file__).parents[2] / "sample_data" / "subject01" / "walk01.c3d"
Solve = Callable[[SubjectModel, Markers], Fit]


@pytest.fixture(scope="module")
def analysis() -> TrialAnalysis:
    return analyse_trial(_SAMPLE, settings={"uncertainty": {"compute": True}})


@pytest.fixture(scope="module")
def solve(analysis: TrialAnalysis) -> Solve:
    return partial(fit_with, options=tracking_options(analysis.settings))


def test_filtered_noise_of_a_filter_that_does_nothing_is_the_noise() -> None:
    moments = filtered_noise(80, 100.0, 0.0, 4)
    np.testing.assert_allclose(
        moments[:, PAIRS.index((0, 0))], 1.0, rtol=1e-9
    )  # the spline passes through every sample


def test_filtered_noise_agrees_with_drawn_noise() -> None:
    rng = np.random.default_rng(3)
    noise = butterworth_lowpass(rng.normal(size=(150, 4000)), 100.0, 6.0, 4)
    speed, _ = rates(noise, 100.0)
    moments = filtered_noise(150, 100.0, 6.0, 4)
    middle = slice(40, 110)
    # 4000 draws give variances to 2 %
    for values, pair in ((noise, (0, 0)), (speed, (1, 1))):
        found = values[middle].var(axis=1).mean()
        assert found == pytest.approx(moments[middle, PAIRS.index(pair)].mean(), rel=0.03)
    # a stationary process: position and velocity unrelated, <n n''> = -<n' n'>
    assert moments[75, PAIRS.index((0, 2))] == pytest.approx(-moments[75, PAIRS.index((1, 1))], rel=1e-3)


def test_the_filter_gain_is_that_of_the_filter() -> None:
    time_s = np.arange(4000) / 100.0
    for hz in (1.0, 4.0, 6.0):
        wave = butterworth_lowpass(np.sin(2 * np.pi * hz * time_s), 100.0, 6.0, 4)[1000:3000]
        assert np.sqrt(2.0) * wave.std() == pytest.approx(filter_gain(hz, 100.0, 6.0, 4), rel=1e-3)
    assert filter_gain(6.0, 100.0, 6.0, 4) == pytest.approx(np.sqrt(0.5))


def test_stride_movement_keeps_its_variance_at_low_frequencies() -> None:
    moments = stride_movement((0.25, 0.75), 1.0, 100.0, 0.0, 4)
    assert moments[0] == pytest.approx(1.0)
    assert moments[PAIRS.index((1, 1))] == pytest.approx(0.75 * (2 * np.pi) ** 2)


def test_noise_is_measured_under_a_movement() -> None:
    rng = np.random.default_rng(1)
    time_s = np.arange(600) / 100.0
    walk = 0.3 * np.sin(2 * np.pi * time_s)[:, None, None] * np.ones(3)
    noisy = walk + rng.normal(scale=0.001, size=(600, 2, 3)) * np.array([1.0, 0.5])[:, None]
    np.testing.assert_allclose(measured_noise(noisy, 100.0, 20.0, 4), [0.001, 0.0005], rtol=0.1)  # 1800 numbers each


def test_rates_of_a_polynomial() -> None:
    t = np.arange(20) / 50.0
    first, second = rates(np.stack([t**3, t**4], axis=1), 50.0)
    np.testing.assert_allclose(first[2:-2], np.stack([3 * t**2, 4 * t**3], axis=1)[2:-2], atol=1e-9)
    np.testing.assert_allclose(second[2:-2], np.stack([6 * t, 12 * t**2], axis=1)[2:-2], atol=1e-9)


def test_cross_motion_is_the_lie_bracket() -> None:
    rng = np.random.default_rng(2)
    v, x = rng.normal(size=(2, 1, 6))
    found = (cross_motion_matrix(v) @ x[:, :, None])[0, :, 0]
    w, u, a, b = v[0, :3], v[0, 3:], x[0, :3], x[0, 3:]
    np.testing.assert_allclose(found, np.concatenate([np.cross(w, a), np.cross(w, b) + np.cross(u, a)]))


def test_the_fit_answers_to_a_moved_marker_as_it_says(analysis: TrialAnalysis, solve: Solve) -> None:
    """Move one marker by a tenth of a millimetre and fit again: the step is what the derivative foretold."""
    inputs = analysis.propagation
    assert inputs is not None
    at = np.flatnonzero(analysis.fit.reliable)[100:101]
    seen = np.isfinite(inputs.fit.marker_error)
    weights = np.where(seen, inputs.marker_weights(seen), 0.0)[at]
    response = fit_response(inputs.model, inputs.fit.motion.q[at], inputs.fitted(inputs.markers)[at], weights)
    label = inputs.fit.labels[0]
    step = 1e-4 * np.array([0.6, -0.64, 0.48])
    positions = inputs.markers.positions.copy()
    positions[:, inputs.markers.labels.index(label)] += step
    again = solve(inputs.model, replace(inputs.markers, positions=positions))
    columns = [c.q_index for c in inputs.model.coordinates]
    rows = [c.v_index for c in inputs.model.coordinates]
    found = (again.motion.q[at] - inputs.fit.motion.q[at])[0, columns]
    told = (response.by_markers[0, :, 0] @ step)[rows]
    # second order in 0.1 mm over levers of 10 cm: a thousandth of the largest step
    np.testing.assert_allclose(told, found, atol=2e-3 * np.abs(found).max())


def test_a_misplaced_centre_leaves_the_standing_markers_where_they_are(analysis: TrialAnalysis) -> None:
    model = analysis.model
    root = model.bodies[0]
    body = next(part for part in model.moving if part.definition.side)
    moved = with_misplaced_centre(model, body.definition.name, np.array([0.02, -0.01, 0.015]))
    places = [marker_places(one, one.static_configuration(root.R_PB, root.p_PB)[None])[0] for one in (model, moved)]
    carried = [m.body for m in model.markers]
    own = [i for i, name in enumerate(carried) if name in (root.definition.name, body.definition.name)]
    # Coordinates without a principal axis stay at zero, so only segments up to the first of them keep their place exactly.
    np.testing.assert_allclose(places[1][own], places[0][own], atol=1e-9)


def test_a_shifted_ground_reaction_has_the_variance_of_its_levers(analysis: TrialAnalysis) -> None:
    """Torques are linear in the wrench: two directions, one standard deviation each, squares added, exactly."""
    inputs = analysis.propagation
    assert inputs is not None
    magnitudes = load_magnitudes()
    found = torque_uncertainty(inputs, magnitudes).by_source["centre_of_pressure"]
    total = np.zeros_like(found)
    for side in inputs.reaction.wrench:
        for direction in np.eye(3)[[0, 2]]:
            wrench = dict(inputs.reaction.wrench)
            wrench[side] = wrench[side].copy()
            wrench[side][:, :3] += np.cross(magnitudes.centre_of_pressure_m * direction, wrench[side][:, 3:])
            changed = solve_dynamics(inputs.fit, replace(inputs.reaction, wrench=wrench)).torques
            total += (changed - inputs.dynamics.torques) ** 2
    known = np.isfinite(found)
    np.testing.assert_allclose(found[known], np.sqrt(total[known]), atol=1e-8)


def test_bands_are_where_torques_are_and_sources_add_up(analysis: TrialAnalysis) -> None:
    found = analysis.uncertainty
    assert found is not None
    known = np.isfinite(analysis.dynamics.torques)
    for sd in found.by_source.values():
        np.testing.assert_array_equal(np.isfinite(sd), known)
    squares = np.sum([sd**2 for sd in found.by_source.values()], axis=0)
    np.testing.assert_allclose(found.total[known] ** 2, squares[known])
    assert np.all(found.total[known] > 0.0)


def test_a_source_can_be_scaled_and_left_out(analysis: TrialAnalysis) -> None:
    inputs, whole = analysis.propagation, analysis.uncertainty
    assert inputs is not None
    assert whole is not None
    some = torque_uncertainty(inputs, load_magnitudes(), {"inertias": 2.0, "joint_centres": 0.0})
    known = np.isfinite(whole.total)
    np.testing.assert_allclose(some.by_source["inertias"][known], 2.0 * whole.by_source["inertias"][known])
    assert np.all(some.by_source["joint_centres"][known] == 0.0)


def test_a_table_that_lacks_an_entry_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("[marker_noise]\nsd_mm = 1.0\n", encoding="utf-8")
    with pytest.raises(SettingsError):
        load_magnitudes(str(file))
    with pytest.raises(SettingsError):
        load_magnitudes(str(tmp_path / "none.toml"))


@pytest.mark.slow
@pytest.mark.parametrize("source", ["marker_noise", "soft_tissue", "joint_centres", "inertias"])
def test_bands_agree_with_repeated_analyses(analysis: TrialAnalysis, solve: Solve, source: str) -> None:
    inputs, found = analysis.propagation, analysis.uncertainty
    assert inputs is not None
    assert found is not None
    assert source in SOURCES
    drawn = spread(inputs, load_magnitudes(), found.noise_m, (source,), solve, runs=40, seed=1)
    linear = found.by_source[source]
    known = np.isfinite(drawn) & np.isfinite(linear)
    ratios = [
        np.sqrt(np.mean(linear[rows, i] ** 2) / np.mean(drawn[rows, i] ** 2))
        for i, rows in enumerate(known.T)
        if rows.any() and np.mean(drawn[rows, i] ** 2) > 0.05**2
    ]
    # 40 draws know a standard deviation to 11 %, several torques together better
    assert np.median(ratios) == pytest.approx(1.0, abs=0.12)
