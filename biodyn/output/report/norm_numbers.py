"""Numbers of a walk beside norms: spatio-temporal parameters, dimensionless ones, peaks and ranges of curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from biodyn.conventions import SIDES, FloatArray
from biodyn.output.figures.curves import unit_words
from biodyn.output.report.words import decimal, parameter_label
from biodyn.variables import Norms, NormScalar, Walker
from biodyn.variables.norm_choice import SIZE_FREE, size_free

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
