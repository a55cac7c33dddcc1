"""Two sets of torque curves of the same names, of which nothing else is known: what can be told from the curves alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from biodyn.comparison.channels import units_to_nm
from biodyn.comparison.shapley import parts_of_difference
from biodyn.comparison.smoothing import RelativeFilter, filter_of_either
from biodyn.conventions import BoolArray, FloatArray

SIGN, UNIT, SHIFT, FILTER = "sign", "unit", "time shift", "smoothing"
# Curves less alike than this have no sign that could be told, and no lag.
_LEAST_R = 0.5
# A lag or a unit must take this part of the difference away to be believed.
_LEAST_EXPLAINED = 0.2
_MOST_SHIFT_S = 0.2


@dataclass(frozen=True)
class CurveCauses:
    """What turns the first curves into the others.

    Attributes:
        signs: (C,) 1 or -1. unit: of the other curves, by `channels.units_to_nm`. shift_s: the others come later by it.
        filter: between them, and whether the first is the sharper; None where there is none.
        parts: each cause's part (T, C) Nm of other - first.
    """

    signs: FloatArray
    unit: str
    shift_s: float
    filter: tuple[RelativeFilter, bool] | None
    parts: dict[str, FloatArray]


def curve_causes(first: FloatArray, other: FloatArray, rate_hz: float, mass_kg: float) -> CurveCauses:
    """Return what can be told of the difference of curves (T, C), the first in Nm; frames with NaN in either do not count."""
    known = np.asarray(np.isfinite(first).all(axis=1) & np.isfinite(other).all(axis=1))
    signs = np.array(
        [-1.0 if _r(a, b) < -_LEAST_R else 1.0 for a, b in zip(first[known].T, other[known].T, strict=True)]
    )
    unit, factor = _unit(first[known] * signs, other[known], mass_kg)
    in_nm = other * factor * signs
    shift = _shift(first, in_nm, known, rate_hz)
    moved = _later(first, shift)
    a, b = (np.repeat(x[:, :, None], 3, axis=2) for x in (moved, in_nm))
    between = filter_of_either(a, b, known & np.isfinite(moved).all(axis=1), rate_hz)

    def value(held: frozenset[str]) -> FloatArray:
        found = first
        if SHIFT in held:
            found = np.where(np.isfinite(moved), moved, first)
        if FILTER in held and between is not None:
            low, first_is_sharper = between
            sharp = found if first_is_sharper else in_nm
            change = low.applied(np.where(known[:, None], sharp, np.nan), rate_hz) - sharp
            found = found + (np.nan_to_num(change) if first_is_sharper else -np.nan_to_num(change))
        return found

    causes = [cause for cause, is_there in ((SHIFT, shift != 0), (FILTER, between is not None)) if is_there]
    parts, _, _ = parts_of_difference(causes, value) if causes else ({}, first, first)
    # how the others are written comes last: it is no part of what was computed
    written = {SIGN: other * factor - in_nm, UNIT: other - other * factor}
    parts |= {cause: part for cause, part in written.items() if np.nanmax(np.abs(part)) > 0.0}
    return CurveCauses(signs, unit, shift / rate_hz, between, parts)


def _r(a: FloatArray, b: FloatArray) -> float:
    size = float(np.std(a) * np.std(b))
    return float(np.mean((a - a.mean()) * (b - b.mean()))) / size if size > 0.0 else 0.0


def _unit(first: FloatArray, other: FloatArray, mass_kg: float) -> tuple[str, float]:
    """The unit of the other curves; Nm where another one does not fit clearly better."""
    left = {unit: float(np.sum((other * factor - first) ** 2)) for unit, factor in units_to_nm(mass_kg).items()}
    best = min(left, key=lambda unit: left[unit])
    believed = left[best] < (1.0 - _LEAST_EXPLAINED) * left["Nm"] and left[best] < 0.5 * float(np.sum(first**2))
    unit = best if believed else "Nm"
    return unit, units_to_nm(mass_kg)[unit]


def _later(x: FloatArray, frames: int) -> FloatArray:
    """The curves (T, C) some frames later; NaN where there were none."""
    found = np.full_like(x, np.nan)
    if frames >= 0:
        found[frames:] = x[: len(x) - frames]
    else:
        found[:frames] = x[-frames:]
    return found


def _shift(first: FloatArray, other: FloatArray, known: BoolArray, rate_hz: float) -> int:
    """By how many frames the other curves come later; 0 where that explains too little."""
    most = round(_MOST_SHIFT_S * rate_hz)
    left = {}
    for frames in range(-most, most + 1):
        apart = (other - _later(first, frames))[known]
        left[frames] = float(np.nanmean(apart**2))
    best = min(left, key=lambda frames: left[frames])
    return best if left[best] < (1.0 - _LEAST_EXPLAINED) * left[0] else 0
