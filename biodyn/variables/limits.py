"""Whether curves are what a person can walk: within the limits of their variables, and without jumps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.variables.meaning import PERCENT, variable


@dataclass(frozen=True)
class CurveFault:
    """What is impossible about one curve.

    Attributes:
        kind: "range" (a value beyond the limits) or "jump" (too large a change within 1 % of the cycle).
        value: the worst value, or change, in the table's signs and unit. limit: the one it is beyond.
        percent: of the cycle where it is.
    """

    kind: Literal["range", "jump"]
    value: float
    limit: float
    percent: float


def curve_faults(curves: FloatArray, names: Sequence[str], factor: float = 1.0) -> dict[int, CurveFault]:
    """Return the worst fault of each curve that has one, by column of curves (101, V) of named variables; NaN says nothing.

    A value beyond the limits goes before a jump, which is the change between neighbours that both hold a value. `factor`
    widens (above 1) or narrows all limits.
    """
    meanings = [variable(name) for name in names]
    low, high = factor * np.array([one.limits for one in meanings]).reshape(-1, 2).T
    jump = factor * np.array([one.jump for one in meanings])
    beyond = np.maximum(curves - high, low - curves)
    steps = np.diff(curves, axis=0)
    found: dict[int, CurveFault] = {}
    for column in np.flatnonzero((beyond > 0.0).any(axis=0) | (np.abs(steps) > jump).any(axis=0)).tolist():
        if (beyond[:, column] > 0.0).any():
            at = int(np.nanargmax(beyond[:, column]))
            value = float(curves[at, column])
            limit = float(high[column] if value > high[column] else low[column])
            found[column] = CurveFault("range", value, limit, float(PERCENT[at]))
        else:
            at = int(np.nanargmax(np.abs(steps[:, column])))
            found[column] = CurveFault("jump", float(steps[at, column]), float(jump[column]), float(PERCENT[at + 1]))
    return found
