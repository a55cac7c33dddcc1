"""Landmarks and segment frames of a standing subject, computed by applying the recipes of the library to the static trial."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from biodyn.conventions import SIDE_SIGN, FloatArray
from biodyn.errors import ModelError, StaticTrialError
from biodyn.geometry.rotations import cross
from biodyn.library.tables import expand_sides, sided_rows
from biodyn.library.toml_files import load_table
from biodyn.model.from_library.constructions import (
    alignment_device_corner,
    axes_about,
    axes_from_points,
    chord_centre,
    rotated_chord_centre,
)
from biodyn.model.from_library.hip_centre import HipInput, hip_centre
from biodyn.model.from_library.skeleton_recipes import BodyRecipe, SkeletonRecipe

_UP = np.array([0.0, 1.0, 0.0])
_INPUTS = ("of", "from", "to", "through", "proximal", "lateral", "plane", "towards")
_Lookup = Callable[[str], FloatArray | None]


class StaticPose:
    """Landmarks and segment frames while the subject stands, in World; computed on demand and stored.

    Args:
        skeleton: segments and their recipes.
        points: marker positions (3,) m in World by landmark.
        measures: subject measures in m, given or from the file.
        height_m: body height; None = estimated from the legs.
        hip_regression: row of `library/body/joint_centres/hip.toml`, or a path.
        marker_radius_m: radius of the skin markers.
        foot_flat: True if the feet are flat on the floor.
        joint_offsets_rad: measured offset angles of the wands by name.
        known: axes R_WB (3, 3) and joint centres p_WB (3,) m in World that replace the recipes, by body.

    Attributes:
        assumed: measures estimated from body height. used: given measures that were used.
        substitutes: landmarks computed by a recipe with a notice, and the notice.
    """

    def __init__(
        self,
        skeleton: SkeletonRecipe,
        points: Mapping[str, FloatArray],
        measures: Mapping[str, float],
        height_m: float | None,
        hip_regression: str,
        marker_radius_m: float,
        foot_flat: bool,
        joint_offsets_rad: Mapping[str, float] | None = None,
        known: Mapping[str, tuple[FloatArray, FloatArray]] | None = None,
    ) -> None:
        self.skeleton = skeleton
        self.marker_radius_m = marker_radius_m
        self.assumed: dict[str, float] = {}
        self.used: dict[str, float] = {}
        self.substitutes: dict[str, str] = {}
        self._measures = dict(measures)
        self._flags = {"foot_flat": foot_flat}
        self._hip_regression = hip_regression
        self._recipes = {entry["name"]: entry["recipes"] for _, entry in sided_rows("body/landmarks", "landmark")}
        self._origin_of = {body.origin: body for body in skeleton.bodies}
        self._offsets = dict(joint_offsets_rad or {})
        self._marked = {name: np.asarray(p, dtype=float) for name, p in points.items()}
        self._known = dict(known or {})
        self._discard_derived_poses()
        self._pending: set[str] = set()
        if self._body_axes(skeleton.root) is None or self.measured_position(skeleton.root.origin) is None:
            raise StaticTrialError(
                f"The pose of the {skeleton.root.name} cannot be determined for the calibration. It needs "
                f"{_required_landmarks(skeleton.root)}, of which the trial lacks "
                f"{', '.join(self.missing_landmarks(skeleton.root))}.",
                "Use a static trial in which these markers are visible, or a walk in which they are visible "
                "together with three other markers of this segment.",
            )
        self.height_m = self._estimated_height() if height_m is None else height_m
        self.height_estimated = height_m is None

    def measured_position(self, name: str) -> FloatArray | None:
        """Return the position (3,) m in World of a landmark, None if the markers do not determine it."""
        if name not in self._points:
            if name in self._pending:
                return None
            self._pending.add(name)
            self._points[name] = self._apply_recipes(name, self.measured_position)
            self._pending.discard(name)
        return self._points[name]

    def position(self, name: str) -> FloatArray:
        """Return the position (3,) m of a landmark in World; in a neutral upright posture if the markers do not determine it."""
        point = self._assumed_position(name)
        if point is None:
            raise ModelError(f"Landmark '{name}' cannot be determined: it has no marker and no recipe.")
        return point

    def is_determined(self, name: str) -> bool:
        """Return whether the position of a landmark follows from markers, from measures, or from assumed measures."""
        return self._assumed_position(name) is not None

    def is_located(self, body: BodyRecipe) -> bool:
        """Return whether markers determine the pose of the body in the static trial; otherwise a neutral pose is assumed."""
        return self._body_axes(body) is not None and self.measured_position(body.origin) is not None

    def missing_landmarks(self, body: BodyRecipe) -> list[str]:
        """Return the missing marker landmarks that the first rule of the body needs."""
        exact, plane = body.frames[0]
        pending = [exact.start, exact.end, plane.start, plane.end, body.origin]
        missing: dict[str, None] = {}
        seen: set[str] = set()
        while pending:
            name = pending.pop(0)
            if name in seen or self.measured_position(name) is not None:
                continue
            seen.add(name)
            recipes = self._recipes.get(name, ())
            inputs = [recipes[0][key] for key in _INPUTS if key in recipes[0]] if recipes else []
            if not inputs:
                missing[name] = None
            for value in inputs:
                pending += value if isinstance(value, list) else [value]
        return list(missing)

    def body_pose(self, body: BodyRecipe) -> tuple[FloatArray, FloatArray]:
        """Return R_WB (3, 3) and p_WB (3,) m of a body; a body without markers is upright, at its joint or below its parent."""
        axes = self._body_axes(body)
        origin = self.measured_position(body.origin)
        if origin is None:
            return self.upright_axes(), self._template_origin(body)
        return self.upright_axes() if axes is None else axes, origin

    def upright_axes(self) -> FloatArray:
        """Return the axes (3, 3) of a neutral standing posture: Y up, X the root's forward direction in the horizontal plane."""
        root = self._body_axes(self.skeleton.root)
        assert root is not None  # checked in __init__
        forward = root[:, 0] - _UP * (root[:, 0] @ _UP)
        x = forward / np.linalg.norm(forward)
        return np.column_stack([x, _UP, cross(x, _UP)])

    def length(self, name: str) -> float:
        """Return a subject measure in m: the known value, or a fraction of body height, which is then stored in `assumed`."""
        known = self._known_measure(name)
        if known is not None:
            return known
        estimate = self.length_from_height(name)
        if estimate is None:
            raise ModelError(
                f"Measure '{name}' does not exist.",
                f"Valid measures: {', '.join(load_table('body/measures')['measure'])}.",
            )
        self.assumed[name] = estimate
        return estimate

    def length_from_height(self, name: str) -> float | None:
        """Return a measure in m estimated from body height; None if the library has no fraction for it."""
        base, _, _ = name.rpartition("_")
        row = load_table("body/measures")["measure"].get(base)
        return None if row is None else row["by_height"] * self.height_m

    def _known_measure(self, name: str) -> float | None:
        if name in self._measures:
            self.used[name] = self._measures[name]
        return self._measures.get(name)

    # -- recipes ------------------------------------------------------------------------------------------------

    def _assumed_position(self, name: str) -> FloatArray | None:
        point = self.measured_position(name)
        if point is None and name in self._origin_of:
            point = self._template_origin(self._origin_of[name])
        return self._apply_recipes(name, self._assumed_position) if point is None else point

    def _apply_recipes(self, name: str, lookup: _Lookup) -> FloatArray | None:
        for recipe in self._recipes.get(name, ()):
            if self._flags.get(recipe.get("needs", ""), True):
                point = self._apply_recipe(recipe, lookup)
                if point is not None:
                    if "notice" in recipe:
                        self.substitutes[name] = recipe["notice"]
                    return point
        return None

    def _apply_recipe(self, recipe: Mapping[str, Any], lookup: _Lookup) -> FloatArray | None:
        operation = recipe["op"]
        if operation == "hip_regression":
            return self._hip_centre(recipe)
        if operation == "in_frame":
            return self._point_in_frame(recipe)
        if operation == "in_body":
            return None if lookup == self.measured_position else self._point_in_body(recipe)
        inputs: dict[str, Any] = {}
        for key in _INPUTS:
            if key not in recipe:
                continue
            value = recipe[key]
            points = [lookup(entry) for entry in value] if isinstance(value, list) else lookup(value)
            if points is None or (isinstance(points, list) and any(p is None for p in points)):
                return None
            inputs[key] = points
        return self._construct_point(operation, recipe, inputs)

    def _point_in_body(self, recipe: Mapping[str, Any]) -> FloatArray:
        body = self.skeleton.body(recipe["body"])
        R_WB, p_WB = self.body_pose(body)
        offset = np.array(recipe["by_height"]) * (1.0, 1.0, SIDE_SIGN.get(body.side, 1.0))
        return p_WB + R_WB @ offset * self.height_m

    def _construct_point(self, operation: str, recipe: Mapping[str, Any], p: Mapping[str, Any]) -> FloatArray | None:
        if operation == "point":
            return p["of"]
        if operation == "midpoint":
            return np.mean(p["of"], axis=0)
        if operation == "between":
            return p["from"] + recipe["fraction"] * (p["to"] - p["from"])
        if operation == "extend":
            return p["from"] + recipe["factor"] * (p["through"] - p["from"])
        if operation == "project":
            along = p["to"] - p["from"]
            return p["from"] + along * float((p["of"] - p["from"]) @ along) / float(along @ along)
        if operation == "midplane":
            across = p["to"] - p["from"]
            off = float((p["of"] - 0.5 * (p["from"] + p["to"])) @ across) / float(across @ across)
            return p["of"] - off * across
        if operation == "above":
            rise = recipe["by"] if "by" in recipe else recipe["by_height"] * self.height_m
            return p["of"] + rise * _UP
        if operation == "beside":
            return self._offset_point(p["of"], p["from"], np.array(recipe["by_height"]) * self.height_m)
        if operation == "level":
            return np.array([p["of"][0], p["to"][1], p["of"][2]])
        if operation == "chord":
            distance = 0.5 * self.length(recipe["width"]) + self.marker_radius_m
            rotation = self._offsets.get(recipe.get("rotation", ""))
            if rotation is None and "usual_rotation_deg" in recipe:
                rotation = float(np.deg2rad(recipe["usual_rotation_deg"]))
            if rotation is not None:
                raised = self._offsets.get(recipe.get("raised", ""), 0.0)
                turn = SIDE_SIGN[recipe["side"]] * rotation
                return rotated_chord_centre(p["proximal"], p["lateral"], p["plane"], distance, turn, raised)
            return chord_centre(p["proximal"], p["lateral"], p["plane"], distance, recipe.get("same_side", False))
        if operation == "inward":
            distance = 0.5 * self.length(recipe["measure"]) + self.marker_radius_m
            direction = p["towards"] - p["of"]
            return p["of"] + distance * direction / np.linalg.norm(direction)
        if operation == "alignment_device":
            return alignment_device_corner(np.array(p["of"]), p["towards"])
        raise ModelError(f"Landmark recipe '{operation}' does not exist.")

    def _offset_point(self, point: FloatArray, below: FloatArray, offset: FloatArray) -> FloatArray | None:
        """Return `point` plus an offset (3,) m in axes with Y from `below` to the point and Z near that of the root."""
        root = self._body_axes(self.skeleton.root)
        return None if root is None else point + axes_about(point - below, root[:, 2]) @ offset

    def _point_in_frame(self, recipe: Mapping[str, Any]) -> FloatArray | None:
        axes = self._body_axes(self.skeleton.body(recipe["frame"]))
        points = [self.measured_position(recipe[key]) for key in ("origin", "scale_from", "scale_to")]
        if axes is None or any(point is None for point in points):
            return None
        origin, start, end = points
        scale = np.linalg.norm(end - start)  # type: ignore[operator]
        return origin + scale * (axes @ np.array(recipe["position"]))

    def _hip_centre(self, recipe: Mapping[str, Any]) -> FloatArray | None:
        pelvis = self._body_axes(self.skeleton.root)
        front, back, right, left = (self.measured_position(recipe[key]) for key in ("front", "back", "right", "left"))
        if pelvis is None or front is None or back is None or right is None or left is None:
            return None
        leg = self._known_measure(recipe["leg_length"])
        if leg is None:
            top, bottom = (self.measured_position(name) for name in recipe["leg"])
            if top is None or bottom is None:
                return None
            leg = float(np.linalg.norm(top - bottom))
        # a calliper measurement is more accurate than markers on soft tissue
        width = self._known_measure(recipe["pelvis_width"])
        given = HipInput(
            side=recipe["side"],
            pelvis_depth_m=float(np.linalg.norm(front - back)) - 2.0 * self.marker_radius_m,
            pelvis_width_m=float(np.linalg.norm(right - left)) if width is None else width,
            leg_length_m=leg,
            marker_radius_m=self.marker_radius_m,
            asis_trochanter_m=self._known_measure(recipe["asis_trochanter"]),
        )
        return front + pelvis @ hip_centre(self._hip_regression, given)

    # -- frames -------------------------------------------------------------------------------------------------

    def _body_axes(self, body: BodyRecipe) -> FloatArray | None:
        key = f"axes of {body.name}"
        if body.name in self._frames:
            return self._frames[body.name]
        if key in self._pending:
            return None
        self._pending.add(key)
        try:
            for exact, plane in body.frames:
                ends = [self.measured_position(name) for name in (exact.start, exact.end, plane.start, plane.end)]
                if any(end is None for end in ends):
                    continue
                axes = axes_from_points(exact, plane, *ends)  # type: ignore[arg-type]
                if axes is not None:
                    self._frames[body.name] = axes
                    return axes
        finally:
            self._pending.discard(key)
        self._frames[body.name] = None
        return None

    def _template_origin(self, body: BodyRecipe) -> FloatArray:
        _, parent = self.body_pose(self.skeleton.body(body.parent))
        return parent + self.upright_axes() @ body.template * self.height_m

    def _estimated_height(self) -> float:
        """Return the height (m) from the legs.

        Joint centres may need a width estimated from height, so that the height is iterated from 1.7 m. The iteration reduces
        an error of the height by a factor of more than 100, because a width shifts a joint centre sideways.
        """
        height = 1.7
        for _ in range(4):
            self._set_height(height)
            by_legs = self.height_from_legs()
            if by_legs is None:
                raise StaticTrialError(
                    "The body height is not given and cannot be estimated, because no leg has all markers.",
                    "Specify it with --height.",
                )
            height = by_legs
        self._set_height(height)
        return height

    def _set_height(self, height_m: float) -> None:
        """Set the height and discard results that used another one."""
        self.height_m = height_m
        self.assumed.clear()
        self._discard_derived_poses()

    def _discard_derived_poses(self) -> None:
        centres = {self.skeleton.body(name).origin: p_WB for name, (_, p_WB) in self._known.items()}
        self._points: dict[str, FloatArray | None] = {**self._marked, **centres}
        self._frames: dict[str, FloatArray | None] = {name: R_WB for name, (R_WB, _) in self._known.items()}

    def height_from_legs(self) -> float | None:
        """Return the body height (m) estimated from leg length; None if no leg has all markers."""
        estimates = []
        for rule in load_table("body/measures")["height_from"].values():
            for _, filled in expand_sides(rule):
                points = [self.measured_position(name) for name in (filled["from"], *filled["through"], filled["to"])]
                if all(point is not None for point in points):
                    spans = [np.linalg.norm(b - a) for a, b in pairwise(points)]  # type: ignore[operator]
                    length = float(np.sum(spans))
                    estimates.append(length / filled["fraction"])
        return float(np.mean(estimates)) if estimates else None


def _required_landmarks(body: BodyRecipe) -> str:
    return " or ".join(f"{exact.start}, {exact.end}, {plane.start}, {plane.end}" for exact, plane in body.frames)
