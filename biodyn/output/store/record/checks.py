"""What `run.json` says of the verdict, the checks that made it, and the verification."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from biodyn.analysis import TrialAnalysis
from biodyn.checks.consistency import STEP
from biodyn.checks.facts import residual_limits
from biodyn.diagnostics import Verdict


def verdict_causes(analysis: TrialAnalysis) -> list[dict[str, Any]]:
    """The checks and findings that decided the verdict, in the order in which to look at them."""
    return [asdict(cause) for cause in verdict_of(analysis).to_look_at]


def check_records(analysis: TrialAnalysis) -> list[dict[str, Any]]:
    """Every check of the verdict."""
    return [check.as_dict() for check in verdict_of(analysis).checks]


def residual_limits_record(analysis: TrialAnalysis) -> dict[str, Any]:
    """The limits of the residual that was judged, in N and Nm, and what they are made of."""
    return asdict(residual_limits(analysis.as_fitted))


def consistency_record(analysis: TrialAnalysis) -> dict[str, Any]:
    """Return what `run.json` keeps under "proof"; nothing where the analysis was not judged."""
    if analysis.consistency is None:
        return {}
    spent = analysis.timings.get(STEP, 0.0)
    own = sum(analysis.timings.values()) - spent
    return analysis.consistency.as_dict() | {"seconds": spent, "share_of_trial": spent / own if own else None}


def verdict_of(analysis: TrialAnalysis) -> Verdict:
    """The verdict of an analysis that was judged."""
    if analysis.verdict is None:
        raise ValueError("an analysis has no record before its verdict: see checks.judge")
    return analysis.verdict
