"""Markers that an export stored at the plates' rate: the analysis is that of the cameras' frames, wherever markers enter."""

from __future__ import annotations

import json

import numpy as np
import pytest
from support.upsampled import WAYS, write_upsampled

from biodyn.io import read
from biodyn.simulation import Person, TrialOptions, session
from biodyn.trial.export import export
from biodyn.trial.files import read_files
from biodyn.trial.inspect import check_file
from biodyn.trial.run import analyse_trial, run_trial

QUICK = {"uncertainty": {"compute": False}}
EVERY = 10


@pytest.fixture(scope="module")
def trials():
    person = Person("P", height_m=1.7, mass_kg=62.0, sex="female")
    return dict(zip(("static", "walk"), session(person, TrialOptions(noise_mm=0.3, seed=3)), strict=True))


@pytest.fixture(scope="module")
def plain(trials, tmp_path_factory):
    """The session as the cameras recorded it: paths, and the walk's analysis."""
    folder = tmp_path_factory.mktemp("plain")
    paths = {name: write_upsampled(folder / f"{name}.c3d", trial, 1, "repeats") for name, trial in trials.items()}
    return paths, analyse_trial(paths["walk"], paths["static"], settings=QUICK)


@pytest.mark.parametrize("way", WAYS)
def test_torques_are_those_of_the_cameras_frames(trials, plain, way, tmp_path):
    """Measured frames are stored to the last digit, so the same numbers are computed with: nothing differs but sums' order."""
    for name, trial in trials.items():
        write_upsampled(tmp_path / f"{name}.c3d", trial, EVERY, way)
    found = analyse_trial(tmp_path / "walk.c3d", tmp_path / "static.c3d", settings=QUICK)
    expected = plain[1]
    np.testing.assert_array_equal(found.dynamics.torque_valid, expected.dynamics.torque_valid)
    valid = expected.dynamics.torque_valid
    assert np.abs(found.dynamics.torques - expected.dynamics.torques)[valid].max() < 1e-6  # Nm
    assert [event.time_s for event in found.events] == [event.time_s for event in expected.events]
    assert {note.code for note in found.diagnostics} == {note.code for note in expected.diagnostics} | {
        "markers-upsampled"
    }
    assert (found.verdict.status, expected.verdict.status) == ("pass", "pass")


def test_all_that_is_made_of_it_is_of_the_cameras_frames(trials, plain, tmp_path):
    for name, trial in trials.items():
        write_upsampled(tmp_path / f"{name}.c3d", trial, EVERY, "lines", trimmed=3)
    result = run_trial(tmp_path / "walk.c3d", tmp_path / "static.c3d", settings=QUICK)
    frames = len(trials["walk"].time_s) - 1  # the first is cut off
    folder = result.save(tmp_path / "out")
    record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    made = record["input"]
    assert (made["rate_hz"], made["frames"], made["first_frame"], made["frame_step"]) == (100.0, frames, 11, EVERY)
    assert "markers-upsampled" in {note["code"] for note in record["diagnostics"]}
    told = check_file(tmp_path / "walk.c3d")
    assert f"{frames} frames at 100 Hz, first frame 11" in "\n".join(told.lines)
    assert "markers-upsampled" in {note.code for note in told.diagnostics}
    export(result, "opensim", tmp_path / "opensim")
    table = read(next((tmp_path / "opensim").rglob("markers.trc")), "none").markers
    assert table.rate_hz == pytest.approx(100.0)
    # a C3D goes back with its own frames: measured ones exactly, others on the line between
    export(result, "c3d", tmp_path / "c3d")
    back = read(tmp_path / "c3d" / "walk.c3d")
    assert back.frame_step == EVERY
    expected = result.joint_angles["knee_angle_r_deg"].to_numpy()
    written = back.model_outputs["RKneeAngles"].values[:, 0]
    known = np.isfinite(expected)
    assert known.sum() > 0.9 * frames
    np.testing.assert_allclose(written[known], expected[known], atol=1e-4)  # single precision


def test_frames_of_standing_are_counted_as_the_file_counts_them(trials, tmp_path):
    path = write_upsampled(tmp_path / "static.c3d", trials["static"], EVERY, "repeats")
    walk = write_upsampled(tmp_path / "walk.c3d", trials["walk"], EVERY, "repeats")
    assert read_files(walk, path, static_frames=(201, 900)).standing_rows == (20, 89)
