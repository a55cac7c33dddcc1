"""Whose recording a file is, its session and condition, over many ways people lay out a study."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from support.recordings import Fake, write_tree

from biodyn.study.discovery import discover_trials

# What a laboratory may call its people: codes of letters and digits, numbers; or first names, for folders.
_LETTERS = st.sampled_from(["P", "S", "HC", "AB", "Sub", "subject", "Patient", "KX", "OA", "Pat_", "subject "])
_WORDS = ("Anna", "Boris", "Chloé", "Dmitri", "Émile", "Łukasz", "Zoë", "Ngozi")
_CONDITIONS = ("fast", "Slow", "barefoot", "Shod", "Turn", "straight", "run")
_SESSIONS = (("pre", "post"), ("T0", "T1"), ("Session 1", "Session 2"), ("2021-03-04", "2021-09-30"), ("day1", "day2"))
_FOLDER_SESSIONS = (*_SESSIONS, ("1", "2"), ("Monday", "Friday"))
# {s} person, {v} session, {c} condition, {n} number of the trial
_WITH_CONDITION = (
    "{s}/{c}/{n}",
    "{s}/{c}/walk{n}",
    "{s}/{c}_{n}",
    "{s}/{c}{n}",
    "{s}/{s}_{c}_{n}",
    "{s}/dynamic/{s} {c} {n}",
    "{c}/{s}/trial{n}",
    "data/{s}/walk_{c}_{n}",
    "{s}_{c}_{n}",
    "{s}-{c}-{n}",
    "{s} {c}{n}",
    "c3d/{s}_walk{c}{n}",
)
_WITHOUT = ("{s}/{n}", "{s}/walk{n}", "{s}/{s}_{n}", "{s}_{n}", "{s}_walk_{n}", "{s}/trial {n}", "walks/{s}/gait{n}")
_WITH_SESSION = ("{s}/{v}/{n}", "{s}/{v}/walk{n}", "{s}/{v}/{s}_walk{n}", "{v}/{s}/walk{n}")
_STATIC_OF = {"{s}/": ("{s}/static", "{s}/Static/trial01", "{s}/{s}_cal01"), "": ("{s}_static", "static/{s}_01")}


@dataclass(frozen=True)
class Truth:
    """What one walk's file is."""

    subject: int
    session: str
    condition: str
    static: str | None


@st.composite
def codes(draw: st.DrawFn) -> list[str]:
    """Two to four people named alike: letters and a number."""
    letters, digits = draw(_LETTERS), draw(st.integers(2, 3))
    numbers = draw(st.lists(st.integers(1, 99), min_size=2, max_size=4, unique=True))
    suffix = draw(st.sampled_from(["", "", "A"])) if letters.isalpha() else ""
    return [f"{letters}{number:0{digits}d}{suffix}" for number in numbers]


def _ascii(name: str) -> str:
    """As C3D files store it."""
    return name.encode("ascii", "replace").decode().replace("?", "e")


def _look(files: dict[str, Fake]):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "Study of walking"
        root.mkdir()
        return discover_trials(write_tree(root, files))


def _check(files: dict[str, Fake], truth: dict[str, Truth]) -> None:
    plan = _look(files)
    trials = {trial.path.as_posix(): trial for trial in plan.trials}
    assert sorted(trials) == sorted(truth)
    assert len({(t.subject.casefold(), t.trial.casefold()) for t in plan.trials}) == len(truth)
    names: dict[int, set[str]] = {}
    for path, fact in truth.items():
        names.setdefault(fact.subject, set()).add(trials[path].subject)
    assert all(len(found) == 1 for found in names.values()), names
    assert len(set.union(*names.values())) == len(names), names
    for path, fact in truth.items():
        trial = trials[path]
        assert trial.session.casefold() == fact.session.casefold(), path
        assert trial.condition.casefold() == fact.condition.casefold(), path
        assert (None if trial.static is None else trial.static.as_posix()) == fact.static, path


_quick = settings(max_examples=20, deadline=None, phases=[Phase.generate], suppress_health_check=[HealthCheck.too_slow])


@_quick
@given(
    people=codes(),
    layout=st.sampled_from(_WITH_CONDITION),
    conditions=st.lists(st.sampled_from(_CONDITIONS), min_size=2, max_size=3, unique=True),
    stored=st.booleans(),
    data=st.data(),
)
def test_conditions_are_told_from_people_and_counters(people, layout, conditions, stored, data) -> None:
    pattern = data.draw(st.sampled_from(_STATIC_OF["{s}/" if layout.startswith(("{s}/", "data", "{c}")) else ""]))
    files: dict[str, Fake] = {}
    truth: dict[str, Truth] = {}
    for i, person in enumerate(people):
        facts = {"subject": _ascii(person), "mass_kg": 50.0 + 5 * i} if stored else {}
        static = pattern.format(s=person) + ".c3d"
        files[static] = Fake(plates=0, **facts)
        for condition in conditions:
            for number in ("01", "02"):
                path = layout.format(s=person, c=condition, n=number) + ".c3d"
                files[path] = Fake(**facts)
                truth[path] = Truth(i, "", condition, static)
    _check(files, truth)


