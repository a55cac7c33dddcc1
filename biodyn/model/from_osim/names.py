"""What the parts of an OpenSim model are: side, joint, foot and variable by name, segments by name or place, soles."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final

import numpy as np

from biodyn.conventions import SIDE_SIGN, SIDES, FloatArray, Side
from biodyn.library.load import load_table
from biodyn.rigid_body import OpenSimModel

# Cosine of the largest angle between a coordinate's axis and that of its variable: subtalar axes lie 42 degrees off.
_ALONG = 0.5


@cache
def _names() -> Mapping[str, Any]:
    return load_table("body/opensim_models")


def side_and_name(name: str) -> tuple[Side | str, str]:
    """Return the side that a name tells ("" for none) and the name without it, in lower case: "knee_r" -> "r", "knee"."""
    lower = name.lower()
    for side in SIDES:
        for form in _names()["sides"][side[0]]:
            if re.search(form, lower) and re.sub(form, "", lower):
                return side, re.sub(form, "", lower)
    return "", lower


@cache
def _variables() -> frozenset[str]:
    kinds = load_table("variables/variables")["kind"].values()
    return frozenset(name for kind in kinds for name in kind["variable"])


def means_something(name: str) -> bool:
    """Whether a name without side is that of a variable here."""
    return name in _variables()


def root_names() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what the root's three angles and three shifts are called over the gait cycle."""
    root = _names()["root"]
    return tuple(root["rotations"]), tuple(root["translations"])


def joint_name(name: str) -> str:
    """Return what a joint is called here, without side; its own name where it is not known."""
    plain = side_and_name(name)[1]
    return next((known for known, names in _names()["joints"].items() if plain in names), plain)


def feet(bodies: Sequence[str]) -> dict[Side, str]:
    """Return the body on which the ground acts, of each side that has one."""
    told = {(side, plain): name for name in bodies for side, plain in [side_and_name(name)]}
    found: dict[Side, str] = {}
    for side in SIDES:
        own = next((told[side, plain] for plain in _names()["feet"]["bodies"] if (side, plain) in told), None)
        if own is not None:
            found[side] = own
    return found


def is_toe(name: str) -> bool:
    """Whether a body lies beyond the toe joint."""
    return side_and_name(name)[1] in _names()["feet"]["toes"]


def segment_of_name(body: str) -> str:
    """Return the segment of the library's tables that a body is by its name, without side; "" where it is not known."""
    plain = side_and_name(body)[1]
    return next((segment for segment, names in _names()["segments"].items() if plain in names), "")


def segments_of_a_leg() -> tuple[str, ...]:
    """Return what the joints of a leg carry, from the root down; all below the last but one is the last."""
    return tuple(_names()["segment_rules"]["leg"])


def has_side(segment: str) -> bool:
    """Whether there are two of a segment."""
    return segment not in _names()["segment_rules"]["unsided"]


def segment_of_joint(joint: str) -> str:
    """Return the segment, without side, that a joint of a known name carries; "" where it is not known."""
    return str(_names()["joint_segments"].get(joint_name(joint), ""))


def variable_of(name: str, turn: FloatArray) -> tuple[str, float] | None:
    """Return the variable that a coordinate is, without side, and the sign that gives it the variable's; None where unknown.

    turn: (3,) rad, by which the farther body turns against the nearer one, axes X forward, Y up, Z right, for a small step of the
    coordinate. The name alone is not enough: it must turn about the variable's axis, either way.
    """
    side, plain = side_and_name(name)
    size = float(np.linalg.norm(turn))
    for variable, entry in _names()["coordinates"].items():
        if plain not in entry["names"] or size == 0.0:
            continue
        mirror = SIDE_SIGN[side] if side in SIDES else 1.0
        cosine = float(np.asarray(entry["axis"]) * (mirror, mirror, 1.0) @ turn) / size
        if abs(cosine) > _ALONG:
            return variable, 1.0 if cosine > 0.0 else -1.0
    return None


# A leg ends where a body's origin lies in the lowest part of the standing model, as a share of the root's height above its lowest
# origin: feet do, patellas and hanging hands do not.
_LOW: Final = 0.25


def segments_of(
    parents: Mapping[str, str], joints: Mapping[str, str], heights: Mapping[str, float], feet: Iterable[str]
) -> dict[str, str]:
    """Return the segment, without side, of every body that is known to be one.

    parents: of every body, "" of the root, parents first. joints: name of the joint that moves a body against its parent; bodies
    that nothing moves have none. heights: m, of every body's origin in the standing model. feet: bodies known as feet.
    """
    leg = segments_of_a_leg()
    legs = [_path(parents, end, joints) for end in (*feet, *_lowest(parents, heights))]
    by_leg = {name: leg[min(k, len(leg) - 1)] for path in legs if len(path) >= len(leg) for k, name in enumerate(path)}
    found = {}
    for name in parents:
        segment = segment_of_name(name) or segment_of_joint(joints.get(name, "")) or by_leg.get(name, "")
        if segment:
            found[name] = segment
    return found


def _path(parents: Mapping[str, str], end: str, moved: Mapping[str, str]) -> list[str]:
    """Bodies from the root, without it, to a body, those that a joint moves."""
    path: list[str] = []
    at = end
    while parents[at]:
        path.insert(0, at)
        at = parents[at]
    return [name for name in path if name in moved]


def _lowest(parents: Mapping[str, str], heights: Mapping[str, float]) -> Sequence[str]:
    """Bodies that carry no other and lie low in the standing model."""
    root = next(name for name, parent in parents.items() if not parent)
    floor = min(heights.values())
    low = floor + _LOW * (heights[root] - floor)
    return [name for name in parents if name not in parents.values() and heights[name] <= low]


# A sole by the distance from heel to toes in the model: behind the heel, before it, half its width; that distance without toes.
_BEHIND, _BEFORE, _HALF_WIDTH = 0.15, 1.45, 0.25
_USUAL_M: Final = 0.18


def sole_outlines(model: OpenSimModel, feet: Mapping[Side, str]) -> dict[Side, FloatArray]:
    """Return outlines (4, 3) m of the soles in the axes of the feet's bodies, heel to toes on one edge and back on the other."""
    resting = model.coupled.body_poses(model.default_configuration()[None])
    parents = [body.parent for body in model.multibody.bodies]
    soles: dict[Side, FloatArray] = {}
    for side, name in feet.items():
        b = model.multibody.body_index(name)
        toes = [
            k
            for k, body in enumerate(model.multibody.bodies)
            if body.parent == name or _before(parents, k, name, model)
        ]
        along = np.array([_USUAL_M, 0.0, 0.0])
        if toes:
            along = resting[0][0, b].T @ (resting[1][0, toes[-1]] - resting[1][0, b])
        length = float(np.linalg.norm(along))
        across = np.cross(along / length, (0.0, 1.0, 0.0)) * _HALF_WIDTH * length
        back, front = -_BEHIND * along, _BEFORE * along
        soles[side] = np.array([back - across, front - across, front + across, back + across])
    return soles


def _before(parents: list[str | None], k: int, name: str, model: OpenSimModel) -> bool:
    """Whether a body hangs on another one through the axes of a joint alone."""
    parent = parents[k]
    while parent is not None and "/" in parent:
        parent = parents[model.multibody.body_index(parent)]
    return parent == name
