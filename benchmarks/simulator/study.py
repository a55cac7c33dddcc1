"""A simulated study: a folder of people who walk in several conditions, as a laboratory would have stored it.

`python -m simulator.study FOLDER --subjects 50 --trials 20 --seed 1 [--damage 0.02]` writes

    FOLDER/S01/static.c3d, FOLDER/S01/walk_normal_01.c3d ..., FOLDER/S01/walk_fast_01.c3d ..., FOLDER/S02/...

Solving a walk costs a second or two, so it is done once for a person and condition; the trials of a condition are that
walk with another pace, another share of the other condition's walk, and small changes of every curve. Whatever is
changed, forces and torques are those of the changed motion: every trial obeys physics exactly.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from biodyn.errors import BiodynError
from biodyn.threads import ONE_THREAD
from simulator.damage import DamagedFile, damage_files, write_damage_list
from simulator.files import write_c3d
from simulator.laboratory import place_plates
from simulator.person import Person, embody
from simulator.plates import Plate
from simulator.trial import TrialOptions, simulate_trial
from simulator.walking import Walk, solve_walk

# Speed of a condition as a multiple of the comfortable one.
CONDITIONS = {"slow": 0.85, "normal": 1.0, "fast": 1.2}
_LABORATORY = TrialOptions(noise_mm=1.0, soft_tissue=1.0, force_noise_n=0.7, force_offset_n=2.0)
_FORWARD = ("-x", "+x", "+y", "-y")
_LARGEST_GAPS = 5
_PLATE_M = (0.508, 0.464)
_PLATE_SCATTER_M = 0.02  # of the plates under the feet; a foot has 0.1 m to spare
# Between trials of a person and condition, standard deviations: stride time, share of the other condition's walk,
# deviation of a curve's coefficient in units of its tolerance (2-6 degrees).
_STRIDE_SPREAD, _CONDITION_SPREAD, _CURVE_SPREAD = 0.015, 0.06, 0.05
# Near the minimum: a foot slips by a fraction of a millimetre more than after sixty.
_FIRST_ITERATIONS, _NEXT_ITERATIONS = 6, 3
_COMFORTABLE_FROUDE = 0.46  # speed / sqrt(g leg length), about 1.35 m/s for a leg of 0.9 m
_STRIDE_PER_ROOT_LEG_S = 1.15  # stride time / sqrt(leg length in m)


@dataclass(frozen=True)
class StudyDesign:
    """What a simulated study holds.

    Attributes:
        subjects: people. trials: walks of each, shared evenly between the conditions.
        conditions: names of CONDITIONS. duration_s, rate_hz: of a walk. seed: of everything random.
    """

    subjects: int = 50
    trials: int = 20
    conditions: tuple[str, ...] = ("normal", "fast")
    duration_s: float = 4.0
    rate_hz: float = 100.0
    seed: int = 1

    def __post_init__(self) -> None:
        unknown = [name for name in self.conditions if name not in CONDITIONS]
        if unknown or not self.conditions:
            raise BiodynError(f"Conditions are some of {', '.join(CONDITIONS)}; found {', '.join(unknown) or 'none'}.")
        if self.subjects < 1 or self.trials < 1:
            raise BiodynError(f"A study has people and trials, found {self.subjects} and {self.trials}.")


def subject_name(number: int) -> str:
    """Folder and name of the person with this number, from 0."""
    return f"S{number + 1:02d}"


def someone(seed: int, number: int) -> Person:
    """Return a person drawn from the seed: sex, height, mass and proportions of adults."""
    rng = np.random.default_rng([seed, number])
    woman = bool(rng.random() < 0.5)
    height = float(np.clip(rng.normal(1.65 if woman else 1.78, 0.065), 1.50, 1.95))
    body_mass_index = float(np.clip(rng.normal(22.5 if woman else 24.0, 2.0), 18.5, 29.0))
    return Person(
        subject_name(number),
        height_m=round(height, 3),
        mass_kg=round(body_mass_index * height**2, 1),
        sex="female" if woman else "male",
        leg_length=float(np.clip(rng.normal(1.0, 0.02), 0.96, 1.04)),
        breadth=float(np.clip(rng.normal(1.0, 0.025), 0.94, 1.06)),
    )


def write_study(
    folder: str | Path,
    subjects: int = 50,
    trials: int = 20,
    seed: int = 1,
    conditions: Sequence[str] = ("normal", "fast"),
    damage: float = 0.0,
    processes: int = 2,
    say: Callable[[str], None] = lambda text: None,
) -> tuple[list[Path], list[DamagedFile]]:
    """Write a simulated study below `folder`; return its walks and which of them were damaged, and how.

    The same seed gives the same bytes, whatever the number of processes. damage: share of the walks that gets each
    kind of damage (see `simulator.damage`); FOLDER/damaged.csv lists them.
    """
    design = StudyDesign(subjects, trials, tuple(conditions), seed=seed)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    walks: list[Path] = []
    with (
        _one_thread_each(),
        ProcessPoolExecutor(max(1, processes), mp_context=get_context("spawn")) as pool,
    ):
        jobs = [pool.submit(_write_subject, folder, design, number) for number in range(subjects)]
        for number, job in enumerate(jobs):
            walks += job.result()
            say(f"{subject_name(number)}: {len(walks)} of {subjects * trials} walks")
    damaged = damage_files(walks, damage, seed) if damage else []
    if damaged:
        write_damage_list(damaged, folder)
    return walks, damaged


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Processes started inside use one thread for linear algebra: two fight over the cores, and more round otherwise."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _write_subject(folder: Path, design: StudyDesign, number: int) -> list[Path]:
    """Write the static trial and the walks of one person; return the walks."""
    person = someone(design.seed, number)
    walks = _condition_walks(person, design.conditions)
    place = folder / person.name
    place.mkdir(parents=True, exist_ok=True)
    laboratory = replace(
        _LABORATORY,
        rate_hz=design.rate_hz,
        analog_rate_hz=10.0 * design.rate_hz,
        forward=_FORWARD[number % len(_FORWARD)],
    )
    written: list[Path] = []
    for trial in range(design.trials):
        # Even shares, and one condition after the other in the numbering.
        at, repetition = trial * len(design.conditions) // design.trials, trial
        condition = design.conditions[at]
        repetition = trial - -(-at * design.trials // len(design.conditions))
        rng = np.random.default_rng([design.seed, number, trial])
        walk = vary(walks[condition], walks[design.conditions[at - 1]], rng)
        options = replace(
            laboratory,
            speed_m_s=walk.speed_m_s,
            stride_s=walk.stride_s,
            strides=design.duration_s / walk.stride_s,
            lead_in=float(rng.uniform(0.6, 0.9)),
            plates=_scattered(walk, rng),
            gaps=int(rng.integers(0, _LARGEST_GAPS + 1)),
            seed=int(rng.integers(1 << 31)),
        )
        if trial == 0:
            write_c3d(place / "static.c3d", simulate_trial(person, options, "static", walk), prefix="")
        path = place / f"walk_{condition}_{repetition + 1:02d}.c3d"
        write_c3d(path, simulate_trial(person, options, "walk", walk), events=number % 2 == 0)
        written.append(path)
    return written


def _condition_walks(person: Person, conditions: Sequence[str]) -> dict[str, Walk]:
    """The walk of a person in each condition."""
    body = embody(person)
    legs = [value for name, value in body.measures.items() if name.startswith("leg_length")]
    leg_m = float(np.mean(legs))
    walks: dict[str, Walk] = {}
    near: Walk | None = None
    for name in conditions:
        pace = CONDITIONS[name]
        speed = pace * _COMFORTABLE_FROUDE * float(np.sqrt(9.81 * leg_m))
        stride = _STRIDE_PER_ROOT_LEG_S * float(np.sqrt(leg_m / pace))
        near = solve_walk(body, speed, stride, _FIRST_ITERATIONS if near is None else _NEXT_ITERATIONS, near)
        walks[name] = near
    return walks


def vary(walk: Walk, other: Walk, rng: np.random.Generator) -> Walk:
    """Return another walk of the same person and condition: a little of `other`, another pace, other small deviations."""
    share = _CONDITION_SPREAD * float(rng.normal())
    pace = 1.0 + _STRIDE_SPREAD * float(rng.normal())

    def between(mine: float, theirs: float) -> float:
        return mine + share * (theirs - mine)

    stride_m = between(walk.stride_m, other.stride_m)
    stride_s = pace * between(walk.stride_s, other.stride_s)
    order = np.concatenate([curve.orders() for curve in walk.curves])
    unit = np.concatenate([np.full(curve.size, curve.tolerance) for curve in walk.curves])
    deviation = _CURVE_SPREAD * unit * rng.normal(size=len(unit)) / (1.0 + order**2)
    return replace(
        walk,
        stride_s=stride_s,
        speed_m_s=stride_m / stride_s,
        double_support=between(walk.double_support, other.double_support),
        coefficients=walk.coefficients + share * (other.coefficients - walk.coefficients) + deviation,
        foothold=walk.foothold + share * (other.foothold - walk.foothold),
    )


def _scattered(walk: Walk, rng: np.random.Generator) -> tuple[Plate, ...]:
    """Three plates under the feet, none of them quite centred."""
    centred, _ = place_plates(walk, (), (2, 2, 2))
    shifts = _PLATE_SCATTER_M * rng.uniform(-1.0, 1.0, len(centred))
    return tuple(
        replace(plate, centre_x_m=plate.centre_x_m + float(shift), length_m=_PLATE_M[0], width_m=_PLATE_M[1])
        for plate, shift in zip(centred, shifts, strict=True)
    )


def main() -> int:
    """Write a study; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m simulator.study", description="Write a simulated study.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--subjects", type=int, default=50)
    parser.add_argument("--trials", type=int, default=20, help="walks of each subject (default: 20)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--conditions", default="normal,fast", help=f"of {', '.join(CONDITIONS)}")
    parser.add_argument(
        "--damage", type=float, nargs="?", const=0.02, default=0.0, help="share of each kind of damage (0.02)"
    )
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    try:
        walks, damaged = write_study(
            arguments.folder,
            arguments.subjects,
            arguments.trials,
            arguments.seed,
            tuple(arguments.conditions.split(",")),
            arguments.damage,
            arguments.processes,
            print,
        )
    except BiodynError as error:
        print(error.message, error.hint, file=sys.stderr)
        return 2
    print(f"{len(walks)} walks, {len(damaged)} of them damaged, in {arguments.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
