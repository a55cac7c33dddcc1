"""What a trial leaves for the data set: its cycles with a reason for every missing value, and its metrics."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.shards import cycle_rows, stored_rows

from biodyn.conventions import SIDE_NAMES, SIDES, WHOLE_CYCLE
from biodyn.errors import ResultError
from biodyn.output.store.result_writer import write_manifest
from biodyn.study.collecting.cycles import (
    CYCLE_COLUMNS,
    DECIMALS,
    metric_columns,
    read_cycle_table,
    summary_metrics,
    write_cycles,
)
from biodyn.study.trial_record import CYCLES_NAME
from biodyn.trial.result import TrialResult


def test_the_shard_holds_the_rows_of_gait_cycles(walk_result: TrialResult, tmp_path: Path) -> None:
    write_cycles(walk_result, tmp_path)
    found = stored_rows(tmp_path)
    expected = walk_result.gait_cycles
    assert tuple(found.columns) == CYCLE_COLUMNS
    for name in expected.columns:
        if name == "value":
            half = 0.5 * 10.0**-DECIMALS  # what rounding may take away, and the last bit of the sum
            np.testing.assert_allclose(found[name], expected[name], rtol=1e-15, atol=half)
            np.testing.assert_array_equal(found[name], found[name].round(DECIMALS))
        else:
            assert found[name].astype(str).tolist() == expected[name].astype(found[name].dtype).astype(str).tolist()


def test_a_value_is_missing_exactly_where_there_is_a_reason(walk_result: TrialResult) -> None:
    frame = cycle_rows(walk_result)
    assert 0 < (~frame["valid"]).sum() < len(frame)  # some contacts are outside the plates
    assert (frame["value"].notna() == frame["valid"]).all()
    assert ((frame["reason"] == "") == frame["valid"]).all()


def test_reasons_name_the_foot_that_was_not_measured(walk_result: TrialResult) -> None:
    """A load of one leg is missing because of that leg's own foot; angles need no plate."""
    frame = cycle_rows(walk_result)
    missing = frame[~frame["valid"]]
    angles = frame[frame["unit"] == "deg"]
    assert angles["valid"].all()
    forces = missing[missing["variable"].str.startswith("ground_force")]
    assert len(forces)
    for side in SIDES:
        reasons = forces.loc[forces["side"] == side, "reason"].unique()
        assert all(SIDE_NAMES[side] in reason for reason in reasons)
    assert "not computed" not in set(frame["reason"])  # every gap is explained


def test_unseen_markers_are_the_reason_of_angles_and_loads(walk_result: TrialResult) -> None:
    """With the pose of a stretch of frames taken away, its angles and loads are missing because of the markers."""
    analysis = walk_result.analysis
    cycle = next(e.time_s for e in analysis.events if e.kind == "foot_strike") * analysis.recording.markers.rate_hz
    gone = np.zeros(len(analysis.time_s), dtype=bool)
    gone[int(cycle) + 10 : int(cycle) + 20] = True
    motion = replace(analysis.fit.motion, q=np.where(gone[:, None], np.nan, analysis.fit.motion.q))
    fit = replace(
        analysis.fit, motion=motion, solved=analysis.fit.solved & ~gone, reliable=analysis.fit.reliable & ~gone
    )
    torques = np.where(gone[:, None], np.nan, analysis.dynamics.torques)
    spoilt = TrialResult(replace(analysis, fit=fit, dynamics=replace(analysis.dynamics, torques=torques)))
    frame = cycle_rows(spoilt)
    names = [c.name.removesuffix(f"_{c.side}") if c.side else c.name for c in analysis.model.coordinates]
    angles = frame[frame["variable"].isin(names) & ~frame["valid"]]
    assert set(angles["reason"]) == {"markers missing"}
    torque = frame[frame["variable"].isin([f"{name}_moment" for name in names]) & ~frame["valid"]]
    assert "markers missing" in set(torque["reason"])
    assert (frame["value"].notna() == frame["valid"]).all()


def test_a_trial_without_cycles_leaves_an_empty_shard(walk_result: TrialResult, tmp_path: Path) -> None:
    still = TrialResult(replace(walk_result.analysis, events=()))
    write_cycles(still, tmp_path)
    assert len(stored_rows(tmp_path)) == 0
    metrics = summary_metrics(still)
    assert tuple(metrics) == metric_columns()
    assert metrics["cycles_right"] == 0
    assert metrics["ankle_power_A2_r_W_kg"] is None


