"""One variable of the gait cycle: its name for people, its unit, its signs, and what no person's cycle can hold."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import Literal

import numpy as np

from biodyn.conventions import CYCLE_POINTS, SIDE_NAMES, SIDE_SIGN, SIDES, FloatArray, without_side
from biodyn.library.load import listed, load_table, nearest

PERCENT: FloatArray = np.linspace(0.0, 100.0, CYCLE_POINTS)
PERCENT.setflags(write=False)


@dataclass(frozen=True)
class Variable:
    """What a variable means.

    Attributes:
        name: in the tables, without side. title: the field's name. unit: of the gait-cycle table, "" where not known.
        positive, negative: the clinical directions.
        clinical_sign: factor from the table's sign to the clinical one, of the right side.
        mirrored: the table's sign is towards one side of the walker whichever side walks.
        limits: lowest and highest value of a living person, in the table's signs; jump: largest change within 1 %.
        note: what a reader must know besides.
    """

    name: str
    title: str
    unit: str = ""
    positive: str = "as defined"
    negative: str = "the opposite"
    clinical_sign: float = 1.0
    mirrored: bool = False
    limits: tuple[float, float] = (-math.inf, math.inf)
    jump: float = math.inf
    note: str = ""

    def side_sign(self, side: str) -> float:
        """Factor that makes a side's table values comparable with those of a right side."""
        return SIDE_SIGN[side] if self.mirrored else 1.0

    def clinical(self, side: str) -> float:
        """Factor from a side's table values to clinical ones, positive towards `positive`."""
        return self.clinical_sign * self.side_sign(side)

    def as_kept(self) -> Variable:
        """The same in the signs of the tables: what is positive there, where sides differ on the right."""
        kept = self.positive if self.clinical_sign > 0.0 else self.negative
        other = self.negative if self.clinical_sign > 0.0 else self.positive
        of = " of the right side" if self.mirrored else ""
        return replace(self, positive=kept + of, negative=other + of, clinical_sign=1.0, mirrored=False)


@cache
def variables() -> Mapping[str, Variable]:
    """Every variable of the library by name."""
    by_name: dict[str, Variable] = {}
    for kind in load_table("variables/variables")["kind"].values():
        for name, entry in kind["variable"].items():
            low, high = entry.get("limits", (-math.inf, math.inf))
            by_name[name] = Variable(
                name=name,
                title=entry["title"],
                unit=kind["unit"],
                positive=entry["positive"],
                negative=entry["negative"],
                clinical_sign=float(entry.get("clinical_sign", 1)),
                mirrored=entry.get("mirrored", False),
                limits=(float(low), float(high)),
                jump=float(entry.get("jump", kind["jump"])),
                note=entry.get("note", kind.get("note", "")),
            )
    return MappingProxyType(by_name)


def variable(name: str) -> Variable:
    """The variable of a name; under its own name, as it is, where the library says nothing."""
    return variables().get(name) or Variable(name, name.replace("_", " "))


def positive_about_transverse_axis(joint: str) -> str:
    """The direction, e.g. "flexion", in which angle and moment of a joint are positive about Z; "" where none is known."""
    return str(load_table("variables/variables")["about_transverse_axis"].get(joint, ""))


def nearest_variable(name: str, known: Iterable[str]) -> str:
    """A hint for a name that is not known: the variable of that title ("knee_flexion": knee_angle), else the nearest name."""
    known = tuple(known)
    words = name.casefold().replace("_", " ")
    titled = next((candidate for candidate in known if variable(candidate).title.casefold() == words), "")
    return f"{variable(titled).title} is '{titled}'. {listed(known)}" if titled else nearest(name, known)


def is_known(name: str) -> bool:
    """Whether the library says what a variable means."""
    return name in variables()


def same_side(names: Iterable[str], side: str) -> FloatArray:
    """Factors (V,) that give a side's table values the signs of a right side."""
    return np.array([variable(name).side_sign(side) for name in names], dtype=np.float64)


def coordinate_title(name: str) -> str:
    """Words for a coordinate with its side, e.g. "Hip flexion, right"."""
    side = next((side for side in SIDES if name.endswith(f"_{side}")), "")
    return variable(without_side(name, side)).title + (f", {SIDE_NAMES[side]}" if side else "")


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
    low, high = factor * np.array([meaning.limits for meaning in meanings]).reshape(-1, 2).T
    jump = factor * np.array([meaning.jump for meaning in meanings])
    beyond = np.maximum(curves - high, low - curves)
    steps = np.diff(curves, axis=0)
    faults: dict[int, CurveFault] = {}
    for column in np.flatnonzero((beyond > 0.0).any(axis=0) | (np.abs(steps) > jump).any(axis=0)).tolist():
        if (beyond[:, column] > 0.0).any():
            at = int(np.nanargmax(beyond[:, column]))
            value = float(curves[at, column])
            limit = float(high[column] if value > high[column] else low[column])
            faults[column] = CurveFault("range", value, limit, float(PERCENT[at]))
        else:
            at = int(np.nanargmax(np.abs(steps[:, column])))
            faults[column] = CurveFault("jump", float(steps[at, column]), float(jump[column]), float(PERCENT[at + 1]))
    return faults
