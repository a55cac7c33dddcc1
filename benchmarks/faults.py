"""Are faults of a recording found, and is the right cause named? `python benchmarks/faults.py`.

A simulated laboratory records simulated walks with marker noise, moving skin and noisy plates. Each fault is put into the
files at several strengths; biodyn analyses them; the codes of its findings are compared with the fault. The walks without
a fault show the false alarms.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from common import (
    RECORDED,
    Record,
    Stopwatch,
    Walker,
    analyse_session,
    parser_of,
    per_cent,
    recorded_sessions,
    tell,
)
from simulator import Person, Plate, SimulatedTrial

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import BiodynError
from biodyn.rigid_body import body_poses

OTHER_ROOM = replace(RECORDED, forward="+y", rate_hz=120.0, analog_rate_hz=1200.0, plate_types=(2, 4, 2))
TWO_PLATES = replace(RECORDED, forward="+x", rate_hz=200.0, analog_rate_hz=1000.0, plate_types=(3, 3), strides=2.2)
# Steps that come on top of a trial's own computing time.
EXTRAS = frozenset({"checks", "consistency", "uncertainty"})
TARGETS = {"detected": 0.95, "cause": 0.80, "false": 0.02}


@dataclass(frozen=True)
class Group:
    """People whose recordings are judged together; the random seeds of their recordings start at `first_seed`."""

    walkers: tuple[Walker, ...]
    first_seed: int


GROUPS = {
    # The thresholds of the checks were set while looking at these.
    "tuned": Group(
        (
            Walker(Person("Adam", height_m=1.78, mass_kg=74.0, sex="male"), 1.3, 1.1),
            Walker(Person("Berta", height_m=1.62, mass_kg=58.0, sex="female"), 1.2, 1.05),
            Walker(Person("Carl", height_m=1.90, mass_kg=96.0, sex="male"), 1.45, 1.12),
        ),
        first_seed=1,
    ),
    # Nothing was set by these: other bodies, speeds, marker sets, tables, rooms and plates.
    "fresh": Group(
        (
            Walker(Person("Dora", height_m=1.54, mass_kg=49.0, sex="female"), 1.0, 1.16),
            Walker(Person("Emil", height_m=1.84, mass_kg=81.0, sex="male", anthropometry="dumas_2007"), 1.6, 1.0),
            Walker(
                Person("Frieda", height_m=1.69, mass_kg=70.0, sex="female", marker_set="anatomical"),
                1.3,
                1.08,
                OTHER_ROOM,
            ),
            Walker(
                Person("Georg", height_m=1.95, mass_kg=104.0, sex="male", hip_centre="bell_1990"), 1.1, 1.26, TWO_PLATES
            ),
            Walker(
                Person("Hanna", height_m=1.60, mass_kg=63.0, sex="female", marker_set="plug_in_gait_lower"),
                1.45,
                0.98,
                TWO_PLATES,
            ),
            Walker(
                Person("Ivo", height_m=1.74, mass_kg=66.0, sex="male", anthropometry="winter_2009"),
                0.85,
                1.3,
                OTHER_ROOM,
            ),
        ),
        first_seed=101,
    ),
}


@dataclass(frozen=True)
class Session:
    """The files of one person as recorded, and the mass the user states."""

    static: SimulatedTrial
    walk: SimulatedTrial
    mass_kg: float


Inject = Callable[[Session, float, np.random.Generator], Session]


@dataclass(frozen=True)
class Fault:
    """One fault: its strengths (the middle one is judged), the codes that name its cause, how it gets into the files."""

    name: str
    strengths: tuple[float, ...]
    unit: str
    causes: tuple[str, ...]
    inject: Inject

    @property
    def middle(self) -> float:
        """The strength the targets hold for."""
        return self.strengths[len(self.strengths) // 2]


@dataclass(frozen=True)
class _Moved(Plate):
    """A plate whose corners in the file are not where it stands: shifted (3,) m, corners listed `rolled` places on."""

    shift_m: tuple[float, float, float] = (0.0, 0.0, 0.0)
    rolled: int = 0

    @property
    def corners_W(self) -> FloatArray:
        """The corners the file claims."""
        return np.roll(super().corners_W, self.rolled, axis=0) + self.shift_m


@dataclass(frozen=True)
class _Declared(Plate):
    """A plate of type 2 that the file declares as another type of as many channels."""

    def channels(self, components: FloatArray) -> tuple[FloatArray, tuple[str, ...], tuple[str, ...]]:
        """The channels of type 2."""
        return Plate(2, self.centre_x_m, origin_m=self.origin_m).channels(components)


@dataclass(frozen=True)
class _Gained(Plate):
    """A plate of which one channel, before its calibration matrix where it has one, reads `factor` times what it should."""

    column: int = 0
    factor: float = 1.0

    def channels(self, components: FloatArray) -> tuple[FloatArray, tuple[str, ...], tuple[str, ...]]:
        """The channels with one of another gain."""
        values, names, units = super().channels(components)
        gains = np.ones(values.shape[1])
        gains[self.column] = self.factor
        return values * gains, names, units


# -- the faults -----------------------------------------------------------------------------------------------------


def _stated_mass(session: Session, percent: float, _: np.random.Generator) -> Session:
    return replace(session, mass_kg=session.mass_kg * (1.0 + percent / 100.0))


def _with_plates(session: Session, change: Callable[[int, Plate], Plate]) -> Session:
    """The same plate geometry is in both files."""

    def changed(trial: SimulatedTrial) -> SimulatedTrial:
        return replace(trial, plates=tuple(change(number, plate) for number, plate in enumerate(trial.plates)))

    return replace(session, static=changed(session.static), walk=changed(session.walk))


def _displaced(plate: Plate, **how: object) -> Plate:
    return _Moved(**{name: getattr(plate, name) for name in Plate.__dataclass_fields__}, **how)  # type: ignore[arg-type]


def _shifted(session: Session, centimetres: float, rng: np.random.Generator) -> Session:
    chosen, angle = rng.integers(len(session.walk.plates)), rng.uniform(0.0, 2.0 * np.pi)
    shift = 0.01 * centimetres * np.array([np.cos(angle), 0.0, np.sin(angle)])
    return _with_plates(session, lambda n, plate: _displaced(plate, shift_m=tuple(shift)) if n == chosen else plate)


def _raised(session: Session, centimetres: float, rng: np.random.Generator) -> Session:
    chosen, shift = rng.integers(len(session.walk.plates)), (0.0, 0.01 * centimetres, 0.0)
    return _with_plates(session, lambda n, plate: _displaced(plate, shift_m=shift) if n == chosen else plate)


def _all_raised(session: Session, centimetres: float, _: np.random.Generator) -> Session:
    return _with_plates(session, lambda n, plate: _displaced(plate, shift_m=(0.0, 0.01 * centimetres, 0.0)))


def _rotated(session: Session, degrees: float, rng: np.random.Generator) -> Session:
    chosen = rng.integers(len(session.walk.plates))
    return _with_plates(
        session, lambda n, plate: _displaced(plate, rolled=round(degrees / 90)) if n == chosen else plate
    )


def _with_components(session: Session, change: Callable[[int, FloatArray], FloatArray]) -> Session:
    """Change what the plates measured in both files: (T, 6) force and moment of plate `number`."""

    def changed(trial: SimulatedTrial) -> SimulatedTrial:
        return replace(trial, components=tuple(change(number, c) for number, c in enumerate(trial.components)))

    return replace(session, static=changed(session.static), walk=changed(session.walk))


def _swapped(session: Session, _: float, rng: np.random.Generator) -> Session:
    """The channels of two neighbouring plates are exchanged."""
    first = int(rng.integers(len(session.walk.plates) - 1))

    def changed(trial: SimulatedTrial) -> SimulatedTrial:
        own = list(trial.components)
        own[first], own[first + 1] = own[first + 1], own[first]
        return replace(trial, components=tuple(own))

    return replace(session, static=changed(session.static), walk=changed(session.walk))


def _on_plates(
    session: Session, count: float, rng: np.random.Generator, change: Callable[[FloatArray], FloatArray]
) -> Session:
    """`change` on the channels of `count` plates, chosen at random."""
    total = len(session.walk.plates)
    chosen = set(rng.permutation(total)[: min(round(count), total)])
    return _with_components(session, lambda n, c: change(c) if n in chosen else c)


def _exchanged_axes(session: Session, count: float, rng: np.random.Generator) -> Session:
    return _on_plates(session, count, rng, lambda c: c[:, [1, 0, 2, 3, 4, 5]])


def _exchanged_moments(session: Session, count: float, rng: np.random.Generator) -> Session:
    return _on_plates(session, count, rng, lambda c: c[:, [0, 1, 2, 4, 3, 5]])


def _moment_sign(session: Session, count: float, rng: np.random.Generator) -> Session:
    return _on_plates(session, count, rng, lambda c: c * np.array([1, 1, 1, -1, -1, -1]))


def _read_more(session: Session, percent: float, _: np.random.Generator) -> Session:
    return _with_components(session, lambda n, c: c * (1.0 + percent / 100.0))


def _one_reads_more(session: Session, percent: float, rng: np.random.Generator) -> Session:
    return _on_plates(session, 1, rng, lambda c: c * (1.0 + percent / 100.0))


def _gained(session: Session, factor: float, rng: np.random.Generator) -> Session:
    """One channel of one plate reads a multiple of what it should."""
    chosen = rng.integers(len(session.walk.plates))
    column = int(rng.integers(session.walk.plates[chosen].channel_count))

    def gained(number: int, plate: Plate) -> Plate:
        if number != chosen:
            return plate
        parts = {name: getattr(plate, name) for name in Plate.__dataclass_fields__}
        return _Gained(**parts, column=column, factor=factor)

    return _with_plates(session, gained)


def _baseline(session: Session, newton: float, rng: np.random.Generator) -> Session:
    return _on_plates(session, 1, rng, lambda c: c + np.array([0, 0, -newton, 0, 0, 0]))


def _scaled(columns: slice) -> Inject:
    def inject(session: Session, factor: float, _: np.random.Generator) -> Session:
        scale = np.ones(6)
        scale[columns] = factor
        return _with_components(session, lambda n, c: c * scale)

    return inject


def _scaled_points(session: Session, factor: float, _: np.random.Generator) -> Session:
    walk, static = session.walk, session.static
    return replace(
        session,
        walk=replace(walk, markers=walk.markers * factor),
        static=replace(static, markers=static.markers * factor),
    )


def _late_forces(session: Session, milliseconds: float, _: np.random.Generator) -> Session:
    samples = round(milliseconds * 1e-3 * session.walk.options.analog_rate_hz)
    late = tuple(np.vstack([np.repeat(c[:1], samples, axis=0), c[:-samples]]) for c in session.walk.components)
    return replace(session, walk=replace(session.walk, components=late))


def _leg_pairs(labels: tuple[str, ...]) -> list[tuple[int, int]]:
    return [
        (i, labels.index("L" + label[1:]))
        for i, label in enumerate(labels)
        if label.startswith("R") and "L" + label[1:] in labels
    ]


def _exchanged_labels(session: Session, pairs: float, rng: np.random.Generator) -> Session:
    """1: one pair in half of the walk; 2: one pair in the whole walk; 3: every pair."""
    found = _leg_pairs(session.walk.labels)
    chosen = found if pairs == 3 else [found[int(rng.integers(len(found)))]]
    markers = session.walk.markers.copy()
    rows = slice(None) if pairs > 1 else slice(len(markers) // 4, 3 * len(markers) // 4)
    for right, left in chosen:
        markers[rows, right], markers[rows, left] = markers[rows, left].copy(), markers[rows, right].copy()
    return replace(session, walk=replace(session.walk, markers=markers))


def _moved_marker(session: Session, centimetres: float, rng: np.random.Generator) -> Session:
    """A marker of pelvis, legs or feet was stuck on again elsewhere on the skin after the static trial."""
    walk = session.walk
    below = [i for i in range(len(walk.labels)) if np.nanmean(walk.markers[:, i, 1]) < 0.62 * walk.body.person.height_m]
    arms = {m.label for m in walk.body.model.markers if m.body.startswith(("humerus", "radius", "hand", "ulna"))}
    below = [i for i in below if walk.labels[i] not in arms]
    chosen = below[int(rng.integers(len(below)))]
    # In the plane of the skin and fixed to the bone: move it in the segment's axes, across the segment's own radius.
    marker = next(m for m in walk.body.model.markers if m.label == walk.labels[chosen])
    direction = rng.normal(size=3)
    outward = marker.p_BM - np.mean([m.p_BM for m in walk.body.model.markers if m.body == marker.body], axis=0)
    outward = outward / max(float(np.linalg.norm(outward)), 1e-9)
    direction -= 0.8 * (direction @ outward) * outward
    direction /= np.linalg.norm(direction)
    R, p = body_poses(walk.body.model.multibody, walk.q)
    R_WB, _ = walk.body.model.body_poses(R, p, marker.body)
    markers = walk.markers.copy()
    markers[:, chosen] += 0.01 * centimetres * R_WB @ direction
    return replace(session, walk=replace(walk, markers=markers))


def _gaps(session: Session, seconds: float, rng: np.random.Generator) -> Session:
    """A leg marker is hidden for some time while its foot is on a plate."""
    walk = session.walk
    chosen = int(rng.integers(len(walk.labels)))
    length = round(seconds * walk.options.rate_hz)
    first = int(rng.integers(len(walk.markers) // 4, len(walk.markers) // 2))
    markers = walk.markers.copy()
    markers[first : first + length, chosen] = np.nan
    return replace(session, walk=replace(walk, markers=markers))


FAULTS = (
    Fault("mass too high", (2.5, 5.0, 10.0), "%", ("mass-mismatch",), _stated_mass),
    Fault("mass too low", (-2.5, -5.0, -10.0), "%", ("mass-mismatch",), _stated_mass),
    Fault("plate shifted", (1.0, 2.0, 5.0), "cm", ("plate-moved",), _shifted),
    Fault("plate too high", (1.0, 2.0, 5.0), "cm", ("plate-height",), _raised),
    Fault("plate too low", (-1.0, -2.0, -5.0), "cm", ("plate-height",), _raised),
    Fault("all plates too high", (2.0, 3.0, 5.0), "cm", ("plate-height",), _all_raised),
    Fault("all plates too low", (-3.0, -4.0, -5.0), "cm", ("plate-height",), _all_raised),
    Fault("plate rotated 90 deg", (90.0,), "deg", ("plate-rotated",), _rotated),
    Fault("plate rotated 180 deg", (180.0,), "deg", ("plate-rotated",), _rotated),
    Fault("plates swapped", (1.0,), "pair", ("plates-swapped",), _swapped),
    Fault("Fx and Fy exchanged", (1.0, 2.0, 3.0), "plates", ("plate-axes-exchanged",), _exchanged_axes),
    Fault("Mx and My exchanged", (1.0, 2.0, 3.0), "plates", ("plate-axes-exchanged",), _exchanged_moments),
    Fault("moment sign flipped", (1.0, 2.0, 3.0), "plates", ("plate-moment-sign",), _moment_sign),
    Fault("plates read more", (5.0, 10.0, 20.0), "%", ("mass-mismatch",), _read_more),
    Fault("one plate reads more", (5.0, 10.0, 20.0), "%", ("mass-mismatch",), _one_reads_more),
    Fault("channel reversed", (-1.0,), "times", ("plate-force-sign", "plate-moment-sign"), _gained),
    Fault("channel dead", (0.0,), "times", ("plate-channel-constant", "plate-channel-gain"), _gained),
    Fault("baseline", (10.0, 20.0, 40.0), "N", ("plate-not-zeroed",), _baseline),
    Fault("forces late", (10.0, 20.0, 50.0), "ms", ("time-offset",), _late_forces),
    Fault(
        "L/R exchanged",
        (1.0, 2.0, 3.0),
        "extent",
        ("labels-exchanged", "sides-exchanged", "markers-exchanged"),
        _exchanged_labels,
    ),
    Fault("marker moved", (2.0, 3.0, 5.0), "cm", ("marker-moved", "marker-off-place"), _moved_marker),
    Fault("gap", (0.2, 0.4, 0.8), "s", ("marker-gap",), _gaps),
    Fault("forces x 1000", (1000.0,), "", ("force-unit", "stopped: exceeds any human load"), _scaled(slice(0, 3))),
    # No plate is ever loaded then: the program stops, and its message must name the cause.
    Fault("forces / 1000", (0.001,), "", ("force-unit", "stopped: a thousandth"), _scaled(slice(0, 3))),
    Fault("moments x 1000", (1000.0,), "", ("unit-corrected", "moment-unit"), _scaled(slice(3, 6))),
    Fault("moments / 1000", (0.001,), "", ("unit-corrected", "moment-unit"), _scaled(slice(3, 6))),
    Fault("points x 1000", (1000.0,), "", ("unit-corrected",), _scaled_points),
    Fault("points / 1000", (0.001,), "", ("unit-corrected",), _scaled_points),
)
CAUSES = frozenset(cause for fault in FAULTS for cause in fault.causes)


# -- the account ----------------------------------------------------------------------------------------------------


@dataclass
class Tally:
    """What was found at one strength: trials, detected, first cause right, and the first causes named instead."""

    trials: int = 0
    detected: int = 0
    right: int = 0
    instead: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Finding:
    """Findings of one analysis: `causes` are codes that name a fault, the likeliest first; seconds spent."""

    causes: tuple[str, ...]
    warnings: tuple[Diagnostic, ...] = ()
    checks_s: float = 0.0
    trial_s: float = 0.0


def analyse(session: Session, folder: Path, method: str) -> Finding:
    """Write the session's files and collect what biodyn finds in them; method: entry of [signals]."""
    settings = {"signals": {"method": method}}
    try:
        analysis = analyse_session(folder, session.static, session.walk, mass_kg=session.mass_kg, settings=settings)
    except BiodynError as error:
        return Finding(
            tuple(c for c in CAUSES if c.startswith("stopped: ") and c.removeprefix("stopped: ") in str(error))
        )
    return Finding(
        tuple(dict.fromkeys(note.code for note in analysis.diagnostics if note.code in CAUSES)),
        tuple(note for note in analysis.diagnostics if note.severity != "info"),
        analysis.timings["checks"],
        sum(seconds for step, seconds in analysis.timings.items() if step not in EXTRAS),
    )


