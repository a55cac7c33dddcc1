"""Discrete parameters of cycles by their definitions: peaks, ranges, impulses, work.

Between its 101 samples a curve is taken as straight lines, and so are the ends of a window that fall between two samples.
A value missing anywhere in the window makes the parameter missing: a peak that may have been in a gap is not known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from biodyn.conventions import SIDE_SIGN, FloatArray
from biodyn.library.study_parameters import Interval, ParameterDefinition
from biodyn.study.group.subject_cycles import CYCLE_KEYS, PERCENT, STANCE, STRIDE_TIME, SubjectCycles

PARAMETER_COLUMNS = [*CYCLE_KEYS, "parameter", "value", "unit"]
_STEP = float(PERCENT[1] - PERCENT[0])
_LAST = len(PERCENT) - 1


@dataclass(frozen=True)
class Window:
    """Part of each of N cycles, and what the curves are at its ends.

    Attributes: `start`, `end` (N,) percent of the cycle, NaN where unknown; `first`, `last` (N,) values there.
    """

    start: FloatArray
    end: FloatArray
    first: FloatArray
    last: FloatArray


def parameter_matrix(data: SubjectCycles, definitions: Sequence[ParameterDefinition]) -> FloatArray:
    """Return the parameters of every cycle (N, P); NaN where not known, or where the subject's data lack the variable."""
    matrix = np.full((len(data.cycles), len(definitions)), np.nan)
    for column, definition in enumerate(definitions):
        if has_variable(data, definition):
            matrix[:, column] = parameter_values(data, definition)
    return matrix


def parameter_table(
    data: SubjectCycles, definitions: Sequence[ParameterDefinition], matrix: FloatArray | None = None
) -> pd.DataFrame:
    """Return the parameters of every cycle, tidy: `CYCLE_KEYS`, parameter, value, unit; NaN where not known.

    Definitions without data are omitted. `matrix` (N, P): their values, if already computed.
    """
    matrix = parameter_matrix(data, definitions) if matrix is None else matrix
    known = [number for number, definition in enumerate(definitions) if has_variable(data, definition)]
    names = pd.Index([definitions[number].name for number in known])
    units = [unit_of(definitions[n], data.units.get(definitions[n].variable, "")) for n in known]
    codes = np.repeat(np.arange(len(known)), len(matrix))
    levels = pd.Index(list(dict.fromkeys(units)))
    table: dict[str, Any] = {name: _tiled(data.cycles[name], len(known)) for name in CYCLE_KEYS}
    table["parameter"] = pd.Categorical.from_codes(codes, categories=names)
    table["value"] = matrix[:, known].T.reshape(-1)
    table["unit"] = pd.Categorical.from_codes(levels.get_indexer(pd.Index(units))[codes], categories=levels)
    return pd.DataFrame(table)


def _tiled(column: pd.Series, times: int) -> Any:
    """The column so many times over; texts as categories, which are written quickly."""
    if column.dtype != object:
        return np.tile(column.to_numpy(), times)
    codes, words = pd.factorize(column)
    return pd.Categorical.from_codes(np.tile(codes, times), categories=words)


def has_variable(data: SubjectCycles, definition: ParameterDefinition) -> bool:
    """Whether the subject's data hold what the definition needs."""
    if definition.operation == "stride":
        return definition.variable in data.stride_columns
    return definition.variable in data.variables


def unit_of(definition: ParameterDefinition, variable_unit: str) -> str:
    """Unit of a parameter: the definition's, else what follows from the variable's."""
    if definition.unit:
        return definition.unit
    if definition.operation in ("time_of_max", "time_of_min"):
        return "%"
    if definition.operation.endswith(("impulse", "work")):
        return "J/kg" if variable_unit == "W/kg" else f"{variable_unit} s"
    return variable_unit


def parameter_values(data: SubjectCycles, definition: ParameterDefinition) -> FloatArray:
    """Return one parameter of every cycle (N,)."""
    sign = np.full(len(data.cycles), float(definition.sign))
    if definition.mirrored:
        sign *= data.cycles["side"].map(SIDE_SIGN).to_numpy(dtype=np.float64)
    if definition.operation == "stride":
        return sign * data.stride(definition.variable)
    curves = data.curves(definition.variable) * sign[:, None]
    start, end = window_ends(definition.interval, data.stride(STANCE))
    return operate(curves, start, end, definition, data.stride(STRIDE_TIME))


