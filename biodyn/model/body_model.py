"""The body model: a skeleton with the sizes, masses and markers of one subject, and its multibody tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from biodyn.conventions import FloatArray, IntArray
from biodyn.diagnostics import Diagnostic
from biodyn.geometry.rotations import cross3, matrices_from_axis_angle, points_on_bodies, quaternion_from_matrix
from biodyn.model.assembly import BodyFrame, Coordinate, ScaledBody, build_tree
from biodyn.model.skeleton import BodyDefinition, Inertia, Skeleton, SkeletonDefinition, static_angles
from biodyn.rigid_body import Multibody

PLACED_WHILE_STANDING = "its position while standing"


@dataclass(frozen=True)
class AttachedMarker:
    """A marker fixed to a segment at p_BM (3,) m, with its weight in the fit."""

    label: str
    body: str
    p_BM: FloatArray
    weight: float
    source: str = "static trial"


@dataclass(frozen=True)
class SubjectModel:
    """The scaled skeleton of a subject.

    Attributes:
        skeleton: names and joints of the segments.
        mass_kg, height_m, sex: mass, height and sex of the subject.
        bodies: scaled segments, parents first.
        coordinates: the free coordinates after the base's six.
        locked: names of coordinates that the markers do not determine: fixed at their static value or assumed.
        locked_segments: names of segments without a free joint, fixed to their parent.
        assumed: locked coordinates with an assumed motion (`UnseenMotion`), which are included in the tree.
        frames: frame of each segment on a link.
        multibody: the tree, starting with the base.
        markers: attached markers.
        foot_outlines: outline (K, 3) m of each sole in the axes of `sole_body[side]`, by side.
        computed_points: labels of computed points inside the body.
        joint_centre_zones: title of the joint centre at the origin of a segment, and radius (m) without skin markers, by
            segment.
        refined_centres: segments with a joint centre that may be refined from the walk.
        uncertain_turns: segments with a rotation about the long axis that depends on a skin wand, and the hinge coordinate that
            determines it in the walk.
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
    joint_centre_zones: Mapping[str, tuple[str, float]] = field(default_factory=dict)
    refined_centres: frozenset[str] = frozenset()
    assumed: tuple[Coordinate, ...] = ()
    uncertain_turns: Mapping[str, str] = field(default_factory=dict)

    @property
    def moving_segments(self) -> tuple[ScaledBody, ...]:
        """Segments with a free joint to their parent, without the root."""
        return tuple(
            body for body in self.bodies if body.definition.parent and body.definition.name not in self.locked_segments
        )

    def joint_link(self, name: str) -> int:
        """Return the index of the link with its origin at the centre of the joint between a segment and its parent."""
        return self.frames[name].link

    def joint_columns(self, name: str) -> list[int]:
        """Return the indices in v of the coordinates of a segment's joint."""
        return [c.v_index for c in self.coordinates if c.body == name]

    def coordinate(self, name: str) -> Coordinate:
        """Return a free coordinate by name; KeyError if it is locked or unknown."""
        for coordinate in self.coordinates:
            if coordinate.name == name:
                return coordinate
        raise KeyError(name)

    def marker_arrays(self) -> tuple[IntArray, FloatArray, FloatArray]:
        """Return link index (M,), position on the link (M, 3) m and weight (M,) of the markers; read only."""
        return self._marker_arrays

    @cached_property
    def _marker_arrays(self) -> tuple[IntArray, FloatArray, FloatArray]:
        links = np.array([self.frames[m.body].link for m in self.markers], dtype=np.int64)
        points = np.array(
            [self.frames[m.body].R_LB @ m.p_BM + self.frames[m.body].p_LB for m in self.markers], dtype=float
        ).reshape(-1, 3)
        return links, points, np.array([m.weight for m in self.markers], dtype=float)

    def marker_positions(self, link_R_W: FloatArray, link_p_W: FloatArray) -> FloatArray:
        """Return the marker positions (T, M, 3) m in World from the poses of the links (T, L, 3, 3), (T, L, 3) m."""
        links, p_LM, _ = self.marker_arrays()
        return points_on_bodies(link_R_W, link_p_W, links, p_LM)

    def coordinate_limits(self) -> tuple[FloatArray, FloatArray]:
        """Return lower and upper limits (nv,) of the velocity-indexed coordinates; the base is free, assumed ones are fixed."""
        lower = np.full(self.multibody.nv, -np.inf)
        upper = np.full(self.multibody.nv, np.inf)
        for coordinate in self.coordinates:
            lower[coordinate.v_index], upper[coordinate.v_index] = coordinate.range_rad
        static = self._static_angles()
        for coordinate in self.assumed:
            lower[coordinate.v_index] = upper[coordinate.v_index] = static[coordinate.name]
        return lower, upper

    def prior_weights(self) -> FloatArray:
        """Return the weights (nv,) m^2/rad^2 of the priors of coordinates, relative to markers of weight 1."""
        marker_sd_m = 0.006  # error of a marker of weight 1, including soft tissue
        weights = np.zeros(self.multibody.nv)
        for coordinate in self.coordinates:
            if coordinate.sd_rad is not None:
                weights[coordinate.v_index] = (marker_sd_m / coordinate.sd_rad) ** 2
        return weights

    def static_configuration(self, R_WB: FloatArray, p_WB: FloatArray) -> FloatArray:
        """Return q (nq,) of the static posture with the root at R_WB, p_WB."""
        q = self.multibody.neutral_q()
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


