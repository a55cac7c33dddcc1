"""Test that results have the same attributes fresh from `run_trial` and opened with `biodyn.load`."""

from __future__ import annotations

import inspect
from pathlib import Path

import pandas as pd
import pytest

import biodyn
from biodyn.diagnostics import Check, Diagnostic, Verdict
from biodyn.trial.result import LoadedResult, TrialResult

SHARED = [
    "verdict",
    "failed",
    "checks",
    "diagnostics",
    "settings",
    "folder",
    "record",
    "view",
    "tables",
    "variables",
    "parameters",
    "summary",
    "cycles",
    "plot",
    "table",
    "save",
    "export",
]


@pytest.fixture(scope="module")
def loaded(walk_result: TrialResult, tmp_path_factory: pytest.TempPathFactory) -> LoadedResult:
    folder = walk_result.save(tmp_path_factory.mktemp("results") / "walk")
    result = biodyn.load(folder)
    assert isinstance(result, LoadedResult)
    return result


@pytest.mark.parametrize("name", SHARED)
def test_an_attribute_has_the_same_type(walk_result: TrialResult, loaded: LoadedResult, name: str) -> None:
    fresh, stored = getattr(walk_result, name), getattr(loaded, name)
    assert type(fresh) is type(stored) or isinstance(fresh, type(stored)) or isinstance(stored, type(fresh))


def test_verdict_checks_and_findings_are_equal(walk_result: TrialResult, loaded: LoadedResult) -> None:
    assert isinstance(loaded.verdict, Verdict)
    assert loaded.verdict.status == walk_result.verdict.status
    assert all(isinstance(check, Check) for check in loaded.checks)
    assert [(c.code, c.status, c.text) for c in loaded.checks] == [
        (c.code, c.status, c.text) for c in walk_result.checks
    ]
    assert all(isinstance(finding, Diagnostic) for finding in loaded.diagnostics)
    assert [(f.code, f.message, f.frames) for f in loaded.diagnostics] == [
        (f.code, f.message, f.frames) for f in walk_result.diagnostics
    ]
    assert repr(loaded) == repr(walk_result)
    assert walk_result.folder == loaded.folder


def test_parameters_are_wide_and_the_summary_has_a_row_each(walk_result: TrialResult, loaded: LoadedResult) -> None:
    assert list(loaded.parameters.index.names) == ["side", "cycle"]
    assert loaded.parameters.attrs["units"]["hip_extension_moment_max"] == "Nm/kg"
    pd.testing.assert_frame_equal(loaded.parameters, walk_result.parameters, atol=2e-4, check_dtype=False)
    summary = loaded.summary()
    assert {"unit", "right", "left"} <= set(summary.columns)
    mean = loaded.parameters["knee_flexion_swing"].groupby("side").mean()["r"]
    assert summary.loc["Peak knee flexion, swing", "right"] == pytest.approx(mean)


def test_cycles_have_the_signs_of_the_table_and_accept_words_for_sides(loaded: LoadedResult) -> None:
    rows = loaded.cycles("hip_flexion_moment", side="right")
    table = loaded.gait_cycles
    own = table[(table["variable"] == "hip_flexion_moment") & (table["side"] == "r")]
    pd.testing.assert_frame_equal(rows, own.reset_index(drop=True))


def test_plot_without_names_draws_the_standard_page(loaded: LoadedResult) -> None:
    titles = {axes.get_title(loc="left") for axes in loaded.plot().axes}
    assert any("Knee flexion" in title for title in titles)


def test_a_loaded_result_is_saved_elsewhere(loaded: LoadedResult, tmp_path: Path) -> None:
    again = biodyn.load(loaded.save(tmp_path / "copy"))
    assert again.verdict == loaded.verdict
    assert {path.name for path in again.folder.iterdir()} == {path.name for path in loaded.folder.iterdir()}


@pytest.mark.parametrize("function", [biodyn.run_trial, biodyn.run_session, biodyn.run_study, biodyn.Study.run])
def test_signatures_are_readable(function: object) -> None:
    assert "function" not in str(inspect.signature(function))  # type: ignore[arg-type]
    assert "Step(" not in str(inspect.signature(function))  # type: ignore[arg-type]
