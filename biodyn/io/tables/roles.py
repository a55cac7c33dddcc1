"""What the columns of a table are, by their names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from biodyn.io.tables.force_columns import ForceColumns, force_columns
from biodyn.io.tables.plate_columns import PlateColumns
from biodyn.io.tables.pose_columns import PoseColumns, pose_columns

#: Fewer points than this are no person's markers.
_FEWEST_MARKERS = 3
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
    """What the columns of a table are.

    Attributes:
        markers: by label its three columns x y z. poses: by label of the segment. forces: ground forces, each with the point
            where it acts. plates: force plates by their six components. coordinates: joint coordinates, in order.
        planar: by label the two columns of points that have no more. others: columns that are none of these.
    """

    markers: Mapping[str, tuple[str, str, str]] = field(default_factory=dict)
    forces: tuple[ForceColumns, ...] = ()
    coordinates: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    poses: Mapping[str, PoseColumns] = field(default_factory=dict)
    plates: tuple[PlateColumns, ...] = ()
    planar: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def renamed(self, names: Mapping[str, str]) -> ColumnRoles:
        """The roles with other names for some of the coordinates' columns."""
        return replace(self, coordinates=tuple(names.get(name, name) for name in self.coordinates))


def roles_of(names: Sequence[str], points: bool = False) -> ColumnRoles:
    """Return the roles of columns by their names.

    `points`: a spreadsheet, in which NAME_X is a marker's; in OpenSim's tables only NAME_tx is, beside the pelvis' own pelvis_tx.
    """
    poses = pose_columns(names) if points else {}
    taken = {name for one in poses.values() for name in one.columns}
    forces = force_columns([name for name in names if name not in taken])
    taken |= {name for one in forces for name in one.columns}
    found = _points([name for name in names if name not in taken], _POINT if points else _TRANSLATION)
    markers = _in_space(found)
    if points and not markers:
        left = [name for name in names if name not in taken]
        markers = next((some for form in _OTHER_POINTS if (some := _in_space(_points(left, form)))), {})
    planar = {label: tuple(own.values()) for label, own in found.items() if len(own) == len("xy")}
    planar = planar if points and not markers and len(planar) >= _FEWEST_MARKERS else {}
    taken |= {name for columns in (*markers.values(), *planar.values()) for name in columns}
    left = [name for name in names if name not in taken]
    coordinates = tuple(name for name in left if not _RESULT.fullmatch(name))
    others = tuple(name for name in left if name not in set(coordinates))
    return ColumnRoles(markers, forces, coordinates, others, poses, planar=planar)


def _in_space(found: Mapping[str, Mapping[str, str]]) -> dict[str, tuple[str, str, str]]:
    """The columns x y z of the points that have these three and no more, if they are enough for a person's markers."""
    markers = {label: (own["x"], own["y"], own["z"]) for label, own in found.items() if own.keys() == set("xyz")}
    return markers if len(markers) >= _FEWEST_MARKERS else {}


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
