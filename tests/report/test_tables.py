"""Tables against signals that are known: units, signs, missing values, normalisation."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from support.synthetic import (
    MASS_KG,
    OFF_SHARE,
    RATE_HZ,
    SPEED_M_S,
    STRIDE_S,
    UNMEASURED,
    amplitude_rad,
    walker,
    with_mass,
)

from biodyn.conventions import STANDARD_GRAVITY_M_S2, without_side
from biodyn.output.tables import TABLES, trial_tables, write_csv
from biodyn.output.tables.table_access import LazyTables


@pytest.fixture(scope="module")
def walk():
    """Three seconds of walking, the left foot unmeasured from 0.80 to 1.20 s."""
    return walker(unmeasured_l=slice(80, 120))


def test_angles_are_degrees_and_the_base_walks_in_metres(walk):
    table = TABLES["joint_angles"].make(walk)
    time_s = table["time_s"].to_numpy()
    for i, coordinate in enumerate(walk.model.coordinates):
        expected = np.rad2deg(amplitude_rad(i)) * np.sin(2.0 * np.pi * time_s / STRIDE_S)
        np.testing.assert_allclose(table[f"{coordinate.name}_deg"], expected, atol=1e-9)
    forward, up, _ = (f"{name}_m" for name in walk.model.skeleton.root.base_translations)
    np.testing.assert_allclose(table[forward], SPEED_M_S * time_s, atol=1e-12)
    np.testing.assert_allclose(table[up], 0.9)
    for name in walk.model.skeleton.root.base_rotations:
        np.testing.assert_allclose(table[f"{name}_deg"], 0.0, atol=1e-9)


def test_a_cycle_of_a_known_signal_comes_back(walk):
    table = TABLES["gait_cycles"].make(walk)
    shift = {"r": 0.0, "l": 0.5}
    checked = 0
    for i, coordinate in enumerate(walk.model.coordinates):
        for side in (coordinate.side,) if coordinate.side else ("r", "l"):
            name = without_side(coordinate.name, coordinate.side)
            rows = table[(table["variable"] == name) & (table["side"] == side)]
            phase = 2.0 * np.pi * (rows["percent"] / 100.0 + shift[side])
            # Cubic splines through 100 samples a period: error below 5/384 h^4 max|x''''| = 2e-7 of the amplitude.
            amplitude = np.rad2deg(amplitude_rad(i))
            np.testing.assert_allclose(rows["value"], amplitude * np.sin(phase), atol=1e-5 * amplitude)
            assert set(rows["unit"]) == {"deg"}
            checked += len(rows)
    assert checked > 0
    assert sorted(table["percent"].unique()) == list(range(101))
    assert set(table.loc[table["side"] == "r", "cycle"]) == {1, 2, 3}


def test_what_was_not_measured_is_nan_and_never_zero(walk):
    torques = TABLES["joint_torques"].make(walk)
    lost = slice(80, 120)
    # The left leg and all that carries it lose their torque; the right leg keeps its own.
    for coordinate in walk.model.coordinates:
        column = torques[f"{coordinate.name}_Nm"].to_numpy()
        below = coordinate.body in _left_leg(walk)
        assert np.isnan(column[lost]).all() == below
        assert np.isfinite(np.delete(column, np.r_[lost])).all()
    assert torques["residual_fy_N"].iloc[lost].isna().all()
    assert set(torques["reason"].iloc[lost]) == {UNMEASURED}
    assert set(torques["reason"].iloc[:80]) == {""}
    assert list(torques.columns)[-1] == "reason"

    ground = TABLES["ground_reaction"].make(walk)
    assert ground.loc[80:119, "ground_force_l_y_N"].isna().all()
    assert not ground.loc[80:119, "measured_l"].any()
    assert ground["measured_r"].all()

    cycles = TABLES["gait_cycles"].make(walk)
    left = cycles[(cycles["variable"] == "ground_force_y") & (cycles["side"] == "l") & (cycles["cycle"] == 1)]
    inside = (left["percent"] > 31) & (left["percent"] < 69)  # the cycle starts at 0.5 s: 0.80-1.19 s is 30-69 %
    assert left.loc[inside, "value"].isna().all()
    np.testing.assert_allclose(left.loc[~inside & left["value"].notna(), "value"], 0.5)


def _left_leg(walk):
    foot = walk.model.sole_body["l"]
    chain, parents = set(), {b.definition.name: b.definition.parent for b in walk.model.bodies}
    while parents[foot]:
        chain.add(foot)
        foot = parents[foot]
    return chain


def test_moments_and_powers_are_divided_by_body_mass(walk):
    table = TABLES["gait_cycles"].make(walk)
    torques = TABLES["joint_torques"].make(walk)
    coordinate = next(c for c in walk.model.coordinates if c.side == "r")
    name = without_side(coordinate.name, "r")
    curve = table[(table["variable"] == f"{name}_moment") & (table["side"] == "r") & (table["cycle"] == 2)]
    frame = round(STRIDE_S * RATE_HZ)
    # 101 points over 100 frames: points fall on frames.
    expected = torques[f"{coordinate.name}_Nm"].to_numpy()[frame : 2 * frame + 1] / MASS_KG
    np.testing.assert_allclose(curve["value"], expected, rtol=1e-6, atol=1e-9)

    heavy = TABLES["gait_cycles"].make(with_mass(walk, 2.0 * MASS_KG))
    by_mass = ~table["unit"].isin(["deg"])
    np.testing.assert_allclose(heavy.loc[by_mass, "value"], table.loc[by_mass, "value"] / 2.0, rtol=1e-12)
    np.testing.assert_allclose(heavy.loc[~by_mass, "value"], table.loc[~by_mass, "value"], rtol=1e-12)


def test_ground_reaction_of_standing_is_half_a_body_weight_each():
    standing = walker(moving=False, frames=60)
    table = TABLES["ground_reaction"].make(standing)
    np.testing.assert_allclose(table["ground_force_r_y_N"], 0.5 * MASS_KG * STANDARD_GRAVITY_M_S2)
    np.testing.assert_allclose(
        table["ground_force_r_y_N"] + table["ground_force_l_y_N"], MASS_KG * STANDARD_GRAVITY_M_S2
    )


def test_powers_are_torque_times_rate(walk):
    powers, torques = TABLES["joint_powers"].make(walk), TABLES["joint_torques"].make(walk)
    time_s = powers["time_s"].to_numpy()
    rates = {
        c.name: amplitude_rad(i) * 2.0 * np.pi / STRIDE_S * np.cos(2.0 * np.pi * time_s / STRIDE_S)
        for i, c in enumerate(walk.model.coordinates)
    }
    for body in walk.model.moving_segments:
        definition = body.definition
        own = [c for c in walk.model.coordinates if c.body == definition.name]
        expected = sum(torques[f"{c.name}_Nm"].to_numpy() * rates[c.name] for c in own)
        column = powers[f"{definition.joint}_W"].to_numpy()
        # The rates come from a quintic spline with free ends: compare away from them.
        np.testing.assert_allclose(column[20:-20], np.asarray(expected)[20:-20], rtol=1e-4, atol=1e-6)


def test_powers_by_plane_are_those_of_the_axes_there_and_add_up(walk):
    """Hip: each of its three coordinates is a plane's; a knee has the sagittal one alone; the sum is the joint's power."""
    powers, parts = TABLES["joint_powers"].make(walk), TABLES["joint_power_parts"].make(walk)
    torques, rates = TABLES["joint_torques"].make(walk), walk.fit.motion.v
    column = {c.name: c.v_index for c in walk.model.coordinates}
    for plane, name in (
        ("sagittal", "hip_flexion_r"),
        ("frontal", "hip_adduction_r"),
        ("transverse", "hip_rotation_r"),
    ):
        expected = torques[f"{name}_Nm"] * rates[:, column[name]]
        np.testing.assert_allclose(parts[f"hip_r_{plane}_W"], expected, atol=1e-12)
    assert parts["knee_l_sagittal_W"].equals(powers["knee_l_W"].rename("knee_l_sagittal_W"))
    assert "knee_l_frontal_W" not in parts
    for name in powers.columns[1:]:
        own = parts.filter(regex=f"^{name.removesuffix('_W')}_(sagittal|frontal|transverse)_W$")
        assert own.shape[1] >= 1
        np.testing.assert_allclose(own.sum(axis=1, skipna=False), powers[name], atol=1e-12, rtol=1e-12)


def test_joint_moments_are_tidy_and_hold_every_frame(walk):
    table = TABLES["joint_moments"].make(walk)
    loads = walk.dynamics.joints
    assert len(table) == len(loads) * 3 * 2 * len(walk.time_s)
    load = next(load for load in loads if load.side == "l")
    rows = table[(table["joint"] == load.joint) & (table["side"] == "l") & (table["frame"] == "distal")]
    moment = rows[rows["quantity"] == "moment"]
    np.testing.assert_array_equal(moment[["x", "y", "z"]].to_numpy(), load.moment["distal"])
    assert set(moment["unit"]) == {"Nm"}
    assert set(rows.loc[rows["quantity"] == "force", "unit"]) == {"N"}
    np.testing.assert_array_equal(moment["time_s"], walk.time_s)


def test_jcs_moments_have_the_same_sign_on_both_sides():
    """Two legs loaded alike: what adducts the right leg adducts the left one, though World sees mirrored moments."""
    walk = walker()
    moment = np.array([0.3, 0.2, 0.1]) * MASS_KG
    mirrored = moment * (-1.0, -1.0, 1.0)
    joints = tuple(
        replace(
            load,
            moment={**load.moment, "jcs": np.tile(mirrored if load.side == "l" else moment, (len(walk.time_s), 1))},
        )
        for load in walk.dynamics.joints
    )
    table = TABLES["gait_cycles"].make(replace(walk, dynamics=replace(walk.dynamics, joints=joints)))
    for axis, expected in zip("xyz", (0.3, 0.2, 0.1), strict=True):
        rows = table[table["variable"].str.endswith(f"_jcs_moment_{axis}")]
        assert set(rows["side"]) == {"r", "l"}
        np.testing.assert_allclose(rows["value"], expected, rtol=1e-12)


def test_spatiotemporal_of_a_constant_speed(walk):
    table = TABLES["spatiotemporal"].make(walk)
    assert list(table["side"]) == ["r"] * 3 + ["l"] * 2
    np.testing.assert_allclose(table["stride_time_s"], STRIDE_S)
    # The legs swing periodically, so from strike to strike a foot moves as the pelvis does.
    np.testing.assert_allclose(table["stride_length_m"], SPEED_M_S * STRIDE_S, rtol=1e-9)
    np.testing.assert_allclose(table["stance_percent"], 100.0 * OFF_SHARE)
    np.testing.assert_allclose(table["foot_off_s"] - table["start_s"], OFF_SHARE * STRIDE_S)
    assert "toe_out_deg" in table


def test_marker_errors_rms_ignores_the_unseen(walk):
    table = TABLES["marker_errors"].make(walk)
    error = walk.fit.marker_error
    np.testing.assert_allclose(table["rms"].iloc[0], np.sqrt(np.nanmean(error[0] ** 2)))
    assert np.isnan(table[walk.fit.labels[1]].iloc[0])
    nothing = replace(walk, fit=replace(walk.fit, marker_error=np.full_like(error, np.nan)))
    assert TABLES["marker_errors"].make(nothing)["rms"].isna().all()


def test_contacts_spread_their_evidence(walk):
    table = TABLES["contacts"].make(walk)
    assert list(table["decision"]) == ["assigned", "rejected"]
    assert table["distance_m"].tolist()[0] == pytest.approx(0.01)
    assert np.isnan(table["distance_m"].tolist()[1])
    assert table["peak_bw"].tolist()[1] == pytest.approx(1.1)


def test_a_trial_without_events_gives_empty_tables_with_their_columns():
    standing = walker(moving=False, frames=60)
    assert list(TABLES["events"].make(standing).columns) == ["time_s", "side", "event", "source", "confidence"]
    assert TABLES["gait_cycles"].make(standing).empty
    assert list(TABLES["gait_cycles"].make(standing).columns) == [
        "cycle",
        "side",
        "percent",
        "variable",
        "value",
        "unit",
    ]
    assert "speed_m_s" in TABLES["spatiotemporal"].make(standing)


def test_csv_reads_back_as_it_was(walk, tmp_path):
    for name, table in trial_tables(walk).items():
        path = tmp_path / f"{name}.csv"
        write_csv(table, path)
        back = pd.read_csv(path)
        assert list(back.columns) == list(table.columns)
        assert len(back) == len(table)
        for column in table.columns:
            if pd.api.types.is_float_dtype(table[column].dtype):
                np.testing.assert_allclose(back[column], table[column], atol=0.5e-5 + 1e-12)  # five decimals
            elif not pd.api.types.is_numeric_dtype(table[column].dtype):
                assert [_word(x) for x in back[column]] == [_word(x) for x in table[column]]


def test_csv_rounds_single_columns_further(tmp_path):
    frame = pd.DataFrame({"name": ["a", "b", "c"], "x": [1.23456, -0.00004, np.nan], "y": [1.23456, 2.5, 3.0]})
    write_csv(frame, tmp_path / "further.csv", coarser={"x": 3})
    write_csv(frame.round({"x": 3}), tmp_path / "rounded.csv")
    assert (tmp_path / "further.csv").read_bytes() == (tmp_path / "rounded.csv").read_bytes()
    assert frame["x"][0] == 1.23456


@pytest.mark.parametrize("decimals", [0, 1, 5, 8])
def test_csv_numbers_are_the_shortest_decimals_that_read_as_the_rounded_numbers(tmp_path, decimals):
    rng = np.random.default_rng(decimals)
    values = rng.normal(size=4000) * 10.0 ** rng.integers(-decimals - 2, 6, size=4000)
    values[:6] = 0.0, -0.0, 10.0, -1.5, 0.25, 99999.5
    write_csv(pd.DataFrame({"x": values, "y": -values}), tmp_path / "t.csv", decimals)
    lines = (tmp_path / "t.csv").read_text("ascii").splitlines()[1:]
    scaled = [round(value * 10.0**decimals) for value in values.tolist()]  # Python's whole numbers, half to even
    texts = [[f"{Decimal(sign * count).scaleb(-decimals):f}" for sign in (1, -1)] for count in scaled]
    shortest = [",".join(text.rstrip("0").rstrip(".") if "." in text else text for text in pair) for pair in texts]
    assert lines == shortest


def test_csv_keeps_infinite_and_very_large_numbers(tmp_path):
    frame = pd.DataFrame(
        {"x": [np.inf, -np.inf, 1.23456e17, np.nan, 0.5], "y": [1.0, 2.0, 3.0, 4.0, 5.25], "n": range(5)}
    )
    write_csv(frame, tmp_path / "t.csv")
    lines = (tmp_path / "t.csv").read_text("ascii").splitlines()[1:]
    assert lines == ["inf,1,0", "-inf,2,1", "1.23456e+17,3,2", ",4,3", "0.5,5.25,4"]


def test_of_large_tables_that_are_only_written_none_is_kept():
    made = []

    def make(name):
        made.append(name)
        return pd.DataFrame({"x": np.zeros(int(name))})

    tables = LazyTables(("10", "5000000", "4000000"), make)
    asked_for = tables["4000000"]
    assert all(len(tables.table_used_once(name)) == int(name) for name in tables for _ in range(2))
    assert tables.table_used_once("4000000") is asked_for
    assert made == ["4000000", "10", "5000000", "5000000"]


def test_csv_writes_missing_as_empty_and_quotes_what_needs_it(tmp_path):
    path = tmp_path / "small.csv"
    frame = pd.DataFrame({"a,b": [np.nan, -0.0, 1.25], "why": ["", 'he said "no", twice', "plain"], "n": [1, 2, 3]})
    write_csv(frame, path)
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0] == '"a,b",why,n'
    assert lines[1].startswith(",")
    assert lines[2].startswith("0,")
    back = pd.read_csv(path)
    assert back["why"].tolist()[1] == 'he said "no", twice'
    assert np.isnan(back["a,b"][0])
    write_csv(frame.assign(why=["", "x", "y"]), path)
    assert '"' not in "".join(path.read_text(encoding="utf-8").splitlines()[1:])


def _word(value):
    return "" if pd.isna(value) else str(value)
