"""The verification of a trial's torques as the record keeps it."""

from __future__ import annotations

from typing import Any

from biodyn.analysis import TrialAnalysis
from biodyn.checks.consistency import STEP


def consistency_record(analysis: TrialAnalysis) -> dict[str, Any]:
    """Return what `run.json` keeps under "proof"; nothing where the analysis was not judged."""
    if analysis.consistency is None:
        return {}
    spent = analysis.timings.get(STEP, 0.0)
    own = sum(analysis.timings.values()) - spent
    return analysis.consistency.as_dict() | {"seconds": spent, "share_of_trial": spent / own if own else None}
