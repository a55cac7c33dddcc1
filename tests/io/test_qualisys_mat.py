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
from biodyn.processing.signals.plate_wrenches import plate_wrench
from biodyn.recording import Recording
from biodyn.session.inventory import take_inventory
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


def test_what_else_a_file_holds_is_not_read(laboratory: Laboratory, tmp_path: Path) -> None:
    path = write_qtm_mat(tmp_path / "walk.mat", laboratory.trials["walk"])
    stored = loadmat(path)
    deep: object = 1.0
    for _ in range(20):
        deep = {"d": deep}  # deeper than anything that is read
    savemat(path, {"a": deep, "qtm_walk": stored["qtm_walk"], "b": {"of": deep, "FrameRate": 1.0}})
    assert len(read(path).plates) == 3


def test_a_study_takes_measurements_and_passes_over_other_files_of_matlab(
    laboratory: Laboratory, tmp_path: Path
) -> None:
    write_qtm_mat(tmp_path / "walk.mat", laboratory.trials["walk"])
    savemat(tmp_path / "results.mat", {"moments": np.eye(3)})
    (tmp_path / "notes.mat").write_text("no file of MATLAB")
    assert [file.path.name for file in take_inventory(tmp_path)[0]] == ["walk.mat"]
    assert [holds_measurement(tmp_path / f"{name}.mat") for name in ("walk", "results", "notes")] == [
        True,
        False,
        False,
    ]


def test_one_marker_and_one_frame_keep_their_shapes(laboratory: Laboratory, tmp_path: Path) -> None:
    points = np.full((3, 4, 1), 7.0)
    labelled = {"Labels": np.array(["A", "A", "B"], dtype=object), "Data": points}
    savemat(tmp_path / "walk.mat", {"w": {"FrameRate": 100.0, "Frames": 1.0, "Trajectories": {"Labeled": labelled}}})
    with pytest.raises(InputFileError, match="fewer than two rows"):
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
        (lambda v: {"angles": np.eye(2)}, "not a measurement of Qualisys Track Manager"),
        (lambda v: {"a": v["qtm_walk"], "b": v["qtm_walk"]}, "holds 2 measurements"),
        (lambda v: {"w": {"FrameRate": 100.0, "Trajectories": {"Unidentified": 1.0}}}, "it has no Labeled"),
        (
            lambda v: {
                "w": {"FrameRate": 1e9, "Trajectories": {"Labeled": {"Labels": "A", "Data": np.ones((1, 4, 9))}}}
            },
            "1e\\+09 frames or samples per second are not possible",
        ),
        (
            lambda v: {
                "w": {"FrameRate": 9.0, "Trajectories": {"Labeled": {"Labels": "A", "Data": np.ones((1, 2, 9))}}}
            },
            "Data has the shape 1 x 2 x 9",
        ),
    ],
)
def test_what_is_no_measurement_is_refused_in_one_sentence(
    laboratory: Laboratory, tmp_path: Path, change, sentence
) -> None:
    path = spoilt(write_qtm_mat(tmp_path / "walk.mat", laboratory.trials["walk"]), change)
    with pytest.raises(InputFileError, match=sentence):
        read(path)


def changed(field: str, value: object, plate: int = 0):
    """A change of one field of one plate; `value` may be a function of what is there."""

    def change(variables):
        own = variables["qtm_walk"]["Force"][0, 0][field]
        own[0, plate] = value(own[0, plate]) if callable(value) else value
        return variables

    return change


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (changed("ForcePlateLocation", np.zeros((4, 3))), "its corners are not those of a plate: its sides would be 0"),
        (
            changed("ForcePlateLocation", np.full((4, 3), np.nan)),
            "its corners are not those of a plate: some coordinates are missing",
        ),
        (changed("ForcePlateLocation", np.empty((0, 0))), "ForcePlateLocation has the shape 0 x 0"),
        (changed("COP", np.empty((0, 0))), "COP has the shape 0 x 0"),
        (
            changed("Force", lambda force: np.where(force == force.max(), np.inf, force)),
            "Force contains implausibly large numbers",
        ),
        (changed("Frequency", 1e9), "1e+09 frames or samples per second are not possible"),
    ],
)
def test_a_plate_that_cannot_be_used_leaves_markers_and_other_plates(
    laboratory: Laboratory, tmp_path: Path, change, why
) -> None:
    found = read(spoilt(write_qtm_mat(tmp_path / "walk.mat", laboratory.trials["walk"]), change))
    truth = read(laboratory.walk)
    assert found.markers.labels == truth.markers.labels
    assert len(found.plates) == len(truth.plates) - 1
    np.testing.assert_allclose(found.plates[0].corners, truth.plates[1].corners, atol=1e-6)
    (note,) = [note for note in found.diagnostics if note.severity == "warning"]
    assert note.code == "forces-unusable"
    assert note.message.startswith(f"plate 1 of 'walk.mat' is not used: {why}")


