"""Consistency checks: the torques of every frame are compared with independent algorithms.

The torques are computed by the recursive Newton-Euler algorithm. They are checked by the articulated-body algorithm (which must
return the accelerations), by the composite-rigid-body mass matrix, and by forces, moments and powers from Newton-Euler sums
over the segments in world axes (`segments.py`, which is independent of the recursion). Passed checks show that the equations of
motion were solved, not that markers, inertias or plates are correct.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from biodyn.conventions import BoolArray, FloatArray, IntArray
from biodyn.geometry.rotations import cross, rotate_vectors
from biodyn.library.toml_files import load_table
from biodyn.processing.dynamics.actuated_motion import ActuatedMotion
from biodyn.processing.dynamics.opensim_inverse_dynamics import ModelMotion
from biodyn.processing.kinematics.skeleton_tracking import SegmentMotion, segment_forces, segment_motion
from biodyn.processing.signals.derivatives import fit_configuration_spline
from biodyn.rigid_body import Multibody, bias_forces, difference, forward_dynamics, mass_matrix

#: Largest relative error. Each operation in double precision has an error of 1e-16; solving for the accelerations multiplies
# it by
#: the condition number of the mass matrix, up to about 1e6 (trunk against wrist).
RELATIVE_LIMIT = 1e-9
# Error of finite differences: at most (h / frame time)^3 at frames, where the fifth derivative of the curve jumps, and rounding
# errors proportional to 1 / h. At this step the former is 3e-8 of the largest rate, the latter is smaller.
_DIFFERENCE_LIMIT = 1e-6


@dataclass(frozen=True)
class ConsistencyCheck:
    """One equation, checked in every frame.

    Attributes:
        code: stable short name.
        error: (T,) largest relative error of each frame, NaN if it could not be checked.
        absolute: largest error in the unit of the check.
        limit: largest acceptable relative error.
    """

    code: str
    error: FloatArray
    absolute: float
    limit: float = RELATIVE_LIMIT

    @property
    def texts(self) -> dict[str, str]:
        """Title, equation, words and unit for reports."""
        texts: dict[str, str] = load_table("checks/consistency")[self.code]
        return texts

    @property
    def frames(self) -> int:
        """Number of frames checked."""
        return int(np.isfinite(self.error).sum())

    @property
    def largest_error(self) -> float:
        """Largest relative error; NaN if no frame was checked."""
        return float(np.nanmax(self.error)) if self.frames else float("nan")

    @property
    def worst_frame(self) -> int | None:
        """Frame of the largest error (0-based)."""
        return int(np.nanargmax(self.error)) if self.frames else None

    @property
    def holds(self) -> bool | None:
        """Whether the largest error is within the limit; None if no frame was checked."""
        return bool(self.largest_error <= self.limit) if self.frames else None

    @property
    def sentence(self) -> str:
        """The result in one sentence."""
        texts = self.texts
        if not self.frames:
            return f"{texts['title']}: no frame has torques, so nothing could be checked."
        verdict = "holds" if self.holds else "DOES NOT hold"
        return (
            f"{texts['words']} This {verdict} in {self.frames} frames: largest relative error {self.largest_error:.1e} "
            f"(limit {self.limit:.0e}), {self.absolute:.1e} {texts['unit']}, in frame {self.worst_frame}."
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the attributes as plain values, without the errors of single frames."""
        return {
            "code": self.code,
            "title": self.texts["title"],
            "equation": self.texts["equation"],
            "holds": self.holds,
            "relative_error": self.largest_error,
            "limit": self.limit,
            "absolute_error": self.absolute,
            "unit": self.texts["unit"],
            "frames": self.frames,
            "worst_frame": self.worst_frame,
            "text": self.sentence,
        }


@dataclass(frozen=True)
class Consistency:
    """All consistency checks of a trial."""

    checks: tuple[ConsistencyCheck, ...]

    @property
    def holds(self) -> bool:
        """Whether all checks were made and passed."""
        return all(check.holds is True for check in self.checks)

    def as_dict(self) -> dict[str, Any]:
        """Return the checks as plain values: the entry "proof" of `run.json`."""
        return {"holds": self.holds, "identities": [check.as_dict() for check in self.checks]}


_FRAMES_AT_ONCE = 1024


def _blocks(first: int, stop: int) -> list[slice]:
    """Split the frames first .. stop - 1 into blocks, because the motion of several minutes would fill the memory."""
    return [slice(low, min(low + _FRAMES_AT_ONCE, stop)) for low in range(first, stop, _FRAMES_AT_ONCE)]


