"""What killed runs leave is removed by the next one; what others are writing, and what a user put there, is not."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.stored import contents, made, note

from biodyn.errors import ResultError
from biodyn.output.store.folder import (
    MARK,
    remove_all_unfinished,
    remove_unfinished_folders,
    replace_file,
    replace_folder,
    require_usable_folder,
    trial_file_test,
    update_folder,
    write_folder,
)

_KILLED = """
import os, sys
from pathlib import Path
from biodyn.output.store.folder import trial_file_test
from biodyn.output.store.folder import replace_folder
with replace_folder(Path(sys.argv[1]), trial_file_test) as place:
    (place / "my copy.toml").write_text("x")
    os._exit(9)
"""


def killed(folder: Path) -> None:
    """Let another process begin to write `folder` and die."""
    subprocess.run([sys.executable, "-c", _KILLED, str(folder)], check=False)


def test_only_the_folders_own_leftovers_go(tmp_path: Path) -> None:
    """Two processes write trials of one subject at the same time, and names may begin alike."""
    killed(tmp_path / "walk")
    killed(tmp_path / "walk.fast")
    assert len(os.listdir(tmp_path)) == 2
    remove_unfinished_folders(tmp_path / "walk.fast.slow")
    assert len(os.listdir(tmp_path)) == 2
    remove_unfinished_folders(tmp_path / "walk")
    assert [name.startswith(".walk.fast.") for name in os.listdir(tmp_path)] == [True]


@pytest.mark.skipif(os.name != "posix", reason="locks are POSIX")
def test_what_a_living_run_writes_stays(tmp_path: Path) -> None:
    with replace_folder(tmp_path / "walk", trial_file_test) as place:
        remove_unfinished_folders(tmp_path / "walk")
        remove_all_unfinished(tmp_path)
        assert place.is_dir()
    assert not (tmp_path / "walk" / MARK).exists()


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux which files are open")
def test_no_open_file_is_removed_or_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows refuses that, for a file and for a folder with such a file in it."""
    touched = 0

    def as_on_windows(action: Callable[..., None]) -> Callable[..., None]:
        def refuse_open(path: Path, *others: Any, **options: Any) -> None:
            nonlocal touched
            touched += 1
            descriptors = Path("/proc/self/fd")
            opened = [os.path.realpath(descriptors / number) for number in os.listdir(descriptors)]
            if any(Path(one).is_file() and Path(one).is_relative_to(Path(path).absolute()) for one in opened):
                raise PermissionError(errno.EACCES, "another process uses the file", str(path))
            action(path, *others, **options)

        return refuse_open

    for name in ("unlink", "remove", "rename", "replace"):
        monkeypatch.setattr(os, name, as_on_windows(getattr(os, name)))
    for text in ("first", "second"):
        with replace_folder(tmp_path / "walk", trial_file_test) as place:
            (place / "run.json").write_text(text, encoding="utf-8")
    with update_folder(tmp_path / "walk") as place:
        (place / "run.json").write_text("third", encoding="utf-8")
    assert touched >= 5
    assert contents(tmp_path) == {"walk/run.json": b"third"}


def test_a_folder_that_the_system_will_not_move_stays_and_nothing_lies_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Windows where a program has one of its files open."""
    with replace_folder(tmp_path / "walk", trial_file_test) as place:
        (place / "run.json").write_text("old", encoding="utf-8")

    def refuse(path: Path, target: Path) -> None:
        raise PermissionError(errno.EACCES, "another process uses the file", str(path))

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(PermissionError), replace_folder(tmp_path / "walk", trial_file_test) as place:
        (place / "run.json").write_text("new", encoding="utf-8")
    assert contents(tmp_path) == {"walk/run.json": b"old"}


def test_the_next_run_into_a_folder_clears_what_a_killed_one_left(tmp_path: Path) -> None:
    killed(tmp_path / "walk")
    with write_folder(tmp_path / "walk") as place:
        (place / "a.txt").touch()
    assert os.listdir(tmp_path) == ["walk"]


def test_all_leftovers_go_between_runs_also_those_of_older_versions(tmp_path: Path) -> None:
    (tmp_path / "walk").mkdir()
    for name in (".walk.abcd1234.part", ".walk.abcd1234.old", ".gone.x_yz1234.part"):
        (tmp_path / name / "tables").mkdir(parents=True)
    (tmp_path / ".gone.x_yz1234.part" / "run.json").touch()
    (tmp_path / ".study.csv.part").touch()
    killed(tmp_path / "other")
    remove_all_unfinished(tmp_path, ["study.csv"])
    assert [path.name for path in tmp_path.iterdir()] == ["walk"]


def test_what_biodyn_did_not_make_stays(tmp_path: Path) -> None:
    """Names like those of a download or of another program, and folders with a recording in them."""
    for name in (".walk03.c3d.part", ".study.part", ".notes.old"):
        (tmp_path / name).write_text("mine", encoding="utf-8")
    for name in (".backup.old", ".walk.abcd1234.part", ".walk.abcd1234.old/walk", ".x.abcdefgh.part/tables"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "walk01.c3d").write_text("mine", encoding="utf-8")
    (tmp_path / "walk").mkdir()
    before = contents(tmp_path)
    remove_unfinished_folders(tmp_path / "walk")
    remove_all_unfinished(tmp_path, ["study.csv"])
    assert contents(tmp_path) == before


def test_links_are_not_followed(tmp_path: Path) -> None:
    recordings = tmp_path / "recordings"
    recordings.mkdir()
    (recordings / "run.json").write_text("mine", encoding="utf-8")
    place = tmp_path / "results"
    place.mkdir()
    (place / ".walk.abcd1234.part").symlink_to(recordings)
    remove_all_unfinished(place)
    assert (recordings / "run.json").is_file()


def test_a_result_that_a_killed_run_had_moved_aside_comes_back(tmp_path: Path) -> None:
    """Killed between the two renames: the older result is all there is."""
    made(tmp_path / ".walk.abcd1234.old" / "walk", "only one")
    remove_unfinished_folders(tmp_path / "walk")
    assert note(tmp_path / "walk") == "only one"
    assert os.listdir(tmp_path) == ["walk"]


def test_it_comes_back_before_anything_is_computed(tmp_path: Path) -> None:
    made(tmp_path / ".walk.abcd1234.old" / "walk", "only one")
    with pytest.raises(ResultError, match="already holds a result"):
        require_usable_folder(tmp_path / "walk", force=False)
    assert note(tmp_path / "walk") == "only one"


@pytest.mark.skipif(os.name == "nt", reason="links and permissions of POSIX")
def test_a_replaced_file_keeps_its_permissions_and_follows_no_planted_link(tmp_path: Path) -> None:
    path, victim = tmp_path / "study.json", tmp_path / "victim"
    path.write_text("old")
    path.chmod(0o640)
    victim.write_text("of somebody else")
    (tmp_path / ".study.json.part").symlink_to(victim)
    replace_file(path, b"new")
    assert (path.read_text(), victim.read_text()) == ("new", "of somebody else")
    assert path.stat().st_mode & 0o777 == 0o640
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["study.json", "victim"]