def sessions(group: Group, seeds: int) -> list[Session]:
    """One session for each person and seed."""
    return [
        Session(static, walk, walker.person.mass_kg)
        for walker, _, static, walk in recorded_sessions(
            group.walkers, range(group.first_seed, group.first_seed + seeds)
        )
    ]


def pinholes(session: Session, count: int, rng: np.random.Generator) -> Session:
    """Hide single markers in single frames: no fault, the fill is certain."""
    markers = session.walk.markers.copy()
    markers[rng.integers(len(markers), size=count), rng.integers(markers.shape[1], size=count)] = np.nan
    return replace(session, walk=replace(session.walk, markers=markers))


def judge(fault: Fault, strength: float, recorded: list[Session], folder: Path, method: str) -> Tally:
    """Put one fault into every session."""
    tally = Tally()
    for number, session in enumerate(recorded):
        faulty = fault.inject(session, strength, np.random.default_rng([number, len(fault.name)]))
        finding = analyse(faulty, folder, method)
        tally.trials += 1
        tally.detected += bool(finding.causes)
        if finding.causes and finding.causes[0] in fault.causes:
            tally.right += 1
        else:
            named = finding.causes[0] if finding.causes else "nothing"
            tally.instead[named] = tally.instead.get(named, 0) + 1
    return tally


