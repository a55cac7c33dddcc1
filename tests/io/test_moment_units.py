"""Moments of plates in a wrong unit: a thousand times too small or too large."""

from dataclasses import replace

import numpy as np
import pytest

from biodyn.io.formats.c3d.read import read_c3d
from biodyn.io.moment_units import corrected_moments
from biodyn.simulation import TrialOptions, session, write_c3d
from biodyn.simulation.person import Person
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
    assert (note.code, note.severity) == ("moment-unit-corrected", "warning")
    assert ("1000 times larger" if factor < 1.0 else "as a thousandth") in note.message


@pytest.mark.parametrize("kind", [4, 5])
def test_a_calibration_matrix_is_put_right(tmp_path, kind):
    person = Person("P", height_m=1.75, mass_kg=70.0, sex="female")
    _, walk = session(person, TrialOptions(plate_types=(kind, kind)))
    write_c3d(tmp_path / "walk.c3d", walk)
    sound = read_c3d(tmp_path / "walk.c3d").plates
    assert corrected_moments(sound) == (sound, ())
    wrong = [replace(plate, cal_matrix=plate.cal_matrix * np.repeat([1.0, 1e-3], 3)[:, None]) for plate in sound]
    found, notes = corrected_moments(wrong)
    assert [note.code for note in notes] == ["moment-unit-corrected"]
    for plate, true in zip(found, sound, strict=True):
        np.testing.assert_allclose(plate.cal_matrix, true.cal_matrix, rtol=1e-12)


def test_right_moments_are_left_alone(laboratory):
    for path in (laboratory.walk, laboratory.static):
        assert "moment-unit-corrected" not in [note.code for note in read_c3d(path).diagnostics]


def test_plates_that_contradict_each_other_are_left_alone(laboratory):
    """One plate's moments alone are no unit of the file: the checks of the trial name that plate."""
    first, *others = read_c3d(laboratory.walk).plates
    mixed = (replace(first, channels=first.channels * np.repeat([1.0, 1e-3], 3)), *others)
    assert corrected_moments(mixed) == (mixed, ())


def test_moments_that_are_noise_are_not_blown_up(laboratory):
    """Channels without a signal: nothing tells a unit."""
    rng = np.random.default_rng(1)
    silent = tuple(
        replace(
            plate, channels=np.hstack([plate.channels[:, :3], rng.normal(scale=0.05, size=(len(plate.channels), 3))])
        )
        for plate in read_c3d(laboratory.walk).plates
    )
    assert corrected_moments(silent) == (silent, ())


def test_torques_are_those_of_right_moments(laboratory, walk_result, tmp_path):
    write_c3d(tmp_path / "static.c3d", laboratory.trials["static"])
    write_c3d(tmp_path / "walk.c3d", with_moments(laboratory.trials["walk"], 1e-3))
    found = analyse_trial(tmp_path / "walk.c3d", tmp_path / "static.c3d", settings={"uncertainty": {"compute": False}})
    assert found.verdict is not None
    assert [cause.code for cause in found.verdict.causes] == ["moment-unit-corrected"]
    # the moments went through 4-byte floats once more
    np.testing.assert_allclose(found.dynamics.torques, walk_result.analysis.dynamics.torques, atol=1e-2)
