"""Points that no skin marker can be: inside the body, at a joint centre."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.library.tables import sided_rows
from biodyn.model.body_model import ScaledBody, SubjectModel
from biodyn.model.from_library.landmarks import StaticPose


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
        notes.append(_note(label, distance, limit, title))
    return frozenset(inside), notes


def inside_segment(label: str, place: FloatArray, body: ScaledBody, model: SubjectModel) -> Diagnostic | None:
    """Return a Diagnostic where a point (3,) m in a segment's axes lies at one of the segment's joint centres."""
    centres = {body.definition.origin: np.zeros(3)}
    children = (b for b in model.bodies if b.definition.parent == body.definition.name)
    centres |= {child.definition.origin: child.p_PB for child in children}
    for _, entry in sided_rows("body/inside_body", "centre"):
        if entry["landmark"] in centres:
            distance = float(np.linalg.norm(place - centres[entry["landmark"]]))
            limit = entry["share_of_height"] * model.height_m
            if distance < limit:
                return _note(label, distance, limit, entry["title"])
    return None


def _note(label: str, distance: float, limit: float, title: str) -> Diagnostic:
    return Diagnostic(
        "point-inside-body",
        "info",
        f"'{label}' lies {1000 * distance:.0f} mm from the {title}, inside the body: a computed point, no marker. It is not "
        "fitted.",
        value=distance,
        limit=limit,
        unit="m",
    )
