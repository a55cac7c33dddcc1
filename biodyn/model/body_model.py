"""The body model: a skeleton with the sizes, masses and markers of one person, and the tree the kernels compute with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from biodyn.conventions import FloatArray, IntArray
from biodyn.geometry.rotations import points_on_bodies, quaternion_from_matrix
from biodyn.model.assembly import BodyFrame, Coordinate, ScaledBody, assemble
from biodyn.model.skeleton import SkeletonDefinition
from biodyn.rigid_body import Multibody

# Error of a marker of weight 1, skin included, against which a coordinate is held to its static angle.
_MARKER_SD_M = 0.006
PLACED_WHILE_STANDING = "its place while standing"


@dataclass(frozen=True)
class AttachedMarker:
    """A marker fixed to a segment at p_BM (3,) m, with its weight in the fit."""

    label: str
    body: str
    p_BM: FloatArray
    weight: float
    source: str = "static trial"


@dataclass(frozen=True)
class InnerCentre:
    """A joint centre inside the body: its name for people, and how near to it no skin marker can be, m."""

    title: str
    radius_m: float


@dataclass(frozen=True)
class SubjectModel:
    """The subject's skeleton ready to compute with.

    Attributes:
        skeleton: names and joints of the segments.
        mass_kg, height_m, sex: of the subject.
        bodies: scaled segments, parents first.
        coordinates: the free coordinates after the base's six.
        locked: names of coordinates no marker can see, held at their static value or assumed.
        locked_segments: names of segments without a free joint, carried by their parent.
        assumed: those of the locked coordinates that the tree has all the same: their motion is assumed (`UnseenMotion`).
        frames: per segment its place on a link.
        multibody: the tree (base first).
        markers: attached markers.
        foot_outlines: per side (K, 3) m outline of the sole in the axes of `sole_body[side]`.
        computed_points: labels that are no markers: they lie inside the body.
        inner_centres: by segment, the joint centre at its origin that lies deep inside the body.
        refined_centres: segments whose joint centre the walk may move.
        uncertain_turns: segments whose direction about the long axis rests on a skin wand, and the hinge coordinate that
            tells it in the walk.
    """

    skeleton: SkeletonDefinition
    mass_kg: float
    height_m: float
    sex: str
    bodies: tuple[ScaledBody, ...]
    coordinates: tuple[Coordinate, ...]
    locked: tuple[str, ...]
    locked_segments: tuple[str, ...]
    frames: dict[str, BodyFrame]
    multibody: Multibody
    markers: tuple[AttachedMarker, ...]
    foot_outlines: dict[str, FloatArray]
    sole_body: dict[str, str]
    computed_points: frozenset[str] = frozenset()
    inner_centres: Mapping[str, InnerCentre] = field(default_factory=dict)
    refined_centres: frozenset[str] = frozenset()
    assumed: tuple[Coordinate, ...] = ()
    uncertain_turns: Mapping[str, str] = field(default_factory=dict)

    @property
    def moving(self) -> tuple[ScaledBody, ...]:
        """Segments with a free joint to their parent (the root excluded)."""
        return tuple(
            body for body in self.bodies if body.definition.parent and body.definition.name not in self.locked_segments
        )

    def joint_link(self, name: str) -> int:
        """Return the link at whose origin a segment's joint to its parent has its centre."""
        return self.frames[name].link

    def joint_columns(self, name: str) -> list[int]:
        """Return where in v the coordinates of a segment's joint stand."""
        return [c.v_index for c in self.coordinates if c.body == name]

    def coordinate(self, name: str) -> Coordinate:
        """Return a free coordinate by name; KeyError if it is locked or unknown."""
        for coordinate in self.coordinates:
            if coordinate.name == name:
                return coordinate
        raise KeyError(name)

    def marker_arrays(self) -> tuple[IntArray, FloatArray, FloatArray]:
        """Return link index (M,), position on the link (M, 3) m and weight (M,) of the markers; they are the model's own."""
        return self._marker_arrays

    @cached_property
    def _marker_arrays(self) -> tuple[IntArray, FloatArray, FloatArray]:
        links = np.array([self.frames[m.body].link for m in self.markers], dtype=np.int64)
        points = np.array(
            [self.frames[m.body].R_LB @ m.p_BM + self.frames[m.body].p_LB for m in self.markers], dtype=float
        ).reshape(-1, 3)
        return links, points, np.array([m.weight for m in self.markers], dtype=float)

    def marker_places(self, link_R_W: FloatArray, link_p_W: FloatArray) -> FloatArray:
        """Return where the markers are, (T, M, 3) m in World, from the poses of the links (T, L, 3, 3), (T, L, 3)."""
        links, p_LM, _ = self.marker_arrays()
        return points_on_bodies(link_R_W, link_p_W, links, p_LM)

    def limits(self) -> tuple[FloatArray, FloatArray]:
        """Return lower and upper limits (nv,) of the velocity-indexed coordinates; the base is free, assumed ones are held."""
        lower = np.full(self.multibody.nv, -np.inf)
        upper = np.full(self.multibody.nv, np.inf)
        for coordinate in self.coordinates:
            lower[coordinate.v_index], upper[coordinate.v_index] = coordinate.range_rad
        static = self._static_angles()
        for coordinate in self.assumed:
            lower[coordinate.v_index] = upper[coordinate.v_index] = static[coordinate.name]
        return lower, upper

    def pulls(self) -> FloatArray:
        """Return the weights (nv,) m^2/rad^2, beside markers of weight 1, that hold coordinates to their static angle."""
        weights = np.zeros(self.multibody.nv)
        for coordinate in self.coordinates:
            if coordinate.sd_rad is not None:
                weights[coordinate.v_index] = (_MARKER_SD_M / coordinate.sd_rad) ** 2
        return weights

    def static_configuration(self, R_WB: FloatArray, p_WB: FloatArray) -> FloatArray:
        """Return q (nq,) of the static posture with the root at R_WB, p_WB."""
        q = self.multibody.neutral()
        q[:3] = p_WB
        q[3:7] = quaternion_from_matrix(R_WB)
        angles = self._static_angles()
        for coordinate in (*self.coordinates, *self.assumed):
            q[coordinate.q_index] = angles[coordinate.name]
        return q

    def _static_angles(self) -> dict[str, float]:
        return {
            step.coordinate: angle
            for body in self.bodies
            for step, angle in zip(body.definition.rotations, body.static_angles_rad, strict=True)
            if step.coordinate
        }

    def body_poses(self, link_R_W: FloatArray, link_p_W: FloatArray, name: str) -> tuple[FloatArray, FloatArray]:
        """Return R_WB (T, 3, 3) and p_WB (T, 3) of a segment from the poses of the links (T, L, 3, 3), (T, L, 3)."""
        frame = self.frames[name]
        R = link_R_W[:, frame.link]
        return R @ frame.R_LB, link_p_W[:, frame.link] + R @ frame.p_LB


def body_model(
    skeleton: SkeletonDefinition,
    bodies: tuple[ScaledBody, ...],
    locked: frozenset[str],
    *,
    mass_kg: float,
    height_m: float,
    sex: str,
    markers: tuple[AttachedMarker, ...],
    foot_outlines: dict[str, FloatArray],
    sole_body: dict[str, str],
) -> SubjectModel:
    """Return the model that has these segments, the coordinates in `locked` held at their static value."""
    multibody, coordinates, frames, locked_segments = assemble(skeleton, bodies, locked)
    free = {coordinate.name for coordinate in coordinates}
    return SubjectModel(
        skeleton=skeleton,
        mass_kg=mass_kg,
        height_m=height_m,
        sex=sex,
        bodies=bodies,
        coordinates=coordinates,
        locked=tuple(name for body in bodies for name in body.definition.coordinates if name not in free),
        locked_segments=locked_segments,
        frames=frames,
        multibody=multibody,
        markers=markers,
        foot_outlines=foot_outlines,
        sole_body=sole_body,
    )


def with_markers(model: SubjectModel, extra: tuple[AttachedMarker, ...]) -> SubjectModel:
    """Return the model with more markers attached."""
    return replace(model, markers=model.markers + extra)
