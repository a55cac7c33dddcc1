"""Determine the roles of the columns of a table by their names: markers, poses, ground forces, plates, joint coordinates."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from biodyn.conventions import FloatArray, Side
from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError
from biodyn.io.length_units import length_unit
from biodyn.io.name_tables import load_name_table
from biodyn.io.opensim.storage import Storage
from biodyn.io.segment_poses import poses_from_matrices, require_known_system, require_seen_segment
from biodyn.library.toml_files import load_table
from biodyn.recording import ForcePlate, SegmentPoses

_AXES = {"x": 0, "y": 1, "z": 2, "1": 0, "2": 1, "3": 2}


@dataclass(frozen=True)
class ForceColumns:
    """Columns of one ground force.

    Attributes:
        name: distinguishes this force from the others, "" without a name. side: side of the foot in the name, None if absent.
        force, point, moment: three columns each (x, y, z) of the force, its point of application, and the moment about this
            point; `moment` may be empty.
    """

    name: str
    side: Side | None
    force: tuple[str, ...]
    point: tuple[str, ...]
    moment: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of all columns of the force, its point of application and its moment."""
        return (*self.force, *self.point, *self.moment)


def force_columns(names: Sequence[str]) -> tuple[ForceColumns, ...]:
    """Return the ground forces of a table that have three force and three point columns, in the order of the table."""
    vectors: dict[str, dict[str, dict[int, str]]] = {}
    for name in names:
        read = _force_component(name.lower())
        if read is not None:
            what, which, axis = read
            vectors.setdefault(which, {}).setdefault(what, {}).setdefault(axis, name)

    def vector_columns(which: str, what: str) -> tuple[str, ...]:
        columns = vectors[which].get(what, {})
        return tuple(columns[axis] for axis in range(3)) if len(columns) == 3 else ()

    forces = (
        ForceColumns(which, find_side(which), *(vector_columns(which, w) for w in ("force", "point", "moment")))
        for which in vectors
    )
    return tuple(columns for columns in forces if columns.force and columns.point)


def find_side(words: str) -> Side | None:
    """Return the side that a word in a text denotes; None if no word denotes a side, or if words for both sides occur."""
    known: dict[str, Side] = load_table("formats/opensim_names")["ground_force"]["sides"]
    sides = {known[word] for word in re.findall(r"[a-z]+", words.lower()) if word in known}
    return sides.pop() if len(sides) == 1 else None


@lru_cache(4096)
def _force_component(name: str) -> tuple[str, str, int] | None:
    """Return quantity, force name and axis of a column; None if it does not belong to a force."""
    longest = 60  # longer than any column name; keeps regular expressions fast
    if not 2 < len(name) <= longest:
        return None
    turned = _axis_first_pattern().fullmatch(name)
    if turned is not None:
        name = f"{turned['what']}{turned['number']}_{turned['axis']}"
    if name[-1] not in _AXES:
        return None
    for what, forms in _name_patterns():
        for form in forms:
            match = form.fullmatch(name[:-1])
            if match is not None:
                parts = match.groupdict()
                which = "_".join(part.strip("_") for part in (parts.get("before"), parts.get("after")) if part)
                return what, which.strip("_"), _AXES[name[-1]]
    return None


@lru_cache(1)
def _axis_first_pattern() -> re.Pattern[str]:
    return re.compile(load_table("formats/opensim_names")["ground_force"]["axis_first"])


@lru_cache(1)
def _name_patterns() -> tuple[tuple[str, tuple[re.Pattern[str], ...]], ...]:
    table = load_table("formats/opensim_names")["ground_force"]["forms"]
    return tuple((what, tuple(re.compile(form) for form in table[what])) for what in ("point", "moment", "force"))


METRES = {"m": 1.0, "cm": 0.01, "mm": 0.001}