def test_the_same_result_gives_the_same_bytes(walk_result: TrialResult, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write_cycles(walk_result, tmp_path / name)
    assert (tmp_path / "a" / CYCLES_NAME).read_bytes() == (tmp_path / "b" / CYCLES_NAME).read_bytes()


def test_no_damaged_byte_goes_unseen(walk_result: TrialResult, tmp_path: Path) -> None:
    write_cycles(walk_result, tmp_path)
    (tmp_path / "run.json").write_text(json.dumps(walk_result.record), encoding="utf-8")
    write_manifest(tmp_path)
    assert read_cycle_table(tmp_path).num_rows == len(stored_rows(tmp_path))
    content = (tmp_path / CYCLES_NAME).read_bytes()
    for at in np.random.default_rng(7).integers(0, len(content), 40).tolist():
        changed = bytearray(content)
        changed[at] ^= 0x55
        (tmp_path / CYCLES_NAME).write_bytes(changed)
        with pytest.raises(ResultError, match="cannot be read"):
            read_cycle_table(tmp_path)


def test_summary_metrics_are_the_results_own_numbers(walk_result: TrialResult) -> None:
    metrics = summary_metrics(walk_result)
    json.dumps(metrics, allow_nan=False)
    assert tuple(metrics) == metric_columns()
    record = walk_result.record
    checks = {check["code"]: check for check in record["checks"]}
    assert metrics["marker_rms_mm"] == pytest.approx(1000.0 * checks["marker-fit"]["value"])
    assert metrics["residual_force_rms_N"] == pytest.approx(checks["residual-force"]["value"])
    force = checks["residual-force"]
    assert metrics["residual_force_rms_percent_of_limit"] == pytest.approx(100.0 * force["value"] / force["limit"])
    assert metrics["subject_mass_kg"] == pytest.approx(record["subject"]["mass_kg"])
    assert metrics["static_file"] == "static.c3d"
    assert metrics["frames"] == len(walk_result.analysis.time_s)
    contacts = walk_result.contacts
    assert metrics["contacts_assigned"] == (contacts["decision"] == "assigned").sum()
    cycles = walk_result.spatiotemporal
    assert metrics["speed_m_s"] == pytest.approx(cycles["speed_m_s"].mean())
    for side in SIDES:
        assert metrics[f"cycles_{SIDE_NAMES[side]}"] == (cycles["side"] == side).sum()


def test_kinetic_cycles_and_peaks_are_those_of_whole_measured_cycles(walk_result: TrialResult) -> None:
    """Counted again from the table: leg variables by their names in the table of a subject with both feet known.

    The page of the trial counts by the same share: the same cycle is not "with moments" here and without there.
    """
    metrics = summary_metrics(walk_result)
    table = walk_result.gait_cycles
    known = {}
    for (side, cycle), rows in table[table["variable"] == "ankle_power"].groupby(["side", "cycle"], observed=True):
        known[side, cycle] = bool(rows["value"].notna().mean() >= WHOLE_CYCLE)
    for side in SIDES:
        count = sum(whole for (own, _), whole in known.items() if own == side)
        assert metrics[f"kinetic_cycles_{SIDE_NAMES[side]}"] == count
    assert any(known.values())
    parameters = walk_result.view.parameters.query("parameter == 'power_a2'")
    for side in SIDES:
        expected = parameters.loc[parameters["side"] == side, "value"].mean()
        metric = metrics[f"ankle_power_A2_{side}_W_kg"]
        assert (metric is None and np.isnan(expected)) or metric == pytest.approx(expected)


def test_push_off_and_hip_extension_have_the_sign_people_expect(walk_result: TrialResult) -> None:
    metrics = summary_metrics(walk_result)
    for name in ("ankle_plantarflexion_moment_max", "hip_abduction_moment_max"):
        values = [metrics[f"{name}_{side}_Nm_kg"] for side in SIDES]
        known = [value for value in values if value is not None]
        assert known
        assert all(value > 0.3 for value in known)  # walking adults reach about 1.5 and 0.8 Nm/kg (Winter 2009)


def test_summary_metrics_name_no_path(walk_result: TrialResult) -> None:
    folder = str(walk_result.analysis.recording.path.parent)
    assert not [
        name for name, value in summary_metrics(walk_result).items() if isinstance(value, str) and folder in value
    ]
