"""A whole study, as people run it: one command or one object, again and again, whatever is in the folder."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from support.sessions import Laboratory
from typer.testing import CliRunner

import biodyn
from biodyn.cli import app
from biodyn.errors import StudyError
from biodyn.study.running.task import Outcome

_FINAL = ("study.parquet", "study.csv", "summary.csv", "study.json", "report.html", "study_wide.csv", "study.xlsx")


@pytest.fixture(scope="module")
def recordings(laboratory: Laboratory, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two subjects; one has a second walk that is damaged."""
    folder = tmp_path_factory.mktemp("study") / "recordings"
    for name in ("S01", "S02"):
        walk = laboratory.trials["walk"]
        body = replace(walk.body, person=replace(walk.body.person, name=name))
        laboratory.copy(
            folder / name,
            walk=replace(walk, body=body),
            static=replace(laboratory.trials["static"], body=body),
        )
    whole = (folder / "S02" / "walk.c3d").read_bytes()
    (folder / "S02" / "walk02.c3d").write_bytes(whole[: len(whole) // 2])
    return folder


@pytest.fixture(scope="module")
def finished(recordings: Path) -> biodyn.StudyResult:
    """The study of the recordings, run once."""
    return biodyn.run_study(recordings, recordings.parent / "out", workers=2)


def _contents(folder: Path) -> dict[str, bytes]:
    names = [*_FINAL, *(str(path.relative_to(folder)) for path in sorted(folder.glob("group/*")))]
    return {name: (folder / name).read_bytes() for name in names}


def test_every_trial_is_accounted_for(finished: biodyn.StudyResult) -> None:
    summary = finished.trials
    assert list(zip(summary["subject"], summary["trial"], strict=True)) == [
        ("S01", "walk"),
        ("S02", "walk"),
        ("S02", "walk02"),
    ]
    assert list(finished.trials.query("status == 'failed'")["trial"]) == ["walk02"]
    assert "truncated" in finished.trials.query("status == 'failed'")["reason"].iloc[0]
    assert finished.record["counts"]["failed"] == 1
    assert {file["role"] for file in finished.record["files"]} == {"walk", "static"}


def test_the_data_set_holds_what_the_trials_hold(finished: biodyn.StudyResult) -> None:
    cycles = finished.cycles(variable="knee_angle", subject="S01")
    own = biodyn.load(finished.trial_folder("S01", "walk")).gait_cycles
    own = own[own["variable"] == "knee_angle"]
    assert len(cycles) == len(own) > 0
    # the table on disk is rounded to five decimals
    assert cycles["value"].to_numpy() == pytest.approx(own["value"].to_numpy(), abs=6e-6, nan_ok=True)


def test_group_tables_are_named(finished: biodyn.StudyResult) -> None:
    assert {"parameters", "group_curves", "comparisons"} <= set(finished.group_tables)
    assert len(finished.group_table("parameters")) > 0
    with pytest.raises(StudyError, match="no group table 'nonsense'"):
        finished.group_table("nonsense")
    with pytest.raises(StudyError, match="no trial 'run'"):
        finished.trial_folder("S01", "run")


def test_running_again_changes_nothing(recordings: Path, finished: biodyn.StudyResult) -> None:
    before = _contents(finished.folder)
    outcomes: list[Outcome] = []
    said: list[str] = []
    biodyn.run_study(recordings, finished.folder, workers=1, on_outcome=outcomes.append, progress=said.append)
    assert [outcome.kept for outcome in outcomes] == [True] * 3
    counted = [line for line in said if " trials, " in line]
    assert [line.split(" trials, ")[0] for line in counted] == ["1 of 3", "2 of 3", "3 of 3"]
    assert said[-1] == "writing the report"
    assert _contents(finished.folder) == before


@pytest.mark.slow
def test_what_a_killed_run_left_is_gone_after_the_next(recordings: Path, finished: biodyn.StudyResult) -> None:
    for name in (".group.ab12cd34.part", ".subjects.ab12cd34.old", "trials/S01/.walk.ab12cd34.part"):
        (finished.folder / name / "inside").mkdir(parents=True)
    (finished.folder / ".study.parquet.part").touch()
    biodyn.run_study(recordings, finished.folder, workers=1)
    hidden = [str(path.relative_to(finished.folder)) for path in finished.folder.rglob(".*")]
    assert hidden == [".running"]


@pytest.mark.slow
def test_another_place_and_number_of_workers_give_the_same_bytes(
    recordings: Path, finished: biodyn.StudyResult, tmp_path: Path
) -> None:
    moved = tmp_path / "elsewhere" / "recordings"
    shutil.copytree(recordings, moved)
    other = biodyn.run_study(moved, moved.parent / "out", workers=1)
    assert _contents(other.folder) == _contents(finished.folder)


@pytest.mark.slow
def test_a_trial_that_left_the_plan_leaves_the_folder(
    recordings: Path, finished: biodyn.StudyResult, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    shutil.copytree(finished.folder, out)
    folder = tmp_path / "recordings"
    shutil.copytree(recordings, folder)
    (folder / "study.toml").write_text('exclude = ["S02/*02.c3d"]\n[conditions]\n"*" = "slow"\n', encoding="utf-8")
    outcomes: list[Outcome] = []
    result = biodyn.run_study(folder, out, workers=1, on_outcome=outcomes.append)
    assert [outcome.kept for outcome in outcomes] == [True] * 2, "labels need no new analysis"
    assert list(result.trials["trial"]) == ["walk", "walk"]
    assert not (out / "trials" / "S02" / "walk02").exists()
    assert set(result.cycles(variable="knee_angle")["condition"]) == {"slow"}


def test_the_command_line(recordings: Path, finished: biodyn.StudyResult) -> None:
    runner = CliRunner()
    done = runner.invoke(app, ["study", str(recordings), "--out", str(finished.folder), "--workers", "1"])
    assert done.exit_code == 3
    assert "3 of 3 trials, 1 failed, 3 earlier results kept" in done.output
    shown = runner.invoke(app, ["study", str(recordings), "--dry-run"])
    assert shown.exit_code == 0
    assert "walk02" in shown.output
    nowhere = runner.invoke(app, ["study", str(recordings / "nowhere")])
    assert nowhere.exit_code == 2


def test_init_writes_a_study_file_once(recordings: Path, tmp_path: Path) -> None:
    folder = tmp_path / "recordings"
    shutil.copytree(recordings, folder)
    runner = CliRunner()
    assert runner.invoke(app, ["study", str(folder), "--init"]).exit_code == 0
    assert (folder / "study.toml").is_file()
    assert runner.invoke(app, ["study", str(folder), "--init"]).exit_code == 2
    assert biodyn.Study.open(folder).plan.trials == biodyn.Study.open(recordings).plan.trials


def test_what_cannot_be_a_study_is_refused(recordings: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(StudyError):
        biodyn.run_study(tmp_path / "empty", tmp_path / "out")
    with pytest.raises(StudyError, match="not empty"):
        biodyn.run_study(recordings, recordings / "S01")
    assert not (tmp_path / "out").exists()


def test_the_result_of_an_unfinished_study_says_so(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="contains no finished study"):
        _ = biodyn.StudyResult(tmp_path).record


def test_the_record_is_the_same_on_every_machine(finished: biodyn.StudyResult, recordings: Path) -> None:
    text = json.dumps(finished.record)
    assert str(recordings) not in text
    assert str(finished.folder) not in text
