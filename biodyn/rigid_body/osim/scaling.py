"""Scaling of the bodies of an OpenSim model in its file elements, as in OpenSim's Model::scale.

Points on a body (centre of mass, frames of joints, markers) scale with the three factors of the body, and translations by the
functions of a joint with the factors of its parent. Inertias scale with the squared factor if the three factors are equal, and
otherwise like a cylinder along the axis of the least moment (OpenSim, Body::scaleInertialProperties).
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from xml.etree import ElementTree as ET

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.errors import ModelError
from biodyn.rigid_body.osim.document import element_name, element_text, iterate_members, read_number, read_numbers
from biodyn.rigid_body.osim.joints import (
    custom_joint_axes,
    is_function,
    iterate_attached_elements,
    iterate_joints,
    read_inertia,
)

_ONE = np.ones(3)
_ZERO = np.zeros(3)
_KEYS = ("xx", "yy", "zz", "xy", "xz", "yz")


def scale_model(
    model: ET.Element, factors: Mapping[str, FloatArray], mass_kg: float | None = None, keep_shares: bool = True
) -> ET.Element:
    """Return the <Model> with its bodies scaled by `factors` (3,) along their axes; other bodies keep their size.

    mass_kg: total mass of all bodies; None = sum of the scaled masses. keep_shares: True if every body keeps its fraction of
    the mass; otherwise masses scale with volumes. Muscles, geometry and contact shapes are unchanged, because they are not
    used.
    Raises ModelError for factors that are not positive.
    """
    for name, factor in factors.items():
        if not (np.isfinite(factor).all() and (np.asarray(factor) > 0.0).all()):
            raise ModelError(f"The scale factors of '{name}' must be positive numbers, found {np.asarray(factor)}.")
    made = copy.deepcopy(model)
    for element, tag, holder in iterate_attached_elements(made):
        _multiply_element(element, tag, factors.get(str(holder), _ONE))
    sliding: dict[str, FloatArray] = {}
    for joint in iterate_joints(made):
        parent = factors.get(str(joint.parent.body), _ONE)
        sliding |= dict.fromkeys(_length_coordinates(joint.element), parent)
        _scale_translations(joint.element, parent)
    _scale_couplings(made, sliding)
    bodies = [body for body in iterate_members(made, "BodySet") if body.find("mass") is not None]
    for body in bodies:
        _scale_mass(body, factors.get(element_name(body), _ONE), keep_shares)
    total = sum(read_number(body, "mass", 0.0) for body in bodies)
    if mass_kg is not None:
        if not (np.isfinite(mass_kg) and mass_kg > 0.0 and total > 0.0):
            raise ModelError(f"A model with a mass of {total:g} kg cannot be scaled to {mass_kg:g} kg.")
        for body in bodies:
            _set_numbers(body, "mass", [read_number(body, "mass", 0.0) * mass_kg / total])
            _set_inertia(body, read_inertia(body) * mass_kg / total)
    return made


def add_marker_elements(model: ET.Element, markers: Mapping[str, ET.Element]) -> ET.Element:
    """Return the <Model> with additional <Marker> elements; markers of the same name are replaced."""
    made = copy.deepcopy(model)
    holder = made.find("MarkerSet")
    if holder is None:
        holder = ET.SubElement(made, "MarkerSet")
    inside = holder.find("objects")
    if inside is None:
        inside = ET.SubElement(holder, "objects")
    for element in [entry for entry in inside if element_name(entry) in markers]:
        inside.remove(element)
    inside.extend(copy.deepcopy(entry) for entry in markers.values())
    return made


def move_markers(model: ET.Element, places: Mapping[str, FloatArray]) -> None:
    """Set the positions (3,) m of the named markers on their bodies, in place, and remove the other markers."""
    for element in list(iterate_members(model, "MarkerSet")):
        if element_name(element) in places:
            _set_numbers(element, "location", list(places[element_name(element)]))
        elif element.tag == "Marker":
            holder = next(entry for entry in model.iter() if element in list(entry))
            holder.remove(element)


def _multiply_element(element: ET.Element, tag: str, factor: FloatArray) -> None:
    if element.find(tag) is not None and (factor != 1.0).any():
        _set_numbers(element, tag, list(read_numbers(element, tag, 3, _ZERO) * factor))


def _set_numbers(element: ET.Element, tag: str, values: list[float]) -> None:
    child = element.find(tag)
    if child is None:
        child = ET.SubElement(element, tag)
    child.text = " ".join(repr(float(value)) for value in values)


def _scale_translations(joint: ET.Element, factor: FloatArray) -> None:
    """Multiply the translation functions of a custom joint by the parent's factor along each axis."""
    for axis in custom_joint_axes(joint)[1]:
        inside = axis.find("function")
        holder = axis if inside is None else inside
        function = next((child for child in holder if is_function(child)), None)
        if function is None or _is_identity_function(function):
            continue
        multiplier = ET.Element("MultiplierFunction", {"name": function.get("name", "")})
        _set_numbers(multiplier, "scale", [float(read_numbers(axis, "axis", 3) @ factor)])
        ET.SubElement(multiplier, "function").append(function)
        holder.insert(list(holder).index(function), multiplier)
        holder.remove(function)


