"""Kinematic and stored gait events against plates, on walks whose plates are hidden.

    python benchmarks/events.py [--simulated SEEDS] [--learn] [FOLDER ...]      without a folder: those of BIODYN_TEST_DATA

A laboratory is a folder of the recordings; one walk that is stored several times counts once. The program's foot strikes come
from the likelihood of contact: its numbers are learnt again from all other laboratories for each one ("left out"). Beside it the
rules it is held against: the fastest fall of the foot, the largest upward acceleration of the toe. Then what is promised
(confidence: the probability to lie within 20 ms) and found. Cases with others of the kind on plates (each hidden in turn), and
events stored in the file. `--simulated 100-111`: rough walks of these seeds, of which nothing was learnt. `--learn`: the numbers
of `library/gait/events.toml`.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from common import Record, Stopwatch, Table, parser_of, real_recordings, tell, walks_below
from common.contact_learning import Seen, learnt
from simulator.rough_walks import class_of, rough_recording

from biodyn.analysis import TrialAnalysis
from biodyn.errors import BiodynError
from biodyn.processing.contacts.foot_motion import GaitPoints
from biodyn.processing.gait.events import gait_events, merge_events, plate_events
from biodyn.processing.gait.kinematic_events import (
    FEATURES,
    KINDS,
    contact_transition,
    correct_mean_delays,
    foot_excursion_events,
    foot_kinematics,
    kinematic_events,
    probability_within_tolerance,
    refine_events_from_kinematics,
)
from biodyn.recording import GaitEvent
from biodyn.trial.run import analyse_trial

SAME_EVENT_S = 0.15
CLOSE_S = 0.02
_FOLDERS = ("gait", "opensim/c3d_to_grf", "reader/c3d_org")
_BINS = (0.0, 0.9, 0.95, 0.97, 1.0)


class Trial(NamedTuple):
    """Events of one trial: by its plates (or the truth of a simulation), each with what else was found of it."""

    seen: tuple[Seen, ...]
    missed: int
    hidden: tuple[tuple[str, float, float], ...]  # kind, seconds late, confidence; by the trial's other plate events
    stored: tuple[tuple[str, float, float], ...]


def main() -> None:
    """Print the tables."""
    parser = parser_of(__doc__, folders=True)
    parser.add_argument("--simulated", default="", help="seeds of rough walks, as 100-111")
    parser.add_argument("--learn", action="store_true", help="print the numbers of the library's table")
    arguments = parser.parse_args()
    record, watch = Record("events", vars(arguments)), Stopwatch()
    real = list(_real(arguments.folders))
    seen = [event for trial in real for event in trial.seen]
    table = Table(("event", "by", "n", "laboratories", "bias ms", "RMS ms", "within 20 ms", "promised"))
    for kind in KINDS:
        own = [event for event in seen if event.kind == kind]
        left_out = list(_left_out(own))
        _row(table, record, kind, "the program", own, lambda e: (e.program_s, e.confidence))
        _row(table, record, kind, "likelihood of contact, laboratory left out", own, _by_order(own, left_out))
        _row(table, record, kind, "rule: fall, or toe's acceleration", own, lambda e: (e.rule_s, np.nan))
        _row(table, record, kind, "extreme against the pelvis", own, lambda e: (e.expected_s, np.nan))
        for name, pick in (("others on plates", "hidden"), ("stored in the file", "stored")):
            late = [(s, c) for trial in real for k, s, c in getattr(trial, pick) if k == kind]
            _numbers(table, record, kind, name, [s for s, _ in late], [c for _, c in late], "")
        _promises(kind, own, left_out)
        record.add(f"{kind}, not shown by the movement", sum(t.missed for t in real), "events of both kinds")
    for name, events in _simulated(arguments.simulated):
        for kind in KINDS:
            own = [event for event in events if event.kind == kind]
            _row(table, record, kind, f"the program, {name}", own, lambda e: (e.program_s, e.confidence))
            _row(table, record, kind, f"rule, {name}", own, lambda e: (e.rule_s, np.nan))
    if arguments.learn:
        odds = learnt([event for event in seen if event.kind == "foot_strike"])
        tell(f"intercept = {odds.intercept:.3f}")
        for feature, weight in zip(FEATURES, odds.weights, strict=True):
            tell(f"{feature} = {weight:.3f}")
    record.add("whole run", watch.seconds)
    record.close()


def _real(folders: Sequence[Path]) -> Iterator[Trial]:
    known: set[tuple[float, ...]] = set()
    base = real_recordings()
    for path in walks_below(*(folders or [base / name for name in _FOLDERS])):
        try:
            analysis = analyse_trial(path, torques_only=True)
        except BiodynError as error:
            tell(f"  {path.name}: {error.message[:100]}")
            continue
        truth = _plates(analysis)
        stamp = tuple(round(event.time_s, 1) for event in truth)
        if stamp in known:
            continue
        known.add(stamp)
        below = path.relative_to(base).parts if path.is_relative_to(base) else path.parts[-3:]
        yield _trial(analysis, truth, "/".join(below[:2]), analysis.subject.name)


def _simulated(seeds: str) -> Iterator[tuple[str, list[Seen]]]:
    if not seeds:
        return
    first, _, last = seeds.partition("-")
    by_class: dict[str, list[Seen]] = defaultdict(list)
    for seed in range(int(first), int(last or first) + 1):
        recording = rough_recording(class_of(seed), seed)
        with tempfile.TemporaryDirectory() as folder:
            analysis = analyse_trial(*recording.write(Path(folder)), torques_only=True)
        edge_s = len(analysis.time_s) / analysis.recording.markers.rate_hz - SAME_EVENT_S
        truth = [event for event in recording.truth.events if SAME_EVENT_S < event.time_s < edge_s]
        by_class[f"simulated, {recording.name}"] += _trial(analysis, truth, recording.name, f"{seed}").seen
    yield "all simulated", [event for events in by_class.values() for event in events]
    yield from by_class.items()


def _plates(analysis: TrialAnalysis) -> list[GaitEvent]:
    rate_hz = analysis.recording.markers.rate_hz
    return plate_events(analysis.contacts, len(analysis.points.pelvis) / rate_hz, 1.0 / rate_hz)


def _trial(analysis: TrialAnalysis, truth: Sequence[GaitEvent], laboratory: str, person: str) -> Trial:
    rate_hz = analysis.recording.markers.rate_hz
    points = analysis.points.filter_for_steps(rate_hz, analysis.cutoff_hz)
    moved = _moved(analysis, points)
    extremes = correct_mean_delays(
        foot_excursion_events(points.heel, points.toe, points.pelvis, points.forward, rate_hz)
    )
    kinematics = {
        side: foot_kinematics(points.heel[side], points.toe[side], points.floor_velocity, rate_hz)
        for side in points.heel
    }
    seen, hidden, stored, missed = [], [], [], 0
    for event in truth:
        own, extreme = _nearest(event, moved), _nearest(event, extremes)
        if own is None or extreme is None:
            missed += 1
            continue
        (rule,) = refine_events_from_kinematics([extreme], points.heel, points.toe, rate_hz)
        seen.append(
            Seen(
                laboratory, person, event.kind, rate_hz, event.time_s, kinematics[event.side], extreme.time_s,
                rule.time_s, own.time_s, own.confidence,
            )
        )  # fmt: skip
        others = [other for other in truth if other is not event]
        merged = _nearest(event, [e for e in merge_events([*others, *moved])[0] if e.source == "kinematic"])
        if merged is not None and any(o.kind == event.kind and _nearest(o, moved) for o in others):
            hidden.append((event.kind, merged.time_s - event.time_s, merged.confidence))
        filed = _nearest(event, analysis.recording.events)
        if filed is not None:
            given = merge_events([replace(filed, source="file")])[0][0].confidence
            stored.append((event.kind, filed.time_s - event.time_s, given))
    return Trial(tuple(seen), missed, tuple(hidden), tuple(stored))


def _moved(analysis: TrialAnalysis, points: GaitPoints) -> Sequence[GaitEvent]:
    rate_hz, done = analysis.recording.markers.rate_hz, analysis.activity
    moved = kinematic_events(points, rate_hz, done.direction, done.is_walking)
    found, _ = gait_events((), (), moved, analysis.settings.gait, pelvis_W=points.pelvis, rate_hz=rate_hz)
    return found


def _nearest(truth: GaitEvent, events: Sequence[GaitEvent]) -> GaitEvent | None:
    same = [e for e in events if e.side == truth.side and e.kind == truth.kind]
    best = min(same, key=lambda e: abs(e.time_s - truth.time_s), default=None)
    return best if best is not None and abs(best.time_s - truth.time_s) < SAME_EVENT_S else None


def _left_out(events: Sequence[Seen]) -> Iterator[tuple[float, float]]:
    """Time and confidence of each event by what all other laboratories taught; the extreme's where no transition is seen."""
    odds = {
        name: learnt([e for e in events if e.laboratory != name])
        for name in dict.fromkeys(e.laboratory for e in events)
    }
    for event in events:
        own = odds[event.laboratory]
        time_s, sd_s = contact_transition(own.log_odds(event.kinematics), event.rate_hz, event.expected_s, own.half_s)
        if not np.isfinite(time_s):
            yield event.expected_s, np.nan
        else:
            yield time_s, probability_within_tolerance(float(np.hypot(sd_s, own.spread_s)))


