"""What measurements and expectations say of the deviation: a term of the normal equations each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import maximum_filter1d

from biodyn.conventions import FloatArray, IntArray
from biodyn.estimation.banded import Normal
from biodyn.estimation.deviation import DEGREE, Path, by_deviation
from biodyn.estimation.problem import Problem
from biodyn.rigid_body import body_poses, inverse_dynamics, joint_jacobians
from biodyn.rigid_body.jacobians import on_path
from biodyn.rigid_body.multibody import Multibody
from biodyn.rigid_body.second_order import inverse_dynamics_derivatives

_THIRD = np.array([-1.0, 3.0, -3.0, 1.0])
_SECOND = np.array([1.0, -2.0, 1.0])
#: How many coefficients ahead the widest term couples: the second difference of torques at knots, each of five coefficients.
REACH = len(_SECOND) + DEGREE - 2
# A coordinate that no marker tells counts as one that is known within this, for its smoothness.
_UNSEEN_RAD = np.radians(3.0)


def marker_information(problem: Problem, q: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return J^T W J (T, nv, nv) and J^T W r (T, nv) of the markers at q (T, nq), divided by their variances."""
    mb = problem.model.multibody
    links, p_LM, _ = problem.model.marker_arrays()
    R, p = body_poses(mb, q)
    x = p[:, links] + (R[:, links] @ p_LM[:, :, None])[..., 0]
    columns = joint_jacobians(mb, q)
    scale = np.sqrt(problem.weights) / problem.sizes.marker_sd_m
    moves = np.stack([on_path(mb, int(link)) for link in links]).astype(np.float64)  # (M, nv)
    xT = x.transpose(0, 2, 1)[:, :, None, :]  # (T, 3, 1, M)
    omega, origin = columns[:, :3, :, None], columns[:, 3:, :, None]
    J = np.empty((len(q), mb.nv, 3, len(links)))  # markers last: every step runs along memory
    shared = moves.T[None] * scale[:, None, :]
    for a, b, c in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        np.multiply(origin[:, a] + omega[:, b] * xT[:, c] - omega[:, c] * xT[:, b], shared, out=J[:, :, a])
    rest = np.where(problem.weights[..., None] > 0.0, problem.seen_at - x, 0.0) * scale[..., None]
    flat = J.reshape(len(q), mb.nv, -1)
    right = (flat @ rest.transpose(0, 2, 1).reshape(len(q), -1, 1))[..., 0]
    return flat @ flat.transpose(0, 2, 1), right


def levers(problem: Problem, information: FloatArray) -> FloatArray:
    """Return how far (T, nv) the markers move for one unit of a coordinate that no other undoes, m a radian or m a m."""
    nv = information.shape[1]
    inverse = np.linalg.inv(information + 1e-3 * np.eye(nv))
    sd = float(np.median(problem.sizes.marker_sd_m))
    return np.asarray(sd / np.sqrt(np.maximum(np.diagonal(inverse, axis1=1, axis2=2), 1e-12)))


def smoothness(problem: Problem, information: FloatArray) -> FloatArray:
    """Return the precision (nv,) of the third difference of each coordinate.

    The smoothing spline's: its stiffness times the information of the markers on the coordinate, others free to follow.
    """
    nv = information.shape[1]
    mean = information.mean(axis=0) + 1e-3 * np.eye(nv)
    own = 1.0 / np.diag(np.linalg.inv(mean))
    own[6:] = np.maximum(own[6:], 1.0 / _UNSEEN_RAD**2)
    return np.asarray(own * problem.sizes.stiffness)


def loosening(problem: Problem) -> FloatArray:
    """Return factors (knots,) from 1 on by which motion and torques may change faster: where the measured forces do (strikes)."""
    force = problem.wrenches[:, :, 3:].sum(axis=1) / problem.model.mass_kg
    bend = np.zeros(len(force))
    bend[1:-1] = np.linalg.norm(force[2:] - 2.0 * force[1:-1] + force[:-2], axis=1)
    step = problem.knots.step
    near = maximum_filter1d(bend, 2 * step + 1)[::step]
    return np.asarray(1.0 + near / problem.sizes.lively_n_kg)


def add_markers(normal: Normal, problem: Problem, path: Path) -> None:
    """The markers lie where they were measured."""
    G, right = marker_information(problem, path.q)
    step = problem.knots.step
    for offset, weights in enumerate(problem.knots.weights[0]):
        normal.add_shared(0, _used(weights), G[offset::step], right[offset::step])


