"""The steps of an analysis: named, in order, and each can be another one."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from biodyn.analysis import TrialAnalysis
from biodyn.errors import SettingsError
from biodyn.processing.signals.signal_preparation import prepare_signals
from biodyn.processing.signals.smoothing.spline import HIGHEST_HZ
from biodyn.trial.request import trial_request
from biodyn.trial.run import analyse_trial, run_trial
from biodyn.trial.session_estimates import unused_file_note
from biodyn.trial.stages import LabelledTrial, PreparedTrial, TrackedTrial, TrialWithContacts, next_stage
from biodyn.trial.steps import STEPS, _masses_from_stances, determine_contacts, with_step

WALK = Path(__file__).parents[1] / "sample_data" / "subject01" / "walk01.c3d"


@pytest.fixture(scope="module")
def whole() -> tuple[TrialAnalysis, list[str]]:
    """The walk analysed, and the steps that were shown."""
    shown: list[str] = []
    return analyse_trial(WALK, progress=shown.append), shown


def test_the_steps_are_shown_and_timed_in_their_order(whole: tuple[TrialAnalysis, list[str]]) -> None:
    analysis, shown = whole
    names = [step.name for step in STEPS]
    assert shown == names
    assert list(analysis.timings) == names
    assert names == [
        *("reading", "axes", "marker set", "signals", "scaling", "calibration", "inverse kinematics"),
        *("contacts", "events", "inverse dynamics", "estimate", "uncertainty", "checks"),
    ]


def test_torques_only_leaves_out_what_no_torque_depends_on(whole: tuple[TrialAnalysis, list[str]]) -> None:
    analysis, torques = whole[0], analyse_trial(WALK, torques_only=True)
    np.testing.assert_array_equal(torques.dynamics.torques, analysis.dynamics.torques)
    assert torques.verdict is None
    assert torques.uncertainty is None
    assert set(analysis.timings) - set(torques.timings) == {"uncertainty", "checks"}


def test_a_step_can_be_another_one(whole: tuple[TrialAnalysis, list[str]]) -> None:
    """The smoothing of a user's own, without a setting for it: what an 8 Hz setting gives, step for step."""

    def smoother(trial: LabelledTrial) -> PreparedTrial:
        settings = trial.settings.signals.model_copy(update={"cutoff_hz": 8.0})
        return next_stage(trial, PreparedTrial, signals=prepare_signals(trial.walk, trial.mapping, settings))

    steps = with_step(STEPS, "signals", smoother)
    mine = run_trial(WALK, steps=steps, settings={"uncertainty": {"compute": False}}).analysis
    set_to_8 = analyse_trial(WALK, settings={"signals": {"cutoff_hz": 8.0}}, torques_only=True)
    np.testing.assert_array_equal(mine.dynamics.torques, set_to_8.dynamics.torques)
    assert not np.array_equal(mine.dynamics.torques, whole[0].dynamics.torques, equal_nan=True)


def test_a_walk_without_a_body_mass_is_named_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "damaged.c3d").write_bytes(WALK.read_bytes()[:60_000])
    why = _masses_from_stances(trial_request(tmp_path / "damaged.c3d"))
    assert isinstance(why, str)
    assert "damaged.c3d" in why
    assert why.rstrip(".") in unused_file_note("damaged.c3d", "to estimate the body mass", why, "").message


@pytest.mark.slow
def test_a_step_that_writes_other_values_changes_what_follows() -> None:
    """Forces a tenth larger in the step "contacts": the vertical residual shows them."""

    def heavier(trial: TrackedTrial) -> TrialWithContacts:
        grounded = determine_contacts(trial)
        wrench = {side: 1.1 * values for side, values in grounded.reaction.wrench.items()}
        return replace(grounded, reaction=replace(grounded.reaction, wrench=wrench))

    filtered = {
        "signals": {"method": "butterworth"}
    }  # an estimate would take the larger forces for a fault of the plates
    usual, mine = (
        analyse_trial(WALK, settings=filtered, steps=s, torques_only=True)
        for s in (STEPS, with_step(STEPS, "contacts", heavier))
    )
    change = mine.dynamics.residual_force - usual.dynamics.residual_force
    expected = sum(usual.reaction.wrench[side][:, 3:] for side in usual.reaction.wrench)
    known = np.isfinite(change).all(axis=1)
    np.testing.assert_allclose(change[known], -0.1 * expected[known], atol=1e-9)


def test_an_unknown_step_is_named_with_the_nearest() -> None:
    with pytest.raises(SettingsError, match=r"'signal' is not a step.*'signals'"):
        with_step(STEPS, "signal", lambda trial: None)


def rms_change_nm(walk: Path) -> tuple[float, float]:
    """RMS of all torques (Nm), and of what a spline that chooses its cut-off changes in them."""
    changed = analyse_trial(walk, settings={"signals": {"method": "spline"}})
    usual = analyse_trial(walk)
    assert changed.propagation is not None
    signals = changed.propagation.signals
    assert signals.order == 6
    assert signals.force_cutoff_hz == signals.cutoff_hz  # not told otherwise: forces as markers
    assert 4.0 < signals.cutoff_hz <= HIGHEST_HZ
    (filters,) = (check for check in changed.data_checks if check.code == "filters")
    assert filters.value == filters.limit == signals.cutoff_hz  # held against what was used, not against the settings
    # nothing is lost at the ends beyond half a period of what was taken, nor anywhere else
    assert changed.fit.reliable.sum() >= usual.fit.reliable.sum() - 2
    assert changed.uncertainty is not None
    assert np.isfinite(changed.uncertainty.total[changed.dynamics.torque_valid]).all()
    both = changed.dynamics.torque_valid & usual.dynamics.torque_valid
    found, before = changed.dynamics.torques[both], usual.dynamics.torques[both]
    return float(np.sqrt(np.mean(before**2))), float(np.sqrt(np.mean((found - before) ** 2)))


@pytest.mark.slow
def test_a_walk_with_markers_smoothed_by_a_spline() -> None:
    """Another answer of the same kind: a small part of the torques, as other sensible cut-offs change them."""
    size, change = rms_change_nm(WALK)
    assert 0.0 < change < 0.3 * size


@pytest.mark.real
@pytest.mark.slow
def test_a_real_walk_with_markers_smoothed_by_a_spline() -> None:
    folder = os.environ.get("BIODYN_TEST_DATA")
    if not folder:
        pytest.skip("BIODYN_TEST_DATA does not name the folder of real recordings")
    size, change = rms_change_nm(Path(folder, "gait/biomechzoo/HC030A/Straight/HC030A05.c3d"))
    assert 0.0 < change < 0.3 * size
