"""Names and paths that Windows refuses: a safe name or a sentence before the work, never a half-written result."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.as_windows import LONGEST_FILE, WindowsRefusal, as_on_windows, is_excluded
from support.stored import contents, made
from typer.testing import CliRunner

import biodyn
from biodyn import errors
from biodyn.cli import app
from biodyn.errors import ResultError, StudyError, system_refusal
from biodyn.output.figures.trial import FIGURES
from biodyn.output.store import folder as possible
from biodyn.output.store.folder import (
    default_result_folder,
    replace_folder,
    require_usable_folder,
    table_path,
    trial_file_test,
    write_folder,
)
from biodyn.output.tables.registry import TABLES
from biodyn.study.discovery.definition import unique_names
from biodyn.study.result import relative_path
from biodyn.study.running.task import read_owner

pytestmark = pytest.mark.skipif(os.name != "posix", reason="stands in for Windows elsewhere")

REFUSED = [
    "con", "NUL", "aux.txt", "Com1", "lpt9.a.b", "com¹", "prn .x", "end.", "end ", "end. .", "CONIN$", "a:b", "a<b", 'a"b',
    "a|b", "a?b", "a*b", "a\\b",
]  # fmt: skip
BAD_INPUT = 2


def deep(root: Path, length: int) -> Path:
    """A folder whose path has so many characters."""
    while len(str(root)) < length - 102:
        root = root / ("d" * 100)
    return root / ("d" * (length - len(str(root)) - 1))


# -- names ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", REFUSED)
def test_a_study_gives_no_folder_a_name_that_windows_refuses(name: str) -> None:
    assert is_excluded(name)
    (safe,) = unique_names({0: (name,)}).values()
    assert not is_excluded(safe)


def test_names_that_differ_in_case_or_spelling_alone_are_different_folders() -> None:
    wanted = ["Walk", "walk", "WALK", "STRASSE", "straße", "é", "e\u0301", "con", "con_", "CON_", "walk.", "walk "]
    names = unique_names({number: (name,) for number, name in enumerate(wanted)}).values()
    assert len({name.upper() for name in names}) == len({name.casefold() for name in names}) == len(wanted)


@pytest.mark.parametrize(
    ("walk", "folder"),
    [
        ("aux.c3d", "aux_"),
        ("Nul.2.c3d", "Nul_.2"),
        ("walk..c3d", "walk"),
        ("walk .c3d", "walk"),
        ("walk.1.c3d", "walk.1"),
    ],
)
def test_the_folder_of_a_walk_is_one_that_windows_takes(walk: str, folder: str) -> None:
    assert default_result_folder(Path(walk)) == Path("reports") / folder


@pytest.mark.parametrize("name", ["con", "NUL.txt", "a:b", "what?"])
@pytest.mark.parametrize("inside", [False, True])
def test_an_out_that_windows_refuses_is_refused_in_a_sentence(
    name: str, inside: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(possible, "_WINDOWS", True)
    folder = tmp_path / name / "walk" if inside else tmp_path / name
    with pytest.raises(ResultError, match="Windows does not allow a folder with the name"):
        require_usable_folder(folder, force=False)
    with pytest.raises(ResultError, match="Windows does not allow a folder"), write_folder(folder):
        raise AssertionError("work")
    assert list(tmp_path.iterdir()) == []


def test_walks_whose_folders_would_differ_in_case_alone_are_refused_before_the_work(tmp_path: Path) -> None:
    walks = [tmp_path / "a" / "Walk.c3d", tmp_path / "b" / "walk.c3d"]
    for walk in walks:
        walk.parent.mkdir()
        walk.write_bytes(b"nothing")
    done = CliRunner().invoke(app, ["run", *map(str, walks), "--out", str(tmp_path / "out")])
    assert done.exit_code == BAD_INPUT
    assert "thesamefolder" in "".join(done.stderr.split())
    assert not (tmp_path / "out").exists()


# -- lengths ----------------------------------------------------------------------------------------------------------


def test_no_file_of_a_result_is_longer_than_what_is_tried() -> None:
    longest = max((*map(table_path, TABLES), *(f"figures/{name}.png" for name in FIGURES)), key=len)
    assert len(longest) <= possible.LONGEST_PATH


@pytest.mark.parametrize("length", range(150, 270, 7))
def test_a_path_is_refused_before_the_work_or_holds_the_whole_result(
    length: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At every length; what is in between would be a result that fails when it is written."""
    monkeypatch.setattr(possible, "_WINDOWS", True)
    longest = max(map(table_path, TABLES), key=len)
    folder = deep(tmp_path, length)
    folder.parent.mkdir(parents=True, exist_ok=True)
    refusal = ""
    with as_on_windows(tmp_path):
        try:
            with write_folder(folder) as place:
                (place / "tables").mkdir()
                (place / longest).write_text("time_s\n", encoding="utf-8")
        except ResultError as error:
            refusal = str(error)
    if refusal:
        assert length > LONGEST_FILE - 70
        assert "the paths of its files would have" in refusal
        assert list(folder.parent.iterdir()) == []
    else:
        assert length < LONGEST_FILE - 50
        assert (folder / longest).is_file()


