"""Velocities and accelerations from a quintic spline through the configurations q."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from scipy.interpolate import BSpline, make_interp_spline

from biodyn.conventions import FloatArray
from biodyn.errors import BiodynError
from biodyn.geometry.rotations import continuous_quaternions, cross, rotate_by_quaternions
from biodyn.processing.signals.filtering import finite_stretches
from biodyn.recording.motion import Motion

CoordinateKind = Literal["free", "spherical", "scalar"]
# Number of entries of q and of v for each kind.
_WIDTHS: dict[str, tuple[int, int]] = {"free": (7, 6), "spherical": (4, 3), "scalar": (1, 1)}
DEGREE = 5
MIN_STRETCH_FRAMES = DEGREE + 1  # least number of points of a quintic


@dataclass(frozen=True)
class ConfigurationSpline:
    """C4 curve q(t) on the configuration manifold through given configurations.

    Coordinates are quintic splines (not-a-knot). A quaternion is a quintic spline in R^4 divided by its length, so that
    velocity and acceleration are exact derivatives of q(t) by the quotient rule.

    Attributes:
        kinds: layout of q as (kind, first index in q), in the order of q and v.
        spline: vector-valued spline of all entries of q.
    """

    kinds: tuple[tuple[CoordinateKind, int], ...]
    spline: BSpline

    def __call__(self, time_s: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return q (T, nq), v (T, nv), vdot (T, nv) at the times; conventions of `recording.Motion`."""
        q, qdot, qddot = (self.spline(time_s, nu=order) for order in range(3))
        v = np.empty((len(q), sum(_WIDTHS[kind][1] for kind, _ in self.kinds)))
        vdot = np.empty_like(v)
        column = 0
        for kind, first in self.kinds:
            if kind == "scalar":
                v[:, column], vdot[:, column] = qdot[:, first], qddot[:, first]
            else:
                part = slice(first + _WIDTHS[kind][0] - 4, first + _WIDTHS[kind][0])
                q[:, part], qdot[:, part], qddot[:, part] = _normalise_curve(q[:, part], qdot[:, part], qddot[:, part])
                conjugate = q[:, part] * (1.0, -1.0, -1.0, -1.0)
                omega_B = 2.0 * _product_vector(conjugate, qdot[:, part])
                # The other term of the derivative, conj(qdot) qdot, has a zero vector part.
                v[:, column : column + 3] = omega_B
                vdot[:, column : column + 3] = 2.0 * _product_vector(conjugate, qddot[:, part])
                if kind == "free":
                    velocity, acceleration = slice(first, first + 3), slice(column + 3, column + 6)
                    v_B = rotate_by_quaternions(conjugate, qdot[:, velocity])
                    v[:, acceleration] = v_B
                    # Derivative of the components R^T pdot: the spatial acceleration (RBDA 2.11), not R^T pddot.
                    vdot[:, acceleration] = rotate_by_quaternions(conjugate, qddot[:, velocity]) - cross(omega_B, v_B)
            column += _WIDTHS[kind][1]
        return q, v, vdot


def fit_configuration_spline(
    time_s: FloatArray, q: FloatArray, kinds: Sequence[tuple[CoordinateKind, int]]
) -> ConfigurationSpline:
    """Return the spline through q (T, nq) at strictly increasing times (T,) s; no NaN, at least six frames."""
    layout = tuple((kind, int(first)) for kind, first in kinds)
    q = np.array(q, dtype=np.float64)
    for kind, first in layout:
        if kind != "scalar":
            part = slice(first + _WIDTHS[kind][0] - 4, first + _WIDTHS[kind][0])
            q[:, part] = continuous_quaternions(q[:, part])
    return ConfigurationSpline(layout, make_interp_spline(time_s, q, k=DEGREE))


def motion_from_configuration(
    time_s: FloatArray,
    q: FloatArray,
    q_kinds: Sequence[tuple[CoordinateKind, int]],
    min_stretch_frames: int = MIN_STRETCH_FRAMES,
) -> Motion:
    """Compute velocities and accelerations of the configurations.

    Args:
        time_s: (T,) s, strictly increasing.
        q: (T, nq) m, rad and unit quaternions w x y z; a row with NaN is a frame without a solution.
        q_kinds: layout of q, e.g. (("free", 0), ("scalar", 7), ("spherical", 8)); covers q in order.
        min_stretch_frames: shorter runs of solved frames get NaN velocities and accelerations.

    Each stretch between rows with NaN has its own spline; q, v and vdot are NaN elsewhere. The returned q is the given one with
    quaternions of unit length and continuous sign. Raises BiodynError for a layout or times that do not fit q.
    """
    time_s = np.asarray(time_s, dtype=np.float64)
    q = np.array(q, dtype=np.float64)
    width, speeds = _layout_sizes(q_kinds)
    if q.ndim != 2 or q.shape[1] != width or time_s.shape != q.shape[:1]:
        raise BiodynError(
            f"Expected q of {width} coordinates at {time_s.size} times, found an array of shape {q.shape}."
        )
    if not np.all(np.diff(time_s) > 0):
        raise BiodynError("Expected strictly increasing times, found frames that are out of order or repeated.")
    solved = np.asarray(np.isfinite(q).all(axis=1))
    q[~solved] = np.nan
    v = np.full((len(q), speeds), np.nan)
    vdot = np.full_like(v, np.nan)
    for first, stop in finite_stretches(solved):
        rows = slice(first, stop)
        if stop - first >= max(min_stretch_frames, MIN_STRETCH_FRAMES):
            q[rows], v[rows], vdot[rows] = fit_configuration_spline(time_s[rows], q[rows], q_kinds)(time_s[rows])
    return Motion(time_s=time_s, q=q, v=v, vdot=vdot)


