"""What norms are made of: the mean curves and numbers of each person, condition and side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.errors import StudyError
from biodyn.study.collecting.read import iterate_subjects
from biodyn.study.group.curves import mean_curves
from biodyn.study.group.people import mean_of_person
from biodyn.study.group.subject_cycles import CYCLE_VALUES, SubjectCycles
from biodyn.study.report.source import StudySource
from biodyn.study.report.write import with_strides
from biodyn.variables import Walker, same_side
from biodyn.variables.norm_choice import SIZE_FREE, size_free, walker_of

_SPEED = "speed_m_s"


@dataclass(frozen=True)
class Means:
    """A person in one condition and side.

    Attributes:
        person: number from 0. speed: dimensionless. curves: (101,) by variable, in the tables' signs of a right side.
        strides: parameters of the stride by name, dimensionless ones included. weight: a person counts once a condition.
    """

    person: int
    speed: float
    curves: Mapping[str, FloatArray]
    strides: Mapping[str, float]
    weight: float


@dataclass(frozen=True)
class People:
    """All of a study: their means, units by variable, names, the walkers, and how many walks were left out."""

    means: tuple[Means, ...]
    units: Mapping[str, str]
    names: tuple[str, ...]
    walkers: tuple[Walker, ...]
    left_out: int


def people_of(study: Path, groups: Sequence[str] | None, conditions: Sequence[str] | None) -> People:
    """Return the people of a study's folder; only of these groups and conditions, where they are named.

    Raises StudyError for a group or condition that the study does not have; ResultError where there is no finished study.
    """
    source = StudySource(study)
    _require("group", groups, {trial.group for trial in source.trials})
    _require("condition", conditions, {trial.condition for trial in source.trials})
    means: list[Means] = []
    units: dict[str, str] = {}
    names: list[str] = []
    walkers: list[Walker] = []
    for frame in iterate_subjects(study, CYCLE_VALUES):
        data = with_strides(source, frame)
        if data is None:
            continue
        walker = _walker(source, data)
        own = list(_means(data, walker, len(names), groups, conditions)) if walker is not None else []
        if walker is None or not own:
            continue
        means += own
        units |= data.units
        names.append(data.subject)
        walkers.append(walker)
    left_out = sum(bool(trial.excluded) or not trial.done for trial in source.trials)
    return People(tuple(means), units, tuple(names), tuple(walkers), left_out)


def _require(what: str, wanted: Sequence[str] | None, known: set[str]) -> None:
    for name in wanted or ():
        if name not in known:
            listed = ", ".join(sorted(filter(None, known))) or "none"
            raise StudyError(f"The study has no {what} '{name}'.", f"There are {listed}.")


def _walker(source: StudySource, data: SubjectCycles) -> Walker | None:
    """The person as the trials' records know them; None where no trial is a walk."""
    used = set(data.cycles["trial"])
    trials = [trial for trial in source.subjects[data.subject] if trial.done and trial.trial in used]
    found = [walker_of(source.run_record(trial), trial.number(_SPEED)) for trial in trials]
    found = [one for one in found if one.activity == "walking"]
    return mean_of_person(found) if found else None


def _means(
    data: SubjectCycles, walker: Walker, person: int, groups: Sequence[str] | None, conditions: Sequence[str] | None
) -> Iterator[Means]:
    """The means of each session, condition and side."""
    kept = [
        one
        for one in mean_curves(data)
        if (groups is None or one.key[2] in groups) and (conditions is None or one.key[1] in conditions)
    ]
    counts: dict[str, int] = {}
    for one in kept:
        counts[one.key[1]] = counts.get(one.key[1], 0) + 1
    for one in kept:
        _, condition, _, side = one.key
        strides = {name: _mean(data.stride(name)[one.rows[one.used]]) for name in data.stride_columns}
        strides |= size_free(strides, walker)
        speed = strides.get(SIZE_FREE[0].name, float("nan"))
        if not np.isfinite(speed):
            continue
        signs = same_side(data.variables, side)
        curves = {name: signs[i] * one.mean[i] for i, name in enumerate(data.variables)}
        whole = {name: curve for name, curve in curves.items() if np.isfinite(curve).all()}
        yield Means(person, speed, whole, strides, 1.0 / counts[condition])


def _mean(values: FloatArray) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")
