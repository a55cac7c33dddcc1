"""Were markers and forces filtered too far before they came here?"""

from __future__ import annotations

from biodyn.checks.estimators.smoothed_before import force_content, forces_smoothed, marker_content, markers_smoothed
from biodyn.checks.facts import TrialFacts
from biodyn.checks.registry import CheckResult, check

_WALKING = "walking"


@check(
    "forces_smoothed",
    "Filter of the stored forces",
    compares="changes of the vertical force at 25 to 40 Hz against those at 10 to 18 Hz",
    causes="a filter of the laboratory's software or of an export",
    place=158,
    kind="finding",
    limit=0.08,
    findings={"forces-smoothed-before": "Forces were filtered before they were stored"},
    source="22 real and 36 simulated walks: 0.21 and more, through 10 Hz 0.01 to 0.09 (benchmarks/smoothed_before.py)",
)
def stored_forces(trial: TrialFacts, limit: float) -> CheckResult:
    """Do the forces of a walk hold what a foot strike makes?"""
    inputs = trial.analysis.propagation
    if inputs is None or trial.analysis.activity.kind != _WALKING:
        return CheckResult()
    content = force_content(inputs.raw_plates, trial.weight_n)
    return CheckResult(value=content, findings=forces_smoothed(content, limit))


@check(
    "markers_smoothed",
    "Filter of the stored markers",
    compares="accelerations of the fastest markers at 6 to 9 Hz against those at 2 to 4 Hz",
    causes="a filter of the laboratory's software or of an export",
    place=159,
    kind="finding",
    limit=0.048,
    findings={"markers-smoothed-before": "Markers were filtered before they were stored"},
    source="22 real and 36 simulated walks: 0.14 and more, through 3 Hz 0.01 to 0.04 (benchmarks/smoothed_before.py)",
)
def stored_markers(trial: TrialFacts, limit: float) -> CheckResult:
    """Do the feet of a walk accelerate as feet do?"""
    if not trial.has_markers or trial.analysis.activity.kind != _WALKING:
        return CheckResult()
    content = marker_content(trial.markers)
    return CheckResult(value=content, findings=markers_smoothed(content, limit))
