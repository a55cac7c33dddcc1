"""Nexus' files of a person beside recordings that store none."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.real import recordings

from biodyn.io import files_of_recording, read
from biodyn.io.subject_files import read_nexus_subject
from biodyn.study.plan import PlannedTrial
from biodyn.study.running.trial_analysis import input_files, trial_key

SAMPLE = Path(__file__).resolve().parents[2] / "sample_data" / "subject01" / "walk01.c3d"
MP = "$Bodymass = 76\n$Height = 1800\n$LKneeWidth =  108.5\n$RKneeWidth = 0\n$LeftAnkleWidth = 76.1\n"
VSK = """<?xml version="1.0" encoding="UTF-8" standalone="no" ?>
<KinematicModel MODEL="PlugInGait" VERSION="2.5"><Parameters>
<StaticParameter NAME="Bodymass" PRIOR="65" QUANTITY="mass" VALUE="71.5"/>
<StaticParameter NAME="Height" PRIOR="1700" QUANTITY="length"/>
<StaticParameter NAME="RightKneeWidth" PRIOR="120" QUANTITY="length" VALUE="107"/>
</Parameters></KinematicModel>"""


def raw_walk(folder: Path, stored: bool = False) -> Path:
    """The sample walk of S01 without what models store in it, or with it."""
    content = SAMPLE.read_bytes()
    path = folder / "walk01.c3d"
    path.write_bytes(content if stored else content.replace(b"PROCESSING", b"PROCESSONG"))
    return path


def test_a_raw_recording_gets_mass_height_and_measures(tmp_path: Path) -> None:
    walk = raw_walk(tmp_path)
    assert read(walk).subject.mass_kg is None
    (tmp_path / "s01.mp").write_text(MP)
    found = read(walk)
    assert (found.subject.name, found.subject.mass_kg, found.subject.height_m) == ("S01", 76.0, 1.8)
    assert found.subject.measures == pytest.approx({"knee_width_l": 0.1085, "ankle_width_l": 0.0761})
    assert found.subject.file == "s01.mp"
    assert [path.name for path, _ in found.also_read] == ["s01.mp"]
    (note,) = [note for note in found.diagnostics if note.code == "subject-beside"]
    assert "76 kg, 1.8 m, 2 measures" in note.message


def test_of_a_skeleton_the_calibrated_values_count_and_not_the_template(tmp_path: Path) -> None:
    (tmp_path / "S01.vsk").write_text(VSK)
    found = read(raw_walk(tmp_path)).subject
    assert (found.mass_kg, found.height_m, dict(found.measures)) == (71.5, None, {"knee_width_r": 0.107})
    (tmp_path / "S01.mp").write_text(MP)  # counts before it
    assert read(tmp_path / "walk01.c3d").subject.mass_kg == 76.0


def test_what_a_recording_stores_stands(tmp_path: Path) -> None:
    (tmp_path / "S01.vsk").write_text(VSK)
    found = read(raw_walk(tmp_path, stored=True))
    assert (found.subject.mass_kg, found.subject.file, found.also_read) == (76.0, "", ())


def test_files_of_other_persons_and_damaged_ones_are_not_taken(tmp_path: Path) -> None:
    walk = raw_walk(tmp_path)
    (tmp_path / "S02.vsk").write_text(VSK)
    assert read(walk).subject.mass_kg is None
    assert files_of_recording(walk) == (walk,)
    (tmp_path / "S01.vsk").write_text("<KinematicModel><Parameters>")
    found = read(walk)
    assert found.subject.mass_kg is None
    assert [note.severity for note in found.diagnostics if note.code == "data-not-used"] == ["warning"]


def test_a_trial_is_done_again_where_the_file_of_the_person_changed(tmp_path: Path) -> None:
    raw_walk(tmp_path)
    static = tmp_path / "static" / "static.c3d"
    static.parent.mkdir()
    shutil.copy(SAMPLE.with_name("static.c3d"), static)
    trial = PlannedTrial("S01", "walk01", Path("walk01.c3d"), static=Path("static/static.c3d"))
    keys = [trial_key(trial, tmp_path)]
    for place in (tmp_path, static.parent):
        for text in (VSK, VSK.replace("71.5", "72.5")):
            (place / "S01.vsk").write_text(text)
            assert place / "S01.vsk" in input_files(trial, tmp_path)
            keys.append(trial_key(trial, tmp_path))
    assert len(set(keys)) == len(keys)


def test_a_skeleton_file_of_nexus_says_what_its_recording_stores() -> None:
    folder = recordings() / "static_only" / "pycgm_robostatic"
    ours, stored = read_nexus_subject(folder / "RoboSM.vsk"), read(folder / "RoboStatic.c3d").subject
    assert (ours.mass_kg, ours.height_m) == (stored.mass_kg, stored.height_m)
    assert dict(ours.measures) == pytest.approx(dict(stored.measures), abs=1e-6)
