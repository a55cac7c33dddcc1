"""Add points and events to an existing C3D file without changing any stored number.

A frame holds its points, then its analog samples; new points are inserted between them. The parameter section is
rewritten with all other records unchanged, and the data section is shifted accordingly. Format: C3D user guide,
c3d.org.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.errors import InputFileError
from biodyn.io.events import StoredEvent
from biodyn.io.file_access import EXPORT_AGAIN
from biodyn.io.formats.c3d.data_layout import DataLayout, data_layout
from biodyn.io.formats.c3d.header import BLOCK_BYTES, C3dHeader, ElementType, read_header
from biodyn.io.formats.c3d.parameter_groups import read_events
from biodyn.io.text_decoding import clean_text

Shaped = tuple[int, tuple[int, ...], bytes]


@dataclass
class _ParameterRecord:
    """A record: signed length of its name (negative = locked), group number (negative for a group), name, bytes after
    the offset."""

    length: int
    number: int
    name: bytes
    rest: bytes

    @property
    def title(self) -> str:
        return clean_text(self.name).upper()

    def to_bytes(self) -> bytes:
        return (
            struct.pack("<bb", self.length, self.number) + self.name + struct.pack("<H", 2 + len(self.rest)) + self.rest
        )


@dataclass
class ParameterRecords:
    """Records of a parameter section in the order of the file; `set_value` changes or appends a record."""

    name: str
    records: list[_ParameterRecord] = field(default_factory=list)

    @classmethod
    def from_section(cls, section: bytes, name: str) -> ParameterRecords:
        """Return the records of a section (without its prefix of four bytes); InputFileError if the list is broken."""
        result, position = cls(name), 0
        while position + 2 <= len(section):
            length, number = struct.unpack_from("<bb", section, position)
            if length == 0 or number == 0:
                return result
            at = position + 2 + abs(length)
            if at + 2 > len(section):
                break
            (offset,) = struct.unpack_from("<H", section, at)
            title = section[position + 2 : at]
            end = at + offset if offset else at + 2 + _record_length(section, at + 2, number)
            if not at + 2 <= end <= len(section):
                break
            result.records.append(_ParameterRecord(length, number, title, section[at + 2 : end]))
            if offset == 0:
                return result
            position = end
        raise InputFileError(f"The parameter section of '{name}' has no end; no data were added to this file.")

    def section(self) -> bytes:
        """Return the bytes of the parameter section with these records, without its prefix of four bytes."""
        return b"".join(record.to_bytes() for record in self.records) + b"\0\0"

    def contains(self, group: str, name: str) -> bool:
        """Return whether the section has a parameter with this group and name."""
        return self._find_record(group, name) is not None

    def texts(self, group: str, name: str) -> list[bytes]:
        """Return the stripped texts of a parameter; an empty list if it is missing."""
        shaped = self._parameter_value(group, name)
        if shaped is None or shaped[0] != ElementType.CHARACTER:
            return []
        width = max(shaped[1][0] if shaped[1] else 1, 1)
        return [shaped[2][i : i + width].strip(b" \0") for i in range(0, len(shaped[2]), width)]

    def continued_texts(self, group: str, name: str) -> list[bytes]:
        """Return the texts of a parameter and its continuations NAME2, NAME3 ..."""
        listed, number = self.texts(group, name), 2
        while more := self.texts(group, f"{name}{number}"):
            listed += more
            number += 1
        return listed

    def parameter_integers(self, group: str, name: str) -> list[int]:
        """Return the values of an integer parameter; an empty list if it is missing."""
        shaped = self._parameter_value(group, name)
        if shaped is None or shaped[0] not in (ElementType.BYTE, ElementType.INTEGER):
            return []
        return [int(x) for x in np.frombuffer(shaped[2], dtype="<i2" if shaped[0] == ElementType.INTEGER else "u1")]

    def parameter_floats(self, group: str, name: str) -> list[float]:
        """Return the values of a floating-point parameter; an empty list if it is missing."""
        shaped = self._parameter_value(group, name)
        if shaped is None or shaped[0] != ElementType.FLOAT:
            return []
        return [float(x) for x in np.frombuffer(shaped[2], dtype="<f4")]

    def set_value(self, group: str, name: str, kind: int, dims: Sequence[int], data: bytes) -> None:
        """Set the value of a parameter and keep its description; a missing parameter or group is added."""
        body = struct.pack("<bB", kind, len(dims)) + bytes(dims) + data
        record = self._find_record(group, name)
        if record is None:
            number = self._group_number(group)
            self.records.append(_ParameterRecord(len(name), number, name.encode("ascii"), body + b"\0"))
            return
        record.rest = body + (record.rest[_parse_value(record.rest)[1] :] or b"\0")

    def _group_number(self, name: str) -> int:
        """Return the number of a group; a missing group is added."""
        for record in self.records:
            if record.number < 0 and record.title == name:
                return -record.number
        used = {abs(record.number) for record in self.records}
        number = next((n for n in range(1, 128) if n not in used), None)
        if number is None:
            raise InputFileError(
                f"'{self.name}' has 127 parameter groups, the maximum of a C3D file, so none can be added."
            )
        self.records.append(_ParameterRecord(len(name), -number, name.encode("ascii"), b"\0"))
        return number

    def _find_record(self, group: str, name: str) -> _ParameterRecord | None:
        numbers = {-record.number for record in self.records if record.number < 0 and record.title == group}
        return next((r for r in self.records if r.number in numbers and r.title == name), None)

    def _parameter_value(self, group: str, name: str) -> Shaped | None:
        record = self._find_record(group, name)
        return None if record is None else _parse_value(record.rest)[0]


def _parse_value(rest: bytes) -> tuple[Shaped, int]:
    """Return the kind, dimensions and bytes of a parameter, and the byte position of its description."""
    kind, count = struct.unpack_from("<bB", rest, 0)
    dims = tuple(rest[2 : 2 + count])
    size = int(np.prod(dims, dtype=np.int64)) * abs(kind)
    begin = 2 + count
    return (kind, dims, rest[begin : begin + size]), begin + size


def _record_length(section: bytes, at: int, number: int) -> int:
    """Return the number of bytes of a record after its offset, determined from its contents."""
    if number < 0:
        return 1 + (section[at] if at < len(section) else 0)
    if at + 2 > len(section):
        return 0
    end = _parse_value(section[at:])[1]
    return end + 1 + (section[at + end] if at + end < len(section) else 0)


def text_value(words: Sequence[bytes], scalar: bool = False) -> Shaped:
    """Return texts as a parameter value, padded to the length of the longest."""
    width = max([len(word) for word in words] + [1])
    dims = (width,) if scalar else (width, len(words))
    return ElementType.CHARACTER, dims, b"".join(word.ljust(width) for word in words)


def integer_value(values: Sequence[int], scalar: bool = False) -> Shaped:
    """Return 16-bit integers in the form in which `ParameterRecords.set_value` stores a parameter."""
    data = np.array([value & 0xFFFF for value in values], dtype="<u2").tobytes()
    return ElementType.INTEGER, () if scalar else (len(values),), data


_MOST_LISTED: Final = 255  # a dimension is stored in one byte
_MOST_WORDS: Final = 65535
_STEPS: Final = 32767
#: Suffix of an added point if the file has a point of the same name.
SUFFIX: Final = "_biodyn"


@dataclass(frozen=True, eq=False)
class NewPoint:
    """A point to add: label, the list in the POINT group (ANGLES, MOMENTS, POWERS, FORCES), unit, values and
    description.

    values: (T, 3) in the unit, NaN if missing. description: meaning of the numbers.
    """

    label: str
    group: str
    unit: str
    description: str
    values: FloatArray


def append_points_and_events(
    path: Path, points: Sequence[NewPoint], events: Sequence[StoredEvent] = (), first_frame: int | None = None
) -> tuple[bytes, tuple[str, ...]]:
    """Return the bytes of a C3D file with points and events added, and sentences on renamed, rounded or omitted points and
    events.

    `events`: context "Left" or "Right", label "Foot Strike" or "Foot Off".
    `first_frame`: stored number of the frame of the first values, at which event times are 0; None = the first stored
    frame.

    New points get the suffix `_biodyn` if the file already has one of their names; events within 50 ms of a stored
    event are not added. In an integer file, new points are rounded to the stored scale, and a point beyond the range is
    omitted. Raises InputFileError if the byte order is not Intel's, if header and parameters disagree, or if a count
    would exceed the limits of the format.
    """
    header = read_header(path)
    if header.processor != "Intel":
        raise InputFileError(
            f"'{path.name}' has {header.processor} byte order; points can only be added to files with Intel byte "
            f"order.",
            "Convert it to Intel byte order with the capture software.",
        )
    layout = data_layout(header)
    content = path.read_bytes()
    records = ParameterRecords.from_section(_parameter_section(content, layout), path.name)
    _require_consistent_file(header, layout, records, points, path)
    before = 0 if first_frame is None else first_frame - layout.first_frame
    points = _spread_over_all_frames(path, points, layout, before)
    events = [replace(event, time_s=event.time_s + before / layout.rate_hz) for event in events]
    taken, notes = _points_in_range(points, layout)
    taken, renamed = _with_unique_labels(taken, header.point_labels)
    notes += renamed
    _update_point_group(records, layout.point_count, taken)
    notes += _update_event_group(
        records, _events_not_in_file(events, header, layout), (layout.first_frame - 1) / layout.rate_hz
    )
    return _assemble_file(content, header, layout, records, taken), tuple(notes)


def _parameter_section(content: bytes, layout: DataLayout) -> bytes:
    start = (content[0] - 1) * BLOCK_BYTES
    return content[start + 4 : max(layout.start_byte, start + 4)]


def _require_consistent_file(
    header: C3dHeader, layout: DataLayout, records: ParameterRecords, points: Sequence[NewPoint], path: Path
) -> None:
    words = header.words
    used = [value & 0xFFFF for value in records.parameter_integers("POINT", "USED")]
    placed = words.data_block == layout.start_byte // BLOCK_BYTES + 1 and words.data_block > 2
    if layout.notes or not placed or used != [layout.point_count] or words.points != layout.point_count:
        raise InputFileError(
            f"Header and parameters of '{path.name}' disagree; no data were added to this file.", EXPORT_AGAIN
        )
    if layout.point_count + len(points) > _MOST_WORDS:
        raise InputFileError(f"'{path.name}' would hold more points than the C3D format allows.")


def _spread_over_all_frames(path: Path, points: Sequence[NewPoint], layout: DataLayout, before: int) -> list[NewPoint]:
    """Return the points with values in all frames of the file: NaN before frame `before` (0-based) and after the last value.

    Raises InputFileError if the values do not fit into the file.
    """
    frames = max((len(point.values) for point in points), default=layout.frame_count)
    whole = before == 0 and frames == layout.frame_count
    if points and (before < 0 or before + frames > layout.frame_count or (before == 0 and not whole)):
        raise InputFileError(
            f"'{path.name}' has {layout.frame_count} frames but the result {frames}: it is not the analysed recording."
        )
    if whole:
        return list(points)
    spread = []
    for point in points:
        values = np.full((layout.frame_count, 3), np.nan)
        values[before : before + len(point.values)] = point.values
        spread.append(replace(point, values=values))
    return spread


def _points_in_range(points: Sequence[NewPoint], layout: DataLayout) -> tuple[list[NewPoint], list[str]]:
    """Return the points with values that fit into the integers of the file, and notes on rounding and omitted points."""
    if layout.is_float or not points:
        return list(points), []
    most = _STEPS * layout.scale
    fitting = [p for p in points if not (np.abs(p.values[np.isfinite(p.values)]) > most).any()]
    too_large = [p.label for p in points if p not in fitting]
    notes = [f"The file stores integers: added points are rounded to its scale of {layout.scale:g}."]
    if too_large:
        notes.append(f"Points beyond the range of its integers (+-{most:g}) are omitted: {', '.join(too_large)}.")
    return fitting, notes


def _with_unique_labels(points: Sequence[NewPoint], labels: Sequence[str]) -> tuple[list[NewPoint], list[str]]:
    """Return the points with names that are new to the file, and notes; if one name exists, all points get the suffix."""
    known = {label.rsplit(":", 1)[-1] for label in labels}
    if not any(point.label in known for point in points):
        return list(points), []
    named = [NewPoint(f"{p.label}{SUFFIX}", p.group, p.unit, p.description, p.values) for p in points]
    again = next((p.label for p in named if p.label in known), None)
    if again is not None:
        raise InputFileError(
            f"The file already holds '{again}' from an earlier export. Give the original file of the laboratory."
        )
    return named, [f"The file has channels with the same names; the added channels end in '{SUFFIX}'."]


# -- parameters --------------------------------------------------------------------------------------------------------


def _update_point_group(records: ParameterRecords, before: int, points: Sequence[NewPoint]) -> None:
    """Update the POINT group: count, labels and descriptions of the points, the lists of model outputs and their units."""
    longest_text = 127  # 255 labels of this length stay below the 32 kB of a parameter
    records.set_value("POINT", "USED", *integer_value([before + len(points)], scalar=True))
    for name, words in (("LABELS", [p.label for p in points]), ("DESCRIPTIONS", [p.description for p in points])):
        listed = records.continued_texts("POINT", name)[:before]
        listed += [b""] * (before - len(listed))
        listed += [word.encode("ascii", "replace")[:longest_text] for word in words]
        for k in range(0, len(listed), _MOST_LISTED):
            number = "" if k == 0 else str(k // _MOST_LISTED + 1)
            records.set_value("POINT", f"{name}{number}", *text_value(listed[k : k + _MOST_LISTED]))
    for group in dict.fromkeys(p.group for p in points):
        mine = [p for p in points if p.group == group]
        listed = records.texts("POINT", group) + [p.label.encode("ascii", "replace") for p in mine]
        if len(listed) <= _MOST_LISTED:
            records.set_value("POINT", group, *text_value(listed))
        unit = f"{group.removesuffix('S')}_UNITS"
        if not records.texts("POINT", unit):
            records.set_value("POINT", unit, *text_value([mine[0].unit.encode()], scalar=True))


def _events_not_in_file(events: Sequence[StoredEvent], header: C3dHeader, layout: DataLayout) -> list[StoredEvent]:
    """Return the events that the file does not contain: no event of the same kind and side within 50 ms."""
    # A stored event closer than this is the same event.
    same_event_s = 0.05
    stored, _ = read_events(header.groups.get("EVENT", {}), layout)
    return [
        new
        for new in events
        if not any(
            abs(e.time_s - new.time_s) < same_event_s
            and new.context.lower().startswith(e.side)
            and new.label.lower().replace(" ", "_") == e.kind
            for e in stored
        )
    ]


def _update_event_group(records: ParameterRecords, events: Sequence[StoredEvent], start_s: float) -> list[str]:
    """Add the events to the EVENT group; return notes, for instance if the format does not allow so many events."""
    if not events:
        return []
    before = len(records.parameter_floats("EVENT", "TIMES")) // 2
    count = before + len(events)
    if count > _MOST_LISTED:
        return [f"The file would hold {count} events, but the format allows {_MOST_LISTED}; no event is added."]
    times = list(records.parameter_floats("EVENT", "TIMES"))
    for event in events:
        minutes, seconds = divmod(event.time_s + start_s, 60.0)
        times += [minutes, seconds]
    data = np.array(times, dtype="<f4").tobytes()
    records.set_value("EVENT", "USED", *integer_value([count], scalar=True))
    records.set_value("EVENT", "TIMES", 4, (2, count), data)
    for name, words in (
        ("LABELS", [e.label for e in events]),
        ("CONTEXTS", [e.context for e in events]),
        ("DESCRIPTIONS", ["found by biodyn"] * len(events)),
        ("SUBJECTS", [""] * len(events)),
    ):
        listed = records.texts("EVENT", name)[:before]
        if name == "SUBJECTS" and listed:
            words = [listed[0].decode("ascii", "replace")] * len(events)
        listed += [b""] * (before - len(listed)) + [word.encode("ascii", "replace") for word in words]
        records.set_value("EVENT", name, *text_value(listed))
    for name, values in (
        ("ICON_IDS", [1 if e.label == "Foot Strike" else 2 for e in events]),
        ("GENERIC_FLAGS", [0] * len(events)),
    ):
        stored = list(records.parameter_integers("EVENT", name))[:before]
        kind, dims, packed = integer_value([*stored, *([0] * (before - len(stored))), *values])
        if name == "GENERIC_FLAGS":
            kind, packed = 1, bytes(value & 0xFF for value in [*stored, *([0] * (before - len(stored))), *values])
        records.set_value("EVENT", name, kind, dims, packed)
    return []


# -- data --------------------------------------------------------------------------------------------------------------


def _assemble_file(
    content: bytes, header: C3dHeader, layout: DataLayout, records: ParameterRecords, points: Sequence[NewPoint]
) -> bytes:
    most_blocks = 255
    first = content[0] - 1
    section = records.section()
    blocks = -(-(len(section) + 4) // BLOCK_BYTES)
    if blocks > most_blocks:
        raise InputFileError(f"'{header.path.name}' would have more parameters than the C3D format allows.")
    data_block = first + blocks + 1
    if records.contains("POINT", "DATA_START"):
        records.set_value("POINT", "DATA_START", *integer_value([data_block], scalar=True))
        section = records.section()
    head = bytearray(content[: first * BLOCK_BYTES])
    struct.pack_into("<H", head, 2, layout.point_count + len(points))
    struct.pack_into("<H", head, 16, data_block)
    prefix = bytearray(content[first * BLOCK_BYTES : first * BLOCK_BYTES + 4])
    prefix[2] = blocks
    parameters = (bytes(prefix) + section).ljust(blocks * BLOCK_BYTES, b"\0")
    return bytes(head) + parameters + _data_section_bytes(content, layout, points)


def _data_section_bytes(content: bytes, layout: DataLayout, points: Sequence[NewPoint]) -> bytes:
    """Return the data section with the new points after the old ones of each frame, and the bytes after it."""
    width = 4 if layout.is_float else 2
    length = layout.frame_words * width
    end = layout.start_byte + layout.frame_count * length
    old = np.frombuffer(content, dtype=np.uint8, count=layout.frame_count * length, offset=layout.start_byte)
    old = old.reshape(layout.frame_count, length)
    split = 4 * layout.point_count * width
    added = np.zeros((layout.frame_count, len(points), 4))
    for k, point in enumerate(points):
        known = np.isfinite(point.values).all(axis=1)
        added[known, k, :3] = point.values[known]
        added[~known, k, 3] = -1.0  # residual of a point that was not seen
    if layout.is_float:
        packed = added.astype("<f4")
    else:
        added[..., :3] /= layout.scale
        packed = np.rint(added).astype("<i2")
    new = packed.reshape(layout.frame_count, -1).view(np.uint8).reshape(layout.frame_count, -1)
    return np.concatenate([old[:, :split], new, old[:, split:]], axis=1).tobytes() + content[end:]
