"""Which coordinates can the markers see?"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.linalg.lapack import dtrtri

from biodyn.conventions import BoolArray, FloatArray
from biodyn.kernels import normal
from biodyn.model.body_model import SubjectModel, with_locked
from biodyn.rigid_body import body_poses, joint_jacobians, normal_matrix


def inverse_factors(normal: FloatArray) -> FloatArray:
    """Return L^-1 (n, k, k), lower triangles, of positive definite matrices L L^T (n, k, k).

    The inverse of the whole is L^-T L^-1. A triangle is inverted in a third of the time that NumPy takes for any matrix.
    Raises numpy.linalg.LinAlgError where one is not positive definite.
    """
    factors = np.asarray(np.linalg.cholesky(normal), dtype=np.float64)
    for factor in factors:
        factor[:] = dtrtri(factor, lower=1)[0]
    return factors


# A marker that turns by one radian with its coordinate must move at least this far for the coordinate to count as seen;
# nearer to the axis, marker noise and skin would decide the angle.
LEAST_LEVER_M = 0.02
# Half of what it has in other postures, and a coordinate is seen badly: at the straight knee the markers of the shank no longer
# tell how the thigh is turned, and some mm of skin turn it by tens of degrees.
_USUAL_SHARE, _USUAL_PERCENTILE = 0.5, 90.0
# Keeps blind directions invertible without hiding them: (0.1 mm)^2 against levers of centimetres.
_RIDGE_M2 = 1e-8
_ROOT_TURNS = slice(0, 3)  # in v
# Frames whose Jacobians are held in memory together.
_AT_A_TIME = 256


def levers(model: SubjectModel, q: FloatArray, visible: BoolArray | None = None) -> FloatArray:
    """Return for each free coordinate how far the markers move for one radian of it, m (n, C), in configurations q (n, nq).

    All other coordinates, the base included, do what they can to undo the movement: it is the square root of the Schur
    complement of the normal matrix J^T W J, with what holds coordinates to their static angle.
    `visible` (n, M) leaves markers out; weights count up to 1.
    """
    columns = [coordinate.v_index for coordinate in model.coordinates]
    factors = _inverse_factors(model, q, visible)[:, :, columns]
    return np.asarray(1.0 / np.sqrt(np.sum(factors**2, axis=1)))  # the diagonal of the whole inverse


def root_levers(model: SubjectModel, q: FloatArray, visible: BoolArray | None = None) -> FloatArray:
    """Return how far the markers move for one radian of the root about the axis that they tell worst, m (n,); see `levers`.

    With an attitude that markers tell they tell the place, too: joints turn and do not slide.
    """
    turns = _inverse_factors(model, q, visible)[:, :, _ROOT_TURNS]
    return np.asarray(1.0 / np.sqrt(np.linalg.eigvalsh(turns.transpose(0, 2, 1) @ turns)[:, -1]))


def _inverse_factors(model: SubjectModel, q: FloatArray, visible: BoolArray | None) -> FloatArray:
    """`inverse_factors` (n, nv, nv) of the normal matrix of markers of weight 1 m^-2 at most, and what holds coordinates."""
    links, p_LM, weights = model.marker_arrays()
    if visible is None or visible.all():
        patterns, which = np.ones((1, len(links)), dtype=bool), np.zeros(len(q), dtype=np.intp)
    else:
        patterns, which = np.unique(visible, axis=0, return_inverse=True)
    matrices = np.empty((len(q), model.multibody.nv, model.multibody.nv))
    for number, pattern in enumerate(patterns):
        rows = which.reshape(-1) == number
        matrices[rows] = normal_matrix(model.multibody, q[rows], links, p_LM, np.minimum(weights, 1.0) * pattern)
    assumed = [coordinate.v_index for coordinate in model.assumed]  # nothing is fitted there
    matrices[:, assumed], matrices[:, :, assumed] = 0.0, 0.0
    return inverse_factors(matrices + np.diag(model.pulls() + _RIDGE_M2))


def badly_seen(model: SubjectModel, lever: FloatArray, steady_m: float) -> BoolArray:
    """Return where (T, C) levers (T, C) m are too short for a steady angle although other postures of the trial show it well.

    Of legs alone: an arm's angle that goes astray moves no weight to speak of, and its markers are followed.
    """
    solved = np.isfinite(lever).all(axis=1)
    if not solved.any():
        return np.zeros(lever.shape, dtype=bool)
    usual = np.percentile(lever[solved], _USUAL_PERCENTILE, axis=0)
    limit = np.where(_in_legs(model), np.minimum(steady_m, _USUAL_SHARE * usual), 0.0)
    return np.asarray(lever < limit)


def _in_legs(model: SubjectModel) -> BoolArray:
    """Coordinates (C,) of segments that carry a foot, and of the feet."""
    found = set()
    for foot in model.sole_body.values():
        body = model.skeleton.body(foot)
        while body.parent:
            found.add(body.name)
            body = model.skeleton.body(body.parent)
    return np.array([coordinate.body in found for coordinate in model.coordinates], dtype=bool)


def without_unseen(model: SubjectModel, R_WB: FloatArray, p_WB: FloatArray) -> SubjectModel:
    """Return the model with every coordinate locked that its markers do not see in the static posture, root at R_WB, p_WB."""
    while model.coordinates:
        lever = levers(model, model.static_configuration(R_WB, p_WB)[None])[0]
        blind = np.flatnonzero(lever < LEAST_LEVER_M)
        if not len(blind):
            break
        # Of several that share one blind direction, the one farthest from the root is given up.
        model = with_locked(model, model.coordinates[blind[-1]].name)
    return model


def marker_jacobian(model: SubjectModel, q: FloatArray) -> FloatArray:
    """Derivative (n, M, 3, nv) of the marker positions with respect to v, World axes, for q (n, nq)."""
    tree = model.multibody
    links, p_LM, _ = model.marker_arrays()
    R, p = body_poses(tree, q)
    # another layout in memory would be another kernel to compile
    p_WM = np.ascontiguousarray(p[:, links] + np.einsum("nmij,mj->nmi", R[:, links], p_LM))
    J = np.empty((len(q), len(links), 3, tree.nv))
    normal.marker_columns(joint_jacobians(tree, q), p_WM, np.ascontiguousarray(tree.paths[links], dtype=np.float64), J)
    return J


def unseen_coordinates(model: SubjectModel, q: FloatArray, visible: BoolArray, step: int) -> BoolArray:
    """Return (T, C): the frames in which the visible markers (T, M) do not see a coordinate at q (T, nq).

    A marker out of sight can hide a coordinate, and so can the posture: with a straight elbow the upper arm's rotation and
    the forearm's are one.
    """
    found = levers_through(model, q, visible, step)
    return np.asarray(found < LEAST_LEVER_M)  # NaN, where nothing was solved, is not


def root_unseen(model: SubjectModel, q: FloatArray, visible: BoolArray, step: int) -> BoolArray:
    """Return (T,): the frames in which the visible markers (T, M) leave the root's attitude open at q (T, nq).

    None where all markers together leave it as open: then the marker set does, and no gap.
    """
    found = through_frames(partial(_root_and_whole, model), q, visible, step)
    return np.asarray((found[:, 0] < LEAST_LEVER_M) & ~(found[:, 1] < LEAST_LEVER_M))


def _root_and_whole(model: SubjectModel, q: FloatArray, visible: BoolArray) -> FloatArray:
    """The `root_levers` (n, 2) with the visible markers and with all."""
    return np.stack([root_levers(model, q, visible), root_levers(model, q)], axis=1)


def levers_through(model: SubjectModel, q: FloatArray, visible: BoolArray, step: int) -> FloatArray:
    """Return the levers (T, C) m of all frames of q (T, nq) with the visible markers (T, M), NaN where not solved."""
    return through_frames(partial(levers, model), q, visible, step)


def through_frames(
    judge: Callable[[FloatArray, BoolArray], FloatArray], q: FloatArray, visible: BoolArray, step: int
) -> FloatArray:
    """Return what `judge` makes (n, K) of configurations and visible markers, for all frames (T, K), NaN where not solved.

    One frame in `step` is judged, and one of every stretch with the same markers; the frames around it share its verdict.
    """
    solved: BoolArray = np.asarray(np.isfinite(q).all(axis=1))
    change: BoolArray = np.asarray(np.any(visible[1:] != visible[:-1], axis=1) | (solved[1:] != solved[:-1]))
    stretch = np.concatenate([[0], np.cumsum(change)])
    first = np.searchsorted(stretch, stretch)  # of each frame's stretch
    block = (np.arange(len(q)) - first) // step
    key = stretch * (len(q) + 1) + block
    _, start, which = np.unique(key, return_index=True, return_inverse=True)
    which = which.reshape(-1)
    stop = np.append(start[1:], len(q))
    judged = (start + stop - 1) // 2
    good = np.flatnonzero(solved[judged])
    pieces = np.array_split(good, max(len(judged) // _AT_A_TIME, 1))
    told = np.concatenate([judge(q[judged[rows]], visible[judged[rows]]) for rows in pieces])
    found = np.full((len(judged), told.shape[1]), np.nan)
    found[good] = told
    return np.where(solved[:, None], found[which], np.nan)
