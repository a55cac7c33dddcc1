"""Coordinates through time to rates and accelerations, as OpenSim's InverseDynamicsTool computes them.

Its steps: the ends are continued by half the record, point-reflected; where rows are not evenly spaced they are resampled at
the smallest step by quintic natural splines; a third-order Butterworth filter runs forwards and backwards, its cut-off not
corrected for the two passes (-6 dB there); quintic natural splines give the derivatives (Woltring 1986, doi
10.1016/0141-1195(86)90098-7).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.interpolate import BSpline, make_interp_spline
from scipy.signal import butter, lfilter, lfilter_zi

from biodyn.conventions import FloatArray

_ORDER = 3
_DEGREE = 5
# Derivatives that are zero at both ends of a natural quintic spline.
_VANISHING = (3, 4)
#: The least number of rows a quintic spline with these ends needs.
LEAST_ROWS = 7


def coordinate_motion(
    time_s: FloatArray, values: FloatArray, cutoff_hz: float, at_s: FloatArray | None = None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return values, rates and accelerations (T', C) at the times `at_s` (T',) s, those of the rows where omitted.

    time_s: (T,) increasing, T >= `LEAST_ROWS`; values: (T, C), no NaN; cutoff_hz: 0 = no filter.
    """
    when = time_s if at_s is None else at_s
    if cutoff_hz > 0.0:
        time_s, values = _lowpassed(*_padded(time_s, values), cutoff_hz)
    spline = _natural(time_s, values)
    return spline(when), spline(when, nu=1), spline(when, nu=2)


def _natural(time_s: FloatArray, values: FloatArray) -> BSpline[np.float64]:
    flat = np.zeros(values.shape[1])
    ends: Any = [(order, flat) for order in _VANISHING]  # the stubs know one condition an end
    spline: BSpline[np.float64] = make_interp_spline(time_s, values, k=_DEGREE, bc_type=(ends, ends))
    return spline


def _padded(time_s: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    n = len(time_s) // 2
    before, after = slice(n, 0, -1), slice(-2, -2 - n, -1)
    return (
        np.concatenate([2 * time_s[0] - time_s[before], time_s, 2 * time_s[-1] - time_s[after]]),
        np.concatenate([2 * values[0] - values[before], values, 2 * values[-1] - values[after]]),
    )


def _lowpassed(time_s: FloatArray, values: FloatArray, cutoff_hz: float) -> tuple[FloatArray, FloatArray]:
    steps = np.diff(time_s)
    step = float(steps.min())
    if steps.max() - step > 1e-9 * step:
        even = time_s[0] + step * np.arange(int((time_s[-1] - time_s[0]) / step) + 1)
        time_s, values = even, _natural(time_s, values)(even)
    b, a = butter(_ORDER, min(cutoff_hz * 2.0 * step, 0.999))
    start = lfilter_zi(b, a)[:, None]
    for _ in range(2):
        values = lfilter(b, a, values, axis=0, zi=start * values[0])[0][::-1]
    return time_s, np.ascontiguousarray(values)
