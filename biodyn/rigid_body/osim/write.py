"""An OpenSim model as a file of version 4: bodies, joints, coordinates, couplings, markers.

What the mechanics here do not hold (muscles, geometry, contact, the function of a prescribed coordinate) is not written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final
from xml.etree import ElementTree as ET

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.errors import ModelError
from biodyn.rigid_body.coupling.functions import (
    EllipsoidPoint,
    Function,
    Linear,
    Piecewise,
    Polynomial,
    Scaled,
    Sine,
    cubic_spline,
)
from biodyn.rigid_body.joint import Body
from biodyn.rigid_body.osim.chains import AXIS_MARK, Chain, chains_of
from biodyn.rigid_body.osim.joints import Step
from biodyn.rigid_body.osim.model import Coordinate, OpenSimModel

#: Files of this version are read by every OpenSim 4.
VERSION: Final = "40000"
# Characters that names of components must not have (they are paths).
_FORBIDDEN: Final = str.maketrans(dict.fromkeys("/\\*+ \t\n:", "_"))
_IDENTITY: Final = Linear((1.0,))
# Nearer than this to a right angle of the second angle the first takes the turn of the third.
_GIMBAL: Final = 1e-9


def component_name(name: str) -> str:
    """Return a name as OpenSim's components may have it."""
    return name.translate(_FORBIDDEN) or "_"


def osim_text(model: OpenSimModel, credits: str = "") -> str:
    """Return the text of an .osim file (version 4) with the mechanics of a model and its markers.

    Joints become Weld, Pin, Ball, Free, Ellipsoid or Custom joints with the same coordinates, in the same order. Raises
    ModelError for more than one layer of coordinates over the joints.
    """
    if len(model.coupled.layers) != 1:
        raise ModelError("Only a model whose coordinates lie in one layer above its joints can be written.")
    root = ET.Element("OpenSimDocument", Version=VERSION)
    top = ET.SubElement(root, "Model", name=component_name(model.name))
    if credits:
        ET.SubElement(top, "credits").text = credits
    ET.SubElement(top, "length_units").text = "meters"
    ET.SubElement(top, "force_units").text = "N"
    ET.SubElement(top, "gravity").text = _numbers(model.multibody.gravity_W)
    chains = _in_order(model, chains_of(model.multibody, _steps(model)))
    by_name = {body.name: body for body in model.multibody.bodies}
    bodies, joints = _objects(top, "BodySet"), _objects(top, "JointSet")
    for chain in chains:
        bodies.append(_body(by_name[chain.child]))
        joints.append(_joint(model, chain))
    if model.couplings:
        _couplings(_objects(top, "ConstraintSet"), model)
    markers = _objects(top, "MarkerSet")
    for marker in model.markers:
        element = ET.SubElement(markers, "Marker", name=component_name(marker.name))
        ET.SubElement(element, "socket_parent_frame").text = _path(marker.body)
        ET.SubElement(element, "location").text = _numbers(marker.place_m)
    ET.indent(root, "\t")
    return '<?xml version="1.0" encoding="UTF-8" ?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _steps(model: OpenSimModel) -> dict[str, Step]:
    """What moves each one-axis body."""
    layer, names = model.coupled.layers[0], [one.name for one in model.coordinates]
    moved: dict[int, tuple[Function, tuple[str, ...]]] = {out: (_IDENTITY, (names[at],)) for out, at in layer.same}
    moved |= {term.out: (term.function, tuple(names[at] for at in term.sources)) for term in layer.terms}
    steps = {}
    for body in model.multibody.bodies:
        if body.joint.axis is not None:
            function, sources = moved[model.multibody.v_slice(body.name).start]
            steps[body.name] = Step(body.joint.kind, body.joint.axis, function, sources)
    return steps


def _in_order(model: OpenSimModel, chains: Sequence[Chain]) -> list[Chain]:
    """The joints in the order of their coordinates, those without one first: so the file's order is the model's."""
    at = {one.name: k for k, one in enumerate(model.coordinates)}

    def first(chain: Chain) -> int:
        return min((at[name] for step in (*chain.slides, *chain.turns) for name in step.coordinates), default=-1)

    return sorted(chains, key=first)