def judge_clean(recorded: list[Session], folder: Path, name: str, record: Record, method: str) -> list[Finding]:
    """Print what is found in sessions without a fault; every warning is a false alarm."""
    clean = [analyse(session, folder, method) for session in recorded]
    for session, finding in zip(recorded, clean, strict=True):
        for note in finding.warnings:
            print(f"  in a clean walk of {session.walk.body.person.name}: {note.code}: {note.message}")
    false = sum(bool(finding.warnings) for finding in clean)
    target = f"target <= {100 * TARGETS['false']:.0f} %"
    share = per_cent(false, len(clean))
    tell(f"false alarms, {name}: {false} of {len(clean)} walks, {share:.1f} % ({target})")
    record.add(f"false alarms, {name}", share, "% of the walks")
    return clean


@dataclass(frozen=True)
class Asked:
    """Faults whose name holds one of `names`, at the middle strength alone or at one of their own, and the entry of [signals]."""

    names: tuple[str, ...]
    middle: bool
    at: float | None
    method: str

    def strengths(self, fault: Fault) -> tuple[float, ...]:
        """The strengths at which a fault is tried; none for one that was not asked for."""
        if not any(name in fault.name for name in self.names):
            return ()
        if self.at is not None:
            return (self.at,)
        return (fault.middle,) if self.middle else fault.strengths


