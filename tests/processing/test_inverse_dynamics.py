"""Tests of the dynamics of a trial: weight at rest, validity by foot, frames of the joint moments, power, mass."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.sessions import Laboratory

from biodyn.analysis import TrialAnalysis
from biodyn.conventions import SIDES, STANDARD_GRAVITY_M_S2
from biodyn.model.body_model import with_mass
from biodyn.processing.calibration.subject_measurements import (
    StanceMasses,
    mass_from_standing,
    mass_from_strides,
    stance_masses,
    stride_mass,
)
from biodyn.processing.dynamics.inverse_dynamics import joint_coordinate_axes, solve_dynamics
from biodyn.recording import GaitEvent, GroundReaction, Motion, PlateWrench
from biodyn.trial.run import analyse_trial

QUICK = {"uncertainty": {"compute": False}}


@pytest.fixture(scope="module")
def analysis(laboratory: Laboratory) -> TrialAnalysis:
    return analyse_trial(laboratory.walk, settings={**QUICK, "signals": {"method": "butterworth"}})


def standing(analysis: TrialAnalysis, wrench: dict[str, np.ndarray]) -> tuple:
    """The fit frozen in one frame for three frames, with the given foot wrenches (6,)."""
    fit = analysis.fit
    frame = int(np.flatnonzero(fit.reliable)[0])
    still = Motion(
        np.arange(3) / 100.0,
        np.repeat(fit.motion.q[frame : frame + 1], 3, axis=0),
        np.zeros((3, fit.motion.v.shape[1])),
        np.zeros((3, fit.motion.v.shape[1])),
    )
    frozen = replace(
        fit,
        motion=still,
        solved=np.ones(3, dtype=bool),
        reliable=np.ones(3, dtype=bool),
        reason=("", "", ""),
        lost=np.zeros((3, len(fit.model.coordinates)), dtype=bool),
        configurations=np.repeat(fit.configurations[frame : frame + 1], 3, axis=0),
    )
    yes = np.ones(3, dtype=bool)
    reaction = GroundReaction(
        wrench={side: np.repeat(wrench[side][None], 3, axis=0) for side in SIDES},
        measured=dict.fromkeys(SIDES, yes),
        reason={side: ["", "", ""] for side in SIDES},
        on_floor=dict.fromkeys(SIDES, yes),
        centre_of_pressure={side: np.zeros((3, 3)) for side in SIDES},
        free_moment={side: np.zeros(3) for side in SIDES},
    )
    return frozen, reaction


def test_without_ground_the_residual_carries_the_weight(analysis: TrialAnalysis) -> None:
    frozen, reaction = standing(analysis, {side: np.zeros(6) for side in SIDES})
    dynamics = solve_dynamics(frozen, reaction)
    weight = analysis.subject.mass_kg * STANDARD_GRAVITY_M_S2
    np.testing.assert_allclose(dynamics.residual_force, np.tile((0.0, weight, 0.0), (3, 1)), atol=1e-8 * weight)


def test_at_rest_the_ground_carries_the_weight(analysis: TrialAnalysis) -> None:
    """The weight, put under the centre of mass by one foot, leaves no residual."""
    from biodyn.rigid_body import centre_of_mass

    frozen, _ = standing(analysis, {side: np.zeros(6) for side in SIDES})
    weight = np.array([0.0, analysis.subject.mass_kg * STANDARD_GRAVITY_M_S2, 0.0])
    com = centre_of_mass(frozen.model.multibody, frozen.motion.q)[0]
    push = np.concatenate([np.cross(com, weight), weight])
    frozen, reaction = standing(analysis, {"r": push, "l": np.zeros(6)})
    dynamics = solve_dynamics(frozen, reaction)
    np.testing.assert_allclose(dynamics.residual_force, 0.0, atol=1e-8 * weight[1])
    np.testing.assert_allclose(dynamics.residual_moment, 0.0, atol=1e-8 * weight[1])


def test_a_foot_that_was_not_measured_takes_its_own_leg_and_the_base(analysis: TrialAnalysis) -> None:
    reaction = analysis.reaction
    frames = np.zeros(len(analysis.time_s), dtype=bool)
    middle = int(np.flatnonzero(analysis.dynamics.residual_valid)[10])
    frames[middle] = True
    blind = replace(
        reaction,
        measured={**reaction.measured, "l": reaction.measured["l"] & ~frames},
        reason={
            **reaction.reason,
            "l": ["not measured" if f else r for f, r in zip(frames, reaction.reason["l"], strict=True)],
        },
        wrench={**reaction.wrench, "l": np.where(frames[:, None], np.nan, reaction.wrench["l"])},
    )
    before, after = analysis.dynamics, solve_dynamics(analysis.fit, blind)
    for column, coordinate in enumerate(analysis.model.coordinates):
        lost = np.isnan(after.torques[middle, column])
        assert lost == (coordinate.side == "l" and coordinate.body.split("_")[0] in ("femur", "tibia", "calcn")), (
            coordinate
        )
    np.testing.assert_array_equal(np.delete(after.torques, middle, 0), np.delete(before.torques, middle, 0))
    assert np.isnan(after.residual_force[middle]).all()
    assert "not measured" in after.reason[middle]


def test_joint_moments_are_one_vector_in_three_frames(analysis: TrialAnalysis) -> None:
    assert len(analysis.dynamics.joints) > 10
    for load in analysis.dynamics.joints:
        assert load.valid.any()
        proximal, distal = load.moment["proximal"], load.moment["distal"]
        np.testing.assert_allclose(
            np.linalg.norm(proximal[load.valid], axis=1), np.linalg.norm(distal[load.valid], axis=1), rtol=1e-9
        )


def test_joint_torques_are_the_moments_on_their_axes(analysis: TrialAnalysis) -> None:
    """A hinge's torque is the joint moment's component on the hinge's axis, here the proximal transverse axis."""
    model, dynamics = analysis.model, analysis.dynamics
    knees = [load for load in dynamics.joints if load.joint == "knee"]
    assert [load.side for load in knees] == ["r", "l"]
    for load in knees:
        assert load.valid.sum() > 50
        (column,) = [
            i for i, c in enumerate(model.coordinates) if (c.joint, c.side) == (f"knee_{load.side}", load.side)
        ]
        torque = dynamics.torques[load.valid, column]
        np.testing.assert_allclose(-load.moment["jcs"][load.valid, 2], torque, atol=1e-9)  # flexion is -z
        np.testing.assert_allclose(-load.moment["proximal"][load.valid, 2], torque, atol=1e-9)


