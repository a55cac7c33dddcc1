"""One plate by itself: where and when it is loaded."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from biodyn.conventions import FloatArray, Side
from biodyn.geometry.rotations import cross
from biodyn.processing.signals.filtering import butterworth_lowpass, finite_stretches
from biodyn.processing.signals.plates import resampled
from biodyn.recording.wrenches import PlateZero

# Noise crosses this many of its standard deviations once in 3.5 million samples (an hour at 1000 Hz) where it is normal;
# mains hum, a sine, never crosses 1.5.
NOISE_FACTOR = 5.0
# Shorter dips of the force are ringing of the plate, no foot leaves and returns that fast; shorter peaks are knocks.
MAX_DIP_S = 0.03
MIN_LOAD_S = 0.02
# A real signal is never constant to the last digit: so many equal samples were set by the recording software.
CUT_SAMPLES = 5
MAX_MISSED_S = 0.1
SLOPE_S = 0.02  # the slope of the force at the edge is taken over this time


@dataclass(frozen=True)
class PlateSignals:
    """One plate as the contact search needs it.

    Attributes:
        number: plate number in the file.
        corners_W: (4, 3) m.
        wrench: (T, 6) F_Wo_W [moment about the world origin; force] on the body, filtered, marker rate; Nm, N.
        vertical_force: (Ta,) N, raw upward force on the body at `analog_rate_hz`; sample 0 belongs to frame 0.
        analog_rate_hz: samples per second of `vertical_force`.
        zero: offset and noise of the plate, None where nobody looked for them.
        saturated_s: (begin, end) in s of the stretches in which a channel stood at the end of its range.
        unrecorded_s: those without a number while the plate was loaded.
        raw: (Ta, 6) F_Wo_W at the analog rate, not filtered; None where only the filtered one is known.
        cutoff_hz, order: of the filter that `wrench` passed.
        full: (T, 6) the wrench at full bandwidth, as people see it; full_cutoff_hz: of its filter.
        outlined: whether `corners_W` are the plate's edges. side: of the foot on which the file says that the force acts.
    """

    number: int
    corners_W: FloatArray
    wrench: FloatArray
    vertical_force: FloatArray
    analog_rate_hz: float
    zero: PlateZero | None = None
    saturated_s: tuple[tuple[float, float], ...] = ()
    unrecorded_s: tuple[tuple[float, float], ...] = ()
    raw: FloatArray | None = None
    cutoff_hz: float = 0.0
    order: int = 4
    full: FloatArray | None = None
    full_cutoff_hz: float = 0.0
    outlined: bool = True
    side: Side | None = None

    def at_full_bandwidth(self) -> PlateSignals:
        """The same plate with the wrench at full bandwidth; itself where only the filtered one is known."""
        if self.full is None:
            return self
        return replace(self, wrench=self.full, cutoff_hz=self.full_cutoff_hz, full=None)

    def at_frames(self, raw: FloatArray, rate_hz: float, count: int) -> FloatArray:
        """A wrench (n, 6) at the plate's own rate, filtered as `wrench` and at `count` marker frames, (count, 6)."""
        smooth = butterworth_lowpass(raw, self.analog_rate_hz, self.cutoff_hz, self.order)
        return resampled(smooth, self.analog_rate_hz, count, rate_hz)

    def threshold_n(self, least_n: float) -> float:
        """Vertical force that counts as contact, N: `least_n`, more where the plate's noise would cross that by itself."""
        noise = self.zero.noise_n if self.zero is not None else 0.0
        return max(least_n, NOISE_FACTOR * noise) if np.isfinite(noise) else least_n


