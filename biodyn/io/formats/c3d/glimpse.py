"""Short pieces of a C3D file's markers, read without the rest of it: a few milliseconds whatever its size.

For those who look through many files: biodyn's own reading of the numbers, no second opinion of the C3D library.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from biodyn.errors import InputFileError
from biodyn.io.files import COPY_AGAIN, file_bytes
from biodyn.io.formats.c3d._data_section import DataSection, read_data
from biodyn.io.formats.c3d._header import C3dHeader, read_header
from biodyn.io.formats.c3d._layout import DataLayout, data_layout
from biodyn.io.formats.c3d._points import point_groups, point_texts, values_of
from biodyn.io.formats.c3d._rotations import read_rotations, segment_labels
from biodyn.io.formats.c3d._subject import subject_parameters
from biodyn.io.labels import point_roles
from biodyn.io.length_units import length_unit
from biodyn.io.names import names
from biodyn.io.positions import require_markers, unseen_as_nan, without_impossible
from biodyn.io.segment_poses import require_known, virtual_points
from biodyn.recording import Glimpse, Markers, SegmentPoses
from biodyn.recording.stillness import glimpse_frames, glimpse_of

_SIZED_FRAMES = 10  # the size of a person is seen in a few frames


def c3d_glimpse(path: Path) -> Glimpse:
    """Read the pieces; InputFileError as for the whole file, as far as they show what is wrong with it."""
    header = read_header(path)
    if not header.parameters.is_whole:
        raise InputFileError(f"'{path}' is damaged: its parameters break off.", COPY_AGAIN)
    layout = data_layout(header)
    if not layout.point_count:
        return _of_poses(header, layout)
    starts, samples, step = glimpse_frames(layout.frame_count, layout.rate_hz)
    frames = [start + step * i for start in starts for i in range(samples)]
    points = unseen_as_nan(_points(header, layout, frames).points)
    groups, subject = header.groups, subject_parameters(header.groups)
    labels, descriptions = (point_texts(groups, name, layout.point_count) for name in ("LABELS", "DESCRIPTIONS"))
    roles = point_roles(labels, points, point_groups(groups), (subject.name,), descriptions)
    columns = roles.markers
    if segment_labels(groups) and not np.isfinite(points[:, columns]).any():
        return _of_poses(header, layout)
    require_markers(path, roles.labels, points[:, columns])
    unit = str(next(iter(values_of(groups, "POINT", "UNITS")), "")).strip()
    some = points[:: max(1, len(points) // _SIZED_FRAMES), columns]
    scale = length_unit(path.name, unit, names()["length_units"], some, (), subject.height_m)
    positions, _ = without_impossible(path, points[:, columns] * scale.markers)
    markers = Markers(tuple(roles.labels[i] for i in columns), positions, layout.rate_hz)
    return Glimpse(markers, starts, samples, layout.frame_count, step)


def _of_poses(header: C3dHeader, layout: DataLayout) -> Glimpse:
    """Pieces of a file that holds nothing but poses of segments."""
    path, groups = header.path, header.groups
    stored = read_rotations(path, file_bytes(path), layout, header.processor, groups)
    assert stored is not None  # asked for only where the file announces some
    system = require_known(path, stored.labels)
    unit = str(next(iter(values_of(groups, "POINT", "UNITS")), "")).strip()
    some = stored.origins[:: max(1, len(stored.origins) // _SIZED_FRAMES)]
    scale = length_unit(path.name, unit, names()["length_units"], some, (), subject_parameters(groups).height_m)
    poses = SegmentPoses(stored.labels, stored.rotations, stored.origins * scale.markers, stored.rate_hz)
    return glimpse_of(virtual_points(poses, system))


def _points(header: C3dHeader, layout: DataLayout, frames: list[int]) -> DataSection:
    """The points of some frames, as if the file held no others and no analog samples."""
    size = 4 if layout.is_float else 2
    wanted = 4 * layout.point_count * size
    content = bytearray()
    with header.path.open("rb") as stream:
        for frame in frames:
            stream.seek(layout.start_byte + frame * layout.frame_words * size)
            content += stream.read(wanted)
    if len(content) < wanted * len(frames):
        raise InputFileError(f"'{header.path}' is truncated.", COPY_AGAIN)
    short = replace(layout, channel_count=0, samples_per_frame=0, start_byte=0, frame_count=len(frames))
    return read_data(bytes(content), short, header.processor, header.groups, ())