def _objects(parent: ET.Element, tag: str) -> ET.Element:
    holder = ET.SubElement(parent, tag, name=tag.lower())
    return ET.SubElement(holder, "objects")


def _body(body: Body) -> ET.Element:
    element = ET.Element("Body", name=component_name(body.name))
    ET.SubElement(element, "mass").text = _number(body.mass_kg)
    ET.SubElement(element, "mass_center").text = _numbers(body.com_m)
    inertia = np.asarray(body.inertia_com)
    six = [inertia[i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
    ET.SubElement(element, "inertia").text = _numbers(six)
    return element


def _path(body: str | None) -> str:
    return "/ground" if body is None else f"/bodyset/{component_name(body)}"


# -- joints ------------------------------------------------------------------------------------------------------------


def _joint(model: OpenSimModel, chain: Chain) -> ET.Element:
    own = {name for step in (*chain.slides, *chain.turns) for name in step.coordinates}
    coordinates = [one for one in model.coordinates if one.name in own]
    kind = _kind(model, chain, coordinates)
    name = coordinates[0].joint if coordinates and AXIS_MARK not in chain.child else f"{chain.child}_joint"
    element = ET.Element(kind, name=component_name(name))
    holder = "ground" if chain.parent is None else component_name(chain.parent)
    offsets = f"{holder}_offset", f"{component_name(chain.child)}_offset"
    ET.SubElement(element, "socket_parent_frame").text = offsets[0]
    ET.SubElement(element, "socket_child_frame").text = offsets[1]
    listed = ET.SubElement(element, "coordinates")
    for one in coordinates:
        listed.append(_coordinate(one))
    frames = ET.SubElement(element, "frames")
    back = chain.R_C.T
    for offset, body, R, p in (
        (offsets[0], chain.parent, chain.R_P, chain.p_P),
        (offsets[1], chain.child, back, -back @ chain.p_C),
    ):
        frame = ET.SubElement(frames, "PhysicalOffsetFrame", name=offset)
        ET.SubElement(frame, "socket_parent").text = _path(body)
        ET.SubElement(frame, "translation").text = _numbers(p)
        ET.SubElement(frame, "orientation").text = _numbers(_body_xyz(R))
    if kind == "EllipsoidJoint":
        radii = [step.function.radius for step in chain.slides if isinstance(step.function, EllipsoidPoint)]
        ET.SubElement(element, "radii_x_y_z").text = _numbers(radii)
    if kind == "CustomJoint":
        element.append(_transform(chain))
    return element


def _kind(model: OpenSimModel, chain: Chain, coordinates: Sequence[Coordinate]) -> str:
    names = [one.name for one in model.coordinates]
    if not coordinates and not chain.slides and not chain.turns:
        return "WeldJoint"
    if any(names[first] in {one.name for one in coordinates} for first in model.coupled.layers[0].turning):
        if not chain.slides:
            return "BallJoint"
        return "EllipsoidJoint" if isinstance(chain.slides[0].function, EllipsoidPoint) else "FreeJoint"
    turn = chain.turns[0] if len(chain.turns) == 1 and not chain.slides else None
    if turn is not None and turn.axis == (0.0, 0.0, 1.0) and turn.function == _IDENTITY:
        return "PinJoint"
    return "CustomJoint"


def _coordinate(one: Coordinate) -> ET.Element:
    element = ET.Element("Coordinate", name=component_name(one.name))
    ET.SubElement(element, "default_value").text = _number(one.default)
    if np.isfinite([one.lower, one.upper]).all():
        ET.SubElement(element, "range").text = _numbers((one.lower, one.upper))
    ET.SubElement(element, "clamped").text = "true" if one.clamped else "false"
    ET.SubElement(element, "locked").text = "true" if one.locked else "false"
    return element


def _transform(chain: Chain) -> ET.Element:
    element = ET.Element("SpatialTransform")
    for word, steps in (("rotation", chain.turns), ("translation", chain.slides)):
        axes = _filled([np.array(step.axis) for step in steps])
        for k, axis in enumerate(axes):
            step = steps[k] if k < len(steps) else Step(word, (0.0, 0.0, 0.0), Linear((), 0.0), ())
            part = ET.SubElement(element, "TransformAxis", name=f"{word}{k + 1}")
            ET.SubElement(part, "coordinates").text = " ".join(component_name(name) for name in step.coordinates)
            ET.SubElement(part, "axis").text = _numbers(axis)
            part.append(function_element(step.function))
    return element


def _filled(axes: list[FloatArray]) -> list[FloatArray]:
    """Three independent axes: the given ones first."""
    for unit in (*np.eye(3)[[2, 0, 1]],) * 2:
        if len(axes) == 3:
            break
        trial = np.array([*axes, unit])
        if float(np.linalg.svd(trial, compute_uv=False)[-1]) > 0.3:
            axes = [*axes, unit]
    while len(axes) < 3:  # skew ones: what is perpendicular to both
        axes = [*axes, np.linalg.svd(np.array(axes))[2][-1]]
    return axes


def _body_xyz(R: FloatArray) -> FloatArray:
    """Angles (3,) about body-fixed X, Y, Z, rad; at a right angle of the second the third is zero."""
    level = float(np.hypot(R[0, 0], R[0, 1]))
    second = np.arctan2(R[0, 2], level)
    if level < _GIMBAL:
        return np.array([np.arctan2(R[2, 1], R[1, 1]), second, 0.0])
    return np.array([np.arctan2(-R[1, 2], R[2, 2]), second, np.arctan2(-R[0, 1], R[0, 0])])


# -- couplings and functions -------------------------------------------------------------------------------------------


def _couplings(holder: ET.Element, model: OpenSimModel) -> None:
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
    """Return a function as OpenSim writes it. Raises ModelError for one that it does not know."""
    if isinstance(function, Scaled):
        if function.factor == 1.0:
            return function_element(function.function)
        element = ET.Element("MultiplierFunction")
        ET.SubElement(element, "function").append(function_element(function.function))
        ET.SubElement(element, "scale").text = _number(function.factor)
        return element
    if isinstance(function, Piecewise):
        return _through_points(function)
    if isinstance(function, Linear) and not function.slopes:
        return _element("Constant", value=_number(function.offset))
    if isinstance(function, Linear):
        return _element("LinearFunction", coefficients=_numbers((*function.slopes, function.offset)))
    if isinstance(function, Polynomial):
        return _element("PolynomialFunction", coefficients=_numbers(function.coefficients))
    if isinstance(function, Sine):
        parts = {name: _number(getattr(function, name)) for name in ("amplitude", "omega", "phase", "offset")}
        return _element("Sine", **parts)
    raise ModelError(f"OpenSim knows no function of kind {type(function).__name__} here.")


def _through_points(function: Piecewise) -> ET.Element:
    x = np.unique(function.pieces.x)
    y = function.at(x[None])[0]
    degree = function.pieces.c.shape[0] - 1
    points = {"x": _numbers(x), "y": _numbers(y)}
    if degree == 1:
        return _element("PiecewiseLinearFunction", **points)
    middle = 0.5 * (x[1:] + x[:-1])[None]
    if degree == 3 and np.allclose(cubic_spline(x, y).at(middle)[0], function.at(middle)[0], rtol=0.0, atol=1e-12):
        return _element("SimmSpline", **points)
    return _element("GCVSpline", half_order=str((degree + 1) // 2), error_variance="0", **points)


def _element(tag: str, **children: str) -> ET.Element:
    element = ET.Element(tag)
    for name, text in children.items():
        ET.SubElement(element, name).text = text
    return element


def _number(value: float) -> str:
    return repr(float(value) + 0.0)


def _numbers(values: Sequence[float] | FloatArray | Mapping[int, float]) -> str:
    return " ".join(_number(value) for value in values)
