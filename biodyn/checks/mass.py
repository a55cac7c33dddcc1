"""The stated body mass against what the plates carry."""

from __future__ import annotations

import numpy as np

from biodyn.checks.estimators.mass import mass_mismatch, walking_mass_kg
from biodyn.checks.estimators.residual import residual_status
from biodyn.checks.facts import TrialFacts
from biodyn.checks.registry import CheckResult, check
from biodyn.conventions import STANDARD_GRAVITY_M_S2

# A body that is this many times farther off than the limit is not the body of this recording.
_FAIL_FACTOR = 5.0


@check(
    "mass",
    "Stated mass vs. force plates",
    compares="impulse of the plates over the frames measured completely against the motion of the centre of mass; standing, "
    "where it was on plates",
    causes="a wrong mass (clothes and shoes count), the gain of the plates, a foot beside them",
    place=140,
    turn=110,
    limit="limits.mass_mismatch_fraction",
    shown=(100.0, "%"),
    findings={"mass-mismatch": "Stated mass vs. force plates"},
    unless=("sides", "other_load", "force_unit", "zero"),
)
def stated_mass(trial: TrialFacts, limit: float) -> CheckResult:
    """Is the stated mass what the plates carry, walking and standing?"""
    evidence = trial.evidence
    if evidence is None:
        return CheckResult()
    mass = walking_mass_kg(evidence)
    share = np.nan if mass is None else mass / (evidence.weight_n / STANDARD_GRAVITY_M_S2) - 1.0
    # A person stands on the plate through a static trial: its zero cannot be found there.
    standing_kg = None if trial.plate_offsets else trial.analysis.static.plates_mass_kg
    return CheckResult(value=share, findings=mass_mismatch(evidence, standing_kg, limit))


@check(
    "body-weight",
    "Body mass vs. force plates",
    compares="mean vertical residual against body weight, while both feet were measured",
    causes="a wrong mass, offset or gain of the plates",
    kind="result",
    place=30,
    limit="limits.mass_mismatch_fraction",
)
def body_mass(trial: TrialFacts, limit: float) -> CheckResult:
    """Mean vertical residual: a body that is too light or too heavy shows here first."""
    vertical = trial.analysis.dynamics.residual_force[:, 1]
    if trial.other_loads:
        return CheckResult("not_assessed", "Something else than the feet carried a part of the body.")
    if not np.isfinite(vertical).any():
        return CheckResult("not_assessed", "Both feet's contacts were never known together.")
    mismatch = float(np.nanmean(vertical)) / trial.weight_n
    text = (
        f"While both feet were measured, the plates carried {abs(100 * mismatch):.1f} % of body weight "
        f"{'less' if mismatch > 0 else 'more'} than expected from this motion of {trial.analysis.subject.mass_kg:.1f} kg "
        f"(limit {100 * limit:.0f} %)."
    )
    status = residual_status(abs(mismatch), limit, _FAIL_FACTOR * limit)
    hint = "Check body mass (--mass), and offset and gain of the plates."
    return CheckResult(status, text, abs(mismatch), hint=hint)