def _layout_sizes(kinds: Sequence[tuple[CoordinateKind, int]]) -> tuple[int, int]:
    """Return (nq, nv) of a layout; BiodynError if it has a gap or overlaps."""
    width = speeds = 0
    for kind, first in kinds:
        if kind not in _WIDTHS or first != width:
            raise BiodynError(f"Expected the next coordinate at index {width} of q, found '{kind}' at {first}.")
        width += _WIDTHS[kind][0]
        speeds += _WIDTHS[kind][1]
    return width, speeds


def _normalise_curve(s: FloatArray, sdot: FloatArray, sddot: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Project a curve in R^4 to the unit sphere: u = s / |s| and its two derivatives by the quotient rule."""
    length = np.linalg.norm(s, axis=1, keepdims=True)
    rate = np.sum(s * sdot, axis=1, keepdims=True) / length
    bend = np.sum(sdot * sdot + s * sddot, axis=1, keepdims=True)
    rate_dot = (bend - rate**2) / length
    u = s / length
    udot = (sdot - u * rate) / length
    uddot = (sddot - 2.0 * udot * rate - u * rate_dot) / length
    return u, udot, uddot


def _product_vector(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the vector part of the quaternion products a b; (T, 4) w x y z -> (T, 3)."""
    return a[:, :1] * b[:, 1:] + b[:, :1] * a[:, 1:] + cross(a[:, 1:], b[:, 1:])


# Largest relative difference of time steps caused by rounding in a file.
_UNEVEN: Final = 1e-9
#: Least number of rows of a quintic spline with these ends.
LEAST_ROWS = 7


def spline_derivatives(
    time_s: FloatArray, values: FloatArray, cutoff_hz: float, at_s: FloatArray | None = None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return filtered values, rates and accelerations (T', C) at the times `at_s` (T',) s, by default at `time_s`.

    time_s: (T,) increasing, T >= `LEAST_ROWS`. values: (T, C), no NaN. cutoff_hz: 0 = no filter.
    """
    when = time_s if at_s is None else at_s
    if cutoff_hz > 0.0:
        time_s, values = _apply_lowpass(*_pad_ends(time_s, values), cutoff_hz)
    spline = _natural_spline(time_s, values)
    return spline(when), spline(when, nu=1), spline(when, nu=2)


def _is_evenly_spaced(time_s: FloatArray) -> bool:
    steps = np.diff(time_s)
    step = float(steps.min())
    return bool(steps.max() - step <= _UNEVEN * step)


def _natural_spline(time_s: FloatArray, values: FloatArray) -> BSpline[np.float64]:
    # Derivatives that are zero at both ends of a natural quintic spline.
    vanishing = (3, 4)
    flat = np.zeros(values.shape[1])
    ends: Any = [(order, flat) for order in vanishing]  # the type stubs accept one condition per end only
    spline: BSpline[np.float64] = make_interp_spline(time_s, values, k=DEGREE, bc_type=(ends, ends))
    return spline


def _pad_ends(time_s: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    n = len(time_s) // 2
    before, after = slice(n, 0, -1), slice(-2, -2 - n, -1)
    return (
        np.concatenate([2 * time_s[0] - time_s[before], time_s, 2 * time_s[-1] - time_s[after]]),
        np.concatenate([2 * values[0] - values[before], values, 2 * values[-1] - values[after]]),
    )


def _apply_lowpass(time_s: FloatArray, values: FloatArray, cutoff_hz: float) -> tuple[FloatArray, FloatArray]:
    order = 3
    from scipy.signal import butter, lfilter, lfilter_zi  # imported here, because the import takes 0.4 s

    step = float(np.diff(time_s).min())
    if not _is_evenly_spaced(time_s):
        even = time_s[0] + step * np.arange(int((time_s[-1] - time_s[0]) / step) + 1)
        time_s, values = even, _natural_spline(time_s, values)(even)
    b, a = butter(order, min(cutoff_hz * 2.0 * step, 0.999))
    start = lfilter_zi(b, a)[:, None]
    for _ in range(2):
        values = lfilter(b, a, values, axis=0, zi=start * values[0])[0][::-1]
    return time_s, np.ascontiguousarray(values)
