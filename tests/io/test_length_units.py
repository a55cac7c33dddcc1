"""Lengths in a wrong unit: markers, plates or both, ten, 25.4 or a thousand times too large or too small."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from simulator import Plate, write_c3d

from biodyn.errors import InputFileError, PlateError
from biodyn.io import length_units
from biodyn.io.formats.c3d.read import read_c3d
from biodyn.trial.run import analyse_trial

FACTORS = [10.0, 0.1, 25.4, 1 / 25.4, 1000.0, 0.001]


@dataclass(frozen=True)
class _Scaled(Plate):
    """A plate whose corners are stored too large or too small."""

    factor: float = 1.0

    @property
    def corners_W(self):
        return super().corners_W * self.factor


def with_plates(trial, factor):
    fields = Plate.__dataclass_fields__
    scaled = tuple(_Scaled(**{name: getattr(plate, name) for name in fields}, factor=factor) for plate in trial.plates)
    return replace(trial, plates=scaled)


def spoilt(trial, what, factor):
    changed = replace(trial, markers=trial.markers * (1.0 if what == "plates" else factor))
    return changed if what == "markers" else with_plates(changed, factor)


@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("what", ["markers", "plates", "both"])
def test_a_wrong_unit_is_put_right_with_its_factor(laboratory, tmp_path, what, factor):
    truth = read_c3d(laboratory.walk)
    path = tmp_path / "walk.c3d"
    write_c3d(path, spoilt(laboratory.trials["walk"], what, factor))
    found = read_c3d(path)
    # stored as 4-byte floats: relative errors of 6e-8 of the largest coordinate
    np.testing.assert_allclose(found.markers.positions, truth.markers.positions, rtol=1e-5, atol=1e-5)
    for plate, true in zip(found.plates, truth.plates, strict=True):
        np.testing.assert_allclose(plate.corners, true.corners, rtol=1e-5, atol=1e-5)
    (note,) = found.diagnostics
    assert note.severity == "warning"
    assert note.code == "unit-corrected"
    assert f"factor {1 / factor:.4g}" in note.message


def test_right_units_are_left_alone(laboratory):
    for path in (laboratory.walk, laboratory.static):
        assert not [note for note in read_c3d(path).diagnostics if "unit" in note.code]


def test_two_possible_bodies_and_no_plate_are_refused():
    """1.75 m times ten: a tenth of it is an adult, a 25.4th the legs of a child."""
    rng = np.random.default_rng(1)
    markers = rng.uniform(0.0, 1.0, (1, 30, 3)) * [0.4, 0.3, 1.75] + np.zeros((20, 1, 1))
    with pytest.raises(InputFileError, match="nothing in the file tells which"):
        length_units.length_unit("w.c3d", "mm", {"mm": 0.001}, 1e4 * markers, (), None)
    unit = length_units.length_unit("w.c3d", "mm", {"mm": 0.001}, 1e4 * markers, (), 1.8)
    assert unit.markers == pytest.approx(0.0001)
    assert "height of 1.80 m" in unit.diagnostics[0].message


def test_one_far_marker_is_no_wrong_unit(laboratory, tmp_path):
    walk = laboratory.trials["walk"]
    markers = walk.markers.copy()
    markers[:, 3] += 15.0
    write_c3d(tmp_path / "walk.c3d", replace(walk, markers=markers))
    assert not [note for note in read_c3d(tmp_path / "walk.c3d").diagnostics if "unit" in note.code]


def test_plates_of_unknown_size_are_not_used_and_the_run_says_so(laboratory, tmp_path):
    """Nobody steps on them, so the feet do not tell whether they are 0.6 or 1.5 m long."""
    walk = laboratory.trials["walk"]
    silent = replace(walk, components=tuple(np.zeros_like(c) for c in walk.components))
    files = laboratory.copy(tmp_path, walk=with_plates(silent, 25.4))
    (note,) = read_c3d(files.walk).diagnostics
    assert (note.code, note.severity) == ("plate-not-used", "error")
    with pytest.raises(
        PlateError, match=r"holds no usable force plate\. The force plates would measure 15\.2 x 10\.2 m"
    ):
        analyse_trial(files.walk, files.static)
