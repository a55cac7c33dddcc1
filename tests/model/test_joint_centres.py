"""Joint centres: published regressions, the chord of Davis 1991, the knee alignment device, the laboratory software's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from biodyn.errors import ModelError
from biodyn.io.formats.c3d.reader import read_c3d
from biodyn.model.from_library.constructions import alignment_device_corner, chord_centre
from biodyn.model.from_library.hip_centre import HipInput, hip_centre, hip_centre_method_names
from biodyn.model.from_library.markersets import recognise_marker_set
from biodyn.model.from_library.skeleton_recipes import load_skeleton
from biodyn.model.from_library.static_pose import StaticPose
from biodyn.processing.signals.world_frame import find_world

# A person with pelvis depth 155 mm, width 240 mm, leg length 880 mm, 14 mm markers; mm, X anterior, Y up, Z lateral from
# mid-ASIS. Worked from the published equations (joint_centres/hip.toml cites them); Davis as pyCGM, pyCGM2 and OpenMA have it.
WORKED = {
    "harrington_2007_full": (-47.1, -80.7, 89.7),
    "harrington_2007": (-47.1, -82.9, 86.5),
    "hara_2016": (-44.4, -77.6, 83.7),
    "bell_1990": (-45.6, -72.0, 86.4),
    "davis_1991": (-45.0, -93.9, 78.8),
}


def pelvis(**sizes: Any) -> HipInput:
    """The worked person's right hip."""
    person = {"pelvis_depth_m": 0.155, "pelvis_width_m": 0.240, "leg_length_m": 0.880, "marker_radius_m": 0.007}
    return HipInput(**({"side": "r"} | person | sizes))


def test_every_regression_has_a_worked_example() -> None:
    assert set(WORKED) == set(hip_centre_method_names())


@pytest.mark.parametrize("name", WORKED)
def test_worked_examples(name: str) -> None:
    # Davis measures from the marker's centre; the others from the skin, here taken with markers of no size.
    radius = 0.007 if name == "davis_1991" else 0.0
    found = hip_centre(name, pelvis(marker_radius_m=radius))
    np.testing.assert_allclose(1e3 * found, WORKED[name], atol=0.051)  # the examples are rounded to 0.1 mm


@pytest.mark.parametrize("name", WORKED)
def test_a_marker_stands_its_radius_in_front_of_the_bone(name: str) -> None:
    """A thicker marker on the same pelvis moves the centre back, seen from the marker, and nowhere else (Davis: tilted)."""
    thin, thick = (hip_centre(name, pelvis(marker_radius_m=radius)) for radius in (0.005, 0.010))
    assert np.linalg.norm(thick - thin) == pytest.approx(0.005)
    assert thick[0] < thin[0]
    assert thick[2] == thin[2]


@pytest.mark.parametrize("name", WORKED)
def test_the_left_hip_mirrors_the_right(name: str) -> None:
    np.testing.assert_array_equal(hip_centre(name, pelvis(side="l")), hip_centre(name, pelvis()) * (1.0, 1.0, -1.0))


def test_a_measured_trochanter_distance_beats_the_regression() -> None:
    at = 0.1288 * 0.88 - 0.04856
    guessed = hip_centre("davis_1991", pelvis())
    assert hip_centre("davis_1991", pelvis(asis_trochanter_m=at)) == pytest.approx(guessed)
    further = hip_centre("davis_1991", pelvis(asis_trochanter_m=at + 0.01))
    # 10 mm further back along the pelvis tilt of 18 degrees (0.314 rad)
    np.testing.assert_allclose(np.subtract(further, guessed), (-0.01 * np.cos(0.314), -0.01 * np.sin(0.314), 0.0))


def test_an_unknown_regression_is_named() -> None:
    with pytest.raises(ModelError, match=r"nobody_1900.*harrington_2007"):
        hip_centre("nobody_1900", pelvis())


# -- the chord -----------------------------------------------------------------------------------------------------