def judge_faults(asked: Asked, recorded: list[Session], folder: Path) -> Tally:
    """Print a row for every fault and strength; return what was found at the middle strengths."""
    total = Tally()
    print(f"\n{'fault':24s} {'strength':>14s} {'trials':>7s} {'detected':>9s} {'cause':>7s}  instead")
    for fault in FAULTS:
        for strength in asked.strengths(fault):
            judged = strength in (fault.middle, asked.at)
            tally = judge(fault, strength, recorded, folder, asked.method)
            if judged:
                total.trials += tally.trials
                total.detected += tally.detected
                total.right += tally.right
            others = ", ".join(f"{code} {count}" for code, count in tally.instead.items())
            tell(
                f"{fault.name:24s} {strength:>7g} {fault.unit:6s} {tally.trials:>7d} "
                f"{per_cent(tally.detected, tally.trials):>8.0f}% {per_cent(tally.right, tally.trials):>6.0f}%"
                f"{' *' if judged else '  '} {others}"
            )
    return total


def main() -> None:
    """Print detection, causes and false alarms."""
    parser = parser_of(__doc__, people=GROUPS, seeds=4)
    parser.add_argument("--clean-seeds", type=int, default=0, help="the same for walks without a fault")
    parser.add_argument("--pinholes", type=int, default=100, help="single-frame gaps in the second set of clean walks")
    parser.add_argument("--middle", action="store_true", help="the middle strengths alone")
    parser.add_argument("--clean", action="store_true", help="no faults")
    parser.add_argument("--only", nargs="*", default=[""], help="parts of the names of the faults")
    parser.add_argument("--at", type=float, help="this strength alone")
    parser.add_argument("--method", default="auto", help="signals.method of the analysis")
    arguments = parser.parse_args()
    record, watch = Record("faults", vars(arguments)), Stopwatch()
    group = GROUPS[arguments.people]
    recorded = sessions(group, max(arguments.seeds, arguments.clean_seeds))
    print(f"{arguments.people}: {len(group.walkers)} people, {RECORDED.noise_mm:g} mm noise, soft tissue")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        clean = judge_clean(recorded, folder, "clean walks", record, arguments.method)
        holed = [pinholes(session, arguments.pinholes, np.random.default_rng(n)) for n, session in enumerate(recorded)]
        judge_clean(holed, folder, f"with {arguments.pinholes} single-frame gaps", record, arguments.method)
        share = 100 * float(np.median([finding.checks_s / finding.trial_s for finding in clean]))
        print(f"time of the checks: {share:.0f} % of the rest of the trial (median)")
        record.add("time of the checks", share, "% of the rest of the trial")
        if not arguments.clean:
            each = len(recorded) // len(group.walkers)
            few = [session for n, session in enumerate(recorded) if n % each < arguments.seeds]
            asked = Asked(tuple(arguments.only), arguments.middle, arguments.at, arguments.method)
            middle = judge_faults(asked, few, folder)
            detected, right = per_cent(middle.detected, middle.trials), per_cent(middle.right, middle.trials)
            print(
                f"\nmiddle strengths (*): detected {detected:.1f} % (target {100 * TARGETS['detected']:.0f} %), "
                f"cause right {right:.1f} % (target {100 * TARGETS['cause']:.0f} %)"
            )
            record.add("detected, middle strengths", detected, "%, larger is better")
            record.add("cause right, middle strengths", right, "%, larger is better")
    record.add("whole run", watch.seconds)
    record.close()


if __name__ == "__main__":
    main()
