"""Norms: curves and scalars of groups of people at several speeds, with the sign convention of the tables (docs/norms.md).

They are selected for a person and a walk by age and walking speed, and the reasons are stated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Any, Final, Literal

import numpy as np
from scipy.interpolate import PchipInterpolator

from biodyn.conventions import STANDARD_GRAVITY_M_S2, FloatArray
from biodyn.library.tables import entry_names, load_entry
from biodyn.library.toml_files import is_path, load_table, suggest_name
from biodyn.statistics.gait_measures import GaitDeviationIndex
from biodyn.variables.gait_variables import PERCENT

#: Values of the setting that are not names of norms.
AUTO, NONE = "auto", "none"
#: Unit text of each measure of speed.
SPEED_WORDS: Final = {"dimensionless": "dimensionless", "heights_per_s": "body heights/s", "m_s": "m/s"}


@dataclass(frozen=True)
class NormCurve:
    """Normative curve of the right side at `PERCENT`, with the sign convention of the tables.

    Attributes:
        mean, sd: (101,) mean and SD over people; sd is None if unknown.
        reach: half width of the drawn band in standard deviations.
    """

    mean: FloatArray
    sd: FloatArray | None
    unit: str
    reach: float = 1.0

    @property
    def half_width(self) -> FloatArray | None:
        """Return the half width (101,) of the drawn band; None if only the mean is drawn."""
        return None if self.sd is None else self.reach * self.sd


@dataclass(frozen=True)
class NormScalar:
    """Normative number: mean and SD over people; `variable`, `operation`: its definition from a curve."""

    title: str
    unit: str
    mean: float
    sd: float
    variable: str = ""
    operation: str = ""

    @property
    def range95(self) -> tuple[float, float]:
        """Return the range that contains 95 % of the people, for a normal distribution."""
        return self.mean - 1.96 * self.sd, self.mean + 1.96 * self.sd


@dataclass(frozen=True)
class Norms:
    """Norms of a group of people at one speed.

    Attributes:
        name: name of the set. group: description of the group. short: text for legends. band: description of the drawn band
            ("mean ± 1 SD").
        citation, licence: source. speed: description of the speed, "" for norms of a single speed.
        curves, scalars: normative curves by variable, and normative numbers by name. deviation_index: of own norms of enough
            people, else None.
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
    deviation_index: GaitDeviationIndex | None = None

    @property
    def description(self) -> str:
        """Return a description of group and speed."""
        return f"{self.group}, {self.speed}" if self.speed else self.group