def placed(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return Rotation.random(random_state=rng).as_matrix(), rng.normal(size=3)


@pytest.mark.parametrize("same_side", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_chord(seed: int, same_side: bool) -> None:
    """The centre is `distance` from the lateral marker, sees it and the proximal joint at a right angle, lies in the plane
    of the wand and across it - wherever and however the person stands."""
    R, p = placed(seed)
    proximal, lateral, wand = (R @ point + p for point in ((0.0, 0.4, 0.0), (0.01, 0.0, 0.06), (0.03, 0.2, 0.11)))
    centre = chord_centre(proximal, lateral, wand, 0.055, same_side)
    assert centre is not None
    assert np.linalg.norm(centre - lateral) == pytest.approx(0.055)
    assert (proximal - centre) @ (lateral - centre) == pytest.approx(0.0, abs=1e-12)
    normal = np.cross(proximal - lateral, wand - lateral)
    assert (centre - lateral) @ normal == pytest.approx(0.0, abs=1e-12)
    across = np.cross(normal, proximal - lateral)
    sides = np.sign([(centre - lateral) @ across, (wand - lateral) @ across])
    assert (sides[0] == sides[1]) == same_side


def test_chord_without_an_answer() -> None:
    """A wand on the line fixes no plane; a joint wider than the segment is long has no centre."""
    proximal, lateral = np.array([0.0, 0.4, 0.0]), np.zeros(3)
    assert chord_centre(proximal, lateral, np.array([0.0, 0.2, 0.0]), 0.05, False) is None
    assert chord_centre(proximal, lateral, np.array([0.1, 0.2, 0.0]), 0.4, False) is None
    assert chord_centre(proximal, lateral, np.array([0.1, 0.2, 0.0]), 0.0, False) is None


# -- the knee alignment device -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0)])
def test_alignment_device(seed: int, order: tuple[int, ...]) -> None:
    """Three markers at equal distance on perpendicular rods: their corner is the knee marker that is not there."""
    R, p = placed(seed)
    rods = np.eye(3) * 0.10
    markers = (rods @ R.T + p)[list(order)]
    ankle = R @ np.array([-0.3, -0.3, -0.3]) + p  # on the corner's side of the markers' plane
    np.testing.assert_allclose(alignment_device_corner(markers, ankle), p, atol=1e-12)


def test_alignment_device_stands_in_for_the_knee_marker() -> None:
    """With device markers and no knee marker, the lateral knee is the corner and the flexion axis the device's axis."""
    points = {
        "asis_r": (0.08, 1.0, 0.12),
        "asis_l": (0.08, 1.0, -0.12),
        "psis_r": (-0.09, 1.03, 0.05),
        "psis_l": (-0.09, 1.03, -0.05),
        "ankle_lateral_r": (-0.01, 0.07, 0.13),
    }
    corner = np.array([0.02, 0.5, 0.15])
    device = {
        "knee_device_axis_r": corner + (0.0, 0.0, 0.1),
        "knee_device_upper_r": corner + (0.1, 0.0, 0.0),
        "knee_device_lower_r": corner + (0.0, 0.1, 0.0),
    }
    landmarks = {name: np.array(p) for name, p in {**points, **device}.items()}
    pose = StaticPose(
        load_skeleton("full_body"), landmarks, {"knee_width_r": 0.1}, 1.75, "harrington_2007", 0.007, True
    )
    np.testing.assert_allclose(pose.measured_position("knee_lateral_r"), corner, atol=1e-12)
    centre = pose.measured_position("knee_centre_r")
    assert centre is not None
    assert np.linalg.norm(centre - corner) == pytest.approx(0.05 + 0.007)
    assert centre[2] < corner[2]  # medial of it


# -- the laboratory software's own ---------------------------------------------------------------------------------


@pytest.mark.real
@pytest.mark.parametrize("side", ["r", "l"])
@pytest.mark.parametrize(
    ("landmark", "channel"), [("hip_centre", "FEP"), ("knee_centre", "FEO"), ("ankle_centre", "TIO")]
)
def test_against_plug_in_gait(real_data: Path, landmark: str, channel: str, side: str) -> None:
    """The virtual points that Plug-in Gait stored in a static trial, with its own hip regression, within 1 mm."""
    recording = read_c3d(real_data / "gait/btk_pig/PiG_Calibration3_FF.c3d")
    R_WL = find_world(recording).R_WL
    turned = recording.rotated(R_WL)
    frame = 10
    mapping = recognise_marker_set(turned.markers.labels)
    points = {
        role.landmark: turned.markers.positions[frame, turned.markers.index(role.label)]
        for role in mapping.roles
        if role.landmark
    }
    measured = recording.subject.measures
    pose = StaticPose(
        load_skeleton("full_body"),
        points,
        measured,
        recording.subject.height_m,
        "davis_1991",
        0.5 * measured.get("marker_diameter", 0.014),
        True,
    )
    theirs = R_WL @ recording.model_outputs[side.upper() + channel].values[frame] / 1e3
    assert np.linalg.norm(pose.position(f"{landmark}_{side}") - theirs) < 1e-3
