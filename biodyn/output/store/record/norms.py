"""What `run.json` says of the norms beside the walk."""

from __future__ import annotations

from typing import Any

from biodyn.analysis import TrialAnalysis
from biodyn.output.tables.gait import spatiotemporal
from biodyn.variables.norm_choice import Walker
from biodyn.variables.norm_record import norms_record as record_of


def norms_record(analysis: TrialAnalysis) -> dict[str, Any]:
    """Which norms are shown and why, with citation and licence; the walking speed by all measures."""
    return record_of(analysis.settings.report.norms, walker(analysis))


def walker(analysis: TrialAnalysis) -> Walker:
    """What the choice of norms depends on."""
    who = analysis.subject
    speed = float(spatiotemporal(analysis)["speed_m_s"].mean())
    return Walker(who.age_years, who.height_m, who.leg_length_m, speed, analysis.activity.kind)
