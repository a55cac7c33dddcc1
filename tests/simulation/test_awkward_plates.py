"""Force plates as less careful laboratories describe them: corners in another order, lengths and moments in another unit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from simulator import Person, Plate, TrialOptions, session, write_c3d
from simulator.recovery import compare
from support.described_plates import QUICK, Platform, analysed, causes

from biodyn.processing.signals.plate_channels import remove_spikes
from biodyn.recording import ForcePlate
from biodyn.trial.run import analyse_trial

JOINTS = ("hip", "knee", "ankle")
BACKWARDS = ([0, 3, 2, 1], [1, 0, 3, 2], [2, 1, 0, 3], [3, 2, 1, 0])


@pytest.fixture(scope="module")
def torques(standing, walking, tmp_path_factory) -> np.ndarray:
    """(T, V) Nm of the recording as the format has it."""
    folder = tmp_path_factory.mktemp("sound")
    write_c3d(folder / "static.c3d", standing)
    write_c3d(folder / "walk.c3d", walking)
    return analyse_trial(folder / "walk.c3d", folder / "static.c3d", settings=QUICK).dynamics.torques


@pytest.mark.slow
@pytest.mark.parametrize("order", [BACKWARDS[0], pytest.param(BACKWARDS[1], marks=pytest.mark.slow)], ids=str)
def test_corners_listed_the_other_way_round_are_put_in_order(standing, walking, torques, tmp_path, order):
    """Then z points up and the level axes are exchanged, or one is reversed: feet and body tell which."""

    def backwards(platform: Platform) -> None:
        platform["CORNERS"] = platform["CORNERS"][:, order]

    found = analysed(tmp_path, standing, walking, backwards)
    assert causes(found) == ["plate-corners-corrected"]
    (note,) = [note for note in found.diagnostics if note.code == "plate-corners-corrected"]
    assert note.message.startswith("Plates 1, 2 and 3 ")
    # listed again in the same order, they are as they were
    assert f"in the order {', '.join(str(corner + 1) for corner in order)}," in note.message
    assert np.nanmax(np.abs(found.dynamics.torques - torques)) == 0.0


@pytest.mark.slow
def test_corners_of_one_plate_listed_the_other_way_round_leave_the_others(standing, walking, torques, tmp_path):
    def backwards(platform: Platform) -> None:
        platform["CORNERS"] = platform["CORNERS"].copy()
        platform["CORNERS"][1] = platform["CORNERS"][1][BACKWARDS[0]]

    found = analysed(tmp_path, standing, walking, backwards)
    assert causes(found) == ["plate-corners-corrected"]
    (note,) = [note for note in found.diagnostics if note.code == "plate-corners-corrected"]
    assert note.message.startswith("Plate 2 has ")
    assert np.nanmax(np.abs(found.dynamics.torques - torques)) == 0.0


@pytest.mark.slow
def test_exchanged_coordinates_of_the_corners_are_exchanged_back(standing, walking, torques, tmp_path):
    def exchanged(platform: Platform) -> None:
        platform["CORNERS"] = platform["CORNERS"][:, :, [1, 0, 2]]

    found = analysed(tmp_path, standing, walking, exchanged)
    assert causes(found) == ["plate-corners-corrected"]
    assert np.nanmax(np.abs(found.dynamics.torques - torques)) == 0.0


def upward(platform: Platform) -> None:
    """Corners and ORIGIN in axes with x and y exchanged and z up."""
    platform["CORNERS"] = platform["CORNERS"][:, BACKWARDS[0]]
    platform["ORIGIN"] = platform["ORIGIN"][:, [1, 0, 2]] * (1.0, 1.0, -1.0)


def upward_channels(stored: np.ndarray) -> np.ndarray:
    """Channels (T, 6 plates) in the same axes."""
    plates = stored.reshape(len(stored), -1, 6)
    turned = plates[..., [1, 0, 2, 4, 3, 5]] * (1.0, 1.0, -1.0, 1.0, 1.0, -1.0)
    return np.asarray(turned.reshape(stored.shape))


@pytest.mark.slow
def test_plates_whose_z_points_up_by_design_stay_as_they_are(standing, walking, torques, tmp_path):
    """Corners, ORIGIN and channels all in the same axes, x and y exchanged and z up: nothing contradicts anything."""

    found = analysed(tmp_path, standing, walking, upward, upward_channels)
    assert causes(found) == []
    # the same numbers in other axes
    assert np.nanmax(np.abs(found.dynamics.torques - torques)) < 1e-6


@pytest.mark.slow
def test_plates_that_ask_for_different_orders_are_named_and_left(standing, walking, tmp_path):
    """No program lists the corners of each plate in another wrong order; what is wrong is still named."""

    def mixed(platform: Platform) -> None:
        platform["CORNERS"] = np.stack(
            [corners[order] for corners, order in zip(platform["CORNERS"], BACKWARDS, strict=False)]
        )

    found = analysed(tmp_path, standing, walking, mixed)
    codes = [note.code for note in found.diagnostics]
    assert "plate-corners-corrected" not in codes
    assert codes.count("plate-corners-reversed") == 3
    assert not {"plate-moment-sign", "plate-rotated"} & set(codes)
    assert found.verdict is not None
    assert found.verdict.status == "fail"


@pytest.mark.slow
@pytest.mark.parametrize("wrong", [3, 4], ids=["Mx", "My"])
def test_a_wrong_sign_of_a_plate_whose_z_points_up_is_no_wrong_order(standing, walking, tmp_path, wrong):
    def channels(stored: np.ndarray) -> np.ndarray:
        turned = upward_channels(stored)
        turned[:, wrong::6] *= -1.0
        return turned

    codes = [note.code for note in analysed(tmp_path, standing, walking, upward, channels).diagnostics]
    assert "plate-corners-corrected" not in codes
    assert "plate-moment-sign" in codes


PLATE_TYPES = [(2, 2, 2), (3, 4, 1), (6, 7, 5)]
THOUSANDTHS = [("CORNERS",), ("CORNERS", "ORIGIN")]


@pytest.fixture(scope="module", params=PLATE_TYPES, ids=str)
def laboratory(request):
    """Static trial and walk over plates of several types, clean."""
    options = TrialOptions(forward="-x", plate_types=request.param)
    return session(Person("P", height_m=1.75, mass_kg=70.0, sex="female"), options)


@pytest.fixture(scope="module")
def in_mm(laboratory, tmp_path_factory) -> dict[str, float]:
    """Torques' errors, Nm/kg, of the recording as the format has it."""
    found = analysed(tmp_path_factory.mktemp("in mm"), *laboratory, lambda platform: None)
    return {joint: compare(found, laboratory[1]).sagittal_rms_nm_kg(joint) for joint in JOINTS}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("entries", "plates"), [(THOUSANDTHS[0], slice(None)), (THOUSANDTHS[1], slice(1, 2))], ids=["all", "one"]
)
def test_lengths_of_plates_in_m_among_mm_are_told_by_plates(laboratory, in_mm, tmp_path, entries, plates):
    """Corners by the size of plates, ORIGIN by where plates have their sensors; each plate by itself."""

    def in_metres(platform: Platform) -> None:
        for entry in entries:
            platform[entry] = np.array(platform[entry], dtype=np.float64)
            platform[entry][plates] /= 1e3

    found = analysed(tmp_path, *laboratory, in_metres)
    assert found.verdict is not None
    assert found.verdict.status == "warn"
    wanted = "unit-corrected"
    # moments behind a matrix have the corners' unit; where it is not theirs their lever tells
    assert wanted in causes(found)
    assert set(causes(found)) <= {wanted, "unit-corrected"}
    if plates != slice(None):
        assert "late 2" in next(note for note in found.diagnostics if note.code == wanted).message
    for joint in JOINTS:  # as with everything in mm; float32 in the file
        assert compare(found, laboratory[1]).sagittal_rms_nm_kg(joint) == pytest.approx(in_mm[joint], abs=1e-4)


