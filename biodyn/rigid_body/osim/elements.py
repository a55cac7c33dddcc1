"""What an XML element holds, as numbers, names and truth values; an error names the element."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree as ET

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.errors import ModelError

_TRUTH = {"true": True, "1": True, "false": False, "0": False}
_SHOWN = 60


def name_of(element: ET.Element) -> str:
    """Return the element's name; older versions leave it empty."""
    return element.get("name", "").strip()


def text_of(parent: ET.Element, *tags: str, otherwise: str = "") -> str:
    """Return the text of the first of the tags that the element has."""
    for tag in tags:
        found = parent.find(tag)
        if found is not None:
            return (found.text or "").strip()
    return otherwise


def numbers(parent: ET.Element, tag: str, count: int | None = None, otherwise: FloatArray | None = None) -> FloatArray:
    """Return the numbers of a tag.

    Raises ModelError: not numbers, not `count` of them, or missing with nothing to take instead.
    """
    found = parent.find(tag)
    text = "" if found is None else (found.text or "").strip().strip("()")
    if not text and otherwise is not None:
        return otherwise
    try:
        values = np.array([float(word) for word in text.replace(",", " ").split()])
    except ValueError as error:
        raise ModelError(f"<{tag}> of {_described(parent)} holds '{shown(text)}', which are not numbers.") from error
    if count is not None and values.shape != (count,):
        raise ModelError(f"<{tag}> of {_described(parent)} must hold {count} numbers, found '{shown(text)}'.")
    if not np.isfinite(values).all():
        raise ModelError(f"<{tag}> of {_described(parent)} holds a number that is not finite: '{shown(text)}'.")
    return values


def number(parent: ET.Element, tag: str, otherwise: float) -> float:
    """Return the number of a tag, or what it is without one."""
    return float(numbers(parent, tag, 1, np.array([otherwise]))[0])


def is_true(parent: ET.Element, tag: str, otherwise: bool = False) -> bool:
    """Return whether the tag says true; ModelError where it says neither true nor false."""
    text = text_of(parent, tag).lower()
    if text and text not in _TRUTH:
        raise ModelError(f"<{tag}> of {_described(parent)} must be true or false, found '{shown(text)}'.")
    return _TRUTH[text] if text else otherwise


def shown(text: str) -> str:
    """The beginning of what can be seen of a text, on one line, for a message."""
    return "".join(letter for letter in " ".join(text.split()) if letter.isprintable())[:_SHOWN]


def members(parent: ET.Element, *sets: str) -> Iterator[ET.Element]:
    """Go through the objects of the first set found: <BodySet><objects> ... in all versions."""
    for tag in sets:
        found = parent.find(tag)
        if found is None:
            continue
        objects = found.find("objects")
        yield from found if objects is None else objects
        return


def _described(element: ET.Element) -> str:
    name = name_of(element)
    return f"{element.tag} '{name}'" if name else f"<{element.tag}>"
