"""A skeleton scaled to one subject, and the multibody tree the kernels compute with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from biodyn.conventions import FloatArray, IntArray
from biodyn.geometry.rotations import axis_angle, quaternion_from_matrix
from biodyn.model.from_library.anthropometry import ZERO_INERTIA, Inertia
from biodyn.model.from_library.skeleton import BodyDefinition, Rotation, SkeletonDefinition
from biodyn.rigid_body import Body, Joint, Multibody


@dataclass(frozen=True)
class ScaledBody:
    """One segment of the subject as it was in the static trial.

    Attributes:
        definition: the library's body.
        R_PB, p_PB: pose in the parent body in the static trial, (3, 3) and (3,) m; p_PB is the joint centre.
        inertia: in the body's axes.
        static_angles_rad: angle of each step of the joint's rotation sequence in the static trial.
        located: markers placed it; otherwise it stands in neutral posture.
    """

    definition: BodyDefinition
    R_PB: FloatArray
    p_PB: FloatArray
    inertia: Inertia
    static_angles_rad: tuple[float, ...]
    located: bool


@dataclass(frozen=True)
class Coordinate:
    """A free coordinate: its name, joint, segment and place in q and v; range in rad."""

    name: str
    joint: str
    body: str
    side: str
    q_index: int
    v_index: int
    range_rad: tuple[float, float]


@dataclass(frozen=True)
class BodyFrame:
    """Where a segment's anatomical frame sits on a link of the tree: X_LB as R (3, 3), p (3,) m."""

    link: int
    R_LB: FloatArray
    p_LB: FloatArray


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
    """The subject's skeleton ready to compute with.

    Attributes:
        skeleton: the library's skeleton.
        mass_kg, height_m, sex: of the subject.
        bodies: scaled segments, parents first.
        coordinates: the free coordinates after the base's six.
        locked: names of coordinates no marker can see, held at their static value.
        locked_segments: names of segments without a free joint, carried by their parent.
        frames: per segment its place on a link.
        multibody: the tree (base first).
        markers: attached markers.
        foot_outlines: per side (K, 3) m outline of the sole in the axes of `sole_body[side]`.
        computed_points: labels that are no markers: they lie inside the body.
        base_rotations, base_translations: names of the base's coordinates.
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

    @property
    def moving(self) -> tuple[ScaledBody, ...]:
        """Segments with a free joint to their parent (the root excluded)."""
        return tuple(
            body for body in self.bodies if body.definition.parent and body.definition.name not in self.locked_segments
        )

    def coordinate(self, name: str) -> Coordinate:
        """Return a free coordinate by name; KeyError if it is locked or unknown."""
        for coordinate in self.coordinates:
            if coordinate.name == name:
                return coordinate
        raise KeyError(name)

    def marker_arrays(self) -> tuple[IntArray, FloatArray, FloatArray]:
        """Return link index (M,), position on the link (M, 3) m and weight (M,) of the markers."""
        links = np.array([self.frames[m.body].link for m in self.markers], dtype=np.int64)
        points = np.array(
            [self.frames[m.body].R_LB @ m.p_BM + self.frames[m.body].p_LB for m in self.markers], dtype=float
        ).reshape(-1, 3)
        return links, points, np.array([m.weight for m in self.markers], dtype=float)

    def limits(self) -> tuple[FloatArray, FloatArray]:
        """Return lower and upper limits (nv,) of the velocity-indexed coordinates; the base is free."""
        lower = np.full(self.multibody.nv, -np.inf)
        upper = np.full(self.multibody.nv, np.inf)
        for coordinate in self.coordinates:
            lower[coordinate.v_index], upper[coordinate.v_index] = coordinate.range_rad
        return lower, upper

    def static_configuration(self, R_WB: FloatArray, p_WB: FloatArray) -> FloatArray:
        """Return q (nq,) of the static posture with the root at R_WB, p_WB."""
        q = self.multibody.neutral()
        q[:3] = p_WB
        q[3:7] = quaternion_from_matrix(R_WB)
        angles = {
            step.coordinate: angle
            for body in self.bodies
            for step, angle in zip(body.definition.rotations, body.static_angles_rad, strict=True)
            if step.coordinate
        }
        for coordinate in self.coordinates:
            q[coordinate.q_index] = angles[coordinate.name]
        return q

    def body_poses(self, link_R_W: FloatArray, link_p_W: FloatArray, name: str) -> tuple[FloatArray, FloatArray]:
        """Return R_WB (T, 3, 3) and p_WB (T, 3) of a segment from the poses of the links (T, L, 3, 3), (T, L, 3)."""
        frame = self.frames[name]
        R = link_R_W[:, frame.link]
        return R @ frame.R_LB, link_p_W[:, frame.link] + R @ frame.p_LB


def with_markers(model: SubjectModel, extra: tuple[AttachedMarker, ...]) -> SubjectModel:
    """Return the model with more markers attached."""
    return replace(model, markers=model.markers + extra)


@dataclass(frozen=True)
class _Link:
    """A link before it carries mass: its joint and where that sits in the parent link."""

    name: str
    parent: str | None
    joint: Joint
    R_PJ: FloatArray
    p_PJ: FloatArray


def assemble(
    skeleton: SkeletonDefinition,
    bodies: tuple[ScaledBody, ...],
    locked: frozenset[str],
    sliding: frozenset[str] = frozenset(),
) -> tuple[Multibody, tuple[Coordinate, ...], dict[str, BodyFrame], tuple[str, ...]]:
    """Build the tree: a chain of one-axis links a joint, fixed rotations folded into the links beside them.

    Segments without a free coordinate become part of the link that carries their parent. The joint centres of the bodies
    in `sliding` may slide along the parent's axes (to find out where they are). Returns the tree, its coordinates, the place
    of every segment on a link, and the locked segments.
    """
    chain = _Chain()
    locked_segments: list[str] = []
    load: dict[int, Inertia] = {}
    for body in bodies:
        definition = body.definition
        if not definition.parent:
            chain.add_root(definition.name)
        else:
            open_ = definition.name in skeleton.free
            free = [s for s in definition.rotations if s.coordinate and s.coordinate not in locked and open_]
            chain.add_body(body, free, slides=definition.name in sliding and bool(free))
            if not free:
                locked_segments.append(definition.name)
        frame = chain.frames[definition.name]
        moved = body.inertia.moved(frame.R_LB, frame.p_LB)
        load[frame.link] = load[frame.link] + moved if frame.link in load else moved

    loaded = []
    for i, at in enumerate(chain.links):
        inertia = load.get(i, ZERO_INERTIA)
        loaded.append(Body(at.name, at.parent, at.joint, at.R_PJ, at.p_PJ, inertia.mass, inertia.com, inertia.tensor))
    tree = Multibody(tuple(loaded))
    # The tree may order its bodies anew; places on links follow the names.
    frames = {
        name: BodyFrame(tree.body_index(chain.links[frame.link].name), frame.R_LB, frame.p_LB)
        for name, frame in chain.frames.items()
    }
    return tree, tuple(_coordinate(tree, *planned) for planned in chain.plan), frames, tuple(locked_segments)


class _Chain:
    """The links while they are strung: one axis each.

    Attributes:
        links: in order from the root. frames: the place of every segment on its link.
        plan: (coordinate, its link's name, segment, range rad) of every coordinate.
    """

    def __init__(self) -> None:
        self.links: list[_Link] = []
        self.frames: dict[str, BodyFrame] = {}
        self.plan: list[tuple[str, str, BodyDefinition, tuple[float, float]]] = []

    def add_root(self, name: str) -> None:
        """Add the floating base."""
        index = self._add(name, None, Joint("free"), np.eye(3), np.zeros(3))
        self.frames[name] = BodyFrame(index, np.eye(3), np.zeros(3))

    def add_body(self, body: ScaledBody, free: Sequence[Rotation], slides: bool) -> None:
        """Add a segment: a link for each free rotation; fixed ones are folded into the placements beside them."""
        definition = body.definition
        base = self.frames[definition.parent]
        R, p, link = base.R_LB, base.R_LB @ body.p_PB + base.p_LB, base.link
        if slides:
            # Sliding along the parent body's axes; R is their attitude on the link, undone behind the last slide.
            for axis, direction in zip("xyz", np.eye(3), strict=True):
                joint = Joint("prismatic", as_axis(R @ direction))
                link = self._add(f"{definition.name}:{axis}", link, joint, np.eye(3), p)
                p = np.zeros(3)
        for step, angle in zip(definition.rotations, body.static_angles_rad, strict=True):
            if step not in free:
                R = R @ axis_angle(step.axis, angle)
                continue
            name = definition.name if step is free[-1] else f"{definition.name}:{step.coordinate}"
            link = self._add(name, link, _hinge(as_axis(step.axis)), R, p)
            self.plan.append((str(step.coordinate), name, definition, step.range_rad))
            R, p = np.eye(3), np.zeros(3)
        self.frames[definition.name] = BodyFrame(link, R, p)

    def _add(self, name: str, parent: int | None, joint: Joint, R: FloatArray, p: FloatArray) -> int:
        self.links.append(_Link(name, None if parent is None else self.links[parent].name, joint, R, p))
        return len(self.links) - 1


def _coordinate(
    tree: Multibody, name: str, link: str, definition: BodyDefinition, range_rad: tuple[float, float]
) -> Coordinate:
    return Coordinate(
        name=name,
        joint=definition.joint,
        body=definition.name,
        side=definition.side,
        q_index=tree.q_slice(link).start,
        v_index=tree.v_slice(link).start,
        range_rad=range_rad,
    )


@lru_cache(maxsize=256)
def _hinge(axis: tuple[float, float, float]) -> Joint:
    """A revolute joint; trials build the same ones thousands of times."""
    return Joint("revolute", axis)


def as_axis(vector: FloatArray) -> tuple[float, float, float]:
    """Return a vector (3,) as the joint's axis."""
    return (float(vector[0]), float(vector[1]), float(vector[2]))
