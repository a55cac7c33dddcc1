"""Numbers of a walk as people read them: names of columns, values against norms, peaks for the screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from biodyn.conventions import SIDE_NAMES, SIDES, FloatArray
from biodyn.output.figures.curves import display_table, stance_known, unit_words
from biodyn.output.figures.trial import TrialView
from biodyn.variables import Norms, NormScalar, Walker, variable
from biodyn.variables.norm_choice import SIZE_FREE, size_free

# Units at the end of a parameter's name, longest first.
_UNITS = {
    "_steps_min": "steps/min",
    "_m_s": "m/s",
    "_percent": "% of the cycle",
    "_deg": "degrees",
    "_BW": "BW",
    "_s": "s",
    "_m": "m",
}
# Units at the end of an evidence column's name, longest first: as shown, and the factor to it.
_EVIDENCE_UNITS = {
    "_m_s": ("m/s", 1.0),
    "_bw": ("body weights", 1.0),
    "_m": ("cm", 100.0),
    "_s": ("s", 1.0),
    "_n": ("N", 1.0),
    "_kg": ("kg", 1.0),
}
# Parameters whose column name is not the field's name.
_TITLES = {
    "toe_out": "Foot progression angle (toe-out +)",
    "vertical_force_first": "Vertical GRF, first peak",
    "vertical_force_trough": "Vertical GRF, trough",
    "vertical_force_second": "Vertical GRF, second peak",
    "braking_force_max": "Peak braking GRF",
    "propulsion_force_max": "Peak propulsive GRF",
    "lateral_force_first": "Lateral GRF, first peak",
    "medial_force_max": "Peak medial GRF",
}


def parameter_label(name: str) -> tuple[str, str]:
    """Words and unit of a parameter from its column name, e.g. ("Stride length", "m")."""
    for suffix, unit in _UNITS.items():
        if name.endswith(suffix):
            stem = name.removesuffix(suffix)
            return _TITLES.get(stem, stem.replace("_", " ").capitalize()), unit
    return name.replace("_", " ").capitalize(), ""


def evidence_words(name: str, value: float) -> str:
    """A number of a contact's evidence from its column name, with its unit, e.g. "beyond the plate 1.2 cm"."""
    for suffix, (unit, factor) in _EVIDENCE_UNITS.items():
        if name.endswith(suffix):
            words = name.removesuffix(suffix).replace("_", " ").replace("overhang", "beyond the plate")
            words = words.replace("sole", "foot outline")
            return f"{words} {factor * value:.3g} {unit}".replace(" 95 ", " (95th percentile) ").replace("cop", "CoP")
    return f"{name.replace('_', ' ')} {value:.3g}"


def signed(value: float, digits: int = 1) -> str:
    """A difference with its sign; what rounds to zero is neither more nor less."""
    return f"{value:+z.{digits}f}" if round(value, digits) else f"{0.0:.{digits}f}"


def rounded(values: FloatArray, digits: int) -> list[float | None]:
    """Numbers for the script of a page; None where one is missing."""
    return [round(value, digits) + 0.0 if np.isfinite(value) else None for value in values.tolist()]


def decimal(value: float | None, digits: int = 1) -> str:
    """A number with so many decimals, "-" for none; what rounds to zero has no sign."""
    return "-" if value is None else f"{value:z.{digits}f}"


#: Strides' mean parameters by side, and mean curves in the clinical sign by variable and side.
Strides = Mapping[str, Mapping[str, float]]
Curves = Mapping[str, Mapping[str, FloatArray]]
_DIMENSIONLESS = "1"
_HEIGHTS = ("stride_per_height", "Stride length in body heights")


@dataclass(frozen=True)
class NumberRow:
    """A number of both sides (NaN where unknown) and what is normal for it: None where no norms know it."""

    title: str
    unit: str
    values: Mapping[str, float]
    norm: NormScalar | None = None
    whose: str = ""
    z: Mapping[str, float] = field(default_factory=dict)

    def text(self, side: str) -> str:
        """The value as shown, with an arrow where it lies beyond the range of 95 % of people."""
        value = self.values.get(side, float("nan"))
        if not np.isfinite(value):
            return "–"
        outside = self.norm is not None and abs(self.z[side]) > 1.96
        return f"{decimal(value, self.digits)}" + ((" ↑" if self.z[side] > 0 else " ↓") if outside else "")

    @property
    def digits(self) -> int:
        """Decimals."""
        return {"deg": 1, "%": 1, "steps/min": 0, _DIMENSIONLESS: 3}.get(self.unit, 2)

    @property
    def norm_text(self) -> str:
        """Mean and range of 95 % of the people."""
        if self.norm is None:
            return "–"
        low, high = self.norm.range95
        return f"{decimal(self.norm.mean, self.digits)} ({decimal(low, self.digits)} to {decimal(high, self.digits)})"

    @property
    def unit_text(self) -> str:
        """The unit, nothing for what has none."""
        return "" if self.unit == _DIMENSIONLESS else unit_words(self.unit)