@dataclass(frozen=True, eq=False)
class PlateColumns:
    """Columns of one force plate.

    Attributes:
        force, moment: three columns each, in N and in `newton_metres` N m. axes: plate or laboratory axes of both.
        corners: (4, 3) m, consecutive around the plate; for plate axes in C3D order, +x+y, -x+y, -x-y, +x-y.
        about: (3,) m reference point of the moments: in plate axes the vector from the sensor origin to the centre of the
            surface, in laboratory axes a position; None = the centre of the surface.
    """

    force: tuple[str, ...]
    moment: tuple[str, ...]
    corners: FloatArray
    axes: Literal["plate", "laboratory"] = "plate"
    about: FloatArray | None = None
    newton_metres: float = 1.0

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of all columns of the force and the moment of the plate."""
        return (*self.force, *self.moment)


def plate_of_map(entry: Mapping[str, Any], force: tuple[str, ...], moment: tuple[str, ...]) -> PlateColumns:
    """Return the plate columns of a valid entry [[plates]] of a column map."""
    metres = METRES[entry.get("length", "m")]
    about = entry.get("about")
    return PlateColumns(
        force,
        moment,
        metres * np.array(entry["corners"], dtype=np.float64),
        entry.get("axes", "plate"),
        None if about is None else metres * np.array(about, dtype=np.float64),
        1e-3 if entry.get("moments") == "Nmm" else 1.0,
    )


def measured_plates(
    table: Storage, plates: Sequence[PlateColumns], at_s: FloatArray, rate_hz: float, first: int
) -> tuple[ForcePlate, ...]:
    """Return the plates sampled at times (S,) s of the table's clock with the rate `rate_hz`, numbered from `first`.

    Channels are interpolated linearly between rows. Raises InputFileError for impossible corners or moments.
    """
    return tuple(
        ForcePlate(
            number=number,
            type=2,  # six channels: force, moment
            corners=plate.corners,
            origin=plate.about if plate.axes == "plate" and plate.about is not None else np.zeros(3),
            channels=_plate_channels(table, plate, number, at_s),
            rate_hz=rate_hz,
            channel_labels=plate.columns,
        )
        for number, plate in enumerate(plates, start=first)
    )


def _plate_channels(table: Storage, plate: PlateColumns, number: int, at_s: FloatArray) -> FloatArray:
    """Return force and moment (S, 6) in plate axes, N and N m."""
    R_LP = _plate_axes(table, plate, number)
    F, M = (np.column_stack([table.column(name) for name in names]) for names in (plate.force, plate.moment))
    M = M * plate.newton_metres
    _require_plausible_moments(table, plate, F, M)
    if plate.axes == "laboratory":
        middle = plate.corners.mean(axis=0)
        about = middle if plate.about is None else plate.about
        F, M = F @ R_LP, (M + np.cross(about - middle, F)) @ R_LP
    return np.column_stack([np.interp(at_s, table.time_s, column) for column in np.hstack([F, M]).T])


def implausible_corners_reason(corners: FloatArray) -> str:
    """Return the reason why corners (4, 3) m cannot be those of a plate; "" if they can."""
    sides = 0.5 * np.array([np.linalg.norm(side) for side in _side_vectors(corners)])
    # the diagonals of a rectangle have the same midpoint
    bent = np.abs(corners[0] + corners[2] - (corners[1] + corners[3])).max()
    least_m, most_m = 0.1, 4.0
    if ((sides > least_m) & (sides < most_m)).all() and bent <= 0.1 * sides.max():
        return ""
    return f"its sides would be {sides[0]:.3g} and {sides[1]:.3g} m, and the midpoints of its diagonals {bent / 2:.3g} m apart"


def _side_vectors(c: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return vectors (3,) of twice the side lengths, along the x and y axis of a plate with corners c (4, 3) m."""
    return (c[0] - c[1]) + (c[3] - c[2]), (c[0] - c[3]) + (c[1] - c[2])


def _plate_axes(table: Storage, plate: PlateColumns, number: int) -> FloatArray:
    """Return R_LP (3, 3) of a plate; InputFileError if its corners are not possible for a plate."""
    wrong = implausible_corners_reason(plate.corners)
    if wrong:
        raise InputFileError(
            f"The corners of plate {number} of '{table.path.name}' are not possible for a plate: {wrong}.",
            "Give the four corners in order around the plate, and their unit: length = 'mm'.",
        )
    x, y = _side_vectors(plate.corners)
    x = x / np.linalg.norm(x)
    z = np.cross(x, y / np.linalg.norm(y))
    z = z / np.linalg.norm(z)
    return np.column_stack([x, np.cross(z, x), z])


