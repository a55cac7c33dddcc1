"""A body model made by hand: nothing in it knows of recipes, tables or static trials."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from simulator.person import measures, template_points

import biodyn.model
from biodyn.model.assembly import ScaledBody
from biodyn.model.body_model import (
    AttachedMarker,
    SubjectModel,
    assemble_model,
    find_joint_centre_point,
    with_inertias,
    with_markers,
    with_mass,
    with_misplaced_centre,
    with_shifted_centres,
)
from biodyn.model.from_library.markersets import recognise_marker_set
from biodyn.model.from_library.scaling import ScalingOptions, SubjectScaling
from biodyn.model.from_library.skeleton_recipes import load_skeleton
from biodyn.model.observability import lock_unobservable
from biodyn.model.skeleton import BodyDefinition, Inertia, Rotation, SkeletonDefinition
from biodyn.rigid_body import body_poses

BASE = ("tilt", "list", "turn"), ("tx", "ty", "tz")


def crane(markers: tuple[AttachedMarker, ...] | None = None) -> SubjectModel:
    """A base, an arm of two coordinates and a hook of one: names of no library."""
    free = (-np.pi, np.pi)
    z, x = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])
    definitions = (
        BodyDefinition("tower", "", "ground", "", (), *BASE),
        BodyDefinition("arm", "tower", "slew", "", (Rotation(z, "raise", free, "z"), Rotation(x, "sway", free, "x"))),
        BodyDefinition("hook", "arm", "tip", "", (Rotation(z, "swing", free, "z"),)),
    )
    skeleton = SkeletonDefinition("crane", "A crane", "", definitions, frozenset(d.name for d in definitions))
    ball = Inertia(10.0, np.array([0.0, -0.1, 0.0]), 0.2 * np.eye(3))
    places = (np.zeros(3), np.array([0.0, 2.0, 0.0]), np.array([0.0, -1.0, 0.0]))
    bodies = tuple(
        ScaledBody(definition, np.eye(3), place, ball, (0.0,) * len(definition.rotations), True)
        for definition, place in zip(definitions, places, strict=True)
    )
    corners = np.array([[0.1, 0.0, 0.0], [0.0, 0.1, 0.1], [-0.1, 0.0, 0.2]])
    everywhere = tuple(
        AttachedMarker(f"{d.name}{i}", d.name, corner, 1.0) for d in definitions for i, corner in enumerate(corners)
    )
    return assemble_model(
        skeleton,
        bodies,
        frozenset(),
        mass_kg=30.0,
        height_m=2.0,
        sex="",
        markers=everywhere if markers is None else markers,
        foot_outlines={},
        sole_body={},
    )


def places(model: SubjectModel) -> np.ndarray:
    """World positions of the markers in the static posture."""
    links, p_LM, _ = model.marker_arrays()
    R, p = body_poses(model.multibody, model.static_configuration(np.eye(3), np.zeros(3))[None])
    return p[0, links] + np.einsum("mij,mj->mi", R[0, links], p_LM)


def test_the_model_stands_without_a_library() -> None:
    model = crane()
    assert [c.name for c in model.coordinates] == ["raise", "sway", "swing"]
    assert model.locked == ()
    assert model.locked_segments == ()
    assert model.multibody.total_mass_kg == pytest.approx(30.0)
    assert (model.joint_centre_zones, model.refined_centres, model.uncertain_turns) == ({}, frozenset(), {})


def test_what_no_marker_sees_is_locked() -> None:
    whole = crane()
    seen = tuple(marker for marker in whole.markers if marker.body != "hook")
    model = lock_unobservable(crane(seen), np.eye(3), np.zeros(3))
    assert model.locked == ("swing",)
    assert model.locked_segments == ("hook",)
    assert [c.name for c in model.coordinates] == ["raise", "sway"]
    assert model.multibody.total_mass_kg == pytest.approx(30.0)
    assert lock_unobservable(whole, np.eye(3), np.zeros(3)) is whole


def test_it_changes_as_any_model() -> None:
    model = crane()
    assert with_mass(model, 60.0).multibody.total_mass_kg == pytest.approx(60.0)
    heavy = with_inertias(model, {"hook": Inertia(25.0, np.zeros(3), np.eye(3))})
    assert heavy.multibody.total_mass_kg == pytest.approx(45.0)
    more = with_markers(model, (AttachedMarker("lamp", "hook", np.zeros(3), 0.5),))
    np.testing.assert_allclose(places(more)[-1], [0.0, 1.0, 0.0], atol=1e-12)
    moved = with_shifted_centres(model, {"hook": np.array([0.1, 0.0, 0.0])})
    np.testing.assert_allclose(places(moved)[6:] - places(model)[6:], np.tile([0.1, 0.0, 0.0], (3, 1)), atol=1e-12)
    # Believed elsewhere: the markers stay where they are seen.
    np.testing.assert_allclose(
        places(with_misplaced_centre(model, "hook", np.array([0.03, 0.0, 0.0]))), places(model), atol=1e-12
    )


def test_a_point_at_a_centre_is_no_marker() -> None:
    model = replace(crane(), joint_centre_zones={"hook": ("tip of the crane", 0.05)})
    arm, hook = model.bodies[1:]
    for body, place in ((arm, (0.0, -0.98, 0.0)), (hook, (0.0, 0.02, 0.0))):
        note = find_joint_centre_point("P1", np.array(place), body, model)
        assert note is not None
        assert "20 mm from the tip of the crane" in note.message
    assert find_joint_centre_point("P1", np.zeros(3), arm, model) is None


def test_no_recipe_is_left_in_a_scaled_model() -> None:
    points = template_points(1.75, "plug_in_gait_lower")
    options = ScalingOptions(70.0, 1.75, "mean", measures(1.75), "de_leva_1996", "harrington_2007", 0.007, True)
    model, _ = SubjectScaling(
        load_skeleton("full_body"), recognise_marker_set(tuple(points)), points, frozenset(points), options
    ).model()
    assert {type(body) for body in model.skeleton.bodies} == {BodyDefinition}
    assert all(mine is body.definition for mine, body in zip(model.skeleton.bodies, model.bodies, strict=True))
    assert set(model.uncertain_turns) == {"femur_r", "femur_l"}
    assert {"torso", "humerus_r"} <= model.refined_centres
    assert {"femur_r", "tibia_l"} <= set(model.joint_centre_zones)


def test_the_model_loads_without_its_recipes() -> None:
    """Not even by way of another module: a model from a file must not need the library."""
    modules = [f"biodyn.model.{path.stem}" for path in sorted(Path(biodyn.model.__path__[0]).glob("[a-z]*.py"))]
    code = f"import sys, {', '.join(modules)}; print([name for name in sys.modules if 'from_library' in name])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