def assemble_model(
    skeleton: SkeletonDefinition, bodies: tuple[ScaledBody, ...], locked: frozenset[str], **entries: Any
) -> SubjectModel:
    """Create a model with these segments; the coordinates in `locked` are fixed at their static values.

    entries: mass, height, sex, markers and soles of `SubjectModel`.
    """
    return SubjectModel(skeleton=skeleton, bodies=bodies, **_tree_entries(skeleton, bodies, locked), **entries)


def with_markers(model: SubjectModel, extra: tuple[AttachedMarker, ...]) -> SubjectModel:
    """Return the model with more markers attached."""
    return replace(model, markers=model.markers + extra)


def with_shifted_centres(model: SubjectModel, shifts_m: Mapping[str, FloatArray]) -> SubjectModel:
    """Return the model with joint centres shifted by (3,) m in the axes of the parent; segments shift with their joints."""
    bodies = tuple(
        replace(body, p_PB=body.p_PB + shifts_m[body.definition.name]) if body.definition.name in shifts_m else body
        for body in model.bodies
    )
    return with_bodies(model, bodies)


def with_mass(model: SubjectModel, mass_kg: float) -> SubjectModel:
    """Return the model with another body mass; masses and inertias of all segments are scaled."""
    factor = mass_kg / model.mass_kg
    inertias = {
        body.definition.name: Inertia(body.inertia.mass * factor, body.inertia.com, body.inertia.tensor * factor)
        for body in model.bodies
    }
    return replace(with_inertias(model, inertias), mass_kg=mass_kg)


def with_inertias(model: SubjectModel, inertias: Mapping[str, Inertia]) -> SubjectModel:
    """Return the model with the inertias of some segments replaced; inertias by segment, in segment axes."""
    bodies = tuple(replace(b, inertia=inertias.get(b.definition.name, b.inertia)) for b in model.bodies)
    return with_bodies(model, bodies)


def with_bodies(model: SubjectModel, bodies: tuple[ScaledBody, ...]) -> SubjectModel:
    """Return the model with its tree reassembled from the given segments."""
    return _reassemble_model(model, bodies, frozenset(model.locked))


def with_locked_coordinate(model: SubjectModel, name: str) -> SubjectModel:
    """Return the model with one more coordinate fixed at its static value."""
    return _reassemble_model(model, model.bodies, frozenset({*model.locked, name}))


def with_freed_rotations(model: SubjectModel, option: str) -> SubjectModel:
    """Return the model in which the rotations that a setting can free (`Rotation.freed` equal to `option`) are free."""
    bodies = tuple(
        replace(body, definition=_freed_definition(body.definition, option, body.static_angles_rad))
        for body in model.bodies
    )
    definitions = tuple(body.definition for body in bodies)
    if all(new is old.definition for new, old in zip(definitions, model.bodies, strict=True)):
        return model
    skeleton = Skeleton(
        model.skeleton.name, model.skeleton.title, model.skeleton.citation, definitions, model.skeleton.free
    )
    locked = {
        *model.locked,
        *(step.coordinate for b in definitions if b.name in model.locked_segments for step in b.rotations),
    }
    return _reassemble_model(replace(model, skeleton=skeleton), bodies, frozenset(str(name) for name in locked if name))


