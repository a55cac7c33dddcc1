"""Faults written into a real walk: the verdict, and the cause that is named first."""

from __future__ import annotations

from pathlib import Path

import ezc3d
import pytest
from planted_faults import FAULTS, analyse, judge
from support.real import recordings

_WALK, _STATIC = "gait/biomechzoo/HC032A/Straight/HC032A03.c3d", "gait/biomechzoo/HC032A/Static/HC032A01.c3d"


@pytest.fixture(scope="module")
def pair() -> tuple[Path, Path]:
    return recordings() / _WALK, recordings() / _STATIC


@pytest.fixture(scope="module")
def clean(pair, tmp_path_factory):
    walk, static = (ezc3d.c3d(str(path)) for path in pair)
    return analyse(walk, static, tmp_path_factory.mktemp("clean"), None)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "size"),
    [("plate shifted", 5.0), ("My reversed", 1.0), ("Mx and My exchanged", 1.0), ("plate turned", 90.0)],
)
def test_fault_of_a_plate_fails_and_is_named(name, size, pair, clean):
    assert clean.verdict.status == "pass"
    fault = next(fault for fault in FAULTS if fault.name == name)
    outcomes, line = judge(fault, size, pair, clean, seed=1)
    assert "fail" in line
    assert outcomes["right"] == outcomes["noticeable"] == 1, line
