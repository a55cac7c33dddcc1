"""A tree of rigid bodies: what the algorithms of this package work on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from biodyn.conventions import GRAVITY_W, BoolArray, FloatArray, IntArray
from biodyn.errors import ModelError
from biodyn.kernels.types import Tree
from biodyn.rigid_body.joint import Body, Joint
from biodyn.rigid_body.links import tree_of_links


def _topological(bodies: Sequence[Body]) -> tuple[Body, ...]:
    """Order the bodies so that parents come first, otherwise as given."""
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
    for body in bodies:  # as a rule parents come first already
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
        nq, nv: numbers of position and velocity coordinates.
        body_names, parents: names, and index of the parent body (-1 = world), in order.
        lower, upper: (nv,) limits of the coordinates, rad or m, -inf/inf = none.
        tree: the kernels' arrays; a joint with several axes is a chain of massless links there.
        link_of_body: (B,) index in `tree` of each body.

    Raises ModelError: repeated name, unknown parent, cycle, no body, gravity not finite.
    """

    bodies: tuple[Body, ...]
    gravity_W: tuple[float, float, float] = GRAVITY_W
    nq: int = field(init=False)
    nv: int = field(init=False)
    body_names: tuple[str, ...] = field(init=False)
    parents: IntArray = field(init=False)
    lower: FloatArray = field(init=False)
    upper: FloatArray = field(init=False)
    tree: Tree = field(init=False, repr=False)
    link_of_body: IntArray = field(init=False, repr=False)
    _index: dict[str, int] = field(init=False, repr=False)
    _q_slices: tuple[slice, ...] = field(init=False, repr=False)
    _v_slices: tuple[slice, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not self.bodies:
            raise ModelError("A multibody needs at least one body.")
        gravity = np.array(self.gravity_W, dtype=np.float64)
        if gravity.shape != (3,) or not np.isfinite(gravity).all():
            raise ModelError(f"Gravity must be three finite numbers, found {self.gravity_W!r}.")
        bodies = _topological(self.bodies)
        joints = [body.joint for body in bodies]
        q_ends, v_ends = np.cumsum([joint.nq for joint in joints]), np.cumsum([joint.nv for joint in joints])
        index = {body.name: i for i, body in enumerate(bodies)}
        parents = np.array([-1 if body.parent is None else index[body.parent] for body in bodies], dtype=np.int64)
        tree, link_of_body = tree_of_links(bodies, parents, gravity)
        values = {
            "bodies": bodies,
            "gravity_W": (float(gravity[0]), float(gravity[1]), float(gravity[2])),
            "nq": int(q_ends[-1]),
            "nv": int(v_ends[-1]),
            "body_names": tuple(index),
            "parents": parents,
            "lower": _limits([joint.lower for joint in joints], joints, -np.inf),
            "upper": _limits([joint.upper for joint in joints], joints, np.inf),
            "tree": tree,
            "link_of_body": link_of_body,
            "_index": index,
            "_q_slices": tuple(slice(int(e) - j.nq, int(e)) for e, j in zip(q_ends, joints, strict=True)),
            "_v_slices": tuple(slice(int(e) - j.nv, int(e)) for e, j in zip(v_ends, joints, strict=True)),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def body_index(self, name: str) -> int:
        """Return the index of a body. Raises ModelError for an unknown name."""
        if name not in self._index:
            raise ModelError(f"No body named '{name}'.", f"Bodies: {', '.join(self.body_names)}.")
        return self._index[name]

    def q_slice(self, name: str) -> slice:
        """Return where the coordinates of the body's joint stand in q."""
        return self._q_slices[self.body_index(name)]

    def v_slice(self, name: str) -> slice:
        """Return where the coordinates of the body's joint stand in v, vdot and tau."""
        return self._v_slices[self.body_index(name)]

    @cached_property
    def paths(self) -> BoolArray:
        """Return which velocity coordinates (B, nv) move each body: its own and those of the bodies it hangs on."""
        result = np.zeros((len(self.bodies), self.nv), dtype=np.bool_)
        for body, (parent, own) in enumerate(zip(self.parents.tolist(), self._v_slices, strict=True)):
            if parent >= 0:
                result[body] = result[parent]
            result[body, own] = True
        return result

    @cached_property
    def weightless(self) -> Tree:
        """The tree without gravity."""
        return self.tree._replace(gravity_W=np.zeros(3))

    def neutral(self) -> FloatArray:
        """Return the (nq,) configuration at which every joint frame lies in its placement."""
        q = np.zeros(self.nq)
        for body, at in zip(self.bodies, self._q_slices, strict=True):
            if body.joint.kind in ("free", "spherical"):
                q[at.stop - 4] = 1.0
        return q

    @property
    def total_mass_kg(self) -> float:
        """Mass of all bodies, kg."""
        return float(sum(body.mass_kg for body in self.bodies))


def _limits(given: list[tuple[float, ...]], joints: list[Joint], otherwise: float) -> FloatArray:
    parts = [values or (otherwise,) * joint.nv for values, joint in zip(given, joints, strict=True)]
    return np.array([value for part in parts for value in part], dtype=np.float64)
