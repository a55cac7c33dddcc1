"""Functional trials: they tell the hip to the fit, and by themselves they show centre and axis beside the model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from simulator.wearing import Scatter, Worn
from support.people import RATE_HZ, errors_m, functional_of, person_of, scaling_of

from biodyn.model.body_model import AttachedMarker, StaticFigure, SubjectModel, with_markers, with_misplaced_centre
from biodyn.processing.calibration.subject_fit.fit_result import functional_joints, subject_fit_findings
from biodyn.processing.calibration.subject_fit.subject_model_fit import fit_subject
from biodyn.processing.calibration.subject_fit.unknowns import CalibrationTrial, model_poses
from biodyn.recording import Markers

LOWER = ("plug_in_gait_lower", "lower_limb")


def seen(person: Worn, use: str = "walk", name: str = "") -> CalibrationTrial:
    return CalibrationTrial(Markers(person.labels, person.markers, RATE_HZ), name, use=use)  # type: ignore[arg-type]


@pytest.mark.slow
def test_functional_trials_tell_the_hip_better_than_any_walk() -> None:
    """Three people whose hips lie beside the regression: all axes, sideways too, which walking does not show."""
    walk_alone, with_functional = [], []
    for seed in (60, 61, 62):
        person = person_of(seed, *LOWER, Scatter())
        scaling = scaling_of(person)
        model, _ = scaling.model()
        moved = [seen(one, "functional") for one in functional_of(seed, *LOWER, Scatter())]
        for trials, errors in (([seen(person)], walk_alone), ([seen(person), *moved], with_functional)):
            found = errors_m(StaticFigure.from_model(fit_subject(trials, model, scaling).model), person)
            errors += [found["femur_r"], found["femur_l"]]
    before, after = (np.sqrt(np.mean(np.sum(np.square(e), axis=1))) for e in (walk_alone, with_functional))
    assert after < 0.007  # 6.1 mm with skin of measured sizes
    assert after < 0.75 * before


@pytest.fixture(scope="module")
def clusters() -> tuple[SubjectModel, CalibrationTrial]:
    """A model with markers enough for a pose of every segment of the legs; the right leg moves as in a functional trial."""
    person = functional_of(5, *LOWER, Scatter(skin=0.0, placement_m=0.0, hip_m=0.0, hip_side_m=0.0, noise_m=0.0))[0]
    model = person.body.model
    extra = []
    for body in model.bodies:
        if body.definition.side and model.bodies[0].definition.name != body.definition.name:
            for k, place in enumerate(((0.08, -0.1, 0.0), (0.0, -0.2, 0.08), (-0.06, -0.25, 0.02))):
                extra.append(AttachedMarker(f"X{body.definition.name}{k}", body.definition.name, np.array(place), 1.0))
    model = with_markers(model, tuple(extra))
    time = np.arange(0, 8.0, 0.05)
    q = np.tile(person.body.static_q, (len(time), 1))
    for name, angle in (
        ("hip_flexion_r", 0.5 * np.sin(2.0 * time)),
        ("hip_adduction_r", 0.3 * np.sin(3.1 * time)),
        ("knee_angle_r", 0.6 * (1.0 - np.cos(2.7 * time))),
    ):
        q[:, model.coordinate(name).q_index] += angle
    labels = tuple(marker.label for marker in model.markers)
    return model, CalibrationTrial(Markers(labels, model_poses(model, q).p_WM, 20.0), "star.c3d", use="functional")


def test_rigid_segments_give_centre_and_axis_exactly(clusters: tuple[SubjectModel, CalibrationTrial]) -> None:
    model, trial = clusters
    found = {(joint.segment, joint.method): joint for joint in functional_joints([trial], model)}
    assert found.keys() == {("femur_r", "SCoRE"), ("tibia_r", "SARA")}, "the left leg did not move"
    for joint in found.values():
        assert joint.off_m < 1e-6
        assert joint.residual_m < 1e-6
    assert found["tibia_r", "SARA"].off_rad == pytest.approx(0.0, abs=1e-6)
    assert not functional_joints([replace(trial, use="walk")], model)


def test_a_centre_that_a_functional_trial_puts_elsewhere_is_named(
    clusters: tuple[SubjectModel, CalibrationTrial],
) -> None:
    model, trial = clusters
    wrong = with_misplaced_centre(model, "femur_r", np.array([0.0, 0.0, 0.03]))
    found = functional_joints([trial], wrong)
    hip = next(joint for joint in found if joint.method == "SCoRE")
    assert hip.off_m == pytest.approx(0.03, abs=1e-3)
    person = person_of(60, *LOWER, Scatter())
    scaling = scaling_of(person)
    account = fit_subject([seen(person)], scaling.model()[0], scaling)
    notes = subject_fit_findings(replace(account, functional=found), ())
    assert [note.about for note in notes if note.code == "functional-disagrees"] == ["femur_r"]
