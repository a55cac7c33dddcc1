"""Were the equations of motion solved? The consistency checks, as one check among the others."""

from __future__ import annotations

import time
from dataclasses import replace

from biodyn.analysis import TrialAnalysis
from biodyn.checks.facts import TrialFacts
from biodyn.checks.registry import CheckResult, check
from biodyn.processing.dynamics.actuated import actuated_motion
from biodyn.verification.consistency import verify

#: Name of this step among the trial's timings.
STEP = "consistency"


def with_consistency(analysis: TrialAnalysis) -> TrialAnalysis:
    """Return the analysis with the consistency of its torques checked in every frame, and the time that took."""
    if analysis.consistency is not None:
        return analysis
    start = time.perf_counter()
    own = None if analysis.imported is None else analysis.imported.motion
    consistency = verify(actuated_motion(analysis.fit, analysis.dynamics), own)
    timings = {**analysis.timings, STEP: time.perf_counter() - start}
    return replace(analysis, consistency=consistency, timings=timings).with_cycles_of(analysis)


@check(
    "proof",
    "Numerical consistency",
    compares="the torques of every frame against those of other algorithms: forward dynamics, mass matrix, momentum, free "
    "bodies, power",
    causes="a fault of the program",
    kind="result",
    place=90,
    source="round-off of double precision; see the section Verification",
)
def numerical_consistency(trial: TrialFacts, limit: float) -> CheckResult:
    """Compare the torques with those of other algorithms."""
    consistency = trial.analysis.consistency
    tested = [] if consistency is None else [identity for identity in consistency.checks if identity.frames]
    worst = max(tested, key=lambda identity: identity.worst / identity.limit, default=None)
    if worst is None:
        return CheckResult("not_assessed", "No frame has torques to be verified.")
    broken = [identity.title for identity in tested if not identity.holds]
    text = (
        f"Not satisfied: {'; '.join(broken)}."
        if broken
        else f"All {len(tested)} consistency checks hold in each of {max(i.frames for i in tested)} frames: forward dynamics, "
        "mass matrix, momentum, free bodies and power, each by another algorithm, give the same torques."
    )
    return CheckResult(
        "fail" if broken else "pass",
        f"{text} Largest error {worst.worst:.0e} of a limit of {worst.limit:.0e} ({worst.title.lower()}).",
        value=worst.worst,
        limit=worst.limit,
        hint="The equations of motion were not solved: report this trial as a fault of the program.",
    )
