"""Read facts of a C3D file from its header and parameters, and short pieces of its markers, without the rest of the file."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from biodyn.errors import InputFileError
from biodyn.io.events import is_gait_event
from biodyn.io.file_access import COPY_AGAIN
from biodyn.io.formats.c3d.data_layout import DataLayout, data_layout, stated_frame_counts
from biodyn.io.formats.c3d.data_section import DataSection, decode_data_section, segment_labels
from biodyn.io.formats.c3d.header import C3dHeader, read_header
from biodyn.io.formats.c3d.parameter_groups import parameter_values, point_groups, point_texts, subject_parameters
from biodyn.io.formats.c3d.reader import read_c3d
from biodyn.io.length_units import length_unit
from biodyn.io.missing_positions import replace_unseen_by_nan, require_markers, without_impossible_positions
from biodyn.io.name_tables import load_name_table
from biodyn.io.point_classification import classify_points
from biodyn.recording import FileFacts, Markers, Preview
from biodyn.recording.stillness import make_preview, preview_frames

_PERSON_MEASURE = "leg_length"
# Parameters of POINT and ANALOG that determine the length and the number of frames.
_LAYOUT = ("USED", "RATE", "FRAMES", "LONG_FRAMES", "SCALE", "DATA_START")


def file_facts(path: Path) -> FileFacts:
    """Return the facts in header and parameters of a C3D file (cached; about 2 ms); InputFileError if it is not a valid C3D
    file."""
    known = path.stat()
    return _cached_facts(path, known.st_size, known.st_mtime_ns)


@lru_cache(4096)
def _cached_facts(path: Path, size: int, changed_ns: int) -> FileFacts:
    header = read_header(path, _is_trial_fact)
    stored = subject_parameters(header.groups)
    offsets = tuple(load_name_table()["subject"]["static_offsets"])
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
        declared_static=any(
            any(header.numbers.get(key, (0,))[:1]) for key in load_name_table()["subject"]["static_parameters"]
        ),
        joint_offsets_rad={k: v for k, v in stored.measures.items() if k.startswith(offsets)},
        gait_events=sum(map(is_gait_event, header.texts.get("EVENT:LABELS", ())))
        or sum(is_gait_event(label) for _, label in header.words.events),
    )


def _length_and_rate(header: C3dHeader) -> tuple[int, float]:
    """Return the frame count and rate (Hz) as the reader determines them; the stated ones if the reader rejects the file."""
    try:
        layout = data_layout(header)
    except InputFileError:
        return min(stated_frame_counts(header), default=0), header.words.rate_hz
    return layout.frame_count, layout.rate_hz


def _is_trial_fact(group: str, name: str) -> bool:
    """Return whether a parameter belongs to the facts of a trial; most parameters describe points and channels instead."""
    if group == "POINT":
        return name in _LAYOUT or name.startswith("LABELS")
    if group == "ANALOG":
        return name in _LAYOUT
    if group == "ROTATION":
        return name != "DESCRIPTIONS"
    if group == "EVENT":
        return name == "LABELS"
    return group in ("TRIAL", "FORCE_PLATFORM", *load_name_table()["subject"]["groups"])


@lru_cache(256)
def _label_set(labels: tuple[str, ...]) -> frozenset[str]:
    """Return the set of labels; files with the same labels share one set."""
    texts = map(str, labels)  # a damaged file may hold numbers there
    return frozenset(text.rpartition(":")[2] for text in texts if text and not text.startswith("*"))


_SIZED_FRAMES = 10  # a few frames suffice to determine the size of a person


def read_c3d_preview(path: Path) -> Preview:
    """Read short pieces of the markers; InputFileError as for the whole file, for faults within these pieces.

    A file that holds only segment poses is read as a whole.
    """
    header = read_header(path)
    if not header.is_whole:
        raise InputFileError(f"'{path}' is damaged: its parameter section is incomplete.", COPY_AGAIN)
    layout = data_layout(header)
    if not layout.point_count:
        return make_preview(read_c3d(path).markers)
    starts, samples, step = preview_frames(layout.frame_count, layout.rate_hz)
    frames = [start + step * i for start in starts for i in range(samples)]
    points = replace_unseen_by_nan(_points_of_frames(header, layout, frames).points)
    groups, subject = header.groups, subject_parameters(header.groups)
    labels, descriptions = (point_texts(groups, name, layout.point_count) for name in ("LABELS", "DESCRIPTIONS"))
    roles = classify_points(labels, points, point_groups(groups), (subject.name,), descriptions)
    columns = roles.marker_indices
    points = points[:, columns]
    if segment_labels(groups) and not np.isfinite(points).any():
        return make_preview(read_c3d(path).markers)
    require_markers(path, roles.labels, points)
    unit = str(next(iter(parameter_values(groups, "POINT", "UNITS")), "")).strip()
    some = points[:: max(1, len(points) // _SIZED_FRAMES)]
    scale = length_unit(unit, load_name_table()["length_units"], some, person=subject.height_m is not None)
    positions, _ = without_impossible_positions(path, points * scale.markers)
    markers = Markers(tuple(roles.labels[i] for i in columns), positions, layout.rate_hz)
    return Preview(markers, starts, samples, layout.frame_count, step)


def _points_of_frames(header: C3dHeader, layout: DataLayout, frames: list[int]) -> DataSection:
    """Decode the points of the given frames only, without analog samples."""
    size = 4 if layout.is_float else 2
    wanted = 4 * layout.point_count * size
    content = bytearray()
    with header.path.open("rb", buffering=0) as stream:
        for frame in frames:
            stream.seek(layout.start_byte + frame * layout.frame_words * size)
            content += stream.read(wanted)
    if len(content) < wanted * len(frames):
        raise InputFileError(f"'{header.path}' is truncated.", COPY_AGAIN)
    short = replace(layout, channel_count=0, samples_per_frame=0, start_byte=0, frame_count=len(frames))
    return decode_data_section(bytes(content), short, header.processor, header.groups, ())