def _require_plausible_moments(table: Storage, plate: PlateColumns, F: FloatArray, M: FloatArray) -> None:
    """Raise InputFileError if moments are too large for the forces, such as N mm stated as N m."""
    loaded_n = 50.0
    # Largest lever arm of a load about the plate centre, m; treadmill belts are the longest plates.
    farthest_m = 5.0
    size = np.linalg.norm(F, axis=1)
    loaded = np.isfinite(size) & (size > loaded_n) & np.isfinite(M).all(axis=1)
    if not loaded.any():
        return
    away = np.zeros(3) if plate.about is None else plate.about
    arm = float(np.median(np.linalg.norm(M[loaded], axis=1) / size[loaded]))
    if arm > farthest_m + float(np.linalg.norm(away)):
        raise InputFileError(
            f"The moments {plate.moment[0]} ... of '{table.path.name}' have a lever arm of {arm:.3g} m, which is not on the "
            f"plate.",
            "State their unit in the column map: moments = 'Nmm'.",
        )


_QUATERNION = ("qw", "qx", "qy", "qz")
_MATRIX = tuple(f"r{row}{column}" for row in "123" for column in "123")
_PART = re.compile(r"(?P<label>.+?)[ _.:]+(?P<part>[pt]?[xyz]|q[wxyz]|r[123][123])", re.IGNORECASE)


