"""How far wands sit off their joints' planes, from the motion of a walk and from what is usual."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from biodyn.conventions import SIDE_SIGN, FloatArray
from biodyn.errors import StaticTrialError
from biodyn.library.load import load_table
from biodyn.library.tables import for_each_side
from biodyn.model.from_library.constructions import axes_about, turn_about, turned_chord
from biodyn.model.from_library.landmarks import StaticPose
from biodyn.model.from_library.motion_frames import Points
from biodyn.model.from_library.scaling import ScalingOptions, standing_pose
from biodyn.model.from_library.skeleton import SkeletonRecipe
from biodyn.model.marker_roles import MarkerMapping

_LEAST_FRAMES = 10
# The centre moves with the turn, so that the wand is seen from elsewhere: a full step would go half as far again.
_ROUNDS = 8
_DAMPING = 0.65
_SAME_ANGLE_RAD = 1e-4


def estimated_offsets(
    skeleton: SkeletonRecipe, mapping: MarkerMapping, seen: Sequence[Points], options: ScalingOptions
) -> dict[str, float]:
    """Return joint offsets, rad, by name: those of the options, and for joints that nothing else tells, estimates.

    Parameters: `seen`: frames of the walk. The rules and their numbers are `library/body/joint_offsets.toml`.
    """
    table = load_table("body/joint_offsets")
    offsets = dict(options.joint_offsets_rad)
    marked = {role.landmark for role in mapping.roles if any(role.label in points for points in seen)}
    for _, rule in _open_rules(table["usual"], offsets, marked):
        offsets[rule["offset"]] = float(np.deg2rad(rule["usual_deg"]))
    poses = _poses(skeleton, mapping, seen, options)
    for sign, rule in _open_rules(table["hinge"], offsets, marked):
        offsets[rule["offset"]] = _of_hinge(rule, poses, sign)
    poses = _poses(skeleton, mapping, seen, replace(options, joint_offsets_rad=offsets))
    for sign, rule in _open_rules(table["torsion"], offsets, marked):
        offsets[rule["offset"]] = _of_torsion(rule, poses, sign)
    return offsets


def _open_rules(
    rules: Sequence[Mapping[str, Any]], known: Mapping[str, float], marked: set[str]
) -> list[tuple[float, dict[str, Any]]]:
    """The rules, with the sign of their side, whose offset is not known and whose joint no marker of the walk tells."""
    sided = [(SIDE_SIGN.get(side, 1.0), rule) for raw in rules for side, rule in for_each_side(raw)]
    return [(sign, r) for sign, r in sided if r["offset"] not in known and not marked.intersection(r["unless"])]


def _poses(
    skeleton: SkeletonRecipe, mapping: MarkerMapping, seen: Sequence[Points], options: ScalingOptions
) -> list[StaticPose]:
    poses = []
    for points in seen:
        try:
            poses.append(standing_pose(skeleton, mapping, points, options))
        except StaticTrialError:  # the pelvis is hidden in this frame
            continue
    return poses


def _known(poses: Sequence[StaticPose], names: Sequence[str]) -> list[list[FloatArray]]:
    """The landmarks of these names in every frame that has all of them."""
    found = [[pose.measured(name) for name in names] for pose in poses]
    return [[p for p in points if p is not None] for points in found if all(p is not None for p in points)]


def _of_hinge(rule: Mapping[str, Any], poses: Sequence[StaticPose], sign: float) -> float:
    """The offset for which the distal segment swings across the hinge's axis; the usual one where the joint hardly bends."""
    usual, found = np.deg2rad(rule["usual_deg"]), None
    frames = _known(poses, [rule[key] for key in ("proximal", "lateral", "plane", "distal")])
    if len(frames) >= _LEAST_FRAMES:
        pose = poses[0]
        widths = [0.5 * pose.measure(rule[key]) + pose.marker_radius_m for key in ("width", "distal_width")]
        found = hinge_turn(frames, widths[0], widths[1], sign, np.deg2rad(rule["least_excursion_deg"]))
    if found is None:
        return float(usual)
    return _weighted((sign * found, rule["found_sd_deg"]), (usual, rule["usual_sd_deg"]))


def hinge_turn(
    frames: Sequence[Sequence[FloatArray]], distance: float, distal: float, sign: float, least_excursion: float
) -> float | None:
    """Angle (rad) about the proximal segment from wand to lateral marker, right-handed; None where the hinge hardly moves."""
    turn = 0.0
    for _ in range(_ROUNDS):
        swings = []
        for top, lateral, wand, far in frames:
            centre = turned_chord(top, lateral, wand, distance, turn)
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
        # Seen along the segment, the far end runs on a line across the axis: its principal direction.
        _, directions = np.linalg.eigh(np.cov(swing[:, 0], swing[:, 2]))
        x, z = directions[:, 1] * np.sign(directions[0, 1])
        step = -_DAMPING * float(np.arctan2(z, x))
        turn += step
        if abs(step) < _SAME_ANGLE_RAD:
            break
    return turn


def _of_torsion(rule: Mapping[str, Any], poses: Sequence[StaticPose], sign: float) -> float:
    """The offset that a usual torsion between the joints at both ends makes, weighed against what is usual for the wand."""
    usual = (float(np.deg2rad(rule["usual_deg"])), rule["usual_sd_deg"])
    frames = _known(poses, [rule[key] for key in ("proximal", "centre", "plane", "reference")])
    if not frames:
        return usual[0]
    turns = [turn_about(top - centre, wand - centre, mark - centre) for top, centre, wand, mark in frames]
    found = sign * float(np.median(turns)) + np.deg2rad(rule["torsion_deg"])
    return _weighted((found, rule["torsion_sd_deg"]), usual)


def _weighted(*estimates: tuple[float, float]) -> float:
    """Mean of (value, standard deviation) estimates, each by the inverse of its variance."""
    weights = [sd**-2 for _, sd in estimates]
    return float(np.average([value for value, _ in estimates], weights=weights))
