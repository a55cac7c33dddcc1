"""Do plates that are not at zero or noisy still give the right contacts? `python benchmarks/contacts.py`.

Simulated people walk over three plates; what the plates record is spoilt: offsets of 5 to 60 N that stay or drift, noise of
1 to 8 N, offsets of the moments that put the centre of pressure far off the plate, one plate that nobody steps on. Each walk
is right where every true step is one assigned contact of its side, begin and end within 40 ms, and nothing else is
assigned. Confident and wrong: a foot said to be measured, with a force more than 5 % of body weight off the truth.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from common import (
    Record,
    Stopwatch,
    Walker,
    analyse_session,
    parser_of,
    per_cent,
    recorded_sessions,
)
from simulator import Person, Plate, SimulatedTrial, TrialOptions

from biodyn.conventions import SIDES, STANDARD_GRAVITY_M_S2, FloatArray, Side
from biodyn.errors import BiodynError
from biodyn.processing.signals.filtering import butterworth_lowpass

TIMES_S = 0.04  # of a contact's begin and end: the raised threshold costs some milliseconds, a wrong contact tenths
FORCE_SHARE = 0.05
QUIET = TrialOptions(forward="-x", noise_mm=1.0, soft_tissue=1.0)
TWO_PLATES = replace(QUIET, forward="+y", rate_hz=200.0, plate_types=(3, 3), strides=2.2)
SOME_TYPES = replace(QUIET, rate_hz=120.0, analog_rate_hz=1200.0, plate_types=(2, 4, 3))


PEOPLE = {
    # The limits were set while looking at these.
    "tuned": (
        Walker(Person("Adam", height_m=1.78, mass_kg=74.0, sex="male"), 1.3, 1.1, QUIET),
        Walker(Person("Berta", height_m=1.62, mass_kg=58.0, sex="female"), 1.2, 1.05, QUIET),
        Walker(Person("Kim", height_m=1.22, mass_kg=24.0, sex="female"), 0.9, 0.9, SOME_TYPES),
    ),
    # Nothing was set by these.
    "fresh": (
        Walker(Person("Dora", height_m=1.54, mass_kg=49.0, sex="female"), 1.0, 1.16, QUIET),
        Walker(Person("Emil", height_m=1.84, mass_kg=81.0, sex="male"), 1.6, 1.0, SOME_TYPES),
        Walker(Person("Georg", height_m=1.95, mass_kg=104.0, sex="male"), 1.1, 1.26, TWO_PLATES),
        Walker(Person("Lea", height_m=1.16, mass_kg=21.0, sex="female"), 0.95, 0.85, SOME_TYPES),
        Walker(
            Person("Hanna", height_m=1.60, mass_kg=63.0, sex="female", marker_set="plug_in_gait_lower"),
            1.45,
            0.98,
            TWO_PLATES,
        ),
    ),
}

Spoil = Callable[[FloatArray, float, np.random.Generator], FloatArray]


def _noise(components: FloatArray, sd_n: float, rng: np.random.Generator) -> FloatArray:
    return sd_n * rng.normal(size=components.shape) * np.array([1.0, 1.0, 1.0, 0.05, 0.05, 0.05])


def constant(components: FloatArray, rng: np.random.Generator) -> FloatArray:
    """5 to 60 N, either way; 1 N of noise."""
    level = rng.uniform(5.0, 60.0) * rng.choice([-1.0, 1.0])
    return components + np.array([0.0, 0.0, -level, 0.0, 0.0, 0.0]) + _noise(components, 1.0, rng)


def drifting(components: FloatArray, rng: np.random.Generator) -> FloatArray:
    """5 to 40 N at the start, changing by up to 40 N over the recording."""
    line = rng.uniform(5.0, 40.0) + rng.uniform(-40.0, 40.0) * np.linspace(0.0, 1.0, len(components))
    return components - np.outer(line, [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]) + _noise(components, 1.0, rng)


def noisy(components: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Noise of 1 to 8 N."""
    return components + _noise(components, rng.uniform(1.0, 8.0), rng)


def noisy_offset(components: FloatArray, rng: np.random.Generator) -> FloatArray:
    """10 to 50 N with noise of 3 to 8 N: the force alone tells no zero."""
    level = rng.uniform(10.0, 50.0)
    return components + np.array([0.0, 0.0, -level, 0.0, 0.0, 0.0]) + _noise(components, rng.uniform(3.0, 8.0), rng)


def moments(components: FloatArray, rng: np.random.Generator) -> FloatArray:
    """15 to 40 N with moments of up to 20 Nm: the centre of pressure of the empty plate is anywhere."""
    offset = np.concatenate([rng.uniform(-10, 10, 2), [-rng.uniform(15.0, 40.0)], rng.uniform(-20.0, 20.0, 3)])
    return components + offset + _noise(components, 1.0, rng)


KINDS = {
    "constant offset": constant,
    "drifting offset": drifting,
    "noise": noisy,
    "offset and noise": noisy_offset,
    "offset of moments": moments,
}


@dataclass
class Tally:
    """Walks: analysed, right, confident and wrong, refused; and what went wrong in which."""

    walks: int = 0
    right: int = 0
    wrong: int = 0
    refused: int = 0
    examples: list[str] = field(default_factory=list)


def empty_plate(walk: SimulatedTrial) -> SimulatedTrial:
    """The walk with one more plate, which nobody steps on."""
    beside = Plate(2, walk.plates[-1].centre_x_m + 3.0)  # farther along the walkway than anybody gets
    return replace(
        walk, plates=(*walk.plates, beside), components=(*walk.components, np.zeros_like(walk.components[0]))
    )


