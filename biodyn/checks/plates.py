"""Checks of force plates: units, offset, channels and axes, position, and centre of pressure relative to the foot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from biodyn.analysis import TrialAnalysis
from biodyn.checks.estimators.causes import PLATE_SHIFT_M, cause_findings, plate_shifts
from biodyn.checks.estimators.plate_faults import SOUND, plate_mismatch
from biodyn.checks.estimators.plate_height import measure_flat_feet, relative_heights, report_plate_heights
from biodyn.checks.estimators.plate_signals import (
    BASELINE_N,
    CODE,
    LARGEST_FACTOR,
    force_ratio,
    lever_arm_ratio,
    remaining_offsets,
    removed_offset_n,
    report_force_unit,
    report_moment_unit,
    silent_channel_findings,
    unloaded_wrench,
)
from biodyn.checks.estimators.signals import report_pressure_outside_sole
from biodyn.checks.registry import CheckResult, check
from biodyn.checks.trial_facts import TrialFacts
from biodyn.conventions import SIDE_NAMES, SIDES, BoolArray, Side
from biodyn.diagnostics import Diagnostic
from biodyn.processing.contacts.plate_loads import LEAST_BW, LoadWithoutFoot
from biodyn.processing.contacts.stances_off_plates import SILENT
from biodyn.processing.dynamics.inverse_dynamics import distal_feet

_OFFSET = {CODE: "Force-plate offset"}
_SILENT_CHANNEL = {"plate-channel-gain": "Force-plate channel without signal"}


@check(
    "force_unit",
    "Unit of the forces",
    compares="vertical force of the plates compared with that expected from body weight and motion",
    causes="kN instead of N, or a wrong scale of the channels",
    place=80,
    turn=20,
    limit=LARGEST_FACTOR,
    display_unit=(1.0, "times"),
    findings={"force-unit": "Unit of the forces"},
    unless=("sides",),
)
def check_force_unit(trial: TrialFacts, limit: float) -> CheckResult:
    """Find forces with a relative error that indicates a wrong unit."""
    if trial.evidence is None:
        return CheckResult()
    return CheckResult(value=force_ratio(trial.evidence), findings=report_force_unit(trial.evidence))


@check(
    "moment_unit",
    "Unit of the moments",
    compares="distance of the centre of pressure from the plate centre, compared with that of the foot",
    causes="Nmm instead of Nm, or a wrong scale of the channels",
    place=90,
    turn=50,
    limit=LARGEST_FACTOR,
    display_unit=(1.0, "times"),
    findings={"moment-unit": "Unit of the moments"},
    # Wrong channels or axes also move the centre of pressure.
    unless=("sides", "force_unit", "labels", "zero"),
)
def check_moment_unit(trial: TrialFacts, limit: float) -> CheckResult:
    """Find moments with a relative error that indicates a wrong unit."""
    if trial.evidence is None:
        return CheckResult()
    explained = bool(trial.swapped_plates_findings)
    findings = () if explained else report_moment_unit(trial.evidence)
    return CheckResult(value=lever_arm_ratio(trial.evidence), findings=findings)


@check(
    "zero",
    "Force-plate offset",
    compares="vertical force of a plate while no foot is above it, before the offset is removed",
    causes="plates not zeroed before the recording, drift of the amplifiers",
    place=100,
    turn=40,
    limit=BASELINE_N,
    display_unit=(1.0, "N"),
    findings=_OFFSET,
    unless=("sides",),
)
def check_remaining_offset(trial: TrialFacts, limit: float) -> CheckResult:
    """Find forces of unloaded plates that remain after removal of offsets."""
    if trial.evidence is None:
        return CheckResult()
    plates, soles = trial.analysis.plates, trial.analysis.points.sole
    levels = [removed_offset_n(plate) for plate in plates]
    remaining = [unloaded_wrench(plate, soles, trial.rate_hz) for plate in plates]
    levels += [level.force_n for level in remaining if level is not None]
    return CheckResult(value=max(levels, key=abs, default=np.nan), findings=remaining_offsets(trial.offset_findings))


@check(
    "removed_offset",
    "Force-plate offset",
    compares="vertical force of the unloaded plate in the file",
    causes="plates not zeroed before the recording, drift of the amplifiers",
    kind="finding",  # shown in the row of the other check
    place=101,
    turn=100,
    limit=BASELINE_N,
    findings=_OFFSET,
    unless=("sides",),
)
def check_removed_offset(trial: TrialFacts, limit: float) -> CheckResult:
    """Report large offsets that were removed."""
    remaining = remaining_offsets(trial.offset_findings)
    return CheckResult(findings=tuple(note for note in trial.offset_findings if note not in remaining))


@check(
    "plate_gain",
    "Force-plate channels without signal",
    compares="contribution of each channel to force and moment of a plate during single support",
    causes="a broken cable, an amplifier that was off, a wrong entry of FORCE_PLATFORM:CHANNEL",
    kind="finding",  # shown in the row of channels and axes
    place=109,
    turn=55,
    findings=_SILENT_CHANNEL,
    unless=("sides", "other_load", "force_unit", "labels", "zero", "moment_unit"),
)
def check_silent_channels(trial: TrialFacts, limit: float) -> CheckResult:
    """Find channels of loaded plates that have no signal."""
    if trial.evidence is None or trial.swapped_plates_findings:
        return CheckResult()
    labels = [plate.channel_labels for plate in trial.analysis.recording.plates]
    return CheckResult(findings=silent_channel_findings(trial.evidence, trial.silent_channels, labels))


@check(
    "plate_axes",
    "Force-plate channels and axes",
    compares="centre of pressure compared with the foot outline, horizontal force and moment compared with the "
    "motion of the body: mean square in standard deviations, for the worst plate",
    causes="channels or cables swapped, corners in a wrong order, a sign",
    place=110,
    turn=60,
    limit=SOUND,
    display_unit=(1.0, ""),
    findings={
        "plates-swapped": "Force plates swapped",
        "plate-rotated": "Force plate rotated",
        "plate-axes-exchanged": "Force-plate axes swapped",
        "plate-corners-reversed": "Order of a plate's corners",
        "plate-moment-sign": "Plate moment sign",
        "plate-force-sign": "Plate force sign",
        "cause-not-identified": "Cause of a disagreement not identified",
        **_SILENT_CHANNEL,
    },
    unless=("sides", "other_load", "force_unit", "labels", "zero", "moment_unit", "plate_gain", "frame_rate"),
)
def check_channels_and_axes(trial: TrialFacts, limit: float) -> CheckResult:
    """Find plates that agree with feet and body after correction of a simple fault."""
    evidence = trial.evidence
    if evidence is None:
        return CheckResult()
    off = [plate_mismatch(evidence, number, plate) for number, plate in enumerate(evidence.plates)]
    worst = max((value for value in off if value is not None), default=np.nan)
    findings = trial.swapped_plates_findings or cause_findings(evidence, trial.causes, trial.effect_of_cause)
    return CheckResult(value=worst, findings=findings)


@check(
    "plate_place",
    "Force-plate position",
    compares="shift of a plate for which its forces best agree with feet and body",
    causes="wrong corner measurements, or a changed plate or camera calibration",
    place=120,
    turn=90,
    limit=PLATE_SHIFT_M,
    display_unit=(100.0, "cm"),
    findings={"plate-moved": "Force-plate position"},
    unless=("sides", "other_load"),
)
def check_plate_positions(trial: TrialFacts, limit: float) -> CheckResult:
    """Compare positions of the plates with the file; the findings are those of `check_channels_and_axes`."""
    sizes = () if trial.disagreement is None else plate_shifts(trial.disagreement)
    return CheckResult(value=max(sizes, default=np.nan))


@check(
    "plate_height",
    "Force-plate height",
    compares="heights of the plates in the file compared with heights from markers of flat feet: largest difference "
    "between plates",
    causes="wrong corner heights, a cover or floor that was added later, a wrong height of the laboratory origin",
    place=121,
    turn=95,
    limit=PLATE_SHIFT_M,
    display_unit=(100.0, "cm"),
    findings={"plate-height": "Height of force plates and floor"},
    # exchanged or moved markers of the feet and exchanged plates have the same effect
    unless=("sides", "labels", "moved_marker", "plate_gain", "plate_axes"),
)
def check_plate_heights(trial: TrialFacts, limit: float) -> CheckResult:
    """Compare heights of the plates with the file."""
    inputs = trial.analysis.propagation
    if trial.evidence is None or inputs is None or not trial.has_markers or trial.analysis.recording.uses_poses:
        return CheckResult()
    foot_heights = measure_flat_feet(
        trial.evidence,
        trial.analysis.points,
        inputs.signals.markers,
        trial.foot_markers,
        trial.analysis.static.points if trial.analysis.static.source == "static trial" else {},
    )
    apart = [abs(higher) for higher in relative_heights(foot_heights).values()]
    notes = trial.tilt_findings or report_plate_heights(
        trial.evidence, foot_heights, trial.analysis.subject.height_m, limit
    )
    return CheckResult(value=max(apart, default=np.nan), findings=notes)


@check(
    "pressure",
    "Centre of pressure within the foot outline",
    compares="distance of the centre of pressure from the foot outline (95th percentile of a contact)",
    causes="corners, origin or offset of a plate, markers of the foot",
    place=150,
    turn=150,
    limit=0.03,  # m,
    display_unit=(100.0, "cm"),
    findings={"cop-outside-sole": "Centre of pressure outside the foot outline"},
    unless=("sides",),
)
def check_pressure_within_foot(trial: TrialFacts, limit: float) -> CheckResult:
    """Find contacts with a centre of pressure outside the foot."""
    if trial.evidence is None:
        return CheckResult()
    contacts = trial.analysis.contacts
    distances = [c.evidence.get("cop_distance_95_m", np.nan) for c in contacts if c.decision == "assigned"]
    findings = report_pressure_outside_sole(contacts, trial.rate_hz, limit)
    return CheckResult(value=float(max(distances, default=np.nan)), findings=findings)


_COVERAGE = "stance time of the {} foot with measured ground reaction, relative to its total stance time"
#: Text for imported motion without forces.
NO_FORCES = "No ground forces were given."
_SILENT_HINT = "This plate was switched off, not recorded, or has no vertical force. Check the plate and its channels."
_STANDING_HINT = (
    "The person stands still during the whole recording, as in a static trial. Analyse a walk instead. Its static "
    "trial is found in the same folder, or is specified with --static."
)
_CAUSES = "a foot off the plates, partly on a plate, or on the same plate as the other foot"


@check(
    "contacts",
    "Foot-plate contacts",
    compares="loads of the plates compared with the feet above them",
    causes="two feet on a plate, a foot across its edge, wrong position or channels of a plate",
    kind="result",
    place=40,
    limit=1.0,
)
def check_contacts(trial: TrialFacts, limit: float) -> CheckResult:
    """Check that there is at least one contact of a single foot, and list unused contacts with reasons."""
    if not trial.analysis.has_forces:
        return CheckResult("not_assessed", NO_FORCES)
    contacts_found = trial.analysis.contacts
    used = {side: sum(c.decision == "assigned" and c.side == side for c in contacts_found) for side in SIDES}
    not_used = [c for c in contacts_found if c.decision != "assigned"]
    text = "Used: " + ", ".join(f"{used[side]} of the {SIDE_NAMES[side]} foot" for side in SIDES) + "."
    if not_used:
        most = 4  # number of listed contacts
        listed = "; ".join(f"plate {c.plate} at {c.start_s:.2f} s, {c.reason}" for c in not_used[:most])
        text += f" Not used: {listed}{f'; and {len(not_used) - most} more' if len(not_used) > most else ''}."
    hint = (
        _STANDING_HINT
        if trial.analysis.activity.is_standing
        else "Joint moments need a contact of one whole foot alone on a plate. Record again, or check the plates."
    )
    return CheckResult("pass" if any(used.values()) else "fail", text, float(sum(used.values())), hint=hint)


def _add_coverage_check(side: Side, place: int) -> None:
    """Register the check of one leg."""

    @check(
        f"coverage-{SIDE_NAMES[side]}",
        f"Force-plate coverage, {SIDE_NAMES[side]} leg",
        compares=_COVERAGE.format(SIDE_NAMES[side]),
        causes=_CAUSES,
        kind="result",
        place=place,
        limit=0.0,
    )
    def check_coverage(trial: TrialFacts, limit: float) -> CheckResult:
        """Return the force-plate coverage of the leg."""
        if not trial.analysis.has_forces:
            return CheckResult("not_assessed", NO_FORCES)
        return _measured_stance_share(trial.analysis, side)


for _place, _side in enumerate(SIDES, start=50):
    _add_coverage_check(_side, _place)


def _measured_stance_share(analysis: TrialAnalysis, side: Side) -> CheckResult:
    """Return the measured fraction of the leg's stance time."""
    name = SIDE_NAMES[side]
    reaction = analysis.reaction
    if side not in reaction.measured or not reaction.on_floor[side].any():
        return CheckResult("not_assessed", f"The {name} foot was never on the ground.")
    floor, known = reaction.on_floor[side], reaction.measured[side]
    share = float(np.mean(known[floor]))
    used = any(c.decision == "assigned" and c.side == side for c in analysis.contacts)
    if used and share > 0.0:
        return CheckResult("pass", f"{100 * share:.0f} % of the {name} foot's time on the ground was measured.", share)
    return CheckResult(
        "warn",
        f"No stance of the {name} leg was measured ({_reasons_for_unused_contacts(analysis, side)}), so that its stance has no "
        "joint moments.",
        share,
        hint=_SILENT_HINT
        if _silent_plate_contacts(analysis, side)
        else f"Use a trial in which the whole {name} foot is alone on a plate. If it loaded a plate, directly or "
        "through a step, assign the load with [contacts] override (docs/settings.md).",
    )