@pytest.mark.slow
def test_corners_in_cm_among_mm_leave_the_sensors_where_they_are(standing, walking, torques, tmp_path):
    """41 cm below the surface no plate has its sensor; 41 mm is usual."""

    def in_centimetres(platform: Platform) -> None:
        platform["CORNERS"] = platform["CORNERS"] / 10.0

    found = analysed(tmp_path, standing, walking, in_centimetres)
    assert causes(found) == ["unit-corrected"]
    assert np.nanmax(np.abs(found.dynamics.torques - torques)) < 1e-3  # corners of 4-byte floats, tenfold


@pytest.mark.slow
def test_a_plate_of_no_possible_size_is_left_out_and_the_others_are_used(standing, walking, tmp_path):
    def nonsense(platform: Platform) -> None:
        platform["CORNERS"] = platform["CORNERS"].copy()
        platform["CORNERS"][1] *= 1e6

    found = analysed(tmp_path, standing, walking, nonsense)
    (note,) = [note for note in found.diagnostics if note.code == "plate-not-used"]
    assert note.message.startswith("Plate 2 would measure ")
    assert [plate.number for plate in found.plates] == [1, 3]


@pytest.mark.slow
@pytest.mark.parametrize("factor", [1e-3, pytest.param(1e3, marks=pytest.mark.slow)])
def test_moments_of_one_plate_in_another_unit_are_told_by_its_own_steps(standing, walking, torques, tmp_path, factor):
    def channels(stored: np.ndarray) -> np.ndarray:
        scaled = stored.copy()
        scaled[:, 9:12] *= factor
        return scaled

    found = analysed(tmp_path, standing, walking, lambda platform: None, channels)
    assert causes(found) == ["unit-corrected"]
    (note,) = [note for note in found.diagnostics if note.code == "unit-corrected"]
    assert "the moments of force plate 2 have" in note.message
    # Moments of 4-byte floats scaled: relative errors of 1e-7, which the estimate's weights carry on.
    assert np.nanmax(np.abs(found.dynamics.torques - torques)) < 1e-2


