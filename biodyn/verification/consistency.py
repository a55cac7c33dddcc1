"""Consistency checks: the torques of every frame against algorithms other than the one that computed them.

The torques come from the recursive Newton-Euler algorithm. They are put into the articulated-body algorithm (which must
give the accelerations back), compared with the composite-rigid-body mass matrix, and with forces, moments and powers that
plain Newton-Euler sums over the segments in world axes give (`segments.py`, which shares nothing with the recursion).
Arithmetic that holds says that the equations of motion were solved, not that markers, inertias or plates are right.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.geometry.rotations import apply, cross
from biodyn.processing.dynamics.actuated import ActuatedMotion
from biodyn.processing.dynamics.imported import OwnMotion
from biodyn.processing.kinematics.segments import SegmentForces, SegmentMotion, segment_forces, segment_motion
from biodyn.rigid_body import bias_forces, forward_dynamics, mass_matrix
from biodyn.verification.consistency_check import Consistency, ConsistencyCheck, consistent_motion
from biodyn.verification.own_coordinates import own_coordinates

# A coordinate that hardly carries anything is not compared with its own noise but with this share of the largest one.
_SMALLEST_SCALE = 1e-3


def verify(actuated: ActuatedMotion, own: OwnMotion | None = None) -> Consistency:
    """Make every check in every frame with known motion and forces.

    own: the same motion in the coordinates of an imported model: its torques are checked against those of the tree. Velocity
    and acceleration are not compared with the path then: they belong to the curves of those coordinates, not of the tree's.
    """
    mb, known = actuated.multibody, actuated.known
    q, v, vdot, tau = actuated.q[known], actuated.v[known], actuated.vdot[known], actuated.tau[known]
    wrenches = actuated.wrenches[known]
    check = _Checker(known)
    inertial = apply(mass_matrix(mb, q), vdot)
    bias = bias_forces(mb, q, v, wrenches, actuated.wrench_bodies)
    torque_size = np.abs(inertial) + np.abs(bias)
    motion = segment_motion(mb, q, v, vdot)
    forces = segment_forces(mb, motion)
    path = (consistent_motion(actuated),) if own is None else own_coordinates(actuated, own)
    return Consistency(
        (
            *path,
            _accelerations(check, actuated, q, v, vdot, tau, wrenches),
            _mass_matrix(check, inertial + bias - tau, torque_size),
            *_segments(check, actuated, motion, forces, tau, wrenches, torque_size),
            _power(check, actuated, motion, forces, v, tau, wrenches),
        )
    )


@dataclass(frozen=True)
class _Checker:
    """Turns differences of the known frames into a ConsistencyCheck over all frames."""

    known: np.ndarray

    def __call__(
        self, code: str, title: str, equation: str, words: str, difference: FloatArray, scale: FloatArray, unit: str
    ) -> ConsistencyCheck:
        """difference: (n, k) of the known frames; scale: (k,) what each column is relative to."""
        error = np.full(len(self.known), np.nan)
        absolute = float("nan")
        if len(difference):
            # Not nanmax: a NaN among known frames is a failure, shown as an infinite error.
            size = np.nan_to_num(np.abs(difference), nan=np.inf)
            error[self.known] = (size / scale).max(axis=1)
            absolute = float(size.max())
        return ConsistencyCheck(code, title, equation, words, error, absolute, unit)


def _accelerations(
    check: _Checker,
    actuated: ActuatedMotion,
    q: FloatArray,
    v: FloatArray,
    vdot: FloatArray,
    tau: FloatArray,
    wrenches: FloatArray,
) -> ConsistencyCheck:
    mb = actuated.multibody
    found = forward_dynamics(mb, q, v, tau, wrenches, actuated.wrench_bodies)
    # At rest nothing accelerates, but gravity would: the natural size, over a lever of 1 m for angles.
    scale = np.maximum(np.abs(vdot).max(axis=0, initial=0.0), np.linalg.norm(mb.gravity_W) or 1.0)
    return check(
        "forward-dynamics",
        "Forward dynamics returns the accelerations",
        "ABA(q, v, tau) = vdot",
        "The articulated-body algorithm, given the recorded torques and ground wrenches, returns the accelerations "
        "they were computed from.",
        found - vdot,
        scale,
        "rad/s² or m/s²",
    )


def _mass_matrix(check: _Checker, difference: FloatArray, size: FloatArray) -> ConsistencyCheck:
    return check(
        "mass-matrix",
        "The mass matrix gives the same torques",
        "CRBA(q) vdot + bias(q, v) = tau",
        "The mass matrix of the composite-rigid-body algorithm times the accelerations, with the forces that remain at "
        "zero acceleration, gives the recorded torques.",
        difference,
        _scale(size),
        "Nm or N",
    )


def _segments(
    check: _Checker,
    actuated: ActuatedMotion,
    motion: SegmentMotion,
    forces: SegmentForces,
    tau: FloatArray,
    wrenches: FloatArray,
    torque_size: FloatArray,
) -> tuple[ConsistencyCheck, ConsistencyCheck]:
    """The residual from the momentum of the whole body, and every torque from the momentum of the segments beyond it."""
    mb = actuated.multibody
    demand = forces.inertial - forces.weight
    p_root, R_root = motion.p_WB[:, 0], motion.R_WB[:, 0]
    pieces = (forces.inertial, forces.weight, wrenches)
    size = sum(np.abs(about(p_root[:, None], piece)).sum(axis=1) for piece in pieces)
    for k, body in enumerate(actuated.wrench_bodies):
        demand[:, body] -= wrenches[:, k]
    whole = about(p_root, demand.sum(axis=1))
    recorded = np.concatenate([apply(R_root, tau[:, :3]), apply(R_root, tau[:, 3:6])], axis=1)
    residual = check(
        "momentum",
        "Rate of whole-body momentum equals gravity, GRF and residual",
        "residual = d(momentum)/dt - gravity - ground wrench",
        "The rate of the whole body's linear and angular momentum, summed over the segments in world axes, less gravity "
        "and the measured ground wrench, is the recorded residual at the root.",
        whole - recorded,
        _scale(np.asarray(size)),
        "Nm or N",
    )
    for i in range(len(mb.bodies) - 1, 0, -1):  # parents stand before their children
        demand[:, mb.parents[i]] += demand[:, i]
    found = tau.copy()
    for i, body in enumerate(mb.bodies):
        if body.joint.axis is None:
            continue
        column = mb.v_slice(body.name).start
        part = slice(0, 3) if body.joint.kind == "revolute" else slice(3, 6)
        found[:, column] = np.sum(motion.axes[:, i] * about(motion.p_WB[:, i], demand[:, i])[:, part], axis=1)
    joints = check(
        "free-bodies",
        "Each torque balances the segments distal to its joint",
        "axis · (sum of d(momentum)/dt - gravity - ground) = tau",
        "For every coordinate, the segments distal to the joint, as one free body, require the recorded torque about "
        "its axis.",
        (found - tau)[:, 6:],
        _scale(torque_size[:, 6:]),
        "Nm",
    )
    return residual, joints


def _power(
    check: _Checker,
    actuated: ActuatedMotion,
    motion: SegmentMotion,
    forces: SegmentForces,
    v: FloatArray,
    tau: FloatArray,
    wrenches: FloatArray,
) -> ConsistencyCheck:
    joints = tau * v
    ground = np.zeros((len(v), 0))
    if len(actuated.wrench_bodies):
        bodies = actuated.wrench_bodies
        omega = motion.omega[:, bodies]
        at_origin = motion.velocity[:, bodies] - cross(omega, motion.p_WB[:, bodies])
        ground = np.sum(wrenches[..., :3] * omega + wrenches[..., 3:] * at_origin, axis=-1)
    supplied = joints.sum(axis=1) + ground.sum(axis=1)
    size = np.abs(joints).sum(axis=1) + np.abs(ground).sum(axis=1) + np.abs(forces.energy_rate).sum(axis=1)
    return check(
        "power",
        "Power equals the rate of mechanical energy",
        "sum of joint powers + ground power + residual power = dE/dt",
        "The powers of all joint torques, of the ground wrenches and of the residual add up to the rate of the "
        "segments' kinetic and potential energy.",
        (supplied - forces.energy_rate.sum(axis=1))[:, None],
        _scale(size[:, None]),
        "W",
    )


def about(point: FloatArray, wrench: FloatArray) -> FloatArray:
    """Carry wrenches [moment; force] (..., 6) from the world origin to points (..., 3) m."""
    return np.concatenate([wrench[..., :3] - cross(point, wrench[..., 3:]), wrench[..., 3:]], axis=-1)


def _scale(size: FloatArray) -> FloatArray:
    """What each column (n, k) is relative to: the largest sum of magnitudes that cancel in it."""
    largest = size.max(axis=0, initial=0.0)
    return np.maximum(largest, _SMALLEST_SCALE * largest.max(initial=0.0) or 1.0)
