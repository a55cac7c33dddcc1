"""Loads that no foot made."""

from __future__ import annotations

import numpy as np

from biodyn.checks.estimators.other_loads import other_load_finding
from biodyn.checks.facts import TrialFacts
from biodyn.checks.registry import CheckResult, check
from biodyn.processing.contacts.loading import LEAST_BW


@check(
    "other_load",
    "Loads without a foot",
    compares="loads of the plates against the feet: largest vertical force of a load that came and went while no foot was near, "
    "of body weight",
    causes="a crutch, a walker, a hand on the plate, another person",
    place=155,
    turn=15,
    limit=LEAST_BW,
    shown=(100.0, "%"),
    findings={"other-load": "Load without a foot"},
)
def loads_without_a_foot(trial: TrialFacts, limit: float) -> CheckResult:
    """Did something else than a foot load a plate?"""
    loads = trial.unexplained_loads
    found = (other_load_finding(loads, trial.rate_hz),) if loads else ()
    value = max((one.peak_n for one in loads), default=0.0) / trial.weight_n
    return CheckResult(value=value if trial.evidence is not None else np.nan, findings=found)
