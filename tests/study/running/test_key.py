"""The key of a trial's result covers the content of everything the result depends on."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest

from biodyn.errors import TableError
from biodyn.study.discovery.definition import map_all_table_paths, read_definition
from biodyn.study.plan import PlannedTrial
from biodyn.study.running.trial_analysis import trial_key

LIBRARY = files("biodyn.library")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Files that stand for recordings, and tables that extend each other."""
    root = tmp_path / "study"
    root.mkdir()
    for name in ("walk.c3d", "static.c3d"):
        (root / name).write_bytes(name.encode())
    masses = (LIBRARY / "body" / "anthropometry" / "de_leva_1996.toml").read_text(encoding="utf-8")
    (root / "masses.toml").write_text(masses, encoding="utf-8")
    (root / "mine.toml").write_text('extends = "parent.toml"\n', encoding="utf-8")
    (root / "parent.toml").write_text('extends = "plug_in_gait_full"\n[rename]\nHIP = "LASI"\n', encoding="utf-8")
    (root / "hips.toml").write_text("x = { PD = -0.2 }\ny = { PW = -0.3 }\nz = { PW = 0.3 }\n", encoding="utf-8")
    sd = (LIBRARY / "uncertainty" / "magnitudes.toml").read_text(encoding="utf-8")
    (root / "sd.toml").write_text(sd, encoding="utf-8")
    skeleton = 'extends = "full_body"\nfree = ["pelvis", "femur_{s}", "tibia_{s}", "calcn_{s}"]\n'
    (root / "skeleton.toml").write_text(skeleton, encoding="utf-8")
    return root


def planned(root: Path, static: Path | None = Path("static.c3d")) -> PlannedTrial:
    model = {
        "anthropometry": str(root / "masses.toml"),
        "marker_set": str(root / "mine.toml"),
        "hip_centre": str(root / "hips.toml"),
        "skeleton": str(root / "skeleton.toml"),
    }
    settings = {"model": model, "uncertainty": {"magnitudes": str(root / "sd.toml")}}
    return PlannedTrial("S1", "walk", Path("walk.c3d"), static=static, settings=settings)


@pytest.mark.parametrize("name", ["masses", "mine", "parent", "hips", "sd", "skeleton"])
def test_another_table_is_another_key(name: str, root: Path) -> None:
    before = trial_key(planned(root), root)
    assert trial_key(planned(root), root) == before
    with (root / f"{name}.toml").open("a", encoding="utf-8") as file:
        file.write("# a word more\n")
    assert trial_key(planned(root), root) != before


def test_a_study_that_was_moved_keeps_its_keys(root: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(root, elsewhere)
    assert trial_key(planned(elsewhere), elsewhere) == trial_key(planned(root), root)


def test_a_wrong_table_has_no_key(root: Path) -> None:
    (root / "parent.toml").write_text('extends = "plug_in_gait_full"\n[rename]\nHIP = "LASY"\n', encoding="utf-8")
    with pytest.raises(TableError, match=r"parent\.toml.*LASY"):
        trial_key(planned(root), root)


@pytest.mark.parametrize("static", [Path("static.c3d"), None])
def test_another_static_of_the_same_size_is_another_key(static: Path | None, root: Path) -> None:
    """Where no static trial is named, the files beside the walk are looked into."""
    trial = replace(planned(root), static=static)
    before = trial_key(trial, root)
    (root / "static.c3d").write_bytes(b"STATIC.C3D")
    assert trial_key(trial, root) != before


def test_the_record_of_a_study_names_tables_as_seen_from_it(root: Path) -> None:
    path = root / "study.toml"
    path.write_text(
        '[settings.model]\nmarker_set = "mine.toml"\n[subjects.a.settings.uncertainty]\nmagnitudes = "sd.toml"\n'
        "[trials.'*'.settings.model]\nanthropometry = \"masses.toml\"\n",
        encoding="utf-8",
    )
    definition = read_definition(path)
    assert Path(definition.settings["model"]["marker_set"]) == root / "mine.toml"
    out = root.parent / "out"
    record = map_all_table_paths(definition.model_dump(mode="json"), lambda name: os.path.relpath(name, out))
    assert record["settings"]["model"]["marker_set"] == os.path.join("..", "study", "mine.toml")
    assert record["subjects"]["a"]["settings"]["uncertainty"]["magnitudes"] == os.path.join("..", "study", "sd.toml")
    assert record["trials"]["*"]["settings"]["model"]["anthropometry"] == os.path.join("..", "study", "masses.toml")
    (root / "sd.toml").write_text("[marker_noise]\n", encoding="utf-8")
    with pytest.raises(TableError, match=r"sd\.toml"):
        read_definition(path)


def test_a_walk_that_takes_no_static_trial_has_a_key_of_its_own(root: Path) -> None:
    own = trial_key(planned(root, static=Path("none")), root)
    assert own != trial_key(planned(root), root)
    (root / "static.c3d").write_bytes(b"another one")
    assert trial_key(planned(root, static=Path("none")), root) == own


def test_what_lies_in_the_session_is_part_of_the_key_where_the_model_is_the_sessions(root: Path) -> None:
    (root / "walk2.c3d").write_bytes(b"another walk")
    alone = planned(root)
    with_session = replace(alone, companions=(Path("walk2.c3d"), Path("gone.c3d")))
    assert trial_key(with_session, root) == trial_key(alone, root), "the walk alone corrects its model"
    settings = {**alone.settings, "model": {**alone.settings["model"], "fit": "session"}}
    asked = replace(with_session, settings=settings)
    before = trial_key(asked, root)
    (root / "walk2.c3d").write_bytes(b"the walk, exported again")
    assert trial_key(asked, root) != before


def test_a_maximal_contraction_of_the_session_is_part_of_the_key(root: Path) -> None:
    (root / "MVC.c3d").write_bytes(b"a contraction")
    trial = replace(planned(root), companions=(Path("MVC.c3d"),))
    before = trial_key(trial, root)
    (root / "MVC.c3d").write_bytes(b"a stronger one")
    assert trial_key(trial, root) != before
