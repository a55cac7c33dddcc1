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
from biodyn.io.names import names
from biodyn.io.opensim.storage import Storage
from biodyn.io.segment_poses import checked_poses, require_known, require_seen
from biodyn.library.load import load_table
from biodyn.recording import ForcePlate, SegmentPoses

_AXES = {"x": 0, "y": 1, "z": 2, "1": 0, "2": 1, "3": 2}


@dataclass(frozen=True)
class ForceColumns:
    """The columns of one ground force.

    Attributes:
        name: distinguishes it from the others, "" without a name. side: of the foot in the name, None if absent.
        force, point: three columns each, x y z; point: where it acts. moment: three of the moment about that point, or empty.
    """

    name: str
    side: Side | None
    force: tuple[str, ...]
    point: tuple[str, ...]
    moment: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """All its columns."""
        return (*self.force, *self.point, *self.moment)


def force_columns(names: Sequence[str]) -> tuple[ForceColumns, ...]:
    """Return the ground forces among the columns of a table, in its order: those with three of force and three of point."""
    vectors: dict[str, dict[str, dict[int, str]]] = {}
    for name in names:
        read = _read(name.lower())
        if read is not None:
            what, which, axis = read
            vectors.setdefault(which, {}).setdefault(what, {}).setdefault(axis, name)

    def vector(which: str, what: str) -> tuple[str, ...]:
        columns = vectors[which].get(what, {})
        return tuple(columns[axis] for axis in range(3)) if len(columns) == 3 else ()

    forces = (
        ForceColumns(which, side_of(which), *(vector(which, w) for w in ("force", "point", "moment")))
        for which in vectors
    )
    return tuple(columns for columns in forces if columns.force and columns.point)


def side_of(words: str) -> Side | None:
    """Return the side that one of the words (letters between other characters) names, None where none or both do."""
    known: dict[str, Side] = load_table("formats/opensim_names")["ground_force"]["sides"]
    sides = {known[word] for word in re.findall(r"[a-z]+", words.lower()) if word in known}
    return sides.pop() if len(sides) == 1 else None


@lru_cache(4096)
def _read(name: str) -> tuple[str, str, int] | None:
    """Return what a column is, of which force, along which axis; None where it is of no force."""
    longest = 60  # no laboratory writes longer names of columns; regular expressions stay quick
    if not 2 < len(name) <= longest:
        return None
    turned = _axis_first().fullmatch(name)
    if turned is not None:
        name = f"{turned['what']}{turned['number']}_{turned['axis']}"
    if name[-1] not in _AXES:
        return None
    for what, forms in _forms():
        for form in forms:
            match = form.fullmatch(name[:-1])
            if match is not None:
                parts = match.groupdict()
                which = "_".join(part.strip("_") for part in (parts.get("before"), parts.get("after")) if part)
                return what, which.strip("_"), _AXES[name[-1]]
    return None


@lru_cache(1)
def _axis_first() -> re.Pattern[str]:
    return re.compile(load_table("formats/opensim_names")["ground_force"]["axis_first"])


@lru_cache(1)
def _forms() -> tuple[tuple[str, tuple[re.Pattern[str], ...]], ...]:
    table = load_table("formats/opensim_names")["ground_force"]["forms"]
    return tuple((what, tuple(re.compile(form) for form in table[what])) for what in ("point", "moment", "force"))


METRES = {"m": 1.0, "cm": 0.01, "mm": 0.001}


@dataclass(frozen=True, eq=False)
class PlateColumns:
    """The columns of one force plate.

    Attributes:
        force, moment: three columns each, N and `newton_metres` times N m. axes: of both, the plate's or the laboratory's.
        corners: (4, 3) m, one after the other around the plate; in its own axes as C3D files order them, +x+y, -x+y, -x-y, +x-y.
        about: (3,) m point of the moments: from the sensor's origin to the middle of the surface in the plate's axes, a place in
            the laboratory's; None = the middle of the surface.
    """

    force: tuple[str, ...]
    moment: tuple[str, ...]
    corners: FloatArray
    axes: Literal["plate", "laboratory"] = "plate"
    about: FloatArray | None = None
    newton_metres: float = 1.0

    @property
    def columns(self) -> tuple[str, ...]:
        """All its columns."""
        return (*self.force, *self.moment)


def plate_of_map(entry: Mapping[str, Any], force: tuple[str, ...], moment: tuple[str, ...]) -> PlateColumns:
    """Return the columns of a valid entry [[plates]] of a column map."""
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
    """Return the plates at the times (S,) s of the table's clock, `rate_hz` of them a second; numbered from `first`.

    Between rows channels are interpolated linearly. Raises InputFileError for impossible corners or moments.
    """
    return tuple(
        ForcePlate(
            number=number,
            type=2,  # six channels: force, moment
            corners=plate.corners,
            origin=plate.about if plate.axes == "plate" and plate.about is not None else np.zeros(3),
            channels=_channels(table, plate, number, at_s),
            rate_hz=rate_hz,
            channel_labels=plate.columns,
        )
        for number, plate in enumerate(plates, start=first)
    )