def check_path_derivatives(actuated: ActuatedMotion) -> ConsistencyCheck:
    """Check v and vdot against differences of configurations and velocities along the curve between the frames.

    The other checks assume that v and vdot are correct; this one detects a velocity that does not match the path, or a spatial
    acceleration mistaken for a classical one.
    """
    # Fourth-order central difference: f'(0) = (8 (f(h) - f(-h)) - (f(2h) - f(-2h))) / 12h.
    reach = 2
    step_share = 0.003  # h as a share of the time between frames
    mb = actuated.multibody
    error = np.full(len(actuated.time_s), np.nan)
    known = actuated.known
    h = step_share / actuated.rate_hz
    scales = [np.maximum(np.abs(x[known]).max(axis=0, initial=0.0), 1.0) for x in (actuated.v, actuated.vdot)]
    absolute = 0.0
    for first, stop, start, end in actuated.known_stretches():
        curve = fit_configuration_spline(actuated.time_s[first:stop], actuated.q[first:stop])
        # the stencil needs the curve on both sides
        for block in _blocks(max(start, first + 1), min(end, stop - 1)):
            around = {k: curve(actuated.time_s[block] + k * h) for k in (-reach, -1, 1, reach)}
            steps = {k: difference(mb, actuated.q[block], q) for k, (q, _, _) in around.items()}
            rates = {k: v for k, (_, v, _) in around.items()}
            result = [(8.0 * (f[1] - f[-1]) - (f[reach] - f[-reach])) / (12.0 * h) for f in (steps, rates)]
            gaps = [np.abs(result[0] - actuated.v[block]), np.abs(result[1] - actuated.vdot[block])]
            error[block] = np.maximum(*((gap / scale).max(axis=1) for gap, scale in zip(gaps, scales, strict=True)))
            absolute = max(absolute, *(float(gap.max(initial=0.0)) for gap in gaps))
    return ConsistencyCheck("motion", error, absolute, _DIFFERENCE_LIMIT)


# -- torques of an imported model against the tree of its bodies -----------------------------------------------


def check_model_coordinates(actuated: ActuatedMotion, own: ModelMotion) -> tuple[ConsistencyCheck, ...]:
    """Check the power in the coordinates of the imported model, and its torques by the mass matrix.

    Forces have the same power in all coordinates: torques of the model's coordinates times their rates equal the joint torques
    of the tree times the joint rates, each with the residual of the root.
    """
    known = actuated.known & np.isfinite(own.tau).all(axis=1)
    error = np.full(len(known), np.nan)
    absolute = float("nan")
    if known.any():
        ours, theirs = own.tau[known] * own.v[known], actuated.tau[known] * actuated.v[known]
        difference = np.abs(ours.sum(axis=1) - theirs.sum(axis=1))
        size = np.maximum(np.abs(ours).sum(axis=1), np.abs(theirs).sum(axis=1))
        error[known] = difference / max(float(size.max()), 1e-12)
        absolute = float(difference.max())
    everywhere = np.where(np.isfinite(own.tau).all(axis=1), own.proof, np.nan)
    largest = float(own.proof * np.nanmax(np.abs(own.tau), initial=0.0)) if np.isfinite(own.tau).any() else float("nan")
    return (ConsistencyCheck("own-power", error, absolute), ConsistencyCheck("own-mass-matrix", everywhere, largest))


# -- all checks ---------------------------------------------------------------------------------------------------------


def check_consistency(actuated: ActuatedMotion, own: ModelMotion | None = None) -> Consistency:
    """Run every check in all frames with known motion and forces.

    own: the same motion in the coordinates of an imported model; its torques are checked against the tree. Velocity
    and acceleration are then not compared with the path, because they belong to the curves of the model's coordinates.
    """
    path = (check_path_derivatives(actuated),) if own is None else check_model_coordinates(actuated, own)
    known = actuated.known
    rows = np.flatnonzero(known)
    parts = [_equation_errors(actuated, rows[block]) for block in _blocks(0, max(len(rows), 1))]
    return Consistency((*path, *(_combine_check(code, [part[code] for part in parts], known) for code in parts[0])))


#: Error of an equation in some frames (n, k), the largest sum of magnitudes of its terms (k,), and the smallest scale of the
#: relative error, so that a column is not compared with its own noise; None = a small share of the largest column.
_Difference: TypeAlias = tuple[FloatArray, FloatArray, float | None]


def _combine_check(code: str, parts: Sequence[_Difference], known: BoolArray) -> ConsistencyCheck:
    """Return the check `code` over all frames (T,) from its errors in the known frames."""
    # errors of a coordinate with a small load are relative to this share of the largest load, not to noise
    smallest_scale = 1e-3
    error = np.full(len(known), np.nan)
    absolute = float("nan")
    residual, largest = np.concatenate([left for left, _, _ in parts]), np.max([most for _, most, _ in parts], axis=0)
    least = parts[0][2]
    if least is None:
        least = smallest_scale * largest.max(initial=0.0) or 1.0
    if len(residual):
        # Not nanmax: a NaN among known frames is a failure, shown as an infinite error.
        size = np.nan_to_num(np.abs(residual), nan=np.inf)
        error[known] = (size / np.maximum(largest, least)).max(axis=1)
        absolute = float(size.max())
    return ConsistencyCheck(code, error, absolute)


