"""Read C3D files in SI units."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError
from biodyn.io.file_access import COPY_AGAIN, file_bytes
from biodyn.io.formats.c3d.data_layout import DataLayout, data_layout
from biodyn.io.formats.c3d.data_section import DataSection, decode_data_section, read_segment_poses
from biodyn.io.formats.c3d.force_plates import plate_channels, read_plates
from biodyn.io.formats.c3d.header import Groups, continued_values, read_header
from biodyn.io.formats.c3d.parameter_groups import (
    model_outputs,
    parameter_values,
    point_groups,
    point_texts,
    read_events,
    subject_parameters,
)
from biodyn.io.length_units import LengthUnit, PlateUnit, length_unit
from biodyn.io.missing_positions import (
    replace_unseen_by_nan,
    require_markers,
    unlabelled_points_note,
    without_impossible_positions,
)
from biodyn.io.name_tables import load_name_table
from biodyn.io.point_classification import classify_points
from biodyn.io.repairs import apply_repairs, unwrap_samples, wrap_around_note
from biodyn.io.segment_poses import require_known_system, require_seen_segment, virtual_points, with_landmarks
from biodyn.library.pose_systems import find_pose_system
from biodyn.recording import AnalogSignals, ForcePlate, Markers, Recording, SegmentPoses, StoredMotion

# Larger than any plate signal in any usual unit (10 MNm in Nmm). One such number corrupts a filtered channel.
_LARGEST_SAMPLE = 1e10
_EXPORT_AGAIN = "Export the trial again as C3D from the capture software."


def read_c3d(path: str | Path) -> Recording:
    """Read one C3D file.

    Raises InputFileError if the file does not exist, is not a C3D file, is damaged or truncated, or if no marker is
    seen in any frame.
    """
    header = read_header(Path(path))
    layout = data_layout(header)
    if not header.is_whole:
        raise InputFileError(f"'{header.path}' is damaged: its parameter section is incomplete.", COPY_AGAIN)
    path, groups = header.path, header.groups
    content = file_bytes(path)
    data = decode_data_section(content, layout, header.processor, groups, plate_channels(groups))
    _require_possible_samples(path, data.samples)
    data, wrap_notes = _unwrap_analog_samples(data, groups)
    points = replace_unseen_by_nan(data.points)
    subject = subject_parameters(groups)
    labels, descriptions = (point_texts(groups, name, layout.point_count) for name in ("LABELS", "DESCRIPTIONS"))
    roles = classify_points(labels, points, point_groups(groups), (subject.name,), descriptions)
    columns = roles.marker_indices
    stored, pose_notes = read_segment_poses(path, content, layout, header.processor, groups)
    on_poses = stored is not None and not np.isfinite(points[:, columns]).any()
    if not on_poses:
        require_markers(path, roles.labels, points[:, columns])
    sized = (
        points[:, columns] if stored is None or not on_poses else stored.origins[:: _poses_per_frame(stored, layout)]
    )
    scale = _length_unit(groups, sized, data, subject.height_m)
    positions, position_notes = without_impossible_positions(path, points[:, columns] * scale.markers)
    own_labels = tuple(roles.labels[i] for i in columns)
    markers = Markers(own_labels, positions, layout.rate_hz)
    motion = (
        StoredMotion(markers)
        if stored is None
        else _motion_with_poses(path, groups, stored, scale.markers, markers, on_poses)
    )
    plates, plate_notes = _plates_with_units(groups, data, scale.plates, layout.frame_count, layout.rate_hz)
    events, event_notes = read_events(
        groups.get("EVENT", {}), layout, header.words.events, roles.subject, roles.other_subjects
    )
    recording = Recording(
        path=path,
        sha256=hashlib.sha256(content).hexdigest(),
        motion=motion,
        plates=plates,
        events=events,
        subject=subject,
        model_outputs=model_outputs(groups, roles, points),
        vertical=_stated_vertical(groups),
        first_frame=layout.first_frame,
        read_analog=partial(read_analog, path) if layout.channel_count else None,
        declared_static=_is_declared_static(groups),
        diagnostics=(
            *layout.notes,
            *_analog_notes(data),
            *wrap_notes,
            *roles.diagnostics,
            *scale.diagnostics,
            *position_notes,
            *pose_notes,
            *event_notes,
            *plate_notes,
            *unlabelled_points_note(roles),
        ),
    )
    return apply_repairs(recording)


def read_analog(path: Path) -> AnalogSignals:
    """Return all analog channels of a C3D file with labels, units and rate; InputFileError if the file cannot be read."""
    header = read_header(path)
    layout, group = data_layout(header, needs_motion=False), header.groups.get("ANALOG", {})
    data = decode_data_section(file_bytes(path), layout, header.processor, header.groups, range(layout.channel_count))
    texts = {name: [str(text).strip() for text in continued_values(group, name)] for name in ("LABELS", "UNITS")}
    labels, units = (
        tuple(texts[name][c] if c < len(texts[name]) else "" for c in data.channels) for name in ("LABELS", "UNITS")
    )
    per_frame = len(data.samples) / max(layout.frame_count, 1)
    return AnalogSignals(labels, units, layout.rate_hz * per_frame, data.samples)


def _motion_with_poses(
    path: Path, groups: Groups, stored: SegmentPoses, metres: float, markers: Markers, on_poses: bool
) -> StoredMotion:
    """Return the motion of a file with segment poses; if it stores no markers, virtual points of the poses replace them."""
    poses = replace(stored, origins=stored.origins * metres)
    system = find_pose_system(stored.labels) if not on_poses else require_known_system(path, stored.labels)
    if system is not None:
        parameters = {name: entry["values"] for name, entry in groups.get(system.parameters, {}).items()}
        poses = with_landmarks(poses, system, parameters)
    if not on_poses or system is None:
        return StoredMotion(markers, poses)
    require_seen_segment(path, poses, system)
    return StoredMotion(virtual_points(poses, system), poses)


def _poses_per_frame(stored: SegmentPoses, layout: DataLayout) -> int:
    """Return the number of stored segment poses per marker frame of the file."""
    return max(1, len(stored.origins) // max(layout.frame_count, 1))


def _unwrap_analog_samples(data: DataSection, groups: Groups) -> tuple[DataSection, tuple[Diagnostic, ...]]:
    """Return the data with 16-bit wrap-around of analog samples corrected, and a finding about the affected channels."""
    labels = [str(label).strip() for label in parameter_values(groups, "ANALOG", "LABELS")]
    samples, names = data.samples.copy(), []
    for column, (channel, step) in enumerate(zip(data.channels, data.steps, strict=True)):
        better = unwrap_samples(samples[:, column], 2.0**16 * abs(step))
        if better is not None:
            samples[:, column] = better
            names.append(labels[channel] if channel < len(labels) else f"analog channel {channel + 1}")
    return (replace(data, samples=samples), (wrap_around_note(names),)) if names else (data, ())


def _analog_notes(data: DataSection) -> Iterator[Diagnostic]:
    if data.unscaled:
        text = f"ANALOG:SCALE or OFFSET is missing for the channels {_channel_list(data.unscaled)}, which are not used."
        yield Diagnostic("recording-repaired", "warning", text, hint=_EXPORT_AGAIN)


def _channel_list(channels: Sequence[int]) -> str:
    return ", ".join(str(channel + 1) for channel in channels)


def _require_possible_samples(path: Path, samples: FloatArray) -> None:
    """Raise InputFileError if plate channels hold numbers that can only be due to damaged bytes."""
    impossible = np.abs(samples) > _LARGEST_SAMPLE  # some programs store NaN for "not recorded"
    if impossible.any():
        first, last = np.flatnonzero(impossible.any(axis=1))[[0, -1]] / len(samples)
        raise InputFileError(
            f"'{path}' is damaged: {int(impossible.sum())} samples of its plate channels are beyond the range of any "
            f"plate, between {100 * first:.0f} and {100 * last:.0f} % of the recording.",
            COPY_AGAIN,
        )


def _length_unit(groups: Groups, markers: FloatArray, data: DataSection, height_m: float | None) -> LengthUnit:
    text = str(next(iter(parameter_values(groups, "POINT", "UNITS")), "")).strip()
    in_units, _ = _plates_with_units(groups, data, None, len(markers), 1.0)
    return length_unit(text, load_name_table()["length_units"], markers, in_units, height_m is not None)


def _plates_with_units(
    groups: Groups, data: DataSection, units: Mapping[int, PlateUnit] | None, frame_count: int, rate_hz: float
) -> tuple[tuple[ForcePlate, ...], tuple[Diagnostic, ...]]:
    """Return the force plates with a known unit (`units` None = all plates in file units), and notes."""
    return read_plates(
        groups.get("FORCE_PLATFORM", {}),
        groups.get("ANALOG", {}),
        data.samples,
        data.channels,
        units,
        frame_count,
        rate_hz,
    )


def _stated_vertical(groups: Groups) -> FloatArray | None:
    """Return the vertical axis stated by POINT:Y_SCREEN; its sign is unreliable (Qualisys writes -Z with Z up)."""
    text = str(next(iter(parameter_values(groups, "POINT", "Y_SCREEN")), "")).strip().upper()
    axis = "XYZ".find(text[-1:]) if text else -1
    if axis < 0:
        return None
    vertical = np.zeros(3)
    vertical[axis] = -1.0 if text.startswith("-") else 1.0
    return vertical


def _is_declared_static(groups: Groups) -> bool | None:
    for key in load_name_table()["subject"]["static_parameters"]:
        values = parameter_values(groups, *key.split(":"))
        if values and not isinstance(values[0], str):
            return bool(values[0])
    return None