def _channels(table: Storage, plate: PlateColumns, number: int, at_s: FloatArray) -> FloatArray:
    """(S, 6) force and moment in the plate's axes, N and N m."""
    R_LP = _axes(table, plate, number)
    F, M = (np.column_stack([table.column(name) for name in names]) for names in (plate.force, plate.moment))
    M = M * plate.newton_metres
    _require_moments(table, plate, F, M)
    if plate.axes == "laboratory":
        middle = plate.corners.mean(axis=0)
        about = middle if plate.about is None else plate.about
        F, M = F @ R_LP, (M + np.cross(about - middle, F)) @ R_LP
    return np.column_stack([np.interp(at_s, table.time_s, column) for column in np.hstack([F, M]).T])


def unlike_a_plate(corners: FloatArray) -> str:
    """Return why four corners (4, 3) m are not those of a plate, "" if they are."""
    sides = 0.5 * np.array([np.linalg.norm(side) for side in _sides(corners)])
    # of a rectangle both diagonals share their middle
    bent = np.abs(corners[0] + corners[2] - (corners[1] + corners[3])).max()
    least_m, most_m = 0.1, 4.0
    if ((sides > least_m) & (sides < most_m)).all() and bent <= 0.1 * sides.max():
        return ""
    return (
        f"its sides would be {sides[0]:.3g} and {sides[1]:.3g} m, the middles of its diagonals {bent / 2:.3g} m apart"
    )


