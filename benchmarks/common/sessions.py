"""Simulated sessions: people who walk in a laboratory, their static trial and walk, as values and as files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from simulator import (
    Person,
    SimulatedTrial,
    TrialOptions,
    Walk,
    embody,
    simulate_trial,
    solve_walk,
    write_c3d,
)

from biodyn.analysis import TrialAnalysis
from biodyn.trial.run import analyse_trial

# As a good laboratory records: 1 mm of marker noise, moving skin, plates nearly quiet and nearly at zero; no gaps.
RECORDED = TrialOptions(forward="-x", noise_mm=1.0, soft_tissue=1.0, force_noise_n=0.7, force_offset_n=2.0)


@dataclass(frozen=True)
class Walker:
    """A simulated person, how fast they walk (m/s, s a stride), and the laboratory."""

    person: Person
    speed_m_s: float
    stride_s: float
    laboratory: TrialOptions = RECORDED

    def walk(self) -> Walk:
        """Solve the walk: a second or two."""
        return solve_walk(embody(self.person), self.speed_m_s, self.stride_s)


def record_session(person: Person, options: TrialOptions, walk: Walk) -> tuple[SimulatedTrial, SimulatedTrial]:
    """Return static trial and walk as the laboratory records them."""
    return simulate_trial(person, options, "static", walk), simulate_trial(person, options, "walk", walk)


def recorded_sessions(
    walkers: Sequence[Walker], seeds: Sequence[int]
) -> Iterator[tuple[Walker, int, SimulatedTrial, SimulatedTrial]]:
    """Yield walker, seed, static trial and walk of every walker with every seed of noise, skin and plates."""
    for walker in walkers:
        walk = walker.walk()
        for seed in seeds:
            yield walker, seed, *record_session(walker.person, replace(walker.laboratory, seed=seed), walk)


def write_session(folder: Path, static: SimulatedTrial, walk: SimulatedTrial) -> tuple[Path, Path]:
    """Write static.c3d and walk.c3d into a folder; return walk and static trial, in the order `analyse_trial` takes them."""
    paths = folder / "walk.c3d", folder / "static.c3d"
    write_c3d(paths[1], static)
    write_c3d(paths[0], walk)
    return paths


def analyse_session(folder: Path, static: SimulatedTrial, walk: SimulatedTrial, **options: Any) -> TrialAnalysis:
    """Write both files and analyse the walk with its static trial."""
    return analyse_trial(*write_session(folder, static, walk), **options)