def test_a_plate_of_another_rate_is_left_out_and_one_sample_more_is_none(
    laboratory: Laboratory, tmp_path: Path
) -> None:
    path, trial = tmp_path / "walk.mat", laboratory.trials["walk"]

    def longer(variables):
        for field in ("Force", "Moment", "COP"):
            variables = changed(field, lambda values: values[:, [*range(values.shape[1]), -1]], 1)(variables)
        return variables

    assert len(read(spoilt(write_qtm_mat(path, trial), longer)).plates) == 3
    for field in ("Frequency", "ForcePlateOrientation"):  # an empty one says nothing
        assert len(read(spoilt(write_qtm_mat(path, trial), changed(field, np.empty((0, 0))))).plates) == 3
    found = read(spoilt(write_qtm_mat(path, trial), changed("Frequency", lambda hz: 2.0 * hz, 1)))
    assert len(found.plates) == 2
    assert "samples at 2000 Hz" in next(n for n in found.diagnostics if n.code == "forces-unusable").message


def test_a_loaded_plate_without_a_centre_of_pressure_is_not_known_there(laboratory: Laboratory, tmp_path: Path) -> None:
    """It would act at the origin; a sample of little force without one carries nothing."""
    path = write_qtm_mat(tmp_path / "walk.mat", laboratory.trials["walk"], "laboratory")
    whole = loadmat(path)["qtm_walk"]["Force"][0, 0]["Force"][0, 0]
    up = np.abs(whole[2])
    loaded = np.flatnonzero(up > 0.8 * up.max())[:30]
    light = np.flatnonzero((up > 0.0) & (up < 0.05 * up.max()))

    def blank(pressure):
        pressure = pressure.copy()
        pressure[:, loaded] = pressure[:, light] = np.nan
        return pressure

    spoilt(path, changed("COP", blank))
    found = read(path)
    note = next(note for note in found.diagnostics if note.code == "forces-incomplete")
    assert note.value == len(loaded)
    channels = found.plates[0].channels
    assert np.isnan(channels[loaded]).all()
    assert len(light) > 0
    np.testing.assert_allclose(channels[light], 0.0, atol=1e-12)


def test_events_without_a_frame_are_named(laboratory: Laboratory, tmp_path: Path) -> None:
    path = write_qtm_mat(tmp_path / "walk.mat", laboratory.trials["walk"])
    count = len(read(path).events)

    def change(variables):
        frames = variables["qtm_walk"]["Events"][0, 0]["Frame"]
        frames[0, 0], frames[0, 1] = np.array([[np.nan]]), np.empty((0, 0))
        return variables

    found = read(spoilt(path, change))
    assert len(found.events) == count - 2
    assert "data-not-used" in {note.code for note in found.diagnostics}


def test_a_coordinate_without_end_is_not_seen(laboratory: Laboratory, tmp_path: Path) -> None:
    path = write_qtm_mat(tmp_path / "walk.mat", laboratory.trials["walk"])

    def change(variables):
        variables["qtm_walk"]["Trajectories"][0, 0]["Labeled"][0, 0]["Data"][0, 0][0, 1, 7] = np.inf
        return variables

    seen = read(spoilt(path, change)).markers.positions
    assert np.isnan(seen[7, 0]).all()
    assert np.isfinite(seen[8, 0]).all()


@pytest.mark.parametrize("kept", [40, 128, 400, 20_000])
def test_cut_files_and_those_of_matlab_7_3_are_refused(laboratory: Laboratory, tmp_path: Path, kept) -> None:
    path = write_qtm_mat(tmp_path / "walk.mat", laboratory.trials["walk"])
    whole = path.read_bytes()
    path.write_bytes(whole[:kept])
    with pytest.raises(InputFileError, match=r"not a valid MATLAB file|not a measurement"):
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
