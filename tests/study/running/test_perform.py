"""One trial of a study: done once, done again only when something that matters changed; every failure is written down."""

from __future__ import annotations

import errno
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from support.sessions import Laboratory

from biodyn.errors import InputFileError, ResultError, StudyError
from biodyn.session import find_static
from biodyn.study.discovery import discover_trials
from biodyn.study.plan import PlannedTrial
from biodyn.study.running import trial_analysis as performing
from biodyn.study.running.task import (
    LOCK_NAME,
    TRACEBACK_NAME,
    Limits,
    Outcome,
    Task,
    limited_key,
    program_version,
    task_from_json,
    task_to_json,
)
from biodyn.study.running.trial_analysis import RecordingCache, perform_task, trial_key
from biodyn.study.trial_record import CYCLES_NAME, read_trial_record
from biodyn.trial.request import TrialRequest

_QUICK = {
    "output": {"figures": False, "report": False},
    "uncertainty": {"compute": False},
    "signals": {"method": "butterworth", "cutoff_hz": 6.0},
    "model": {"fit": "none"},
}


def _task(laboratory: Laboratory, place: Path) -> Task:
    files = laboratory.copy(place / "in" / "S01")
    trial = PlannedTrial("S01", "walk", files.walk.relative_to(place / "in"), settings=_QUICK)
    trial = replace(trial, static=files.static.relative_to(place / "in"))
    return _held(Task(trial, place / "in", place / "out", program_version()))


@pytest.fixture
def task(laboratory: Laboratory, tmp_path: Path) -> Task:
    """The shared session as a trial of a study in a folder of its own."""
    return _task(laboratory, tmp_path)


@pytest.fixture(scope="module")
def done(laboratory: Laboratory, tmp_path_factory: pytest.TempPathFactory) -> tuple[Task, Outcome]:
    """The trial analysed, and its outcome; not to be changed."""
    task = _task(laboratory, tmp_path_factory.mktemp("done"))
    return task, _done(task)


@pytest.fixture
def finished(done: tuple[Task, Outcome], tmp_path: Path) -> Task:
    """The trial whose result is there, in a folder of its own."""
    task, _ = done
    shutil.copytree(task.root, tmp_path / "in")
    shutil.copytree(task.out, tmp_path / "out")
    return replace(task, root=tmp_path / "in", out=tmp_path / "out")


def _held(task: Task) -> Task:
    """The task of a run that holds its output folder."""
    task.out.mkdir()
    (task.out / LOCK_NAME).touch()
    return task


def _done(task: Task) -> Outcome:
    return perform_task(task, RecordingCache(), lambda key: None)


def test_a_trial_is_analysed_once_and_written_whole(task: Task) -> None:
    first = _done(task)
    assert first.status in ("pass", "warn")
    assert not first.kept
    assert {path.name for path in task.folder.iterdir()} == {
        "run.json",
        "result.npz",
        "tables",
        CYCLES_NAME,
        "trial.json",
    }
    assert [path.name for path in task.folder.parent.iterdir()] == ["walk"], "nothing temporary is left"
    before = (task.folder / "run.json").stat().st_mtime_ns
    again = _done(task)
    assert again == replace(first, kept=True)
    assert (task.folder / "run.json").stat().st_mtime_ns == before


@pytest.mark.parametrize("gone", ["out", "in"])
def test_a_folder_that_is_gone_stops_the_study_and_nothing_is_written_in_its_place(task: Task, gone: str) -> None:
    """As where a disk was unmounted: what lies beneath the mount point is another, empty folder."""
    place = task.out if gone == "out" else task.root
    place.rename(place.with_name("elsewhere"))
    place.mkdir()
    with pytest.raises(StudyError, match="does not exist any more"):
        _done(task)
    assert not list(task.out.rglob("trial.json"))


