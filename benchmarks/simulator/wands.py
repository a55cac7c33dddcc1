"""People whose wands and landmarks are not where the analysis believes: joints beside their wands, markers beside the bone."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from biodyn.conventions import SIDE_SIGN
from biodyn.library.tables import expand_sides
from biodyn.library.toml_files import load_table
from biodyn.model.body_model import with_misplaced_centre
from biodyn.model.from_library.markersets import recognise_marker_set
from biodyn.model.from_library.recognition.articulated_marker_model import rotation_about_y
from simulator.person import Body, Person, embody

# How people differ: the lateral malleolus below the medial one, the malleoli turned against the knee (joint_offsets.toml).
_RAISED_SD_DEG = 3.0
_TEMPLATE_TORSION_DEG = -15.0


@dataclass(frozen=True)
class Placement:
    """How far markers and wands are off, one standard deviation each.

    Attributes:
        landmark_m: of every marker along each axis. wand_deg: of every wand about its segment, both sides on their own.
        hip_m: of the hip's centre from its regression along each axis, both sides alike.
    """

    landmark_m: float = 0.0035
    wand_deg: float = 8.0
    hip_m: float = 0.0079


def worn_by(person: Person, placement: Placement, rng: np.random.Generator) -> Body:
    """Return a body with ankles as people have them, wands and markers put on with drawn errors.

    The error of the hip is that of a regression. What is drawn about is what is usual (`library/body/joint_offsets.toml`).
    """
    table = load_table("body/joint_offsets")
    offsets: dict[str, float] = {}
    for raw in table["usual"]:
        for _, rule in expand_sides(raw):
            offsets[rule["offset"]] = float(np.deg2rad(rng.normal(rule["usual_deg"], _RAISED_SD_DEG)))
    wands: dict[str, float] = {}
    for raw in table["torsion"]:
        for _, rule in expand_sides(raw):
            torsion = rng.normal(rule["torsion_deg"], rule["torsion_sd_deg"])
            offsets[rule["offset"]] = float(np.deg2rad(torsion - _TEMPLATE_TORSION_DEG))
    for raw in (*table["torsion"], *table["hinge"]):
        for side, rule in expand_sides(raw):
            if rule["plane"] != rule.get("reference"):  # a wand, not the joint's own marker
                wands[rule["plane"]] = float(np.deg2rad(SIDE_SIGN[side] * placement.wand_deg * rng.normal()))
    body = embody(person, offsets)
    shift = placement.hip_m * rng.normal(size=3)
    model = body.model
    for part in model.moving_segments:
        side = part.definition.side
        if side and part.definition.parent == model.skeleton.root.name:
            model = with_misplaced_centre(model, part.definition.name, shift * (1.0, 1.0, SIDE_SIGN[side]))
    landmark_of = {role.label: role.landmark for role in recognise_marker_set(tuple(body.static_points)).roles}
    markers = []
    for marker in model.markers:
        turned = rotation_about_y(wands.get(landmark_of[marker.label], 0.0)) @ marker.p_BM
        markers.append(replace(marker, p_BM=turned + placement.landmark_m * rng.normal(size=3)))
    model = replace(model, markers=tuple(markers))
    root = model.bodies[0]
    return replace(body, model=model, static_q=model.static_configuration(root.R_PB, root.p_PB))
