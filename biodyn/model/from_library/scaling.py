"""From a static trial to the subject's own skeleton: joint centres, segment axes, marker places, inertias."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from biodyn.conventions import SIDE_NAMES, FloatArray, Side
from biodyn.diagnostics import Diagnostic
from biodyn.errors import MarkerSetError
from biodyn.geometry.rotations import cross
from biodyn.library.tables import sided_rows
from biodyn.model.assembly import ScaledBody
from biodyn.model.body_model import (
    PLACED_WHILE_STANDING,
    AttachedMarker,
    InnerCentre,
    SubjectModel,
    body_model,
    inside_note,
)
from biodyn.model.from_library.anthropometry import Sex, segment_inertias, segment_lines
from biodyn.model.from_library.hip_centre import FunctionalTrial
from biodyn.model.from_library.landmarks import StaticPose
from biodyn.model.from_library.scaling_notes import assumptions, doubtful_person, given_measures, not_in_walk
from biodyn.model.from_library.skeleton import BodyRecipe, SkeletonRecipe, definition_of
from biodyn.model.marker_roles import MarkerMapping
from biodyn.model.observability import without_unseen
from biodyn.model.skeleton import Inertia, SkeletonDefinition, static_angles


def points_inside(
    labels: Sequence[str], static_points: Mapping[str, FloatArray], pose: StaticPose
) -> tuple[frozenset[str], list[Diagnostic]]:
    """Return those of the labels whose static points (3,) m lie at a joint centre, and a Diagnostic for each.

    Asked of labels that no marker set explains: joint centres of the laboratory's own software carry any name.
    """
    inside: list[str] = []
    notes: list[Diagnostic] = []
    centres: list[tuple[str, FloatArray, float]] = []
    for _, entry in sided_rows("body/inside_body", "centre"):
        place = pose.measured(entry["landmark"])
        if place is not None:
            centres.append((entry["title"], place, entry["share_of_height"] * pose.height_m))
    for label in labels:
        if label not in static_points:
            continue
        near = [(float(np.linalg.norm(static_points[label] - p)), limit, title) for title, p, limit in centres]
        deep = [entry for entry in near if entry[0] < entry[1]]
        if not deep:
            continue
        distance, limit, title = min(deep)
        inside.append(label)
        notes.append(inside_note(label, distance, limit, title))
    return frozenset(inside), notes


def inner_centres(pose: StaticPose) -> dict[str, InnerCentre]:
    """Return by segment the joint centre at its origin, where the library says how deep inside the body it lies."""
    rows = {entry["landmark"]: entry for _, entry in sided_rows("body/inside_body", "centre")}
    return {
        body.name: InnerCentre(rows[body.origin]["title"], rows[body.origin]["share_of_height"] * pose.height_m)
        for body in pose.skeleton.bodies
        if body.origin in rows
    }


_NEEDED = "Joint torques of a leg need markers on pelvis, thigh, shank and foot; see 'biodyn check FILE.c3d'."


def with_seen_legs(
    model: SubjectModel, pose: StaticPose, markers: Sequence[AttachedMarker], tracked: Collection[str]
) -> tuple[SubjectModel, list[Diagnostic]]:
    """Return the model, with an unknown sole for a leg that the markers do not place, and a warning that names it.

    A thigh or shank without markers has a stiff joint: the torques of that whole leg would be wrong, not only unknown. With
    its sole unknown no contact is given to it, its joints have no torque, and neither has the body as a whole a residual;
    the other leg is computed from its own foot upwards and needs nothing of this one.

    Parameters: `pose` of the static trial; `markers` that it places; `tracked` labels seen in the walk.
    Raises MarkerSetError where no leg is placed.
    """
    moving = {body.definition.name for body in model.moving}
    lost: dict[Side, list[str]] = {}
    for side, carrier in model.sole_body.items():
        stiff = [name for name in _chain(model.skeleton, carrier) if name not in moving]
        if stiff:
            lost[side] = stiff  # type: ignore[index]
    if not lost:
        return model, []
    if len(lost) == len(model.sole_body):
        names = [name for stiff in lost.values() for name in stiff]
        raise MarkerSetError(
            f"The markers do not place {', '.join(names)} in both the static trial and the walk"
            f"{_what_lacks(names, pose, markers, tracked)}.",
            _NEEDED,
        )
    outlines = {s: np.full_like(o, np.nan) if s in lost else o for s, o in model.foot_outlines.items()}
    notes = [
        Diagnostic(
            "leg-not-seen",
            "warning",
            f"The markers do not place {', '.join(stiff)} in both the static trial and the walk"
            f"{_what_lacks(stiff, pose, markers, tracked)}. No torques of the {SIDE_NAMES[side]} leg, "
            "and no residual of the whole body. The other leg is analysed by itself.",
            hint=_NEEDED,
            about=SIDE_NAMES[side],
        )
        for side, stiff in lost.items()
    ]
    return replace(model, foot_outlines=outlines), notes


def _what_lacks(
    lost: Sequence[str], pose: StaticPose, markers: Sequence[AttachedMarker], tracked: Collection[str]
) -> str:
    """What would place the lost segments: markers that the walk lacks, landmarks that the static trial does not show."""
    gone = [marker.label for marker in markers if marker.body in lost and marker.label not in tracked]
    unseen = [name for body in lost for name in pose.lacking(pose.skeleton.body(body))]
    told = [f"the walk lacks {', '.join(dict.fromkeys(gone))}"] if gone else []
    told += [f"the static trial does not show {', '.join(dict.fromkeys(unseen))}"] if unseen else []
    return f": {'; '.join(told)}" if told else ""


def _chain(skeleton: SkeletonDefinition, name: str) -> list[str]:
    """Names of the segments from the root's child to `name`."""
    chain = []
    body = skeleton.body(name)
    while body.parent:
        chain.append(body.name)
        body = skeleton.body(body.parent)
    return chain[::-1]