def centre_of_pressure(wrench: FloatArray, corners_W: FloatArray, threshold_n: float) -> FloatArray:
    """Point of the plate's surface where the wrench (T, 6) about the world origin is a force and a free moment.

    CoP - c = n x M_c / (n . F), with c any point of the surface, n its normal, M_c the moment about c. (T, 3) m in
    World, NaN where the vertical force is below `threshold_n`.
    """
    centre, normal = plate_surface(corners_W)
    force = wrench[:, 3:]
    moment = wrench[:, :3] - cross(centre, force)
    loaded = force[:, 1] >= threshold_n
    cop = np.full((len(wrench), 3), np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        cop[loaded] = centre + cross(normal, moment[loaded]) / (force[loaded] @ normal)[:, None]
    return cop


def pressure_at_height(
    wrench: FloatArray, height_m: FloatArray | float, threshold_n: float
) -> tuple[FloatArray, FloatArray]:
    """Centre of pressure (T, 3) m at the level Y = `height_m` (T,), and the vertical free moment (T,) Nm about it.

    Solves M = p x F + T e_y for p and T with p_y known; `wrench` (T, 6) F_Wo_W. NaN where the vertical force is below
    `threshold_n`.
    """
    cop = np.full((len(wrench), 3), np.nan)
    free = np.full(len(wrench), np.nan)
    rows = np.flatnonzero(np.nan_to_num(wrench[:, 4]) >= threshold_n)
    moment, force = wrench[rows, :3], wrench[rows, 3:]
    y = np.broadcast_to(height_m, len(wrench))[rows]
    x = (moment[:, 2] + y * force[:, 0]) / force[:, 1]
    z = (y * force[:, 2] - moment[:, 0]) / force[:, 1]
    cop[rows] = np.column_stack([x, y, z])
    free[rows] = moment[:, 1] - (z * force[:, 0] - x * force[:, 2])
    return cop, free


def plate_surface(corners_W: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return centre (3,) m and upward unit normal (3,) of a plate."""
    normal = cross(corners_W[2] - corners_W[0], corners_W[3] - corners_W[1])
    normal = normal / np.linalg.norm(normal)
    return corners_W.mean(axis=0), normal if normal[1] > 0 else -normal


def loadings(vertical_force: FloatArray, rate_hz: float, threshold_n: float) -> list[tuple[float, float]]:
    """Return (start, end) in s of every loading above the threshold, sub-sample, dips below `MAX_DIP_S` bridged."""
    force = np.nan_to_num(np.asarray(vertical_force, dtype=np.float64))
    runs: list[list[float]] = []
    for first, stop in finite_stretches(force > threshold_n):
        start = first - (force[first] - threshold_n) / (force[first] - force[first - 1]) if first else 0.0
        last = stop - 1
        end = last + (force[last] - threshold_n) / (force[last] - force[stop]) if stop < len(force) else float(last)
        if runs and start / rate_hz - runs[-1][1] < MAX_DIP_S:
            runs[-1][1] = end / rate_hz
        else:
            runs.append([start / rate_hz, end / rate_hz])
    return [(float(start), float(end)) for start, end in runs if end - start >= MIN_LOAD_S]


def missed_at_edges(
    vertical_force: FloatArray, rate_hz: float, start_s: float, end_s: float, threshold_n: float
) -> tuple[float, float]:
    """Time in s by which a loading really began earlier and ended later, where the stored force was cut to zero.

    Some software stores zero for every force below a limit of its own. The force is then continued with its slope at
    the edge down to `threshold_n`. 0 where nothing was cut.
    """
    force = np.asarray(vertical_force, dtype=np.float64)
    forwards = _missed(force, round(np.ceil(start_s * rate_hz)), rate_hz, threshold_n)
    backwards = _missed(force[::-1], len(force) - 1 - int(end_s * rate_hz), rate_hz, threshold_n)
    return forwards, backwards


def _missed(force: FloatArray, edge: int, rate_hz: float, threshold_n: float) -> float:
    """Time in s before sample `edge`, the first of a loading, in which the force rose from the threshold to it."""
    before = force[max(edge - CUT_SAMPLES, 0) : edge]
    rise = max(2, round(SLOPE_S * rate_hz))
    inside = force[edge : edge + rise + 1]
    if len(before) < CUT_SAMPLES or np.any(before != before[0]) or len(inside) < 2 or inside[0] <= 2.0 * threshold_n:
        return 0.0
    slope = (inside[-1] - inside[0]) / (len(inside) - 1) * rate_hz
    return float(min((inside[0] - threshold_n) / slope, MAX_MISSED_S)) if slope > 0.0 else MAX_MISSED_S