@pytest.mark.slow
@pytest.mark.parametrize("described", [True, False], ids=["rows of zeros", "USED alone"])
def test_plates_that_are_declared_and_not_used_are_told_and_nothing_more(
    standing, walking, torques, tmp_path, described
):
    def declared(platform: Platform) -> None:
        platform["USED"] = 5
        if described:
            platform["TYPE"] = [*platform["TYPE"], 2, 2]
            for entry, shape in (("CORNERS", (2, 4, 3)), ("ORIGIN", (2, 3)), ("CHANNEL", (2, 6))):
                rows = np.asarray(platform[entry])
                platform[entry] = np.concatenate([rows, np.zeros(shape, dtype=rows.dtype)])

    found = analysed(tmp_path, standing, walking, declared)
    assert causes(found) == []
    (note,) = [note for note in found.diagnostics if note.code == "plate-not-used"]
    assert note.message.startswith("Plates 4 and 5 are declared")
    assert np.nanmax(np.abs(found.dynamics.torques - torques)) == 0.0


@pytest.mark.slow
def test_a_plate_that_lacks_its_corners_alone_is_still_warned_of(standing, walking, tmp_path):
    """Its channels hold forces: somebody forgot where it stands."""

    def placeless(platform: Platform) -> None:
        platform["CORNERS"] = platform["CORNERS"].copy()
        platform["CORNERS"][1] = 0.0

    assert "plate-not-used" in causes(analysed(tmp_path, standing, walking, placeless))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("force", "moment", "newtons", "newton_metres"),
    [
        ("lbf", "in-lbf", 4.4482216, 0.11298483),
        pytest.param("lb", "ft-lb", 4.4482216, 1.3558179, marks=pytest.mark.slow),
        pytest.param("kN", "kNmm", 1e3, 1.0, marks=pytest.mark.slow),
    ],
)
def test_channels_in_pounds_and_kilonewtons_are_what_they_say(
    standing, walking, torques, tmp_path, force, moment, newtons, newton_metres
):
    def channels(stored: np.ndarray) -> np.ndarray:
        to_unit = np.where(np.arange(stored.shape[1]) % 6 < 3, 1.0 / newtons, 1e-3 / newton_metres)
        return stored * to_unit

    def units(stored: list[str]) -> list[str]:
        return [force if n % 6 < 3 else moment for n in range(len(stored))]

    found = analysed(tmp_path, standing, walking, lambda platform: None, channels, units)
    assert causes(found) == []
    # Factors of eight digits, floats of seven; the estimate's weights carry it on.
    assert np.nanmax(np.abs(found.dynamics.torques - torques)) < 1e-2


