"""The equations of motion of a floating tree in the coordinates that no coupling ties: what moves freely, and nothing else.

    z = f(u),  v_z = G v_u,  vdot_z = G vdot_u + g          M_u = G^T M_z G,  tau_u = G^T tau_z

with the free base as it is. A knee whose shift hangs on its angle has one equation then, and no constraint force is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from biodyn.conventions import FloatArray, IntArray
from biodyn.errors import ModelError
from biodyn.rigid_body.coupling.floating import FloatingTree
from biodyn.rigid_body.coupling.maps import CoordinateMap
from biodyn.rigid_body.dynamics import bias_forces, inverse_dynamics
from biodyn.rigid_body.joint import Body, Joint
from biodyn.rigid_body.motion import body_poses, difference, integrate
from biodyn.rigid_body.multibody import Multibody
from biodyn.rigid_body.simulation import coordinate_rates
from biodyn.rigid_body.whole_body import centre_of_mass, mass_matrix

_BASE_Q, _BASE_V = 7, 6


@dataclass(frozen=True, eq=False)
class ReducedTree:
    """A floating tree reached through the coordinates that are free.

    Attributes:
        tree: the bodies below a free root. layers: from all independent coordinates of the model down to its joints.
        names: of the free coordinates. places: of them among the independent ones. held: (n,) values of all independent ones;
            those that are not free keep it.
    """

    tree: FloatingTree
    layers: tuple[CoordinateMap, ...]
    names: tuple[str, ...]
    places: IntArray
    held: FloatArray

    @property
    def nq(self) -> int:
        """Number of position coordinates: seven of the base, then the free ones."""
        return _BASE_Q + len(self.names)

    @property
    def nv(self) -> int:
        """Number of speeds: six of the base, then the free ones'."""
        return _BASE_V + len(self.names)

    @property
    def total_mass_kg(self) -> float:
        """Mass of all bodies, kg."""
        return self.tree.multibody.total_mass_kg

    @property
    def gravity_W(self) -> tuple[float, float, float]:
        """Gravity, m/s^2."""
        return self.tree.multibody.gravity_W

    @cached_property
    def _base(self) -> Multibody:
        return Multibody((Body("base", None, Joint("free"), mass_kg=1.0, inertia_com=np.eye(3)),))

    def _beneath(self, q: FloatArray, v: FloatArray | None = None) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return z (T, nz) of the tree's joints, G (T, nz, nu) and the bias g (T, nz) of their accelerations."""
        at = np.repeat(self.held[None], len(q), axis=0)
        at[:, self.places] = q[:, _BASE_Q:]
        speeds, bias = np.zeros_like(at), np.zeros_like(at)
        if v is not None:
            speeds[:, self.places] = v[:, _BASE_V:]
        G = np.zeros((len(q), at.shape[1], len(self.places)))
        G[:, self.places, np.arange(len(self.places))] = 1.0
        for layer in self.layers:
            passed = layer.at(at, speeds)
            below = np.zeros((len(q), layer.nz, layer.nq))
            for out, source in layer.same:
                below[:, out, source] = 1.0
            for term, gradient in zip(layer.terms, passed.gradients, strict=True):
                for g, source in zip(gradient, term.sources, strict=True):
                    below[:, term.out, source] += g
            bias = (below @ bias[..., None])[..., 0] + passed.bias
            speeds, at, G = (below @ speeds[..., None])[..., 0], passed.z, below @ G
        columns = self.tree.columns
        return at[:, columns], G[:, columns], bias[:, columns]

    def tree_state(self, q: FloatArray, v: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return q, v of the floating tree for those here (T, nq), (T, nv), with G (T, nz, nu) and the bias (T, nz)."""
        z, G, bias = self._beneath(q, v)
        zdot = (G @ v[:, _BASE_V:, None])[..., 0]
        return np.hstack([q[:, :_BASE_Q], z]), np.hstack([v[:, :_BASE_V], zdot]), G, bias

    def tree_configuration(self, q: FloatArray) -> FloatArray:
        """Return q (T, .) of the floating tree."""
        return np.hstack([q[:, :_BASE_Q], self._beneath(q)[0]])

    def of_tree(self, forces: FloatArray, G: FloatArray) -> FloatArray:
        """Return forces (T, nv) here of those along the tree's speeds."""
        own = (np.swapaxes(G, 1, 2) @ forces[:, _BASE_V:, None])[..., 0]
        return np.hstack([forces[:, :_BASE_V], own])

    def _inertia(self, M: FloatArray, G: FloatArray) -> FloatArray:
        """Return G^T M G (T, nv, nv) with the base as it is."""
        joints = M[:, :, _BASE_V:] @ G
        half = np.concatenate([M[:, :, :_BASE_V], joints], axis=2)
        lower = np.swapaxes(G, 1, 2) @ half[:, _BASE_V:]
        return np.concatenate([half[:, :_BASE_V], lower], axis=1)

    def mass_matrix(self, q: FloatArray) -> FloatArray:
        """Return the mass matrix (T, nv, nv)."""
        z, G, _ = self._beneath(q)
        return self._inertia(mass_matrix(self.tree.multibody, np.hstack([q[:, :_BASE_Q], z])), G)

    def forward_dynamics(
        self, q: FloatArray, v: FloatArray, tau: FloatArray, wrenches: FloatArray, bodies: IntArray
    ) -> FloatArray:
        """Return vdot (T, nv) for tau (T, nv) and wrenches (T, K, 6) about the world origin on the bodies (K,)."""
        mb = self.tree.multibody
        zq, zv, G, bias = self.tree_state(q, v)
        M = mass_matrix(mb, zq)
        pull = bias_forces(mb, zq, zv, wrenches, bodies)
        pull += (M[:, :, _BASE_V:] @ bias[..., None])[..., 0]
        found = np.linalg.solve(self._inertia(M, G), (tau - self.of_tree(pull, G))[..., None])[..., 0]
        return np.asarray(found, dtype=np.float64)

    def inverse_dynamics(
        self, q: FloatArray, v: FloatArray, vdot: FloatArray, wrenches: FloatArray, bodies: IntArray
    ) -> FloatArray:
        """Return tau (T, nv)."""
        zq, zv, G, bias = self.tree_state(q, v)
        zdd = np.hstack([vdot[:, :_BASE_V], (G @ vdot[:, _BASE_V:, None])[..., 0] + bias])
        return self.of_tree(inverse_dynamics(self.tree.multibody, zq, zv, zdd, wrenches, bodies), G)

    def body_poses(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return R_WB (T, B, 3, 3) and p_WB (T, B, 3) of the tree's bodies."""
        return body_poses(self.tree.multibody, self.tree_configuration(q))

    def centre_of_mass(self, q: FloatArray) -> FloatArray:
        """Return the centre of mass (T, 3) m."""
        return centre_of_mass(self.tree.multibody, self.tree_configuration(q))

    def integrate(self, q: FloatArray, step: FloatArray) -> FloatArray:
        """Return q (T, nq) after the steps (T, nv)."""
        base = integrate(self._base, q[:, :_BASE_Q].copy(), step[:, :_BASE_V].copy())
        return np.hstack([base, q[:, _BASE_Q:] + step[:, _BASE_V:]])

    def difference(self, q0: FloatArray, q1: FloatArray) -> FloatArray:
        """Return the steps (T, nv) from q0 to q1 (T, nq)."""
        q0, q1 = np.broadcast_arrays(q0, q1)
        base = difference(self._base, q0[:, :_BASE_Q].copy(), q1[:, :_BASE_Q].copy())
        return np.hstack([base, q1[:, _BASE_Q:] - q0[:, _BASE_Q:]])

    def coordinate_rates(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Return dq/dt (T, nq)."""
        base = coordinate_rates(self._base, q[:, :_BASE_Q].copy(), v[:, :_BASE_V].copy())
        return np.hstack([base, v[:, _BASE_V:]])


def require_rates(layers: tuple[CoordinateMap, ...]) -> None:
    """Raise ModelError where the speeds of a joint are no rates of its coordinates (ball and free joints between bodies)."""
    if any(layer.turning for layer in layers):
        raise ModelError(
            "The model has a ball or free joint whose speeds are an angular velocity: its motion is not replayed forwards."
        )
