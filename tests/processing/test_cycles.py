"""Gait cycles, normalised curves and spatio-temporal parameters with known answers."""

import math

import numpy as np
import pytest

from biodyn.processing.gait.cycles import find_gait_cycles, normalise_to_cycle
from biodyn.processing.gait.spatiotemporal import (
    compute_spatiotemporal_parameters,
    stride_parameters,
)
from biodyn.recording import GaitEvent

RATE_HZ = 100.0


def walking_events(strides=3, stride_s=1.1, stance=0.6):
    """Right strikes at 0.2 s + n strides, left half a stride later."""
    events = []
    for n in range(strides + 1):
        for side, lag in (("r", 0.0), ("l", 0.5)):
            strike = 0.2 + (n + lag) * stride_s
            events.append(GaitEvent(strike, side, "foot_strike", "plate", 0.9))
            events.append(GaitEvent(strike + stance * stride_s, side, "foot_off", "kinematic", 0.7))
    return sorted(events, key=lambda event: event.time_s)


def test_cycles_run_from_strike_to_strike_of_a_side():
    cycles = find_gait_cycles(walking_events())
    assert [(cycle.side, cycle.number) for cycle in cycles] == [(s, n) for s in "rl" for n in range(3)]
    first = cycles[0]
    assert first.start_s == pytest.approx(0.2)
    assert first.end_s == pytest.approx(1.3)
    assert first.off_s == pytest.approx(0.2 + 0.66)
    assert first.opposite_strike_s == pytest.approx(0.75)
    assert first.confidence == 0.9
    # The left foot of the first cycle had struck before the events begin: its off is not known.
    assert math.isnan(first.opposite_off_s)
    assert cycles[1].opposite_off_s == pytest.approx(1.3 + 0.11)


def test_a_missed_strike_makes_no_cycle_of_double_length():
    events = walking_events()
    missed = [event for event in events if event.side == "r" and event.kind == "foot_strike"][1]
    cycles = [cycle for cycle in find_gait_cycles([event for event in events if event != missed]) if cycle.side == "r"]
    assert [cycle.duration_s for cycle in cycles] == [pytest.approx(1.1)]
    assert cycles[0].start_s == pytest.approx(0.2 + 2 * 1.1)


def test_a_missed_off_leaves_the_cycle_without_phases():
    events = walking_events()
    missed = next(event for event in events if event.side == "r" and event.kind == "foot_off")
    cycle = find_gait_cycles([event for event in events if event != missed])[0]
    assert cycle.duration_s == pytest.approx(1.1)
    assert math.isnan(cycle.off_s)


def test_normalised_curves_are_cubic():
    time_s = np.arange(200) / RATE_HZ
    signal = np.stack([time_s**3 - time_s, np.full(200, 7.0)], axis=1)
    curves = normalise_to_cycle(signal, RATE_HZ, 0.3337, 1.4)
    at = np.linspace(0.3337, 1.4, 101)
    assert curves.shape == (101, 2)
    np.testing.assert_allclose(curves[:, 0], at**3 - at, atol=1e-10)  # a cubic spline reproduces a cubic
    np.testing.assert_allclose(curves[:, 1], 7.0, atol=1e-12)
    assert normalise_to_cycle(signal[:, 0], RATE_HZ, 0.3, 1.4).shape == (101,)
    np.testing.assert_allclose(
        normalise_to_cycle(signal[:, 0], RATE_HZ, 0.3, 1.4)[[0, -1]], signal[[30, 140], 0], atol=1e-12
    )


def test_normalising_bridges_no_gap():
    signal = np.sin(np.arange(200) / 20.0)
    signal[80:90] = np.nan
    curve = normalise_to_cycle(signal, RATE_HZ, 0.5, 1.5)
    at = np.linspace(50, 150, 101)
    np.testing.assert_array_equal(np.isnan(curve), (at > 79) & (at < 90))
    np.testing.assert_allclose(curve[~np.isnan(curve)], np.sin(at[~np.isnan(curve)] / 20.0), atol=1e-5)


def test_normalising_columns_with_different_gaps_beyond_the_ends_and_single_frames():
    signal = np.tile(np.arange(100.0)[:, None], (1, 4))
    signal[:20, 1] = np.nan
    signal[:, 2] = np.nan
    signal[:, 3] = np.nan
    signal[50, 3] = 50.0
    curves = normalise_to_cycle(signal, RATE_HZ, 0.0, 1.5)
    at = np.linspace(0, 150, 101)
    for column, valid in ((0, at <= 99), (1, (at >= 20) & (at <= 99)), (3, np.abs(at - 50) < 1e-9)):
        np.testing.assert_array_equal(np.isfinite(curves[:, column]), valid)
        np.testing.assert_allclose(curves[valid, column], at[valid], atol=1e-9)
    assert np.isnan(curves[:, 2]).all()


