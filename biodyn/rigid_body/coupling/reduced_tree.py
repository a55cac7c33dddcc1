"""Equations of motion of a floating tree in its independent coordinates.

    z = f(u),  v_z = G v_u,  vdot_z = G vdot_u + g          M_u = G^T M_z G,  tau_u = G^T tau_z

The free base is unchanged. A knee with a translation that depends on its angle then has one equation, and no constraint force
is needed.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.spatial.transform import Rotation

from biodyn.conventions import FloatArray, IntArray
from biodyn.errors import ModelError
from biodyn.geometry.rotations import continuous_quaternions
from biodyn.rigid_body.coupling.coordinate_functions import CoordinateMap
from biodyn.rigid_body.coupling.coupled_multibody import BLOCK, CoupledMultibody
from biodyn.rigid_body.dynamics import centre_of_mass, inverse_dynamics, mass_matrix
from biodyn.rigid_body.kinematics import (
    body_accelerations,
    body_poses,
    body_velocities,
    coordinate_rates,
    difference,
    integrate,
)
from biodyn.rigid_body.multibody import Body, Joint, Multibody

_FROM_SCIPY = [3, 0, 1, 2]  # x y z w -> w x y z


@dataclass(frozen=True, eq=False)
class FloatingTree:
    """Bodies of a coupled multibody with a free root.

    Attributes:
        coupled: the original multibody. multibody: the tree whose first body is the root, on a free joint.
        columns: (nv - 6,) indices, in the joint coordinates z of `coupled`, of the coordinates after the base.
    """

    coupled: CoupledMultibody
    multibody: Multibody
    columns: IntArray

    @property
    def root(self) -> str:
        """Name of the body that is the floating base."""
        return self.multibody.body_names[0]

    def motion(
        self, q: FloatArray, v: FloatArray, vdot: FloatArray, R_WG: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return q (T, nq), v, vdot (T, nv) of the floating tree for q, v, vdot (T, n) of the coupled multibody; NaN stays NaN.

        R_WG: (3, 3) rotation from the model's ground to World; None = identity.
        """
        mb = self.multibody
        known = np.isfinite(q).all(axis=1) & np.isfinite(v).all(axis=1) & np.isfinite(vdot).all(axis=1)
        result = np.full((len(q), mb.nq), np.nan), np.full((len(q), mb.nv), np.nan), np.full((len(q), mb.nv), np.nan)
        rows = np.flatnonzero(known)
        for start in range(0, len(rows), BLOCK):
            at = rows[start : start + BLOCK]
            for out, part in zip(result, self._floating_motion_of_block(q[at], v[at], vdot[at], R_WG), strict=True):
                out[at] = part
        if len(rows):
            result[0][rows, 3:7] = continuous_quaternions(result[0][rows, 3:7])
        return result

    def coupled_forces(self, q: FloatArray, tau: FloatArray) -> FloatArray:
        """Return the forces (T, n) along the coordinates of the coupled multibody for forces tau (T, nv) of the floating tree.

        Forces between root and ground are zero; the forces on the free base are omitted. NaN rows stay NaN.
        """
        forces = np.full_like(q, np.nan)
        rows = np.flatnonzero(np.isfinite(q).all(axis=1) & np.isfinite(tau).all(axis=1))
        beneath = np.zeros((len(rows), self.coupled.multibody.nv))
        beneath[:, self.columns] = tau[rows, 6:]
        layers, z = [], q[rows]
        for coordinate_map in self.coupled.layers:
            layers.append(coordinate_map.evaluate(z))
            z = layers[-1].z
        for layer in reversed(layers):
            beneath = layer.map_forces(beneath)
        forces[rows] = beneath
        return forces

    def _floating_motion_of_block(
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
    """Return the tree with a free root; None unless exactly one body is attached to ground.

    Bodies that are welded to ground, such as a platform or treadmill, do not count, unless other bodies are attached to them.
    """
    beneath = coupled.multibody
    loaded = {body.parent for body in beneath.bodies}
    welded = {
        body.name
        for body in beneath.bodies
        if body.parent is None and body.joint.kind == "weld" and body.name not in loaded
    }
    # attached to ground, directly or through the axes of one joint
    of_file = [body for body in beneath.bodies if "/" not in body.name and body.name not in welded]
    roots = [body for body in of_file if all("/" in name for name in _ancestors(beneath, body))]
    if len(roots) != 1:
        return None
    root = roots[0]
    before = _ancestors(beneath, root)
    afloat = replace(root, parent=None, joint=Joint("free"), R_PJ=np.eye(3), p_PJ=np.zeros(3), any_inertia=True)
    others = [body for body in beneath.bodies if body.name not in {root.name, *before, *welded}]
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


_BASE_Q, _BASE_V = 7, 6


@dataclass(frozen=True, eq=False)
class ReducedTree:
    """Floating tree with independent coordinates.

    Attributes:
        tree: the bodies with a free root. layers: coordinate maps from all independent coordinates of the model to its joints.
        names: names of the free coordinates. places: their indices among the independent coordinates.
        held: (n,) values of the independent coordinates; coordinates that are not free keep these values.
    """

    tree: FloatingTree
    layers: tuple[CoordinateMap, ...]
    names: tuple[str, ...]
    places: IntArray
    held: FloatArray

    @property
    def nq(self) -> int:
        """Number of position coordinates: seven for the base plus the free coordinates."""
        return _BASE_Q + len(self.names)

    @property
    def nv(self) -> int:
        """Number of speeds: six for the base plus the free coordinates."""
        return _BASE_V + len(self.names)

    @property
    def total_mass_kg(self) -> float:
        """Total mass of all bodies, kg."""
        return self.tree.multibody.total_mass_kg

    @property
    def gravity_W(self) -> tuple[float, float, float]:
        """Gravitational acceleration in World, m/s^2."""
        return self.tree.multibody.gravity_W

    @cached_property
    def _base(self) -> Multibody:
        return Multibody((Body("base", None, Joint("free"), mass_kg=1.0, inertia_com=np.eye(3)),))

    def tree_state(self, q: FloatArray, v: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return q and v of the floating tree for q (T, nq) and v (T, nv), with G (T, nz, nu) and the bias (T, nz)."""
        z = np.repeat(self.held[None], len(q), axis=0)
        z[:, self.places] = q[:, _BASE_Q:]
        zdot, zddot = np.zeros_like(z), np.zeros_like(z)
        zdot[:, self.places] = v[:, _BASE_V:]
        G = np.eye(len(self.held))[:, self.places]
        for coordinate_map in self.layers:
            layer = coordinate_map.evaluate(z, zdot)
            z = layer.z
            zdot = layer.map_speeds(zdot)
            zddot = layer.map_speeds(zddot) + layer.bias
            G = layer.jacobian() @ G
        columns = self.tree.columns
        at, speeds = np.hstack([q[:, :_BASE_Q], z[:, columns]]), np.hstack([v[:, :_BASE_V], zdot[:, columns]])
        return at, speeds, G[:, columns], zddot[:, columns]

    def tree_configuration(self, q: FloatArray) -> FloatArray:
        """Return the configuration of the floating tree for q (T, nq) of the reduced tree."""
        return self.tree_state(q, np.zeros((len(q), self.nv)))[0]

    def reduced_forces(self, forces: FloatArray, G: FloatArray) -> FloatArray:
        """Return the generalised forces (T, nv) for forces along the speeds of the floating tree."""
        reduced = (np.swapaxes(G, 1, 2) @ forces[:, _BASE_V:, None])[..., 0]
        return np.hstack([forces[:, :_BASE_V], reduced])

    def _reduced_inertia(self, M: FloatArray, G: FloatArray) -> FloatArray:
        """Return the mass matrix (T, nv, nv) of the reduced tree: G^T M G, where G is the identity for the speeds of the base."""
        right = np.concatenate([M[:, :, :_BASE_V], M[:, :, _BASE_V:] @ G], axis=2)
        return np.concatenate([right[:, :_BASE_V], np.swapaxes(G, 1, 2) @ right[:, _BASE_V:]], axis=1)

    def mass_matrix(self, q: FloatArray) -> FloatArray:
        """Return the mass matrix (T, nv, nv) along the speeds of the reduced tree."""
        at, _, G, _ = self.tree_state(q, np.zeros((len(q), self.nv)))
        return self._reduced_inertia(mass_matrix(self.tree.multibody, at), G)

    def forward_dynamics(
        self, q: FloatArray, v: FloatArray, tau: FloatArray, wrenches: FloatArray, bodies: IntArray
    ) -> FloatArray:
        """Return vdot (T, nv) for tau (T, nv) and wrenches (T, K, 6) about the world origin on the bodies (K,).

        The result is NaN if the mass matrix is not positive definite.
        """
        zq, zv, G, bias = self.tree_state(q, v)
        M = mass_matrix(self.tree.multibody, zq)
        accelerations = np.hstack([np.zeros((len(q), _BASE_V)), bias])
        force = tau - self.reduced_forces(
            inverse_dynamics(self.tree.multibody, zq, zv, accelerations, wrenches, bodies), G
        )
        vdot = np.full_like(tau, np.nan)
        for t, inertia in enumerate(self._reduced_inertia(M, G)):
            with suppress(LinAlgError):
                vdot[t] = cho_solve(cho_factor(inertia, check_finite=False), force[t], check_finite=False)
        return vdot

    def inverse_dynamics(
        self, q: FloatArray, v: FloatArray, vdot: FloatArray, wrenches: FloatArray, bodies: IntArray
    ) -> FloatArray:
        """Return the generalised forces tau (T, nv) for the motion and the wrenches (T, K, 6) on the bodies (K,)."""
        zq, zv, G, bias = self.tree_state(q, v)
        zdd = np.hstack([vdot[:, :_BASE_V], (G @ vdot[:, _BASE_V:, None])[..., 0] + bias])
        return self.reduced_forces(inverse_dynamics(self.tree.multibody, zq, zv, zdd, wrenches, bodies), G)

    def centre_of_mass(self, q: FloatArray) -> FloatArray:
        """Return the position (T, 3) m in World of the centre of mass of all bodies."""
        return centre_of_mass(self.tree.multibody, self.tree_configuration(q))

    def integrate(self, q: FloatArray, step: FloatArray) -> FloatArray:
        """Return the configurations q (T, nq) after steps (T, nv) along the speeds."""
        base = integrate(self._base, q[:, :_BASE_Q], step[:, :_BASE_V])
        return np.hstack([base, q[:, _BASE_Q:] + step[:, _BASE_V:]])

    def difference(self, q0: FloatArray, q1: FloatArray) -> FloatArray:
        """Return the steps (T, nv) along the speeds that lead from q0 to q1 (T, nq)."""
        q0, q1 = np.broadcast_arrays(q0, q1)
        base = difference(self._base, q0[:, :_BASE_Q], q1[:, :_BASE_Q])
        return np.hstack([base, q1[:, _BASE_Q:] - q0[:, _BASE_Q:]])

    def coordinate_rates(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Return the rates dq/dt (T, nq) for speeds v (T, nv)."""
        return np.hstack([coordinate_rates(self._base, q[:, :_BASE_Q], v[:, :_BASE_V]), v[:, _BASE_V:]])


def require_coordinate_rates(layers: tuple[CoordinateMap, ...]) -> None:
    """Raise ModelError if the speeds of a joint are not rates of its coordinates (ball and free joints between bodies)."""
    if any(layer.turning for layer in layers):
        raise ModelError(
            "The motion of this model cannot be replayed by forward dynamics, because the speeds of a ball or free "
            "joint are an angular velocity."
        )
