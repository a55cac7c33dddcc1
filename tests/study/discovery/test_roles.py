"""What a file is for, and which static trial belongs to a walk."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.recordings import Fake, write_tree

from biodyn.study.discovery import discover_trials
from biodyn.study.plan import PlannedTrial

WALK, STILL = Fake(), Fake(plates=0)


def _role(tmp_path: Path, name: str, fake: Fake) -> str:
    plan = discover_trials(write_tree(tmp_path, {name: fake, "P09/P09_11.c3d": WALK}))
    return next(file.role for file in plan.files if file.path == Path(name))


@pytest.mark.parametrize(
    ("name", "fake", "role"),
    [
        ("P01/walk01.c3d", WALK, "walk"),
        ("P01/P01_07.c3d", WALK, "walk"),  # no word at all, but plates
        ("P01/walk01.c3d", STILL, "walk"),  # it will fail, and say that it holds no plates
        ("P01/trial01.c3d", STILL, "walk"),
        ("P01/Turn/07.c3d", STILL, "walk"),
        ("P01/walk01.c3d", Fake(plates=0, labels=()), "walk"),
        ("P01/P01_07.c3d", Fake(plates=0, events=("Foot Strike", "Foot Off")), "walk"),
        ("P01/P01_07.c3d", STILL, "other"),
        ("P01/P01_07.c3d", Fake(plates=0, labels=()), "other"),
        ("P01/static.c3d", STILL, "static"),
        ("P01/static.c3d", WALK, "static"),  # with plates: quiet standing weighs the person
        ("P01/Static/trial03.c3d", WALK, "static"),
        ("P01/Static/P01_03.c3d", Fake(events=("Foot Strike", "Foot Strike")), "static"),
        ("P01/P01_07.c3d", Fake(static=True), "static"),
        ("P01/P01_07.c3d", Fake(plates=0, frames=1), "static"),
        ("P01/standing_ref.c3d", WALK, "static"),
        ("P01/walk_ref01.c3d", WALK, "walk"),
        ("P01/Static/walk01.c3d", WALK, "walk"),
        ("P01/gait_static.c3d", WALK, "static"),
        ("P01/hip_star_right.c3d", WALK, "functional"),
        ("P01/FunctionalKnee01.c3d", WALK, "functional"),
        ("P01/MVC_tibialis.c3d", WALK, "other"),
        ("P01/MVC/03.c3d", WALK, "other"),
        ("P01/walk_EMG_01.c3d", WALK, "walk"),
        ("ST01/ST01_walk01.c3d", Fake(subject="ST01"), "walk"),  # a person's code, no static's word
    ],
)
def test_role(tmp_path: Path, name: str, fake: Fake, role: str) -> None:
    assert _role(tmp_path, name, fake) == role


def test_a_walk_that_lost_its_plates_is_known_by_its_siblings(tmp_path: Path) -> None:
    plan = discover_trials(write_tree(tmp_path, {"P01/P01_07.c3d": WALK, "P01/P01_08.c3d": STILL}))
    assert [t.trial for t in plan.trials] == ["P01_07", "P01_08"]


def _trials(tmp_path: Path, files: dict[str, Fake]) -> dict[str, PlannedTrial]:
    return {t.path.as_posix(): t for t in discover_trials(write_tree(tmp_path, files)).trials}


def test_maximal_contractions_belong_to_the_session_of_the_walk(tmp_path: Path) -> None:
    files = {"P01/pre/w1.c3d": WALK, "P01/pre/MVC_TA.c3d": STILL, "P01/pre/EMG_TA.c3d": STILL, "P01/post/w1.c3d": WALK}
    trials = _trials(tmp_path, files)
    assert trials["P01/pre/w1.c3d"].companions == (Path("P01/pre/MVC_TA.c3d"),)
    assert trials["P01/post/w1.c3d"].companions == ()


def _static(trial: PlannedTrial) -> str | None:
    return None if trial.static is None else trial.static.as_posix()


def test_never_another_sessions_static(tmp_path: Path) -> None:
    trials = _trials(tmp_path, {"P01/pre/static.c3d": STILL, "P01/pre/w1.c3d": WALK, "P01/post/w1.c3d": WALK})
    assert _static(trials["P01/pre/w1.c3d"]) == "P01/pre/static.c3d"
    assert _static(trials["P01/post/w1.c3d"]) is None


def test_a_static_of_no_session_serves_all(tmp_path: Path) -> None:
    trials = _trials(tmp_path, {"P01/static.c3d": STILL, "P01/pre/w1.c3d": WALK, "P01/post/w1.c3d": WALK})
    assert {_static(trial) for trial in trials.values()} == {"P01/static.c3d"}


def test_the_static_of_the_same_condition_goes_before(tmp_path: Path) -> None:
    files = {f"P01/{c}_{n}.c3d": WALK for c in ("barefoot", "shod") for n in (1, 2)}
    files |= {f"P01/static_{c}.c3d": STILL for c in ("barefoot", "shod")}
    for path, trial in _trials(tmp_path, files).items():
        assert _static(trial) == f"P01/static_{'shod' if 'shod' in path else 'barefoot'}.c3d"


def test_of_two_alike_none_is_chosen(tmp_path: Path) -> None:
    files = {"P01/static_a.c3d": STILL, "P01/static_b.c3d": STILL, "P01/w1.c3d": WALK}
    assert _static(_trials(tmp_path, files)["P01/w1.c3d"]) is None


def test_never_another_persons_static(tmp_path: Path) -> None:
    """Not from another folder, not with other stored measures, not with other markers."""
    trials = _trials(tmp_path / "a", {"P01/static.c3d": STILL, "P02/w1.c3d": WALK})
    assert _static(trials["P02/w1.c3d"]) is None
    files = {"P01/static.c3d": Fake(plates=0, mass_kg=60.0), "P01/w1.c3d": Fake(mass_kg=75.0)}
    assert _static(_trials(tmp_path / "b", files)["P01/w1.c3d"]) is None
    files = {"P01/static.c3d": Fake(plates=0, labels=("A", "B", "C")), "P01/w1.c3d": WALK}
    assert _static(_trials(tmp_path / "c", files)["P01/w1.c3d"]) is None
    files = {"static.c3d": Fake(plates=0, subject="Ann"), "w1.c3d": Fake(subject="Bob"), "w2.c3d": Fake(subject="Ann")}
    trials = _trials(tmp_path / "d", files)
    assert (_static(trials["w1.c3d"]), _static(trials["w2.c3d"])) == (None, "static.c3d")


def test_the_same_code_in_two_unknown_places_shares_no_static(tmp_path: Path) -> None:
    files = {"A/S01/static.c3d": STILL, "A/S01/w1.c3d": WALK, "B/S01/w1.c3d": WALK}
    trials = _trials(tmp_path, files)
    assert _static(trials["A/S01/w1.c3d"]) == "A/S01/static.c3d"
    assert _static(trials["B/S01/w1.c3d"]) is None


def test_words_that_only_one_file_has_are_no_condition(tmp_path: Path) -> None:
    files = {f"P01/{name}.c3d": WALK for name in ("walk01", "walk02b", "walk03_stumbled", "walk04(2)", "walk05-edited")}
    assert {trial.condition for trial in _trials(tmp_path, files).values()} == {""}


def test_codes(tmp_path: Path) -> None:
    """C1 before a number is a condition, T01 alone counts trials; one spelling throughout."""
    files = dict.fromkeys(("P01/C1_01.c3d", "P01/c1_02.c3d", "P01/C2_01.c3d", "P01/T01.c3d", "P01/T02.c3d"), WALK)
    found = {path: trial.condition for path, trial in _trials(tmp_path, files).items()}
    assert found["P01/C1_01.c3d"] == found["P01/c1_02.c3d"] != found["P01/C2_01.c3d"] == "C2"
    assert found["P01/T01.c3d"] == found["P01/T02.c3d"] == ""


def test_a_number_after_a_session_in_a_name_is_the_trials(tmp_path: Path) -> None:
    files = {f"P01/walk_{s}_0{n}.c3d": WALK for s in ("pre", "post") for n in (1, 2)}
    trials = _trials(tmp_path, {**files, "P01/static_pre.c3d": STILL, "P01/static_post.c3d": STILL})
    for path, trial in trials.items():
        assert trial.session == ("pre" if "pre" in path else "post")
        assert _static(trial) == f"P01/static_{trial.session}.c3d"


def test_numbered_session_folders_are_sessions_each(tmp_path: Path) -> None:
    files = {f"P01/post {n}/{what}.c3d": WALK if what == "w1" else STILL for n in (1, 2) for what in ("w1", "static")}
    trials = _trials(tmp_path, files)
    assert [t.session for t in trials.values()] == ["post 1", "post 2"]
    assert all(trial.static is not None and trial.static.parent == trial.path.parent for trial in trials.values())


def test_years_above_people_are_no_people(tmp_path: Path) -> None:
    plan = discover_trials(
        write_tree(tmp_path, {"2019/Anna/w1.c3d": WALK, "2019/Bob/w1.c3d": WALK, "2020/Cy/w1.c3d": WALK})
    )
    assert [t.subject for t in plan.trials] == ["Anna", "Bob", "Cy"]
