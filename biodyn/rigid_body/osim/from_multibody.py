"""A tree with a free-floating base as an OpenSim model: three translations and three angles instead of a quaternion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.errors import ModelError
from biodyn.rigid_body.coupling.coupled import CoupledMultibody
from biodyn.rigid_body.coupling.maps import CoordinateMap
from biodyn.rigid_body.joint import Body, Joint, Vector3
from biodyn.rigid_body.multibody import Multibody
from biodyn.rigid_body.osim.chains import AXIS_MARK
from biodyn.rigid_body.osim.model import Coordinate, Marker, OpenSimModel

#: The base's angles: R_WB = Rz(first) Rx(second) Ry(third), as in ISB's pelvis and OpenSim's gait models.
BASE_AXES: tuple[Vector3, Vector3, Vector3] = ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
_SLIDES: tuple[Vector3, Vector3, Vector3] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


@dataclass(frozen=True)
class NamedCoordinate:
    """A coordinate of the tree: its name, its joint's, its place in v; default and range in rad."""

    name: str
    joint: str
    v_index: int
    default: float = 0.0
    lower: float = -np.pi
    upper: float = np.pi


def with_cardan_base(
    multibody: Multibody,
    base: Sequence[NamedCoordinate],
    coordinates: Sequence[NamedCoordinate],
    markers: Sequence[Marker] = (),
    name: str = "model",
) -> OpenSimModel:
    """Return a tree of one-axis joints on a free base as an OpenSim model with the same values of its coordinates.

    Parameters:
        base: of the first body: three angles in the order of `BASE_AXES`, then x, y, z of its origin in World, m.
        coordinates: of all other joints; their order is kept. markers: by body of the tree.

    Raises ModelError for a tree whose first body alone is not free, or a joint without a named coordinate.
    """
    root, *others = multibody.bodies
    if root.joint.kind != "free" or any(body.joint.kind not in ("revolute", "weld") for body in others):
        raise ModelError("Only a tree of one-axis joints on one free base is written as an OpenSim model.")
    titles = _titles(multibody, coordinates)
    bodies = _base(root, base[0].joint, titles[root.name])
    bodies += [_renamed(body, titles) for body in _turned_before(others)]
    tree = Multibody(tuple(bodies), multibody.gravity_W)
    at = {titles[body.name]: body.name for body in others if body.joint.kind == "revolute"}
    by_index = {one.v_index: k for k, one in enumerate(coordinates)}
    same = [(tree.v_slice(body.name).start, (3 + k) if k < 3 else k - 3) for k, body in enumerate(bodies[:6])]
    for new, old in at.items():
        index = multibody.v_slice(old).start
        if index not in by_index:
            raise ModelError(f"The joint of body '{old}' has no named coordinate.")
        same.append((tree.v_slice(new).start, 6 + by_index[index]))
    listed = [_coordinate(one, k < 3, True) for k, one in enumerate(base)]
    listed += [_coordinate(one, True, False) for one in coordinates]
    layer = CoordinateMap(len(listed), tree.nv, tuple(sorted(same)))
    places = tuple(replace(one, body=titles[one.body] if one.body else None) for one in markers)
    return OpenSimModel(name, tuple(listed), CoupledMultibody(tree, (layer,)), places, (), ())


def _coordinate(one: NamedCoordinate, rotational: bool, to_ground: bool) -> Coordinate:
    return Coordinate(
        one.name, one.joint, to_ground, rotational, one.default, one.lower, one.upper, False, False, False
    )


def _titles(multibody: Multibody, coordinates: Sequence[NamedCoordinate]) -> dict[str, str]:
    """New names: bodies without mass that carry one other are axes of its joint, marked as such."""
    names = {body.name: body.name.replace(AXIS_MARK, "_") for body in multibody.bodies}
    carried: dict[str, list[Body]] = {body.name: [] for body in multibody.bodies}
    for body in multibody.bodies:
        if body.parent is not None:
            carried[body.parent].append(body)
    joints: Mapping[int, str] = {one.v_index: one.joint for one in coordinates}
    for body in reversed(multibody.bodies[1:]):
        only = carried[body.name][0] if len(carried[body.name]) == 1 else None
        if body.mass_kg == 0.0 and only is not None and only.joint.kind == "revolute" and not only.p_PJ.any():
            joint = joints.get(multibody.v_slice(body.name).start, "joint")
            names[body.name] = f"{names[only.name].split(AXIS_MARK)[0]}{AXIS_MARK}{joint}{AXIS_MARK}{body.name}"
    return names


def _renamed(body: Body, titles: Mapping[str, str]) -> Body:
    return replace(body, name=titles[body.name], parent=None if body.parent is None else titles[body.parent])


def _base(root: Body, joint: str, name: str) -> list[Body]:
    """The free base as six axes: slides along the world's, then turns."""
    steps = [("prismatic", axis) for axis in _SLIDES] + [("revolute", axis) for axis in BASE_AXES]
    names = [f"{name}{AXIS_MARK}{joint}{AXIS_MARK}{k}" for k in range(5)] + [name]
    line: list[Body] = []
    holder: str | None = None
    for k, (kind, axis) in enumerate(steps):
        line.append(Body(names[k], holder, Joint(kind, axis)))
        holder = names[k]
    line[0] = replace(line[0], R_PJ=root.R_PJ, p_PJ=root.p_PJ)
    line[-1] = replace(line[-1], mass_kg=root.mass_kg, com_m=root.com_m, inertia_com=root.inertia_com, any_inertia=True)
    return line


def _turned_before(bodies: Sequence[Body]) -> list[Body]:
    """Let fixed rotations between the axes of one joint stand before all of them: the joint's axes are its body's then."""
    after: dict[str, FloatArray] = {}  # the rotation that a body's frame gave to those before it
    carries: dict[str, list[Body]] = {}
    for body in bodies:
        carries.setdefault(body.parent or "", []).append(body)
    for body in reversed(bodies):
        only = carries.get(body.name, [])
        if body.mass_kg == 0.0 and len(only) == 1 and only[0].joint.kind == "revolute" and not only[0].p_PJ.any():
            after[body.name] = only[0].R_PJ @ after.get(only[0].name, np.eye(3))
    turned = []
    for body in bodies:
        own = after.get(body.name)
        placed = np.eye(3) if body.parent in after else body.R_PJ
        if own is None:
            turned.append(replace(body, R_PJ=placed))
            continue
        axis = own.T @ np.array(body.joint.axis)
        joint = replace(body.joint, axis=(float(axis[0]), float(axis[1]), float(axis[2])), axes=())
        R_PJ = np.eye(3) if body.parent in after else body.R_PJ @ own
        turned.append(replace(body, joint=joint, R_PJ=R_PJ))
    return turned
