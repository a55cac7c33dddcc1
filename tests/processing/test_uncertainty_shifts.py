"""The experiments of the literature: shifts of known size, against mechanics on paper."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from simulator.repeated_errors import (
    lobe_changes,
    mean_changes,
    moved_moment,
    stride_mean,
    with_shifted_hips,
    with_shifted_pressure,
)

from biodyn.analysis import TrialAnalysis
from biodyn.conventions import SIDE_SIGN
from biodyn.processing.dynamics.inverse_dynamics import solve_dynamics
from biodyn.trial.run import analyse_trial

_SAMPLE = Path(__file__).parents[2] / "sample_data" / "subject01" / "walk01.c3d"


@pytest.fixture(scope="module")
def analysis() -> TrialAnalysis:
    return analyse_trial(_SAMPLE, torques_only=True)


def test_a_moved_centre_takes_the_lever_of_the_force_with_it() -> None:
    """A pure force through the old centre has the moment -shift x F about the new one: 800 N, 30 mm, 24 Nm."""
    force = np.array([[0.0, -800.0, 0.0]])
    moment = moved_moment(np.zeros((1, 3)), force, np.array([0.03, 0.0, 0.0]))
    np.testing.assert_allclose(moment, [[0.0, 0.0, 24.0]])
    there = moved_moment(moment, force, np.array([-0.03, 0.0, 0.0]))
    np.testing.assert_allclose(there, 0.0, atol=1e-12)


@pytest.mark.slow
def test_a_shifted_pressure_turns_the_legs_by_force_times_shift(analysis: TrialAnalysis) -> None:
    """Every moment of a leg changes by shift x ground force, in World, whatever the joint: statics."""
    shift = np.array([0.01, 0.0, 0.0])
    moved = solve_dynamics(analysis.fit, with_shifted_pressure(analysis.reaction, shift))
    before = {(load.joint, load.side): load for load in analysis.dynamics.joints}
    checked = 0
    for load in moved.joints:
        old = before[load.joint, load.side]
        change = load.moment["proximal"] - old.moment["proximal"]
        if not load.side or not np.nanmax(np.abs(change)) > 0.0:
            continue
        expected = np.linalg.norm(np.cross(shift, analysis.reaction.wrench[load.side][:, 3:]), axis=1)
        known = np.isfinite(change).all(axis=1)
        np.testing.assert_allclose(np.linalg.norm(change[known], axis=1), expected[known], atol=1e-8)
        checked += 1
    assert checked == 6  # three joints of two legs


def test_a_shifted_hip_lies_where_it_was_put(analysis: TrialAnalysis) -> None:
    forward_m, outward_m = 0.03, 0.02
    moved = with_shifted_hips(analysis.model, forward_m, outward_m)
    places = {body.definition.name: body for body in moved.bodies}
    shifted = 0
    for body in analysis.model.bodies:
        change = places[body.definition.name].p_PB - body.p_PB
        if body.definition.side and body.definition.parent == analysis.model.skeleton.root.name:
            outward = SIDE_SIGN[body.definition.side] * outward_m
            np.testing.assert_allclose(change, [forward_m, 0.0, outward], atol=1e-12)
            shifted += 1
    assert shifted == 2


def test_lobes_of_a_known_curve() -> None:
    """Positive part 1, 2, 1 and negative part -4; shifted up by 0.5."""
    base = np.array([0.0, 1.0, 2.0, 1.0, -4.0, 9.0])
    stance = np.array([True, True, True, True, True, False])
    up, down = lobe_changes(base, base + 0.5, stance, least=0.5)
    assert (up.peak, up.peak_nm) == (pytest.approx(25.0), 2.0)
    assert up.impulse == pytest.approx(100.0 * (6.0 / 4.0 - 1.0))
    assert (down.peak, down.impulse, down.peak_nm) == (pytest.approx(-12.5), pytest.approx(-12.5), -4.0)
    assert [change.peak_nm for change in lobe_changes(base, base + 0.5, stance, least=3.0)] == [-4.0]
    assert mean_changes({"curve": [up, down], "none": []}) == {"curve": (pytest.approx(18.75), pytest.approx(31.25))}


def test_a_stride_counts_by_the_time_it_takes_not_by_what_was_measured() -> None:
    values = np.array([2.0, 2.0, 2.0, 2.0, 2.0, 0.0, np.nan])
    stance = np.arange(7) < 5
    assert stride_mean(values, stance, 0.6) == pytest.approx(1.2)
    assert np.isnan(stride_mean(values, np.ones(7, dtype=bool), 0.6))
