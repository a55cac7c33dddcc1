"""How the fitted configuration answers to its markers: the derivative of the least-squares minimum.

At the minimum the gradient g(xi, y, p) vanishes, so a small change of markers y or of the model p moves the configuration by
    dxi = -H^-1 (dg/dy dy + dg/dp dp),   g = sum w J^T (x - y),   H = sum w (J^T J + (x - y) . d2x)
(implicit function theorem). xi are steps along the coordinates of v. The curvature term is that of Newton's method in the fit.
The equations of an estimate of motion and forces are Gauss-Newton's and have none: its answer is that of sum w J^T J. At a
straight knee, where these tell little of the hip's rotation, the curvature can take away all that is left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np

from biodyn.conventions import BoolArray, FloatArray, IntArray
from biodyn.model.body_model import SubjectModel
from biodyn.model.observability import LEAST_LEVER_M, badly_seen, levers_through
from biodyn.processing.kinematics.visibility import (
    BRIDGE_WEIGHT,
    REGULARISING_WEIGHT,
    regularised_shares,
    visibility_weights,
)
from biodyn.processing.signals.filtering import finite_stretches
from biodyn.rigid_body import Multibody, body_poses, joint_jacobians
from biodyn.rigid_body.jacobians import on_path
from biodyn.uncertainty.error_sources import Columns, Frames, Source

# -- Coordinates that the fit steadies where a leg's posture hides them: where, and how strongly.
#
# Where a straight knee hides how the thigh is turned, the fit pulls the hip's rotation towards a curve through the frames on both
# sides (`processing.kinematics.visibility.bridge`).


@dataclass(frozen=True)
class Stretch:
    """Frames first .. stop - 1 in which the coordinate at `place` in v is regularised by the pull (stop - first,)."""

    place: int
    first: int
    stop: int
    pull: FloatArray

    @property
    def sides(self) -> tuple[int, int]:
        """The last frame before it and the first one behind it."""
        return self.first - 1, self.stop


def stretches_of(
    model: SubjectModel, lever: FloatArray, steady_lever_m: float, rate_hz: float, moving: BoolArray
) -> tuple[Stretch, ...]:
    """Return the stretches that the fit steadies, for levers (T, C) m with all markers seen; moving: (T,) frames with a pose."""
    shares = regularised_shares(badly_seen(model, lever, steady_lever_m), rate_hz)
    found = []
    for column in np.flatnonzero(shares.any(axis=0)):
        for first, stop in finite_stretches(shares[:, column] > 0.0):
            if first > 0 and stop < len(shares) and moving[first - 1 : stop + 1].all():
                pull = REGULARISING_WEIGHT * shares[first:stop, column]
                found.append(Stretch(model.coordinates[column].v_index, first, stop, pull))
    return tuple(found)


def pulls(stretches: Sequence[Stretch], frames: int, nv: int) -> FloatArray:
    """Return the pull (T, nv) on each coordinate."""
    result = np.zeros((frames, nv))
    for one in stretches:
        result[one.first : one.stop, one.place] = one.pull
    return result


# As in `kinematics.methods.least_squares`: a marker with less than half its weight no longer counts as seeing a coordinate;
# postures change little within some frames.
_HALF_FADED = 0.5
_JUDGED_EVERY_FRAMES = 4
_CYCLIC = ((0, 1, 2), (1, 2, 0), (2, 0, 1))
# Closer to its limit than this a coordinate rests on it, rad.
_AT_LIMIT = 1e-6


@dataclass(frozen=True)
class FitResponse:
    """Derivative of the fit over some frames.

    Attributes:
        inverse_hessian: (T, nv, nv), zero for coordinates at a limit.
        by_markers: (T, nv, 3, M) step of the configuration for a marker's step along the World axes, rad or m a m; in single
            precision and half the time: a standard deviation needs three digits.
    """

    inverse_hessian: FloatArray
    by_markers: FloatArray


def marker_places(model: SubjectModel, q: FloatArray) -> FloatArray:
    """Return where the model has its markers (T, M, 3) in World, for q (T, nq)."""
    return model.marker_places(*body_poses(model.multibody, q))


def fit_response(
    model: SubjectModel,
    q: FloatArray,
    seen_at: FloatArray,
    weights: FloatArray,
    held: FloatArray | None = None,
    curved: bool = True,
    add: Callable[[FloatArray], None] | None = None,
) -> FitResponse:
    """Return the derivative of the fit for q (T, nq), markers seen at (T, M, 3) m, weights (T, M), 0 where unseen.

    held: (T, nv) weights that hold coordinates which markers do not see, or hardly, see `held_coordinates`.
    curved: with the curvature of the fit's cost; False = of Gauss-Newton's equations.
    add: adds to W J (T, nv, 3, M) what else pulls as markers move (`towards.Towards`).
    """
    mb = model.multibody
    frames, nv = len(q), mb.nv
    before = _before(mb)
    moved = before[:, mb.tree.idx_v[mb.link_of_body[model.marker_arrays()[0]]]]  # (nv, M)
    places = marker_places(model, q)
    about = places.mean(axis=1)  # sums of squares about a point far away would lose digits
    x, error = places - about[:, None], np.where((weights[..., None] > 0.0) & curved, places - seen_at, 0.0)
    columns = _about(joint_jacobians(mb, q), about)
    H = _hessian(before, columns, moved, x, weights, error)
    diagonal = np.arange(nv)
    pinned = _at_limit(model, q)
    H[pinned] = 0.0
    H.transpose(0, 2, 1)[pinned] = 0.0
    H[:, diagonal, diagonal] += np.where(pinned, 1.0, 1e-8)  # keeps blind directions invertible
    H[:, diagonal, diagonal] += model.pulls()
    if held is not None:
        H[:, diagonal, diagonal] += held
    inverse: FloatArray = np.asarray(np.linalg.inv(H))
    free = ~pinned
    inverse *= free[:, :, None] & free[:, None, :]
    pulled = _pulled(columns, moved, x, weights)
    if add is not None:
        add(pulled)
    by_markers = inverse.astype(np.float32) @ pulled.reshape(frames, nv, -1)
    return FitResponse(np.asarray(inverse), by_markers.reshape(frames, nv, 3, -1))


def _about(columns: FloatArray, point: FloatArray) -> FloatArray:
    """Columns (T, 6, nv), [angular; linear at the world origin], about a point (T, 3) instead."""
    moved = columns.copy()
    for a, b, c in _CYCLIC:
        moved[:, 3 + a] += columns[:, b] * point[:, c, None] - columns[:, c] * point[:, b, None]
    return moved


def _pulled(columns: FloatArray, moved: FloatArray, x: FloatArray, weights: FloatArray) -> FloatArray:
    """W J (T, nv, 3, M) of the markers at x (T, M, 3), in single precision; moved (nv, M): which coordinates move which."""
    single = columns.astype(np.float32)[..., None]
    omega, origin = single[:, :3], single[:, 3:]
    xT = x.transpose(0, 2, 1).astype(np.float32)[:, :, None, :]  # (T, 3, 1, M)
    share = moved.astype(np.float32) * weights.astype(np.float32)[:, None, :]  # (T, nv, M)
    J = np.empty((*share.shape[:2], 3, share.shape[2]), dtype=np.float32)  # markers last: every step runs along memory
    for a, b, c in _CYCLIC:
        np.multiply(origin[:, a] + omega[:, b] * xT[:, c] - omega[:, c] * xT[:, b], share, out=J[:, :, a])
    return J  # type: ignore[return-value]


def held_coordinates(
    model: SubjectModel,
    q: FloatArray,
    visibility: FloatArray,
    ramp_frames: int,
    rate_hz: float,
    steady_lever_m: float,
) -> tuple[FloatArray, tuple[Stretch, ...]]:
    """Return the weights (T, nv) with which the fit holds coordinates to a curve through the frames around.

    Those that no marker sees, for markers' visibility (T, M), 0 to 1: bridged by a curve through both sides, so the answer to the
    markers changes smoothly from seen to held. A switch from one frame to the next would show in the accelerations of the answer.
    And those that are regularised in some stretches, which are returned, too (`regularised_shares`).
    """
    visible = visibility >= _HALF_FADED
    whole = levers_through(model, q, np.ones_like(visible), _JUDGED_EVERY_FRAMES)
    lever = whole if visible.all() else levers_through(model, q, visible, _JUDGED_EVERY_FRAMES)
    held = np.zeros((len(q), model.multibody.nv))
    columns = [coordinate.v_index for coordinate in model.coordinates]
    held[:, columns] = BRIDGE_WEIGHT * (1.0 - visibility_weights(~(lever < LEAST_LEVER_M), ramp_frames))
    solved: BoolArray = np.asarray(np.isfinite(q).all(axis=1))
    stretches = stretches_of(model, whole, steady_lever_m, rate_hz, solved)
    return np.maximum(held, pulls(stretches, *held.shape)), stretches


@lru_cache(maxsize=4)
def _before(mb: Multibody) -> FloatArray:
    """1 where a coordinate (nv,) is of a joint before or at that of another (nv,), else 0; asked for some frames at a time."""
    bodies = [int(np.flatnonzero(mb.link_of_body == link)[0]) for link in mb.tree.dof_link]
    return np.stack([on_path(mb, body) for body in bodies], axis=1).astype(np.float64)


def _hessian(
    before: FloatArray, columns: FloatArray, moved: FloatArray, x: FloatArray, weights: FloatArray, error: FloatArray
) -> FloatArray:
    """Sum of w (J^T J + e . d2x) (T, nv, nv) over the markers at x (T, M, 3), in axes of World.

    J_i . J_j is the inertia that the markers beyond both joints have about them, weights for masses, and for i before or at j on
    a path e . d2x/dq_i dq_j = omega_i . (J_j x e). So both are made of sums over the markers beyond j: of w, w x, w x x^T,
    w e and w x e^T.
    """
    pull, heavy = weights[..., None] * error, weights[..., None] * x
    parts = [
        weights[..., None],
        heavy,
        *((part[..., None] * x[:, :, None]).reshape(*weights.shape, 9) for part in (heavy, pull)),
    ]
    sums = (moved @ np.concatenate([*parts, pull], axis=2)).transpose(2, 0, 1)  # (25, T, nv)
    mass, h, second, crossed, F = sums[0], sums[1:4], sums[4:13].reshape(3, 3, *sums.shape[1:]), sums[13:22], sums[22:]
    crossed = crossed.reshape(second.shape)  # [e, x]
    omega, origin = columns[:, :3].transpose(1, 0, 2), columns[:, 3:].transpose(1, 0, 2)
    spread, along = second[0, 0] + second[1, 1] + second[2, 2], crossed[0, 0] + crossed[1, 1] + crossed[2, 2]
    loads = np.empty((6, *mass.shape))
    for a, b, c in _CYCLIC:
        turned = (spread - along) * omega[a]
        for k in range(3):
            turned += (crossed[k, a] - second[a, k]) * omega[k]
        loads[a] = turned + h[b] * origin[c] - h[c] * origin[b] + origin[b] * F[c] - origin[c] * F[b]
        loads[3 + a] = mass * origin[a] + omega[b] * h[c] - omega[c] * h[b]
    product = columns.transpose(0, 2, 1) @ loads.transpose(1, 0, 2)  # (T, i, j): s_i . loads_j
    whole = product * np.triu(before) + np.triu(before, 1).T * product.transpose(0, 2, 1)
    # The base turns about its own axes: the order of two turns matters, but not at a minimum; both orders' mean is symmetric.
    base = slice(0, 3)
    whole[:, base, base] = 0.5 * (product[:, base, base] + product[:, base, base].transpose(0, 2, 1))
    return np.asarray(whole)


def _at_limit(model: SubjectModel, q: FloatArray) -> BoolArray:
    lower, upper = model.limits()
    pinned = np.zeros((len(q), model.multibody.nv), dtype=bool)
    for coordinate in model.coordinates:
        angle, at = q[:, coordinate.q_index], coordinate.v_index
        pinned[:, at] = (angle < lower[at] + _AT_LIMIT) | (angle > upper[at] - _AT_LIMIT)
    pinned[:, [coordinate.v_index for coordinate in model.assumed]] = True
    return pinned


# -- How a regularised coordinate answers to errors: partly as the curve through the frames around it does.
#
# With the pull B towards the curve (`regularised_shares`) and the answer A of the curve, H dxi = J^T W n in a frame becomes
# (H + B) dxi = J^T W n + B A n. Between the last frame before the regularised ones and the first behind, A changes evenly.


@dataclass(frozen=True)
class Towards:
    """Where errors move the curves of some stretches to.

    Attributes:
        by_markers: (S, 2, 3, M) answer of each stretch's coordinate to the markers, before and behind it; rad/m.
        by_columns: by source, (S, 2, N) to each of its parameters.
    """

    stretches: tuple[Stretch, ...]
    by_markers: FloatArray
    by_columns: Mapping[str, FloatArray]

    @classmethod
    def of(
        cls,
        stretches: tuple[Stretch, ...],
        answers: Callable[[IntArray], tuple[FloatArray, Mapping[str, FloatArray]]],
    ) -> Towards:
        """Return those of some stretches.

        answers: of the fit in frames (K,) to the markers (K, nv, 3, M), and by source to its parameters (K, nv, N).
        """
        if not stretches:
            return cls((), np.zeros(0), {})
        asked, places = np.unique([one.sides for one in stretches], return_inverse=True)
        at = places.reshape(len(stretches), 2)
        by_markers, by_columns = answers(asked)
        rows = np.array([[one.place] for one in stretches])
        return cls(stretches, by_markers[at, rows], {name: part[at, rows] for name, part in by_columns.items()})

    def add_markers(self, at: IntArray, pulled: FloatArray) -> None:
        """Add what the curves pull with in the frames `at` (T,), for a step of the markers, to `pulled` (T, nv, 3, M)."""
        for number, one in self._within(at):
            rows, pull = _between(one, at, self.by_markers[number])
            pulled[rows, one.place] += pull

    def of_source(self, name: str, source: Source, frames: Frames) -> Columns:
        """Return what a source does in some frames; what the curves pull with for it is taken off the gradient of the fit."""
        found = source(frames)
        for number, one in self._within(frames.at) if found.gradient.shape[2] else ():
            rows, pull = _between(one, frames.at, self.by_columns[name][number])
            found.gradient[rows, one.place] -= pull
        return found

    def _within(self, at: IntArray) -> list[tuple[int, Stretch]]:
        """The stretches with frames from the first to the last of `at`, which ascends, and their numbers."""
        return [(k, one) for k, one in enumerate(self.stretches) if one.first <= at[-1] and at[0] < one.stop]


def _between(one: Stretch, at: IntArray, values: FloatArray) -> tuple[IntArray, FloatArray]:
    """Rows of the frames `at` (T,) in the stretch, and what it pulls with there for the values (2, ...) on both sides of it."""
    rows = np.flatnonzero((at >= one.first) & (at < one.stop))
    before, behind = one.sides
    share = (at[rows] - before) / (behind - before)
    parts = np.stack([1.0 - share, share], axis=1) * one.pull[at[rows] - one.first, None]
    return rows, np.tensordot(parts, values, axes=1)


def fit_of(frames: Frames, some: slice = slice(None), towards: Towards | None = None) -> FitResponse:
    """Return how the fit answers to its markers in some of the frames."""
    add = None if towards is None else partial(towards.add_markers, frames.at[some])
    q, seen_at, weights, held = frames.q[some], frames.seen_at[some], frames.weights[some], frames.held[some]
    return fit_response(frames.inputs.model, q, seen_at, weights, held, frames.inputs.curved, add)
