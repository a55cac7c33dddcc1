"""OpenSim model as a coupled multibody with coordinates and markers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import ModelError
from biodyn.geometry.rotations import matrices_from_axis_angle
from biodyn.rigid_body.coupling.coordinate_functions import CoordinateMap, Function, Linear, Term, scale_function
from biodyn.rigid_body.coupling.coupled_multibody import CoupledMultibody
from biodyn.rigid_body.multibody import INERTIA_TOLERANCE, Body, Joint, Multibody
from biodyn.rigid_body.osim.document import (
    element_name,
    element_text,
    iterate_members,
    read_document,
    read_flag,
    read_number,
    read_numbers,
)
from biodyn.rigid_body.osim.joints import (
    AxisStep,
    BodyFrame,
    JointElement,
    MassProperties,
    angular_velocity_coordinates,
    is_function,
    iterate_joints,
    iterate_markers,
    joint_steps,
    read_function,
    read_masses,
)

_GRAVITY: Final = np.array([0.0, -9.80665, 0.0])


@dataclass(frozen=True)
class Coordinate:
    """One coordinate of the model, rad or m, and its joint.

    rotational: True if its unit is rad. to_ground: True if its joint is attached to ground. lower, upper: its range, whether or
    not it is clamped. prescription: value of a prescribed coordinate as a function of time (s); None = its default.
    """

    name: str
    joint: str
    to_ground: bool
    rotational: bool
    default: float
    lower: float
    upper: float
    clamped: bool
    locked: bool
    prescribed: bool
    prescription: Function | None = None


@dataclass(frozen=True)
class Marker:
    """Marker of the model: name, body (None = ground), and position (3,) m in body axes."""

    name: str
    body: str | None
    place_m: tuple[float, float, float]


@dataclass(frozen=True)
class Coupling:
    """Constraint that makes one coordinate a function of other coordinates in every frame."""

    dependent: str
    sources: tuple[str, ...]
    function: Function


@dataclass(frozen=True, eq=False)
class OpenSimModel:
    """Mechanical content of an .osim file.

    Attributes:
        name: name of the model. coordinates: in the order of q, v and tau. markers: in the order of the file.
        coupled: the tree of bodies and its layer; q (T, n) is in the order of `coordinates`. Speeds are rates of q, except for
            ball and free joints, whose three rotational speeds are the angular velocity in parent axes.
        couplings: coordinates that depend on others by a constraint. Inverse dynamics of `coupled` ignores them, as in OpenSim;
            `independent_coordinates()` includes them.
        notes: findings about unused elements of the file and their effect.
    """

    name: str
    coordinates: tuple[Coordinate, ...]
    coupled: CoupledMultibody
    markers: tuple[Marker, ...]
    couplings: tuple[Coupling, ...]
    notes: tuple[Diagnostic, ...]

    @property
    def multibody(self) -> Multibody:
        """Underlying tree of one-axis joints. Bodies have their names in the file; names of intermediate axes contain '/'."""
        return self.coupled.multibody

    def default_configuration(self) -> FloatArray:
        """Return q (n,) with every coordinate at its default value and the couplings satisfied."""
        q = np.array([[entry.default for entry in self.coordinates]])
        return self.apply_couplings(q)[0]

    def apply_couplings(self, q: FloatArray) -> FloatArray:
        """Return q (T, n) with the coupled coordinates computed from the others."""
        names, free = [entry.name for entry in self.coordinates], self._free_names()
        return self._coupling_map().evaluate(q[:, [names.index(name) for name in free]]).z if self.couplings else q

    def independent_coordinates(self) -> tuple[tuple[str, ...], CoupledMultibody]:
        """Return the names of the independent coordinates, and the multibody driven by these coordinates alone."""
        return self._free_names(), self.coupled.with_layer(self._coupling_map()) if self.couplings else self.coupled

    def _free_names(self) -> tuple[str, ...]:
        """Return the names of the coordinates that no coupling determines, in the order of `coordinates`."""
        tied = {coupling.dependent for coupling in self.couplings}
        return tuple(entry.name for entry in self.coordinates if entry.name not in tied)

    def _coupling_map(self) -> CoordinateMap:
        free = self._free_names()
        by_name = {coupling.dependent: coupling for coupling in self.couplings}
        same = tuple((k, free.index(entry.name)) for k, entry in enumerate(self.coordinates) if entry.name in free)
        terms = tuple(
            Term(k, tuple(free.index(name) for name in by_name[entry.name].sources), by_name[entry.name].function)
            for k, entry in enumerate(self.coordinates)
            if entry.name in by_name
        )
        return CoordinateMap(len(free), len(self.coordinates), same, terms)


def from_osim(path: str | Path) -> OpenSimModel:
    """Return the model of an .osim file, versions 1.9 to 4.x.

    Muscles, geometry, contact and controllers are ignored (`notes` counts them). Raises ModelError if the file is not an
    OpenSim file, if joints or functions are not supported, if the bodies are not a tree, or if a mass belongs to no body.
    """
    return build_model(read_model_document(path)[0])


def read_model_document(path: str | Path) -> tuple[ET.Element, str]:
    """Return the <Model> element of an .osim file and the file's version; ModelError as for `from_osim`."""
    root = read_document(path)
    return find_model_element(root, Path(path).name), root.get("Version", "")


