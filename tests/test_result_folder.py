"""Result folders appear whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from biodyn.errors import ResultError
from biodyn.result_folder import RECORD_NAME, require_free, writing


def result(folder: Path, text: str = "old") -> Path:
    folder.mkdir(parents=True)
    (folder / RECORD_NAME).write_text(text, encoding="utf-8")
    return folder


def test_the_folder_takes_its_name_at_the_end(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "walk"
    with writing(target) as place:
        (place / "a.txt").write_text("a", encoding="utf-8")
        assert not target.exists()
        assert place.parent == target.parent  # a sibling: the rename stays on one disk
    assert [path.name for path in target.iterdir()] == ["a.txt"]
    assert os.listdir(target.parent) == ["walk"]


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), writing(tmp_path / "walk") as place:  # noqa: PT012
        (place / "a.txt").write_text("a", encoding="utf-8")
        raise ZeroDivisionError
    assert os.listdir(tmp_path) == []


def test_a_failure_keeps_the_older_result(tmp_path: Path) -> None:
    target = result(tmp_path / "walk")
    with pytest.raises(KeyboardInterrupt), writing(target, force=True):
        raise KeyboardInterrupt
    assert (target / RECORD_NAME).read_text(encoding="utf-8") == "old"
    assert os.listdir(tmp_path) == ["walk"]


def test_an_older_result_is_replaced_whole(tmp_path: Path) -> None:
    target = result(tmp_path / "walk")
    (target / "extra.txt").write_text("x", encoding="utf-8")
    with writing(target, force=True) as place:
        (place / RECORD_NAME).write_text("new", encoding="utf-8")
    assert os.listdir(target) == [RECORD_NAME]
    assert os.listdir(tmp_path) == ["walk"]


def test_a_link_stays_and_what_it_points_to_is_replaced(tmp_path: Path) -> None:
    target = result(tmp_path / "walk")
    (tmp_path / "latest").symlink_to(target)
    (tmp_path / "next").symlink_to(tmp_path / "later")
    for link in ("latest", "next"):
        with writing(tmp_path / link, force=True) as place:
            (place / RECORD_NAME).write_text("new", encoding="utf-8")
    assert (tmp_path / "latest").is_symlink()
    assert (target / RECORD_NAME).read_text(encoding="utf-8") == "new"
    assert (tmp_path / "later" / RECORD_NAME).read_text(encoding="utf-8") == "new"


def test_of_two_runs_without_force_the_first_to_end_stays(tmp_path: Path) -> None:
    target = tmp_path / "walk"
    with pytest.raises(ResultError, match="already holds a result"), writing(target) as place:  # noqa: PT012
        (place / RECORD_NAME).write_text("second", encoding="utf-8")
        with writing(target) as other:
            (other / RECORD_NAME).write_text("first", encoding="utf-8")
    assert (target / RECORD_NAME).read_text(encoding="utf-8") == "first"
    assert os.listdir(tmp_path) == ["walk"]


def test_what_is_free(tmp_path: Path) -> None:
    require_free(tmp_path / "new" / "deeper", force=False)
    (tmp_path / "empty").mkdir()
    require_free(tmp_path / "empty", force=False)
    require_free(result(tmp_path / "old"), force=True)


def test_what_is_not(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match="already holds a result"):
        require_free(result(tmp_path / "old"), force=False)
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(ResultError, match="is a file"):
        require_free(tmp_path / "file", force=True)
    with pytest.raises(ResultError, match="no folder to write into"):
        require_free(tmp_path / "file" / "below", force=True)
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "thesis.txt").write_text("", encoding="utf-8")
    with pytest.raises(ResultError, match="will not be replaced"):
        require_free(foreign, force=True)
    (tmp_path / "link").symlink_to(tmp_path / "file" / "gone")
    with pytest.raises(ResultError, match="no folder to write into"):
        require_free(tmp_path / "link", force=True)
