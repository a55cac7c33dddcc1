"""Compare an analysis with the channels that laboratory software stored in a file of the same recording."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from biodyn.comparison.differences import (
    LEAST_FRAMES,
    OF_COORDINATE,
    Difference,
    DifferenceFact,
    curve_difference,
    explained_share,
    joint_label,
    list_difference_facts,
    match_analyses,
)
from biodyn.comparison.moment_convention import (
    FILTER,
    FRAMES,
    SHIFT,
    SIGN,
    UNIT,
    ConventionMatch,
    apply_common_unit,
    curve_causes,
    expected_convention,
    frame_axes,
    laboratory_body,
    load_laboratory_table,
    match_convention,
    measured_wrenches,
    moment_from_channel,
)
from biodyn.comparison.part_exchange import Exchange
from biodyn.comparison.segments import (
    PLANES,
    MovingBody,
    ground_joint_moments,
    inertial_joint_moments,
    resolve_in_planes,
)
from biodyn.conventions import SIDE_NAMES, SIDES, BoolArray, FloatArray, Side, other_side
from biodyn.errors import ResultError
from biodyn.io.opensim.storage import read_storage
from biodyn.library.tables import fill_side
from biodyn.output.store.folder import COORDINATES, KIND_ENTRY, read_raw_record
from biodyn.output.store.result_reader import ResultFolder
from biodyn.processing.signals.filtering import finite_stretches
from biodyn.processing.signals.signal_preparation import stored_method
from biodyn.processing.signals.smoothing.butterworth import ESTIMATE
from biodyn.recording import Contact, Recording

#: Suffixes of OpenSim tables.
SUFFIXES = (".sto", ".mot")
_TABLE = "joint_torques"
_THEIR_TORQUE, _OUR_TORQUE = "_moment", "_Nm"


@dataclass(frozen=True)
class TorqueTable:
    """Joint torques (T,), Nm, by coordinate name at time_s (T,); mass_kg of the body, NaN if unknown."""

    name: str
    time_s: FloatArray
    torques: Mapping[str, FloatArray]
    mass_kg: float


def torque_table_of_folder(folder: Path) -> TorqueTable | None:
    """Read the joint torques from the result folder of a trial on an OpenSim model; None for any other folder."""
    record = read_raw_record(folder)
    if record is None or record.get(KIND_ENTRY) != COORDINATES:
        return None
    result = ResultFolder(folder)
    comparison = torque_table_of_frame(str(folder), result.table(_TABLE), float(record["subject"]["mass_kg"]))
    # on the clock of the motion file, as in tables of other programs
    return replace(comparison, time_s=comparison.time_s + float(record["input"]["start_s"]))


def torque_table_of_frame(name: str, table: pd.DataFrame, mass_kg: float) -> TorqueTable:
    """Return the joint torques that a table of a result contains."""
    torques = {
        str(column).removesuffix(_OUR_TORQUE): table[column].to_numpy(dtype=np.float64)
        for column in table.columns
        if str(column).endswith(_OUR_TORQUE)
    }
    return TorqueTable(name, table["time_s"].to_numpy(dtype=np.float64), torques, mass_kg)


def torque_table_of_file(path: Path) -> TorqueTable:
    """Read the joint torques of an OpenSim table; ResultError if it has none."""
    storage = read_storage(path)
    torques = {
        name.removesuffix(_THEIR_TORQUE): storage.column(name) for name in storage.names if name.endswith(_THEIR_TORQUE)
    }
    if not torques:
        raise ResultError(
            f"'{path}' contains no joint torques: no column name ends in {_THEIR_TORQUE}.",
            "Give the output table of OpenSim's inverse dynamics.",
        )
    return TorqueTable(str(path), storage.time_s, torques, float("nan"))


def compare_torque_tables(ours: TorqueTable, theirs: TorqueTable) -> dict[str, Any]:
    """Return arguments of `Comparison`: differences of the common torques, and causes that the curves indicate."""
    names = [
        name
        for name, values in ours.torques.items()
        if name in theirs.torques and np.isfinite(values).sum() >= LEAST_FRAMES
    ]
    if not names:
        raise ResultError(
            f"'{ours.name}' and '{theirs.name}' have no torques with the same names.",
            f"Torques of the first: {', '.join(list(ours.torques)[:4])}; of the second: {', '.join(list(theirs.torques)[:4])}.",
        )
    time_s, note = _common_time(ours, theirs)
    first = np.stack([ours.torques[name] for name in names], axis=1)
    other = np.stack([np.interp(time_s, theirs.time_s, theirs.torques[name], np.nan, np.nan) for name in names], axis=1)
    rate_hz = (len(ours.time_s) - 1) / float(ours.time_s[-1] - ours.time_s[0])
    frames = np.asarray(np.isfinite(first).all(axis=1) & np.isfinite(other).all(axis=1))
    if frames.sum() < LEAST_FRAMES:
        raise ResultError(
            f"'{ours.name}' and '{theirs.name}' have only {frames.sum()} common frames.",
            "Give a table of the same recording.",
        )
    causes = curve_causes(first, other, rate_hz, ours.mass_kg)
    differences: list[Difference] = []
    for c, name in enumerate(names):
        parts = {cause: part[:, c] for cause, part in causes.parts.items()}
        coordinate_difference = curve_difference(
            name, "", OF_COORDINATE, "moment", (first[:, c], other[:, c]), parts, frames
        )
        differences.append(coordinate_difference)
    turned = [name for name, sign in zip(names, causes.signs, strict=True) if sign < 0]
    facts = [DifferenceFact(SIGN, f"{name} has the opposite sign") for name in turned]
    if causes.unit != "Nm":
        facts.append(DifferenceFact(UNIT, f"the second is in {causes.unit}"))
    if causes.shift_s:
        facts.append(DifferenceFact(SHIFT, f"the second is delayed by {1e3 * causes.shift_s:+.0f} ms"))
    if causes.filter is not None:
        which = "the second" if causes.filter[1] else "the first"
        facts.append(
            DifferenceFact(FILTER, f"{which} is smoother (estimated low-pass cut-off {causes.filter[0].low_hz:.3g} Hz)")
        )
    left_out = (
        "A table of torques does not contain joint centres, axes, inertias, forces or the filter of the "
        "motion; their share of the difference is unexplained."
    )
    return {"time_s": ours.time_s, "differences": tuple(differences), "facts": tuple(facts), "notes": (*note, left_out)}


def _common_time(ours: TorqueTable, theirs: TorqueTable) -> tuple[FloatArray, tuple[str, ...]]:
    """Return the times of the result on the clock of the table, and notes; times of results start at the first frame."""
    inside = (ours.time_s >= theirs.time_s[0] - 1e-6) & (ours.time_s <= theirs.time_s[-1] + 1e-6)
    if inside.sum() >= LEAST_FRAMES:
        return ours.time_s, ()
    if len(ours.time_s) == len(theirs.time_s):
        return theirs.time_s, ("The times differ; the tables are compared row by row.",)
    return ours.time_s, ()


# Unfiltered forces are assumed if they explain this much more of the difference.
_LEAST_GAIN = 0.02
_ASSUMED = (
    "It is assumed that the software did not filter the plate forces, because this explains more of the difference."
)


@dataclass(frozen=True)
class _StoredJoint:
    """A joint with a channel in the file.

    segment: index of its distal segment. entry: its entry in the table of channels. channel, other: stored curves (T, 3) of
    this side and of the other side.
    """

    segment: int
    side: Side
    entry: Mapping[str, Any]
    channel: FloatArray
    other: FloatArray | None


#: Time (T,) s, differences, facts and notes of a `Comparison`.
FileComparison = tuple[FloatArray, tuple[Difference, ...], tuple[DifferenceFact, ...], tuple[str, ...]]


def compare_with_channels(ours: MovingBody, recording: Recording, record: Mapping[str, Any]) -> FileComparison:
    """Compare an analysis with the channels in a file of the same recording.

    `record`: record of the result with contacts, body mass and filters. Raises ResultError if the file is of another recording,
    or contains no known joint moments or angles.
    """
    _require_same_recording(ours, recording)
    mass_kg = recording.subject.mass_kg or float(record["subject"]["mass_kg"])
    contacts = [_read_contact(entry) for entry in record.get("contacts") or ()]
    laboratory = laboratory_body(recording, ours, contacts, mass_kg)
    if laboratory is not None:
        return _compare_channels(ours, laboratory, recording, record, mass_kg, ())
    plain = _compare_channels(ours, ours, recording, record, mass_kg, (_no_segments_note(recording),))
    unfiltered = replace(ours, wrench=measured_wrenches(recording, ours, contacts))
    if not np.any(unfiltered.wrench):
        return plain
    assumed = _compare_channels(ours, unfiltered, recording, record, mass_kg, (_no_segments_note(recording), _ASSUMED))
    gained = explained_share(assumed[1], "moment") - explained_share(plain[1], "moment")
    return assumed if gained > _LEAST_GAIN else plain


def _compare_channels(
    ours: MovingBody,
    theirs: MovingBody,
    recording: Recording,
    record: Mapping[str, Any],
    mass_kg: float,
    notes: tuple[str, ...],
) -> FileComparison:
    """Compare an analysis with the channels of a file.

    theirs: analysis of the laboratory software, as stored in the file or, if its segments are missing, assumed.
    """
    exchange = _make_exchange(ours, theirs, record)
    moments = list(_stored_joints(exchange.a, recording, "moment", ours))
    if not moments:
        raise ResultError(
            f"'{recording.path}' contains no joint moments with known names.",
            "Results, and channels of Plug-in Gait (LHipMoment, RKneeMoment ...), can be compared.",
        )
    exchange, unloaded = _without_unused_stances(exchange, moments)
    differences, readings = _compare_moments(exchange, moments, mass_kg, is_known=not notes)
    differences += _compare_angles(exchange, list(_stored_joints(exchange.a, recording, "angle", ours)))
    used = sorted({joint.segment for joint in moments})
    said = [
        *_convention_facts(exchange, readings),
        *list_difference_facts(exchange, used, stored_method(record) == ESTIMATE),
    ]
    return exchange.a.time_s, tuple(differences), tuple(said), (*notes, *unloaded)


def _without_unused_stances(exchange: Exchange, joints: Sequence[_StoredJoint]) -> tuple[Exchange, tuple[str, ...]]:
    """Return the exchange without the stances for which the laboratory software used no plate, and a sentence for each leg.

    Without the ground reaction, the stored moments of a stance are as small as those of swing (at the ankle about 1 %). The
    ratio of stored to computed moment is then much smaller than in other stances, whatever the unit of the stored moments.
    """
    least_ratio = 0.1  # share of the largest ratio; the ratios of stances differ by 5 % in 14 public walks
    body = exchange.b
    computed = inertial_joint_moments(body.motion, body.inertias, body.gravity_W, body.is_distal)
    computed = computed + ground_joint_moments(body.motion, body.wrench, body.is_distal)
    stances: list[tuple[Side, int, int, float]] = []
    for side in SIDES:
        of_side = [joint for joint in joints if joint.side == side]
        for first, stop in finite_stretches(_loaded_frames(body, of_side)) if of_side else ():
            rows = np.arange(first, stop)
            stored = rows[np.all([np.isfinite(joint.channel[rows]).all(axis=1) for joint in of_side], axis=0)]
            ratio = 0.0
            if len(stored) >= LEAST_FRAMES:
                sizes = [np.linalg.norm(joint.channel[stored]) for joint in of_side]
                own = [np.linalg.norm(computed[stored, joint.segment]) for joint in of_side]
                ratio = float(np.min(np.divide(sizes, own)))
            if len(rows) >= LEAST_FRAMES:
                stances.append((side, first, stop, ratio))
    largest = max((ratio for *_, ratio in stances), default=0.0)
    valid, notes = body.valid.copy(), []
    for side in SIDES:
        left_out = [
            (first, stop) for foot, first, stop, ratio in stances if foot == side and ratio < least_ratio * largest
        ]
        for first, stop in left_out:
            valid[first:stop, [joint.segment for joint in joints if joint.side == side]] = False
        if left_out:
            spans = ", ".join(f"{body.time_s[first]:.2f} to {body.time_s[stop - 1]:.2f} s" for first, stop in left_out)
            notes.append(
                f"The laboratory's software used no force plate for the {SIDE_NAMES[side]} leg ({spans}): the file "
                f"has no moments of this stance, or only moments as small as in swing. The stance is excluded."
            )
    return replace(exchange, b=replace(body, valid=valid)), tuple(notes)


def _loaded_frames(body: MovingBody, joints: Sequence[_StoredJoint]) -> BoolArray:
    """Return a mask (T,) of the frames in which the ground loads a segment distal to the joints and all their moments are
    valid."""
    segments = [joint.segment for joint in joints]
    on_leg = body.wrench[:, body.is_distal[segments].any(axis=0)]
    return np.asarray((on_leg != 0.0).any(axis=(1, 2)) & body.valid[:, segments].all(axis=1))


def _require_same_recording(ours: MovingBody, recording: Recording) -> None:
    markers = recording.motion.markers
    frames = 0 if markers is None else markers.frame_count
    rate_hz = 0.0 if markers is None else markers.rate_hz
    own_hz = (len(ours.time_s) - 1) / (ours.time_s[-1] - ours.time_s[0])
    if frames != len(ours.time_s) or abs(rate_hz - own_hz) > 1e-3 * own_hz:
        raise ResultError(
            f"'{recording.path}' has {frames} frames at {rate_hz:g} Hz, but the result {len(ours.time_s)} at "
            f"{own_hz:g} Hz, so they are not the same recording.",
            "Give the analysed file, or a copy of it with model outputs.",
        )


def _make_exchange(ours: MovingBody, theirs: MovingBody, record: Mapping[str, Any]) -> Exchange:
    if theirs is ours:
        return match_analyses(ours, ours, (0.0, 0.0), (0.0, 0.0))
    own_hz = record.get("force_cutoff_hz")
    return match_analyses(ours, theirs, None, None if own_hz is None else (float(own_hz), 0.0))


def _read_contact(entry: Mapping[str, Any]) -> Contact:
    return Contact(
        int(entry["plate"]), float(entry["start_s"]), float(entry["end_s"]), entry["side"], entry["decision"], ""
    )


def _stored_joints(body: MovingBody, recording: Recording, quantity: str, ours: MovingBody) -> Iterator[_StoredJoint]:
    """Yield the joints with a channel in the file, for the frames of `body`."""
    inside = np.isin(ours.time_s, body.time_s)
    outputs = recording.model_outputs

    def find_channel(entry: Mapping[str, Any]) -> FloatArray | None:
        name = next((name for name in entry["channels"] if name in outputs), None)
        return None if name is None else np.asarray(outputs[name].values[inside], dtype=np.float64)

    for raw in load_laboratory_table()[quantity]:
        both = {side: fill_side(raw, side) for side in SIDES}
        for side, entry in both.items():
            segment = next(
                (s for s, at in enumerate(zip(body.joints, body.sides, strict=True)) if at == (entry["joint"], side)),
                None,
            )
            values = find_channel(entry)
            if segment is not None and values is not None:
                yield _StoredJoint(segment, side, entry, values, find_channel(both[other_side(side)]))


def _compare_moments(
    exchange: Exchange, joints: Sequence[_StoredJoint], mass_kg: float, is_known: bool
) -> tuple[list[Difference], dict[int, ConventionMatch]]:
    a, b = exchange.a, exchange.b
    computed = inertial_joint_moments(b.motion, b.inertias, b.gravity_W, b.is_distal)
    computed = computed + ground_joint_moments(b.motion, b.wrench, b.is_distal)
    readings = apply_common_unit([_match_moment_convention(b, joint, computed, mass_kg) for joint in joints])
    if not is_known:
        readings = [
            _prefer_usual_convention(reading, joint, joints, readings)
            for reading, joint in zip(readings, joints, strict=True)
        ]
    parts, first, _ = exchange.moment_parts()
    differences = []
    for joint, reading in zip(joints, readings, strict=True):
        s = joint.segment
        frames = _common_frames(b, joint)
        if frames.sum() < LEAST_FRAMES:
            continue
        theirs, as_expected = (
            _moments_in_planes(b, joint, way, mass_kg) for way in (reading.convention, reading.expected)
        )
        side_parts = {cause: part[:, s] for cause, part in parts.items()}
        if reading.deviations:
            side_parts[" and ".join(reading.deviations)] = as_expected - theirs
        for plane, name in enumerate(PLANES):
            curves = {cause: part[:, plane] for cause, part in side_parts.items()}
            ends = (first[:, s, plane], as_expected[:, plane])
            differences.append(curve_difference(a.joints[s], joint.side, name, "moment", ends, curves, frames))
    return differences, dict(zip([joint.segment for joint in joints], readings, strict=True))


def _prefer_usual_convention(
    reading: ConventionMatch, joint: _StoredJoint, joints: Sequence[_StoredJoint], readings: Sequence[ConventionMatch]
) -> ConventionMatch:
    """Return the usual convention unless the joint of the other side deviates from it in the same way.

    A deviation on one side only is attributed to rotated segment axes and kept as an alternative.
    """
    partners = [
        other
        for other, at in zip(readings, joints, strict=True)
        if at.entry["joint"] == joint.entry["joint"] and at.side != joint.side
    ]
    if not reading.deviations or any(other.deviations == reading.deviations for other in partners):
        return reading
    return replace(reading, convention=reading.expected, alternatives=(*reading.alternatives, reading.convention))


def _match_moment_convention(
    b: MovingBody, joint: _StoredJoint, computed: FloatArray, mass_kg: float
) -> ConventionMatch:
    s = joint.segment
    axes = {frame: frame_axes(frame, b.motion, b.parents[s], s) for frame in FRAMES}
    channels = {"own": joint.channel} | ({} if joint.other is None else {"other": joint.other})
    expected = expected_convention(joint.entry, joint.side)
    return match_convention(channels, computed[:, s], axes, expected, mass_kg, _common_frames(b, joint))


def _common_frames(b: MovingBody, joint: _StoredJoint) -> BoolArray:
    """Return a mask (T,) of the frames with a stored and a computed moment; a stored moment of zero is a missing value."""
    there = np.isfinite(joint.channel).all(axis=1) & (joint.channel != 0.0).any(axis=1)
    return np.asarray(b.valid[:, joint.segment] & there)


def _moments_in_planes(b: MovingBody, joint: _StoredJoint, way: Any, mass_kg: float) -> FloatArray:
    s = joint.segment
    channel = joint.channel if way.side == "own" or joint.other is None else joint.other
    moment_W = moment_from_channel(channel, frame_axes(way.frame, b.motion, b.parents[s], s), way, mass_kg)
    every = np.zeros(b.motion.p.shape)
    every[:, s] = moment_W
    return resolve_in_planes(every, b.motion, b.parents)[:, s]


def _compare_angles(exchange: Exchange, joints: Sequence[_StoredJoint]) -> list[Difference]:
    parts, first, _ = exchange.angle_parts()
    differences = []
    for joint in joints:
        s = joint.segment
        signs = np.array(joint.entry["signs"], dtype=np.float64)
        if joint.entry.get("mirrored") and joint.side == "l":
            signs[1:] *= -1.0
        frames = np.isfinite(joint.channel).all(axis=1) & (joint.channel != 0.0).any(axis=1)
        if frames.sum() < LEAST_FRAMES:
            continue
        for plane, name in enumerate(PLANES):
            curves = {cause: np.rad2deg(part[:, s, plane]) for cause, part in parts.items()}
            ends = (np.rad2deg(first[:, s, plane]), signs[plane] * joint.channel[:, plane])
            differences.append(curve_difference(exchange.a.joints[s], joint.side, name, "angle", ends, curves, frames))
    return differences


def _convention_facts(exchange: Exchange, readings: Mapping[int, ConventionMatch]) -> Iterator[DifferenceFact]:
    for s, reading in readings.items():
        name = joint_label(exchange, s)
        if not reading.is_determined:
            yield DifferenceFact(
                "convention",
                f"{name}: the convention of the stored moment cannot be determined, because it differs too much from "
                f"the computed one",
            )
        elif reading.deviations:
            others = "".join(f", or {way.description}" for way in reading.alternatives[:2])
            yield DifferenceFact(
                " and ".join(reading.deviations),
                f"{name}: the convention of the file is {reading.convention.description}{others}; the usual one is "
                f"{reading.expected.description}",
            )


def _no_segments_note(recording: Recording) -> str:
    return (
        f"'{recording.path.name}' does not contain the segments of the laboratory software (points such as LFEO, "
        f"LFEA). Joint centres, axes, inertias and filters cannot be exchanged, and their share of the difference is unexplained."
    )