def _length_coordinates(joint: ET.Element) -> list[str]:
    """Return the coordinates of a custom joint that drive no rotation and are therefore lengths."""
    rotational, translational = (
        {name for axis in axes for name in element_text(axis, "coordinates", "coordinate").split()}
        for axes in custom_joint_axes(joint)
    )
    return [
        *(translational - rotational),
        *(element_name(entry) for entry in joint.iter("Coordinate") if joint.tag == "SliderJoint"),
    ]


def _scale_couplings(model: ET.Element, sliding: Mapping[str, FloatArray]) -> None:
    """Multiply the coupling functions of coordinates that are lengths by the scale factor of the parent body of their joint.

    Raises ModelError if this body has three different factors, because the coupling does not specify the axis of the length.
    """
    for element in iterate_members(model, "ConstraintSet"):
        name = element_text(element, "dependent_coordinate_name")
        factor = sliding.get(name)
        if element.tag != "CoordinateCouplerConstraint" or factor is None or (factor == 1.0).all():
            continue
        if not np.allclose(factor, factor[0], rtol=1e-12, atol=0.0):
            raise ModelError(
                f"The coupled coordinate '{name}' is a length on a body with the scale factors {factor}, and its "
                "axis is unknown. Scale this body by one factor."
            )
        _set_numbers(element, "scale_factor", [read_number(element, "scale_factor", 1.0) * float(factor[0])])


def _is_identity_function(function: ET.Element) -> bool:
    """Return whether the function is the coordinate itself, not a length of the model."""
    if function.tag != "LinearFunction":
        return False
    coefficients = read_numbers(function, "coefficients")
    return len(coefficients) == 2 and coefficients[0] == 1.0 and coefficients[1] == 0.0


def _scale_mass(body: ET.Element, factor: FloatArray, keep_shares: bool) -> None:
    _multiply_element(body, "mass_center", factor)
    before, inertia, volume = read_number(body, "mass", 0.0), read_inertia(body), float(np.prod(factor))
    mass = before if keep_shares else before * volume
    _set_numbers(body, "mass", [mass])
    if before <= 0.0:
        return
    if np.allclose(factor, factor[0], rtol=1e-14, atol=0.0):
        _set_inertia(body, inertia * factor[0] ** 2 * (mass / before))
        return
    axis = int(np.argmin(np.diag(inertia)))
    across = [k for k in range(3) if k != axis]
    other = 1 if axis == 0 else 0
    radius2 = max(2.0 * inertia[axis, axis] / before, 0.0)
    length2 = max(3.0 * (inertia[other, other] - 0.25 * before * radius2) / before, 0.0) * factor[axis] ** 2
    radius2 *= factor[across[0]] * factor[across[1]]
    made = inertia * np.outer(factor, factor) * (mass / before)
    for k in across:
        made[k, k] = mass * (length2 / 3.0 + 0.25 * radius2)
    made[axis, axis] = 0.5 * mass * radius2
    _set_inertia(body, made)


def _set_inertia(body: ET.Element, inertia: FloatArray) -> None:
    six = [float(inertia[i, k]) for i, k in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
    if body.find("inertia") is not None:
        _set_numbers(body, "inertia", six)
    else:
        for key, value in zip(_KEYS, six, strict=True):
            _set_numbers(body, f"inertia_{key}", [value])
