"""Safe reader of OpenSim XML: no entities, limited depth and size, tolerant of common defects of real files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree as ET

import numpy as np
from defusedxml import DefusedXmlException
from defusedxml.ElementTree import XMLParser

from biodyn.conventions import FloatArray
from biodyn.errors import ModelError

#: Limits of the size and depth of a file; the largest model of 4.x, with 2,000 muscles, has 30 MB and 20 levels.
MOST_BYTES: Final = 200_000_000
MOST_LEVELS: Final = 100
MOST_ELEMENTS: Final = 5_000_000
# C++ names written as tags, e.g. SimTK::Function; a colon would denote a namespace
_QUALIFIED: Final = re.compile(rb"(</?\s*)([A-Za-z_]\w*(?:::?[A-Za-z_]\w*)+)")
_DOTTED: Final = re.compile(rb"(</?)([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)")
# bytes that are invalid in XML 1.0
_STRAY: Final = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")


class _SizeLimitExceeded(Exception):
    """Error for a model file that has more nested or more elements than any real model."""


class _BoundedTreeBuilder(ET.TreeBuilder):
    """Tree builder that limits the depth and the number of elements."""

    def __init__(self) -> None:
        super().__init__()
        self._level = 0
        self._count = 0

    def start(self, tag: Any, attrs: Any, /) -> Any:
        self._level += 1
        self._count += 1
        if self._level > MOST_LEVELS:
            raise _SizeLimitExceeded(f"its elements are nested more than {MOST_LEVELS} deep")
        if self._count > MOST_ELEMENTS:
            raise _SizeLimitExceeded(f"it has more than {MOST_ELEMENTS} elements")
        return super().start(tag, attrs)

    def end(self, tag: Any, /) -> Any:
        self._level -= 1
        return super().end(tag)


def read_document(path: str | Path, also: tuple[str, ...] = ()) -> ET.Element:
    """Return the root element of an OpenSim XML file: <OpenSimDocument>, or one of the tags in `also`.

    Bytes that are not text are ignored, and tags such as `SimTK::Function` become `SimTK.Function`. Raises ModelError if the
    file cannot be opened, is not a regular file, is empty, is not XML, has entities, is too large or deep, or is not an OpenSim
    document.
    """
    path = Path(path)
    try:
        if path.exists() and not path.is_dir() and not path.is_file():  # opening a pipe would block
            raise ModelError(f"'{path}' is not a regular file (but a pipe, a device or a socket).", "Specify a file.")
        size = path.stat().st_size
        if size == 0:
            raise ModelError(
                f"'{path.name}' is empty (0 bytes) and therefore not an XML file.", "Copy the original file again."
            )
        if size > MOST_BYTES:
            raise ModelError(
                f"'{path.name}' has {size / 1000000.0:.0f} MB; expected an OpenSim model of at most 200 MB."
            )
        content = path.read_bytes()
    except OSError as error:
        raise ModelError(f"'{path.name}' cannot be opened: {error.strerror or error}.") from error
    return parse_document(content, path.name, also)


def parse_document(content: bytes, name: str, also: tuple[str, ...] = ()) -> ET.Element:
    """Return the root element of the content of an OpenSim XML file, called `name` in errors; see `read_document`."""
    root = _parse_xml(_clean_xml(content), name)
    if root.tag not in ("OpenSimDocument", *also):
        raise ModelError(
            f"'{name}' is not an OpenSim file: its first element is <{root.tag[:40]}>, not <OpenSimDocument>."
        )
    return root


def _clean_xml(content: bytes) -> bytes:
    """Return the bytes of a file in a form that an XML parser can read: a single encoding, plain tags, nothing after the end."""
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        content = content.decode("utf-16", errors="replace").encode()
    content = content[max(content.find(b"<"), 0) : content.rfind(b">") + 1]
    if b"<OpenSimDocument" not in content:  # task sets of OpenSim 2 end with a closing tag without an opening tag
        content = content.removesuffix(b"</OpenSimDocument>")
    text = content.decode("utf-8", errors="replace").encode()
    text = _STRAY.sub(b"", text)
    text = re.sub(rb'^(<\?xml[^>]*?)\s+encoding\s*=\s*["\'][^"\']*["\']', rb"\1", text, count=1)
    return _QUALIFIED.sub(lambda m: m[1] + re.sub(rb"::?", b".", m[2]), text)


def _parse_xml(content: bytes, name: str) -> ET.Element:
    parser = XMLParser(target=_BoundedTreeBuilder(), forbid_dtd=True)
    try:
        parser.feed(content)
        root: ET.Element = parser.close()
    except (_SizeLimitExceeded, DefusedXmlException) as error:
        what = str(error) if isinstance(error, _SizeLimitExceeded) else "it declares entities or a document type"
        raise ModelError(f"'{name}' is not read, because {what}, unlike any OpenSim model.") from error
    except (ET.ParseError, ValueError, LookupError) as error:
        raise ModelError(
            f"'{name}' is not an XML file: {error}.",
            "Specify an OpenSim file: a model (.osim), or forces or a set-up (.xml).",
        ) from error
    return root


def model_bytes(model: ET.Element, version: str) -> bytes:
    """Return the content of an .osim file with the given <Model> element and version of the format."""
    root = ET.Element("OpenSimDocument", {"Version": version})
    root.append(model)
    content: bytes = ET.tostring(root, encoding="UTF-8", xml_declaration=True)
    return _DOTTED.sub(lambda m: m[1] + m[2].replace(b".", b"::"), content)


_TRUTH = {"true": True, "1": True, "false": False, "0": False}
_SHOWN = 60


def element_name(element: ET.Element) -> str:
    """Return the name attribute of the element; older versions leave it empty."""
    return element.get("name", "").strip()


def element_text(parent: ET.Element, *tags: str, otherwise: str = "") -> str:
    """Return the text of the first of the tags that the element contains."""
    for tag in tags:
        child = parent.find(tag)
        if child is not None:
            return (child.text or "").strip()
    return otherwise


def read_numbers(
    parent: ET.Element, tag: str, count: int | None = None, otherwise: FloatArray | None = None
) -> FloatArray:
    """Return the numbers in the text of a tag, or the default `otherwise` if the tag is missing.

    Raises ModelError if the numbers are invalid, their count is wrong, or they are missing and no default is given.
    """
    child = parent.find(tag)
    text = "" if child is None else (child.text or "").strip().strip("()")
    if not text and otherwise is not None:
        return otherwise
    try:
        values = np.array([float(word) for word in text.replace(",", " ").split()])
    except ValueError as error:
        raise ModelError(
            f"<{tag}> of {_describe_element(parent)} contains '{excerpt(text)}' instead of numbers."
        ) from error
    if count is not None and values.shape != (count,):
        raise ModelError(f"<{tag}> of {_describe_element(parent)} must have {count} numbers, found '{excerpt(text)}'.")
    if not np.isfinite(values).all():
        raise ModelError(
            f"<{tag}> of {_describe_element(parent)} contains a number that is not finite: '{excerpt(text)}'."
        )
    return values


def read_number(parent: ET.Element, tag: str, otherwise: float) -> float:
    """Return the number of a tag, or `otherwise` if the tag is missing."""
    return float(read_numbers(parent, tag, 1, np.array([otherwise]))[0])


def read_flag(parent: ET.Element, tag: str, otherwise: bool = False) -> bool:
    """Return whether the text of the tag is true; raise ModelError if it is neither true nor false."""
    text = element_text(parent, tag).lower()
    if text and text not in _TRUTH:
        raise ModelError(f"<{tag}> of {_describe_element(parent)} must be true or false, found '{excerpt(text)}'.")
    return _TRUTH[text] if text else otherwise


def excerpt(text: str) -> str:
    """Return the beginning of the text as one printable line, for a message."""
    return "".join(letter for letter in " ".join(text.split()) if letter.isprintable())[:_SHOWN]


def iterate_members(parent: ET.Element, *sets: str) -> Iterator[ET.Element]:
    """Iterate over the objects in the first existing set of the given names, e.g. <BodySet><objects>, in all versions of the
    format."""
    for tag in sets:
        holder = parent.find(tag)
        if holder is None:
            continue
        objects = holder.find("objects")
        yield from holder if objects is None else objects
        return


def _describe_element(element: ET.Element) -> str:
    name = element_name(element)
    return f"{element.tag} '{name}'" if name else f"<{element.tag}>"
