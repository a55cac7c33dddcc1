"""A cycle that nobody can walk: its variable and the loads that hang on it are not valid, with the reason, and it is said."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.shards import cycle_rows

from biodyn.checks.motion import cycle_findings
from biodyn.study.collecting import collect_results, read_cycles
from biodyn.study.collecting.cycles import summary_metrics, write_cycles
from biodyn.study.plan import PlannedTrial, StudyPlan
from biodyn.study.trial_record import TrialRecord, write_trial_record
from biodyn.trial.result import TrialResult

LOADS = ("hip_flexion_moment", "knee_angle_moment", "ankle_angle_moment", "ankle_power", "hip_jcs_moment_x")


def with_power(result: TrialResult, joint: str, side: str, factor: float) -> TrialResult:
    """The walk with the power of one joint so many times as large, as a wrong contact makes it."""
    dynamics = result.analysis.dynamics
    joints = tuple(
        replace(load, power=factor * load.power) if (load.joint, load.side) == (joint, side) else load
        for load in dynamics.joints
    )
    return TrialResult(replace(result.analysis, dynamics=replace(dynamics, joints=joints)))


def with_angle(result: TrialResult, coordinate: str, step_rad: float) -> TrialResult:
    """The walk with a coordinate that jumps to another value and back within every half second."""
    analysis = result.analysis
    motion = analysis.fit.motion
    (place,) = [c.q_index for c in analysis.model.coordinates if c.name == coordinate]
    q = motion.q.copy()
    q[(analysis.time_s % 0.5) < 0.1, place] += step_rad
    return TrialResult(replace(analysis, fit=replace(analysis.fit, motion=replace(motion, q=q))))


def rows(result: TrialResult) -> pd.DataFrame:
    return cycle_rows(result)


def test_a_sound_walk_has_none(walk_result: TrialResult) -> None:
    assert cycle_findings(walk_result.analysis.cycles) == ()
    assert not any("impossible" in d.code for d in walk_result.diagnostics)
    metrics = summary_metrics(walk_result)
    assert (metrics["impossible_cycles_right"], metrics["impossible_cycles_left"]) == (0, 0)


def test_impossible_power_takes_the_leg_s_loads_along_and_nothing_else(walk_result: TrialResult) -> None:
    before = rows(walk_result)
    known = before[(before["side"] == "r") & (before["variable"] == "hip_power")]["value"].abs().max()
    after = rows(with_power(walk_result, "hip", "r", 107.0 / known))  # the largest 0.1 kept as valid
    changed = before["valid"] & ~after["valid"]
    assert changed.any()
    assert (after[changed]["side"] == "r").all()
    assert after[~after["valid"]]["value"].isna().all()
    reasons = after[changed].groupby("variable", observed=True)["reason"].unique()
    assert list(reasons["hip_power"]) == ["beyond its physiological limits"]
    for name in LOADS:
        assert list(reasons[name]) == ["hip_power beyond its physiological limits"]
    assert not {"hip_flexion", "pelvis_tilt", "ground_force_y", "lumbar_extension_moment"} & set(reasons.index)
    kept = ~changed & before["valid"]  # what is valid is untouched, but for the power that was made so large
    same = kept & (before["variable"] != "hip_power")
    np.testing.assert_array_equal(before[same]["value"], after[same]["value"])


def test_a_single_trial_says_so_and_its_table_is_empty_there(walk_result: TrialResult) -> None:
    spoilt = with_power(walk_result, "hip", "l", 1000.0)
    findings = cycle_findings(spoilt.analysis.cycles)
    assert findings
    for finding in findings:
        assert (finding.code, finding.severity, finding.unit) == ("cycle-impossible", "warning", "W/kg")
        assert "left side" in finding.message
        assert "Hip power" in finding.message
        assert abs(finding.value or 0.0) > abs(finding.limit or np.inf)
        assert finding.hint
    table = spoilt.gait_cycles
    own = table[(table["variable"] == "hip_power") & (table["side"] == "l")].groupby("cycle")["value"]
    faulty = {values.cycle.number + 1 for values in spoilt.analysis.cycles if values.faults}
    assert {cycle for cycle, values in own if values.isna().all()} >= faulty
    assert summary_metrics(spoilt)["impossible_cycles_left"] == len(findings)


def test_an_angle_that_jumps_is_not_valid_and_neither_are_the_loads(walk_result: TrialResult) -> None:
    before, after = rows(walk_result), rows(with_angle(walk_result, "knee_angle_r", 1.2))
    changed = after[before["valid"] & ~after["valid"]]
    reasons = changed.groupby("variable", observed=True)["reason"].unique()
    assert list(reasons["knee_angle"]) == ["jumps within 1 % of the cycle"]
    assert list(reasons["ankle_angle_moment"]) == ["knee_angle jumps within 1 % of the cycle"]
    assert "hip_flexion" not in reasons.index


def test_a_wider_limit_can_be_asked_for(walk_result: TrialResult) -> None:
    spoilt = with_power(walk_result, "hip", "r", 1000.0)
    settings = spoilt.analysis.settings
    wide = settings.model_copy(update={"limits": settings.limits.model_copy(update={"physiological_factor": 1000.0})})
    assert cycle_findings(replace(spoilt.analysis, settings=wide).cycles) == ()


def test_the_study_counts_them(walk_result: TrialResult, tmp_path: Path) -> None:
    spoilt = with_power(walk_result, "hip", "r", 1000.0)
    trial = PlannedTrial("S01", "walk01", Path("S01/walk01.c3d"))
    folder = tmp_path / trial.folder
    folder.mkdir(parents=True)
    write_cycles(spoilt, folder)
    (folder / "run.json").write_text(json.dumps(spoilt.record), encoding="utf-8")
    (folder / "tables").mkdir()
    spoilt.spatiotemporal.to_csv(folder / "tables" / "spatiotemporal.csv", index=False)
    write_trial_record(TrialRecord("key", "warn", metrics=summary_metrics(spoilt)), folder)
    collected = collect_results(StudyPlan("study", Path("data"), (trial,), ()), tmp_path)
    (finding,) = [d for d in collected.diagnostics if d.code == "cycle-impossible"]
    assert finding.value == summary_metrics(spoilt)["impossible_cycles_right"]
    power = read_cycles(tmp_path, variable="hip_power", side="r")
    assert power["value"].abs().max() <= 75.0 or power["value"].isna().all()


@pytest.mark.parametrize("name", ["pelvis_tilt", "pelvis_list", "pelvis_rotation"])
def test_pelvis_angles_of_the_simulated_walk_are_those_of_joint_angles_but_for_the_course(
    walk_result: TrialResult, name: str
) -> None:
    """The walker goes along World X: the walking direction of a cycle differs from it by a degree or two."""
    time_s = walk_result.analysis.time_s
    angle = walk_result.joint_angles[f"{name}_deg"].to_numpy()
    for values in walk_result.analysis.cycles:
        at = np.linspace(values.cycle.start_s, values.cycle.end_s, 101)
        assert np.abs(values.curve(name) - np.interp(at, time_s, angle)).max() < 3.0
