"""Force plates: units, offset, channels and axes, position, and the centre of pressure on the foot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from biodyn.analysis import TrialAnalysis
from biodyn.checks.estimators.plate_faults import SOUND, mismatch, plate_faults
from biodyn.checks.estimators.plate_position import (
    estimate_shift,
    plate_height,
    plate_moved,
    relative_heights,
    standings,
)
from biodyn.checks.estimators.plate_signals import (
    BASELINE_N,
    CODE,
    LARGEST_FACTOR,
    empty_level,
    force_ratio,
    force_unit,
    moment_ratio,
    moment_unit,
    removed_level_n,
    silent_channel_findings,
    unremoved,
)
from biodyn.checks.estimators.signals import pressure_beside_sole
from biodyn.checks.facts import TrialFacts
from biodyn.checks.registry import CheckResult, check
from biodyn.conventions import SIDE_NAMES, SIDES, BoolArray, Side
from biodyn.diagnostics import Diagnostic
from biodyn.processing.contacts.loading import LEAST_BW, OtherLoad
from biodyn.processing.contacts.stances_off_plates import SILENT
from biodyn.processing.dynamics.solve import distal_feet

# Shift of a plate, m, from which it is reported: sound recordings show less (`library/checks/checks.toml`).
PLATE_SHIFT_M = 0.015
_OFFSET = {CODE: "Force-plate offset"}
_SILENT_CHANNEL = {"plate-channel-gain": "Force-plate channel without signal"}


@check(
    "force_unit",
    "Unit of the forces",
    compares="vertical force of the plates against that expected from body weight and motion",
    causes="kN for N, or a wrong scale of the channels",
    place=80,
    turn=20,
    limit=LARGEST_FACTOR,
    shown=(1.0, "times"),
    findings={"force-unit": "Unit of the forces"},
    unless=("sides",),
)
def unit_of_the_forces(trial: TrialFacts, limit: float) -> CheckResult:
    """Are the forces off by a factor that no person can make?"""
    if trial.evidence is None:
        return CheckResult()
    return CheckResult(value=force_ratio(trial.evidence), findings=force_unit(trial.evidence))


@check(
    "moment_unit",
    "Unit of the moments",
    compares="distance of the centre of pressure from the middle of its plate against that of the foot",
    causes="Nmm for Nm, or a wrong scale of the channels",
    place=90,
    turn=50,
    limit=LARGEST_FACTOR,
    shown=(1.0, "times"),
    findings={"moment-unit": "Unit of the moments"},
    # Where a channel or an axis is wrong, the centre of pressure says nothing about units or places any more.
    unless=("sides", "force_unit", "labels", "zero"),
)
def unit_of_the_moments(trial: TrialFacts, limit: float) -> CheckResult:
    """Are the moments off by a factor that no foot can make?"""
    if trial.evidence is None:
        return CheckResult()
    explained = bool(trial.swapped_plates)
    findings = () if explained else moment_unit(trial.evidence)
    return CheckResult(value=moment_ratio(trial.evidence), findings=findings)


@check(
    "zero",
    "Force-plate offset",
    compares="vertical force of a plate while no foot is above it, before the offset is removed",
    causes="plates not zeroed before the recording, drift of the amplifiers",
    place=100,
    turn=40,
    limit=BASELINE_N,
    shown=(1.0, "N"),
    findings=_OFFSET,
    unless=("sides",),
)
def offset_that_is_still_there(trial: TrialFacts, limit: float) -> CheckResult:
    """Does a plate show force while nobody is on it, even after its offset was removed?"""
    if trial.evidence is None:
        return CheckResult()
    plates, soles = trial.analysis.plates, trial.analysis.points.sole
    levels = [removed_level_n(plate) for plate in plates]
    remaining = [empty_level(plate, soles, trial.rate_hz) for plate in plates]
    levels += [level.force_n for level in remaining if level is not None]
    return CheckResult(value=max(levels, key=abs, default=np.nan), findings=unremoved(trial.plate_offsets))


@check(
    "removed_offset",
    "Force-plate offset",
    compares="vertical force of the unloaded plate in the file against zero",
    causes="plates not zeroed before the recording, drift of the amplifiers",
    kind="finding",  # the row of the other one shows it
    place=101,
    turn=100,
    limit=BASELINE_N,
    findings=_OFFSET,
    unless=("sides",),
)
def offset_that_was_removed(trial: TrialFacts, limit: float) -> CheckResult:
    """Was an offset removed that somebody should know of?"""
    remaining = unremoved(trial.plate_offsets)
    return CheckResult(findings=tuple(note for note in trial.plate_offsets if note not in remaining))


@check(
    "plate_gain",
    "Force-plate channels without signal",
    compares="contribution of each channel to force and moment of a plate while a foot stands on it alone",
    causes="a broken cable, an amplifier that was off, a wrong entry of FORCE_PLATFORM:CHANNEL",
    kind="finding",  # shown in the row of channels and axes
    place=109,
    turn=55,
    findings=_SILENT_CHANNEL,
    unless=("sides", "other_load", "force_unit", "labels", "zero", "moment_unit"),
)
def channels_without_signal(trial: TrialFacts, limit: float) -> CheckResult:
    """Find channels of loaded plates that have no signal."""
    if trial.evidence is None or trial.swapped_plates:
        return CheckResult()
    labels = [plate.channel_labels for plate in trial.analysis.recording.plates]
    return CheckResult(findings=silent_channel_findings(trial.evidence, trial.silent_channels, labels))


@check(
    "plate_axes",
    "Force-plate channels and axes",
    compares="centre of pressure against the foot outline, horizontal force and moment against the motion of the body: mean "
    "square in usual deviations, of the worst plate",
    causes="channels or cables swapped, corners in a wrong order, a sign",
    place=110,
    turn=60,
    limit=SOUND,
    shown=(1.0, ""),
    findings={
        "plates-swapped": "Force plates swapped",
        "plate-rotated": "Force plate rotated",
        "plate-axes-exchanged": "Force-plate axes swapped",
        "plate-corners-reversed": "Order of a plate's corners",
        "plate-moment-sign": "Plate moment sign",
        "plate-force-sign": "Plate force sign",
        **_SILENT_CHANNEL,
    },
    unless=("sides", "other_load", "force_unit", "labels", "zero", "moment_unit", "plate_gain"),
)
def channels_and_axes(trial: TrialFacts, limit: float) -> CheckResult:
    """Would a plate agree with feet and body once a simple fault of its channels is undone?"""
    evidence = trial.evidence
    if evidence is None:
        return CheckResult()
    off = [mismatch(evidence, number, plate) for number, plate in enumerate(evidence.plates)]
    worst = max((value.total for value in off if value is not None), default=np.nan)
    return CheckResult(value=worst, findings=trial.swapped_plates or plate_faults(evidence, trial.explained_plates))


@check(
    "plate_place",
    "Force-plate position",
    compares="shift of a plate for which its forces agree best with feet and body",
    causes="corners measured wrongly, a plate or the cameras' calibration moved",
    place=120,
    turn=90,
    limit=PLATE_SHIFT_M,
    shown=(100.0, "cm"),
    findings={"plate-moved": "Force-plate position"},
    # a marker of a foot moves the footprint as well
    unless=(
        "sides",
        "other_load",
        "force_unit",
        "labels",
        "zero",
        "moment_unit",
        "plate_gain",
        "plate_axes",
        "time_offset",
        "moved_marker",
    ),
)
def position_of_the_plates(trial: TrialFacts, limit: float) -> CheckResult:
    """Does a plate stand elsewhere than the file says?"""
    if trial.evidence is None:
        return CheckResult()
    shift = estimate_shift(trial.evidence)
    size = np.nan if shift is None else float(np.linalg.norm(shift.shift_m))
    return CheckResult(value=size, findings=plate_moved(trial.evidence, limit))


@check(
    "plate_height",
    "Force-plate height",
    compares="heights of the plates in the file against those at which flat feet stand on them, by their markers: largest "
    "difference between plates",
    causes="heights of corners measured wrongly, a cover or a floor laid later, the laboratory's zero",
    place=121,
    turn=95,
    limit=PLATE_SHIFT_M,
    shown=(100.0, "cm"),
    findings={"plate-height": "Force-plate height"},
    # exchanged or moved markers of the feet and exchanged plates say the same
    unless=("sides", "labels", "moved_marker", "plate_gain", "plate_axes"),
)
def height_of_the_plates(trial: TrialFacts, limit: float) -> CheckResult:
    """Does a plate lie higher or lower than the file says?"""
    inputs = trial.analysis.propagation
    if trial.evidence is None or inputs is None or not trial.has_markers or trial.analysis.recording.on_poses:
        return CheckResult()
    foot_heights = standings(
        trial.evidence,
        trial.analysis.points,
        inputs.signals.markers,
        trial.foot_markers,
        trial.analysis.static.points if trial.analysis.static.source == "static trial" else {},
    )
    apart = [abs(higher) for higher in relative_heights(foot_heights).values()]
    notes = plate_height(trial.evidence, foot_heights, trial.analysis.subject.height_m, limit)
    return CheckResult(value=max(apart, default=np.nan), findings=notes)


@check(
    "pressure",
    "Centre of pressure within the foot outline",
    compares="distance of the centre of pressure from the foot outline (95th percentile of a contact)",
    causes="corners, origin or offset of a plate, markers of the foot",
    place=150,
    turn=150,
    limit=0.03,  # m,
    shown=(100.0, "cm"),
    findings={"cop-outside-sole": "Centre of pressure outside the foot outline"},
    unless=("sides",),
)
def pressure_within_the_foot(trial: TrialFacts, limit: float) -> CheckResult:
    """Does the centre of pressure of a contact leave the foot?"""
    if trial.evidence is None:
        return CheckResult()
    contacts = trial.analysis.contacts
    distances = [c.evidence.get("cop_distance_95_m", np.nan) for c in contacts if c.decision == "assigned"]
    findings = pressure_beside_sole(contacts, trial.rate_hz, limit)
    return CheckResult(value=float(max(distances, default=np.nan)), findings=findings)


_COVERAGE = "time of the {} foot on the ground against the time in which its ground reaction was measured"
#: Of a motion on a model without any forces.
NO_FORCES = "No ground forces were given."
_SILENT_HINT = "That plate was switched off, not recorded, or lost its vertical force: check it and its channels."
_STANDING_HINT = (
    "The person stands still all the time, as in a static trial: run a walk instead, which finds it beside itself or is told it "
    "with --static."
)
_BESIDE = "a foot beside the plates, half on one, or together with the other foot"


@check(
    "contacts",
    "Foot-plate contacts",
    compares="loadings of the plates against the feet above them",
    causes="two feet on a plate, a foot over its edge, a plate of another place or channel",
    kind="result",
    place=40,
    limit=1.0,
)
def contacts(trial: TrialFacts, limit: float) -> CheckResult:
    """At least one contact must be known to be of one foot; contacts that were not used are told with their reasons."""
    if not trial.analysis.has_forces:
        return CheckResult("not_assessed", NO_FORCES)
    contacts_found = trial.analysis.contacts
    used = {side: sum(c.decision == "assigned" and c.side == side for c in contacts_found) for side in SIDES}
    not_used = [c for c in contacts_found if c.decision != "assigned"]
    text = "Used: " + ", ".join(f"{used[side]} of the {SIDE_NAMES[side]} foot" for side in SIDES) + "."
    if not_used:
        text += " Not used: " + "; ".join(f"plate {c.plate} at {c.start_s:.2f} s, {c.reason}" for c in not_used) + "."
    hint = (
        _STANDING_HINT
        if trial.analysis.activity.is_standing
        else "Only a contact of one whole foot gives joint moments of that leg's stance: record again, or check the plates."
    )
    return CheckResult("pass" if any(used.values()) else "fail", text, float(sum(used.values())), hint=hint)


def _add_coverage(side: Side, place: int) -> None:
    """Register the check of one leg: the same question for both."""

    @check(
        f"coverage-{SIDE_NAMES[side]}",
        f"Force-plate coverage, {SIDE_NAMES[side]} leg",
        compares=_COVERAGE.format(SIDE_NAMES[side]),
        causes=_BESIDE,
        kind="result",
        place=place,
        limit=0.0,
    )
    def coverage(trial: TrialFacts, limit: float) -> CheckResult:
        """Force-plate coverage of the leg."""
        if not trial.analysis.has_forces:
            return CheckResult("not_assessed", NO_FORCES)
        return _coverage(trial.analysis, side)


for _place, _side in enumerate(SIDES, start=50):
    _add_coverage(_side, _place)


def _coverage(analysis: TrialAnalysis, side: Side) -> CheckResult:
    """Was any stance of this leg measured, and how much of its time on the ground?"""
    name = SIDE_NAMES[side]
    reaction = analysis.reaction
    if side not in reaction.measured or not reaction.on_floor[side].any():
        return CheckResult("not_assessed", f"The {name} foot was never seen on the ground.")
    floor, known = reaction.on_floor[side], reaction.measured[side]
    share = float(np.mean(known[floor]))
    used = any(c.decision == "assigned" and c.side == side for c in analysis.contacts)
    if used and share > 0.0:
        return CheckResult("pass", f"{100 * share:.0f} % of the {name} foot's time on the ground was measured.", share)
    return CheckResult(
        "warn",
        f"No stance of the {name} leg was measured ({_why(analysis, side)}); no moments for that leg on the ground.",
        share,
        hint=_SILENT_HINT
        if _on_silent_plates(analysis, side)
        else f"Use a trial in which the {name} foot hits a plate as a whole, and alone.",
    )


def _on_silent_plates(analysis: TrialAnalysis, side: Side) -> list[str]:
    """Where this foot stood on a plate that showed no load, for people, each once."""
    return list(dict.fromkeys(reason for reason in analysis.reaction.reason[side] if SILENT in reason))


def _why(analysis: TrialAnalysis, side: Side) -> str:
    """Why no contact of this foot could be used, or else where it stood."""
    refused = [c for c in analysis.contacts if c.decision != "assigned" and c.side in (side, None)]
    known = [f"plate {c.plate}: {c.reason}" for c in refused] + _on_silent_plates(analysis, side)
    if known:
        return "; ".join(known)
    floor = analysis.reaction.on_floor[side]
    reasons = Counter(reason for reason, on in zip(analysis.reaction.reason[side], floor, strict=True) if on and reason)
    common = reasons.most_common(1)
    return common[0][0] if common else "no plate contact"


@check(
    "joint-moments",
    "Joint moments",
    compares="frames with a leg on the ground against those in which all its joint moments are known",
    causes="no contact that could be used, or no pose while there was one",
    kind="result",
    place=60,
    limit=0.0,
)
def joint_moments(trial: TrialFacts, limit: float) -> CheckResult:
    """A trial without the moment of a single leg joint in stance has not answered the question."""
    if not trial.analysis.has_forces:
        return CheckResult("not_assessed", NO_FORCES)
    dynamics = trial.analysis.dynamics
    known = stance_moments_known(trial.analysis)
    share, residual = float(np.mean(known)), float(np.mean(dynamics.residual_valid))
    if known.any():
        text = (
            f"A leg on the ground has moments in {100 * share:.0f} % of the frames; motion and forces can be compared in "
            f"{100 * residual:.0f} %."
        )
        return CheckResult("pass", text, share)
    reasons = Counter(reason for reason in dynamics.reason if reason).most_common(1)
    why = f": {reasons[0][0]}" if reasons else ""
    return CheckResult(
        "fail",
        f"No frame has the moment of a leg on the ground{why}.",
        0.0,
        hint=_STANDING_HINT
        if trial.analysis.activity.is_standing
        else "See the checks of contacts, coverage and fitted frames; there is no result to use.",
    )


def stance_moments_known(analysis: TrialAnalysis) -> BoolArray:
    """Frames (T,) in which a foot is on the ground and every joint of its leg has a moment."""
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
    compares="loads of the plates against the feet: largest vertical force of a load that came and went while no foot was near, "
    "of body weight",
    causes="a crutch, a walker, a hand on the plate, another person",
    place=155,
    turn=15,
    limit=LEAST_BW,
    shown=(100.0, "%"),
    findings={"other-load": "Load without a foot"},
)
def loads_without_a_foot(trial: TrialFacts, limit: float) -> CheckResult:
    """Did something else than a foot load a plate?"""
    loads = trial.unexplained_loads
    findings = (other_load_finding(loads, trial.rate_hz),) if loads else ()
    value = max((load.peak_n for load in loads), default=0.0) / trial.weight_n
    return CheckResult(value=value if trial.evidence is not None else np.nan, findings=findings)


def other_load_finding(loads: Sequence[OtherLoad], rate_hz: float) -> Diagnostic:
    """Name the loads; the largest is the value."""
    descriptions = "; ".join(
        f"plate {load.plate}, {load.start_s:.2f} to {load.end_s:.2f} s, up to {load.peak_n:.0f} N" for load in loads
    )
    largest = max(loads, key=lambda load: load.peak_n)
    return Diagnostic(
        "other-load",
        "warning",
        f"Plates were loaded without a foot nearby ({descriptions}): a crutch, a walker, a hand or another person. The load is "
        "not assigned to a foot.",
        value=largest.peak_n,
        unit="N",
        frames=(round(largest.start_s * rate_hz), round(largest.end_s * rate_hz)),
        hint="Torques of a leg are valid if the aid was on another plate than its foot. Mass and residual are not assessed, and "
        "torques of trunk and arms are wrong, because the load of the aid is missing in the balance of the whole body.",
    )
