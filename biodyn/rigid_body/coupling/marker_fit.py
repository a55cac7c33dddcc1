"""Fit the coordinates above the layers of a coupled multibody to recorded markers."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from biodyn.conventions import BoolArray, FloatArray
from biodyn.errors import ModelError
from biodyn.kernels.coupled_ik import Goal, Room, coupled_inverse_kinematics
from biodyn.kernels.ik_terms import Problem
from biodyn.rigid_body.coupling.coupled import CoupledMultibody
from biodyn.rigid_body.coupling.laws import laws_of, room_for
from biodyn.rigid_body.frames import checked
from biodyn.rigid_body.marker_fit import MIN_MARKERS, InverseKinematics, measured, workspace

#: Frames fitted in one call: no memory but that of the result grows with the motion.
BLOCK = 20_000


def fit_coordinates(
    coupled: CoupledMultibody,
    marker_body: ArrayLike,
    p_BM: ArrayLike,
    p_WM: ArrayLike,
    weights: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    starts: ArrayLike,
    base: BoolArray,
    pulls: ArrayLike | None = None,
    targets: ArrayLike | None = None,
    tolerance: float = 1e-8,
    max_iterations: int = 100,
) -> InverseKinematics:
    """Fit all coordinates q (n,) at the top to all visible markers of every frame: weighted nonlinear least squares.

    Args:
        marker_body, p_BM, p_WM, weights: as for `rigid_body.inverse_kinematics`: (M,), (M, 3) m, (T, M, 3) m, (M,) or (T, M).
        lower, upper: (n,) or (T, n) limits, rad or m; where both are equal the coordinate is given.
        starts: (K, n) configurations the first frame is tried from, and frames behind one that failed; the best one counts.
        base: (n,) coordinates that place the whole body; they are fitted first there.
        pulls, targets: (n,) and (n,) or (T, n): adds W sum_j pulls_j (q - targets)_j^2 to the cost, W the summed weight of the
            markers seen: OpenSim's coordinate tasks beside its marker tasks, whose weights it divides by their sum.
        tolerance: a frame has converged when no coordinate would change by more, rad or m.

    Each frame starts from the one before. Raises ModelError for wrong shapes, unknown bodies, negative weights, crossed limits.
    """
    body, places, recorded, shares = measured(coupled.multibody, marker_body, p_BM, p_WM, weights)
    tree, n, frames = coupled.multibody.tree, coupled.nq, len(recorded)
    goal = Goal(
        lower=_by_frame(lower, n, frames, "lower"),
        upper=_by_frame(upper, n, frames, "upper"),
        pulls=np.zeros(n) if pulls is None else checked(pulls, (n,), "pulls"),
        targets=np.zeros((1, n)) if targets is None else _by_frame(targets, n, frames, "targets"),
        starts=checked(starts, (None, n), "starts"),
        base=np.ascontiguousarray(base, dtype=np.bool_),
    )
    if len(goal.lower) != len(goal.upper):
        raise ModelError("lower and upper must both hold for all frames, or both for each.")
    if (goal.lower > goal.upper).any():
        raise ModelError("A lower limit lies above the upper one.")
    laws = laws_of(coupled.layers)
    passed, room = room_for(laws), _room(n)
    work = workspace(tree, coupled.multibody.nq, len(places))
    result = InverseKinematics(
        q=np.empty((frames, n)),
        marker_error=np.empty((frames, len(places))),
        cost=np.empty(frames),
        iterations=np.empty(frames, dtype=np.int64),
        status=np.empty(frames, dtype=np.int8),
    )
    nothing, none = np.zeros(0), np.zeros((0, 0))
    links = coupled.multibody.link_of_body[body].astype(np.int64)
    for start in range(0, frames, BLOCK):
        at = slice(start, start + BLOCK)
        problem = Problem(links, places, recorded[at], _part(shares, at), nothing, nothing, nothing, none, none)
        part = goal._replace(
            lower=_part(goal.lower, at), upper=_part(goal.upper, at), targets=_part(goal.targets, at),
            starts=goal.starts if start == 0 or not np.isfinite(result.cost[start - 1]) else goal.starts[:0],
        )  # fmt: skip
        coupled_inverse_kinematics(
            tree, problem, laws, part, float(tolerance), int(max_iterations), MIN_MARKERS, work, passed, room,
            result.q[at], result.marker_error[at], result.cost[at], result.iterations[at], result.status[at],
        )  # fmt: skip
    return result


def _by_frame(values: ArrayLike, n: int, frames: int, name: str) -> FloatArray:
    """Return numbers of each coordinate for all frames or for each, (1 or T, n); -inf and inf are allowed, NaN is not."""
    rows = np.atleast_2d(np.asarray(values, dtype=np.float64))
    if rows.shape not in ((1, n), (frames, n)) or np.isnan(rows).any():
        raise ModelError(
            f"{name} must hold {n} numbers for all frames or for each of {frames}, found shape {rows.shape}."
        )
    return np.ascontiguousarray(rows)


def _part(rows: FloatArray, at: slice) -> FloatArray:
    return rows if len(rows) == 1 else rows[at]


def _room(n: int) -> Room:
    return Room(
        q=np.zeros(n),
        trial=np.zeros(n),
        best=np.zeros(n),
        hessian=np.zeros((n, n)),
        factors=np.zeros((n, n)),
        drive=np.zeros(n),
        right=np.zeros(n),
        step=np.zeros(n),
        pinned=np.zeros(n, dtype=np.bool_),
    )
