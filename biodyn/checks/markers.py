"""Checks of markers against the fitted skeleton and against neighbouring frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from biodyn.analysis import TrialAnalysis
from biodyn.checks.estimators.moved_marker import find_moved_marker, find_slipped_pelvis, report_other_person
from biodyn.checks.estimators.signals import (
    LIMIT_SHARE,
    find_spikes,
    frames_at_limit,
    report_distant_poses,
    report_gaps,
    report_joint_limits,
    report_large_marker_errors,
    rms_errors,
)
from biodyn.checks.estimators.swapped_sides import CLEAR, find_swapped_sides, left_right_sine
from biodyn.checks.registry import CheckResult, check
from biodyn.checks.trial_facts import NO_MARKERS, TrialFacts
from biodyn.conventions import BoolArray, FloatArray
from biodyn.diagnostics import Diagnostic, Status
from biodyn.library.tables import segment_title
from biodyn.model.from_library.recognition.swap_over_time import LEAST_GAIN_M, TimedSwap, swaps_over_time
from biodyn.processing.kinematics.skeleton_fit import PoseMisfit
from biodyn.processing.signals.filtering import finite_rms
from biodyn.processing.signals.gaps import SPIKE_M, spike_limit_m
from biodyn.recording import Markers
from biodyn.uncertainty.propagation_inputs import stride_time


@check(
    "sides",
    "Left-right labels",
    compares="position of the right markers relative to the facing direction of pelvis, feet, trunk and head; "
    "handedness of the walk compared with the static trial (sine of the angle: 1 if right is on the right, "
    "-1 if right is on the left)",
    causes="labels of both sides swapped, or a mirrored laboratory frame",
    place=10,
    turn=10,  # because the skeleton is mirror-symmetric, all other findings are consequences
    limit=-CLEAR,
    display_unit=(1.0, ""),
    findings={"sides-exchanged": "Left-right swap"},
)
def check_left_and_right(trial: TrialFacts, limit: float) -> CheckResult:
    """Compare the right side of the markers with the facing direction of the body, in walk and static trial."""
    analysis, standing = trial.analysis, trial.analysis.static.points
    midline = [body.definition.name for body in analysis.model.bodies if not body.definition.side]
    still = midline or [analysis.model.skeleton.root.name]
    findings = find_swapped_sides(trial.markers, standing, trial.landmarks, trial.bodies, still)
    points = {landmark: standing[label] for landmark, label in trial.landmarks.items() if label in standing}
    return CheckResult(value=min(left_right_sine(points).values(), default=np.nan), findings=findings)


@check(
    "labels",
    "Labels of single markers",
    compares="distances between markers of a segment in walk and static trial, with labels as in the file and with "
    "swapped labels",
    causes="two trajectories swapped while labelling",
    place=20,
    turn=30,
    findings={"labels-exchanged": "Marker labels swapped"},
    unless=("sides",),
)
def check_marker_labels(trial: TrialFacts, limit: float) -> CheckResult:
    """Find pairs of markers that fit much better with swapped labels."""
    if trial.analysis.imported is not None:  # no static trial
        return CheckResult("not_assessed")
    static = trial.analysis.static.points
    findings = find_swapped_markers(trial.markers, static, trial.bodies, trial.parents)
    return CheckResult(findings=findings)


@check(
    "gap",
    "Gaps",
    compares="longest gap that was not filled",
    causes="markers hidden from the cameras; fill them in the capture software",
    place=50,
    turn=130,
    limit="signals.spline_gap_s",
    display_unit=(1.0, "s"),
    findings={"marker-gap": "Gap not filled"},
    unless=("sides",),
)
def check_marker_gaps(trial: TrialFacts, limit: float) -> CheckResult:
    """Find markers with gaps too long for spline interpolation."""
    if not trial.has_markers:
        return CheckResult("not_assessed")
    gaps, rate_hz = trial.analysis.gaps, trial.rate_hz
    durations_s = [(gap.last - gap.first + 1) / rate_hz for gap in gaps if gap.method == "left"]
    findings = report_gaps(gaps, trial.gap_labels, rate_hz, limit, trial.long_gaps)
    return CheckResult(value=max(durations_s, default=0.0), findings=findings)


@check(
    "gaps",
    "Gaps",
    compares="longest unfilled gap on the plates that is longer than other markers can bridge",
    causes="markers hidden from the cameras",
    kind="result",
    place=70,
    limit="signals.rigid_gap_s",
    unit="s",
    covers=("marker-gap",),
)
def check_gaps_during_contacts(trial: TrialFacts, limit: float) -> CheckResult:
    """Summarise filled and unfilled gaps, and warn about long gaps during measured contacts."""
    if not trial.has_markers:
        return CheckResult("not_assessed", NO_MARKERS)
    gaps, labels = trial.analysis.gaps, trial.gap_labels
    unfilled = [gap for gap in gaps if gap.method == "left"]
    filled = len(gaps) - len(unfilled)
    what = "marker" if trial.analysis.pose_misfit is None else "segment"
    text = f"{filled} filled, {len(unfilled)} not filled." if gaps else f"No {what} had a gap."
    if unfilled:
        longest = max(unfilled, key=lambda gap: gap.last - gap.first)
        text += (
            f" The longest is {labels[longest.marker]}, {(longest.last - longest.first + 1) / trial.rate_hz:.2f} s, "
            "which was excluded from the fit in these frames."
        )
    long = trial.long_gaps
    if not long:
        return CheckResult("pass", text, 0.0)
    names = ", ".join(dict.fromkeys(labels[gap.marker] for gap in long))
    hint = f"Fill {names} in the capture software if other cameras recorded the marker."
    return CheckResult("warn", text, max(gap.last - gap.first + 1 for gap in long) / trial.rate_hz, hint=hint)


def find_swapped_markers(
    markers: Markers, static: Mapping[str, FloatArray], bodies: Mapping[str, str], parents: Mapping[str, str]
) -> tuple[Diagnostic, ...]:
    """Report exchanged markers.

    If the markers of a pair are on the same sides of the pelvis in static trial and walk, its neighbours are exchanged instead.

    Args:
        static: (3,) m in World by label. bodies: segment by label. parents: parent by segment.
    """
    pelvis = _outermost_pelvis_markers(static, bodies, parents)
    swaps = swaps_over_time(markers, static, bodies, parents)
    return tuple(
        _swap_note(swap, markers.rate_hz)
        for swap in swaps
        if not _keeps_left_right_order(swap, markers, static, pelvis)
    )


def _outermost_pelvis_markers(
    static: Mapping[str, FloatArray], bodies: Mapping[str, str], parents: Mapping[str, str]
) -> Sequence[str]:
    """Return the labels of the rightmost and the leftmost marker of the root segment."""
    labels = [label for label, body in bodies.items() if not parents.get(body) and label in static]
    across = sorted(labels, key=lambda label: float(static[label][2]))
    return (across[-1], across[0]) if len(across) > 1 else ()


def _keeps_left_right_order(
    swap: TimedSwap, markers: Markers, static: Mapping[str, FloatArray], pelvis: Sequence[str]
) -> bool:
    """Return whether a pair has the same left-right order in static trial and walk."""
    clear_m = 0.05  # least distance along the line through the pelvis that determines the order
    if len(pelvis) < 2 or not all(label in static and label in markers.labels for label in pelvis):
        return False

    def distance_along_pelvis(points: Mapping[str, FloatArray]) -> FloatArray:
        """Return the distance from the second to the first marker along the line from left to right."""
        line = points[pelvis[0]] - points[pelvis[1]]
        between = points[swap.first] - points[swap.second]
        return np.asarray(np.sum(between * line, axis=-1) / np.linalg.norm(line, axis=-1))

    rows = slice(swap.first_frame, swap.last_frame + 1)
    labels = {*pelvis, swap.first, swap.second}
    in_walk = distance_along_pelvis({label: markers.positions[rows, markers.labels.index(label)] for label in labels})
    if not np.isfinite(in_walk).any():
        return False
    walk, standing = float(np.nanmedian(in_walk)), float(distance_along_pelvis(static))
    return bool(walk * standing > 0.0 and min(abs(walk), abs(standing)) > clear_m)


def _swap_note(swap: TimedSwap, rate_hz: float) -> Diagnostic:
    return Diagnostic(
        "labels-exchanged",
        "warning",
        f"Markers {swap.first} and {swap.second} seem to be swapped in {swap.frames} frames ({swap.first_frame / rate_hz:.2f} "
        f"to {swap.last_frame / rate_hz:.2f} s): with corrected labels their distances to neighbouring markers are "
        f"{1000 * swap.gain_m:.0f} mm closer to the static trial. Nothing was changed.",
        value=swap.gain_m,
        limit=LEAST_GAIN_M,
        unit="m",
        frames=(swap.first_frame, swap.last_frame),
        hint="Correct the labels of these two trajectories.",
    )


# Multiple of the RMS limit beyond which the fit does not represent the markers.
_FAIL_FACTOR = 2.0
# Poses of markerless systems have larger errors than markers.
_POSE_FACTOR = 2.0
_POSE_TITLE = "Pose tracking error"
_MM = 1000.0
_OF_THE_END = "of the end"


# -- the recording ----------------------------------------------------------------------------------------------------


@check(
    "moved_marker",
    "Markers moved since the calibration",
    compares="fit without each suspicious marker compared with the fit including it; distances compared with the "
    "calibration; centre of pressure compared with foot outlines",
    causes="a marker that was replaced or touched after the calibration",
    place=30,
    turn=80,
    limit=0.015,  # m; valid recordings have less (`library/checks/checks.toml`),
    findings={"marker-moved": "Marker moved", "static-doubtful": "Doubtful static trial"},
    unless=("sides", "labels"),
)
def check_moved_markers(trial: TrialFacts, limit: float) -> CheckResult:
    """Find markers with another position on the segment than in the static trial."""
    analysis = trial.analysis
    if analysis.pose_misfit is not None:  # rigid by construction
        return CheckResult()
    if analysis.imported is not None:  # no static trial
        return CheckResult("not_assessed")
    soft = {role.label for role in analysis.mapping.roles if role.soft}
    static = analysis.static.points if analysis.static.source == "static trial" else {}
    others = report_other_person(analysis.fit, trial.markers, static, soft)
    slips = find_slipped_pelvis(analysis.fit, trial.markers, stride_time(analysis.events))
    if others or slips:
        return CheckResult(findings=(*others, *slips))
    return CheckResult(findings=find_moved_marker(analysis.fit, trial.markers, analysis.static.points, soft, limit))


@check(
    "marker_error",
    "Tracking error of single markers",
    compares="RMS tracking error of the worst marker",
    causes="loose clothing, a swapped label, a marker moved after the calibration",
    place=40,
    turn=160,
    limit="limits.marker_rms_m",
    display_unit=(_MM, "mm"),
    findings={
        "marker-error": "Tracking error of a marker",
        "marker-strays": "Marker deviating from its segment",
        "pose-error": "Pose deviating from the skeleton",
    },
    unless=("sides",),
)
def check_single_marker_errors(trial: TrialFacts, limit: float) -> CheckResult:
    """Find markers with an error far above the limit and the median."""
    if not trial.has_markers:
        return CheckResult("not_assessed")
    misfit = trial.analysis.pose_misfit
    if misfit is not None:
        findings = report_distant_poses(misfit, _POSE_FACTOR * limit)
        return CheckResult(value=float(finite_rms(misfit.origin_m.T).max(initial=0.0)), findings=findings)
    fit = trial.analysis.fit
    return CheckResult(value=float(rms_errors(fit).max(initial=0.0)), findings=report_large_marker_errors(fit, limit))


@check(
    "spike",
    "Spikes",
    compares="largest distance of a marker from the median of five frames",
    causes="a ghost marker, or a label swapped for a frame",
    place=60,
    turn=140,
    limit=SPIKE_M,
    display_unit=(_MM, "mm"),
    findings={"marker-spike": "Spike in a marker"},
    unless=("sides",),
)
def check_marker_jumps(trial: TrialFacts, limit: float) -> CheckResult:
    """Find markers with short jumps."""
    if not trial.has_markers:
        return CheckResult("not_assessed")
    off = trial.marker_jumps
    limits = spike_limit_m(off, trial.markers.rate_hz)
    worst = int(np.argmax(off.max(axis=0) / limits)) if off.size else 0
    value, marker_limit = (float(off[:, worst].max()), float(limits[worst])) if off.size else (0.0, limit)
    return CheckResult(value=value, limit=marker_limit, findings=find_spikes(trial.markers, off, limits))


@check(
    "joint_limit",
    "Joint limits",
    compares="share of the frames in which a coordinate is at the limit of its range",
    causes="a marker with a wrong label, or a joint axis that does not agree with the person",
    place=70,
    turn=170,
    limit=LIMIT_SHARE,
    display_unit=(100.0, "%"),
    findings={"joint-limit": "Joint at the limit of its range"},
    unless=("sides",),
)
def check_joint_limits(trial: TrialFacts, limit: float) -> CheckResult:
    """Find coordinates that stay at a limit of their range."""
    fit = trial.analysis.fit
    if not trial.has_markers:  # nothing was fitted
        return CheckResult("not_assessed")
    largest = max((float(frames_at_limit(fit, coordinate).mean()) for coordinate in fit.model.coordinates), default=0.0)
    return CheckResult(value=largest, findings=report_joint_limits(fit))


# -- the result -------------------------------------------------------------------------------------------------------


@check(
    "marker-fit",
    "Marker tracking error",
    compares="RMS distance of the markers from their positions on the fitted skeleton, over all markers and frames",
    causes="a swapped label, a marker moved after the calibration, loose clothing",
    kind="result",
    place=10,
    limit="limits.marker_rms_m",
    unit="m",
    source="OpenSim checklist; Hicks et al. 2015, doi 10.1115/1.4029304",
)
def check_tracking_error(trial: TrialFacts, limit: float) -> CheckResult:
    """Compare the RMS distance of the markers from the skeleton with its limit."""
    analysis = trial.analysis
    if analysis.pose_misfit is not None:
        return _check_pose_tracking_error(trial, analysis.pose_misfit, limit)
    if not trial.has_markers:
        return CheckResult("not_assessed", NO_MARKERS)
    error = analysis.fit.marker_error
    overall = float(finite_rms(error.reshape(-1)))
    if not np.isfinite(overall):
        return CheckResult("not_assessed", "No frame could be fitted.")
    frame, marker = divmod(int(np.nanargmax(error)), error.shape[1])
    largest, label = float(error[frame, marker]), analysis.fit.labels[marker]
    status: Status = "pass" if overall <= limit else ("warn" if overall <= _FAIL_FACTOR * limit else "fail")
    text = (
        f"{_MM * overall:.0f} mm RMS (limit {_MM * limit:.0f} mm), {_MM * largest:.0f} mm max ({label}, "
        f"{analysis.time_s[frame]:.2f} s; usually below {_MM * trial.limits.marker_max_m:.0f} mm)."
    )
    hint = (
        f"Check {label} first. Its label may be swapped, it may have been moved after the calibration, or clothing "
        "is loose."
    )
    return CheckResult(status, text, overall, hint=hint)


def _check_pose_tracking_error(trial: TrialFacts, misfit: PoseMisfit, limit: float) -> CheckResult:
    """Compare the RMS distance of the origins of measured poses with its limit."""
    overall = float(finite_rms(misfit.origin_m.reshape(-1)))
    if not np.isfinite(overall):
        return CheckResult("not_assessed", "No frame could be fitted.", title=_POSE_TITLE)
    frame, segment = divmod(int(np.nanargmax(misfit.origin_m)), misfit.origin_m.shape[1])
    largest, label = float(misfit.origin_m[frame, segment]), misfit.labels[segment]
    turn = float(np.rad2deg(finite_rms(misfit.turn_rad.reshape(-1))))
    status: Status = "pass" if overall <= limit else ("warn" if overall <= _FAIL_FACTOR * limit else "fail")
    text = (
        f"Origins {_MM * overall:.0f} mm RMS (limit {_MM * limit:.0f} mm), {_MM * largest:.0f} mm max ({label}, "
        f"{trial.analysis.time_s[frame]:.2f} s); orientations {turn:.1f} degrees RMS."
    )
    hint = f"Check {label} first for frames in which it jumps, or in which another person was tracked."
    return CheckResult(status, text, overall, hint=hint, title=_POSE_TITLE)


@check(
    "solved",
    "Frames fitted",
    compares="frames with a pose and accelerations, as a fraction of the frames between the first and the last measured "
    "contact",
    causes="gaps of several markers, a recording that starts or ends on the plates, a very low cut-off",
    kind="result",
    place=80,
    limit=0.9,
    findings={"root-undetermined": "Frames in which the markers do not determine the pose of the pelvis"},
)
def check_fitted_frames(trial: TrialFacts, limit: float) -> CheckResult:
    """Check the fraction of frames between the first and last measured contact that have a pose and accelerations."""
    fit, span = trial.analysis.fit, trial.measured_span
    rows: BoolArray = np.zeros(len(fit.solved), dtype=bool)
    rows[slice(None) if span is None else slice(span[0], span[1] + 1)] = True
    if trial.has_markers and (rows & ~trial.frames_without_person).any():
        rows &= ~trial.frames_without_person
    usable = float(np.mean(fit.reliable[rows]))
    known = "Skeleton fitted" if trial.has_markers else "Motion given"
    text = (
        f"{known} in {100 * float(np.mean(fit.solved)):.0f} % of all frames; accelerations usable for joint moments "
        f"in {100 * usable:.0f} % of the frames {'' if span is None else 'over the plates '}(limit {100 * limit:.0f} %)."
    )
    text += _unobserved_text(trial.analysis)
    status: Status = "fail" if not fit.reliable.any() else ("warn" if usable < limit else "pass")
    return CheckResult(status, text, usable, hint=_fit_hint(trial, rows))


def _unobserved_text(analysis: TrialAnalysis) -> str:
    """Return a description of segments and coordinates without marker information; "" if all are measured."""
    model = analysis.model
    assumed = list(dict.fromkeys(coordinate.body for coordinate in model.assumed))
    fixed = [name for name in model.locked_segments if name not in assumed]
    text = ""
    for state, names in (("with assumed motion", assumed), ("fixed to their parent", fixed)):
        text += f" Segments without markers, {state}: {', '.join(map(segment_title, names))}." if names else ""
    riding = {
        s.coordinate for b in model.bodies if b.definition.name in model.locked_segments for s in b.definition.rotations
    }
    locked = [name for name in model.locked if name not in riding]
    return text + (
        f" Coordinates without marker information, fixed at their static value: {', '.join(locked)}." if locked else ""
    )


def _shorter_ends_hint(analysis: TrialAnalysis) -> str:
    """Return a hint about settings that exclude fewer frames near the ends; setting only a cut-off would select a filter."""
    if not analysis.cutoff_hz:
        return ""
    left_open = analysis.method.is_estimate and analysis.settings.signals.method == "auto"
    named = ' and also set signals.method = "estimate", because a cut-off alone selects a filter' if left_open else ""
    return f", or raise signals.cutoff_hz ({analysis.cutoff_hz:g} Hz){named}"


def _fit_hint(trial: TrialFacts, rows: BoolArray) -> str:
    """Return advice for unusable frames (T,) among `rows`."""
    analysis = trial.analysis
    if not trial.has_markers and not analysis.fit.solved.any():
        return "No row contains all coordinates."
    if not analysis.fit.solved.any():
        return "No frame has enough visible markers. Check labels and gaps with 'biodyn check FILE.c3d'."
    if not analysis.fit.reliable.any():
        return (
            "All frames are too close to the ends of the recorded stretch for accelerations. "
            f"Record a longer trial{_shorter_ends_hint(analysis)}."
        )
    lost = [analysis.fit.reason[t] for t in np.flatnonzero(rows & ~analysis.fit.reliable)]
    if all(_OF_THE_END in reason for reason in lost):
        return (
            "The other frames are too close to the ends of the recording. Start the recording before the steps and "
            "stop it after them."
        )
    if not trial.has_markers:
        return "The other rows lack coordinates, or are next to rows without coordinates."
    return "Too few markers are visible in the other frames. Fill gaps in the capture software, or cut the trial."
