"""Filters of markers and forces."""

from __future__ import annotations

from biodyn.checks.estimators.signals import cutoff_too_low, filters_differ
from biodyn.checks.facts import TrialFacts
from biodyn.checks.registry import CheckResult, check

_OF_AN_ESTIMATE = (
    "These filters prepare the estimate, and nothing is judged by them: its torques come from markers and forces as they were "
    "measured."
)


@check(
    "filters",
    "Filters",
    compares="cut-off of the forces against that of the markers",
    causes="a choice in the settings: torques get artefacts at impacts",
    place=160,
    turn=120,
    shown=(1.0, "Hz"),
    findings={
        "filters-differ": "Different filters for markers and forces",
        "cutoff-low": "Filter too low for the activity",
    },
    unless=("sides",),
)
def one_filter(trial: TrialFacts, limit: float) -> CheckResult:
    """Are markers and forces filtered alike, and does the motion leave through the filter?"""
    analysis = trial.analysis
    if analysis.method.is_estimate:
        return CheckResult(text=_OF_AN_ESTIMATE, value=analysis.force_cutoff_hz, limit=analysis.cutoff_hz)
    if analysis.imported is not None and not analysis.plates:  # forces are taken as they are given
        return CheckResult(value=analysis.cutoff_hz, limit=analysis.cutoff_hz)
    markers_hz = analysis.cutoff_hz
    by_markers = analysis.propagation is not None and analysis.propagation.signals.automatic is not None
    # a higher one than the markers chose would let more noise through than it saves
    low = () if by_markers else cutoff_too_low(markers_hz, analysis.activity.kind)
    found = (*filters_differ(markers_hz, analysis.force_cutoff_hz), *low)
    return CheckResult(value=analysis.force_cutoff_hz, limit=markers_hz, findings=found)
