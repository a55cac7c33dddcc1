"""The list of checks: complete, in order, and one file longer by one file."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import dedent

import pytest
from support.sessions import Laboratory

import biodyn.checks
from biodyn.checks import add_verdict, check_recording, registry
from biodyn.checks.registry import (
    CheckDefinition,
    CheckResult,
    check,
    checks_of_kind,
    finding_title,
    run_checks_in_order,
)
from biodyn.diagnostics import Diagnostic
from biodyn.library.registry import Registry
from biodyn.output.report.trial_page import render_trial_report
from biodyn.settings import Settings
from biodyn.trial.inspection import check_file
from biodyn.trial.result import TrialResult

Write = Callable[[str, str], None]


@pytest.fixture
def own_list(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checks that a test adds are gone after it."""
    checks_of_kind()  # what the folder itself holds
    mine: Registry[CheckDefinition] = Registry("biodyn.checks", "check")
    mine._entries = dict(registry._CHECKS._entries)
    monkeypatch.setattr(registry, "_CHECKS", mine)


@pytest.fixture
def write_check(own_list: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Write a module into a second folder of checks, as a new file in biodyn/checks."""
    monkeypatch.setattr(biodyn.checks, "__path__", [*biodyn.checks.__path__, str(tmp_path)])
    names = []

    def write(name: str, text: str) -> None:
        (tmp_path / f"{name}.py").write_text(dedent(text), encoding="utf-8")
        names.append(f"biodyn.checks.{name}")
        importlib.invalidate_caches()

    yield write
    for name in names:
        sys.modules.pop(name, None)


# -- one file more ----------------------------------------------------------------------------------------------------


def test_a_check_of_the_recording_is_one_file(write_check: Write, walk_result: TrialResult) -> None:
    write_check(
        "walking_speed",
        '''
        """How fast the person walked."""

        import numpy as np

        from biodyn.checks.trial_facts import TrialFacts
        from biodyn.checks.registry import CheckResult, check
        from biodyn.diagnostics import Diagnostic


        @check(
            "walking_speed",
            "Walking speed",
            compares="way of the pelvis against time",
            causes="a person who stops, or is led",
            place=190,
            limit=3.0,
            display_unit=(3.6, "km/h"),
            findings={"walking-slow": "Slow walking"},
        )
        def walking_speed(trial: TrialFacts, limit: float) -> CheckResult:
            """Norms hold for steady walking."""
            way = trial.analysis.points.pelvis[:, [0, 2]]
            way = way[np.isfinite(way).all(axis=1)]
            speed = float(np.linalg.norm(way[-1] - way[0])) * trial.rate_hz / (len(way) - 1)
            text = f"The person walked at {speed:.2f} m/s (limit {limit:g} m/s)."
            slow = Diagnostic("walking-slow", "warning", text, speed, limit, "m/s", hint="Choose another walk.")
            return CheckResult(value=speed, findings=(slow,) if speed < limit else ())
        ''',
    )
    analysis = add_verdict(check_recording(walk_result.analysis))
    assert analysis.verdict is not None
    assert analysis.verdict.status == "warn"
    assert [(cause.code, cause.title) for cause in analysis.verdict.causes] == [("walking-slow", "Slow walking")]
    view = TrialResult(analysis).view
    row = view.record["data_checks"][-1]
    assert (row["key"], row["status"], row["limit"], row["found"]) == ("walking_speed", "warn", 3.0, ["walking-slow"])
    assert view.record["diagnostics"][-1]["code"] == "walking-slow"
    assert view.record["verdict_checks"][0]["title"] == "Slow walking"
    page = render_trial_report(view, {})
    for part in ("Walking speed", "way of the pelvis against time", "10.8 km/h", "Choose another walk."):
        assert part in page


def test_a_check_of_the_result_is_one_file(write_check: Write, walk_result: TrialResult) -> None:
    write_check(
        "cycle_count",
        '''
        """How many gait cycles there are."""

        from biodyn.checks.trial_facts import TrialFacts
        from biodyn.checks.registry import CheckResult, check


        @check(
            "cycle-count",
            "Gait cycles",
            compares="strikes of one foot",
            causes="a short trial",
            kind="result",
            place=65,
            limit=100.0,
        )
        def cycle_count(trial: TrialFacts, limit: float) -> CheckResult:
            """A mean needs some cycles."""
            count = len(trial.analysis.cycles)
            text = f"{count} of {limit:g} cycles."
            return CheckResult("pass" if count >= limit else "warn", text, count, hint="Record more walks.")
        ''',
    )
    analysis = add_verdict(check_recording(walk_result.analysis))
    assert analysis.verdict is not None
    assert [cause.code for cause in analysis.verdict.causes] == ["cycle-count"]
    view = TrialResult(analysis).view
    codes = [one["code"] for one in view.record["checks"]]
    assert codes.index("cycle-count") == codes.index("joint-moments") + 1
    assert f"{len(analysis.cycles)} of 100 cycles." in render_trial_report(view, {})


def test_a_check_of_a_file_is_one_file(write_check: Write, laboratory: Laboratory) -> None:
    write_check(
        "length",
        '''
        """How long the recording is."""

        from biodyn.checks.files import FileFacts
        from biodyn.checks.registry import CheckResult, check
        from biodyn.diagnostics import Diagnostic


        @check("length", "Length", compares="frames against time", causes="cut", kind="file", place=40, limit=1e3)
        def length(file: FileFacts, limit: float) -> CheckResult:
            """A minute of markers."""
            seconds = file.recording.markers.frame_count / file.recording.markers.rate_hz
            note = Diagnostic("recording-short", "info", f"{seconds:.1f} s of {limit:g} s.")
            return CheckResult(value=seconds, findings=(note,))
        ''',
    )
    assert check_file(laboratory.walk).diagnostics[-1].code == "recording-short"


def test_two_checks_of_one_code_are_refused(own_list: None) -> None:
    with pytest.raises(ValueError, match="two checks are called 'sides'"):
        check("sides", "Sides", compares="a", causes="b", place=1)(lambda facts, limit: CheckResult())


# -- the list itself --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("definition", checks_of_kind(), ids=lambda definition: definition.code)
def test_every_check_says_all_about_itself(definition: CheckDefinition) -> None:
    for text in (definition.code, definition.title, definition.compares, definition.causes, definition.run.__doc__):
        assert text
    if isinstance(definition.limit, str):
        section, name = definition.limit.split(".")
        assert isinstance(getattr(getattr(Settings(), section), name), float)
    earlier = {one.code for one in checks_of_kind() if one.turn < definition.turn}
    assert set(definition.unless) <= earlier
    told = {code for one in checks_of_kind() for code in one.findings}
    assert set(definition.covers) <= told
    if definition.kind == "result":
        assert definition.display_unit is None  # its text tells the number


def test_places_in_a_list_are_taken_once() -> None:
    for kind in ("recording", "result", "file"):
        places = [definition.place for definition in checks_of_kind(kind)]  # type: ignore[arg-type]
        assert places == sorted(set(places))


def test_titles_of_findings_come_from_checks_steps_and_codes() -> None:
    assert finding_title("plate-moved") == "Force-plate position"
    assert finding_title("plate-baseline") == "Force-plate offset removed"
    assert finding_title("something-odd") == "Something odd"


def test_a_finding_has_one_title() -> None:
    titles: dict[str, str] = {}
    for definition in checks_of_kind():
        for code, title in definition.findings.items():
            assert titles.setdefault(code, title) == title


# -- the order in which they are asked ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Bare:
    settings: Settings


def _answer(code: str, value: float | None = None) -> Callable[[object, float], CheckResult]:
    return lambda facts, limit: CheckResult(value=value, findings=(Diagnostic(code, "warning", f"{limit:g}"),))


@pytest.fixture
def only(own_list: None) -> None:
    registry._CHECKS._entries.clear()
    registry._CHECKS._complete = True


def test_consequences_of_a_cause_are_not_told(only: None) -> None:
    words = {"compares": "a", "causes": "b"}
    check("late", "L", **words, place=1, turn=9, unless=("cause",), display_unit=(1.0, "m"))(_answer("late", 2.0))  # type: ignore[arg-type]
    check("mute", "M", **words, place=2, turn=8, unless=("cause",))(_answer("mute"))  # type: ignore[arg-type]
    check("cause", "C", **words, place=3, turn=1, limit="limits.marker_rms_m")(_answer("cause"))  # type: ignore[arg-type]
    results = run_checks_in_order(_Bare(Settings()), "recording")
    assert list(results) == ["cause", "mute", "late"]
    assert [note.message for note in results["cause"].findings] == ["0.02"]
    assert results["mute"] == CheckResult()
    assert results["late"] == replace(CheckResult(), value=2.0)  # its number is shown all the same


def test_a_cause_must_be_asked_first(only: None) -> None:
    check("early", "E", compares="a", causes="b", place=1, turn=1, unless=("nobody",))(_answer("early"))
    with pytest.raises(ValueError, match="'early' refers to 'nobody' in unless"):
        run_checks_in_order(_Bare(Settings()), "recording")


def test_limit_and_value_come_together(only: None) -> None:
    words = {"compares": "a", "causes": "b"}
    check("number", "N", **words, place=1, limit=3.0)(_answer("a", 1.0))  # type: ignore[arg-type]
    check("silent", "S", **words, place=2, limit=3.0)(_answer("b"))  # type: ignore[arg-type]
    own = CheckResult(value=1.0, limit=5.0)
    check("own", "O", **words, place=3)(lambda facts, limit: own)  # type: ignore[arg-type]
    results = run_checks_in_order(_Bare(Settings()), "recording")
    assert [results[code].limit for code in ("number", "silent", "own")] == [3.0, None, 5.0]


def test_examining_twice_finds_nothing_twice(walk_result: TrialResult) -> None:
    once = walk_result.analysis
    again = add_verdict(check_recording(once))
    assert again.diagnostics == once.diagnostics
    assert again.data_checks == once.data_checks
    assert again.verdict == once.verdict
