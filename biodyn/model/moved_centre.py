"""The same person with a joint centre believed elsewhere: markers stay where they are seen, segments adapt."""

from __future__ import annotations

from dataclasses import replace

from biodyn.conventions import FloatArray
from biodyn.model.body_model import SubjectModel
from biodyn.model.changes import with_bodies
from biodyn.model.skeleton import static_angles
from biodyn.model.static_figure import swing


def with_misplaced_centre(model: SubjectModel, body: str, shift_P: FloatArray) -> SubjectModel:
    """Return the model for a joint centre of `body` that was found (3,) m off, in the axes of its parent.

    In the static trial the markers keep their places in World. The segment's long axis follows its moved proximal end, and
    that of the parent its moved distal end, where a segment has just one joint below; the root keeps its axes. The segments'
    inertias keep their places in the segments. Both sides of a joint then disagree with the markers as they would after a
    wrong regression.
    """
    names = [part.definition.name for part in model.bodies]
    parent = {part.definition.name: part.definition.parent for part in model.bodies}
    R: dict[str, FloatArray] = {}
    p: dict[str, FloatArray] = {}
    for part in model.bodies:
        above = part.definition.parent
        R[part.definition.name] = R[above] @ part.R_PB if above else part.R_PB
        p[part.definition.name] = p[above] + R[above] @ part.p_PB if above else part.p_PB
    below = {name: [child for child in names if parent[child] == name] for name in names}
    shift = R[parent[body]] @ shift_P
    new_R, new_p = dict(R), dict(p)
    new_p[body] = p[body] + shift
    if len(below[body]) == 1:
        far = p[below[body][0]]
        new_R[body] = swing(p[body] - far, new_p[body] - far) @ R[body]
    above = parent[body]
    if parent[above] and len(below[above]) == 1:
        new_R[above] = swing(p[body] - p[above], new_p[body] - p[above]) @ R[above]

    bodies = []
    for part in model.bodies:
        name, top = part.definition.name, part.definition.parent
        if not top or name not in (body, *below[body], above, *below[above]):
            bodies.append(part)
            continue
        R_PB = new_R[top].T @ new_R[name]
        bodies.append(
            replace(
                part,
                R_PB=R_PB,
                p_PB=new_R[top].T @ (new_p[name] - new_p[top]),
                static_angles_rad=static_angles(part.definition, R_PB),
            )
        )
    markers = tuple(
        replace(m, p_BM=new_R[m.body].T @ (p[m.body] + R[m.body] @ m.p_BM - new_p[m.body]))
        if m.body in (body, above)
        else m
        for m in model.markers
    )
    return replace(with_bodies(model, tuple(bodies)), markers=markers)
