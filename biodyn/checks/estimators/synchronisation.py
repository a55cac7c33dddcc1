"""Estimate of delay and rate of forces relative to markers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline

from biodyn.checks.estimators.plate_evidence import PlateEvidence
from biodyn.conventions import BoolArray, FloatArray
from biodyn.diagnostics import Diagnostic, effect_text, severity_of
from biodyn.library.toml_files import load_table
from biodyn.processing.signals.filtering import additional_cutoff_hz, butterworth_lowpass, finite_stretches

# Typical delay (s) of forces after the acceleration of the body in valid walks, caused by soft tissue (2 to 16 ms).
USUAL_LATE_S = 0.006
# Least reported offset, s; offsets of valid recordings are smaller (`library/checks/checks.toml`).
TIME_OFFSET_S = 0.016
# The same for forces before the acceleration; sound recordings: 2 ms early and more.
_EARLY_S = 0.01


@dataclass(frozen=True)
class TimeOffset:
    """Delay `late_s` of the forces relative to the markers.

    `uncertain_s`: uncertainty from the typical error of the acceleration of the body (large in slow walking); `explained`:
    fraction of the variance of force explained by the motion at this delay. `swing`: ratio of measured to required changes of
    force, both relative to their means (independent of mass and gain), and `swing_sd` its uncertainty; `forward_swing`: the
    ratio of the forces along the walk, relative to the vertical means.
    """

    late_s: float
    uncertain_s: float
    explained: float
    swing: float = 1.0
    swing_sd: float = np.inf
    forward_swing: float = 1.0


def report_time_offset(
    estimate: TimeOffset | None,
    limit_s: float,
    events_late_s: float = math.nan,
    effect_of: Callable[[float], float] = lambda late_s: math.nan,
) -> tuple[Diagnostic, ...]:
    """Report early or late forces.

    Either the acceleration of the body alone shows more than `limit_s` (10 ms if the forces are early, because sound forces are
    late), or acceleration and gait events show the same delay.

    Args:
        estimate: from `estimate_offset`.
        events_late_s: median delay of strikes and foot offs on plates relative to kinematic events; NaN if unknown.
        effect_of: RMS change of a joint moment, Nm/kg, caused by a delay; above `LARGE_EFFECT_NM_KG` the finding is an error.
    """
    # Least fraction of the variation of force explained by the motion, for a valid delay.
    least_explained = 0.6
    # In valid walks the events differ by -11 to 8 ms.
    both_s = 0.01
    if estimate is None or estimate.explained < least_explained:
        return ()
    own = estimate.late_s - USUAL_LATE_S
    both = math.copysign(min(abs(own), abs(events_late_s)), own) if own * events_late_s > 0.0 else 0.0
    early = estimate.late_s <= -_EARLY_S and own <= -estimate.uncertain_s and abs(both) <= both_s
    alone = early or abs(estimate.late_s) >= max(limit_s, estimate.uncertain_s)
    if not alone and not abs(both) > both_s:
        return ()
    late_s, shown_limit = (estimate.late_s, _EARLY_S if early else limit_s) if alone else (both, both_s)
    # With and without the usual delay, which is 2 to 16 ms in sound walks.
    effect = max(effect_of(own), effect_of(late_s))
    sense = "late" if late_s > 0.0 else "early"
    evidence = "the acceleration of the body's centre of mass" + ("" if alone else " and with the events of the feet")
    return (
        Diagnostic(
            "time-offset",
            severity_of(effect),
            f"The forces are {1000 * abs(late_s):.0f} ms {sense} (limit {1000 * shown_limit:.0f} ms): after this "
            f"shift they agree best with {evidence} ({100 * estimate.explained:.0f} % of the variation of the "
            f"vertical force){effect_text(effect)}. Nothing was changed.",
            value=late_s,
            limit=shown_limit,
            unit="s",
            hint="Check the synchronisation of cameras and analog signals, and filters that delay the forces.",
        ),
    )


def estimate_offset(evidence: PlateEvidence) -> TimeOffset | None:
    """Fit the vertical force by time shift, scale and offset; None if there are too few frames or no minimum.

    Only the vertical force is used, because it is independent of rotated or exchanged plates and has the steepest edges.
    """
    # Cut-off of the data from which `vertical_force_sd` was derived, also applied to the slopes.
    error_hz = 6.0
    least_s = 0.55  # least duration of the evaluated frames
    steps, search_s = 49, 0.12  # number and range of tested delays
    times = np.arange(len(evidence.measured)) / evidence.rate_hz
    curve = CubicSpline(times, np.nan_to_num(evidence.measured[:, 4]))
    rows = _interior_rows(evidence.complete, round(search_s * evidence.rate_hz))
    if rows.sum() < least_s * evidence.rate_hz:
        return None
    required_n = evidence.required[rows, 4]
    level = np.column_stack([required_n, np.ones(len(required_n))])
    shifts = np.linspace(-search_s, search_s, steps)
    costs = np.array([_fit_cost(level, curve(times[rows] + shift)) for shift in shifts])
    best = int(np.argmin(costs))
    if best in (0, len(shifts) - 1):
        return None
    before, middle, right = costs[best - 1 : best + 2]
    curvature = before - 2.0 * middle + right
    step = shifts[1] - shifts[0]
    late = float(shifts[best] + 0.5 * step * (before - right) / curvature)
    total = float(np.var(curve(times[rows] + late)) * rows.sum())
    hz = additional_cutoff_hz(evidence.force_cutoff_hz, error_hz)
    slow = curve if hz == 0.0 else CubicSpline(times, butterworth_lowpass(curve(times), evidence.rate_hz, hz))
    slope = float(np.sqrt(np.mean(slow(times[rows] + late, 1) ** 2)))
    error_n = load_table("checks/checks")["body"]["vertical_force_sd"] * evidence.weight_n
    explained = 1.0 - middle / total if total > 0.0 else 0.0
    pushed = CubicSpline(times, np.nan_to_num(evidence.measured[:, 3]))(times[rows] + late)
    swing, forward_swing = _force_change_ratios(evidence.required[rows], curve(times[rows] + late), pushed)
    change = float(np.std(required_n))
    return TimeOffset(
        late,
        error_n / slope if slope else np.inf,
        explained,
        swing,
        error_n / change if change else np.inf,
        forward_swing,
    )


def _force_change_ratios(required: FloatArray, pressed: FloatArray, pushed: FloatArray) -> tuple[float, float]:
    """Return the ratios of measured to required (N, 6) changes of the vertical force (N,) N and of the force along the walk."""
    ahead, up = required[:, 3], required[:, 4]
    (scale, _), *_ = np.linalg.lstsq(np.column_stack([up, np.ones(len(up))]), pressed, rcond=None)
    weights = float(np.mean(up) / np.mean(pressed)) if np.mean(pressed) else np.nan
    return float(scale) * weights, float(ahead @ pushed / (ahead @ ahead)) * weights if ahead.any() else np.nan


def _fit_cost(columns: FloatArray, values: FloatArray) -> float:
    solution, *_ = np.linalg.lstsq(columns, values, rcond=None)
    return float(np.sum((columns @ solution - values) ** 2))


def _interior_rows(rows: BoolArray, margin: int) -> BoolArray:
    """Return the rows at least `margin` frames from the ends of their interval."""
    inner = np.zeros_like(rows)
    for first, stop in finite_stretches(rows):
        inner[first + margin : max(stop - margin, first + margin)] = True
    return inner


def true_rate_hz(offset: TimeOffset | None, rate_hz: float) -> float:
    """Return the frame rate (Hz) for which vertical acceleration and plates agree; NaN if not determined.

    The force equals mass times (g + a). If the rate is too high by a factor f, the accelerations are f^2 a.
    """
    # Least fraction of the variation of force explained by the motion, for a valid frame rate.
    least_explained_for_rate = 0.85
    if offset is None or offset.explained < least_explained_for_rate or offset.swing <= 0.0:
        return math.nan
    return rate_hz * math.sqrt(offset.swing)


def report_frame_rate(offset: TimeOffset | None, rate_hz: float, limit: float) -> tuple[Diagnostic, ...]:
    """Report a frame rate with a relative error beyond `limit` and its uncertainty.

    The force along the walk must agree: a delay of single plates changes the two ratios in opposite directions.
    """
    true_hz = true_rate_hz(offset, rate_hz)
    if offset is None or not abs(true_hz / rate_hz - 1.0) > limit or abs(offset.swing - 1.0) < offset.swing_sd:
        return ()
    if not (offset.forward_swing - 1.0) * math.copysign(1.0, offset.swing - 1.0) > limit:
        return ()
    return (
        Diagnostic(
            "frame-rate-doubtful",
            "error",
            f"With the frame rate of the file ({rate_hz:.6g} Hz), the vertical acceleration of the body is "
            f"{1.0 / offset.swing:.2g} times that from the plates. They agree for {true_hz:.0f} Hz ({100 * offset.explained:.0f} "
            "% of the variation of vertical force). Nothing was changed.",
            value=true_hz / rate_hz - 1.0,
            limit=limit,
            hint="Check the rate of the cameras, and whether an export omitted or repeated frames.",
        ),
    )
