"""Systems that store segment poses, from `formats/segment_poses.toml` for both sides."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.library.tables import expand_sides
from biodyn.library.toml_files import load_table

#: Value used instead of a segment if the skeleton defines the joint centre.
OF_SKELETON = "skeleton"


@dataclass(frozen=True)
class PoseSegment:
    """Segment of a markerless system: its label in files, its body, and the segment with its origin at the joint centre."""

    label: str
    body: str
    joint: str


@dataclass(frozen=True)
class PosePoint:
    """Landmark in the files of a markerless system.

    Its position is on a segment, at the origin of another segment (`at`), or given by a parameter of the file. `along`: axis of
    the segment along which the parameter is a distance; "" if the parameter is a position (3,).
    """

    landmark: str
    segment: str
    at: str
    parameter: str
    along: str


@dataclass(frozen=True)
class PoseSystem:
    """Markerless system that stores poses of segments.

    Attributes:
        name, title, citation: name, title and source of the system.
        R_VB: (3, 3) axes of the body (ISB: forward, up, right) in the segment axes of the system.
        half_m: half size of the cube of virtual points for the fit, see `SegmentPoses.as_points`.
        segments, points: segments and points in the files. unused: labels of unused segments.
        parameters: group of the parameters in the file that define the points.
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
        """Return the name of the body of every segment, by label of the segment."""
        return {segment.label: segment.body for segment in self.segments}


@cache
def pose_systems() -> tuple[PoseSystem, ...]:
    """Return all markerless systems of the library."""
    return tuple(_build_pose_system(table) for table in load_table("formats/segment_poses")["system"])


def find_pose_system(labels: Collection[str]) -> PoseSystem | None:
    """Return the markerless system with these segment labels; None if fewer than three labels are known."""
    shared = {system.name: len(system.bodies.keys() & set(labels)) for system in pose_systems()}
    best = max(pose_systems(), key=lambda system: shared[system.name])
    return best if shared[best.name] >= 3 else None


def _build_pose_system(table: Mapping[str, Any]) -> PoseSystem:
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
