"""Assembly of scaled segments into the multibody tree of the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from biodyn.conventions import FloatArray, without_side
from biodyn.geometry.rotations import matrices_from_axis_angle
from biodyn.model.skeleton import ZERO_INERTIA, BodyDefinition, Inertia, Rotation, SkeletonDefinition
from biodyn.rigid_body import Body, Joint, Multibody


@dataclass(frozen=True)
class ScaledBody:
    """One segment of the subject in the static trial.

    Attributes:
        definition: names and joint of the segment.
        R_PB, p_PB: pose in the parent body in the static trial, (3, 3) and (3,) m; p_PB is the joint centre.
        inertia: in the body's axes.
        static_angles_rad: angle of each rotation of the joint in the static trial.
        located: True if markers determine its pose; otherwise it is in neutral posture.
    """

    definition: BodyDefinition
    R_PB: FloatArray
    p_PB: FloatArray
    inertia: Inertia
    static_angles_rad: tuple[float, ...]
    located: bool


@dataclass(frozen=True)
class Coordinate:
    """A free coordinate: its name, joint, segment, index in q and v, and range in rad.

    Attributes:
        sd_rad: prior standard deviation about its static angle, None = no prior.
        turns: True if its unit is rad, False for m (imported models).
        variable, sign: gait variable without side, and sign of the coordinate relative to it, if the name differs (imported
            models).
        q_index, v_index: -1 if no single joint axis has this motion (`Fit.values`).
    """

    name: str
    joint: str
    body: str
    side: str
    q_index: int
    v_index: int
    range_rad: tuple[float, float]
    sd_rad: float | None = None
    turns: bool = True
    variable: str = ""
    sign: float = 1.0

    @property
    def gait_variable(self) -> str:
        """Return the gait variable, or the name without side if none exists."""
        return self.variable or without_side(self.name, self.side)


@dataclass(frozen=True)
class BodyFrame:
    """Pose X_LB of the anatomical frame of a segment on a link of the tree: R_LB (3, 3), p_LB (3,) m."""

    link: int
    R_LB: FloatArray
    p_LB: FloatArray


#: Massless link: name, parent, joint, and pose R (3, 3), p (3,) m of the joint in the parent link.
_Link = tuple[str, str | None, Joint, FloatArray, FloatArray]


def build_tree(
    skeleton: SkeletonDefinition,
    bodies: tuple[ScaledBody, ...],
    locked: frozenset[str],
    assumed: frozenset[str] = frozenset(),
) -> tuple[Multibody, tuple[Coordinate, ...], dict[str, BodyFrame], tuple[str, ...]]:
    """Build the tree, in which each joint is a chain of one-axis links; fixed rotations are included in the adjacent links.

    Segments without a free coordinate are part of the link of their parent. Coordinates in `assumed` have a link although they
    are locked. Returns the tree, its coordinates (with the assumed ones), the frame of every segment on a link, and the segments
    without a coordinate that is neither locked nor assumed.
    """
    chain = _Chain()
    locked_segments: list[str] = []
    load: dict[int, Inertia] = {}
    for body in bodies:
        definition = body.definition
        if not definition.parent:
            chain.add_base(definition.name)
        else:
            fitted = [
                s for s in definition.rotations
                if s.coordinate and s.coordinate not in locked and definition.name in skeleton.free
            ]  # fmt: skip
            chain.add_body(body, [s for s in definition.rotations if s in fitted or s.coordinate in assumed])
            if not fitted:
                locked_segments.append(definition.name)
        frame = chain.frames[definition.name]
        inertia = body.inertia.express_in_axes(frame.R_LB, frame.p_LB)
        load[frame.link] = load[frame.link] + inertia if frame.link in load else inertia

    loaded = []
    for i, (name, parent, joint, R, p) in enumerate(chain.links):
        inertia = load.get(i, ZERO_INERTIA)
        numbers = [np.asarray(a, np.float64).tobytes() for a in (R, p, inertia.com, inertia.tensor)]
        loaded.append(_build_link(name, parent, joint, inertia.mass, *numbers))
    tree = Multibody(tuple(loaded))
    # the tree may sort its bodies
    frames = {
        name: BodyFrame(tree.body_index(chain.links[frame.link][0]), frame.R_LB, frame.p_LB)
        for name, frame in chain.frames.items()
    }
    return tree, tuple(_build_coordinate(tree, *planned) for planned in chain.plan), frames, tuple(locked_segments)


class _Chain:
    """Builder of the chain of one-axis links.

    Attributes:
        links: links in order from the root. frames: anatomical frame of every segment on its link.
        plan: (coordinate name, link, segment, rotation) of every coordinate.
    """

    def __init__(self) -> None:
        self.links: list[_Link] = []
        self.frames: dict[str, BodyFrame] = {}
        self.plan: list[tuple[str, str, BodyDefinition, Rotation]] = []

    def add_base(self, name: str) -> None:
        """Add the floating base as the first link."""
        index = self._add_link(name, None, Joint("free"), np.eye(3), np.zeros(3))
        self.frames[name] = BodyFrame(index, np.eye(3), np.zeros(3))

    def add_body(self, body: ScaledBody, free: Sequence[Rotation]) -> None:
        """Add a segment: a link for each free rotation; fixed ones are included in the adjacent placements."""
        definition = body.definition
        base = self.frames[definition.parent]
        R, p, link = base.R_LB, base.R_LB @ body.p_PB + base.p_LB, base.link
        for step, angle in zip(definition.rotations, body.static_angles_rad, strict=True):
            if step not in free:
                R = R @ _fixed_rotation(axis_tuple(step.axis), float(angle))
                continue
            name = definition.name if step is free[-1] else f"{definition.name}:{step.coordinate}"
            link = self._add_link(name, link, _revolute_joint(axis_tuple(step.axis)), R, p)
            self.plan.append((str(step.coordinate), name, definition, step))
            R, p = np.eye(3), np.zeros(3)
        self.frames[definition.name] = BodyFrame(link, R, p)

    def _add_link(self, name: str, parent: int | None, joint: Joint, R: FloatArray, p: FloatArray) -> int:
        self.links.append((name, None if parent is None else self.links[parent][0], joint, R, p))
        return len(self.links) - 1


def _build_coordinate(
    tree: Multibody, name: str, link: str, definition: BodyDefinition, rotation: Rotation
) -> Coordinate:
    return Coordinate(
        name=name,
        joint=definition.joint,
        body=definition.name,
        side=definition.side,
        q_index=tree.q_slice(link).start,
        v_index=tree.v_slice(link).start,
        range_rad=rotation.range_rad,
        sd_rad=rotation.sd_rad,
    )


@lru_cache(maxsize=256)
def _revolute_joint(axis: tuple[float, float, float]) -> Joint:
    """Return a revolute joint (cached, because a trial builds the same joints thousands of times)."""
    return Joint("revolute", axis)


@lru_cache(maxsize=1024)
def _build_link(
    name: str, parent: str | None, joint: Joint, mass: float, R: bytes, p: bytes, com: bytes, tensor: bytes
) -> Body:
    """Return a link with mass from the bytes of its numbers (cached, because the models of a trial share most links)."""
    R_PJ, inertia = np.frombuffer(R).reshape(3, 3), np.frombuffer(tensor).reshape(3, 3)
    return Body(name, parent, joint, R_PJ, np.frombuffer(p), mass, np.frombuffer(com), inertia)


@lru_cache(maxsize=1024)
def _fixed_rotation(axis: tuple[float, float, float], angle: float) -> FloatArray:
    """Return a fixed rotation (cached, because most are the same in all models of a trial)."""
    return matrices_from_axis_angle(np.array(axis), angle)


def axis_tuple(vector: FloatArray) -> tuple[float, float, float]:
    """Return a vector (3,) as the tuple of floats that describes a joint axis."""
    return (float(vector[0]), float(vector[1]), float(vector[2]))
