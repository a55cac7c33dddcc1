"""Results are read by the list of their files; what is missing or damaged is named."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.sessions import Laboratory
from support.stored import contents
from typer.testing import CliRunner, Result

import biodyn
from biodyn.cli import app
from biodyn.errors import ResultError
from biodyn.output.store.folder import RECORD_NAME, RECORD_VERSION
from biodyn.output.store.result_reader import read_view
from biodyn.output.store.result_writer import write_manifest
from biodyn.output.tables import TABLES, available_tables
from biodyn.trial.result import TrialResult
from biodyn.verification.replay import ReplayOptions

pytestmark = pytest.mark.usefixtures("blank_figures")


def command(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments], env={"COLUMNS": "200"})


def changed(folder: Path, **entries: Any) -> Path:
    """The folder with entries of its record changed; None takes one out."""
    path = folder / RECORD_NAME
    record = {**json.loads(path.read_text(encoding="utf-8")), "record_sha256": None, **entries}
    path.write_text(json.dumps({k: v for k, v in record.items() if v is not None}), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def fresh(laboratory: Laboratory) -> TrialResult:
    """A result without figures, report and bands."""
    bare = {"output": {"figures": False, "report": False}, "uncertainty": {"compute": False}}
    return biodyn.run_trial(laboratory.walk, laboratory.static, settings=bare)


@pytest.fixture
def old(fresh: TrialResult, tmp_path: Path) -> Path:
    return fresh.save(tmp_path / "walk")


@pytest.mark.slow
def test_a_report_is_made_again(old: Path) -> None:
    kept = contents(old)
    result = command("report", old)
    assert result.exit_code == 0, result.output
    page = (old / "report.html").read_text(encoding="utf-8")
    assert biodyn.load(old).name in page
    after = contents(old)
    assert {path: after[path] for path in kept if path != RECORD_NAME} == {
        path: data for path, data in kept.items() if path != RECORD_NAME
    }
    # the record lists what was there and what came, so that a later run replaces all of it
    listed = {entry["path"] for entry in json.loads(after[RECORD_NAME])["files"]}
    assert listed == set(after) - {RECORD_NAME}
    assert command("report", old).exit_code == 0


@pytest.mark.slow
def test_a_result_is_replayed(old: Path) -> None:
    biodyn.replay(old, ReplayOptions(windows_s=(0.05, 0.1), start_every_s=0.4)).save(old)
    assert (old / "replay" / "replay.json").is_file()
    assert command("report", old).exit_code == 0


def test_a_result_is_loaded(old: Path) -> None:
    result = biodyn.load(old)
    assert set(result.table_names) == {path.stem for path in (old / "tables").iterdir()}
    torques = pd.read_csv(old / "tables" / "joint_torques.csv")
    pd.testing.assert_frame_equal(result.joint_torques, torques)
    assert result.joint_torques is result.table("joint_torques")
    assert result.arrays["q"].shape[0] == len(torques)
    assert result.verdict.status in ("pass", "warn", "fail")
    assert len(result.summary()) > 10
    assert len(repr(result)) < 250
    assert result.name in repr(result)
    assert result.version in repr(result)


def test_a_result_of_the_first_version_is_refused(old: Path) -> None:
    changed(old, record_version=1, files=None)
    result = command("report", old)
    assert result.exit_code == 2
    assert "too old to be read" in result.stderr


def test_what_is_not_there_is_no_attribute(old: Path) -> None:
    result = biodyn.load(old)
    assert not hasattr(result, "sensitivity")
    assert "joint_moments" in dir(result)
    with pytest.raises(ResultError, match="no table 'nonsense'"):
        result.table("nonsense")
    with pytest.raises(ResultError, match="'nonsense' is neither a figure nor a variable"):
        result.plot("nonsense")
    assert result.plot("residual") is not None


def test_a_result_saved_now_is_loaded(fresh: TrialResult, tmp_path: Path) -> None:
    folder = fresh.save(tmp_path / "walk")
    loaded = biodyn.load(folder)
    assert loaded.record["record_version"] == RECORD_VERSION
    assert set(loaded.table_names) == set(available_tables(fresh.analysis))
    for name in loaded.table_names:
        ours, theirs = fresh.table(name), loaded.table(name)
        assert list(ours.columns) == list(theirs.columns)
        numbers = ours.select_dtypes("number").columns
        for column in numbers:  # half a unit of the last decimal that is written
            decimals = TABLES[name].coarser.get(column, TABLES[name].decimals)
            allowed = 0.6 * 10.0**-decimals
            np.testing.assert_allclose(ours[column].astype(float), theirs[column].astype(float), rtol=0.0, atol=allowed)
    assert {entry["path"] for entry in loaded.record["files"]} == set(contents(folder)) - {RECORD_NAME}
    assert fresh.save(folder, force=True) == folder
    assert fresh.record["subject"] == loaded.record["subject"]


def test_a_table_of_a_later_version_is_absent_and_no_error(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that writes one table more reads the folders that lack it, all the same."""
    assert "events" in TABLES
    monkeypatch.setitem(TABLES._entries, "ground_slopes", (200.0, TABLES["events"]))
    assert "ground_slopes" not in biodyn.load(old).table_names
    assert command("report", old).exit_code == 0