@dataclass(frozen=True)
class NormSet:
    """Norms of a group of people at all speeds; `table` is the content of the file.

    A file contains groups of walks, one for each speed, or a model: mean = row 0 + row 1 (speed - reference) + row 2 (...)^2,
    with an SD proportional to exp(sd_growth (speed - reference)).
    """

    table: Mapping[str, Any]
    file: str = ""

    @property
    def name(self) -> str:
        """Return the name of the set."""
        return str(self.table["name"])

    @property
    def group(self) -> str:
        """Return a description of the people."""
        return str(self.table["group"])

    @property
    def speed_measure(self) -> str:
        """Return the measure of speed: dimensionless, heights_per_s or m_s."""
        return str(self.table["speed"]["measure"])

    @property
    def speed_range(self) -> tuple[float, float]:
        """Return the slowest and the fastest speed of these norms, in their measure of speed."""
        within_sd = 2.0  # range of the slowest and fastest group in standard deviations of their speed
        speed = self.table["speed"]
        if "range" in speed:
            return float(speed["range"][0]), float(speed["range"][1])
        means, spread = speed["mean"], speed["sd"]
        return float(means[0] - within_sd * spread[0]), float(means[-1] + within_sd * spread[-1])

    @property
    def usual_speed(self) -> float:
        """Return the self-selected speed of the people; for a model, its reference speed."""
        speed = self.table["speed"]
        if "reference" in speed:
            return float(speed["reference"])
        row = next((i for i, name in enumerate(speed["names"]) if name in ("free", "self-selected")), 0)
        return float(speed["mean"][row])

    def norms_at_speed(self, speed: float, age_years: float | None = None) -> Norms:
        """Return the norms at a speed (in their measure), from the nearest group or the model."""
        row, words = self._nearest_group(speed)
        curves = self._norm_curves(row, speed)
        scalars = {
            name: self._norm_scalar(name, entry, row, speed, age_years)
            for name, entry in self.table.get("scalar", {}).items()
        }
        t = self.table
        texts = (t["name"], t["group"], t["short"], t["band"], t["citation"])
        return Norms(*texts, curves, t["licence"], words, scalars, _deviation_index(t.get("gdi")))

    def _nearest_group(self, speed: float) -> tuple[int | None, str]:
        """Return the row of the group nearest to a speed (None for a model), and a description of the speed."""
        known, unit = self.table["speed"], SPEED_WORDS[self.speed_measure]
        if "reference" in known:
            return None, f"at {speed:.2f} {unit}"
        row = int(np.argmin(np.abs(np.asarray(known["mean"], dtype=np.float64) - speed)))
        return row, f"{known['names'][row]} speed ({known['mean'][row]:.2f} {unit})"

    def _speed_offset(self, speed: float) -> float:
        return speed - float(self.table["speed"]["reference"])

    def _norm_curves(self, row: int | None, speed: float) -> dict[str, NormCurve]:
        """Return the curves at a speed by variable.

        Between published instants they are interpolated by monotone cubics, without new extrema (Fritsch & Carlson 1980).
        """
        entries: Mapping[str, Mapping[str, Any]] = self.table.get("curve", {})
        if not entries:
            return {}
        published = [self._published_mean_and_sd(entry, row, speed) for entry in entries.values()]
        known = [values for mean_sd in published for values in mean_sd if values is not None]
        # one interpolator for all curves
        between = iter(PchipInterpolator(self.table["percent"], np.stack(known, axis=1))(PERCENT).T)
        curves = {}
        for (name, entry), (_, sd) in zip(entries.items(), published, strict=True):
            mean = entry.get("sign", 1) * next(between)
            spread = None if sd is None else self._sd_factor(entry, row, speed) * next(between)
            curves[name] = NormCurve(mean, spread, entry["unit"], entry.get("reach", 1.0))
        return curves

    def _published_mean_and_sd(
        self, entry: Mapping[str, Any], row: int | None, speed: float
    ) -> tuple[FloatArray, FloatArray | None]:
        """Return mean and (unscaled) standard deviation of a curve at a speed, None if unknown, at the published instants."""
        means, spreads = np.asarray(entry["mean"], dtype=np.float64), entry.get("sd", ())
        mean = self._speed_offset(speed) ** np.arange(len(means)) @ means if row is None else means[row]
        return mean, np.asarray(spreads[row or 0], dtype=np.float64) if len(spreads) else None

    def _sd_factor(self, entry: Mapping[str, Any], row: int | None, speed: float) -> float:
        return math.exp(entry.get("sd_growth", 0.0) * self._speed_offset(speed)) if row is None else 1.0

    def _norm_scalar(
        self, name: str, entry: Mapping[str, Any], row: int | None, speed: float, age_years: float | None
    ) -> NormScalar:
        decade = 10.0
        if row is None:
            mean = float(sum(value * self._speed_offset(speed) ** i for i, value in enumerate(entry["mean"])))
        else:
            mean = float(entry["mean"][row])
        if age_years is not None and "age" in self.table:
            mean += entry.get("per_decade", 0.0) * (age_years - self.table["age"]["reference"]) / decade
        sd = float(entry["sd"][row or 0])
        title = str(entry.get("title", name))
        return NormScalar(title, entry["unit"], mean, sd, entry.get("variable", ""), entry.get("operation", ""))


def load_norm_set(name: str) -> NormSet:
    """Return norms of the library by name, or of a user's TOML file by path; raises ModelError or TableError."""
    return NormSet(load_entry("norms", name), name) if is_path(name) else _load_norms(name)


@cache
def _load_norms(name: str) -> NormSet:
    return NormSet(load_entry("norms", name))


def load_norms(name: str) -> Norms:
    """Return the norms of a set (name or path) at its self-selected speed."""
    norm_set = load_norm_set(name)
    return norm_set.norms_at_speed(norm_set.usual_speed)


def default_norm_names() -> Sequence[str]:
    """Return the names of the norms with a stated licence, which are drawn by default, in their order."""
    names: Sequence[str] = load_table("variables/variables")["norms"]["tried"]
    return names


