"""What the header and the parameters of a C3D file say of a trial, read without its data."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from biodyn.errors import InputFileError
from biodyn.io.events import is_gait_event
from biodyn.io.formats.c3d._frame import frame_claims
from biodyn.io.formats.c3d._header import C3dHeader, read_header
from biodyn.io.formats.c3d._layout import data_layout
from biodyn.io.formats.c3d._rotations import segment_labels
from biodyn.io.formats.c3d._subject import subject_parameters
from biodyn.io.names import names
from biodyn.recording import FileFacts

_PERSON_MEASURE = "leg_length"
# Parameters of POINT and ANALOG that tell how long a frame is and how many there are.
_LAYOUT = ("USED", "RATE", "FRAMES", "LONG_FRAMES", "SCALE", "DATA_START")


def file_facts(path: Path) -> FileFacts:
    """Read the facts (a millisecond or two); InputFileError says what is wrong with a file that is no sound C3D."""
    header = read_header(path, _is_wanted)
    stored = subject_parameters(header.groups)
    offsets = tuple(names()["subject"]["static_offsets"])
    plates = header.numbers.get("FORCE_PLATFORM:USED", (0,))
    frame_count, rate_hz = _length_and_rate(header)
    return FileFacts(
        path=path,
        subject=stored.name,
        mass_kg=stored.mass_kg,
        height_m=stored.height_m,
        leg_lengths_m={k: v for k, v in stored.measures.items() if k.startswith(_PERSON_MEASURE)},
        labels=_label_set(header.point_labels) or _label_set(segment_labels(header.groups)),
        segments=frozenset(segment_labels(header.groups)),
        frame_count=frame_count,
        rate_hz=rate_hz,
        plate_count=int(plates[0]) if plates else 0,
        declared_static=any(any(header.numbers.get(key, (0,))[:1]) for key in names()["subject"]["static_parameters"]),
        joint_offsets_rad={k: v for k, v in stored.measures.items() if k.startswith(offsets)},
        gait_events=sum(map(is_gait_event, header.texts.get("EVENT:LABELS", ())))
        or sum(is_gait_event(label) for _, label in header.words.events),
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
    if group == "ROTATION":
        return name != "DESCRIPTIONS"
    if group == "EVENT":
        return name == "LABELS"
    return group in ("TRIAL", "FORCE_PLATFORM", *names()["subject"]["groups"])


@lru_cache(256)
def _label_set(labels: tuple[str, ...]) -> frozenset[str]:
    """One set for all files with the same labels."""
    texts = map(str, labels)  # a damaged file may hold numbers there
    return frozenset(text.rpartition(":")[2] for text in texts if text and not text.startswith("*"))
