"""Moments of plates in a wrong unit: a thousand times too small or too large."""

from dataclasses import replace

import numpy as np
import pytest
from simulator import TrialOptions, session, write_c3d
from simulator.person import Person

from biodyn.io.formats.c3d.reader import read_c3d
from biodyn.io.repairs import correct_moment_units
from biodyn.trial.run import analyse_trial


def with_moments(trial, factor):
    """The trial with the moments of all plates times a factor, in the unit as before."""
    return replace(trial, components=tuple(values * [1, 1, 1, factor, factor, factor] for values in trial.components))


@pytest.mark.parametrize("factor", [1e-3, 1e3])
def test_a_thousandfold_is_put_right_and_said(laboratory, tmp_path, factor):
    truth = read_c3d(laboratory.walk)
    write_c3d(tmp_path / "walk.c3d", with_moments(laboratory.trials["walk"], factor))
    found = read_c3d(tmp_path / "walk.c3d")
    for plate, true in zip(found.plates, truth.plates, strict=True):
        # stored as 4-byte floats of up to 1e8 Nmm
        np.testing.assert_allclose(plate.channels, true.channels, rtol=1e-5, atol=1e-6)
    (note,) = found.diagnostics
    assert (note.code, note.severity) == ("unit-corrected", "warning")
    assert f"multiplied by {1.0 / factor:g}" in note.message


@pytest.mark.parametrize("kind", [4, 5])
def test_a_calibration_matrix_is_put_right(tmp_path, kind):
    person = Person("P", height_m=1.75, mass_kg=70.0, sex="female")
    _, walk = session(person, TrialOptions(plate_types=(kind, kind)))
    write_c3d(tmp_path / "walk.c3d", walk)
    sound = read_c3d(tmp_path / "walk.c3d").plates
    assert correct_moment_units(sound) == (sound, ())
    wrong = [replace(plate, cal_matrix=plate.cal_matrix * np.repeat([1.0, 1e-3], 3)[:, None]) for plate in sound]
    found, notes = correct_moment_units(wrong)
    assert [note.code for note in notes] == ["unit-corrected"]
    for plate, true in zip(found, sound, strict=True):
        np.testing.assert_allclose(plate.cal_matrix, true.cal_matrix, rtol=1e-12)


def test_right_moments_are_left_alone(laboratory):
    for path in (laboratory.walk, laboratory.static):
        assert "unit-corrected" not in [note.code for note in read_c3d(path).diagnostics]


@pytest.mark.parametrize("factor", [1e-3, 1e3])
def test_one_plate_alone_is_put_right_by_its_own_steps(laboratory, factor):
    first, *others = sound = read_c3d(laboratory.walk).plates
    wrong = replace(first, channels=first.channels * np.repeat([1.0, factor], 3))
    found, (note,) = correct_moment_units((wrong, *others))
    np.testing.assert_allclose(found[0].channels, sound[0].channels, rtol=1e-12)
    assert list(found[1:]) == others
    assert "the moments of force plate 1 have" in note.message


def on_a_pole(plate, place_m, tilts=0.0):
    """The plate under a pole at (2,) m from its centre that somebody presses by hand, in plate axes; its tilt swings, rad."""
    t = np.linspace(0.0, 1.0, len(plate.channels))
    vertical = -300.0 * np.clip(np.sin(4.0 * np.pi * t), 0.0, None)
    force = np.column_stack([tilts * np.sin(9.0 * t) * vertical, tilts * np.cos(7.0 * t) * vertical, vertical])
    at_surface = np.cross([*place_m, 0.0], force)
    noise = np.random.default_rng(3).normal(scale=[0.05] * 3 + [0.001] * 3, size=(len(t), 6))
    return replace(plate, channels=np.hstack([force, at_surface - np.cross(force, plate.origin)]) + noise)


@pytest.mark.parametrize("place_mm", [(0.3, 0.2), (-0.1, 0.45), (0.02, -0.03)])
def test_a_pole_on_the_centre_of_a_plate_is_no_wrong_unit(laboratory, place_mm):
    """Less than half a millimetre from it, as near as a step whose moments are a thousandfold too small; among plates with steps
    and alone, upright and tilted."""
    first, *others = read_c3d(laboratory.walk).plates
    centred = replace(first, origin=np.array([0.0, 0.0, first.origin[2]]))
    for tilts in (0.0, 0.005, 0.05):
        pole = on_a_pole(centred, 1e-3 * np.array(place_mm), tilts)
        for plates in ((pole,), (pole, *others)):
            assert correct_moment_units(plates) == (plates, ())


def test_a_step_is_told_from_a_pole_where_the_sensor_is_in_the_surface(laboratory):
    """Without a depth the direction of the force tells nothing; the foot's pressure still wanders."""
    plates = [replace(plate, origin=np.zeros(3)) for plate in read_c3d(laboratory.walk).plates]
    wrong = [replace(plate, channels=plate.channels * np.repeat([1.0, 1e-3], 3)) for plate in plates]
    found, notes = correct_moment_units(wrong)
    assert [note.code for note in notes] == ["unit-corrected"]
    for plate, true in zip(found, plates, strict=True):
        np.testing.assert_allclose(plate.channels, true.channels, rtol=1e-12)


def test_moments_that_are_noise_are_not_blown_up(laboratory):
    """Channels without a signal: nothing tells a unit."""
    rng = np.random.default_rng(1)
    silent = tuple(
        replace(
            plate, channels=np.hstack([plate.channels[:, :3], rng.normal(scale=0.05, size=(len(plate.channels), 3))])
        )
        for plate in read_c3d(laboratory.walk).plates
    )
    assert correct_moment_units(silent) == (silent, ())


def test_torques_are_those_of_right_moments(laboratory, walk_result, tmp_path):
    write_c3d(tmp_path / "static.c3d", laboratory.trials["static"])
    write_c3d(tmp_path / "walk.c3d", with_moments(laboratory.trials["walk"], 1e-3))
    found = analyse_trial(tmp_path / "walk.c3d", tmp_path / "static.c3d", settings={"uncertainty": {"compute": False}})
    assert found.verdict is not None
    assert [cause.code for cause in found.verdict.causes] == ["unit-corrected"]
    # the moments went through 4-byte floats once more
    np.testing.assert_allclose(found.dynamics.torques, walk_result.analysis.dynamics.torques, atol=1e-2)
