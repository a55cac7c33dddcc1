"""Points that no skin marker can be: inside the body, at a joint centre."""

from __future__ import annotations

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.model.assembly import ScaledBody
from biodyn.model.body_model import SubjectModel


def inside_segment(label: str, place: FloatArray, body: ScaledBody, model: SubjectModel) -> Diagnostic | None:
    """Return a Diagnostic where a point (3,) m in a segment's axes lies at one of the segment's joint centres."""
    name = body.definition.name
    ends = [(child.definition.name, child.p_PB) for child in model.bodies if child.definition.parent == name]
    for owner, p_BC in (*ends, (name, np.zeros(3))):
        centre = model.inner_centres.get(owner)
        if centre is not None:
            distance = float(np.linalg.norm(place - p_BC))
            if distance < centre.radius_m:
                return inside_note(label, distance, centre.radius_m, centre.title)
    return None


def inside_note(label: str, distance: float, limit: float, title: str) -> Diagnostic:
    """Return the Diagnostic of a point that lies at a joint centre."""
    return Diagnostic(
        "point-inside-body",
        "info",
        f"'{label}' lies {1000 * distance:.0f} mm from the {title}, inside the body: a computed point, no marker. It is not "
        "fitted.",
        value=distance,
        limit=limit,
        unit="m",
    )
