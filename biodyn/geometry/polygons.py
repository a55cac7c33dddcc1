"""Polygons on the floor: distances seen from above."""

from __future__ import annotations

import numpy as np

from biodyn.conventions import FloatArray


def signed_distance(points: FloatArray, polygon: FloatArray) -> FloatArray:
    """Horizontal distance of points (..., 3) to polygons (..., K, 3) in World, m; negative inside, NaN if unknown.

    The leading axes broadcast; the corners of the polygon follow each other around it.
    """
    point = np.asarray(points)[..., None, ::2]
    start = np.asarray(polygon)[..., ::2]
    edge = np.roll(start, -1, axis=-2) - start
    to_point = point - start
    length2 = np.maximum(np.sum(edge * edge, axis=-1), np.finfo(float).tiny)
    along = np.clip(np.sum(to_point * edge, axis=-1) / length2, 0.0, 1.0)
    distance = np.linalg.norm(to_point - along[..., None] * edge, axis=-1).min(axis=-1)
    # Even-odd rule: count the edges that a ray along +X crosses.
    spans = (start[..., 1] > point[..., 1]) != (start[..., 1] + edge[..., 1] > point[..., 1])
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing = to_point[..., 0] < edge[..., 0] * to_point[..., 1] / edge[..., 1]
    inside = np.count_nonzero(spans & crossing, axis=-1) % 2 == 1
    return np.where(inside, -distance, distance)
