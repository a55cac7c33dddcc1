"""Other labels in a C3D file, every other byte as it was: files of laboratories that name, exchange or lose their markers."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

_BLOCK = 512


def relabelled(content: bytes, meant: Mapping[str, str] | Sequence[str]) -> bytes:
    """Return a C3D file's bytes with other point labels: by label, or all of them in order.

    Only POINT:LABELS is written, in its own width; ValueError where a label is longer than the file has room for.
    """
    begin, width, count = _labels_at(content)
    labels = [
        content[begin + i * width : begin + (i + 1) * width].decode("latin-1").rstrip("\0 ") for i in range(count)
    ]
    new = [meant.get(label, label) for label in labels] if isinstance(meant, Mapping) else list(meant)
    if len(new) != count or any(len(label) > width for label in new):
        raise ValueError(f"{count} labels of at most {width} characters are needed.")
    data = b"".join(label.encode("latin-1").ljust(width) for label in new)
    return content[:begin] + data + content[begin + count * width :]


def point_labels(path: Path) -> list[str]:
    """Return what POINT:LABELS holds, in order."""
    content = path.read_bytes()
    begin, width, count = _labels_at(content)
    return [content[begin + i * width : begin + (i + 1) * width].decode("latin-1").rstrip("\0 ") for i in range(count)]


def _labels_at(content: bytes) -> tuple[int, int, int]:
    """Where POINT:LABELS begins, the width of a label, and how many there are (little-endian files)."""
    position = (content[0] - 1) * _BLOCK + 4
    groups: dict[int, str] = {}
    found: dict[int, int] = {}
    while True:
        length, group = struct.unpack_from("<bb", content, position)
        length = abs(length)
        if not length or not group:
            break
        name = content[position + 2 : position + 2 + length].decode("latin-1").upper()
        at = position + 2 + length
        (offset,) = struct.unpack_from("<H", content, at)
        if group < 0:
            groups[-group] = name
        elif name == "LABELS":
            found[group] = at + 2
        if not offset:
            break
        position = at + offset
    at = next(at for group, at in found.items() if groups[group] == "POINT")
    dimensions = content[at + 1]
    width, count = content[at + 2], content[at + 3] if dimensions > 1 else 1
    return at + 2 + dimensions, width, count
