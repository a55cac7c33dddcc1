"""`biodyn session`: the walks of one person and day, on one page."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.made_folder import MadeTrial, made_folder
from support.sessions import Laboratory

from biodyn.errors import ResultError, SettingsError, StudyError
from biodyn.output.report.pdf_report import Letterhead
from biodyn.study import Study, open_session, run_session
from biodyn.study.report import write_study_report
from biodyn.study.result import STUDY_RECORD_NAME
from biodyn.study.running.task import LOCK_NAME, Task
from biodyn.study.trial_record import TrialRecord, read_trial_record, write_trial_record

SAMPLES = Path(__file__).parents[2] / "sample_data"


def test_a_folder_and_its_walks_are_one_session() -> None:
    folder = SAMPLES / "subject01"
    found = open_session(folder)
    assert [trial.trial for trial in found.plan.trials] == ["walk01", "walk02"]
    named = open_session([folder / "walk02.c3d", folder / "walk01.c3d"])
    assert [trial.path for trial in named.plan.trials] == [trial.path for trial in found.plan.trials]
    one = open_session(folder / "walk02.c3d")
    assert [trial.trial for trial in one.plan.trials] == ["walk02"]
    # what is not analysed still serves the model of the session
    assert "walk01.c3d" in {path.name for path in one.plan.trials[0].companions}


def test_every_walk_is_analysed_as_run_does_and_the_model_is_the_session_s() -> None:
    for trial in open_session(SAMPLES / "subject01").plan.trials:
        assert trial.settings["model"] == {"fit": "session"}
        assert trial.settings["output"] == {"figures": True, "report": True, "tables": "csv"}
        assert trial.settings["uncertainty"] == {"compute": True}


def test_choices_stand_over_a_study_toml(tmp_path: Path) -> None:
    folder = shutil.copytree(SAMPLES / "subject01", tmp_path / "one")
    (folder / "study.toml").write_text(
        '[settings.signals]\ncutoff_hz = 8.0\n[trials."*02.c3d".settings.signals]\ncutoff_hz = 9.0\n', encoding="utf-8"
    )
    own = [trial.settings["signals"]["cutoff_hz"] for trial in open_session(folder).plan.trials]
    assert own == [8.0, 9.0]
    over = open_session(folder, entries=["signals.cutoff_hz=10", "output.report=false"]).plan.trials
    assert [trial.settings["signals"]["cutoff_hz"] for trial in over] == [10, 10]
    assert over[0].settings["output"] == {"figures": True, "report": False, "tables": "csv"}
    with pytest.raises(SettingsError, match="cutof"):
        open_session(folder, entries=["signals.cutof=10"])


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ((), "No walk was given"),
        (("",), "2 people: subject01, subject02"),
        (("subject01/walk01.c3d", "subject02/walk01.c3d"), "2 people"),
        (("subject01/static.c3d",), "'static.c3d' is not a walk: static"),
        (("subject01/truth",), "contains no recording"),
        (("subject01/nothing.c3d",), "does not exist"),
        (("subject01", "subject02"), "is a folder, but walks are given"),
    ],
)
def test_what_is_no_session_is_said(names: tuple[str, ...], said: str) -> None:
    with pytest.raises(StudyError, match=re.escape(said)):
        open_session([SAMPLES / name for name in names])


def test_a_folder_without_recordings_is_told_from_one_without_walks(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing", encoding="utf-8")
    for refused in (lambda: open_session([tmp_path]), lambda: Study.open(tmp_path).run(tmp_path / "out")):
        with pytest.raises(StudyError, match="contains no recording that is included"):
            refused()
    shutil.copy(SAMPLES / "subject01" / "static.c3d", tmp_path)
    with pytest.raises(StudyError, match="No walk was found among the 1 recordings"):
        Study.open(tmp_path).run(tmp_path / "out")


def test_two_sessions_of_one_person_are_not_one(tmp_path: Path) -> None:
    for day, files in {"pre": ("static.c3d", "walk01.c3d"), "post": ("walk02.c3d",)}.items():
        (tmp_path / "P01" / day).mkdir(parents=True)
        for name in files:
            shutil.copy(SAMPLES / "subject01" / name, tmp_path / "P01" / day)
    with pytest.raises(StudyError, match="holds 2 sessions of S01"):
        open_session(tmp_path / "P01")
    assert len(open_session(tmp_path / "P01" / "pre").plan.trials) == 1


def test_the_page_of_a_session_is_the_person_s(tmp_path: Path) -> None:
    damaged = MadeTrial("S01", "c", error="InputFileError", reason="It is damaged.")
    out = made_folder(tmp_path / "out", [MadeTrial("S01", "a"), MadeTrial("S01", "b", offset=0.3), damaged])
    shutil.rmtree(out / "subjects")
    (out / "trials" / "S01" / "a" / "report.html").write_text("a report", encoding="utf-8")
    record = json.loads((out / STUDY_RECORD_NAME).read_text(encoding="utf-8"))
    (out / STUDY_RECORD_NAME).write_text(json.dumps({**record, "kind": "session"}), encoding="utf-8")
    page = write_study_report(out).read_text(encoding="utf-8")
    assert not (out / "subjects").exists()
    assert "3 walks: 2 warn, 1 without result." in page
    assert re.findall(r'<section id="([\w-]+)"', page)[:2] == ["curves", "parameters"]
    assert 'id="repeatability"' in page
    links = {link for link in re.findall(r'href="([^"#]+)"', page) if "//" not in link}
    assert links == {"trials/S01/a/report.html", "trials/S01/b/"}
    assert all((out / link).exists() for link in links)


@pytest.mark.slow
def test_a_session_and_a_study_on_paper(tmp_path: Path) -> None:
    pypdf = pytest.importorskip("pypdf", reason="pip install 'biodyn[test]'")
    pytest.importorskip("fpdf", reason="pip install 'biodyn[pdf]'")
    name = "<b>S</b> $x$ \u5f20"
    damaged = MadeTrial("S01", "c", error="InputFileError", reason="It is <i>damaged</i>.")
    out = made_folder(tmp_path / "out", [MadeTrial("S01", "a"), MadeTrial("S01", "b", offset=0.3), damaged])
    record = json.loads((out / STUDY_RECORD_NAME).read_text(encoding="utf-8"))
    counts = {}
    for kind in ("study", "session"):
        (out / STUDY_RECORD_NAME).write_text(json.dumps({**record, "kind": kind, "name": name}), encoding="utf-8")
        write_study_report(out, Letterhead("Our laboratory", entries={"Referred by": "<u>Dr.</u>"}, signed_by="Dr. Y"))
        pages = ["".join(page.extract_text().split()) for page in pypdf.PdfReader(out / "report.pdf").pages]
        counts[kind] = len(pages)
        text = "".join(pages)
        for words in ("<b>S</b>$x$\\u5f20", "<u>Dr.</u>", "<i>damaged</i>", "Kneeflexion", "Date,signature:Dr.Y"):
            assert words in text, (kind, words)
    assert counts["session"] <= 4
    assert counts["study"] <= 4
    # the pages of an earlier report would tell other numbers than the new page
    write_study_report(out)
    assert not (out / "report.pdf").exists()
    (out / "report.pdf").write_bytes(b"%PDF somebody's")
    with pytest.raises(ResultError, match="was not written by biodyn"):
        write_study_report(out, Letterhead())
    write_study_report(out)
    assert (out / "report.pdf").read_bytes() == b"%PDF somebody's"


@pytest.mark.slow
def test_a_session_from_its_files_to_its_page(tmp_path: Path) -> None:
    said: list[str] = []
    result = run_session(SAMPLES / "subject01", tmp_path / "out", workers=1, progress=said.append)
    assert any(line.startswith("2 of 2 trials") for line in said)
    assert list(result.trials["trial"]) == ["walk01", "walk02"]
    assert not result.failed
    centres = []
    for trial in ("walk01", "walk02"):
        folder = result.trial_folder("S01", trial)
        record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        assert record["settings"]["model"]["fit"] == "session"
        assert (folder / "report.html").is_file()
        assert (folder / "tables" / "joint_torques_sd.csv").is_file()
        centres.append(record["subject_fit"]["joint_centres"])
    assert centres[0] == centres[1]  # one model for all walks
    page = (result.folder / "report.html").read_text(encoding="utf-8")
    assert 'href="trials/S01/walk01/report.html"' in page
    assert "Movement Analysis Profile" in page


@pytest.mark.parametrize("force", [False, True])
def test_a_session_is_analysed_again_where_that_is_asked_for(
    laboratory: Laboratory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, force: bool
) -> None:
    """What is done and unchanged stays else; the record of the walk tells a trial process."""
    session = open_session(laboratory.copy(tmp_path / "P01").folder)
    out = tmp_path / "out"
    (trial,) = session.plan.trials
    (out / trial.folder).mkdir(parents=True)
    (out / LOCK_NAME).write_text(os.path.relpath(session.plan.root, out))
    write_trial_record(TrialRecord("key", "pass"), out / trial.folder)
    seen = []

    def ran(tasks: Sequence[Task], *others: object) -> None:
        seen.extend(read_trial_record(task.folder) for task in tasks)
        raise StudyError("far enough")

    monkeypatch.setattr("biodyn.study.study.run_locally", ran)
    with pytest.raises(StudyError, match="far enough"):
        session.run(out, force=force)
    assert seen == [None if force else TrialRecord("key", "pass")]
