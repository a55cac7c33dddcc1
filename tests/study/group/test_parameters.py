"""Discrete parameters against curves whose peaks, areas and works are known on paper."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError

from biodyn.conventions import CYCLE_POINTS, FloatArray
from biodyn.errors import SettingsError
from biodyn.library.study_parameters import ParameterDefinition
from biodyn.output.tables.gait import curves_of_cycles, trial_parameters
from biodyn.study.options import all_parameter_definitions, require_known_names
from biodyn.variables.cycle_parameters import apply_operation, default_definitions, parameter_unit, window_ends

PERCENT = np.linspace(0.0, 100.0, CYCLE_POINTS)
# between two samples everything is a straight line; results of straight lines are exact to round-off
EXACT = 1e-12


def defined(operation: str, **entries: object) -> ParameterDefinition:
    return ParameterDefinition.model_validate({"name": "p", "variable": "v", "operation": operation, **entries})


def computed(curve: FloatArray, stance: float = 60.0, duration_s: float = 1.0, **entries: object) -> float:
    definition = defined(**entries)  # type: ignore[arg-type]
    start, end = window_ends(definition.interval, np.array([stance]))
    return float(apply_operation(curve[None], start, end, definition, np.array([duration_s]))[0])


RAMP = PERCENT / 10.0 - 5.0  # -5 at 0 %, 0 at 50 %, 5 at 100 %
TENT = 10.0 - np.abs(PERCENT - 40.0) / 4.0  # 0 at 0 %, 10 at 40 %, -5 at 100 %


@pytest.mark.parametrize(
    ("operation", "window", "expected"),
    [
        ("max", "whole", 10.0),
        ("min", "whole", -5.0),
        ("range", "whole", 15.0),
        ("mean", "whole", (5.0 * 40.0 + 2.5 * 60.0) / 100.0),
        ("time_of_max", "whole", 40.0),
        ("time_of_min", "whole", 100.0),
        ("max", "swing", 5.0),  # at foot off, 60 %
        ("min", "stance", 0.0),
        ("time_of_max", "swing", 60.0),
        ("max", "first_half_of_stance", 7.5),  # at 30 %
        ("min", "second_half_of_stance", 5.0),
        ("range", {"of": "cycle", "start": 20.0, "end": 50.0}, 5.0),
        ("min", {"of": "stance", "start": 50.0, "end": 75.0}, 7.5),  # 30-45 % of the cycle
        ("mean", {"of": "swing", "start": 50.0, "end": 100.0}, -2.5),  # 80-100 %
    ],
)
def test_of_a_tent(operation: str, window: object, expected: float) -> None:
    assert computed(TENT, operation=operation, window=window) == pytest.approx(expected, abs=EXACT)


def test_instants_and_ends_between_two_samples_lie_on_the_line() -> None:
    assert computed(RAMP, operation="at_percent", at=12.25) == pytest.approx(-3.775, abs=EXACT)
    assert computed(RAMP, operation="at_percent", at=50.0, window="stance", stance=61.7) == pytest.approx(
        30.85 / 10.0 - 5.0, abs=EXACT
    )
    assert computed(RAMP, operation="max", window="stance", stance=61.7) == pytest.approx(1.17, abs=EXACT)
    assert computed(RAMP, operation="time_of_max", window="stance", stance=61.7) == pytest.approx(61.7, abs=EXACT)
    # a window inside one step of the curve
    narrow = {"of": "cycle", "start": 10.25, "end": 10.75}
    assert computed(RAMP, operation="mean", window=narrow) == pytest.approx(-3.95, abs=EXACT)
    assert computed(RAMP, operation="range", window=narrow) == pytest.approx(0.05, abs=EXACT)


def test_impulse_of_a_constant_force_is_force_times_time() -> None:
    force = np.full(CYCLE_POINTS, 0.8)
    found = computed(force, operation="impulse", window="stance", stance=61.3, duration_s=1.2)
    assert found == pytest.approx(0.8 * 0.613 * 1.2, abs=EXACT)


def test_vertical_impulse_over_a_stride_of_both_feet_carries_the_weight() -> None:
    # half-sine stances of 60 % of a stride of 1.1 s, scaled so that both feet together carry one body weight in the mean
    stance, duration = 60.0, 1.1
    peak = 0.5 * np.pi / 2.0 / 0.6
    force = np.where(stance >= PERCENT, peak * np.sin(np.pi * PERCENT / stance), 0.0)
    found = computed(force, operation="impulse", window="stance", stance=stance, duration_s=duration)
    # lines between 61 samples of a half sine lose (pi / 60)^2 / 12 of its area
    assert 2.0 * found == pytest.approx(1.0 * duration, rel=3e-4)


def test_positive_and_negative_work_are_the_two_parts_of_the_integral_of_power() -> None:
    duration = 1.1
    power = 3.0 * np.sin(2.0 * np.pi * PERCENT / 100.0) + 0.5
    positive = computed(power, operation="positive_work", duration_s=duration)
    negative = computed(power, operation="negative_work", duration_s=duration)
    total = computed(power, operation="impulse", duration_s=duration)
    assert positive > 0.0 > negative
    assert positive + negative == pytest.approx(total, abs=EXACT)
    assert total == pytest.approx(0.5 * duration, abs=EXACT)  # a whole sine adds nothing
    zero = np.arcsin(-0.5 / 3.0)  # the power is positive from `zero` to pi - `zero`
    exact = (3.0 * 2.0 * np.cos(zero) + 0.5 * (np.pi - 2.0 * zero)) / (2.0 * np.pi) * duration
    assert positive == pytest.approx(exact, rel=1e-3)  # lines between samples cut the corners of a sine


def test_a_line_through_zero_is_cut_where_it_crosses() -> None:
    curve = np.where(PERCENT <= 50.0, 1.0, -3.0)  # falls from 1 to -3 between 50 and 51 %
    positive = computed(curve, operation="positive_impulse", duration_s=1.0)
    negative = computed(curve, operation="negative_impulse", duration_s=1.0)
    assert positive == pytest.approx(0.50 + 0.01 * 0.25 * 0.5, abs=EXACT)
    assert negative == pytest.approx(-3.0 * 0.49 - 0.01 * 0.75 * 1.5, abs=EXACT)


@pytest.mark.parametrize("operation", ["max", "range", "mean", "impulse", "positive_work", "time_of_max"])
def test_a_gap_in_the_window_makes_the_parameter_missing_and_one_outside_does_not(operation: str) -> None:
    inside, outside = TENT.copy(), TENT.copy()
    inside[35] = np.nan
    outside[62:] = np.nan  # from the sample after foot off
    assert np.isnan(computed(inside, operation=operation, window="stance", stance=61.4))
    whole = computed(TENT, operation=operation, window="stance", stance=61.4)
    # the last half percent of the window has no sample behind it and is carried on
    assert computed(outside, operation=operation, window="stance", stance=61.4) == pytest.approx(whole, rel=2e-2)


@pytest.mark.parametrize("window", ["stance", "swing", "first_half_of_stance"])
def test_without_foot_off_there_is_no_stance(window: str) -> None:
    assert np.isnan(computed(TENT, operation="max", window=window, stance=np.nan))
    assert computed(TENT, operation="max", window="whole", stance=np.nan) == 10.0


def test_without_the_time_of_the_stride_there_is_no_impulse() -> None:
    assert np.isnan(computed(TENT, operation="impulse", duration_s=np.nan))
    assert computed(TENT, operation="mean", duration_s=np.nan) == pytest.approx(3.5)


@pytest.mark.parametrize(
    ("operation", "unit", "expected"),
    [
        ("max", "Nm/kg", "Nm/kg"),
        ("impulse", "Nm/kg", "Nm/kg s"),
        ("positive_work", "W/kg", "J/kg"),
        ("time_of_max", "deg", "%"),
    ],
)
def test_units_follow_from_the_variable(operation: str, unit: str, expected: str) -> None:
    assert parameter_unit(defined(operation), unit) == expected


def test_a_definition_that_contradicts_itself_is_refused() -> None:
    for entries in (
        {"operation": "at_percent"},  # where?
        {"operation": "max", "at": 5.0},
        {"operation": "max", "window": {"start": 60.0, "end": 40.0}},
        {"operation": "median"},
        {"operation": "max", "windo": "stance"},
        {"operation": "max", "name": "peak flexion"},
    ):
        with pytest.raises(ValidationError):
            ParameterDefinition.model_validate({"name": "p", "variable": "v", **entries})


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(SettingsError, match="Did you mean 'knee_angle'"):
        require_known_names(["knee_angel"], ["hip_flexion", "knee_angle"], "variable")


def test_own_definitions_take_the_place_of_defaults_or_join_them() -> None:
    defaults = default_definitions()
    replaced = defined("min").model_copy(update={"name": defaults[0].name})
    merged = all_parameter_definitions([replaced, defined("max")])
    assert len(merged) == len(defaults) + 1
    assert merged[0] is replaced
    assert merged[-1].name == "p"


def test_every_default_has_a_title_and_a_source() -> None:
    for definition in default_definitions():
        assert definition.title, definition.name
        assert definition.source, definition.name


def test_the_last_samples_of_swing_are_bridged_and_a_longer_gap_is_not() -> None:
    short, long = TENT.copy(), TENT.copy()
    short[98:], long[97:] = np.nan, np.nan
    window = {"of": "cycle", "start": 75.0, "end": 100.0}
    assert computed(short, operation="min", window=window) == pytest.approx(TENT[97], abs=EXACT)
    assert np.isfinite(computed(short, operation="negative_work", window="whole"))
    assert np.isnan(computed(long, operation="min", window=window))


def test_parameters_of_a_trial_are_read_in_their_window_with_instant_and_side() -> None:
    flexion = np.where(PERCENT > 60.0, 60.0 - np.abs(PERCENT - 73.0), 80.0)  # stance holds a larger value
    cycles = pd.DataFrame(
        {"cycle": 1, "side": "l", "percent": PERCENT, "variable": "knee_angle", "value": flexion, "unit": "deg"}
    )
    strides = pd.DataFrame({"cycle": [1], "side": ["l"], "stance_percent": [61.0], "stride_time_s": [1.1]})
    table = trial_parameters(*curves_of_cycles(cycles), strides).set_index("parameter")
    assert table.loc["knee_flexion_swing", ["side", "value", "unit", "at_percent"]].tolist() == ["l", 60.0, "deg", 73.0]
    assert "speed" not in table.index