def window_ends(interval: Interval, stance_percent: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return start and end of an interval in percent of each cycle (N,), from the end of stance (N,) in percent."""
    zero, full = np.zeros_like(stance_percent), np.full_like(stance_percent, 100.0)
    low, high = {"cycle": (zero, full), "stance": (zero, stance_percent), "swing": (stance_percent, full)}[interval.of]
    return low + (high - low) * interval.start / 100.0, low + (high - low) * interval.end / 100.0


def operate(
    curves: FloatArray, start: FloatArray, end: FloatArray, definition: ParameterDefinition, duration_s: FloatArray
) -> FloatArray:
    """Return the operation's result (N,) for curves (N, 101) between start and end (N,) percent of cycles of a duration (N,)."""
    known = np.isfinite(start) & np.isfinite(end)
    if definition.operation == "at_percent":
        at = start + (end - start) * (definition.at or 0.0) / 100.0
        return np.where(known, _value_at(curves, np.where(known, at, 0.0)), np.nan)
    start, end = np.where(known, start, 0.0), np.where(known, end, 100.0)
    first = _value_at(curves, start, inside=1)
    last = _value_at(curves, end, inside=-1)
    window = Window(start, end, first, last)
    operation = definition.operation
    if operation in ("mean", "impulse"):
        area = _area(curves, window)
        result = area / (end - start) if operation == "mean" else area / 100.0 * duration_s
    elif operation.startswith(("positive", "negative")):
        turn = 1.0 if operation.startswith("positive") else -1.0
        turned = Window(start, end, turn * first, turn * last)
        result = turn * _area(turn * curves, turned, positive_only=True) / 100.0 * duration_s
    else:
        result = _extreme(curves, window, operation)
    return np.where(known, result, np.nan)


def _extreme(curves: FloatArray, window: Window, operation: str) -> FloatArray:
    """Return maximum, minimum, range, or the time of an extremum, over the samples of a window and its ends."""
    inside = (window.start[:, None] <= PERCENT) & (window.end[:, None] >= PERCENT)
    missing = (inside & np.isnan(curves)).any(axis=1) | np.isnan(window.first) | np.isnan(window.last)
    candidates = np.column_stack([window.first, curves, window.last])
    usable = np.column_stack([np.ones(len(curves), bool), inside, np.ones(len(curves), bool)])
    usable &= ~np.isnan(candidates)
    high = np.where(usable, candidates, -np.inf)
    low = np.where(usable, candidates, np.inf)
    if operation.startswith("time_of"):
        times = np.column_stack([window.start, np.broadcast_to(PERCENT, curves.shape), window.end])
        at = high.argmax(axis=1) if operation == "time_of_max" else low.argmin(axis=1)
        result = times[np.arange(len(curves)), at]
    elif operation == "range":
        result = high.max(axis=1) - low.min(axis=1)
    else:
        result = high.max(axis=1) if operation == "max" else low.min(axis=1)
    return np.where(missing, np.nan, result)


def _area(curves: FloatArray, window: Window, positive_only: bool = False) -> FloatArray:
    """Integral (N,) over percent of the lines between samples inside a window; of their positive part, if asked for."""
    start = np.maximum(PERCENT[:-1], window.start[:, None])
    end = np.minimum(PERCENT[1:], window.end[:, None])
    width = end - start  # (N, 100); not positive outside the window
    a = np.where(start > PERCENT[:-1], window.first[:, None], curves[:, :-1])
    b = np.where(end < PERCENT[1:], window.last[:, None], curves[:, 1:])
    if positive_only:
        top, bottom = np.maximum(a, b), np.minimum(a, b)
        crossing = (top > 0.0) & (bottom < 0.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            # a line from top > 0 to bottom < 0 is above zero for the share top / (top - bottom) of its way
            height = np.where(crossing, 0.5 * top * top / (top - bottom), 0.5 * (np.maximum(a, 0) + np.maximum(b, 0)))
    else:
        height = 0.5 * (a + b)
    return np.where(width > 0.0, height * width, 0.0).sum(axis=1)


def _value_at(curves: FloatArray, at: FloatArray, inside: int = 0) -> FloatArray:
    """Value (N,) of curves (N, 101) at percents (N,), by linear interpolation.

    If the sample outside a window is missing, the one inside is used: `inside` is 1 where the window is after the
    instant, -1 where before.
    """
    rows = np.arange(len(curves))
    place = np.clip(at / _STEP, 0.0, _LAST)
    low = np.minimum(np.floor(place).astype(np.int64), _LAST - 1)
    share = place - low
    before, after = curves[rows, low], curves[rows, low + 1]
    result = np.where(share == 0.0, before, np.where(share == 1.0, after, before + share * (after - before)))
    if inside == 0:
        return result
    return np.where(np.isnan(result), after if inside > 0 else before, result)
