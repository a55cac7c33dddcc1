"""Folders as laboratories lay them out and name them, made from a seed, with what every file is.

A layout is one habit (how folders and names are built) with words and options drawn at random. The words stand here, not in
the program's own lists; layouts of even seeds know the first half of every list only, those of odd seeds all of it, so that
words can be chosen on the one and judged on the other. Sources of habits that public data sets have:

- `{id}/{id}_C1_01`, `{id}_ST`: Schreiber and Moissenet 2019, doi 10.1038/s41597-019-0124-4 (`2014001_C1_01.c3d`).
- `S001/MotionCapture/LevelWalking/TRC/Trial01/AllSteps`: Gait120, doi 10.6084/m9.figshare.27677016.
- `{id}_S{speed}`, `{id}_SCW`: treadmill walks at 0.2 m/s (S02) and at a comfortable speed, from a published example folder.
- `{date}_{initials}_perturb_{speed}_{number}`: conventions of a perturbation project in public code.
- `Sample_Static`, `Sample_Dynamic`, `RoboStatic`, `RoboWalk`, `ROM/`: sample data of pyCGM.
- `P06/static01`, `P06/dynamic01`; `P025/static 01`; `Static01` to be given beside walks: public analysis scripts.
- `HC002D/{Static,Straight,Turn}/HC002D02`, `S4-AMGait03` and `S4 AM Cal 01`, `PiG_Motion3_FF` and `PiG_Calibration3_FF`,
  `MH0222_BP06` in folders `static` and `dynamic`, `Gait with EMG` and `Static Pose`: recordings that the tests read.
- four-digit counters are what Qualisys Track Manager gives, two digits what Vicon Nexus gives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from support.small_person import Motion, Placement, Tiny, new_person

_STATIC = (
    "Static", "static", "Cal", "STATIC", "Calib", "Standing", "ST", "Calibration", "stat", "Static Pose", "StaticTrial",
    "tpose", "Statisch", "Statique", "Anatomical", "neutral", "statica", "T-Pose", "standing_still", "AnatPose", "RefPose",
    "QuietStanding", "N-Pose", "Stehen", "estatico", "debout", "KAD", "Static_KAD", "upright", "sCal", "quiet stance", "posture",
)  # fmt: skip
_WALK = (
    "walk", "Walk", "Gait", "gait", "Walking", "Dynamic", "WALK", "trial", "Gang", "level", "Trial", "marche", "dynamic",
    "overground", "Camminata", "lw", "Marcha", "passo", "go", "SSW", "Walktrial", "motion", "gehen", "Gaitcycle", "pass",
)  # fmt: skip
_FUNCTIONAL = (
    "hip_star", "FunctionalHip", "knee_flex", "StarArc", "SARA", "circumduction", "funcKnee", "HipCal", "SCoRE", "KneeCal",
    "ROM_Hip", "LegSwing", "func_hip", "KneeFlexion", "HJC", "KJC", "hip_functional", "star", "hipjoint", "KneeROM",
)  # fmt: skip
_OTHER = (
    ("MVC_TA", "standing"), ("squat", "squat"), ("empty", "empty"), ("emptyplates", "empty"), ("MVIC_quad", "standing"),
    ("zero", "empty"), ("EMG_test", "standing"), ("noise", "empty"), ("Squats", "squat"), ("unloaded", "empty"),
)  # fmt: skip
_CONDITIONS = (
    ("barefoot", "shod"), ("fast", "slow"), ("normal", "fast"), ("noAFO", "AFO"), ("Barefoot", "Shoes"), ("SS", "Fast"),
    ("BF", "AFO"), ("comfortable", "maximal"), ("pref", "fast"), ("insole", "noinsole"), ("free", "brace"), ("bf", "sh"),
)  # fmt: skip
_SHOES = ("barefoot", "noafo", "bf", "free", "insole")  # first of pairs in which the foot's markers are put on again
_SESSIONS = (
    ("pre", "post"), ("Session 1", "Session 2"), ("2021-03-04", "2021-09-30"), ("T0", "T1"), ("day1", "day2"), ("V1", "V2"),
    ("20190212", "20190820"), ("visit1", "visit2"), ("Baseline", "Followup"), ("ses01", "ses02"), ("preOP", "postOP"),
    ("6mo", "12mo"),
)  # fmt: skip
_SITES = (
    ("Gent", "Lyon"), ("SiteA", "SiteB"), ("lab1", "lab2"), ("Hospital North", "Hospital South"), ("UZ", "KUL"),
    ("Basel", "Bern"),
)  # fmt: skip
_GROUPS = (("patients", "controls"), ("CP", "TD"), ("Healthy", "Stroke"), ("young", "old"), ("OA", "Controls"))
_CODES = (
    "P{:02d}", "S{:02d}", "sub{:02d}", "Subject{:d}", "HC{:03d}A", "P{:d}", "AB{:02d}", "SUBJ{:02d}", "{:03d}", "Pat_{:02d}",
)  # fmt: skip
_NAMES = ("Anna", "Boris", "Chloe", "Dmitri", "Emil", "Ngozi", "Zoe", "Jo")
_COUNTERS = ("{:02d}", "{:d}", "{:04d}", " {:02d}", "_{:d}", "_{:03d}", "-{:02d}", "{:05d}", " {:d}", "_{:04d}")


_PAIRS = (
    ("Static Pose", "Gait with EMG"), ("Sample_Static", "Sample_Dynamic"), ("Cal 02", "Walk 03"), ("RoboStatic", "RoboWalk"),
    ("S01 Static0001", "S01 Gait0002"), ("MH0222_BP01", "MH0222_BP06"), ("anat_pose_ECH", "walk_ECH"), ("S01T01", "S01T12"),
)  # fmt: skip


@dataclass(frozen=True)
class Truth:
    """What a file is: role, person, site, session, condition; the statics that are right for a walk, empty where none is.

    `warn`: nothing in the data tells which of the possible statics is right: one may be taken, but not silently.
    """

    role: str
    person: int
    site: str = ""
    session: str = ""
    condition: str = ""
    statics: frozenset[str] = frozenset()
    warn: bool = False


@dataclass
class Layout:
    """Files by path below the study's folder, and what they are."""

    habit: str
    seed: int
    files: dict[str, Tiny | str] = field(default_factory=dict)
    truth: dict[str, Truth] = field(default_factory=dict)

    def write(self, root: Path) -> Path:
        """Write all files and return the folder; a text in place of a recording is the path of the file it is a copy of."""
        for path, tiny in self.files.items():
            target = root / f"{path}.c3d"
            if isinstance(tiny, Tiny):
                tiny.write(target)
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes((root / f"{tiny}.c3d").read_bytes())
        return root


