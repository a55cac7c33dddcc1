"""What the walks of a session tell of constants that they share: inertias of the body, errors of the plates.

Each walk gives an information matrix and a gradient, its motion left free; their sum with what was known before gives the
constants of all. Nothing else of a walk is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from biodyn.conventions import FloatArray


@dataclass(frozen=True)
class Told:
    """What a stretch tells of constants, in standard deviations of before, the motion left free.

    Attributes:
        names: (P,) of the constants. information: (P, P), and pull (P,): the value is where information @ value = pull.
    """

    names: tuple[str, ...]
    information: FloatArray
    pull: FloatArray

    def with_others(self, others: Sequence[Told]) -> tuple[FloatArray, FloatArray]:
        """Return values and standard deviations (P,) of the own constants, from all that is told of them and of before."""
        names = list(dict.fromkeys((*self.names, *(name for other in others for name in other.names))))
        certain, pull = np.eye(len(names)), np.zeros(len(names))
        for told in (self, *others):
            at = np.array([names.index(name) for name in told.names], dtype=np.int64)
            certain[np.ix_(at, at)] += told.information
            pull[at] += told.pull
        count = len(self.names)
        values, sd = np.linalg.solve(certain, pull), np.sqrt(np.diag(np.linalg.inv(certain)))
        return np.asarray(values[:count]), np.asarray(sd[:count])
