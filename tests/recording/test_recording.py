"""A recording says what it holds, gives it in another frame, and says in one sentence what it does not hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from biodyn.errors import InputFileError
from biodyn.recording import Coordinates, ForcePlate, Markers, Recording, SegmentPoses, StoredMotion

R_WL = Rotation.from_euler("xyz", [-90.0, 0.0, 90.0], degrees=True).as_matrix()
ROTATIONS = Rotation.from_rotvec(np.random.default_rng(1).normal(size=(8, 3))).as_matrix().reshape(4, 2, 3, 3)
ORIGINS = np.random.default_rng(2).normal(size=(4, 2, 3))
MARKERS = Markers(("A", "B"), ORIGINS + 1.0, 50.0)
POSES = SegmentPoses(("thigh", "shank"), ROTATIONS, ORIGINS, 50.0)
COORDINATES = Coordinates(("hip_flexion_r", "pelvis_tx"), ORIGINS[:, 0, :2], ("rad", "m"), 50.0)


def recording(**motion: Any) -> Recording:
    plate = ForcePlate(1, 2, np.eye(4, 3), np.zeros(3), np.zeros((4, 6)), 50.0)
    return Recording(Path("walk.c3d"), "", StoredMotion(**motion), (plate,), vertical=np.array([0.0, 0.0, 1.0]))


def test_what_is_there_is_given() -> None:
    whole = recording(markers=MARKERS, poses=POSES, coordinates=COORDINATES)
    assert (whole.markers, whole.poses, whole.coordinates) == (MARKERS, POSES, COORDINATES)
    assert whole.motion.available_forms() == ("markers", "segment poses", "joint coordinates")


@pytest.mark.parametrize(
    ("part", "what"), [("markers", "markers"), ("poses", "segment poses"), ("coordinates", "joint coordinates")]
)
def test_what_is_missing_is_said_in_one_sentence(part: str, what: str) -> None:
    with pytest.raises(InputFileError, match=rf"'walk.c3d' contains no {what}; it contains force plates\. Give "):
        getattr(recording(), part)
    everything = {"markers": MARKERS, "poses": POSES, "coordinates": COORDINATES}
    del everything[part]
    with pytest.raises(InputFileError, match=f"contains no {what}; it contains (markers|segment poses), "):
        getattr(recording(**everything), part)


def test_another_frame() -> None:
    turned = recording(markers=MARKERS, poses=POSES, coordinates=COORDINATES).rotated(R_WL)
    np.testing.assert_array_equal(turned.markers.positions, MARKERS.positions @ R_WL.T)
    np.testing.assert_array_equal(turned.plates[0].corners, np.eye(4, 3) @ R_WL.T)
    assert turned.vertical is not None
    np.testing.assert_array_equal(turned.vertical, R_WL[:, 2])
    assert turned.coordinates is COORDINATES
    # a point fixed to a segment ends where its own position is turned to
    p_BP = np.array([0.1, 0.2, -0.3])
    p_LP = POSES.rotations @ p_BP + POSES.origins
    np.testing.assert_allclose(turned.poses.rotations @ p_BP + turned.poses.origins, p_LP @ R_WL.T, atol=1e-14)
    back = turned.poses.rotated(R_WL.T)
    np.testing.assert_allclose(back.rotations, POSES.rotations, atol=1e-14)
    np.testing.assert_allclose(back.origins, POSES.origins, atol=1e-14)


def test_a_recording_without_motion_can_be_turned() -> None:
    assert recording().rotated(R_WL).motion == StoredMotion()


def test_time_counts_from_the_first_frame() -> None:
    for motion in (MARKERS, POSES, COORDINATES):
        assert motion.frame_count == 4
        np.testing.assert_array_equal(motion.time_s, [0.0, 0.02, 0.04, 0.06])


def test_a_coordinate_by_its_name() -> None:
    np.testing.assert_array_equal(COORDINATES.column("pelvis_tx"), ORIGINS[:, 0, 1])
    with pytest.raises(KeyError):
        COORDINATES.column("knee_angle_r")


def test_segments_that_were_not_seen() -> None:
    rotations, origins = ROTATIONS.copy(), ORIGINS.copy()
    rotations[1, 0], origins[1, 0] = np.nan, np.nan
    turned = SegmentPoses(POSES.labels, rotations, origins, 50.0).rotated(R_WL)
    np.testing.assert_array_equal(np.isnan(turned.origins[..., 0]), np.isnan(origins[..., 0]))
    np.testing.assert_array_equal(np.isnan(turned.rotations[..., 0, 0]), np.isnan(origins[..., 0]))
