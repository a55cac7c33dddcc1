"""Trials whose checks failed: in the data set with the reason, in no group result, in the report by name."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from support.made_folder import MadeTrial, made_folder, two_by_two

from biodyn.checks.registry import finding_title
from biodyn.study.collecting import read_cycles
from biodyn.study.discovery import StudyDefinition
from biodyn.study.report.aggregation import Findings
from biodyn.study.result import StudyResult
from biodyn.study.trial_record import (
    TRIAL_RECORD_NAME,
    TrialRecord,
    exclusion_reason,
    read_trial_record,
)

pytestmark = pytest.mark.slow

TITLES = "Pelvis residual; Marker tracking"
REASON = f"the trial failed its checks: {TITLES}"
_TABLES = ("group_curves", "comparisons", "spm", "symmetry", "repeatability", "parameters_wide", "cycles", "parameters")


def _failed(trial: str, subject: str = "S01", condition: str = "slow", group: str = "patient") -> MadeTrial:
    """A trial of numbers that nobody would want in a mean."""
    return MadeTrial(subject, trial, condition, group, offset=5000.0, status="fail", checks_failed=TITLES)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_folder(tmp_path_factory.mktemp("sound") / "out", two_by_two(subjects=6, trials=1))


@pytest.fixture(scope="module")
def with_failed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same study with two failed trials more, one the only one of its subject."""
    trials = two_by_two(subjects=6, trials=1)
    trials = [*trials[:2], _failed("slow99"), *trials[2:], _failed("slow01", "S99")]
    return made_folder(tmp_path_factory.mktemp("failed") / "out", trials)


@pytest.mark.parametrize("status", ["pass", "warn", "not_assessed", "failed"])
def test_other_trials_are_not_excluded(status: str) -> None:
    assert exclusion_reason(TrialRecord("key", status)) == ""  # type: ignore[arg-type]


def test_group_results_are_those_of_the_study_without_the_failed_trials(sound: Path, with_failed: Path) -> None:
    one, other = StudyResult(sound), StudyResult(with_failed)
    for name in _TABLES:
        pd.testing.assert_frame_equal(one.group_table(name), other.group_table(name))
    curves = [pd.read_parquet(out / "group" / "subject_curves.parquet") for out in (sound, with_failed)]
    for column in ("subject", "mean", "sd", "cycles"):
        assert curves[0][column].tolist() == curves[1][column].tolist()


def test_the_data_set_has_their_rows_without_values_and_with_the_reason(with_failed: Path) -> None:
    rows = read_cycles(with_failed, trial="slow99")
    assert len(rows)
    assert not rows["valid"].any()
    assert rows["value"].isna().all()
    assert set(rows["reason"].astype(str)) == {REASON}
    others = read_cycles(with_failed)
    others = others[~((others["trial"] == "slow99") | (others["subject"] == "S99"))]
    assert others["valid"].all()
    text = pd.read_csv(with_failed / "study.csv", dtype=str, keep_default_na=False)
    assert set(text[text["trial"] == "slow99"]["valid"]) == {"false"}
    assert set(text[text["trial"] == "slow99"]["reason"]) == {REASON}


def test_summary_and_report_name_them(with_failed: Path) -> None:
    summary = StudyResult(with_failed).trials.set_index(["subject", "trial"])
    assert summary.loc[("S01", "slow99"), "excluded"] == REASON
    assert (summary["excluded"] != "").sum() == 2
    record = json.loads((with_failed / "study.json").read_text(encoding="utf-8"))
    (finding,) = [d for d in record["diagnostics"] if d["code"] == "trials-excluded"]
    assert finding["value"] == 2.0
    assert "S01 slow99" in finding["message"]
    assert TITLES in finding["message"]
    page = (with_failed / "report.html").read_text(encoding="utf-8")
    assert "2 trials excluded from the group results." in page
    assert "Excluded from the group results</h3>" in page
    subject = (with_failed / "subjects" / "S01.html").read_text(encoding="utf-8")
    assert "Excluded from group results:" in subject
    assert (with_failed / "subjects" / "S99.html").is_file()  # of whom nothing is left


