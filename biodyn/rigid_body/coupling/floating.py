"""A coupled multibody whose root floats: the same bodies below one free joint, and its motion in both descriptions.

The joints between root and ground are left out; what they did is the motion of the free root. The joints' own coordinates z stay,
so that every body, wrench and force is that of the coupled multibody.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from biodyn.conventions import FloatArray, IntArray
from biodyn.geometry.rotations import continuous_quaternions
from biodyn.rigid_body.coupling.coupled import BLOCK, CoupledMultibody
from biodyn.rigid_body.joint import Body, Joint
from biodyn.rigid_body.motion import body_accelerations, body_poses, body_velocities
from biodyn.rigid_body.multibody import Multibody

_FROM_SCIPY = [3, 0, 1, 2]  # x y z w -> w x y z


@dataclass(frozen=True, eq=False)
class FloatingTree:
    """The bodies of a coupled multibody below a free root.

    Attributes:
        coupled: the multibody it is made of. multibody: its first body is the root, on a free joint.
        columns: (nv - 6,) where in the joints' coordinates z of `coupled` the coordinates behind the base's stand.
    """

    coupled: CoupledMultibody
    multibody: Multibody
    columns: IntArray

    @property
    def root(self) -> str:
        """Name of the floating body."""
        return self.multibody.body_names[0]

    def motion(
        self, q: FloatArray, v: FloatArray, vdot: FloatArray, R_WG: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return q, v, vdot (T, nq), (T, nv) of the floating tree for those of the coupled one (T, n); NaN rows stay NaN.

        R_WG: (3, 3) turn from the model's ground to World; None = they are the same.
        """
        mb = self.multibody
        known = np.isfinite(q).all(axis=1) & np.isfinite(v).all(axis=1) & np.isfinite(vdot).all(axis=1)
        found = np.full((len(q), mb.nq), np.nan), np.full((len(q), mb.nv), np.nan), np.full((len(q), mb.nv), np.nan)
        rows = np.flatnonzero(known)
        for start in range(0, len(rows), BLOCK):
            at = rows[start : start + BLOCK]
            for out, part in zip(found, self._block(q[at], v[at], vdot[at], R_WG), strict=True):
                out[at] = part
        if len(rows):
            found[0][rows, 3:7] = continuous_quaternions(found[0][rows, 3:7])
        return found

    def own_forces(self, q: FloatArray, tau: FloatArray) -> FloatArray:
        """Return the forces (T, n) along the coordinates of the coupled multibody for forces tau (T, nv) of the floating tree.

        Nothing acts in the joints between root and ground: what the free base carries is left out. NaN rows stay NaN.
        """
        found = np.full_like(q, np.nan)
        rows = np.flatnonzero(np.isfinite(q).all(axis=1) & np.isfinite(tau).all(axis=1))
        beneath = np.zeros((len(rows), self.coupled.multibody.nv))
        beneath[:, self.columns] = tau[rows, 6:]
        passed, z = [], q[rows]
        for layer in self.coupled.layers:
            passed.append(layer.at(z))
            z = passed[-1].z
        for one in reversed(passed):
            beneath = one.forces(beneath)
        found[rows] = beneath
        return found

    def _block(
        self, q: FloatArray, v: FloatArray, vdot: FloatArray, R_WG: FloatArray | None
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        beneath = self.coupled.multibody
        root = beneath.body_index(self.root)
        z, zdot, zddot = self.coupled.motion(q, v, vdot)
        R, p = (part[:, root] for part in body_poses(beneath, z))
        if R_WG is not None:
            R, p = R_WG @ R, p @ R_WG.T
        quaternions = Rotation.from_matrix(R).as_quat(canonical=True)[:, _FROM_SCIPY]
        twist = body_velocities(beneath, z, zdot)[:, root]
        push = body_accelerations(beneath, z, zdot, zddot)[:, root]
        return (
            np.hstack([p, quaternions, z[:, self.columns]]),
            np.hstack([twist, zdot[:, self.columns]]),
            np.hstack([push, zddot[:, self.columns]]),
        )


def floating_tree(coupled: CoupledMultibody) -> FloatingTree | None:
    """Return the bodies below a free root; None where not one body alone hangs on ground (axes have a '/' in their names)."""
    beneath = coupled.multibody
    roots = _first_bodies(beneath)
    if len(roots) != 1:
        return None
    root = beneath.bodies[beneath.body_index(roots[0])]
    before = _ancestors(beneath, root)
    afloat = Body(
        root.name,
        None,
        Joint("free"),
        np.eye(3),
        np.zeros(3),
        root.mass_kg,
        root.com_m,
        root.inertia_com,
        any_inertia=True,
    )
    others = [body for body in beneath.bodies if body.name != root.name and body.name not in before]
    if any(body.parent is None or body.parent in before for body in others):
        return None
    tree = Multibody((afloat, *others), beneath.gravity_W)
    columns = [beneath.v_slice(body.name).start for body in tree.bodies[1:] for _ in range(body.joint.nv)]
    return FloatingTree(coupled, tree, np.array(columns, dtype=np.int64))


def _ancestors(mb: Multibody, body: Body) -> set[str]:
    found: set[str] = set()
    while body.parent is not None:
        found.add(body.parent)
        body = mb.bodies[mb.body_index(body.parent)]
    return found


def _first_bodies(mb: Multibody) -> list[str]:
    """Bodies that hang on ground, through the axes of one joint alone or directly."""
    found = []
    for body in mb.bodies:
        if "/" in body.name:
            continue
        if all("/" in name for name in _ancestors(mb, body)):
            found.append(body.name)
    return found
