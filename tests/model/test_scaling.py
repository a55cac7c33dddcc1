"""From standing markers to the subject's skeleton."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from simulator.person import measures, template_points

from biodyn.conventions import FloatArray
from biodyn.errors import MarkerSetError, StaticTrialError
from biodyn.geometry.rotations import cardan_zxy
from biodyn.model.body_model import SubjectModel, with_mass, with_shifted_centres
from biodyn.model.from_library.markersets import recognise_marker_set
from biodyn.model.from_library.scaling import ScalingOptions, SubjectScaling
from biodyn.model.from_library.skeleton_recipes import load_skeleton
from biodyn.rigid_body import body_poses

HEIGHT_M = 1.75
MASS_KG = 70.0
OPTIONS = ScalingOptions(
    mass_kg=MASS_KG,
    height_m=HEIGHT_M,
    sex="mean",
    measures=measures(HEIGHT_M),
    anthropometry="de_leva_1996",
    hip_centre="harrington_2007",
    marker_radius_m=0.007,
    foot_flat=True,
)
FULL = "plug_in_gait_full"
LOWER = "plug_in_gait_lower"


def skewed(marker_set: str, seed: int = 3) -> dict[str, FloatArray]:
    """A person who is not symmetric: every template marker moved by some millimetres."""
    rng = np.random.default_rng(seed)
    return {label: p + rng.normal(scale=0.004, size=3) for label, p in template_points(HEIGHT_M, marker_set).items()}


def scaled(
    points: Mapping[str, FloatArray], options: ScalingOptions = OPTIONS, without: tuple[str, ...] = ()
) -> SubjectModel:
    """Scale the full-body skeleton; labels `without` are seen while standing but not while walking."""
    tracked = frozenset(points) - set(without)
    return SubjectScaling(
        load_skeleton("full_body"), recognise_marker_set(tuple(points)), points, tracked, options
    ).model()[0]


def standing(model: SubjectModel) -> tuple[FloatArray, FloatArray]:
    """Poses of the links in the static posture: R (1, L, 3, 3), p (1, L, 3)."""
    root = model.bodies[0]
    return body_poses(model.multibody, model.static_configuration(root.R_PB, root.p_PB)[None])


@pytest.mark.parametrize("marker_set", [FULL, LOWER])
def test_the_static_posture_is_reproduced(marker_set: str) -> None:
    """Every marker that defines or rides on the skeleton is where the static trial has it, to round-off."""
    points = skewed(marker_set)
    model = scaled(points)
    R, p = standing(model)
    links, p_LM, _ = model.marker_arrays()
    found = p[0, links] + np.einsum("mij,mj->mi", R[0, links], p_LM)
    wanted = np.array([points[marker.label] for marker in model.markers])
    np.testing.assert_allclose(found, wanted, atol=1e-12)
    assert len(model.markers) == len(points)


def test_segments_stand_on_their_joints() -> None:
    """A segment's origin, carried along the chain of links, is its joint centre in the parent's frame."""
    model = scaled(skewed(FULL))
    R, p = standing(model)
    for body in model.bodies[1:]:
        R_WP, p_WP = model.body_poses(R, p, body.definition.parent)
        R_WB, p_WB = model.body_poses(R, p, body.definition.name)
        np.testing.assert_allclose(p_WB[0], p_WP[0] + R_WP[0] @ body.p_PB, atol=1e-12)
        np.testing.assert_allclose(R_WB[0], R_WP[0] @ body.R_PB, atol=1e-12)


def test_cardan_angles_rebuild_the_rotation() -> None:
    R = Rotation.random(50, random_state=1).as_matrix()
    np.testing.assert_allclose(Rotation.from_euler("ZXY", cardan_zxy(R)).as_matrix(), R, atol=1e-12)


def test_masses_sum_to_the_subject() -> None:
    model = scaled(skewed(FULL))
    assert sum(body.inertia.mass for body in model.bodies) == pytest.approx(MASS_KG, rel=1e-12)
    assert sum(link.mass_kg for link in model.multibody.bodies) == pytest.approx(MASS_KG, rel=1e-12)


def test_a_symmetric_person_has_a_symmetric_model() -> None:
    points = template_points(HEIGHT_M, FULL)
    points["RBAK"] = points["RBAK"] * (1.0, 1.0, 0.0)  # the template's only marker without a twin
    model = scaled(points)
    mirror = np.diag([1.0, 1.0, -1.0])
    bodies = {body.definition.name: body for body in model.bodies}
    root = model.bodies[0]
    q = model.static_configuration(root.R_PB, root.p_PB)
    for name, right in bodies.items():
        if not name.endswith("_r"):
            continue
        left = bodies[name[:-2] + "_l"]
        np.testing.assert_allclose(left.p_PB, mirror @ right.p_PB, atol=1e-12)
        np.testing.assert_allclose(left.R_PB, mirror @ right.R_PB @ mirror, atol=1e-12)
        assert left.inertia.mass == pytest.approx(right.inertia.mass)
    for coordinate in model.coordinates:
        if coordinate.side == "r":
            twin = model.coordinate(coordinate.name[:-2] + "_l")
            # clinical signs: flexion, adduction, inversion mean the same on both sides
            assert q[twin.q_index] == pytest.approx(q[coordinate.q_index], abs=1e-12)


LEG = ("THI", "KNE", "TIB", "ANK", "HEE", "TOE")


def turned(
    points: Mapping[str, FloatArray], labels: tuple[str, ...], about: FloatArray, axis: str, deg: float
) -> dict[str, FloatArray]:
    """The person with some markers turned about a point and a World axis."""
    R = Rotation.from_euler(axis, deg, degrees=True).as_matrix()
    return {k: about + R @ (v - about) if k in labels else v for k, v in points.items()}


@pytest.mark.parametrize("side", ["r", "l"])
@pytest.mark.parametrize(
    ("centre", "markers", "axis", "deg", "coordinate", "change_deg"),
    [
        # the whole leg forward about the hip: flexion; outwards (to the right about X forward: negative): abduction
        ("femur", LEG, "z", 15.0, "hip_flexion", 15.0),
        ("femur", LEG, "x", 10.0, "hip_adduction", -10.0),
        # shank and foot backwards about the knee; foot up about the ankle
        ("tibia", LEG[2:], "z", -20.0, "knee_angle", 20.0),
        ("calcn", LEG[4:], "z", 10.0, "ankle_angle", 10.0),
    ],
)
def test_coordinates_mean_what_clinicians_mean(
    side: str, centre: str, markers: tuple[str, ...], axis: str, deg: float, coordinate: str, change_deg: float
) -> None:
    """Turning a part of the body about its joint changes that coordinate by that angle, the same sign on both sides.

    1.5 degrees: the joint axes are not exactly the World's, the shank's wand makes the ankle centre anew.
    """
    options = replace(OPTIONS, foot_flat=False)  # else the foot's axes stay level
    points = template_points(HEIGHT_M, LOWER)
    model = scaled(points, options)
    R, p = standing(model)
    about = model.body_poses(R, p, f"{centre}_{side}")[1][0]
    sign = 1.0 if axis == "z" or side == "r" else -1.0
    labels = tuple(side.upper() + name for name in markers)
    before = static_angles(model)
    after = static_angles(scaled(turned(points, labels, about, axis, -sign * deg if axis == "x" else deg), options))
    change = {name: np.rad2deg(after[name] - before[name]) for name in before}
    assert change[f"{coordinate}_{side}"] == pytest.approx(change_deg, abs=1.5)
    other = "l" if side == "r" else "r"
    assert change[f"{coordinate}_{other}"] == pytest.approx(0.0, abs=1e-9)


def static_angles(model: SubjectModel) -> dict[str, float]:
    return {
        str(step.coordinate): angle
        for body in model.bodies
        for step, angle in zip(body.definition.rotations, body.static_angles_rad, strict=True)
        if step.coordinate
    }


# -- what markers cannot see ----------------------------------------------------------------------------------------


def test_lower_body_markers_carry_the_upper_body() -> None:
    """Trunk, head and arms ride on the pelvis with all their mass; the legs move."""
    model = scaled(skewed(LOWER))
    legs = {body.definition.name for body in model.moving_segments}
    assert {body.definition.name for body in model.bodies[1:]} - legs == set(model.locked_segments)
    assert {"torso", "head", "humerus_r", "radius_l", "hand_r"} <= set(model.locked_segments)
    assert {"femur_r", "tibia_l", "calcn_r"} <= legs
    assert "lumbar_extension" in model.locked
    assert {c.body for c in model.coordinates} <= legs
    upper = sum(body.inertia.mass for body in model.bodies if body.definition.name not in legs)
    base = model.multibody.bodies[0]
    assert base.mass_kg == pytest.approx(upper, rel=1e-12)
    # their common centre of mass lies above the pelvis origin, by the trunk's length or so
    assert 0.1 < base.com_m[1] < 0.5


def test_markers_not_seen_in_the_walk_lock_their_coordinates() -> None:
    """Without hand markers in the walk the wrists are held as they were while standing; the arms still move."""
    points = skewed(FULL)
    whole = scaled(points)
    model = scaled(points, without=("RFIN",))
    lost = {c.name for c in whole.coordinates} - {c.name for c in model.coordinates}
    assert lost
    assert all("wrist" in name and name.endswith("_r") for name in lost)
    assert lost <= set(model.locked)
    assert {"elbow_flex_r", "wrist_flex_l"} <= {c.name for c in model.coordinates}
    assert sum(link.mass_kg for link in model.multibody.bodies) == pytest.approx(MASS_KG, rel=1e-12)


def test_a_leg_without_markers_has_no_sole_and_two_are_refused() -> None:
    model = scaled(skewed(LOWER), without=("RHEE", "RTOE", "RANK"))
    assert np.isnan(model.foot_outlines["r"]).all()
    assert np.isfinite(model.foot_outlines["l"]).all()
    with pytest.raises(MarkerSetError, match=r"not determine .*right foot.* in"):
        scaled(skewed(LOWER), without=("RHEE", "RTOE", "RANK", "LHEE", "LTOE", "LANK"))


def test_a_pelvis_that_was_not_seen_is_refused() -> None:
    points = skewed(LOWER)
    mapping = recognise_marker_set(tuple(points))
    seen = {label: p for label, p in points.items() if label not in ("LASI",)}
    with pytest.raises(StaticTrialError, match="pelvis"):
        SubjectScaling(load_skeleton("full_body"), mapping, seen, frozenset(points), OPTIONS).model()


# -- changes --------------------------------------------------------------------------------------------------------


def test_another_mass_scales_every_inertia() -> None:
    model = scaled(skewed(FULL))
    heavier = with_mass(model, 1.5 * MASS_KG)
    assert heavier.mass_kg == 1.5 * MASS_KG
    for before, after in zip(model.bodies, heavier.bodies, strict=True):
        assert after.inertia.mass == pytest.approx(1.5 * before.inertia.mass)
        np.testing.assert_allclose(after.inertia.tensor, 1.5 * before.inertia.tensor)
        np.testing.assert_array_equal(after.inertia.com, before.inertia.com)
    direct = scaled(skewed(FULL), replace(OPTIONS, mass_kg=1.5 * MASS_KG))
    for one, other in zip(heavier.multibody.bodies, direct.multibody.bodies, strict=True):
        assert one.mass_kg == pytest.approx(other.mass_kg)


def test_a_moved_centre_takes_the_segment_along() -> None:
    model = scaled(skewed(FULL))
    shift = np.array([0.01, -0.02, 0.003])
    moved = with_shifted_centres(model, {"torso": shift})
    R, p = standing(moved)
    R0, p0 = standing(model)
    R_WP, _ = model.body_poses(R0, p0, "pelvis")
    for name in ("torso", "head", "humerus_l", "hand_r"):
        np.testing.assert_allclose(
            moved.body_poses(R, p, name)[1][0], model.body_poses(R0, p0, name)[1][0] + R_WP[0] @ shift, atol=1e-12
        )
    np.testing.assert_allclose(moved.body_poses(R, p, "femur_r")[1], model.body_poses(R0, p0, "femur_r")[1], atol=1e-12)


def test_height_is_estimated_from_the_legs_where_nobody_tells() -> None:
    """Within 5 %: the template's legs are those of an average person (Winter 2009)."""
    model, notes = SubjectScaling(
        load_skeleton("full_body"),
        recognise_marker_set(tuple(skewed(FULL))),
        skewed(FULL),
        frozenset(skewed(FULL)),
        replace(OPTIONS, height_m=None),
    ).model()
    assert model.height_m == pytest.approx(HEIGHT_M, rel=0.05)
    assert "height-estimated" in {note.code for note in notes}


def test_missing_widths_are_assumed_and_said() -> None:
    points = skewed(LOWER)
    options = replace(OPTIONS, measures={})
    _, notes = SubjectScaling(
        load_skeleton("full_body"), recognise_marker_set(tuple(points)), points, frozenset(points), options
    ).model()
    said = " ".join(note.message for note in notes if note.code == "assumed-measure" and note.severity == "warning")
    for name in ("right and left knee width", "right and left ankle width"):
        assert name in said
