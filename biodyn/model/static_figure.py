"""The standing person as poses of the segments in World, and the same person with joint centres and axes elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.geometry.rotations import axis_angle, cross3
from biodyn.model.body_model import SubjectModel

_UP = np.array([0.0, 1.0, 0.0])


@dataclass(frozen=True)
class StaticFigure:
    """Where every segment stands in the static trial, World.

    Attributes:
        R_WB: (3, 3) axes by segment. p_WB: (3,) m joint centre to the parent by segment.
        parent: by segment, "" for the root.
        far_end: the one segment whose joint centre ends the long axis, by segment; none where several hang on it or nothing.
    """

    R_WB: Mapping[str, FloatArray]
    p_WB: Mapping[str, FloatArray]
    parent: Mapping[str, str]
    far_end: Mapping[str, str]

    @classmethod
    def of(cls, model: SubjectModel) -> StaticFigure:
        """Return the figure that a model was made from."""
        poses: dict[str, tuple[FloatArray, FloatArray]] = {}
        for body in model.bodies:
            if body.definition.parent:
                R, p = poses[body.definition.parent]
                poses[body.definition.name] = R @ body.R_PB, p + R @ body.p_PB
            else:
                poses[body.definition.name] = body.R_PB, body.p_PB
        return cls.from_poses(poses, {body.definition.name: body.definition.parent for body in model.bodies})

    @classmethod
    def from_poses(cls, poses: Mapping[str, tuple[FloatArray, FloatArray]], parent: Mapping[str, str]) -> StaticFigure:
        """Return the figure of segments at R_WB (3, 3), p_WB (3,) m; both by segment, parents first."""
        below = {name: [child for child in parent if parent[child] == name] for name in parent}
        far = {name: ends[0] for name, ends in below.items() if parent[name] and len(ends) == 1}
        R, p = {name: R for name, (R, _) in poses.items()}, {name: p for name, (_, p) in poses.items()}
        return cls(R, p, parent, far)

    def moved(self, shifts_W: Mapping[str, FloatArray], turns_rad: Mapping[str, float]) -> StaticFigure:
        """Return the figure with joint centres shifted by (3,) m in World and axes turned about the long axes.

        A segment's long axis follows the joint centres at its two ends by the smallest rotation; the root keeps its axes.
        """
        p = {name: at + shifts_W[name] if name in shifts_W else at for name, at in self.p_WB.items()}
        R = dict(self.R_WB)
        for name, end in self.far_end.items():
            R[name] = swing(self.p_WB[end] - self.p_WB[name], p[end] - p[name]) @ R[name]
        for name, turn in turns_rad.items():
            R[name] = R[name] @ axis_angle(_UP, turn)
        return StaticFigure(R, p, self.parent, self.far_end)

    def poses(self) -> dict[str, tuple[FloatArray, FloatArray]]:
        """Return R_WB (3, 3), p_WB (3,) m by segment."""
        return {name: (self.R_WB[name], self.p_WB[name]) for name in self.R_WB}

    def length(self, name: str) -> float:
        """Distance of the joint centres at a segment's two ends, m."""
        return float(np.linalg.norm(self.p_WB[self.far_end[name]] - self.p_WB[name]))

    def carried(self, name: str) -> frozenset[str]:
        """Names of a segment and of all that hang on it."""
        found = {name}
        for body, above in self.parent.items():  # parents first
            if above in found:
                found.add(body)
        return frozenset(found)


def swing(start: FloatArray, end: FloatArray) -> FloatArray:
    """Return the smallest rotation (3, 3) that turns the direction of `start` into that of `end`, both (3,)."""
    axis = cross3(start, end)
    sine, cosine = float(np.linalg.norm(axis)), float(start @ end)
    return axis_angle(axis / sine, np.arctan2(sine, cosine)) if sine > 0.0 else np.eye(3)