def norm_name_error(name: str) -> str:
    """Return an error text for an invalid name of norms in the settings, or "" for auto, none, a name or a path."""
    if name in (AUTO, NONE) or is_path(name) or name in entry_names("norms"):
        return ""
    return f"norms '{name}' do not exist. {suggest_name(name, (AUTO, NONE, *entry_names('norms')))}"


_ADULT_YEARS = 18.0


@dataclass(frozen=True)
class NormCovariates:
    """Properties of a person and a walk that determine the norms.

    Attributes:
        age_years: age, None if unknown. height_m: body height. leg_length_m: ASIS to ankle, None = a fraction of the height.
        speed_m_s: mean speed of the walk, NaN without a gait cycle. activity: e.g. "walking".
    """

    age_years: float | None
    height_m: float
    leg_length_m: float | None
    speed_m_s: float
    activity: str = "walking"

    @property
    def leg_m(self) -> float:
        """Return the leg length, m; if not measured, 0.530 of the height (Winter 2009, after Drillis & Contini 1966)."""
        share = load_table("variables/variables")["norms"]["leg_share_of_height"]
        return self.leg_length_m if self.leg_length_m else share * self.height_m

    def speed_in_measure(self, measure: str) -> float:
        """Return the speed in a measure of norms; dimensionless speed is v / sqrt(g l) (Hof 1996, Gait Posture 4:222-223)."""
        if measure == "dimensionless":
            return self.speed_m_s / math.sqrt(STANDARD_GRAVITY_M_S2 * self.leg_m)
        return self.speed_m_s / self.height_m if measure == "heights_per_s" else self.speed_m_s

    @property
    def age_stage(self) -> Literal["adult", "child", ""]:
        """Return "adult" or "child" from the age, else from the height; "" if neither determines it."""
        if self.age_years is not None:
            return "adult" if self.age_years >= _ADULT_YEARS else "child"
        limits = load_table("variables/variables")["norms"]
        if self.height_m >= limits["adult_from_m"]:
            return "adult"
        return "child" if self.height_m < limits["child_below_m"] else ""

    @property
    def age_text(self) -> str:
        """Return a text with the age, or with the assumption about an unknown age."""
        if self.age_years is not None:
            return f"{self.age_years:.0f} years old"
        if not math.isfinite(self.height_m):
            return "age and body height are unknown"
        taken = {
            "adult": "is assumed to be an adult's",
            "child": "is assumed to be a child's",
            "": "may be an adult's or a child's",
        }
        return f"age is unknown; a body height of {self.height_m:.2f} m {taken[self.age_stage]}"

    def is_in_age_range(self, norms: NormSet) -> bool:
        """Return whether the age, or the stage from the height, is in the age range of norms (end excluded), if they have one."""
        serves = norms.table.get("serves")
        if serves is None:
            return True
        low, high = serves
        if self.age_years is not None:
            return bool(low <= self.age_years < high)
        stage = self.age_stage
        return bool(high > _ADULT_YEARS if stage == "adult" else stage == "child" and low < _ADULT_YEARS)


@dataclass(frozen=True)
class NormChoice:
    """Norms for a walk: sets, each with the speed of the walk in its measure and its norms there; sentences with the reasons."""

    chosen: tuple[tuple[NormSet, float, Norms], ...]
    reasons: tuple[str, ...]

    @property
    def norms(self) -> tuple[Norms, ...]:
        """Return the norms that are displayed."""
        return tuple(norms for *_, norms in self.chosen)


