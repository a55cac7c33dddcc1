"""The outline of the sole from the landmarks of the standing foot."""

from __future__ import annotations

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.geometry.rotations import cross
from biodyn.model.from_library.landmarks import StaticPose

# The sole's half breadth, as a share of the foot's width, at shares of its length from the heel.
_SOLE_SHAPE = ((0.0, 0.3), (0.15, 0.35), (0.7, 0.5), (1.0, 0.3))


def foot_outlines(pose: StaticPose) -> tuple[dict[str, FloatArray], dict[str, str]]:
    """Return by side the outline (K, 3) m of the sole in the axes of the segment that has it, and that segment."""
    outlines: dict[str, FloatArray] = {}
    carriers: dict[str, str] = {}
    for body in pose.skeleton.bodies:
        if body.sole is None:
            continue
        back, front = pose.landmark(body.sole.back), pose.landmark(body.sole.front)
        width = pose.measure(body.sole.width)
        along = (front - back) * (1.0, 0.0, 1.0)
        across = cross(along / np.linalg.norm(along), (0.0, 1.0, 0.0))
        # The floor is a marker's diameter below the lower of both end markers.
        floor = min(back[1], front[1]) - 2.0 * pose.marker_radius_m
        rows = []
        for sign, shares in ((-1.0, _SOLE_SHAPE), (1.0, _SOLE_SHAPE[::-1])):  # around the sole, heel - toes - heel
            for share, breadth in shares:
                point = back + share * along + sign * breadth * width * across
                rows.append(np.array([point[0], floor, point[2]]))
        R_WB, p_WB = pose.pose(body)
        outlines[body.side] = (np.array(rows) - p_WB) @ R_WB
        carriers[body.side] = body.name
    return outlines, carriers
