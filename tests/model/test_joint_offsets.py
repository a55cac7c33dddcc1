"""Joint centres beside their wands: stored offsets as Plug-in Gait means them, and offsets that the walk tells."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.several import read_many

from biodyn.conventions import SIDE_SIGN, Side
from biodyn.model.from_library.constructions import angle_about, axes_about, chord_centre, rotated_chord_centre
from biodyn.model.from_library.posture_from_motion import wand_rotation
from biodyn.recording import Recording


def leg(rng: np.random.Generator, rotation: float, raised: float) -> tuple[np.ndarray, ...]:
    """Centre, proximal centre, lateral marker and wand of a segment anywhere, with the offsets that are asked for."""
    R = Rotation.random(random_state=int(rng.integers(1 << 31))).as_matrix()
    centre = rng.normal(size=3)
    lateral = 0.06 * np.array([0.0, -np.sin(raised), np.cos(raised)])
    # About the long axis Y, `rotation` leads from the wand to the lateral marker.
    wand = Rotation.from_rotvec([0.0, -rotation, 0.0]).apply([0.0, 0.15, 0.09])
    return centre, centre + R @ [0.0, 0.4, 0.0], centre + R @ lateral, centre + R @ wand


@pytest.mark.parametrize("rotation", [-0.6, -0.1, 0.0, 0.3, 0.7])
@pytest.mark.parametrize("raised", [0.0, 0.2, -0.1])
def test_the_centre_comes_back_from_its_offsets(rotation: float, raised: float) -> None:
    centre, proximal, lateral, wand = leg(np.random.default_rng(3), rotation, raised)
    found = rotated_chord_centre(proximal, lateral, wand, 0.06, rotation, raised)
    assert found == pytest.approx(centre, abs=1e-8)


def test_without_offsets_it_is_the_chord() -> None:
    _, proximal, lateral, wand = leg(np.random.default_rng(5), 0.2, 0.1)
    plain = chord_centre(proximal, lateral, wand, 0.06, same_side=False)
    assert rotated_chord_centre(proximal, lateral, wand, 0.06, 0.0) == pytest.approx(plain, abs=1e-9)


def test_what_spans_no_plane_has_no_centre() -> None:
    up = np.array([0.0, 1.0, 0.0])
    assert rotated_chord_centre(up, 0.0 * up, 0.5 * up, 0.06, 0.1) is None
    assert rotated_chord_centre(up, 0.0 * up, np.array([0.1, 0.5, 0.0]), 1.2, 0.1) is None


@pytest.mark.parametrize(
    "walk", ["fmc/dynamic/MH0222_BP06.c3d", "fmc/dynamic/MH0222_BP15.c3d", "sydney/dynamic/S4-AMGait03.c3d"]
)
@pytest.mark.parametrize("side", ["r", "l"])
def test_stored_offsets_give_the_centres_that_plug_in_gait_wrote(real_data: Path, walk: str, side: Side) -> None:
    """Femur and tibia origins of the file are its knee and ankle centres; its hip centre lies on the femur's long axis."""
    (read,) = read_many([real_data / "gait" / walk])
    assert isinstance(read, Recording)
    letter, stored = side.upper(), read.subject.measures

    def marker(name: str) -> np.ndarray:
        return read.markers.positions[::20, read.markers.index(letter + name)]

    def output(name: str) -> np.ndarray:
        return 1e-3 * read.model_outputs[letter + name].values[::20]

    knee, ankle, along = output("FEO"), output("TIO"), output("FEP") - output("FEO")
    sign = SIDE_SIGN[side]
    rows = zip(knee, ankle, along, marker("KNE"), marker("THI"), marker("ANK"), marker("TIB"), strict=True)
    for k, a, up, lateral, wand, malleolus, shank in rows:
        found = rotated_chord_centre(
            k + 10.0 * up, lateral, wand, float(np.linalg.norm(lateral - k)), sign * stored[f"thigh_rotation_{side}"]
        )
        assert found == pytest.approx(k, abs=1e-4)
        found = rotated_chord_centre(
            k,
            malleolus,
            shank,
            float(np.linalg.norm(malleolus - a)),
            sign * stored[f"shank_rotation_{side}"],
            stored[f"ankle_abduction_{side}"],
        )
        assert found == pytest.approx(a, abs=2e-4)  # its shank offset is met to 0.05 degrees only


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("offset", [-0.3, 0.0, 0.25])
def test_the_swing_of_the_shank_tells_the_offset_of_the_thigh_wand(sign: float, offset: float) -> None:
    width, far_width = 0.06, 0.04
    hip, knee = np.array([0.0, 0.45, 0.0]), np.zeros(3)
    lateral = knee + [0.0, 0.0, sign * width]
    wand = knee + Rotation.from_rotvec([0.0, -offset, 0.0]).apply([0.0, 0.2, sign * 0.09])
    frames = []
    for bend in np.linspace(0.05, 1.1, 40):
        shank = Rotation.from_rotvec([0.0, 0.0, -bend]).apply([0.02, -0.4, sign * (far_width + 0.01)])
        frames.append([hip, lateral, wand, knee + shank])
    found = wand_rotation(frames, width, far_width, sign, np.deg2rad(30.0))
    assert found == pytest.approx(offset, abs=2e-3)
    assert wand_rotation(frames[:12], width, far_width, sign, np.deg2rad(30.0)) is None  # hardly bent


def test_axes_and_angles_about_a_segment() -> None:
    axes = axes_about(np.array([0.0, 2.0, 0.0]), np.array([0.0, 5.0, 3.0]))
    assert axes == pytest.approx(np.eye(3))
    z, x = np.array([0.0, 7.0, 1.0]), np.array([2.0, -1.0, 0.0])
    assert angle_about(np.array([0.0, 3.0, 0.0]), z, x) == pytest.approx(np.pi / 2)  # Y turns Z into X