def choose_norms(setting: str, covariates: NormCovariates) -> NormChoice:
    """Return the norms for a walk.

    Parameters: `setting`: "auto" = every published set for this age and speed; "none"; or a name or TOML path = this set,
    independent of the age, if it contains the speed.
    """
    if setting == NONE:
        return NormChoice((), ("No norms were selected.",))
    if covariates.activity != "walking":
        return NormChoice(
            (), (f"No norms are shown, because they apply to walking and this activity is {covariates.activity}.",)
        )
    if not math.isfinite(covariates.speed_m_s):
        return NormChoice((), ("No norms are shown, because the walking speed is unknown without a gait cycle.",))
    if setting == AUTO and not covariates.age_stage:
        reason = (
            f"No norms are shown: {covariates.age_text}. Specify the age with --age, or as age_years in subject.toml."
        )
        return NormChoice((), (reason,))
    sets = [load_norm_set(name) for name in (default_norm_names() if setting == AUTO else (setting,))]
    chosen: list[tuple[NormSet, float, Norms]] = []
    reasons: list[str] = []
    for norm_set in sets:
        why_not = _exclusion_reason(norm_set, covariates, setting == AUTO)
        if why_not:
            reasons.append(why_not)
            continue
        speed = covariates.speed_in_measure(norm_set.speed_measure)
        norms = norm_set.norms_at_speed(speed, covariates.age_years)
        chosen.append((norm_set, speed, norms))
        reasons.append(f"Shown: {norms.description}; this walk: {speed:.2f} {SPEED_WORDS[norm_set.speed_measure]}.")
    shown = [reason for reason in reasons if reason.startswith("Shown")]
    if not chosen:
        shown = ["No norms are shown.", *reasons]
        if setting == AUTO:
            drawn = default_norm_names()
            others = [name for name in entry_names("norms") if name not in drawn]
            shown.append(
                "Norms without a stated licence are drawn only if they are selected in [report] norms: "
                f"{', '.join(others)}."
            )
    if setting != AUTO and not covariates.is_in_age_range(sets[0]):
        shown.append("The norms selected in the settings are for another age than the person's.")
    return NormChoice(tuple(chosen), (f"Person: {covariates.age_text}.", *shown))


def _exclusion_reason(norms: NormSet, covariates: NormCovariates, by_age: bool) -> str:
    """Return the reason why norms do not apply, or ""."""
    people = norms.group[:1].upper() + norms.group[1:]
    if by_age and not covariates.is_in_age_range(norms):
        return f"{people} are for another age."
    low, high = norms.speed_range
    speed, unit = covariates.speed_in_measure(norms.speed_measure), SPEED_WORDS[norms.speed_measure]
    if not math.isfinite(speed):  # body size is unknown for some OpenSim models
        return f"{people} are chosen by speed relative to body size, which is unknown."
    if not low <= speed <= high:
        far = "slower" if speed < low else "faster"
        return f"{people} apply from {low:.2f} to {high:.2f} {unit}; this walk is {far}: {speed:.2f}."
    return ""


def score_reference(setting: str, covariates: NormCovariates | None) -> tuple[Norms, str, bool]:
    """Return the reference norms of gait scores, a description of the group, and whether the person's age differs.

    A score is the distance to a fixed reference, so that conditions and sessions can be compared. The reference is children at
    self-selected speed, the only published norms with all nine variables on comparable axes, or the norms in the settings at
    the speed of the walk. (Bovi 2011 has nine variables of adults, with different zeros of pelvic tilt, hip flexion and ankle.)
    """
    automatic = setting in (AUTO, NONE)
    norm_set = load_norm_set(load_table("variables/variables")["norms"]["scores"] if automatic else setting)
    other = covariates is not None and bool(covariates.age_stage) and not covariates.is_in_age_range(norm_set)
    if automatic:
        norms = norm_set.norms_at_speed(norm_set.usual_speed)
        remark = "; no published norms of adults have all nine variables on comparable axes"
        return norms, norms.description + (remark if other else ""), other
    speed = norm_set.usual_speed if covariates is None else covariates.speed_in_measure(norm_set.speed_measure)
    low, high = norm_set.speed_range
    norms = norm_set.norms_at_speed(min(max(speed if math.isfinite(speed) else norm_set.usual_speed, low), high))
    return norms, norms.description, other


#: Key of the norms in a record.
ENTRY: Final = "norms"


def norms_record(setting: str, covariates: NormCovariates) -> dict[str, Any]:
    """Return the record of the selected norms for `run.json`; a user's norms include their curves."""
    choice = choose_norms(setting, covariates)
    return {
        "setting": setting,
        "speed": {
            m: _finite_or_none(covariates.speed_in_measure(m)) for m in ("m_s", "dimensionless", "heights_per_s")
        },
        "leg_length_m": _finite_or_none(covariates.leg_m),
        "shown": _choice_entry(choice),
        "reasons": list(choice.reasons),
    }


def _finite_or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _choice_entry(choice: NormChoice) -> list[dict[str, Any]]:
    entries = []
    for norm_set, speed, norms in choice.chosen:
        entry: dict[str, Any] = {
            name: getattr(norms, name) for name in ("name", "group", "short", "band", "citation", "licence", "speed")
        }
        entry["at_speed"] = speed
        if norm_set.file:
            entry["curves"] = {name: _curve_entry(curve) for name, curve in norms.curves.items()}
            entry["scalars"] = {name: asdict(scalar) for name, scalar in norms.scalars.items()}
            if "gdi" in norm_set.table:
                entry["gdi"] = norm_set.table["gdi"]
        entries.append(entry)
    return entries