def test_another_label_needs_no_new_analysis(finished: Task) -> None:
    renamed = replace(finished.trial, session="second", condition="slow", group="patients")
    assert _done(replace(finished, trial=renamed)).kept


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        lambda task: replace(task, trial=replace(task.trial, mass_kg=80.0)),
        lambda task: replace(task, trial=replace(task.trial, height_m=1.6)),
        lambda task: replace(
            task, trial=replace(task.trial, settings={**_QUICK, "signals": {"method": "butterworth", "cutoff_hz": 8.0}})
        ),
    ],
    ids=["mass", "height", "settings"],
)
def test_what_changes_the_result_is_analysed_again(finished: Task, change: Callable[[Task], Task]) -> None:
    assert not _done(change(finished)).kept


@pytest.mark.parametrize("which", ["path", "static"])
def test_a_changed_file_is_analysed_again(finished: Task, which: str) -> None:
    path = finished.root / getattr(finished.trial, which)
    path.write_bytes(path.read_bytes() + b"\0" * 512)
    assert not _done(finished).kept


def test_a_result_that_lost_a_file_is_made_again(finished: Task) -> None:
    (finished.folder / CYCLES_NAME).unlink()
    assert not _done(finished).kept


@pytest.mark.slow
def test_a_report_asked_for_later_never_costs_the_result(finished: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that refuses the report ends the study, as it does while a trial is written; a damaged result is made again."""
    asked = replace(finished, reports="all")

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(performing, "regenerate_report", refuse)
    with pytest.raises(OSError, match="No space"):
        _done(asked)
    monkeypatch.undo()
    assert _done(finished).kept
    monkeypatch.setattr(performing, "write_report", lambda *_, **__: None)  # the new analysis needs none here
    arrays = finished.folder / "result.npz"
    whole = arrays.read_bytes()
    arrays.write_bytes(whole[:1000])
    outcome = _done(asked)
    assert not outcome.kept
    assert not outcome.failed
    assert arrays.stat().st_size == pytest.approx(len(whole), rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("error", "words"),
    [(MemoryError(), "more memory than the limit of a trial"), (ValueError("of ours"), "ValueError: of ours")],
)
def test_a_report_that_cannot_be_made_later_leaves_the_result(
    done: tuple[Task, Outcome], finished: Task, monkeypatch: pytest.MonkeyPatch, error: Exception, words: str
) -> None:
    before = done[1]
    record, made = read_trial_record(finished.folder), (finished.folder / "result.npz").read_bytes()

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(performing, "regenerate_report", fail)
    outcome = _done(replace(finished, reports="all"))
    assert (outcome.status, outcome.kept) == (before.status, True)
    assert outcome.reason.startswith(before.reason)
    assert "Its report was not written: " in outcome.reason
    assert words in outcome.reason
    assert read_trial_record(finished.folder) == record
    assert (finished.folder / "result.npz").read_bytes() == made


def test_an_unreadable_file_fails_with_its_reason_and_no_path_of_this_machine(task: Task) -> None:
    (task.root / task.trial.path).write_bytes(b"no recording")
    outcome = _done(task)
    assert outcome.status == "failed"
    assert "is not a C3D file" in outcome.reason
    assert str(task.root) not in outcome.reason
    assert [path.name for path in task.folder.iterdir()] == ["trial.json"]
    assert _done(task).kept, "the same file fails the same way"
    assert not _done(replace(task, retry=True)).kept


def test_what_is_missing_is_looked_for_each_time(task: Task) -> None:
    (task.root / task.trial.path).unlink()
    assert "does not exist" in _done(task).reason
    assert not _done(task).kept


def test_a_defect_of_the_program_costs_its_trial_only(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("half a frame")

    monkeypatch.setattr(performing, "run_request", broken)
    outcome = _done(task)
    assert outcome.reason == "Program error: ZeroDivisionError: half a frame"
    assert "ZeroDivisionError" in (task.folder / TRACEBACK_NAME).read_text()


def test_want_of_memory_is_tried_again_with_more(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    def hungry(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(performing, "run_request", hungry)
    small = replace(task, limits=Limits(memory_mb=100))
    assert "memory" in _done(small).reason
    record = read_trial_record(task.folder)
    assert record is not None
    assert record.key == limited_key(record.key.split()[0], small.limits)
    assert _done(small).kept
    assert not _done(replace(task, limits=Limits(memory_mb=200))).kept


def test_a_file_that_changes_while_it_is_read_is_not_believed(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    analyse = performing.run_request

    def meanwhile(request: TrialRequest) -> object:
        result = analyse(request)
        request.path.write_bytes(request.path.read_bytes() + b"\0")
        return result

    monkeypatch.setattr(performing, "run_request", meanwhile)
    assert "changed while it was read" in _done(task).reason


@pytest.mark.slow
@pytest.mark.parametrize("which", ["walk", "static"])
@pytest.mark.parametrize("damaged", [True, False])
def test_what_a_file_told_while_it_was_another_one_is_not_kept(
    task: Task, which: str, damaged: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is as before when the analysis ends: its content cannot tell that it was another one when it was read."""
    path = task.root / str(task.trial.path if which == "walk" else task.trial.static)
    whole, analyse = path.read_bytes(), performing.run_request

    def meanwhile(*arguments: object, **named: object) -> object:
        path.write_bytes(b"half a file")
        try:
            if damaged:
                raise InputFileError("It is damaged.")
            return analyse(*arguments, **named)  # type: ignore[arg-type]
        finally:
            path.write_bytes(whole)

    with monkeypatch.context() as while_it_changes:
        while_it_changes.setattr(performing, "run_request", meanwhile)
        outcome = _done(task)
    assert outcome.status == "failed"
    assert outcome.reason == f"'{path.relative_to(task.root)}' changed while it was read."
    again = _done(task)
    assert again.status in ("pass", "warn")
    assert not again.kept


def test_another_program_refuses(task: Task) -> None:
    with pytest.raises(StudyError, match="same version"):
        _done(replace(task, program="0.0.0"))


def test_a_result_that_cannot_be_written_is_no_fault_of_the_trial(task: Task) -> None:
    (task.out / "trials").write_text("a file where the folder should be")
    with pytest.raises(ResultError, match="cannot be written"):
        _done(task)


def test_a_task_survives_the_way_to_its_process(task: Task) -> None:
    assert task_from_json(task_to_json(task)) == task
    searched = replace(task, trial=replace(task.trial, static=None), limits=Limits(1.0, 2), retry=True)
    assert task_from_json(task_to_json(searched)) == searched


@pytest.mark.slow
@pytest.mark.real
@pytest.mark.parametrize(("walk", "static"), [("MH0222_BP06", "MH0222_BP01"), ("MH0222_BP15", "MH0222_BP08")])
def test_of_several_statics_a_study_takes_the_one_that_a_single_run_takes(
    real_data: Path, tmp_path: Path, walk: str, static: str
) -> None:
    """The study knows the person's statics; joint offsets and markers decide, as for `run` beside the walk."""
    root = real_data / "gait" / "fmc"
    trial = next(trial for trial in discover_trials(root).trials if trial.trial == walk)
    assert len(trial.statics) == 2
    task = _held(Task(replace(trial, settings=_QUICK), root, tmp_path / "out", program_version()))
    key = trial_key(task.trial, root)
    assert trial_key(task_from_json(task_to_json(task)).trial, root) == key
    assert trial_key(replace(task.trial, statics=trial.statics[:1]), root) != key
    assert _done(task).status != "failed"
    told = json.loads((task.folder / "run.json").read_text(encoding="utf-8"))["static"]
    assert told["file"] == f"{static}.c3d"
    found = find_static(root / trial.path).path
    assert found is not None
    assert found.samefile(root / "static" / f"{static}.c3d")  # whatever links lead there
