"""What is done in a recording, told from a preview of it, and what its quietest half second is worth."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.small_person import Motion, Tiny, new_person

from biodyn.io import read, read_facts, read_preview
from biodyn.recording import Markers, quietest_part
from biodyn.session import find_session_files, find_static, read_motion_facts, recording_role
from biodyn.session.person_comparison import labels_without_prefix, person_name
from biodyn.study.discovery import discover_trials


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of its own, so deep that no other test's recordings lie near."""
    return tmp_path / "data" / "of" / "P01"


def recording(path: Path, motion: Motion, seed: int = 1, **more: object) -> Path:
    """A person's recording; the same seed is the same person with the markers in the same places."""
    placement = new_person(np.random.default_rng(seed))
    return Tiny(placement, motion, seed=sum(map(ord, path.name)), **more).write(path)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("motion", "kind", "stands"),
    [
        ("standing", "standing", True),
        ("moment", "standing", True),
        ("settling", "standing", True),
        ("arms", "standing", True),
        ("walk", "travelling", False),
        ("late_walk", "travelling", True),
        ("treadmill", "in_place", False),
        ("hip", "one_leg", None),
        ("knee", "one_leg", None),
        ("squat", "in_place", None),
    ],
)
def test_what_is_done(tmp_path: Path, motion: Motion, kind: str, stands: bool | None) -> None:
    found = read_motion_facts(recording(tmp_path / "a.c3d", motion))
    assert found is not None
    assert found.kind == kind
    assert stands is None or found.is_standing == stands


def test_a_preview_finds_the_quiet_part_that_all_frames_show(tmp_path: Path) -> None:
    path = recording(tmp_path / "a.c3d", "late_walk", seconds=8.0)
    all_frames, preview = quietest_part(read(path).markers), read_preview(path).quietest_piece()
    assert preview.last < 0.4 * 8.0 * 50.0  # before the first step
    assert all_frames.last < 0.4 * 8.0 * 50.0
    assert preview.movement_m <= all_frames.movement_m + 1e-9 < 0.01


def test_a_part_that_shows_few_markers_is_not_the_quietest() -> None:
    """One marker seen alone, at rest, tells nothing of the person."""
    positions = np.random.default_rng(0).normal(0.0, 0.05, (200, 8, 3))
    positions[100:, 1:] = np.nan
    positions[100:, 0] = 0.5
    assert quietest_part(Markers(tuple("ABCDEFGH"), positions, 100.0)).last < 150


def test_run_and_study_take_the_static_that_rests_for_half_a_second(folder: Path) -> None:
    """Who steps into place moves in the file as a whole; the walk beside it is another's or the same one's all the same."""
    static = recording(folder / "static.c3d", "settling")
    walks = [recording(folder / f"walk{n}.c3d", "walk") for n in (1, 2)]
    assert [find_static(walk).path for walk in walks] == [static, static]
    assert [trial.static for trial in discover_trials(folder).trials] == [Path("static.c3d")] * 2


def test_a_static_in_which_nobody_stands_serves_neither(folder: Path) -> None:
    recording(folder / "static.c3d", "walk")
    walk = recording(folder / "walk1.c3d", "walk")
    search = find_static(walk)
    assert search.path is None
    assert "moves in it" in search.candidates[0].rejected
    assert all(trial.static is None and not trial.statics for trial in discover_trials(folder).trials)


def test_another_bodys_static_is_no_static_of_a_study_either(folder: Path) -> None:
    recording(folder / "static.c3d", "standing", seed=5)
    recording(folder / "walk1.c3d", "walk")
    (trial,) = discover_trials(folder).trials
    assert trial.static is None


def test_a_functional_trial_called_a_calibration_is_no_static(folder: Path) -> None:
    recording(folder / "KneeCal_L.c3d", "knee")
    static = recording(folder / "posture.c3d", "standing")
    walk = recording(folder / "walk1.c3d", "walk")
    assert find_static(walk).path == static
    assert {f.path.name: f.role for f in discover_trials(folder).files}["KneeCal_L.c3d"] == "functional"


def test_the_session_of_a_walk(folder: Path) -> None:
    walk = recording(folder / "walk1.c3d", "late_walk")
    for name, motion in (("static", "standing"), ("hip_star_L", "hip"), ("walk2", "walk"), ("MVC_TA", "arms")):
        recording(folder / f"{name}.c3d", motion)  # type: ignore[arg-type]
    recording(folder / "guest.c3d", "standing", seed=7)
    files = find_session_files(walk)
    assert [c.path.stem for c in files.static_trials] == ["static"]
    assert [c.path.stem for c in files.companions_with_use("functional")] == ["hip_star_L"]
    assert [c.path.stem for c in files.companions_with_use("walk")] == ["walk2"]
    assert {c.path.stem for c in files.companions_with_use("other")} == {"MVC_TA"}
    assert {c.path.stem for c in files.companions_with_use("stranger")} == {"guest"}
    assert files.walk.suitability > 0.0  # it begins with standing
    assert files.companions_with_use("walk")[0].suitability == 0.0
    assert len(files.companions) == 5


def test_the_role_of_a_single_file(tmp_path: Path) -> None:
    role, why = recording_role(read_facts(recording(tmp_path / "P01" / "03.c3d", "standing")))
    assert role == "static"
    assert "quiet standing" in why


@pytest.mark.parametrize(
    ("stored", "name"),
    [
        ("X_static", "x"),
        ("X_dynamic", "x"),
        ("S01_walk", "s01"),
        ("Anna Static 2", "anna"),
        ("Walk_Bob01", "bob01"),
        ("static", "static"),
        ("S4-AM", "s4am"),
        ("Anna 2", "anna2"),
    ],
)
def test_role_words_are_no_part_of_a_persons_name(stored: str, name: str) -> None:
    assert person_name(stored) == name


def test_a_start_that_all_labels_share_is_none_of_theirs() -> None:
    labels = frozenset({"LASI", "RASI", "SACR"})
    assert labels_without_prefix(frozenset(f"Anna_static_{label}" for label in labels)) == labels
    assert labels_without_prefix(frozenset({"R_KNE", "L_KNE"})) == {"R_KNE", "L_KNE"}
    many = frozenset(f"M{n}" for n in range(20))
    assert labels_without_prefix(frozenset(f"Anna_{label}" for label in many) | {"*12"}) == many | {"*12"}
