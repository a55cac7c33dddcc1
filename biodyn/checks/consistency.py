"""Were the equations of motion solved? The identities of mechanics, as one check among the others."""

from __future__ import annotations

import time
from dataclasses import replace

from biodyn.analysis import TrialAnalysis
from biodyn.checks.registry import CheckResult, quality_check
from biodyn.processing.driven import driven_by
from biodyn.processing.proof import prove

#: Name of this step among the trial's timings.
STEP = "consistency"


def with_proof(analysis: TrialAnalysis) -> TrialAnalysis:
    """Return the analysis with every identity of mechanics checked in every frame, and the time that took."""
    if analysis.proof is not None:
        return analysis
    start = time.perf_counter()
    proof = prove(driven_by(analysis.fit, analysis.dynamics))
    return replace(analysis, proof=proof, timings={**analysis.timings, STEP: time.perf_counter() - start})


@quality_check(
    "proof", "Numerical consistency", place=90, source="round-off of double precision; see the section Verification"
)
def numerical_consistency(analysis: TrialAnalysis) -> CheckResult:
    """Compare the torques with those of other algorithms."""
    identities = () if analysis.proof is None else analysis.proof.identities
    tested = [identity for identity in identities if identity.frames]
    worst = max(tested, key=lambda identity: identity.worst / identity.limit, default=None)
    if worst is None:
        return CheckResult("not_assessed", "No frame has torques to be verified.")
    broken = [identity.title for identity in tested if not identity.holds]
    text = (
        f"Not satisfied: {'; '.join(broken)}."
        if broken
        else f"All {len(tested)} identities hold in each of {max(i.frames for i in tested)} frames: forward dynamics, mass "
        "matrix, momentum, free bodies and power, each by another algorithm, give the same torques."
    )
    return CheckResult(
        "fail" if broken else "pass",
        f"{text} Largest error {worst.worst:.0e} of a limit of {worst.limit:.0e} ({worst.title.lower()}).",
        value=worst.worst,
        limit=worst.limit,
        hint="The equations of motion were not solved: report this trial as a fault of the program.",
    )