def _freed_definition(definition: BodyDefinition, option: str, static_rad: Sequence[float]) -> BodyDefinition:
    if all(step.freed is None or step.option != option for step in definition.rotations):
        return definition
    rotations = tuple(
        replace(step.freed, range_rad=(angle + step.freed.range_rad[0], angle + step.freed.range_rad[1]))
        if step.freed is not None and step.option == option
        else step
        for step, angle in zip(definition.rotations, static_rad, strict=True)
    )
    return replace(definition, rotations=rotations)


def with_assumed_coordinates(model: SubjectModel) -> SubjectModel:
    """Return the model with a link for each locked coordinate of segments with an `UnseenMotion`.

    Segments that have a marker, directly or on a segment fixed to them, are excluded.
    """
    definitions = {body.definition.name: body.definition for body in model.bodies}
    marked = {marker.body for marker in model.markers}
    carriers: set[str] = set()
    for name in marked:
        while name in model.locked_segments:
            carriers.add(name)
            name = definitions[name].parent
    names = frozenset(
        coordinate
        for definition in definitions.values()
        if definition.unseen is not None
        and definition.name in model.locked_segments
        and definition.name not in carriers
        for coordinate in definition.coordinate_names
    )
    return _reassemble_model(model, model.bodies, frozenset(model.locked), assumed=names) if names else model


def with_coordinates_of(model: SubjectModel, other: SubjectModel) -> SubjectModel:
    """Return the model with the same free coordinates as another model of the same skeleton."""
    if model.locked == other.locked:
        return model
    return _reassemble_model(model, model.bodies, frozenset(other.locked))


def _reassemble_model(
    model: SubjectModel, bodies: tuple[ScaledBody, ...], locked: frozenset[str], assumed: frozenset[str] | None = None
) -> SubjectModel:
    names = frozenset(coordinate.name for coordinate in model.assumed) if assumed is None else assumed
    return replace(model, bodies=bodies, **_tree_entries(model.skeleton, bodies, locked, names))


def _tree_entries(
    skeleton: SkeletonDefinition,
    bodies: tuple[ScaledBody, ...],
    locked: frozenset[str],
    assumed: frozenset[str] = frozenset(),
) -> dict[str, Any]:
    """Return the entries of `SubjectModel` that follow from its segments: tree, frames, free, assumed and locked coordinates."""
    multibody, every, frames, locked_segments = build_tree(skeleton, bodies, locked, assumed)
    coordinates = tuple(coordinate for coordinate in every if coordinate.name not in assumed)
    free = {coordinate.name for coordinate in coordinates}
    return {
        "multibody": multibody,
        "coordinates": coordinates,
        "assumed": tuple(coordinate for coordinate in every if coordinate.name in assumed),
        "locked": tuple(name for body in bodies for name in body.definition.coordinate_names if name not in free),
        "frames": frames,
        "locked_segments": locked_segments,
    }


_UP = np.array([0.0, 1.0, 0.0])


@dataclass(frozen=True)
class StaticFigure:
    """Pose of every segment in the static trial, World.

    Attributes:
        R_WB: (3, 3) axes by segment. p_WB: (3,) m joint centre to the parent by segment.
        parent: by segment, "" for the root.
        far_end: the only distal segment of a segment, whose joint centre is the end of the long axis, by segment.
    """

    R_WB: Mapping[str, FloatArray]
    p_WB: Mapping[str, FloatArray]
    parent: Mapping[str, str]
    far_end: Mapping[str, str]

    @classmethod
    def from_model(cls, model: SubjectModel) -> StaticFigure:
        """Return the poses of all segments of a model in its static trial."""
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
        """Return the figure of segments with poses R_WB (3, 3), p_WB (3,) m, and their parents; parents first."""
        below = {name: [child for child in parent if parent[child] == name] for name in parent}
        far = {name: ends[0] for name, ends in below.items() if parent[name] and len(ends) == 1}
        R, p = {name: R for name, (R, _) in poses.items()}, {name: p for name, (_, p) in poses.items()}
        return cls(R, p, parent, far)

    def with_shifted_centres(self, shifts_W: Mapping[str, FloatArray], turns_rad: Mapping[str, float]) -> StaticFigure:
        """Return the figure with joint centres shifted by (3,) m in World and axes rotated about the long axes (rad).

        The long axis of a segment follows the joint centres at its ends by the smallest rotation; the root keeps its axes.
        """
        p = {name: at + shifts_W[name] if name in shifts_W else at for name, at in self.p_WB.items()}
        R = dict(self.R_WB)
        for name, end in self.far_end.items():
            R[name] = smallest_rotation(self.p_WB[end] - self.p_WB[name], p[end] - p[name]) @ R[name]
        for name, turn in turns_rad.items():
            R[name] = R[name] @ matrices_from_axis_angle(_UP, turn)
        return StaticFigure(R, p, self.parent, self.far_end)

    def poses_by_segment(self) -> dict[str, tuple[FloatArray, FloatArray]]:
        """Return the pose R_WB (3, 3), p_WB (3,) m of every segment in World, by name."""
        return {name: (self.R_WB[name], self.p_WB[name]) for name in self.R_WB}

    def length(self, name: str) -> float:
        """Return the distance (m) between the joint centre of a segment and that of its only distal segment."""
        return float(np.linalg.norm(self.p_WB[self.far_end[name]] - self.p_WB[name]))

    def distal_segments(self, name: str) -> frozenset[str]:
        """Return the names of the segment itself and of all segments distal to it."""
        names = {name}
        for body, parent in self.parent.items():  # parents first
            if parent in names:
                names.add(body)
        return frozenset(names)


