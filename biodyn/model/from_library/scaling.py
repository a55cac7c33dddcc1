"""From a static trial to the subject's own skeleton: joint centres, segment axes, marker places, inertias."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import MarkerSetError
from biodyn.model.assembly import ScaledBody
from biodyn.model.body_model import AttachedMarker, SubjectModel, body_model
from biodyn.model.from_library.anthropometry import Sex, segment_inertias, segment_lines
from biodyn.model.from_library.hip_centre import FunctionalTrial
from biodyn.model.from_library.inside_body import inner_centres, points_inside
from biodyn.model.from_library.landmarks import StaticPose
from biodyn.model.from_library.legs import with_seen_legs
from biodyn.model.from_library.marker_places import attached_by_place, attached_by_role
from biodyn.model.from_library.scaling_notes import assumptions, doubtful_person, given_measures, not_in_walk
from biodyn.model.from_library.skeleton import BodyRecipe, SkeletonRecipe, definition_of
from biodyn.model.from_library.sole import foot_outlines
from biodyn.model.inertia import Inertia
from biodyn.model.marker_roles import MarkerMapping
from biodyn.model.observability import without_unseen
from biodyn.model.skeleton import static_angles

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
