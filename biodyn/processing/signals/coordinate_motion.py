"""Coordinates through time to rates and accelerations, as OpenSim's InverseDynamicsTool computes them.

Its steps: the ends are continued by half the record, point-reflected; where rows are not evenly spaced they are resampled at
the smallest step by quintic natural splines; a third-order Butterworth filter runs forwards and backwards, its cut-off not
corrected for the two passes (-6 dB there); quintic natural splines give the derivatives (Woltring 1986, doi
10.1016/0141-1195(86)90098-7).
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import numpy as np
from scipy.interpolate import BSpline, make_interp_spline
from scipy.signal import butter, lfilter, lfilter_zi

from biodyn.conventions import FloatArray

_ORDER = 3
_DEGREE = 5
# Derivatives that are zero at both ends of a natural quintic spline.
_VANISHING = (3, 4)
# Steps that differ by less are the digits of a file.
_UNEVEN: Final = 1e-9
# Rows of a block, and around it: a quintic spline forgets a factor 0.43 a row, the filter exp(-pi) a period of its cut-off.
_BLOCK: Final = 20_000
_LEAST_AROUND: Final = 60
_PERIODS: Final = 12.0
#: The least number of rows a quintic spline with these ends needs.
LEAST_ROWS = 7


def coordinate_motion(
    time_s: FloatArray, values: FloatArray, cutoff_hz: float, at_s: FloatArray | None = None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return values, rates and accelerations (T', C) at the times `at_s` (T',) s, those of the rows where omitted.

    time_s: (T,) increasing, T >= `LEAST_ROWS`; values: (T, C), no NaN; cutoff_hz: 0 = no filter.
    """
    if at_s is None and len(time_s) > 2 * _BLOCK and _is_even(time_s):
        return _in_blocks(time_s, values, cutoff_hz)
    when = time_s if at_s is None else at_s
    if cutoff_hz > 0.0:
        time_s, values = _lowpassed(*_padded(time_s, values), cutoff_hz)
    spline = _natural(time_s, values)
    return spline(when), spline(when, nu=1), spline(when, nu=2)


def _in_blocks(time_s: FloatArray, values: FloatArray, cutoff_hz: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The same for a long record, a block of rows at a time with as many rows around it as filter and spline remember."""
    found = tuple(np.empty_like(values) for _ in range(3))
    around = _LEAST_AROUND
    if cutoff_hz > 0.0:
        step = (time_s[-1] - time_s[0]) / (len(time_s) - 1)
        around += int(np.ceil(_PERIODS / (cutoff_hz * step)))

    def one(start: int) -> None:
        stop = min(start + _BLOCK, len(time_s))
        first, last = max(start - around, 0), min(stop + around, len(time_s))
        at, part = time_s[first:last], values[first:last]
        if cutoff_hz > 0.0:
            at, part = _lowpassed(*_padded(at, part, around), cutoff_hz)
        spline = _natural(at, part)
        for order, out in enumerate(found):
            out[start:stop] = spline(time_s[start:stop], nu=order)

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        list(pool.map(one, range(0, len(time_s), _BLOCK)))
    return found[0], found[1], found[2]


def _is_even(time_s: FloatArray) -> bool:
    steps = np.diff(time_s)
    step = float(steps.min())
    return bool(steps.max() - step <= _UNEVEN * step)


def _natural(time_s: FloatArray, values: FloatArray) -> BSpline[np.float64]:
    flat = np.zeros(values.shape[1])
    ends: Any = [(order, flat) for order in _VANISHING]  # the stubs know one condition an end
    spline: BSpline[np.float64] = make_interp_spline(time_s, values, k=_DEGREE, bc_type=(ends, ends))
    return spline


def _padded(time_s: FloatArray, values: FloatArray, rows: int | None = None) -> tuple[FloatArray, FloatArray]:
    n = len(time_s) // 2 if rows is None else min(rows, len(time_s) - 1)
    before, after = slice(n, 0, -1), slice(-2, -2 - n, -1)
    return (
        np.concatenate([2 * time_s[0] - time_s[before], time_s, 2 * time_s[-1] - time_s[after]]),
        np.concatenate([2 * values[0] - values[before], values, 2 * values[-1] - values[after]]),
    )


def _lowpassed(time_s: FloatArray, values: FloatArray, cutoff_hz: float) -> tuple[FloatArray, FloatArray]:
    step = float(np.diff(time_s).min())
    if not _is_even(time_s):
        even = time_s[0] + step * np.arange(int((time_s[-1] - time_s[0]) / step) + 1)
        time_s, values = even, _natural(time_s, values)(even)
    b, a = butter(_ORDER, min(cutoff_hz * 2.0 * step, 0.999))
    start = lfilter_zi(b, a)[:, None]
    for _ in range(2):
        values = lfilter(b, a, values, axis=0, zi=start * values[0])[0][::-1]
    return time_s, np.ascontiguousarray(values)
