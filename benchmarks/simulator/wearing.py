"""People as laboratories meet them: hips beside the regression, legs of unequal length, markers beside the landmarks.

`embody` makes a body whose joint centres are exactly where biodyn's recipes have them, so nothing could be found wrong. Here the
bones are moved away from the recipes, and the markers away from the bones' landmarks; what `worn` returns is what the cameras
see, with the truth behind it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from biodyn.conventions import SIDE_SIGN, SIDES, FloatArray
from biodyn.model.body_model import AttachedMarker, StaticFigure, SubjectModel, with_bodies, with_misplaced_centre
from simulator.person import Body
from simulator.skin import marker_labels, marker_positions, soft_tissue


@dataclass(frozen=True)
class Scatter:
    """How far people and markers are from the recipes; standard deviations.

    Attributes:
        hip_m: of the hip centre about its regression, each axis, the same on both sides; hip_side_m: of each side's own.
        leg_asymmetry: difference of the left thigh and of the left shank from the right ones, share of their length.
        placement_m: distance of a marker from its landmark along the skin (RMS; half of its square in each direction).
        skin: 0 = markers fixed to the bones, 1 = as soft_tissue.toml has it.
        noise_m: white noise of the cameras, each axis.
    """

    hip_m: float = 0.0045
    hip_side_m: float = 0.0015
    leg_asymmetry: float = 0.015
    placement_m: float = 0.010
    skin: float = 1.0
    noise_m: float = 0.0005


@dataclass(frozen=True)
class Worn:
    """A person wearing markers.

    Attributes:
        body: the true bones, with the markers as they are worn.
        static_points: (3,) m in World by label, standing.
        labels, markers: (T, M, 3) m while moving.
        centres_W: (3,) m, true joint centre of each segment to its parent while standing.
    """

    body: Body
    static_points: Mapping[str, FloatArray]
    labels: tuple[str, ...]
    markers: FloatArray
    centres_W: Mapping[str, FloatArray]


def worn(body: Body, q: FloatArray, phase: FloatArray, scatter: Scatter, seed: int) -> Worn:
    """Return a person made from `body` who goes through q (T, nq) at the phases (T,) of the cycle, markers and truth."""
    rng = np.random.default_rng(seed)
    model = _scattered_hips(body.model, scatter, rng)
    model = _unequal_legs(model, scatter, rng)
    markers = []
    for marker in model.markers:
        off = along_skin(model, marker, rng) * scatter.placement_m
        markers.append(replace(marker, p_BM=marker.p_BM + off))
    model = replace(model, markers=tuple(markers))
    root = model.bodies[0]
    true = replace(body, model=model, static_q=model.static_configuration(root.R_PB, root.p_PB))
    labels = marker_labels(true)
    standing = marker_positions(true, true.static_q[None])[0]
    moved = scatter.skin * soft_tissue(true, q, phase, seed)
    seen = marker_positions(true, q, moved) + scatter.noise_m * rng.normal(size=(len(q), len(labels), 3))
    points = dict(zip(labels, standing, strict=True))
    return Worn(true, points, labels, seen, StaticFigure.from_model(model).p_WB)


def _scattered_hips(model: SubjectModel, scatter: Scatter, rng: np.random.Generator) -> SubjectModel:
    """The hips of both sides moved alike, and each a little by itself; the markers stay."""
    both = scatter.hip_m * rng.normal(size=3)
    root = model.bodies[0].definition.name
    for body in [part.definition for part in model.moving_segments]:
        if body.parent == root and body.side in SIDES:
            own = both * (1.0, 1.0, SIDE_SIGN[body.side]) + scatter.hip_side_m * rng.normal(size=3)
            model = with_misplaced_centre(model, body.name, own)
    return model


def _unequal_legs(model: SubjectModel, scatter: Scatter, rng: np.random.Generator) -> SubjectModel:
    """The long segments of the left leg stretched, markers with them."""
    stretched = {}
    for body in model.bodies:
        end = next((c for c in model.bodies if c.definition.parent == body.definition.name), None)
        leg = any(
            sole in StaticFigure.from_model(model).distal_segments(body.definition.name)
            for sole in model.sole_body.values()
        )
        if body.definition.side == "l" and leg and end is not None:
            stretched[body.definition.name] = 1.0 + scatter.leg_asymmetry * rng.normal()
    along = np.array([0.0, 1.0, 0.0])
    bodies = tuple(
        replace(b, p_PB=b.p_PB + (stretched[b.definition.parent] - 1.0) * b.p_PB * along)
        if b.definition.parent in stretched
        else b
        for b in model.bodies
    )
    markers = tuple(
        replace(m, p_BM=m.p_BM + (stretched[m.body] - 1.0) * m.p_BM * along) if m.body in stretched else m
        for m in model.markers
    )
    return replace(with_bodies(model, bodies), markers=markers)


def along_skin(model: SubjectModel, marker: AttachedMarker, rng: np.random.Generator) -> FloatArray:
    """A random step (3,) across the line from the segment's middle to the marker, of RMS length 1."""
    own = np.array([m.p_BM for m in model.markers if m.body == marker.body])
    long = StaticFigure.from_model(model).far_end.get(marker.body)
    middle = np.array([0.0, marker.p_BM[1], 0.0]) if long else own.mean(axis=0)
    outward = marker.p_BM - middle
    size = float(np.linalg.norm(outward))
    step = rng.normal(size=3) / np.sqrt(2.0)
    return step - outward * float(outward @ step) / size**2 if size > 0.0 else step
