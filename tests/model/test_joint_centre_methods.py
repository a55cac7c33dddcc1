"""A joint-centre method is one file and a row of numbers."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from biodyn.errors import ModelError, TableError
from biodyn.model.from_library.hip_centre import (
    HIP_METHODS,
    HipInput,
    hip_centre,
    hip_centre_method_names,
    hip_regression,
)
from biodyn.model.from_library.user_tables import load_user_tables
from biodyn.settings import settings_from

METHOD = '''"""Hip centre at a share of the leg's length below the ASIS of its side."""

import numpy as np

from biodyn.conventions import SIDE_SIGN
from biodyn.model.from_library.hip_centre import register_hip_method


@register_hip_method("below_the_asis", numbers=("share",))
def below_the_asis(row, given):
    """Straight below the marker."""
    return np.array([0.0, -row["numbers"]["share"] * given.leg_length_m, 0.5 * given.pelvis_width_m * SIDE_SIGN[given.side]])
'''
ROW = 'title = "Below the ASIS"\ncitation = "nobody"\nmethod = "below_the_asis"\nnumbers = { share = 0.1 }\n'
USE = """
import sys
from biodyn.model.from_library import joint_centres
joint_centres.__path__.append(sys.argv[1])  # as if the file lay in the folder
from biodyn.errors import ModelError
from biodyn.model.from_library.hip_centre import HIP_METHODS, HipInput, hip_centre
print(*HIP_METHODS)
print(*(float(x) for x in hip_centre(sys.argv[2], HipInput("l", 0.155, 0.24, 0.88, 0.007))))
try:
    hip_centre(sys.argv[3], HipInput("l", 0.155, 0.24, 0.88, 0.007))
except ModelError as error:
    print(error)
"""


def pelvis() -> HipInput:
    return HipInput("r", 0.155, 0.24, 0.88, 0.007)


def test_a_method_is_one_file_and_a_row(tmp_path: Path) -> None:
    (tmp_path / "below_the_asis.py").write_text(METHOD, encoding="utf-8")
    (tmp_path / "row.toml").write_text(ROW, encoding="utf-8")
    (tmp_path / "incomplete.toml").write_text(ROW.replace("numbers = { share = 0.1 }\n", ""), encoding="utf-8")
    command = [sys.executable, "-c", USE, str(tmp_path), str(tmp_path / "row.toml"), str(tmp_path / "incomplete.toml")]
    names, centre, error = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert "share missing in 'numbers'" in error
    assert names.split() == sorted([*HIP_METHODS, "below_the_asis"])
    assert [float(x) for x in centre.split()] == pytest.approx([0.0, -0.088, -0.12])


def test_every_method_has_a_row_and_every_row_a_method() -> None:
    implied = {"x": "linear_regression", "newington": "newington"}
    rows = [hip_regression(name) for name in hip_centre_method_names()]
    named = {row.get("method") or next(implied[key] for key in implied if key in row) for row in rows}
    assert named == set(HIP_METHODS)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (('"below_the_asis"', '"newingtom"'), "no hip joint centre method 'newingtom'.*Did you mean 'newington'"),
        (('"below_the_asis"', '"newington"'), "the number 'share' does not belong to its method"),
    ],
)
def test_a_row_that_its_method_cannot_read_is_refused(change: tuple[str, str], words: str, tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(ROW.replace(*change), encoding="utf-8")
    with pytest.raises(ModelError) as error:
        load_user_tables(settings_from({"model": {"hip_centre": str(path)}}).table_names)
    assert re.search(words, f"{error.value.message} {error.value.hint}")


def test_a_row_of_two_forms_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(ROW + "x = { PD = 0.1 }\n", encoding="utf-8")
    with pytest.raises(TableError, match="only one of"):
        hip_centre(str(path), pelvis())


def test_two_methods_of_one_name_are_refused() -> None:
    name, method = next(iter(HIP_METHODS.items()))
    with pytest.raises(ValueError, match=f"two hip joint centre methods are called '{name}'"):
        HIP_METHODS.add(name, method)
