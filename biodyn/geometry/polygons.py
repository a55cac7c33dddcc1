"""Polygons on the floor: distances seen from above."""

from __future__ import annotations

import numpy as np

from biodyn.conventions import FloatArray


def signed_distance(points: FloatArray, polygon: FloatArray) -> FloatArray:
    """Horizontal distance of points (..., 3) to polygons (..., K, 3) in World, m; negative inside, NaN if unknown.

    The leading axes broadcast; the corners of the polygon follow each other around it.
    """
    # x and z by themselves: numpy is slow along an axis of two
    x, z = np.asarray(points)[..., None, 0], np.asarray(points)[..., None, 2]
    start_x, start_z = np.asarray(polygon)[..., 0], np.asarray(polygon)[..., 2]
    edge_x, edge_z = np.roll(start_x, -1, axis=-1) - start_x, np.roll(start_z, -1, axis=-1) - start_z
    to_x, to_z = x - start_x, z - start_z
    length2 = np.maximum(edge_x * edge_x + edge_z * edge_z, np.finfo(float).tiny)
    along = np.clip((to_x * edge_x + to_z * edge_z) / length2, 0.0, 1.0)
    off_x, off_z = to_x - along * edge_x, to_z - along * edge_z
    distance = np.sqrt(off_x * off_x + off_z * off_z).min(axis=-1)
    # Even-odd rule: count the edges that a ray along +X crosses.
    spans = (start_z > z) != (start_z + edge_z > z)
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing = to_x < edge_x * to_z / edge_z
    inside = np.count_nonzero(spans & crossing, axis=-1) % 2 == 1
    return np.where(inside, -distance, distance)
