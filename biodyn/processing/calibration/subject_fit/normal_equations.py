"""What the walk and the priors say of the unknowns, with the coordinates of every frame eliminated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.geometry.points import all_finite
from biodyn.model.body_model import SubjectModel
from biodyn.model.factors import inverse_factors
from biodyn.model.observability import marker_jacobian
from biodyn.model.static_figure import StaticFigure
from biodyn.processing.calibration.subject_fit.derivatives import Posed, joint_jacobian, marker_place
from biodyn.processing.calibration.subject_fit.priors import Priors
from biodyn.processing.calibration.subject_fit.skin import Skin
from biodyn.processing.calibration.subject_fit.unknowns import Unknowns, pairs

# Degrees of freedom of Student's t: what is far beyond its prior is believed rather than pulled back.
_STUDENT = 3.0


@dataclass(frozen=True)
class Evidence:
    """A quadratic in a step of theta: half step^T information step - pull step, and its value at no step.

    Attributes: information (P, P), pull (P,), cost.
    """

    information: FloatArray
    pull: FloatArray
    cost: float

    def __add__(self, other: Evidence) -> Evidence:
        return Evidence(self.information + other.information, self.pull + other.pull, self.cost + other.cost)


def markers_say(
    model: SubjectModel,
    unknowns: Unknowns,
    skin: Skin,
    q: FloatArray,
    at: Posed,
    free: FloatArray,
    seen_W: FloatArray,
    marker_weight: FloatArray,
) -> Evidence:
    """Return what the markers seen_W (T, M, 3) m, NaN unseen, tell at the best configurations q (T, nq) for the model.

    Of the unknowns, then of the slides of the skin. free: `free_columns` at q. marker_weight: (M,) 1/m^2, what one frame tells.
    The coordinates follow
    every step (variable projection, Golub & Pereyra 1973, doi 10.1137/0710036; the Jacobian in the form of Kaufman 1975):
    only what they cannot follow counts.
    """
    weights = marker_weight * all_finite(seen_W)
    root = np.sqrt(weights)[..., None]
    residual = root * np.nan_to_num(seen_W - at.p_WM)
    follows = _followed(root[..., None] * free)
    J = joint_jacobian(model, unknowns, q, at)
    n, told = unknowns.count + skin.count, np.any(J, axis=(0, 2))
    information, pull = np.zeros((n, n)), np.zeros(n)
    followed = np.zeros((n + 1, len(q), follows.shape[3]))
    for i, marker in enumerate(model.markers):  # it depends on joints, its own place and skin: few of all unknowns
        joints = np.flatnonzero(told[i])
        place, placed = marker_place(marker, unknowns, at)
        slides, slid = skin.of_marker(model, i, q, at)
        columns = np.concatenate([joints, place, unknowns.count + slides])
        rows = root[:, i, :, None] * np.concatenate([J[:, i][:, :, joints], placed, slid], axis=2)
        flat = rows.reshape(-1, len(columns))
        information[np.ix_(columns, columns)] += flat.T @ flat
        pull[columns] += flat.T @ residual[:, i].ravel()
        own = (rows.swapaxes(1, 2) @ follows[:, i]).swapaxes(0, 1)
        followed[joints] += own[: len(joints)]
        followed[columns[len(joints) :]] = own[len(joints) :]  # of no other marker
        followed[n] += (residual[:, i, None] @ follows[:, i])[:, 0]
    # less what the coordinates follow
    flat = followed.reshape(n + 1, -1)
    both = flat @ flat.T
    return Evidence(information - both[:n, :n], pull - both[:n, n], 0.5 * float(np.sum(residual**2)))


def with_skin(evidence: Evidence, skin: Skin) -> Evidence:
    """Return the evidence of the unknowns with slides of the skin that nobody knows but by their prior: they are eliminated."""
    n = len(evidence.pull) - skin.count
    if not skin.count:
        return evidence
    A = evidence.information
    slides = A[n:, n:] + skin.information
    taken = np.linalg.solve(slides, np.column_stack([A[n:, :n], evidence.pull[n:]]))
    return Evidence(A[:n, :n] - A[:n, n:] @ taken[:, :n], evidence.pull[:n] - A[:n, n:] @ taken[:, n], evidence.cost)


def redundancy(free: FloatArray, weights: FloatArray) -> FloatArray:
    """Return (T, M) of how many of a marker's three errors the coordinates cannot follow; weights (T, M), 0 where unseen.

    The trace of 1 - H with the hat matrix H of the fit, whose `free_columns` are `free`.
    """
    follows = _followed(np.sqrt(weights)[..., None, None] * free)
    return np.where(weights > 0.0, 3.0 - np.sum(follows**2, axis=(2, 3)), 0.0)


def _followed(own: FloatArray) -> FloatArray:
    """An orthonormal basis (T, M, 3, nv) of what the coordinates follow of errors of the markers, for their derivatives `own`.

    own L^-T with the Cholesky factor L of the normal matrix: its square is the hat matrix of the fit.
    """
    flat = own.reshape(len(own), -1, own.shape[3])
    return np.asarray(flat @ inverse_factors(_normal(flat)).swapaxes(1, 2)).reshape(own.shape)


def _normal(own: FloatArray) -> FloatArray:
    """Normal matrices (T, nv, nv) of (T, N, nv), blind directions kept invertible."""
    normal = own.transpose(0, 2, 1) @ own
    return np.asarray(normal + 1e-9 * np.trace(normal, axis1=1, axis2=2)[:, None, None] * np.eye(normal.shape[1]))


def free_columns(model: SubjectModel, q: FloatArray) -> FloatArray:
    """Return the markers' derivatives (T, M, 3, nv) by the coordinates at q (T, nq); zero where one rests at its limit."""
    J = marker_jacobian(model, q)
    lower, upper = model.limits()
    for c in model.coordinates:
        at_limit = (q[:, c.q_index] <= lower[c.v_index] + 1e-9) | (q[:, c.q_index] >= upper[c.v_index] - 1e-9)
        J[at_limit, :, :, c.v_index] = 0.0
    return J


