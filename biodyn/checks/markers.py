"""Checks of the markers and of the skeleton fitted to them."""

from __future__ import annotations

import numpy as np

from biodyn.analysis import TrialAnalysis
from biodyn.checks.data import gap_labels, measured_span
from biodyn.checks.evidence.signals import long_gaps
from biodyn.checks.registry import CheckResult, quality_check
from biodyn.conventions import BoolArray
from biodyn.diagnostics import Status
from biodyn.output.tables.time_series import rms

# Beyond this many times the limit of its RMS the fit is no picture of the markers any more.
_FAIL_FACTOR = 2.0
_MM = 1000.0


@quality_check(
    "marker-fit",
    "Marker tracking error",
    place=10,
    source="OpenSim checklist; Hicks et al. 2015, doi 10.1115/1.4029304",
)
def marker_tracking_error(analysis: TrialAnalysis) -> CheckResult:
    """RMS distance of the markers from their places on the skeleton decides; the largest one is told with its name."""
    limits = analysis.settings.limits
    error = analysis.fit.marker_error
    overall = float(rms(error.reshape(-1)))
    if not np.isfinite(overall):
        return CheckResult("not_assessed", "No frame could be fitted.")
    frame, marker = divmod(int(np.nanargmax(error)), error.shape[1])
    largest, label = float(error[frame, marker]), analysis.fit.labels[marker]
    limit = limits.marker_rms_m
    status: Status = "pass" if overall <= limit else ("warn" if overall <= _FAIL_FACTOR * limit else "fail")
    text = (
        f"{_MM * overall:.0f} mm RMS (limit {_MM * limit:.0f} mm), {_MM * largest:.0f} mm max ({label}, "
        f"{analysis.time_s[frame]:.2f} s; usual below {_MM * limits.marker_max_m:.0f} mm)."
    )
    hint = f"Check {label} first: swapped label, moved after the static trial, or loose clothing."
    return CheckResult(status, text, overall, limit, "m", hint)


@quality_check("gaps", "Gaps", place=70, covers=("marker-gap",))
def gaps(analysis: TrialAnalysis) -> CheckResult:
    """Gaps that were filled, and short ones that the other markers bridge, are told; long ones over the plates warn."""
    rate_hz = analysis.recording.markers.rate_hz
    limit_s = analysis.settings.signals.rigid_gap_s
    left = [gap for gap in analysis.gaps if gap.method == "left"]
    filled = len(analysis.gaps) - len(left)
    text = f"{filled} filled, {len(left)} not filled." if analysis.gaps else "No marker had a gap."
    longest = max(left, key=lambda gap: gap.last - gap.first, default=None)
    length_s = 0.0 if longest is None else (longest.last - longest.first + 1) / rate_hz
    labels = gap_labels(analysis)
    if longest is not None:
        text += f" Longest: {labels[longest.marker]}, {length_s:.2f} s, excluded from the fit in those frames."
    long = long_gaps(analysis.gaps, rate_hz, limit_s, measured_span(analysis))
    names = ", ".join(dict.fromkeys(labels[gap.marker] for gap in long))
    hint = f"Fill {names} in the capture software where other cameras saw it." if long else ""
    return CheckResult("warn" if long else "pass", text, length_s, limit_s, "s", hint)


@quality_check("solved", "Frames fitted", place=80)
def frames_fitted(analysis: TrialAnalysis) -> CheckResult:
    """Share of the frames between the first and the last measured contact that have a pose and accelerations."""
    fit = analysis.fit
    span = measured_span(analysis)
    rows: BoolArray = np.zeros(len(fit.solved), dtype=bool)
    rows[slice(None) if span is None else slice(span[0], span[1] + 1)] = True
    usable = float(np.mean(fit.reliable[rows]))
    limit = analysis.settings.limits.fitted_share
    text = (
        f"Skeleton fitted in {100 * float(np.mean(fit.solved)):.0f} % of all frames; accelerations usable for joint moments "
        f"in {100 * usable:.0f} % of the frames {'' if span is None else 'over the plates '}(limit {100 * limit:.0f} %)."
    )
    text += _unseen(analysis)
    status: Status = "fail" if not fit.reliable.any() else ("warn" if usable < limit else "pass")
    return CheckResult(status, text, usable, limit, "", _fit_hint(analysis))


def _unseen(analysis: TrialAnalysis) -> str:
    """Segments and coordinates that no marker shows, in sentences; "" where all are seen."""
    model = analysis.model
    text = (
        f" Segments without markers, fixed to their parent: {', '.join(model.locked_segments)}."
        if model.locked_segments
        else ""
    )
    riding = {
        s.coordinate for b in model.bodies if b.definition.name in model.locked_segments for s in b.definition.rotations
    }
    locked = [name for name in model.locked if name not in riding]
    return text + (
        f" Coordinates without marker information, fixed at their static value: {', '.join(locked)}." if locked else ""
    )


def _fit_hint(analysis: TrialAnalysis) -> str:
    if not analysis.fit.solved.any():
        return "No frame shows enough markers: check labels and gaps with 'biodyn check FILE.c3d'."
    if not analysis.fit.reliable.any():
        return (
            "No frame is far enough from the ends of the recorded stretch for its accelerations: raise signals.cutoff_hz "
            f"({analysis.settings.signals.cutoff_hz:g} Hz), or record a longer trial."
        )
    return "Too few markers are visible in the other frames: fill gaps in the capture software, or cut the trial."
