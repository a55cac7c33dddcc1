"""The hip centre from movement: simulated thighs whose centre is known, with skin that moves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from simulator.person import measures, template_points

from biodyn.conventions import FloatArray
from biodyn.errors import ModelError
from biodyn.model.from_library.functional_trial import functional_trials
from biodyn.model.from_library.hip_centre import FunctionalTrial, HipInput, hip_centre
from biodyn.model.from_library.markersets import recognise
from biodyn.model.from_library.scaling import ScalingOptions, scale
from biodyn.model.from_library.skeleton import load_skeleton
from biodyn.recording import Markers

NAME = "score_2006"
RATE_HZ = 100.0
CENTRE_P = np.array([-0.05, -0.08, 0.085])  # in the pelvis frame: behind, below and beside the middle of the ASIS
PELVIS_P = np.array([[0.0, 0.0, 0.12], [0.0, 0.0, -0.12], [-0.16, 0.03, 0.05], [-0.16, 0.03, -0.05]])
THIGH_T = np.array(
    [[0.05, -0.15, 0.05], [0.07, -0.25, 0.02], [0.02, -0.30, 0.08], [0.0, -0.22, 0.10]]
)  # from the centre


def star_and_circle(flexion_deg: float = 35.0, abduction_deg: float = 20.0) -> FloatArray:
    """Attitudes of the thigh in the pelvis (T, 3, 3): forward and back, outward, then round."""
    phase = np.linspace(0.0, 2.0 * np.pi, 150, endpoint=False)
    flexion = np.concatenate([np.sin(phase), 0.0 * phase, np.cos(phase)]) * flexion_deg
    abduction = np.concatenate([0.0 * phase, 1.0 - np.cos(phase), np.sin(phase)]) * abduction_deg
    return Rotation.from_euler("ZX", np.column_stack([flexion, abduction]), degrees=True).as_matrix()


def made(
    R_PT: FloatArray, skin_m: float = 0.0, noise_m: float = 0.0, seed: int = 0
) -> tuple[HipInput, FunctionalTrial]:
    """A pelvis that sways in World, and a thigh whose markers slide on the skin with the movement."""
    rng = np.random.default_rng(seed)
    count = len(R_PT)
    time = np.arange(count) / RATE_HZ
    sway = Rotation.from_euler("YXZ", 4.0 * np.sin(time[:, None] * (0.7, 1.1, 0.9)), degrees=True)
    R_WP = (sway * Rotation.from_euler("Y", 30.0, degrees=True)).as_matrix()
    p_WP = np.array([0.4, 1.0, -0.2]) + 0.02 * np.sin(time[:, None] * (0.8, 0.5, 1.2))
    # Skin follows the joint's angles, every marker its own way: the form that fits least to noise.
    turns = Rotation.from_matrix(R_PT).as_rotvec()
    drive = turns / np.abs(turns).max()
    slide = skin_m * np.einsum("tk,mki->tmi", drive, rng.normal(size=(len(THIGH_T), 3, 3)) / np.sqrt(3.0))
    thigh_P = np.einsum("tij,tmj->tmi", R_PT, THIGH_T + slide) + CENTRE_P

    def in_world(p_P: FloatArray) -> FloatArray:
        return np.einsum("tij,tmj->tmi", R_WP, p_P) + p_WP[:, None]

    pelvis_W = in_world(np.broadcast_to(PELVIS_P, (count, *PELVIS_P.shape)))
    noisy = [points + rng.normal(scale=noise_m, size=points.shape) for points in (pelvis_W, in_world(thigh_P))]
    R, p = Rotation.from_euler("Y", 80.0, degrees=True).as_matrix(), np.array([1.0, 0.9, 2.0])
    trial = FunctionalTrial(noisy[0], PELVIS_P @ R.T + p, noisy[1])
    return HipInput("r", 0.155, 0.24, 0.88, 0.007, R_WP=R, p_WP=p, trial=trial), trial


def error_mm(given: HipInput) -> float:
    return 1e3 * float(np.linalg.norm(hip_centre(NAME, given) - CENTRE_P))


def test_markers_fixed_to_the_bones_give_the_centre() -> None:
    assert error_mm(made(star_and_circle())[0]) < 1e-6  # round-off of a solve with a condition number of 10


@pytest.mark.parametrize("seed", range(5))
def test_camera_noise_moves_it_by_tenths_of_a_millimetre(seed: int) -> None:
    assert error_mm(made(star_and_circle(), noise_m=0.0005, seed=seed)[0]) < 0.5


@pytest.mark.parametrize(("skin_m", "mean_mm"), [(0.002, 3.0), (0.005, 8.0), (0.010, 16.0)])
def test_skin_moves_it_by_millimetres(skin_m: float, mean_mm: float) -> None:
    """Markers that slide with the joint's angles, up to `skin_m`, move the centre by 1.3 times as much on average.

    That is the condition number's factor: a motion half as wide would double it.
    """
    errors = [error_mm(made(star_and_circle(), skin_m=skin_m, noise_m=0.0005, seed=seed)[0]) for seed in range(20)]
    assert np.mean(errors) < mean_mm
    assert np.max(errors) < 2.5 * mean_mm


def test_a_frame_with_a_marker_out_of_sight_is_left_out() -> None:
    given, trial = made(star_and_circle())
    thigh = trial.thigh_W.copy()
    thigh[30:90, 1] = np.nan
    assert error_mm(replace(given, trial=replace(trial, thigh_W=thigh))) < 1e-6


@pytest.mark.parametrize(
    ("R_PT", "sentence"),
    [
        (star_and_circle(abduction_deg=2.0), "one axis only"),
        (star_and_circle(flexion_deg=15.0, abduction_deg=8.0), r"condition number 19, expected at most 15"),
    ],
)
def test_a_motion_that_fixes_no_centre_is_refused(R_PT: FloatArray, sentence: str) -> None:
    with pytest.raises(ModelError, match=sentence):
        hip_centre(NAME, made(R_PT, noise_m=0.0005)[0])


def test_what_is_lacking_is_said() -> None:
    given, trial = made(star_and_circle())
    for lacking, sentence in (
        (None, "needs a trial in which the thigh moves"),
        (replace(trial, thigh_W=trial.thigh_W[:, :2]), "2 markers on the thigh, expected at least 3"),
        (replace(trial, thigh_W=trial.thigh_W[:10], pelvis_W=trial.pelvis_W[:10]), "seen in 10 frames"),
    ):
        with pytest.raises(ModelError, match=sentence):
            hip_centre(NAME, replace(given, trial=lacking))


def test_a_thigh_that_leaves_the_hip_is_refused() -> None:
    """Labels of another segment: no point rests in both."""
    given, trial = made(star_and_circle())
    drift = np.linspace(0.0, 0.3, len(trial.thigh_W))[:, None, None] * (1.0, 0.0, 0.0)
    with pytest.raises(ModelError, match="apart"):
        hip_centre(NAME, replace(given, trial=replace(trial, thigh_W=trial.thigh_W + drift)))


def test_scaling_takes_it_from_a_functional_trial() -> None:
    """The model's hips stand where the thighs turned about, whatever a regression says of this pelvis."""
    height_m = 1.75
    points = template_points(height_m, "plug_in_gait_lower")
    mapping, skeleton = recognise(tuple(points)), load_skeleton("full_body")
    true_hip = {"r": points["RASI"] + (-0.06, -0.10, -0.03), "l": points["LASI"] + (-0.06, -0.10, 0.03)}
    thigh = {role.label: role.body for role in mapping.roles if role.body.startswith("femur")}
    # The thigh of the template wears two markers: two more that the set knows not by name ride with it.
    extra = {f"{side}TH{i}": (side.lower(), np.array(place)) for side in "RL" for i, place in enumerate(THIGH_T[:2])}
    R_PT = star_and_circle()
    labels = [*points, *extra]
    positions = np.array([np.tile(points[label], (len(R_PT), 1)) for label in points] + [np.zeros((len(R_PT), 3))] * 4)
    roles = list(mapping.roles)
    for i, label in enumerate(labels):
        if label in thigh or label in extra:
            side = thigh[label][-1] if label in thigh else extra[label][0]
            arm = points[label] - true_hip[side] if label in thigh else extra[label][1]
            positions[i] = true_hip[side] + R_PT @ arm
        if label in extra:
            like = next(role for role in mapping.roles if role.body == f"femur_{extra[label][0]}")
            roles.append(replace(like, label=label, landmark=""))
    moved = Markers(tuple(labels), positions.transpose(1, 0, 2), RATE_HZ)
    trials = functional_trials(skeleton, replace(mapping, roles=tuple(roles)), points, moved)
    assert sorted(trials) == ["l", "r"]
    options = ScalingOptions(70.0, height_m, "mean", measures(height_m), "de_leva_1996", NAME, 0.007, True, trials)
    model, _ = scale(skeleton, mapping, points, frozenset(points), options)
    root = model.bodies[0]
    for side, place in true_hip.items():
        femur = next(body for body in model.bodies if body.definition.name == f"femur_{side}")
        np.testing.assert_allclose(root.p_PB + root.R_PB @ femur.p_PB, place, atol=1e-8)
