"""Angles of the pelvis run on through time: turns, gaps, wrong poses, and the direction somebody walks in."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from biodyn.conventions import FloatArray
from biodyn.processing.signals.segment_angles import angles_from_heading, continuous_zxy, walking_heading

RATE_HZ = 100.0
T = 400
TIME = np.arange(T) / RATE_HZ
#: Tilt, list and rotation of a walking pelvis, rad.
WALK = np.deg2rad(np.column_stack([-12 + 2 * np.sin(12 * TIME), 5 * np.sin(6 * TIME), 8 * np.sin(6 * TIME + 1.0)]))


def matrices(angles: FloatArray) -> FloatArray:
    known = np.isfinite(angles).all(axis=1)
    R = np.full((len(angles), 3, 3), np.nan)
    R[known] = Rotation.from_euler("ZXY", angles[known]).as_matrix()
    return R


def turned(heading: float | FloatArray) -> FloatArray:
    """The walking pelvis with the whole body turned about the vertical."""
    about_y = Rotation.from_euler("Y", np.broadcast_to(heading, T)[:, None])
    return (about_y * Rotation.from_euler("ZXY", WALK)).as_matrix()


def test_a_walk_is_what_it_was() -> None:
    np.testing.assert_allclose(continuous_zxy(matrices(WALK), RATE_HZ), WALK, atol=1e-12)


def test_who_turns_round_twice_has_turned_round_twice() -> None:
    found = continuous_zxy(turned(4.0 * np.pi * TIME / TIME[-1]), RATE_HZ)
    assert np.abs(np.diff(found, axis=0)).max() < 0.1
    assert found[-1, 2] - found[0, 2] == pytest.approx(4.0 * np.pi, abs=0.3)
    assert np.abs(np.rad2deg(found[:, :2])).max() < 20.0


def test_a_few_wrong_poses_leave_no_whole_turn_behind() -> None:
    R = matrices(WALK)
    # Poses of a fit that lost its markers: tilted by 170, then 190 degrees. Unwrapping alone stays a turn away afterwards.
    for frame, tilt in ((100, 100.0), (101, 170.0), (102, 190.0), (103, 280.0)):
        R[frame] = Rotation.from_euler("ZXY", [tilt, 10.0, 40.0], degrees=True).as_matrix()
    found = continuous_zxy(R, RATE_HZ)
    good = np.r_[0:100, 104:T]
    np.testing.assert_allclose(found[good], WALK[good], atol=1e-12)
    naive = np.unwrap(Rotation.from_matrix(R).as_euler("ZXY"), axis=0)
    assert np.abs(naive[200] - WALK[200]).max() > 6.0  # what version 0.1 did: a whole turn


def test_a_gap_starts_level_and_the_heading_goes_on() -> None:
    R = turned(2.2 * np.pi * TIME / TIME[-1])
    R[150:250] = np.nan
    found = continuous_zxy(R, RATE_HZ)
    assert np.isnan(found[150:250]).all()
    assert np.abs(np.rad2deg(found[250:, :2])).max() < 20.0
    assert found[-1, 2] - found[0, 2] == pytest.approx(2.2 * np.pi, abs=0.3)


@pytest.mark.parametrize("heading_deg", [0.0, 37.0, 90.0, 180.0, -135.0])
@pytest.mark.parametrize("backwards", [False, True])
def test_pelvis_angles_of_a_walk_do_not_depend_on_where_it_goes(heading_deg: float, backwards: bool) -> None:
    heading = np.deg2rad(heading_deg)
    R = turned(heading)
    way = 1.3 * np.array([np.cos(heading), 0.0, -np.sin(heading)]) * (-1.0 if backwards else 1.0)
    found = angles_from_heading(R, walking_heading(way, R[100:200]), RATE_HZ, around=slice(100, 200))
    np.testing.assert_allclose(found[100:200], WALK[100:200], atol=1e-12)


@pytest.mark.parametrize("way", [np.full(3, np.nan), np.array([0.02, 0.0, -0.03])])
def test_without_a_way_the_pelvis_itself_tells_the_direction(way: FloatArray) -> None:
    heading = walking_heading(way, turned(np.deg2rad(60.0)))
    assert np.rad2deg(heading) == pytest.approx(60.0, abs=2.0)


def test_without_a_pose_there_is_no_direction() -> None:
    assert np.isnan(walking_heading(np.full(3, np.nan), np.full((5, 3, 3), np.nan)))
