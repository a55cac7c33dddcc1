"""Running, stairs, turns, squats, jumps, crutches, one leg, treadmills: `python benchmarks/motions.py`.

Simulated people with known torques do what is no level walk over ground; biodyn analyses the recorded files. A row each:
what the motion was taken for, how many of the true contacts were given to their foot (and how many contacts to a wrong one),
how many of the true events were found within 80 ms and by how many milliseconds they are off (median, worst), how many were
found that are none, and the error of the sagittal torques in the frames called valid, N m/kg RMS.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from common import RECORDED, Record, Stopwatch, analyse_session, parser_of
from simulator import Person, SimulatedTrial, embody, solve_walk
from simulator.kinds import SCENES
from simulator.motions import solve_motion
from simulator.recovery import compare
from simulator.scenes import record_scene, record_treadmill, with_labels
from simulator.trial import simulate_trial, standing

from biodyn.analysis import TrialAnalysis
from biodyn.conventions import Side
from biodyn.errors import BiodynError
from biodyn.model.body_model import SubjectModel

LABORATORY = replace(RECORDED, rate_hz=200.0, soft_tissue=0.5)
PEOPLE = {
    # The limits were set while looking at this one.
    "tuned": (Person("Adam", height_m=1.75, mass_kg=72.0, sex="male"),),
    # Nothing was set by these.
    "fresh": (
        Person("Berta", height_m=1.64, mass_kg=59.0, sex="female"),
        Person("Carl", height_m=1.88, mass_kg=91.0, sex="male", marker_set="plug_in_gait_lower", skeleton="lower_limb"),
    ),
}
CLOSE_S = 0.08
LEG_JOINTS = ("hip", "knee", "ankle")


@dataclass(frozen=True)
class Case:
    """A motion with the files made of it, what it is, and its true contacts: (plate number, side, begin s, end s)."""

    name: str
    activity: str
    static: SimulatedTrial
    trial: SimulatedTrial
    contacts: tuple[tuple[int, Side, float, float], ...]


@dataclass(frozen=True)
class Row:
    """What came out of a case; see the module."""

    activity: str
    contacts: tuple[int, int, int]
    events: tuple[int, int, int]
    errors_ms: tuple[float, float]
    torques: tuple[float, ...]
    verdict: str


def cases(person: Person, only: str) -> Iterator[Case]:
    """Yield every motion of a person whose name contains `only`."""
    body = embody(person)
    for name, make in SCENES.items():
        if only not in name:
            continue
        scene = make(body)
        trial = record_scene(scene, solve_motion(body, scene.plan), LABORATORY)
        contacts = tuple(
            (hold.plate + 1, hold.side, hold.start_s, hold.end_s)
            for hold in scene.plan.footholds
            if hold.plate is not None
        )
        yield Case(name, scene.activity, standing(body, LABORATORY, scene.plates), trial, contacts)
    walks = ("one leg", "split belts", "one belt")
    if any(only in name for name in walks):
        yield from (case for case in _walks(person) if only in case.name)


def _walks(person: Person) -> Iterator[Case]:
    """Level walking seen of one leg only, and on belts."""
    options = replace(LABORATORY, rate_hz=100.0)
    walk = solve_walk(embody(person), options.speed_m_s, options.stride_s)
    static, trial = (simulate_trial(person, options, kind, walk) for kind in ("static", "walk"))
    keep = [
        m.label for m in walk.body.model.markers if m.label in trial.labels and not _left_leg(walk.body.model, m.body)
    ]
    yield Case("one leg", "walking", with_labels(static, keep), with_labels(trial, keep), ())
    belts = replace(options, strides=4.0)
    yield Case("split belts", "walking", static, record_treadmill(walk, belts), ())
    yield Case("one belt", "walking", static, record_treadmill(walk, belts, split=False), ())


def _left_leg(model: SubjectModel, body: str) -> bool:
    """True for the segments from the left hip to the left foot."""
    parents = {part.definition.name: part.definition.parent for part in model.bodies}
    name, chain = model.sole_body["l"], []
    while parents[name]:
        chain.append(name)
        name = parents[name]
    return body in chain


def measure(case: Case, folder: Path) -> Row:
    """Analyse the files of a case and hold the result against the truth."""
    try:
        found = analyse_session(folder, case.static, case.trial)
    except BiodynError as error:
        return Row(
            f"REFUSED {type(error).__name__}",
            (0, 0, len(case.contacts)),
            (0, len(case.trial.events), 0),
            (np.nan,) * 2,
            (np.nan,) * 3,
            "",
        )
    matched, extra, errors = _events(found, case.trial)
    right = _contacts(found, case.contacts)
    recovery = compare(found, case.trial)
    known = {row.joint for row in recovery.coordinates if row.sagittal}
    torques = tuple(recovery.sagittal_rms_nm_kg(joint) if joint in known else np.nan for joint in LEG_JOINTS)
    worst = (float(np.median(errors)), float(np.max(errors))) if errors else (np.nan, np.nan)
    status = found.verdict.status if found.verdict else ""
    return Row(
        found.activity.kind,
        (*right, len(case.contacts)),
        (matched, len(case.trial.events), extra),
        worst,
        torques,
        status,
    )


def _events(found: TrialAnalysis, truth: SimulatedTrial) -> tuple[int, int, list[float]]:
    """Events found of the true ones, those that are none, and errors of the former, ms."""
    left, errors = list(found.events), []
    for true in truth.events:
        near = [e for e in left if (e.side, e.kind) == (true.side, true.kind) and abs(e.time_s - true.time_s) < CLOSE_S]
        if near:
            best = min(near, key=lambda e: abs(e.time_s - true.time_s))
            left.remove(best)
            errors.append(1000.0 * abs(best.time_s - true.time_s))
    return len(errors), len(left), errors


def _contacts(found: TrialAnalysis, truth: Sequence[tuple[int, Side, float, float]]) -> tuple[int, int]:
    """Contacts given to their foot, and contacts given to a foot that did not make them."""
    right = wrong = 0
    for contact in found.contacts:
        if contact.decision != "assigned":
            continue
        own = [
            t
            for t in truth
            if t[0] == contact.plate and t[1] == contact.side and contact.start_s < t[3] and contact.end_s > t[2]
        ]
        right, wrong = right + bool(own), wrong + (not own and bool(truth))
    return right, wrong


def main() -> None:
    """Print the table."""
    parser = parser_of(__doc__, people=PEOPLE, only="")
    arguments = parser.parse_args()
    record, watch = Record("motions", vars(arguments)), Stopwatch()
    heads = f"{'person':8s} {'motion':12s} {'recognised':12s} {'contacts':>10s} {'events':>14s} {'off ms':>10s}"
    print(f"{heads}   hip  knee ankle  verdict")
    right = count = 0
    for person in PEOPLE[arguments.people]:
        for case in cases(person, arguments.only):
            with tempfile.TemporaryDirectory() as name:
                row = measure(case, Path(name))
            good, bad, true = row.contacts
            matched, events, extra = row.events
            right, count = right + (row.activity == case.activity), count + 1
            numbers = " ".join(f"{value:5.3f}" for value in row.torques)
            names = f"{person.name:8s} {case.name:12s} {row.activity:12s} {good:3d}/{true} -{bad:2d}"
            times = f"{matched:6d}/{events:2d} +{extra:2d} {row.errors_ms[0]:5.0f}{row.errors_ms[1]:5.0f}"
            print(f"{names} {times} {numbers}  {row.verdict}", flush=True)
            for joint, value in zip(LEG_JOINTS, row.torques, strict=True):
                record.add(f"{person.name}, {case.name}: {joint} RMS", value, "Nm/kg")
    print(f"{right} of {count} motions recognised")
    record.add("motions recognised", right, f"of {count}")
    record.add("whole run", watch.seconds)
    record.close()


if __name__ == "__main__":
    main()