def find_model_element(root: ET.Element, name: str) -> ET.Element:
    """Return the <Model> of an OpenSim document called `name` in errors; ModelError if it contains none."""
    model = root.find("Model")
    if model is None:
        raise ModelError(f"'{name}' is an OpenSim file but contains no <Model>: {_describe_children(root)}.")
    return model


def build_model(model: ET.Element) -> OpenSimModel:
    """Return the model of a <Model> element; ModelError as for `from_osim`."""
    elements = list(iterate_joints(model))
    body_masses = read_masses(model)
    coordinates, steps, turning = _read_coordinates_and_steps(elements)
    bodies, sources = _build_bodies(elements, steps, body_masses)
    gravity = read_numbers(model, "gravity", 3, _GRAVITY)
    multibody = Multibody(bodies, (float(gravity[0]), float(gravity[1]), float(gravity[2])))
    names = [coordinate.name for coordinate in coordinates]
    couplings, notes = _read_couplings(model, names)
    return OpenSimModel(
        name=element_name(model),
        coordinates=coordinates,
        coupled=CoupledMultibody(multibody, (_build_coordinate_layer(multibody, names, sources, turning),)),
        markers=_read_markers(model),
        couplings=couplings,
        notes=(*notes, *_unphysical_inertia_findings(body_masses), *_unused_element_findings(model)),
    )


def _describe_children(root: ET.Element) -> str:
    return ", ".join(f"<{child.tag}>" for child in list(root)[:3]) or "nothing"


def _read_coordinates_and_steps(
    elements: Sequence[JointElement],
) -> tuple[tuple[Coordinate, ...], dict[str, list[AxisStep]], tuple[str, ...]]:
    """Return the coordinates, the joint steps of each body, and the first coordinate of each angular velocity."""
    coordinates: list[Coordinate] = []
    steps: dict[str, list[AxisStep]] = {}
    turning: list[str] = []
    for joint in elements:
        child = joint.child.body
        if child is None:
            raise ModelError(f"Joint '{joint.name}' has ground as its child; reversed joints are not supported.")
        if child in steps:
            raise ModelError(f"Body '{child}' is the child of two joints; models with closed chains are not supported.")
        if read_flag(joint.element, "reverse"):
            raise ModelError(f"Joint '{joint.name}' is reversed (<reverse>), which is not supported.")
        names = [element_name(entry) for entry in joint.coordinate_elements]
        steps[child] = joint_steps(joint.element, names)
        turning += angular_velocity_coordinates(joint.element, names)[:1]
        moves = {name: step.kind for step in steps[child] for name in step.coordinates if step.kind == "revolute"}
        for entry in joint.coordinate_elements:
            if element_name(entry) in {known.name for known in coordinates}:
                raise ModelError(f"Two coordinates are named '{element_name(entry)}'.")
            coordinates.append(_read_coordinate(entry, joint, element_name(entry) in moves))
    return tuple(coordinates), steps, tuple(turning)