@dataclass
class _Builder:
    """What habits draw from, and where they put files."""

    rng: np.random.Generator
    layout: Layout
    all_words: bool
    stored: dict[int, dict[str, Any]] = field(default_factory=dict)
    bodies: dict[int, Placement] = field(default_factory=dict)

    def pick(self, words: Sequence[Any]) -> Any:
        known = words if self.all_words else words[: (len(words) + 1) // 2]
        return known[int(self.rng.integers(len(known)))]

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def people(self, least: int = 2, most: int = 4) -> range:
        return range(int(self.rng.integers(least, most + 1)))

    def codes(self, count: int) -> list[str]:
        pattern = self.pick(_CODES)
        numbers = sorted(self.rng.choice(np.arange(1, 60), count, replace=False))
        return [pattern.format(int(number)) for number in numbers]

    def store(self, people: Iterable[int], names: Sequence[str]) -> None:
        """What the files of these people store: a name and a mass, a mass, a template's name, or nothing."""
        kind = int(self.rng.integers(4))
        for person, name in zip(people, names, strict=False):
            facts: dict[str, Any] = {}
            if kind in (0, 1):
                facts = {"subject": name, "mass_kg": 50.0 + 6.0 * person, "height_m": 1.5 + 0.04 * person}
            elif kind == 2:
                facts = {"subject": "PlugInGait"}
            self.stored[person] = facts

    def body(self, person: int) -> Placement:
        if person not in self.bodies:
            self.bodies[person] = new_person(self.rng, lower_only=self.layout.seed % 3 == 0)
        return self.bodies[person]

    def add(self, path: str, motion: Motion, truth: Truth, placement: Placement, **more: Any) -> str:
        number = len(self.layout.files)
        plates = more.pop("plates", 0 if motion in ("moment",) else 2)
        tiny = Tiny(placement, motion, self.layout.seed * 1000 + number, plates=plates)
        self.layout.files[path] = replace(tiny, **{**self.stored.get(truth.person, {}), **more})
        self.layout.truth[path] = truth
        return path

    def standing(self) -> Motion:
        motions: tuple[Motion, ...] = ("standing", "standing", "standing", "settling", "arms", "moment")
        return motions[int(self.rng.integers(len(motions)))]

    def trials(
        self, place: str, truth: Truth, placement: Placement, walks: Sequence[str], statics: Sequence[str], **more: Any
    ) -> None:
        """The statics and walks of one person in one placement; the walks' truth knows these statics."""
        found = [
            self.add(place + name, self.standing(), replace(truth, role="static"), placement, **more)
            for name in statics
        ]
        for name in walks:
            motion: Motion = "late_walk" if self.chance(0.1) else "walk"
            events = self.chance(0.2)
            self.add(place + name, motion, replace(truth, statics=frozenset(found)), placement, events=events, **more)


Habit = Callable[[_Builder], None]
HABITS: dict[str, Habit] = {}


def _habit(function: Habit) -> Habit:
    HABITS[function.__name__.strip("_")] = function
    return function


def made_layout(seed: int) -> Layout:
    """The layout of a seed: habits in turn, words and options at random."""
    names = tuple(HABITS)
    habit = names[(seed // 2) % len(names)]
    layout = Layout(habit, seed)
    HABITS[habit](_Builder(np.random.default_rng(seed), layout, seed % 2 == 1))
    return layout


def _numbered(word: str, counter: str, numbers: Iterable[int]) -> list[str]:
    return [word + counter.format(number) for number in numbers]


@_habit
def _folder_a_person(b: _Builder) -> None:
    """P01/Static01, P01/Walk01 ...; counters run on through the session (Vicon) or begin again."""
    people, counter = b.people(), b.pick(_COUNTERS)
    walk, static, running = b.pick(_WALK), b.pick(_STATIC), b.chance(0.5)
    codes = b.codes(len(people))
    b.store(people, codes)
    for i in people:
        first = 2 if running else 1
        names = _numbered(walk, counter, range(first, first + 3))
        b.trials(f"{codes[i]}/", Truth("walk", i), b.body(i), names, _numbered(static, counter, [1]))


@_habit
def _flat_codes(b: _Builder) -> None:
    """P01_Walk01, P01_Static in one folder."""
    people, counter, gap = b.people(), b.pick(_COUNTERS), b.pick(("_", "-", " ", "_"))
    walk, static = b.pick(_WALK), b.pick(_STATIC)
    codes = b.codes(len(people))
    b.store(people, codes)
    for i in people:
        names = _numbered(f"{codes[i]}{gap}{walk}", counter, (1, 2, 3))
        statics = [f"{codes[i]}{gap}{static}" if b.chance(0.5) else f"{codes[i]}{gap}{static}{counter.format(1)}"]
        b.trials("", Truth("walk", i), b.body(i), names, statics)


@_habit
def _numbers_only(b: _Builder) -> None:
    """P01/01 ... P01/05: which of them is the static, only the recording tells."""
    people, counter = b.people(), b.pick(("{:02d}", "{:d}", "Trial{:02d}", "{:04d}", "trial {:d}", "Trial_{:03d}"))
    codes, last = b.codes(len(people)), b.chance(0.3)
    b.store(people, codes)
    repeat = b.chance(0.5)
    for i in people:
        names = [(f"{codes[i]}_" if repeat else "") + counter.format(n) for n in range(1, 6)]
        static = names[-1] if last else names[0]
        b.trials(f"{codes[i]}/", Truth("walk", i), b.body(i), [n for n in names if n != static], [static])


@_habit
def _initials_and_counter(b: _Builder) -> None:
    """RD0101, RD0102 ...: code of the person and the trial's number in one; static in a folder or not named at all."""
    people = b.people()
    letters = [f"{chr(65 + 3 * i)}{chr(68 + i)}" for i in people]
    folders = b.chance(0.5)
    stored = [f"{letters[i]}{i + 1:02d}" for i in people]
    b.store(people, stored)
    for i in people:
        names = [f"{stored[i]}{n:02d}" for n in range(1, 5)]
        place = f"{stored[i]}/" if b.chance(2.0) else ""
        truth = Truth("walk", i)
        if folders:
            names = [f"walks/{n}" for n in names]
            b.trials(place, truth, b.body(i), names[1:], [f"static/{stored[i]}01"])
        else:
            b.trials(place, truth, b.body(i), names[1:], names[:1])


@_habit
def _folders_of_kinds(b: _Builder) -> None:
    """HC002D/{Static,Straight,Turn}/HC002D02."""
    people = b.people()
    codes = b.codes(len(people))
    b.store(people, codes)
    static = b.pick(("Static", "static", "Statics", "Calibration", "Cal"))
    kinds = b.pick((("Straight", "Turn"), ("Straight", "Turn"), ("Level", "Ramp"), ("Slow", "Fast")))
    for i in people:
        code = codes[i].replace(" ", "")
        names = [f"{kind}/{code}_{2 + 3 * k + n:02d}" for k, kind in enumerate(kinds) for n in range(3)]
        b.trials(f"{codes[i]}/", Truth("walk", i), b.body(i), names, [f"{static}/{code}_01"])
        for path in list(b.layout.truth):
            for kind in kinds:
                if f"/{kind}/" in path:
                    b.layout.truth[path] = replace(b.layout.truth[path], condition=kind)


@_habit
def _statics_apart(b: _Builder) -> None:
    """static/S01/cal, dynamic/S01/w1: kinds above people."""
    people = b.people()
    codes = b.codes(len(people))
    b.store(people, codes)
    static, dynamic = b.pick((("static", "dynamic"), ("Statics", "Walks"), ("Calibration", "Gait")))
    for i in people:
        truth = Truth("walk", i)
        path = b.add(f"{static}/{codes[i]}/trial01", b.standing(), replace(truth, role="static"), b.body(i))
        for n in (1, 2, 3):
            b.add(f"{dynamic}/{codes[i]}/trial{n:02d}", "walk", replace(truth, statics=frozenset((path,))), b.body(i))


@_habit
def _sessions(b: _Builder) -> None:
    """P01/pre/Static01, P01/post/...: another day's static never before the same day's; one session may have none."""
    people, sessions = b.people(2, 3), b.pick(_SESSIONS)
    codes, walk, static, counter = b.codes(len(people)), b.pick(_WALK), b.pick(_STATIC), b.pick(_COUNTERS)
    b.store(people, codes)
    lacking = b.chance(0.25)
    for i in people:
        for session in sessions:
            place = b.body(i).again(b.rng)
            statics = [] if lacking and i == 0 and session == sessions[1] else [f"{static}{counter.format(1)}"]
            names = _numbered(walk, counter, (1, 2))
            b.trials(f"{codes[i]}/{session}/", Truth("walk", i, session=session), place, names, statics)


@_habit
def _sessions_in_names(b: _Builder) -> None:
    """P01_pre_walk_01 in one folder a person."""
    people, sessions = (
        b.people(2, 3),
        b.pick((("pre", "post"), ("day1", "day2"), ("preOP", "postOP"), ("Baseline", "Followup"))),
    )
    codes, walk, static = b.codes(len(people)), b.pick(_WALK), b.pick(_STATIC)
    b.store(people, codes)
    for i in people:
        for session in sessions:
            place, start = b.body(i).again(b.rng), f"{codes[i]}_{session}_"
            names = [f"{start}{walk}_{n:02d}" for n in (1, 2)]
            b.trials(f"{codes[i]}/", Truth("walk", i, session=session), place, names, [start + static])


@_habit
def _conditions(b: _Builder) -> None:
    """walk_barefoot_01, walk_shod_01 with a static each, or one static for all (speeds)."""
    people, conditions = b.people(), b.pick(_CONDITIONS)
    codes, walk, static = b.codes(len(people)), b.pick(_WALK[:6]), b.pick(_STATIC)
    b.store(people, codes)
    again = conditions[0].casefold() in _SHOES
    folders = b.chance(0.4)
    for i in people:
        shared = None if again else b.add(f"{codes[i]}/{static}", b.standing(), Truth("static", i), b.body(i))
        for condition in conditions:
            place = b.body(i).over_shoes(b.rng) if again and condition != conditions[0] else b.body(i)
            truth = Truth("walk", i, condition=condition)
            form = f"{condition}/{walk}{{:02d}}" if folders else f"{walk}_{condition}_{{:02d}}"
            names = [form.format(n) for n in (1, 2)]
            if again:
                own = f"{condition}/{static}" if folders else f"{static}_{condition}"
                b.trials(f"{codes[i]}/", truth, place, names, [own])
            else:
                for name in names:
                    b.add(f"{codes[i]}/{name}", "walk", replace(truth, statics=frozenset((str(shared),))), place)


@_habit
def _sites(b: _Builder) -> None:
    """Gent/P01/..., Lyon/P01/...: two persons of one code."""
    sites, count = b.pick(_SITES), 2
    codes, walk, static, counter = b.codes(count), b.pick(_WALK), b.pick(_STATIC), b.pick(_COUNTERS)
    groups = b.pick(_GROUPS) if b.chance(0.4) else None
    person = 0
    for site in sites:
        for i in range(count):
            facts = {"mass_kg": 50.0 + 7.0 * person} if b.layout.seed % 4 < 2 else {}
            b.stored[person] = {"subject": codes[i], **facts} if facts else {}
            group = f"{groups[i % 2]}/" if groups else ""
            names = _numbered(walk, counter, (2, 3))
            truth = Truth("walk", person, site=site)
            b.trials(f"{site}/{group}{codes[i]}/", truth, b.body(person), names, _numbered(static, counter, [1]))
            person += 1


@_habit
def _groups(b: _Builder) -> None:
    """patients/01/walk1, controls/01/walk1."""
    groups, walk, static = b.pick(_GROUPS), b.pick(_WALK), b.pick(_STATIC)
    person = 0
    for group in groups:
        for code in b.codes(2):
            b.stored[person] = {"mass_kg": 50.0 + 7.0 * person}
            b.trials(f"{group}/{code}/", Truth("walk", person), b.body(person), [f"{walk}1", f"{walk}2"], [static])
            person += 1


@_habit
def _bids(b: _Builder) -> None:
    """sub-01/ses-02/motion/sub-01_ses-02_task-walk_run-03."""
    task, folders = b.pick(("walk", "gait", "overground", "WalkFast")), b.chance(0.5)
    for i, number in enumerate((1, 2, 5)):
        for session in ("01", "02"):
            base = f"sub-{number:02d}_ses-{session}"
            place = base.replace("_", "/") + "/motion/" if folders else ""
            truth = Truth("walk", i, session=session)
            names = [f"{base}_task-{task}_run-{n:02d}" for n in (1, 2)]
            static = b.pick(("static", "calibration", "standing"))
            b.trials(place, truth, b.body(i).again(b.rng), names, [f"{base}_task-{static}"])


@_habit
def _qualisys(b: _Builder) -> None:
    """Measurement names of Qualisys with four digits, the role in the stored subject name or before the labels."""
    people = b.people()
    names = (
        [b.pick(_NAMES[: 4 if not b.all_words else 8]) + f"_{i}" for i in people]
        if b.chance(0.3)
        else b.codes(len(people))
    )
    static, walk = b.pick(_STATIC), b.pick(_WALK[:8])
    in_folder, in_labels = b.chance(0.6), b.chance(0.5)
    for i in people:
        place = f"{names[i]}/" if in_folder else ""
        mass = {"mass_kg": 55.0 + 5 * i}
        truth = Truth("walk", i)
        stem = f"{names[i]}_"
        roles = (
            f"{names[i]}_{b.pick(('static', 'Static', 'cal'))}",
            f"{names[i]}_{b.pick(('dynamic', 'walk', 'Dynamic'))}",
        )
        kept = [{"subject": r} if not in_labels else {"prefix": f"{r}:"} for r in roles]
        path = b.add(
            f"{place}{stem}{static}0001", b.standing(), replace(truth, role="static"), b.body(i), **kept[0], **mass
        )
        for n in (1, 2, 3):
            right = frozenset((path,))
            b.add(f"{place}{stem}{walk}{n:04d}", "walk", replace(truth, statics=right), b.body(i), **kept[1], **mass)


@_habit
def _functional_trials(b: _Builder) -> None:
    """Statics, functional trials and walks in one folder; functional ones named, or known by their motion."""
    people, walk, static = b.people(1, 3), b.pick(_WALK), b.pick(_STATIC)
    codes, word, named = b.codes(len(people)), b.pick(_FUNCTIONAL), b.chance(0.7)
    b.store(people, codes)
    for i in people:
        place = f"{codes[i]}/"
        b.trials(place, Truth("walk", i), b.body(i), [f"{walk}{n:02d}" for n in (1, 2, 3)], [f"{static}01"])
        motion: Motion = "knee" if "knee" in word.casefold() or word in ("SARA", "KJC") else "hip"
        for side, letter in (("L", "L"), ("R", "R")):
            name = f"{word}_{letter}" if named else f"Trial{20 + (side == 'R'):02d}"
            b.add(place + name, motion, Truth("functional", i), b.body(i), side=side)


@_habit
def _other_trials(b: _Builder) -> None:
    """Muscle tests, empty plates, squats between the walks."""
    people, walk, static = b.people(1, 3), b.pick(_WALK), b.pick(_STATIC)
    codes, (word, motion) = b.codes(len(people)), b.pick(_OTHER)
    b.store(people, codes)
    for i in people:
        place = f"{codes[i]}/"
        b.trials(place, Truth("walk", i), b.body(i), [f"{walk}{n:02d}" for n in (1, 2, 3)], [static])
        b.add(f"{place}{word}01", motion, Truth("walk" if motion == "squat" else "other", i, condition="?"), b.body(i))


@_habit
def _schreiber(b: _Builder) -> None:
    """2014001/2014001_C1_01 and 2014001_ST."""
    flat = b.chance(0.5)
    for i in b.people():
        code = f"20140{i + 1:02d}"
        place = "" if flat else f"{code}/"
        truth = Truth("walk", i)
        static = b.add(f"{place}{code}_ST", "moment", replace(truth, role="static"), b.body(i))
        for c in ("C1", "C3"):
            for n in (1, 2):
                right = replace(truth, condition=c, statics=frozenset((static,)))
                b.add(f"{place}{code}_{c}_{n:02d}", "walk", right, b.body(i))


@_habit
def _speeds(b: _Builder) -> None:
    """P01_S02, P01_S06, P01_SCW on a treadmill."""
    for i, code in enumerate(b.codes(2)):
        truth = Truth("walk", i)
        static = b.add(f"{code}/{code}_{b.pick(_STATIC)}", b.standing(), replace(truth, role="static"), b.body(i))
        for speed in ("02mps", "06mps", "SCW"):
            b.add(
                f"{code}/{code}_{speed}",
                "treadmill",
                replace(truth, condition="?", statics=frozenset((static,))),
                b.body(i),
            )


@_habit
def _perturbations(b: _Builder) -> None:
    """251112_KUO_walk_60_001."""
    for i, (date, initials) in enumerate((("251112", "KUO"), ("251114", "LEE"))):
        truth = Truth("walk", i, condition="?", session="?")
        place = "" if b.chance(0.0) else f"{initials}/"
        static = b.add(f"{place}{date}_{initials}_static_001", b.standing(), replace(truth, role="static"), b.body(i))
        for speed in (60, 80):
            for n in (1, 2):
                right = replace(truth, statics=frozenset((static,)))
                b.add(f"{place}{date}_{initials}_walk_{speed}_{n:03d}", "walk", right, b.body(i))


@_habit
def _two_statics(b: _Builder) -> None:
    """Markers put on again within a session: which of two statics is told by distances, by stored offsets, or by nothing."""
    static, walk = b.pick(_STATIC), b.pick(_WALK)
    told = ("distances", "offsets", "nothing")[b.layout.seed // 2 % 3]
    for i, code in enumerate(b.codes(2)):
        b.stored[i] = {"subject": code, "mass_kg": 60.0 + 8 * i}
        first, truth = b.body(i), Truth("walk", i)
        second = first.again(b.rng) if told == "distances" else first
        offsets: list[dict[str, float]] = [{}, {}]
        if told == "offsets":
            names = ("LThighRotation", "RThighRotation", "LTibialTorsion", "RTibialTorsion")
            offsets = [dict(zip(names, b.rng.uniform(3.0, 20.0, 4), strict=True)) for _ in range(2)]
        places = list(zip((first, second), offsets, strict=True))
        paths = [
            b.add(f"{code}/{static}{n + 1:02d}", "standing", replace(truth, role="static"), p, offsets_deg=o)
            for n, (p, o) in enumerate(places)
        ]
        for n in range(4):
            p, o = places[n % 2]
            right = frozenset(paths if told == "nothing" else paths[n % 2 : n % 2 + 1])
            b.add(f"{code}/{walk}{n + 5:02d}", "walk", replace(truth, statics=right), p, offsets_deg=o)


@_habit
def _copies(b: _Builder) -> None:
    """The same recording twice: a backup folder, 'walk01 - Copy', 'walk01(1)'."""
    people, walk, static = b.people(1, 3), b.pick(_WALK), b.pick(_STATIC)
    codes = b.codes(len(people))
    b.store(people, codes)
    form = b.pick(("{p}/{n} - Copy", "{p}/backup/{n}", "{p}/{n}(1)", "{p}/old/{n}", "{p}/Copy of {n}"))
    for i in people:
        b.trials(f"{codes[i]}/", Truth("walk", i), b.body(i), [f"{walk}01", f"{walk}02"], [static])
        name = f"{walk}01"
        path = form.format(p=codes[i], n=name)
        b.layout.files[path] = f"{codes[i]}/{name}"
        b.layout.truth[path] = Truth("copy", i)


@_habit
def _hostile(b: _Builder) -> None:
    """Names that programs stumble over."""
    strange = b.pick(("Ä ö/{}", "a'b\"c/{}", "$(x)/{}", "{} {{0}}", "%s/{}", "-{}", "‮{}", "日本/{}", "a;b&c/{}"))
    for i, code in enumerate(b.codes(2)):
        place = strange.format(code) + "/"
        b.stored[i] = {"subject": code, "mass_kg": 60.0 + 9 * i}
        b.trials(place, Truth("walk", i), b.body(i), ["walk01", "walk02"], ["static"])


@_habit
def _names_of_people(b: _Builder) -> None:
    """Anna/walk1 or anna_walk1, nothing stored."""
    flat, walk, static = b.chance(0.4), b.pick(_WALK), b.pick(_STATIC[:12])
    for i, name in enumerate(_NAMES[:3]):
        place = f"{name}_" if flat else f"{name}/"
        b.trials(place, Truth("walk", i), b.body(i), [f"{walk}{n}" for n in (1, 2, 3)], [static])


@_habit
def _only_walks(b: _Builder) -> None:
    """No static at all; walks that begin with standing may be among them."""
    people, walk = b.people(2, 3), b.pick(_WALK)
    codes, flat = b.codes(len(people)), b.chance(0.4)
    b.store(people, codes)
    for i in people:
        place = f"{codes[i]}_" if flat else f"{codes[i]}/"
        b.trials(place, Truth("walk", i), b.body(i), [f"{walk}{n:02d}" for n in (1, 2, 3)], [])


@_habit
def _one_lacks_a_static(b: _Builder) -> None:
    """The static of one person is missing; the others' must not be taken for it."""
    people, walk, static = b.people(3, 4), b.pick(_WALK), b.pick(_STATIC)
    codes, flat = b.codes(len(people)), b.chance(0.5)
    b.store(people, codes)
    for i in people:
        place = f"{codes[i]}_" if flat else f"{codes[i]}/"
        b.trials(place, Truth("walk", i), b.body(i), [f"{walk}{n:02d}" for n in (1, 2)], [static] if i else [])


@_habit
def _walks_of_sessions_in_dates(b: _Builder) -> None:
    """2019-03-01/P01/..., 2019-09-02/P01/...: dates above people."""
    dates = b.pick((("2019-03-01", "2019-09-02"), ("20200110", "20200717"), ("2018_05_02", "2018_11_20")))
    codes, walk, static = b.codes(2), b.pick(_WALK), b.pick(_STATIC)
    b.store(range(2), codes)
    for date in dates:
        for i, code in enumerate(codes):
            place = b.body(i).again(b.rng)
            b.trials(f"{date}/{code}/", Truth("walk", i, session=date), place, [f"{walk}1", f"{walk}2"], [static])


@_habit
def _gait120(b: _Builder) -> None:
    """S001/MotionCapture/LevelWalking/Trial01/AllSteps."""
    for i in range(2):
        truth = Truth("walk", i, condition="?")
        place = f"S{i + 1:03d}/MotionCapture/"
        static = b.add(f"{place}Static/Trial01/AllSteps", b.standing(), replace(truth, role="static"), b.body(i))
        for kind in ("LevelWalking", "SlopeAscent"):
            for n in (1, 2):
                right = replace(truth, statics=frozenset((static,)))
                b.add(f"{place}{kind}/Trial{n:02d}/AllSteps", "walk", right, b.body(i))


@_habit
def _one_person(b: _Builder) -> None:
    """A folder of one person's files, nothing else: Static Pose, Gait with EMG; Sample_Static, Sample_Dynamic."""
    pair = b.pick(_PAIRS)
    b.store([0], ["Somebody"])
    b.trials("", Truth("walk", 0), b.body(0), [pair[1]], [pair[0]])


@_habit
def _fukuchi(b: _Builder) -> None:
    """WBDS01static, WBDS01walkO01C (overground, comfortable) and WBDS01walkT03 (treadmill) in one folder."""
    letters, run = b.pick((("WBDS", False), ("RBDS", True)))
    for i, number in enumerate((1, 2, 7)):
        code, truth = f"{letters}{number:0{3 if run else 2}d}", Truth("walk", i, condition="?")
        static = b.add(f"{code}static{'' if run else '1'}", b.standing(), replace(truth, role="static"), b.body(i))
        for name in ("runT25", "runT35") if run else ("walkO01C", "walkO02F", "walkT03"):
            right = replace(truth, statics=frozenset((static,)))
            b.add(f"{code}{name}", "treadmill" if "T" in name else "walk", right, b.body(i))


@_habit
def _numbers_in_brackets(b: _Builder) -> None:
    """SUBJ01/SUBJ1 (0) is the static, SUBJ1 (1) ... are walks."""
    for i, number in enumerate((1, 2, 11)):
        names = [f"SUBJ{number} ({n})" for n in range(4)]
        b.trials(f"SUBJ{number:02d}/", Truth("walk", i), b.body(i), names[1:], names[:1])


@_habit
def _dates_and_kinds(b: _Builder) -> None:
    """AB06/10_09_18/levelground/levelground_ccw_normal_01_01 and AB06/10_09_18/static/static_01."""
    for i, (code, date) in enumerate((("AB06", "10_09_18"), ("AB07", "10_14_18"))):
        truth = Truth("walk", i, condition="?", session="?")
        place = f"{code}/{date}/"
        static = b.add(f"{place}static/static_01", b.standing(), replace(truth, role="static"), b.body(i))
        for kind in ("ccw_normal", "cw_fast"):
            for n in (1, 2):
                right = replace(truth, statics=frozenset((static,)))
                b.add(f"{place}levelground/levelground_{kind}_{n:02d}_01", "walk", right, b.body(i))


@_habit
def _conditions_above_people(b: _Builder) -> None:
    """fast/P01/walk1, slow/P01/walk1: one person in several folders; words that nobody knows too."""
    kinds = b.pick((("fast", "slow"), ("barefoot", "shod"), ("plain", "foam"), ("swissball", "bench")))
    codes, walk = b.codes(3), b.pick(_WALK[:6])
    for i, code in enumerate(codes):
        static = b.add(f"Static/{code}/{b.pick(_STATIC[:8])}", b.standing(), Truth("static", i), b.body(i))
        for kind in kinds:
            for n in (1, 2):
                right = Truth("walk", i, condition=kind, statics=frozenset((static,)))
                b.add(f"{kind}/{code}/{walk}{n:02d}", "walk", right, b.body(i))
