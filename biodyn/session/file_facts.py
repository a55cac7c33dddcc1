"""What a C3D file's header and parameters say of a trial, small enough to keep of ten thousand files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from biodyn.errors import InputFileError
from biodyn.io.c3d._events import is_gait_event
from biodyn.io.c3d._header import C3dHeader, read_header
from biodyn.io.c3d._layout import data_layout, frame_claims
from biodyn.io.c3d._names import names
from biodyn.io.c3d._subject import subject_parameters

_SAME_MEASURE = 0.01  # relative difference of mass, height and leg length stored for one person
_PERSON_MEASURE = "leg_length"
# Parameters of POINT and ANALOG that tell how long a frame is and how many there are.
_LAYOUT = ("USED", "RATE", "FRAMES", "LONG_FRAMES", "SCALE", "DATA_START")


@dataclass(frozen=True)
class FileFacts:
    """Facts of one C3D file, read without parsing its data.

    Attributes:
        path: the file.
        subject: name stored, "" where there is none. mass_kg, height_m: stored, None where they are not.
        leg_lengths_m: stored, by name. joint_offsets_rad: that a static calibration left in the file, by name.
        labels: of the points, without subject prefixes and unnamed ones.
        frame_count, rate_hz: of the points. plate_count: force plates announced.
        declared_static: the file says that it is a static trial. gait_events: foot strikes and foot offs stored.
    """

    path: Path
    subject: str
    mass_kg: float | None
    height_m: float | None
    leg_lengths_m: Mapping[str, float] = field(default_factory=dict)
    labels: frozenset[str] = frozenset()
    frame_count: int = 0
    rate_hz: float = 0.0
    plate_count: int = 0
    declared_static: bool = False
    gait_events: int = 0
    joint_offsets_rad: Mapping[str, float] = field(default_factory=dict)


def file_facts(path: Path) -> FileFacts:
    """Read the facts (a millisecond or two); InputFileError says what is wrong with a file that is no sound C3D."""
    header = read_header(path, _is_wanted)
    stored = subject_parameters(header.groups)
    offsets = tuple(names()["static"]["offsets"])
    plates = header.numbers.get("FORCE_PLATFORM:USED", (0,))
    frame_count, rate_hz = _length_and_rate(header)
    return FileFacts(
        path=path,
        subject=stored.name,
        mass_kg=stored.mass_kg,
        height_m=stored.height_m,
        leg_lengths_m={k: v for k, v in stored.measures.items() if k.startswith(_PERSON_MEASURE)},
        labels=_label_set(header.point_labels),
        frame_count=frame_count,
        rate_hz=rate_hz,
        plate_count=int(plates[0]) if plates else 0,
        declared_static=any(any(header.numbers.get(key, (0,))[:1]) for key in names()["subject"]["static_parameters"]),
        joint_offsets_rad={k: v for k, v in stored.measures.items() if k.startswith(offsets)},
        gait_events=sum(is_gait_event(label) for label in header.texts.get("EVENT:LABELS", ())),
    )


def _length_and_rate(header: C3dHeader) -> tuple[int, float]:
    """Frames and rate as they will be read; of a file that will be refused, what it claims."""
    try:
        layout = data_layout(header)
    except InputFileError:
        return min(frame_claims(header), default=0), header.words.rate_hz
    return layout.frame_count, layout.rate_hz


def _is_wanted(group: str, name: str) -> bool:
    """Parameters that tell something of a trial; most of a section describes points and channels."""
    if group == "POINT":
        return name in _LAYOUT or name.startswith("LABELS")
    if group == "ANALOG":
        return name in _LAYOUT
    if group == "EVENT":
        return name == "LABELS"
    return group in ("TRIAL", "FORCE_PLATFORM", *names()["subject"]["groups"])


@lru_cache(256)
def _label_set(labels: tuple[str, ...]) -> frozenset[str]:
    """One set for all files with the same labels."""
    return frozenset(label.rpartition(":")[2] for label in labels if label and not label.startswith("*"))


def different_measures(mine: FileFacts, theirs: FileFacts) -> str:
    """Why the stored body measures cannot be one person's, "" if they can."""
    pairs = [("body mass", mine.mass_kg, theirs.mass_kg), ("height", mine.height_m, theirs.height_m)]
    shared = mine.leg_lengths_m.keys() & theirs.leg_lengths_m.keys()
    pairs += [(key, mine.leg_lengths_m[key], theirs.leg_lengths_m[key]) for key in sorted(shared)]
    for name, a, b in pairs:
        if a is not None and b is not None and abs(a - b) > _SAME_MEASURE * abs(a):
            return f"its stored {name.replace('_', ' ')} is {b:.4g}, the walk's {a:.4g}"
    return ""


def different_person(mine: FileFacts, theirs: FileFacts) -> str:
    """Why the stored parameters cannot be one person's, "" if they can."""
    if mine.subject and theirs.subject and mine.subject.lower() != theirs.subject.lower():
        return f"it is of subject '{theirs.subject}', the walk of '{mine.subject}'"
    return different_measures(mine, theirs)