def add_smoothness(normal: Normal, problem: Problem, c: FloatArray, precision: FloatArray) -> None:
    """Accelerations change little: the third derivative of the motion is small. precision: (nv,) a frame, see `smoothness`."""
    knots = problem.knots
    count = knots.count - len(_THIRD) + 1
    third = np.asarray(sum(w * c[i : i + count] for i, w in enumerate(_THIRD)))
    # Third differences of the coefficients k .. k + 3 stand for the time between the knots k - 1 and k.
    third[1 : knots.knots] += np.diff(problem.start.vdot[:: knots.step], axis=0) * knots.knot_s**2
    loose = np.ones(count)
    loose[: knots.knots] = loosening(problem)
    loose[1 : knots.knots] = np.maximum(loose[1 : knots.knots], loose[: knots.knots - 1])
    weights = (precision / knots.step**DEGREE) / loose[:, None] ** 2
    normal.add_diagonal(0, _THIRD, weights, -weights * third)


def add_kept(normal: Normal, problem: Problem, c: FloatArray, precision: FloatArray) -> None:
    """Coordinates keep to where they were fitted, within what little is known of them. precision: (T, nv) a frame."""
    step = problem.knots.step
    own = step * precision[::step]
    normal.add_diagonal(0, _used(problem.knots.weights[0][0]), own, -own * problem.knots.values(c)[0][::step])


@dataclass(frozen=True)
class Rows:
    """A part of the balance: rows (count, 6, nv) on the coefficients from the k-th on, and its rest (count, 6), in SD.

    `frames` picks the frames that it is made of.
    """

    frames: slice
    blocks: list[FloatArray]
    rest: FloatArray


def add_dynamics(normal: Normal, problem: Problem, mb: Multibody, path: Path) -> list[Rows]:
    """The whole body is in balance, and torques are smooth. Returns the rows of the balance."""
    derivatives = inverse_dynamics_derivatives(mb, path.q, path.v, path.vdot, problem.wrenches, problem.wrench_links)
    tau = inverse_dynamics(mb, path.q, path.v, path.vdot, problem.wrenches, problem.wrench_links)
    needed = np.concatenate([np.arange(6), problem.torque_rows])
    parts = by_deviation(mb, path, *(part[:, needed] for part in derivatives))
    scale = problem.balanced[:, None] / problem.sizes.balance
    rest, step = -tau[:, :6] * scale, problem.knots.step
    balance = [part[:, :6] * scale[:, :, None] for part in parts]
    found = []
    for offset in range(step):
        frames = slice(offset, None, step)
        rows = Rows(frames, on_coefficients(problem, [part[frames] for part in balance], offset), rest[frames])
        normal.add_wide(0, rows.blocks, rows.rest)
        found.append(rows)
    if np.isfinite(problem.sizes.torque_nm) and len(problem.torque_rows):
        at_knots = on_coefficients(problem, [part[::step, 6:] for part in parts], 0)
        torques = tau[::step, problem.torque_rows]
        for rows_at, columns in problem.torque_groups:
            own = [np.ascontiguousarray(part[:, rows_at][:, :, columns]) for part in at_knots]
            _add_torques(normal, problem, own, torques[:, rows_at], rows_at, columns)
    return found


def on_coefficients(problem: Problem, parts: list[FloatArray], offset: int) -> list[FloatArray]:
    """Derivatives (count, m, nv) by the coefficients, of those by place, rate and acceleration of frames behind a knot."""
    place, rate, bend = parts
    weights = (weights[offset] for weights in problem.knots.weights)
    return [a * place + b * rate + c * bend for a, b, c in zip(*weights, strict=True) if a or b or c]


def _used(weights: FloatArray) -> FloatArray:
    return weights[:-1] if weights[-1] == 0.0 else weights


def _add_torques(
    normal: Normal,
    problem: Problem,
    rows: list[FloatArray],
    tau: FloatArray,
    rows_at: IntArray,
    columns: IntArray,
) -> None:
    """Second differences of torques from knot to knot are small where the torque is known at all three."""
    count = len(tau) - len(_SECOND) + 1
    at_knots = problem.torque_known[:: problem.knots.step, rows_at]
    known = np.logical_and.reduce([at_knots[i : i + count] for i in range(len(_SECOND))])
    loose = loosening(problem)[1 : 1 + count, None]
    scale = known / (problem.sizes.torque_nm * loose)
    wide = []
    for at in range(len(rows) + len(_SECOND) - 1):
        parts = [w * rows[at - i][i : i + count] for i, w in enumerate(_SECOND) if 0 <= at - i < len(rows)]
        wide.append(np.asarray(sum(parts)) * scale[:, :, None])
    rest = -sum(w * tau[i : i + count] for i, w in enumerate(_SECOND)) * scale
    normal.add_wide(0, wide, np.asarray(rest), columns)