def _curve_entry(curve: NormCurve) -> dict[str, Any]:
    digits = 5
    sd = None if curve.sd is None else np.round(curve.sd, digits).tolist()
    return {"mean": np.round(curve.mean, digits).tolist(), "sd": sd, "unit": curve.unit, "reach": curve.reach}


def read_covariates(record: Mapping[str, Any], speed_m_s: float) -> NormCovariates:
    """Return the person of a record (`run.json`)."""
    subject = record["subject"]
    age, leg = subject.get("age_years"), subject.get("leg_length_m")
    kind = (record.get("activity") or {}).get("kind", "walking")
    height = subject["height_m"]  # may be unknown for an OpenSim model
    return NormCovariates(age, math.nan if height is None else float(height), leg, speed_m_s, kind)


def norms_from_record(record: Mapping[str, Any]) -> tuple[Norms, ...]:
    """Return the norms of a recorded result."""
    age = record["subject"].get("age_years")
    return tuple(_norms_from_entry(entry, age) for entry in record[ENTRY]["shown"])


def reasons_from_record(record: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the reasons of the recorded selection, as sentences."""
    return tuple(record[ENTRY]["reasons"])


def _norms_from_entry(entry: Mapping[str, Any], age_years: float | None) -> Norms:
    if "curves" not in entry:
        return load_norm_set(entry["name"]).norms_at_speed(entry["at_speed"], age_years)
    curves = {
        name: NormCurve(
            _as_array(item["mean"]), None if item["sd"] is None else _as_array(item["sd"]), item["unit"], item["reach"]
        )
        for name, item in entry["curves"].items()
    }
    scalars = {name: NormScalar(**item) for name, item in entry["scalars"].items()}
    words = {name: str(entry[name]) for name in ("name", "group", "short", "band", "citation", "licence", "speed")}
    return Norms(curves=curves, scalars=scalars, deviation_index=_deviation_index(entry.get("gdi")), **words)


def _deviation_index(entry: Mapping[str, Any] | None) -> GaitDeviationIndex | None:
    if entry is None:
        return None
    return GaitDeviationIndex(_as_array(entry["vectors"]), float(entry["log_mean"]), float(entry["log_sd"]))


def _as_array(values: list[float]) -> FloatArray:
    return np.asarray(values, dtype=np.float64)


_MINUTE_S = 60.0


def _time_scale(leg_m: float) -> float:
    return math.sqrt(leg_m / STANDARD_GRAVITY_M_S2)


def _length_scale(leg_m: float) -> float:
    return leg_m


#: Lengths are divided by leg length l, times by sqrt(l/g), speed by sqrt(g l); cadence in steps/min becomes steps per sqrt(l/g).
#: Title, parameter of the stride, and divisor by leg length of each dimensionless parameter.
DIMENSIONLESS: Final[Mapping[str, tuple[str, str, Callable[[float], float]]]] = {
    "speed_hof": ("Walking speed", "speed_m_s", lambda leg: math.sqrt(STANDARD_GRAVITY_M_S2 * leg)),
    "cadence_hof": ("Cadence", "cadence_steps_min", lambda leg: _MINUTE_S / _time_scale(leg)),
    "stride_length_hof": ("Stride length", "stride_length_m", _length_scale),
    "step_length_hof": ("Step length", "step_length_m", _length_scale),
    "step_width_hof": ("Step width", "step_width_m", _length_scale),
    "step_time_hof": ("Step time", "step_time_s", _time_scale),
}
DIMENSIONLESS_SPEED: Final = "speed_hof"


def dimensionless_parameters(strides: Mapping[str, float], covariates: NormCovariates) -> dict[str, float]:
    """Return the dimensionless parameters of a stride (or of means over strides), and the stride length in body heights."""
    values = {
        name: strides[parameter] / divisor(covariates.leg_m)
        for name, (_, parameter, divisor) in DIMENSIONLESS.items()
        if parameter in strides
    }
    if "stride_length_m" in strides:
        values["stride_per_height"] = strides["stride_length_m"] / covariates.height_m
    return values