def _read_coordinate(element: ET.Element, joint: JointElement, turns: bool) -> Coordinate:
    motion = element_text(element, "motion_type").lower()
    lower, upper = read_numbers(element, "range", 2, np.array([-np.pi, np.pi] if turns else [-np.inf, np.inf]))
    return Coordinate(
        name=element_name(element),
        joint=joint.name,
        to_ground=joint.parent.body is None,
        rotational=turns if motion not in ("rotational", "translational") else motion == "rotational",
        default=read_number(element, "default_value", read_number(element, "initial_value", 0.0)),
        lower=float(lower),
        upper=float(upper),
        clamped=read_flag(element, "clamped"),
        locked=read_flag(element, "locked"),
        prescribed=read_flag(element, "prescribed"),
        prescription=_read_prescription(element),
    )


def _read_prescription(element: ET.Element) -> Function | None:
    """Return the function of time of a prescribed coordinate; None if none exists or if its kind is not supported."""
    holder = element.find("prescribed_function")
    if not read_flag(element, "prescribed") or holder is None:
        return None
    inside = next((child for child in holder if is_function(child)), None)
    return None if inside is None else read_function(inside)


def _build_bodies(
    elements: Sequence[JointElement], steps: dict[str, list[AxisStep]], body_masses: dict[str, MassProperties]
) -> tuple[tuple[Body, ...], dict[str, AxisStep]]:
    """Return the bodies, including massless ones for intermediate axes, and the step that moves each one-axis body."""
    carried = {joint.child.body: joint for joint in elements}
    bodies_without_joint = [name for name in body_masses if name not in carried]
    if bodies_without_joint:
        raise ModelError(
            f"Body '{bodies_without_joint[0]}' is not the child of any joint.",
            "OpenSim would leave it free; add a FreeJoint to ground.",
        )
    bodies: list[Body] = []
    sources: dict[str, AxisStep] = {}
    for child, joint in carried.items():
        if child not in body_masses:
            raise ModelError(f"The child '{child}' of joint '{joint.name}' is not a body of the model.")
        holder, frame = joint.parent.body, BodyFrame(None, joint.parent.R, joint.parent.p)
        for k, step in enumerate(steps[str(child)]):
            constant = step.constant
            if constant is not None:
                frame = _frame_after_constant_step(frame, step, constant)
                continue
            name = f"{child}/{joint.name}/{k}"
            bodies.append(Body(name, holder, Joint(step.kind, step.axis), frame.R, frame.p))
            sources[name] = step
            holder, frame = name, BodyFrame(None, np.eye(3), np.zeros(3))
        back = joint.child.R.T
        bodies.append(
            _make_welded_body(str(child), holder, frame, back, -back @ joint.child.p, body_masses[str(child)])
        )
    return _merge_bodies_with_last_axes(bodies, sources)


def _frame_after_constant_step(frame: BodyFrame, step: AxisStep, value: float) -> BodyFrame:
    """Return the frame displaced by a step with a constant value (rad or m)."""
    axis = np.array(step.axis)
    if step.kind == "prismatic":
        return replace(frame, p=frame.p + frame.R @ (value * axis))
    return replace(frame, R=frame.R @ matrices_from_axis_angle(axis, value))


def _make_welded_body(
    name: str, holder: str | None, frame: BodyFrame, R: FloatArray, p: FloatArray, mass: MassProperties
) -> Body:
    """Return the body with its mass, welded to the body `holder` that moves with its last axis."""
    inertia = mass.inertia if mass.mass_kg > 0.0 else np.zeros((3, 3))
    place = frame.p + frame.R @ p
    return Body(name, holder, Joint("weld"), frame.R @ R, place, mass.mass_kg, mass.com_m, inertia, any_inertia=True)


def _merge_bodies_with_last_axes(
    bodies: Sequence[Body], sources: dict[str, AxisStep]
) -> tuple[tuple[Body, ...], dict[str, AxisStep]]:
    """Merge each body with its last axis if their frames coincide, so that the tree has one link less."""
    by_name = {body.name: body for body in bodies}
    taken: dict[str, AxisStep] = {}
    dropped: set[str] = set()
    made: dict[str, Body] = {}
    for body in bodies:
        if body.joint.kind == "weld" and body.parent in sources:
            axis = by_name[body.parent]
            if np.array_equal(body.R_PJ, np.eye(3)) and not body.p_PJ.any():
                dropped.add(axis.name)
                made[body.name] = replace(body, parent=axis.parent, joint=axis.joint, R_PJ=axis.R_PJ, p_PJ=axis.p_PJ)
                taken[body.name] = sources[axis.name]
                continue
        made[body.name] = body
    remaining = {name: step for name, step in sources.items() if name not in dropped}
    return tuple(body for name, body in made.items() if name not in dropped), {**remaining, **taken}


