"""Linear responses of the fitted configuration to its markers, and of the torques to a change of the configuration.

At the minimum of the fit the gradient g(xi, y, p) vanishes, so that a small change of markers y or of the model p changes the
configuration by
    dxi = -H^-1 (dg/dy dy + dg/dp dp),   g = sum w J^T (x - y),   H = sum w (J^T J + (x - y) . d2x)
(implicit function theorem). xi are steps along the coordinates of v. The curvature term is that of Newton's method in the fit.
The Gauss-Newton equations of an estimate of motion and forces do not contain it; its response is that of sum w J^T J. With a
straight knee, J^T J contains little information about hip rotation, which the curvature can cancel.

The torques change by dtau = G0 xi + G1 dxi/dt + G2 d2xi/dt2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial

import numpy as np

from biodyn.conventions import BoolArray, FloatArray, IntArray
from biodyn.model.body_model import SubjectModel
from biodyn.model.observability import LEAST_LEVER_M, poorly_determined_frames, sensitivity_by_frame
from biodyn.processing.dynamics.inverse_dynamics import Dynamics
from biodyn.processing.kinematics.skeleton_fit import Fit
from biodyn.processing.kinematics.visibility import (
    BRIDGE_WEIGHT,
    REGULARISING_WEIGHT,
    regularisation_shares,
    visibility_weights,
)
from biodyn.processing.signals.filtering import finite_stretches
from biodyn.rigid_body import Multibody, body_poses, inverse_dynamics_derivatives, joint_jacobians
from biodyn.uncertainty.error_sources import ErrorEffects, MotionFrames, Source, to_single_precision
from biodyn.uncertainty.propagation_inputs import PAIRS, Magnitudes, stride_movement_moments

# -- Coordinates that the fit regularises if they are unobservable in the posture of the leg
#
# If the rotation of the thigh is unobservable because of a straight knee, the fit regularises hip rotation toward a
# curve through the frames on both sides (`processing.kinematics.visibility.bridge_prior`).


@dataclass(frozen=True)
class RegularisedStretch:
    """Stretch of frames in which the fit regularises a coordinate.

    Frames first .. stop - 1; `place`: index of the coordinate in v; weights: (stop - first,) of the regularisation.
    """

    place: int
    first: int
    stop: int
    weights: FloatArray

    @property
    def adjacent_frames(self) -> tuple[int, int]:
        """Last frame before the stretch and first frame after it."""
        return self.first - 1, self.stop


def regularised_stretches(
    model: SubjectModel, lever: FloatArray, rate_hz: float, moving: BoolArray
) -> tuple[RegularisedStretch, ...]:
    """Return the regularised stretches, for lever arms (T, C) m with all markers visible; moving: (T,) frames with a pose."""
    shares = regularisation_shares(poorly_determined_frames(model, lever), rate_hz)
    stretches = []
    for column in np.flatnonzero(shares.any(axis=0)):
        for first, stop in finite_stretches(shares[:, column] > 0.0):
            if first > 0 and stop < len(shares) and moving[first - 1 : stop + 1].all():
                weights = REGULARISING_WEIGHT * shares[first:stop, column]
                stretches.append(RegularisedStretch(model.coordinates[column].v_index, first, stop, weights))
    return tuple(stretches)


_CYCLIC = ((0, 1, 2), (1, 2, 0), (2, 0, 1))


def model_marker_positions(model: SubjectModel, q: FloatArray) -> FloatArray:
    """Return the positions (T, M, 3) m in World of the model's markers for q (T, nq)."""
    return model.marker_positions(*body_poses(model.multibody, q))