def _silent_plate_contacts(analysis: TrialAnalysis, side: Side) -> list[str]:
    """Return descriptions of contacts of this foot on plates without load."""
    return list(dict.fromkeys(reason for reason in analysis.reaction.reason[side] if SILENT in reason))


def _reasons_for_unused_contacts(analysis: TrialAnalysis, side: Side) -> str:
    """Return reasons why no contact of this foot could be used."""
    refused = [c for c in analysis.contacts if c.decision != "assigned" and c.side in (side, None)]
    known = [f"plate {c.plate}: {c.reason}" for c in refused] + _silent_plate_contacts(analysis, side)
    if known:
        return "; ".join(known)
    floor = analysis.reaction.on_floor[side]
    reasons = Counter(reason for reason, on in zip(analysis.reaction.reason[side], floor, strict=True) if on and reason)
    common = reasons.most_common(1)
    return common[0][0] if common else "no plate contact"


@check(
    "joint-moments",
    "Joint moments",
    compares="stance frames with all joint moments of the leg, relative to all stance frames",
    causes="no usable contact, or no pose during the contact",
    kind="result",
    place=60,
    limit=0.0,
)
def check_joint_moments(trial: TrialFacts, limit: float) -> CheckResult:
    """Check that at least one frame has joint moments of a stance leg."""
    if not trial.analysis.has_forces:
        return CheckResult("not_assessed", NO_FORCES)
    dynamics = trial.analysis.dynamics
    known = frames_with_stance_moments(trial.analysis)
    share, residual = float(np.mean(known)), float(np.mean(dynamics.residual_valid))
    if known.any():
        text = (
            f"Joint moments of a stance leg are available in {100 * share:.0f} % of the frames; motion and forces can be "
            f"compared in {100 * residual:.0f} %."
        )
        return CheckResult("pass", text, share)
    reasons = Counter(reason for reason in dynamics.reason if reason).most_common(1)
    why = f": {reasons[0][0]}" if reasons else ""
    return CheckResult(
        "fail",
        f"No frame has joint moments of a stance leg{why}.",
        0.0,
        hint=_STANDING_HINT
        if trial.analysis.activity.is_standing
        else "The result cannot be used. See the checks of contacts, coverage and fitted frames.",
    )


