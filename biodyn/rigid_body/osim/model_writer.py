"""Export of an OpenSim model to a file of version 4: bodies, joints, coordinates, couplings, markers.

Muscles, geometry, contact and the functions of prescribed coordinates are not written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final
from xml.etree import ElementTree as ET

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.errors import ModelError
from biodyn.rigid_body.coupling.coordinate_functions import CoordinateMap, Function, Linear, Piecewise, Polynomial
from biodyn.rigid_body.coupling.coupled_multibody import CoupledMultibody
from biodyn.rigid_body.multibody import Body, Joint, Multibody, Vector3
from biodyn.rigid_body.osim.joints import AxisStep
from biodyn.rigid_body.osim.model import Coordinate, Marker, OpenSimModel

#: Separator in the names of massless bodies that are axes of the body at the beginning of their name.
AXIS_MARK: Final = "/"
_MOST: Final = 3
_PARALLEL: Final = 1e-6


@dataclass(frozen=True, eq=False)
class JointChain:
    """Joint of the form that OpenSim supports: translations, then rotations, between two fixed frames.

    x_parent = R_P (translations, then rotations) (R_C x_child + p_C) + p_P.

    Attributes:
        child, parent: names of the bodies; None = ground.
        R_P, p_P: (3, 3), (3,) m, pose of the joint in the parent. R_C, p_C: pose of the child in the joint.
        slides, turns: at most three translations and three rotations.
    """

    child: str
    parent: str | None
    R_P: FloatArray = field(default_factory=lambda: np.eye(3))
    p_P: FloatArray = field(default_factory=lambda: np.zeros(3))
    R_C: FloatArray = field(default_factory=lambda: np.eye(3))
    p_C: FloatArray = field(default_factory=lambda: np.zeros(3))
    slides: tuple[AxisStep, ...] = ()
    turns: tuple[AxisStep, ...] = ()

    def append_displacement(self, R: FloatArray, p: FloatArray) -> JointChain:
        """Return the chain with a fixed displacement R (3, 3), p (3,) m added at its distal end."""
        if not (self.slides or self.turns):
            return replace(self, R_P=self.R_P @ R, p_P=self.p_P + self.R_P @ p)
        return replace(self, R_C=self.R_C @ R, p_C=self.p_C + self.R_C @ p)

    def append_step(self, step: AxisStep) -> JointChain | None:
        """Return the chain with a one-axis step added at its distal end; None if no OpenSim joint has this form."""
        axis = _to_vector3(self.R_C @ np.array(step.axis))
        if step.kind == "prismatic":
            fits = not self.turns and not self.p_C.any() and _are_axes_independent(self.slides, axis)
            return replace(self, slides=(*self.slides, replace(step, axis=axis))) if fits else None
        if self.turns and (self.p_C.any() or not _can_rotation_follow(self.turns, axis)):
            return None
        # translations commute, so that a translation between the slides and the first rotation belongs to the parent
        p_P = self.p_P + self.R_P @ self.p_C
        return replace(self, p_P=p_P, p_C=np.zeros(3), turns=(*self.turns, replace(step, axis=axis)))


def build_joint_chains(multibody: Multibody, steps: Mapping[str, AxisStep]) -> list[JointChain]:
    """Return the joints of a tree, one for each body that is not only an axis, parents first.

    steps: step of each one-axis body. Axes that no OpenSim joint can combine remain massless bodies.
    """
    by_name = {body.name: body for body in multibody.bodies}
    found: list[JointChain] = []
    for body in multibody.bodies:
        if AXIS_MARK not in body.name:
            found += _chains_to_body(_axes_and_body(body, by_name), steps)
    return found


def _axes_and_body(body: Body, by_name: Mapping[str, Body]) -> list[Body]:
    """Return the one-axis bodies between a body and the parent in the model, then the body itself, from the parent outwards."""
    line = [body]
    while line[0].parent is not None and AXIS_MARK in line[0].parent:
        line.insert(0, by_name[line[0].parent])
    return line


def _chains_to_body(line: Sequence[Body], steps: Mapping[str, AxisStep]) -> list[JointChain]:
    """Return the joints from the parent to the last body of `line`; a new joint begins where OpenSim cannot combine the axes."""
    chains: list[JointChain] = []
    chain = JointChain(line[-1].name, line[0].parent)
    for previous, body in zip((None, *line), line, strict=False):
        displaced = chain.append_displacement(body.R_PJ, body.p_PJ)
        step = steps.get(body.name)
        extended = displaced if step is None else displaced.append_step(step)
        if extended is None:
            assert previous is not None
            chains.append(replace(chain, child=previous.name))
            extended = JointChain(line[-1].name, previous.name).append_displacement(body.R_PJ, body.p_PJ)
            extended = extended if step is None else extended.append_step(step)
            assert extended is not None
        chain = extended
    return [*chains, chain]


def _are_axes_independent(steps: Sequence[AxisStep], axis: Vector3) -> bool:
    axes = np.array([*(step.axis for step in steps), axis])
    return len(axes) <= _MOST and float(np.linalg.svd(axes, compute_uv=False)[-1]) > _PARALLEL


def _can_rotation_follow(turns: Sequence[AxisStep], axis: Vector3) -> bool:
    """Return whether a rotation about `axis` may follow, i.e. is not parallel to the last one."""
    return len(turns) < _MOST and float(np.linalg.norm(np.cross(turns[-1].axis, axis))) > _PARALLEL


def _to_vector3(values: FloatArray) -> Vector3:
    return (float(values[0]), float(values[1]), float(values[2]))


#: Angles of the base: R_WB = Rz(first) Rx(second) Ry(third), as for the ISB pelvis and OpenSim gait models.
BASE_AXES: tuple[Vector3, Vector3, Vector3] = ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
_SLIDES: tuple[Vector3, Vector3, Vector3] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


@dataclass(frozen=True)
class NamedCoordinate:
    """Coordinate of the tree: its name, the name of its joint, its index in v; default value and range in rad."""

    name: str
    joint: str
    v_index: int
    default: float = 0.0
    lower: float = -np.pi
    upper: float = np.pi


def model_with_cardan_base(
    multibody: Multibody,
    base: Sequence[NamedCoordinate],
    coordinates: Sequence[NamedCoordinate],
    markers: Sequence[Marker] = (),
    name: str = "model",
) -> OpenSimModel:
    """Return a tree of one-axis joints with a free base as an OpenSim model with the same coordinate values.

    Parameters:
        base: coordinates of the first body: three angles in the order of `BASE_AXES`, then x, y, z of its origin in World, m.
        coordinates: coordinates of all other joints, whose order is preserved. markers: markers on bodies of the tree.

    Raises ModelError if a body other than the first is free, or if a joint has no named coordinate.
    """
    root, *others = multibody.bodies
    if root.joint.kind != "free" or any(body.joint.kind not in ("revolute", "weld") for body in others):
        raise ModelError("Only a tree of one-axis joints with a free base can be written as an OpenSim model.")
    titles = _new_body_names(multibody, coordinates)
    bodies = _build_base_bodies(root, base[0].joint, titles[root.name])
    bodies += [_rename_body(body, titles) for body in _move_fixed_rotations(others)]
    tree = Multibody(tuple(bodies), multibody.gravity_W)
    at = {titles[body.name]: body.name for body in others if body.joint.kind == "revolute"}
    by_index = {entry.v_index: k for k, entry in enumerate(coordinates)}
    same = [(tree.v_slice(body.name).start, (3 + k) if k < 3 else k - 3) for k, body in enumerate(bodies[:6])]
    for new, old in at.items():
        index = multibody.v_slice(old).start
        if index not in by_index:
            raise ModelError(f"The joint of body '{old}' has no named coordinate.")
        same.append((tree.v_slice(new).start, 6 + by_index[index]))
    listed = [_to_model_coordinate(entry, k < 3, True) for k, entry in enumerate(base)]
    listed += [_to_model_coordinate(entry, True, False) for entry in coordinates]
    layer = CoordinateMap(len(listed), tree.nv, tuple(sorted(same)))
    places = tuple(replace(entry, body=titles[entry.body] if entry.body else None) for entry in markers)
    return OpenSimModel(name, tuple(listed), CoupledMultibody(tree, (layer,)), places, (), ())


def _to_model_coordinate(entry: NamedCoordinate, rotational: bool, to_ground: bool) -> Coordinate:
    return Coordinate(
        entry.name, entry.joint, to_ground, rotational, entry.default, entry.lower, entry.upper, False, False, False
    )


def _new_body_names(multibody: Multibody, coordinates: Sequence[NamedCoordinate]) -> dict[str, str]:
    """Return the new name of each body by its old name; massless bodies with one child are named as axes of its joint."""
    names = {body.name: body.name.replace(AXIS_MARK, "_") for body in multibody.bodies}
    next_axes = _next_axes(multibody.bodies)
    joints: Mapping[int, str] = {entry.v_index: entry.joint for entry in coordinates}
    for body in reversed(multibody.bodies[1:]):
        if body.name in next_axes:
            end = names[next_axes[body.name].name].split(AXIS_MARK)[0]
            joint = joints.get(multibody.v_slice(body.name).start, "joint")
            names[body.name] = f"{end}{AXIS_MARK}{joint}{AXIS_MARK}{body.name}"
    return names


def _next_axes(bodies: Sequence[Body]) -> dict[str, Body]:
    """Return, by massless body, its only child if this rotates about an axis through the origin of the body."""
    children: dict[str | None, list[Body]] = {}
    for body in bodies:
        children.setdefault(body.parent, []).append(body)
    only = {body.name: children[body.name][0] for body in bodies if len(children.get(body.name, [])) == 1}
    return {
        body.name: only[body.name]
        for body in bodies
        if body.mass_kg == 0.0
        and body.name in only
        and only[body.name].joint.kind == "revolute"
        and not only[body.name].p_PJ.any()
    }


def _rename_body(body: Body, titles: Mapping[str, str]) -> Body:
    return replace(body, name=titles[body.name], parent=None if body.parent is None else titles[body.parent])


def _build_base_bodies(root: Body, joint: str, name: str) -> list[Body]:
    """Return the free base as six one-axis bodies: translations along the world axes, then rotations."""
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


def _move_fixed_rotations(bodies: Sequence[Body]) -> list[Body]:
    """Return the bodies with fixed rotations between the axes of a joint moved before its first axis.

    The axes of the joint then coincide with the axes of its body.
    """
    after: dict[str, FloatArray] = {}  # accumulated rotation that is moved to preceding bodies
    next_axes = _next_axes(bodies)
    for body in reversed(bodies):
        if body.name in next_axes:
            child = next_axes[body.name]
            after[body.name] = child.R_PJ @ after.get(child.name, np.eye(3))
    rotated_bodies = []
    for body in bodies:
        rotation = after.get(body.name)
        R_PJ = np.eye(3) if body.parent in after else body.R_PJ
        if rotation is None:
            rotated_bodies.append(replace(body, R_PJ=R_PJ))
            continue
        axis = rotation.T @ np.array(body.joint.axis)
        joint = replace(body.joint, axis=(float(axis[0]), float(axis[1]), float(axis[2])))
        R_PJ = np.eye(3) if body.parent in after else body.R_PJ @ rotation
        rotated_bodies.append(replace(body, joint=joint, R_PJ=R_PJ))
    return rotated_bodies


#: Version of the format that every OpenSim 4 reads.
VERSION: Final = "40000"
# Characters that names of components must not contain, because the names are parts of paths.
_FORBIDDEN: Final = str.maketrans(dict.fromkeys("/\\*+ \t\n:", "_"))
_IDENTITY: Final = Linear((1.0,))
# If the second angle is closer than this to a right angle, the third angle is set to zero.
_GIMBAL: Final = 1e-9


def component_name(name: str) -> str:
    """Return a name with the characters that are not valid in OpenSim names replaced."""
    return name.translate(_FORBIDDEN) or "_"


def osim_text(model: OpenSimModel, credits: str = "") -> str:
    """Return the text of an .osim file (version 4) with the mechanics of a model and its markers.

    Joints become Weld, Pin, Ball, Free or Custom joints with the same coordinates, in the same order. Raises ModelError for
    more than one layer of coordinates above the joints.
    """
    if len(model.coupled.layers) != 1:
        raise ModelError("Only a model with one layer of coordinates above its joints can be written.")
    root = ET.Element("OpenSimDocument", Version=VERSION)
    top = ET.SubElement(root, "Model", name=component_name(model.name))
    if credits:
        ET.SubElement(top, "credits").text = credits
    ET.SubElement(top, "length_units").text = "meters"
    ET.SubElement(top, "force_units").text = "N"
    ET.SubElement(top, "gravity").text = _format_numbers(model.multibody.gravity_W)
    chains = _sort_by_coordinates(model, build_joint_chains(model.multibody, _steps_by_body(model)))
    by_name = {body.name: body for body in model.multibody.bodies}
    bodies, joints = _add_object_set(top, "BodySet"), _add_object_set(top, "JointSet")
    for chain in chains:
        bodies.append(_body_element(by_name[chain.child]))
        joints.append(_joint_element(model, chain))
    if model.couplings:
        _add_coupling_elements(_add_object_set(top, "ConstraintSet"), model)
    markers = _add_object_set(top, "MarkerSet")
    for marker in model.markers:
        element = ET.SubElement(markers, "Marker", name=component_name(marker.name))
        ET.SubElement(element, "socket_parent_frame").text = _body_path(marker.body)
        ET.SubElement(element, "location").text = _format_numbers(marker.place_m)
    ET.indent(root, "\t")
    return '<?xml version="1.0" encoding="UTF-8" ?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _steps_by_body(model: OpenSimModel) -> dict[str, AxisStep]:
    """Return the one-axis step that moves each one-axis body, by name of the body."""
    layer, names = model.coupled.layers[0], [entry.name for entry in model.coordinates]
    moved: dict[int, tuple[Function, tuple[str, ...]]] = {out: (_IDENTITY, (names[at],)) for out, at in layer.same}
    moved |= {term.out: (term.function, tuple(names[at] for at in term.sources)) for term in layer.terms}
    steps = {}
    for body in model.multibody.bodies:
        if body.joint.axis is not None:
            function, sources = moved[model.multibody.v_slice(body.name).start]
            steps[body.name] = AxisStep(body.joint.kind, body.joint.axis, function, sources)
    return steps


def _sort_by_coordinates(model: OpenSimModel, chains: Sequence[JointChain]) -> list[JointChain]:
    """Return the joints in the order of their coordinates (joints without coordinates first), which preserves the coordinate
    order."""
    at = {entry.name: k for k, entry in enumerate(model.coordinates)}

    def first_coordinate_index(chain: JointChain) -> int:
        return min((at[name] for step in (*chain.slides, *chain.turns) for name in step.coordinates), default=-1)

    return sorted(chains, key=first_coordinate_index)


def _add_object_set(parent: ET.Element, tag: str) -> ET.Element:
    holder = ET.SubElement(parent, tag, name=tag.lower())
    return ET.SubElement(holder, "objects")


def _body_element(body: Body) -> ET.Element:
    element = ET.Element("Body", name=component_name(body.name))
    ET.SubElement(element, "mass").text = _format_number(body.mass_kg)
    ET.SubElement(element, "mass_center").text = _format_numbers(body.com_m)
    inertia = np.asarray(body.inertia_com)
    six = [inertia[i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
    ET.SubElement(element, "inertia").text = _format_numbers(six)
    return element


def _body_path(body: str | None) -> str:
    return "/ground" if body is None else f"/bodyset/{component_name(body)}"


# -- joints ------------------------------------------------------------------------------------------------------------


def _joint_element(model: OpenSimModel, chain: JointChain) -> ET.Element:
    names = {name for step in (*chain.slides, *chain.turns) for name in step.coordinates}
    coordinates = [entry for entry in model.coordinates if entry.name in names]
    kind = _joint_type(model, chain, coordinates)
    name = coordinates[0].joint if coordinates and AXIS_MARK not in chain.child else f"{chain.child}_joint"
    element = ET.Element(kind, name=component_name(name))
    holder = "ground" if chain.parent is None else component_name(chain.parent)
    offsets = f"{holder}_offset", f"{component_name(chain.child)}_offset"
    ET.SubElement(element, "socket_parent_frame").text = offsets[0]
    ET.SubElement(element, "socket_child_frame").text = offsets[1]
    listed = ET.SubElement(element, "coordinates")
    for entry in coordinates:
        listed.append(_coordinate_element(entry))
    frames = ET.SubElement(element, "frames")
    back = chain.R_C.T
    for offset, body, R, p in (
        (offsets[0], chain.parent, chain.R_P, chain.p_P),
        (offsets[1], chain.child, back, -back @ chain.p_C),
    ):
        frame = ET.SubElement(frames, "PhysicalOffsetFrame", name=offset)
        ET.SubElement(frame, "socket_parent").text = _body_path(body)
        ET.SubElement(frame, "translation").text = _format_numbers(p)
        ET.SubElement(frame, "orientation").text = _format_numbers(_body_fixed_xyz_angles(R))
    if kind == "CustomJoint":
        element.append(_spatial_transform_element(chain))
    return element


def _joint_type(model: OpenSimModel, chain: JointChain, coordinates: Sequence[Coordinate]) -> str:
    names = [entry.name for entry in model.coordinates]
    if not coordinates and not chain.slides and not chain.turns:
        return "WeldJoint"
    if any(names[first] in {entry.name for entry in coordinates} for first in model.coupled.layers[0].turning):
        return "FreeJoint" if chain.slides else "BallJoint"
    turn = chain.turns[0] if len(chain.turns) == 1 and not chain.slides else None
    if turn is not None and turn.axis == (0.0, 0.0, 1.0) and turn.function == _IDENTITY:
        return "PinJoint"
    return "CustomJoint"


def _coordinate_element(entry: Coordinate) -> ET.Element:
    element = ET.Element("Coordinate", name=component_name(entry.name))
    ET.SubElement(element, "default_value").text = _format_number(entry.default)
    if np.isfinite([entry.lower, entry.upper]).all():
        ET.SubElement(element, "range").text = _format_numbers((entry.lower, entry.upper))
    ET.SubElement(element, "clamped").text = "true" if entry.clamped else "false"
    ET.SubElement(element, "locked").text = "true" if entry.locked else "false"
    return element


def _spatial_transform_element(chain: JointChain) -> ET.Element:
    element = ET.Element("SpatialTransform")
    for word, steps in (("rotation", chain.turns), ("translation", chain.slides)):
        axes = _complete_axes([np.array(step.axis) for step in steps])
        for k, axis in enumerate(axes):
            step = steps[k] if k < len(steps) else AxisStep(word, (0.0, 0.0, 0.0), Linear((), 0.0), ())
            part = ET.SubElement(element, "TransformAxis", name=f"{word}{k + 1}")
            ET.SubElement(part, "coordinates").text = " ".join(component_name(name) for name in step.coordinates)
            ET.SubElement(part, "axis").text = _format_numbers(axis)
            part.append(function_element(step.function))
    return element


def _complete_axes(axes: list[FloatArray]) -> list[FloatArray]:
    """Return three linearly independent axes (3,), starting with the given ones."""
    for unit in (*np.eye(3)[[2, 0, 1]],) * 2:
        if len(axes) == 3:
            break
        trial = np.array([*axes, unit])
        if float(np.linalg.svd(trial, compute_uv=False)[-1]) > 0.3:
            axes = [*axes, unit]
    while len(axes) < 3:  # for two axes, add the direction perpendicular to both
        axes = [*axes, np.linalg.svd(np.array(axes))[2][-1]]
    return axes


def _body_fixed_xyz_angles(R: FloatArray) -> FloatArray:
    """Return the angles (3,) about body-fixed X, Y, Z, rad; the third is zero if the second is a right angle."""
    level = float(np.hypot(R[0, 0], R[0, 1]))
    second = np.arctan2(R[0, 2], level)
    if level < _GIMBAL:
        return np.array([np.arctan2(R[2, 1], R[1, 1]), second, 0.0])
    return np.array([np.arctan2(-R[1, 2], R[2, 2]), second, np.arctan2(-R[0, 1], R[0, 0])])


# -- couplings and functions -------------------------------------------------------------------------------------------


def _add_coupling_elements(holder: ET.Element, model: OpenSimModel) -> None:
    for coupling in model.couplings:
        tied = component_name(coupling.dependent)
        element = ET.SubElement(holder, "CoordinateCouplerConstraint", name=f"{tied}_coupling")
        ET.SubElement(element, "isEnforced").text = "true"
        inside = ET.SubElement(element, "coupled_coordinates_function")
        inside.append(function_element(coupling.function))
        ET.SubElement(element, "independent_coordinate_names").text = " ".join(map(component_name, coupling.sources))
        ET.SubElement(element, "dependent_coordinate_name").text = tied
        ET.SubElement(element, "scale_factor").text = "1"


def function_element(function: Function) -> ET.Element:
    """Return the OpenSim XML element that describes a function."""
    if isinstance(function, Piecewise):
        x = function.pieces.x
        points = {"x": _format_numbers(x), "y": _format_numbers(function.evaluate(x[None])[0])}
        is_cubic = function.pieces.c.shape[0] > 2
        return _make_element("SimmSpline" if is_cubic else "PiecewiseLinearFunction", **points)
    if isinstance(function, Polynomial):
        return _make_element("PolynomialFunction", coefficients=_format_numbers(function.coefficients))
    if not function.slopes:
        return _make_element("Constant", value=_format_number(function.offset))
    return _make_element("LinearFunction", coefficients=_format_numbers((*function.slopes, function.offset)))


def _make_element(tag: str, **children: str) -> ET.Element:
    element = ET.Element(tag)
    for name, text in children.items():
        ET.SubElement(element, name).text = text
    return element


def _format_number(value: float) -> str:
    return repr(float(value) + 0.0)


def _format_numbers(values: Sequence[float] | FloatArray | Mapping[int, float]) -> str:
    return " ".join(_format_number(value) for value in values)
