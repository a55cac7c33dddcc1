"""Inputs of the estimate of one stretch of a trial: the unknown trajectory update, the data, and time windows.

The update of the coordinates along v is a quintic spline d(t) = sum_k c_k B_k(t), like the fitted motion
(`signals.derivatives`) but with knots at every r-th frame only. A frame u knots after knot k depends on the coefficients k .. k
+ 5. The update of the root is along its body axes: for q = q0 exp(d) its velocity is Ad(exp(-d)) v0 + J(d) d', with J the right
Jacobian of the rigid motions (Barfoot 2017, ch. 7).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy.interpolate import BSpline

from biodyn.conventions import BoolArray, FloatArray, IntArray
from biodyn.estimation.noise_model import NoiseModel
from biodyn.estimation.unknown_parameters import InertiaUnknowns, PlateUnknowns
from biodyn.model.body_model import SubjectModel
from biodyn.rigid_body import Multibody, integrate

DEGREE = 5
_ROOT = slice(0, 6)


@dataclass(frozen=True)
class StretchMotion:
    """Motion of one stretch of frames: q (T, nq), v and vdot (T, nv)."""

    q: FloatArray
    v: FloatArray
    vdot: FloatArray


@dataclass(frozen=True)
class UniformSpline:
    """Uniform quintic spline over T frames with a knot at every `step`-th frame.

    Attributes:
        frames, step, rate_hz: number of frames, frames per knot interval, frames per second.
    """

    frames: int
    step: int
    rate_hz: float

    @property
    def knot_count(self) -> int:
        """Number of knots, which are at the frames 0, step, 2 step, ..."""
        return (self.frames - 1) // self.step + 1

    @property
    def coefficient_count(self) -> int:
        """Number of spline coefficients."""
        return self.knot_count + DEGREE

    @property
    def knot_s(self) -> float:
        """Time between two knots, s."""
        return self.step / self.rate_hz

    @cached_property
    def weights(self) -> tuple[FloatArray, ...]:
        """Weights (step, 6) of position, rate and acceleration in the frames after a knot, for the coefficients from this knot
        on."""
        basis = BSpline.basis_element(np.arange(-DEGREE, 2.0), extrapolate=False)
        # At u after its knot, the basis function of the coefficient k + j has been non-zero for u + 5 - j knots.
        at = np.arange(self.step)[:, None] / self.step - np.arange(DEGREE + 1.0)
        scales = (1.0, 1.0 / self.knot_s, 1.0 / self.knot_s**2)
        return tuple(np.nan_to_num(basis(at, nu=nu)) * scale for nu, scale in enumerate(scales))

    def evaluate(self, c: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return position, rate and acceleration (T, n) of the spline with coefficients c (count, n)."""
        results = tuple(np.zeros((self.frames, c.shape[1])) for _ in range(3))
        for offset in range(self.step):
            for order, result in enumerate(results):
                rows = result[offset :: self.step]
                for j, weight in enumerate(self.weights[order][offset]):
                    rows += weight * c[j : j + len(rows)]
        return results[0], results[1], results[2]


def apply_update(mb: Multibody, start: StretchMotion, knots: UniformSpline, c: FloatArray) -> StretchMotion:
    """Return the motion `start` updated by coefficients c (count, nv); terms of the root are to third order."""
    whole, d1, d2 = knots.evaluate(c)
    v, vdot = start.v + d1, start.vdot + d2
    if _has_free_root(mb):
        d, d1, d2 = whole[:, _ROOT], d1[:, _ROOT], d2[:, _ROOT]
        adjoint = inverse_adjoint(d)
        bracket = bracket_matrix(d)
        start_v = _multiply_by_frame(adjoint, start.v[:, _ROOT])
        xi = _apply_right_jacobian(bracket, d1)
        v[:, _ROOT] = start_v + xi
        vdot[:, _ROOT] = (
            _multiply_by_frame(adjoint, start.vdot[:, _ROOT])
            + _multiply_by_frame(bracket_matrix(start_v), xi)
            + _apply_right_jacobian(bracket, d2)
            + _multiply_by_frame(bracket_matrix(d1), _multiply_by_frame(bracket, d1)) / 6.0
        )
    return StretchMotion(integrate(mb, start.q, whole), v, vdot)


