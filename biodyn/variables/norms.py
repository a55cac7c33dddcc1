"""Published curves of groups of walkers, in the signs of the tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.interpolate import PchipInterpolator

from biodyn.conventions import FloatArray
from biodyn.library.load import load_table
from biodyn.library.tables import load_entry
from biodyn.variables.meaning import PERCENT


@dataclass(frozen=True)
class NormCurve:
    """A normative curve in the tables' signs: mean and standard deviation (None where unknown) at `PERCENT`."""

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
def load_norms(name: str) -> Norms:
    """Read a set of norms of the library (or a TOML path), resampled to `PERCENT` and turned to the tables' signs.

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


def usual_norms() -> tuple[Norms, Norms]:
    """The usual published groups; the first is the reference of the gait scores and the one with a standard deviation."""
    first, second = load_table("variables/variables")["norms"]["usual"]
    return load_norms(first), load_norms(second)
