"""What somebody did to the output folder of a study costs a trial at most, and nothing of theirs is removed."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.real import slow_but

from biodyn.output.tables.gait import spatiotemporal_table, stride_columns
from biodyn.processing.gait.cycle_values import ground_peak_definitions
from biodyn.study.discovery import StudyDefinition
from biodyn.study.group.group_analysis import possible_names
from biodyn.study.options import AnalysisOptions
from biodyn.study.plan import PlannedTrial, StudyPlan
from biodyn.study.result import StudyResult
from biodyn.study.study import Study, remove_obsolete_results
from biodyn.study.trial_record import read_trial_record
from biodyn.trial.result import TrialResult

sys.path.insert(0, str(Path(__file__).parent / "report"))
from support.made_folder import made_folder, two_by_two


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_folder(tmp_path_factory.mktemp("made") / "out", two_by_two(3, 1))


@pytest.fixture
def out(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "out"))


def plan_of(out: Path) -> StudyPlan:
    entries = json.loads((out / "study.json").read_text(encoding="utf-8"))["trials"]
    trials = tuple(
        PlannedTrial(e["subject"], e["trial"], Path(e["file"]), condition=e["condition"], group=e["group"])
        for e in entries
    )
    return StudyPlan("Made", out.parent / "data", trials, ())


# -- damaged files ------------------------------------------------------------------------------------------------


def _replace(name: str, content: bytes) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes(content) and None


def _remove(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


DAMAGE = {
    "no curves": _remove("cycles.parquet"),
    "half a file": lambda folder: (folder / "cycles.parquet").write_bytes((folder / "cycles.parquet").read_bytes()[:500]),
    "nonsense": _replace("cycles.parquet", b"\0" * 100),
    "no record": _remove("run.json"),
    "empty record": _replace("run.json", b""),
    "a list as record": _replace("run.json", b"[1, 2]"),
    "a bare record": _replace("run.json", b'{"record_version": 2}'),
    "a newer record": _replace("run.json", b'{"record_version": 99, "versions": {"biodyn": "9"}}'),
    "record in Latin-1": _replace("run.json", "{'ü'}".encode("latin-1")),
    "words for strides": _replace("tables/spatiotemporal.csv", b"side,cycle,speed_m_s\nr,one,fast\n"),
    "no strides in it": _replace("tables/spatiotemporal.csv", b"PK\x03\x04\xff"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("how", slow_but(tuple(DAMAGE), ("no record", "half a file")))
def test_a_damaged_trial_is_listed_as_failed_and_the_study_ends_well(out: Path, how: str) -> None:
    plan = plan_of(out)
    DAMAGE[how](out / plan.trials[0].folder)
    Study(StudyDefinition(), plan).summarise(out)
    summary = StudyResult(out).trials
    assert list(summary["status"]) == ["failed", *["warn"] * (len(plan.trials) - 1)]
    assert len(summary["reason"].iloc[0]) > 20
    assert (out / "report.html").is_file()
    hurt = plan.trials[0]
    rows = StudyResult(out).cycles()
    assert not len(rows[(rows["subject"] == hurt.subject) & (rows["trial"] == hurt.trial)]), (
        "no value of a failed trial"
    )


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff", b'{"record_version": 2}', b'{"record_version": 2, "key": 3}',
    b'{"record_version": 2, "key": "k", "status": "great"}', b'{"record_version": 3, "key": "k", "status": "pass"}',
    b'{"record_version": 2, "key": "k", "status": "pass", "metrics": {"a": [1]}}',
    b'{"record_version": 2, "key": "k", "status": "pass", "metrics": {"a": Infinity}}', b"[" * 100_000])  # fmt: skip
def test_a_damaged_record_of_a_trial_counts_as_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "trial.json").write_bytes(content)
    assert read_trial_record(tmp_path) is None


def test_a_record_with_more_in_it_is_read(tmp_path: Path) -> None:
    content = {"record_version": 2, "key": "k", "status": "pass", "metrics": {"a": 1.5}, "of_a_later_version": 1}
    (tmp_path / "trial.json").write_text(json.dumps(content), encoding="utf-8")
    record = read_trial_record(tmp_path)
    assert record is not None
    assert record.metrics == {"a": 1.5}
    assert record.status == "pass"


# -- what the user put there --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_recordings_anywhere_in_the_output_survive(out: Path) -> None:
    plan = plan_of(out)
    gone = plan.trials[0]
    places = [
        out, out / "trials", out / "trials" / gone.subject, out / gone.folder, out / gone.folder / "tables",
        out / "group", out / "subjects", out / "trials" / "S99" / "walk",
    ]  # fmt: skip
    names = ("walk03.c3d", ".walk.c3d.part", "notes.old", "mine.html", "mine.csv")
    for place in places:
        place.mkdir(parents=True, exist_ok=True)
        for name in names:
            (place / name).write_text("mine", encoding="utf-8")
    smaller = StudyPlan(plan.name, plan.root, plan.trials[1:], ())
    for _ in range(2):
        remove_obsolete_results(out, smaller.trials)
        Study(StudyDefinition(), smaller).summarise(out)
    for place in places:
        for name in names:
            assert (place / name).read_text(encoding="utf-8") == "mine", place / name
    assert not (out / gone.folder / "trial.json").exists()
    assert not (out / gone.folder / "run.json").exists()


def test_a_linked_trial_folder_is_not_emptied(out: Path, tmp_path: Path) -> None:
    plan = plan_of(out)
    archive = tmp_path / "archive"
    shutil.copytree(out / plan.trials[0].folder, archive / "walk")
    (out / "trials" / "S98").mkdir()
    (out / "trials" / "S98" / "walk").symlink_to(archive / "walk")
    (out / "trials" / "S99").symlink_to(archive)
    remove_obsolete_results(out, plan.trials)
    assert (archive / "walk" / "trial.json").is_file()
    assert (archive / "walk" / "cycles.parquet").is_file()


# -- wrong entries are told before any trial runs -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "entry", "near"),
    [
        ({"curves": ["knee_angel"]}, "analysis.curves", "knee_angle"),
        ({"compared": ["knee_flexion_swim"]}, "analysis.compared", "knee_flexion_swing"),
        ({"conditions": ["slow", "fats"]}, "analysis.conditions", "fast"),
        ({"groups": ["patient", "contol"]}, "analysis.groups", "control"),
        ({"reference_group": "nobody"}, "analysis.reference_group", "Valid names: patient, control"),
        ({"parameters": [{"name": "x", "variable": "hip_flexon", "operation": "max"}]}, "parameters.x", "hip_flexion"),
        ({"parameters": [{"name": "x", "variable": "speed_ms", "operation": "stride"}]}, "parameters.x", "speed_m_s"),
        ({"predictor": "sped"}, "analysis.predictor", "speed"),
        ({"norms": "nonsense"}, "", "nonsense"),
    ],
)
def test_a_wrong_entry_is_refused_before_any_trial(
    out: Path, tmp_path: Path, options: dict[str, object], entry: str, near: str
) -> None:
    study = Study(StudyDefinition(analysis=AnalysisOptions.model_validate(options)), plan_of(out))
    with pytest.raises(Exception, match=near) as refused:
        study.run(tmp_path / "new")
    assert entry in str(refused.value)
    assert not (tmp_path / "new").exists()


def test_what_is_possible_but_was_not_measured_is_a_finding(out: Path) -> None:
    """All trials of a condition failed: the study is reported all the same, and says so."""
    plan = plan_of(out)
    for trial in plan.trials:
        if trial.condition == "fast":
            (out / trial.folder / "cycles.parquet").unlink()
    options = AnalysisOptions.model_validate({"conditions": ["slow", "fast"], "curves": ["knee_angle", "neck_bending"]})
    Study(StudyDefinition(analysis=options), plan).summarise(out)
    findings = [d for d in StudyResult(out).record["diagnostics"] if d["code"] == "statistics-missing"]
    assert ["'fast'" in d["message"] for d in findings] == [False, True]
    assert "neck_bending" in findings[0]["message"]


def test_the_names_known_beforehand_are_those_of_a_trial(out: Path, walk_variables: tuple[set[str], set[str]]) -> None:
    variables, strides = walk_variables
    possible = possible_names(plan_of(out))
    assert variables <= set(possible["variable"])
    assert set(possible["stride parameter"]) == set(stride_columns())
    peaks = {peak.column_name for peak in ground_peak_definitions()}
    assert peaks <= set(possible["stride parameter"])
    assert strides <= set(possible["stride parameter"])


def test_the_strides_known_beforehand_are_the_columns_of_a_walk(walk_result: TrialResult) -> None:
    written = spatiotemporal_table(walk_result.analysis).columns
    assert set(written) - {"side", "cycle", "start_s", "foot_off_s", "end_s"} == set(stride_columns())


@pytest.fixture(scope="module")
def walk_variables(walk_result: TrialResult) -> tuple[set[str], set[str]]:
    variables = set(walk_result.gait_cycles["variable"].astype(str))
    columns = walk_result.spatiotemporal.columns
    return variables, set(columns) - {"side", "cycle", "start_s", "foot_off_s", "end_s"}
