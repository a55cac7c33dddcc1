"""Variables of the gait cycle: title, unit, signs and physiological limits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import Literal

import numpy as np

from biodyn.conventions import CYCLE_POINTS, SIDE_NAMES, SIDE_SIGN, SIDES, FloatArray, without_side
from biodyn.library.toml_files import list_names, load_table, suggest_name

PERCENT: FloatArray = np.linspace(0.0, 100.0, CYCLE_POINTS)
PERCENT.setflags(write=False)


@dataclass(frozen=True)
class Variable:
    """Definition of a variable.

    Attributes:
        name: name in the tables, without side. title: displayed name. unit: unit in the table of gait cycles, "" if unknown.
        positive, negative: names of the clinical directions.
        clinical_sign: factor from the sign of the table to the clinical sign, for the right side.
        mirrored: the sign of the table refers to one side of the room, for both legs.
        limits: lowest and highest physiological value, with the sign convention of the table. jump: largest change within 1 %.
        note: additional remark for readers. scale: axis limits in figures, with clinical signs; () = determined by the curves.
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
    scale: tuple[float, ...] = ()

    def side_sign(self, side: str) -> float:
        """Return the factor that converts table values of a side to the sign convention of the right side."""
        return SIDE_SIGN[side] if self.mirrored else 1.0

    def clinical_factor(self, side: str) -> float:
        """Return the factor that converts table values of a side to clinical values, positive toward `positive`."""
        return self.clinical_sign * self.side_sign(side)

    def with_table_signs(self) -> Variable:
        """Return the variable with the sign convention of the tables (that of the right side if the sides differ)."""
        positive = self.positive if self.clinical_sign > 0.0 else self.negative
        other = self.negative if self.clinical_sign > 0.0 else self.positive
        of = " of the right side" if self.mirrored else ""
        scale = self.scale if self.clinical_sign > 0.0 else tuple(-end for end in reversed(self.scale))
        return replace(
            self, positive=positive + of, negative=other + of, clinical_sign=1.0, mirrored=False, scale=scale
        )


@cache
def variables() -> Mapping[str, Variable]:
    """Return the definitions of all variables of the library by name."""
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
                scale=tuple(map(float, entry.get("scale", ()))),
            )
    return MappingProxyType(by_name)


def variable(name: str) -> Variable:
    """Return the definition of a variable by name, or a default definition if the library has none."""
    return variables().get(name) or Variable(name, name.replace("_", " "))


def positive_about_transverse_axis(joint: str) -> str:
    """Return the positive direction of angle and moment about Z, e.g. "flexion"; "" if unknown."""
    return str(load_table("variables/variables")["about_transverse_axis"].get(joint, ""))


def variable_name_hint(name: str, known: Iterable[str]) -> str:
    """Return a hint for an unknown name: the variable with this title ("knee_flexion": knee_angle), else the most similar
    name."""
    known = tuple(known)
    words = name.casefold().replace("_", " ")
    titled = next((candidate for candidate in known if variable(candidate).title.casefold() == words), "")
    return f"{variable(titled).title} is '{titled}'. {list_names(known)}" if titled else suggest_name(name, known)


def is_known_variable(name: str) -> bool:
    """Return whether the library defines a variable."""
    return name in variables()


def side_sign_factors(names: Iterable[str], side: str) -> FloatArray:
    """Return the factors (V,) that convert table values of a side to the sign convention of the right side."""
    return np.array([variable(name).side_sign(side) for name in names], dtype=np.float64)


def coordinate_title(name: str) -> str:
    """Return the title of a coordinate with its side, e.g. "Hip flexion, right"."""
    side = next((side for side in SIDES if name.endswith(f"_{side}")), "")
    return variable(without_side(name, side)).title + (f", {SIDE_NAMES[side]}" if side else "")


@dataclass(frozen=True)
class CurveFault:
    """Violation of the limits by one curve.

    Attributes:
        kind: "range" (a value beyond the limits) or "jump" (too large a change within 1 % of the cycle).
        value: the most extreme value or change, with sign and unit of the table. limit: the violated limit.
        percent: position in the cycle.
    """

    kind: Literal["range", "jump"]
    value: float
    limit: float
    percent: float


def curve_faults(curves: FloatArray, names: Sequence[str], factor: float = 1.0) -> dict[int, CurveFault]:
    """Return the worst fault of each faulty curve, by column of curves (101, V) of named variables; NaN is ignored.

    Values beyond the limits have priority over jumps, which are changes between finite neighbours. `factor` widens (above 1) or
    narrows all limits.
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
