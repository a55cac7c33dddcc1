"""MATLAB files of Qualisys Track Manager are read as the C3D of the same trial."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.io import loadmat, savemat
from support.sessions import Laboratory
from support.vendor_exports import write_qtm_mat

from biodyn.errors import InputFileError
from biodyn.io import read
from biodyn.io.qualisys_mat import holds_measurement
from biodyn.processing.signals.plates import plate_wrench
from biodyn.recording import Recording
from biodyn.study.discovery.files import take_inventory
from biodyn.trial.run import analyse_trial

QUICK = {"uncertainty": {"compute": False}}
TO_Y_UP = np.array([[1.0, 0, 0], [0, 0, 1.0], [0, -1.0, 0]])  # plates are solved in axes whose Y points up


def wrenches(recording: Recording) -> np.ndarray:
    """(plates, T, 6) about the laboratory's origin."""
    markers = recording.markers
    plates = (plate.rotated(TO_Y_UP) for plate in recording.plates)
    return np.array([plate_wrench(plate, markers.frame_count, markers.rate_hz).wrench for plate in plates])


@pytest.mark.parametrize("axes", ["plate", "laboratory"])
@pytest.mark.parametrize(("sense", "orientation"), [(-1.0, True), (1.0, False)])
def test_a_measurement_is_read_with_its_plates_and_events(
    laboratory: Laboratory, tmp_path: Path, axes, sense, orientation
) -> None:
    trial = laboratory.trials["walk"]
    found = read(write_qtm_mat(tmp_path / "walk.mat", trial, axes, sense, orientation, first_frame=51))
    truth = read(laboratory.walk)
    assert found.markers.labels == truth.markers.labels
    assert (found.markers.rate_hz, found.first_frame) == (truth.markers.rate_hz, 51)
    np.testing.assert_allclose(found.markers.positions, truth.markers.positions, atol=1e-6)  # the C3D's are single
    assert [(e.side, e.kind) for e in found.events] == [(e.side, e.kind) for e in truth.events]
    # frames' numbers are whole
    np.testing.assert_allclose([e.time_s for e in found.events], [e.time_s for e in truth.events], atol=0.0051)
    for plate, true in zip(found.plates, truth.plates, strict=True):
        assert plate.outlined
        np.testing.assert_allclose(plate.corners, true.corners, atol=1e-6)
    mine, theirs = wrenches(found), wrenches(truth)
    loaded = theirs[..., 4] > 20.0
    difference = np.abs(mine - theirs)[loaded]
    assert difference[:, :3].max() < 0.02
    assert difference[:, 3:].max() < 0.01
    assert not [note for note in found.diagnostics if note.severity == "warning"]


def test_a_study_takes_measurements_and_passes_over_other_files_of_matlab(
    laboratory: Laboratory, tmp_path: Path
) -> None:
    write_qtm_mat(tmp_path / "walk.mat", laboratory.trials["walk"])
    savemat(tmp_path / "results.mat", {"moments": np.eye(3)})
    (tmp_path / "notes.mat").write_text("no file of MATLAB")
    assert [file.path.name for file in take_inventory(tmp_path).files] == ["walk.mat"]
    assert [holds_measurement(tmp_path / f"{name}.mat") for name in ("walk", "results", "notes")] == [
        True,
        False,
        False,
    ]


def test_one_marker_and_one_frame_keep_their_shapes(laboratory: Laboratory, tmp_path: Path) -> None:
    points = np.full((3, 4, 1), 7.0)
    labelled = {"Labels": np.array(["A", "A", "B"], dtype=object), "Data": points}
    savemat(tmp_path / "walk.mat", {"w": {"FrameRate": 100.0, "Frames": 1.0, "Trajectories": {"Labeled": labelled}}})
    with pytest.raises(InputFileError, match="1 row"):
        read(tmp_path / "walk.mat")


def spoilt(path: Path, change) -> Path:
    """The file with its variable changed."""
    stored = loadmat(path, struct_as_record=True)
    values = {name: value for name, value in stored.items() if not name.startswith("__")}
    savemat(path, change(values))
    return path


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda v: {"angles": np.eye(2)}, "no measurement of Qualisys Track Manager"),
        (lambda v: {"a": v["qtm_walk"], "b": v["qtm_walk"]}, "holds 2 measurements"),
        (lambda v: {"w": {"FrameRate": 100.0, "Trajectories": {"Unidentified": 1.0}}}, "it has no Labeled"),
        (
            lambda v: {
                "w": {"FrameRate": 1e9, "Trajectories": {"Labeled": {"Labels": "A", "Data": np.ones((1, 4, 9))}}}
            },
            "1e\\+09 frames or samples per second are impossible",
        ),
        (
            lambda v: {
                "w": {"FrameRate": 9.0, "Trajectories": {"Labeled": {"Labels": "A", "Data": np.ones((1, 2, 9))}}}
            },
            "Data is 1 x 2 x 9",
        ),
    ],
)
def test_what_is_no_measurement_is_refused_in_one_sentence(
    laboratory: Laboratory, tmp_path: Path, change, sentence
) -> None:
    path = spoilt(write_qtm_mat(tmp_path / "walk.mat", laboratory.trials["walk"]), change)
    with pytest.raises(InputFileError, match=sentence):
        read(path)


@pytest.mark.parametrize("kept", [40, 128, 400, 20_000])
def test_cut_files_and_those_of_matlab_7_3_are_refused(laboratory: Laboratory, tmp_path: Path, kept) -> None:
    path = write_qtm_mat(tmp_path / "walk.mat", laboratory.trials["walk"])
    whole = path.read_bytes()
    path.write_bytes(whole[:kept])
    with pytest.raises(InputFileError, match=r"no sound file of MATLAB|no measurement"):
        read(path)
    path.write_bytes(whole.replace(b"MATLAB 5.0", b"MATLAB 7.3", 1))
    with pytest.raises(InputFileError, match=r"MATLAB 7\.3"):
        read(path)


@pytest.mark.slow
def test_a_walk_is_analysed_without_any_set_up(laboratory: Laboratory, tmp_path: Path) -> None:
    for name in ("static", "walk"):
        write_qtm_mat(tmp_path / f"{name}.mat", laboratory.trials[name])
    found, truth = analyse_trial(tmp_path / "walk.mat", settings=QUICK), analyse_trial(laboratory.walk, settings=QUICK)
    assert [contact.side for contact in found.contacts] == [contact.side for contact in truth.contacts]
    # widths and height are estimated where no file stores them: knees lie 5 mm elsewhere; measured .02
    apart = (found.dynamics.torques - truth.dynamics.torques)[:, 6:] / truth.subject.mass_kg
    assert float(np.sqrt(np.nanmean(apart**2))) < 0.04
