"""Skeletons as the library has them: bodies, their joints, and the recipes that find them on a standing person."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from biodyn.conventions import SIDE_SIGN, SIDES, FloatArray
from biodyn.errors import ModelError
from biodyn.library.load import nearest
from biodyn.library.tables import extended, for_each_side, load_entry
from biodyn.model.skeleton import BodyDefinition, FreedRotation, Rotation, Skeleton, SkeletonDefinition, UnseenMotion

_AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


@dataclass(frozen=True)
class AxisRule:
    """A segment axis from landmark `start` to landmark `end`; `sign` -1 turns it round (lateral axes of the left side)."""

    axis: str
    start: str
    end: str
    sign: float = 1.0


@dataclass(frozen=True)
class SoleRule:
    """Landmarks at both ends of the sole and the measure that is its width."""

    back: str
    front: str
    width: str


@dataclass(frozen=True)
class TurnRule:
    """The hinge coordinate that tells how the body's axes are turned about its long axis, and landmarks that make it known."""

    coordinate: str
    known_from: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class BodyRecipe(BodyDefinition):
    """One segment of a skeleton, and how it is found on a standing person.

    Attributes, beside those of the body:
        origin: landmark at the segment's origin, which is the centre of its joint to the parent.
        frames: rules (exact axis, axis that fixes the plane) in order of preference.
        template: (3,) joint centre in the parent's axes, fractions of body height, for unseen bodies.
        sole: where the sole is, for feet.
        turn: how the axes' direction about the long axis can be found from the walk, where it is uncertain.
        refined_centre: the walk may move the joint centre.
    """

    origin: str
    frames: tuple[tuple[AxisRule, AxisRule], ...]
    template: FloatArray
    sole: SoleRule | None = None
    turn: TurnRule | None = None
    refined_centre: bool = False

    @cached_property
    def definition(self) -> BodyDefinition:
        """The body without its recipe."""
        return BodyDefinition(**{field.name: getattr(self, field.name) for field in fields(BodyDefinition)})


#: A skeleton as the library has it.
SkeletonRecipe: TypeAlias = Skeleton[BodyRecipe]


def definition_of(skeleton: SkeletonRecipe) -> SkeletonDefinition:
    """Return the skeleton without its recipes."""
    bodies = tuple(body.definition for body in skeleton.bodies)
    return SkeletonDefinition(skeleton.name, skeleton.title, skeleton.citation, bodies, skeleton.free)


def foot_bodies(skeleton: SkeletonRecipe) -> tuple[str, ...]:
    """Names of the bodies that have a sole."""
    return tuple(body.name for body in skeleton.bodies if body.sole is not None)


def load_skeleton(name: str, above: tuple[str, ...] = ()) -> SkeletonRecipe:
    """Read a skeleton of the library (or a TOML path) and expand both sides; ModelError names what contradicts itself.

    `above`: files that extend this one, for the circle that they might form.
    """
    table = load_entry("skeletons", name)
    if "extends" in table:
        base = load_skeleton(extended("skeletons", table["extends"], name, above), (*above, name))
        free = frozenset(body for entry in table["free"] for _, body in for_each_side(entry))
        unknown = sorted(free - {body.name for body in base.bodies})
        if unknown:
            raise ModelError(
                f"Skeleton '{name}' frees bodies that '{base.name}' does not have: {', '.join(unknown)}.",
                nearest(unknown[0], [body.name for body in base.bodies]),
            )
        if base.root.name not in free:
            raise ModelError(f"Skeleton '{name}' does not free '{base.root.name}', which floats: put it into 'free'.")
        return SkeletonRecipe(table["name"], table["title"], table["citation"], base.bodies, free)
    bodies = tuple(_body(side, entry) for raw in table["body"] for side, entry in for_each_side(raw))
    ordered = _parents_first(name, bodies)
    _require_consistent(name, ordered)
    return SkeletonRecipe(table["name"], table["title"], table["citation"], ordered, frozenset(b.name for b in ordered))


