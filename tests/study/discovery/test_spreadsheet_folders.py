"""Spreadsheets, archives and coordinates in the folder of a study: trials where they are said to be, else left alone."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from support.opensim_tables import write_table
from support.sessions import Laboratory
from support.spreadsheets import write_sheet
from support.stick_person import LABELS, person_mm
from support.vendor_exports import write_nexus, write_qtm

from biodyn.io import files_of_recording, read
from biodyn.study import Study
from biodyn.study.discovery import discover_trials
from biodyn.study.discovery.definition import StudyDefinition

FRAMES = 60
TIMES = np.arange(FRAMES) / 100.0
MARKERS = [f"{label}_{axis}" for label in LABELS for axis in "XYZ"]
FORCES = [f"ground_force_r_{what}{axis}" for what in "vpm" for axis in "xyz"]
GOLDEN = Path(__file__).parents[2] / "io" / "golden" / "nimblephysics.b3d"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_sheet(tmp_path / "P01_walk1.csv", MARKERS, TIMES, person_mm(FRAMES).reshape(FRAMES, -1))
    write_sheet(
        tmp_path / "P01_walk1_grf.csv", FORCES, TIMES, np.tile([0.0, 0, 700, 0.1, 0.1, 0, 0, 0, 2], (FRAMES, 1))
    )
    write_sheet(tmp_path / "people.csv", ["age", "height"], TIMES, np.ones((FRAMES, 2)))
    return tmp_path


def _trials(study: Study) -> list[str]:
    return [trial.path.name for trial in study.plan.trials]


def test_a_spreadsheet_is_a_trial_where_a_map_or_the_study_says_so(folder: Path) -> None:
    assert not Study.open(folder).plan.files
    named = StudyDefinition(include=("*walk*.csv",))
    assert [trial.path.name for trial in discover_trials(folder, named).trials] == ["P01_walk1.csv"]
    (folder / "P01_walk1.columns.toml").write_text("length = 'mm'\n")
    study = Study.open(folder)
    assert _trials(study) == ["P01_walk1.csv"]
    beside = {path.name for path in files_of_recording(folder / "P01_walk1.csv")[1:]}
    assert beside == {"P01_walk1_grf.csv", "P01_walk1.columns.toml"}


def test_free_moments_of_exported_tables_are_read(folder: Path) -> None:
    (plate,) = read(folder / "P01_walk1.csv").plates
    assert plate.side == "r"
    assert plate.channel_labels[-3:] == tuple(FORCES[-3:])


def test_an_archive_of_several_trials_is_left_out_with_what_to_do(folder: Path) -> None:
    shutil.copy(GOLDEN, folder / "P01.b3d")
    (file,) = Study.open(folder).plan.files
    assert file.role == "other"
    assert "biodyn unpack" in file.reason


def test_coordinates_are_trials_of_a_study_on_a_model(tmp_path: Path) -> None:
    names = ["pelvis_tilt", "hip_flexion_r", "knee_angle_r"]
    write_table(tmp_path / "P01_walk1_ik.mot", names, TIMES, np.zeros((FRAMES, 3)))
    write_table(tmp_path / "P01_walk1_grf.mot", FORCES, TIMES, np.ones((FRAMES, 9)))
    write_table(tmp_path / "P01_walk1_id.sto", [f"{name}_moment" for name in names], TIMES, np.ones((FRAMES, 3)))
    assert not Study.open(tmp_path).plan.files
    plan = Study.open(tmp_path, entries=["model.osim='P01.osim'"]).plan
    assert [trial.path.name for trial in plan.trials] == ["P01_walk1_ik.mot"]
    reasons = {file.path.name: file.reason for file in plan.files if file.role == "other"}
    assert reasons.keys() == {"P01_walk1_grf.mot", "P01_walk1_id.sto"}
    assert "ground forces" in reasons["P01_walk1_grf.mot"]
    assert "joint torques" in reasons["P01_walk1_id.sto"]


def test_what_was_fitted_to_the_markers_of_a_person_is_no_further_walk(folder: Path) -> None:
    person = folder / "P01"
    (person / "trials").mkdir(parents=True)
    (folder / "P01_walk1.csv").rename(person / "trials" / "walk1.csv")
    (folder / "P01_walk1_grf.csv").rename(person / "trials" / "walk1_grf.csv")
    (folder / "P02").mkdir()
    for place in (person / "fitted.sto", folder / "P02" / "walk.mot"):
        write_table(place, ["pelvis_tilt", "hip_flexion_r", "knee_angle_r"], TIMES, np.zeros((FRAMES, 3)))
    (person / "trials" / "columns.toml").write_text("length = 'mm'\n", encoding="utf-8")
    plan = Study.open(folder, entries=["model.osim='P01.osim'"]).plan
    assert sorted(trial.path.as_posix() for trial in plan.trials) == ["P01/trials/walk1.csv", "P02/walk.mot"]
    (passed,) = [file.reason for file in plan.files if file.path.name == "fitted.sto"]
    assert "a subject whose walks with markers are used instead" in passed
    (person / "trials" / "walk1.csv").rename(
        person / "trials" / "static.csv"
    )  # the coordinates are all there is of walks
    plan = Study.open(folder, entries=["model.osim='P01.osim'"]).plan
    assert "P01/fitted.sto" in [trial.path.as_posix() for trial in plan.trials]


def test_exports_of_laboratories_are_trials_without_being_named(laboratory: Laboratory, tmp_path: Path) -> None:
    """But not their plates' files, nor a table of Nexus without trajectories."""
    write_qtm(tmp_path / "P01_walk1.tsv", laboratory.trials["walk"])
    write_nexus(tmp_path / "P02_walk1.csv", laboratory.trials["walk"])
    only = (tmp_path / "P02_walk1.csv").read_text(encoding="utf-8").partition("Trajectories")[0]
    (tmp_path / "P02_forces.csv").write_text(only, encoding="utf-8")
    assert _trials(Study.open(tmp_path)) == ["P01_walk1.tsv", "P02_walk1.csv"]
