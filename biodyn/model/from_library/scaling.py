"""From a static trial to the subject's own skeleton: joint centres, segment axes, marker places, inertias."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from biodyn.conventions import SIDES, FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import MarkerSetError
from biodyn.geometry.rotations import cardan_zxy
from biodyn.model.body_model import AttachedMarker, ScaledBody, SubjectModel, assemble
from biodyn.model.from_library.anthropometry import Inertia, Sex, segment_inertias, segment_lines
from biodyn.model.from_library.inside_body import points_inside
from biodyn.model.from_library.landmarks import StaticPose
from biodyn.model.from_library.markersets import MarkerMapping
from biodyn.model.from_library.skeleton import BodyDefinition, SkeletonDefinition
from biodyn.model.observability import LEAST_LEVER_M, levers

_PRINCIPAL = {"z": 0, "x": 1, "y": 2}  # order of cardan_zxy
# Skin is never farther from its segment's middle line; a marker that is sits on no segment.
_LARGEST_GIRTH_M = 0.2
_UNKNOWN_WEIGHT = 0.3
# Three markers fix a segment by themselves.
_ENOUGH_MARKERS = 3
PLACED_WHILE_STANDING = "its place while standing"
# The sole's half breadth, as a share of the foot's width, at shares of its length from the heel.
_SOLE_SHAPE = ((0.0, 0.3), (0.15, 0.35), (0.7, 0.5), (1.0, 0.3))


@dataclass(frozen=True)
class ScalingOptions:
    """What scaling needs from the settings and the subject."""

    mass_kg: float
    height_m: float | None
    sex: Sex
    measures: Mapping[str, float]
    anthropometry: str
    hip_centre: str
    marker_radius_m: float
    foot_flat: bool


def scale(
    skeleton: SkeletonDefinition,
    mapping: MarkerMapping,
    static_points: Mapping[str, FloatArray],
    tracked: frozenset[str],
    options: ScalingOptions,
    turns_rad: Mapping[str, float] | None = None,
) -> tuple[SubjectModel, list[Diagnostic]]:
    """Return the subject's model and what had to be assumed.

    Parameters:
        static_points: label -> (3,) m in World, markers seen in the static trial (at rest, averaged).
        tracked: labels seen in the walk; they decide which coordinates can be seen at all.
        turns_rad: by segment, turn of its axes about its long axis against what the landmarks give.
    """
    landmarks = {
        role.landmark: static_points[role.label]
        for role in mapping.roles
        if role.landmark and role.label in static_points
    }
    pose = StaticPose(
        skeleton,
        landmarks,
        options.measures,
        options.height_m,
        options.hip_centre,
        options.marker_radius_m,
        options.foot_flat,
        turns_rad,
    )
    inertias = segment_inertias(options.anthropometry, pose, options.mass_kg, options.sex)
    bodies = tuple(_scaled(skeleton, pose, index, inertias) for index in range(len(skeleton.bodies)))
    markers = _attached(skeleton, mapping, static_points, pose)
    inside, inside_notes = points_inside(mapping.unknown, static_points, pose)
    outside = [label for label in mapping.unknown if label not in inside]
    markers += _attached_by_place(outside, static_points, pose, segment_lines(options.anthropometry, pose))
    seen = tuple(marker for marker in markers if marker.label in tracked)
    locked = frozenset(
        step.coordinate
        for body in bodies
        if not body.located
        for step in body.definition.rotations
        if step.coordinate is not None
    )
    model = _model(skeleton, bodies, locked, seen, options, pose)
    while True:
        unseen = _least_seen(model, *pose.pose(skeleton.root))
        if unseen is None:
            break
        locked = locked | {unseen}
        model = _model(skeleton, bodies, locked, seen, options, pose)
    _require_legs(model)
    notes = inside_notes + _not_in_walk(mapping, markers, tracked) + _notes(model, pose)
    return replace(model, computed_points=inside), notes


def _scaled(skeleton: SkeletonDefinition, pose: StaticPose, index: int, inertias: Mapping[str, Inertia]) -> ScaledBody:
    definition = skeleton.bodies[index]
    R_WB, p_WB = pose.pose(definition)
    if not definition.parent:
        return ScaledBody(definition, R_WB, p_WB, inertias[definition.name], (), True)
    R_WP, p_WP = pose.pose(skeleton.body(definition.parent))
    R_PB = R_WP.T @ R_WB
    return ScaledBody(
        definition,
        R_PB,
        R_WP.T @ (p_WB - p_WP),
        inertias[definition.name],
        static_angles(definition, R_PB),
        pose.located(definition),
    )


def static_angles(definition: BodyDefinition, R_PB: FloatArray) -> tuple[float, ...]:
    """Return the angle of each step of a joint's rotation sequence, rad, for the segment's attitude in its parent."""
    found = cardan_zxy(R_PB)
    angles = []
    for step in definition.rotations:
        if step.principal is None:
            angles.append(0.0)  # its zero is the static posture
        else:
            axis_sign = step.axis[{"x": 0, "y": 1, "z": 2}[step.principal]]
            angles.append(float(found[_PRINCIPAL[step.principal]] * axis_sign))
    return tuple(angles)


def _attached(
    skeleton: SkeletonDefinition, mapping: MarkerMapping, static_points: Mapping[str, FloatArray], pose: StaticPose
) -> tuple[AttachedMarker, ...]:
    attached = []
    for role in mapping.roles:
        body = skeleton.body(role.body)
        point = static_points.get(role.label)
        if point is None and role.landmark:
            point = pose.measured(role.landmark)  # e.g. the knee marker an alignment device stands in for
        if point is None or role.weight <= 0.0 or not pose.located(body):
            continue
        R_WB, p_WB = pose.pose(body)
        attached.append(AttachedMarker(role.label, role.body, R_WB.T @ (point - p_WB), role.weight))
    return tuple(attached)


def _attached_by_place(
    unknown: Sequence[str],
    static_points: Mapping[str, FloatArray],
    pose: StaticPose,
    lines: list[tuple[str, FloatArray, FloatArray]],
) -> tuple[AttachedMarker, ...]:
    """Attach markers whose labels say nothing (clusters, a laboratory's own) to the segment they sit on while standing."""
    attached = []
    located = [line for line in lines if pose.located(pose.skeleton.body(line[0]))]
    for label in unknown:
        if label not in static_points:
            continue
        point = static_points[label]
        distance, name = min((_distance(point, start, end), body) for body, start, end in located)
        if distance <= _LARGEST_GIRTH_M:
            R_WB, p_WB = pose.pose(pose.skeleton.body(name))
            attached.append(
                AttachedMarker(label, name, R_WB.T @ (point - p_WB), _UNKNOWN_WEIGHT, PLACED_WHILE_STANDING)
            )
    return tuple(attached)


def _distance(point: FloatArray, start: FloatArray, end: FloatArray) -> float:
    along = end - start
    share = float(np.clip((point - start) @ along / (along @ along), 0.0, 1.0))
    return float(np.linalg.norm(point - start - share * along))


def _model(
    skeleton: SkeletonDefinition,
    bodies: tuple[ScaledBody, ...],
    locked: frozenset[str],
    markers: tuple[AttachedMarker, ...],
    options: ScalingOptions,
    pose: StaticPose,
) -> SubjectModel:
    multibody, coordinates, frames, locked_segments = assemble(skeleton, bodies, locked)
    foot_outlines, sole_body = _foot_outlines(skeleton, pose)
    free = {coordinate.name for coordinate in coordinates}
    held = tuple(
        step.coordinate
        for body in bodies
        for step in body.definition.rotations
        if step.coordinate is not None and step.coordinate not in free
    )
    return SubjectModel(
        skeleton=skeleton,
        mass_kg=options.mass_kg,
        height_m=pose.height_m,
        sex=options.sex,
        bodies=bodies,
        coordinates=coordinates,
        locked=held,
        locked_segments=locked_segments,
        frames=frames,
        multibody=multibody,
        markers=markers,
        foot_outlines=foot_outlines,
        sole_body=sole_body,
    )


def _least_seen(model: SubjectModel, R_WB: FloatArray, p_WB: FloatArray) -> str | None:
    """Name of a coordinate that the markers do not see in the static posture, None if they see all."""
    if not model.coordinates:
        return None
    lever = levers(model, model.static_configuration(R_WB, p_WB)[None])[0]
    blind = np.flatnonzero(lever < LEAST_LEVER_M)
    # Of several that share one blind direction, the one farthest from the root is given up.
    return model.coordinates[blind[-1]].name if len(blind) else None


def _foot_outlines(skeleton: SkeletonDefinition, pose: StaticPose) -> tuple[dict[str, FloatArray], dict[str, str]]:
    outlines: dict[str, FloatArray] = {}
    carriers: dict[str, str] = {}
    for body in skeleton.bodies:
        if body.sole is None:
            continue
        back, front = pose.landmark(body.sole.back), pose.landmark(body.sole.front)
        width = pose.measure(body.sole.width)
        along = (front - back) * (1.0, 0.0, 1.0)
        across = np.cross(along / np.linalg.norm(along), (0.0, 1.0, 0.0))
        # The floor is a marker's diameter below the lower of both end markers.
        floor = min(back[1], front[1]) - 2.0 * pose.marker_radius_m
        rows = []
        for sign, shares in ((-1.0, _SOLE_SHAPE), (1.0, _SOLE_SHAPE[::-1])):  # around the sole, heel - toes - heel
            for share, breadth in shares:
                point = back + share * along + sign * breadth * width * across
                rows.append(np.array([point[0], floor, point[2]]))
        R_WB, p_WB = pose.pose(body)
        outlines[body.side] = (np.array(rows) - p_WB) @ R_WB
        carriers[body.side] = body.name
    return outlines, carriers


def _require_legs(model: SubjectModel) -> None:
    moving = {body.definition.name for body in model.moving}
    for side in SIDES:
        carrier = model.sole_body.get(side)
        # A thigh or shank without markers has a stiff joint: the torques of the whole leg would be wrong, not only unknown.
        lost = ", ".join(name for name in _chain(model, carrier) if name not in moving) if carrier is not None else ""
        if lost:
            raise MarkerSetError(
                f"The markers do not place {lost} in both the static trial and the walk.",
                "Joint torques of a leg need markers on pelvis, thigh, shank and foot; see 'biodyn check FILE.c3d'.",
            )


def _not_in_walk(
    mapping: MarkerMapping, markers: tuple[AttachedMarker, ...], tracked: frozenset[str]
) -> list[Diagnostic]:
    """Markers that the set expects in the walk and that are missing there, one finding per segment.

    Not expected are markers meant for the static trial alone, labels the set does not know, and landmarks whose marker is
    missing on both sides alike: those were taken off on purpose. A segment that keeps enough other markers is placed by
    them: said, no more.
    """
    kept = Counter(marker.body for marker in markers if marker.label in tracked)
    gone = {role.landmark for role in mapping.roles if role.label not in tracked}
    expected = {
        role.label for role in mapping.roles if not role.static_only and not _pair_of_sides(role.landmark) <= gone
    }
    lacking: dict[str, list[str]] = {}
    for marker in markers:
        if marker.label in expected and marker.label not in tracked:
            lacking.setdefault(marker.body, []).append(marker.label)
    return [
        Diagnostic(
            "marker-not-in-walk",
            "warning" if kept[body] < _ENOUGH_MARKERS else "info",
            f"{', '.join(labels)} of {body}: in the static trial, but not in the walk or for less than half of its time; "
            f"{kept[body] or 'no'} other {'marker places' if kept[body] == 1 else 'markers place'} the segment.",
            value=float(kept[body]),
            limit=float(_ENOUGH_MARKERS),
            hint="Label the marker in the walk, if it was there." if kept[body] < _ENOUGH_MARKERS else "",
            about=body,
        )
        for body, labels in lacking.items()
    ]


def _pair_of_sides(landmark: str) -> set[str]:
    """A landmark and the one of the other side; for one of the midline or without a name, something nothing holds."""
    stem, _, side = landmark.rpartition("_")
    return {f"{stem}_{each}" for each in SIDES} if side in SIDES else {""}


def _chain(model: SubjectModel, name: str) -> list[str]:
    """Names of the segments from the root's child to `name`."""
    chain = []
    body = model.skeleton.body(name)
    while body.parent:
        chain.append(body.name)
        body = model.skeleton.body(body.parent)
    return chain[::-1]


def _notes(model: SubjectModel, pose: StaticPose) -> list[Diagnostic]:
    notes = []
    alone = [
        step.coordinate
        for body in model.moving
        for step in body.definition.rotations
        if step.coordinate in model.locked
    ]
    if model.locked_segments:
        notes.append(
            Diagnostic(
                "carried-segments",
                "info",
                f"No markers on {', '.join(model.locked_segments)}: fixed to their parent segment, with their mass.",
            )
        )
    if alone:
        notes.append(
            Diagnostic(
                "locked-coordinates",
                "info",
                f"No marker information on {', '.join(str(name) for name in alone)}: fixed at the static value.",
            )
        )
    for name, value in pose.assumed.items():
        notes.append(
            Diagnostic(
                "assumed-measure",
                "info" if name.startswith("foot_width") else "warning",
                f"{name} is not in the file: {1000 * value:.0f} mm was taken from body height.",
                value=value,
                unit="m",
                hint="Store it in the C3D file's parameters, or add medial markers to the static trial.",
            )
        )
    if pose.height_estimated:
        notes.append(
            Diagnostic(
                "height-estimated",
                "info",
                f"Body height was estimated from the legs: {pose.height_m:.2f} m.",
                value=pose.height_m,
                unit="m",
                hint="Give it with --height.",
            )
        )
    return notes


def uncertain_turns(model: SubjectModel, mapping: MarkerMapping, static_labels: frozenset[str]) -> dict[str, str]:
    """Segments whose axes' direction about the long axis rests on a skin wand: {segment: its hinge coordinate}."""
    measured = {role.landmark for role in mapping.roles if role.label in static_labels}
    free = {coordinate.name for coordinate in model.coordinates}
    return {
        body.name: body.turn.coordinate
        for body in model.skeleton.bodies
        if body.turn is not None and body.turn.coordinate in free and not measured.intersection(body.turn.known_from)
    }


def with_centre_refinement(model: SubjectModel) -> tuple[SubjectModel, dict[str, tuple[int, ...]]]:
    """Return a model whose uncertain joint centres may slide, and the velocity indices (x, y, z) of each slide.

    Centres are refined only where the segment and its parent both carry markers.
    """
    marked = {marker.body for marker in model.markers}
    names = [
        body.definition.name
        for body in model.moving
        if body.definition.refined_centre and body.definition.name in marked and body.definition.parent in marked
    ]
    multibody, coordinates, frames, locked_segments = assemble(
        model.skeleton, model.bodies, frozenset(model.locked), frozenset(names)
    )
    refined = replace(
        model, multibody=multibody, coordinates=coordinates, frames=frames, locked_segments=locked_segments
    )
    return refined, {name: tuple(multibody.v_slice(f"{name}:{axis}").start for axis in "xyz") for name in names}


def with_moved_centres(model: SubjectModel, shifts_m: Mapping[str, FloatArray]) -> SubjectModel:
    """Return the model with joint centres moved by (3,) m in the parent's axes; the segment moves with its joint."""
    bodies = tuple(
        replace(body, p_PB=body.p_PB + shifts_m[body.definition.name]) if body.definition.name in shifts_m else body
        for body in model.bodies
    )
    return _with_bodies(model, bodies)


def with_mass(model: SubjectModel, mass_kg: float) -> SubjectModel:
    """Return the model with another body mass: every segment's mass and inertia in proportion."""
    factor = mass_kg / model.mass_kg
    inertias = {
        body.definition.name: Inertia(body.inertia.mass * factor, body.inertia.com, body.inertia.tensor * factor)
        for body in model.bodies
    }
    return replace(with_inertias(model, inertias), mass_kg=mass_kg)


def with_inertias(model: SubjectModel, inertias: Mapping[str, Inertia]) -> SubjectModel:
    """Return the model with other inertias of the named segments, in their own axes."""
    bodies = tuple(replace(b, inertia=inertias.get(b.definition.name, b.inertia)) for b in model.bodies)
    return _with_bodies(model, bodies)


def _with_bodies(model: SubjectModel, bodies: tuple[ScaledBody, ...]) -> SubjectModel:
    """The model with its tree assembled anew from changed segments."""
    multibody, coordinates, frames, locked_segments = assemble(model.skeleton, bodies, frozenset(model.locked))
    return replace(
        model,
        bodies=bodies,
        multibody=multibody,
        coordinates=coordinates,
        frames=frames,
        locked_segments=locked_segments,
    )