def _build_coordinate_layer(
    multibody: Multibody, names: Sequence[str], sources: dict[str, AxisStep], turning: Sequence[str]
) -> CoordinateMap:
    same, terms = [], []
    for body, step in sources.items():
        out = multibody.v_slice(body).start
        indices = tuple(names.index(name) for name in step.coordinates)
        if step.function == Linear((1.0,)):
            same.append((out, indices[0]))
        else:
            terms.append(Term(out, indices, step.function))
    firsts = tuple(names.index(name) for name in turning)
    return CoordinateMap(len(names), multibody.nv, tuple(same), tuple(terms), firsts)


def _read_markers(model: ET.Element) -> tuple[Marker, ...]:
    return tuple(
        Marker(name, place.body, (float(place.p[0]), float(place.p[1]), float(place.p[2])))
        for name, place in iterate_markers(model)
    )


def _read_couplings(model: ET.Element, names: Sequence[str]) -> tuple[tuple[Coupling, ...], list[Diagnostic]]:
    """Return the enforced coordinate couplings, and findings about other constraints."""
    couplings, notes = [], []
    for element in iterate_members(model, "ConstraintSet"):
        off = read_flag(element, "isDisabled") or not read_flag(element, "isEnforced", True)
        if off:
            continue
        if element.tag != "CoordinateCouplerConstraint":
            notes.append(
                Diagnostic(
                    "osim-not-used",
                    "warning",
                    f"The {element.tag} '{element_name(element)}' is not enforced. Inverse dynamics includes its force "
                    "in the joint torques, as in OpenSim, and inverse kinematics ignores it.",
                    about=element_name(element),
                )
            )
            continue
        inside = element.find("coupled_coordinates_function")
        dependent = element_text(element, "dependent_coordinate_name")
        sources = tuple(element_text(element, "independent_coordinate_names").split())
        unknown = [name for name in (dependent, *sources) if name not in names]
        if inside is None or not len(inside) or unknown:
            raise ModelError(
                f"The coupling '{element_name(element)}' refers to '{unknown[0]}', which is not a coordinate."
                if unknown
                else f"The coupling '{element_name(element)}' contains no function."
            )
        function = scale_function(read_function(inside[0]), read_number(element, "scale_factor", 1.0))
        couplings.append(Coupling(dependent, sources, function))
    tied = {coupling.dependent for coupling in couplings}
    chained = [coupling for coupling in couplings if tied & set(coupling.sources)]
    if chained:
        raise ModelError(
            f"The coupling of '{chained[0].dependent}' depends on a coupled coordinate, which is not supported."
        )
    return tuple(couplings), notes


def _unphysical_inertia_findings(body_masses: dict[str, MassProperties]) -> list[Diagnostic]:
    """Return a finding about bodies with physically impossible inertias, which are used unchanged."""
    beyond = []
    for name, mass in body_masses.items():
        if mass.mass_kg > 0.0:
            a, b, c = np.linalg.eigvalsh(mass.inertia)
            if a + b < (1.0 - INERTIA_TOLERANCE) * c:
                beyond.append(name)
    if not beyond:
        return []
    message = (
        f"The inertia of {', '.join(beyond)} is physically impossible (no mass distribution has it); it is used "
        "unchanged."
    )
    return [Diagnostic("osim-not-used", "info", message)]


def _unused_element_findings(model: ET.Element) -> list[Diagnostic]:
    """Return a finding with the number of unused elements of the model."""
    notes = []
    for tag, words in (
        ("ForceSet", "forces (muscles, springs, actuators), which apply no load"),
        ("ContactGeometrySet", "contact shapes, because measured ground forces are used"),
        ("ControllerSet", "controllers"),
    ):
        kinds = Counter(
            element.tag for element in iterate_members(model, tag) if element.tag not in ("objects", "groups")
        )
        if kinds:
            listed = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common(3))
            notes.append(
                Diagnostic("osim-not-used", "info", f"The model has {sum(kinds.values())} unused {words} ({listed}).")
            )
    return notes
