"""study.toml: what it overrides, in which order, and what it refuses."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from support.recordings import Fake, write_tree

from biodyn.errors import BiodynError, SettingsError, StudyError
from biodyn.study.discovery import (
    StudyDefinition,
    discover_trials,
    draft_definition_text,
    plan_lines,
    read_definition,
    write_definition,
)
from biodyn.study.discovery.definition import RunningOptions, layout_matcher, path_matches
from biodyn.study.plan import PlannedTrial, StudyPlan

WALK, STILL = Fake(mass_kg=61.5, height_m=1.7), Fake(plates=0)
FILES = {
    "P01/static.c3d": STILL,
    "P01/fast01.c3d": WALK,
    "P01/fast02.c3d": WALK,
    "P01/slow01.c3d": WALK,
    "P02/static.c3d": STILL,
    "P02/fast01.c3d": WALK,
}
LAYOUT = "{subject}/{session}/{condition}_{trial}.c3d"


@pytest.fixture
def study(tmp_path: Path) -> Path:
    return write_tree(tmp_path / "study", FILES)


def _plan(study: Path, text: str) -> StudyPlan:
    path = study / "study.toml"
    path.write_text(text, encoding="utf-8")
    definition = read_definition(path)
    return discover_trials(definition.folder(path), definition)


def _trials(study: Path, text: str) -> dict[str, PlannedTrial]:
    return {trial.path.as_posix(): trial for trial in _plan(study, text).trials}


def test_without_a_definition_figures_report_and_bands_are_off(study: Path) -> None:
    tables_only = {"output": {"figures": False, "report": False, "tables": "packed"}, "uncertainty": {"compute": False}}
    assert all(t.settings == tables_only for t in discover_trials(study).trials)
    assert discover_trials(study, StudyDefinition()) == discover_trials(study)


def test_facts_of_subjects_and_trials(study: Path) -> None:
    trials = _trials(
        study,
        """
        name = "Pilot"
        [settings.signals]
        cutoff_hz = 8.0
        [settings.output]
        report = true
        [subjects.P01]
        mass_kg = 70.0
        height_m = 1.8
        group = "patients"
        settings.signals.cutoff_hz = 10.0
        conditions = { fast = "7 km/h" }
        sessions = { "" = "first" }
        [trials."P01/fast*.c3d"]
        mass_kg = 71.0
        settings.signals.filter_order = 2
        [trials."P01/fast02.c3d"]
        condition = "stumbling"
        session = "second"
        settings.signals.cutoff_hz = 12.0
        [conditions]
        "?ast" = "quick"
        """,
    )
    first, second, slow, other = (trials[f"{n}01.c3d" if n[-1] != "2" else "P01/fast02.c3d"] for n in
                                  ("P01/fast", "P01/fast02", "P01/slow", "P02/fast"))  # fmt: skip
    assert (first.mass_kg, first.height_m, first.group) == (71.0, 1.8, "patients")
    assert (first.condition, first.session) == ("7 km/h", "first")
    assert first.settings == {
        "output": {"figures": False, "report": True, "tables": "packed"},
        "signals": {"cutoff_hz": 10.0, "filter_order": 2},
        "uncertainty": {"compute": False},
    }
    assert (second.condition, second.session, second.settings["signals"]["cutoff_hz"]) == ("stumbling", "second", 12.0)
    assert (slow.mass_kg, slow.condition, slow.settings["signals"]) == (70.0, "slow", {"cutoff_hz": 10.0})
    assert (other.mass_kg, other.condition, other.group, other.session) == (None, "quick", "", "")


def test_two_conditions_become_one(study: Path) -> None:
    trials = _trials(study, '[conditions]\nfast = "all"\nslow = "all"')
    assert {t.condition for t in trials.values()} == {"all"}


def test_groups_by_name_and_pattern(study: Path) -> None:
    trials = _trials(study, '[groups]\nyoung = ["p01"]\nold = ["P*2"]')
    assert {t.subject: t.group for t in trials.values()} == {"P01": "young", "P02": "old"}


def test_excluded_files_are_told_with_their_reason(study: Path) -> None:
    text = 'exclude = ["**/slow*"]\n[trials."P02/fast01.c3d"]\nexclude = "stumbled"'
    plan = _plan(study, text)
    reasons = {f.path.as_posix(): f.reason for f in plan.files if f.role == "excluded"}
    assert reasons["P02/fast01.c3d"] == "stumbled"
    assert "**/slow*" in reasons["P01/slow01.c3d"]
    assert [t.trial for t in plan.trials] == ["fast01", "fast02"]
    only = _plan(study, 'include = ["P02/**"]')
    assert {t.subject for t in only.trials} == {"P02"}
    assert sum(f.role == "excluded" for f in only.files) == 4


def test_statics_and_roles(study: Path) -> None:
    text = """
        [subjects.P01]
        static = "P01/slow01.c3d"
        [trials."P01/fast02.c3d"]
        static = "P01/static.c3d"
        [trials."P02/static.c3d"]
        role = "walk"
        """
    plan = _plan(study, text)
    statics = {t.path.as_posix(): t.static and t.static.as_posix() for t in plan.trials}
    assert statics == {
        "P01/fast01.c3d": "P01/slow01.c3d",
        "P01/fast02.c3d": "P01/static.c3d",
        "P02/fast01.c3d": None,
        "P02/static.c3d": None,
    }
    assert next(f.role for f in plan.files if f.path == Path("P01/slow01.c3d")) == "static"


def test_a_study_may_take_no_static_trial(study: Path) -> None:
    plan = _plan(study, '[subjects.P01]\nstatic = "none"\n[trials."P01/fast02.c3d"]\nstatic = "P01/static.c3d"')
    statics = {t.path.as_posix(): t.static and t.static.as_posix() for t in plan.trials if t.subject == "P01"}
    assert statics == {"P01/fast01.c3d": "none", "P01/fast02.c3d": "P01/static.c3d", "P01/slow01.c3d": "none"}


def test_a_subject_by_the_users_word_shares_its_static(study: Path) -> None:
    text = '[trials."P02/*"]\nsubject = "P01"\nsession = "second"'
    plan = _plan(study, text)
    assert {t.subject for t in plan.trials} == {"P01"}
    assert {t.trial for t in plan.trials} == {"fast_fast01", "fast02", "slow01", "second_fast_fast01"}
    assert {t.path.as_posix(): t.static and t.static.as_posix() for t in plan.trials}["P02/fast01.c3d"] == (
        "P02/static.c3d"
    )


def test_layout(tmp_path: Path) -> None:
    """Names that mean nothing by themselves; the static does not fit and is found as always."""
    files = dict.fromkeys(("qq/x1/aa_bb_3.c3d", "qq/x1/aa_bb_4.c3d", "qq/x2/cc_3.c3d", "rr/x1/cc_1.c3d"), WALK)
    study = write_tree(tmp_path, {**files, "qq/static.c3d": STILL})
    trials = _trials(study, 'layout = "{subject}/{session}/{condition}_{trial}.c3d"')
    assert {p: (t.subject, t.session, t.condition, t.static and str(t.static)) for p, t in trials.items()} == {
        "qq/x1/aa_bb_3.c3d": ("qq", "x1", "aa_bb", "qq/static.c3d"),
        "qq/x1/aa_bb_4.c3d": ("qq", "x1", "aa_bb", "qq/static.c3d"),
        "qq/x2/cc_3.c3d": ("qq", "x2", "cc", "qq/static.c3d"),
        "rr/x1/cc_1.c3d": ("rr", "x1", "cc", None),
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("colour = 3", "colour"),
        ("[subject.P01]", "Did you mean 'subjects'"),
        ("[subjects.P01]\nmass = 3", "Did you mean 'mass_kg'"),
        ("[subjects.P01]\nmass_kg = -3", "subjects.P01.mass_kg"),
        ('[subjects.P01]\nmass_kg = "heavy"', "subjects.P01.mass_kg"),
        ("[settings.signals]\ncutof_hz = 3", "settings.signals.cutof_hz"),
        ("[subjects.P01.settings.signals]\ncutoff_hz = -3", "subjects.P01.settings.signals.cutoff_hz"),
        ('[trials."P01/*".settings]\nfilter = 3', "filter"),
        ("[running]\nworker = 2", "Did you mean 'workers'"),
        ("[output]\nexcel = true", "output.excel"),
        ("[analysis]\nalpha = 2.0", "analysis.alpha"),
        ('[analysis]\ntests = ["paired", "ttest"]', "analysis.tests.2' of"),
        (
            '[analysis]\ntests = ["ttest"]',
            "expected 'paired', 'independent', 'anova', 'regression' or 'mixed', found 'ttest'",
        ),
        ('[analysis]\ntests = "ttest"', "expected 'auto' or a list, found 'ttest'"),
        ("[subjects.P03]\nmass_kg = 70.0", "Did you mean 'P0"),
        ('[trials."P01/fast03.c3d"]\nexclude = "x"', "Did you mean 'P01/fast0"),
        ('[trials."P05/fast01.c3d"]\nexclude = "x"', "Did you mean 'P0"),
        ('[subjects.P01]\nstatic = "P01/statik.c3d"', "Did you mean 'P01/static.c3d'"),
        ('[conditions]\nfsat = "x"', "Did you mean 'fast'"),
        ('[subjects.P02]\nconditions = { slow = "x" }', "subjects.P02.conditions.slow"),
        ('[groups]\nold = ["P01", "P9"]', "'P9'"),
        ('[groups]\nold = ["P01"]\nyoung = ["P*"]', "in two groups"),
        ('include = ["*.cd"]', "Pattern '*.cd' of include"),
        ('exclude = ["**/old/*"]', "Pattern '**/old/*' of exclude"),
        ('layout = "{subjekt}/{trial}"', "{subjekt}"),
        ('layout = "{subject}/{subject}"', "twice"),
        ('layout = "{group}/{subject}/{trial}"', "matches none"),
        ("name = ", "not a valid TOML file"),
    ],
)
def test_what_is_wrong_is_named(study: Path, text: str, said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        _plan(study, text)
    assert said in str(caught.value)


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="does not exist"):
        read_definition(tmp_path / "study.toml")


def test_the_folder_is_relative_to_the_file(study: Path, tmp_path: Path) -> None:
    path = tmp_path / "definitions" / "a.toml"
    path.parent.mkdir()
    path.write_text('root = "../study"', encoding="utf-8")
    assert read_definition(path).folder(path) == study.resolve()


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("P01/*.c3d", "P01/a.c3d", True),
        ("P01/*.c3d", "P01/x/a.c3d", False),
        ("P01/**", "P01/x/a.c3d", True),
        ("**/a.c3d", "a.c3d", True),
        ("**/a.c3d", "x/y/a.c3d", True),
        ("a?.c3d", "x/y/a1.C3D", True),
        ("a[13].c3d", "a2.c3d", False),
        ("a[!13].c3d", "a2.c3d", True),
        ("a[1].c3d", "a[1].c3d", True),
        ("P(1)+/a.c3d", "P(1)+/a.c3d", True),
        ("p01/a.c3d", "P01/A.c3d", True),
        ("**/a*b", "xa/ab", True),
        ("*a*b/**", "xab/y/z", True),
        ("a[3-1].c3d", "a2.c3d", False),
        ("a*", "a/b", False),
        ("**/x/**/a.c3d", "y/x/z/w/a.c3d", True),
        ("x*/**/a.c3d", "xy/z/a.c3d", True),
        # expressions with as many wildcards take for ever where they try every division of the name
        ("*" * 50 + "x", "walk of the person in the morning, number 01 of many trials.c3d", False),
        ("*a" * 25 + "/x", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/aaaaaaaaaaaaaaaaaa.c3d", False),
        ("**/" * 25 + "x", "a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r/s/t/u/v/w/x/y/z/walk.c3d", False),
    ],
)
def test_patterns(pattern: str, path: str, matches: bool) -> None:
    assert path_matches(pattern, Path(path)) is matches


def test_layout_fields() -> None:
    found = layout_matcher("{any}/{subject}_{condition}_{trial}").fullmatch("x/P_01_fast_3.C3D")
    assert found is not None
    assert found.groupdict() == {"subject": "P_01", "condition": "fast", "trial": "3"}


# -- the file to start from, the table -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "files",
    [
        FILES,
        {"Müller \"x\"/Controls/Ångström's walk 1.c3d": WALK, "Müller \"x\"/static.c3d": STILL},
        {f"{g}/0{i}/{s}/{n}.c3d": WALK for g in ("Controls", "Patients") for i in (1, 2) for s in ("pre", "post")
         for n in ("static", "fast1", "fast2", "walk1")},
        {},
    ],
    ids=["plain", "odd names", "groups and sessions", "nothing"],
)  # fmt: skip
def test_the_starting_file_gives_the_same_plan(tmp_path: Path, files: dict[str, Fake]) -> None:
    study = write_tree(tmp_path / "study", files)
    study.mkdir(exist_ok=True)
    (study / "P77").mkdir()
    (study / "P77" / "broken.c3d").write_bytes(b"nothing")
    plan = discover_trials(study)
    path = write_definition(plan)
    assert path == study / "study.toml"
    definition = read_definition(path)
    assert discover_trials(definition.folder(path), definition) == plan
    assert discover_trials(definition.folder(path), definition).trials == plan.trials


def test_the_starting_file_names_what_was_found(study: Path) -> None:
    text = draft_definition_text(discover_trials(study))
    for line in (
        '[subjects."P01"]  # 3 trials',
        "# mass_kg = 61.5  # stored in the files",
        '# static = "P01/static.c3d"',
        '"fast" = "fast"  # 3 trials',
    ):
        assert line in text.splitlines()


def test_every_example_in_the_starting_file_is_valid(study: Path) -> None:
    lines = draft_definition_text(discover_trials(study)).splitlines()
    opened = "\n".join(line[2:] if re.match(r"# (\[|\w+ = )", line) else line for line in lines)
    definition = StudyDefinition.model_validate(tomllib.loads(opened))
    assert definition.subjects["P01"].mass_kg == 61.5
    assert definition.groups["patients"] == ("P01",)
    assert definition.trials["P01/fast01.c3d"].exclude == "stumbled"
    assert (definition.running, definition.layout) == (RunningOptions(workers=2), LAYOUT)


def test_an_existing_file_is_never_overwritten(study: Path) -> None:
    (study / "study.toml").write_text("name = 'mine'", encoding="utf-8")
    with pytest.raises(StudyError, match="exists already"):
        write_definition(discover_trials(study))
    assert (study / "study.toml").read_text(encoding="utf-8") == "name = 'mine'"


def test_the_table_shows_every_trial_and_every_file_left_out(study: Path) -> None:
    (study / "P02" / "walk09.c3d").write_bytes(b"")
    write_tree(study, {"P02/MVC.c3d": WALK, "P03/walk1.c3d": Fake()})
    lines = plan_lines(discover_trials(study))
    assert lines[0].startswith(
        "Study study: 9 C3D files, 6 trials, 3 subjects, 3 conditions, 2 static trials, 1 left out"
    )
    table = [line.split() for line in lines]
    assert ["P01", "fast", "fast01", "P01/static.c3d", "61.5", "kg"] in table
    assert any("searched later" in line and line.startswith("P03") for line in lines)
    assert any("P02/MVC.c3d" in line and "'MVC' in its name" in line for line in lines)
    assert any("P02/walk09.c3d" in line and "empty" in line for line in lines)


def test_errors_are_biodyns_own(study: Path) -> None:
    (study / "study.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BiodynError):
        read_definition(study / "study.toml")
