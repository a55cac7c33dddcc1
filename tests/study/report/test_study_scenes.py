"""3-D views in the pages of studies: which trials, and what is said of those that cannot be shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.made_folder import MadeTrial, made_folder

from biodyn import TrialResult
from biodyn.study.report import figures as scenes
from biodyn.study.report.figures import session_scene, typical_walk, worst_scenes, worst_trials
from biodyn.study.report.source import StudySource, Trial

_MEASURES = ("error", "residual")


def _trial(name: str, error: str, residual: str, status: str = "pass") -> Trial:
    metrics = {"error": error, "residual": residual}
    return Trial("S01", "", "", "", name, f"{name}.c3d", status, "", "", "", "", metrics)


def test_failed_trials_come_first_then_those_farthest_from_the_usual() -> None:
    trials = [
        _trial("usual", "2.0", "10"),
        _trial("also", "2.0", "10"),
        _trial("marker", "9.0", "10"),
        _trial("residual", "2.0", "80"),
        _trial("fails", "2.1", "10", "fail"),
        _trial("unknown", "", ""),
        _trial("no result", "90", "900", "failed"),
    ]
    found = worst_trials(trials, _MEASURES, 3)
    assert [(trial.trial, name) for trial, name in found] == [
        ("fails", "error"), ("residual", "residual"), ("marker", "error"),
    ]  # fmt: skip
    assert worst_trials([_trial("unknown", "", "")], _MEASURES, 3) == []


def test_a_session_s_view_names_the_walks_that_it_does_not_show(
    walk_result: TrialResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = StudySource(made_folder(tmp_path / "study", [MadeTrial("S01", "a")]))
    monkeypatch.setattr(scenes, "stored_view", lambda source, trial: walk_result.view)
    trials = [_trial(name, "2.0", "10") for name in "abcdef"]
    drawn = {count: session_scene(source, trials[:count]) for count in (4, 6)}
    assert drawn[4] is not None
    assert drawn[6] is not None
    assert "Not shown" not in drawn[4]["drawn"]
    assert drawn[6]["drawn"].endswith("Not shown (more than 4 walks cannot be distinguished): e, f.")


def test_results_without_a_motion_have_no_view_and_do_not_stop_a_page(tmp_path: Path) -> None:
    folder = made_folder(tmp_path / "study", [MadeTrial("S01", "a"), MadeTrial("S02", "b")])
    source = StudySource(folder)
    walk = typical_walk(source)
    assert walk is not None
    assert walk.done
    assert worst_scenes(source, {"marker_rms_mm": "tracking error"}) == []
    assert "<div data-scene>" not in (folder / "report.html").read_text(encoding="utf-8")
    assert all(not trial.report for trial in source.trials)
    (folder / walk.folder / "report.html").write_text("", encoding="utf-8")
    assert StudySource(folder).trials[0].report == f"{walk.folder}/report.html"