def priors_say(unknowns: Unknowns, priors: Priors, theta: FloatArray, mean: FloatArray) -> Evidence:
    """Return what is believed beforehand: theta near `mean` (P,) with the prior's covariance, and left as long as right.

    Markers and lengths by Student's t, its weights those of the present theta (iteratively reweighted).
    """
    share = np.ones(unknowns.count)
    for at in unknowns.markers.values():
        share[at : at + 3] = _student(float(np.linalg.norm(theta[at : at + 3] / unknowns.sd[at])), 3) ** 0.5
    information = share[:, None] * unknowns.information * share
    rows, values, sizes = [], [], []
    figure = unknowns.figure(theta)
    for right, left in pairs(unknowns.centres):
        if all(figure.far_end.get(name) in unknowns.centres for name in (right, left)):
            difference = figure.length(right) - figure.length(left)
            rows.append(_length_row(unknowns, figure, right) - _length_row(unknowns, figure, left))
            values.append(difference)
            sizes.append(priors.length_m**-2 * _student(difference / priors.length_m, 1))
    A, b, w = np.array(rows).reshape(-1, unknowns.count), np.array(values), np.array(sizes)
    off = theta - mean
    cost = 0.5 * float(off @ information @ off + w @ b**2)
    return Evidence(information + A.T @ (w[:, None] * A), -information @ off - A.T @ (w * b), cost)


def _student(distance: float, dimensions: int) -> float:
    """Weight of a deviation of that many standard deviations, against a normal one's."""
    return (_STUDENT + dimensions) / (_STUDENT + dimensions + distance**2)


def _length_row(unknowns: Unknowns, figure: StaticFigure, name: str) -> FloatArray:
    """Derivative (P,) of a segment's length by theta."""
    row = np.zeros(unknowns.count)
    end = figure.far_end[name]
    along = (figure.p_WB[end] - figure.p_WB[name]) / figure.length(name)
    for centre, sign in ((end, 1.0), (name, -1.0)):
        at = unknowns.centres[centre]
        row[at : at + 3] = sign * along @ unknowns.start.R_WB[unknowns.start.parent[centre]]
    return row