def smallest_rotation(start: FloatArray, end: FloatArray) -> FloatArray:
    """Return the smallest rotation (3, 3) from the direction of `start` to the direction of `end`, both (3,)."""
    axis = cross3(start, end)
    sine, cosine = float(np.linalg.norm(axis)), float(start @ end)
    return matrices_from_axis_angle(axis / sine, np.arctan2(sine, cosine)) if sine > 0.0 else np.eye(3)


def with_misplaced_centre(model: SubjectModel, body: str, shift_P: FloatArray) -> SubjectModel:
    """Return the model for a joint centre of `body` with an error of (3,) m, in the axes of its parent.

    In the static trial the markers keep their positions in World, as after a wrong regression. The long axes of the segment and
    of its parent follow the centre (`StaticFigure.with_shifted_centres`). Inertias keep their position in the segments.
    """
    figure = StaticFigure.from_model(model)
    parent = figure.parent[body]
    shifted = figure.with_shifted_centres({body: figure.R_WB[parent] @ shift_P}, {})
    bodies = []
    for part in model.bodies:
        name, top = part.definition.name, part.definition.parent
        if top and not {name, top}.isdisjoint((body, parent)):
            R_WP = shifted.R_WB[top]
            R_PB, p_PB = R_WP.T @ shifted.R_WB[name], R_WP.T @ (shifted.p_WB[name] - shifted.p_WB[top])
            part = replace(part, R_PB=R_PB, p_PB=p_PB, static_angles_rad=static_angles(part.definition, R_PB))
        bodies.append(part)
    markers = []
    for marker in model.markers:
        if marker.body in (body, parent):
            p_WM = figure.p_WB[marker.body] + figure.R_WB[marker.body] @ marker.p_BM
            marker = replace(marker, p_BM=shifted.R_WB[marker.body].T @ (p_WM - shifted.p_WB[marker.body]))
        markers.append(marker)
    return replace(with_bodies(model, tuple(bodies)), markers=tuple(markers))


def find_joint_centre_point(label: str, place: FloatArray, body: ScaledBody, model: SubjectModel) -> Diagnostic | None:
    """Return a finding if a point is so close to a joint centre that it cannot be a marker on the skin.

    place: (3,) m in the axes of the segment `body`. The joint centres are those at both ends of the segment.
    """
    name = body.definition.name
    ends = [(child.definition.name, child.p_PB) for child in model.bodies if child.definition.parent == name]
    for owner, p_BC in (*ends, (name, np.zeros(3))):
        if owner in model.joint_centre_zones:
            title, radius_m = model.joint_centre_zones[owner]
            distance = float(np.linalg.norm(place - p_BC))
            if distance < radius_m:
                return joint_centre_note(label, distance, radius_m, title)
    return None


def joint_centre_note(label: str, distance: float, limit: float, title: str) -> Diagnostic:
    """Return the finding about a point that is at a joint centre and therefore a computed point, not a marker."""
    return Diagnostic(
        "computed-points",
        "info",
        f"'{label}' is {1000 * distance:.0f} mm from the {title}, inside the body. It is a computed point and was "
        "excluded from the fit.",
        value=distance,
        limit=limit,
        unit="m",
    )
