"""Systems that store segment poses: `formats/segment_poses.toml` with the sides filled in."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.library.load import load_table
from biodyn.library.tables import expand_sides

#: Instead of a segment: the joint centre is defined by the skeleton.
OF_SKELETON = "skeleton"


@dataclass(frozen=True)
class PoseSegment:
    """A segment of a system: its label in files, its body, and the segment with its origin at the joint centre."""

    label: str
    body: str
    joint: str


@dataclass(frozen=True)
class PosePoint:
    """A landmark in files of a system: on a segment, at the origin of another one (`at`), or by a parameter.

    `along`: axis of the segment along which the parameter is a distance; "" if the parameter is a position (3,).
    """

    landmark: str
    segment: str
    at: str
    parameter: str
    along: str


@dataclass(frozen=True)
class PoseSystem:
    """A system that stores poses of segments.

    Attributes:
        name, title, citation: of the system.
        R_VB: (3, 3) axes of the body (ISB: forward, up, right) in the axes of the system's segment.
        half_m: half size of the cube of virtual points for the fit, see `SegmentPoses.as_points`.
        segments, points: of the files. unused: labels of unused segments.
        parameters: group of the file's parameters for the points.
    """

    name: str
    title: str
    citation: str
    R_VB: FloatArray
    half_m: float
    segments: tuple[PoseSegment, ...]
    points: tuple[PosePoint, ...]
    unused: frozenset[str]
    parameters: str

    @property
    def bodies(self) -> Mapping[str, str]:
        """Return the body of every segment by its label."""
        return {segment.label: segment.body for segment in self.segments}


@cache
def pose_systems() -> tuple[PoseSystem, ...]:
    """Return the systems of the library."""
    return tuple(_pose_system(table) for table in load_table("formats/segment_poses")["system"])


def find_pose_system(labels: Collection[str]) -> PoseSystem | None:
    """Return the system of these segment labels, None if fewer than three are known."""
    shared = {system.name: len(system.bodies.keys() & set(labels)) for system in pose_systems()}
    best = max(pose_systems(), key=lambda system: shared[system.name])
    return best if shared[best.name] >= 3 else None


def _pose_system(table: Mapping[str, Any]) -> PoseSystem:
    suffix = table.get("suffix", "")
    segments = tuple(
        PoseSegment(
            entry["label"] + suffix,
            entry["body"],
            OF_SKELETON if entry.get("joint") == OF_SKELETON else entry.get("joint", entry["label"]) + suffix,
        )
        for raw in table["segment"]
        for _, entry in expand_sides(raw)
    )
    points = tuple(
        PosePoint(
            entry["landmark"],
            entry["segment"] + suffix,
            entry["at"] + suffix if "at" in entry else "",
            entry.get("parameter", ""),
            entry.get("along", ""),
        )
        for raw in table.get("point", ())
        for _, entry in expand_sides(raw)
    )
    return PoseSystem(
        name=table["name"],
        title=table["title"],
        citation=table["citation"],
        R_VB=np.column_stack([np.eye(3)["xyz".index(axis)] for axis in table["axes"]]),
        half_m=1e-3 * table["half_mm"],
        segments=segments,
        points=points,
        unused=frozenset(label + suffix for label in table.get("unused", ())),
        parameters=table.get("parameters", ""),
    )
