"""Published constructions of joint centres and segment axes from other points."""

from __future__ import annotations

import math

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.geometry.rotations import cross3
from biodyn.model.from_library.skeleton_recipes import AxisRule

_AXIS_INDEX = {"x": 0, "y": 1, "z": 2}


def axes_from_points(
    exact: AxisRule, plane: AxisRule, e0: FloatArray, e1: FloatArray, p0: FloatArray, p1: FloatArray
) -> FloatArray | None:
    """Return right-handed axes (3, 3): `exact` along e0-e1, `plane` as near as possible to p0-p1; None if they are parallel."""
    first = exact.sign * (e1 - e0)
    second = plane.sign * (p1 - p0)
    third = cross3(first, second)
    length = math.sqrt(first @ first)
    normal = math.sqrt(third @ third)
    # nearly parallel directions (below about 3 degrees) do not determine a plane
    if normal < 0.05 * length * math.sqrt(second @ second) or not length:
        return None
    i, j = _AXIS_INDEX[exact.axis], _AXIS_INDEX[plane.axis]
    axes = np.empty((3, 3))
    axes[:, i] = first / length
    k = 3 - i - j
    cyclic = (j - i) % 3 == 1  # e_i x e_j = +e_k
    axes[:, k] = (third if cyclic else -third) / normal
    axes[:, j] = cross3(axes[:, k], axes[:, i]) if cyclic else cross3(axes[:, i], axes[:, k])
    return axes


def chord_centre(
    proximal: FloatArray, lateral: FloatArray, plane: FloatArray, distance: float, same_side: bool
) -> FloatArray | None:
    """Return the joint centre C with |C - lateral| = distance and a right angle at C between `proximal` and `lateral`.

    C is in the plane of the three points, on the other side of the line proximal - lateral than `plane` (or on the same side).
    The construction of Davis et al. 1991 (doi 10.1016/0167-9457(91)90046-Z). None if the points do not span a plane or the
    distance is longer than the segment.
    """
    along = proximal - lateral
    length = np.linalg.norm(along)
    if not 0.0 < distance < length:
        return None
    along = along / length
    across = (plane - lateral) - along * ((plane - lateral) @ along)
    if np.linalg.norm(across) < 1e-3:  # below 1 mm the wand is on the line
        return None
    across = across / np.linalg.norm(across) * (1.0 if same_side else -1.0)
    # Thales: C on the circle over the diameter proximal - lateral; cos(angle at lateral) = distance / length.
    cosine = distance / length
    return lateral + distance * (cosine * along + np.sqrt(1.0 - cosine**2) * across)


def rotated_chord_centre(
    proximal: FloatArray, lateral: FloatArray, plane: FloatArray, distance: float, rotation: float, raised: float = 0.0
) -> FloatArray | None:
    """Return the joint centre C for a wand with a known offset angle from the plane of the joint.

    |C - lateral| = distance; `lateral` is below C by the angle `raised` (rad) in the segment with the long axis from C to
    `proximal`; `rotation` (rad, right-handed) is the angle about that axis from `plane` to `lateral`. With both zero it is
    `chord_centre`. These are the thigh and shank rotation offsets and the ankle abduction offset of Plug-in Gait: centres written
    by its software are reproduced to 0.1 mm. The angle about the line to the lateral marker is found by fixed-point iteration.
    """
    down, across = distance * math.sin(raised), distance * math.cos(raised)
    along = proximal - lateral
    length = float(np.linalg.norm(along))
    if not 0.0 < distance < length:
        return None
    along = along / length
    height = math.sqrt(length**2 - across**2) - down  # |C - proximal|
    # C is on a circle about the line lateral - proximal
    cosine = (distance**2 + length**2 - height**2) / (2.0 * distance * length)
    sideways = (plane - lateral) - along * float((plane - lateral) @ along)
    if np.linalg.norm(sideways) < 1e-3 or abs(cosine) >= 1.0:  # below 1 mm the wand is on the line
        return None
    first = -sideways / np.linalg.norm(sideways)
    second = cross3(along, first)
    foot, radius = lateral + distance * cosine * along, distance * math.sqrt(1.0 - cosine**2)
    angle = 0.0
    centre = foot + radius * first
    for _ in range(30):
        error = rotation - angle_about(proximal - centre, plane - centre, lateral - centre)
        angle += math.remainder(error, 2.0 * math.pi)
        centre = foot + radius * (math.cos(angle) * first + math.sin(angle) * second)
        if abs(error) < 1e-9:
            break
    return centre


def angle_about(axis: FloatArray, start: FloatArray, end: FloatArray) -> float:
    """Return the angle (rad, right-handed) about `axis` from the projection of `start` to that of `end`, all (3,)."""
    across = cross3(axis, start)
    length = math.sqrt(axis @ axis)
    return math.atan2(float(across @ end), float(cross3(across, axis) @ end) / length)


def axes_about(long: FloatArray, lateral: FloatArray) -> FloatArray:
    """Return right-handed axes (3, 3) with Y along `long` and Z as near as possible to `lateral`."""
    y = long / math.sqrt(long @ long)
    z = lateral - y * float(lateral @ y)
    z = z / math.sqrt(z @ z)
    return np.column_stack([cross3(y, z), y, z])


def alignment_device_corner(markers: FloatArray, reference: FloatArray) -> FloatArray:
    """Return the virtual lateral knee marker of a knee alignment device from its three markers (3, 3).

    The markers are at equal distance from it on mutually perpendicular rods: it is the corner of a cube whose face diagonal is
    the mean marker distance. The solution nearer to `reference` is returned.
    """
    centroid = markers.mean(axis=0)
    normal = np.cross(markers[1] - markers[0], markers[2] - markers[0])
    normal = normal / np.linalg.norm(normal)
    sides = np.linalg.norm(markers - np.roll(markers, 1, axis=0), axis=1)
    offset = normal * sides.mean() / np.sqrt(6.0)
    candidates = (centroid + offset, centroid - offset)
    return min(candidates, key=lambda point: float(np.linalg.norm(point - reference)))