def convert_derivatives_to_update(
    mb: Multibody, path: StretchMotion, by_q: FloatArray, by_v: FloatArray, by_vdot: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Convert derivatives (T, m, nv) with respect to q, v and vdot to derivatives with respect to the update, in place.

    The results are with respect to the update, its rate and its acceleration. Because the axes of the root rotate with it, dv =
    d' + [v, d] and dvdot = d'' + [v, d'] + [vdot, d].
    """
    if not _has_free_root(mb):
        return by_q, by_v, by_vdot
    of_v, of_vdot = bracket_matrix(path.v[:, _ROOT]), bracket_matrix(path.vdot[:, _ROOT])
    by_q[:, :, _ROOT] += by_v[:, :, _ROOT] @ of_v + by_vdot[:, :, _ROOT] @ of_vdot
    by_v[:, :, _ROOT] += by_vdot[:, :, _ROOT] @ of_v
    return by_q, by_v, by_vdot


def bracket_matrix(twist: FloatArray) -> FloatArray:
    """Return the matrix (T, 6, 6) of the Lie bracket with twists (T, 6) [angular; linear]."""
    result = np.zeros((len(twist), 6, 6))
    result[:, :3, :3] = result[:, 3:, 3:] = cross_matrix(twist[:, :3])
    result[:, 3:, :3] = cross_matrix(twist[:, 3:])
    return result


def inverse_adjoint(d: FloatArray) -> FloatArray:
    """Return Ad(exp(-d)) (T, 6, 6) of twists d (T, 6), which expresses a twist in axes displaced by exp(d)."""
    w = cross_matrix(d[:, :3])
    square = w @ w
    angle2 = np.sum(d[:, :3] ** 2, axis=1)[:, None, None]
    half, sixth = 0.5 - angle2 / 24.0, 1.0 / 6.0 - angle2 / 120.0
    R = np.eye(3) + (1.0 - angle2 / 6.0 + angle2**2 / 120.0) * w + (half + angle2**2 / 720.0) * square
    p = _multiply_by_frame(np.eye(3) + half * w + sixth * square, d[:, 3:])
    result = np.zeros((len(d), 6, 6))
    R_inverse = R.transpose(0, 2, 1)
    result[:, :3, :3] = result[:, 3:, 3:] = R_inverse
    result[:, 3:, :3] = -R_inverse @ cross_matrix(p)
    return result


def _has_free_root(mb: Multibody) -> bool:
    return mb.bodies[0].joint.kind == "free"


def _apply_right_jacobian(bracket: FloatArray, x: FloatArray) -> FloatArray:
    """Return J(d) x = x - [d, x] / 2 + [d, [d, x]] / 6 - [d, [d, [d, x]]] / 24."""
    once = _multiply_by_frame(bracket, x)
    twice = _multiply_by_frame(bracket, once)
    return x - once / 2.0 + twice / 6.0 - _multiply_by_frame(bracket, twice) / 24.0


def _multiply_by_frame(A: FloatArray, x: FloatArray) -> FloatArray:
    return np.asarray((A @ x[:, :, None])[..., 0])


def cross_matrix(x: FloatArray) -> FloatArray:
    """Return the matrices (T, 3, 3) of the cross product with vectors x (T, 3)."""
    result = np.zeros((len(x), 3, 3))
    result[:, 0, 1], result[:, 0, 2], result[:, 1, 2] = -x[:, 2], x[:, 1], -x[:, 0]
    result[:, 1, 0], result[:, 2, 0], result[:, 2, 1] = x[:, 2], -x[:, 1], x[:, 0]
    return result


# Longer stretches are solved in windows. Frames beyond the overlap have almost no effect, and neighbouring windows are
# blended over it.
_LONGEST_S = 10.5
_WINDOW_S = 5.0
_OVERLAP_S = 1.0


@dataclass(frozen=True)
class TimeWindow:
    """Frames `rows` of a stretch that are solved together, and the part `kept` of them that enters the result."""

    stretch: slice
    rows: slice
    kept: slice

    @property
    def inner(self) -> slice:
        """Slice of the kept frames, counted from the first solved frame."""
        return slice(self.kept.start - self.rows.start, self.kept.stop - self.rows.start)

    @property
    def weights(self) -> FloatArray:
        """Weights (rows,) of the frames for smooth blending with the neighbouring windows.

        Two windows eliminate the same residual by motions that differ by some micrometres, or by more if one of them uses only
        a part of its last step. Without blending this is an impact.
        """
        frames = np.arange(self.rows.start, self.rows.stop)
        result = np.ones(len(frames))
        for seam, overlap in (
            (self.kept.start, self.kept.start - self.rows.start),
            (self.kept.stop, self.kept.stop - self.rows.stop),
        ):
            if overlap:
                result *= smooth_step(0.5 + 0.5 * (frames - seam) / overlap)
        return result


def smooth_step(x: FloatArray) -> FloatArray:
    """Return s(x) from 0 at x = 0 to 1 at x = 1. Its first two derivatives vanish at both ends; s(x) + s(1 - x) = 1."""
    x = np.clip(x, 0.0, 1.0)
    return np.asarray(x**3 * (10.0 + x * (6.0 * x - 15.0)))


def split_into_windows(rows: slice, rate_hz: float) -> list[TimeWindow]:
    """Split a stretch into overlapping windows of equal length, or return it as one window."""
    frames = rows.stop - rows.start
    if frames <= _LONGEST_S * rate_hz:
        return [TimeWindow(rows, rows, rows)]
    overlap = round(_OVERLAP_S * rate_hz)
    edges = np.linspace(rows.start, rows.stop, 1 + round(frames / (_WINDOW_S * rate_hz))).round().astype(int).tolist()
    return [
        TimeWindow(rows, slice(max(first - overlap, rows.start), min(last + overlap, rows.stop)), slice(first, last))
        for first, last in pairwise(edges)
    ]


@dataclass(frozen=True)
class EstimationProblem:
    """Estimation problem of one stretch of T frames.

    Attributes:
        model: the body. start: the motion that is updated. knots: spline of the update.
        seen_at: (T, M, 3) m measured markers with filled gaps. weights: (T, M) weights of the fit, 0 if not visible.
        wrenches: (T, K, 6) on the links `wrench_links` (K,), about the world origin.
        balanced: (T,) frames in which every contact is known, so that the whole body must be in balance. to_close: these
            frames, and frames at the ends of the recording in which the accelerations of the start are unreliable.
        torque_rows: (R,) indices in v of the torques with a smoothness prior. torque_known: (T, R) True where they are known.
        torque_change_nm: (R,) from `noise_model.SmoothTorques`.
        since_strike_s: (T, 2) from `noise_model.times_since_strikes`.
        inertias, plates: the unknown inertias and plate errors.
        estimates_parameters: whether inertias, plates and the error of the balance are estimated from this stretch.
    """

    model: SubjectModel
    start: StretchMotion
    knots: UniformSpline
    sizes: NoiseModel
    seen_at: FloatArray
    weights: FloatArray
    wrenches: FloatArray
    wrench_links: IntArray
    balanced: BoolArray
    to_close: BoolArray
    torque_rows: IntArray
    torque_known: BoolArray
    torque_change_nm: FloatArray
    since_strike_s: FloatArray
    inertias: InertiaUnknowns
    plates: PlateUnknowns
    estimates_parameters: bool = True

    @property
    def strikes_known(self) -> bool:
        """Whether a foot strike on a plate is known near this stretch."""
        return bool(np.isfinite(self.since_strike_s).any())

    @cached_property
    def torque_groups(self) -> tuple[tuple[IntArray, IntArray], ...]:
        """Groups of torques that depend on the same coordinates: indices in `torque_rows`, and indices of the coordinates in v.

        A torque depends on the coordinates that move the bodies distal to its joint.
        """
        mb = self.model.multibody
        moves = mb.moving_coordinates
        groups: dict[bytes, list[int]] = {}
        for row, place in enumerate(self.torque_rows):
            support = moves[moves[:, place]].any(axis=0)
            groups.setdefault(support.tobytes(), []).append(row)
        return tuple(
            (np.array(rows), np.flatnonzero(np.frombuffer(support, dtype=bool))) for support, rows in groups.items()
        )