def frames_with_stance_moments(analysis: TrialAnalysis) -> BoolArray:
    """Return the frames (T,) in which a foot is on the ground and every joint of its leg has a moment."""
    model, reaction, dynamics = analysis.model, analysis.reaction, analysis.dynamics
    sides: list[Side] = [side for side in reaction.wrench if side in model.sole_body]
    below = distal_feet(model, sides)
    known = np.zeros(len(dynamics.torque_valid), dtype=bool)
    for side in sides:
        columns = [i for i, c in enumerate(model.coordinates) if below[c.body] == [side]]
        if columns:
            known |= dynamics.torque_valid[:, columns].all(axis=1) & reaction.on_floor[side]
    return known


@check(
    "other_load",
    "Loads without a foot",
    compares="largest vertical force, relative to body weight, of a load that started and ended while no foot was near",
    causes="a crutch, a walker, a hand on the plate, another person",
    place=155,
    turn=15,
    limit=LEAST_BW,
    display_unit=(100.0, "%"),
    findings={"other-load": "Load without a foot"},
)
def check_loads_without_foot(trial: TrialFacts, limit: float) -> CheckResult:
    """Find loads of plates without a foot."""
    loads = trial.unexplained_loads
    findings = (load_without_foot_finding(loads, trial.rate_hz),) if loads else ()
    value = max((load.peak_n for load in loads), default=0.0) / trial.weight_n
    return CheckResult(value=value if trial.evidence is not None else np.nan, findings=findings)


def load_without_foot_finding(loads: Sequence[LoadWithoutFoot], rate_hz: float) -> Diagnostic:
    """Return one finding about all loads without a foot, with the largest force as its value."""
    descriptions = "; ".join(
        f"plate {load.plate}, {load.start_s:.2f} to {load.end_s:.2f} s, up to {load.peak_n:.0f} N" for load in loads
    )
    largest = max(loads, key=lambda load: load.peak_n)
    return Diagnostic(
        "other-load",
        "warning",
        f"Plates were loaded without a foot nearby ({descriptions}), probably by a crutch, a walker, a hand or "
        "another person. The load is not assigned to a foot.",
        value=largest.peak_n,
        unit="N",
        frames=(round(largest.start_s * rate_hz), round(largest.end_s * rate_hz)),
        hint="Torques of a leg are valid if the aid was not on the plate of its foot. Mass and residual are not "
        "assessed, and torques of trunk and arms are wrong, because the balance of the whole body does not "
        "include the load of the aid.",
    )