def _require_consistent(name: str, bodies: tuple[BodyRecipe, ...]) -> None:
    """Raise ModelError for names that are there twice, and for soles and turns that lead nowhere."""
    coordinates = [step.coordinate for body in bodies for step in body.rotations if step.coordinate]
    coordinates += [c for body in bodies for c in (*body.base_rotations, *body.base_translations)]
    for what, names in (
        ("bodies", [body.name for body in bodies]),
        ("joints", [body.joint for body in bodies]),
        ("coordinates", coordinates),
    ):
        twice = next((one for one in names if names.count(one) > 1), None)
        if twice is not None:
            raise ModelError(f"Skeleton '{name}' has two {what} called '{twice}'.", "Give every one its own name.")
    for body in bodies:
        if body.turn is not None and body.turn.coordinate not in coordinates:
            raise ModelError(
                f"Skeleton '{name}', body '{body.name}': 'turn' names '{body.turn.coordinate}', which is no coordinate.",
                nearest(body.turn.coordinate, coordinates),
            )
    for side in SIDES:
        feet = [body.name for body in bodies if body.sole is not None and body.side == side]
        if len(feet) != 1:
            raise ModelError(
                f"Skeleton '{name}' has {len(feet) or 'no'} bodies with a 'sole' on side '{side}', expected one foot.",
                "Write the foot once for both sides, with {s} in its names.",
            )


def _body(side: str, entry: dict[str, Any]) -> BodyRecipe:
    sign = SIDE_SIGN.get(side, 1.0)
    frames = tuple((_axis_rule(rule[0], sign), _axis_rule(rule[1], sign)) for rule in entry["frames"])
    template = np.array(entry.get("template", (0.0, 0.0, 0.0))) * (1.0, 1.0, sign)
    base = entry.get("base", {})
    return BodyRecipe(
        name=entry["name"],
        parent=entry.get("parent", ""),
        joint=entry["joint"],
        side=side,
        origin=entry["origin"],
        frames=frames,
        rotations=tuple(_rotation(step, sign) for step in entry.get("rotations", ())),
        template=template,
        base_rotations=tuple(base.get("rotations", ())),
        base_translations=tuple(base.get("translations", ())),
        unseen=_unseen(entry["unseen"], sign) if "unseen" in entry else None,
        sole=SoleRule(**entry["sole"]) if "sole" in entry else None,
        turn=TurnRule(entry["turn"]["coordinate"], tuple(entry["turn"]["known_from"])) if "turn" in entry else None,
        refined_centre=entry.get("centre") == "refined",
    )


def _unseen(entry: dict[str, Any], side_sign: float) -> UnseenMotion:
    tilt, list_, turn = np.deg2rad(entry.get("attitude_deg", (0.0, 0.0, 0.0)))
    attitude = (float(tilt), float(side_sign * list_), float(side_sign * turn))
    return UnseenMotion(attitude, float(entry.get("swing", 0.0)))


def _axis_rule(rule: list[str], side_sign: float) -> AxisRule:
    lateral = len(rule) > 3 and rule[3] == "lateral"
    return AxisRule(rule[0], rule[1], rule[2], side_sign if lateral else 1.0)


def _rotation(step: dict[str, Any], side_sign: float) -> Rotation:
    named = isinstance(step["axis"], str)
    axis = np.array(_AXES[step["axis"]] if named else step["axis"], dtype=float)
    # A rotation axis is a pseudovector: mirrored through the sagittal plane X-Y, its x and y change sign.
    axis = axis * (side_sign, side_sign, 1.0) * step.get("sign", 1.0)
    low, high = step.get("range_deg", (-np.inf, np.inf))
    freed = step.get("freed")
    return Rotation(
        axis=axis / np.linalg.norm(axis),
        coordinate=step.get("coordinate"),
        range_rad=(float(np.deg2rad(low)), float(np.deg2rad(high))),
        principal=step["axis"] if named else None,
        freed=None if freed is None else _freed(freed),
    )


def _freed(entry: dict[str, Any]) -> FreedRotation:
    low, high = np.deg2rad(entry["range_deg"])
    return FreedRotation(
        entry["option"], entry["coordinate"], (float(low), float(high)), float(np.deg2rad(entry["sd_deg"]))
    )


def _parents_first(name: str, bodies: tuple[BodyRecipe, ...]) -> tuple[BodyRecipe, ...]:
    placed: dict[str, BodyRecipe] = {}
    waiting = list(bodies)
    while waiting:
        ready = [body for body in waiting if not body.parent or body.parent in placed]
        if not ready:
            names = ", ".join(body.name for body in waiting)
            raise ModelError(f"Skeleton '{name}': the parents of {names} are missing or form a circle.")
        placed.update((body.name, body) for body in ready)
        waiting = [body for body in waiting if body.name not in placed]
    ordered = tuple(placed.values())
    if sum(not body.parent for body in ordered) != 1:
        raise ModelError(f"Skeleton '{name}' needs exactly one body without parent.")
    return ordered
