"""Column maps: plates by their six components, poses, constants, coordinates; and maps that cannot be right."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.sessions import Laboratory
from support.spreadsheets import COMPONENTS, write_markers, write_plates, write_poses, write_sheet
from support.stick_person import LABELS, person_mm

from biodyn.errors import InputFileError
from biodyn.io import files_of_recording, read, read_facts
from biodyn.processing.signals.plate_wrenches import plate_wrench
from biodyn.processing.signals.world_frame import find_world
from biodyn.recording import Recording, SegmentPoses
from biodyn.trial.inspection import check_file

FRAMES = 20
TIMES = np.arange(FRAMES) / 100.0
SEGMENTS = ("pelvis", "femur_r", "tibia_r", "calcn_r")


@pytest.fixture(scope="module")
def half_second(laboratory: Laboratory) -> Recording:
    """The middle of the simulated walk, in which a foot is on a plate."""
    whole = read(laboratory.walk)
    ratio = round(whole.plates[0].rate_hz / whole.markers.rate_hz)
    first, stop = 140, 190
    plates = (replace(p, channels=p.channels[first * ratio : stop * ratio], zero_frames=None) for p in whole.plates)
    markers = replace(whole.markers, positions=whole.markers.positions[first:stop])
    return replace(whole.with_markers(markers), plates=tuple(plates))


def test_plates_by_their_six_components_are_those_of_the_c3d(half_second: Recording, tmp_path: Path) -> None:
    path = write_markers(tmp_path / "walk1.csv", half_second, digits=12)
    forces = write_plates(tmp_path / "walk1_forces.csv", half_second, digits=12)
    found = read(path)
    assert [file.name for file, _ in found.also_read] == ["walk1_forces.csv", "walk1_forces.columns.toml"]
    assert set(files_of_recording(path)[1:]) == {
        forces.resolve(),
        forces.resolve().with_name("walk1_forces.columns.toml"),
    }
    for ours, theirs in zip(found.plates, half_second.plates, strict=True):
        assert ours.outlined
        assert ours.rate_hz == theirs.rate_hz
        np.testing.assert_allclose(ours.corners, theirs.corners, atol=1e-12)
        np.testing.assert_allclose(ours.origin, theirs.origin, atol=1e-12)
        np.testing.assert_allclose(ours.channels, theirs.channels, atol=1e-7)
    np.testing.assert_allclose(found.markers.positions, half_second.markers.positions, atol=1e-9)
    check = "\n".join(check_file(path).lines)
    assert "Plate 1: type 2, 0.60 x 0.40 m" in check or "Plate 1: type 2, 0.40 x 0.60 m" in check
    named = read(path, forces)
    np.testing.assert_array_equal(named.plates[0].channels, found.plates[0].channels)


@pytest.mark.parametrize("turn", range(4))
def test_forces_in_the_axes_of_the_laboratory_are_the_same_plate(
    half_second: Recording, tmp_path: Path, turn: int
) -> None:
    """Whichever corner is named first, and wherever the moments are about."""
    plate = max(half_second.plates, key=lambda p: float(np.abs(p.channels[:, 2]).max()))
    R_WL, about = find_world(half_second).R_WL, np.array([0.3, -0.2, 0.5])
    world = half_second.rotated(R_WL)
    frames, rate_hz = half_second.markers.frame_count, half_second.markers.rate_hz
    wrench = plate_wrench(world.plates[half_second.plates.index(plate)], frames, rate_hz).wrench
    force = wrench[:, 3:] @ R_WL
    moment = wrench[:, :3] @ R_WL - np.cross(about, force)
    corners = np.roll(plate.corners, turn, axis=0).tolist()
    (tmp_path / "grf.columns.toml").write_text(
        f"[[plates]]\nforce = ['Fx', 'Fy', 'Fz']\nmoment = ['Mx', 'My', 'Mz']\naxes = 'laboratory'\ncorners = {corners}\n"
        f"about = {about.tolist()}\n"
    )
    values = np.hstack([force, moment])
    write_sheet(tmp_path / "grf.csv", COMPONENTS, np.arange(len(values)) / plate.rate_hz, values, digits=12)
    path = write_markers(tmp_path / "walk.csv", half_second)
    (found,) = read(path, tmp_path / "grf.csv").rotated(R_WL).plates
    again = plate_wrench(found, frames, rate_hz).wrench
    offset = np.median(wrench - again, axis=0)  # what is taken off as the zero of a plate was taken off before
    np.testing.assert_allclose(again + offset, wrench, atol=1e-6)
    assert np.abs(offset).max() < 1.0


def _poses() -> SegmentPoses:
    turns = Rotation.random(FRAMES * len(SEGMENTS), rng=np.random.default_rng(3)).as_matrix()
    origins = np.array([[0.0, 0.0, height] for height in (1.0, 0.9, 0.5, 0.1)]) + np.zeros((FRAMES, 1, 1))
    return SegmentPoses(SEGMENTS, turns.reshape(FRAMES, len(SEGMENTS), 3, 3), origins, 100.0)


@pytest.mark.parametrize("matrix", [False, True])
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_poses_are_read_by_their_names(tmp_path: Path, suffix: str, matrix: bool) -> None:
    path = write_poses(tmp_path / f"poses{suffix}", _poses(), matrix)
    found = read(path)
    assert found.uses_poses
    np.testing.assert_allclose(found.poses.rotations, _poses().rotations, atol=1e-10)
    np.testing.assert_allclose(found.poses.origins, _poses().origins, atol=1e-10)
    assert read_facts(path).segments == set(SEGMENTS)
    assert "axes and joints of ISB axes" in "\n".join(check_file(path).lines)


def test_a_map_names_poses_and_the_unit_of_their_origins(tmp_path: Path) -> None:
    poses = _poses()
    quaternions = Rotation.from_matrix(poses.rotations.reshape(-1, 3, 3)).as_quat(scalar_first=True)
    values = np.concatenate([1000.0 * poses.origins, quaternions.reshape(FRAMES, -1, 4)], axis=2).reshape(FRAMES, -1)
    names = [f"{k}{letter}" for k in range(len(SEGMENTS)) for letter in "abcdefg"]
    entries = "".join(
        f"[poses.{label}]\norigin = ['{k}a', '{k}b', '{k}c']\nquaternion = ['{k}d', '{k}e', '{k}f', '{k}g']\n"
        for k, label in enumerate(SEGMENTS)
    )
    (tmp_path / "own.columns.toml").write_text(f"length = 'mm'\n{entries}")
    found = read(write_sheet(tmp_path / "own.csv", names, TIMES, values, digits=14)).poses
    np.testing.assert_allclose(found.rotations, poses.rotations, atol=1e-12)
    np.testing.assert_allclose(found.origins, poses.origins, atol=1e-12)


POINTS = [f"{label}_{axis}" for label in LABELS for axis in "XYZ"]
MARKERS = person_mm(FRAMES).reshape(FRAMES, -1)
FORCES = ["Fx", "Fy", "Fz", "Cx", "Cy", "Tz"]
LOADED = np.tile([10.0, 20.0, 700.0, 0.1, 0.2, 5.0], (FRAMES, 1))


def _sheet(folder: Path, text: str) -> Path:
    (folder / "own.columns.toml").write_text(text)
    return write_sheet(folder / "own.csv", [*POINTS, *FORCES], TIMES, np.hstack([MARKERS, LOADED]))


def test_a_number_in_a_map_holds_in_every_row(tmp_path: Path) -> None:
    text = "[[forces]]\nforce = ['Fx', 'Fy', 'Fz']\npoint = ['Cx', 'Cy', 0.03]\nmoment = [0, 0, 'Tz']\n"
    recording = read(_sheet(tmp_path, text))
    (plate,) = recording.plates
    np.testing.assert_allclose(plate.corners[:, 2], 0.03)
    wrench = plate_wrench(recording.rotated(find_world(recording).R_WL).plates[0], FRAMES, 100.0).wrench
    np.testing.assert_allclose(wrench[:, 4], 700.0)
    place = np.array([0.1, 0.2, 0.03])
    moment = np.array([0.0, 0.0, 5.0]) + np.cross(place, [10.0, 20.0, 700.0])
    np.testing.assert_allclose(wrench[:, :3] @ find_world(recording).R_WL, np.tile(moment, (FRAMES, 1)), atol=1e-9)


PLATE = "[[plates]]\nforce = ['Fx', 'Fy', 'Fz']\nmoment = ['Cx', 'Cy', 'Tz']\ncorners = {}\n"
SQUARE = "[[0, 0, 0], [0.6, 0, 0], [0.6, 0.4, 0], [0, 0.4, 0]]"
WRONG_MAPS = {
    "a plate of half a kilometre": (
        PLATE.format(SQUARE.replace("0.", "600.").replace("0.4", "400")),
        "corners of plate 1",
    ),
    "corners that are crossed": (PLATE.format("[[0,0,0], [0.6,0.4,0], [0.6,0,0], [0,0.4,0]]"), "corners of plate 1"),
    "three corners": (PLATE.format("[[0,0,0], [0.6,0,0], [0.6,0.4,0]]"), "corners"),
    "one column for two things": (PLATE.format(SQUARE).replace("'Cx'", "'Fx'"), "'Fx' twice"),
    "a column that is not there": (PLATE.format(SQUARE).replace("'Tz'", "'Mz'"), "'Mz', which does not exist"),
    "a number for a plate's moment": (PLATE.format(SQUARE).replace("'Tz'", "0.0"), "moment"),
    "a force without a column": ("[[forces]]\nforce = [0, 0, 700]\npoint = ['Cx', 'Cy', 0]\n", "contains no column"),
    "a pose without a turn": ("[poses.pelvis]\norigin = ['Cx', 'Cy', 'Tz']\n", "quaternion"),
    "two columns for one marker": (
        "[markers]\nA = ['Cx', 'Cy']\nB = ['Fx', 'Fy', 'Fz']\n",
        "2 columns for the marker A",
    ),
    "one column for a marker": ("[markers]\nA = ['Cx']\n", "at least 2, found a list of 1"),
    "four columns for a marker": ("[markers]\nA = ['Cx', 'Cy', 'Fx', 'Fy']\n", "at most 3, found a list of 4"),
    "a coordinate whose name is another column's": ("[coordinates]\nFx = 'Tz'\n", "another column with this name"),
}


@pytest.mark.parametrize("case", WRONG_MAPS)
def test_a_map_that_cannot_be_right_is_one_sentence(tmp_path: Path, case: str) -> None:
    text, words = WRONG_MAPS[case]
    with pytest.raises(InputFileError, match=words) as refused:
        read(_sheet(tmp_path, text))
    assert len(refused.value.message.splitlines()) == 1


def test_moments_in_newton_millimetres_that_are_called_newton_metres_are_refused(
    half_second: Recording, tmp_path: Path
) -> None:
    forces = write_plates(tmp_path / "grf.csv", half_second)
    columns = tmp_path / "grf.columns.toml"
    columns.write_text(columns.read_text().replace("'Nmm'", "'Nm'"))
    with pytest.raises(InputFileError, match=r"have a lever arm of .* m"):
        read(write_markers(tmp_path / "walk.csv", half_second), forces)


def test_quaternions_that_are_none_are_refused(tmp_path: Path) -> None:
    path = write_poses(tmp_path / "poses.csv", _poses())
    first, *rows = path.read_text().splitlines()
    doubled = [",".join(f"{2.0 * float(cell):.9g}" for cell in row.split(",")) for row in rows]
    path.write_text("\n".join([first, *doubled]))
    with pytest.raises(InputFileError, match="not right-handed rotation matrices"):
        read(path)


def test_poses_of_segments_that_nobody_knows_are_refused(tmp_path: Path) -> None:
    poses = replace(_poses(), labels=("bone1", "bone2", "bone3", "bone4"))
    with pytest.raises(InputFileError, match="an unknown system"):
        read(write_poses(tmp_path / "poses.csv", poses))


def test_a_name_over_two_columns_is_read_where_they_are_equal_only(tmp_path: Path) -> None:
    same = write_sheet(tmp_path / "same.csv", [*POINTS, POINTS[0]], TIMES, np.hstack([MARKERS, MARKERS[:, :1]]))
    assert LABELS[0] in read(same).markers.labels
    other = write_sheet(tmp_path / "other.csv", [*POINTS, POINTS[0]], TIMES, np.hstack([MARKERS, MARKERS[:, 1:2]]))
    found = read(other)
    assert LABELS[0] not in found.markers.labels
    note, others = (note for note in found.diagnostics if note.code == "columns-not-read")
    assert f"several columns named '{POINTS[0]}'" in note.message
    assert f"not read: {POINTS[0]} (1)" in others.message
    three = [f"{POINTS[0]} (1)", *POINTS[1:3]]
    (tmp_path / "other.columns.toml").write_text(
        f"length = 'mm'\n[markers]\n{LABELS[0]} = {three}\nB = {POINTS[3:6]}\nC = {POINTS[6:9]}\n"
    )
    np.testing.assert_allclose(read(other).markers.positions[:, 0], read(same).markers.positions[:, 0], atol=1e-6)
