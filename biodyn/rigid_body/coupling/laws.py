"""The layers over a multibody as the kernels take them: one list of functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from biodyn.errors import ModelError
from biodyn.kernels import laws as kinds
from biodyn.kernels.laws import Laws, Passed
from biodyn.rigid_body.coupling.functions import (
    EllipsoidPoint,
    Function,
    Linear,
    Piecewise,
    Polynomial,
    Scaled,
    Sine,
)
from biodyn.rigid_body.coupling.maps import CoordinateMap


@dataclass
class _List:
    """The list while it grows."""

    kind: list[int] = field(default_factory=list)
    factor: list[float] = field(default_factory=list)
    sources: list[tuple[int, ...]] = field(default_factory=list)
    at: list[int] = field(default_factory=list)
    numbers: list[float] = field(default_factory=list)

    def add(self, kind: int, sources: tuple[int, ...], numbers: Sequence[float] = (), factor: float = 1.0) -> int:
        """Append a value; return its index."""
        self.kind.append(kind)
        self.factor.append(factor)
        self.sources.append(sources)
        self.at.append(len(self.numbers))
        self.numbers.extend(float(one) for one in numbers)
        return len(self.kind) - 1


def laws_of(layers: Sequence[CoordinateMap]) -> Laws:
    """Return the functions from the coordinates at the top to those beneath the last layer.

    Raises ModelError for a kind of function that the kernels do not know.
    """
    made = _List()
    above = [made.add(kinds.GIVEN, ()) for _ in range(layers[0].nq)]
    for layer in layers:
        functions = {term.out: term for term in layer.terms}
        passing = dict(layer.same)
        beneath = []
        for out in range(layer.nz):
            if out in passing:
                beneath.append(made.add(kinds.SAME, (above[passing[out]],)))
                continue
            term = functions[out]
            kind, numbers, factor = _described(term.function)
            beneath.append(made.add(kind, tuple(above[s] for s in term.sources), numbers, factor))
        above = beneath
    entries: list[list[int]] = []
    target: list[int] = []
    start = 0
    for i, sources in enumerate(made.sources):
        columns = sorted({column for s in sources for column in entries[s]}) if made.kind[i] != kinds.GIVEN else [i]
        target += [start + columns.index(column) for s in sources for column in entries[s]]
        entries.append(columns)
        start += len(columns)
    return Laws(
        kind=np.array(made.kind, dtype=np.int64),
        factor=np.array(made.factor),
        first=_ends([len(one) for one in made.sources]),
        source=np.array([s for one in made.sources for s in one], dtype=np.int64),
        at=np.array(made.at, dtype=np.int64),
        numbers=np.array(made.numbers, dtype=np.float64),
        entry=_ends([len(one) for one in entries]),
        column=np.array([c for one in entries for c in one], dtype=np.int64),
        target=np.array(target, dtype=np.int64),
    )


def room_for(laws: Laws) -> Passed:
    """Return the working memory of one evaluation."""
    count, sources = len(laws.kind), len(laws.source)
    return Passed(
        x=np.zeros(count),
        slope=np.zeros(sources),
        curve=np.zeros(sources),
        cross=np.zeros(count),
        gradient=np.zeros(len(laws.column)),
        pull=np.zeros(count),
    )


def _ends(counts: Sequence[int]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _described(function: Function) -> tuple[int, Sequence[float], float]:
    """Return kind, numbers and factor of a function."""
    if isinstance(function, Scaled):
        kind, numbers, factor = _described(function.function)
        return kind, numbers, factor * function.factor
    if isinstance(function, Linear):
        return kinds.LINEAR, (function.offset, *function.slopes), 1.0
    if isinstance(function, Piecewise):
        pieces = function.pieces
        head = (len(pieces.x), len(pieces.c) - 1, function.beyond)
        return kinds.PIECES, (*head, *pieces.x, *pieces.c.T.ravel()), 1.0
    if isinstance(function, Polynomial):
        return kinds.POLYNOMIAL, (len(function.coefficients) - 1, *function.coefficients), 1.0
    if isinstance(function, Sine):
        return kinds.SINE, (function.amplitude, function.omega, function.phase, function.offset), 1.0
    if isinstance(function, EllipsoidPoint):
        return kinds.ELLIPSOID, (function.radius, function.component), 1.0
    raise ModelError(f"A function of kind {type(function).__name__} cannot be fitted through.")
