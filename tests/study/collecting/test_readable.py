"""A damaged record, table of strides or file of cycles of a trial is refused, with the name of the trial."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from biodyn.errors import ResultError
from biodyn.output.store.result_writer import write_manifest
from biodyn.study.collecting.cycles import read_cycle_table, write_cycles
from biodyn.study.trial_record import STRIDES_NAME
from biodyn.trial.result import TrialResult

STRIDES = "side,cycle,start_s,foot_off_s,end_s,speed_m_s\nr,1,0.1,0.8,1.2,1.25\n"


@pytest.fixture
def folder(walk_result: TrialResult, tmp_path: Path) -> Path:
    """A trial's folder."""
    (tmp_path / "tables").mkdir()
    (tmp_path / STRIDES_NAME).write_text(STRIDES, encoding="utf-8")
    (tmp_path / "run.json").write_text(json.dumps(walk_result.record), encoding="utf-8")
    write_cycles(walk_result, tmp_path)
    write_manifest(tmp_path, pack=True)
    return tmp_path


def refused(folder: Path) -> str:
    with pytest.raises(ResultError) as caught:
        read_cycle_table(folder)
    return f"{caught.value.message} {caught.value.hint}"


@pytest.mark.parametrize("change", ["value", "cut", "entry gone", "no file", "strides"])
def test_a_change_is_told(folder: Path, change: str) -> None:
    path = folder / "run.json"
    text = path.read_text(encoding="utf-8")
    if change == "value":
        path.write_text(text.replace('"verdict":"', '"verdict":"x', 1), encoding="utf-8")
        assert "is damaged or was changed: it differs from what biodyn wrote" in refused(folder)
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
    else:
        (folder / STRIDES_NAME).write_text(STRIDES.replace("1.25", "fast"), encoding="utf-8")
        assert f"'{STRIDES_NAME}' of trial '{folder.name}' cannot be read" in refused(folder)


def test_a_record_written_in_other_lines_is_the_same_record(folder: Path) -> None:
    record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    (folder / "run.json").write_text(json.dumps(record, indent=4, sort_keys=True), encoding="utf-8")
    assert read_cycle_table(folder).num_rows
