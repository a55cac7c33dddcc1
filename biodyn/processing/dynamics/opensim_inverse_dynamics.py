"""Joint loads of an OpenSim model: torques of its coordinates, moments and forces of its joints, and the residual."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from biodyn.conventions import BoolArray, FloatArray, Side
from biodyn.model.from_osim.imported_model import ImportedModel
from biodyn.processing.dynamics.inverse_dynamics import Dynamics, KnownLoads, distal_feet, mask_unknown_dynamics
from biodyn.processing.kinematics.skeleton_fit import Fit, mark_ends
from biodyn.recording import GroundReaction, Motion
from biodyn.rigid_body import InverseKinematics, inverse_dynamics_with_joint_wrenches


@dataclass(frozen=True, eq=False)
class ModelMotion:
    """Motion of a model in its coordinates, and its torques.

    Attributes:
        names, rotational: names of the n coordinates in the order of the model, and whether each is a rotation. q, v, vdot,
            tau: (T, n) rad, m, Nm, N; NaN if unknown.
        proof: largest difference between tau and mass matrix times acceleration plus bias, relative to the largest torque.
        R_WG: rotation (3, 3) from the model's ground to World.
    """

    names: tuple[str, ...]
    rotational: tuple[bool, ...]
    q: FloatArray
    v: FloatArray
    vdot: FloatArray
    tau: FloatArray
    proof: float
    R_WG: FloatArray = field(default_factory=lambda: np.eye(3))

    def coordinate_columns(self, model: ImportedModel) -> list[int]:
        """Return the column indices of the coordinates of a body model among all coordinates of the motion."""
        return [self.names.index(c.name) for c in model.coordinates]


def fit_from_model_motion(
    model: ImportedModel,
    motion: ModelMotion,
    time_s: FloatArray,
    edge_s: float,
    labels: tuple[str, ...] = (),
    solution: InverseKinematics | None = None,
) -> Fit:
    """Return the motion of a model as a fit of its bodies.

    time_s: (T,) s, evenly spaced. edge_s: time from the ends of a stretch within which accelerations are unreliable. labels,
    solution: tracked markers and their fit; () and None for given coordinates.
    """
    q, v, vdot = model.tree.motion(motion.q, motion.v, motion.vdot, motion.R_WG)
    solved: BoolArray = np.asarray(np.isfinite(q).all(axis=1))
    rate_hz = (len(time_s) - 1) / float(time_s[-1] - time_s[0])
    unknown = ["" if pose else "the motion of the model is unknown" for pose in solved]
    why = mark_ends(unknown, solved, rate_hz, edge_s, "motion")
    columns = motion.coordinate_columns(model)
    count = len(time_s)
    return Fit(
        labels=labels,
        marker_error=np.empty((count, 0)) if solution is None else solution.marker_error,
        solved=solved,
        reliable=np.array([not text for text in why]),
        reason=tuple(why),
        lost=np.zeros((count, len(columns)), dtype=np.bool_),
        status=np.zeros(count, dtype=np.int64) if solution is None else solution.status,
        iterations=np.zeros(count, dtype=np.int64) if solution is None else solution.iterations,
        motion=Motion(time_s, q, v, vdot),
        configurations=q,
        model=model,
        states=(motion.q[:, columns], motion.v[:, columns]),
    )


def solve_model_dynamics(
    fit: Fit,
    motion: ModelMotion,
    reaction: GroundReaction,
    wrenches: FloatArray,
    bodies: Sequence[int],
    covered: BoolArray,
) -> Dynamics:
    """Return torques, joint loads and the residual of an OpenSim model.

    Parameters:
        wrenches: all external loads (T, K, 6) about the world origin, in World, on the `bodies` (K,) of the model's tree.
        covered: (T, n) bool, True if the measured loads determine the torque of the coordinate.
    """
    model = fit.model
    assert isinstance(model, ImportedModel)
    known, rows, tree_motion = fit.reliable, fit.solved, fit.motion
    forces, links = np.nan_to_num(wrenches), np.asarray(bodies, dtype=np.int64)
    tau = np.full_like(tree_motion.v, np.nan)
    transmitted = np.full((len(tau), len(model.multibody.body_names), 6), np.nan)
    tau[rows], transmitted[rows] = inverse_dynamics_with_joint_wrenches(
        model.multibody, tree_motion.q[rows], tree_motion.v[rows], tree_motion.vdot[rows], forces[rows], links
    )
    tau[~known] = np.nan
    sides: list[Side] = [side for side in reaction.wrench if side in model.sole_body]
    valid_body = {
        name: np.logical_and.reduce([known, *(reaction.measured[side] for side in feet)])
        for name, feet in distal_feet(model, sides).items()
    }
    columns = motion.coordinate_columns(model)
    of_model = motion.tau[:, columns]
    valid = np.stack([valid_body[c.body] for c in model.coordinates] or [known], axis=1)[:, : len(columns)]
    torque_valid = covered[:, columns] & np.isfinite(of_model) & valid
    all_known = np.logical_and.reduce([known, *(reaction.balanced_frames(side) for side in sides)])
    # no residual exists without forces
    balanced = all_known & covered.all(axis=1) & (model.is_free and len(links) > 0)
    loads = KnownLoads(links, forces, balanced, torque_valid, valid_body)
    return mask_unknown_dynamics(fit, reaction, loads, tau, np.where(torque_valid, of_model, np.nan), transmitted)