def _equation_errors(actuated: ActuatedMotion, rows: IntArray) -> dict[str, _Difference]:
    """Return the errors of every equation in the frames `rows`, by code."""
    mb, bodies = actuated.multibody, actuated.wrench_bodies
    q, v, vdot, tau = actuated.q[rows], actuated.v[rows], actuated.vdot[rows], actuated.tau[rows]
    wrenches = actuated.wrenches[rows]
    inertial = rotate_vectors(mass_matrix(mb, q), vdot)
    bias = bias_forces(mb, q, v, wrenches, bodies)
    torque_size = _column_maxima(np.abs(inertial) + np.abs(bias))
    motion = segment_motion(mb, q, v, vdot)
    inertial_W, weight_W, energy_rate = segment_forces(mb, motion)
    demand = inertial_W - weight_W
    for k, body in enumerate(bodies):
        demand[:, body] -= wrenches[:, k]
    return {
        # natural scale at rest: the acceleration of gravity, over a lever arm of 1 m for angles
        "forward-dynamics": (
            forward_dynamics(mb, q, v, tau, wrenches, bodies) - vdot,
            _column_maxima(np.abs(vdot)),
            float(np.linalg.norm(mb.gravity_W)) or 1.0,
        ),
        "mass-matrix": (inertial + bias - tau, torque_size, None),
        "momentum": _whole_body_error(motion, (inertial_W, weight_W, wrenches), demand, tau),
        "free-bodies": ((_torques_from_distal_wrenches(mb, motion, demand, tau) - tau)[:, 6:], torque_size[6:], None),
        "power": _power_error(bodies, motion, energy_rate, v, tau, wrenches),
    }


def _whole_body_error(
    motion: SegmentMotion, pieces: Sequence[FloatArray], demand: FloatArray, tau: FloatArray
) -> _Difference:
    """Return the difference between the residual and the sum of the required segment wrenches `demand` (n, B, 6), and its
    scale: the sum of the magnitudes of `pieces`."""
    p_root, R_root = motion.p_WB[:, 0], motion.R_WB[:, 0]
    size = sum(np.abs(shift_wrench(p_root[:, None], piece)).sum(axis=1) for piece in pieces)
    recorded = np.concatenate([rotate_vectors(R_root, tau[:, :3]), rotate_vectors(R_root, tau[:, 3:6])], axis=1)
    return shift_wrench(p_root, demand.sum(axis=1)) - recorded, _column_maxima(np.asarray(size)), None


def _torques_from_distal_wrenches(
    mb: Multibody, motion: SegmentMotion, demand: FloatArray, tau: FloatArray
) -> FloatArray:
    """Return torques (n, nv) from the wrenches (n, B, 6) of the segments distal to each joint; other joints unchanged."""
    demand, result = demand.copy(), tau.copy()
    for i in range(len(mb.bodies) - 1, 0, -1):  # parents precede their children
        demand[:, mb.parents[i]] += demand[:, i]
    for i, body in enumerate(mb.bodies):
        if body.joint.axis is None:
            continue
        column = mb.v_slice(body.name).start
        part = slice(0, 3) if body.joint.kind == "revolute" else slice(3, 6)
        result[:, column] = np.sum(motion.axes[:, i] * shift_wrench(motion.p_WB[:, i], demand[:, i])[:, part], axis=1)
    return result


def _power_error(
    bodies: IntArray,
    motion: SegmentMotion,
    energy_rate: FloatArray,
    v: FloatArray,
    tau: FloatArray,
    wrenches: FloatArray,
) -> _Difference:
    joints = tau * v
    ground = np.zeros((len(v), 0))
    if len(bodies):
        omega = motion.omega[:, bodies]
        at_origin = motion.velocity[:, bodies] - cross(omega, motion.p_WB[:, bodies])
        ground = np.sum(wrenches[..., :3] * omega + wrenches[..., 3:] * at_origin, axis=-1)
    supplied = joints.sum(axis=1) + ground.sum(axis=1)
    size = np.abs(joints).sum(axis=1) + np.abs(ground).sum(axis=1) + np.abs(energy_rate).sum(axis=1)
    return (supplied - energy_rate.sum(axis=1))[:, None], _column_maxima(size[:, None]), None


def shift_wrench(point: FloatArray, wrench: FloatArray) -> FloatArray:
    """Shift wrenches [moment; force] (..., 6) from the world origin to points (..., 3) m."""
    return np.concatenate([wrench[..., :3] - cross(point, wrench[..., 3:]), wrench[..., 3:]], axis=-1)


def _column_maxima(size: FloatArray) -> FloatArray:
    """Return the largest value of each column (n, k); 0 without frames."""
    return np.asarray(size.max(axis=0, initial=0.0))
