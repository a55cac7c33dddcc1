"""Scaling of a skeleton to the subject from a static trial: joint centres, segment axes, marker positions, inertias."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from biodyn.conventions import SIDE_NAMES, FloatArray, Side
from biodyn.diagnostics import Diagnostic
from biodyn.errors import MarkerSetError
from biodyn.geometry.rotations import cross
from biodyn.library.tables import segment_title, sided_rows
from biodyn.model.assembly import ScaledBody
from biodyn.model.body_model import (
    PLACED_WHILE_STANDING,
    AttachedMarker,
    SubjectModel,
    assemble_model,
    joint_centre_note,
)
from biodyn.model.from_library.anthropometry import Sex, segment_end_points, segment_inertias
from biodyn.model.from_library.scaling_notes import (
    assumption_notes,
    given_measure_notes,
    implausible_size_notes,
    missing_marker_notes,
)
from biodyn.model.from_library.skeleton_recipes import BodyRecipe, SkeletonRecipe, without_recipes
from biodyn.model.from_library.static_pose import StaticPose
from biodyn.model.marker_roles import MarkerMapping
from biodyn.model.observability import lock_unobservable
from biodyn.model.skeleton import Inertia, static_angles


def find_joint_centre_points(
    labels: Sequence[str], static_points: Mapping[str, FloatArray], pose: StaticPose
) -> tuple[frozenset[str], list[Diagnostic]]:
    """Return the labels with static points (3,) m at a joint centre, and a finding for each.

    This applies to labels outside the marker set, because joint centres computed by other software may have any name.
    """
    notes: dict[str, Diagnostic] = {}
    centres: list[tuple[FloatArray, float, str]] = []
    for _, entry in sided_rows("body/inside_body", "centre"):
        centre = pose.measured_position(entry["landmark"])
        if centre is not None:
            centres.append((centre, entry["share_of_height"] * pose.height_m, entry["title"]))
    for label in labels:
        if label in static_points:
            near = [(float(np.linalg.norm(static_points[label] - p)), radius, title) for p, radius, title in centres]
            inside = [entry for entry in near if entry[0] < entry[1]]
            if inside:
                notes[label] = joint_centre_note(label, *min(inside))
    return frozenset(notes), list(notes.values())


def joint_centre_zones(pose: StaticPose) -> dict[str, tuple[str, float]]:
    """Return for each segment the title of the joint centre at its origin, and the radius (m) without skin markers."""
    rows = {entry["landmark"]: entry for _, entry in sided_rows("body/inside_body", "centre")}
    return {
        body.name: (rows[body.origin]["title"], rows[body.origin]["share_of_height"] * pose.height_m)
        for body in pose.skeleton.bodies
        if body.origin in rows
    }


def without_unseen_legs(
    model: SubjectModel, pose: StaticPose, markers: Sequence[AttachedMarker], tracked: Collection[str]
) -> tuple[SubjectModel, list[Diagnostic]]:
    """Return the model with the sole of a leg set to unknown if its markers are insufficient, and a warning about it.

    A thigh or shank without markers has a stiff joint, which would make the torques of the whole leg wrong. Without a sole the
    leg has no contact, its joints have no torque, and the whole body has no residual. The other leg is computed from its
    own foot upwards.

    Args: `pose` of the static trial; `markers` attached in the static trial; `tracked` labels visible in the walk.
    Raises MarkerSetError if neither leg is determined.
    """
    hint = (
        "Joint torques of a leg need markers on pelvis, thigh, shank and foot. Run 'biodyn check FILE.c3d' for details."
    )
    moving = {body.definition.name for body in model.moving_segments}
    lost: dict[Side, list[str]] = {}
    for side, carrier in model.sole_body.items():
        stiff = [body.name for body in reversed(model.skeleton.path(carrier)) if body.name not in moving]
        if stiff:
            lost[side] = stiff  # type: ignore[index]
    if not lost:
        return model, []
    if len(lost) == len(model.sole_body):
        names = [name for stiff in lost.values() for name in stiff]
        raise MarkerSetError(
            f"The markers do not determine the pose of {', '.join(map(segment_title, names))} in both static trial and walk"
            f"{_missing_marker_text(names, pose, markers, tracked)}.",
            hint,
        )
    outlines = {s: np.full_like(o, np.nan) if s in lost else o for s, o in model.foot_outlines.items()}
    notes = [
        Diagnostic(
            "leg-not-seen",
            "warning",
            f"The markers do not determine the pose of {', '.join(map(segment_title, stiff))} in both static trial and walk"
            f"{_missing_marker_text(stiff, pose, markers, tracked)}. The {SIDE_NAMES[side]} leg has no torques, and the whole "
            "body no residual. The other leg is analysed alone.",
            hint=hint,
            about=SIDE_NAMES[side],
        )
        for side, stiff in lost.items()
    ]
    return replace(model, foot_outlines=outlines), notes


def _missing_marker_text(
    bodies: Sequence[str], pose: StaticPose, markers: Sequence[AttachedMarker], tracked: Collection[str]
) -> str:
    """Return the markers missing in the walk and the landmarks missing in the static trial, as text."""
    in_walk = [marker.label for marker in markers if marker.body in bodies and marker.label not in tracked]
    in_static = [name for body in bodies for name in pose.missing_landmarks(pose.skeleton.body(body))]
    parts = [f"missing in the walk: {', '.join(dict.fromkeys(in_walk))}"] if in_walk else []
    parts += [f"missing in the static trial: {', '.join(dict.fromkeys(in_static))}"] if in_static else []
    return f" ({'; '.join(parts)})" if parts else ""


def attach_by_role(
    mapping: MarkerMapping, static_points: Mapping[str, FloatArray], pose: StaticPose
) -> tuple[AttachedMarker, ...]:
    """Attach the markers of the marker set to their segments; static_points: position (3,) m in World by label."""
    attached = []
    for role in mapping.roles:
        body = pose.skeleton.body(role.body)
        point = static_points.get(role.label)
        if point is None and role.landmark:
            point = pose.measured_position(role.landmark)  # e.g. the knee marker replaced by an alignment device
        if point is None or role.weight <= 0.0 or not pose.is_located(body):
            continue
        R_WB, p_WB = pose.body_pose(body)
        attached.append(AttachedMarker(role.label, role.body, R_WB.T @ (point - p_WB), role.weight))
    return tuple(attached)


def attach_to_nearest(
    unknown: Sequence[str],
    static_points: Mapping[str, FloatArray],
    pose: StaticPose,
    lines: list[tuple[str, FloatArray, FloatArray]],
) -> tuple[AttachedMarker, ...]:
    """Attach markers with unknown labels (clusters, special markers) to the nearest segment within 0.2 m in the static trial."""
    largest_m, weight = 0.2, 0.3
    attached = []
    located = [line for line in lines if pose.is_located(pose.skeleton.body(line[0]))]
    for label in unknown:
        if label not in static_points:
            continue
        point = static_points[label]
        distance, name = min((_distance_to_line(point, start, end), body) for body, start, end in located)
        if distance <= largest_m:
            R_WB, p_WB = pose.body_pose(pose.skeleton.body(name))
            attached.append(AttachedMarker(label, name, R_WB.T @ (point - p_WB), weight, PLACED_WHILE_STANDING))
    return tuple(attached)


def _distance_to_line(point: FloatArray, start: FloatArray, end: FloatArray) -> float:
    along = end - start
    share = float(np.clip((point - start) @ along / (along @ along), 0.0, 1.0))
    return float(np.linalg.norm(point - start - share * along))


def foot_outlines(pose: StaticPose) -> tuple[dict[str, FloatArray], dict[str, str]]:
    """Return the outline (K, 3) m of each sole in the axes of its segment, and this segment, both by side."""
    # half width of the sole as a fraction of the foot width, at fractions of its length from the heel
    shape = ((0.0, 0.3), (0.15, 0.35), (0.7, 0.5), (1.0, 0.3))
    outlines: dict[str, FloatArray] = {}
    carriers: dict[str, str] = {}
    for body in pose.skeleton.bodies:
        if body.sole is None:
            continue
        back, front = (pose.position(name) for name in body.sole[:2])
        width = pose.length(body.sole[2])
        along = (front - back) * (1.0, 0.0, 1.0)
        across = cross(along / np.linalg.norm(along), (0.0, 1.0, 0.0))
        # the floor is a marker diameter below the lower of both end markers
        floor = min(back[1], front[1]) - 2.0 * pose.marker_radius_m
        rows = []
        for sign, shares in ((-1.0, shape), (1.0, shape[::-1])):  # around the sole, from heel to toes and back
            for share, half_width in shares:
                point = back + share * along + sign * half_width * width * across
                rows.append(np.array([point[0], floor, point[2]]))
        R_WB, p_WB = pose.body_pose(body)
        outlines[body.side] = (np.array(rows) - p_WB) @ R_WB
        carriers[body.side] = body.name
    return outlines, carriers


@dataclass(frozen=True)
class ScalingOptions:
    """Parameters of the scaling from the settings and the subject.

    Attributes:
        joint_offsets_rad: measured offset angles of the wands by name; empty = from the static trial.
        given: names of the `measures` given by the user, and their values in the files (m, None if not in the files).
    """

    mass_kg: float
    height_m: float | None
    sex: Sex
    measures: Mapping[str, float]
    anthropometry: str
    hip_centre: str
    marker_radius_m: float
    foot_flat: bool
    joint_offsets_rad: Mapping[str, float] = field(default_factory=dict)
    given: Mapping[str, float | None] = field(default_factory=dict)


def standing_pose(
    skeleton: SkeletonRecipe,
    mapping: MarkerMapping,
    points: Mapping[str, FloatArray],
    options: ScalingOptions,
    known: Mapping[str, tuple[FloatArray, FloatArray]] | None = None,
) -> StaticPose:
    """Return landmarks and segment poses with the markers at `points`, (3,) m in World by label.

    known: by segment, R_WB (3, 3) and joint centre p_WB (3,) m in World that replace the recipes.
    """
    landmarks = {role.landmark: points[role.label] for role in mapping.roles if role.landmark and role.label in points}
    return StaticPose(
        skeleton,
        landmarks,
        options.measures,
        options.height_m,
        options.hip_centre,
        options.marker_radius_m,
        options.foot_flat,
        options.joint_offsets_rad,
        known,
    )


def _scale_segment(
    skeleton: SkeletonRecipe, pose: StaticPose, recipe: BodyRecipe, inertias: Mapping[str, Inertia]
) -> ScaledBody:
    definition, inertia = recipe.definition, inertias[recipe.name]
    R_WB, p_WB = pose.body_pose(recipe)
    if not recipe.parent:
        return ScaledBody(definition, R_WB, p_WB, inertia, (), True)
    R_WP, p_WP = pose.body_pose(skeleton.body(recipe.parent))
    R_PB = R_WP.T @ R_WB
    p_PB = R_WP.T @ (p_WB - p_WP)
    return ScaledBody(definition, R_PB, p_PB, inertia, static_angles(definition, R_PB), pose.is_located(recipe))


def _require_markers(
    markers: Sequence[AttachedMarker], static_labels: Collection[str], tracked: Collection[str]
) -> None:
    """Raise MarkerSetError if no marker attached to the body in the static trial is visible in the walk."""
    if any(marker.label in tracked for marker in markers):
        return
    in_static, in_walk = (", ".join(sorted(labels)[:12]) or "none" for labels in (static_labels, tracked))
    raise MarkerSetError(
        f"The walk has none of the body markers of the static trial (static trial: {in_static}; walk: {in_walk}).",
        "Specify the static trial of this walk with --static, and label both recordings with the same marker set.",
    )


def _wand_dependent_rotations(
    skeleton: SkeletonRecipe, model: SubjectModel, mapping: MarkerMapping, static_labels: Collection[str]
) -> dict[str, str]:
    """Return the segments with a rotation about the long axis that depends on a skin wand: {segment: its hinge coordinate}."""
    measured = {role.landmark for role in mapping.roles if role.label in static_labels}
    free = {coordinate.name for coordinate in model.coordinates}
    return {
        body.name: body.hinge
        for body in skeleton.bodies
        if body.hinge in free and not measured.intersection(body.hinge_known_from)
    }


@dataclass(frozen=True)
class SubjectScaling:
    """Skeleton and measurements of the subject, from which models can be scaled.

    Attributes:
        skeleton, mapping: the recipes, and the role of each marker.
        points: (3,) m in World by label, mean positions in the static trial.
        tracked: labels visible in the walk, which determine the observable coordinates.
        options: mass, height, tables and so on.
    """

    skeleton: SkeletonRecipe
    mapping: MarkerMapping
    points: Mapping[str, FloatArray]
    tracked: frozenset[str]
    options: ScalingOptions

    def model(
        self, known: Mapping[str, tuple[FloatArray, FloatArray]] | None = None
    ) -> tuple[SubjectModel, list[Diagnostic]]:
        """Return the subject's model and findings about assumptions; `known` as for `standing_pose`."""
        skeleton, mapping, points, options = self.skeleton, self.mapping, self.points, self.options
        pose = standing_pose(skeleton, mapping, points, options, known)
        inertias = segment_inertias(options.anthropometry, pose, options.mass_kg, options.sex)
        bodies = tuple(_scale_segment(skeleton, pose, body, inertias) for body in skeleton.bodies)
        markers = attach_by_role(mapping, points, pose)
        inside, inside_notes = find_joint_centre_points(mapping.unknown, points, pose)
        outside = [label for label in mapping.unknown if label not in inside]
        markers += attach_to_nearest(outside, points, pose, segment_end_points(options.anthropometry, pose))
        outlines, sole_body = foot_outlines(pose)
        _require_markers(markers, points, self.tracked)
        model = assemble_model(
            without_recipes(skeleton),
            bodies,
            frozenset(c for body in bodies if not body.located for c in body.definition.coordinate_names),
            mass_kg=options.mass_kg,
            height_m=pose.height_m,
            sex=options.sex,
            markers=tuple(marker for marker in markers if marker.label in self.tracked),
            foot_outlines=outlines,
            sole_body=sole_body,
        )
        model = lock_unobservable(model, *pose.body_pose(skeleton.root))
        model, leg_notes = without_unseen_legs(model, pose, markers, self.tracked)
        notes = (
            inside_notes
            + leg_notes
            + missing_marker_notes(mapping, markers, self.tracked)
            + assumption_notes(model, pose)
        )
        notes += given_measure_notes(pose, options.given) + implausible_size_notes(pose, options.given)
        model = replace(
            model,
            computed_points=inside,
            joint_centre_zones=joint_centre_zones(pose),
            refined_centres=frozenset(body.name for body in skeleton.bodies if body.refined_centre),
            uncertain_turns=_wand_dependent_rotations(skeleton, model, mapping, points),
        )
        return model, notes

    def landmark_markers(self) -> dict[str, tuple[str, FloatArray]]:
        """Return, by label, segment and position (3,) m in World of the static trial of the markers with a landmark."""
        return {
            role.label: (role.body, self.points[role.label])
            for role in self.mapping.roles
            if role.landmark and role.label in self.points
        }

    def poses(
        self, bodies: Collection[str], height_m: float, shifts: Mapping[str, FloatArray]
    ) -> dict[str, tuple[FloatArray, FloatArray]]:
        """Return R_WB (3, 3), p_WB (3,) m of segments, with some markers shifted by (3,) m in World."""
        points = {label: p + shifts[label] if label in shifts else p for label, p in self.points.items()}
        pose = standing_pose(self.skeleton, self.mapping, points, replace(self.options, height_m=height_m))
        return {body.name: pose.body_pose(body) for body in self.skeleton.bodies if body.name in bodies}
