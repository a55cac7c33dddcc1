"""Parameters of gait cycles in windows, defined by a table: peaks, ranges, impulses, work.

The table `library/study/parameters.toml` is used for screen, report, Python, session and study. Curves are interpolated
linearly between their 101 samples. A parameter is missing if a value in its window is missing. Only the last samples of swing
are bridged, because the stance after the next foot strike may not be measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from biodyn.conventions import CYCLE_POINTS, SIDE_SIGN, FloatArray
from biodyn.library.study_parameters import Interval, ParameterDefinition
from biodyn.library.toml_files import load_table
from biodyn.variables.gait_variables import PERCENT

_STEP = float(PERCENT[1] - PERCENT[0])
_LAST = len(PERCENT) - 1


@cache
def default_definitions() -> tuple[ParameterDefinition, ...]:
    """Return the definitions of the parameters in the library's table."""
    return tuple(ParameterDefinition.model_validate(entry) for entry in load_table("study/parameters")["parameter"])


def side_signs(definition: ParameterDefinition, sides: Sequence[str]) -> FloatArray:
    """Return the sign factor (n,) of a parameter for each side."""
    sign = np.full(len(sides), float(definition.sign))
    return sign * np.array([SIDE_SIGN[side] for side in sides], dtype=np.float64) if definition.mirrored else sign


def extend_to_cycle_end(curves: FloatArray) -> FloatArray:
    """Extend curves (n, 101) with their last known value if only the last samples of swing are missing."""
    most = 3  # samples; a plate filter affects 3 % of the cycle before the next strike
    known = np.isfinite(curves)
    last = CYCLE_POINTS - 1 - known[:, ::-1].argmax(axis=1)
    rows = np.flatnonzero(known.any(axis=1) & (last < CYCLE_POINTS - 1) & (last >= CYCLE_POINTS - 1 - most))
    filled = curves.copy() if len(rows) else curves
    for row in rows:
        filled[row, last[row] + 1 :] = curves[row, last[row]]
    return filled


@dataclass(frozen=True)
class Window:
    """Window in each of N cycles, and the values of the curves at its ends.

    Attributes: `start`, `end`: (N,) percent of the cycle, NaN if unknown. `first`, `last`: (N,) values at start and end.
    """

    start: FloatArray
    end: FloatArray
    first: FloatArray
    last: FloatArray


def parameter_unit(definition: ParameterDefinition, variable_unit: str) -> str:
    """Return the unit of a parameter from its definition, else derived from the unit of the variable."""
    if definition.unit:
        return definition.unit
    if definition.operation in ("time_of_max", "time_of_min"):
        return "%"
    if definition.operation.endswith(("impulse", "work")):
        return "J/kg" if variable_unit == "W/kg" else f"{variable_unit} s"
    return variable_unit


def window_ends(interval: Interval, stance_percent: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return start and end of an interval in percent of each cycle (N,), from the end of stance (N,) in percent."""
    zero, full = np.zeros_like(stance_percent), np.full_like(stance_percent, 100.0)
    low, high = {"cycle": (zero, full), "stance": (zero, stance_percent), "swing": (stance_percent, full)}[interval.of]
    return low + (high - low) * interval.start / 100.0, low + (high - low) * interval.end / 100.0


def apply_operation(
    curves: FloatArray, start: FloatArray, end: FloatArray, definition: ParameterDefinition, duration_s: FloatArray
) -> FloatArray:
    """Return the result (N,) of an operation on curves (N, 101) between start and end (N,), percent of cycles of a duration
    (N,) s."""
    curves, known = extend_to_cycle_end(curves), np.isfinite(start) & np.isfinite(end)
    if definition.operation == "at_percent":
        at = start + (end - start) * (definition.at or 0.0) / 100.0
        return np.where(known, _interpolated_value(curves, np.where(known, at, 0.0)), np.nan)
    start, end = np.where(known, start, 0.0), np.where(known, end, 100.0)
    first = _interpolated_value(curves, start, inside=1)
    last = _interpolated_value(curves, end, inside=-1)
    window = Window(start, end, first, last)
    operation = definition.operation
    if operation in ("mean", "impulse"):
        area = _window_integral(curves, window)
        result = area / (end - start) if operation == "mean" else area / 100.0 * duration_s
    elif operation.startswith(("positive", "negative")):
        turn = 1.0 if operation.startswith("positive") else -1.0
        turned = Window(start, end, turn * first, turn * last)
        result = turn * _window_integral(turn * curves, turned, positive_only=True) / 100.0 * duration_s
    else:
        result = _window_extreme(curves, window, operation)
    return np.where(known, result, np.nan)


def _window_extreme(curves: FloatArray, window: Window, operation: str) -> FloatArray:
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


def _window_integral(curves: FloatArray, window: Window, positive_only: bool = False) -> FloatArray:
    """Return the integral (N,), over percent of the cycle, of the linear interpolant in a window, or of its positive part
    only."""
    start = np.maximum(PERCENT[:-1], window.start[:, None])
    end = np.minimum(PERCENT[1:], window.end[:, None])
    width = end - start  # (N, 100); not positive outside the window
    a = np.where(start > PERCENT[:-1], window.first[:, None], curves[:, :-1])
    b = np.where(end < PERCENT[1:], window.last[:, None], curves[:, 1:])
    if positive_only:
        top, bottom = np.maximum(a, b), np.minimum(a, b)
        crossing = (top > 0.0) & (bottom < 0.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            # a line from top > 0 to bottom < 0 is positive for the fraction top / (top - bottom) of the interval
            height = np.where(crossing, 0.5 * top * top / (top - bottom), 0.5 * (np.maximum(a, 0) + np.maximum(b, 0)))
    else:
        height = 0.5 * (a + b)
    return np.where(width > 0.0, height * width, 0.0).sum(axis=1)


def _interpolated_value(curves: FloatArray, at: FloatArray, inside: int = 0) -> FloatArray:
    """Return the value (N,) of curves (N, 101) at percents (N,), by linear interpolation.

    If the sample outside a window is missing, the one inside is used: `inside` is 1 if the window is after the instant, -1 if
    it is before.
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


def nan_statistics(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean and standard deviation (n - 1) over the first axis of the finite numbers; NaN for fewer than one or two
    numbers."""
    known = np.isfinite(values)
    count = known.sum(axis=0)
    filled = np.where(known, values, 0.0)
    empty = np.full(count.shape, np.nan)
    mean = np.divide(filled.sum(axis=0), count, out=empty.copy(), where=count > 0)
    square = np.where(known, (values - mean) ** 2, 0.0).sum(axis=0)
    sd = np.sqrt(np.divide(square, count - 1, out=empty.copy(), where=count > 1))
    return mean, sd
