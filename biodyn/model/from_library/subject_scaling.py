"""What the subject's model is made of, as one value: the model can be made again with other axial rotation offsets."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.model.body_model import SubjectModel
from biodyn.model.from_library.scaling import ScalingOptions, scale, standing_pose
from biodyn.model.from_library.skeleton import SkeletonRecipe
from biodyn.model.marker_roles import MarkerMapping


@dataclass(frozen=True)
class SubjectScaling:
    """The recipe of a skeleton and what was measured of the subject.

    Attributes:
        skeleton, mapping: the recipe, and which marker is which.
        points: (3,) m by label, of the static trial. tracked: labels seen in the walk.
        options: mass, height, tables and the like.
    """

    skeleton: SkeletonRecipe
    mapping: MarkerMapping
    points: Mapping[str, FloatArray]
    tracked: frozenset[str]
    options: ScalingOptions

    def model(
        self,
        turns_rad: Mapping[str, float] | None = None,
        known: Mapping[str, tuple[FloatArray, FloatArray]] | None = None,
    ) -> tuple[SubjectModel, list[Diagnostic]]:
        """Return the subject's model and what had to be assumed.

        Parameters:
            turns_rad: of segments about their long axes.
            known: R_WB (3, 3), p_WB (3,) m by segment, found otherwise than by the recipes.
        """
        return scale(self.skeleton, self.mapping, self.points, self.tracked, self.options, turns_rad, known)

    def landmark_markers(self) -> dict[str, tuple[str, FloatArray]]:
        """Return segment and place (3,) m in World, static trial, of the markers that mark a landmark, by label."""
        return {
            role.label: (role.body, self.points[role.label])
            for role in self.mapping.roles
            if role.landmark and role.label in self.points
        }

    def poses(
        self, bodies: Collection[str], height_m: float, moved: Mapping[str, FloatArray]
    ) -> dict[str, tuple[FloatArray, FloatArray]]:
        """Return R_WB (3, 3), p_WB (3,) m of segments as the recipes see them when markers stand (3,) m in World elsewhere."""
        points = {label: p + moved[label] if label in moved else p for label, p in self.points.items()}
        pose = standing_pose(self.skeleton, self.mapping, points, replace(self.options, height_m=height_m))
        return {body.name: pose.pose(body) for body in self.skeleton.bodies if body.name in bodies}
