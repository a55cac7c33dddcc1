"""Which coordinates can the markers see?"""

from __future__ import annotations

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.model.subject import SubjectModel
from biodyn.rigid_body import body_poses, integrate

# A marker that turns by one radian with its coordinate must move at least this far for the coordinate to count as seen;
# nearer to the axis, marker noise and skin would decide the angle.
LEAST_LEVER_M = 0.02
# Keeps blind directions invertible without hiding them: (0.1 mm)^2 against levers of centimetres.
_RIDGE_M2 = 1e-8


def levers(model: SubjectModel, q: FloatArray, visible: BoolArray | None = None) -> FloatArray:
    """Return for each free coordinate how far the markers move for one radian of it, m (C,).

    All other coordinates, the base included, do what they can to undo the movement: it is the square root of the Schur
    complement of the normal matrix J^T W J in the configuration q (nq,). `visible` (M,) leaves markers out.
    """
    J = marker_jacobian(model, q)
    if visible is not None:
        J = J[visible]
    J = J.reshape(-1, model.multibody.nv)
    covariance = np.linalg.inv(J.T @ J + _RIDGE_M2 * np.eye(model.multibody.nv))
    columns = [coordinate.v_index for coordinate in model.coordinates]
    return np.asarray(1.0 / np.sqrt(np.diag(covariance)[columns]))


def marker_jacobian(model: SubjectModel, q: FloatArray) -> FloatArray:
    """Derivative (M, 3, nv) of the marker positions, each times the square root of its weight (1 at most).

    By central differences of 1e-6 rad or m, whose truncation and round-off are both below 1e-6 of a lever.
    """
    tree = model.multibody
    links, points, weights = model.marker_arrays()
    step = 1e-6
    changes = np.concatenate([step * np.eye(tree.nv), -step * np.eye(tree.nv)])
    R, p = body_poses(tree, integrate(tree, np.tile(q, (len(changes), 1)), changes))
    positions = p[:, links] + np.einsum("tmij,mj->tmi", R[:, links], points)
    J = (positions[: tree.nv] - positions[tree.nv :]) / (2.0 * step)
    return np.asarray(np.sqrt(np.minimum(weights, 1.0))[:, None, None] * np.moveaxis(J, 0, 2))


def unseen_coordinates(model: SubjectModel, q: FloatArray, visible: BoolArray) -> BoolArray:
    """Return (T, C): the frames in which the visible markers (T, M) do not see a coordinate at q (T, nq).

    Frames with the same visible markers are judged by one of them, the middle one.
    """
    unseen = np.zeros((len(visible), len(model.coordinates)), dtype=bool)
    patterns, which = np.unique(visible, axis=0, return_inverse=True)
    which = which.reshape(-1)
    for index, pattern in enumerate(patterns):
        frames = np.flatnonzero((which == index) & np.isfinite(q).all(axis=1))
        if len(frames) and not pattern.all():
            unseen[frames] = levers(model, q[frames[len(frames) // 2]], pattern) < LEAST_LEVER_M
    return unseen