def spoilt(walk: SimulatedTrial, kind: str, rng: np.random.Generator) -> SimulatedTrial:
    """The walk with every plate spoilt in one way."""
    full = empty_plate(walk)
    return replace(full, components=tuple(KINDS[kind](c, rng) for c in full.components))


def steps(walk: SimulatedTrial) -> list[tuple[int, Side, float, float]]:
    """Plate number, side, begin and end (s) of the true loads above 20 N."""
    found = []
    rate_hz = walk.options.analog_rate_hz
    for number, components in enumerate(walk.components):
        loaded = np.flatnonzero(np.abs(components[:, 2]) > 20.0)
        if len(loaded):
            found.append((number + 1, SIDES[number % 2], loaded[0] / rate_hz, loaded[-1] / rate_hz))
    return found


def judge(
    clean: SimulatedTrial, static: SimulatedTrial, kind: str, rng: np.random.Generator, folder: Path
) -> tuple[bool, str]:
    """Analyse one spoilt walk: are the contacts right, and what is confidently wrong ("" for nothing)."""
    settings = {
        "signals": {"method": "butterworth"},
        "uncertainty": {"compute": False},
    }  # contacts come before an estimate
    analysis = analyse_session(folder, static, spoilt(clean, kind, rng), settings=settings, torques_only=True)
    assigned = {(c.plate, c.side, c.start_s, c.end_s) for c in analysis.contacts if c.decision == "assigned"}
    truth = steps(clean)
    right = len(assigned) == len(truth) and all(
        any(plate == p and side == s and abs(begin - b) < TIMES_S and abs(end - e) < TIMES_S for p, s, b, e in assigned)
        for plate, side, begin, end in truth
    )
    weight = clean.body.person.mass_kg * STANDARD_GRAVITY_M_S2
    rate_hz = clean.options.rate_hz
    wrong = []
    for side in SIDES:
        true = butterworth_lowpass(clean.wrench[side], rate_hz, analysis.force_cutoff_hz)
        # The contacts may begin and end a little wrong, and the filter spreads that; a wrong contact is off all through.
        known = analysis.reaction.measured[side] & clean.measured[side]
        off = np.linalg.norm(analysis.reaction.wrench[side][known, 3:] - true[known, 3:], axis=1)
        bad = np.count_nonzero(off > FORCE_SHARE * weight) / rate_hz
        unknown = np.count_nonzero(analysis.reaction.measured[side] & ~clean.measured[side]) / rate_hz
        if bad > 0.02 or unknown > 2.0 * TIMES_S:
            wrong.append(
                f"{side}: {1000 * bad:.0f} ms off, {1000 * unknown:.0f} ms not measured (max {off.max():.0f} N)"
            )
    return right, "; ".join(wrong)


def walks(
    people: str, kinds: list[str], each: int
) -> Iterator[tuple[Walker, SimulatedTrial, SimulatedTrial, str, int]]:
    """Every walker's static trial and clean walk with every kind of damage, `each` times."""
    for walker, seed, static, walk in recorded_sessions(PEOPLE[people], range(1, each + 1)):
        for kind in kinds:
            yield walker, static, walk, kind, seed - 1


def main() -> None:
    """Print a row per kind of damage."""
    parser = parser_of(__doc__, people=("fresh", "tuned"), only="")
    parser.add_argument("--each", type=int, default=8, help="walks of each person with each kind of damage")
    parser.add_argument("--examples", action="store_true", help="show what went wrong")
    arguments = parser.parse_args()
    kinds = [kind for kind in KINDS if arguments.only in kind]
    table: dict[str, Tally] = defaultdict(Tally)
    record, watch = Record("contacts", vars(arguments)), Stopwatch()
    with tempfile.TemporaryDirectory() as name:
        for walker, static, walk, kind, seed in walks(arguments.people, kinds, arguments.each):
            tally = table[kind]
            tally.walks += 1
            rng = np.random.default_rng([seed, list(KINDS).index(kind), len(walker.person.name)])
            try:
                right, wrong = judge(walk, static, kind, rng, Path(name))
            except BiodynError as error:
                tally.refused += 1
                tally.examples.append(f"{walker.person.name} {seed}: {error}")
                continue
            tally.right += right
            tally.wrong += bool(wrong)
            if wrong or not right:
                tally.examples.append(f"{walker.person.name} {seed}: {'right' if right else 'not right'}; {wrong}")
    print(f"{arguments.people}: {sum(t.walks for t in table.values())} walks, {watch.seconds:.0f} s")
    print(f"{'damage':<20} walks  right  confident and wrong  refused")
    for kind, tally in table.items():
        right, wrong = per_cent(tally.right, tally.walks), per_cent(tally.wrong, tally.walks)
        print(f"{kind:<20} {tally.walks:>5} {right:>5.0f}% {wrong:>19.0f}% {tally.refused:>8}")
        record.add(f"{kind}: right", right, "% of the walks, larger is better")
        record.add(f"{kind}: confident and wrong", wrong, "% of the walks")
        record.add(f"{kind}: refused", tally.refused, "walks")
        if arguments.examples and tally.examples:
            print("\n".join(f"    {line}" for line in tally.examples))
    record.add("whole run", watch.seconds)
    record.close()


if __name__ == "__main__":
    main()
