"""Poses of segments in columns of a table: an origin, and a quaternion or a matrix; by their names, or as a column map says."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.io.length_units import length_unit
from biodyn.io.names import names
from biodyn.io.opensim.storage import Storage
from biodyn.io.segment_poses import checked_poses, require_known, require_seen
from biodyn.recording import SegmentPoses

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
    found = {}
    for label, own in parts.items():
        turn = next((form for form in (_QUATERNION, _MATRIX) if own.keys() >= set(form)), None)
        origin = next(
            (form for form in ("xyz", ("px", "py", "pz"), ("tx", "ty", "tz")) if own.keys() >= set(form)), None
        )
        if turn is not None and origin is not None:
            found[label] = PoseColumns(tuple(own[part] for part in origin), tuple(own[part] for part in turn))
    return found


def poses_of_map(entries: Mapping[str, Any]) -> dict[str, PoseColumns]:
    """Return the columns of [poses] of a column map, whose form is checked."""
    return {
        label: PoseColumns(tuple(one["origin"]), tuple(one.get("quaternion") or one["matrix"]))
        for label, one in entries.items()
    }


def poses_of(
    table: Storage, poses: Mapping[str, PoseColumns], rate_hz: float, length: str, alone: bool
) -> tuple[SegmentPoses, tuple[Diagnostic, ...]]:
    """Return the poses at the rows of a table; `alone`: there are no markers beside them.

    Raises InputFileError where matrices are none, and of poses alone where their system is not known or none is seen.
    """
    labels = tuple(poses)
    system = require_known(table.path, labels) if alone else None
    matrices = np.zeros((len(table.time_s), len(labels), 4, 4))
    matrices[..., 3, 3] = 1.0
    for k, one in enumerate(poses.values()):
        turn = np.column_stack([table.column(name) for name in one.turn])
        matrices[:, k, :3, :3] = _of_quaternion(turn) if len(one.turn) == len(_QUATERNION) else turn.reshape(-1, 3, 3)
        matrices[:, k, :3, 3] = np.column_stack([table.column(name) for name in one.origin])
    stored = checked_poses(table.path, labels, matrices, np.zeros(matrices.shape[:2]), rate_hz)
    unit = length_unit(table.path.name, length, names()["length_units"], stored.origins, (), None, "the unit of length")
    found = SegmentPoses(labels, stored.rotations, stored.origins * unit.markers, rate_hz)
    if system is not None:
        require_seen(table.path, found, system)
    return found, (*stored.notes, *(unit.diagnostics if length else ()))


def _of_quaternion(q: FloatArray) -> FloatArray:
    """Matrices (T, 3, 3) of quaternions (T, 4), the scalar first: times the squared length of each."""
    w, x, y, z = q.T
    rows = (
        (w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z),
    )
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
