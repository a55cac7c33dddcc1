"""Age and leg length of a person: given, stored, or measured, and where each came from."""

from types import SimpleNamespace

import numpy as np
import pytest

from biodyn.io.formats.c3d.parameter_groups import subject_parameters
from biodyn.processing.calibration.subject_measurements import find_age, leg_length
from biodyn.recording import SubjectParameters


def recording(subject: SubjectParameters):
    """What is asked of a recording here."""
    return SimpleNamespace(subject=subject, path=SimpleNamespace(name="walk.c3d"))


def test_the_age_that_is_given_comes_before_the_one_stored() -> None:
    stored = recording(SubjectParameters(age_years=9.0))
    assert find_age(34.0, [stored]) == (34.0, "given by the user")
    assert find_age(None, [recording(SubjectParameters()), stored]) == (9.0, "stored in walk.c3d")
    assert find_age(None, [recording(SubjectParameters())]) == (None, "not known")


def test_a_c3d_file_tells_the_age() -> None:
    groups = {"SUBJECTS": {"AGE": {"values": [12.5]}}, "PROCESSING": {}}
    assert subject_parameters(groups).age_years == 12.5
    for impossible in (0.0, 410.0, "unknown"):
        assert subject_parameters({"SUBJECTS": {"AGE": {"values": [impossible]}}}).age_years is None


def test_the_leg_is_as_stored_else_from_iliac_spine_to_ankle() -> None:
    standing = {
        "asis_r": np.array([0.0, 0.95, 0.1]),
        "ankle_lateral_r": np.array([0.0, 0.08, 0.1]),
        "asis_l": np.array([0.0, 0.95, -0.1]),
        "ankle_lateral_l": np.array([0.0, 0.06, -0.1]),
    }
    stored = recording(SubjectParameters(measures={"leg_length_r": 0.90, "leg_length_l": 0.92}))
    assert leg_length({}, [stored], standing)[0] == pytest.approx(0.91)
    given = {"leg_length_r": 0.88, "leg_length_l": 0.89, "knee_width_r": 0.1}
    assert leg_length(given, [stored], standing) == (pytest.approx(0.885), "given by the user")
    found, source = leg_length({}, [recording(SubjectParameters())], standing)
    assert found == pytest.approx(0.88)
    assert "measured" in source
    wrong_unit = {name: 1000.0 * point for name, point in standing.items()}
    assert leg_length({}, [recording(SubjectParameters())], wrong_unit)[0] is None
