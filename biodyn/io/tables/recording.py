"""A table and the roles of its columns become a recording."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError
from biodyn.io.events import NOBODY, StoredEvent, Whose, gait_events
from biodyn.io.format import RATES_HZ
from biodyn.io.labels import point_roles
from biodyn.io.length_units import length_unit
from biodyn.io.names import names
from biodyn.io.opensim.storage import MOST_RADIANS, Storage, even_rate_hz
from biodyn.io.positions import dropped_note, require_markers, unseen_as_nan, without_impossible
from biodyn.io.repairs import repaired
from biodyn.io.segment_poses import require_known, virtual_points
from biodyn.io.tables.columns import ColumnRoles, poses_of
from biodyn.io.tables.force_plates import frame_forces
from biodyn.recording import Coordinates, Markers, Recording, StoredMotion
from biodyn.recording.motion import CoordinateUnit

#: Of the time between two rows: steps that differ by less from whole ones are those of dropped rows.
_ROUNDED: Final = 0.1
_NEXT: Final = 1.5  # of the usual time between rows: no row was dropped in a shorter one
_MOST_DROPPED: Final = 0.5  # of all rows; else the rate is another one


def even_rows(table: Storage) -> tuple[float, FloatArray, tuple[Diagnostic, ...]]:
    """Return rows per second, their even times (T,) s, and a note where those of the table are not even.

    Raises InputFileError where there are fewer than two rows, or as many per second as no camera takes.
    """
    times = table.time_s
    if len(times) < 2:
        raise InputFileError(f"'{table.path.name}' holds {len(times)} row: no motion.")
    mean_hz = (len(times) - 1) / float(times[-1] - times[0])
    if not RATES_HZ[0] <= mean_hz <= RATES_HZ[1]:
        raise InputFileError(f"'{table.path.name}' has {mean_hz:.3g} rows per second: no motion is recorded like that.")
    even_hz = even_rate_hz(times)
    if even_hz is not None:
        return even_hz, times, ()
    whole = _with_dropped(times)
    if whole is not None:
        return (*whole, (_dropped_note(table, *whole),))
    steps = np.diff(times)
    note = Diagnostic(
        "recording-repaired",
        "warning",
        f"The rows of '{table.path.name}' are {steps.min():.4g} to {steps.max():.4g} s apart: read at {mean_hz:.6g} rows per "
        "second, between them linearly.",
        value=float(steps.max()),
        unit="s",
    )
    return mean_hz, times[0] + np.arange(len(times)) / mean_hz, (note,)


def at_rows(table: Storage, roles: ColumnRoles, rows: FloatArray) -> Storage:
    """Return the table at other times (T,) s, between its rows linearly; a marker is not seen where a neighbour lacks it.

    Where rows were dropped the others stand as they are, and no marker is seen in those.
    """
    if rows is table.time_s:
        return table
    values = table.values.copy()
    of_markers = [table.names.index(name) for columns in roles.markers.values() for name in columns]
    points = values[:, of_markers].reshape(len(values), -1, 3)
    values[:, of_markers] = unseen_as_nan(points).reshape(len(values), -1)
    even = np.column_stack([np.interp(rows, table.time_s, column) for column in values.T])
    if len(rows) > len(table.time_s):  # some were dropped: each of the others lies beside one of the even rows
        even[:, of_markers] = np.nan
        even[np.round((table.time_s - rows[0]) / (rows[1] - rows[0])).astype(int)] = values
    return replace(table, time_s=rows, values=even)


def _with_dropped(times: FloatArray) -> tuple[float, FloatArray] | None:
    """Rate and times of all rows where the steps between those that are there are whole ones; None where they are not."""
    steps = np.diff(times)
    step_s = float(steps[steps < _NEXT * np.median(steps)].mean())  # times are rounded: one step tells less than all
    counts = np.round(steps / step_s)
    place = np.concatenate([[0.0], np.cumsum(counts)])
    if counts.min() < 1.0 or len(times) < (1.0 - _MOST_DROPPED) * place[-1]:
        return None
    step_s = float(np.polyfit(place, times - times[0], 1)[0])
    rate_hz = float(round(1.0 / step_s))
    for hz in (rate_hz, 1.0 / step_s):
        if hz > 0.0 and np.abs(times[0] + place / hz - times).max() * hz <= _ROUNDED:
            return hz, times[0] + np.arange(int(place[-1]) + 1) / hz
    return None


def _dropped_note(table: Storage, rate_hz: float, rows: FloatArray) -> Diagnostic:
    count = len(rows) - len(table.time_s)
    return Diagnostic(
        "recording-repaired",
        "info",
        f"'{table.path.name}' lacks {count} of {len(rows)} rows at {rate_hz:g} per second: no marker is seen there; forces and "
        "coordinates go on linearly.",
        value=float(count),
        unit="rows",
    )


_SLIDING = re.compile(r"(?i).*_t[xyz]|.*_translation(_[xyz])?")


def recording_of(
    table: Storage,
    roles: ColumnRoles,
    sha256: str,
    length: str = "",
    angle: str = "",
    events: Sequence[StoredEvent] = (),
    subject: str = "",
) -> Recording:
    """Return what a table holds, at the even rate of its rows.

    `length`: unit of the marker positions as the file or the user states it, "" = told by the body's size; `angle`: "deg" or
    "rad", "" = as the table says, else by the largest number; `events` that the file lists, `subject` the person before its
    labels. Raises InputFileError where nothing of a motion is in it, or its
    rows have no rate.
    """
    if roles.planar and not (roles.coordinates or roles.poses):
        raise _planar(table, roles)
    if not (roles.markers or roles.poses or roles.forces or roles.plates or roles.coordinates):
        raise _nothing(table, roles)
    doubled = [one for one in roles.forces if table.unclear.intersection(one.columns)]
    forces_kept = [one for one in roles.forces if one not in doubled]
    rate_hz, rows, notes = even_rows(table)
    table = at_rows(table, roles, rows)
    motion, whose, motion_notes = _motion(table, roles, rate_hz, length, angle)
    gait, event_notes = gait_events(events, len(table.time_s), rate_hz, whose if whose.subject else Whose(subject))
    markers = motion.markers
    start_s = float(table.time_s[0])
    positions = None if markers is None else markers.positions
    forces = frame_forces(table, forces_kept, len(table.time_s), rate_hz, start_s, positions, roles.plates)
    recording = Recording(
        path=table.path,
        sha256=sha256,
        motion=motion,
        plates=forces.plates,
        events=gait,
        start_s=start_s,
        diagnostics=(
            *table.notes,
            *notes,
            *motion_notes,
            *event_notes,
            *_unclear_note(table, [one.force[0] for one in doubled]),
            *forces.notes,
            *_other_note(roles.others),
        ),
    )
    return repaired(recording)


def _motion(
    table: Storage, roles: ColumnRoles, rate_hz: float, length: str, angle: str
) -> tuple[StoredMotion, Whose, tuple[Diagnostic, ...]]:
    """Markers, poses and coordinates of a table, and whose markers; of poses without markers, their virtual points."""
    markers, whose, marker_notes = _markers(table, roles, rate_hz, length)
    poses, pose_notes = poses_of(table, roles.poses, rate_hz, length, markers is None) if roles.poses else (None, ())
    coordinates, coordinate_notes = _coordinates(table, roles, rate_hz, angle)
    if markers is None and poses is not None:
        markers = virtual_points(poses, require_known(table.path, poses.labels))
    return StoredMotion(markers, poses, coordinates), whose, (*marker_notes, *pose_notes, *coordinate_notes)


def _planar(table: Storage, roles: ColumnRoles) -> InputFileError:
    """What is to be said of points with two coordinates."""
    label, columns = next(iter(roles.planar.items()))
    return InputFileError(
        f"'{table.path.name}' is planar: {len(roles.planar)} points with two coordinates each ({label}: {', '.join(columns)}); "
        "the joint torques of a person need three.",
        "Give three columns a marker; or the joint angles of a planar OpenSim model: --model MODEL.osim (docs/formats.md).",
    )


def _nothing(table: Storage, roles: ColumnRoles) -> InputFileError:
    """Why a table is no recording."""
    torques = [name for name in roles.others if name.endswith(("_moment", "_force"))]
    if len(torques) > 0.5 * len(table.names):
        return InputFileError(
            f"'{table.path.name}' holds joint torques ({torques[0]} ...): a result, no motion.",
            "Give the coordinates or the markers that they were computed from.",
        )
    return InputFileError(
        f"'{table.path.name}' holds neither markers, nor ground forces, nor joint coordinates.",
        f"Its columns are {', '.join(table.names[:6])} ...; expected such as pelvis_tilt, R.ASIS_tx or ground_force_vx.",
    )


def _markers(
    table: Storage, roles: ColumnRoles, rate_hz: float, length: str
) -> tuple[Markers | None, Whose, tuple[Diagnostic, ...]]:
    if not roles.markers:
        return None, NOBODY, ()
    columns = [table.column(name) for three in roles.markers.values() for name in three]
    points = unseen_as_nan(np.column_stack(columns).reshape(len(table.time_s), -1, 3))
    found = point_roles(tuple(roles.markers), points, {}, ())
    kept = found.markers
    require_markers(table.path, found.labels, points[:, kept])
    metres, unit_notes = _metres(table.path.name, points[:, kept], length)
    positions, notes = without_impossible(table.path, points[:, kept] * metres)
    labels = tuple(found.labels[i] for i in kept)
    notes = (*found.diagnostics, *unit_notes, *notes, *dropped_note(found))
    return Markers(labels, positions, rate_hz), found.whose, notes


def _metres(name: str, points: FloatArray, length: str) -> tuple[float, tuple[Diagnostic, ...]]:
    """Metres of a unit of points (T, M, 3), and what is to be said of it; `length` as stated, "" = metres, else by the body."""
    known = names()["length_units"]
    found = length_unit(name, length or "m", known, points, (), None, "Its unit of length")
    if length:
        return found.markers, found.diagnostics
    centimetre = known["cm"]
    if found.markers != 1.0 or length_unit(name, "", known, points, (), None).markers != centimetre:
        return found.markers, ()  # nothing was stated that could be wrong
    text = f"'{name}' states no unit of length; as metres no person would span it: {centimetre:g} m a unit is taken."
    hint = "Say it in the column map: length = 'cm'."
    return centimetre, (Diagnostic("unit-corrected", "warning", text, value=centimetre, unit="m", hint=hint),)


def _coordinates(
    table: Storage, roles: ColumnRoles, rate_hz: float, angle: str
) -> tuple[Coordinates | None, tuple[Diagnostic, ...]]:
    clear = [name for name in roles.coordinates if name not in table.unclear]
    unclear = [name for name in roles.coordinates if name in table.unclear]
    notes = list(_unclear_note(table, unclear))
    if not clear:
        return None, tuple(notes)
    values = np.column_stack([table.column(name) for name in clear])
    turning = [not _SLIDING.fullmatch(name) for name in clear]
    largest = float(np.nanmax(np.abs(values[:, turning]), initial=0.0)) if any(turning) else 0.0
    degrees = angle == "deg" if angle else table.in_degrees
    if degrees is None:
        degrees = largest > MOST_RADIANS
        text = (
            f"'{table.path.name}' does not say its unit of angle: taken as {'degrees' if degrees else 'radians'} (largest number "
            f"{largest:.3g})."
        )
        notes.append(Diagnostic("angle-unit-assumed", "info", text, value=largest))
    if degrees:
        values[:, turning] = np.radians(values[:, turning])
    units: tuple[CoordinateUnit, ...] = tuple("rad" if turns else "m" for turns in turning)
    return Coordinates(tuple(clear), values, units, rate_hz), tuple(notes)


def _unclear_note(table: Storage, unclear: Sequence[str]) -> tuple[Diagnostic, ...]:
    if not unclear:
        return ()
    text = f"'{table.path.name}' has several columns '{unclear[0]}' with different numbers: none of them is read."
    return (Diagnostic("columns-not-read", "warning", text, value=float(len(unclear))),)


def _other_note(others: Sequence[str]) -> tuple[Diagnostic, ...]:
    if not others:
        return ()
    shown = ", ".join(others[:6]) + (" ..." if len(others) > 6 else "")
    columns = "1 column is" if len(others) == 1 else f"{len(others)} columns are"
    of_no_kind = "neither markers, nor ground forces, nor joint coordinates, and"
    text = f"{columns} {of_no_kind} {'is' if len(others) == 1 else 'are'} not read: {shown}."
    return (Diagnostic("columns-not-read", "info", text, value=float(len(others))),)
