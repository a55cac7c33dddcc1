"""The world frame is a rotation of laboratory axes, found whatever way the laboratory is turned."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from support import real

from biodyn.errors import InputFileError
from biodyn.processing.signals.world_frame import correct_static_vertical, find_world
from biodyn.recording import ForcePlate, Markers, Recording, StoredMotion

RATE_HZ = 100.0
# m, World axes (X ahead, Y up, Z right): pelvis, knees, shanks, ankles, heels, toes of both sides, neck
_SIDE = [
    [0.1, 0.95, 0.12],
    [0.0, 0.5, 0.13],
    [0.0, 0.3, 0.16],
    [0.0, 0.08, 0.12],
    [-0.06, 0.04, 0.1],
    [0.13, 0.04, 0.11],
]
PERSON = np.array([*_SIDE, *([x, y, -z] for x, y, z in _SIDE), [0.0, 1.45, 0.0]])
CORNERS = np.array([[0.3, 0, 0.2], [-0.3, 0, 0.2], [-0.3, 0, -0.2], [0.3, 0, -0.2]])
# the 24 ways to lay a right-handed laboratory frame along the axes of the world: R_LW
ROTATIONS = [
    R
    for p in itertools.permutations(range(3))
    for s in itertools.product([1.0, -1.0], repeat=3)
    if np.linalg.det(R := np.diag(s)[:, list(p)]) > 0
]


def walking(frames=120, speed=1.2):
    """(T, M, 3) m in World: gliding ahead."""
    return PERSON + np.arange(frames)[:, None, None] / RATE_HZ * np.array([speed, 0, 0])


def recording(positions, R_LW=None, vertical=True, plates=False):
    """A recording in the laboratory frame that R_LW (3, 3) turns the world into."""
    R = np.eye(3) if R_LW is None else R_LW
    labels = tuple(f"M{i}" for i in range(positions.shape[1]))
    plate = ForcePlate(1, 2, CORNERS, np.zeros(3), np.zeros((0, 6)), 1000.0)
    in_world = Recording(
        Path("trial.c3d"), "", StoredMotion(Markers(labels, positions, RATE_HZ)), plates=(plate,) if plates else (),
        vertical=np.array([0.0, 1.0, 0.0]) if vertical else None,
    )  # fmt: skip
    return in_world.rotated(R)


def codes(world):
    return {d.code for d in world.diagnostics}


@pytest.mark.parametrize("R_LW", ROTATIONS)
@pytest.mark.parametrize(("vertical", "plates"), [(True, False), (False, True), (True, True), (False, False)])
def test_every_laboratory_frame_is_found(R_LW, vertical, plates):
    world = find_world(recording(walking(), R_LW, vertical, plates))
    np.testing.assert_array_equal(world.R_WL, R_LW.T)
    assert world.diagnostics == ()


def test_a_vertical_of_the_wrong_sign_is_set_right():
    """Qualisys writes Y_SCREEN = -Z in laboratories whose Z is up."""
    upside_down = recording(walking())
    for plates in (False, True):
        lab = recording(walking(), plates=plates)
        wrong = Recording(lab.path, "", lab.motion, lab.plates, vertical=-lab.vertical)
        np.testing.assert_array_equal(find_world(wrong).R_WL, find_world(upside_down).R_WL)


def test_a_vertical_that_plates_and_body_contradict_is_not_believed():
    lab = recording(walking(), plates=True)
    wrong = Recording(lab.path, "", lab.motion, lab.plates, vertical=np.array([0.0, 0.0, 1.0]))
    world = find_world(wrong)
    np.testing.assert_array_equal(world.R_WL, np.eye(3))
    assert codes(world) == {"vertical-uncertain"}


@pytest.mark.parametrize("stated", [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, -1.0]])
def test_a_vertical_along_which_the_body_is_less_than_half_as_long_is_not_believed(stated):
    """A static trial without plates: the file says that a level axis is vertical."""
    standing = recording(np.repeat(PERSON[None], 50, axis=0))
    wrong = Recording(standing.path, "", standing.motion, vertical=np.array(stated))
    world = find_world(wrong)
    np.testing.assert_array_equal(world.R_WL, find_world(standing).R_WL)
    assert codes(world) == {"vertical-uncertain"}
    assert "markers indicate Y" in world.diagnostics[0].message


@pytest.mark.parametrize("angle_deg", [-40, 30, 140, 220])
def test_an_oblique_path_takes_the_nearest_axis(angle_deg):
    """The body turned about the vertical and walking that way: X stays a laboratory axis."""
    a = np.radians(angle_deg)
    turn = np.array([[np.cos(a), 0, np.sin(a)], [0, 1, 0], [-np.sin(a), 0, np.cos(a)]])
    world = find_world(recording(walking() @ turn.T))
    off = np.degrees(np.arccos(world.R_WL[0] @ turn[:, 0]))
    assert off < 45
    assert codes(world) == set()


def test_a_turn_is_said():
    frames = 200
    heading = np.clip((np.arange(frames) - 70) / 60, 0, 1) * np.pi / 2
    steps = 0.012 * np.column_stack([np.cos(heading), np.zeros(frames), np.sin(heading)])
    world = find_world(recording(PERSON + np.cumsum(steps, axis=0)[:, None, :]))
    assert codes(world) == {"turning"}
    assert world.diagnostics[0].value == pytest.approx(90, abs=5)


def test_gaps_and_late_markers_do_not_turn_the_world():
    positions = walking()
    positions[:40, 3] = np.nan
    positions[60:, 5] = np.nan
    positions[10:14] = np.nan
    np.testing.assert_array_equal(find_world(recording(positions)).R_WL, np.eye(3))


@pytest.mark.parametrize("R_LW", ROTATIONS[:6])
def test_on_a_treadmill_the_belt_tells(R_LW):
    """Feet that go back with the belt on the ground and come forward in the air; the body stays where it is."""
    t = np.arange(400) / RATE_HZ
    positions = np.broadcast_to(PERSON, (400, *PERSON.shape)).copy()
    for first, phase in ((3, 0.0), (9, 0.5)):
        s = (t + phase) % 1.0
        ahead = np.where(s < 0.6, 0.3 - s, -0.3 + (s - 0.6) * 1.5)
        lift = np.where(s < 0.6, 0.0, 0.1 * np.sin(np.pi * (s - 0.6) / 0.4))
        positions[:, first : first + 3] += np.column_stack([ahead, lift, 0 * t])[:, None, :]
    backwards = find_world(recording(positions, R_LW), forward_L=R_LW @ [-1.0, 0, 0])  # the belt counts more
    np.testing.assert_array_equal(backwards.R_WL, R_LW.T)
    assert "treadmill" in backwards.reason


@pytest.mark.parametrize("R_LW", ROTATIONS[::3])
@pytest.mark.parametrize("frames", [1, 30])
def test_a_person_standing_faces_where_told_else_where_the_feet_point(R_LW, frames):
    standing = np.broadcast_to(PERSON, (frames, *PERSON.shape))
    lab = recording(standing, R_LW)
    np.testing.assert_array_equal(find_world(lab).R_WL, R_LW.T)
    told = find_world(lab, forward_L=R_LW @ [0.1, 0.3, 0.9])
    np.testing.assert_array_equal(told.R_WL[0], R_LW @ [0, 0, 1.0])


def test_two_markers_are_enough_to_answer():
    world = find_world(recording(walking()[:, :2]))
    assert np.linalg.det(world.R_WL) == pytest.approx(1.0)


@pytest.fixture(scope="module")
def data() -> Path:
    return real.recordings()


@pytest.mark.real
@pytest.mark.slow
def test_in_every_real_trial_the_toes_are_ahead_of_the_heels(data):
    """Walks and statics, laboratories with X or Y ahead, with and without plates and Y_SCREEN."""
    from support.several import read_many

    paths = sorted((data / "gait").rglob("*.c3d"))
    paths += sorted((data / "opensim" / "c3d_to_grf").glob("*.c3d")) + sorted((data / "static_only").rglob("*.c3d"))
    pairs = [("TOE", "HEE"), ("_FM2", "_FCC"), ("MT2", "CAL"), ("TT2", "CAL")]
    checked = 0
    for lab in read_many(paths):
        markers = lab.rotated(find_world(lab).R_WL).markers  # type: ignore[union-attr, arg-type]
        for side in "LR":
            for toe, heel in pairs:
                if side + toe in markers.labels and side + heel in markers.labels:
                    foot = (
                        markers.positions[:, markers.index(side + toe)]
                        - markers.positions[:, markers.index(side + heel)]
                    )
                    ahead = np.nanmedian(foot, axis=0)
                    turning = "turning" in codes(find_world(lab))  # type: ignore[arg-type]
                    assert ahead[0] > (0.05 if turning else 0.1), lab.path.name  # type: ignore[union-attr]
                    checked += 1
        assert np.nanmin(markers.positions[..., 1]) > -0.1  # nobody is below the floor
    assert checked > 40


# -- degenerate input -------------------------------------------------------------------------------------------------


def degenerate(positions, rate_hz=100.0):
    labels = tuple(f"m{n}" for n in range(positions.shape[1]))
    return Recording(Path("walk.c3d"), "", StoredMotion(Markers(labels, positions, rate_hz)))


@pytest.mark.parametrize("shape", [(0, 4, 3), (10, 0, 3), (10, 4, 3)])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_no_position_left_is_refused_in_one_sentence(shape, value):
    with pytest.raises(InputFileError, match=r"'walk.c3d' contains no marker position"):
        find_world(degenerate(np.full(shape, value)))


@pytest.mark.parametrize("rate_hz", [np.nan, np.inf, 0.0, -1.0])
def test_an_impossible_rate_is_refused_in_one_sentence(rate_hz):
    with pytest.raises(InputFileError, match=r"a frame rate of .* Hz; expected a positive number"):
        find_world(degenerate(np.ones((10, 4, 3)), rate_hz))


@pytest.mark.parametrize("seed", range(40))
def test_few_and_strange_positions_give_axes_or_a_sentence(seed):
    rng = np.random.default_rng(seed)
    positions = rng.normal(size=(int(rng.integers(1, 8)), int(rng.integers(1, 5)), 3)) * rng.choice(
        [0.0, 1e-6, 1.0, 1e3]
    )
    positions[rng.random(positions.shape) < rng.choice([0.0, 0.3, 0.6])] = rng.choice([np.nan, np.inf, -np.inf])
    try:
        R_WL = find_world(degenerate(positions)).R_WL
    except InputFileError:
        assert not np.isfinite(positions).all(axis=2).any()
    else:
        np.testing.assert_allclose(R_WL @ R_WL.T, np.eye(3), atol=1e-12)
        assert np.linalg.det(R_WL) == pytest.approx(1.0)


def test_a_static_trial_takes_the_vertical_of_the_walk_where_both_files_state_another():
    """Arms held sideways: the body is as long across as high, and nothing but the walk's plates contradicts the file."""
    arms = np.concatenate([PERSON, [[0.0, 1.35, 0.8], [0.0, 1.35, -0.8]]])
    level = np.array([0.0, 0.0, 1.0])
    standing = recording(np.repeat(arms[None], 50, axis=0))
    static = Recording(standing.path, "", standing.motion, vertical=level)
    lab = recording(walking(), plates=True)
    walk = Recording(lab.path, "", lab.motion, lab.plates, vertical=level)
    assert np.abs(find_world(static).R_WL[1]) @ level == 1.0
    np.testing.assert_array_equal(find_world(correct_static_vertical(static, walk)).R_WL, find_world(standing).R_WL)
    for sound in (lab, recording(walking(), vertical=False, plates=True)):  # says nothing of the static trial's file
        assert correct_static_vertical(static, sound) is static
