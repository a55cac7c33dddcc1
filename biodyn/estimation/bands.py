"""Bands of the estimated torques: what is random from the estimate itself, what is systematic by propagation as before."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from biodyn.estimation.account import EstimateAccount
from biodyn.processing.dynamics.solve import Dynamics
from biodyn.processing.kinematics.fit import Fit
from biodyn.recording import GroundReaction
from biodyn.uncertainty.bands import TorqueUncertainty, torque_bands
from biodyn.uncertainty.inputs import TrialInputs
from biodyn.uncertainty.parameters import UncertaintySettings

# The source that the estimate's own uncertainty stands for, and the one that no longer exists: there is no cut-off to choose.
_RANDOM, _FILTER = "marker_noise", "cutoff"


def estimate_bands(
    inputs: TrialInputs,
    fit: Fit,
    dynamics: Dynamics,
    reaction: GroundReaction,
    account: EstimateAccount,
    settings: UncertaintySettings,
) -> TorqueUncertainty | None:
    """Return the bands of an estimate's torques; None where the settings switch them off, or the estimate was made without."""
    if account.random is None:
        return None
    off = settings.model_copy(update={"scale": {**settings.scale, _FILTER: 0.0}})
    of_estimate = replace(inputs, fit=fit, dynamics=dynamics, reaction=reaction, curved=False)
    found = torque_bands(of_estimate, off, noise_in_torques=False, constants=account.constants)
    if found is None:
        return None
    factor = dict(settings.scale).get("marker_noise", 1.0)
    # The motion's noise, the constants being known, and the constants' own.
    random = np.hypot(
        np.where(np.isnan(dynamics.torques), np.nan, factor * account.random.force), found.by_source[_RANDOM]
    )
    by_source = {name: sd for name, sd in found.by_source.items() if name != _FILTER}
    # Where the joints are keeps the noise of the fitted motion, which the estimate lies no farther from: centres and skin are
    # nearly all of it.
    return replace(found, by_source={**by_source, _RANDOM: random})
