"""Which method smooths a trial where nothing is said, that it is told, and what stands where an estimate cannot be made."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.sessions import Laboratory

import biodyn.estimation.summary
from biodyn.analysis import TrialAnalysis
from biodyn.errors import EstimateError, SettingsError
from biodyn.estimation.estimate import estimate_trial
from biodyn.processing.signals.settings import SignalSettings
from biodyn.processing.signals.signal_preparation import select_method
from biodyn.settings import settings_from
from biodyn.study.collecting.cycles import summary_metrics
from biodyn.trial.result import TrialResult
from biodyn.trial.run import analyse_trial, run_trial
from biodyn.trial.sensitivity import vary_trial
from biodyn.uncertainty.propagation_inputs import load_magnitudes

FAST: Mapping[str, Any] = {"uncertainty": {"compute": False}}


def analysed(laboratory: Laboratory, **signals: Any) -> TrialAnalysis:
    settings = {**FAST, "signals": signals}
    return analyse_trial(laboratory.walk, laboratory.static, settings=settings, torques_only=True)


@pytest.fixture(scope="module")
def filtered(laboratory: Laboratory) -> TrialAnalysis:
    return analysed(laboratory, method="butterworth")


@pytest.mark.parametrize(
    ("entries", "on_poses", "name", "why"),
    [
        ({}, False, "estimate", "markers and forces were measured"),
        ({"cutoff_hz": "auto"}, False, "estimate", "markers and forces"),  # the default, written down
        ({}, True, "butterworth", "needs markers"),
        ({"cutoff_hz": 8.0}, False, "butterworth", "cutoff_hz = 8"),
        ({"cutoff_hz": 0.0}, False, "butterworth", "cutoff_hz = 0"),
        ({"force_cutoff_hz": 20.0}, False, "butterworth", "force_cutoff_hz = 20"),
        ({"filter_order": 2}, False, "butterworth", "filter_order = 2"),
        ({"method": "estimate", "cutoff_hz": 8.0}, False, "estimate", ""),
        ({"method": "butterworth"}, False, "butterworth", ""),
        ({"method": "spline"}, True, "spline", ""),
    ],
)
def test_the_estimate_is_taken_unless_a_filter_was_asked_for(
    entries: Mapping[str, Any], on_poses: bool, name: str, why: str
) -> None:
    found = select_method(SignalSettings(**entries), on_poses)
    assert found.name == name
    assert why in found.reason
    assert bool(found.reason) == (entries.get("method", "auto") == "auto")


def test_an_unknown_method_is_refused_with_the_known_ones() -> None:
    with pytest.raises(
        SettingsError, match=r"no smoothing method 'estimat'\. Did you mean 'estimate'\?.*auto, butterworth"
    ):
        settings_from({"signals": {"method": "estimat"}})


@pytest.mark.parametrize("preset", ["plug_in_gait", "visual3d", "opensim"])
def test_a_preset_is_a_filter(preset: str) -> None:
    assert select_method(settings_from(None, preset).signals, on_poses=False).name == "butterworth"


def test_the_default_is_an_estimate_and_every_place_says_so(walk_result: TrialResult) -> None:
    analysis, record = walk_result.analysis, walk_result.view.record
    assert analysis.estimate is not None
    assert record["settings"]["signals"]["method"] == "auto"
    assert record["method"] == "estimate"
    assert record["automatic_method"] == {"method": "estimate", "reason": "markers and forces were measured"}
    assert record["smoothing"] == "one estimate of motion and forces"
    lines = [line for line, _ in walk_result.status_lines()]
    assert "Method: one estimate of motion and forces (markers and forces were measured)" in lines
    assert any(line.startswith("Filter before the estimate: markers and forces") for line in lines)
    assert {"residuals", "estimate", "estimate_plates"} <= set(walk_result.tables)
    assert analysis.uncertainty is not None
    assert analysis.uncertainty.places is not None  # the hull of the 3-D view


def test_the_filter_by_name_is_what_the_estimate_starts_from(walk_result: TrialResult, filtered: TrialAnalysis) -> None:
    """To the last bit: nothing that comes before an estimate knows of it, and the checks judge that motion."""
    before = walk_result.analysis.before_estimate
    np.testing.assert_array_equal(filtered.dynamics.torques, before.dynamics.torques)
    np.testing.assert_array_equal(filtered.dynamics.residual_force, before.dynamics.residual_force)
    np.testing.assert_array_equal(filtered.fit.motion.q, before.fit.motion.q)
    assert filtered.estimate is None
    assert filtered.method.reason == ""


def test_a_named_cut_off_gives_the_filter_with_it(laboratory: Laboratory) -> None:
    named, both = analysed(laboratory, cutoff_hz=7.0), analysed(laboratory, cutoff_hz=7.0, method="butterworth")
    np.testing.assert_array_equal(named.dynamics.torques, both.dynamics.torques)
    assert named.method.reason == "the settings select a filter (cutoff_hz = 7)"


@pytest.mark.slow
def test_cut_offs_are_varied_about_a_filter_and_other_choices_about_the_estimate(laboratory: Laboratory) -> None:
    by_cutoff = vary_trial(laboratory.walk, ["cutoff"], laboratory.static, settings=FAST).analysis
    assert {one.analysis.method.name for one in by_cutoff.variations} == {"butterworth"}
    assert by_cutoff.method.name == "butterworth"
    by_table = vary_trial(laboratory.walk, ["anthropometry"], laboratory.static, settings=FAST).analysis
    assert {one.analysis.method.name for one in by_table.variations} == {"estimate"}
    assert by_table.method.name == "estimate"


def _singular(*arguments: Any, **options: Any) -> Any:
    raise np.linalg.LinAlgError("7-th leading minor not positive definite")


def test_an_estimate_that_cannot_be_made_leaves_the_filter_and_one_warning(
    laboratory: Laboratory, filtered: TrialAnalysis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(biodyn.estimation.estimate, "solve_problem", _singular)
    result = run_trial(laboratory.walk, laboratory.static, settings=FAST)
    analysis, record = result.analysis, result.view.record
    np.testing.assert_array_equal(analysis.dynamics.torques, filtered.dynamics.torques)
    assert analysis.estimate is None
    notes = [note for note in analysis.diagnostics if note.code == "estimate-not-made"]
    assert len(notes) == 1
    assert notes[0].severity == "warning"
    assert "7-th leading minor" in notes[0].message
    assert "A filter is available" not in notes[0].hint  # it stands already
    assert summary_metrics(result)["method"] == "butterworth"
    assert record["method"] == "butterworth"
    assert "was not possible" in record["automatic_method"]["reason"]
    assert "residuals" not in result.tables
    with pytest.raises(EstimateError, match="no solution"):
        analysed(laboratory, method="estimate")


def test_what_an_estimate_would_need_is_told_with_what_to_look_for(laboratory: Laboratory) -> None:
    """A wrong body mass: a longer recording would not help."""
    analysis = analyse_trial(laboratory.walk, laboratory.static, mass_kg=45.0, settings=FAST, torques_only=True)
    (note,) = [note for note in analysis.diagnostics if note.code == "estimate-not-made"]
    assert "agree only if it is assumed that the body mass is" in note.message
    assert "a wrong body mass" in note.hint
    assert "longer recording" not in note.hint
    assert "was not possible: motion and forces agree only if it is assumed" in analysis.method.reason


def test_a_refusal_reads_the_same_from_another_process() -> None:
    error = EstimateError("It cannot be.", "Look there.")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.message, again.hint, again.look) == (str(error), error.message, error.hint, "Look there.")
    assert str(error).count("A filter is available") == 1


def test_an_estimate_that_leaves_the_markers_is_none(walk_result: TrialResult, monkeypatch: pytest.MonkeyPatch) -> None:
    """It moves the model's markers by a millimetre; where it goes farther than a fit's own limit it has not converged."""
    inputs = walk_result.analysis.propagation
    assert inputs is not None
    settings = settings_from(None).estimation
    made = estimate_trial(inputs, inputs.reaction, 40.0, settings, load_magnitudes())
    assert made.summary.marker_rms_m < 0.002
    monkeypatch.setattr(biodyn.estimation.summary, "_MOST_MARKER_CHANGE_M", 0.5 * made.summary.marker_rms_m)
    with pytest.raises(EstimateError, match="did not converge"):
        estimate_trial(inputs, inputs.reaction, 40.0, settings, load_magnitudes())


def test_too_few_frames_are_no_estimate(walk_result: TrialResult) -> None:
    inputs = walk_result.analysis.propagation
    assert inputs is not None
    vdot = inputs.fit.motion.vdot.copy()
    vdot[::8] = np.nan  # no ten frames in a row
    fit = replace(inputs.fit, motion=replace(inputs.fit.motion, vdot=vdot))
    with pytest.raises(EstimateError, match="no 10 consecutive frames"):
        estimate_trial(
            replace(inputs, fit=fit), inputs.reaction, 40.0, settings_from(None).estimation, load_magnitudes()
        )
