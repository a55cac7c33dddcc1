"""The list of group statistics: each is a file of `statistics/`, and its tables become files of OUT/group."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import pandas as pd

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.library.registry import Registry
from biodyn.study.group.curves import MeanCurves
from biodyn.study.group.definitions import ParameterDefinition
from biodyn.study.group.observations import Observations
from biodyn.study.group.options import AnalysisOptions
from biodyn.study.group.subject_cycles import SubjectCycles
from biodyn.variables import Walker

#: (place in the values of an observation, name, unit)
Named = tuple[int, str, str]


@dataclass(frozen=True)
class GroupData:
    """What a statistic may look at: means of every subject, one number or one curve per session, condition and side.

    Attributes:
        observations: `cells` (a subject in one session, condition and side), `trials` and `per_subject(side)`.
        units: unit of every variable of the data set. parameter_units: in the order of `observations.definitions`.
        options: section [analysis] of study.toml.
        walkers: the people, by whom norms are chosen.
    """

    observations: Observations
    units: Mapping[str, str]
    parameter_units: Sequence[str]
    options: AnalysisOptions
    walkers: Sequence[Walker] = ()

    @property
    def curves(self) -> list[Named]:
        """The compared variables that the study has: place in a cell's curves, name, unit."""
        places = {name: number for number, name in enumerate(self.observations.variables)}
        return [(places[name], name, self.units[name]) for name in self.options.curve_variables if name in self.units]

    @property
    def parameters(self) -> list[Named]:
        """The compared parameters: place in a cell's parameters, name, unit."""
        places = {one.name: number for number, one in enumerate(self.observations.definitions)}
        compared = self.options.compared_parameters
        return [(places[name], name, self.parameter_units[places[name]]) for name in compared]


@dataclass(frozen=True)
class Found:
    """Tables by the name of their file in OUT/group, sentences by the same names, and doubts."""

    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    notes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    diagnostics: tuple[Diagnostic, ...] = ()


class Statistic(Protocol):
    """A statistic while subjects come in one by one; most need nothing of a single cycle, and `add` does nothing."""

    def add(self, data: SubjectCycles, curves: Sequence[MeanCurves], parameters: FloatArray) -> None:
        """Take in the cycles of one subject, its mean curves, and its parameters (cycles, P)."""

    def found(self, data: GroupData) -> Found:
        """Return the tables, when every subject was taken in."""


Start = Callable[[Sequence[ParameterDefinition], AnalysisOptions], Statistic]

#: Every group statistic by name, in the order in which they are computed and told.
STATISTICS: Registry[Start] = Registry("biodyn.study.group.statistics", "group statistic")


@dataclass(frozen=True)
class _OfMeans:
    """A statistic that needs the subjects' means only."""

    compute: Callable[[GroupData], Found]

    def add(self, data: SubjectCycles, curves: Sequence[MeanCurves], parameters: FloatArray) -> None:
        """Nothing: the means are kept by the observations."""

    def found(self, data: GroupData) -> Found:
        """Compute it."""
        return self.compute(data)


def group_statistic(
    name: str, *, place: float
) -> Callable[[Callable[[GroupData], Found]], Callable[[GroupData], Found]]:
    """Register a function of the subjects' means as a group statistic; smaller places come first."""

    def register(compute: Callable[[GroupData], Found]) -> Callable[[GroupData], Found]:
        STATISTICS.add(name, lambda definitions, options: _OfMeans(compute), place)
        return compute

    return register
