"""A walk as laboratories keep it in spreadsheets gives the torques of its C3D, by every door."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.poses import files_of_its_poses
from support.spreadsheets import write_markers, write_plates, write_poses

from biodyn.analysis import TrialAnalysis
from biodyn.errors import PlateError
from biodyn.io import read
from biodyn.recording import Recording, SubjectParameters
from biodyn.trial.run import analyse_trial
from biodyn.trial.trial_files import TrialFiles

SAMPLE = Path(__file__).parent.parent / "sample_data" / "subject01"
QUICK = {"uncertainty": {"compute": False}}
PERSON = {"massKg": 70.0, "heightM": 1.75, "sex": "male"}


def _bare(path: Path) -> Recording:
    """What spreadsheets and the person's file beside them hold of a recording."""
    subject = SubjectParameters(mass_kg=PERSON["massKg"], height_m=PERSON["heightM"], sex="male")  # type: ignore[arg-type]
    return replace(read(path), subject=subject, events=(), model_outputs={}, vertical=None)


def _difference(one: TrialAnalysis, other: TrialAnalysis) -> float:
    """Largest difference of a torque, Nm and N; the frames without one must be the same."""
    ours, theirs = one.dynamics.tau, other.dynamics.tau
    np.testing.assert_array_equal(np.isfinite(ours), np.isfinite(theirs))
    return float(np.nanmax(np.abs(ours - theirs)))


@pytest.mark.slow
def test_markers_and_plates_in_spreadsheets_give_the_torques_of_the_c3d(tmp_path: Path) -> None:
    walk, static = _bare(SAMPLE / "walk01.c3d"), _bare(SAMPLE / "static.c3d")
    files = TrialFiles(walk, static, "named by the user")
    own = analyse_trial("walk01.c3d", settings=QUICK, files=files, torques_only=True)
    (tmp_path / "_subject.json").write_text(json.dumps(PERSON))
    write_plates(tmp_path / "walk01_forces.csv", walk)
    text, standing = (
        write_markers(tmp_path / f"{name}.csv", one) for name, one in (("walk01", walk), ("static", static))
    )
    again = analyse_trial(text, standing, settings=QUICK, torques_only=True)
    # nine digits of positions in mm and of forces in N: 1e-9 of each, of torques (and residuals) up to 900
    assert _difference(own, again) < 1e-3


@pytest.mark.parametrize("columns", [1, 2])  # of one name: two with different numbers have a warning of their own
def test_forces_under_unknown_names_are_reported_without_plates(tmp_path: Path, columns: int) -> None:
    walk = read(SAMPLE / "walk01.c3d")
    text = write_markers(tmp_path / "walk.csv", walk)
    lines = text.read_text().splitlines()
    text.write_text(
        "\n".join([lines[0] + ",amti_one_x" * columns, *(line + ",1.0,2.0"[: 4 * columns] for line in lines[1:])])
    )
    with pytest.raises(PlateError, match=r"not read: amti_one_x") as caught:
        analyse_trial(text, SAMPLE / "static.c3d", settings=QUICK)
    assert "walk.columns.toml" in caught.value.hint


def test_a_c3d_beside_a_walk_without_plates_is_named(tmp_path: Path) -> None:
    text = write_markers(tmp_path / "walk.csv", read(SAMPLE / "walk01.c3d"))
    with pytest.raises(PlateError) as caught:
        analyse_trial(text, SAMPLE / "static.c3d", settings=QUICK)
    assert "Export the trial as C3D" in caught.value.hint
    (tmp_path / "walk.c3d").write_bytes((SAMPLE / "walk01.c3d").read_bytes())
    with pytest.raises(PlateError) as caught:
        analyse_trial(text, SAMPLE / "static.c3d", settings=QUICK)
    assert "'walk.c3d' next to it may contain the force plates" in caught.value.hint


def test_a_mistake_in_the_map_of_the_forces_is_told(tmp_path: Path) -> None:
    walk = read(SAMPLE / "walk01.c3d")
    write_markers(tmp_path / "walk.csv", walk)
    write_plates(tmp_path / "walk_forces.csv", walk)
    maps = tmp_path / "walk_forces.columns.toml"
    assert read(tmp_path / "walk.csv").plates
    maps.write_text(maps.read_text().replace("moment =", "momnt ="))
    found = read(tmp_path / "walk.csv")
    assert not found.plates
    (note,) = (note for note in found.diagnostics if note.code == "forces-unusable")
    assert "key 'momnt': unknown entry" in note.message


@pytest.mark.slow
def test_poses_in_a_spreadsheet_give_the_torques_of_the_poses(tmp_path: Path) -> None:
    analysis = analyse_trial(SAMPLE / "walk01.c3d", settings=QUICK, torques_only=True)
    files = files_of_its_poses(analysis)
    bare = replace(files.walk, subject=SubjectParameters(), events=(), vertical=None)
    body = {"mass_kg": 70.0, "height_m": 1.75, "settings": QUICK, "torques_only": True}
    own = analyse_trial("walk01.c3d", files=replace(files, walk=bare, static=bare), **body)  # type: ignore[arg-type]
    text = write_poses(tmp_path / "walk01.csv", files.walk.poses)
    write_plates(tmp_path / "walk01_forces.csv", bare, digits=12)
    assert _difference(own, analyse_trial(text, **body)) < 1e-5  # type: ignore[arg-type]
