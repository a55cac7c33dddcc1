"""Kinematic and stored gait events against plates, on real walks whose plates are hidden.

    python benchmarks/events.py [FOLDER ...]      without a folder: folder gait of BIODYN_TEST_DATA

Cases: the trial has no plate event (with the typical lateness of the table, and with that of the other people of the folder
alone), it has others of the kind (each hidden in turn), and events stored in the file. The last column is the confidence that
was given on average: the promised share within 20 ms.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from common import Record, Stopwatch, ask, real_recordings, tell, walks_below

from biodyn.analysis import TrialAnalysis
from biodyn.errors import BiodynError
from biodyn.processing.gait.events import KINDS, gait_events, merge_events, plate_events
from biodyn.recording import GaitEvent
from biodyn.trial.run import analyse_trial

SAME_EVENT_S = 0.15


class Pair(NamedTuple):
    """One plate event and what else was found of it: seconds late, and the confidence given."""

    person: str
    late_s: float
    confidence: float
    hidden_s: float  # late, corrected by the trial's other plate events; NaN without any
    hidden_confidence: float
    file_s: float


def main() -> None:
    """Print one table."""
    pairs: dict[str, list[Pair]] = defaultdict(list)
    unseen: Counter[str] = Counter()
    arguments = ask(__doc__, folders=True)
    record, watch = Record("events", vars(arguments)), Stopwatch()
    for path in walks_below(*(arguments.folders or [real_recordings() / "gait"])):
        try:
            for kind, pair in _pairs(analyse_trial(path, torques_only=True)):
                if pair is None:
                    unseen[kind] += 1
                else:
                    pairs[kind].append(pair)
        except BiodynError as error:
            tell(f"  {path.name}: {error.message[:100]}")
    print(f"{'event':12} {'case':22} {'n':>4} {'people':>6} {'bias':>7} {'SD':>6} {'<20 ms':>7} {'promised':>9}")
    for kind in KINDS:
        _report(kind, pairs[kind], record)
        record.add(f"{kind}, on a plate and not shown by the movement", unseen[kind], "events")
    record.add("whole run", watch.seconds)
    record.close()


def _pairs(analysis: TrialAnalysis) -> list[tuple[str, Pair | None]]:
    points, rate_hz = analysis.points, analysis.recording.markers.rate_hz
    plates = plate_events(analysis.contacts, len(points.pelvis) / rate_hz, 1.0 / rate_hz)
    moved, _ = gait_events(
        (),
        (),
        analysis.settings.gait,
        heel_W=points.heel,
        toe_W=points.toe,
        pelvis_W=points.pelvis,
        forward_W=points.forward,
        rate_hz=rate_hz,
        direction=analysis.activity.direction,
        floor_velocity_W=points.floor_velocity,
        soles_W=points.sole,
    )
    found = []
    for truth in plates:
        own = _nearest(truth, moved)
        if own is None:
            found.append((truth.kind, None))
            continue
        others = [event for event in plates if event is not truth]
        merged = _nearest(truth, [e for e in merge_events([*others, *moved])[0] if e.source == "kinematic"])
        calibrated = merged is not None and any(o.kind == truth.kind and _nearest(o, moved) for o in others)
        stored = _nearest(truth, analysis.recording.events)
        pair = Pair(
            analysis.subject.name,
            own.time_s - truth.time_s,
            own.confidence,
            merged.time_s - truth.time_s if calibrated and merged else np.nan,
            merged.confidence if calibrated and merged else np.nan,
            stored.time_s - truth.time_s if stored else np.nan,
        )
        found.append((truth.kind, pair))
    return found


def _nearest(truth: GaitEvent, events: Sequence[GaitEvent]) -> GaitEvent | None:
    same = [e for e in events if e.side == truth.side and e.kind == truth.kind]
    best = min(same, key=lambda e: abs(e.time_s - truth.time_s), default=None)
    return best if best is not None and abs(best.time_s - truth.time_s) < SAME_EVENT_S else None


def _report(kind: str, pairs: Sequence[Pair], record: Record) -> None:
    people = {p.person for p in pairs}
    alone = float(np.mean([p.confidence for p in pairs]))
    left_out = []
    for p in pairs:
        others = [np.median([q.late_s for q in pairs if q.person == person]) for person in people - {p.person}]
        left_out.append(p.late_s - float(np.median(others)))
    _line(kind, "no plates, left out", left_out, pairs, alone, record)
    _line(kind, "no plates, table's", [p.late_s for p in pairs], pairs, alone, record)
    hidden = [p for p in pairs if np.isfinite(p.hidden_s)]
    confidence = float(np.mean([p.hidden_confidence for p in hidden])) if hidden else np.nan
    _line(kind, "others on plates", [p.hidden_s for p in hidden], hidden, confidence, record)
    stored = [p for p in pairs if np.isfinite(p.file_s)]
    given = merge_events([GaitEvent(1.0, "r", kind, "file")])[0][0].confidence  # type: ignore[arg-type]
    _line(kind, "stored in the file", [p.file_s for p in stored], stored, given, record)


def _line(
    kind: str, case: str, errors_s: Sequence[float], pairs: Sequence[Pair], promised: float, record: Record
) -> None:
    e = 1e3 * np.array(errors_s)
    spread = e.std(ddof=1) if len(e) > 1 else np.nan
    share = np.mean(np.abs(e) <= 20.0) if len(e) else np.nan
    count = len({p.person for p in pairs})
    mean = e.mean() if len(e) else np.nan
    print(f"{kind:12} {case:22} {len(e):4} {count:6} {mean:7.1f} {spread:6.1f} {share:7.2f} {promised:9.2f}")
    record.add(f"{kind}, {case}: spread", spread, "ms, 1 SD")
    record.add(f"{kind}, {case}: within 20 ms", 100 * share, "%, larger is better")


if __name__ == "__main__":
    main()
