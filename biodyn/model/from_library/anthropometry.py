"""Segment masses, centres of mass and inertias from body mass and the subject's segment lengths.

Most tables contain the position of the centre of mass only along the line between the joints. Such a table may be combined with
another one (`across`), which defines the distance from this line.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from biodyn.conventions import SIDE_SIGN, FloatArray
from biodyn.errors import ModelError
from biodyn.library.tables import load_entry, parent_table_name, sided_entries
from biodyn.model.from_library.constructions import axes_about
from biodyn.model.from_library.static_pose import StaticPose
from biodyn.model.skeleton import ZERO_INERTIA, Inertia

Sex = Literal["male", "female", "mean"]


def segment_inertias(table_name: str, pose: StaticPose, mass_kg: float, sex: Sex) -> dict[str, Inertia]:
    """Return the inertia of every body in body axes.

    The mass fractions of the table are scaled to sum to 1. A published tensor that violates the triangle inequality of
    principal moments is replaced by the nearest valid one. The distance of the centres of mass from the segment lines is from
    the table `across`, if one is specified and its landmarks can be determined.
    """
    segments = _segment_rows(table_name)
    total = sum(_values_of_sex(entry, sex)["mass"] for _, entry in segments)
    bodies = _inertias_by_body(segments, pose, mass_kg / total, sex)
    missing = [body.name for body in pose.skeleton.bodies if body.name not in bodies]
    if missing:
        raise ModelError(f"Anthropometric table '{table_name}' has no segment for {', '.join(missing)}.")
    across = load_entry("anthropometry", table_name).get("across")
    if across is None:
        return bodies
    others = _inertias_by_body(
        [row for row in _segment_rows(across) if _has_landmarks(row[1], pose)], pose, mass_kg, sex
    )
    fixed = _fixed_axes(segments, pose)
    return {
        name: _with_transverse_com(inertia, others[name].com, fixed[name]) if name in others else inertia
        for name, inertia in bodies.items()
    }


_Rows = Sequence[tuple[str, dict[str, Any]]]  # (side, entry)


def _inertias_by_body(segments: _Rows, pose: StaticPose, kg_per_fraction: float, sex: Sex) -> dict[str, Inertia]:
    bodies: dict[str, Inertia] = {}
    for side, entry in segments:
        R_WB, p_WB = pose.body_pose(pose.skeleton.body(entry["body"]))
        segment = _segment_inertia(entry, _values_of_sex(entry, sex), side, pose, R_WB, p_WB, kg_per_fraction)
        bodies[entry["body"]] = bodies.get(entry["body"], ZERO_INERTIA) + segment
    return bodies


def _has_landmarks(entry: dict[str, Any], pose: StaticPose) -> bool:
    """Return whether the positions of all landmarks that a segment of the table needs can be determined."""
    return all(pose.is_determined(entry[key]) for key in ("from", "to", "origin") if key in entry)


def segment_bodies(table_name: str) -> set[str]:
    """Return the names of the bodies for which a table has segments."""
    return {entry["body"] for _, entry in _segment_rows(table_name)}


def segment_end_points(table_name: str, pose: StaticPose) -> list[tuple[str, FloatArray, FloatArray]]:
    """Return (body, start, end) of every segment of the table in the static posture, World, m."""
    return [
        (entry["body"], pose.position(entry["from"]), pose.position(entry["to"]))
        for _, entry in _segment_rows(table_name)
    ]


def _segment_rows(table_name: str, above: tuple[str, ...] = ()) -> _Rows:
    """Return the segments of a table, including those of the table that it extends."""
    table = load_entry("anthropometry", table_name)
    if "extends" in table:
        parent = parent_table_name("anthropometry", table["extends"], table_name, above)
        return _segment_rows(parent, (*above, table_name))
    return sided_entries("anthropometry", table_name, "segment")


def _fixed_axes(segments: _Rows, pose: StaticPose) -> dict[str, FloatArray]:
    """Return for each body the unit vectors (2, 3), in body axes, along which the table determines the centre of mass.

    The first is lateral for a midline body, which is symmetric (zero for others), and the second is along the body's first
    segment.
    """
    result: dict[str, FloatArray] = {}
    for side, entry in segments:
        R_WB, _ = pose.body_pose(pose.skeleton.body(entry["body"]))
        line = R_WB.T @ (pose.position(entry["to"]) - pose.position(entry["from"]))
        sideways = np.array([0.0, 0.0, 0.0 if side else 1.0])
        result.setdefault(entry["body"], np.stack([sideways, line / np.linalg.norm(line)]))
    return result


def _with_transverse_com(inertia: Inertia, com: FloatArray, fixed_axes: FloatArray) -> Inertia:
    """Return the inertia with its centre of mass moved to `com` (3,) m, except along the unit vectors `fixed_axes` (2, 3)."""
    shift = com - inertia.com
    for axis in fixed_axes:
        shift = shift - (shift @ axis) * axis
    return Inertia(inertia.mass, inertia.com + shift, inertia.tensor)


def _values_of_sex(entry: dict[str, Any], sex: Sex) -> dict[str, Any]:
    if sex != "mean":
        return entry[sex]
    male, female = entry["male"], entry["female"]
    return {key: (np.asarray(male[key]) + np.asarray(female[key])) / 2.0 for key in male}


def _segment_inertia(
    entry: dict[str, Any],
    row: dict[str, Any],
    side: str,
    pose: StaticPose,
    R_WB: FloatArray,
    p_WB: FloatArray,
    kg_per_fraction: float,
) -> Inertia:
    start, end = pose.position(entry["from"]), pose.position(entry["to"])
    length = float(np.linalg.norm(end - start))
    mass = float(row["mass"]) * kg_per_fraction
    mirror = np.array([1.0, 1.0, SIDE_SIGN.get(side, 1.0)])
    R_BS = np.eye(3)
    if "origin" in entry:  # centre of mass in segment axes
        R_BS = _segment_axes(entry, pose, R_WB)
        com = R_WB.T @ (pose.position(entry["origin"]) - p_WB) + R_BS @ (np.asarray(row["com"]) * mirror * length)
    else:  # centre of mass along the line between the end points
        com = R_WB.T @ (start + float(row["com"]) * (end - start) - p_WB)
    unit = _unit_tensor(tuple(row["radii"]), tuple(row.get("products", (0.0, 0.0, 0.0))), side)
    return Inertia(mass, com, mass * length**2 * R_BS @ unit @ R_BS.T)


def _segment_axes(entry: dict[str, Any], pose: StaticPose, R_WB: FloatArray) -> FloatArray:
    """Return the axes (3, 3) in which the table gives the numbers of a segment, in axes of its body.

    Y is the axis stated in the table; Z is as close as possible to the Z axis of the body.
    """
    if "y" not in entry:
        return np.eye(3)
    start, end = (pose.position(name) for name in entry["y"])
    return axes_about(R_WB.T @ (end - start), np.array([0.0, 0.0, 1.0]))


@lru_cache(maxsize=512)
def _unit_tensor(radii: tuple[float, ...], products: tuple[float, ...], side: str) -> FloatArray:
    """Return the inertia tensor (3, 3), read only, of a segment of unit mass and length from its radii of gyration.

    The result is cached, because all models of a study use the same rows.
    """
    mirror = (1.0, 1.0, SIDE_SIGN.get(side, 1.0))
    tensor = np.diag(np.asarray(radii, dtype=float) ** 2)
    for (i, j), radius in zip(((0, 1), (0, 2), (1, 2)), products, strict=True):
        tensor[i, j] = tensor[j, i] = np.sign(radius) * radius**2 * mirror[i] * mirror[j]
    physical = _nearest_physical_tensor(tensor)
    physical.setflags(write=False)
    return physical


def _nearest_physical_tensor(tensor: FloatArray) -> FloatArray:
    """Return the nearest tensor with principal moments that satisfy I1 + I2 >= I3."""
    moments, axes = np.linalg.eigh(tensor)
    moments = np.maximum(moments, 0.0)
    excess = moments[2] - moments[0] - moments[1]
    if excess <= 0.0:
        return tensor
    moments = moments + np.array([excess, excess, -excess]) / 3.0
    return (axes * moments) @ axes.T
