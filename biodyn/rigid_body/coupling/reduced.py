"""The equations of motion of a floating tree in the coordinates that no coupling ties: what moves freely, and nothing else.

    z = f(u),  v_z = G v_u,  vdot_z = G vdot_u + g          M_u = G^T M_z G,  tau_u = G^T tau_z

with the free base as it is. A knee with a shift that depends on its angle has one equation then, and no constraint force is
needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy.spatial.transform import Rotation

from biodyn.conventions import FloatArray, IntArray
from biodyn.errors import ModelError
from biodyn.geometry.rotations import continuous_quaternions
from biodyn.kernels import coupled, dynamics, kinematics
from biodyn.kernels.coupled import Laws
from biodyn.rigid_body.arguments import external, workspace
from biodyn.rigid_body.coupling.coupled import BLOCK, CoupledMultibody
from biodyn.rigid_body.coupling.functions import CoordinateMap, laws_of, room_for
from biodyn.rigid_body.dynamics import centre_of_mass, subtree_mass
from biodyn.rigid_body.kinematics import body_accelerations, body_poses, body_velocities, integrate
from biodyn.rigid_body.multibody import Body, Joint, Multibody

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
        """Return q, v, vdot (T, nq), (T, nv) of the floating tree for q, v, vdot (T, n) of the coupled one; NaN rows stay NaN.

        R_WG: (3, 3) turn from the model's ground to World; None = they are the same.
        """
        mb = self.multibody
        known = np.isfinite(q).all(axis=1) & np.isfinite(v).all(axis=1) & np.isfinite(vdot).all(axis=1)
        result = np.full((len(q), mb.nq), np.nan), np.full((len(q), mb.nv), np.nan), np.full((len(q), mb.nv), np.nan)
        rows = np.flatnonzero(known)
        for start in range(0, len(rows), BLOCK):
            at = rows[start : start + BLOCK]
            for out, part in zip(result, self._block(q[at], v[at], vdot[at], R_WG), strict=True):
                out[at] = part
        if len(rows):
            result[0][rows, 3:7] = continuous_quaternions(result[0][rows, 3:7])
        return result

    def own_forces(self, q: FloatArray, tau: FloatArray) -> FloatArray:
        """Return the forces (T, n) along the coordinates of the coupled multibody for forces tau (T, nv) of the floating tree.

        Nothing acts in the joints between root and ground: what the free base carries is left out. NaN rows stay NaN.
        """
        forces = np.full_like(q, np.nan)
        rows = np.flatnonzero(np.isfinite(q).all(axis=1) & np.isfinite(tau).all(axis=1))
        beneath = np.zeros((len(rows), self.coupled.multibody.nv))
        beneath[:, self.columns] = tau[rows, 6:]
        layers, z = [], q[rows]
        for coordinate_map in self.coupled.layers:
            layers.append(coordinate_map.at(z))
            z = layers[-1].z
        for layer in reversed(layers):
            beneath = layer.forces(beneath)
        forces[rows] = beneath
        return forces

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
    names = []
    for body in mb.bodies:
        if "/" in body.name:
            continue
        if all("/" in name for name in _ancestors(mb, body)):
            names.append(body.name)
    return names


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

    @cached_property
    def _laws(self) -> _FreeLaws:
        return _free_laws(self.layers, self.places, self.tree.columns)

    def tree_state(self, q: FloatArray, v: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return q, v of the floating tree for those here (T, nq), (T, nv), with G (T, nz, nu) and the bias (T, nz)."""
        laws, frames = self._laws, len(q)
        nz, values = len(self.tree.columns), len(laws.laws.kind)
        zq, zv = np.empty((frames, _BASE_Q + nz)), np.empty((frames, _BASE_V + nz))
        bias, G = np.empty((frames, nz)), np.zeros((frames, nz, len(self.places)))
        coupled.beneath(
            laws.laws, self.tree.columns, laws.spot, _plain(self.held), _plain(q), _plain(v), room_for(laws.laws),
            np.empty(self.layers[-1].nz), np.empty(values), np.empty(values), np.empty(len(self.held)), zq, zv, bias, G,
        )  # fmt: skip
        return zq, zv, G, bias

    @cached_property
    def _mass_below(self) -> FloatArray:
        return subtree_mass(self.tree.multibody.tree)

    def _tree_mass(self, zq: FloatArray) -> FloatArray:
        """Return the mass matrix of the tree: `mass_matrix` without looking at numbers that were made here."""
        tree, frames, nv = self.tree.multibody.tree, len(zq), self.tree.multibody.nv
        M = np.zeros((frames, nv, nv))
        work = workspace(dynamics.work_size(tree, nv**2))
        dynamics.mass_matrix(tree, self._mass_below, zq, M.reshape(frames, nv**2), work)
        return M

    def _tree_forces(
        self, zq: FloatArray, zv: FloatArray, zdd: FloatArray, wrenches: FloatArray, bodies: IntArray
    ) -> FloatArray:
        """Return the forces (T, nv) of the tree: `inverse_dynamics` without looking at numbers that were made here."""
        tree = self.tree.multibody.tree
        path, start = _paths(self.tree.multibody, tuple(bodies))
        tau = np.empty_like(zv)
        work = workspace(dynamics.work_size(tree))
        dynamics.inverse_dynamics(
            tree, zq, zv, zdd, _plain(wrenches), path, start, tau, np.empty((0, len(tree.parent), 6)), work
        )
        return tau

    def tree_configuration(self, q: FloatArray) -> FloatArray:
        """Return q (T, .) of the floating tree."""
        return self.tree_state(q, np.zeros((len(q), self.nv)))[0]

    def of_tree(self, forces: FloatArray, G: FloatArray) -> FloatArray:
        """Return forces (T, nv) here of those along the tree's speeds."""
        reduced = (np.swapaxes(G, 1, 2) @ forces[:, _BASE_V:, None])[..., 0]
        return np.hstack([forces[:, :_BASE_V], reduced])

    def _inertia(self, M: FloatArray, G: FloatArray) -> FloatArray:
        """Return G^T M G (T, nv, nv) with the base as it is."""
        H = np.zeros((len(M), self.nv, self.nv))
        coupled.inertia(M, G, self._laws.start, self._laws.entries, H)
        return H

    def mass_matrix(self, q: FloatArray) -> FloatArray:
        """Return the mass matrix (T, nv, nv)."""
        at, _, G, _ = self.tree_state(q, np.zeros((len(q), self.nv)))
        return self._inertia(self._tree_mass(at), G)

    def forward_dynamics(
        self, q: FloatArray, v: FloatArray, tau: FloatArray, wrenches: FloatArray, bodies: IntArray
    ) -> FloatArray:
        """Return vdot (T, nv) for tau (T, nv) and wrenches (T, K, 6) about the world origin on the bodies (K,).

        NaN where the coordinates leave a mass matrix that is not positive definite.
        """
        zq, zv, G, bias = self.tree_state(q, v)
        M = self._tree_mass(zq)
        pull = self._tree_forces(zq, zv, np.zeros_like(zv), wrenches, bodies)
        laws, vdot = self._laws, np.empty((len(q), self.nv))
        coupled.accelerations(M, pull, bias, G, laws.start, laws.entries, self._inertia(M, G), _plain(tau), vdot)
        return vdot

    def inverse_dynamics(
        self, q: FloatArray, v: FloatArray, vdot: FloatArray, wrenches: FloatArray, bodies: IntArray
    ) -> FloatArray:
        """Return tau (T, nv)."""
        zq, zv, G, bias = self.tree_state(q, v)
        zdd = np.hstack([vdot[:, :_BASE_V], (G @ vdot[:, _BASE_V:, None])[..., 0] + bias])
        return self.of_tree(self._tree_forces(zq, zv, zdd, wrenches, bodies), G)

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
        base = np.empty((len(q0), _BASE_V))
        kinematics.difference(self._base.tree, _plain(q0[:, :_BASE_Q]), _plain(q1[:, :_BASE_Q]), base)
        return np.concatenate([base, q1[:, _BASE_Q:] - q0[:, _BASE_Q:]], axis=1)

    def coordinate_rates(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Return dq/dt (T, nq)."""
        base = np.empty((len(q), _BASE_Q))
        kinematics.coordinate_rates(self._base.tree, _plain(q[:, :_BASE_Q]), _plain(v[:, :_BASE_V]), base)
        return np.concatenate([base, v[:, _BASE_V:]], axis=1)


def _plain(values: FloatArray) -> FloatArray:
    """Return a copy in the one layout that kernels are compiled for."""
    return np.array(values, dtype=np.float64, order="C")


@lru_cache(maxsize=8)
def _paths(mb: Multibody, bodies: tuple[int, ...]) -> tuple[IntArray, IntArray]:
    """Return the links from the root to each loaded body, and where each path begins."""
    return external(mb, 0, np.zeros((0, len(bodies), 6)), [int(body) for body in bodies])[1:]


@dataclass(frozen=True, eq=False)
class _FreeLaws:
    """The layers as the kernels take them.

    Attributes:
        laws: of all independent coordinates. spot: (n,) index of each among the free ones, -1 = it is held.
        start, entries: the columns of row j of G that are not always zero, entries[start[j]:start[j + 1]].
    """

    laws: Laws
    spot: IntArray
    start: IntArray
    entries: IntArray


def _free_laws(layers: tuple[CoordinateMap, ...], places: IntArray, columns: IntArray) -> _FreeLaws:
    laws = laws_of(layers)
    spot = np.full(layers[0].nq, -1, dtype=np.int64)
    spot[places] = np.arange(len(places))
    first = len(laws.kind) - layers[-1].nz
    rows = [spot[laws.column[laws.entry[first + j] : laws.entry[first + j + 1]]] for j in columns]
    entries = [row[row >= 0] for row in rows]
    start = np.concatenate([[0], np.cumsum([len(row) for row in entries])]).astype(np.int64)
    return _FreeLaws(laws, spot, start, np.concatenate([*entries, []]).astype(np.int64))


def require_rates(layers: tuple[CoordinateMap, ...]) -> None:
    """Raise ModelError where the speeds of a joint are not rates of its coordinates (ball and free joints between bodies)."""
    if any(layer.turning for layer in layers):
        raise ModelError(
            "The model has a ball or free joint whose speeds are an angular velocity: its motion is not replayed forwards."
        )