@dataclass(frozen=True)
class PoseColumns:
    """Columns of the pose of one segment in the laboratory.

    Attributes:
        origin: three columns. turn: rotation from segment axes to laboratory axes: four columns of a quaternion (scalar first)
            or nine columns of a matrix (row by row).
    """

    origin: tuple[str, ...]
    turn: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of all columns of the origin and the rotation of the segment."""
        return (*self.origin, *self.turn)


def pose_columns(columns: Sequence[str]) -> dict[str, PoseColumns]:
    """Return the pose columns by name: NAME_x, _y, _z (or _px ..) with NAME_qw .. qz, or NAME_r11 .. r33."""
    parts: dict[str, dict[str, str]] = {}
    for name in columns:
        match = _PART.fullmatch(name)
        if match is not None:
            parts.setdefault(match["label"], {}).setdefault(match["part"].lower(), name)
    result = {}
    for label, axes in parts.items():
        turn = next((form for form in (_QUATERNION, _MATRIX) if axes.keys() >= set(form)), None)
        origin = next(
            (form for form in ("xyz", ("px", "py", "pz"), ("tx", "ty", "tz")) if axes.keys() >= set(form)), None
        )
        if turn is not None and origin is not None:
            result[label] = PoseColumns(tuple(axes[part] for part in origin), tuple(axes[part] for part in turn))
    return result


def poses_of_map(entries: Mapping[str, Any]) -> dict[str, PoseColumns]:
    """Return the pose columns of a valid table [poses] of a column map."""
    return {
        label: PoseColumns(tuple(entry["origin"]), tuple(entry.get("quaternion") or entry["matrix"]))
        for label, entry in entries.items()
    }


def poses_of_table(
    table: Storage, poses: Mapping[str, PoseColumns], rate_hz: float, length: str, alone: bool
) -> tuple[SegmentPoses, tuple[Diagnostic, ...]]:
    """Return the poses in the rows of a table, and notes; `alone`: whether the table has no markers.

    Raises InputFileError if matrices are not rotations, or, without markers, if the system is unknown or no pose is seen.
    """
    labels = tuple(poses)
    system = require_known_system(table.path, labels) if alone else None
    matrices = np.zeros((len(table.time_s), len(labels), 4, 4))
    matrices[..., 3, 3] = 1.0
    for k, columns in enumerate(poses.values()):
        turn = np.column_stack([table.column(name) for name in columns.turn])
        matrices[:, k, :3, :3] = (
            _scaled_rotations(turn) if len(columns.turn) == len(_QUATERNION) else turn.reshape(-1, 3, 3)
        )
        matrices[:, k, :3, 3] = np.column_stack([table.column(name) for name in columns.origin])
    stored, notes = poses_from_matrices(table.path, labels, matrices, np.zeros(matrices.shape[:2]), rate_hz)
    unit = length_unit(length, load_name_table()["length_units"], stored.origins, entry="the unit of length")
    segment_poses = replace(stored, origins=stored.origins * unit.markers, reliability=None)
    if system is not None:
        require_seen_segment(table.path, segment_poses, system)
    return segment_poses, (*notes, *(unit.diagnostics if length else ()))


def _scaled_rotations(q: FloatArray) -> FloatArray:
    """Return the rotation matrices (T, 3, 3) of quaternions (T, 4), scalar first, each multiplied by the squared norm."""
    w, x, y, z = q.T
    rows = (
        (w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z),
    )
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


_TRANSLATION = re.compile(r"(?i)(?P<label>.+)_t(?P<axis>[xyz])")
_POINT = re.compile(
    r"(?i)(?P<label>.+?)[ _.:\-]+(?:pos(?:ition)?[ _.\-]*)?[(\[]?t?(?P<axis>[xyz])[)\]]?(?:\s*[(\[]\s*m*\s*[)\]])?"
)
# Used if no column has such a name: NAMEx, NAME_1 and NAME[1], as programs name the columns of a matrix.
_OTHER_POINTS = (
    re.compile(r"(?P<label>.+?)(?P<axis>[xyzXYZ])"),
    re.compile(r"(?P<label>.+?)[ _.\[(](?P<axis>\d+)[\])]?"),
)
_NUMBERED = {"1": "x", "2": "y", "3": "z"}
# Quantities computed from coordinates, whose names start like those of coordinates.
_RESULT = re.compile(
    r"(?i)(.*(_moment|_force|_torque|_power|_u|_acc|_vel|_velocity|_acceleration|_reserve|[./_](speed|activation|excitation))"
    r"|.*[./](fiber|tendon|force|muscle|norm|state)[\w./]*|.*_[xyz]|[fm][xyz]_?\d+|/forceset/.*|frame#?|sub ?frame|index)"
)


@dataclass(frozen=True)
class ColumnRoles:
    """The roles of the columns of a table.

    Attributes:
        markers: three columns x y z by label. poses: pose columns by label of the segment. forces: ground forces with their
            points of application. plates: force plates with six components. coordinates: joint coordinates in table order.
        others: all other columns.
    """

    markers: Mapping[str, tuple[str, str, str]] = field(default_factory=dict)
    forces: tuple[ForceColumns, ...] = ()
    coordinates: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    poses: Mapping[str, PoseColumns] = field(default_factory=dict)
    plates: tuple[PlateColumns, ...] = ()

    def rename_coordinates(self, names: Mapping[str, str]) -> ColumnRoles:
        """Return the roles with new names of some coordinate columns; names: new name by old name."""
        return replace(self, coordinates=tuple(names.get(name, name) for name in self.coordinates))


def determine_column_roles(names: Sequence[str], points: bool = False) -> ColumnRoles:
    """Determine the roles of columns by their names.

    `points`: True for spreadsheets, in which NAME_X belongs to a marker; in OpenSim tables only NAME_tx does, except pelvis_tx.
    """
    poses = pose_columns(names) if points else {}
    taken = {name for pose in poses.values() for name in pose.columns}
    forces = force_columns([name for name in names if name not in taken])
    taken |= {name for pose in forces for name in pose.columns}
    markers = _complete_points(
        _columns_of_points([name for name in names if name not in taken], _POINT if points else _TRANSLATION)
    )
    if points and not markers:
        remaining = [name for name in names if name not in taken]
        markers = next(
            (some for form in _OTHER_POINTS if (some := _complete_points(_columns_of_points(remaining, form)))), {}
        )
    taken |= {name for columns in markers.values() for name in columns}
    remaining = [name for name in names if name not in taken]
    coordinates = tuple(name for name in remaining if not _RESULT.fullmatch(name))
    others = tuple(name for name in remaining if name not in set(coordinates))
    return ColumnRoles(markers, forces, coordinates, others, poses)


def _complete_points(points: Mapping[str, Mapping[str, str]]) -> dict[str, tuple[str, str, str]]:
    """Return the columns x y z of points with exactly these three, if there are enough points for the markers of a person."""
    markers = {label: (axes["x"], axes["y"], axes["z"]) for label, axes in points.items() if axes.keys() == set("xyz")}
    fewest = 3  # fewer points are not the markers of a person
    return markers if len(markers) >= fewest else {}


def _columns_of_points(names: Sequence[str], form: re.Pattern[str]) -> dict[str, dict[str, str]]:
    """Return the columns of every point by axis; names with further columns, such as joints that also rotate, are omitted."""
    parts: dict[str, dict[str, str]] = {}
    matches = [(name, form.fullmatch(name)) for name in names]
    for name, match in matches:
        if match is not None:
            axis = match["axis"].lower()
            parts.setdefault(match["label"], {}).setdefault(_NUMBERED.get(axis, axis), name)
    turning = {name.rpartition("_")[0] for name, match in matches if match is None}
    return {label: axes for label, axes in parts.items() if label not in turning}
