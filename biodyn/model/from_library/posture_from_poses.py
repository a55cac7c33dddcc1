"""Standing posture from measured segment poses, which replaces the static trial.

Every joint centre has its mean position in the parent, and a fixed rotation has its mean angle. The feet are level, shanks and
thighs are vertical above them, and all other segments are upright, so that the recipes of landmarks are valid. The axes are
from the poses.
"""

from __future__ import annotations

import numpy as np

from biodyn.conventions import SIDE_NAMES, SIDE_SIGN, FloatArray
from biodyn.errors import StaticTrialError
from biodyn.geometry.rotations import matrices_from_cardan_zxy
from biodyn.library.pose_systems import OF_SKELETON, PoseSystem
from biodyn.library.tables import expand_sides
from biodyn.library.toml_files import load_table
from biodyn.model.from_library.skeleton_recipes import BodyRecipe, SkeletonRecipe
from biodyn.model.pose_axes import body_rotations, cardan_angles
from biodyn.recording import SegmentPoses
from biodyn.recording.motion import point_label, virtual_point_positions

_LEAST_FRAMES = 5  # least number of frames with a segment and its parent


class PoseFigure:
    """Standing posture of a person, derived from measured segment poses, in World (X forward, Y up, Z right).

    Joint centres and fixed angles are averaged over the frames with both segments. Raises StaticTrialError if the root was not
    measured, the height is unknown, or the axes do not fit the system.

    Attributes:
        known: axes R_WB (3, 3) and joint centre p_WB (3,) m in World by body.
        points: virtual points (3,) m by label. landmarks: landmarks (3,) m in the file, by name.
        carriers: body of each landmark.
        apart_m: RMS distance of each joint centre from its mean position in the parent, m, by body.
        height_m: body height, given or estimated from the legs.
    """

    def __init__(
        self, poses: SegmentPoses, system: PoseSystem, skeleton: SkeletonRecipe, height_m: float | None
    ) -> None:
        self.poses, self.system, self.skeleton = poses, system, skeleton
        self.segments = {s.body: s for s in system.segments if s.label in poses.labels}
        self.R = body_rotations(poses, system)
        root = skeleton.root
        if root.name not in self.R or np.isfinite(self.R[root.name]).all(axis=(1, 2)).sum() < _LEAST_FRAMES:
            raise StaticTrialError(
                f"The recording has no poses of the {root.name}, so that no leg can be analysed.",
                "Export the poses of all segments.",
            )
        self.in_parent: dict[str, FloatArray] = {}  # joint centre in the parent's axes, from its origin
        self.in_body: dict[str, FloatArray] = {}  # the same in the body's axes, from the body's origin
        self.attitude: dict[str, FloatArray] = {}  # R_PB with the free angles at zero
        self.apart_m: dict[str, float] = {}
        jointed = [body for body in skeleton.bodies if body.name in self.segments and body.parent in self.segments]
        for from_skeleton in (False, True):  # the root origin may need the height
            for body in jointed:
                if (self.segments[body.name].joint == OF_SKELETON) == from_skeleton:
                    self._average_joint(body)
            if not from_skeleton:
                self.height_m = height_m or self._height_from_legs()
                self.in_body[root.name] = self._root_origin()
        self._require_axes()
        self.known = self._posture()
        self.points, self.landmarks, self.carriers = self._find_landmarks()

    def _average_joint(self, body: BodyRecipe) -> None:
        R_P, R_B = self.R[body.parent], self.R[body.name]
        o_P, o_B = self._segment_origin(body.parent), self._segment_origin(body.name)
        joint = self.segments[body.name].joint
        if joint == OF_SKELETON:
            offset = body.template * self.height_m + self.in_body.get(body.parent, np.zeros(3))
            centre = o_P + R_P @ offset
        elif joint in self.poses.labels:
            centre = self.poses.pose(joint)[1]
        else:
            return
        seen = np.isfinite(R_P).all(axis=(1, 2)) & np.isfinite(R_B).all(axis=(1, 2)) & np.isfinite(centre).all(axis=1)
        if seen.sum() < _LEAST_FRAMES:
            return
        in_parent = np.einsum("tji,tj->ti", R_P[seen], (centre - o_P)[seen])
        in_body = np.einsum("tji,tj->ti", R_B[seen], (centre - o_B)[seen])
        self.in_parent[body.name], self.in_body[body.name] = in_parent.mean(axis=0), in_body.mean(axis=0)
        spread = np.sum((in_parent - in_parent.mean(axis=0)) ** 2 + (in_body - in_body.mean(axis=0)) ** 2, axis=1)
        self.apart_m[body.name] = float(np.sqrt(spread.mean()))
        mean = cardan_angles(R_P[seen], R_B[seen]).mean(axis=0)
        for step in body.rotations:
            if step.principal is not None and step.coordinate is not None:
                mean["zxy".index(step.principal)] = 0.0
        oblique = [step.axis for step in body.rotations if step.principal is None and step.coordinate is not None]
        if oblique:
            R_PB = np.swapaxes(R_P[seen], 1, 2) @ R_B[seen]
            mean = _with_axis_angle(mean, oblique[-1], float((R_PB[:, 2] @ oblique[-1]).mean()))
        self.attitude[body.name] = matrices_from_cardan_zxy(mean)

    def _segment_origin(self, body: str) -> FloatArray:
        return self.poses.pose(self.segments[body].label)[1]

    def _height_from_legs(self) -> float:
        """Return the body height (m), estimated from the joint centres of the legs by the fraction of the library."""
        heights = []
        for _, rule in expand_sides(load_table("body/measures")["height_from"]["leg"]):
            ends = [*rule["through"], rule["to"]]
            bodies = [body.name for body in self.skeleton.bodies if body.origin in ends]
            if len(bodies) == len(ends) and all(name in self.in_parent for name in bodies):
                length = sum(float(np.linalg.norm(self.in_parent[name])) for name in bodies)
                heights.append(length / rule["fraction"])
        if not heights:
            raise StaticTrialError(
                "The body height is not given and cannot be estimated, because no leg has all poses.",
                "Give it with --height.",
            )
        return float(np.mean(heights))

    def _root_origin(self) -> FloatArray:
        """Return the origin (3,) m of the root relative to that of its segment, from the midpoint of the hips and the
        skeleton."""
        below = [b for b in self.skeleton.bodies if b.parent == self.skeleton.root.name and b.side]
        below = [body for body in below if body.name in self.in_parent]
        if self.segments[self.skeleton.root.name].joint != OF_SKELETON or not below:
            return np.zeros(3)
        middle = np.mean([self.in_parent[body.name] for body in below], axis=0)
        template = np.mean([body.template for body in below], axis=0) * self.height_m
        sideways = np.array([1.0, 1.0, 0.0 if len(below) > 1 else 1.0])
        return np.asarray(middle - template * sideways)

    def _require_axes(self) -> None:
        """Raise StaticTrialError if a joint of a leg is not below the proximal one, or a hip is on the wrong side."""
        least_cosine = 0.7  # of a segment's long axis and the line between its joints
        root, soles = self.skeleton.root.name, [body.name for body in self.skeleton.bodies if body.sole is not None]
        legs = {body.name for foot in soles for body in self.skeleton.path(foot)}
        for body in self.skeleton.bodies:
            centre = self.in_parent.get(body.name)
            if centre is None or not body.side or body.name not in legs:
                continue
            if body.parent == root:
                fits, should = float(centre[2]) * SIDE_SIGN[body.side] > 0.0, f"on the {SIDE_NAMES[body.side]}"
            else:
                fits, should = -float(centre[1]) > least_cosine * float(np.linalg.norm(centre)), "below"
            if not fits:
                at = ", ".join(f"{1000.0 * x:.0f}" for x in centre)
                raise StaticTrialError(
                    f"The axes of the poses do not agree with {self.system.title}: the origin of {body.name} is at ({at}) "
                    f"mm forward, up, right in {body.parent}, but should be {should}.",
                    "Rotate the segment axes, or store them as ISB axes (docs/markerless.md).",
                )

    def _posture(self) -> dict[str, tuple[FloatArray, FloatArray]]:
        """Return axes and joint centre of every body in World, in the standing posture."""
        R: dict[str, FloatArray] = {self.skeleton.root.name: np.eye(3)}
        for foot in self.skeleton.bodies:
            if foot.sole is None or foot.name not in self.attitude:
                continue
            R[foot.name], body = np.eye(3), foot
            while self.skeleton.body(body.parent).parent and body.parent in self.attitude:  # hips are free
                R[body.parent] = R[body.name] @ self.attitude[body.name].T
                body = self.skeleton.body(body.parent)
        known = {self.skeleton.root.name: (np.eye(3), np.array([0.0, 1.0, 0.0]))}
        for body in self.skeleton.bodies:
            if body.name not in self.in_parent or body.parent not in known:
                continue
            R_P, p_P = known[body.parent]
            centre = p_P + R_P @ (self.in_parent[body.name] - self.in_body[body.parent])
            known[body.name] = R.get(body.name, R_P @ self.attitude[body.name]), centre
        return known

    def _find_landmarks(self) -> tuple[dict[str, FloatArray], dict[str, FloatArray], dict[str, str]]:
        """Return the virtual points by label, the landmarks, and the body of each landmark, in World."""
        known = self.known
        corners = virtual_point_positions(self.system.half_m) @ self.system.R_VB  # in the axes of the body
        points: dict[str, FloatArray] = {}
        for name, (R, p) in known.items():
            if name not in self.skeleton.free:
                continue
            origin = p - R @ self.in_body[name]
            for k, corner in enumerate(corners):
                points[point_label(self.segments[name].label, k)] = origin + R @ corner
        landmarks, carriers = {}, {}
        for point in self.system.points:
            body = self.system.bodies.get(point.segment) or self._proximal_body(point.segment)
            local = self._mean_landmark(point.landmark, point.segment, point.at, body)
            if body in known and local is not None:
                R, p = known[body]
                landmarks[point.landmark], carriers[point.landmark] = p + R @ (local - self.in_body[body]), body
        return points, landmarks, carriers

    def _proximal_body(self, segment: str) -> str:
        """Return the body proximal to a segment that has no body, i.e. the body with a point at its origin."""
        ends = {point.at: self.system.bodies.get(point.segment, "") for point in self.system.points if point.at}
        return ends.get(segment, "")

    def _mean_landmark(self, landmark: str, segment: str, at: str, body: str) -> FloatArray | None:
        """Return the mean position (3,) m of a landmark from the origin of the body's segment, in body axes; None if not in the
        file."""
        if body not in self.segments:
            return None
        if at:
            if at not in self.poses.labels:
                return None
            position = self.poses.pose(at)[1]
        elif landmark in self.poses.landmarks and segment in self.poses.labels:
            R, origin = self.poses.pose(segment)
            position = origin + R @ self.poses.landmarks[landmark][1]
        else:
            return None
        local = np.einsum("tji,tj->ti", self.R[body], position - self._segment_origin(body))
        local = local[np.isfinite(local).all(axis=1)]
        return np.asarray(local.mean(axis=0)) if len(local) >= _LEAST_FRAMES else None


def _with_axis_angle(angles: FloatArray, axis: FloatArray, cosine: float) -> FloatArray:
    """Return the nearest angles (3,) rad about z, x, y with the same z and a given cosine between parent's z axis and body axis.

    In a joint that rotates about both axes, the mean of the angles between them is biased, but the angle of the axes is
    constant. The equation is solved by Newton's method.
    """
    corrected = angles.copy()
    for _ in range(8):
        x, y = corrected[1:]
        across = axis[2] * np.cos(y) - axis[0] * np.sin(y)
        error = np.cos(x) * across + axis[1] * np.sin(x) - cosine
        slope = np.array(
            [axis[1] * np.cos(x) - np.sin(x) * across, -np.cos(x) * (axis[2] * np.sin(y) + axis[0] * np.cos(y))]
        )
        corrected[1:] -= error * slope / (slope @ slope)
    return corrected
