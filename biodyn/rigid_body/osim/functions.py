"""The functions of OpenSim's files."""

from __future__ import annotations

from collections.abc import Callable
from xml.etree import ElementTree as ET

from biodyn.errors import ModelError
from biodyn.rigid_body.coupling.functions import (
    Function,
    Linear,
    Polynomial,
    Scaled,
    Sine,
    cubic_spline,
    natural_spline,
    piecewise_linear,
)
from biodyn.rigid_body.osim.elements import number, numbers


def _linear(element: ET.Element) -> Function:
    *slopes, offset = _coefficients(element)
    return Linear(tuple(slopes), offset)


def _coefficients(element: ET.Element) -> tuple[float, ...]:
    found = numbers(element, "coefficients")
    if not len(found):
        raise ModelError(f"A {element.tag} holds no coefficients.")
    return tuple(map(float, found))


def _multiplied(element: ET.Element) -> Function:
    inside = element.find("function")
    if inside is None or not len(inside):
        raise ModelError("A MultiplierFunction holds no function.")
    scale, function = number(element, "scale", 1.0), function_of(inside[0])
    if isinstance(function, Linear):
        return Linear(tuple(scale * slope for slope in function.slopes), scale * function.offset)
    return Scaled(function, scale)


def _gcv(element: ET.Element) -> Function:
    if number(element, "error_variance", 0.0) > 0.0:
        raise ModelError("A GCVSpline smooths its points (error_variance above 0); only interpolating ones are read.")
    degree = 2 * int(number(element, "half_order", 3.0)) - 1
    return natural_spline(numbers(element, "x"), numbers(element, "y"), degree)


_READERS: dict[str, Callable[[ET.Element], Function]] = {
    "Constant": lambda element: Linear((), number(element, "value", 0.0)),
    "LinearFunction": _linear,
    "SimmSpline": lambda element: cubic_spline(numbers(element, "x"), numbers(element, "y")),
    "GCVSpline": _gcv,
    "PiecewiseLinearFunction": lambda element: piecewise_linear(numbers(element, "x"), numbers(element, "y")),
    "PolynomialFunction": lambda element: Polynomial(_coefficients(element)),
    "Sine": lambda element: Sine(
        number(element, "amplitude", 1.0),
        number(element, "omega", 1.0),
        number(element, "phase", 0.0),
        number(element, "offset", 0.0),
    ),
    "MultiplierFunction": _multiplied,
}
# names of earlier versions for the same spline
_EARLIER = {"NaturalCubicSpline": "SimmSpline", "natCubicSpline": "SimmSpline"}


def function_of(element: ET.Element) -> Function:
    """Return the function an element describes. Raises ModelError naming a kind that is not read."""
    kind = _EARLIER.get(element.tag, element.tag)
    if kind not in _READERS:
        raise ModelError(f"A function of kind '{element.tag}' is not read.", f"Known kinds: {', '.join(_READERS)}.")
    return _READERS[kind](element)


def is_function(element: ET.Element) -> bool:
    """Return whether the element is a function that is read."""
    return _EARLIER.get(element.tag, element.tag) in _READERS
