"""An imported model's torques against those of the tree of its bodies: two descriptions of one motion must agree."""

from __future__ import annotations

import numpy as np

from biodyn.processing.dynamics.actuated import ActuatedMotion
from biodyn.processing.dynamics.imported import OwnMotion
from biodyn.verification.consistency_check import ConsistencyCheck


def own_coordinates(actuated: ActuatedMotion, own: OwnMotion) -> tuple[ConsistencyCheck, ...]:
    """Check the power of the model's own coordinates, and its torques by the mass matrix.

    The same forces do the same work in every description of a motion (virtual power): torques of the model's coordinates times
    their rates are the torques of the bodies' joints times theirs, the residual of the root in both.
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
    return (
        ConsistencyCheck(
            "own-power",
            "Power of the model's own coordinates equals that of its bodies' joints",
            "sum of tau qdot (model) = sum of tau v (bodies)",
            "The torques of the model's coordinates, through its couplings, times their rates give the same power as the torques "
            "of the joints of its bodies below a floating root.",
            error,
            absolute,
            "W",
        ),
        ConsistencyCheck(
            "own-mass-matrix",
            "Mass matrix and bias forces give the same torques of the model's coordinates",
            "M(q) vdot + bias = tau",
            "The torques of the model's coordinates are its mass matrix times their accelerations plus the bias forces.",
            everywhere,
            float(own.proof * np.nanmax(np.abs(own.tau), initial=0.0)) if np.isfinite(own.tau).any() else float("nan"),
            "Nm or N",
        ),
    )
