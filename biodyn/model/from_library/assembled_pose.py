"""A standing person put together from the frames of a motion, where nobody stands still in any recording.

In every frame the recipes of the library place the segments, as they do in a static trial. What belongs to a segment is then
averaged in its own axes: where its markers sit, and where the joint to the next segment is. The averaged segments are put
together in an upright posture, each foot flat on the floor, and the markers on them are handed on as if they had been seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.transform import Rotation

from biodyn.conventions import BoolArray, FloatArray, IntArray
from biodyn.errors import StaticTrialError
from biodyn.geometry.rotations import cross3
from biodyn.model.from_library.motion_frames import Points, evenly, points_of, usable_frames
from biodyn.model.from_library.scaling import ScalingOptions, standing_pose
from biodyn.model.from_library.skeleton import BodyRecipe, SkeletonRecipe
from biodyn.model.marker_roles import MarkerMapping

_UP = np.array([0.0, 1.0, 0.0])
# Enough frames to average skin movement over a stride; more only cost time.
_FRAMES = 60
_FLAT_FRAMES = 20
#: A foot that was flat on the floor in fewer frames tells nothing of its sole.
LEAST_FLAT_FRAMES = 5
# Height of the hip over the ankle, as a share of the leg's length: 0.97 with the knee bent by 30 degrees, 0.6 sitting.
_UPRIGHT_SHARE = 0.95


@dataclass(frozen=True)
class AssembledPose:
    """A standing person from averaged segments.

    Attributes:
        points: (3,) m by label, in World axes; markers of segments that the motion places.
        frames: how many frames were averaged. flat_frames: by foot, how many of them show it flat on the floor.
        spread_m: typical distance of a marker from its mean place on its segment.
    """

    points: dict[str, FloatArray]
    frames: int
    flat_frames: dict[str, int]
    spread_m: float


@dataclass(frozen=True)
class _Segments:
    """Attitudes R (F, 3, 3) and origins p (F, 3) m of every segment in some frames, NaN where it is not placed."""

    R: dict[str, FloatArray]
    p: dict[str, FloatArray]


def assembled_pose(
    skeleton: SkeletonRecipe,
    mapping: MarkerMapping,
    labels: Sequence[str],
    positions: FloatArray,
    flat: Mapping[str, BoolArray],
    options: ScalingOptions,
) -> AssembledPose:
    """Return the standing person that the frames of a motion make.

    Parameters: `labels` (M,) and `positions` (T, M, 3) m in World; `flat`: by foot, frames (T,) in which it stands flat.
    Raises StaticTrialError where no frame shows the pelvis and a leg.
    """
    sampled, by_foot = _chosen(positions, flat)
    seen = points_of(labels, positions[sampled])
    segments = _placed(skeleton, mapping, seen, options)
    flat_of = {name: rows for name, rows in by_foot.items() if len(rows) >= LEAST_FLAT_FRAMES}
    if len(flat_of) < len(by_foot):
        # A foot that never stands flat: its heel-toe line is parallel to the sole.
        level = _placed(skeleton, mapping, seen, replace(options, foot_flat=False))
        for name in by_foot.keys() - flat_of.keys():
            segments.R[name], segments.p[name] = level.R[name], level.p[name]
    legs = _legs(skeleton, flat_of)
    attitudes = _attitudes(skeleton, segments, legs)
    for foot in by_foot:
        if foot in attitudes:
            _stand_on(skeleton, attitudes, foot)
    origins = _origins(skeleton, segments, attitudes)
    places = _places(mapping, labels, positions[sampled], segments, flat_of)
    points = {
        label: origins[body] + attitudes[body] @ place for label, (body, place, _) in places.items() if body in origins
    }
    spread = [spread for _, _, spread in places.values()]
    return AssembledPose(
        points=points,
        frames=len(sampled),
        flat_frames={name: len(rows) for name, rows in by_foot.items()},
        spread_m=float(np.median(spread)) if spread else float("nan"),
    )


def _chosen(positions: FloatArray, flat: Mapping[str, BoolArray]) -> tuple[IntArray, dict[str, IntArray]]:
    """Frames to look at, and by foot the rows among them in which it stands flat."""
    usable = usable_frames(positions)
    picked = {name: evenly(np.intersect1d(usable, np.flatnonzero(on)), _FLAT_FRAMES) for name, on in flat.items()}
    frames = np.unique(np.concatenate([evenly(usable, _FRAMES), *picked.values()]))
    return frames, {name: np.flatnonzero(np.isin(frames, own)) for name, own in picked.items()}


def _placed(
    skeleton: SkeletonRecipe, mapping: MarkerMapping, seen: Sequence[Points], options: ScalingOptions
) -> _Segments:
    R = {body.name: np.full((len(seen), 3, 3), np.nan) for body in skeleton.bodies}
    p = {body.name: np.full((len(seen), 3), np.nan) for body in skeleton.bodies}
    for row, points in enumerate(seen):
        try:
            pose = standing_pose(skeleton, mapping, points, options)
        except StaticTrialError:  # the pelvis is hidden in this frame
            continue
        for body in skeleton.bodies:
            if pose.located(body):
                R[body.name][row], p[body.name][row] = pose.pose(body)
    return _Segments(R, p)


def _legs(skeleton: SkeletonRecipe, flat_of: Mapping[str, IntArray]) -> dict[str, IntArray]:
    """By segment of a leg, the rows in which the leg stands on its flat foot."""
    rows: dict[str, IntArray] = {}
    for foot, own in flat_of.items():
        body = skeleton.body(foot)
        while body.parent:
            rows[body.name] = own
            body = skeleton.body(body.parent)
    return rows


def _attitudes(skeleton: SkeletonRecipe, segments: _Segments, legs: Mapping[str, IntArray]) -> dict[str, FloatArray]:
    """Mean attitude (3, 3) of every placed segment in World, the root facing along X."""
    root = skeleton.root.name
    level = np.array([_facing(R).T @ R for R in segments.R[root] if np.isfinite(R).all()])
    found = {root: _mean_rotation(level)}
    for body in skeleton.bodies[1:]:
        parent = _carrier(skeleton, body, found)
        relative = np.swapaxes(segments.R[parent], 1, 2) @ segments.R[body.name]
        rows = legs.get(body.name, np.arange(len(relative)))
        known = relative[rows][np.isfinite(relative[rows]).all(axis=(1, 2))]
        if not len(known):
            known = relative[np.isfinite(relative).all(axis=(1, 2))]
        if len(known):
            found[body.name] = found[parent] @ _mean_rotation(known)
    return found


def _carrier(skeleton: SkeletonRecipe, body: BodyRecipe, placed: Mapping[str, FloatArray]) -> str:
    """The nearest segment towards the root that is placed."""
    parent = body.parent
    while parent not in placed:
        parent = skeleton.body(parent).parent
    return parent


def _facing(R: FloatArray) -> FloatArray:
    """Axes (3, 3) of the direction that a segment faces: Y up, X its forward direction in the horizontal plane."""
    forward = R[:, 0] - _UP * R[1, 0]
    x = forward / np.linalg.norm(forward)
    return np.column_stack([x, _UP, np.cross(x, _UP)])


def _mean_rotation(R: FloatArray) -> FloatArray:
    return np.asarray(Rotation.from_matrix(R).mean().as_matrix())


def _stand_on(skeleton: SkeletonRecipe, attitudes: dict[str, FloatArray], foot: str) -> None:
    """Turn a whole leg as little as need be until its foot is flat on the floor."""
    up = attitudes[foot][:, 1]
    axis = cross3(up, _UP)
    sine = float(np.linalg.norm(axis))
    turn = Rotation.from_rotvec(axis / max(sine, 1e-12) * np.arctan2(sine, float(up @ _UP))).as_matrix()
    body = skeleton.body(foot)
    while body.parent:
        attitudes[body.name] = turn @ attitudes[body.name]
        body = skeleton.body(body.parent)


def _origins(
    skeleton: SkeletonRecipe, segments: _Segments, attitudes: Mapping[str, FloatArray]
) -> dict[str, FloatArray]:
    """Origin (3,) m of every placed segment: each at its middle place on the segment that carries it."""
    origins = {skeleton.root.name: _UP}
    for body in skeleton.bodies[1:]:
        if body.name not in attitudes:
            continue
        parent = _carrier(skeleton, body, origins)
        offset = segments.p[body.name] - segments.p[parent]
        local = np.einsum("fji,fj->fi", segments.R[parent], offset)
        origins[body.name] = origins[parent] + attitudes[parent] @ np.nanmedian(local, axis=0)
    return origins


def _places(
    mapping: MarkerMapping,
    labels: Sequence[str],
    positions: FloatArray,
    segments: _Segments,
    flat_of: Mapping[str, IntArray],
) -> dict[str, tuple[str, FloatArray, float]]:
    """By label: its segment, its middle place (3,) m on it, and how far from there it typically is, m."""
    places = {}
    for role in mapping.roles:
        if role.label not in labels:
            continue
        rows = flat_of.get(role.body, np.arange(len(positions)))
        offset = positions[rows, labels.index(role.label)] - segments.p[role.body][rows]
        local = np.einsum("fji,fj->fi", segments.R[role.body][rows], offset)
        local = local[np.isfinite(local).all(axis=1)]
        if len(local):
            place = np.median(local, axis=0)
            spread = float(np.sqrt(np.mean(np.sum((local - place) ** 2, axis=1))))
            places[role.label] = (role.body, place, spread)
    return places


def stands_upright(
    skeleton: SkeletonRecipe, mapping: MarkerMapping, points: Mapping[str, FloatArray], options: ScalingOptions
) -> bool:
    """Return whether the legs of a person at rest are straight and upright: whether it stands, and does not sit or crouch."""
    try:
        pose = standing_pose(skeleton, mapping, points, options)
    except StaticTrialError:
        return False
    legs = [body for body in skeleton.bodies if body.sole is not None]
    for foot in legs:
        shank = skeleton.body(foot.parent)
        thigh = skeleton.body(shank.parent)
        if not all(pose.located(body) for body in (foot, shank, thigh)):
            return False
        ankle, knee, hip = (pose.pose(body)[1] for body in (foot, shank, thigh))
        length = np.linalg.norm(hip - knee) + np.linalg.norm(knee - ankle)
        if (hip - ankle)[1] < _UPRIGHT_SHARE * length:
            return False
    return True
