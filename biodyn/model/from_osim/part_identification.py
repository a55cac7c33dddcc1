"""Identification of the parts of an OpenSim model: side, joint, foot and variable by name, segments by name or position,
soles."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from biodyn.conventions import SIDE_SIGN, SIDES, FloatArray, Side
from biodyn.library.toml_files import load_table
from biodyn.rigid_body import Body, Multibody, OpenSimModel


@cache
def _name_table() -> Mapping[str, Any]:
    return load_table("body/opensim_models")


def split_side(name: str) -> tuple[Side | str, str]:
    """Return the side in a name ("" = none) and the name without it, in lower case: "knee_r" -> "r", "knee"."""
    lower = name.lower()
    for side in SIDES:
        for form in _name_table()["sides"][side[0]]:
            if re.search(form, lower) and re.sub(form, "", lower):
                return side, re.sub(form, "", lower)
    return "", lower


@cache
def _variable_table() -> frozenset[str]:
    kinds = load_table("variables/variables")["kind"].values()
    return frozenset(name for kind in kinds for name in kind["variable"])


def is_gait_variable(name: str) -> bool:
    """Return whether a coordinate name without side is the name of a gait variable of biodyn."""
    return name in _variable_table()


def root_names() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the variables of the root's three angles and three translations."""
    root = _name_table()["root"]
    return tuple(root["rotations"]), tuple(root["translations"])


def joint_title(name: str) -> str:
    """Return the name of a joint in biodyn, without side, or the name in the file if it is unknown."""
    plain = split_side(name)[1]
    return next((known for known, names in _name_table()["joints"].items() if plain in names), plain)


def feet_by_side(bodies: Sequence[str]) -> dict[Side, str]:
    """Return, by side, the body on which the ground reaction acts, identified by its name."""
    by_name = {split_side(name): name for name in bodies}
    result: dict[Side, str] = {}
    for side in SIDES:
        name = next(
            (by_name[side, plain] for plain in _name_table()["feet"]["bodies"] if (side, plain) in by_name), None
        )
        if name is not None:
            result[side] = name
    return result


def is_toe(name: str) -> bool:
    """Return whether a body is distal to the toe joint, by its name."""
    return split_side(name)[1] in _name_table()["feet"]["toes"]


def has_side(segment: str) -> bool:
    """Return whether a segment of the library exists on both sides."""
    return segment not in _name_table()["segment_rules"]["unsided"]


def match_variable(name: str, turn: FloatArray) -> tuple[str, float] | None:
    """Return the gait variable of a coordinate, without side, and the sign of the coordinate relative to it; None if unknown.

    Besides the name, the axis must agree: it must be within 60 degrees of the variable's axis (subtalar axes differ by 42
    degrees).

    Args: `turn`: (3,) rad, rotation of the distal body in the proximal one, axes X forward, Y up, Z right, for a small step.
    """
    side, plain = split_side(name)
    size = float(np.linalg.norm(turn))
    for variable, entry in _name_table()["coordinates"].items():
        if plain not in entry["names"] or size == 0.0:
            continue
        mirror = SIDE_SIGN[side] if side in SIDES else 1.0
        cosine = float(np.asarray(entry["axis"]) * (mirror, mirror, 1.0) @ turn) / size
        if abs(cosine) > 0.5:
            return variable, 1.0 if cosine > 0.0 else -1.0
    return None


def match_segments(
    parents: Mapping[str, str], joints: Mapping[str, str], heights: Mapping[str, float], feet: Iterable[str]
) -> dict[str, str]:
    """Return the segment of the library, without side, of every known body: by its name, its joint, or its position in a leg.

    Args:
        parents: parent of every body ("" for the root), parents first. joints: joint to the parent of each movable body.
        heights: height (m) of the origin of every body in the standing model. feet: bodies known as feet.
    """
    names = _name_table()
    leg = tuple(names["segment_rules"]["leg"])
    legs = [_path_from_root(parents, end, joints) for end in (*feet, *_lowest_bodies(parents, heights))]
    by_leg = {name: leg[min(k, len(leg) - 1)] for path in legs if len(path) >= len(leg) for k, name in enumerate(path)}
    segments = {}
    for name in parents:
        plain = split_side(name)[1]
        segment = next((segment for segment, known in names["segments"].items() if plain in known), "")
        segment = segment or names["joint_segments"].get(joint_title(joints.get(name, "")), "") or by_leg.get(name, "")
        if segment:
            segments[name] = segment
    return segments


def _path_from_root(parents: Mapping[str, str], end: str, movable: Mapping[str, str]) -> list[str]:
    """Return the movable bodies from the root (excluded) to a body."""
    path: list[str] = []
    at = end
    while parents[at]:
        path.insert(0, at)
        at = parents[at]
    return [name for name in path if name in movable]


def _lowest_bodies(parents: Mapping[str, str], heights: Mapping[str, float]) -> Sequence[str]:
    """Return the most distal bodies below a quarter of the root's height in the standing model, i.e. feet but not hands."""
    root = next(name for name, parent in parents.items() if not parent)
    floor = min(heights.values())
    low = floor + 0.25 * (heights[root] - floor)
    return [name for name in parents if name not in parents.values() and heights[name] <= low]


def sole_outlines(model: OpenSimModel, feet: Mapping[Side, str]) -> dict[Side, FloatArray]:
    """Return the outlines (4, 3) m of the soles in the axes of the feet, from heel to toes along one edge and back.

    The size is estimated from the distance from the heel to the toe joint, 0.18 m if the model has no toes.
    """
    behind, in_front, half_width = 0.15, 1.45, 0.25  # position of the heel, as fractions of this distance
    resting = model.coupled.body_poses(model.default_configuration()[None])
    mb = model.multibody
    soles: dict[Side, FloatArray] = {}
    for side, name in feet.items():
        b = mb.body_index(name)
        toes = [k for k, body in enumerate(mb.bodies) if parent_in_file(mb, body) == name]
        along = np.array([0.18, 0.0, 0.0])
        if toes:
            along = resting[0][0, b].T @ (resting[1][0, toes[-1]] - resting[1][0, b])
        length = float(np.linalg.norm(along))
        across = np.cross(along / length, (0.0, 1.0, 0.0)) * half_width * length
        back, front = -behind * along, in_front * along
        soles[side] = np.array([back - across, front - across, front + across, back + across])
    return soles


def parent_in_file(mb: Multibody, body: Body) -> str | None:
    """Return the parent body in the model file, skipping intermediate bodies inserted for single joint axes; None for ground."""
    parent = body.parent
    while parent is not None and "/" in parent:
        parent = mb.bodies[mb.body_index(parent)].parent
    return parent
