"""Names lead to no place outside of the output folder, and no name of a file ends a study."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest
from support.sessions import Laboratory
from typer.testing import CliRunner

import biodyn
from biodyn.cli import app
from biodyn.errors import SettingsError
from biodyn.output.store.folder import default_result_folder
from biodyn.study.discovery import StudyDefinition, discover_trials, plan_lines
from biodyn.study.discovery.definition import safe_name, unique_names
from biodyn.study.study import Study

HOSTILE = [
    "../../evil", "..", ".", "/etc/passwd", "C:\\windows", "C:evil", "a/b", "a\\b", "nul\0", "con", "COM1", "com¹.txt",
    "CONIN$", "lpt9.c3d", "x" * 300, "é" * 300, "👩" * 200, "   ", ".hidden", "trailing.", "trailing ", "new\nline",
    '"quoted"', "<b>", "a:b", "a*b", "a?b", "a|b", "\u202eevil", "\ud83d", "", "~", "$HOME", "`id`", "%2e%2e%2f", "-rf",
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_becomes_the_name_of_one_folder(name: str, tmp_path: Path) -> None:
    safe = safe_name(name)
    (tmp_path / safe).mkdir()
    assert [path.name for path in tmp_path.iterdir()] == [safe]
    assert (tmp_path / safe).resolve().parent == tmp_path.resolve()
    assert safe not in (".", "..")
    assert not safe.startswith(".")
    assert len(os.fsencode(safe)) <= 160
    assert safe.split(".")[0].casefold() not in {"con", "prn", "aux", "nul", "com1", "com¹", "lpt9", "conin$"}


def test_different_names_are_different_folders() -> None:
    names = unique_names({text: (text,) for text in HOSTILE})
    assert len({name.casefold() for name in names.values()}) == len(HOSTILE)


@pytest.mark.parametrize("name", ["../../evil", "..", "/tmp/evil", "a\\..\\b", "x" * 300, "\n"])
def test_the_results_of_a_study_stay_in_reports(name: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    definition = tmp_path / "in" / "study.toml"
    definition.write_text(f"name = {json.dumps(name)}\n", encoding="utf-8-sig")  # with a byte order mark
    study = Study.open(tmp_path / "in")
    folder = study.default_folder
    assert folder.parent == Path("reports")
    assert (tmp_path / folder).resolve().parent == (tmp_path / "reports").resolve()
    assert all(line.isprintable() for line in plan_lines(study.plan))


def test_a_control_character_in_the_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text('name = "nul\\u0000"\n', encoding="utf-8")
    with pytest.raises(SettingsError, match="Entry 'name'"):
        Study.open(tmp_path)


@pytest.mark.slow
def test_a_study_whose_name_leads_out_writes_nothing_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "deep" / "work"
    (place / "in").mkdir(parents=True)
    (place / "in" / "walk01.c3d").write_bytes(b"nothing")
    (place / "in" / "study.toml").write_text('name = "../../evil"\n', encoding="utf-8")
    monkeypatch.chdir(place)
    result = CliRunner().invoke(app, ["study", "in", "--workers", "1"])
    assert result.exit_code == 3, result.output
    assert {path.name for path in tmp_path.iterdir()} == {"deep"}
    assert {path.name for path in (tmp_path / "deep").iterdir()} == {"work"}
    assert {path.name for path in place.iterdir()} == {"in", "reports"}
    record = json.loads(next((place / "reports").glob("*/study.json")).read_text(encoding="utf-8"))
    assert record["name"] == "../../evil"  # as it was given, for people


@pytest.mark.parametrize("name", ["..c3d", "....c3d", ". .c3d", "walk.c3d", "my walk 01.c3d", "x\ny.c3d"])
def test_the_result_of_a_walk_stays_in_reports(name: str, tmp_path: Path) -> None:
    folder = default_result_folder(tmp_path / name)
    assert folder.parent == Path("reports")
    assert folder.name not in ("", ".", "..", "reports")
    if name.startswith(("walk", "my")):
        assert folder.name == Path(name).stem


ODD = [
    b"walk_M\xfcller.c3d", b"two\nlines.c3d", b"walk \xf0\x9f\x9a\xb6.c3d", b'"quoted" walk.c3d', b"=cmd.c3d",
    b"walk\x1b[31m.c3d", b"w" * 240 + b".c3d", b"'.c3d",
]  # fmt: skip


def odd_folder(root: Path, names: Sequence[bytes] = ODD) -> Path:
    """Files that are no recordings, with names that are legal on this system."""
    folder = os.fsencode(root / "S01")
    os.makedirs(folder, exist_ok=True)
    for name in names:
        with open(os.path.join(folder, name), "wb") as stream:
            stream.write(b"nothing in " + name)  # copies of one file would be one trial
    return root


linux = pytest.mark.skipif(sys.platform != "linux", reason="names that are no Unicode")


@linux
def test_odd_names_are_planned_and_listed(tmp_path: Path) -> None:
    plan = discover_trials(odd_folder(tmp_path), StudyDefinition())
    assert len(plan.trials) == len(ODD)
    assert len({trial.folder for trial in plan.trials}) == len(ODD)
    for line in plan_lines(plan):
        assert line.isprintable() or not line
        line.encode("utf-8")


@pytest.mark.slow
@linux
def test_a_file_whose_name_is_no_text_ends_no_study(laboratory: Laboratory, tmp_path: Path) -> None:
    # a byte that is no text, a line break, a formula, a control character; every name is planned above
    odd = [name for name in ODD if set(name) & set(b"\xfc\n=\x1b")]
    root = odd_folder(tmp_path / "in", odd)
    files = laboratory.copy(root / "S02")
    os.rename(files.walk, os.path.join(os.fsencode(files.folder), b"walk_J\xf6rg.c3d"))
    said: list[str] = []
    result = biodyn.run_study(root, tmp_path / "out", workers=1, on_outcome=lambda outcome: said.append(outcome.reason))
    summary = result.trials
    assert len(summary) == len(odd) + 1
    assert summary["status"].value_counts()["failed"] == len(odd) == 4
    assert r"S02/walk_J\xf6rg.c3d" in set(summary["file"])
    assert r"S01/walk_M\xfcller.c3d" in set(summary["file"])
    assert "S01/=cmd.c3d" in set(summary["file"])
    raw = pd.read_csv(tmp_path / "out" / "summary.csv", dtype=str)
    assert not any(str(cell)[0] in "=+@" for column in raw for cell in raw[column])
    assert (tmp_path / "out" / "report.html").read_text(encoding="utf-8").count("walk") > 0
    for reason in said:
        reason.encode("utf-8")
    done = summary[summary["status"] != "failed"].iloc[0]
    loaded = biodyn.load(result.trial_folder(done["subject"], done["trial"]))
    assert loaded.name == r"walk_J\xf6rg.c3d"
