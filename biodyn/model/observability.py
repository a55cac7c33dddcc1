"""Observability of coordinates from the markers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.linalg.lapack import dtrtri

from biodyn.conventions import BoolArray, FloatArray
from biodyn.kernels import linear_algebra
from biodyn.model.body_model import SubjectModel, with_locked_coordinate
from biodyn.rigid_body import body_poses, joint_jacobians, normal_matrix


def inverse_factors(normal: FloatArray) -> FloatArray:
    """Return L^-1 (n, k, k), lower triangles, of positive definite matrices L L^T (n, k, k); the inverse is L^-T L^-1.

    Inverting triangular matrices is three times faster than NumPy's general inverse. Raises numpy.linalg.LinAlgError if a
    matrix is not positive definite.
    """
    factors = np.asarray(np.linalg.cholesky(normal), dtype=np.float64)
    for factor in factors:
        factor[:] = dtrtri(factor, lower=1)[0]
    return factors


# Least motion of the markers per radian of an observable coordinate; below it, noise and skin movement determine the angle.
LEAST_LEVER_M = 0.02
# Least motion of the markers per radian of a well determined coordinate of a leg, m; with less, it is regularised.
STEADY_LEVER_M = 0.06


def marker_sensitivity(model: SubjectModel, q: FloatArray, visible: BoolArray | None = None) -> FloatArray:
    """Return the motion of the markers per radian of each free coordinate, m (n, C), in configurations q (n, nq).

    All other coordinates, including the base, minimise this motion, which is the square root of the Schur complement of the
    normal matrix J^T W J with the priors of coordinates. `visible` (n, M) selects markers; weights are limited to 1.
    """
    columns = [coordinate.v_index for coordinate in model.coordinates]
    factors = _normal_factors(model, q, visible)[:, :, columns]
    return np.asarray(1.0 / np.sqrt(np.sum(factors**2, axis=1)))  # diagonal of the inverse


def root_sensitivity(model: SubjectModel, q: FloatArray, visible: BoolArray | None = None) -> FloatArray:
    """Return the marker sensitivity, m (n,), of the least determined rotation of the root; see `marker_sensitivity`.

    Markers that determine its attitude also determine its position, because joints rotate but do not slide.
    """
    turns = _normal_factors(model, q, visible)[:, :, :3]
    return np.asarray(1.0 / np.sqrt(np.linalg.eigvalsh(turns.transpose(0, 2, 1) @ turns)[:, -1]))


def _normal_factors(model: SubjectModel, q: FloatArray, visible: BoolArray | None) -> FloatArray:
    """Return `inverse_factors` (n, nv, nv) of the normal matrices of the visible markers and the priors of coordinates.

    Weights of markers are limited to 1.
    """
    # makes the matrix invertible in unobservable directions: (0.1 mm)^2, compared to lever arms of centimetres
    ridge_m2 = 1e-8
    links, p_LM, weights = model.marker_arrays()
    if visible is None or visible.all():
        patterns, which = np.ones((1, len(links)), dtype=bool), np.zeros(len(q), dtype=np.intp)
    else:
        patterns, which = np.unique(visible, axis=0, return_inverse=True)
    matrices = np.empty((len(q), model.multibody.nv, model.multibody.nv))
    for number, pattern in enumerate(patterns):
        rows = which.reshape(-1) == number
        matrices[rows] = normal_matrix(model.multibody, q[rows], links, p_LM, np.minimum(weights, 1.0) * pattern)
    assumed = [coordinate.v_index for coordinate in model.assumed]  # not fitted
    matrices[:, assumed], matrices[:, :, assumed] = 0.0, 0.0
    return inverse_factors(matrices + np.diag(model.prior_weights() + ridge_m2))


def poorly_determined_frames(model: SubjectModel, lever: FloatArray) -> BoolArray:
    """Return a mask (T, C) of the frames in which a leg coordinate has a small marker sensitivity `lever` (T, C), m.

    With a straight knee the markers of the shank do not determine the rotation of the thigh, and some mm of skin motion rotate
    it by tens of degrees. Arms are excluded, because errors of their angles have little effect on the loads.
    """
    solved = np.isfinite(lever).all(axis=1)
    if not solved.any():
        return np.zeros(lever.shape, dtype=bool)
    usual = np.percentile(lever[solved], 90.0, axis=0)
    limit = np.where(_leg_coordinates(model), np.minimum(STEADY_LEVER_M, 0.5 * usual), 0.0)
    return np.asarray(lever < limit)


def _leg_coordinates(model: SubjectModel) -> BoolArray:
    """Return a mask (C,) of the coordinates that belong to the legs."""
    legs = {body.name for foot in model.sole_body.values() for body in model.skeleton.path(foot)}
    return np.array([coordinate.body in legs for coordinate in model.coordinates], dtype=bool)


def lock_unobservable(model: SubjectModel, R_WB: FloatArray, p_WB: FloatArray) -> SubjectModel:
    """Return the model with every coordinate locked that is not observable in the static posture, root at R_WB, p_WB."""
    while model.coordinates:
        lever = marker_sensitivity(model, model.static_configuration(R_WB, p_WB)[None])[0]
        unobservable = np.flatnonzero(lever < LEAST_LEVER_M)
        if not len(unobservable):
            break
        # of several coordinates with a common unobservable direction, the most distal one is locked
        model = with_locked_coordinate(model, model.coordinates[unobservable[-1]].name)
    return model


def marker_jacobian(model: SubjectModel, q: FloatArray) -> FloatArray:
    """Return the derivative (n, M, 3, nv) of the marker positions with respect to v, World axes, for q (n, nq)."""
    tree = model.multibody
    links, p_LM, _ = model.marker_arrays()
    R, p = body_poses(tree, q)
    # a different memory layout would require compiling another kernel
    p_WM = np.ascontiguousarray(p[:, links] + np.einsum("nmij,mj->nmi", R[:, links], p_LM))
    J = np.empty((len(q), len(links), 3, tree.nv))
    linear_algebra.fill_marker_jacobians(
        joint_jacobians(tree, q), p_WM, np.ascontiguousarray(tree.moving_coordinates[links], dtype=np.float64), J
    )
    return J


def undetermined_coordinates(model: SubjectModel, q: FloatArray, visible: BoolArray, step: int) -> BoolArray:
    """Return a mask (T, C) of the coordinates that the visible markers (T, M) do not determine at q (T, nq).

    The cause can be a gap or the posture: with a straight elbow the rotations of upper arm and forearm are equivalent.
    """
    # False in frames without a solution
    return np.asarray(sensitivity_by_frame(model, q, visible, step) < LEAST_LEVER_M)


def undetermined_root(model: SubjectModel, q: FloatArray, visible: BoolArray, step: int) -> BoolArray:
    """Return the frames (T,) in which the visible markers (T, M) do not determine the attitude of the root at q (T, nq)."""

    def both_sensitivities(q: FloatArray, visible: BoolArray) -> FloatArray:
        """Return the `root_sensitivity` (n, 2) with the visible markers and with all."""
        return np.stack([root_sensitivity(model, q, visible), root_sensitivity(model, q)], axis=1)

    lever = evaluate_in_blocks(both_sensitivities, q, visible, step)
    return np.asarray((lever[:, 0] < LEAST_LEVER_M) & ~(lever[:, 1] < LEAST_LEVER_M))


def sensitivity_by_frame(model: SubjectModel, q: FloatArray, visible: BoolArray, step: int) -> FloatArray:
    """Return the marker sensitivities (T, C) m in all frames of q (T, nq) for the visible markers (T, M), NaN if not solved."""
    return evaluate_in_blocks(partial(marker_sensitivity, model), q, visible, step)


def evaluate_in_blocks(
    function: Callable[[FloatArray, BoolArray], FloatArray], q: FloatArray, visible: BoolArray, step: int
) -> FloatArray:
    """Evaluate a function (n, K) of configurations and visible markers in all frames (T, K), NaN where not solved.

    It is evaluated in one frame of each block of `step` frames with the same markers, and used for the whole block.
    """
    solved: BoolArray = np.asarray(np.isfinite(q).all(axis=1))
    change: BoolArray = np.asarray(np.any(visible[1:] != visible[:-1], axis=1) | (solved[1:] != solved[:-1]))
    stretch = np.concatenate([[0], np.cumsum(change)])
    first = np.searchsorted(stretch, stretch)  # number of the stretch of each frame
    block = (np.arange(len(q)) - first) // step
    key = stretch * (len(q) + 1) + block
    _, start, which = np.unique(key, return_index=True, return_inverse=True)
    which = which.reshape(-1)
    stop = np.append(start[1:], len(q))
    middle = (start + stop - 1) // 2
    usable = np.flatnonzero(solved[middle])
    # number of frames whose Jacobians are in memory together
    batches = np.array_split(usable, max(len(middle) // 256, 1))
    values = np.concatenate([function(q[middle[rows]], visible[middle[rows]]) for rows in batches])
    of_block = np.full((len(middle), values.shape[1]), np.nan)
    of_block[usable] = values
    return np.where(solved[:, None], of_block[which], np.nan)