@pytest.mark.slow
def test_who_asks_for_them_gets_them(tmp_path: Path, sound: Path) -> None:
    definition = StudyDefinition.model_validate({"analysis": {"include_failed": True}})
    trials = two_by_two(subjects=6, trials=1)
    out = made_folder(tmp_path / "out", [*trials[:2], _failed("slow99"), *trials[2:]], definition=definition)
    rows = read_cycles(out, trial="slow99")
    assert rows["valid"].all()
    assert rows["value"].notna().all()
    one, other = StudyResult(sound).group_table("group_curves"), StudyResult(out).group_table("group_curves")
    assert (other["mean"] - one["mean"]).abs().max() > 1.0
    assert "trials-excluded" not in (out / "study.json").read_text(encoding="utf-8")


def test_a_failed_trial_is_excluded(tmp_path: Path) -> None:
    stored = {
        "record_version": 2, "key": "k", "status": "fail", "error": "", "reason": "", "hint": "",
        "metrics": {"checks_failed": TITLES},
    }  # fmt: skip
    (tmp_path / TRIAL_RECORD_NAME).write_text(json.dumps(stored), encoding="utf-8")
    record = read_trial_record(tmp_path)
    assert record is not None
    assert record.metrics["checks_failed"] == TITLES
    assert exclusion_reason(record) == REASON


def test_a_study_whose_trials_all_failed_ends_with_a_report(tmp_path: Path) -> None:
    definition = StudyDefinition.model_validate({"analysis": {"curves": ["knee_angle"], "compared": ["speed"]}})
    out = made_folder(tmp_path / "out", [_failed("slow01"), _failed("slow02", "S02")], definition=definition)
    assert "2 trials excluded from the group results." in (out / "report.html").read_text(encoding="utf-8")
    assert not len(StudyResult(out).group_table("group_curves"))


def test_a_group_that_is_gone_because_its_trials_failed_is_explained(tmp_path: Path) -> None:
    definition = StudyDefinition.model_validate({"analysis": {"groups": ["control", "patient"]}})
    trials = [MadeTrial("S01", "slow01", "slow", "control"), _failed("slow02", "S02")]
    out = made_folder(tmp_path / "out", trials, definition=definition)
    codes = {d["code"]: d["message"] for d in StudyResult(out).record["diagnostics"]}
    assert "'patient'" in codes["statistics-missing"]
    assert "1 of 2 trials" in codes["trials-excluded"]


def test_a_report_with_a_failed_trial_does_not_say_that_nothing_failed(sound: Path, with_failed: Path) -> None:
    for out, said in ((sound, True), (with_failed, False)):
        text = (out / "report.html").read_text(encoding="utf-8")
        assert ("none failed" in text) is said
        assert ("Nothing failed" in text) is said
        assert ("Every trial has a result" in text) is not said


def test_an_impossible_cycle_has_the_title_of_the_table() -> None:
    assert finding_title("cycle-impossible") == "Impossible gait cycle"


def test_what_a_check_says_is_not_said_again_by_its_finding() -> None:
    check = {"code": "residual-force", "title": "Pelvis residual force", "status": "fail", "text": "300 N", "hint": ""}
    finding = {"code": "residual-force", "severity": "error", "message": "300 N", "hint": ""}
    other = finding | {"code": "mass-mismatch"}
    record = {"record_version": 2, "verdict": "fail", "checks": [check], "diagnostics": [finding, other]}
    found = Findings()
    found.add(None, record)  # type: ignore[arg-type]
    assert [one.title for one in found.with_severity("error")] == [
        "Pelvis residual force",
        finding_title("mass-mismatch"),
    ]