def number_rows(strides: Strides, curves: Curves, walker: Walker, norms: Sequence[Norms]) -> list[NumberRow]:
    """Return the dimensionless parameters of the stride, and every number that the norms know, each with its norm."""
    own = {side: {**values, **size_free(values, walker)} for side, values in strides.items()}
    titles = {one.name: f"{one.title}, dimensionless" for one in SIZE_FREE} | dict([_HEIGHTS])
    rows = []
    for name in dict.fromkeys([*(one.name for one in SIZE_FREE), *(key for one in norms for key in one.scalars)]):
        values: dict[str, float] = {side: own.get(side, {}).get(name, float("nan")) for side in SIDES}
        known = [one for one in norms if name in one.scalars]
        scalar = known[0].scalars[name] if known else None
        if scalar is not None and scalar.variable:
            values = {str(side): _of_curve(curves.get(scalar.variable, {}).get(side), scalar) for side in SIDES}
        if not any(np.isfinite(value) for value in values.values()):
            continue
        title = scalar.title if scalar is not None and scalar.variable else titles.get(name) or parameter_label(name)[0]
        unit = scalar.unit if scalar is not None else _DIMENSIONLESS
        z: dict[str, float] = (
            {} if scalar is None else {side: (value - scalar.mean) / scalar.sd for side, value in values.items()}
        )
        rows.append(NumberRow(title, unit, values, scalar, known[0].short if known else "", z))
    return rows


def _of_curve(curve: FloatArray | None, scalar: NormScalar) -> float:
    """Peak or range of a mean curve; not known where a part of it is missing."""
    if curve is None or not np.isfinite(curve).all():
        return float("nan")
    if scalar.operation == "range":
        return float(np.ptp(curve))
    return float(curve.max() if scalar.operation == "max" else curve.min())


def peak_lines(values: TrialView) -> list[str]:
    """A line a variable (`screen` in display.toml): its largest value on each side ± one SD of the input errors there.

    A value of a curve that is not known over the whole cycle has a star, a curve that is not known in stance a dash. No lines
    without cycles.
    """
    rows, starred = [], False
    for name in display_table()["screen"]:
        sides = values.curves.get(name, {})
        cells = []
        for side in SIDES:
            cell = _peak(values, name, side)
            starred = starred or cell.endswith("*")
            cells.append(f"{SIDE_NAMES[side]} {cell}")
        if any(len(sides[side].values) for side in sides):
            unit = unit_words(next(iter(sides.values())).unit)
            rows.append((f"Peak {variable(name).title.lower()}, {unit}", *cells))
    if not rows:
        return []
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    lines = [f"{title:<{widths[0]}}  {right:<{widths[1]}}  {left}" for title, right, left in rows]
    banded = any(name in values.bands for name in display_table()["screen"])
    notes = (["± one standard deviation of the input errors"] if banded else []) + (
        ["* the curve is not known over the whole cycle"] if starred else []
    )
    return [*lines, *([f"  {'; '.join(notes)}."] if notes else [])]


def _peak(values: TrialView, name: str, side: str) -> str:
    """The largest value of a side's mean curve with its band and percent of the cycle; a dash where there is none."""
    curves = values.curves.get(name, {}).get(side)
    if curves is None or not stance_known(curves, values.foot_off_percent[side]):
        return "–"
    mean, digits = curves.mean, 1 if curves.unit == "deg" else 2
    at = int(np.nanargmax(np.round(mean, 4)))
    band = values.bands.get(name, {}).get(side)
    error = f" ± {band[at]:.{digits}f}" if band is not None and np.isfinite(band[at]) else ""
    return f"{mean[at]:.{digits}f}{error} at {at} %{'' if np.isfinite(mean).all() else '*'}"
