"""The data of the body models agree with each other: landmarks, skeletons, marker sets, anthropometric tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from simulator.person import measures, template_points

from biodyn.conventions import SIDES
from biodyn.errors import ModelError
from biodyn.library.tables import entry_names, expand_sides, fill_side, load_entry
from biodyn.library.toml_files import load_table
from biodyn.model.from_library.anthropometry import segment_inertias
from biodyn.model.from_library.marker_set_table import load_marker_set
from biodyn.model.from_library.skeleton_recipes import load_skeleton
from biodyn.model.from_library.static_pose import StaticPose

SKELETONS = entry_names("skeletons")
TABLES = entry_names("anthropometry")
SETS = entry_names("markersets")
# Keys of a recipe that name landmarks it needs.
INPUTS = (
    "of",
    "from",
    "to",
    "through",
    "proximal",
    "lateral",
    "plane",
    "towards",
    "front",
    "back",
    "right",
    "left",
    "leg",
)
INPUTS_IN_FRAME = ("origin", "scale_from", "scale_to")


def recipes() -> dict[str, list[dict[str, Any]]]:
    return {
        entry["name"]: entry["recipes"]
        for raw in load_table("body/landmarks")["landmark"]
        for _, entry in expand_sides(raw)
    }


def marked(name: str) -> set[str]:
    """Landmarks the markers of a set mark."""
    return {entry.landmark for entry in load_marker_set(name).entries if entry.landmark}


def reachable(known: set[str]) -> set[str]:
    """All landmarks that follow from some by the recipes (frames are taken as known where the recipe asks for one)."""
    known = set(known)
    while True:
        more = {
            name for name, ways in recipes().items() if name not in known and any(needed(way) <= known for way in ways)
        }
        if not more:
            return known
        known |= more


def needed(recipe: dict[str, Any]) -> set[str]:
    keys = INPUTS_IN_FRAME if recipe["op"] == "in_frame" else INPUTS
    values = [recipe[key] for key in keys if key in recipe]
    return {name for value in values for name in (value if isinstance(value, list) else [value])}


def used_by(skeleton: str) -> set[str]:
    """Landmarks of which at least the first choice must be reachable: origins, soles."""
    names: set[str] = set()
    for body in load_skeleton(skeleton).bodies:
        names.add(body.origin)
        if body.sole is not None:
            names |= set(body.sole[:2])
    return names


def test_every_landmark_follows_from_the_markers_of_all_sets_together() -> None:
    everything = reachable(set().union(*(marked(name) for name in SETS)))
    assert set(recipes()) <= everything
    for skeleton in SKELETONS:
        for body in load_skeleton(skeleton).bodies:
            for rules in body.frames:
                assert {end for rule in rules for end in (rule.start, rule.end)} <= everything
            assert set(body.hinge_known_from) <= everything


def test_full_body_markers_place_every_origin() -> None:
    assert used_by("full_body") <= reachable(marked("plug_in_gait_full"))


def test_lower_body_markers_place_the_legs() -> None:
    skeleton = load_skeleton("lower_limb")
    reach = reachable(marked("plug_in_gait_lower"))
    for body in skeleton.bodies:
        if body.name in skeleton.free:
            assert body.origin in reach
            assert any({e for r in rules for e in (r.start, r.end)} <= reach for rules in body.frames)


def test_recipes_name_known_measures_and_bodies() -> None:
    known = {f"{name}{side}" for name in load_table("body/measures")["measure"] for side in ("", "_r", "_l")}
    bodies = {body.name for body in load_skeleton("full_body").bodies}
    for ways in recipes().values():
        for way in ways:
            assert {way[key] for key in ("width", "measure") if key in way} <= known
            assert {way[key] for key in ("frame", "body") if key in way} <= bodies


@pytest.mark.parametrize("name", SETS)
def test_marker_sets(name: str) -> None:
    """Every marker sits on a body, no label is claimed twice, both sides have the same markers."""
    marker_set = load_marker_set(name)
    bodies = {body.name for body in load_skeleton("full_body").bodies}
    keys = [key for entry in marker_set.entries for key in set(entry.keys)]
    assert {entry.body for entry in marker_set.entries} <= bodies
    assert len(keys) == len(set(keys)), sorted(key for key in set(keys) if keys.count(key) > 1)
    assert all(entry.weight >= 0.0 for entry in marker_set.entries)
    sides = {
        side: {(e.landmark[:-2], e.weight) for e in marker_set.entries if e.landmark.endswith(f"_{side}")}
        for side in SIDES
    }
    assert sides["r"] == sides["l"]
    assert load_entry("markersets", name)["citation"]


# -- skeletons ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SKELETONS)
def test_both_sides_are_mirrored(name: str) -> None:
    """Positions mirror in z; rotation axes are pseudovectors: x and y change sign."""
    skeleton = load_skeleton(name)
    for right in (body for body in skeleton.bodies if body.side == "r"):
        left = skeleton.body(right.name[:-2] + "_l")
        np.testing.assert_array_equal(left.template, right.template * (1.0, 1.0, -1.0))
        assert (left.name in skeleton.free) == (right.name in skeleton.free)
        for a, b in zip(right.rotations, left.rotations, strict=True):
            np.testing.assert_allclose(b.axis, a.axis * (-1.0, -1.0, 1.0))
            assert a.range_rad == b.range_rad
            assert (a.coordinate is None) == (b.coordinate is None)


def test_coordinates_have_one_name_each() -> None:
    names = [s.coordinate for b in load_skeleton("full_body").bodies for s in b.rotations if s.coordinate]
    assert len(names) == len(set(names)) == 32  # 38 degrees of freedom with the base


FRAMES = 'frames = [[["x", "p", "q"], ["y", "p", "q"]]]'
FLOATING = FRAMES + '\nbase = { rotations = ["a", "b", "c"], translations = ["d", "e", "f"] }'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f'[[body]]\nname="a"\njoint="j"\norigin="o"\nparent="b"\n{FRAMES}', "cycle"),
        (
            f'[[body]]\nname="a"\njoint="j"\norigin="o"\n{FLOATING}\n[[body]]\nname="b"\njoint="k"\norigin="o"\n{FLOATING}',
            "one body",
        ),
        ('extends = "full_body"\nfree = ["tail"]', "tail"),
        ("[[body", "not a valid TOML"),
    ],
)
def test_a_wrong_skeleton_is_named(tmp_path: Any, text: str, said: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(f'name = "mine"\ntitle = "Mine"\ncitation = "none"\n{text}\n', encoding="utf-8")
    with pytest.raises(ModelError, match=said):
        load_skeleton(str(path))


def test_sides_are_filled_in() -> None:
    assert list(expand_sides({"a": ["{s}", "{o}x", "{S}"]})) == [
        ("r", {"a": ["r", "lx", "R"]}),
        ("l", {"a": ["l", "rx", "L"]}),
    ]
    assert list(expand_sides("plain")) == [("", "plain")]
    assert fill_side(3, "r") == 3


# -- anthropometry ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pose() -> StaticPose:
    """A symmetric person of 1.75 m in full-body markers."""
    return StaticPose(
        load_skeleton("full_body"), template_landmarks(), measures(1.75), 1.75, "harrington_2007", 0.007, True
    )


def published(name: str) -> list[dict[str, Any]]:
    """Segments of a table, or of the one that it extends."""
    table = load_entry("anthropometry", name)
    return published(table["extends"]) if "extends" in table else table["segment"]


@pytest.mark.parametrize("sex", ["male", "female"])
@pytest.mark.parametrize("name", TABLES)
def test_published_mass_fractions_make_a_whole_body(name: str, sex: str) -> None:
    """Within the rounding of the published figures; scaling takes up the rest."""
    total = sum(entry[sex]["mass"] for raw in published(name) for _, entry in expand_sides(raw))
    assert total == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("sex", ["male", "female", "mean"])
@pytest.mark.parametrize("name", TABLES)
def test_inertias_are_physical_and_mirrored(name: str, sex: Any, pose: StaticPose) -> None:
    bodies = segment_inertias(name, pose, 70.0, sex)
    assert sum(inertia.mass for inertia in bodies.values()) == pytest.approx(70.0, rel=1e-12)
    mirror = np.diag([1.0, 1.0, -1.0])
    for body, inertia in bodies.items():
        moments = np.linalg.eigvalsh(inertia.tensor)
        assert moments[0] > 0.0
        assert moments[2] <= (moments[0] + moments[1]) * (
            1.0 + 1e-12
        )  # the triangle inequality of any mass distribution
        if body.endswith("_r"):
            other = bodies[body[:-2] + "_l"]
            assert other.mass == inertia.mass
            np.testing.assert_allclose(other.com, mirror @ inertia.com, atol=1e-12)
            np.testing.assert_allclose(other.tensor, mirror @ inertia.tensor @ mirror, atol=1e-12)
    whole = (
        sum(
            inertia.mass
            * (pose.body_pose(pose.skeleton.body(body))[1] + pose.body_pose(pose.skeleton.body(body))[0] @ inertia.com)
            for body, inertia in bodies.items()
        )
        / 70.0
    )
    # standing people's centre of mass lies at 54-58 % of height (Winter 2009); the tables differ by some percent
    assert 0.52 < whole[1] / 1.75 < 0.60


# Axis (X forward, Y along most segments, Z right) about which a body's mass lies closest: its longest dimension.
LONG_AXIS = {"calcn_r": "x", "calcn_l": "x"}  # heel to toe; every other body is longest along Y
# Bodies whose published inertia does not lie closest to Y, and why that is no error.
NOT_LONGEST_ALONG_Y = {
    ("de_leva_1996", "pelvis"): "broader than high",
    ("de_leva_dumas", "pelvis"): "broader than high",
    ("dumas_2007", "pelvis"): "broader than high",
    ("winter_2009", "pelvis"): "broader than high",
    ("winter_2009", "hand_r"): "the table gives one radius for all axes",
    ("winter_2009", "hand_l"): "the table gives one radius for all axes",
}


@pytest.mark.parametrize("sex", ["male", "female", "mean"])
@pytest.mark.parametrize("name", TABLES)
def test_the_smallest_principal_axis_is_the_long_axis(name: str, sex: Any, pose: StaticPose) -> None:
    """A slender body turns most easily about its length; the axis of least inertia points along it more than across."""
    for body, inertia in segment_inertias(name, pose, 70.0, sex).items():
        if (name, body) in NOT_LONGEST_ALONG_Y:
            continue
        least = np.abs(np.linalg.eigh(inertia.tensor)[1][:, 0])
        assert "xyz"[int(least.argmax())] == LONG_AXIS.get(body, "y"), f"{name} {sex} {body}: {least.round(2)}"


@pytest.mark.parametrize("sex", ["male", "female", "mean"])
@pytest.mark.parametrize("name", TABLES)
def test_a_foot_turns_most_easily_about_the_line_from_heel_to_toe(name: str, sex: Any, pose: StaticPose) -> None:
    """Within 20 degrees (the tables' products of inertia), and about half as far from it as from the axes across."""
    for side in SIDES:
        inertia = segment_inertias(name, pose, 70.0, sex)[f"calcn_{side}"]
        moments, axes = np.linalg.eigh(inertia.tensor)
        R_WB, _ = pose.body_pose(pose.skeleton.body(f"calcn_{side}"))
        line = pose.position(f"toe_tip_{side}") - pose.position(f"heel_back_{side}")
        cosine = abs((R_WB @ axes[:, 0]) @ line) / np.linalg.norm(line)
        assert np.degrees(np.arccos(min(cosine, 1.0))) < 20.0
        assert 0.35 < np.sqrt(moments[0] / moments[1]) < 0.65


#: First segment of each body in de Leva's table: the line along which mass centres were measured.
LINES = {
    "pelvis": ("omphalion", "hip_mid"),
    "torso": ("xiphoid_level", "omphalion"),
    "femur_r": ("hip_centre_r", "knee_centre_r"),
    "tibia_l": ("knee_centre_l", "ankle_centre_l"),
    "calcn_r": ("heel_back_r", "toe_tip_r"),
}


@pytest.mark.parametrize("sex", ["male", "female", "mean"])
@pytest.mark.parametrize("body", LINES)
def test_mass_centres_lie_along_the_segment_by_one_table_and_across_it_by_the_other(
    body: str, sex: Any, pose: StaticPose
) -> None:
    """Masses and tensors are the first one's; sideways a body in the middle keeps its mass there."""
    along, across, both = (
        segment_inertias(name, pose, 70.0, sex)[body] for name in ("de_leva_1996", "dumas_2007", "de_leva_dumas")
    )
    assert both.mass == along.mass
    np.testing.assert_array_equal(both.tensor, along.tensor)
    R_WB, _ = pose.body_pose(pose.skeleton.body(body))
    start, end = (pose.position(name) for name in LINES[body])
    line = R_WB.T @ (end - start) / np.linalg.norm(end - start)
    # round-off of sums of decimetres
    assert (both.com - along.com) @ line == pytest.approx(0.0, abs=1e-15)
    left = both.com - across.com
    left -= (left @ line) * line
    if body in ("pelvis", "torso"):
        assert both.com[2] == pytest.approx(along.com[2], abs=1e-15)
        left[2] = 0.0
    np.testing.assert_allclose(left, 0.0, atol=1e-12)


@pytest.mark.parametrize("sex", ["male", "female", "mean"])
def test_mass_lies_behind_the_lines_between_the_joints(sex: Any, pose: StaticPose) -> None:
    """Buttocks, hamstrings and calves: one to three centimetres behind the joints' lines of thigh and shank (Dumas 2007)."""
    on_lines, bodies = (segment_inertias(name, pose, 70.0, sex) for name in ("de_leva_1996", "de_leva_dumas"))
    for body, least, most in (("femur_r", 0.01, 0.035), ("tibia_r", 0.01, 0.025)):
        assert least < on_lines[body].com[0] - bodies[body].com[0] < most, body


@pytest.mark.parametrize(
    ("sex", "width_m", "from_asis", "from_l5s1", "length_m"),
    [
        ("male", 0.224, (-0.336, -0.149), (0.028, -0.280), 0.094),
        ("female", 0.238, (-0.371, -0.050), (-0.009, -0.232), 0.107),
    ],
)
def test_l5_s1_lies_where_both_rows_of_a_table_put_it(
    sex: str, width_m: float, from_asis: tuple[float, float], from_l5s1: tuple[float, float], length_m: float
) -> None:
    """Dumas 2007 gives the pelvis' mass centre from the middle of the ASIS and from L5/S1, along the same axes.

    The difference of both rows is where L5/S1 lies. The recipe is the mean of men and women of a regression on the same bones
    (Dumas & Wojtusch 2018): they are 10 mm apart in height on either side of it, and 4 to 7 mm from these rows forward.
    """
    rows = np.array([from_asis]) * width_m - np.array([from_l5s1]) * length_m
    (recipe,) = next(
        entry["recipes"] for entry in load_table("body/landmarks")["landmark"] if entry["name"] == "lumbar_centre"
    )
    apart = np.array(recipe["position"][:2]) * width_m - rows[0]
    assert np.linalg.norm(apart) < 0.014, sex


@pytest.mark.parametrize("name", TABLES)
def test_published_tensors_are_physical_but_for_one(name: str) -> None:
    """Of every row: positive, and no principal moment larger than the two others together."""
    broken = set()
    for entry in published(name):
        for sex in ("male", "female"):
            row = entry[sex]
            tensor = np.diag(np.square(row["radii"]))
            for (i, j), radius in zip(((0, 1), (0, 2), (1, 2)), row.get("products", (0.0,) * 3), strict=True):
                tensor[i, j] = tensor[j, i] = np.sign(radius) * radius**2
            moments = np.linalg.eigvalsh(tensor)
            assert moments[0] > 0.0, (entry["name"], sex)
            if moments[2] > moments[0] + moments[1]:
                broken.add((entry["name"], sex))
    # as printed; `segment_inertias` moves it to the nearest physical tensor
    assert broken == ({("thorax", "female")} if name == "dumas_2007" else set())


def test_segments_longer_weigh_the_same_and_turn_harder(pose: StaticPose) -> None:
    """Mass fractions do not depend on length; inertia grows with its square."""
    longer = StaticPose(
        pose.skeleton,
        {name: 1.1 * p for name, p in template_landmarks().items()},
        {name: 1.1 * value for name, value in measures(1.75).items()},
        1.1 * 1.75,
        "bell_1990",  # proportional to the pelvis: everything scales
        0.0077,
        True,
    )
    same = StaticPose(pose.skeleton, template_landmarks(), measures(1.75), 1.75, "bell_1990", 0.007, True)
    a = segment_inertias("de_leva_1996", same, 70.0, "male")["femur_r"]
    b = segment_inertias("de_leva_1996", longer, 70.0, "male")["femur_r"]
    assert b.mass == pytest.approx(a.mass)
    np.testing.assert_allclose(np.linalg.eigvalsh(b.tensor), 1.21 * np.linalg.eigvalsh(a.tensor), rtol=1e-9)


def template_landmarks() -> dict[str, np.ndarray]:
    roles = load_marker_set("plug_in_gait_full")
    points = template_points(1.75, "plug_in_gait_full")
    found = {label: roles.find(label) for label in points}
    return {entry.landmark: points[label] for label, entry in found.items() if entry is not None and entry.landmark}
