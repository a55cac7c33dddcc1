"""Norms: curves and scalars of a group of people at several speeds, in the signs of the tables. docs/norms.md."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

import numpy as np
from scipy.interpolate import PchipInterpolator

from biodyn.conventions import FloatArray
from biodyn.library.load import is_path, load_table, nearest
from biodyn.library.tables import entry_names, load_entry
from biodyn.variables.meaning import PERCENT

#: Values of the setting that are not names of norms.
AUTO, NONE = "auto", "none"
#: Unit text of each measure of speed.
SPEED_WORDS: Final = {"dimensionless": "dimensionless", "heights_per_s": "body heights/s", "m_s": "m/s"}


@dataclass(frozen=True)
class NormCurve:
    """A normative curve in the tables' signs, of a right side, at `PERCENT`.

    Attributes:
        mean, sd: (101,), sd over people, None where unknown.
        reach: half width of the drawn band in standard deviations.
    """

    mean: FloatArray
    sd: FloatArray | None
    unit: str
    reach: float = 1.0

    @property
    def half_width(self) -> FloatArray | None:
        """Half width (101,) of the drawn band; None for a line."""
        return None if self.sd is None else self.reach * self.sd


@dataclass(frozen=True)
class NormScalar:
    """A normative number: mean and standard deviation over people; `variable`, `operation`: the curve it is taken from."""

    title: str
    unit: str
    mean: float
    sd: float
    variable: str = ""
    operation: str = ""

    @property
    def range95(self) -> tuple[float, float]:
        """Range of 95 % of the people for a normal distribution."""
        return self.mean - 1.96 * self.sd, self.mean + 1.96 * self.sd


@dataclass(frozen=True)
class Norms:
    """A group of walkers at one speed.

    Attributes:
        name; group: description of the group; short: for legends; band: description of the drawn band ("mean ± 1 SD").
        citation, licence: the source. speed: the speed in words, "" for norms of a single speed.
        curves, scalars: by variable and by name.
    """

    name: str
    group: str
    short: str
    band: str
    citation: str
    curves: Mapping[str, NormCurve]
    licence: str = ""
    speed: str = ""
    scalars: Mapping[str, NormScalar] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """Group and speed in words."""
        return f"{self.group}, {self.speed}" if self.speed else self.group


@dataclass(frozen=True)
class NormSet:
    """All speeds of a group of people; `table` is its file.

    A file holds groups of walks, one a speed, or a model: mean = row 0 + row 1 (speed - reference) + row 2 (...)^2, its spread
    growing as exp(sd_growth (speed - reference)).
    """

    table: Mapping[str, Any]
    file: str = ""

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.table["name"])

    @property
    def group(self) -> str:
        """Description of the people."""
        return str(self.table["group"])

    @property
    def measure(self) -> str:
        """Measure of speed: dimensionless, heights_per_s or m_s."""
        return str(self.table["speed"]["measure"])

    @property
    def speeds(self) -> tuple[float, float]:
        """Slowest and fastest walk of these norms, in their measure."""
        within_sd = 2.0  # range of the slowest and fastest group in standard deviations of their speed
        speed = self.table["speed"]
        if "range" in speed:
            return float(speed["range"][0]), float(speed["range"][1])
        means, spread = speed["mean"], speed["sd"]
        return float(means[0] - within_sd * spread[0]), float(means[-1] + within_sd * spread[-1])

    @property
    def usual_speed(self) -> float:
        """Self-selected speed, or the reference speed of the model."""
        speed = self.table["speed"]
        if "reference" in speed:
            return float(speed["reference"])
        row = next((i for i, name in enumerate(speed["names"]) if name in ("free", "self-selected")), 0)
        return float(speed["mean"][row])

    def at(self, speed: float, age_years: float | None = None) -> Norms:
        """Return the norms at a speed (in their measure): of the nearest group, or by the model."""
        row, words = self._place(speed)
        curves = self._curves(row, speed)
        scalars = {
            name: self._scalar(name, entry, row, speed, age_years)
            for name, entry in self.table.get("scalar", {}).items()
        }
        t = self.table
        return Norms(t["name"], t["group"], t["short"], t["band"], t["citation"], curves, t["licence"], words, scalars)

    def _place(self, speed: float) -> tuple[int | None, str]:
        """The row of the group nearest to a speed, None for a model, and the speed in words."""
        known, unit = self.table["speed"], SPEED_WORDS[self.measure]
        if "reference" in known:
            return None, f"at {speed:.2f} {unit}"
        row = int(np.argmin(np.abs(np.asarray(known["mean"], dtype=np.float64) - speed)))
        return row, f"{known['names'][row]} speed ({known['mean'][row]:.2f} {unit})"

    def _offset(self, speed: float) -> float:
        return speed - float(self.table["speed"]["reference"])

    def _curves(self, row: int | None, speed: float) -> dict[str, NormCurve]:
        """The curves, between the published instants by monotone cubics, which invent no extremes (Fritsch & Carlson 1980)."""
        entries: Mapping[str, Mapping[str, Any]] = self.table.get("curve", {})
        if not entries:
            return {}
        published = [self._published(entry, row, speed) for entry in entries.values()]
        known = [values for mean_sd in published for values in mean_sd if values is not None]
        # one interpolator for all curves
        between = iter(PchipInterpolator(self.table["percent"], np.stack(known, axis=1))(PERCENT).T)
        curves = {}
        for (name, entry), (_, sd) in zip(entries.items(), published, strict=True):
            mean = entry.get("sign", 1) * next(between)
            spread = None if sd is None else self._growth(entry, row, speed) * next(between)
            curves[name] = NormCurve(mean, spread, entry["unit"], entry.get("reach", 1.0))
        return curves

    def _published(
        self, entry: Mapping[str, Any], row: int | None, speed: float
    ) -> tuple[FloatArray, FloatArray | None]:
        """Return mean and (unscaled) standard deviation of a curve at a speed, None if unknown, at the published instants."""
        means, spreads = np.asarray(entry["mean"], dtype=np.float64), entry.get("sd", ())
        mean = self._offset(speed) ** np.arange(len(means)) @ means if row is None else means[row]
        return mean, np.asarray(spreads[row or 0], dtype=np.float64) if len(spreads) else None

    def _growth(self, entry: Mapping[str, Any], row: int | None, speed: float) -> float:
        return math.exp(entry.get("sd_growth", 0.0) * self._offset(speed)) if row is None else 1.0

    def _scalar(
        self, name: str, entry: Mapping[str, Any], row: int | None, speed: float, age_years: float | None
    ) -> NormScalar:
        decade = 10.0
        if row is None:
            mean = float(sum(value * self._offset(speed) ** i for i, value in enumerate(entry["mean"])))
        else:
            mean = float(entry["mean"][row])
        if age_years is not None and "age" in self.table:
            mean += entry.get("per_decade", 0.0) * (age_years - self.table["age"]["reference"]) / decade
        sd = float(entry["sd"][row or 0])
        title = str(entry.get("title", name))
        return NormScalar(title, entry["unit"], mean, sd, entry.get("variable", ""), entry.get("operation", ""))


def load_norm_set(name: str) -> NormSet:
    """Return norms of the library by name, or of a user's TOML file by path. Raises ModelError or TableError."""
    return NormSet(load_entry("norms", name), name) if is_path(name) else _of_library(name)


@cache
def _of_library(name: str) -> NormSet:
    return NormSet(load_entry("norms", name))


def load_norms(name: str) -> Norms:
    """Return norms at self-selected speed."""
    norm_set = load_norm_set(name)
    return norm_set.at(norm_set.usual_speed)


def score_norms() -> NormSet:
    """Return the default reference of gait scores."""
    return load_norm_set(load_table("variables/variables")["norms"]["scores"])


def tried_norms() -> Sequence[str]:
    """Return the names of published norms in the order of their use."""
    names: Sequence[str] = load_table("variables/variables")["norms"]["tried"]
    return names


def unknown_norms(name: str) -> str:
    """Return the error of a name of norms in the settings, "" if valid: auto, none, a name, or a path."""
    if name in (AUTO, NONE) or is_path(name) or name in entry_names("norms"):
        return ""
    return f"norms '{name}' do not exist. {nearest(name, (AUTO, NONE, *entry_names('norms')))}"
