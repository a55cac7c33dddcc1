"""Two analyses of a recording: both ends are exact, parts add up, and what was planted is named."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from support.planted_causes import NAMES, planted

from biodyn.comparison.differences import UNEXPLAINED, find_differences, match_analyses, overall_shares
from biodyn.comparison.moment_convention import curve_causes
from biodyn.comparison.part_exchange import (
    AXES,
    CENTRES,
    FIT,
    SMOOTHING,
    estimate_filter,
    filter_from_cutoffs,
    projected_shares,
    shapley_parts,
)
from biodyn.comparison.segments import joint_angles, joint_moments, moving_body_from_arrays
from biodyn.errors import ResultError
from biodyn.output.store.result_writer import result_arrays
from biodyn.processing.signals.filtering import butterworth_lowpass


@pytest.fixture(scope="module")
def analysis(walk_result):
    """As fitted: causes are planted in a filtered motion."""
    return walk_result.analysis.before_estimate


@pytest.fixture(scope="module")
def body(analysis):
    return moving_body_from_arrays(result_arrays(analysis))


def test_moments_of_moving_segments_are_those_of_the_analysis(analysis, body):
    """Newton and Euler in World against the recursive algorithm in body axes: nothing in common but the physics."""
    moments = joint_moments(body)
    known = {(load.joint, load.side): load for load in analysis.dynamics.joints}
    compared = 0
    for s, name in enumerate(zip(body.joints, body.sides, strict=True)):
        if name in known and body.valid[:, s].any():
            expected = known[name].moment["jcs"][:, [2, 0, 1]]
            np.testing.assert_allclose(moments[body.valid[:, s], s], expected[body.valid[:, s]], atol=1e-8)
            compared += 1
    assert compared >= 6


def test_parts_are_means_over_all_orders():
    """Against the definition, on a game whose causes need each other."""
    rng = np.random.default_rng(3)
    values = {
        frozenset(c for c, held in zip("abc", bits, strict=True) if held): rng.normal(size=2)
        for bits in np.ndindex(2, 2, 2)
    }
    parts, none, both = shapley_parts("abc", values.__getitem__)
    for cause in "abc":
        changes = []
        for order in permutations("abc"):
            before = frozenset(order[: order.index(cause)])
            changes.append(values[before | {cause}] - values[before])
        np.testing.assert_allclose(parts[cause], np.mean(changes, axis=0), atol=1e-12)
    np.testing.assert_allclose(sum(parts.values()), both - none, atol=1e-12)
    assert sum(projected_shares(parts, both - none).values()) == pytest.approx(1.0)


# Events move no curve through time: see test_over_cycles.
@pytest.mark.parametrize("kind", [kind for kind in NAMES if kind != "events"])
def test_a_planted_cause_is_named_and_everything_adds_up(analysis, body, kind):
    other = moving_body_from_arrays(result_arrays(planted(analysis, kind, np.random.default_rng(5))))
    exchange = match_analyses(body, other)
    everything = frozenset((CENTRES, AXES, SMOOTHING, FIT))
    np.testing.assert_allclose(exchange.motion_with(everything).p, exchange.b.motion.p, atol=1e-8)
    found = find_differences(exchange)
    for one in found:
        assert not one.shares or abs(one.shares[UNEXPLAINED]) < 1e-6
        assert one.unexplained_rms < 1e-8 * max(one.size, 1.0) + 1e-6
    assert next(iter(overall_shares(found, "moment"))) in NAMES[kind]


def test_an_analysis_does_not_differ_from_itself_also_in_another_world(body):
    Q = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
    turned = replace(
        body,
        motion=body.motion.rotate_world(Q),
        wrench=np.concatenate([body.wrench[..., :3] @ Q.T, body.wrench[..., 3:] @ Q.T], axis=-1),
        R_WL=Q @ body.R_WL,
    )
    found = find_differences(match_analyses(body, turned))
    assert found
    assert all(one.is_zero for one in found)


def test_angles_are_the_coordinates_of_a_hip(analysis, body):
    hip = next(s for s, at in enumerate(zip(body.joints, body.sides, strict=True)) if at == ("hip", "r"))
    mine = [c for c in analysis.model.coordinates if c.body == body.names[hip]]
    angles = joint_angles(body.motion, body.parents)[:, hip]
    np.testing.assert_allclose(angles, analysis.fit.motion.q[:, [c.q_index for c in mine]], atol=1e-9)


def test_the_filter_between_two_signals_is_found():
    rng = np.random.default_rng(1)
    raw = np.cumsum(rng.normal(size=(400, 4, 3)), axis=0)
    low, high = (butterworth_lowpass(raw, 100.0, hz) for hz in (5.0, 9.0))
    found = estimate_filter(high, low, np.ones(400, dtype=bool), 100.0)
    assert found is not None
    assert found.explained > 0.8
    assert found.low_hz == pytest.approx(5.0, rel=0.15)
    made = found.filter_signal(high, 100.0)[40:-40]
    assert np.std(made - low[40:-40]) < 0.5 * np.std(high[40:-40] - low[40:-40])
    assert estimate_filter(low, high, np.ones(400, dtype=bool), 100.0) is None
    assert filter_from_cutoffs(0.0, 0.0) is None
    known, first_is_sharper = filter_from_cutoffs(0.0, 6.0)
    assert (known.low_hz, known.high_hz, first_is_sharper) == (6.0, np.inf, True)


def test_results_of_other_frames_are_refused(analysis, body):
    short = body.select(body.names, np.arange(len(body.time_s)) < 50)
    with pytest.raises(ResultError, match="different frames"):
        match_analyses(body, short)


def test_of_curves_alone_sign_unit_shift_and_filter_are_told():
    t = np.arange(300) / 100.0
    first = np.stack([40 * np.sin(6 * t) + 9 * np.sin(35 * t), 25 * np.cos(7 * t) + 6 * np.cos(40 * t)], axis=1)
    other = np.full_like(first, np.nan)
    other[5:] = butterworth_lowpass(first, 100.0, 5.0)[:-5]
    found = curve_causes(first, other * [1.0, -1.0] * 1000.0, 100.0, 70.0)
    assert list(found.signs) == [1.0, -1.0]
    assert found.unit == "Nmm"
    assert found.shift_s == pytest.approx(0.05)
    assert found.filter is not None
    assert found.filter[1]
    same = curve_causes(first, first, 100.0, 70.0)
    assert (same.unit, same.shift_s, same.filter, same.parts) == ("Nm", 0.0, None, {})
