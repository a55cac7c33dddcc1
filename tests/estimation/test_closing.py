"""The last step of the estimate: the nearest motion in balance. Constants and the torques of the legs stay as they are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from biodyn.conventions import FloatArray
from biodyn.estimation import estimate as module
from biodyn.estimation.estimate import Estimate, estimate_trial
from biodyn.estimation.parameters import EstimationSettings
from biodyn.recording import GroundReaction
from biodyn.trial.run import analyse_trial
from biodyn.uncertainty.inputs import TrialInputs
from biodyn.uncertainty.magnitudes import load_magnitudes

WALK = Path(__file__).parents[2] / "sample_data" / "subject01" / "walk01.c3d"
UP = 4  # of a wrench [moment; force] in World, whose second axis is up


@pytest.fixture(scope="module")
def inputs() -> TrialInputs:
    found = analyse_trial(WALK, settings={"signals": {"method": "butterworth"}}, torques_only=True)
    assert found.propagation is not None
    return found.propagation


def estimated(inputs: TrialInputs, reaction: GroundReaction | None = None, closed_share: float = 0.075) -> Estimate:
    """The estimate with constants as the tables and the file have them, so that only the motion can give way."""
    nothing = ("centre_sd_m", "heaviest_centre_sd_m", "segment_mass_sd_share", "mass_sd_share")
    plates = ("plate_place_sd_m", "plate_gain_sd_share", "force_delay_sd_s")
    settings = EstimationSettings(**dict.fromkeys((*nothing, *plates), 0.0), closed_share=closed_share)  # type: ignore[arg-type]
    return estimate_trial(inputs, inputs.reaction if reaction is None else reaction, 6.0, settings, load_magnitudes())


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
    account = found.account
    assert account.residual_unclosed[0] > 8.0
    assert account.residual_after[0] < 0.2 * account.residual_unclosed[0]
    assert account.residual_after[1] < 0.5 * account.residual_unclosed[1]
    # each is held within 0.01 Nm/kg in every frame
    assert np.sqrt(np.nanmean((leg_torques(found) - leg_torques(unclosed)) ** 2)) < 0.01
    assert account.marker_rms_m < unclosed.account.marker_rms_m + 5e-4


def test_what_the_estimate_believes_is_told_beside_what_is_left(inputs: TrialInputs) -> None:
    """The last step changes neither the error of the balance nor what the trial tells of constants."""
    closed, unclosed = (estimated(inputs, closed_share=share) for share in (0.075, 1.0))
    assert closed.account.balance_sd == unclosed.account.balance_sd
    assert closed.account.residual_unclosed == pytest.approx(unclosed.account.residual_unclosed, rel=1e-9)
    assert closed.account.mass_change_kg == unclosed.account.mass_change_kg
    assert closed.account.residual_after[0] < 0.6 * unclosed.account.residual_after[0]


def test_a_lasting_force_that_no_plate_measured_is_not_hidden(inputs: TrialInputs) -> None:
    """80 N too much all the time: no motion of a walker takes that. It stays in the residual, and the markers stay."""
    found = estimated(inputs, lifted(inputs, np.full(len(inputs.fit.solved), 80.0)))
    unclosed = estimated(inputs, lifted(inputs, np.full(len(inputs.fit.solved), 80.0)), closed_share=1.0)
    assert found.account.residual_after[0] > 0.5 * found.account.residual_unclosed[0]
    # half a standard deviation (1 mm and noise) on three axes is the most that the step may move them by
    assert found.account.marker_rms_m < unclosed.account.marker_rms_m + 0.5 * 1.2e-3 * np.sqrt(3.0)
    assert np.nanmax(np.abs(leg_torques(found) - leg_torques(unclosed))) < 0.1


def test_windows_take_the_same_share_of_the_step(inputs: TrialInputs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where only a part of the step is taken, other windows take the same one: torques do not jump at the seams."""
    reaction = lifted(inputs, np.full(len(inputs.fit.solved), 80.0))
    taken: list[float | None] = []
    original = module.closed

    def noted(problem, solution, closed_share, share=None):  # type: ignore[no-untyped-def]
        taken.append(share)
        return original(problem, solution, closed_share, share)

    monkeypatch.setattr(module, "closed", noted)
    monkeypatch.setattr(module, "_LONGEST_S", 2.0)
    monkeypatch.setattr(module, "_WINDOW_S", 1.5)
    assert estimated(inputs, reaction).account.residual_unclosed[0] > 20.0
    first, *others = taken
    assert first is None
    assert others
    assert len(set(others)) == 1
    assert others[0] is not None
    assert others[0] < 1.0