def test_joint_power_is_torque_times_rate_and_adds_up(analysis: TrialAnalysis) -> None:
    motion, dynamics = analysis.fit.motion, analysis.dynamics
    valid = dynamics.residual_valid
    total = sum(load.power[valid] for load in dynamics.joints)
    columns = [c.v_index for c in analysis.model.coordinates]
    expected = np.sum(dynamics.tau[valid][:, columns] * motion.v[valid][:, columns], axis=1)
    np.testing.assert_allclose(total, expected, rtol=1e-9, atol=1e-9)


def test_joint_coordinate_axes_of_a_flexed_adducted_knee() -> None:
    from scipy.spatial.transform import Rotation

    R_WB = Rotation.from_euler("ZXY", [-40.0, 8.0, 12.0], degrees=True).as_matrix()
    axes = joint_coordinate_axes(np.eye(3), R_WB)
    np.testing.assert_allclose(axes[:, 2], (0.0, 0.0, 1.0))
    np.testing.assert_allclose(axes[:, 1], R_WB[:, 1])
    np.testing.assert_allclose(axes[:, 0] @ axes[:, 1:], 0.0, atol=1e-15)
    # In the Z-X-Y sequence the floating axis is the parent's X turned by the flexion.
    np.testing.assert_allclose(axes[:, 0], Rotation.from_euler("Z", -40.0, degrees=True).as_matrix()[:, 0], atol=1e-12)


def test_mass_scales_torques_without_ground(analysis: TrialAnalysis) -> None:
    frozen, reaction = standing(analysis, {side: np.zeros(6) for side in SIDES})
    light = solve_dynamics(frozen, reaction)
    heavy = solve_dynamics(replace(frozen, model=with_mass(frozen.model, 2.0 * frozen.model.mass_kg)), reaction)
    np.testing.assert_allclose(heavy.torques, 2.0 * light.torques, rtol=1e-9, atol=1e-9)


def plate(force_n: np.ndarray) -> PlateWrench:
    corners = np.array([[0.3, 0.0, 0.3], [-0.3, 0.0, 0.3], [-0.3, 0.0, -0.3], [0.3, 0.0, -0.3]])
    wrench = np.zeros((len(force_n), 6))
    wrench[:, 4] = force_n
    return PlateWrench(1, corners, wrench, 100.0)


def test_mass_from_quiet_standing() -> None:
    feet = [np.array([0.0, 0.05, 0.1]), np.array([0.0, 0.05, -0.1])]
    steady = np.full(100, 60.0 * STANDARD_GRAVITY_M_S2)
    estimate = mass_from_standing([plate(steady)], 0.2, 0.7, feet)
    assert estimate is not None
    assert estimate.mass_kg == pytest.approx(60.0)
    beside = [feet[0], np.array([0.0, 0.05, 0.6])]
    assert mass_from_standing([plate(steady)], 0.2, 0.7, beside) is None, "one foot stands on the floor"
    bouncing = steady * (1.0 + 0.2 * np.sin(np.arange(100)))
    assert mass_from_standing([plate(bouncing)], 0.2, 0.7, feet) is None
    assert mass_from_standing([plate(np.zeros(100))], 0.2, 0.7, feet) is None
    assert mass_from_standing([], 0.2, 0.7, feet) is None


def test_mass_from_strides(analysis: TrialAnalysis) -> None:
    rate = analysis.recording.markers.rate_hz
    stances = stance_masses(analysis.reaction, analysis.events, rate)
    estimate = mass_from_strides([stances])
    assert estimate is not None
    # The simulated walk is periodic: what is left is the events' error, about 5 ms in a stride of 1.1 s.
    assert estimate.mass_kg == pytest.approx(analysis.subject.mass_kg, rel=0.01)
    none: tuple[GaitEvent, ...] = ()
    assert mass_from_strides([stance_masses(analysis.reaction, none, rate)]) is None


def test_one_mass_of_all_walks_of_a_session() -> None:
    walks: list[StanceMasses] = [{"r": [35.0], "l": [33.0]}, {"r": [37.0]}, {}]
    estimate, note = stride_mass(walks[0], walks[1:])
    assert estimate.mass_kg == pytest.approx(36.0 + 33.0)
    assert estimate.mass_kg == stride_mass(walks[2], walks[:2])[0].mass_kg
    assert "all 2 walks of the session; the estimates of single walks are 68.0 to 74.0 kg" in note.message
