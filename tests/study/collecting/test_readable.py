"""A look at a trial's record that was written down counts while nothing it looked at has changed, and no longer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.study_folder import StudyFolder

from biodyn.errors import ResultError
from biodyn.output.store.owned import record_digest
from biodyn.output.store.read import read_record
from biodyn.study.collecting import collect, readable
from biodyn.study.collecting.readable import look_at, require_readable
from biodyn.study.strides import STRIDES_NAME
from biodyn.trial.result import TrialResult

STRIDES = "side,cycle,start_s,foot_off_s,end_s,speed_m_s\nr,1,0.1,0.8,1.2,1.25\n"


@pytest.fixture
def folder(walk_result: TrialResult, tmp_path: Path) -> Path:
    """A trial's folder that was looked at."""
    record = {**walk_result.record, "files": [{"path": STRIDES_NAME}]}
    record["record_sha256"] = record_digest(record)
    (tmp_path / "tables").mkdir()
    (tmp_path / STRIDES_NAME).write_text(STRIDES, encoding="utf-8")
    (tmp_path / "run.json").write_text(json.dumps(record, separators=(",", ":")) + "\n", encoding="utf-8")
    look_at(tmp_path)
    return tmp_path


def refused(folder: Path) -> str:
    with pytest.raises(ResultError) as caught:
        require_readable(folder)
    return f"{caught.value.message} {caught.value.hint}"


def test_what_was_looked_at_is_not_parsed_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_record(folder)["verdict"]  # still a record, whole by its own digest

    def never(*_: object) -> None:
        raise AssertionError("looked at again")

    monkeypatch.setattr(readable, "_require_readable", never)
    require_readable(folder)


@pytest.mark.parametrize("change", ["value", "cut", "entry gone", "no file", "strides", "digest"])
def test_a_change_is_told_as_if_nobody_had_looked(folder: Path, change: str) -> None:
    path = folder / "run.json"
    text = path.read_text(encoding="utf-8")
    if change == "value":
        path.write_text(text.replace('"verdict":"', '"verdict":"x', 1), encoding="utf-8")
        assert "is damaged or was changed: it is not as biodyn wrote it" in refused(folder)
    elif change == "cut":
        path.write_text(text[: len(text) // 2], encoding="utf-8")
        assert "is damaged or was changed" in refused(folder)
    elif change == "entry gone":
        record = json.loads(text)
        del record["plates"], record["record_sha256"]
        path.write_text(json.dumps(record), encoding="utf-8")
        assert "has no 'plates'" in refused(folder)
    elif change == "no file":
        path.unlink()
        assert "run.json not found" in refused(folder)
    elif change == "strides":
        (folder / STRIDES_NAME).write_text(STRIDES.replace("1.25", "fast"), encoding="utf-8")
        assert f"'{STRIDES_NAME}' of trial '{folder.name}' cannot be read" in refused(folder)
    else:  # the look itself is damaged, the record is not
        path.write_text(text.replace(text[-9:], "00000" + text[-4:]), encoding="utf-8")
        require_readable(folder)


def test_a_record_written_in_other_lines_is_the_same_record(folder: Path) -> None:
    record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    (folder / "run.json").write_text(json.dumps(record, indent=4, sort_keys=True), encoding="utf-8")
    require_readable(folder)


def test_what_cannot_be_used_gets_no_look(folder: Path) -> None:
    (folder / STRIDES_NAME).write_text(STRIDES.replace("1.25", "fast"), encoding="utf-8")
    before = (folder / "run.json").read_bytes()
    look_at(folder)
    assert (folder / "run.json").read_bytes() == before


def test_a_look_for_other_things_counts_for_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later version may ask more of a record than the one that wrote it looked for."""
    monkeypatch.setitem(readable._READ, ("something", "new"), str)  # type: ignore[arg-type]
    require_readable(folder)  # the digest stands for the list that was there when the program began
    monkeypatch.setattr(readable, "_LOOKED_FOR", b"another list")
    assert "has no 'something.new'" in refused(folder)


def test_collecting_gives_the_same_bytes_with_looks_and_without(study_folder: StudyFolder) -> None:
    names = ("study.parquet", "study.csv", "summary.csv")
    collect(study_folder.plan, study_folder.out)
    before = [(study_folder.out / name).read_bytes() for name in names]
    for trial in study_folder.done:
        look_at(study_folder.out / trial.folder)
    victim = study_folder.out / study_folder.done[0].folder / "run.json"
    found = collect(study_folder.plan, study_folder.out)
    assert not found.diagnostics
    assert [(study_folder.out / name).read_bytes() for name in names] == before
    victim.write_bytes(victim.read_bytes()[:-200])
    found = collect(study_folder.plan, study_folder.out)
    assert [note.code for note in found.diagnostics] == ["trial-unreadable"]
    assert "run.json" in found.diagnostics[0].message
