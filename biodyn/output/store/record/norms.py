"""What `run.json` says of the norms beside the walk."""

from __future__ import annotations

from typing import Any

import numpy as np

from biodyn.analysis import TrialAnalysis
from biodyn.variables.norm_choice import Walker
from biodyn.variables.norm_choice import norms_record as record_of


def norms_record(analysis: TrialAnalysis) -> dict[str, Any]:
    """Which norms are shown and why, with citation and licence; the walking speed by all measures."""
    return record_of(analysis.settings.report.norms, walker(analysis))


def walker(analysis: TrialAnalysis) -> Walker:
    """What the choice of norms depends on."""
    who = analysis.subject
    speeds = [parameters.speed_m_s for _, parameters in analysis.strides]
    known = [speed for speed in speeds if np.isfinite(speed)]
    speed = float(np.mean(known)) if known else float("nan")
    return Walker(who.age_years, who.height_m, who.leg_length_m, speed, analysis.activity.kind)