def fit_response(
    model: SubjectModel,
    q: FloatArray,
    seen_at: FloatArray,
    weights: FloatArray,
    held: FloatArray | None = None,
    curved: bool = True,
    add: Callable[[FloatArray], None] | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return the derivative of the fit for q (T, nq), markers seen_at (T, M, 3) m and weights (T, M), 0 if not visible.

    The first result is the inverse of the Hessian (T, nv, nv), zero for coordinates at a limit; the second (T, nv, 3, M) is the
    step of the configuration per step of a marker along World axes, rad/m or m/m, in single precision (sufficient for standard
    deviations with three digits).
    held: (T, nv) weights that regularise unobserved or poorly determined coordinates, see `regularised_coordinates`. curved:
    True = with the curvature of the cost of the fit; False = Gauss-Newton equations.
    add: adds the response of regularised coordinates to W J (T, nv, 3, M), see `SmoothedResponse`.
    """
    mb = model.multibody
    frames, nv = len(q), mb.nv
    ancestor_mask = _ancestor_mask(mb)
    marker_mask = ancestor_mask[:, mb.tree.idx_v[model.marker_arrays()[0]]]  # (nv, M)
    places = model_marker_positions(model, q)
    about = places.mean(axis=1)  # sums of squares about a distant point would lose digits
    x, error = places - about[:, None], np.where((weights[..., None] > 0.0) & curved, places - seen_at, 0.0)
    columns = _shift_columns(joint_jacobians(mb, q), about)
    H = _normal_matrix(ancestor_mask, columns, marker_mask, x, weights, error)
    diagonal = np.arange(nv)
    pinned = _is_at_limit(model, q)
    H[pinned] = 0.0
    H.transpose(0, 2, 1)[pinned] = 0.0
    H[:, diagonal, diagonal] += np.where(pinned, 1.0, 1e-8)  # makes the matrix invertible in undetermined directions
    H[:, diagonal, diagonal] += model.prior_weights()
    if held is not None:
        H[:, diagonal, diagonal] += held
    inverse: FloatArray = np.asarray(np.linalg.inv(H))
    free = ~pinned
    inverse *= free[:, :, None] & free[:, None, :]
    weighted = _weighted_jacobians(columns, marker_mask, x, weights)
    if add is not None:
        add(weighted)
    by_markers = inverse.astype(np.float32) @ weighted.reshape(frames, nv, -1)
    return np.asarray(inverse), by_markers.reshape(frames, nv, 3, -1)


def _shift_columns(columns: FloatArray, point: FloatArray) -> FloatArray:
    """Return columns (T, 6, nv), [angular; linear at the world origin], about a point (T, 3) instead."""
    result = columns.copy()
    for a, b, c in _CYCLIC:
        result[:, 3 + a] += columns[:, b] * point[:, c, None] - columns[:, c] * point[:, b, None]
    return result


def _weighted_jacobians(columns: FloatArray, marker_mask: FloatArray, x: FloatArray, weights: FloatArray) -> FloatArray:
    """Return W J (T, nv, 3, M) of markers at x (T, M, 3), in single precision; marker_mask (nv, M): 1 if a coordinate moves a
    marker."""
    narrow = columns.astype(np.float32)[..., None]
    omega, origin = narrow[:, :3], narrow[:, 3:]
    xT = x.transpose(0, 2, 1).astype(np.float32)[:, :, None, :]  # (T, 3, 1, M)
    share = marker_mask.astype(np.float32) * weights.astype(np.float32)[:, None, :]  # (T, nv, M)
    # markers are the last axis, so that memory is accessed in order
    J = np.empty((*share.shape[:2], 3, share.shape[2]), dtype=np.float32)
    for a, b, c in _CYCLIC:
        np.multiply(origin[:, a] + omega[:, b] * xT[:, c] - omega[:, c] * xT[:, b], share, out=J[:, :, a])
    return J  # type: ignore[return-value]


def regularised_coordinates(
    model: SubjectModel, q: FloatArray, visibility: FloatArray, ramp_frames: int, rate_hz: float
) -> tuple[FloatArray, tuple[RegularisedStretch, ...]]:
    """Return the weights (T, nv) with which the fit regularises coordinates toward a curve, and the regularised stretches.

    visibility: (T, M), 0 to 1. Coordinates without visible markers are bridged by a curve through both sides, so that the
    response to the markers changes smoothly; a jump would appear in its accelerations. As in
    `kinematics.least_squares`, a marker with less than half its weight does not count, and postures are evaluated every
    fourth frame. Poorly determined coordinates are regularised in the returned stretches.
    """
    half_faded, every_frames = 0.5, 4
    visible = visibility >= half_faded
    whole = sensitivity_by_frame(model, q, np.ones_like(visible), every_frames)
    lever = whole if visible.all() else sensitivity_by_frame(model, q, visible, every_frames)
    held = np.zeros((len(q), model.multibody.nv))
    columns = [coordinate.v_index for coordinate in model.coordinates]
    held[:, columns] = BRIDGE_WEIGHT * (1.0 - visibility_weights(~(lever < LEAST_LEVER_M), ramp_frames))
    solved: BoolArray = np.asarray(np.isfinite(q).all(axis=1))
    stretches = regularised_stretches(model, whole, rate_hz, solved)
    regularised = np.zeros(held.shape)
    for stretch in stretches:
        regularised[stretch.first : stretch.stop, stretch.place] = stretch.weights
    return np.maximum(held, regularised), stretches


@lru_cache(maxsize=4)
def _ancestor_mask(mb: Multibody) -> FloatArray:
    """Return A (nv, nv): A[i, j] = 1 if the joint of coordinate i is the joint of coordinate j or one of its ancestors, else
    0."""
    return mb.moving_coordinates[mb.tree.dof_link].T.astype(np.float64, order="C")


def _normal_matrix(
    ancestor_mask: FloatArray, columns: FloatArray, marker_mask: FloatArray, x: FloatArray, w: FloatArray, e: FloatArray
) -> FloatArray:
    """Return the sum of w (J^T J + e . d2x) (T, nv, nv) over the markers at x (T, M, 3), in axes of World.

    J_i . J_j is the inertia of the distal markers about both joints, with weights as masses. For i before or at j on a path, e
    . d2x/dq_i dq_j = omega_i . (J_j x e). Both follow from sums over the markers distal to j: of w, w x, w x x^T, w e and w x
    e^T.
    """
    pull, weighted_positions = w[..., None] * e, w[..., None] * x
    parts = [
        w[..., None],
        weighted_positions,
        *((part[..., None] * x[:, :, None]).reshape(*w.shape, 9) for part in (weighted_positions, pull)),
    ]
    sums = (marker_mask @ np.concatenate([*parts, pull], axis=2)).transpose(2, 0, 1)  # (25, T, nv)
    mass, h, second, crossed, F = sums[0], sums[1:4], sums[4:13].reshape(3, 3, *sums.shape[1:]), sums[13:22], sums[22:]
    crossed = crossed.reshape(second.shape)  # [e, x]
    omega, origin = columns[:, :3].transpose(1, 0, 2), columns[:, 3:].transpose(1, 0, 2)
    spread, along = second[0, 0] + second[1, 1] + second[2, 2], crossed[0, 0] + crossed[1, 1] + crossed[2, 2]
    loads = np.empty((6, *mass.shape))
    for a, b, c in _CYCLIC:
        angular = (spread - along) * omega[a]
        for k in range(3):
            angular += (crossed[k, a] - second[a, k]) * omega[k]
        loads[a] = angular + h[b] * origin[c] - h[c] * origin[b] + origin[b] * F[c] - origin[c] * F[b]
        loads[3 + a] = mass * origin[a] + omega[b] * h[c] - omega[c] * h[b]
    product = columns.transpose(0, 2, 1) @ loads.transpose(1, 0, 2)  # (T, i, j): s_i . loads_j
    whole = product * np.triu(ancestor_mask) + np.triu(ancestor_mask, 1).T * product.transpose(0, 2, 1)
    # The base rotates about its body axes, so that the order of two rotations matters (except at a minimum); their
    # mean is symmetric.
    base = slice(0, 3)
    whole[:, base, base] = 0.5 * (product[:, base, base] + product[:, base, base].transpose(0, 2, 1))
    return np.asarray(whole)


def _is_at_limit(model: SubjectModel, q: FloatArray) -> BoolArray:
    lower, upper = model.coordinate_limits()
    tolerance_rad = 1e-6
    pinned = np.zeros((len(q), model.multibody.nv), dtype=bool)
    for coordinate in model.coordinates:
        angle, at = q[:, coordinate.q_index], coordinate.v_index
        pinned[:, at] = (angle < lower[at] + tolerance_rad) | (angle > upper[at] - tolerance_rad)
    pinned[:, [coordinate.v_index for coordinate in model.assumed]] = True
    return pinned


# -- Response of a regularised coordinate to errors, which is partly that of the curve through neighbouring frames
#
# With the weight B of the curve (`regularisation_shares`) and the response A of the curve, H dxi = J^T W n in a frame becomes
# (H + B) dxi = J^T W n + B A n. Between the last frame before the stretch and the first frame after it, A changes linearly.


@dataclass(frozen=True)
class SmoothedResponse:
    """Response to errors of the curves toward which coordinates are regularised in some stretches.

    Attributes:
        by_markers: (S, 2, 3, M) response of the coordinate of each stretch to the markers, before and after the stretch; rad/m.
        by_columns: (S, 2, N) response to each parameter of a source, by source.
    """

    stretches: tuple[RegularisedStretch, ...]
    by_markers: FloatArray
    by_columns: Mapping[str, FloatArray]

    @classmethod
    def from_response(
        cls,
        stretches: tuple[RegularisedStretch, ...],
        response: Callable[[IntArray], tuple[FloatArray, Mapping[str, FloatArray]]],
    ) -> SmoothedResponse:
        """Compute the response of some stretches.

        response: function that returns the response of the fit in frames (K,) to the markers (K, nv, 3, M), and by source to
        its parameters (K, nv, N).
        """
        if not stretches:
            return cls((), np.zeros(0), {})
        frames, places = np.unique([stretch.adjacent_frames for stretch in stretches], return_inverse=True)
        at = places.reshape(len(stretches), 2)
        by_markers, by_columns = response(frames)
        rows = np.array([[stretch.place] for stretch in stretches])
        return cls(stretches, by_markers[at, rows], {name: part[at, rows] for name, part in by_columns.items()})

    def add_curve_response(self, at: IntArray, weighted: FloatArray) -> None:
        """Add the weighted response of the curves in the frames `at` (T,) to the markers' `weighted` Jacobians (T, nv, 3, M)."""
        for number, stretch in self._overlapping_stretches(at):
            rows, response = _interpolate_in_stretch(stretch, at, self.by_markers[number])
            weighted[rows, stretch.place] += response

    def source_effects(self, name: str, source: Source, frames: MotionFrames) -> ErrorEffects:
        """Return the error columns of a source in some frames, with the response of the regularised curves added to the
        gradient."""
        columns = source(frames)
        for number, stretch in self._overlapping_stretches(frames.at) if columns.gradient.shape[2] else ():
            rows, response = _interpolate_in_stretch(stretch, frames.at, self.by_columns[name][number])
            columns.gradient[rows, stretch.place] -= response
        return columns

    def _overlapping_stretches(self, at: IntArray) -> list[tuple[int, RegularisedStretch]]:
        """Return the numbers and stretches that overlap the ascending frames `at`."""
        first, stop = self._bounds
        return [(k, self.stretches[k]) for k in np.flatnonzero((first <= at[-1]) & (at[0] < stop)).tolist()]

    @cached_property
    def _bounds(self) -> tuple[IntArray, IntArray]:
        """First frame of every stretch, and the frame after it (N,)."""
        first, stop = ([getattr(each, name) for each in self.stretches] for name in ("first", "stop"))
        return np.array(first, dtype=np.int64), np.array(stop, dtype=np.int64)


def _interpolate_in_stretch(
    stretch: RegularisedStretch, at: IntArray, values: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Return the rows of the frames `at` (T,) in the stretch, and the weight of the stretch times values (2, ...) interpolated
    at these frames."""
    rows = np.flatnonzero((at >= stretch.first) & (at < stretch.stop))
    before, behind = stretch.adjacent_frames
    share = (at[rows] - before) / (behind - before)
    parts = np.stack([1.0 - share, share], axis=1) * stretch.weights[at[rows] - stretch.first, None]
    return rows, np.tensordot(parts, values, axes=1)


def frame_fit_response(
    frames: MotionFrames, some: slice = slice(None), smoothed: SmoothedResponse | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return the `fit_response` for a slice of the frames, including regularised stretches."""
    add = None if smoothed is None else partial(smoothed.add_curve_response, frames.at[some])
    q, seen_at, weights, held = frames.q[some], frames.seen_at[some], frames.weights[some], frames.held[some]
    return fit_response(frames.inputs.model, q, seen_at, weights, held, frames.inputs.curved, add)


def torque_response(
    mb: Multibody,
    q: FloatArray,
    v: FloatArray,
    vdot: FloatArray,
    wrenches: FloatArray,
    wrench_bodies: np.ndarray,
    rows: np.ndarray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return G0, G1, G2 (T, C, nv) of the torques `rows` (C,).

    xi (T, nv) are steps along the coordinates of v. For the free base, with a body-frame twist as v, such a step changes dv =
    dxi/dt + v x xi and dvdot = d2xi/dt2 + vdot x xi + v x dxi/dt; for other coordinates the changes are the derivatives of xi.
    """
    by_q, by_v, by_vdot = (
        np.ascontiguousarray(part[:, rows])
        for part in inverse_dynamics_derivatives(mb, q, v, vdot, wrenches, wrench_bodies)
    )
    twist, push = cross_motion_matrix(v[:, :6]), cross_motion_matrix(vdot[:, :6])
    G0, G1 = by_q, by_v.copy()
    G0[:, :, :6] += by_v[:, :, :6] @ twist + by_vdot[:, :, :6] @ push
    G1[:, :, :6] += by_vdot[:, :, :6] @ twist
    return G0, G1, by_vdot


def append_power_rows(
    G: tuple[FloatArray, FloatArray, FloatArray], frames: MotionFrames, torques: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return G0, G1, G2 (T, C + J, nv) of torques and joint powers; torques (T, C) Nm of `frames.rows`.

    For the power P = sum tau q' over the coordinates of a joint, dP = sum q' dtau + tau dxi/dt.
    """
    if not len(frames.joints):
        return G
    G0, G1, G2 = (frames.append_powers(part) for part in G)
    G1[:, len(frames.rows) :, frames.rows] += frames.joints * np.nan_to_num(torques)[:, None]
    return G0, G1, G2


def cross_motion_matrix(v: FloatArray) -> FloatArray:
    """Return the matrices (T, 6, 6) of v x, for motion vectors [angular; linear] (T, 6) (Featherstone 2008, eq. 2.31)."""
    result = np.zeros((len(v), 6, 6))
    for block, part in ((0, v[:, :3]), (3, v[:, 3:])):
        for a, b, c in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
            result[:, block + b, a] = part[:, c]
            result[:, block + a, b] = -part[:, c]
    result[:, 3:, 3:] = result[:, :3, :3]
    return result


def central_differences(x: FloatArray, rate_hz: float) -> tuple[FloatArray, FloatArray]:
    """Return the first and second derivative over the first axis by central differences, of fourth order inside,
    second at the ends.

    At 100 Hz the error is below 0.2 % up to 8 Hz, and the filter removes higher frequencies. For fewer than five samples the
    result is zero; such a stretch has no torques.
    """
    first, second = np.zeros_like(x), np.zeros_like(x)
    if len(x) < 5:
        return first, second
    first[2:-2] = (8.0 * (x[3:-1] - x[1:-3]) - (x[4:] - x[:-4])) * (rate_hz / 12.0)
    second[2:-2] = (16.0 * (x[3:-1] + x[1:-3]) - 30.0 * x[2:-2] - (x[4:] + x[:-4])) * (rate_hz**2 / 12.0)
    for at in (1, -2):
        low, high = (0, 2) if at == 1 else (-3, -1)
        first[at] = 0.5 * rate_hz * (x[high] - x[low])
        second[at] = rate_hz**2 * (x[high] - 2.0 * x[at] + x[low])
    first[0], first[-1] = rate_hz * (x[1] - x[0]), rate_hz * (x[-1] - x[-2])
    second[0], second[-1] = second[1], second[-2]
    return first, second


# -- Effect of a marker error on the torques: weights of the error and its first two derivatives, in World or segment axes


def torque_weights(
    G: tuple[FloatArray, ...], A: FloatArray, inner: slice, rate_hz: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return g0, g1, g2 (T, C, 3M) of dtau = g0 n + g1 n' + g2 n'' for errors n of the markers with the response A n of the fit.

    G: three arrays (T, C, nv). A: (T, nv, 3, M). Both include margins around the frames `inner`.
    """
    A0 = A.reshape(*A.shape[:2], -1)
    A1, A2 = (rate[inner] for rate in central_differences(A0, rate_hz))
    A0 = A0[inner]
    G0, G1, G2 = G
    # xi = A n:  xi' = A n' + A' n,  xi'' = A n'' + 2 A' n' + A'' n
    return G0 @ A0 + G1 @ A1 + G2 @ A2, G1 @ A0 + 2.0 * (G2 @ A1), G2 @ A0


def rotation_rates(attitude: FloatArray, links: IntArray, rate_hz: float) -> tuple[FloatArray, FloatArray]:
    """Return R' R^T and R'' R^T (T, 3, 3, M) of the links (M,) that carry the markers, for attitudes R (T, L, 3, 3)."""
    carrying, of_marker = np.unique(links, return_inverse=True)
    R = attitude[:, carrying]
    products = (part @ R.transpose(0, 1, 3, 2) for part in central_differences(R, rate_hz))
    first, second = (to_single_precision(part)[:, of_marker].transpose(0, 2, 3, 1) for part in products)
    return np.ascontiguousarray(first), np.ascontiguousarray(second)


def weights_in_segment_axes(
    g: tuple[FloatArray, ...], turning: tuple[FloatArray, FloatArray]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the weights g (T, C, 3M) for errors s along the axes of the markers' segments, n = R s, except for a rotation by R.

    n' = R s' + R' s and n'' = R s'' + 2 R' s' + R'' s. With R' = W R and R'' = (W' + W W) R the weights of s, s', s'' are (g0 +
    g1 W + g2 (W' + W W)) R, (g1 + 2 g2 W) R and g2 R. Only products of two weights of a marker are used, which are invariant to
    the common rotation R. `turning`: W and W' + W W (T, 3, 3, M).
    """
    frames, torques = g[0].shape[:2]
    g0, g1, g2 = (part.reshape(frames, torques, 3, -1) for part in g)
    # W is skew-symmetric; its computed diagonal contains only the error of the differences
    W, bent = turning[0] * (1 - np.eye(3, dtype=np.float32))[:, :, None], turning[1]
    first = g0 + np.einsum("tcam,tabm->tcbm", g1, W) + np.einsum("tcam,tabm->tcbm", g2, bent)
    second = g1 + np.einsum("tcam,tabm->tcbm", g2, 2.0 * W)
    return first.reshape(g[0].shape), second.reshape(g[0].shape), g[2]


# -- Uncertainty from the assumed motion of segments without markers, in the proximal torques and in the base residual
#
# An assumed segment may be rotated by e(t) relative to the assumption, while its distal segments keep their attitude
# in World. This is a step of the assumed coordinates, for which `torque_response` returns the response of the torques.
# e is a random curve of the gait cycle for each axis of the segment: an offset and harmonics of the stride.

_AXES = {"tilt": 2, "list": 0, "turn": 1}  # about z, x and y of the segment, the order of `UnseenMotion`


def assumed_motion_variance(
    model: SubjectModel,
    q: FloatArray,
    response: tuple[FloatArray, FloatArray, FloatArray],
    magnitudes: Magnitudes,
    stride_s: float,
) -> FloatArray:
    """Return the variance (T, R) of R generalised forces due to the assumed motion of segments without markers.

    q: (T, nq). response: three arrays (T, R, nv), the response to position, rate and acceleration of the coordinates.
    """
    total = np.zeros(response[0].shape[:2])
    if not np.isfinite(stride_s):
        stride_s = magnitudes.stride_s
    for direction, moments in _assumed_rotation_steps(model, q, magnitudes, stride_s):
        g = [(part @ direction[:, :, None])[..., 0] for part in response]
        for (i, j), moment in zip(PAIRS, moments, strict=True):
            total += (1.0 if i == j else 2.0) * moment * g[i] * g[j]
    return np.maximum(total, 0.0)


def assumed_motion_steps(model: SubjectModel, q: FloatArray, magnitudes: Magnitudes, stride_s: float) -> FloatArray:
    """Return steps (T, nv, N) of the configuration q (T, nq) for one standard deviation of each of N independent errors."""
    if not np.isfinite(stride_s):
        stride_s = magnitudes.stride_s
    steps = [step * np.sqrt(moments[0]) for step, moments in _assumed_rotation_steps(model, q, magnitudes, stride_s)]
    return np.stack(steps, axis=2) if steps else np.zeros((len(q), model.multibody.nv, 0))


def residual_sd(fit: Fit, dynamics: Dynamics, magnitudes: Magnitudes, stride_s: float) -> tuple[FloatArray, FloatArray]:
    """Return one standard deviation of the base residual's force (T, 3) N and moment (T, 3) Nm, body axes of the root.

    Zero if every segment has markers or is fixed; NaN where the motion is unknown.
    """
    sd = np.zeros((len(fit.solved), 6))
    motion = fit.motion
    known = np.isfinite(motion.vdot).all(axis=1)
    if fit.model.assumed and known.any():
        q, v, vdot = motion.q[known], motion.v[known], motion.vdot[known]
        response = torque_response(
            fit.model.multibody, q, v, vdot, dynamics.foot_wrenches[known], dynamics.foot_wrench_links, np.arange(6)
        )
        sd[known] = np.sqrt(assumed_motion_variance(fit.model, q, response, magnitudes, stride_s))
        sd[~known] = np.nan
    return sd[:, 3:], sd[:, :3]


def _assumed_rotation_steps(
    model: SubjectModel, q: FloatArray, magnitudes: Magnitudes, stride_s: float
) -> list[tuple[FloatArray, FloatArray]]:
    """Return for every axis of every assumed segment the step (T, nv) for one radian, and the moments (6,) of its error."""
    tree = model.multibody
    omega = joint_jacobians(tree, q)[:, :3]  # (T, 3, nv)
    R, p = body_poses(tree, q)
    columns: dict[str, list[int]] = {}
    for coordinate in model.assumed:
        columns.setdefault(coordinate.body, []).append(coordinate.v_index)
    inverse = {name: np.linalg.pinv(omega[:, :, at], rcond=1e-3) for name, at in columns.items()}
    parent = {body.definition.name: body.definition.parent for body in model.bodies}
    directions = []
    for name in columns:
        offset_rad, stride_rad = magnitudes.unseen_rad.get(name, (np.zeros(3), np.zeros(3)))
        attitude = model.body_poses(R, p, name)[0]
        for k, axis in enumerate(_AXES.values()):
            variances = [offset_rad[k] ** 2, *(share * stride_rad[k] ** 2 for share in magnitudes.unseen_harmonics)]
            if not any(variances):
                continue
            turn = attitude[:, :, axis, None]
            step = np.zeros((len(q), tree.nv))
            for other, at in columns.items():
                if other == name:
                    step[:, at] += (inverse[other] @ turn)[..., 0]
                elif parent[other] == name:
                    step[:, at] -= (inverse[other] @ turn)[..., 0]
            directions.append((step, stride_movement_moments(variances, stride_s, 1.0, 0.0, 2)))
    return directions