@_quick
@given(people=codes(), layout=st.sampled_from(_WITHOUT), digits=st.integers(1, 3), stored=st.booleans())
def test_a_number_is_no_condition(people, layout, digits, stored) -> None:
    files: dict[str, Fake] = {}
    truth: dict[str, Truth] = {}
    for i, person in enumerate(people):
        facts = {"subject": _ascii(person), "mass_kg": 50.0 + 5 * i} if stored else {}
        static = ("{s}/static.c3d" if "/" in layout else "{s}_static.c3d").format(s=person)
        files[static] = Fake(plates=0, **facts)
        for number in range(1, 4):
            path = layout.format(s=person, n=f"{number:0{digits}d}") + ".c3d"
            files[path] = Fake(**facts)
            truth[path] = Truth(i, "", "", static)
    _check(files, truth)


@_quick
@given(
    people=st.one_of(codes(), st.lists(st.sampled_from(_WORDS), min_size=2, max_size=4, unique=True)),
    layout=st.sampled_from(_WITH_SESSION),
    sessions=st.sampled_from(_FOLDER_SESSIONS),
    stored=st.booleans(),
)
def test_every_session_has_its_own_static(people, layout, sessions, stored) -> None:
    if layout.startswith("{v}") and sessions in (("1", "2"), ("Monday", "Friday"), ("T0", "T1")):
        return  # nothing tells such a folder above people from a place or a person
    files: dict[str, Fake] = {}
    truth: dict[str, Truth] = {}
    for i, person in enumerate(people):
        facts = {"subject": _ascii(person), "mass_kg": 50.0 + 5 * i} if stored else {}
        for session in sessions:
            static = layout.split("/")[0:2]
            static_path = "/".join(static).format(s=person, v=session) + "/static.c3d"
            files[static_path] = Fake(plates=0, **facts)
            for number in ("01", "02"):
                path = layout.format(s=person, v=session, n=number) + ".c3d"
                files[path] = Fake(**facts)
                truth[path] = Truth(i, session, "", static_path)
    _check(files, truth)


@_quick
@given(people=codes(), sessions=st.sampled_from(_SESSIONS[:4]), condition=st.sampled_from(_CONDITIONS))
def test_sessions_in_flat_names(people, sessions, condition) -> None:
    files: dict[str, Fake] = {}
    truth: dict[str, Truth] = {}
    for i, person in enumerate(people):
        for session in sessions:
            static = f"{person}_{session}_static.c3d"
            files[static] = Fake(plates=0)
            for what in ("walk", condition):
                path = f"{person}_{session}_{what}_01.c3d"
                files[path] = Fake()
                truth[path] = Truth(i, session, what, static)
    _check(files, truth)


@_quick
@given(
    numbers=st.lists(st.integers(1, 99), min_size=2, max_size=4, unique=True),
    task=st.sampled_from(["walk", "fast", "stairs"]),
    folders=st.booleans(),
)
def test_names_laid_out_as_bids_has_them(numbers, task, folders) -> None:
    files: dict[str, Fake] = {}
    truth: dict[str, Truth] = {}
    for i, number in enumerate(numbers):
        for session in ("01", "02"):
            base = f"sub-{number:02d}_ses-{session}"
            folder = base.replace("_", "/") + "/motion/" if folders else ""
            static = f"{folder}{base}_task-static_run-01.c3d"
            files[static] = Fake(plates=0)
            for run in ("01", "02"):
                path = f"{folder}{base}_task-{task}_run-{run}.c3d"
                files[path] = Fake()
                truth[path] = Truth(i, f"ses-{session}", task, static)
    _check(files, truth)


@_quick
@given(names=st.lists(st.sampled_from(("Anna", "Bo Li", "C. Diaz", "Eve-2")), min_size=2, unique=True), data=st.data())
def test_people_told_by_stored_names_only(names, data) -> None:
    """A flat folder of numbered files: only the headers say whose they are."""
    order = data.draw(st.permutations([name for name in names for _ in range(3)]))
    files: dict[str, Fake] = {}
    truth: dict[str, Truth] = {}
    statics = {}
    for number, name in enumerate(order, start=1):
        facts = {"subject": name, "mass_kg": 50.0 + 7 * names.index(name)}
        if name not in statics:
            statics[name] = f"Cal {number:02d}.c3d"
            files[statics[name]] = Fake(plates=0, **facts)
        else:
            files[f"Trial {number:02d}.c3d"] = Fake(**facts)
    for number, name in enumerate(order, start=1):
        if f"Trial {number:02d}.c3d" in files:
            truth[f"Trial {number:02d}.c3d"] = Truth(names.index(name), "", "", statics[name])
    _check(files, truth)


@_quick
@given(names=st.lists(st.sampled_from(_WORDS), min_size=2, max_size=4, unique=True))
def test_people_told_by_their_first_names_only(names) -> None:
    for pattern in ("{s}/", "{s}_"):
        files = {
            f"{pattern.format(s=name)}{what}.c3d": Fake() for name in names for what in ("static", "walk1", "walk2")
        }
        truth = {
            f"{pattern.format(s=name)}walk{n}.c3d": Truth(i, "", "", f"{pattern.format(s=name)}static.c3d")
            for i, name in enumerate(names)
            for n in (1, 2)
        }
        _check(files, truth)
