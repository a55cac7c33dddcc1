"""Strikes that no plate sees: when they are, and the moments before them.

    python benchmarks/unmeasured_strikes.py [--simulated SEEDS] [FOLDER ...]     without a folder: those of BIODYN_TEST_DATA

Walks are filtered, not estimated, and each plate that a foot strikes is taken out of the recording in turn. When: the first frame
in which the sole stands, the likelihood of contact, and that likelihood learnt from the other laboratories; each less its median
difference to the trial's other strikes on plates. The program takes the likelihood's where a foot walks and the sole's elsewhere.
Before: hip, knee and ankle flexion of the last 0.12 s before the strike and of the frames after it that are still believed to be
swing, against those with the plate; how many lie within two of the standard deviations that are told for what is expected ahead.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from common import Record, Stopwatch, Table, parser_of, real_recordings, tell, walks_below
from common.contact_learning import Seen, learnt
from simulator.rough_walks import class_of, rough_recording

from biodyn.analysis import TrialAnalysis
from biodyn.conventions import FloatArray
from biodyn.errors import BiodynError
from biodyn.processing.contacts.foot_motion import foot_outline
from biodyn.processing.dynamics.inverse_dynamics import Dynamics, solve_dynamics
from biodyn.processing.gait.events import plate_events
from biodyn.processing.gait.kinematic_events import (
    contact_transition,
    correct_mean_delays,
    foot_excursion_events,
    foot_kinematics,
    kinematic_events,
)
from biodyn.processing.signals.filtering import finite_stretches
from biodyn.recording import Contact, GaitEvent
from biodyn.settings import settings_from
from biodyn.trial.run import analyse_trial
from biodyn.trial.steps import STEPS
from biodyn.trial.trial_files import read_files

_FOLDERS = ("gait", "opensim/c3d_to_grf", "reader/c3d_org")
_FILTERED = {"signals": {"method": "butterworth"}}
_UP_TO_TORQUES = STEPS[: [step.name for step in STEPS].index("estimate")]
_SAME_S, _FAR_S = 0.15, 0.07
_BEFORE_S, _AFTER_S = 0.12, 0.05
_MOMENTS = ("hip_flexion", "knee_angle", "ankle_angle")
_WAYS = ("sole stands", "likelihood of contact", "laboratory left out")


@dataclass(frozen=True)
class Strike:
    """One strike on a plate. late_s: by the ways that need no other laboratory, NaN where one shows none."""

    trial: int
    seen: Seen
    late_s: Mapping[str, float]


@dataclass(frozen=True)
class Before:
    """The frames (n, 3) before a strike whose plate is hidden: errors and standard deviations, Nm/kg.

    lost_s: of the time before it nothing is known. early: frames after it that are believed to be swing.
    """

    errors: FloatArray
    sd: FloatArray
    lost_s: float
    early: int


def main() -> None:
    """Print both tables."""
    parser = parser_of(__doc__, folders=True)
    parser.add_argument("--simulated", default="", help="seeds of rough walks, as 0-11, instead of recordings")
    arguments = parser.parse_args()
    record, watch = Record("unmeasured_strikes", vars(arguments)), Stopwatch()
    warnings.simplefilter("ignore", RuntimeWarning)
    strikes: list[Strike] = []
    hidden: list[Before] = []
    known: set[tuple[float, ...]] = set()
    with tempfile.TemporaryDirectory() as folder:
        walks = _simulated(arguments.simulated, Path(folder)) if arguments.simulated else _real(arguments.folders)
        for number, (path, static, laboratory) in enumerate(walks):
            try:
                whole = analyse_trial(path, static, settings=_FILTERED, torques_only=True, steps=_UP_TO_TORQUES)
            except BiodynError as error:
                tell(f"  {path.name}: {error.message[:100]}")
                continue
            on_plates = _on_plates(whole)
            stamp = tuple(round(event.time_s, 2) for event in on_plates)
            if stamp in known or not whole.activity.is_walking:
                continue
            known.add(stamp)
            strikes += _strikes(whole, on_plates, number, laboratory)
            hidden += [found for event in on_plates for found in _before(path, static, whole, event)]
    _tell_times(strikes, record)
    _tell_moments(hidden, record)
    record.add("whole run", watch.seconds)
    record.close()


def _real(folders: Sequence[Path]) -> Iterator[tuple[Path, Path | None, str]]:
    base = real_recordings()
    for path in walks_below(*(folders or [base / name for name in _FOLDERS])):
        below = path.relative_to(base).parts if path.is_relative_to(base) else path.parts[-3:]
        yield path, None, "/".join(below[:2])


def _simulated(seeds: str, folder: Path) -> Iterator[tuple[Path, Path | None, str]]:
    first, _, last = seeds.partition("-")
    for seed in range(int(first), int(last or first) + 1):
        own = folder / str(seed)
        own.mkdir()
        recording = rough_recording(class_of(seed), seed)
        yield (*recording.write(own), recording.name)


def _on_plates(analysis: TrialAnalysis) -> list[GaitEvent]:
    rate_hz = analysis.recording.markers.rate_hz
    found = plate_events(analysis.contacts, len(analysis.points.pelvis) / rate_hz, 1.0 / rate_hz)
    return [event for event in found if event.kind == "foot_strike"]


def _strikes(analysis: TrialAnalysis, on_plates: Sequence[GaitEvent], trial: int, laboratory: str) -> Iterator[Strike]:
    rate_hz = analysis.recording.markers.rate_hz
    points = analysis.points.filter_for_steps(rate_hz, analysis.cutoff_hz)
    moved = kinematic_events(points, rate_hz, analysis.activity.direction)
    extremes = correct_mean_delays(
        foot_excursion_events(points.heel, points.toe, points.pelvis, points.forward, rate_hz)
    )
    for event in on_plates:
        own, extreme = (_nearest(event, events) for events in (moved, extremes))
        sole = foot_outline(points.sole[event.side], rate_hz)
        stands = [first / rate_hz for first, _ in finite_stretches(sole.bearing) if first > 0]
        stood_s = min(stands, key=lambda time_s: abs(time_s - event.time_s), default=np.nan)
        if own is None or extreme is None or not abs(stood_s - event.time_s) < _SAME_S:
            continue
        kinematics = foot_kinematics(points.heel[event.side], points.toe[event.side], points.floor_velocity, rate_hz)
        seen = Seen(
            laboratory, analysis.subject.name, "foot_strike", rate_hz, event.time_s, kinematics, extreme.time_s,
            np.nan, own.time_s, own.confidence,
        )  # fmt: skip
        late = {_WAYS[0]: stood_s - event.time_s, _WAYS[1]: own.time_s - event.time_s}
        yield Strike(trial, seen, late)


def _nearest(truth: GaitEvent, events: Sequence[GaitEvent]) -> GaitEvent | None:
    same = [e for e in events if e.side == truth.side and e.kind == truth.kind]
    best = min(same, key=lambda e: abs(e.time_s - truth.time_s), default=None)
    return best if best is not None and abs(best.time_s - truth.time_s) < _SAME_S else None


def _before(path: Path, static: Path | None, whole: TrialAnalysis, event: GaitEvent) -> Iterator[Before]:
    """The moments before a strike without its plate; nothing where no foot is on a plate then, or the floor counts as one."""
    settings = settings_from(dict(_FILTERED))
    files = read_files(path, static, poses=settings.poses.use)
    struck = _contact_of(event, whole.contacts).plate
    left = tuple(plate for number, plate in enumerate(files.walk.plates, start=1) if number != struck)
    if not left:
        return
    try:
        without = analyse_trial(
            path,
            static,
            mass_kg=whole.subject.mass_kg,
            settings=settings,
            files=replace(files, walk=replace(files.walk, plates=left)),
            torques_only=True,
            steps=_UP_TO_TORQUES,
        )
    except BiodynError:
        return
    rate_hz, side = whole.recording.markers.rate_hz, event.side
    since_s = np.arange(len(whole.dynamics.torques)) / rate_hz - event.time_s
    measured = without.reaction.measured[side]
    if measured[(since_s > 0.1) & (since_s < 0.3)].any() or not _on_plates(without):
        return
    true, found = _moments(whole, whole.dynamics, side), _moments(without, without.dynamics, side)
    sd = np.zeros_like(found)
    for part in without.reaction.expected_sd.get(side, ()):
        moved = {**without.reaction.wrench, side: without.reaction.wrench[side] + part}
        other = solve_dynamics(without.fit, replace(without.reaction, wrench=moved))
        sd = np.hypot(sd, _moments(without, other, side) - found)
    rows = (since_s > -_BEFORE_S) & (since_s < _AFTER_S) & np.isfinite(true + found).all(axis=1)
    lost = (since_s > -_BEFORE_S) & (since_s <= 0.0) & ~measured
    early = (since_s > 0.0) & (since_s < _AFTER_S) & measured
    yield Before((found - true)[rows], sd[rows], float(lost.sum()) / rate_hz, int(early.sum()))


def _contact_of(event: GaitEvent, contacts: Sequence[Contact]) -> Contact:
    own = [contact for contact in contacts if contact.decision == "assigned" and contact.side == event.side]
    return min(own, key=lambda contact: abs(contact.start_s - event.time_s))


def _moments(analysis: TrialAnalysis, dynamics: Dynamics, side: str) -> FloatArray:
    """Flexion moments (T, 3) of a leg, Nm/kg."""
    names = [coordinate.name for coordinate in analysis.model.coordinates]
    columns = [names.index(f"{name}_{side}") for name in _MOMENTS]
    return np.asarray(dynamics.torques[:, columns] / analysis.subject.mass_kg)


def _tell_times(strikes: Sequence[Strike], record: Record) -> None:
    table = Table(
        ("when", "of other plates taken off", "n", "bias ms", "SD ms", "95 % within ms", "late by 10, 15, 20 ms")
    )
    laboratories = {strike.seen.laboratory for strike in strikes}
    late = [dict(strike.late_s) for strike in strikes]
    if len(laboratories) > 1:
        for place, time_s in enumerate(_left_out(strikes, laboratories)):
            late[place][_WAYS[2]] = time_s - strikes[place].seen.time_s
    for way in (way for way in _WAYS if all(way in one for one in late)):
        raw = np.array([one[way] for one in late])
        rest = []
        for place, strike in enumerate(strikes):
            others = [raw[k] for k, other in enumerate(strikes) if other.trial == strike.trial and k != place]
            near = [value for value in others if abs(value) < _FAR_S]
            if others:
                rest.append(raw[place] - (np.median(near) if near else 0.0))
        for name, values in (("nothing", raw), ("median", np.array(rest))):
            ms = 1e3 * values
            shares = " ".join(f"{100.0 * np.mean(ms > limit):.0f}" for limit in (10.0, 15.0, 20.0))
            size = np.percentile(np.abs(ms), 95.0)
            table.row(way, name, len(ms), f"{ms.mean():+.1f}", f"{ms.std(ddof=1):.1f}", f"{size:.1f}", f"{shares} %")
            record.add(f"{way}, {name} taken off: RMS", float(np.sqrt(np.mean(ms**2))), "ms")


def _left_out(strikes: Sequence[Strike], laboratories: set[str]) -> Iterator[float]:
    odds = {
        name: learnt([strike.seen for strike in strikes if strike.seen.laboratory != name]) for name in laboratories
    }
    for seen in (strike.seen for strike in strikes):
        own = odds[seen.laboratory]
        time_s, _ = contact_transition(own.log_odds(seen.kinematics), seen.rate_hz, seen.expected_s, own.half_s)
        yield time_s if np.isfinite(time_s) else seen.expected_s


def _tell_moments(hidden: Sequence[Before], record: Record) -> None:
    errors, sd = (np.vstack([getattr(one, name) for one in hidden]) for name in ("errors", "sd"))
    told = (sd > 0.0).all(axis=1)
    record.add("strikes hidden", len(hidden), "larger is better")
    for k, name in enumerate(_MOMENTS):
        record.add(f"{name} before them: RMS", float(np.sqrt(np.mean(errors[:, k] ** 2))), "Nm/kg")
        inside = 100.0 * float(np.mean(np.abs(errors[told, k]) <= 2.0 * sd[told, k]))
        record.add(f"{name} within two standard deviations", inside, "% of the frames, larger is better")
    record.add("time before a strike that is lost, mean", 1e3 * float(np.mean([one.lost_s for one in hidden])), "ms")
    record.add("strikes that come before they are believed", sum(one.early > 0 for one in hidden), "strikes")


if __name__ == "__main__":
    main()
