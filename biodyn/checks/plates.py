"""Force plates: units, offset, channels and axes, position, and the centre of pressure on the foot."""

from __future__ import annotations

import numpy as np

from biodyn.checks.estimators.plate_faults import SOUND, mismatch, plate_faults
from biodyn.checks.estimators.plate_height import plate_height, relative_heights, standings
from biodyn.checks.estimators.plate_moved import estimate_shift, plate_moved
from biodyn.checks.estimators.signals import pressure_beside_sole
from biodyn.checks.estimators.units import LARGEST_FACTOR, force_ratio, force_unit, moment_ratio, moment_unit
from biodyn.checks.estimators.zero import CODE, empty_level, removed_level_n, silent_channel_findings, unremoved
from biodyn.checks.facts import TrialFacts
from biodyn.checks.registry import CheckResult, check

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
    found = () if explained else moment_unit(trial.evidence)
    return CheckResult(value=moment_ratio(trial.evidence), findings=found)


@check(
    "zero",
    "Force-plate offset",
    compares="vertical force of a plate while no foot is above it, before the offset is removed",
    causes="plates not zeroed before the recording, drift of the amplifiers",
    place=100,
    turn=40,
    limit="limits.baseline_n",
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
    left = [empty_level(plate, soles, trial.rate_hz) for plate in plates]
    levels += [level.force_n for level in left if level is not None]
    return CheckResult(value=max(levels, key=abs, default=np.nan), findings=unremoved(trial.plate_offsets))


@check(
    "removed_offset",
    "Force-plate offset",
    compares="vertical force of the unloaded plate in the file against zero",
    causes="plates not zeroed before the recording, drift of the amplifiers",
    kind="finding",  # the row of the other one shows it
    place=101,
    turn=100,
    limit="limits.baseline_n",
    findings=_OFFSET,
    unless=("sides",),
)
def offset_that_was_removed(trial: TrialFacts, limit: float) -> CheckResult:
    """Was an offset removed that somebody should know of?"""
    left = unremoved(trial.plate_offsets)
    return CheckResult(findings=tuple(note for note in trial.plate_offsets if note not in left))


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
    limit="limits.plate_shift_m",
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
    limit="limits.plate_shift_m",
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
    found = standings(
        trial.evidence,
        trial.analysis.points,
        inputs.signals.markers,
        trial.foot_markers,
        trial.analysis.static.points if trial.analysis.static.source == "static trial" else {},
    )
    apart = [abs(higher) for higher in relative_heights(found).values()]
    notes = plate_height(trial.evidence, found, trial.analysis.subject.height_m, limit)
    return CheckResult(value=max(apart, default=np.nan), findings=notes)


@check(
    "pressure",
    "Centre of pressure within the foot outline",
    compares="distance of the centre of pressure from the foot outline (95th percentile of a contact)",
    causes="corners, origin or offset of a plate, markers of the foot",
    place=150,
    turn=150,
    limit="limits.pressure_outside_m",
    shown=(100.0, "cm"),
    findings={"cop-outside-sole": "Centre of pressure outside the foot outline"},
    unless=("sides",),
)
def pressure_within_the_foot(trial: TrialFacts, limit: float) -> CheckResult:
    """Does the centre of pressure of a contact leave the foot?"""
    if trial.evidence is None:
        return CheckResult()
    contacts = trial.analysis.contacts
    beside = [c.evidence.get("cop_distance_95_m", np.nan) for c in contacts if c.decision == "assigned"]
    found = pressure_beside_sole(contacts, trial.rate_hz, limit)
    return CheckResult(value=float(max(beside, default=np.nan)), findings=found)
