"""Kistler's correction of the centre of pressure (FPCOPPOLY), from the file to the torques."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import ezc3d
import numpy as np
import pytest
from simulator import Person, SimulatedTrial, TrialOptions, session, write_c3d
from simulator.c3d_writer import C3dContent
from simulator.c3d_writer import write_c3d as write_content
from simulator.files import analog_channels, trial_parameters

from biodyn.analysis import TrialAnalysis
from biodyn.io.formats.c3d.force_plates import cop_correction
from biodyn.io.formats.c3d.reader import read_c3d
from biodyn.trial.run import analyse_trial

# Type 9281E11, for mm; the long side along y. Kistler, instruction manual of Type 9287C, section 8.4.3.
SHORT = (2.51997e-15, -2.18826e-10, -2.69254e-7, -4.85912e-11, 4.55731e-6, -4.18892e-2)
LONG = (2.83750e-15, -1.00051e-10, -2.05349e-6, -1.16374e-10, 4.71553e-6, 6.89265e-2)
HALF_SIDES = np.array([0.3, 0.2])  # of simulated plates, the long side along x
DEGREES = np.array([7, 5, 3, 5, 3, 1])  # of the terms
QUICK = {"uncertainty": {"compute": False}}


PERSON = Person("K", height_m=1.75, mass_kg=70.0, sex="female")


@pytest.fixture(scope="module")
def rigid() -> tuple[SimulatedTrial, SimulatedTrial]:
    """A session without noise on plates that do not bend."""
    return session(PERSON, TrialOptions(plate_types=(3, 3, 3)))


@pytest.fixture(scope="module")
def kistler(rigid) -> tuple[SimulatedTrial, SimulatedTrial]:
    """The same on plates that bend as Kistler's do."""
    plates = tuple(replace(plate, cop_polynomial=(LONG, SHORT)) for plate in rigid[1].plates)
    return session(PERSON, TrialOptions(plates=plates))


def analysed(folder: Path, trials: tuple[SimulatedTrial, SimulatedTrial], without: str = "") -> TrialAnalysis:
    """The analysis of both trials, the parameter `without` of the plates left out."""
    folder.mkdir()
    for name, trial in zip(("static", "walk"), trials, strict=True):
        channels, labels, units = analog_channels(trial)
        parameters = {group: dict(entries) for group, entries in trial_parameters(trial, True, "").items()}
        parameters["FORCE_PLATFORM"].pop(without, None)
        content = C3dContent(
            list(trial.labels),
            1e3 * trial.markers @ trial.options.R_LW.T,
            trial.options.rate_hz,
            analog=channels,
            analog_labels=labels,
            analog_units=units,
            parameters=parameters,
        )
        write_content(folder / f"{name}.c3d", content)
    return analyse_trial(folder / "walk.c3d", folder / "static.c3d", settings=QUICK)


def test_centre_of_pressure_is_where_the_c3d_library_has_it(kistler, tmp_path):
    """ezc3d applies the same parameter to its centre of pressure."""
    write_c3d(tmp_path / "walk.c3d", kistler[1])
    recording = read_c3d(tmp_path / "walk.c3d")
    platforms = ezc3d.c3d(str(tmp_path / "walk.c3d"), extract_forceplat_data=True)["data"]["platform"]
    assert recording.plates
    for plate, other in zip(recording.plates, platforms, strict=True):
        assert plate.cop_correction is not None
        channels = plate.channels
        force = channels[:, 4:].sum(axis=1)
        loaded = np.abs(force) > 50.0
        a, b, depth = plate.origin
        mx = b * (channels[:, 4] + channels[:, 5] - channels[:, 6] - channels[:, 7])
        my = a * (-channels[:, 4] + channels[:, 5] + channels[:, 6] - channels[:, 7])
        mx, my = mx + channels[:, 2:4].sum(axis=1) * depth, my - channels[:, :2].sum(axis=1) * depth
        read = np.column_stack([-my, mx])[loaded] / force[loaded, None]
        found = read - plate.cop_correction.errors(read)
        corners = 1e3 * plate.corners
        axes = np.column_stack([(corners[0] - corners[1]) / 600.0, (corners[0] - corners[3]) / 400.0])
        theirs = ((other["center_of_pressure"].T - corners.mean(axis=0)) @ axes)[loaded]
        # samples are stored in single precision
        np.testing.assert_allclose(1e3 * found, theirs, atol=2e-3)
        assert np.abs(1e3 * read - theirs).max() > 5.0


@pytest.mark.slow
def test_torques_on_a_corrected_plate_are_those_on_a_rigid_one(rigid, kistler, tmp_path):
    wanted = analysed(tmp_path / "rigid", rigid)
    found = analysed(tmp_path / "kistler", kistler)
    bent = analysed(tmp_path / "bent", kistler, without="FPCOPPOLY")
    notes = [note for note in found.diagnostics if note.code == "plate-cop-corrected"]
    assert len(notes) == 3
    assert all(note.severity == "info" and 0.003 < note.value < 0.03 for note in notes)
    assert not [note for note in (*wanted.diagnostics, *bent.diagnostics) if note.code == "plate-cop-corrected"]

    def most_apart(analysis: TrialAnalysis) -> float:
        """Nm/kg, of all torques in all frames."""
        apart = analysis.dynamics.torques - wanted.dynamics.torques
        return float(np.nanmax(np.abs(apart))) / PERSON.mass_kg

    # found 4e-8, of the end of the simulator's iteration; 6 mm of a body's weight are 0.06
    assert most_apart(found) < 1e-6
    assert most_apart(bent) > 0.05


@pytest.mark.parametrize("by_power", [False, True])
@pytest.mark.parametrize("length", [1e-3, 1.0])
def test_coefficients_by_coordinate_or_by_power_in_mm_or_in_the_files_unit(by_power, length):
    stored = np.array([LONG, SHORT]) * (1e-3 / length) ** (1.0 - DEGREES)
    values = (stored.T if by_power else stored).ravel()
    correction, notes = cop_correction(1, values, [2, 6, 1] if by_power else [6, 2, 1], HALF_SIDES, length)
    assert correction is not None
    assert notes == ()
    x, y = 150.0, -80.0
    p = LONG
    error = (p[0] * y**4 + p[1] * y**2 + p[2]) * x**3 + (p[3] * y**4 + p[4] * y**2 + p[5]) * x
    assert correction.errors(np.array([[0.15, -0.08]]))[0, 0] == pytest.approx(1e-3 * error, rel=1e-9)


def test_no_correction_where_the_file_has_zeros():
    assert cop_correction(1, np.zeros(12), [6, 2, 1], HALF_SIDES, 1e-3) == (None, ())


def test_a_correction_that_leaves_the_plate_is_named_and_not_used():
    correction, (note,) = cop_correction(3, np.full(12, 1.0), [6, 2, 1], HALF_SIDES, 1e-3)
    assert correction is None
    assert note.code == "plate-cop-corrected"
    assert "plate 3" in note.message
