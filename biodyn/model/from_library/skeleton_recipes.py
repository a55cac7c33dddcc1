"""Skeletons of the library: bodies, their joints, and the recipes that locate them on a standing subject."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from biodyn.conventions import SIDE_SIGN, SIDES, FloatArray
from biodyn.errors import ModelError
from biodyn.library.tables import expand_sides, load_entry, parent_table_name
from biodyn.library.toml_files import suggest_name
from biodyn.model.skeleton import BodyDefinition, Rotation, Skeleton, SkeletonDefinition, UnseenMotion

_AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


@dataclass(frozen=True)
class AxisRule:
    """A segment axis from landmark `start` to landmark `end`; `sign` -1 reverses it (lateral axes of the left side)."""

    axis: str
    start: str
    end: str
    sign: float = 1.0


@dataclass(frozen=True, kw_only=True)
class BodyRecipe(BodyDefinition):
    """One segment of a skeleton, and the recipe that locates it on a standing subject.

    Additional attributes: origin: landmark at the origin of the segment, which is the centre of its joint to the parent.
        frames: rules (exact axis, axis that determines the plane) in order of preference. template: (3,) joint centre in the
        axes of the parent as fractions of body height, for bodies without markers. sole: for a foot, landmarks at its rear and
        front end, and the measure of its width. hinge: coordinate that determines the rotation about the long axis in the walk,
        unless a landmark of `hinge_known_from` is measured; "" = none. refined_centre: the joint centre may be refined from the
        walk.
    """

    origin: str
    frames: tuple[tuple[AxisRule, AxisRule], ...]
    template: FloatArray
    sole: tuple[str, str, str] | None = None
    hinge: str = ""
    hinge_known_from: tuple[str, ...] = ()
    refined_centre: bool = False

    @cached_property
    def definition(self) -> BodyDefinition:
        """Return the definition of the body (segment and joint), without the recipe that locates it."""
        return BodyDefinition(**{field.name: getattr(self, field.name) for field in fields(BodyDefinition)})


#: A skeleton of the library.
SkeletonRecipe: TypeAlias = Skeleton[BodyRecipe]


def without_recipes(skeleton: SkeletonRecipe) -> SkeletonDefinition:
    """Return the skeleton with the definitions of its bodies, without the recipes that locate them."""
    bodies = tuple(body.definition for body in skeleton.bodies)
    return SkeletonDefinition(skeleton.name, skeleton.title, skeleton.citation, bodies, skeleton.free)


def foot_bodies(skeleton: SkeletonRecipe) -> tuple[str, ...]:
    """Return the names of the bodies with a sole, which are the feet."""
    return tuple(body.name for body in skeleton.bodies if body.sole is not None)


def load_skeleton(name: str, above: tuple[str, ...] = ()) -> SkeletonRecipe:
    """Read a skeleton of the library (or a TOML path) and expand both sides; ModelError names contradictions.

    Args: `above`: files that extend this one, to detect circular extensions.
    """
    table = load_entry("skeletons", name)
    if "extends" in table:
        base = load_skeleton(parent_table_name("skeletons", table["extends"], name, above), (*above, name))
        free = frozenset(body for entry in table["free"] for _, body in expand_sides(entry))
        unknown = sorted(free - {body.name for body in base.bodies})
        if unknown:
            raise ModelError(
                f"Skeleton '{name}' frees bodies that '{base.name}' does not have: {', '.join(unknown)}.",
                suggest_name(unknown[0], [body.name for body in base.bodies]),
            )
        if base.root.name not in free:
            raise ModelError(f"Skeleton '{name}' does not free the floating base '{base.root.name}'. Add it to 'free'.")
        return SkeletonRecipe(table["name"], table["title"], table["citation"], base.bodies, free)
    bodies = tuple(_read_body(side, entry) for raw in table["body"] for side, entry in expand_sides(raw))
    ordered = _sort_parents_first(name, bodies)
    _require_consistent(name, ordered)
    return SkeletonRecipe(table["name"], table["title"], table["citation"], ordered, frozenset(b.name for b in ordered))


def _require_consistent(name: str, bodies: tuple[BodyRecipe, ...]) -> None:
    """Raise ModelError for repeated names, and for soles and hinges that do not exist."""
    coordinates = [step.coordinate for body in bodies for step in body.rotations if step.coordinate]
    coordinates += [c for body in bodies for c in (*body.base_rotations, *body.base_translations)]
    for what, names in (
        ("bodies", [body.name for body in bodies]),
        ("joints", [body.joint for body in bodies]),
        ("coordinates", coordinates),
    ):
        repeated = next((entry for entry in names if names.count(entry) > 1), None)
        if repeated is not None:
            raise ModelError(
                f"Skeleton '{name}' has two {what} with the name '{repeated}'.", "Give each a different name."
            )
    for body in bodies:
        if body.hinge and body.hinge not in coordinates:
            raise ModelError(
                f"Skeleton '{name}', body '{body.name}': 'turn' refers to '{body.hinge}', which is not a coordinate.",
                suggest_name(body.hinge, coordinates),
            )
    for side in SIDES:
        feet = [body.name for body in bodies if body.sole is not None and body.side == side]
        if len(feet) != 1:
            raise ModelError(
                f"Skeleton '{name}' has {len(feet) or 'no'} bodies with a 'sole' on side '{side}', expected one foot.",
                "Define the foot once for both sides, with {s} in its names.",
            )


def _read_body(side: str, entry: dict[str, Any]) -> BodyRecipe:
    sign = SIDE_SIGN.get(side, 1.0)
    frames = tuple((_read_axis_rule(rule[0], sign), _read_axis_rule(rule[1], sign)) for rule in entry["frames"])
    template = np.array(entry.get("template", (0.0, 0.0, 0.0))) * (1.0, 1.0, sign)
    base, turn, sole = (entry.get(key, {}) for key in ("base", "turn", "sole"))
    return BodyRecipe(
        name=entry["name"],
        parent=entry.get("parent", ""),
        joint=entry["joint"],
        side=side,
        origin=entry["origin"],
        frames=frames,
        rotations=tuple(_read_rotation(step, sign) for step in entry.get("rotations", ())),
        template=template,
        base_rotations=tuple(base.get("rotations", ())),
        base_translations=tuple(base.get("translations", ())),
        unseen=_read_unseen_motion(entry["unseen"], sign) if "unseen" in entry else None,
        sole=(sole["back"], sole["front"], sole["width"]) if sole else None,
        hinge=turn.get("coordinate", ""),
        hinge_known_from=tuple(turn.get("known_from", ())),
        refined_centre=entry.get("centre") == "refined",
    )


def _read_unseen_motion(entry: dict[str, Any], side_sign: float) -> UnseenMotion:
    tilt, list_, turn = np.deg2rad(entry.get("attitude_deg", (0.0, 0.0, 0.0)))
    attitude = (float(tilt), float(side_sign * list_), float(side_sign * turn))
    return UnseenMotion(attitude, float(entry.get("swing", 0.0)))


def _read_axis_rule(rule: list[str], side_sign: float) -> AxisRule:
    lateral = len(rule) > 3 and rule[3] == "lateral"
    return AxisRule(rule[0], rule[1], rule[2], side_sign if lateral else 1.0)


def _read_rotation(step: dict[str, Any], side_sign: float) -> Rotation:
    is_principal = isinstance(step["axis"], str)
    axis = np.array(_AXES[step["axis"]] if is_principal else step["axis"], dtype=float)
    # a rotation axis is a pseudovector, whose x and y change sign when mirrored in the sagittal plane X-Y
    axis = axis * (side_sign, side_sign, 1.0) * step.get("sign", 1.0)
    rotation = Rotation(
        axis=axis / np.linalg.norm(axis),
        coordinate=step.get("coordinate"),
        range_rad=_range_rad(step.get("range_deg", (-np.inf, np.inf))),
        principal=step["axis"] if is_principal else None,
    )
    freed = step.get("freed")
    if freed is None:
        return rotation
    sd_rad = float(np.deg2rad(freed["sd_deg"]))
    free = replace(rotation, coordinate=freed["coordinate"], range_rad=_range_rad(freed["range_deg"]), sd_rad=sd_rad)
    return replace(rotation, option=freed["option"], freed=free)


def _range_rad(range_deg: Sequence[float]) -> tuple[float, float]:
    low, high = np.deg2rad(range_deg)
    return float(low), float(high)


def _sort_parents_first(name: str, bodies: tuple[BodyRecipe, ...]) -> tuple[BodyRecipe, ...]:
    placed: dict[str, BodyRecipe] = {}
    waiting = list(bodies)
    while waiting:
        ready = [body for body in waiting if not body.parent or body.parent in placed]
        if not ready:
            names = ", ".join(body.name for body in waiting)
            raise ModelError(f"Skeleton '{name}': the parents of {names} are missing or form a cycle.")
        placed.update((body.name, body) for body in ready)
        waiting = [body for body in waiting if body.name not in placed]
    ordered = tuple(placed.values())
    if sum(not body.parent for body in ordered) != 1:
        raise ModelError(f"Skeleton '{name}' needs exactly one body without parent.")
    return ordered
