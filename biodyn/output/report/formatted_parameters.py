"""Formatted numbers of a walk: parameter names, comparison with norms, windowed parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from biodyn.conventions import CYCLE_POINTS, SIDE_NAMES, SIDES, WHOLE_CYCLE, FloatArray
from biodyn.output.figures.curves import display_table, unit_label
from biodyn.output.figures.trial import TrialView
from biodyn.variables import NormCovariates, Norms, NormScalar
from biodyn.variables.norms import DIMENSIONLESS, dimensionless_parameters

# Units by suffix of the parameter name, longest first.
_UNITS = {
    "_steps_min": "steps/min",
    "_m_s": "m/s",
    "_percent": "% of the cycle",
    "_deg": "degrees",
    "_BW": "BW",
    "_s": "s",
    "_m": "m",
}
# Displayed unit and factor by suffix of the evidence column, longest first.
_EVIDENCE_UNITS = {
    "_m_s": ("m/s", 1.0),
    "_bw": ("body weights", 1.0),
    "_m": ("cm", 100.0),
    "_s": ("s", 1.0),
    "_n": ("N", 1.0),
    "_kg": ("kg", 1.0),
}
# Titles of parameters that differ from their column name.
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
    """Return title and unit of a parameter from its column name, e.g. ("Stride length", "m")."""
    for suffix, unit in _UNITS.items():
        if name.endswith(suffix):
            stem = name.removesuffix(suffix)
            return _TITLES.get(stem, stem.replace("_", " ").capitalize()), unit
    return name.replace("_", " ").capitalize(), ""


def evidence_text(name: str, value: float) -> str:
    """Return an evidence value with title and unit from its column name, e.g. "beyond the plate 1.2 cm"."""
    for suffix, (unit, factor) in _EVIDENCE_UNITS.items():
        if name.endswith(suffix):
            words = name.removesuffix(suffix).replace("_", " ").replace("overhang", "beyond the plate")
            words = words.replace("sole", "foot outline")
            return f"{words} {factor * value:.3g} {unit}".replace(" 95 ", " (95th percentile) ").replace("cop", "CoP")
    return f"{name.replace('_', ' ')} {value:.3g}"


def format_signed(value: float, digits: int = 1) -> str:
    """Return a difference with its sign; zero after rounding has none."""
    return f"{value:+z.{digits}f}" if round(value, digits) else f"{0.0:.{digits}f}"


def round_for_page(values: FloatArray, digits: int) -> list[float | None]:
    """Return rounded numbers for the script of a page; None for NaN."""
    return [round(value, digits) + 0.0 if np.isfinite(value) else None for value in values.tolist()]


def format_decimal(value: float | None, digits: int = 1) -> str:
    """Return a number with the given decimals, "-" for None; zero after rounding has no sign."""
    return "-" if value is None else f"{value:z.{digits}f}"


#: Mean parameters of the strides by side, and mean curves in clinical signs by variable and side.
Strides = Mapping[str, Mapping[str, float]]
Curves = Mapping[str, Mapping[str, FloatArray]]
_DIMENSIONLESS = "1"


@dataclass(frozen=True)
class NormRow:
    """A parameter of both sides (NaN if unknown), with its norm and the name of the group (`source`), if any."""

    title: str
    unit: str
    values: Mapping[str, float]
    norm: NormScalar | None = None
    source: str = ""
    z: Mapping[str, float] = field(default_factory=dict)

    def text(self, side: str) -> str:
        """Return the value with an arrow if it is outside the range of 95 % of the subjects of the norm."""
        value = self.values.get(side, float("nan"))
        if not np.isfinite(value):
            return "–"
        outside = self.norm is not None and abs(self.z[side]) > 1.96
        return f"{format_decimal(value, self.digits)}" + ((" ↑" if self.z[side] > 0 else " ↓") if outside else "")

    @property
    def digits(self) -> int:
        """Decimals."""
        return {"deg": 1, "%": 1, "steps/min": 0, _DIMENSIONLESS: 3}.get(self.unit, 2)

    @property
    def norm_text(self) -> str:
        """Mean and range of 95 % of the subjects."""
        if self.norm is None:
            return "–"
        mean, low, high = (format_decimal(value, self.digits) for value in (self.norm.mean, *self.norm.range95))
        return f"{mean} ({low} to {high})"

    @property
    def unit_text(self) -> str:
        """The unit, "" for a dimensionless parameter."""
        return "" if self.unit == _DIMENSIONLESS else unit_label(self.unit)


def norm_rows(strides: Strides, curves: Curves, person: NormCovariates, norms: Sequence[Norms]) -> list[NormRow]:
    """Return the rows of all parameters with a norm, then those of the other dimensionless parameters of the stride."""
    parameters = {side: {**values, **dimensionless_parameters(values, person)} for side, values in strides.items()}
    titles = {name: f"{title}, dimensionless" for name, (title, *_) in DIMENSIONLESS.items()}
    titles["stride_per_height"] = "Stride length in body heights"
    rows = []
    for name in dict.fromkeys([*DIMENSIONLESS, *(key for group in norms for key in group.scalars)]):
        values: dict[str, float] = {side: parameters.get(side, {}).get(name, float("nan")) for side in SIDES}
        group = next((group for group in norms if name in group.scalars), None)
        scalar = None if group is None else group.scalars[name]
        if scalar is not None and scalar.variable:
            values = {str(side): _curve_value(curves.get(scalar.variable, {}).get(side), scalar) for side in SIDES}
        if not any(np.isfinite(value) for value in values.values()):
            continue
        if group is None or scalar is None:
            rows.append(NormRow(titles.get(name) or parameter_label(name)[0], _DIMENSIONLESS, values))
            continue
        title = scalar.title if scalar.variable else titles.get(name) or parameter_label(name)[0]
        z: dict[str, float] = {side: (value - scalar.mean) / scalar.sd for side, value in values.items()}
        rows.append(NormRow(title, scalar.unit, values, scalar, group.short, z))
    return sorted(rows, key=lambda row: row.norm is None)


def _curve_value(curve: FloatArray | None, scalar: NormScalar) -> float:
    """Return peak or range of a mean curve; NaN if less than `WHOLE_CYCLE` of it is known."""
    known = np.empty(0) if curve is None else curve[np.isfinite(curve)]
    if len(known) < WHOLE_CYCLE * CYCLE_POINTS:
        return float("nan")
    if scalar.operation == "range":
        return float(np.ptp(known))
    return float(known.max() if scalar.operation == "max" else known.min())


def windowed_parameter_rows(view: TrialView, names: Sequence[str] | None = None) -> list[tuple[str, ...]]:
    """Return title, unit, and a cell of each side for the windowed parameters of the curves (`study/parameters.toml`).

    Parameters without a value on either side are omitted; a cell is a dash if no window is covered.

    A cell contains the mean over the cycles whose window was measured, and for a peak its instant in per cent of the cycle.
    The SD is that of the input errors for torques and powers (an upper bound for work and other integrals), else that of the
    cycles.
    """
    table = view.parameters
    table = table[~table["variable"].isin(view.tables["spatiotemporal"].columns)]
    if names is not None:
        table = table[table["parameter"].isin(list(names))]
    cycles_of_side = table.groupby(["parameter", "side"], sort=False).indices
    values, instants = (table[name].to_numpy(dtype=np.float64) for name in ("value", "at_percent"))
    heads = table.drop_duplicates("parameter")[["parameter", "title", "variable", "unit"]]
    rows = []
    for name, title, curve, unit in heads.itertuples(index=False):
        cells = []
        for side in SIDES:
            cycles = cycles_of_side.get((name, side), [])
            band = view.bands.get(curve, {}).get(side)
            sd = np.nan if band is None else view.parameter_sd.get((name, side), np.nan)
            cells.append(_parameter_cell(values[cycles], instants[cycles], 1 if unit in ("deg", "%") else 2, band, sd))
        rows.append((title, unit_label(unit), *cells))
    return rows


def _parameter_cell(
    values: FloatArray, instants: FloatArray, digits: int, band: FloatArray | None, parameter_sd: float
) -> str:
    """Return the mean of a parameter over the cycles of a side, "–" without any.

    values, instants: value and instant of a peak, per cent, of each cycle. band: standard deviation of the curve.
    """
    if not len(values):
        return "–"
    error = values.std(ddof=1) if len(values) > 1 else np.nan
    known = instants[np.isfinite(instants)]
    at = known.mean() if len(known) else np.nan
    if band is not None:
        error = band[round(at)] if np.isfinite(at) and np.isfinite(band[round(at)]) else parameter_sd
    shown = f" ± {error:.{digits}f}" if np.isfinite(error) else ""
    return f"{format_decimal(values.mean(), digits)}{shown}" + (f" at {at:.0f} %" if np.isfinite(at) else "")


def _short_title(title: str) -> str:
    """Return a title without "Peak", because the cell contains the instant of the peak."""
    short = title.removeprefix("Peak ")
    return short[:1].upper() + short[1:]


def peak_lines(view: TrialView) -> list[str]:
    """Return a line per parameter of the screen (`screen` in display.toml); empty without gait cycles."""
    names = display_table()["screen"]
    rows = [
        (f"{_short_title(title)}, {unit}", *(f"{SIDE_NAMES[s]} {cell}" for s, cell in zip(SIDES, cells, strict=True)))
        for title, unit, *cells in windowed_parameter_rows(view, names)
    ]
    if not rows:
        return []
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    lines = [f"{title:<{widths[0]}}  {right:<{widths[1]}} {left}" for title, right, left in rows]
    banded = any("moment" in name for name in view.bands)
    return [
        *lines,
        "  ± one standard deviation"
        + (": of the input errors for moments and powers, else of the cycles." if banded else "."),
    ]