@pytest.mark.parametrize("table", ["joint_torque_parts", "marker_errors"])
def test_figures_of_tables_that_a_folder_never_had_are_left_out(old: Path, table: str) -> None:
    files = [{"path": p} for p in contents(old) if p not in (RECORD_NAME, f"tables/{table}.csv")]
    (old / "tables" / f"{table}.csv").unlink()
    changed(old, files=files)
    assert table not in biodyn.load(old).table_names
    result = command("report", old)
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("path", ["result.npz", "tables/joint_angles.csv"])
def test_a_missing_file_is_named(old: Path, path: str) -> None:
    (old / path).unlink()
    for result in (command("report", old), command("replay", old)):
        assert result.exit_code == 2
        assert path in result.stderr
        assert result.stderr.count("\n") == 1
    with pytest.raises(ResultError, match=path):
        biodyn.load(old)


@pytest.mark.parametrize("content", [b"", b"\x00\xff\xfe", b"time_s,a\n1,2,3,4\n1\n", b"PK\x03\x04nonsense"])
def test_a_damaged_file_is_named(old: Path, content: bytes) -> None:
    for path in ("tables/joint_torques.csv", "result.npz", RECORD_NAME):
        whole = (old / path).read_bytes()
        (old / path).write_bytes(content)
        result = command("report", old)
        assert result.exit_code == 2, (path, result.output)
        assert path in result.stderr
        assert result.stderr.count("\n") == 1
        (old / path).write_bytes(whole)


def test_arrays_that_would_fill_the_memory_are_not_unpacked(old: Path) -> None:
    """A size of 4 GB in the directory of the archive is refused before anything is unpacked."""
    content = bytearray((old / "result.npz").read_bytes())
    struct.pack_into("<I", content, content.index(b"PK\x01\x02") + 24, 4_000_000_000)
    (old / "result.npz").write_bytes(content)
    write_manifest(old)
    result = command("replay", old)
    assert result.exit_code == 2
    assert "larger than those of any recording" in result.stderr


def test_a_shortened_table_is_noticed(old: Path) -> None:
    """A table that lost its last rows still is a table; the list knows better."""
    path = old / "tables" / "joint_angles.csv"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:-20]), encoding="utf-8")
    result = command("report", old)
    assert result.exit_code == 2
    assert "tables/joint_angles.csv" in result.stderr


def test_a_result_of_a_newer_version_is_said_to_be_one(old: Path) -> None:
    changed(old, record_version=RECORD_VERSION + 1, versions={"biodyn": "9.0"})
    for result in (command("report", old), command("replay", old)):
        assert result.exit_code == 2
        assert "newer biodyn (9.0" in result.stderr
        assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("entries", [
    {"record_version": None}, {"record_version": "1"}, {"record_version": True}, {"record_version": 0},
    {"subject": None}, {"settings": []}, {"input": 3},
])  # fmt: skip
def test_a_record_that_is_none_is_named(old: Path, entries: dict[str, Any]) -> None:
    changed(old, **entries)
    result = command("report", old)
    assert result.exit_code == 2
    assert RECORD_NAME in result.stderr


def test_other_folders_are_told_what_they_are(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match=r"not a complete biodyn result: run\.json not found"):
        biodyn.load(tmp_path)
    with pytest.raises(ResultError, match="does not exist"):
        biodyn.load(tmp_path / "nowhere")
    (tmp_path / "study.json").write_text("{}", encoding="utf-8")
    assert isinstance(biodyn.load(tmp_path), biodyn.StudyResult)


@pytest.mark.parametrize("path", ["report.html", "figures/residual.png", "figures/own.png", "notes.txt"])
def test_a_report_replaces_nothing_that_biodyn_did_not_write(old: Path, path: str) -> None:
    """In a folder with a list, a report or figure that is not in it is the user's."""
    changed(old, files=[{"path": p} for p in contents(old) if p != RECORD_NAME])
    (old / path).parent.mkdir(exist_ok=True)
    (old / path).write_text("mine", encoding="utf-8")
    result = command("report", old)
    assert result.exit_code == (2 if path in ("report.html", "figures/residual.png") else 0)
    assert (old / path).read_text(encoding="utf-8") == "mine"


def test_a_linked_folder_is_not_written_into(old: Path, tmp_path: Path) -> None:
    (tmp_path / "album").mkdir()
    (tmp_path / "album" / "residual.png").write_text("mine", encoding="utf-8")
    if (old / "figures").exists():
        (old / "figures").rmdir()
    (old / "figures").symlink_to(tmp_path / "album")
    assert command("report", old).exit_code == 2
    assert contents(tmp_path / "album") == {"residual.png": b"mine"}


def test_the_view_keeps_what_the_record_says(old: Path) -> None:
    view = read_view(old)
    assert view.record["record_version"] == RECORD_VERSION
    assert set(view.tables) == {path.stem for path in (old / "tables").iterdir()}
