"""Hip rotation at the straight knee, and the knee that may turn about the shank's axis."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.synthetic import skeleton_model

from biodyn.analysis import TrialAnalysis
from biodyn.model.body_model import SubjectModel, with_freed_rotations
from biodyn.model.observability import STEADY_LEVER_M, poorly_determined_frames
from biodyn.processing.kinematics.visibility import add_jump_frames, bridge_prior
from biodyn.recording import Recording
from biodyn.rigid_body import body_poses, inverse_kinematics
from biodyn.trial.run import analyse_trial
from biodyn.trial.trial_files import TrialFiles, read_files

RATE_HZ = 100.0


def test_badly_seen_is_what_other_postures_show_well() -> None:
    model = skeleton_model()
    names = [coordinate.name for coordinate in model.coordinates]
    hip, hinge, other, arm = (names.index(f"{n}_r") for n in ("hip_rotation", "knee_angle", "hip_flexion", "arm_rot"))
    lever = np.full((100, len(names)), 0.15)
    lever[40:50, hip] = 0.05  # hidden by the posture
    lever[:, hinge] = 0.05  # short in every posture: nothing better to go by
    lever[40:50, other] = 0.08  # half, but long enough
    lever[40:50, arm] = 0.05  # not of a leg
    bad = poorly_determined_frames(model, lever)
    assert bad[40:50, hip].all()
    assert bad.sum() == 10


def test_a_leap_and_what_lies_behind_it_belongs_to_the_bad_frames() -> None:
    model = skeleton_model()
    column = [c.name for c in model.coordinates].index("hip_rotation_r")
    q = np.tile(model.multibody.neutral_q(), (100, 1))
    q[45:55, model.coordinates[column].q_index] = 0.7  # 40 degrees within a frame, and back
    bad = np.zeros((100, len(model.coordinates)), dtype=bool)
    bad[40:44, column] = True
    found = add_jump_frames(model, q, bad, RATE_HZ)
    assert found[40:56, column].all()
    assert not found[:38, column].any()
    assert not found[58:, column].any()
    assert not add_jump_frames(model, q, np.zeros_like(bad), RATE_HZ).any()


def test_the_bridge_over_bad_frames_is_smooth_and_leaves_the_others() -> None:
    model = skeleton_model()
    coordinate = model.coordinate("hip_rotation_r")
    column = model.coordinates.index(coordinate)
    time_s = np.arange(200) / RATE_HZ
    true = 0.1 * np.sin(2.0 * np.pi * time_s)
    q = np.tile(model.multibody.neutral_q(), (200, 1))
    q[:, coordinate.q_index] = true
    q[95:105, coordinate.q_index] += 0.5
    bad = np.zeros((200, len(model.coordinates)), dtype=bool)
    bad[95:105, column] = True
    weights, prior = bridge_prior(model, q, np.zeros_like(bad), bad, 15, RATE_HZ)
    assert np.flatnonzero(weights).tolist() == [coordinate.v_index]
    found = prior[:, coordinate.q_index]
    np.testing.assert_array_equal(found[:85], true[:85])
    np.testing.assert_allclose(found[95:105], true[95:105], atol=0.02)


@pytest.fixture(scope="module")
def bare_thighs(real_data: Path) -> TrialFiles:
    """A real walk whose knee markers were lost after the static trial: at the straight knee little tells the thigh's rotation."""
    files = read_files(real_data / "gait" / "btk_flatfoot" / "PiG_Motion-FlatFoot-One.c3d", None)
    return replace(files, walk=without(files.walk, "RKNE", "LKNE"))


def without(recording: Recording, *labels: str) -> Recording:
    markers = recording.markers
    columns = [i for i, label in enumerate(markers.labels) if label not in labels]
    fewer = replace(markers, labels=tuple(markers.labels[i] for i in columns), positions=markers.positions[:, columns])
    return replace(recording, motion=replace(recording.motion, markers=fewer))


def analysed(files: TrialFiles) -> TrialAnalysis:
    return analyse_trial(files.walk.path, files=files, torques_only=True)


def hip_rotation(analysis: TrialAnalysis) -> tuple[float, float]:
    """Largest speed (deg/s) and torque (Nm/kg) of the left hip's rotation."""
    coordinate = analysis.model.coordinate("hip_rotation_l")
    column = analysis.model.coordinates.index(coordinate)
    speed = np.rad2deg(np.nanmax(np.abs(analysis.fit.motion.v[analysis.fit.reliable, coordinate.v_index])))
    return float(speed), float(np.nanmax(np.abs(analysis.dynamics.torques[:, column]))) / analysis.subject.mass_kg


