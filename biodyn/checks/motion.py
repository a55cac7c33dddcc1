"""Checks of filters, synchronisation and gait cycles."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from biodyn.checks.estimators.signals import (
    force_band_ratio,
    marker_band_ratio,
    report_different_filters,
    report_low_cutoff,
    report_smoothed_forces,
    report_smoothed_markers,
)
from biodyn.checks.estimators.synchronisation import TIME_OFFSET_S, report_frame_rate, true_rate_hz
from biodyn.checks.registry import CheckResult, check
from biodyn.checks.trial_facts import TrialFacts
from biodyn.conventions import SIDE_NAMES, Side
from biodyn.diagnostics import Diagnostic
from biodyn.processing.gait.cycle_values import CycleValues
from biodyn.processing.gait.spatiotemporal import CycleSignal
from biodyn.variables import CurveFault, variable

_HINTS = {
    "range": "Usual causes: a swapped or lost marker, a wrong contact or a wrong plate. See the other findings of the trial.",
    "jump": "Usual cause: labels swapped for a few frames. Check the markers in these frames.",
}


@check(
    "physiological_limits",
    "Physiological limits",
    compares="every variable of every gait cycle compared with physiological limits (`variables.toml`)",
    causes="a swapped or lost marker, a wrong contact, a wrong plate",
    kind="finding",
    place=900,
    turn=900,
    limit="limits.physiological_factor",
    findings={"cycle-impossible": "Impossible gait cycle"},
)
def check_physiological_limits(trial: TrialFacts, limit: float) -> CheckResult:
    """Find gait cycles with values or jumps beyond physiological limits."""
    return CheckResult(findings=cycle_findings(trial.analysis.cycles))


def cycle_findings(cycles: Iterable[CycleValues]) -> tuple[Diagnostic, ...]:
    """Return one warning per cycle with values beyond physiological limits."""
    return tuple(_cycle_finding(values) for values in cycles if values.faults)


def _cycle_finding(values: CycleValues) -> Diagnostic:
    most_listed = 2  # number of variables listed per cycle
    cycle, signals = values.cycle, values.signals
    worst = sorted(values.faults.items(), key=lambda item: -abs(item[1].value / item[1].limit))
    column, fault = worst[0]
    descriptions = [_describe_fault(signals[number], cycle.side, fault) for number, fault in worst[:most_listed]]
    descriptions += [f"and {len(worst) - most_listed} more variables"] if len(worst) > most_listed else []
    dependent = len(values.reasons) - len(worst)
    more = (
        f", with {dependent} moments and powers that depend on {'it' if len(worst) == 1 else 'them'}"
        if dependent
        else ""
    )
    return Diagnostic(
        "cycle-impossible",
        "warning",
        f"Cycle {cycle.number + 1} of the {SIDE_NAMES[cycle.side]} side: {'; '.join(descriptions)}. "
        f"{('This is not physiological and is' if len(worst) == 1 else 'These are not physiological and are')} "
        f"excluded from the gait cycles{more}.",
        value=fault.value,
        limit=fault.limit,
        unit=signals[column].unit,
        hint=_HINTS[fault.kind],
    )


def _describe_fault(signal: CycleSignal, side: Side, fault: CurveFault) -> str:
    """Return a description of a fault with the clinical sign."""
    meaning = variable(signal.variable)
    value, limit = (meaning.clinical_factor(side) * number for number in (fault.value, fault.limit))
    if fault.kind == "jump":
        return f"{meaning.title} changes by {value:.3g} {signal.unit} within 1 % (at {fault.percent:.0f} %)"
    return f"{meaning.title} {value:.3g} {signal.unit} at {fault.percent:.0f} % (limit {limit:.3g})"


_ESTIMATE_TEXT = (
    "These filters only initialise the estimate; its torques are computed from unfiltered markers and forces."
)


@check(
    "filters",
    "Filters",
    compares="cut-off of the forces compared with the cut-off of the markers",
    causes="the settings; different cut-offs cause artefacts of torques at impacts",
    place=160,
    turn=120,
    display_unit=(1.0, "Hz"),
    findings={
        "filters-differ": "Different filters for markers and forces",
        "cutoff-low": "Filter too low for the activity",
    },
    unless=("sides",),
)
def check_filters(trial: TrialFacts, limit: float) -> CheckResult:
    """Compare the cut-offs of markers and forces, and the cut-off with the activity."""
    analysis = trial.analysis
    if analysis.method.is_estimate:
        return CheckResult(text=_ESTIMATE_TEXT, value=analysis.force_cutoff_hz, limit=analysis.cutoff_hz)
    if analysis.imported is not None and not analysis.plates:  # forces are not filtered
        return CheckResult(value=analysis.cutoff_hz, limit=analysis.cutoff_hz)
    markers_hz = analysis.cutoff_hz
    by_markers = analysis.propagation is not None and analysis.propagation.signals.automatic is not None
    # an automatic cut-off is not checked
    low = () if by_markers else report_low_cutoff(markers_hz, analysis.activity.kind)
    findings = (*report_different_filters(markers_hz, analysis.force_cutoff_hz), *low)
    return CheckResult(value=analysis.force_cutoff_hz, limit=markers_hz, findings=findings)


@check(
    "frame_rate",
    "Frame rate",
    compares="vertical acceleration of the centre of mass compared with the changes of the vertical force",
    causes="a wrong rate in the export, omitted or repeated frames, a recording at an unusual rate",
    place=129,
    turn=58,
    limit=0.13,
    display_unit=(100.0, "%"),
    findings={"frame-rate-doubtful": "Frame rate"},
    unless=("sides", "other_load", "force_unit", "labels", "zero"),
    source="errors are below 5 % in 13 real walks of six laboratories; 100 instead of 120 Hz is an error of 17 %",
)
def check_frame_rate(trial: TrialFacts, limit: float) -> CheckResult:
    """Compare the size of accelerations with the forces."""
    if trial.evidence is None:
        return CheckResult()
    off = true_rate_hz(trial.time_offset, trial.rate_hz) / trial.rate_hz - 1.0
    return CheckResult(value=off, findings=report_frame_rate(trial.time_offset, trial.rate_hz, limit))


@check(
    "time_offset",
    "Marker-force synchronisation",
    compares="vertical force compared with the acceleration of the centre of mass, shifted in time",
    causes="synchronisation of cameras and analog signals, a filter that delays the forces",
    place=130,
    turn=70,
    limit=TIME_OFFSET_S,
    display_unit=(1000.0, "ms"),
    findings={"time-offset": "Marker-force synchronisation"},
    unless=("sides", "other_load", "force_unit", "labels", "zero", "frame_rate"),
)
def check_synchronisation(trial: TrialFacts, limit: float) -> CheckResult:
    """Estimate the delay of the forces relative to the motion."""
    if trial.evidence is None:
        return CheckResult()
    offset = trial.time_offset
    late_s = np.nan if offset is None else offset.late_s
    return CheckResult(value=late_s, findings=trial.delay_findings)


_WALKING = "walking"


@check(
    "forces_smoothed",
    "Filter of the stored forces",
    compares="changes of the vertical force at 25 to 40 Hz relative to those at 10 to 18 Hz",
    causes="a filter of the laboratory's software or of an export",
    place=158,
    kind="finding",
    limit=0.08,
    findings={"forces-smoothed-before": "Forces were filtered before they were stored"},
    source="22 real and 36 simulated walks have at least 0.21, and 0.01 to 0.09 after a 10 Hz filter "
    "(benchmarks/smoothed_before.py)",
)
def check_force_smoothing(trial: TrialFacts, limit: float) -> CheckResult:
    """Detect forces without the high frequencies of a foot strike."""
    inputs = trial.analysis.propagation
    if inputs is None or trial.analysis.activity.kind != _WALKING:
        return CheckResult()
    content = force_band_ratio(inputs.raw_plates, trial.weight_n)
    return CheckResult(value=content, findings=report_smoothed_forces(content, limit))


@check(
    "markers_smoothed",
    "Filter of the stored markers",
    compares="accelerations of the fastest markers at 6 to 9 Hz relative to those at 2 to 4 Hz",
    causes="a filter of the laboratory's software or of an export",
    place=159,
    kind="finding",
    limit=0.048,
    findings={"markers-smoothed-before": "Markers were filtered before they were stored"},
    source="22 real and 36 simulated walks have at least 0.14, and 0.01 to 0.04 after a 3 Hz filter "
    "(benchmarks/smoothed_before.py)",
)
def check_marker_smoothing(trial: TrialFacts, limit: float) -> CheckResult:
    """Detect trajectories without the high frequencies of walking feet."""
    if not trial.has_markers or trial.analysis.activity.kind != _WALKING:
        return CheckResult()
    content = marker_band_ratio(trial.markers)
    return CheckResult(value=content, findings=report_smoothed_markers(content, limit))
