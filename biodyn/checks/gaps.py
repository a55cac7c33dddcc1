"""Gaps in the markers: what was filled, what was left, and whether that matters over the plates."""

from __future__ import annotations

from biodyn.checks.estimators.signals import gaps_left
from biodyn.checks.facts import NO_MARKERS, TrialFacts
from biodyn.checks.registry import CheckResult, check


@check(
    "gap",
    "Gaps",
    compares="longest gap that was not filled",
    causes="markers hidden from the cameras; fill them in the capture software",
    place=50,
    turn=130,
    limit="signals.spline_gap_s",
    shown=(1.0, "s"),
    findings={"marker-gap": "Gap not filled"},
    unless=("sides",),
)
def gaps_of_single_markers(trial: TrialFacts, limit: float) -> CheckResult:
    """Which markers are missing for longer than a spline can fill?"""
    if not trial.has_markers:
        return CheckResult("not_assessed")
    gaps, rate_hz = trial.analysis.gaps, trial.rate_hz
    left = [(gap.last - gap.first + 1) / rate_hz for gap in gaps if gap.method == "left"]
    found = gaps_left(gaps, trial.gap_labels, rate_hz, limit, trial.long_gaps)
    return CheckResult(value=max(left, default=0.0), findings=found)


@check(
    "gaps",
    "Gaps",
    compares="gaps that were filled and gaps that were left against what the other markers can bridge over the plates",
    causes="markers hidden from the cameras",
    kind="result",
    place=70,
    limit="signals.rigid_gap_s",
    unit="s",
    covers=("marker-gap",),
)
def gaps_over_the_plates(trial: TrialFacts, limit: float) -> CheckResult:
    """Gaps that were filled, and short ones that the other markers bridge, are told; long ones over the plates warn."""
    if not trial.has_markers:
        return CheckResult("not_assessed", NO_MARKERS)
    gaps, labels = trial.analysis.gaps, trial.gap_labels
    left = [gap for gap in gaps if gap.method == "left"]
    filled = len(gaps) - len(left)
    what = "marker" if trial.analysis.pose_misfit is None else "segment"
    text = f"{filled} filled, {len(left)} not filled." if gaps else f"No {what} had a gap."
    longest = max(left, key=lambda gap: gap.last - gap.first, default=None)
    length_s = 0.0 if longest is None else (longest.last - longest.first + 1) / trial.rate_hz
    if longest is not None:
        text += f" Longest: {labels[longest.marker]}, {length_s:.2f} s, excluded from the fit in those frames."
    long = trial.long_gaps
    names = ", ".join(dict.fromkeys(labels[gap.marker] for gap in long))
    hint = f"Fill {names} in the capture software where other cameras saw it." if long else ""
    return CheckResult("warn" if long else "pass", text, length_s, hint=hint)
