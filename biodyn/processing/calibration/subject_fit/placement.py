"""What markers beside their landmarks do to the joint centres and axes that the recipes find."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
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


def with_placement(unknowns: Unknowns, model: SubjectModel, scaling: Scaling, placement_m: float) -> Unknowns:
    """Return the unknowns with a prior that holds what misplaced markers of pelvis and legs do: they move several at once.

    A lateral knee marker that sits too far forward moves the knee and turns the axis; a wand turns both. Each marker slides along
    the skin, placement_m (one standard deviation) in both directions, without the others.
    """
    start = unknowns.start
    root = model.bodies[0].definition.name
    soles = set(model.sole_body.values())
    legs = [name for name in start.far_end if soles & start.carried(name)]
    chain = {root, *legs, *soles}
    base = scaling.poses(chain, model.height_m, {})
    markers = scaling.landmark_markers()
    columns = []
    for label, (body, place) in markers.items():
        if body == root or body in legs:
            others = [p for owner, p in markers.values() if owner == body]
            for direction in _along_skin(place, body, others, start):
                moved = scaling.poses(chain, model.height_m, {label: _STEP_M * direction})
                columns.append(_change(unknowns, base, moved) * placement_m / _STEP_M)
    if not columns:
        return unknowns
    A = np.stack(columns, axis=1)
    return replace(unknowns, covariance=unknowns.covariance + A @ A.T)


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