Told = Callable[[Seen], tuple[float, float]]


def _by_order(events: Sequence[Seen], found: Sequence[tuple[float, float]]) -> Told:
    by_event: Mapping[int, Any] = {id(event): one for event, one in zip(events, found, strict=True)}
    return lambda event: by_event[id(event)]


def _row(table: Table, record: Record, kind: str, name: str, events: Sequence[Seen], told: Told) -> None:
    late = [told(event)[0] - event.time_s for event in events]
    laboratories = f"{len({event.laboratory for event in events})}"
    _numbers(table, record, kind, name, late, [told(event)[1] for event in events], laboratories)


def _numbers(
    table: Table,
    record: Record,
    kind: str,
    name: str,
    late_s: Sequence[float],
    sure: Sequence[float],
    laboratories: str,
) -> None:
    if not len(late_s):
        return
    e = 1e3 * np.array(late_s)
    share = 100.0 * float(np.mean(np.abs(e) <= 1e3 * CLOSE_S))
    rms = float(np.sqrt(np.mean(e**2)))
    promised = 100.0 * float(np.nanmean(sure)) if np.isfinite(sure).any() else np.nan
    table.row(
        kind,
        name,
        len(e),
        laboratories,
        f"{e.mean():+.1f}",
        f"{rms:.1f}",
        f"{share:.0f} %",
        f"{promised:.0f} %" if np.isfinite(promised) else "",
    )
    record.add(f"{kind}, {name}: RMS", rms, "ms")
    record.add(f"{kind}, {name}: within 20 ms", share, "%, larger is better")


def _promises(kind: str, events: Sequence[Seen], left_out: Sequence[tuple[float, float]]) -> None:
    """Promised and found by how sure an event is: strikes by what the other laboratories taught, offs as the program says."""
    by_program = [(event.program_s, event.confidence) for event in events]
    told = left_out if kind == "foot_strike" else by_program
    late = np.array([time_s - event.time_s for event, (time_s, _) in zip(events, told, strict=True)])
    sure = np.array([confidence for _, confidence in told])
    for low, high in pairwise(_BINS):
        rows = (sure >= low) & (sure < high)
        if rows.any():
            found = 100.0 * np.mean(np.abs(late[rows]) <= CLOSE_S)
            promised = 100.0 * sure[rows].mean()
            tell(
                f"  {kind}, {low:.2f} to {high:.2f}: {rows.sum()} events, {promised:.0f} % promised, {found:.0f} % found"
            )


if __name__ == "__main__":
    main()
