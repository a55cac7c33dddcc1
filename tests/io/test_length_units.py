"""Lengths in a wrong unit: markers, plates or both, ten or a thousand times too large or too small."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from simulator import Plate, write_c3d

from biodyn.errors import PlateError
from biodyn.io.formats.c3d.reader import read_c3d
from biodyn.trial.run import analyse_trial

FACTORS = [10.0, 0.1, 1000.0, 0.001]


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
def test_a_wrong_unit_is_corrected_by_its_factor(laboratory, tmp_path, what, factor):
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


def test_one_far_marker_is_no_wrong_unit(laboratory, tmp_path):
    walk = laboratory.trials["walk"]
    markers = walk.markers.copy()
    markers[:, 3] += 15.0
    write_c3d(tmp_path / "walk.c3d", replace(walk, markers=markers))
    assert not [note for note in read_c3d(tmp_path / "walk.c3d").diagnostics if "unit" in note.code]


def test_plates_of_unknown_size_are_not_used_and_the_run_says_so(laboratory, tmp_path):
    walk = laboratory.trials["walk"]
    files = laboratory.copy(tmp_path, walk=with_plates(walk, 60.0))
    (note,) = read_c3d(files.walk).diagnostics
    assert (note.code, note.severity) == ("plate-not-used", "error")
    with pytest.raises(PlateError, match=r"has no usable force plate\. The force plates would measure 36 x 24 m"):
        analyse_trial(files.walk, files.static)
