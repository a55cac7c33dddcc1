"""The low-pass filter that lies between two signals: how much more one of them was smoothed than the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from biodyn.comparison.segments import SegmentMotion
from biodyn.conventions import BoolArray, FloatArray
from biodyn.processing.signals.filtering import finite_stretches

# Cut-offs that are tried, Hz: from slow gait's 2 Hz to what no marker recording needs.
_CUTOFFS_HZ = tuple(float(f) for f in np.geomspace(2.0, 60.0, 36))
_TRIALS = tuple((low, high) for low in _CUTOFFS_HZ for high in (*_CUTOFFS_HZ, np.inf) if high > low)
# Two passes of order 2 are 3 dB down at the cut-off if each is at cut-off / 0.802 (Winter 2009, ch. 3).
_CORRECTION = (2.0**0.5 - 1.0) ** 0.25
# Of what differs, a filter must explain this share to be taken for one: thresholds of benchmarks/compare_causes.py.
LEAST_EXPLAINED = 0.2
_LEAST_FRAMES = 12
# Nearer than this to the end of a run of frames a filter lacks what came before or after.
_END_S = 0.15
# Vectors that differ less than this, in the mean square, are equal.
_NOTHING = 1e-10


@dataclass(frozen=True)
class RelativeFilter:
    """What turns one signal into another: both went through a Butterworth filter, with different cut-offs.

    Attributes:
        low_hz, high_hz: cut-offs of the smoother and of the sharper signal; high_hz is inf where it was not filtered.
        explained: share of the square of the difference that it explains; NaN where the settings tell the cut-offs.
    """

    low_hz: float
    high_hz: float
    explained: float

    def gain(self, frequency_hz: FloatArray) -> FloatArray:
        """Gain (F,) from the sharper to the smoother signal."""
        return _butterworth(frequency_hz, self.low_hz) / _butterworth(frequency_hz, self.high_hz)

    def applied(self, x: FloatArray, rate_hz: float) -> FloatArray:
        """The sharper signal (T, ...) as the smoother one has it; each run of numbers by itself, NaN stays NaN."""
        columns = np.asarray(x, dtype=np.float64).reshape(len(x), -1)
        found = columns.copy()
        for first, stop in finite_stretches(np.asarray(np.isfinite(columns).all(axis=1))):
            if stop - first >= _LEAST_FRAMES:
                found[first:stop] = self._run(columns[first:stop], rate_hz)
        return found.reshape(x.shape)

    def _run(self, x: FloatArray, rate_hz: float) -> FloatArray:
        spectrum, line, frequency_hz = _odd_spectrum(x, rate_hz)
        smooth = np.fft.irfft(spectrum * self.gain(frequency_hz)[:, None], 2 * (len(x) - 1), axis=0)
        return np.asarray(line + smooth[: len(x)])

    def motion(self, motion: SegmentMotion, rate_hz: float) -> SegmentMotion:
        """The sharper motion as the smoother one has it."""
        R = self.applied(motion.R, rate_hz)
        flat = R.reshape(-1, 3, 3)
        finite = np.isfinite(flat).all(axis=(1, 2))
        flat[finite] = Rotation.from_matrix(flat[finite]).as_matrix()
        return SegmentMotion(flat.reshape(R.shape), *(self.applied(part, rate_hz) for part in motion.parts[1:]))


def filter_of_cutoffs(first_hz: float, second_hz: float) -> tuple[RelativeFilter, bool] | None:
    """Return the filter between two known cut-offs (0 = none) and whether the first is the sharper; None where they are equal."""
    first, second = (hz if hz else np.inf for hz in (first_hz, second_hz))
    if first == second:
        return None
    return RelativeFilter(min(first, second), max(first, second), float("nan")), first > second


def filter_between(
    sharper: FloatArray, smoother: FloatArray, known: BoolArray, rate_hz: float
) -> RelativeFilter | None:
    """Return the filter that turns (T, K, 3) into (T, K, 3) best; None where no filter explains enough of their difference.

    Each of the K vectors counts the same: one that jumps where it is hardly known must not decide. `known` (T,) are the frames
    to look at; every long enough run of them counts, without its ends, where filters have their own habits.
    """
    parts: list[tuple[FloatArray, ...]] = []
    ends = round(_END_S * rate_hz)
    for first, stop in finite_stretches(known):
        inside = slice(first + ends, stop - ends)
        count = stop - first - 2 * ends
        if count < _LEAST_FRAMES:
            continue
        a, _, frequency_hz = _odd_spectrum(sharper[inside].reshape(count, -1), rate_hz)
        b, _, _ = _odd_spectrum(smoother[inside].reshape(count, -1), rate_hz)
        sums = (np.abs(b) ** 2, (a.conj() * b).real, np.abs(a) ** 2)
        parts.append((frequency_hz, *(_by_vector(values) for values in sums)))
    if not parts:
        return None
    plain = np.sum([(bb - 2 * ab + aa).sum(axis=0) for _, bb, ab, aa in parts], axis=0)
    moved = plain > _NOTHING * np.sum([aa.sum(axis=0) for _, _, _, aa in parts], axis=0)
    if not moved.any():
        return None
    left = np.sum([_left(part) for part in parts], axis=0)[:, moved]
    explained = _upper_half(np.maximum(1.0 - left / plain[moved], 0.0))
    best = int(np.argmax(explained))
    return RelativeFilter(*_TRIALS[best], float(explained[best])) if explained[best] >= LEAST_EXPLAINED else None


def filter_of_either(
    first: FloatArray, second: FloatArray, known: BoolArray, rate_hz: float
) -> tuple[RelativeFilter, bool] | None:
    """Return the filter between two signals (T, K, 3) and whether the first is the sharper; None where there is none."""
    found = [
        (between, is_first)
        for between, is_first in (
            (filter_between(first, second, known, rate_hz), True),
            (filter_between(second, first, known, rate_hz), False),
        )
        if between is not None
    ]
    return max(found, key=lambda item: item[0].explained, default=None)


def _upper_half(explained: FloatArray) -> FloatArray:
    """Mean of the better half of each row (N, K): the others jump, or are hardly known."""
    own = np.sort(explained, axis=1)
    return np.asarray(own[:, own.shape[1] // 2 :].mean(axis=1))


def _left(part: tuple[FloatArray, ...]) -> FloatArray:
    """(N, K) what each trial leaves of the difference of each vector."""
    frequency_hz, bb, ab, aa = part
    gains = np.stack([RelativeFilter(low, high, 0.0).gain(frequency_hz) for low, high in _TRIALS])
    return np.asarray(bb.sum(axis=0) - 2.0 * gains @ ab + gains**2 @ aa)


def _by_vector(values: FloatArray) -> FloatArray:
    return np.asarray(values.reshape(len(values), -1, 3).sum(axis=-1))


def _odd_spectrum(x: FloatArray, rate_hz: float) -> tuple[NDArray[np.complex128], FloatArray, FloatArray]:
    """Spectrum of (T, K) without the line through its ends, mirrored through them; that line; the frequencies."""
    line = x[0] + np.linspace(0.0, 1.0, len(x))[:, None] * (x[-1] - x[0])
    own = x - line
    whole = np.concatenate([own, -own[-2:0:-1]])
    frequency_hz = np.asarray(np.fft.rfftfreq(len(whole), 1.0 / rate_hz), dtype=np.float64)
    return np.fft.rfft(whole, axis=0), line, frequency_hz


def _butterworth(frequency_hz: FloatArray, cutoff_hz: float) -> FloatArray:
    return np.asarray(1.0 / (1.0 + (_CORRECTION * frequency_hz / cutoff_hz) ** 4))
