"""Folders of laboratories that keep markers and forces in files of their own are studies like any other."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from simulator.trc_writer import write_trc
from support.opensim_tables import write_forces
from support.sessions import Laboratory

from biodyn.io import files_of_recording, read
from biodyn.recording import Recording
from biodyn.study import Study
from biodyn.study.discovery.definition import layout_matcher
from biodyn.study.running.trial_analysis import trial_key


@pytest.fixture(scope="module")
def short_walk(laboratory: Laboratory) -> Recording:
    """A second of the simulated walk, its plates at 200 Hz."""
    whole = read(laboratory.walk)
    positions = whole.markers.positions[100:200]
    step = round(whole.plates[0].rate_hz / 200.0)
    first, stop = (round(n * whole.plates[0].rate_hz / whole.markers.rate_hz) for n in (100, 200))
    plates = (replace(p, channels=p.channels[first:stop:step], rate_hz=200.0, zero_frames=None) for p in whole.plates)
    return replace(whole.with_markers(replace(whole.markers, positions=positions)), plates=tuple(plates), first_frame=1)


@pytest.fixture(scope="module")
def session(short_walk: Recording, laboratory: Laboratory, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An OpenCap session with forces."""
    folder = tmp_path_factory.mktemp("opencap") / "OpenCapData_P07"
    for name in ("MarkerData", "ForceData"):
        (folder / name).mkdir(parents=True)
    write_trc(folder / "MarkerData" / "walk1.trc", short_walk.markers)
    standing = read(laboratory.static).markers
    write_trc(folder / "MarkerData" / "neutral.trc", replace(standing, positions=standing.positions[:60]))
    write_forces(folder / "ForceData" / "walk1_forces.mot", short_walk)
    (folder / "sessionMetadata.yaml").write_text("gender_mf: f\nheight_m: 1.70\nmass_kg: 61.5\nsubjectID: P07\n")
    return folder


def test_an_opencap_session_is_a_study(session: Path) -> None:
    plan = Study.open(session.parent).plan
    (trial,) = plan.trials
    assert (trial.subject, trial.trial) == ("P07", "walk1")
    assert trial.static is not None
    assert trial.static.name == "neutral.trc"
    roles = {file.path.name: file.role for file in plan.files}
    assert roles == {"walk1.trc": "walk", "neutral.trc": "static"}
    walk = read(session / "MarkerData" / "walk1.trc")
    assert (walk.subject.mass_kg, walk.subject.height_m, walk.subject.sex) == (61.5, 1.7, "female")
    assert walk.subject.file == "sessionMetadata.yaml"
    assert len(walk.plates) == 3
    assert {path.name for path, _ in walk.also_read} == {"walk1_forces.mot", "sessionMetadata.yaml"}


def test_a_trial_is_done_again_where_its_forces_change(session: Path) -> None:
    study = Study.open(session.parent)
    (trial,) = study.plan.trials
    before = trial_key(trial, study.plan.root)
    forces = session / "ForceData" / "walk1_forces.mot"
    assert forces in [path.resolve() for path in files_of_recording(session / "MarkerData" / "walk1.trc")]
    whole = forces.read_bytes()
    forces.write_bytes(whole.replace(b"walk1_forces", b"walk1_changed"))
    assert trial_key(trial, study.plan.root) != before
    forces.write_bytes(whole)
    assert trial_key(trial, study.plan.root) == before


def test_of_a_recording_that_was_exported_twice_the_c3d_counts(
    session: Path, laboratory: Laboratory, tmp_path: Path
) -> None:
    shutil.copy(laboratory.walk, tmp_path / "walk1.c3d")
    shutil.copy(session / "MarkerData" / "walk1.trc", tmp_path / "walk1.trc")
    plan = Study.open(tmp_path).plan
    assert [trial.path.name for trial in plan.trials] == ["walk1.c3d"]
    (other,) = (file for file in plan.files if file.path.suffix == ".trc")
    assert (other.role, other.reason) == ("other", "It contains the same recording as 'walk1.c3d'.")


def test_layouts_end_in_any_kind_of_recording() -> None:
    assert layout_matcher("{subject}/{trial}").fullmatch("P1/walk.trc")
    assert layout_matcher("{subject}/{trial}").fullmatch("P1/walk.C3D")
    assert layout_matcher("{subject}/{trial}.trc").fullmatch("P1/walk.trc")
    assert not layout_matcher("{subject}/{trial}.trc").fullmatch("P1/walk.c3d")
