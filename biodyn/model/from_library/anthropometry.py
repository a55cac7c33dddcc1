"""Segment masses, centres of mass and inertias from body mass and the subject's own segment lengths.

Most tables measured mass centres along the segments alone, and set them on the line between the joints. Such a table may be
taken `across` with another one, which says how far beside that line they lie.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from biodyn.conventions import SIDE_SIGN, FloatArray
from biodyn.errors import ModelError
from biodyn.library.tables import extended, load_entry, sided_entries
from biodyn.model.from_library.constructions import axes_about
from biodyn.model.from_library.landmarks import StaticPose
from biodyn.model.skeleton import ZERO_INERTIA, Inertia

Sex = Literal["male", "female", "mean"]


def segment_inertias(table_name: str, pose: StaticPose, mass_kg: float, sex: Sex) -> dict[str, Inertia]:
    """Return the inertia of every body in its own axes.

    The table's mass fractions are scaled to sum to 1, so that the bodies together weigh `mass_kg`. A published tensor
    that violates the triangle inequality of principal moments is replaced by the nearest physical one. Where the table names
    another one `across`, mass centres lie as far beside the segments' lines as that table has them; on the line where the
    landmarks that it starts from cannot be determined.
    """
    segments = _segments(table_name)
    total = sum(_row(entry, sex)["mass"] for _, entry in segments)
    bodies = _inertias(segments, pose, mass_kg / total, sex)
    missing = [body.name for body in pose.skeleton.bodies if body.name not in bodies]
    if missing:
        raise ModelError(f"Anthropometric table '{table_name}' has no segment for {', '.join(missing)}.")
    across = load_entry("anthropometry", table_name).get("across")
    if across is None:
        return bodies
    beside = _inertias([row for row in _segments(across) if _known(row[1], pose)], pose, mass_kg, sex)
    kept = _kept(segments, pose)
    return {
        name: _moved_across(own, beside[name].com, kept[name]) if name in beside else own
        for name, own in bodies.items()
    }


_Rows = Sequence[tuple[str, dict[str, Any]]]  # (side, entry)


def _inertias(segments: _Rows, pose: StaticPose, kg_per_fraction: float, sex: Sex) -> dict[str, Inertia]:
    bodies: dict[str, Inertia] = {}
    for side, entry in segments:
        R_WB, p_WB = pose.pose(pose.skeleton.body(entry["body"]))
        segment = _segment(entry, _row(entry, sex), side, pose, R_WB, p_WB, kg_per_fraction)
        bodies[entry["body"]] = bodies.get(entry["body"], ZERO_INERTIA) + segment
    return bodies


def _known(entry: dict[str, Any], pose: StaticPose) -> bool:
    """Whether the landmarks that place a segment can be determined."""
    return all(pose.determined(entry[key]) for key in ("from", "to", "origin") if key in entry)


def segment_bodies(table_name: str) -> set[str]:
    """Return the bodies that a table has segments for."""
    return {entry["body"] for _, entry in _segments(table_name)}


def segment_lines(table_name: str, pose: StaticPose) -> list[tuple[str, FloatArray, FloatArray]]:
    """Return (body, start, end) of every segment of the table in the static posture, World, m."""
    return [
        (entry["body"], pose.landmark(entry["from"]), pose.landmark(entry["to"])) for _, entry in _segments(table_name)
    ]


def _segments(table_name: str, above: tuple[str, ...] = ()) -> _Rows:
    """Every segment of a table, or of the one that it extends."""
    table = load_entry("anthropometry", table_name)
    if "extends" in table:
        parent = extended("anthropometry", table["extends"], table_name, above)
        return _segments(parent, (*above, table_name))
    return sided_entries("anthropometry", table_name, "segment")


def _kept(segments: _Rows, pose: StaticPose) -> dict[str, FloatArray]:
    """Unit vectors (2, 3) by body, in its axes, along which a mass centre stays where the table has it.

    Sideways for a body in the middle, whose sides are taken as alike (zero for others), then along the body's first segment.
    """
    result: dict[str, FloatArray] = {}
    for side, entry in segments:
        R_WB, _ = pose.pose(pose.skeleton.body(entry["body"]))
        line = R_WB.T @ (pose.landmark(entry["to"]) - pose.landmark(entry["from"]))
        sideways = np.array([0.0, 0.0, 0.0 if side else 1.0])
        result.setdefault(entry["body"], np.stack([sideways, line / np.linalg.norm(line)]))
    return result


def _moved_across(inertia: Inertia, com: FloatArray, kept: FloatArray) -> Inertia:
    """The inertia with its mass centre moved to `com` (3,), but not along the axes `kept` (2, 3)."""
    shift = com - inertia.com
    for axis in kept:
        shift = shift - (shift @ axis) * axis
    return Inertia(inertia.mass, inertia.com + shift, inertia.tensor)


def _row(entry: dict[str, Any], sex: Sex) -> dict[str, Any]:
    if sex != "mean":
        return entry[sex]
    male, female = entry["male"], entry["female"]
    return {key: (np.asarray(male[key]) + np.asarray(female[key])) / 2.0 for key in male}


def _segment(
    entry: dict[str, Any],
    row: dict[str, Any],
    side: str,
    pose: StaticPose,
    R_WB: FloatArray,
    p_WB: FloatArray,
    kg_per_fraction: float,
) -> Inertia:
    start, end = pose.landmark(entry["from"]), pose.landmark(entry["to"])
    length = float(np.linalg.norm(end - start))
    mass = float(row["mass"]) * kg_per_fraction
    mirror = np.array([1.0, 1.0, SIDE_SIGN.get(side, 1.0)])
    R_BS = np.eye(3)
    if "origin" in entry:  # centre of mass given in the segment's axes
        R_BS = _own_axes(entry, pose, R_WB)
        com = R_WB.T @ (pose.landmark(entry["origin"]) - p_WB) + R_BS @ (np.asarray(row["com"]) * mirror * length)
    else:  # given along the line between the end points
        com = R_WB.T @ (start + float(row["com"]) * (end - start) - p_WB)
    unit = _unit_tensor(tuple(row["radii"]), tuple(row.get("products", (0.0, 0.0, 0.0))), side)
    return Inertia(mass, com, mass * length**2 * R_BS @ unit @ R_BS.T)


def _own_axes(entry: dict[str, Any], pose: StaticPose, R_WB: FloatArray) -> FloatArray:
    """Axes (3, 3) of the table's segment in those of its body: Y where the table says, Z as near to the body's as that leaves."""
    if "y" not in entry:
        return np.eye(3)
    start, end = (pose.landmark(name) for name in entry["y"])
    return axes_about(R_WB.T @ (end - start), np.array([0.0, 0.0, 1.0]))


@lru_cache(maxsize=512)
def _unit_tensor(radii: tuple[float, ...], products: tuple[float, ...], side: str) -> FloatArray:
    """The tensor of a segment of mass and length one, of radii of gyration as the table has them; read only.

    Every model of a study's people asks for those of the same rows.
    """
    mirror = (1.0, 1.0, SIDE_SIGN.get(side, 1.0))
    tensor = np.diag(np.asarray(radii, dtype=float) ** 2)
    for (i, j), radius in zip(((0, 1), (0, 2), (1, 2)), products, strict=True):
        tensor[i, j] = tensor[j, i] = np.sign(radius) * radius**2 * mirror[i] * mirror[j]
    found = _physical(tensor)
    found.setflags(write=False)
    return found


def _physical(tensor: FloatArray) -> FloatArray:
    """Return the tensor with its principal moments moved as little as needed to satisfy I1 + I2 >= I3."""
    moments, axes = np.linalg.eigh(tensor)
    moments = np.maximum(moments, 0.0)
    excess = moments[2] - moments[0] - moments[1]
    if excess <= 0.0:
        return tensor
    moments = moments + np.array([excess, excess, -excess]) / 3.0
    return (axes * moments) @ axes.T
