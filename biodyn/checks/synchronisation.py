"""Are markers and forces of the same moment?"""

from __future__ import annotations

import numpy as np

from biodyn.checks.estimators.time_offset import time_offset
from biodyn.checks.facts import TrialFacts
from biodyn.checks.registry import CheckResult, check


@check(
    "time_offset",
    "Marker-force synchronisation",
    compares="vertical force against the acceleration of the centre of mass, shifted in time",
    causes="synchronisation of cameras and analog signals, a filter that delays the forces",
    place=130,
    turn=70,
    limit="limits.time_offset_s",
    shown=(1000.0, "ms"),
    findings={"time-offset": "Marker-force synchronisation"},
    unless=("sides", "other_load", "force_unit", "labels", "zero", "frame_rate"),
)
def markers_and_forces_together(trial: TrialFacts, limit: float) -> CheckResult:
    """Do the forces come before or after the motion they belong to?"""
    if trial.evidence is None:
        return CheckResult()
    offset = trial.time_offset
    return CheckResult(value=np.nan if offset is None else offset.late_s, findings=time_offset(offset, limit))
