"""Which markers ride on which segment, and where on it, from the standing person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.model.body_model import PLACED_WHILE_STANDING, AttachedMarker
from biodyn.model.from_library.landmarks import StaticPose
from biodyn.model.marker_roles import MarkerMapping

# Skin is never farther from its segment's middle line; a marker that is sits on no segment.
_LARGEST_GIRTH_M = 0.2
_UNKNOWN_WEIGHT = 0.3


def attached_by_role(
    mapping: MarkerMapping, static_points: Mapping[str, FloatArray], pose: StaticPose
) -> tuple[AttachedMarker, ...]:
    """Attach the markers of the set to their segments; static_points: label -> (3,) m in World."""
    attached = []
    for role in mapping.roles:
        body = pose.skeleton.body(role.body)
        point = static_points.get(role.label)
        if point is None and role.landmark:
            point = pose.measured(role.landmark)  # e.g. the knee marker an alignment device stands in for
        if point is None or role.weight <= 0.0 or not pose.located(body):
            continue
        R_WB, p_WB = pose.pose(body)
        attached.append(AttachedMarker(role.label, role.body, R_WB.T @ (point - p_WB), role.weight))
    return tuple(attached)


def attached_by_place(
    unknown: Sequence[str],
    static_points: Mapping[str, FloatArray],
    pose: StaticPose,
    lines: list[tuple[str, FloatArray, FloatArray]],
) -> tuple[AttachedMarker, ...]:
    """Attach markers whose labels say nothing (clusters, a laboratory's own) to the segment they sit on while standing."""
    attached = []
    located = [line for line in lines if pose.located(pose.skeleton.body(line[0]))]
    for label in unknown:
        if label not in static_points:
            continue
        point = static_points[label]
        distance, name = min((_distance(point, start, end), body) for body, start, end in located)
        if distance <= _LARGEST_GIRTH_M:
            R_WB, p_WB = pose.pose(pose.skeleton.body(name))
            attached.append(
                AttachedMarker(label, name, R_WB.T @ (point - p_WB), _UNKNOWN_WEIGHT, PLACED_WHILE_STANDING)
            )
    return tuple(attached)


def _distance(point: FloatArray, start: FloatArray, end: FloatArray) -> float:
    along = end - start
    share = float(np.clip((point - start) @ along / (along @ along), 0.0, 1.0))
    return float(np.linalg.norm(point - start - share * along))
