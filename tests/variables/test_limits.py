"""What nobody can walk is found, and pathological gait and running are left alone."""

from __future__ import annotations

import numpy as np
import pytest

from biodyn.variables import curve_faults

PERCENT = np.linspace(0.0, 100.0, 101)
PHASE = 2.0 * np.pi * PERCENT / 100.0


def faults(name: str, curve: np.ndarray, factor: float = 1.0) -> dict[int, object]:
    return curve_faults(np.column_stack([np.zeros(101), curve]), ["tail_wagging", name], factor)


@pytest.mark.parametrize(
    ("name", "peak"),
    [("hip_power", 107.0), ("hip_flexion_moment", -7.8), ("pelvis_tilt", 317.0), ("ground_force_y", 9.0)],
)
def test_values_beyond_the_limits_are_found_with_their_place(name: str, peak: float) -> None:
    curve = peak * np.exp(-(((PERCENT - 40.0) / 12.0) ** 2))
    (fault,) = faults(name, curve).values()
    assert fault.kind == "range"
    assert fault.value == pytest.approx(peak)
    assert fault.percent == 40.0
    assert abs(fault.limit) < abs(peak)
    assert np.sign(fault.limit) == np.sign(peak)
    assert faults(name, curve, factor=20.0) == {}


def test_a_jump_is_found_where_it_is_and_not_across_a_gap() -> None:
    curve = 20.0 * np.sin(PHASE)
    curve[60:] += 50.0
    (fault,) = faults("hip_flexion", curve).values()
    assert (fault.kind, fault.percent) == ("jump", 60.0)
    assert fault.value == pytest.approx(50.0, abs=2.0)
    curve[58:62] = np.nan
    assert faults("hip_flexion", curve) == {}


@pytest.mark.parametrize(
    ("name", "curve"),
    [
        ("knee_angle", 45.0 - 65.0 * np.cos(PHASE)),  # recurvatum of 20, sprint of 110 degrees
        ("ankle_angle", -50.0 + 15.0 * np.sin(PHASE)),  # equinus
        ("pelvis_tilt", -45.0 + 10.0 * np.sin(PHASE)),  # crouch
        ("pelvis_rotation", 90.0 * np.sin(PHASE)),  # a quarter turn within a cycle
        ("foot_progression", -70.0 + 20.0 * np.sin(PHASE)),  # clubfoot
        ("hip_flexion_moment", 5.0 * np.sin(3.0 * PHASE)),  # sprint
        ("ankle_power", 40.0 * np.exp(-(((PERCENT - 25.0) / 4.0) ** 2))),  # sprint push-off
        ("ground_force_y", 4.5 * np.exp(-(((PERCENT - 12.0) / 4.0) ** 2))),
    ],
)
def test_patients_and_runners_are_within_the_limits(name: str, curve: np.ndarray) -> None:
    assert faults(name, curve) == {}


def test_nothing_known_is_no_fault() -> None:
    assert faults("hip_power", np.full(101, np.nan)) == {}
