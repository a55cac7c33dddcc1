"""How variables are shown to people, and the normative curves behind them; both are data of the library."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.interpolate import PchipInterpolator

from biodyn.conventions import CYCLE_POINTS, SIDE_NAMES, SIDE_SIGN, SIDES, FloatArray
from biodyn.model.library import load_entry, load_table

PERCENT: FloatArray = np.linspace(0.0, 100.0, CYCLE_POINTS)
PERCENT.setflags(write=False)


@dataclass(frozen=True)
class Variable:
    """One variable as a person sees it: what the axis says, and the sign that makes it true.

    `mirrored`: `sign` is that of the right side, the left one has the opposite.
    """

    name: str
    label: str
    positive: str
    sign: float = 1.0
    mirrored: bool = False

    def shown_sign(self, side: str) -> float:
        """Factor from a table's value to the shown one."""
        return self.sign * (SIDE_SIGN[side] if self.mirrored else 1.0)


@dataclass(frozen=True)
class NormCurve:
    """A normative curve in this program's signs: mean and standard deviation (None where unknown) at `PERCENT`."""

    mean: FloatArray
    sd: FloatArray | None
    unit: str


@dataclass(frozen=True)
class Norms:
    """A published group of walkers.

    Attributes:
        name, group: the group in plain words; short: for legends; band: what is drawn ("mean ± 1 SD").
        citation: the source.
        curves: by variable, as for the right side.
    """

    name: str
    group: str
    short: str
    band: str
    citation: str
    curves: dict[str, NormCurve]


@cache
def display_table() -> dict[str, Any]:
    """The library's display table: variables, figures, norms."""
    return load_table("display")


def variable(name: str) -> Variable:
    """How a variable is shown; under its own name where the library says nothing."""
    entry = display_table()["variable"].get(name)
    if entry is None:
        return Variable(name, name.replace("_", " "), "as defined")
    return Variable(name, entry["label"], entry["positive"], entry.get("sign", 1.0), entry.get("mirrored", False))


def coordinate_label(name: str) -> str:
    """Words for a coordinate with its side, e.g. "Hip flexion, right"."""
    side = next((side for side in SIDES if name.endswith(f"_{side}")), "")
    return variable(name.removesuffix(f"_{side}") if side else name).label + (f", {SIDE_NAMES[side]}" if side else "")


@cache
def load_norms(name: str) -> Norms:
    """Read a set of norms of the library (or a TOML path), resampled to `PERCENT` and turned to this program's signs.

    Between the published instants by monotone cubic interpolation, which invents no extremes (Fritsch & Carlson 1980).
    """
    table = load_entry("norms", name)
    percent = np.asarray(table["percent"], dtype=np.float64)
    curves = {
        key: NormCurve(
            mean=entry["sign"] * PchipInterpolator(percent, entry["mean"])(PERCENT),
            sd=PchipInterpolator(percent, entry["sd"])(PERCENT) if "sd" in entry else None,
            unit=entry["unit"],
        )
        for key, entry in table["curve"].items()
    }
    return Norms(table["name"], table["group"], table["short"], table["band"], table["citation"], curves)


def default_norms() -> tuple[Norms, Norms]:
    """The group drawn as a band and the group drawn as a line."""
    chosen = display_table()["norms"]
    return load_norms(chosen["band"]), load_norms(chosen["line"])