def _sides(c: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Twice the sides (3,) along the x and the y axis of a plate."""
    return (c[0] - c[1]) + (c[3] - c[2]), (c[0] - c[3]) + (c[1] - c[2])


def _axes(table: Storage, plate: PlateColumns, number: int) -> FloatArray:
    """R_LP (3, 3) of a plate; InputFileError where its corners are none."""
    wrong = unlike_a_plate(plate.corners)
    if wrong:
        raise InputFileError(
            f"The corners of plate {number} of '{table.path.name}' are not those of a plate: {wrong}.",
            "Give the four corners one after the other around the plate, and their unit: length = 'mm'.",
        )
    x, y = _sides(plate.corners)
    x = x / np.linalg.norm(x)
    z = np.cross(x, y / np.linalg.norm(y))
    z = z / np.linalg.norm(z)
    return np.column_stack([x, np.cross(z, x), z])


def _require_moments(table: Storage, plate: PlateColumns, F: FloatArray, M: FloatArray) -> None:
    """Raise InputFileError where moments are too large for the forces: N mm that are called N m."""
    loaded_n = 50.0
    # Largest lever of a load from the middle of a plate; treadmill belts are the longest.
    farthest_m = 5.0
    size = np.linalg.norm(F, axis=1)
    loaded = np.isfinite(size) & (size > loaded_n) & np.isfinite(M).all(axis=1)
    if not loaded.any():
        return
    away = np.zeros(3) if plate.about is None else plate.about
    arm = float(np.median(np.linalg.norm(M[loaded], axis=1) / size[loaded]))
    if arm > farthest_m + float(np.linalg.norm(away)):
        raise InputFileError(
            f"The moments {plate.moment[0]} ... of '{table.path.name}' would act {arm:.3g} m from the plate.",
            "Say their unit in the column map: moments = 'Nmm'.",
        )


_QUATERNION = ("qw", "qx", "qy", "qz")
_MATRIX = tuple(f"r{row}{column}" for row in "123" for column in "123")
_PART = re.compile(r"(?P<label>.+?)[ _.:]+(?P<part>[pt]?[xyz]|q[wxyz]|r[123][123])", re.IGNORECASE)


@dataclass(frozen=True)
class PoseColumns:
    """The columns of one segment's pose in the laboratory.

    Attributes:
        origin: three columns. turn: from the segment's axes into the laboratory's, four of a quaternion (the scalar first) or
            nine of a matrix (row by row).
    """

    origin: tuple[str, ...]
    turn: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """All its columns."""
        return (*self.origin, *self.turn)


def pose_columns(columns: Sequence[str]) -> dict[str, PoseColumns]:
    """Return the poses among columns by their names: NAME_x, _y, _z (or _px ..) with NAME_qw .. qz, or NAME_r11 .. r33."""
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
    """Return the columns of the valid table [poses] of a column map."""
    return {
        label: PoseColumns(tuple(entry["origin"]), tuple(entry.get("quaternion") or entry["matrix"]))
        for label, entry in entries.items()
    }


def poses_of(
    table: Storage, poses: Mapping[str, PoseColumns], rate_hz: float, length: str, alone: bool
) -> tuple[SegmentPoses, tuple[Diagnostic, ...]]:
    """Return the poses at the rows of a table; `alone`: without markers.

    Raises InputFileError where matrices are none, and of poses alone where their system is not known or none is seen.
    """
    labels = tuple(poses)
    system = require_known(table.path, labels) if alone else None
    matrices = np.zeros((len(table.time_s), len(labels), 4, 4))
    matrices[..., 3, 3] = 1.0
    for k, columns in enumerate(poses.values()):
        turn = np.column_stack([table.column(name) for name in columns.turn])
        matrices[:, k, :3, :3] = (
            _of_quaternion(turn) if len(columns.turn) == len(_QUATERNION) else turn.reshape(-1, 3, 3)
        )
        matrices[:, k, :3, 3] = np.column_stack([table.column(name) for name in columns.origin])
    stored, notes = checked_poses(table.path, labels, matrices, np.zeros(matrices.shape[:2]), rate_hz)
    unit = length_unit(length, names()["length_units"], stored.origins, entry="the unit of length")
    segment_poses = replace(stored, origins=stored.origins * unit.markers, reliability=None)
    if system is not None:
        require_seen(table.path, segment_poses, system)
    return segment_poses, (*notes, *(unit.diagnostics if length else ()))


def _of_quaternion(q: FloatArray) -> FloatArray:
    """Return matrices (T, 3, 3) of quaternions (T, 4), the scalar first: times the squared length of each."""
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
# Where no column is named so: NAMEx, NAME_1 and NAME[1], as programs write the columns of a matrix.
_OTHER_POINTS = (
    re.compile(r"(?P<label>.+?)(?P<axis>[xyzXYZ])"),
    re.compile(r"(?P<label>.+?)[ _.\[(](?P<axis>\d+)[\])]?"),
)
_NUMBERED = {"1": "x", "2": "y", "3": "z"}
# What programs compute from coordinates, under names that begin like a coordinate's.
_RESULT = re.compile(
    r"(?i)(.*(_moment|_force|_torque|_power|_u|_acc|_vel|_velocity|_acceleration|_reserve|[./_](speed|activation|excitation))"
    r"|.*[./](fiber|tendon|force|muscle|norm|state)[\w./]*|.*_[xyz]|[fm][xyz]_?\d+|/forceset/.*|frame#?|sub ?frame|index)"
)


@dataclass(frozen=True)
class ColumnRoles:
    """The roles of the columns of a table.

    Attributes:
        markers: by label its three columns x y z. poses: by label of the segment. forces: ground forces, each with the point
            where it acts. plates: force plates by their six components. coordinates: joint coordinates, in order.
        others: columns that are none of these.
    """

    markers: Mapping[str, tuple[str, str, str]] = field(default_factory=dict)
    forces: tuple[ForceColumns, ...] = ()
    coordinates: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    poses: Mapping[str, PoseColumns] = field(default_factory=dict)
    plates: tuple[PlateColumns, ...] = ()

    def renamed(self, names: Mapping[str, str]) -> ColumnRoles:
        """Return the roles with other names for some of the coordinates' columns."""
        return replace(self, coordinates=tuple(names.get(name, name) for name in self.coordinates))


def roles_of(names: Sequence[str], points: bool = False) -> ColumnRoles:
    """Return the roles of columns by their names.

    `points`: a spreadsheet, in which NAME_X is a marker's; in OpenSim's tables only NAME_tx is, except pelvis_tx.
    """
    poses = pose_columns(names) if points else {}
    taken = {name for pose in poses.values() for name in pose.columns}
    forces = force_columns([name for name in names if name not in taken])
    taken |= {name for pose in forces for name in pose.columns}
    markers = _in_space(_points([name for name in names if name not in taken], _POINT if points else _TRANSLATION))
    if points and not markers:
        remaining = [name for name in names if name not in taken]
        markers = next((some for form in _OTHER_POINTS if (some := _in_space(_points(remaining, form)))), {})
    taken |= {name for columns in markers.values() for name in columns}
    remaining = [name for name in names if name not in taken]
    coordinates = tuple(name for name in remaining if not _RESULT.fullmatch(name))
    others = tuple(name for name in remaining if name not in set(coordinates))
    return ColumnRoles(markers, forces, coordinates, others, poses)


def _in_space(points: Mapping[str, Mapping[str, str]]) -> dict[str, tuple[str, str, str]]:
    """Return the columns x y z of the points that have these three and no more, if they are enough for a person's markers."""
    markers = {label: (axes["x"], axes["y"], axes["z"]) for label, axes in points.items() if axes.keys() == set("xyz")}
    fewest = 3  # fewer points are not the markers of a person
    return markers if len(markers) >= fewest else {}


def _points(names: Sequence[str], form: re.Pattern[str]) -> dict[str, dict[str, str]]:
    """The columns of every point by axis, unless another column tells something else of its name: a joint that also turns."""
    parts: dict[str, dict[str, str]] = {}
    matches = [(name, form.fullmatch(name)) for name in names]
    for name, match in matches:
        if match is not None:
            axis = match["axis"].lower()
            parts.setdefault(match["label"], {}).setdefault(_NUMBERED.get(axis, axis), name)
    turning = {name.rpartition("_")[0] for name, match in matches if match is None}
    return {label: axes for label, axes in parts.items() if label not in turning}