def test_an_older_result_stays_where_the_new_one_would_be_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(possible, "_WINDOWS", True)
    folder = made(deep(tmp_path, 222))
    before = contents(tmp_path)
    with as_on_windows(tmp_path), pytest.raises(ResultError, match="shorter --out"), write_folder(folder, force=True):
        raise AssertionError("work")
    assert contents(tmp_path) == before


def test_a_study_whose_longest_trial_would_be_too_long_is_refused_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(possible, "_WINDOWS", True)
    for name in ("walk", "w" * 79):
        (tmp_path / "in" / f"{name}.c3d").parent.mkdir(exist_ok=True)
        (tmp_path / "in" / f"{name}.c3d").write_bytes(name.encode())
    out = deep(tmp_path, 150)
    with as_on_windows(tmp_path), pytest.raises(ResultError, match="shorter --out"):
        biodyn.run_study(tmp_path / "in", out, workers=1)
    assert {path.name for path in tmp_path.iterdir()} == {"in"}


def test_windows_words_for_refusals_are_no_fault_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    for number, code in ((206, errno.ENOENT), (123, errno.EINVAL), (39, errno.EINVAL), (64, errno.EINVAL)):
        told = system_refusal(WindowsRefusal(number, code, "What Windows says", "C:/data/out"))
        assert told is not None
        assert told.message == "'C:/data/out': What Windows says."
        assert told.hint.endswith(".")
    missing = FileNotFoundError(errno.ENOENT, "No such file", f"/{'x' * 260}")
    assert system_refusal(missing) is None
    monkeypatch.setattr(errors, "_WINDOWS", True)
    told = system_refusal(missing)
    assert told is not None
    assert "too long for Windows" in told.message
    assert system_refusal(FileNotFoundError(errno.ENOENT, "No such file", "/data/run.json")) is None


# -- whole commands ---------------------------------------------------------------------------------------------------


def no_way(path: object, start: object = None) -> str:
    """No relative path leads from one drive to another."""
    raise ValueError("path is on mount 'D:', start on mount 'C:'")


def test_a_place_on_another_drive_is_told_by_its_whole_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert relative_path(tmp_path / "out", tmp_path / "in") == os.path.join("..", "in")
    monkeypatch.setattr(os.path, "relpath", no_way)
    assert relative_path(tmp_path / "out", tmp_path / "in") == str(tmp_path / "in")


@pytest.mark.slow
def test_a_study_of_recordings_on_another_drive_is_begun_resumed_and_its_folder_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And with names that Windows refuses or does not tell apart."""
    root, out = tmp_path / "in", tmp_path / "out"
    for place in ("Con/walk.c3d", "S1/Walk.c3d", "s1./walk .c3d", "S1/aux.c3d"):
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        (root / place).write_bytes(place.encode())
    monkeypatch.setattr(os.path, "relpath", no_way)
    with as_on_windows(out):
        for _ in range(2):
            result = biodyn.run_study(root, out, workers=1)
            assert len(result.trials) == 4
        (tmp_path / "other").mkdir()
        (tmp_path / "other" / "walk.c3d").write_bytes(b"nothing")
        with pytest.raises(StudyError, match="contains the study of another folder"):
            biodyn.run_study(tmp_path / "other", out, workers=1)
    assert read_owner(out) == str(root)
    for folder, _, names in os.walk(out):
        inside = [*names, *(path.name for path in Path(folder).iterdir() if path.is_dir())]
        assert not [name for name in inside if is_excluded(name)]
        assert len({name.upper() for name in inside}) == len(inside)
    assert len(list(out.glob("trials/*/*/trial.json"))) == 4


@pytest.mark.slow
def test_a_screen_of_windows_letters_gets_every_line(tmp_path: Path) -> None:
    """cp1252, as a pipe or an older console of Windows has it."""
    (tmp_path / "S1").mkdir()
    (tmp_path / "S1" / "Schritt_日本_Σ.c3d").write_bytes(b"nothing")
    environment = {**os.environ, "PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"}
    words = [sys.executable, "-m", "biodyn.cli", "study", str(tmp_path), "--dry-run"]
    done = subprocess.run(words, env=environment, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert "Schritt_\\u65e5\\u672c_\\u03a3.c3d" in done.stdout.decode("cp1252")


def test_half_a_result_is_removed_where_a_file_in_it_is_too_long(tmp_path: Path) -> None:
    """What cannot be foreseen, such as the name of a user's own table."""
    folder = tmp_path / "walk"

    def write(place: Path) -> None:
        for name in ("run.json", "x" * 240):
            (place / name).write_text("{}", encoding="utf-8")

    with as_on_windows(tmp_path), pytest.raises(FileNotFoundError), replace_folder(folder, trial_file_test) as place:
        write(place)
    assert list(tmp_path.iterdir()) == []
