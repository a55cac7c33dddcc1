"""Convert a table and the roles of its columns to a recording."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError
from biodyn.io.events import StoredEvent, gait_events
from biodyn.io.format import RATES_HZ
from biodyn.io.length_units import length_unit
from biodyn.io.missing_positions import (
    replace_unseen_by_nan,
    require_markers,
    unlabelled_points_note,
    without_impossible_positions,
)
from biodyn.io.name_tables import load_name_table
from biodyn.io.opensim.storage import Storage, are_angles_in_degrees, uniform_rate_hz
from biodyn.io.point_classification import PointRoles, classify_points
from biodyn.io.repairs import apply_repairs
from biodyn.io.segment_poses import require_known_system, virtual_points
from biodyn.io.tables.column_roles import ColumnRoles, poses_of_table
from biodyn.io.tables.force_plates import plates_of_forces
from biodyn.recording import Coordinates, Markers, Recording, StoredMotion
from biodyn.recording.motion import CoordinateUnit


def uniform_times(table: Storage) -> tuple[float, FloatArray, tuple[Diagnostic, ...]]:
    """Return the rate of the rows, Hz, uniform times (T,) s, and a note if the times of the table are not uniform.

    Raises InputFileError for fewer than two rows, or for a rate outside the range of cameras.
    """
    times = table.time_s
    if len(times) < 2:
        raise InputFileError(f"'{table.path.name}' has fewer than two rows of data, so it contains no motion.")
    mean_hz = (len(times) - 1) / float(times[-1] - times[0])
    if not RATES_HZ[0] <= mean_hz <= RATES_HZ[1]:
        raise InputFileError(
            f"'{table.path.name}' has {mean_hz:.3g} rows per second; a motion needs {RATES_HZ[0]:g} to "
            f"{RATES_HZ[1]:g} Hz."
        )
    even_hz = uniform_rate_hz(times)
    if even_hz is not None:
        return even_hz, times, ()
    complete = _times_with_dropped_rows(times)
    if complete is not None:
        return (*complete, (_dropped_rows_note(table, *complete),))
    steps = np.diff(times)
    note = Diagnostic(
        "recording-repaired",
        "warning",
        f"The time between rows of '{table.path.name}' varies from {steps.min():.4g} to {steps.max():.4g} s. The table is "
        f"resampled linearly at {mean_hz:.6g} rows per second.",
        value=float(steps.max()),
        unit="s",
    )
    return mean_hz, times[0] + np.arange(len(times)) / mean_hz, (note,)


def resample_table(table: Storage, roles: ColumnRoles, time_s: FloatArray) -> Storage:
    """Return the table interpolated linearly to times (T,) s; a marker is missing if a neighbouring row lacks it.

    If rows were dropped, the other rows keep their values, and markers are missing in the dropped rows.
    """
    if time_s is table.time_s:
        return table
    values = table.values.copy()
    of_markers = [table.column_indices[name] for columns in roles.markers.values() for name in columns]
    points = values[:, of_markers].reshape(len(values), -1, 3)
    values[:, of_markers] = replace_unseen_by_nan(points).reshape(len(values), -1)
    uniform = np.column_stack([np.interp(time_s, table.time_s, column) for column in values.T])
    if len(time_s) > len(table.time_s):  # rows were dropped
        uniform[:, of_markers] = np.nan
        uniform[np.round((table.time_s - time_s[0]) / (time_s[1] - time_s[0])).astype(int)] = values
    return replace(table, time_s=time_s, values=uniform)


def _times_with_dropped_rows(times: FloatArray) -> tuple[float, FloatArray] | None:
    """Return the rate (Hz) and times (s) of all rows if the time steps are multiples of one step; else None."""
    rounding = 0.1  # largest deviation from a multiple, as a share of the step
    most_dropped = 0.5  # largest share of dropped rows
    steps = np.diff(times)
    step_s = float(steps[steps < 1.5 * np.median(steps)].mean())  # mean, as times are rounded
    counts = np.round(steps / step_s)
    number = np.concatenate([[0.0], np.cumsum(counts)])
    if counts.min() < 1.0 or len(times) < (1.0 - most_dropped) * number[-1]:
        return None
    step_s = float(np.polyfit(number, times - times[0], 1)[0])
    rate_hz = float(round(1.0 / step_s))
    for hz in (rate_hz, 1.0 / step_s):
        if hz > 0.0 and np.abs(times[0] + number / hz - times).max() * hz <= rounding:
            return hz, times[0] + np.arange(int(number[-1]) + 1) / hz
    return None


def _dropped_rows_note(table: Storage, rate_hz: float, time_s: FloatArray) -> Diagnostic:
    count = len(time_s) - len(table.time_s)
    return Diagnostic(
        "recording-repaired",
        "info",
        f"'{table.path.name}' lacks {count} of {len(time_s)} rows at {rate_hz:g} Hz. Markers are missing in these rows; "
        f"forces and coordinates are interpolated linearly.",
        value=float(count),
        unit="rows",
    )


def recording_of_table(
    table: Storage,
    roles: ColumnRoles,
    sha256: str,
    length: str = "",
    angle: str = "",
    events: Sequence[StoredEvent] = (),
    subject: str = "",
) -> Recording:
    """Return the recording in a table, at a uniform rate.

    Args:
        length: stated unit of the marker positions, "" = estimated from the size of the body.
        angle: "deg" or "rad", "" = as stated in the table, else estimated from the largest number.
        events: events listed in the file. subject: name in the prefix of the labels.

    Raises InputFileError for a table without any motion or force, or without a rate.
    """
    if not (roles.markers or roles.poses or roles.forces or roles.plates or roles.coordinates):
        raise _no_motion_error(table, roles)
    doubled = [force for force in roles.forces if table.unclear.intersection(force.columns)]
    rate_hz, time_s, time_notes = uniform_times(table)
    table = resample_table(table, roles, time_s)
    markers, points, marker_notes = _read_markers(table, roles, rate_hz, length)
    poses, pose_notes = (
        poses_of_table(table, roles.poses, rate_hz, length, markers is None) if roles.poses else (None, ())
    )
    coordinates, coordinate_notes = _read_coordinates(table, roles, rate_hz, angle)
    if markers is None and poses is not None:
        markers = virtual_points(poses, require_known_system(table.path, poses.labels))
    positions = None if markers is None else markers.positions
    own_name, others = (points.subject or subject, points.other_subjects) if points is not None else (subject, ())
    gait, event_notes = gait_events(events, len(table.time_s), rate_hz, own_name, others)
    start_s = float(table.time_s[0])
    single = [force for force in roles.forces if force not in doubled]
    plates, _, _, force_notes = plates_of_forces(
        table, single, len(table.time_s), rate_hz, start_s, positions, roles.plates
    )
    recording = Recording(
        path=table.path,
        sha256=sha256,
        motion=StoredMotion(markers, poses, coordinates),
        plates=plates,
        events=gait,
        start_s=start_s,
        diagnostics=(
            *table.notes,
            *time_notes,
            *marker_notes,
            *pose_notes,
            *coordinate_notes,
            *event_notes,
            *_ambiguous_columns_note(table, [force.force[0] for force in doubled]),
            *force_notes,
            *_unread_columns_note(roles.others),
        ),
    )
    return apply_repairs(recording)


def _no_motion_error(table: Storage, roles: ColumnRoles) -> InputFileError:
    """Return the error for a table that holds no recording."""
    torques = [name for name in roles.others if name.endswith(("_moment", "_force"))]
    if len(torques) > 0.5 * len(table.names):
        return InputFileError(
            f"'{table.path.name}' contains joint torques ({torques[0]} ...), which are a result and not a motion.",
            "Give the coordinates or markers from which they were computed.",
        )
    return InputFileError(
        f"'{table.path.name}' contains neither markers, nor ground forces, nor joint coordinates.",
        f"Its columns are {', '.join(table.names[:6])} ...; names such as pelvis_tilt, R.ASIS_tx or ground_force_vx are "
        f"expected.",
    )


def _read_markers(
    table: Storage, roles: ColumnRoles, rate_hz: float, length: str
) -> tuple[Markers | None, PointRoles | None, tuple[Diagnostic, ...]]:
    if not roles.markers:
        return None, None, ()
    columns = [table.column(name) for names_xyz in roles.markers.values() for name in names_xyz]
    points = replace_unseen_by_nan(np.column_stack(columns).reshape(len(table.time_s), -1, 3))
    roles_of_points = classify_points(tuple(roles.markers), points, {}, ())
    columns_of_markers = roles_of_points.marker_indices
    require_markers(table.path, roles_of_points.labels, points[:, columns_of_markers])
    metres, unit_notes = _metres_per_unit(table.path.name, points[:, columns_of_markers], length)
    positions, notes = without_impossible_positions(table.path, points[:, columns_of_markers] * metres)
    labels = tuple(roles_of_points.labels[i] for i in columns_of_markers)
    notes = (*roles_of_points.diagnostics, *unit_notes, *notes, *unlabelled_points_note(roles_of_points))
    return Markers(labels, positions, rate_hz), roles_of_points, notes


def _metres_per_unit(name: str, points: FloatArray, length: str) -> tuple[float, tuple[Diagnostic, ...]]:
    """Return metres per unit of points (T, M, 3), and notes; without a stated unit m, mm or cm, whichever gives a possible
    size."""
    known = load_name_table()["length_units"]
    unit = length_unit(length or "m", known, points, entry="the unit of length")
    if length:
        return unit.markers, unit.diagnostics
    centimetre = known["cm"]
    if unit.markers != 1.0 or length_unit("", known, points).markers != centimetre:
        return unit.markers, ()
    text = f"'{name}' states no unit of length, and metres give no possible body size; {centimetre:g} m per unit is assumed."
    hint = "State it in the column map: length = 'cm'."
    return centimetre, (Diagnostic("unit-corrected", "warning", text, value=centimetre, unit="m", hint=hint),)


def _read_coordinates(
    table: Storage, roles: ColumnRoles, rate_hz: float, angle: str
) -> tuple[Coordinates | None, tuple[Diagnostic, ...]]:
    clear = [name for name in roles.coordinates if name not in table.unclear]
    notes = list(_ambiguous_columns_note(table, [name for name in roles.coordinates if name in table.unclear]))
    if not clear:
        return None, tuple(notes)
    values = np.column_stack([table.column(name) for name in clear])
    rotational = [not re.fullmatch(r"(?i).*_t[xyz]|.*_translation(_[xyz])?", name) for name in clear]
    degrees, unit_notes = (angle == "deg", []) if angle else are_angles_in_degrees(table, [*values[:, rotational].T])
    notes += unit_notes
    if degrees:
        values[:, rotational] = np.radians(values[:, rotational])
    units: tuple[CoordinateUnit, ...] = tuple("rad" if rotates else "m" for rotates in rotational)
    return Coordinates(tuple(clear), values, units, rate_hz), tuple(notes)


def _ambiguous_columns_note(table: Storage, unclear: Sequence[str]) -> tuple[Diagnostic, ...]:
    if not unclear:
        return ()
    text = f"'{table.path.name}' has several columns named '{unclear[0]}' with different numbers; none of them is read."
    return (Diagnostic("columns-not-read", "warning", text, value=float(len(unclear))),)


def _unread_columns_note(others: Sequence[str]) -> tuple[Diagnostic, ...]:
    if not others:
        return ()
    shown = ", ".join(others[:6]) + (" ..." if len(others) > 6 else "")
    columns = "1 column is" if len(others) == 1 else f"{len(others)} columns are"
    text = f"{columns} not recognised as markers, ground forces or joint coordinates and therefore not read: {shown}."
    return (Diagnostic("columns-not-read", "info", text, value=float(len(others))),)
