"""The last step of the estimate: the nearest motion in balance. Constants and the torques of the legs stay as they are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from biodyn.conventions import FloatArray
from biodyn.estimation import estimate as module
from biodyn.estimation import estimation_problem as windows
from biodyn.estimation import gauss_newton
from biodyn.estimation.estimate import Estimate, estimate_trial
from biodyn.estimation.settings import EstimationSettings
from biodyn.recording import GroundReaction
from biodyn.trial.run import analyse_trial
from biodyn.uncertainty.propagation_inputs import TrialInputs, load_magnitudes

WALK = Path(__file__).parents[2] / "sample_data" / "subject01" / "walk01.c3d"
UP = 4  # of a wrench [moment; force] in World, whose second axis is up


@pytest.fixture(scope="module")
def inputs() -> TrialInputs:
    found = analyse_trial(WALK, settings={"signals": {"method": "butterworth"}}, torques_only=True)
    assert found.propagation is not None
    return found.propagation


def estimated(inputs: TrialInputs, reaction: GroundReaction | None = None, closed_share: float = 0.075) -> Estimate:
    """The estimate with constants as the tables and the file have them, so that only the motion can give way."""
    settings = EstimationSettings(inertia_sd_factor=0.0)  # type: ignore[call-arg]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gauss_newton, "_BALANCE_SHARE", closed_share)
        return estimate_trial(
            inputs, inputs.reaction if reaction is None else reaction, 6.0, settings, load_magnitudes()
        )


def lifted(inputs: TrialInputs, force_n: FloatArray) -> GroundReaction:
    """The ground reaction with a further upward force (T,) on the right foot where it carries, at the centre of pressure."""
    reaction = inputs.reaction
    wrench = reaction.wrench["r"].copy()
    share = force_n / np.maximum(wrench[:, UP], 200.0) * (wrench[:, UP] > 200.0)
    return replace(reaction, wrench={**reaction.wrench, "r": wrench * (1.0 + share[:, None])})


def leg_torques(estimate: Estimate) -> FloatArray:
    """Torques (T, C) of the legs, Nm/kg."""
    model = estimate.fit.model
    columns = [i for i, c in enumerate(model.coordinates) if c.name.startswith(("hip", "knee", "ankle"))]
    return estimate.dynamics.torques[:, columns] / model.mass_kg


def test_a_short_disagreement_is_closed_and_the_legs_keep_their_torques(inputs: TrialInputs) -> None:
    """40 N to and fro three times a second: the trunk takes it, by less than the markers can tell."""
    time_s = np.arange(len(inputs.fit.solved)) / inputs.rate_hz
    reaction = lifted(inputs, 40.0 * np.sin(2.0 * np.pi * 3.0 * time_s))
    found, unclosed = estimated(inputs, reaction), estimated(inputs, reaction, closed_share=1.0)
    account = found.summary
    assert account.residual_unclosed[0] > 8.0
    assert account.residual_after[0] < 0.2 * account.residual_unclosed[0]
    assert account.residual_after[1] < 0.5 * account.residual_unclosed[1]
    # each is held within 0.01 Nm/kg in every frame
    assert np.sqrt(np.nanmean((leg_torques(found) - leg_torques(unclosed)) ** 2)) < 0.01
    assert account.marker_rms_m < unclosed.summary.marker_rms_m + 5e-4


def test_torques_do_not_jump_where_the_balance_begins_to_count(
    inputs: TrialInputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Closed at once where all feet come to be measured, the last step would be an impact: a third of it at most is left."""
    time_s = np.arange(len(inputs.fit.solved)) / inputs.rate_hz
    reaction = lifted(inputs, 40.0 * np.cos(2.0 * np.pi * 3.0 * time_s))
    unclosed, fading = (estimated(inputs, reaction, closed_share=share) for share in (1.0, 0.075))
    monkeypatch.setattr(gauss_newton, "_FADE_S", 1e-9)
    at_once = estimated(inputs, reaction)
    edges = np.flatnonzero(np.diff(np.isfinite(fading.dynamics.residual_force[:, 0])))
    assert len(edges)

    def jump(one: Estimate) -> float:
        change = np.diff(leg_torques(one) - leg_torques(unclosed), axis=0)
        return float(np.nanmax(np.abs(change[edges])))

    assert jump(fading) < jump(at_once) / 3.0
    assert (
        fading.summary.residual_after[0] < 1.5 * at_once.summary.residual_after[0]
    )  # and the frames within stay closed


