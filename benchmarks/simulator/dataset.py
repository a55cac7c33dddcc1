"""The sample data set: two people, two walks each, with the truth beside them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from simulator.files import write_c3d, write_truth, write_truth_table
from simulator.person import Person, embody
from simulator.plates import Plate
from simulator.trial import TrialOptions, simulate_trial
from simulator.walking import solve_walk

# Everything a real laboratory adds: marker noise, skin, hidden markers, amplifiers.
_DEVICES = TrialOptions(noise_mm=1.0, soft_tissue=1.0, gaps=8, force_noise_n=0.7, force_offset_n=2.0)


@dataclass(frozen=True)
class SampleWalk:
    """A walk of the data set: file name without suffix, speed and stride time."""

    name: str
    speed_m_s: float
    stride_s: float


@dataclass(frozen=True)
class SampleSubject:
    """A person of the data set, the laboratory, and the walks.

    Attributes:
        folder: of the person's files. prefix: stands before the marker labels. events: gait events are stored.
    """

    folder: str
    person: Person
    laboratory: TrialOptions
    walks: tuple[SampleWalk, ...]
    prefix: str
    events: bool


def sample_subjects(seed: int) -> tuple[SampleSubject, ...]:
    """Return the people of the data set; `seed` fixes noise, skin and gaps."""
    first = SampleSubject(
        folder="subject01",
        person=Person("S01", height_m=1.80, mass_kg=76.0, sex="male"),
        laboratory=replace(
            _DEVICES,
            rate_hz=100.0,
            analog_rate_hz=1000.0,
            forward="-x",
            up="+z",
            plates=(
                Plate(2, 0.0, origin_m=(0.0004, -0.0007, -0.041)),
                Plate(2, 0.71, turned=True, origin_m=(-0.0003, 0.0005, -0.0405)),
                Plate(2, 1.42, origin_m=(0.0002, 0.0001, -0.0412)),
            ),
            seed=seed,
        ),
        walks=(SampleWalk("walk01", 1.30, 1.10), SampleWalk("walk02", 1.40, 1.06)),
        prefix="",
        events=True,
    )
    second = SampleSubject(
        folder="subject02",
        person=Person("S02", height_m=1.65, mass_kg=58.5, sex="female"),
        laboratory=replace(
            _DEVICES,
            rate_hz=120.0,
            analog_rate_hz=1200.0,
            forward="+y",
            up="+z",
            plates=(
                Plate(4, 0.0, length_m=0.508, width_m=0.464, origin_m=(0.0003, 0.0002, -0.0376)),
                Plate(4, 0.63, length_m=0.508, width_m=0.464, turned=True, origin_m=(0.0001, -0.0006, -0.0381)),
                Plate(3, 1.26, origin_m=(0.2, 0.12, -0.045)),
            ),
            seed=seed + 1,
        ),
        walks=(SampleWalk("walk01", 1.20, 1.05), SampleWalk("walk02", 1.10, 1.10)),
        prefix="S02:",
        events=False,
    )
    return first, second


def write_sample_data(folder: Path, seed: int = 1, say: Callable[[str], None] = lambda text: None) -> list[Path]:
    """Write the data set below `folder` and return the files; the same seed gives the same bytes."""
    written: list[Path] = []
    for subject in sample_subjects(seed):
        body = embody(subject.person)
        place = folder / subject.folder
        truth = place / "truth"
        truth.mkdir(parents=True, exist_ok=True)
        for number, entry in enumerate(subject.walks):
            options = replace(subject.laboratory, speed_m_s=entry.speed_m_s, stride_s=entry.stride_s)
            say(f"{subject.folder}: {entry.name}, {entry.speed_m_s:g} m/s")
            walk = solve_walk(body, entry.speed_m_s, entry.stride_s)
            kinds = [("walk", entry.name)] if number else [("static", "static"), ("walk", entry.name)]
            for kind, name in kinds:
                trial = simulate_trial(subject.person, options, kind, walk)
                write_c3d(place / f"{name}.c3d", trial, events=subject.events, prefix=subject.prefix)
                written.append(place / f"{name}.c3d")
                if kind == "walk":
                    write_truth(truth / f"{name}.npz", trial)
                    write_truth_table(truth / f"{name}.csv", trial)
                    written += [truth / f"{name}.npz", truth / f"{name}.csv"]
    return written
