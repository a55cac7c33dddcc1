"""Tree of rigid bodies: joints and bodies as specified by a user, and the link arrays for the kernels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Final

import numpy as np

from biodyn.conventions import GRAVITY_W, BoolArray, FloatArray, IntArray
from biodyn.errors import ModelError
from biodyn.kernels import tree as kinds
from biodyn.kernels.tree import Tree

Vector3 = tuple[float, float, float]

#: Number of velocity coordinates of each kind of joint.
VELOCITY_COUNT: Final[dict[str, int]] = {"weld": 0, "revolute": 1, "prismatic": 1, "spherical": 3, "free": 6}
_ONE_AXIS: Final = ("revolute", "prismatic")
_QUATERNION_KINDS: Final = ("spherical", "free")
# Largest violation of symmetry and triangle inequality of an inertia, as a fraction of its trace. Published tables
# have three or more digits, and rotation of an exact inertia has errors of 1e-16.
INERTIA_TOLERANCE: Final = 1e-6
# Largest deviation of the rows of a rotation matrix from unit length and orthogonality.
_LENGTH_SLACK: Final = 1e-9 + 1e-5
_ANGLE_SLACK: Final = 1e-9


def unit_axis(axis: object, name: str) -> Vector3:
    """Return the axis normalised to length one; raise ModelError unless it is three finite numbers and not zero."""
    values = np.asarray(axis, dtype=np.float64)
    if values.shape != (3,) or not np.isfinite(values).all() or np.linalg.norm(values) < 1e-12:
        raise ModelError(f"The axis of {name} must be three finite numbers, not all zero; found {axis!r}.")
    unit = values / np.linalg.norm(values)
    return (float(unit[0]), float(unit[1]), float(unit[2]))


@dataclass(frozen=True)
class Joint:
    """Joint between a body and its parent: kind of motion and axis.

    Attributes:
        kind: weld, free (q = x y z and quaternion w x y z; v = body-frame twist [omega_B; v_B]), spherical (q = quaternion; v =
            omega in the body's axes), revolute (angle about `axis`), prismatic (travel along `axis`). A joint with several axes
            is a chain of massless bodies.
        axis: direction in the joint frame at q = 0 (of any length; stored with unit length); None without an axis.
    """

    kind: str
    axis: Vector3 | None = None

    def __post_init__(self) -> None:
        if self.kind not in VELOCITY_COUNT:
            raise ModelError(f"Unknown joint kind '{self.kind}'.", f"Known kinds: {', '.join(VELOCITY_COUNT)}.")
        if (self.axis is not None) != (self.kind in _ONE_AXIS):
            raise ModelError(f"A {self.kind} joint needs {'an' if self.kind in _ONE_AXIS else 'no'} axis.")
        if self.axis is not None:
            object.__setattr__(self, "axis", unit_axis(self.axis, f"a {self.kind} joint"))

    @cached_property
    def nv(self) -> int:
        """Number of velocity coordinates."""
        return VELOCITY_COUNT[self.kind]

    @cached_property
    def nq(self) -> int:
        """Number of position coordinates: `nv`, plus one for a quaternion."""
        return self.nv + (self.kind in _QUATERNION_KINDS)


def _is_rotation(R: FloatArray) -> bool:
    """Return whether R (3, 3) is a right-handed rotation; uses Python floats, which are faster for thousands of matrices."""
    (a, b, c), (d, e, f), (g, h, i) = R.tolist()
    lengths = a * a + b * b + c * c, d * d + e * e + f * f, g * g + h * h + i * i
    angles = a * d + b * e + c * f, a * g + b * h + c * i, d * g + e * h + f * i
    volume = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
    return (
        all(abs(length - 1.0) <= _LENGTH_SLACK for length in lengths)
        and all(abs(angle) <= _ANGLE_SLACK for angle in angles)
        and volume > 0.0
    )


@dataclass(frozen=True, eq=False)
class Body:
    """Rigid body and the joint that connects it to its parent.

    Attributes:
        name: unique in its Multibody.
        parent: name of the parent body, None = the world.
        joint: joint to the parent; the body frame is the joint frame after the joint motion.
        R_PJ, p_PJ: (3, 3), (3,) m, pose of the joint frame in the parent: x_P = R_PJ x_J + p_PJ at q = 0.
        mass_kg: mass >= 0; massless bodies are links of a chain.
        com_m: (3,) centre of mass in body axes from the body origin, m.
        inertia_com: (3, 3) inertia about the centre of mass in body axes, kg m^2.
        any_inertia: True to accept an inertia that violates the triangle inequality. Published models contain such inertias,
            and their results must be reproduced.

    Raises ModelError that names the body for non-finite numbers, an R_PJ that is not a rotation, a negative mass, an inertia of
    a massless body, or an inertia that is not symmetric, not positive semidefinite, or violates the triangle inequality (by
    more than 1e-6 of its trace).
    """

    name: str
    parent: str | None
    joint: Joint
    R_PJ: FloatArray = field(default_factory=lambda: np.eye(3))
    p_PJ: FloatArray = field(default_factory=lambda: np.zeros(3))
    mass_kg: float = 0.0
    com_m: FloatArray = field(default_factory=lambda: np.zeros(3))
    inertia_com: FloatArray = field(default_factory=lambda: np.zeros((3, 3)))
    any_inertia: bool = False

    def __post_init__(self) -> None:
        for name, shape in (("R_PJ", (3, 3)), ("p_PJ", (3,)), ("com_m", (3,)), ("inertia_com", (3, 3))):
            try:
                values = np.array(getattr(self, name), dtype=np.float64)
            except (TypeError, ValueError) as error:
                raise ModelError(f"{name} of body '{self.name}' must be numbers: {error}.") from error
            if values.shape != shape:
                raise ModelError(f"{name} of body '{self.name}' must have shape {shape}, found {values.shape}.")
            # a finite sum is a faster test; if it is not finite, the numbers may still be finite and large
            if not math.isfinite(values.sum()) and not np.isfinite(values).all():
                raise ModelError(f"{name} of body '{self.name}' contains a number that is not finite.")
            values.setflags(write=False)
            object.__setattr__(self, name, values)
        if not _is_rotation(self.R_PJ):
            raise ModelError(f"R_PJ of body '{self.name}' is not a right-handed rotation matrix (tolerance 1e-9).")
        if not np.isfinite(self.mass_kg) or self.mass_kg < 0:
            raise ModelError(f"The mass of body '{self.name}' must be finite and >= 0 kg, found {self.mass_kg!r}.")
        object.__setattr__(self, "mass_kg", float(self.mass_kg))
        self._check_inertia()

    def _check_inertia(self) -> None:
        inertia = self.inertia_com
        if self.mass_kg == 0.0:
            if inertia.any():
                raise ModelError(f"Body '{self.name}' has an inertia but no mass; specify a mass, or no inertia.")
            return
        slack = INERTIA_TOLERANCE * max(float(np.trace(inertia)), 0.0)
        if np.abs(inertia - inertia.T).max() > slack:
            raise ModelError(f"The inertia of body '{self.name}' is not symmetric.")
        a, b, c = np.linalg.eigvalsh(0.5 * (inertia + inertia.T))
        if a < -slack:
            raise ModelError(f"The inertia of body '{self.name}' has a negative principal moment, {a:.6g} kg m^2.")
        if a + b < c - slack and not self.any_inertia:
            raise ModelError(
                f"The inertia of body '{self.name}' violates the triangle inequality: {a:.6g} + {b:.6g} < {c:.6g} "
                "kg m^2.",
                "No mass distribution has such principal moments. Check the units and the reference point.",
            )


_KERNEL_KINDS = {
    "weld": kinds.WELD,
    "revolute": kinds.REVOLUTE,
    "prismatic": kinds.PRISMATIC,
    "spherical": kinds.SPHERICAL,
    "free": kinds.FREE,
}


def _skew_matrices(axes: FloatArray) -> FloatArray:
    """Return the matrices (n, 3, 3) with skew(a) b = a x b for axes (n, 3)."""
    skew = np.zeros((len(axes), 3, 3))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        skew[:, k, j], skew[:, j, k] = axes[:, i], -axes[:, i]
    return skew


def _upper_triangles(S: FloatArray) -> FloatArray:
    """Return the upper triangles (n, 6) of symmetric matrices (n, 3, 3), row by row."""
    return np.ascontiguousarray(S.reshape(-1, 9)[:, [0, 1, 2, 4, 5, 8]])


@lru_cache(maxsize=64)
def _dof_tree(parent: tuple[int, ...], nv: tuple[int, ...]) -> tuple[IntArray, IntArray, IntArray]:
    """Return for each velocity coordinate its predecessor toward the root (-1 = none), its depth and its path.

    The predecessors are the expanded parent array of branch-induced sparsity (Featherstone 2008, section 6.4). The result is
    cached, because trials build trees of the same structure.
    """
    before: list[int] = []
    depth: list[int] = []
    last: list[int] = []  # last coordinate on the path to each link
    for i, count in enumerate(nv):
        at = -1 if parent[i] < 0 else last[parent[i]]
        for _ in range(count):
            before.append(at)
            depth.append(0 if at < 0 else depth[at] + 1)
            at = len(before) - 1
        last.append(at)
    dof_parent, dof_depth = np.array(before, dtype=np.int64), np.array(depth, dtype=np.int64)
    return dof_parent, dof_depth, _dof_paths(dof_parent, dof_depth)


def _dof_paths(dof_parent: IntArray, dof_depth: IntArray) -> IntArray:
    """Return the path to each velocity coordinate by depth (nv, deepest + 1), padded with -1."""
    paths = np.full((len(dof_parent), int(dof_depth.max(initial=-1)) + 1), -1, dtype=np.int64)
    for j, (before, depth) in enumerate(zip(dof_parent, dof_depth, strict=True)):
        if before >= 0:
            paths[j] = paths[before]
        paths[j, depth] = j
    return paths


def kernel_tree(bodies: Sequence[Body], parents: IntArray, gravity_W: FloatArray) -> Tree:
    """Return the kernel tree.

    bodies: in topological order; parents: (B,) index of the parent body, -1 = world; gravity_W: (3,) m/s^2.
    """
    n = len(bodies)
    nq, nv = (
        np.array(counts, dtype=np.int64) for counts in zip(*((b.joint.nq, b.joint.nv) for b in bodies), strict=True)
    )
    R = np.array([body.R_PJ for body in bodies])
    direction = np.array([body.joint.axis or (0.0, 0.0, 0.0) for body in bodies])
    turns = np.array([body.joint.kind == "revolute" for body in bodies])
    axis, slide = np.where(turns[:, None], direction, 0.0), np.where(turns[:, None], 0.0, direction)
    # Rodrigues: exp(q [a]) = a a^T + sin(q) [a] + cos(q) (1 - a a^T), multiplied from the left by the placement R
    along = np.einsum("ni,nj->nij", axis, axis)
    along[~turns] = np.eye(3)
    mass = np.array([body.mass_kg for body in bodies])
    com = np.array([body.com_m for body in bodies])
    inertia = np.array([body.inertia_com for body in bodies])
    inertia = 0.5 * (inertia + inertia.transpose(0, 2, 1))
    shift = np.einsum("ni,ni->n", com, com)[:, None, None] * np.eye(3) - np.einsum("ni,nj->nij", com, com)
    dof_parent, dof_depth, dof_path = (array.copy() for array in _dof_tree(tuple(parents.tolist()), tuple(nv.tolist())))
    tree = Tree(
        parent=parents.copy(),
        kind=np.array([_KERNEL_KINDS[body.joint.kind] for body in bodies], dtype=np.int64),
        idx_q=np.cumsum(nq) - nq,
        idx_v=np.cumsum(nv) - nv,
        nv=nv,
        dof_link=np.repeat(np.arange(n, dtype=np.int64), nv),
        dof_parent=dof_parent,
        dof_depth=dof_depth,
        dof_path=dof_path,
        R_PJ=np.ascontiguousarray(R.reshape(n, 9)),
        p_PJ=np.array([body.p_PJ for body in bodies]),
        axis=axis,
        slide=slide,
        p_slide=np.einsum("nij,nj->ni", R, slide),
        R_fixed=(R @ along).reshape(n, 9),
        R_sin=(R @ _skew_matrices(axis)).reshape(n, 9),
        R_cos=(R @ (np.eye(3) - along)).reshape(n, 9),
        mass=mass,
        first_moment=mass[:, None] * com,
        inertia_origin=_upper_triangles(inertia + mass[:, None, None] * shift),
        gravity_W=np.array(gravity_W, dtype=np.float64),
    )
    for array in tree:
        array.setflags(write=True)  # read-only arrays would be another type to numba, compiled again
    return tree


def _topological_order(bodies: Sequence[Body]) -> tuple[Body, ...]:
    """Sort the bodies so that parents come before their children, otherwise in the given order."""
    names = [body.name for body in bodies]
    known = set(names)
    if len(known) < len(names):
        repeated = sorted({name for name in names if names.count(name) > 1})
        raise ModelError(f"Body names must be unique; repeated: {', '.join(repeated)}.")
    for body in bodies:
        if body.parent is not None and body.parent not in known:
            raise ModelError(
                f"Body '{body.name}' has an unknown parent '{body.parent}'.", f"Bodies: {', '.join(names)}."
            )
    ordered: list[Body] = []
    placed: set[str | None] = {None}
    for body in bodies:  # usually parents are already before their children
        if body.parent not in placed:
            break
        placed.add(body.name)
    else:
        return tuple(bodies)
    placed = {None}
    waiting = list(bodies)
    while waiting:
        ready = next((body for body in waiting if body.parent in placed), None)
        if ready is None:
            raise ModelError(f"The bodies {', '.join(body.name for body in waiting)} form a cycle.")
        ordered.append(ready)
        placed.add(ready.name)
        waiting.remove(ready)
    return tuple(ordered)


@dataclass(frozen=True, eq=False)
class Multibody:
    """A tree of bodies under gravity.

    Attributes:
        bodies: in topological order (sorted on creation, otherwise as given); q and v follow this order.
        gravity_W: (3,) m/s^2 in world axes.
        tree: arrays for the kernels, with a link for each body.

    Raises ModelError for a repeated name, an unknown parent, a cycle, no bodies, or gravity that is not finite.
    """

    bodies: tuple[Body, ...]
    gravity_W: tuple[float, float, float] = GRAVITY_W
    tree: Tree = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not self.bodies:
            raise ModelError("A multibody needs at least one body.")
        gravity = np.array(self.gravity_W, dtype=np.float64)
        if gravity.shape != (3,) or not np.isfinite(gravity).all():
            raise ModelError(f"Gravity must be three finite numbers, found {self.gravity_W!r}.")
        object.__setattr__(self, "bodies", _topological_order(self.bodies))
        object.__setattr__(self, "gravity_W", (float(gravity[0]), float(gravity[1]), float(gravity[2])))
        object.__setattr__(self, "tree", kernel_tree(self.bodies, self.parents, gravity))

    @cached_property
    def nq(self) -> int:
        """Number of position coordinates."""
        return sum(body.joint.nq for body in self.bodies)

    @cached_property
    def nv(self) -> int:
        """Number of velocity coordinates."""
        return sum(body.joint.nv for body in self.bodies)

    @cached_property
    def _index_by_name(self) -> dict[str, int]:
        return {body.name: i for i, body in enumerate(self.bodies)}

    @cached_property
    def body_names(self) -> tuple[str, ...]:
        """Names of the bodies."""
        return tuple(self._index_by_name)

    @cached_property
    def parents(self) -> IntArray:
        """Index (B,) in `bodies` of the parent of each body, -1 = world."""
        parents = [-1 if body.parent is None else self._index_by_name[body.parent] for body in self.bodies]
        return np.array(parents, dtype=np.int64)

    @cached_property
    def _q_slices(self) -> tuple[slice, ...]:
        ends = np.cumsum([body.joint.nq for body in self.bodies]).tolist()
        return tuple(slice(end - body.joint.nq, end) for end, body in zip(ends, self.bodies, strict=True))

    @cached_property
    def _v_slices(self) -> tuple[slice, ...]:
        ends = np.cumsum([body.joint.nv for body in self.bodies]).tolist()
        return tuple(slice(end - body.joint.nv, end) for end, body in zip(ends, self.bodies, strict=True))

    def body_index(self, name: str) -> int:
        """Return the index of a body. Raises ModelError for an unknown name."""
        if name not in self._index_by_name:
            raise ModelError(f"No body named '{name}'.", f"Bodies: {', '.join(self.body_names)}.")
        return self._index_by_name[name]

    def q_slice(self, name: str) -> slice:
        """Return the slice of q that holds the coordinates of the body's joint."""
        return self._q_slices[self.body_index(name)]

    def v_slice(self, name: str) -> slice:
        """Return the slice of v, vdot and tau that holds the coordinates of the body's joint."""
        return self._v_slices[self.body_index(name)]

    @cached_property
    def moving_coordinates(self) -> BoolArray:
        """Return a mask (B, nv) of the velocity coordinates that move each body: of its joint and of its
        ancestors."""
        result = np.zeros((len(self.bodies), self.nv), dtype=np.bool_)
        for body, (parent, own) in enumerate(zip(self.parents.tolist(), self._v_slices, strict=True)):
            if parent >= 0:
                result[body] = result[parent]
            result[body, own] = True
        return result

    @cached_property
    def tree_without_gravity(self) -> Tree:
        """Kernel tree of this multibody with zero gravity."""
        return self.tree._replace(gravity_W=np.zeros(3))

    def neutral_q(self) -> FloatArray:
        """Return the configuration (nq,) in which every joint coordinate is zero (quaternions: identity)."""
        q = np.zeros(self.nq)
        for body, at in zip(self.bodies, self._q_slices, strict=True):
            if body.joint.kind in ("free", "spherical"):
                q[at.stop - 4] = 1.0
        return q

    @property
    def total_mass_kg(self) -> float:
        """Total mass of all bodies, kg."""
        return float(sum(body.mass_kg for body in self.bodies))
