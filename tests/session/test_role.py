"""What a recording is for, by its names and its header."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from biodyn.recording import FileFacts
from biodyn.session import TrialNames, determine_role
from biodyn.session.name_tokens import split_name


def role(path: str, sibling_walks: bool = False, **facts: Any) -> str:
    place = Path(path)
    names = TrialNames(split_name(place.stem), tuple(split_name(folder) for folder in place.parts[:-1]))
    known = {"labels": frozenset({"LASI"}), "frame_count": 200, "rate_hz": 100.0, "plate_count": 2, **facts}
    return determine_role(names, FileFacts(place, "", None, None, **known), sibling_walks)[0]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("P01/static01.c3d", "static"),
        ("P01/Static/trial03.c3d", "static"),
        ("P01/walk01.c3d", "walk"),
        ("P01/07.c3d", "walk"),
        ("P01/run_fast03.c3d", "run"),
        ("P01/Running/03.c3d", "run"),
        ("P01/FunctionalKnee01.c3d", "functional"),
        ("P01/hip_star_right.c3d", "functional"),
        ("P01/SARA/03.c3d", "functional"),
        ("P01/MVC_tibialis.c3d", "other"),
        ("P01/emptyplate.c3d", "other"),
    ],
)
def test_role(path: str, expected: str) -> None:
    assert role(path) == expected


def test_what_the_header_says() -> None:
    assert role("P01/07.c3d", declared_static=True) == "static"
    assert role("P01/07.c3d", frame_count=1, plate_count=0) == "static"
    assert role("P01/07.c3d", plate_count=0) == "other"
    assert role("P01/07.c3d", plate_count=0, gait_events=4) == "walk"
    assert role("P01/07.c3d", plate_count=0, sibling_walks=True) == "walk"
    assert role("P01/jog.c3d", plate_count=0) == "other"
    assert role("P01/run.c3d", plate_count=0) == "run"