@pytest.mark.slow
def test_hip_rotation_does_not_snap_at_the_straight_knee(
    bare_thighs: TrialFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steadied or not; a curve carried on beyond the last frames that tell made a leap of 360 deg/s of it."""
    for lever_m in (0.0, STEADY_LEVER_M):
        monkeypatch.setattr("biodyn.model.observability.STEADY_LEVER_M", lever_m)
        speed, torque = hip_rotation(analysed(bare_thighs))
        assert speed < 250.0
        assert torque < 0.3


# -- the knee that turns ---------------------------------------------------------------------------------------------------


def turned_shank(model: SubjectModel, angle: float) -> np.ndarray:
    """Markers (1, M, 3) of a standing person whose right shank is turned about its long axis."""
    q = model.static_configuration(np.eye(3), np.array([0.0, 0.9, 0.0]))
    q[model.coordinate("knee_rotation_r").q_index] += angle
    links, p_LM, _ = model.marker_arrays()
    R, p = body_poses(model.multibody, q[None])
    return np.asarray(p[:, links] + np.einsum("tmij,mj->tmi", R[:, links], p_LM))


def test_the_option_frees_the_shank_alone_and_holds_it_weakly() -> None:
    hinge = skeleton_model()
    model = with_freed_rotations(hinge, "knee_rotation")
    assert {c.name for c in model.coordinates} - {c.name for c in hinge.coordinates} == {
        "knee_rotation_r",
        "knee_rotation_l",
    }
    assert with_freed_rotations(hinge, "nothing") is hinge
    pulls = model.prior_weights()
    at = [model.coordinate(f"knee_rotation_{side}").v_index for side in "rl"]
    assert np.flatnonzero(pulls).tolist() == sorted(at)
    assert not hinge.prior_weights().any()
    for side in "rl":
        np.testing.assert_allclose(model.coordinate(f"knee_rotation_{side}").range_rad, np.deg2rad([-25.0, 25.0]))


def test_internal_rotation_of_either_shank_is_positive() -> None:
    model = with_freed_rotations(skeleton_model(), "knee_rotation")
    for side, inward in (("r", 1.0), ("l", -1.0)):
        q = model.static_configuration(np.eye(3), np.zeros(3))
        q[model.coordinate(f"knee_rotation_{side}").q_index] += 0.2
        R, p = body_poses(model.multibody, q[None])
        forward = model.body_poses(R, p, f"tibia_{side}")[0][0, :, 0]
        # right is +z: the front of the right shank turns to the left
        np.testing.assert_allclose(forward[2], -inward * np.sin(0.2), atol=1e-9)


def test_the_fit_finds_a_turned_shank_but_for_what_holds_it() -> None:
    model = with_freed_rotations(skeleton_model(), "knee_rotation")
    extra = tuple(
        replace(m, label=f"{m.label}{i}", p_BM=np.array(place))
        for m in model.markers
        for i, place in enumerate(((0.05, -0.1, 0.06), (-0.05, 0.1, 0.06), (0.05, 0.1, -0.06)))
    )
    model = replace(model, markers=extra)
    markers = turned_shank(model, np.deg2rad(12.0))
    links, p_LM, weights = model.marker_arrays()
    lower, upper = model.coordinate_limits()
    static = model.static_configuration(np.eye(3), np.zeros(3))
    found = inverse_kinematics(
        model.multibody,
        links,
        p_LM,
        markers,
        weights,
        lower,
        upper,
        q0=static,
        prior_weights=model.prior_weights(),
        q_prior=static,
    ).q[0]
    angle = np.rad2deg(found[model.coordinate("knee_rotation_r").q_index])
    assert 8.0 < angle < 12.0
    assert abs(np.rad2deg(found[model.coordinate("hip_rotation_r").q_index])) < 2.5


@pytest.mark.slow
def test_pivoting_goes_into_the_knee(real_data: Path) -> None:
    """A 90-degree turn: hip rotation ranges less, and the markers fit better."""
    walk = real_data / "gait" / "biomechzoo" / "HC032A" / "Turn" / "HC032A18.c3d"
    files = read_files(walk, None)
    found = {}
    for knee in ("hinge", "rotation"):
        analysis = analyse_trial(walk, files=files, settings={"model": {"knee": knee}}, torques_only=True)
        angles = analysis.fit.motion.q[analysis.fit.reliable][
            :, [analysis.model.coordinate(f"hip_rotation_{s}").q_index for s in "rl"]
        ]
        found[knee] = (np.ptp(np.rad2deg(angles), axis=0), float(np.sqrt(np.nanmean(analysis.fit.marker_error**2))))
    # the fit of the subject's axes takes a part of it already: 5.3 degrees remain on the right, 0.8 on the left
    less = found["hinge"][0] - found["rotation"][0]
    assert np.all(less > 0.0)
    assert less.max() > 4.0
    assert found["rotation"][1] < found["hinge"][1]
