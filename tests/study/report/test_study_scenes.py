"""3-D views in the pages of studies: which trials, and what is said of those that cannot be shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.made_folder import MadeTrial, made_folder

from biodyn import TrialResult
from biodyn.study.report import figures as scenes
from biodyn.study.report.figures import session_scene, typical_walk
from biodyn.study.report.report_inputs import StudySource, Trial


def _trial(name: str, error: str, residual: str, status: str = "pass") -> Trial:
    metrics = {"error": error, "residual": residual}
    return Trial("S01", "", "", "", name, f"{name}.c3d", status, "", "", "", "", metrics)


def test_a_session_s_view_names_the_walks_that_it_does_not_show(
    walk_result: TrialResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = StudySource(made_folder(tmp_path / "study", [MadeTrial("S01", "a")]))
    monkeypatch.setattr(scenes, "read_trial_view", lambda source, trial: walk_result.view)
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
    assert walk.has_result
    assert "<div data-scene>" not in (folder / "report.html").read_text(encoding="utf-8")
    assert all(not trial.report for trial in source.trials)
    (folder / walk.folder / "report.html").write_text("", encoding="utf-8")
    assert StudySource(folder).trials[0].report == f"{walk.folder}/report.html"
