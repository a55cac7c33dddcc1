"""Loads as people have them, made into what the algorithms take: wrenches about the world origin, passive forces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from biodyn.conventions import FloatArray, IntArray
from biodyn.rigid_body.frames import checked, state
from biodyn.rigid_body.motion import body_poses, difference
from biodyn.rigid_body.multibody import Multibody


def wrenches_at_points(points: ArrayLike, forces: ArrayLike, moments: ArrayLike | None = None) -> FloatArray:
    """Return wrenches (T, K, 6) about the world origin of forces (T, K, 3) N at points (T, K, 3) m, world axes.

    moments: (T, K, 3) N m, free moments besides.
    """
    p = checked(points, (None, None, 3), "points")
    f = checked(forces, (p.shape[0], p.shape[1], 3), "forces")
    free = np.zeros_like(p) if moments is None else checked(moments, (p.shape[0], p.shape[1], 3), "moments")
    return np.concatenate([free + np.cross(p, f), f], axis=2)


def wrenches_of_bodies(
    mb: Multibody, q: ArrayLike, wrenches: ArrayLike, bodies: Sequence[int] | IntArray
) -> FloatArray:
    """Return wrenches (T, K, 6) about the world origin of wrenches given about body origins in body axes.

    q (T, nq); wrenches (T, K, 6), [moment; force], the k-th in the frame of bodies[k].
    """
    index = np.asarray(bodies, dtype=np.int64)
    R_WB, p_WB = body_poses(mb, q)
    given = checked(wrenches, (R_WB.shape[0], len(index), 6), "wrenches")
    force = np.einsum("tkij,tkj->tki", R_WB[:, index], given[..., 3:])
    moment = np.einsum("tkij,tkj->tki", R_WB[:, index], given[..., :3])
    return wrenches_at_points(p_WB[:, index], force, moment)


@dataclass(frozen=True)
class Passive:
    """Dampers and springs in the joints.

    Attributes:
        damping: (nv,) N m s/rad or N s/m, force -damping v.
        stiffness: (nv,) N m/rad or N/m, force stiffness (q_rest - q), differences as by `difference`.
        q_rest: (nq,) where the springs are slack.
    """

    damping: ArrayLike | None = None
    stiffness: ArrayLike | None = None
    q_rest: ArrayLike | None = None

    def forces(self, mb: Multibody, q: ArrayLike, v: ArrayLike) -> FloatArray:
        """Return the generalised forces (T, nv) of the dampers and springs at q (T, nq), v (T, nv)."""
        positions, rates = state(mb, q, v=v)
        result = np.zeros_like(rates)
        if self.damping is not None:
            result -= checked(self.damping, (mb.nv,), "damping") * rates
        if self.stiffness is not None:
            rest = checked(mb.neutral() if self.q_rest is None else self.q_rest, (mb.nq,), "q_rest")
            result += checked(self.stiffness, (mb.nv,), "stiffness") * difference(mb, positions, rest[None])
        return result
