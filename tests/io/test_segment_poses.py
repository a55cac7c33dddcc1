"""C3D files that hold poses of segments: read as written and as ezc3d reads them, refused in a sentence where damaged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import ezc3d
import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from simulator.c3d_writer import C3dContent, write_c3d

from biodyn.conventions import FloatArray
from biodyn.errors import InputFileError
from biodyn.io import read, read_facts, read_preview

LABELS = ("worldbody_4X4", "pelvis_4X4", "l_thigh_4X4", "r_thigh_4X4", "r_shank_4X4")
FRAMES = 40


def matrices() -> FloatArray:
    rng = np.random.default_rng(4)
    poses = np.zeros((FRAMES, len(LABELS), 4, 4))
    turns = Rotation.random(FRAMES * len(LABELS), rng=rng).as_matrix()
    poses[..., :3, :3] = turns.reshape(FRAMES, len(LABELS), 3, 3)
    heights = np.array([0.0, 1000.0, 900.0, 900.0, 450.0])
    poses[..., :3, 3] = rng.uniform(-50.0, 50.0, (FRAMES, len(LABELS), 3))
    poses[..., 2, 3] += heights
    poses[..., 3, 3] = 1.0
    return poses


def content(poses: FloatArray | None = None, **changes: object) -> C3dContent:
    made = matrices() if poses is None else poses
    return replace(C3dContent([], np.zeros((FRAMES, 0, 3)), 100.0, segments=LABELS, poses=made), **changes)  # type: ignore[arg-type]


def test_poses_are_read_as_written_and_as_ezc3d_reads_them(tmp_path: Path) -> None:
    path = tmp_path / "pose_filt_0.c3d"
    write_c3d(path, content())
    poses = read(path).poses
    theirs = ezc3d.c3d(str(path))["data"]["rotations"].transpose(3, 2, 0, 1)
    assert poses.labels == LABELS
    assert poses.rate_hz == 100.0
    np.testing.assert_array_equal(poses.rotations, theirs[..., :3, :3])
    np.testing.assert_allclose(poses.origins, 1e-3 * theirs[..., :3, 3], rtol=1e-15)
    np.testing.assert_allclose(theirs, matrices(), atol=1e-4)


def test_points_stand_for_the_poses_of_the_body(tmp_path: Path) -> None:
    path = tmp_path / "poses.c3d"
    write_c3d(path, content())
    recording = read(path)
    markers, poses = recording.markers, recording.poses
    assert recording.uses_poses
    assert recording.motion.available_forms() == ("segment poses",)
    assert {label.rpartition(".")[0] for label in markers.labels} == set(LABELS) - {"worldbody_4X4"}
    four = markers.positions[:, [markers.index(f"pelvis_4X4.{k}") for k in (1, 2, 3, 4)]]
    np.testing.assert_allclose(four.mean(axis=1), poses.pose("pelvis_4X4")[1], atol=1e-12)
    assert read_facts(path).segments == set(LABELS)
    assert read_facts(path).frame_count == FRAMES
    assert read_preview(path).frame_count == FRAMES


def test_points_and_samples_beside_poses_are_read_too(tmp_path: Path) -> None:
    path = tmp_path / "both.c3d"
    rng = np.random.default_rng(2)
    positions = rng.uniform(0.0, 1500.0, (FRAMES, 12, 3))
    samples = rng.normal(size=(FRAMES * 10, 3))
    made = replace(
        C3dContent([f"M{i}" for i in range(12)], positions, 100.0, segments=LABELS, poses=matrices()),
        analog=samples,
        analog_labels=["a", "b", "c"],
        analog_units=["V"] * 3,
    )
    write_c3d(path, made)
    recording = read(path)
    assert not recording.uses_poses
    np.testing.assert_allclose(recording.markers.positions, 1e-3 * positions, atol=1e-6)
    np.testing.assert_allclose(recording.poses.rotations, matrices()[..., :3, :3], atol=1e-6)


def test_frames_in_which_a_segment_is_not_seen_are_gaps(tmp_path: Path) -> None:
    path = tmp_path / "gaps.c3d"
    made, reliability = matrices(), np.full((FRAMES, len(LABELS)), 0.8)
    made[3, 1], made[4, 1] = np.nan, 0.0
    reliability[5, 1], reliability[6, 1] = 0.0, -1.0
    write_c3d(path, content(made, reliability=reliability))
    seen = np.isfinite(read(path).poses.origins[:, 1, 0])
    assert np.flatnonzero(~seen).tolist() == [3, 4, 5, 6]


def test_a_file_that_tells_no_reliability_is_believed(tmp_path: Path) -> None:
    path = tmp_path / "zeros.c3d"
    write_c3d(path, content(reliability=np.zeros((FRAMES, len(LABELS)))))
    assert np.isfinite(read(path).poses.origins).all()


def test_matrices_of_few_digits_become_rotations(tmp_path: Path) -> None:
    path = tmp_path / "rounded.c3d"
    made = matrices()
    made[..., :3, :3] = np.round(made[..., :3, :3], 3)
    write_c3d(path, content(made))
    recording = read(path)
    R = recording.poses.rotations
    np.testing.assert_allclose(R @ R.swapaxes(2, 3), np.broadcast_to(np.eye(3), R.shape), atol=2e-4)
    assert "recording-repaired" in [note.code for note in recording.diagnostics]


def test_a_broken_matrix_counts_as_not_seen(tmp_path: Path) -> None:
    path = tmp_path / "one.c3d"
    made = matrices()
    made[7, 2, :3, :3] *= 1.5
    write_c3d(path, content(made))
    recording = read(path)
    assert not np.isfinite(recording.poses.origins[7, 2]).any()
    assert "recording-repaired" in [note.code for note in recording.diagnostics]


def mirrored(poses: FloatArray) -> FloatArray:
    poses[..., :3, 0] *= -1.0
    return poses


def transposed(poses: FloatArray) -> FloatArray:
    return poses.swapaxes(2, 3)


@pytest.mark.parametrize("spoil", [mirrored, transposed, lambda poses: 2.0 * poses])
def test_matrices_that_are_no_poses_are_refused(tmp_path: Path, spoil: Callable[[FloatArray], FloatArray]) -> None:
    path = tmp_path / "spoilt.c3d"
    write_c3d(path, content(spoil(matrices())))
    with pytest.raises(InputFileError, match="not right-handed rotation"):
        read(path)


def test_a_truncated_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "short.c3d"
    write_c3d(path, content())
    path.write_bytes(path.read_bytes()[:-400])
    with pytest.raises(InputFileError, match="truncated"):
        read(path)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("USED", 6, "6 segments"),
        ("USED", 9, "9 segments"),
        ("DATA_START", 1, "truncated"),
        ("DATA_START", 999, "truncated"),
        ("FRAMES", 41, "is inconsistent"),
        ("RATIO", 7, "is inconsistent"),
        ("LABELS", ["pelvis_4X4"] * 5, "1 different labels"),
        ("LABELS", ["a", "b", "c", "d", "e"], "an unknown system"),
    ],
)
def test_wrong_counts_and_names_are_refused(tmp_path: Path, name: str, value: object, words: str) -> None:
    path = tmp_path / "counts.c3d"
    given = content()
    write_c3d(path, replace(given, overrides={"ROTATION": {name: value}}))
    with pytest.raises(InputFileError, match=words):
        read(path)


@pytest.mark.parametrize("block", [0, 20_000])
def test_where_no_points_are_does_not_matter(tmp_path: Path, block: int) -> None:
    path = tmp_path / "elsewhere.c3d"
    write_c3d(path, content())
    expected = read(path).poses.origins
    data = bytearray(path.read_bytes())
    data[16:18] = block.to_bytes(2, "little")  # the header's first block of data
    path.write_bytes(bytes(data))
    np.testing.assert_array_equal(read(path).poses.origins, expected)


def test_poses_that_are_never_seen_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "nobody.c3d"
    write_c3d(path, content(np.full_like(matrices(), np.nan)))
    with pytest.raises(InputFileError, match="none is seen"):
        read(path)


def test_landmarks_that_the_file_tells_are_read(tmp_path: Path) -> None:
    path = tmp_path / "landmarks.c3d"
    labels = ("pelvis_4X4", "r_thigh_4X4", "r_shank_4X4", "r_foot_4X4", "r_toes_4X4")
    told = {"THEIA3D": {"RHEEL_POS": np.array([0.0, -0.05, -0.06]), "RTOE_LENGTH": "0.06", "LHEEL_POS": "none"}}
    write_c3d(path, replace(content(), segments=labels, parameters=told))
    landmarks = read(path).poses.landmarks
    assert landmarks.keys() == {"heel_r", "toe_tip_r"}
    np.testing.assert_allclose(landmarks["heel_r"][1], [0.0, -0.05, -0.06], atol=1e-7)
    np.testing.assert_allclose(landmarks["toe_tip_r"][1], [0.0, 0.06, 0.0])
