"""Zero-lag Butterworth low-pass filter with the dual-pass cut-off correction, for signals with gaps."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from biodyn.conventions import BoolArray, FloatArray, IntArray
from biodyn.errors import SettingsError
from biodyn.kernels.recursive_filters import FILTER_ROWS, LANES, filter_zero_phase

_LEAST_FRAMES = 60


def estimate_noise(raw: FloatArray, rate_hz: float, from_hz: float, order: int) -> FloatArray:
    """Return the white noise (M,) of recorded markers (T, M, 3), m per axis, from the signal above `from_hz`; NaN if unknown.

    Walking has no components above `from_hz`. The estimate is robust against jumps (median absolute deviation), and the
    fraction of white noise above this frequency is known exactly.
    """
    normal_mad = 1.4826  # standard deviation / median absolute deviation of a normal distribution
    from_hz = min(from_hz, 0.3 * rate_hz)
    rest = raw - butterworth_lowpass(raw, rate_hz, from_hz, order)
    impulse = np.zeros(2 * _LEAST_FRAMES + 1)
    impulse[_LEAST_FRAMES] = 1.0
    passed = float(np.sum((impulse - butterworth_lowpass(impulse, rate_hz, from_hz, order)) ** 2))
    sd = np.full(raw.shape[1], np.nan)
    for m in range(raw.shape[1]):
        values = rest[np.isfinite(rest[:, m, 0]), m]
        if len(values) >= _LEAST_FRAMES:
            sd[m] = normal_mad * np.median(np.abs(values)) / np.sqrt(passed)
    return sd


PASSES = 2  # once forwards, once backwards


def finite_stretches(finite: BoolArray) -> list[tuple[int, int]]:
    """Return the runs of True in a (T,) mask as (first, stop) pairs, stop exclusive."""
    if not len(finite):
        return []
    edges = (np.flatnonzero(finite[1:] != finite[:-1]) + 1).tolist()
    if finite[0]:
        edges.insert(0, 0)
    if finite[-1]:
        edges.append(len(finite))
    return list(zip(edges[::2], edges[1::2], strict=True))


def widen_mask(mask: BoolArray, frames: int, after: int | None = None) -> BoolArray:
    """Return the mask (T,) with each run of True extended by a number of frames on both sides; after: another number after it."""
    wide = mask.copy()
    for first, stop in finite_stretches(mask):
        wide[max(first - frames, 0) : stop + (frames if after is None else after)] = True
    return wide


def one_pass_cutoff_hz(rate_hz: float, cutoff_hz: float, order_per_pass: int) -> float:
    """Return the cut-off of one pass for which the two passes together are 3 dB down at `cutoff_hz`.

    C = (2^(1/passes) - 1)^(1/(2 n)) divides the pre-warped frequency tan(pi f / fs), not f itself (Winter 2009,
    ch. 3 and appendix A; Robertson & Dowling 2003).
    """
    correction = (2.0 ** (1.0 / PASSES) - 1.0) ** (1.0 / (2.0 * order_per_pass))
    return math.atan(math.tan(math.pi * cutoff_hz / rate_hz) / correction) * rate_hz / math.pi


def additional_cutoff_hz(passed_hz: float, wanted_hz: float, order: int = 4) -> float:
    """Return the cut-off (Hz) of a second filter so that both filters together are 3 dB down at `wanted_hz`; 0 = no second
    filter.

    The first filter has the cut-off `passed_hz`, 0 if the signal is unfiltered; the signal then stays unfiltered. The gain of
    both passes of a filter together is 1 / (1 + (sqrt(2) - 1) (f / fc)^order).
    """
    if passed_hz <= wanted_hz:
        return 0.0
    lost = math.sqrt(2.0) - 1.0
    remaining = math.sqrt(2.0) / (1.0 + lost * (wanted_hz / passed_hz) ** order) - 1.0
    return wanted_hz * (lost / remaining) ** (1.0 / order)


def butterworth_lowpass(x: FloatArray, rate_hz: float, cutoff_hz: float, order: int = 4, axis: int = 0) -> FloatArray:
    """Apply a low-pass filter without phase lag to each contiguous stretch of numbers; NaN stays NaN.

    Args:
        x: any shape, any unit; NaN where missing.
        rate_hz: samples per second.
        cutoff_hz: frequency at which the gain of the two passes together is 1/sqrt(2); 0 = no filter.
        order: total order of both passes (2, 4, 6 ...).
        axis: the time axis.

    Stretches up to one cut-off period are too short and are returned unchanged. Ends are padded by point reflection over up to
    three cut-off periods, which continues value and slope and thus preserves velocities at the ends. Raises SettingsError for a
    cut-off at or above half the sampling rate, or an odd order.
    """
    padding_periods = 3  # the start-up transient of a Butterworth pair is below 1e-6 after three cut-off periods
    block_rows = 64  # rows filtered at once, for the processor cache
    x = np.asarray(x, dtype=np.float64)
    if cutoff_hz == 0:
        return x.copy()
    if not 0 < cutoff_hz < 0.5 * rate_hz:
        raise SettingsError(
            f"The filter cut-off must be between 0 and half the sampling rate ({0.5 * rate_hz:g} Hz), "
            f"found {cutoff_hz:g} Hz.",
            "Reduce the cut-off, or set it to 0 to switch the filter off.",
        )
    if order < PASSES or order % PASSES:
        raise SettingsError(
            f"The order of a two-pass filter must be a positive even number, found {order}.", "Use 2, 4, 6 or 8."
        )
    if x.size == 0:
        return x.copy()
    sections = _filter_sections(float(rate_hz), float(cutoff_hz), order // PASSES)
    period = math.ceil(rate_hz / cutoff_hz)
    columns_first = np.moveaxis(x, axis, -1)
    # Time is the last axis and contiguous, so that the filter accesses memory in order.
    columns = np.ascontiguousarray(columns_first).reshape(-1, x.shape[axis])
    filtered = columns.copy()
    for finite, members in group_by_pattern(np.isfinite(columns)):
        for first, stop in finite_stretches(finite):
            length = stop - first
            if length <= period:
                continue
            pad = min(padding_periods * period, length - 1)
            for rows in np.split(members, range(block_rows, len(members), block_rows)):
                filtered[rows, first:stop] = _filter_zero_phase(columns[rows, first:stop], pad, sections)
    return np.ascontiguousarray(np.moveaxis(filtered.reshape(columns_first.shape), -1, axis))


@lru_cache(maxsize=256)
def _filter_sections(rate_hz: float, cutoff_hz: float, order_per_pass: int) -> FloatArray:
    """Return the sections (S, 4) of one pass for `filter_zero_phase` (cached).

    The denominator of a section of order m is (1, a1) or (1, a1, a2) in z^-1, its numerator (1 + z^-1)^m, scaled to gain 1 at
    frequency 0. Poles of the Butterworth filter of order n are at angles pi (2k + 1) / (2n) from the imaginary axis; bilinear
    transform (Oppenheim & Schafer, Discrete-Time Signal Processing, section 7.2).
    """
    k = math.tan(math.pi * one_pass_cutoff_hz(rate_hz, cutoff_hz, order_per_pass) / rate_hz)
    sections: list[tuple[float, ...]] = [(1.0, (k - 1.0) / (k + 1.0))] if order_per_pass % 2 else []
    for pair in range(order_per_pass // 2):
        damping = 2.0 * math.sin(math.pi * (2 * pair + 1) / (2 * order_per_pass))
        scale = 1.0 + damping * k + k * k
        sections.append((1.0, 2.0 * (k * k - 1.0) / scale, (1.0 - damping * k + k * k) / scale))
    orders = [len(denominator) - 1 for denominator in sections]
    return np.array(
        [
            (sum(denominator) / 2.0**order, *denominator[1:], *[0.0] * (2 - order), order)
            for order, denominator in zip(orders, sections, strict=True)
        ]
    )


def _filter_zero_phase(x: FloatArray, pad: int, sections: FloatArray) -> FloatArray:
    """Filter rows (K, T) forwards and backwards, padded by `pad` samples of point reflection.

    Each pass starts in the steady state of its first sample. The result equals that of `scipy.signal.sosfiltfilt` up to
    round-off; importing `scipy.signal` is slow.
    """
    before = 2.0 * x[:, :1] - x[:, pad:0:-1]
    after = 2.0 * x[:, -1:] - x[:, -2 : -pad - 2 : -1]
    y = np.ascontiguousarray(np.concatenate((before, x, after), axis=1))
    filter_zero_phase(y, sections, np.empty((y.shape[1] + FILTER_ROWS, LANES)))
    return y[:, pad : y.shape[1] - pad]


def group_by_pattern(finite: BoolArray) -> list[tuple[BoolArray, IntArray]]:
    """Group the rows of a (K, T) mask by identical pattern: [(pattern (T,), row numbers)], in the order of their first rows."""
    if finite.all():
        return [(finite[0], np.arange(len(finite)))] if len(finite) else []
    groups: dict[bytes, list[int]] = {}
    for row, pattern in enumerate(np.packbits(finite, axis=1)):
        groups.setdefault(pattern.tobytes(), []).append(row)
    return [(finite[rows[0]], np.array(rows)) for rows in groups.values()]


def finite_rms(error: FloatArray) -> FloatArray:
    """Return the root mean square of the finite numbers over the last axis; NaN if none exist."""
    count = np.isfinite(error).sum(axis=-1)
    total = np.nansum(error**2, axis=-1)
    return np.sqrt(np.divide(total, count, out=np.full(np.shape(total), np.nan), where=count > 0))


def vector_rms(vectors: FloatArray) -> float:
    """Return the root mean square length of the finite vectors (T, 3); NaN if none exist."""
    known = vectors[np.isfinite(vectors).all(axis=1)]
    return float(np.sqrt(np.mean(np.sum(known**2, axis=1)))) if len(known) else float("nan")
