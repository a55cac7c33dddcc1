"""Result folders appear whole or not at all, and nothing that biodyn did not write is ever lost."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from support.stored import contents, made, note

from biodyn.errors import ResultError
from biodyn.output.store.folder import (
    DIGEST_ENTRY,
    RECORD_NAME,
    record_digest,
    replace_folder,
    require_usable_folder,
    trial_file_test,
    write_folder,
)
from biodyn.output.store.result_reader import read_record
from biodyn.output.store.result_writer import write_manifest


def test_the_folder_takes_its_name_at_the_end(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "walk"
    with write_folder(target) as place:
        (place / "a.txt").write_text("a", encoding="utf-8")
        assert not target.exists()
        assert place.parent == target.parent  # a sibling: the rename stays on one disk
    assert [path.name for path in target.iterdir()] == ["a.txt"]
    assert os.listdir(target.parent) == ["walk"]


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), write_folder(tmp_path / "walk") as place:  # noqa: PT012
        (place / "a.txt").write_text("a", encoding="utf-8")
        raise ZeroDivisionError
    assert os.listdir(tmp_path) == []


def test_a_failure_keeps_the_older_result(tmp_path: Path) -> None:
    target = made(tmp_path / "walk")
    before = contents(target)
    with pytest.raises(KeyboardInterrupt), write_folder(target, force=True):
        raise KeyboardInterrupt
    assert contents(target) == before
    assert os.listdir(tmp_path) == ["walk"]


def test_an_older_result_is_replaced_whole(tmp_path: Path) -> None:
    target = made(tmp_path / "walk")
    with write_folder(target, force=True) as place:
        (place / RECORD_NAME).write_text("new", encoding="utf-8")
    assert os.listdir(target) == [RECORD_NAME]
    assert os.listdir(tmp_path) == ["walk"]


def test_a_link_stays_and_what_it_points_to_is_replaced(tmp_path: Path) -> None:
    target = made(tmp_path / "walk")
    (tmp_path / "latest").symlink_to(target)
    (tmp_path / "next").symlink_to(tmp_path / "later")
    for link in ("latest", "next"):
        with write_folder(tmp_path / link, force=True) as place:
            made(place / "x")
            os.replace(place / "x" / RECORD_NAME, place / RECORD_NAME)
    assert (tmp_path / "latest").is_symlink()
    assert (target / RECORD_NAME).is_file()
    assert (tmp_path / "later" / RECORD_NAME).is_file()


def test_of_two_runs_without_force_the_first_to_end_stays(tmp_path: Path) -> None:
    target = tmp_path / "walk"
    with pytest.raises(ResultError, match="already holds a result"), write_folder(target) as place:  # noqa: PT012
        (place / "a.txt").touch()
        made(target, "first")
    assert note(target) == "first"
    assert os.listdir(tmp_path) == ["walk"]


def test_what_is_free(tmp_path: Path) -> None:
    require_usable_folder(tmp_path / "new" / "deeper", force=False)
    (tmp_path / "empty").mkdir()
    require_usable_folder(tmp_path / "empty", force=False)
    require_usable_folder(made(tmp_path / "old"), force=True)


def test_what_is_not(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match="already holds a result"):
        require_usable_folder(made(tmp_path / "old"), force=False)
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(ResultError, match="is a file"):
        require_usable_folder(tmp_path / "file", force=True)
    with pytest.raises(ResultError, match="is not writable"):
        require_usable_folder(tmp_path / "file" / "below", force=True)
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "thesis.txt").write_text("", encoding="utf-8")
    with pytest.raises(ResultError, match="is not replaced"):
        require_usable_folder(foreign, force=True)
    (tmp_path / "link").symlink_to(tmp_path / "file" / "gone")
    with pytest.raises(ResultError, match="is not writable"):
        require_usable_folder(tmp_path / "link", force=True)


# -- what the user put there --------------------------------------------------------------------------------------


def _beside(folder: Path) -> None:
    (folder / "walk03.c3d").write_text("recording", encoding="utf-8")


def _among_the_tables(folder: Path) -> None:
    (folder / "tables" / "walk03.c3d").write_text("recording", encoding="utf-8")


def _in_a_folder(folder: Path) -> None:
    (folder / "session 2").mkdir()
    (folder / "session 2" / "walk03.c3d").write_text("recording", encoding="utf-8")


def _linked(folder: Path) -> None:
    (folder.parent / "recordings").mkdir()
    (folder.parent / "recordings" / "walk03.c3d").write_text("recording", encoding="utf-8")
    (folder / "recordings").symlink_to(folder.parent / "recordings")


def _another_result(folder: Path) -> None:
    made(folder / "walk02")


def _own_figure(folder: Path) -> None:
    (folder / "figures").mkdir()
    (folder / "figures" / "poster.png").write_text("mine", encoding="utf-8")


def _edited_table(folder: Path) -> None:
    (folder / "tables" / "events.csv").write_text("time_s\n1.0\n", encoding="utf-8")


def _hidden(folder: Path) -> None:
    (folder / ".notes").write_text("mine", encoding="utf-8")


FOREIGN = (_beside, _among_the_tables, _in_a_folder, _linked, _another_result, _own_figure, _hidden)


@pytest.mark.parametrize("put", FOREIGN)
def test_force_replaces_no_folder_with_something_else_in_it(tmp_path: Path, put: Callable[[Path], None]) -> None:
    target = made(tmp_path / "walk")
    put(target)
    before = contents(tmp_path)
    with pytest.raises(ResultError, match="biodyn did not write") as refused, write_folder(target, force=True):
        pytest.fail("it began")
    assert refused.value.message.count("\n") == 0
    assert contents(tmp_path) == before


def test_force_replaces_no_table_that_was_edited(tmp_path: Path) -> None:
    target = made(tmp_path / "walk")
    _edited_table(target)
    with pytest.raises(ResultError, match=r"changed after biodyn wrote it \('tables/events.csv'\)"):
        require_usable_folder(target, force=True)


def test_what_file_managers_leave_is_nobodys(tmp_path: Path) -> None:
    target = made(tmp_path / "walk")
    for name in (".DS_Store", "tables/Thumbs.db", "tables/._events.csv"):
        (target / name).touch()
    with write_folder(target, force=True) as place:
        (place / RECORD_NAME).write_text("new", encoding="utf-8")
    assert list(contents(target)) == [RECORD_NAME]


def test_a_file_that_arrives_while_the_trial_runs_stays(tmp_path: Path) -> None:
    target = made(tmp_path / "walk")
    with pytest.raises(ResultError, match="walk03"), write_folder(target, force=True) as place:  # noqa: PT012
        (place / "a.txt").touch()
        _beside(target)
    assert (target / "walk03.c3d").is_file()
    assert note(target) == "old"


@pytest.mark.parametrize(
    "record", ["", "{}", "[]", "nonsense", '{"record_version": 1}', "\0", '{"versions": {"r": 4}}']
)
def test_a_record_of_another_program_makes_no_result(tmp_path: Path, record: str) -> None:
    target = tmp_path / "walk"
    target.mkdir()
    (target / RECORD_NAME).write_text(record, encoding="utf-8")
    with pytest.raises(ResultError, match="not a biodyn result"):
        require_usable_folder(target, force=True)


@pytest.mark.parametrize("path", ["../other/walk.c3d", "/etc/hosts", "a/../../other/walk.c3d", "..", "", 7, None])
def test_a_list_that_leads_out_of_the_folder_is_not_followed(tmp_path: Path, path: object) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "walk.c3d").write_text("recording", encoding="utf-8")
    target = made(tmp_path / "walk")
    record = json.loads((target / RECORD_NAME).read_text(encoding="utf-8"))
    record["files"].append({"path": path})
    (target / RECORD_NAME).write_text(json.dumps(record), encoding="utf-8")
    with write_folder(target, force=True) as place:
        (place / RECORD_NAME).write_text("new", encoding="utf-8")
    assert (tmp_path / "other" / "walk.c3d").read_text(encoding="utf-8") == "recording"


def test_a_link_to_the_recordings_is_no_place_for_a_result(tmp_path: Path) -> None:
    (tmp_path / "recordings").mkdir()
    (tmp_path / "recordings" / "walk03.c3d").write_text("recording", encoding="utf-8")
    (tmp_path / "out").symlink_to(tmp_path / "recordings")
    for place in (tmp_path / "out", tmp_path / "recordings", tmp_path):
        with pytest.raises(ResultError, match="is not replaced"):
            require_usable_folder(place, force=True)


# -- folders of a study, which are replaced without being asked ---------------------------------------------------


@pytest.mark.parametrize("put", FOREIGN)
def test_in_a_study_other_files_stay_and_the_new_ones_come_beside_them(
    tmp_path: Path, put: Callable[[Path], None]
) -> None:
    target = made(tmp_path / "walk")
    put(target)
    foreign = {
        name: data for name, data in contents(tmp_path).items() if "events" not in name and RECORD_NAME not in name
    }
    with replace_folder(target, trial_file_test) as place:
        made(place / "x", "new")
        os.replace(place / "x" / RECORD_NAME, place / RECORD_NAME)
        (place / "x" / "tables" / "events.csv").unlink()
    after = contents(tmp_path)
    assert {name: after[name] for name in foreign} == foreign
    assert note(target) == "new"
    assert not (target / "tables" / "events.csv").exists()
    assert {path.name for path in tmp_path.iterdir()} <= {"walk", "recordings"}


def test_a_users_file_in_the_way_gets_another_name(tmp_path: Path) -> None:
    target = made(tmp_path / "walk")
    (target / "figures").write_text("mine", encoding="utf-8")
    (target / "tables" / "contacts.csv").write_text("mine", encoding="utf-8")
    with replace_folder(target, trial_file_test) as place:
        for name in ("figures/a.png", "tables/contacts.csv"):
            (place / name).parent.mkdir()
            (place / name).write_text("new", encoding="utf-8")
    assert contents(target) == {
        "figures (yours 1)": b"mine",
        "figures/a.png": b"new",
        "tables/contacts (yours 1).csv": b"mine",
        "tables/contacts.csv": b"new",
    }


def test_a_file_in_the_place_of_a_folder_is_not_removed(tmp_path: Path) -> None:
    (tmp_path / "walk").write_text("mine", encoding="utf-8")
    with pytest.raises(ResultError, match="is a file"), replace_folder(tmp_path / "walk", trial_file_test) as place:
        (place / "a").touch()
    assert (tmp_path / "walk").read_text(encoding="utf-8") == "mine"


def test_a_record_that_was_changed_is_no_result(tmp_path: Path) -> None:
    target = made(tmp_path / "walk")
    record = {
        "versions": {"biodyn": "1"},
        "record_version": 2,
        "input": {},
        "settings": {},
        "subject": {"mass_kg": 70.0},
    }
    (target / RECORD_NAME).write_text(json.dumps({**record, "verdict": "pass"}), encoding="utf-8")
    write_manifest(target)
    assert read_record(target)["subject"] == {"mass_kg": 70.0}
    text = (target / RECORD_NAME).read_text(encoding="utf-8")
    (target / RECORD_NAME).write_text(text.replace("70.0", "80.0"), encoding="utf-8")
    with pytest.raises(ResultError, match="differs from what biodyn wrote"):
        read_record(target)


@pytest.mark.parametrize("name", ["thesis.txt", "data/walk.c3d", "tables/deep/a.csv"])
def test_a_forged_manifest_does_not_make_files_replaceable(tmp_path: Path, name: str) -> None:
    target = made(tmp_path / "walk")
    own = target / name
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text("mine", encoding="utf-8")
    record = json.loads((target / RECORD_NAME).read_text(encoding="utf-8"))
    record["files"].append({"path": name, "sha256": hashlib.sha256(own.read_bytes()).hexdigest()})
    record[DIGEST_ENTRY] = record_digest(record)
    (target / RECORD_NAME).write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(ResultError, match="did not write"):
        require_usable_folder(target, force=True)