def test_what_the_estimate_believes_is_told_beside_what_is_left(inputs: TrialInputs) -> None:
    """The last step changes neither the error of the balance nor what the trial tells of constants."""
    closed, unclosed = (estimated(inputs, closed_share=share) for share in (0.075, 1.0))
    assert closed.summary.balance_sd == unclosed.summary.balance_sd
    assert closed.summary.residual_unclosed == pytest.approx(unclosed.summary.residual_unclosed, rel=1e-9)
    assert closed.summary.mass_change_kg == unclosed.summary.mass_change_kg
    assert closed.summary.residual_after[0] < 0.6 * unclosed.summary.residual_after[0]


def test_a_lasting_force_that_no_plate_measured_is_not_hidden(inputs: TrialInputs) -> None:
    """80 N too much all the time: no motion of a walker takes that. It stays in the residual, and the markers stay."""
    found = estimated(inputs, lifted(inputs, np.full(len(inputs.fit.solved), 80.0)))
    unclosed = estimated(inputs, lifted(inputs, np.full(len(inputs.fit.solved), 80.0)), closed_share=1.0)
    assert found.summary.residual_after[0] > 0.5 * found.summary.residual_unclosed[0]
    # half a standard deviation (1 mm and noise) on three axes is the most that the step may move them by
    assert found.summary.marker_rms_m < unclosed.summary.marker_rms_m + 0.5 * 1.2e-3 * np.sqrt(3.0)
    assert np.nanmax(np.abs(leg_torques(found) - leg_torques(unclosed))) < 0.1


def in_two_stretches(inputs: TrialInputs, gap: slice) -> TrialInputs:
    """The trial without the motion of some frames."""
    motion, gone = inputs.fit.motion, np.zeros(len(inputs.fit.solved), dtype=bool)
    gone[gap] = True
    q, v, vdot = (np.where(gone[:, None], np.nan, part) for part in (motion.q, motion.v, motion.vdot))
    return replace(
        inputs,
        fit=replace(
            inputs.fit,
            motion=replace(motion, q=q, v=v, vdot=vdot),
            solved=inputs.fit.solved & ~gone,
            reliable=inputs.fit.reliable & ~gone,
        ),
    )


def test_each_stretch_takes_what_its_own_markers_hide(inputs: TrialInputs) -> None:
    """80 N too much in the second stretch alone: the first, which tells the constants, is closed all the same."""
    gap, frames = slice(170, 176), np.arange(len(inputs.fit.solved))
    reaction = lifted(inputs, 80.0 * (frames >= gap.stop))
    found, unclosed = (estimated(in_two_stretches(inputs, gap), reaction, share) for share in (0.075, 1.0))
    force_n = [np.linalg.norm(one.dynamics.residual_force, axis=1) for one in (found, unclosed)]
    assert np.nanmean(force_n[0][: gap.start]) < 0.4 * np.nanmean(force_n[1][: gap.start])
    assert np.nanmean(force_n[0][gap.stop :]) > 0.5 * np.nanmean(force_n[1][gap.stop :])
    places = [one.fit.marker_positions() for one in (found, unclosed)]
    moved_m = np.linalg.norm(places[0] - places[1], axis=2)[gap.stop :]
    # half a standard deviation (1 mm and noise) on three axes, and some for what a gap leaves unseen
    assert np.sqrt(np.nanmean(moved_m**2)) < 0.6 * 1.2e-3 * np.sqrt(3.0)


@pytest.mark.slow
def test_windows_that_take_different_shares_do_not_jump(inputs: TrialInputs, monkeypatch: pytest.MonkeyPatch) -> None:
    """80 N too much behind the seam, which only one of two windows sees for long."""
    frames = np.arange(len(inputs.fit.solved))
    seam = len(frames) // 2
    reaction = lifted(inputs, 80.0 * (frames >= seam))
    taken: list[float] = []
    original = module.eliminate_residual

    def noted(*given):  # type: ignore[no-untyped-def]
        found = original(*given)
        taken.append(found.share)
        return found

    monkeypatch.setattr(windows, "_LONGEST_S", 2.0)
    monkeypatch.setattr(windows, "_WINDOW_S", 1.5)
    monkeypatch.setattr(windows, "_OVERLAP_S", 0.5)
    unclosed = estimated(inputs, reaction, closed_share=1.0)
    monkeypatch.setattr(module, "eliminate_residual", noted)
    change = leg_torques(estimated(inputs, reaction)) - leg_torques(unclosed)
    assert len(taken) == 2
    assert min(taken) < 0.8 * max(taken)
    # each is held within 0.01 Nm/kg in every frame
    assert np.nanmax(np.abs(np.diff(change[seam - 8 : seam + 8], axis=0))) < 0.01
