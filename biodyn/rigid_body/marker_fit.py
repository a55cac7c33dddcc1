"""Fit of the coordinates of a multibody to recorded markers, with all markers and coordinates of a frame at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from biodyn.conventions import FloatArray, IntArray
from biodyn.errors import ModelError
from biodyn.geometry.points import all_finite, rigid_fit
from biodyn.geometry.rotations import quaternion_from_matrix
from biodyn.kernels import inverse_kinematics as ik
from biodyn.kernels.inverse_kinematics import FitMemory, MarkerFitProblem
from biodyn.kernels.linear_algebra import row_stride
from biodyn.kernels.tree import FREE, Tree
from biodyn.rigid_body.argument_checks import checked_array
from biodyn.rigid_body.kinematics import body_poses
from biodyn.rigid_body.multibody import Multibody

# Status of a frame.
CONVERGED: Final = ik.CONVERGED
STOPPED: Final = ik.STOPPED  # stopped at the largest number of iterations
UNSEEN: Final = ik.UNSEEN  # not enough visible markers
UNDETERMINED: Final = ik.UNDETERMINED  # converged, but the visible markers do not determine some coordinate
# Distance (rad or m) within which a coordinate is at its limit; number of frames that are compared with the initial
# posture; largest fraction of the cost of another minimum that replaces the first.
_AT_LIMIT: Final = 1e-6
_COMPARED_FRAMES: Final = 50
_BETTER: Final = 0.98
# A frame with fewer visible markers has no solution, because three points determine a rigid body.
MIN_MARKERS: Final = 3
# 2 cm transverse extent; with a smaller one, marker noise of some mm would rotate the base by tens of degrees.
_LEAST_SPREAD_M: Final = 0.02
# Least rotation that is not possible from one frame to the next, and largest deviation of the root markers from a rigid body.
_TURNED_RAD: Final = np.pi / 3.0
_RIGID_M: Final = 0.02


@dataclass(frozen=True)
class InverseKinematics:
    """Result of inverse kinematics.

    Attributes:
        q: (T, nq) configurations, NaN in frames with status UNSEEN.
        marker_error: (T, M) distance of each marker from its position on the model, m, NaN if not visible or not fitted.
        cost: (T,) weighted sum of squares including priors, m^2.
        iterations: (T,) number of Newton steps.
        status: (T,) CONVERGED, STOPPED, UNSEEN or UNDETERMINED.
    """

    q: FloatArray
    marker_error: FloatArray
    cost: FloatArray
    iterations: IntArray
    status: NDArray[np.int8]

    @classmethod
    def allocate(cls, frames: int, coordinates: int, markers: int) -> InverseKinematics:
        """Return a result with empty arrays of the given sizes, which a kernel fills."""
        q, marker_error, cost = np.empty((frames, coordinates)), np.empty((frames, markers)), np.empty(frames)
        return cls(q, marker_error, cost, np.empty(frames, dtype=np.int64), np.empty(frames, dtype=np.int8))


def _second_singular_value(points: FloatArray) -> float:
    """Return the second singular value (m) of points (M, 3) about their mean, a measure of their extent off a line."""
    return float(np.linalg.svd(points - points.mean(axis=0), compute_uv=False)[1]) if len(points) >= 3 else 0.0


def _align_base(
    mb: Multibody,
    q0: FloatArray,
    marker_body: IntArray,
    p_BM: FloatArray,
    p_WM: FloatArray,
    weights: FloatArray,
    by_all: bool = False,
) -> FloatArray:
    """Return q0 (nq,) repeated for each frame (F, nq), with the free root body aligned with its markers p_WM (F, M, 3).

    weights: (F, M). The markers of the root are used if they determine its pose, unless `by_all` is set; otherwise all markers.
    """
    tree, placed = mb.tree, np.repeat(q0[None], len(p_WM), axis=0)
    if not (tree.kind[0] == FREE and tree.parent[0] == -1):
        return placed
    R_WB, p_WB = body_poses(mb, q0[None])
    x = np.einsum("mij,mj->mi", R_WB[0, marker_body], p_BM) + p_WB[0, marker_body]
    x_root = (x - p_WB[0, 0]) @ R_WB[0, 0]
    shown = np.where(all_finite(p_WM), weights, 0.0)
    R_PJ, p_PJ = tree.R_PJ[0].reshape(3, 3), tree.p_PJ[0]
    kinds, kind_of = np.unique(shown, axis=0, return_inverse=True)  # frames with the same visible markers
    for number, share in enumerate(kinds):
        frames, use = np.flatnonzero(kind_of.ravel() == number), share > 0
        of_root = use & (marker_body == 0)
        chosen = of_root if not by_all and _second_singular_value(x_root[of_root]) > _LEAST_SPREAD_M else use
        R, p = rigid_fit(x_root[chosen], p_WM[frames][:, chosen], share[chosen])
        placed[frames, :3] = (p - p_PJ) @ R_PJ
        placed[frames, 3:7] = [quaternion_from_matrix(R_PJ.T @ rotation) for rotation in R]
    return placed


def _frames_after_turns(mb: Multibody, marker_body: IntArray, p_BM: FloatArray, p_WM: FloatArray) -> list[int]:
    """Return the frames in which the free root body is rotated by more than `_TURNED_RAD` since it was last visible.

    This happens if a person leaves the volume and returns. A fit that starts from the previous pose may then twist an arm. All
    root markers must agree as one rigid body, so that a swapped pair is not taken for a rotation.
    """
    of_root = np.flatnonzero(marker_body == 0)
    if len(of_root) < MIN_MARKERS or not (mb.tree.kind[0] == FREE and mb.tree.parent[0] == -1):
        return []
    apart = np.linalg.norm(p_BM[of_root, None] - p_BM[None, of_root], axis=2)
    first_marker, second_marker = of_root[list(np.unravel_index(np.argmax(apart), apart.shape))]
    line = p_WM[:, second_marker] - p_WM[:, first_marker]
    rows = np.flatnonzero(np.isfinite(line).all(axis=1))
    line = line[rows] / np.maximum(np.linalg.norm(line[rows], axis=1, keepdims=True), np.finfo(float).tiny)
    sharp = np.flatnonzero(np.sum(line[1:] * line[:-1], axis=1) < np.cos(_TURNED_RAD))
    frames = []
    for before, after in zip(rows[sharp], rows[sharp + 1], strict=True):
        both = of_root[np.isfinite(p_WM[[before, after]][:, of_root]).all(axis=(0, 2))]
        if _second_singular_value(p_WM[before, both]) <= _LEAST_SPREAD_M:
            continue
        R, p = rigid_fit(p_WM[before, both], p_WM[after, both])
        off = p_WM[after, both] - p_WM[before, both] @ R.T - p
        if np.sqrt(np.mean(np.sum(off**2, axis=1))) < _RIGID_M:
            frames.append(int(after))
    return frames


def allocate_fit_memory(tree: Tree, nq: int, markers: int) -> FitMemory:
    """Return the arrays in which a kernel stores intermediate results of the fit of one frame."""
    n, nv = tree.parent.shape[0], tree.dof_link.shape[0]
    stride = row_stride(int(tree.dof_depth.max(initial=0)))
    padded = row_stride(nq - 1)
    base = np.array([tree.parent[i] == -1 and tree.kind[i] == FREE for i in tree.dof_link], dtype=np.bool_)
    return FitMemory(
        q=np.zeros(padded),
        trial=np.zeros(padded),
        settled=np.zeros(padded),
        sine=np.zeros(padded),
        cosine=np.zeros(padded),
        R_WB=np.zeros((n, 9)),
        p_WB=np.zeros((n, 3)),
        residual=np.zeros((markers, 3)),
        weight=np.zeros(markers),
        moments=np.zeros((n, 25)),
        columns=np.zeros((nv, 6)),
        turning=np.zeros((nv, 3)),
        hessian=np.zeros(nv * stride),
        factors=np.zeros(nv * stride),
        diagonal=np.zeros(nv),
        scale=np.zeros(nv),
        force=np.zeros(nv),
        prior_difference=np.zeros(nv),
        right=np.zeros(nv),
        step=np.zeros(nv),
        pinned=np.zeros(nv, dtype=np.bool_),
        base=base,
    )


def _checked_limits(mb: Multibody, lower: ArrayLike | None, upper: ArrayLike | None) -> tuple[FloatArray, FloatArray]:
    """Return limits (nv,); raise ModelError if a lower limit exceeds an upper one. Quaternion joints have no limits."""
    low = np.array(np.full(mb.nv, -np.inf) if lower is None else lower, dtype=np.float64)
    high = np.array(np.full(mb.nv, np.inf) if upper is None else upper, dtype=np.float64)
    for name, limits in (("lower", low), ("upper", high)):
        if limits.shape != (mb.nv,) or np.isnan(limits).any():
            raise ModelError(f"{name} must have {mb.nv} limits; use -inf or inf for coordinates without a limit.")
    crossed = [mb.body_names[i] for i, body in enumerate(mb.bodies) if (low > high)[mb.v_slice(body.name)].any()]
    if crossed:
        raise ModelError(f"The lower limit is above the upper limit in the joint of {', '.join(crossed)}.")
    return low, high


def checked_markers(
    mb: Multibody, marker_body: ArrayLike, p_BM: ArrayLike, p_WM: ArrayLike, weights: ArrayLike
) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
    """Check and return bodies (M,), positions on them (M, 3), recorded positions (T, M, 3) and weights (1 or T, M)."""
    places = checked_array(p_BM, (None, 3), "p_BM")
    markers = places.shape[0]
    body = np.asarray(marker_body)
    if body.shape != (markers,) or not np.issubdtype(body.dtype, np.integer):
        raise ModelError(f"marker_body must have {markers} body indices, found shape {body.shape} of {body.dtype}.")
    if markers and not (int(body.min()) >= 0 and int(body.max()) < len(mb.bodies)):
        raise ModelError(
            f"marker_body has indices from {body.min()} to {body.max()}, but the model has {len(mb.bodies)} bodies."
        )
    if not np.isfinite(places).all():
        raise ModelError(
            f"Markers {np.flatnonzero(~np.isfinite(places).all(axis=1)).tolist()} have no position in p_BM."
        )
    recorded = checked_array(p_WM, (None, markers, 3), "p_WM")
    shares = _broadcast_rows(weights, markers, len(recorded), "weights")
    if not (shares >= 0).all():
        raise ModelError("weights must be numbers >= 0.")
    return body.astype(np.int64), places, recorded, shares


def _checked_priors(
    mb: Multibody, prior_weights: ArrayLike | None, q_prior: ArrayLike | None, frames: int
) -> tuple[FloatArray, FloatArray]:
    """Return prior weights (nv,) and prior (0, 1 or T, nq); raise ModelError if only one of them is given."""
    if (prior_weights is None) != (q_prior is None):
        raise ModelError("Specify both prior_weights and q_prior, or neither.")
    if prior_weights is None or q_prior is None:
        return np.zeros(mb.nv), np.zeros((0, mb.nq))
    return checked_array(prior_weights, (mb.nv,), "prior_weights"), _broadcast_rows(q_prior, mb.nq, frames, "q_prior")


def _broadcast_rows(values: ArrayLike, width: int, frames: int, name: str) -> FloatArray:
    """Return values (width,), which are constant, or (T, width), which vary by frame, as an array (1, width) or (T, width)."""
    array = np.asarray(values, dtype=np.float64)
    once = array.ndim == 1
    return checked_array(array[None] if once else array, (1 if once else frames, width), name)


def inverse_kinematics(
    mb: Multibody,
    marker_body: ArrayLike,
    p_BM: ArrayLike,
    p_WM: ArrayLike,
    weights: ArrayLike,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    q0: ArrayLike | None = None,
    tolerance: float = 1e-8,
    max_iterations: int = 60,
    prior_weights: ArrayLike | None = None,
    q_prior: ArrayLike | None = None,
    q_near: ArrayLike | None = None,
) -> InverseKinematics:
    """Fit all coordinates to all visible markers of every frame by weighted nonlinear least squares.

    Args:
        marker_body: (M,) index of the body that carries each marker.
        p_BM: (M, 3) marker position in body axes, m.
        p_WM: (T, M, 3) recorded positions, m, NaN = not visible.
        weights: (M,) or (T, M), >= 0; a marker with weight 0 is ignored.
        lower, upper: (nv,) limits of the one-axis coordinates, rad or m; none if omitted.
        q0: (nq,) initial guess for the first frame, by default the neutral configuration. A free root body is aligned with
            the markers first, so that its position in q0 is irrelevant.
            tolerance: a frame has converged if no coordinate would change by more, rad or m.
        prior_weights, q_prior: (nv,) and (nq,) or (T, nq): adds sum_j prior_weights_j (q - q_prior)_j^2 to the cost
            (unit m^2 / rad^2 against markers of weight 1), for coordinates that the markers determine poorly or not at all.
            For quaternions the difference is the rotation vector to the prior in body axes, for positions of free joints as in q.
        q_near: (T, nq) initial guess of each frame from an earlier fit; NaN rows are ignored.

    Every frame starts from the previous frame, and the root is realigned with its markers if it has rotated while it was not
    visible. If the posture of the first frame is far from q0, the fit can converge to a wrong minimum (e.g. an elbow bent
    backwards with the upper arm rotated) in this and many following frames. Therefore, if a coordinate is at its limit in some
    frame, the first frame is also computed backwards from the frame that is most similar to q0. The result that fits all
    frames better and is less often at a limit is used.

    The algorithm is Newton's method with exact curvature, damped if a step fails, with an active set for limits. Coordinates
    that no visible marker determines keep their values; such frames are UNDETERMINED. Angles without limits are continuous from
    one determined frame to the next, within half a turn.

    Raises ModelError for wrong shapes, unknown bodies, negative weights, or a lower limit above its upper limit.
    """
    body, places, recorded, shares = checked_markers(mb, marker_body, p_BM, p_WM, weights)
    low, high = _checked_limits(mb, lower, upper)
    target_weights, prior = _checked_priors(mb, prior_weights, q_prior, len(recorded))
    start = mb.neutral_q() if q0 is None else checked_array(q0, (mb.nq,), "q0").copy()
    seen = all_finite(recorded) & (shares > 0)
    usable = np.flatnonzero(seen.sum(axis=1) >= MIN_MARKERS)
    if usable.size:
        first = int(usable[0])
        shown = shares[min(first, len(shares) - 1)]
        start = _align_base(mb, start, body, places, recorded[first : first + 1], shown[None])[0]
    problem = MarkerFitProblem(
        marker_link=body.astype(np.int64),
        p_BM=places,
        p_WM=recorded,
        weights=shares,
        lower=low,
        upper=high,
        prior_weights=target_weights,
        q_prior=prior,
        q_near=np.zeros((0, mb.nq)) if q_near is None else checked_array(q_near, (len(recorded), mb.nq), "q_near"),
    )
    turned = _frames_after_turns(mb, body, places, np.where(seen[..., None], recorded, np.nan))
    fit = _SequentialFit(mb, body, problem, turned, float(tolerance), int(max_iterations))
    result = fit.fit_from(start)
    if q_near is None and usable.size and (limited := _count_at_limits(mb, result.q[usable], low, high)):
        posture = mb.neutral_q() if q0 is None else checked_array(q0, (mb.nq,), "q0")
        better = fit.refit_first_backwards(posture, usable[usable < (*turned, len(recorded))[0]], result)
        if better is not None:
            other_fit = fit.fit_from(better)
            better_fit = np.nansum(other_fit.cost) < _BETTER * np.nansum(result.cost)
            if better_fit and _count_at_limits(mb, other_fit.q[usable], low, high) < limited:
                result = other_fit
    return result


def _count_at_limits(mb: Multibody, q: FloatArray, low: FloatArray, high: FloatArray) -> int:
    """Count how often one-axis coordinates are at a limit in the rows of q (T, nq), if their limits differ."""
    count = 0
    for body in mb.bodies:
        place, row = mb.q_slice(body.name), mb.v_slice(body.name).start
        if place.stop - place.start == 1 and low[row] < high[row]:
            angle = q[:, place.start]
            count += int(np.count_nonzero((angle < low[row] + _AT_LIMIT) | (angle > high[row] - _AT_LIMIT)))
    return count


@dataclass(frozen=True)
class _SequentialFit:
    """Fit of all frames one after the other, each from the result of the previous one.

    Attributes: marker_body: (M,) bodies. turned: frames in which the root is rotated (`_frames_after_turns`), ascending.
    """

    mb: Multibody
    marker_body: IntArray
    problem: MarkerFitProblem
    turned: Sequence[int]
    tolerance: float
    max_iterations: int

    def fit_from(self, start: FloatArray) -> InverseKinematics:
        """Fit all frames starting from q (nq,); realign the root with its markers in the frames `turned`."""
        pieces: list[InverseKinematics] = []
        for first, stop in pairwise((0, *self.turned, len(self.problem.p_WM))):
            if pieces:
                known = pieces[-1].q[np.isfinite(pieces[-1].q).all(axis=1)]
                start = self._align_base_in_frames(known[-1] if len(known) else start, np.array([first]))[0]
            pieces.append(self._run_kernel(slice(first, stop), start))
        if len(pieces) == 1:
            return pieces[0]
        columns = zip(*((p.q, p.marker_error, p.cost, p.iterations, p.status) for p in pieces), strict=True)
        return InverseKinematics(*(np.concatenate(column) for column in columns))

    def refit_first_backwards(
        self, posture: FloatArray, usable: IntArray, found: InverseKinematics
    ) -> FloatArray | None:
        """Fit backwards to the first of the frames `usable` from the frame most similar to the posture (nq,); return its q (nq,).

        Returns None if this is the first frame, or if the fit is not better than the given result.
        """
        if not len(usable):
            return None
        some = usable[np.unique(np.linspace(0, len(usable) - 1, _COMPARED_FRAMES).astype(int))]
        starts = self._align_base_in_frames(posture, some, by_all=True)
        R, p = body_poses(self.mb, starts)
        places = np.einsum("tmij,mj->tmi", R[:, self.marker_body], self.problem.p_BM) + p[:, self.marker_body]
        away = np.nanmean(np.sum((self.problem.p_WM[some] - places) ** 2, axis=2), axis=1)
        nearest = int(np.argmin(away))
        rows = usable[usable <= some[nearest]][::-1]
        if len(rows) < 2:
            return None
        solution = self._run_kernel(rows, starts[nearest])
        better = solution.cost[-1] < _BETTER * found.cost[usable[0]]
        return solution.q[-1] if better and np.isfinite(solution.q[-1]).all() else None

    def _align_base_in_frames(self, q: FloatArray, frames: IntArray, by_all: bool = False) -> FloatArray:
        """Return q (nq,) for the frames (F,) with the root aligned with its markers, (F, nq); see `_align_base`."""
        whole, places = self.problem, self.problem.p_BM
        shown = whole.weights[np.minimum(frames, len(whole.weights) - 1)]
        return _align_base(self.mb, q, self.marker_body, places, whole.p_WM[frames], shown, by_all=by_all)

    def _run_kernel(self, rows: slice | IntArray, start: FloatArray) -> InverseKinematics:
        """Run the kernel from `start` (nq,) over the given frames in this order."""
        whole, mb = self.problem, self.mb
        problem = whole._replace(
            p_WM=np.ascontiguousarray(whole.p_WM[rows]),
            weights=whole.weights if len(whole.weights) == 1 else np.ascontiguousarray(whole.weights[rows]),
            q_prior=whole.q_prior if len(whole.q_prior) <= 1 else np.ascontiguousarray(whole.q_prior[rows]),
            q_near=np.ascontiguousarray(whole.q_near[rows]) if len(whole.q_near) else whole.q_near,
        )
        frames, markers = problem.p_WM.shape[:2]
        result = InverseKinematics.allocate(frames, mb.nq, markers)
        ik.inverse_kinematics(
            mb.tree,
            problem,
            start,
            self.tolerance,
            self.max_iterations,
            MIN_MARKERS,
            allocate_fit_memory(mb.tree, mb.nq, markers),
            result.q,
            result.marker_error,
            result.cost,
            result.iterations,
            result.status,
        )
        return result
