"""Segments without markers: carried as people carry them, and nothing else moves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from simulator import SimulatedTrial
from support.synthetic import skeleton_model

from biodyn.analysis import TrialAnalysis
from biodyn.geometry.rotations import cardan_zxy, matrices_from_cardan_zxy, quaternion_from_matrix
from biodyn.model.body_model import SubjectModel, assemble_model, with_assumed_coordinates
from biodyn.model.from_library.markersets import recognise_marker_set
from biodyn.processing.kinematics.least_squares import fill_assumed_motion
from biodyn.processing.signals.filtering import vector_rms
from biodyn.rigid_body import body_poses
from biodyn.trial.run import analyse_trial
from biodyn.uncertainty.fit_responses import _assumed_rotation_steps, assumed_motion_variance, torque_response
from biodyn.uncertainty.propagation_inputs import load_magnitudes

RATE_HZ = 100.0
LEGS = ("pelvis", "femur", "tibia", "calcn")


def legs_only(model: SubjectModel) -> SubjectModel:
    """The model as a lower-body marker set leaves it: nothing above the pelvis can be seen."""
    above = [b for b in model.bodies if b.definition.parent and not b.definition.name.startswith(LEGS)]
    return assemble_model(
        model.skeleton,
        model.bodies,
        frozenset(c for b in above for c in b.definition.coordinate_names),
        mass_kg=model.mass_kg,
        height_m=model.height_m,
        sex=model.sex,
        markers=tuple(m for m in model.markers if m.body.startswith(LEGS)),
        foot_outlines=model.foot_outlines,
        sole_body=model.sole_body,
    )


def swaying(model: SubjectModel, heading_rad: np.ndarray) -> np.ndarray:
    """Configurations (T, nq) of a pelvis that tilts, lists and turns about a heading, thighs that swing against each other."""
    time_s = np.arange(len(heading_rad)) / RATE_HZ
    phase = 2.0 * np.pi * time_s / 1.1
    angles = np.stack([0.1 + 0.05 * np.sin(2 * phase), 0.08 * np.sin(phase), 0.15 * np.cos(phase)], axis=1)
    R = matrices_from_cardan_zxy(np.stack([0 * phase, 0 * phase, heading_rad], axis=1)) @ matrices_from_cardan_zxy(
        angles
    )
    q = np.tile(model.multibody.neutral_q(), (len(time_s), 1))
    q[:, 3:7] = [quaternion_from_matrix(one) for one in R]
    for side, sign in (("r", 1.0), ("l", -1.0)):
        q[:, model.coordinate(f"hip_flexion_{side}").q_index] = sign * 0.5 * np.cos(phase)
    return q


def attitude(model: SubjectModel, q: np.ndarray, body: str) -> np.ndarray:
    R, p = body_poses(model.multibody, q)
    return model.body_poses(R, p, body)[0]


def test_the_trunk_stays_upright_over_a_pelvis_that_sways_and_faces_along_the_walk() -> None:
    model = with_assumed_coordinates(legs_only(skeleton_model()))
    turning = np.linspace(0.0, 1.5, 400)  # 0.4 rad/s
    filled = fill_assumed_motion(model, swaying(model, turning), RATE_HZ)
    assert np.ptp(cardan_zxy(attitude(model, filled, "pelvis"))[:, 1]) > 0.15
    inner = slice(100, 300)
    trunk, head = (attitude(model, filled, name)[inner] for name in ("torso", "head"))
    np.testing.assert_allclose(trunk[:, 1, 1], np.cos(np.deg2rad(2.4)), atol=1e-9)
    np.testing.assert_allclose(head[:, 1, 1], 1.0, atol=1e-9)
    # backwards is away from where it faces; of the pelvis' own 0.15 rad less than a tenth is left
    facing = np.arctan2(-head[:, 2, 0], head[:, 0, 0])
    np.testing.assert_allclose(facing, turning[inner], atol=0.015)
    back = np.stack([np.cos(facing), -np.sin(facing)], axis=1)
    np.testing.assert_allclose(trunk[:, [0, 2], 1], -np.sin(np.deg2rad(2.4)) * back, atol=1e-9)


def test_arms_hang_and_swing_against_their_own_leg() -> None:
    model = with_assumed_coordinates(legs_only(skeleton_model()))
    filled = fill_assumed_motion(model, swaying(model, np.zeros(400)), RATE_HZ)
    thigh = {side: cardan_zxy(attitude(model, filled, f"femur_{side}"))[:, 0] for side in "rl"}
    stride = 0.5 * (thigh["r"] - thigh["l"])
    level = np.swapaxes(attitude(model, filled, "head"), 1, 2)  # the head is upright and faces along the walk
    for side, sign in (("r", 1.0), ("l", -1.0)):
        tilt, listing, _ = cardan_zxy(level @ attitude(model, filled, f"humerus_{side}")).T
        np.testing.assert_allclose(np.rad2deg(listing), -10.0 * sign, atol=1e-6)
        np.testing.assert_allclose(tilt, np.deg2rad(-7.0) - 0.3 * sign * stride, atol=0.01)


def test_nothing_that_a_marker_shows_is_changed() -> None:
    whole = skeleton_model()
    assert with_assumed_coordinates(whole) is whole
    model = with_assumed_coordinates(legs_only(whole))
    assert not {c.name for c in model.assumed} & {c.name for c in model.coordinates}
    assert model.locked == legs_only(whole).locked
    q = swaying(model, np.zeros(50))
    q[10] = np.nan
    filled = fill_assumed_motion(model, q, RATE_HZ)
    seen = [i for i in range(q.shape[1]) if i not in {c.q_index for c in model.assumed}]
    np.testing.assert_array_equal(filled[:, seen], q[:, seen])
    assert np.isnan(filled[10]).all()


def test_a_segment_that_carries_a_marked_one_is_not_assumed() -> None:
    """A marker on a carried arm tells something of the trunk: neither is assumed."""
    model = legs_only(skeleton_model())
    arm = next(m for m in skeleton_model().markers if m.body == "humerus_r")
    names = {c.body for c in with_assumed_coordinates(replace(model, markers=(*model.markers, arm))).assumed}
    assert not names & {"torso", "humerus_r"}
    assert {"head", "humerus_l"} <= names


def test_an_error_of_the_trunk_turns_the_trunk_alone() -> None:
    """The step of the coordinates for a turn of the trunk leaves head and arms as they are in World."""
    model = with_assumed_coordinates(legs_only(skeleton_model()))
    q = fill_assumed_motion(model, swaying(model, np.zeros(40)), RATE_HZ)
    small = 1e-6
    magnitudes = replace(load_magnitudes(), unseen_rad={"torso": (np.array([0.1, 0.0, 0.0]), np.zeros(3))})
    ((step, moments),) = _assumed_rotation_steps(model, q, magnitudes, 1.0)
    np.testing.assert_allclose(moments, [0.01, 0.0, 0.0, 0.0, 0.0, 0.0])
    turned = q.copy()
    turned[:, 7:] += small * step[:, 6:]  # behind the base one number each in q and in v
    for name, expected in (("torso", small), ("head", 0.0), ("humerus_r", 0.0), ("humerus_l", 0.0)):
        change = np.swapaxes(attitude(model, q, name), 1, 2) @ attitude(model, turned, name)
        np.testing.assert_allclose(cardan_zxy(change), [[expected, 0.0, 0.0]] * 40, atol=1e-9)


def test_a_trunk_that_leans_otherwise_while_standing_is_weight_times_lever() -> None:
    """Without movement the offset of the trunk acts by gravity alone: m g h sin(e) about the hips' axis."""
    model = with_assumed_coordinates(legs_only(skeleton_model()))
    q = np.tile(fill_assumed_motion(model, np.tile(model.multibody.neutral_q(), (5, 1)), RATE_HZ)[:1], (5, 1))
    still = np.zeros((5, model.multibody.nv))
    response = torque_response(
        model.multibody, q, still, still, np.zeros((5, 0, 6)), np.zeros(0, np.int64), np.arange(6)
    )
    magnitudes = replace(load_magnitudes(), unseen_rad={"torso": (np.array([0.05, 0.0, 0.0]), np.zeros(3))})
    found = np.sqrt(assumed_motion_variance(model, q, response, magnitudes, 1.0))[0]
    R, p = body_poses(model.multibody, q[:1])
    lever = 0.0
    for body in model.bodies:
        name = body.definition.name
        if name in model.locked_segments:
            # the balls' centres are the joints: those that the trunk carries rise with their joint above the lumbar one
            top = model.body_poses(
                R, p, "head" if name == "head" else name.replace("radius", "humerus").replace("hand", "humerus")
            )[1]
            lever += body.inertia.mass * (top - model.body_poses(R, p, "torso")[1])[0, 1]
    assert lever > 1.0
    np.testing.assert_allclose(found[[2, 0, 1]], [0.05 * 9.80665 * lever, 0.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(found[3:], 0.0, atol=1e-9)


def lower_body(trial: SimulatedTrial) -> SimulatedTrial:
    """The trial without markers above the pelvis."""
    roles = recognise_marker_set(trial.labels).roles
    kept = {role.label for role in roles if role.body.startswith(LEGS)}
    columns = [i for i, label in enumerate(trial.labels) if label in kept]
    return replace(trial, labels=tuple(trial.labels[i] for i in columns), markers=trial.markers[:, columns])


@pytest.fixture(scope="module")
def trials(laboratory, tmp_path_factory) -> dict[str, TrialAnalysis]:
    """The simulated walk with all markers, and with those of the lower body alone, carried and fixed."""
    trials = {kind: lower_body(trial) for kind, trial in laboratory.trials.items()}
    bare = laboratory.copy(tmp_path_factory.mktemp("lower"), **trials)
    own = {"mass_kg": 74.0, "height_m": 1.78, "torques_only": True}
    filtered = {"signals": {"method": "butterworth"}}  # an estimate's leg torques are in balance with the trunk, too
    return {
        "all": analyse_trial(laboratory.walk, laboratory.static, settings=filtered, **own),
        **{
            how: analyse_trial(
                bare.walk,
                bare.static,
                settings={**filtered, "inverse_kinematics": {"unseen_segments": how}},
                **own,
            )
            for how in ("carried", "fixed")
        },
    }


def test_the_residual_of_a_lower_body_set_is_nearly_halved(real_data) -> None:
    """On a walk whose numbers chose none of the assumed ones (trunk.py in benchmarks/), at 6 Hz: the trunk's slow motion.

    It falls to .52 (force) and .54 (moment) of that of a trunk fixed to the pelvis.
    """
    walk = real_data / "gait" / "fmc" / "dynamic" / "MH0222_BP06.c3d"
    slow = {"signals": {"cutoff_hz": 6.0}}
    found = {
        how: analyse_trial(
            walk, torques_only=True, settings={**slow, "inverse_kinematics": {"unseen_segments": how}}
        ).dynamics
        for how in ("carried", "fixed")
    }
    for name in ("residual_force", "residual_moment"):
        carried, fixed = (vector_rms(getattr(found[how], name)) for how in ("carried", "fixed"))
        assert carried < 0.6 * fixed, f"{name}: {carried:.1f} instead of {fixed:.1f}"


@pytest.mark.slow
def test_leg_torques_do_not_depend_on_what_is_assumed(trials) -> None:
    carried, fixed = trials["carried"], trials["fixed"]
    assert [c.name for c in carried.model.coordinates] == [c.name for c in fixed.model.coordinates]
    np.testing.assert_allclose(carried.dynamics.torques, fixed.dynamics.torques, atol=1e-6)
    assert [load.joint for load in carried.dynamics.joints] == [load.joint for load in fixed.dynamics.joints]


def test_what_is_assumed_is_said(trials) -> None:
    notes = {note.code: note for note in trials["carried"].diagnostics}
    assert "right upper arm" in notes["assumed-motion"].message
    # de Leva: trunk 43.5 % without the pelvis' 11.2, head 6.9, arms 9.9
    assert notes["assumed-motion"].value == pytest.approx(0.49, abs=0.03)
    for other in ("fixed", "all"):
        assert "assumed-motion" not in {note.code for note in trials[other].diagnostics}