@pytest.mark.parametrize("size", [3e3, pytest.param(1e6, marks=pytest.mark.slow)])
def test_single_samples_that_jump_are_none(standing, walking, torques, tmp_path, size):
    """A fault of converter or file: a filter would spread it over the step, where nothing warned of 0.1 Nm/kg."""

    def channels(stored: np.ndarray) -> np.ndarray:
        spoilt = stored.copy()
        if len(stored) == len(walking.components[0]):
            spoilt[[900, 901, 1500, 2000], [2, 2, 8, 3]] += size * np.array([1.0, 0.9, 1.0, 1e3])
        return spoilt

    found = analysed(tmp_path, standing, walking, lambda platform: None, channels)
    assert set(causes(found)) == {"recording-repaired"}
    notes = [note for note in found.diagnostics if note.code == "recording-repaired"]
    spikes = [note.message.split(" in spikes of up to 5 ms")[0] for note in notes]
    assert spikes == ["Plate 1 has 3 samples", "Plate 2 has 1 sample"]
    assert "Force.Fz1, Force.Mx1" in notes[0].message
    # what the neighbours say of one or two milliseconds
    assert np.nanmax(np.abs(found.dynamics.torques - torques)) < 0.05


@pytest.mark.slow
def test_plates_that_are_noisy_or_hardly_read_anything_have_no_such_samples(standing, walking, tmp_path):
    """White noise, and an empty plate that flickers by one step of its converter."""
    rng = np.random.default_rng(0)

    def channels(stored: np.ndarray) -> np.ndarray:
        noisy = stored + rng.normal(0.0, 2.0, stored.shape) * np.where(np.arange(stored.shape[1]) % 6 < 3, 1.0, 30.0)
        noisy[:, 12:] = np.round(rng.normal(0.0, 0.2, noisy[:, 12:].shape))
        return noisy

    found = analysed(tmp_path, standing, walking, lambda platform: None, channels)
    assert "recording-repaired" not in [note.code for note in found.diagnostics]


def test_centres_of_pressure_of_empty_plates_are_no_such_samples(standing, walking):
    """A quotient of two noises (type 1): over tens of metres, and nothing was wrong. One that jumps under a foot is one."""
    rng = np.random.default_rng(0)
    read = walking.components[0] + rng.normal(0.0, [1.0] * 3 + [0.05] * 3, walking.components[0].shape)
    stored = Plate(1, 0.0).channels(read)[0]
    stored[:, 3:] *= 1e-3  # mm, Nmm
    plate = ForcePlate(
        number=1, type=1, corners=Plate(1, 0.0).corners_W, origin=np.zeros(3), channels=stored, rate_hz=1000.0
    )
    assert np.abs(stored[:, 3]).max() > 2.0
    assert remove_spikes(plate)[1] == ()
    spoilt = stored.copy()
    pressed = int(np.argmax(np.abs(stored[:, 2])))
    spoilt[pressed, 3] += 1e3
    mended, (note,) = remove_spikes(replace(plate, channels=spoilt))
    assert note.value == 1.0
    np.testing.assert_allclose(mended.channels[pressed, 3], stored[pressed, 3], atol=0.02)  # from the samples beside it


@pytest.mark.slow
def test_a_plate_without_numbers_for_a_while_leaves_the_mass_a_number(standing, walking, tmp_path):
    """The walk's mass comes from the other samples; it read "nan kg"."""

    def channels(stored: np.ndarray) -> np.ndarray:
        holed = stored.copy()
        if len(stored) == len(walking.components[0]):
            holed[1200:1230, 8] = np.nan  # nobody is on plate 2
        return holed

    found = analysed(tmp_path, standing, walking, lambda platform: None, channels)
    assert causes(found) == []
