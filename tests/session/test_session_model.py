"""One subject's model from all recordings of a session: the same for every walk, whatever lies beside them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from biodyn.settings import settings_from
from biodyn.study.discovery import discover_trials
from biodyn.trial import session_estimates as session_module
from biodyn.trial.request import SessionMemory, TrialRequest
from biodyn.trial.stages import ScaledTrial
from biodyn.trial.steps import STEPS, run_steps

SAMPLE = Path(__file__).parents[2] / "sample_data"


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """A static trial and two walks of one person, in a folder that no other test's recordings lie near."""
    folder = tmp_path / "a" / "b" / "c" / "P01"
    shutil.copytree(SAMPLE / "subject01", folder, ignore=shutil.ignore_patterns("truth"))
    return folder


def calibrated(walk: Path, fit: str = "session", companions: list[Path] | None = None, **given: Any) -> ScaledTrial:
    among = None if companions is None else tuple(companions)
    begun = TrialRequest(path=walk, settings=settings_from({"model": {"fit": fit}}), companions=among, **given)
    return run_steps(begun, STEPS, "calibration")


def left_out(state: ScaledTrial) -> dict[str, str]:
    return {note.about: note.message for note in state.notes if note.code == "data-not-used"}


def test_all_walks_of_a_session_have_one_model(session: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = SessionMemory()
    one = calibrated(session / "walk01.c3d", memory=memory)
    found = {trial.name: trial for trial in one.subject_fit.trials}
    assert found.keys() == {"walk01.c3d", "walk02.c3d"}
    assert all(trial.rms_after_m < trial.rms_before_m and len(trial.sha256) == 64 for trial in found.values())
    assert not left_out(one)
    with monkeypatch.context() as patch:
        patch.setattr(session_module, "fit_subject", lambda *_: pytest.fail("the session was fitted before"))
        assert calibrated(session / "walk02.c3d", memory=memory).model is one.model
    again = calibrated(session / "walk02.c3d").model  # from the other walk: the same numbers to the last bit
    for a, b in zip(one.model.markers, again.markers, strict=True):
        np.testing.assert_array_equal(a.p_BM, b.p_BM)


def test_what_cannot_serve_is_named_and_breaks_nothing(session: Path) -> None:
    alone = calibrated(session / "walk01.c3d", "trial")
    (session / "walk02.c3d").unlink()
    content = (session / "walk01.c3d").read_bytes()
    (session / "walk03.c3d").write_bytes(content[: len(content) // 7])
    (session / "walk04.c3d").write_bytes(b"no recording")
    shutil.copy(session / "walk01.c3d", session / "walk05.c3d")
    shutil.copy(SAMPLE / "subject02" / "walk01.c3d", session / "walk06.c3d")
    state = calibrated(session / "walk01.c3d")
    why = left_out(state)
    assert why.keys() >= {"walk03.c3d", "walk04.c3d", "walk05.c3d"}
    assert "same movement" in why["walk05.c3d"]
    assert [trial.name for trial in state.subject_fit.trials] == ["walk01.c3d"]
    for a, b in zip(alone.model.markers, state.model.markers, strict=True):
        np.testing.assert_array_equal(a.p_BM, b.p_BM)  # with nothing beside it, a walk corrects itself as ever


@pytest.mark.slow
def test_a_file_that_changes_is_another_session(session: Path) -> None:
    before = calibrated(session / "walk01.c3d")
    shutil.copy(session / "walk02.c3d", session / "walk03.c3d")
    (session / "walk02.c3d").write_bytes(b"")
    after = calibrated(session / "walk01.c3d")
    assert after.model is not before.model
    assert {trial.name for trial in after.subject_fit.trials} == {"walk01.c3d", "walk03.c3d"}


def test_nothing_is_looked_for_where_a_study_knows_that_there_is_nothing(session: Path) -> None:
    state = calibrated(session / "walk01.c3d", companions=[])
    assert [trial.name for trial in state.subject_fit.trials] == ["walk01.c3d"]
    given = calibrated(session / "walk01.c3d", companions=[session / "walk02.c3d", session / "gone.c3d"])
    assert len(given.subject_fit.trials) == 2
    assert left_out(given).keys() == {"gone.c3d"}


def test_a_study_knows_the_session_of_each_walk(session: Path) -> None:
    shutil.copytree(SAMPLE / "subject02", session.parent / "P02", ignore=shutil.ignore_patterns("truth"))
    trials = {trial.path.as_posix(): trial for trial in discover_trials(session.parent).trials}
    found = {path.as_posix() for path in trials["P01/walk01.c3d"].companions}
    assert found == {"P01/static.c3d", "P01/walk02.c3d"}
