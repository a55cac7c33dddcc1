"""Where in the standing person no skin marker can be: at the joint centres."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.library.tables import sided_rows
from biodyn.model.body_model import InnerCentre
from biodyn.model.from_library.landmarks import StaticPose
from biodyn.model.inside_body import inside_note


def points_inside(
    labels: Sequence[str], static_points: Mapping[str, FloatArray], pose: StaticPose
) -> tuple[frozenset[str], list[Diagnostic]]:
    """Return those of the labels whose static points (3,) m lie at a joint centre, and a Diagnostic for each.

    Asked of labels that no marker set explains: joint centres of the laboratory's own software carry any name.
    """
    inside: list[str] = []
    notes: list[Diagnostic] = []
    centres: list[tuple[str, FloatArray, float]] = []
    for _, entry in sided_rows("body/inside_body", "centre"):
        place = pose.measured(entry["landmark"])
        if place is not None:
            centres.append((entry["title"], place, entry["share_of_height"] * pose.height_m))
    for label in labels:
        if label not in static_points:
            continue
        near = [(float(np.linalg.norm(static_points[label] - p)), limit, title) for title, p, limit in centres]
        deep = [entry for entry in near if entry[0] < entry[1]]
        if not deep:
            continue
        distance, limit, title = min(deep)
        inside.append(label)
        notes.append(inside_note(label, distance, limit, title))
    return frozenset(inside), notes


def inner_centres(pose: StaticPose) -> dict[str, InnerCentre]:
    """Return by segment the joint centre at its origin, where the library says how deep inside the body it lies."""
    rows = {entry["landmark"]: entry for _, entry in sided_rows("body/inside_body", "centre")}
    return {
        body.name: InnerCentre(rows[body.origin]["title"], rows[body.origin]["share_of_height"] * pose.height_m)
        for body in pose.skeleton.bodies
        if body.origin in rows
    }
