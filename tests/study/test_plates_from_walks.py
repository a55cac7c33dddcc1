"""Errors of force plates from the walks of a folder."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from biodyn.errors import StudyError
from biodyn.study.plate_errors import estimate_plate_errors

SUBJECT = Path(__file__).parents[2] / "sample_data" / "subject01"


@pytest.mark.slow
def test_walks_in_one_direction_correct_nothing(tmp_path: Path) -> None:
    for name in ("static.c3d", "walk01.c3d", "walk02.c3d"):
        shutil.copy(SUBJECT / name, tmp_path / name)
    found = estimate_plate_errors(tmp_path)
    assert found.calibration is None
    assert [path.name for path in found.used] == ["walk01.c3d", "walk02.c3d"]
    plates = {test.names[0].partition(",")[0] for test in found.tests}
    assert plates == {"plate 1", "plate 2", "plate 3"}
    for test in found.tests:
        assert test.walks == (2, 0)
        assert test.verdict.startswith("fewer than two walks")


def test_a_folder_whose_walks_show_nothing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "walk.c3d").write_bytes((SUBJECT / "walk01.c3d").read_bytes()[:2000])
    with pytest.raises(StudyError, match=r"walk\.c3d"):
        estimate_plate_errors(tmp_path)
