"""Segment masses, centres of mass and inertias from body mass and the subject's own segment lengths."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Literal

import numpy as np

from biodyn.conventions import SIDE_SIGN, FloatArray
from biodyn.errors import ModelError
from biodyn.library.tables import sided_entries
from biodyn.model.from_library.landmarks import StaticPose
from biodyn.model.inertia import ZERO_INERTIA, Inertia

Sex = Literal["male", "female", "mean"]


def segment_inertias(table_name: str, pose: StaticPose, mass_kg: float, sex: Sex) -> dict[str, Inertia]:
    """Return the inertia of every body in its own axes.

    The table's mass fractions are scaled to sum to 1, so that the bodies together weigh `mass_kg`. A published tensor
    that violates the triangle inequality of principal moments is replaced by the nearest physical one.
    """
    segments = sided_entries("anthropometry", table_name, "segment")
    total = sum(_row(entry, sex)["mass"] for _, entry in segments)
    bodies: dict[str, Inertia] = {}
    for side, entry in segments:
        R_WB, p_WB = pose.pose(pose.skeleton.body(entry["body"]))
        segment = _segment(entry, _row(entry, sex), side, pose, R_WB, p_WB, mass_kg / total)
        bodies[entry["body"]] = bodies.get(entry["body"], ZERO_INERTIA) + segment
    missing = [body.name for body in pose.skeleton.bodies if body.name not in bodies]
    if missing:
        raise ModelError(f"Anthropometric table '{table_name}' has no segment for {', '.join(missing)}.")
    return bodies


def segment_bodies(table_name: str) -> set[str]:
    """Return the bodies that a table has segments for."""
    return {entry["body"] for _, entry in sided_entries("anthropometry", table_name, "segment")}


def segment_lines(table_name: str, pose: StaticPose) -> list[tuple[str, FloatArray, FloatArray]]:
    """Return (body, start, end) of every segment of the table in the static posture, World, m."""
    return [
        (entry["body"], pose.landmark(entry["from"]), pose.landmark(entry["to"]))
        for _, entry in sided_entries("anthropometry", table_name, "segment")
    ]


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
    if "origin" in entry:  # centre of mass given in the segment's axes
        com = R_WB.T @ (pose.landmark(entry["origin"]) - p_WB) + np.asarray(row["com"]) * mirror * length
    else:  # given along the line between the end points
        com = R_WB.T @ (start + float(row["com"]) * (end - start) - p_WB)
    unit = _unit_tensor(tuple(row["radii"]), tuple(row.get("products", (0.0, 0.0, 0.0))), side)
    return Inertia(mass, com, mass * length**2 * unit)


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
