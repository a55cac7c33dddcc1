"""Is the frame rate of the file that of the cameras?"""

from __future__ import annotations

from biodyn.checks.estimators.frame_rate import frame_rate, true_rate_hz
from biodyn.checks.facts import TrialFacts
from biodyn.checks.registry import CheckResult, check


@check(
    "frame_rate",
    "Frame rate",
    compares="size of the centre of mass' vertical acceleration against the changes of the vertical force",
    causes="a rate written wrongly by an export, frames left out or doubled, a recording at another rate than usual",
    place=129,
    turn=65,
    limit=0.13,
    shown=(100.0, "%"),
    findings={"frame-rate-doubtful": "Frame rate"},
    unless=("sides", "other_load", "force_unit", "labels", "zero"),
    source="of 13 real walks of six laboratories none is off by more than 5 %; 100 for 120 Hz is 17 %",
)
def rate_of_the_cameras(trial: TrialFacts, limit: float) -> CheckResult:
    """Are accelerations as large as the forces say?"""
    if trial.evidence is None:
        return CheckResult()
    off = true_rate_hz(trial.time_offset, trial.rate_hz) / trial.rate_hz - 1.0
    return CheckResult(value=off, findings=frame_rate(trial.time_offset, trial.rate_hz, limit))
