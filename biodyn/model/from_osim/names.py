"""What the names of an OpenSim model's parts tell: the side, the joint, the foot, the variable."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from biodyn.conventions import SIDE_SIGN, SIDES, FloatArray, Side
from biodyn.library.load import load_table

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
