"""Velocities and accelerations from a quintic spline through the configurations q."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from scipy.interpolate import BSpline, make_interp_spline

from biodyn.conventions import FloatArray
from biodyn.geometry.rotations import continuous_quaternions, cross, rotate_by_quaternions
from biodyn.processing.signals.filtering import finite_stretches
from biodyn.recording.motion import Motion

# Entries of q and of v of the floating base, which precede the scalar coordinates.
_BASE_Q, _BASE_V = 7, 6
_QUATERNION: Final = slice(3, _BASE_Q)
DEGREE = 5
MIN_STRETCH_FRAMES = DEGREE + 1  # least number of points of a quintic


@dataclass(frozen=True)
class ConfigurationSpline:
    """C4 curve q(t) on the configuration manifold through given configurations: of a floating base and scalar coordinates.

    Coordinates are quintic splines (not-a-knot). The quaternion is a quintic spline in R^4 divided by its length, so that
    velocity and acceleration are exact derivatives of q(t) by the quotient rule.

    Attributes:
        spline: vector-valued spline of all entries of q.
    """

    spline: BSpline

    def __call__(self, time_s: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return q (T, nq), v (T, nv), vdot (T, nv) at the times; conventions of `recording.Motion`."""
        q, qdot, qddot = (self.spline(time_s, nu=order) for order in range(3))
        v, vdot = (np.empty((len(q), q.shape[1] + _BASE_V - _BASE_Q)) for _ in range(2))
        v[:, _BASE_V:], vdot[:, _BASE_V:] = qdot[:, _BASE_Q:], qddot[:, _BASE_Q:]
        part = _QUATERNION
        q[:, part], qdot[:, part], qddot[:, part] = _normalise_curve(q[:, part], qdot[:, part], qddot[:, part])
        conjugate = q[:, part] * (1.0, -1.0, -1.0, -1.0)
        omega_B = 2.0 * _product_vector(conjugate, qdot[:, part])
        v_B = rotate_by_quaternions(conjugate, qdot[:, :3])
        v[:, :3], v[:, 3:_BASE_V] = omega_B, v_B
        # The other term of the derivative, conj(qdot) qdot, has a zero vector part.
        vdot[:, :3] = 2.0 * _product_vector(conjugate, qddot[:, part])
        # Derivative of the components R^T pdot: the spatial acceleration (RBDA 2.11), not R^T pddot.
        vdot[:, 3:_BASE_V] = rotate_by_quaternions(conjugate, qddot[:, :3]) - cross(omega_B, v_B)
        return q, v, vdot


def fit_configuration_spline(time_s: FloatArray, q: FloatArray) -> ConfigurationSpline:
    """Return the spline through q (T, nq) at strictly increasing times (T,) s; no NaN, at least six frames."""
    q = np.array(q, dtype=np.float64)
    q[:, _QUATERNION] = continuous_quaternions(q[:, _QUATERNION])
    return ConfigurationSpline(make_interp_spline(time_s, q, k=DEGREE))


def motion_from_configuration(time_s: FloatArray, q: FloatArray) -> Motion:
    """Compute velocities and accelerations of the configurations.

    Args:
        time_s: (T,) s, strictly increasing.
        q: (T, nq) position m and unit quaternion w x y z of the floating base, then scalar coordinates, m or rad; a row with NaN
            is a frame without a solution.

    Each stretch between rows with NaN has its own spline; q, v and vdot are NaN elsewhere, v and vdot also in stretches shorter
    than `MIN_STRETCH_FRAMES`. The returned q is the given one with a quaternion of unit length and continuous sign.
    """
    q = np.array(q, dtype=np.float64)
    solved = np.asarray(np.isfinite(q).all(axis=1))
    q[~solved] = np.nan
    v = np.full((len(q), q.shape[1] + _BASE_V - _BASE_Q), np.nan)
    vdot = np.full_like(v, np.nan)
    for first, stop in finite_stretches(solved):
        rows = slice(first, stop)
        if stop - first >= MIN_STRETCH_FRAMES:
            q[rows], v[rows], vdot[rows] = fit_configuration_spline(time_s[rows], q[rows])(time_s[rows])
    return Motion(time_s=time_s, q=q, v=v, vdot=vdot)


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
