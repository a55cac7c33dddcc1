"""What markers beside their landmarks do to the joint centres and axes that the recipes find."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.model.body_model import SubjectModel
from biodyn.model.static_figure import StaticFigure
from biodyn.processing.calibration.subject_fit.unknowns import Unknowns

_Pose = tuple[FloatArray, FloatArray]
# Small against a limb, large against round-off.
_STEP_M = 1e-4


class Scaling(Protocol):
    """What the subject's model is made of: it can be made again with segments placed otherwise."""

    def model(
        self, turns_rad: Mapping[str, float] | None = None, known: Mapping[str, _Pose] | None = None
    ) -> tuple[SubjectModel, list[Diagnostic]]:
        """Return the model for axes (3, 3) and joint centres (3,) m in World by segment, and what had to be assumed."""

    def landmark_markers(self) -> Mapping[str, tuple[str, FloatArray]]:
        """Return segment and place (3,) m in World, static trial, of the markers that mark a landmark, by label."""

    def poses(self, bodies: Collection[str], height_m: float, moved: Mapping[str, FloatArray]) -> Mapping[str, _Pose]:
        """Return the segments' poses as the recipes find them when markers stand (3,) m in World elsewhere."""


@dataclass(frozen=True)
class Placement:
    """What markers beside their landmarks do to the recipes, each sliding along the skin.

    Attributes:
        labels, directions_W: (K,) marker and (K, 3) direction of each slide; sd_m: of every slide.
        effect: (P, K) change of the unknowns for one standard deviation of each slide.
        chain, base: segments that the recipes place, and where they do with the markers as they stand.
    """

    unknowns: Unknowns
    scaling: Scaling
    height_m: float
    labels: tuple[str, ...]
    directions_W: FloatArray
    sd_m: float
    effect: FloatArray
    chain: frozenset[str]
    base: Mapping[str, _Pose]

    def bend(self, deviation: FloatArray) -> FloatArray:
        """Return what slides change beyond proportion (P,), for the most probable slides behind a deviation (P,) of the unknowns.

        An axis that a wand turns by 0.2 rad moves the joint on a circle: some mm that no linear prior knows.
        """
        slides = self.effect.T @ np.linalg.solve(self.unknowns.covariance, deviation)
        moved: dict[str, FloatArray] = {}
        for label, direction, slide in zip(self.labels, self.directions_W, slides, strict=True):
            moved[label] = moved.get(label, np.zeros(3)) + self.sd_m * slide * direction
        exact = _change(self.unknowns, self.base, self.scaling.poses(self.chain, self.height_m, moved))
        return exact - self.effect @ slides


def placement_of(unknowns: Unknowns, model: SubjectModel, scaling: Scaling, placement_m: float) -> Placement:
    """Return what misplaced markers of pelvis and legs do, with the unknowns' prior that holds it: they move several at once.

    A lateral knee marker that sits too far forward moves the knee and turns the axis; a wand turns both. Each marker slides along
    the skin, placement_m (one standard deviation) in both directions, without the others.
    """
    start = unknowns.start
    root = model.bodies[0].definition.name
    soles = set(model.sole_body.values())
    legs = [name for name in start.far_end if soles & start.carried(name)]
    chain = frozenset({root, *legs, *soles})
    base = scaling.poses(chain, model.height_m, {})
    markers = scaling.landmark_markers()
    labels, directions, columns = [], [], []
    for label, (body, place) in markers.items():
        if body == root or body in legs:
            others = [p for owner, p in markers.values() if owner == body]
            for direction in _along_skin(place, body, others, start):
                moved = scaling.poses(chain, model.height_m, {label: _STEP_M * direction})
                columns.append(_change(unknowns, base, moved) * placement_m / _STEP_M)
                labels.append(label)
                directions.append(direction)
    A = np.array(columns).reshape(-1, unknowns.count).T
    wider = replace(unknowns, covariance=unknowns.covariance + A @ A.T)
    slides = np.array(directions).reshape(-1, 3)
    return Placement(wider, scaling, model.height_m, tuple(labels), slides, placement_m, A, chain, base)


def _along_skin(place: FloatArray, body: str, others: Collection[FloatArray], figure: StaticFigure) -> FloatArray:
    """Two directions (2, 3) in World along the skin at a marker: across the line from the segment's middle."""
    if body in figure.far_end:
        start = figure.p_WB[body]
        along = figure.R_WB[body][:, 1]
        outward = place - start - along * float((place - start) @ along)
    else:
        outward = place - np.mean(list(others), axis=0)
    return np.linalg.svd(outward[None])[2][1:]


def _change(unknowns: Unknowns, before: Mapping[str, _Pose], after: Mapping[str, _Pose]) -> FloatArray:
    """The recipes' change as a step (P,) of the unknowns."""
    step = np.zeros(unknowns.count)
    for name, at in unknowns.centres.items():
        if name in before:
            axes = unknowns.start.R_WB[unknowns.start.parent[name]]
            step[at : at + 3] = axes.T @ (after[name][1] - before[name][1])
    for name, at in unknowns.turns.items():
        if name in before:
            turned = before[name][0].T @ after[name][0]
            step[at] = 0.5 * (turned[0, 2] - turned[2, 0])  # about y
    return step
