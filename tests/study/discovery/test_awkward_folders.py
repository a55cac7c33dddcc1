"""Whatever lies in the folder: every C3D file is accounted for, nothing hangs, nothing is opened that must not be."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import numpy as np
import pytest
from support.recordings import Fake, write_tree

from biodyn.errors import InputFileError
from biodyn.io import read_facts
from biodyn.study.discovery import discover_trials, plan_lines
from biodyn.study.plan import StudyPlan


def _roles(plan: StudyPlan) -> dict[str, str]:
    return {file.path.as_posix(): file.role for file in plan.files}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are POSIX")
def test_pipes_are_never_opened(tmp_path: Path) -> None:
    write_tree(tmp_path, {"P01/walk01.c3d": Fake(), "P01/static.c3d": Fake(plates=0)})
    os.mkfifo(tmp_path / "P01" / "walk02.c3d")
    with pytest.raises(InputFileError, match="not a regular file"):
        read_facts(tmp_path / "P01" / "walk02.c3d")  # would wait for ever
    plan = discover_trials(tmp_path)
    assert _roles(plan)["P01/walk02.c3d"] == "unreadable"
    assert [(t.subject, t.trial) for t in plan.trials] == [("P01", "walk01"), ("P01", "walk02")]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x02",
        np.random.default_rng(1).bytes(5000),
        b"\x02\x50" + b"\0" * 600,
        b"\xff\x50" + b"\0" * 600,
        # a header that claims 65535 points and analog values in 65535 frames: 10 GB and more
        struct.pack("<BBHHHHHfHHf", 2, 0x50, 65535, 65535, 1, 65535, 0, -1.0, 3, 1, 100.0).ljust(1024, b"\0"),
    ],
    ids=["empty", "one byte", "random", "no parameters", "parameters beyond the end", "ten gigabytes"],
)
def test_damaged_files_become_trials_of_their_folders_person(tmp_path: Path, content: bytes) -> None:
    write_tree(tmp_path, {"P01/walk01.c3d": Fake(), "P01/static.c3d": Fake(plates=0), "P02/static.c3d": Fake(plates=0)})
    (tmp_path / "P02" / "Fast_walk07.C3D").write_bytes(content)
    plan = discover_trials(tmp_path)
    trial = next(t for t in plan.trials if t.path.name == "Fast_walk07.C3D")
    assert (trial.subject, trial.condition, trial.static) == ("P02", "Fast", None)
    file = next(f for f in plan.files if f.path == trial.path)
    assert file.role == "unreadable"
    assert "Fast_walk07" in file.reason
    assert str(tmp_path) not in file.reason


def test_an_analysable_header_that_claims_ten_gigabytes_is_read_at_once(tmp_path: Path) -> None:
    path = Fake().write(tmp_path / "P01" / "walk01.c3d")
    content = bytearray(path.read_bytes())
    content[2:8] = struct.pack("<3H", 65535, 65535, 1)
    content[8:10] = struct.pack("<H", 65535)
    path.write_bytes(content)
    assert discover_trials(tmp_path).trials[0].subject == "P01"


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="needs links")
def test_links(tmp_path: Path) -> None:
    study = tmp_path / "study"
    write_tree(study, {"P01/walk01.c3d": Fake(), "P01/static.c3d": Fake(plates=0)})
    write_tree(tmp_path / "elsewhere", {"walk05.c3d": Fake()})
    (study / "P01" / "again").symlink_to(study)  # a loop
    (study / "P01" / "up").symlink_to(tmp_path)  # out of the study and into it again
    (study / "P01" / "a_link.c3d").symlink_to(study / "P01" / "walk01.c3d")
    (study / "P01" / "walk09.c3d").symlink_to(study / "nowhere.c3d")
    (study / "P02").symlink_to(tmp_path / "elsewhere")
    plan = discover_trials(study)
    assert _roles(plan) == {
        "P01/a_link.c3d": "other",
        "P01/static.c3d": "static",
        "P01/walk01.c3d": "walk",
        "P01/walk09.c3d": "unreadable",
        "P02/walk05.c3d": "walk",
    }
    reasons = {file.path.name: file.reason for file in plan.files}
    assert "same recording as 'P01/walk01.c3d'" in reasons["a_link.c3d"]
    assert "does not exist" in reasons["walk09.c3d"]


def test_closed_folders_and_files_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tree(tmp_path, {"P01/walk01.c3d": Fake(), "P02/walk01.c3d": Fake(), "P03/walk01.c3d": Fake()})
    real_scan, real_open = os.scandir, Path.open

    def scan(path):
        if Path(path).name == "P02":
            raise PermissionError(13, "Permission denied")
        return real_scan(path)

    def open_(self, *args, **kwargs):
        if self.parent.name == "P03":
            raise PermissionError(13, "Permission denied")
        return real_open(self, *args, **kwargs)

    monkeypatch.setattr(os, "scandir", scan)
    monkeypatch.setattr(Path, "open", open_)
    plan = discover_trials(tmp_path)
    reasons = {file.path.as_posix(): (file.role, file.reason) for file in plan.files}
    assert reasons["P02"] == ("other", "This folder cannot be opened: Permission denied.")
    assert reasons["P03/walk01.c3d"][0] == "unreadable"
    assert "Permission denied" in reasons["P03/walk01.c3d"][1]
    assert [t.subject for t in plan.trials] == ["P01", "P03"]


def test_results_of_the_program_are_no_recordings(tmp_path: Path) -> None:
    write_tree(tmp_path, {"P01/walk01.c3d": Fake(), "out/copy/walk01.c3d": Fake(), "P01/result/walk01.c3d": Fake()})
    (tmp_path / "out" / "study.json").write_text("{}")
    (tmp_path / "P01" / "result" / "run.json").write_text("{}")
    plan = discover_trials(tmp_path)
    assert _roles(plan) == {"P01/walk01.c3d": "walk", "P01/result/walk01.c3d": "other"}
    assert "result folder" in next(f.reason for f in plan.files if f.role == "other")


def test_hidden_copies_of_macos_are_left_out(tmp_path: Path) -> None:
    write_tree(tmp_path, {"P01/walk01.c3d": Fake(), ".Trash/P01/walk02.c3d": Fake()})
    (tmp_path / "P01" / "._walk01.c3d").write_bytes(b"\0\5\x16\7" + b"\0" * 200)
    assert _roles(discover_trials(tmp_path)) == {"P01/walk01.c3d": "walk", "P01/._walk01.c3d": "other"}


def test_no_folder_and_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(InputFileError, match="does not exist"):
        discover_trials(tmp_path / "nothing")
    with pytest.raises(InputFileError, match="is not a folder"):
        discover_trials(Fake().write(tmp_path / "a.c3d"))
    (tmp_path / "empty").mkdir()
    plan = discover_trials(tmp_path / "empty")
    assert (plan.trials, plan.files) == ((), ())
    assert "0 C3D files" in plan_lines(plan)[0]


def test_names_that_are_no_text_or_no_names_elsewhere(tmp_path: Path) -> None:
    """Names that cannot be decoded, device names of Windows, endless names: safe and unique as folder names."""
    names = ["nul.c3d", "con.c3d", "  walk 1 .c3d", "a:b?*.c3d", "W" * 200 + ".c3d", "W" * 201 + ".c3d", "..c3d"]
    for name in names:
        Fake(subject="Anna").write(tmp_path / name)
    another = Fake(subject="Anna", frames=31).write(tmp_path / "another.c3d")
    another.rename(tmp_path / os.fsdecode(b"walk_\xff\xfe.c3d"))
    plan = discover_trials(tmp_path)
    trials = [trial.trial for trial in plan.trials]
    assert (
        len(set(map(str.casefold, trials))) == len(trials) == len(names)
    )  # '..c3d' is hidden, the undecodable one is not
    for trial in trials:
        assert trial.encode()  # UTF-8 everywhere
        assert not set(trial) & set(':?*/\\"<>| ')
        assert trial.split(".")[0].lower() not in ("nul", "con")
        assert len(trial) <= 80
    assert "\n".join(plan_lines(plan)).encode()


def test_one_name_in_several_folders_gives_distinct_trials(tmp_path: Path) -> None:
    files = [f"P01/{folder}/walk01.c3d" for folder in ("fast", "slow", "fast/again", "fast/again/more", "FAST/Again")]
    files += ["P01/Walk01.c3d", "P01/WALK01.C3D"]
    plan = discover_trials(write_tree(tmp_path, dict.fromkeys(files, Fake())))
    assert {t.subject for t in plan.trials} == {"P01"}
    assert len({t.trial.casefold() for t in plan.trials}) == len(files)
    assert discover_trials(tmp_path) == plan  # and the same ones every time


def test_folders_that_differ_in_case_only_are_two_people(tmp_path: Path) -> None:
    files = dict.fromkeys(("anna/walk1.c3d", "Anna/walk1.c3d"), Fake())
    files |= dict.fromkeys(("anna/static.c3d", "Anna/static.c3d"), Fake(plates=0))
    write_tree(tmp_path, files)
    if len(list(tmp_path.iterdir())) < 2:
        pytest.skip("this file system does not tell case")
    plan = discover_trials(tmp_path)
    assert len({t.subject.casefold() for t in plan.trials}) == 2
    assert all(t.static is not None and t.static.parent == t.path.parent for t in plan.trials)


def test_one_code_at_two_laboratories_is_two_people(tmp_path: Path) -> None:
    """Told apart by body measures, by markers, or by groups; the same person where nothing speaks against it."""
    other = tuple(f"X{i}" for i in range(12))
    for name, here, there in (
        ("measures", Fake(mass_kg=60.0), Fake(mass_kg=82.0)),
        ("markers", Fake(), Fake(labels=other)),
    ):
        files = {"Leuven/S01/walk1.c3d": here, "Oslo/S01/walk1.c3d": there, "Oslo/S02/walk1.c3d": there}
        plan = discover_trials(write_tree(tmp_path / name, files))
        assert [t.subject for t in plan.trials] == ["Leuven_S01", "Oslo_S01", "S02"]
    files = {"Controls/S01/walk1.c3d": Fake(), "Patients/S01/walk1.c3d": Fake()}
    plan = discover_trials(write_tree(tmp_path / "groups", files))
    assert [(t.subject, t.group) for t in plan.trials] == [("Controls_S01", "Controls"), ("Patients_S01", "Patients")]
    files = {"Gravel/S01/walk1.c3d": Fake(mass_kg=60.0), "Sand/S01/walk1.c3d": Fake(mass_kg=60.0)}
    plan = discover_trials(write_tree(tmp_path / "one", files))
    assert [(t.subject, t.condition) for t in plan.trials] == [("S01", "Gravel"), ("S01", "Sand")]


def test_a_folder_of_several_stored_people_is_no_person(tmp_path: Path) -> None:
    files = {
        f"Lab2/trial{i}.c3d": Fake(subject=name, mass_kg=mass)
        for i, (name, mass) in enumerate([("Ann", 60.0), ("Bob", 80.0), ("Ann", 60.0)])
    }
    assert [t.subject for t in discover_trials(write_tree(tmp_path, files)).trials] == ["Ann", "Ann", "Bob"]


def test_a_templates_name_is_nobodys(tmp_path: Path) -> None:
    files = {f"P0{i}/walk1.c3d": Fake(subject="Gait2010", mass_kg=50.0 + 20.0 * i) for i in range(3)}
    assert [t.subject for t in discover_trials(write_tree(tmp_path, files)).trials] == ["P00", "P01", "P02"]