def planted_walk(direction_deg=0.0, toe_out_deg=7.0):
    """Feet planted at known places along a line at an angle to X; positions (T, 3) that jump from print to print."""
    stride_m, width_m = 1.3, 0.12
    events = walking_events()
    time_s = np.arange(600) / RATE_HZ
    turn = math.radians(direction_deg)
    forward = np.array([math.cos(turn), 0.0, -math.sin(turn)])
    right = np.cross(forward, (0.0, 1.0, 0.0))
    pelvis = np.outer(time_s * stride_m / 1.1, forward) + [0.0, 0.9, 0.0]
    heel, toe = {}, {}
    for side, lag, sign in (("r", 0.0, 1.0), ("l", 0.5, -1.0)):
        # Left steps reach 5 cm farther than half a stride, so right ones 5 cm less.
        print_number = np.floor((time_s - 0.2) / 1.1 - lag + 1e-9)
        along = (print_number + lag) * stride_m + (0.05 if side == "l" else 0.0)
        heel[side] = np.outer(along, forward) + sign * 0.5 * width_m * right
        out = math.radians(toe_out_deg) * sign
        toe[side] = heel[side] + 0.2 * (math.cos(out) * forward + math.sin(out) * right)
    return events, heel, toe, pelvis


@pytest.mark.parametrize("direction_deg", [0.0, 33.0, 180.0])
def test_parameters_of_a_planted_walk(direction_deg):
    events, heel, toe, pelvis = planted_walk(direction_deg)
    cycles = find_gait_cycles(events)
    each = compute_spatiotemporal_parameters(cycles, heel, toe, pelvis, RATE_HZ)
    assert len(each) == len(cycles)
    for cycle, one in zip(cycles, each, strict=True):
        assert one.stride_time_s == pytest.approx(1.1)
        assert one.stride_length_m == pytest.approx(1.3, abs=1e-9)
        assert one.speed_m_s == pytest.approx(1.3 / 1.1, abs=1e-9)
        assert one.cadence_steps_min == pytest.approx(120 / 1.1)
        assert one.step_time_s == pytest.approx(0.55)
        assert one.step_length_m == pytest.approx(0.60 if cycle.side == "r" else 0.70, abs=1e-9)
        assert one.step_width_m == pytest.approx(0.12, abs=1e-9)
        assert one.stance_percent == pytest.approx(60.0)
        assert one.swing_percent == pytest.approx(40.0)
        assert math.degrees(one.toe_out_rad) == pytest.approx(7.0, abs=1e-9)
    whole = [one for one in each if math.isfinite(one.single_support_percent)]
    assert len(whole) == 5  # the first right cycle lacks the left off
    for one in whole:
        assert one.single_support_percent == pytest.approx(40.0)
        assert one.double_support_percent == pytest.approx(20.0)
        assert one.initial_double_support_percent == pytest.approx(10.0)
    assert sum(cycle.side == "r" and one in whole for cycle, one in zip(cycles, each, strict=True)) == 2


def test_crossing_feet_have_negative_width_and_toeing_in_a_negative_angle():
    events, heel, toe, pelvis = planted_walk(toe_out_deg=-4.0)
    for points in (heel["r"], toe["r"]):
        points[:, 2] -= 0.2
    one = stride_parameters(find_gait_cycles(events)[1], heel, toe, pelvis, RATE_HZ)
    assert one.step_width_m == pytest.approx(-0.08, abs=1e-9)
    assert math.degrees(one.toe_out_rad) == pytest.approx(-4.0, abs=1e-9)


def test_unknown_positions_leave_the_times():
    events, heel, toe, pelvis = planted_walk()
    heel["r"][:] = np.nan
    one = stride_parameters(find_gait_cycles(events)[1], heel, toe, pelvis, RATE_HZ)
    assert one.stride_time_s == pytest.approx(1.1)
    assert one.stance_percent == pytest.approx(60.0)
    assert math.isnan(one.stride_length_m)
    assert math.isnan(one.toe_out_rad)


def test_running_has_no_double_support():
    one = None
    events = walking_events(stance=0.35)
    heel = {side: np.zeros((600, 3)) for side in "rl"}
    pelvis = np.arange(600)[:, None] * [0.03, 0.0, 0.0]
    one = stride_parameters(find_gait_cycles(events)[1], heel, heel, pelvis, RATE_HZ)
    assert one.stance_percent == pytest.approx(35.0)
    assert math.isnan(one.double_support_percent)


def test_lengths_on_a_treadmill_are_measured_on_the_belt():
    events, heel, toe, pelvis = planted_walk()
    belt = np.array([-1.2, 0.0, 0.0])
    carried = np.arange(600)[:, None] / RATE_HZ * belt
    cycles = find_gait_cycles(events)
    over_ground = compute_spatiotemporal_parameters(cycles, heel, toe, pelvis, RATE_HZ)
    on_belt = compute_spatiotemporal_parameters(
        cycles,
        {side: points + carried for side, points in heel.items()},
        {side: points + carried for side, points in toe.items()},
        pelvis + carried,
        RATE_HZ,
        floor_velocity_W=belt,
    )
    for one, other in zip(over_ground, on_belt, strict=True):
        assert one.stride_length_m == pytest.approx(other.stride_length_m)
        assert one.step_width_m == pytest.approx(other.step_width_m)
