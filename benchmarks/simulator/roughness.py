"""How rough a recorded walk is above what a low-pass filter of some Hz lets through, simulated or real."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from biodyn.analysis import TrialAnalysis
from biodyn.conventions import SIDES, STANDARD_GRAVITY_M_S2, FloatArray
from biodyn.processing.signals.filtering import butterworth_lowpass
from biodyn.processing.signals.plate_wrenches import plate_wrench
from biodyn.recording import Contact

BANDS_HZ = (6.0, 10.0, 20.0)
_MARKER_BANDS_HZ = ((6.0, 10.0), (10.0, 20.0), (20.0, 40.0))
_EARLY_S = 0.2  # of a stance: the loading
_AXES = {"forward": 3, "upward": 4, "sideways": 5}
_STEP_N = 20.0
_LOADING_HZ = 50.0


@dataclass(frozen=True)
class Roughness:
    """What a recording holds beyond the slow course of a walk.

    Attributes:
        force_bw: by axis the RMS of the plate force above each of `BANDS_HZ`, body weights, over the first 0.2 s of the stances.
        loading_bw_s: largest rise of the vertical force through 50 Hz, body weights a second, median of the stances.
        transient_bw, transient_s: size of the first peak of the vertical force above 6 Hz within 60 ms of the strike, and its
            time after it; medians.
        marker_mm: by segment the RMS movement of its markers between 6 and 10, 10 and 20, 20 and 40 Hz, mm an axis.
        residual_n, residual_nm: RMS base residual.
    """

    force_bw: Mapping[str, tuple[float, ...]]
    loading_bw_s: float
    transient_bw: float
    transient_s: float
    marker_mm: Mapping[str, tuple[float, ...]]
    residual_n: float
    residual_nm: float


def roughness_of(analysis: TrialAnalysis) -> Roughness:
    """Return how rough the recording behind an analysis is."""
    weight = analysis.subject.mass_kg * STANDARD_GRAVITY_M_S2
    above: dict[str, list[list[float]]] = {axis: [] for axis in _AXES}
    loading, size, time = [], [], []
    for contact in analysis.contacts:
        if contact.decision != "assigned":
            continue
        force, rate_hz, _ = contact_force(analysis, contact)
        force = force / weight
        strike = int(np.argmax(force[:, 1] * weight > _STEP_N))
        early = slice(strike, strike + round(_EARLY_S * rate_hz))
        for axis, column in _AXES.items():
            above[axis].append([_rms(_above(force[:, column - 3], rate_hz, hz)[early]) for hz in BANDS_HZ])
        rise = np.diff(butterworth_lowpass(force[:, 1], rate_hz, _LOADING_HZ)) * rate_hz
        loading.append(float(rise[early].max()))
        fast = _above(force[:, 1], rate_hz, BANDS_HZ[0])[strike : strike + round(0.06 * rate_hz)]
        size.append(float(fast.max()))
        time.append(float(np.argmax(fast)) / rate_hz)
    dynamics = analysis.dynamics
    good = dynamics.residual_valid & np.isfinite(dynamics.residual_force[:, 0])
    loading_bw_s, transient_bw, transient_s = (_median(values) for values in (loading, size, time))
    return Roughness(
        force_bw={axis: tuple(np.median(rows, axis=0)) if rows else () for axis, rows in above.items()},
        loading_bw_s=loading_bw_s,
        transient_bw=transient_bw,
        transient_s=transient_s,
        marker_mm=_marker_movement(analysis),
        residual_n=_rms(np.linalg.norm(dynamics.residual_force[good], axis=1)),
        residual_nm=_rms(np.linalg.norm(dynamics.residual_moment[good], axis=1)),
    )


def contact_force(analysis: TrialAnalysis, contact: Contact) -> tuple[FloatArray, float, float]:
    """Plate force (T, 3) N from 0.1 s before a contact to 0.1 s after it, unfiltered, its rate, Hz, and its begin, s."""
    recording = analysis.recording
    plate = next(plate for plate in recording.plates if plate.number == contact.plate)
    whole = plate_wrench(plate, recording.markers.frame_count, recording.markers.rate_hz)
    first = max(round((contact.start_s - 0.1) * whole.rate_hz), 0)
    force = whole.wrench[first : round((contact.end_s + 0.1) * whole.rate_hz), 3:]
    return force, whole.rate_hz, first / whole.rate_hz


def _above(x: FloatArray, rate_hz: float, cutoff_hz: float) -> FloatArray:
    return x - butterworth_lowpass(x, rate_hz, cutoff_hz)


def _marker_movement(analysis: TrialAnalysis) -> dict[str, tuple[float, ...]]:
    markers = analysis.recording.markers
    segments: dict[str, list[int]] = {}
    for marker in analysis.model.markers:
        if marker.label in markers.labels:
            name, _, side = marker.body.rpartition("_")
            segments.setdefault(name if side in SIDES else marker.body, []).append(markers.labels.index(marker.label))
    found: dict[str, tuple[float, ...]] = {}
    for segment, columns in segments.items():
        x = markers.positions[:, columns]
        rows = []
        for low, high in _MARKER_BANDS_HZ:
            if high >= 0.5 * markers.rate_hz:
                rows.append(float("nan"))
                continue
            band = butterworth_lowpass(x, markers.rate_hz, high) - butterworth_lowpass(x, markers.rate_hz, low)
            rows.append(1e3 * float(np.sqrt(np.nanmean(band**2))))
        found[segment] = tuple(rows)
    return found


def _median(values: Sequence[float]) -> float:
    return float(np.median(values)) if values else float("nan")


def _rms(values: FloatArray) -> float:
    return float(np.sqrt(np.mean(np.square(values)))) if len(values) else float("nan")
