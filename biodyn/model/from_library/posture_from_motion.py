"""Estimate of a standing posture and of wand offset angles from a motion, for sessions without a static trial.

In every frame the recipes of the library locate the segments, as in a static trial. The positions of markers and joints on their
segments are averaged, and the mean segments are assembled in an upright posture with each foot flat on the floor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from biodyn.conventions import SIDE_SIGN, BoolArray, FloatArray, IntArray
from biodyn.errors import StaticTrialError
from biodyn.library.tables import expand_sides
from biodyn.library.toml_files import load_table
from biodyn.model.body_model import smallest_rotation
from biodyn.model.from_library.constructions import angle_about, axes_about, rotated_chord_centre
from biodyn.model.from_library.scaling import ScalingOptions, standing_pose
from biodyn.model.from_library.skeleton_recipes import BodyRecipe, SkeletonRecipe
from biodyn.model.from_library.static_pose import StaticPose
from biodyn.model.marker_roles import MarkerMapping

#: Visible markers of a frame: (3,) m in World by label.
Points = Mapping[str, FloatArray]


def frames_with_markers(positions: FloatArray) -> IntArray:
    """Return the frames with at least 80 % of the largest number of visible markers (T, M, 3)."""
    count = np.isfinite(positions[..., 0]).sum(axis=1)
    return np.flatnonzero(count >= 0.8 * count.max())


def evenly_spaced_frames(frames: IntArray, most: int) -> IntArray:
    """Return at most `most` of the frames, evenly spaced."""
    return frames[np.unique(np.linspace(0, len(frames) - 1, min(most, len(frames))).astype(int))]


def points_by_frame(labels: Sequence[str], positions: FloatArray) -> list[Points]:
    """Return the visible points (3,) m of each frame by label, from positions (F, M, 3)."""
    return [{label: p for label, p in zip(labels, frame, strict=True) if np.isfinite(p[0])} for frame in positions]


def with_estimated_height(
    skeleton: SkeletonRecipe, mapping: MarkerMapping, seen: Sequence[Points], options: ScalingOptions
) -> ScalingOptions:
    """Return the options with the median body height of nine frames, if none is known.

    Raises StaticTrialError if no frame shows the pelvis and a leg.
    """
    if options.height_m is not None:
        return options
    heights = []
    refusal = StaticTrialError(
        "The body height cannot be estimated, because no frame of the walk has the markers of pelvis and legs."
    )
    for row in evenly_spaced_frames(np.arange(len(seen)), 9):
        try:
            heights.append(standing_pose(skeleton, mapping, seen[row], options).height_m)
        except StaticTrialError as error:
            refusal = error
    if not heights:
        raise refusal
    return replace(options, height_m=float(np.median(heights)))


_LEAST_FRAMES = 10


def estimate_offsets(
    skeleton: SkeletonRecipe, mapping: MarkerMapping, seen: Sequence[Points], options: ScalingOptions
) -> dict[str, float]:
    """Return the joint offsets (rad) by name: those of the options, and estimates for joints without other information.

    Args: `seen`: frames of the walk. The rules and their numbers are in `library/body/joint_offsets.toml`.
    """
    table = load_table("body/joint_offsets")
    offsets = dict(options.joint_offsets_rad)
    marked = {role.landmark for role in mapping.roles if any(role.label in points for points in seen)}
    for _, rule in _rules_to_apply(table["usual"], offsets, marked):
        offsets[rule["offset"]] = float(np.deg2rad(rule["usual_deg"]))
    poses = _frame_poses(skeleton, mapping, seen, options)
    for sign, rule in _rules_to_apply(table["hinge"], offsets, marked):
        offsets[rule["offset"]] = _offset_from_hinge(rule, poses, sign)
    poses = _frame_poses(skeleton, mapping, seen, replace(options, joint_offsets_rad=offsets))
    for sign, rule in _rules_to_apply(table["torsion"], offsets, marked):
        offsets[rule["offset"]] = _offset_from_torsion(rule, poses, sign)
    return offsets


def _rules_to_apply(
    rules: Sequence[Mapping[str, Any]], known: Mapping[str, float], marked: set[str]
) -> list[tuple[float, dict[str, Any]]]:
    """Return (sign of the side, rule) for each rule with an unknown offset and a joint without a marker in the walk."""
    sided = [(SIDE_SIGN.get(side, 1.0), rule) for raw in rules for side, rule in expand_sides(raw)]
    return [(sign, r) for sign, r in sided if r["offset"] not in known and not marked.intersection(r["unless"])]


def _frame_poses(
    skeleton: SkeletonRecipe, mapping: MarkerMapping, seen: Sequence[Points], options: ScalingOptions
) -> list[StaticPose]:
    poses = []
    for points in seen:
        try:
            poses.append(standing_pose(skeleton, mapping, points, options))
        except StaticTrialError:  # the pelvis is not visible in this frame
            continue
    return poses


def _complete_frames(poses: Sequence[StaticPose], names: Sequence[str]) -> list[list[FloatArray]]:
    """Return the positions of the landmarks `names` in every pose that has all of them."""
    frames = [[pose.measured_position(name) for name in names] for pose in poses]
    return [[p for p in points if p is not None] for points in frames if all(p is not None for p in points)]


def _offset_from_hinge(rule: Mapping[str, Any], poses: Sequence[StaticPose], sign: float) -> float:
    """Return the offset (rad) for which the distal segment moves perpendicular to the hinge axis, averaged with the typical
    offset."""
    usual, estimate = np.deg2rad(rule["usual_deg"]), None
    frames = _complete_frames(poses, [rule[key] for key in ("proximal", "lateral", "plane", "distal")])
    if len(frames) >= _LEAST_FRAMES:
        pose = poses[0]
        widths = [0.5 * pose.length(rule[key]) + pose.marker_radius_m for key in ("width", "distal_width")]
        estimate = wand_rotation(frames, widths[0], widths[1], sign, np.deg2rad(rule["least_excursion_deg"]))
    if estimate is None:
        return float(usual)
    return _weighted_mean((sign * estimate, rule["found_sd_deg"]), (usual, rule["usual_sd_deg"]))


def wand_rotation(
    frames: Sequence[Sequence[FloatArray]], distance: float, distal: float, sign: float, least_excursion: float
) -> float | None:
    """Return the angle (rad) about the proximal segment from wand to lateral marker, right-handed; None if the range of motion
    is less than `least_excursion` (rad).

    The steps are damped, because the centre moves with the angle and changes the direction of the wand.
    """
    damping, tolerance_rad = 0.65, 1e-4
    turn = 0.0
    for _ in range(8):
        swings = []
        for top, lateral, wand, far in frames:
            centre = rotated_chord_centre(top, lateral, wand, distance, turn)
            if centre is None:
                continue
            axes = axes_about(top - centre, sign * (lateral - centre))
            along = far - sign * distal * axes[:, 2] - centre
            swings.append(axes.T @ along / np.linalg.norm(along))
        swing = np.array(swings)
        if len(swing) < _LEAST_FRAMES:
            return None
        if np.ptp(np.arctan2(-swing[:, 0], -swing[:, 1])) < least_excursion:
            return None
        # seen along the segment, the path of the distal end is a line perpendicular to the axis; this is its principal direction
        _, directions = np.linalg.eigh(np.cov(swing[:, 0], swing[:, 2]))
        x, z = directions[:, 1] * np.sign(directions[0, 1])
        step = -damping * float(np.arctan2(z, x))
        turn += step
        if abs(step) < tolerance_rad:
            break
    return turn


def _offset_from_torsion(rule: Mapping[str, Any], poses: Sequence[StaticPose], sign: float) -> float:
    """Return the offset (rad) of a wand for typical torsion of the segment, averaged with the typical offset of the wand.

    Torsion is the angle between the joint axes at both ends.
    """
    usual = (float(np.deg2rad(rule["usual_deg"])), rule["usual_sd_deg"])
    frames = _complete_frames(poses, [rule[key] for key in ("proximal", "centre", "plane", "reference")])
    if not frames:
        return usual[0]
    turns = [angle_about(top - centre, wand - centre, mark - centre) for top, centre, wand, mark in frames]
    estimate = sign * float(np.median(turns)) + np.deg2rad(rule["torsion_deg"])
    return _weighted_mean((estimate, rule["torsion_sd_deg"]), usual)


def _weighted_mean(*estimates: tuple[float, float]) -> float:
    """Return the mean of (value, standard deviation) estimates, weighted by the inverse of their variance."""
    weights = [sd**-2 for _, sd in estimates]
    return float(np.average([value for value, _ in estimates], weights=weights))


_UP = np.array([0.0, 1.0, 0.0])
_LEAST_FLAT_FRAMES = 5  # least number of frames with a flat foot for its sole to be known


#: Attitudes R (F, 3, 3) and origins p (F, 3) m of every segment in some frames, NaN where it is not located.
_Segments = tuple[dict[str, FloatArray], dict[str, FloatArray]]


def assemble_posture(
    skeleton: SkeletonRecipe,
    mapping: MarkerMapping,
    labels: Sequence[str],
    positions: FloatArray,
    flat: Mapping[str, BoolArray],
    options: ScalingOptions,
) -> tuple[dict[str, FloatArray], float]:
    """Return a standing posture from averaged segments of a motion: (3,) m in World axes by label.

    The second result is the median RMS distance (m) of a marker from its mean position on its segment.

    Args: `labels` (M,) and `positions` (T, M, 3) m in World; `flat`: by foot, frames (T,) in which it is flat on the floor.
    Raises StaticTrialError if no frame shows the pelvis and a leg.
    """
    sampled, by_foot = _select_frames(positions, flat)
    seen = points_by_frame(labels, positions[sampled])
    segments = _locate_segments(skeleton, mapping, seen, options)
    flat_of = {name: rows for name, rows in by_foot.items() if len(rows) >= _LEAST_FLAT_FRAMES}
    if len(flat_of) < len(by_foot):
        # for a foot that is never flat the heel-toe line is assumed to be parallel to the sole
        level = _locate_segments(skeleton, mapping, seen, replace(options, foot_flat=False))
        for name in by_foot.keys() - flat_of.keys():
            for values, level_values in zip(segments, level, strict=True):
                values[name] = level_values[name]
    legs = _flat_rows_by_segment(skeleton, flat_of)
    attitudes = _mean_attitudes(skeleton, segments, legs)
    for foot in by_foot:
        if foot in attitudes:
            _place_foot_flat(skeleton, attitudes, foot)
    origins = _mean_origins(skeleton, segments, attitudes)
    places = _mean_marker_positions(mapping, labels, positions[sampled], segments, flat_of)
    points = {
        label: origins[body] + attitudes[body] @ place for label, (body, place, _) in places.items() if body in origins
    }
    spread = [spread for _, _, spread in places.values()]
    return points, float(np.median(spread)) if spread else float("nan")


def _select_frames(positions: FloatArray, flat: Mapping[str, BoolArray]) -> tuple[IntArray, dict[str, IntArray]]:
    """Return at most 60 frames and 20 additional frames for each foot in which it is flat, and the rows of the latter by
    foot."""
    usable = frames_with_markers(positions)
    flat_frames = {
        name: evenly_spaced_frames(np.intersect1d(usable, np.flatnonzero(rows)), 20) for name, rows in flat.items()
    }
    frames = np.unique(np.concatenate([evenly_spaced_frames(usable, 60), *flat_frames.values()]))
    return frames, {name: np.flatnonzero(np.isin(frames, chosen)) for name, chosen in flat_frames.items()}


def _locate_segments(
    skeleton: SkeletonRecipe, mapping: MarkerMapping, seen: Sequence[Points], options: ScalingOptions
) -> _Segments:
    R = {body.name: np.full((len(seen), 3, 3), np.nan) for body in skeleton.bodies}
    p = {body.name: np.full((len(seen), 3), np.nan) for body in skeleton.bodies}
    for row, points in enumerate(seen):
        try:
            pose = standing_pose(skeleton, mapping, points, options)
        except StaticTrialError:  # the pelvis is not visible in this frame
            continue
        for body in skeleton.bodies:
            if pose.is_located(body):
                R[body.name][row], p[body.name][row] = pose.body_pose(body)
    return R, p


def _flat_rows_by_segment(skeleton: SkeletonRecipe, flat_of: Mapping[str, IntArray]) -> dict[str, IntArray]:
    """Return for each leg segment the rows in which its foot is flat on the floor."""
    return {body.name: flat_rows for foot, flat_rows in flat_of.items() for body in skeleton.path(foot)}


def _mean_attitudes(
    skeleton: SkeletonRecipe, segments: _Segments, legs: Mapping[str, IntArray]
) -> dict[str, FloatArray]:
    """Return the mean attitude (3, 3) of every located segment in World, with the root facing along X."""
    root = skeleton.root.name
    level = np.array([_heading_axes(R).T @ R for R in segments[0][root] if np.isfinite(R).all()])
    attitudes = {root: _mean_rotation(level)}
    for body in skeleton.bodies[1:]:
        parent = _located_parent(skeleton, body, attitudes)
        relative = np.swapaxes(segments[0][parent], 1, 2) @ segments[0][body.name]
        rows = legs.get(body.name, np.arange(len(relative)))
        known = relative[rows][np.isfinite(relative[rows]).all(axis=(1, 2))]
        if not len(known):
            known = relative[np.isfinite(relative).all(axis=(1, 2))]
        if len(known):
            attitudes[body.name] = attitudes[parent] @ _mean_rotation(known)
    return attitudes


def _located_parent(skeleton: SkeletonRecipe, body: BodyRecipe, located: Mapping[str, FloatArray]) -> str:
    """Return the nearest proximal segment that is in `located`; "" if there is none."""
    parent = body.parent
    while parent not in located:
        parent = skeleton.body(parent).parent
    return parent


def _heading_axes(R: FloatArray) -> FloatArray:
    """Return axes (3, 3) with Y up and X along the forward direction of a segment in the horizontal plane."""
    forward = R[:, 0] - _UP * R[1, 0]
    x = forward / np.linalg.norm(forward)
    return np.column_stack([x, _UP, np.cross(x, _UP)])


def _mean_rotation(R: FloatArray) -> FloatArray:
    return np.asarray(Rotation.from_matrix(R).mean().as_matrix())


def _place_foot_flat(skeleton: SkeletonRecipe, attitudes: dict[str, FloatArray], foot: str) -> None:
    """Rotate all segments of a leg by the smallest rotation that makes its foot flat on the floor."""
    turn = smallest_rotation(attitudes[foot][:, 1], _UP)
    for body in skeleton.path(foot):
        attitudes[body.name] = turn @ attitudes[body.name]


def _mean_origins(
    skeleton: SkeletonRecipe, segments: _Segments, attitudes: Mapping[str, FloatArray]
) -> dict[str, FloatArray]:
    """Return the origin (3,) m of every located segment: the median position in its located parent."""
    origins = {skeleton.root.name: _UP}
    for body in skeleton.bodies[1:]:
        if body.name not in attitudes:
            continue
        parent = _located_parent(skeleton, body, origins)
        offset = segments[1][body.name] - segments[1][parent]
        local = np.einsum("fji,fj->fi", segments[0][parent], offset)
        origins[body.name] = origins[parent] + attitudes[parent] @ np.nanmedian(local, axis=0)
    return origins


def _mean_marker_positions(
    mapping: MarkerMapping,
    labels: Sequence[str],
    positions: FloatArray,
    segments: _Segments,
    flat_of: Mapping[str, IntArray],
) -> dict[str, tuple[str, FloatArray, float]]:
    """Return for each label its segment, its median position (3,) m on the segment, and the RMS distance (m) from this
    position."""
    places = {}
    for role in mapping.roles:
        if role.label not in labels:
            continue
        rows = flat_of.get(role.body, np.arange(len(positions)))
        offset = positions[rows, labels.index(role.label)] - segments[1][role.body][rows]
        local = np.einsum("fji,fj->fi", segments[0][role.body][rows], offset)
        local = local[np.isfinite(local).all(axis=1)]
        if len(local):
            place = np.median(local, axis=0)
            spread = float(np.sqrt(np.mean(np.sum((local - place) ** 2, axis=1))))
            places[role.label] = (role.body, place, spread)
    return places


def is_upright(
    skeleton: SkeletonRecipe, mapping: MarkerMapping, points: Mapping[str, FloatArray], options: ScalingOptions
) -> bool:
    """Return whether the legs are straight and upright, so that the subject does not sit or crouch.

    The height of the hip above the ankle relative to leg length is 0.97 with 30 degrees of knee flexion, and 0.6 sitting.
    """
    try:
        pose = standing_pose(skeleton, mapping, points, options)
    except StaticTrialError:
        return False
    legs = [body for body in skeleton.bodies if body.sole is not None]
    for foot in legs:
        shank = skeleton.body(foot.parent)
        thigh = skeleton.body(shank.parent)
        if not all(pose.is_located(body) for body in (foot, shank, thigh)):
            return False
        ankle, knee, hip = (pose.body_pose(body)[1] for body in (foot, shank, thigh))
        length = np.linalg.norm(hip - knee) + np.linalg.norm(knee - ankle)
        if (hip - ankle)[1] < 0.95 * length:
            return False
    return True