# Skin is never farther from its segment's middle line; a marker that is sits on no segment.
_LARGEST_GIRTH_M = 0.2
_UNKNOWN_WEIGHT = 0.3


def attached_by_role(
    mapping: MarkerMapping, static_points: Mapping[str, FloatArray], pose: StaticPose
) -> tuple[AttachedMarker, ...]:
    """Attach the markers of the set to their segments; static_points: label -> (3,) m in World."""
    attached = []
    for role in mapping.roles:
        body = pose.skeleton.body(role.body)
        point = static_points.get(role.label)
        if point is None and role.landmark:
            point = pose.measured(role.landmark)  # e.g. the knee marker an alignment device stands in for
        if point is None or role.weight <= 0.0 or not pose.located(body):
            continue
        R_WB, p_WB = pose.pose(body)
        attached.append(AttachedMarker(role.label, role.body, R_WB.T @ (point - p_WB), role.weight))
    return tuple(attached)


def attached_by_place(
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


# The sole's half breadth, as a share of the foot's width, at shares of its length from the heel.
_SOLE_SHAPE = ((0.0, 0.3), (0.15, 0.35), (0.7, 0.5), (1.0, 0.3))


def foot_outlines(pose: StaticPose) -> tuple[dict[str, FloatArray], dict[str, str]]:
    """Return by side the outline (K, 3) m of the sole in the axes of the segment that has it, and that segment."""
    outlines: dict[str, FloatArray] = {}
    carriers: dict[str, str] = {}
    for body in pose.skeleton.bodies:
        if body.sole is None:
            continue
        back, front = pose.landmark(body.sole.back), pose.landmark(body.sole.front)
        width = pose.measure(body.sole.width)
        along = (front - back) * (1.0, 0.0, 1.0)
        across = cross(along / np.linalg.norm(along), (0.0, 1.0, 0.0))
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


_SHOWN = 12


@dataclass(frozen=True)
class ScalingOptions:
    """What scaling needs from the settings and the subject.

    `functional_trials`: by side, for hip centres found from movement; `joint_offsets_rad`: by name, how far the wands sit off
    their joints' planes; empty where the static trial itself is to tell. `given`: those `measures` that the user gives, by name,
    and what the files say in their place (m; None: nothing).
    """

    mass_kg: float
    height_m: float | None
    sex: Sex
    measures: Mapping[str, float]
    anthropometry: str
    hip_centre: str
    marker_radius_m: float
    foot_flat: bool
    functional_trials: Mapping[str, FunctionalTrial] = field(default_factory=dict)
    joint_offsets_rad: Mapping[str, float] = field(default_factory=dict)
    given: Mapping[str, float | None] = field(default_factory=dict)


def scale(
    skeleton: SkeletonRecipe,
    mapping: MarkerMapping,
    static_points: Mapping[str, FloatArray],
    tracked: frozenset[str],
    options: ScalingOptions,
    turns_rad: Mapping[str, float] | None = None,
    known: Mapping[str, tuple[FloatArray, FloatArray]] | None = None,
) -> tuple[SubjectModel, list[Diagnostic]]:
    """Return the subject's model and what had to be assumed.

    Parameters:
        static_points: label -> (3,) m in World, markers seen in the static trial (at rest, averaged).
        tracked: labels seen in the walk; they decide which coordinates can be seen at all.
        turns_rad: by segment, turn of its axes about its long axis against what the landmarks give.
        known: by segment, R_WB (3, 3) and joint centre p_WB (3,) m in World that take the place of what the recipes give.
    """
    pose = standing_pose(skeleton, mapping, static_points, options, turns_rad, known)
    inertias = segment_inertias(options.anthropometry, pose, options.mass_kg, options.sex)
    bodies = tuple(_scaled(skeleton, pose, body, inertias) for body in skeleton.bodies)
    markers = attached_by_role(mapping, static_points, pose)
    inside, inside_notes = points_inside(mapping.unknown, static_points, pose)
    outside = [label for label in mapping.unknown if label not in inside]
    markers += attached_by_place(outside, static_points, pose, segment_lines(options.anthropometry, pose))
    outlines, sole_body = foot_outlines(pose)
    _require_markers(markers, static_points, tracked)
    model = body_model(
        definition_of(skeleton),
        bodies,
        frozenset(c for body in bodies if not body.located for c in body.definition.coordinates),
        mass_kg=options.mass_kg,
        height_m=pose.height_m,
        sex=options.sex,
        markers=tuple(marker for marker in markers if marker.label in tracked),
        foot_outlines=outlines,
        sole_body=sole_body,
    )
    model = without_unseen(model, *pose.pose(skeleton.root))
    model, leg_notes = with_seen_legs(model, pose, markers, tracked)
    notes = inside_notes + leg_notes + not_in_walk(mapping, markers, tracked) + assumptions(model, pose)
    notes += given_measures(pose, options.given) + doubtful_person(pose, options.given)
    model = replace(
        model,
        computed_points=inside,
        inner_centres=inner_centres(pose),
        refined_centres=frozenset(body.name for body in skeleton.bodies if body.refined_centre),
        uncertain_turns=_uncertain_turns(skeleton, model, mapping, static_points),
    )
    return model, notes


def standing_pose(
    skeleton: SkeletonRecipe,
    mapping: MarkerMapping,
    points: Mapping[str, FloatArray],
    options: ScalingOptions,
    turns_rad: Mapping[str, float] | None = None,
    known: Mapping[str, tuple[FloatArray, FloatArray]] | None = None,
) -> StaticPose:
    """Return where landmarks and segments are with the markers at `points`, label -> (3,) m in World; as `scale`."""
    landmarks = {role.landmark: points[role.label] for role in mapping.roles if role.landmark and role.label in points}
    return StaticPose(
        skeleton,
        landmarks,
        options.measures,
        options.height_m,
        options.hip_centre,
        options.marker_radius_m,
        options.foot_flat,
        turns_rad,
        options.functional_trials,
        options.joint_offsets_rad,
        known,
    )


def _scaled(
    skeleton: SkeletonRecipe, pose: StaticPose, recipe: BodyRecipe, inertias: Mapping[str, Inertia]
) -> ScaledBody:
    definition, inertia = recipe.definition, inertias[recipe.name]
    R_WB, p_WB = pose.pose(recipe)
    if not recipe.parent:
        return ScaledBody(definition, R_WB, p_WB, inertia, (), True)
    R_WP, p_WP = pose.pose(skeleton.body(recipe.parent))
    R_PB = R_WP.T @ R_WB
    p_PB = R_WP.T @ (p_WB - p_WP)
    return ScaledBody(definition, R_PB, p_PB, inertia, static_angles(definition, R_PB), pose.located(recipe))


def _require_markers(
    markers: Sequence[AttachedMarker], static_labels: Collection[str], tracked: Collection[str]
) -> None:
    """Raise MarkerSetError where no marker that the static trial places on the body is seen in the walk."""
    if any(marker.label in tracked for marker in markers):
        return
    there, here = (", ".join(sorted(labels)[:_SHOWN]) or "none" for labels in (static_labels, tracked))
    raise MarkerSetError(
        f"No marker that the static trial places on the body is seen in the walk (static trial: {there}; walk: {here}).",
        "Name the static trial of this walk with --static, and label both with one marker set.",
    )


def _uncertain_turns(
    skeleton: SkeletonRecipe, model: SubjectModel, mapping: MarkerMapping, static_labels: Collection[str]
) -> dict[str, str]:
    """Segments whose axes' direction about the long axis rests on a skin wand: {segment: its hinge coordinate}."""
    measured = {role.landmark for role in mapping.roles if role.label in static_labels}
    free = {coordinate.name for coordinate in model.coordinates}
    return {
        body.name: body.turn.coordinate
        for body in skeleton.bodies
        if body.turn is not None and body.turn.coordinate in free and not measured.intersection(body.turn.known_from)
    }


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
