"""Articulated model of a person as a probability distribution of marker positions, and its fit to the points of one frame."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np

from biodyn.conventions import SIDE_SIGN, SIDES, FloatArray, other_side, without_side
from biodyn.library.tables import expand_sides, sided_rows
from biodyn.library.toml_files import load_table

_TABLE = "body/person"
_ANGLES = ("flexion", "abduction", "turning")
# Prior standard deviations of position and heading, which are large because a person may be anywhere and face any direction.
_POSITION_SD_M = 10.0
_HEADING_SD_RAD = 3.0
_ROOT = 5  # parameters of the whole person: position (3), heading, height


@dataclass(frozen=True)
class PlaceTable:
    """Places of markers on the body (library/body/person.toml).

    Attributes:
        names: landmark of each place, or the first label of a marker without landmark.
        by_label: place of each label of a marker without landmark.
        mirrored: place -> the corresponding place of the other side (a midline place corresponds to itself).
        body: segment of each place.
        parts: segments of each part of the body with sides that may be swapped as a whole.
    """

    names: tuple[str, ...]
    by_label: Mapping[str, str]
    mirrored: Mapping[str, str]
    body: Mapping[str, str]
    parts: tuple[frozenset[str], ...]


def _place_name(row: Mapping[str, Any]) -> str:
    return str(row.get("landmark") or row["labels"][0])


@cache
def place_table() -> PlaceTable:
    """Return the places of markers on the body from `library/body/person.toml`."""
    table = load_table(_TABLE)
    rows = [row for _, row in sided_rows(_TABLE, "place")]
    names = tuple(_place_name(row) for row in rows)
    mirrored = {name: name for name in names}
    for raw in table["place"]:
        sided = dict(expand_sides(_place_name(raw)))
        mirrored |= {sided[side]: sided[other_side(side)] for side in SIDES if side in sided}
    return PlaceTable(
        names=names,
        by_label={label: row["labels"][0] for row in rows if not row.get("landmark") for label in row["labels"]},
        mirrored=mirrored,
        body={name: row["body"] for name, row in zip(names, rows, strict=True)},
        parts=tuple(frozenset(name for raw in part for _, name in expand_sides(raw)) for part in table["parts"]),
    )


@cache
def person_with_places(places: tuple[str, ...]) -> JointedPerson:
    """Return the person with markers at these places (`PlaceTable.names`)."""
    return JointedPerson(places)


#: Attitudes R (S, 3, 3), joint centres p (S, 3) m and scales (S, 3) of S segments at mean position and heading, and the axes of
#: their rotations (S, 3, 3), one per row.
_Poses = tuple[FloatArray, FloatArray, FloatArray, FloatArray]


class JointedPerson:
    """Person with markers at N places, described by P parameters with mean 0 and standard deviation 1.

    Attributes:
        places: names of the places, length N. sd: (N, 3) m, spread of the marker on its segment at reference height.
        size: number of parameters P.
    """

    def __init__(self, places: Sequence[str]) -> None:
        table = load_table(_TABLE)
        sided = dict(zip(place_table().names, sided_rows(_TABLE, "place"), strict=True))
        rows = [sided[place] for place in places]
        self.places = tuple(places)
        self._height_sd = float(table["height_sd"])
        segments = _segments_between({row["body"] for _, row in rows})
        self._set_segments(segments)
        index = {name: i for i, (name, _, _) in enumerate(segments)}
        self._body = np.array([index[row["body"]] for _, row in rows], dtype=int)
        mirror = np.array([[1.0, 1.0, -1.0 if side == "l" else 1.0] for side, _ in rows]).reshape(-1, 3)
        position = np.array([row["position"] for _, row in rows]).reshape(-1, 3) * mirror
        self._local = position - self._centres[self._body]
        placement_sd = np.array([row["sd"] for _, row in rows]).reshape(-1, 3)
        self.sd: FloatArray = np.hypot(placement_sd, float(table["unmodelled_sd_m"]))
        self._set_derivative_arrays()
        self._last: tuple[FloatArray, _Poses] | None = None

    def _set_segments(self, segments: Sequence[tuple[str, str, dict[str, Any]]]) -> None:
        """Set the means and standard deviations of the S segments, and the indices of their parameters."""
        count, index = len(segments), {name: i for i, (name, _, _) in enumerate(segments)}
        sign = np.array([SIDE_SIGN.get(side, 0.0) for _, side, _ in segments])
        self._signs = np.where(sign, sign, 1.0)
        self._parents = [index.get(str(row.get("parent", "")), -1) for _, _, row in segments]
        self._centres = np.array([row["centre"] for _, _, row in segments])
        self._centres[:, 2] *= self._signs
        self._from_parent = self._centres.copy()
        for i, parent in enumerate(self._parents):
            self._from_parent[i] -= self._centres[parent] if parent >= 0 else 0.0
        angles = np.deg2rad(np.array([[row[angle] for angle in _ANGLES] for _, _, row in segments]))
        self._means, self._both_sd, self._own_sd = angles.transpose(2, 0, 1)
        self._own_sd[sign == 0.0] = 0.0
        self._proportion_sd = np.array([(row["length"], row["breadth"]) for _, _, row in segments])
        along = ["xyz".index(str(row.get("along", "y"))) for _, _, row in segments]
        self._is_along = np.eye(3, dtype=bool)[along]

        columns: dict[tuple[str, str], int] = {}
        self._both = np.zeros((count, 3), dtype=int)
        self._own = np.zeros((count, 3), dtype=int)
        self._proportions = np.zeros((count, 2), dtype=int)
        for i, (name, side, _) in enumerate(segments):
            both = without_side(name, side)
            for row, owner, quantities in (
                (self._both[i], both, _ANGLES),
                (self._own[i], name, _ANGLES if side else ()),
                (self._proportions[i], both, ("length", "breadth")),
            ):
                for k, quantity in enumerate(quantities):
                    row[k] = columns.setdefault((owner, quantity), _ROOT + len(columns))
        self.size = _ROOT + len(columns)

    def _set_derivative_arrays(self) -> None:
        """Set the arrays of the derivatives: the places that each rotation moves, and the lever arm of each scale."""
        count = len(self._parents)
        is_below = np.eye(count, dtype=bool)  # [i, j]: True if segment j is segment i or distal to it
        for j, parent in enumerate(self._parents):
            if parent >= 0:
                is_below[:, j] |= is_below[:, parent]
        self._below = is_below[:, self._body]
        self._reach = np.where((self._body == np.arange(count)[:, None])[..., None], self._local, 0.0)
        for j, parent in enumerate(self._parents):
            if parent >= 0:
                self._reach[parent, self._below[j]] = self._from_parent[j]
        self._directions = np.stack([self._is_along, ~self._is_along], axis=1).astype(float)
        self._to_parameters = np.zeros((self.size, 5 * count))
        rows = np.arange(3 * count).reshape(count, 3)
        self._to_parameters[self._own, rows] = self._own_sd
        self._to_parameters[self._both, rows] = self._both_sd
        self._to_parameters[self._proportions, np.arange(3 * count, 5 * count).reshape(count, 2)] = self._proportion_sd

    def positions(self, parameters: FloatArray) -> FloatArray:
        """Return the marker positions (N, 3) m in World of a person with these parameters (P,)."""
        local = self._marker_positions(self._segment_poses(parameters))
        positions: FloatArray = local @ self._scaled_rotation(parameters).T + _POSITION_SD_M * parameters[:3]
        return positions

    def linearise_positions(self, parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the positions (N, 3) m and their derivative (3 N, P) at parameters (P,)."""
        poses = self._segment_poses(parameters)
        R, p, _, axes = poses
        local = self._marker_positions(poses)
        arm = (local - p[:, None]) * self._below[..., None]
        x, y, z = axes[:, :, None].transpose(3, 0, 1, 2)
        ax, ay, az = arm[:, None].transpose(3, 0, 1, 2)
        by_angle = np.stack([y * az - z * ay, z * ax - x * az, x * ay - y * ax], axis=-1)
        reach = self._directions[:, :, None] * self._reach[:, None]  # (S, 2, N, 3) in the segments' axes
        count = len(local)
        by_scale = reach.reshape(len(reach), -1, 3) @ R.transpose(0, 2, 1)
        J = self._to_parameters @ np.concatenate([by_angle.reshape(-1, 3 * count), by_scale.reshape(-1, 3 * count)])
        J = J.reshape(self.size, count, 3)
        heading = self._scaled_rotation(parameters)
        J = J @ heading.T
        positions = local @ heading.T
        J[:3] = _POSITION_SD_M * np.eye(3)[:, None]
        J[3, :, 0], J[3, :, 2] = _HEADING_SD_RAD * positions[:, 2], -_HEADING_SD_RAD * positions[:, 0]
        J[4] = self._height_sd * positions
        return positions + _POSITION_SD_M * parameters[:3], J.reshape(self.size, -1).T

    def _scaled_rotation(self, parameters: FloatArray) -> FloatArray:
        """Return the rotation about the vertical by the heading, multiplied by the relative body height, (3, 3)."""
        return self.relative_height(parameters) * rotation_about_y(_HEADING_SD_RAD * float(parameters[3]))

    def _segment_poses(self, parameters: FloatArray) -> _Poses:
        if self._last is not None and np.array_equal(self._last[0], parameters):
            return self._last[1]
        proportions = 1.0 + self._proportion_sd * parameters[self._proportions]
        scale = np.where(self._is_along, proportions[:, :1], proportions[:, 1:])
        angles = self._means + self._both_sd * parameters[self._both] + self._own_sd * parameters[self._own]
        rotations, axes_in_parent = _joint_rotations(angles, self._signs)
        R, axes, p = np.empty_like(rotations), np.empty_like(rotations), np.empty((len(rotations), 3))
        for i, parent in enumerate(self._parents):
            if parent < 0:
                R_parent, p[i] = np.eye(3), self._centres[i]
            else:
                R_parent = R[parent]
                p[i] = p[parent] + R_parent @ (scale[parent] * self._from_parent[i])
            R[i] = R_parent @ rotations[i]
            axes[i] = (R_parent @ axes_in_parent[i]).T
        poses = R, p, scale, axes
        self._last = parameters.copy(), poses
        return poses

    def _marker_positions(self, poses: _Poses) -> FloatArray:
        R, p, scale, _ = poses
        local = scale[self._body] * self._local
        positions: FloatArray = p[self._body] + (R[self._body] @ local[..., None])[..., 0]
        return positions

    @cached_property
    def mean_posture(self) -> tuple[FloatArray, FloatArray]:
        """Mean positions (N, 3) m, and their variance (N,) m2 averaged over the three directions."""
        mean, J = self.linearise_positions(np.zeros(self.size))
        variance = (J[:, _ROOT:] ** 2).sum(axis=1).reshape(-1, 3).mean(axis=1) + (self.sd**2).mean(axis=1)
        return mean, variance

    def initial_parameters(
        self, points: FloatArray, heading_rad: float, scale: float, weight: FloatArray
    ) -> FloatArray:
        """Return the parameters (P,) of the mean posture, scaled and rotated, placed at the weighted mean of points (N, 3)."""
        mean = self.mean_posture[0] @ rotation_about_y(heading_rad).T
        parameters = np.zeros(self.size)
        parameters[:3] = weight @ (points - scale * mean) / weight.sum() / _POSITION_SD_M
        parameters[3] = heading_rad / _HEADING_SD_RAD
        parameters[4] = np.log(scale) / self._height_sd
        return parameters

    def relative_height(self, parameters: FloatArray) -> float:
        """Return the body height as a fraction of the reference height."""
        return math.exp(self._height_sd * float(parameters[4]))


def _segments_between(bodies: set[str]) -> list[tuple[str, str, dict[str, Any]]]:
    """Return (name, side, row) of the segments with markers, and of those between them and the pelvis, parents first."""
    rows = {str(row["name"]): (side, row) for side, row in sided_rows(_TABLE, "segment")}
    needed: set[str] = set()
    for name in bodies:
        while name and name not in needed:
            needed.add(name)
            name = str(rows[name][1].get("parent", ""))
    return [(name, side, row) for name, (side, row) in rows.items() if name in needed]


def _joint_rotations(angles: FloatArray, signs: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the rotations (S, 3, 3) relative to the parents, and the axes (S, 3, 3) of the three rotations as columns.

    Args: `angles` (S, 3) rad: flexion about Z, abduction about X, rotation about Y; `signs` (S,): -1 on the left.
    """
    (cz, cx, cy), (sz, sx, sy) = np.cos(angles).T, np.sin(angles).T
    sx, sy, zero = signs * sx, signs * sy, np.zeros_like(cz)
    x = np.stack([cz, sz, zero], axis=-1)
    y = np.stack([-sz * cx, cz * cx, -sx], axis=-1)
    z = np.stack([-sz * sx, cz * sx, cx], axis=-1)
    R = np.stack([x * cy[:, None] + z * sy[:, None], y, z * cy[:, None] - x * sy[:, None]], axis=-1)
    flexion_axis = np.broadcast_to([0.0, 0.0, 1.0], x.shape)
    return R, np.stack([flexion_axis, -signs[:, None] * x, -signs[:, None] * y], axis=-1)


def rotation_about_y(angle_rad: float) -> FloatArray:
    """Return the rotation matrix (3, 3) about the vertical axis Y by an angle."""
    c, s = math.cos(angle_rad), math.sin(angle_rad)
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


@dataclass(frozen=True)
class PersonFit:
    """A person fitted to points.

    Attributes:
        person: person with N places. points: (N, 3) m in World. weight: (N,) weights of the points in the fit.
        parameters: (P,), see `JointedPerson`. predicted: (N, 3) m, positions of the fitted person; J: (3 N, P) their derivative.
        cost: squared Mahalanobis distance of points and parameters from their means.
    """

    person: JointedPerson
    points: FloatArray
    weight: FloatArray
    parameters: FloatArray
    predicted: FloatArray
    J: FloatArray
    cost: float

    @cached_property
    def sd(self) -> FloatArray:
        """Standard deviations (3 N,) m of the marker positions on their segments, for a person of this size."""
        return (self.person.sd * self.person.relative_height(self.parameters)).ravel()

    @cached_property
    def _information(self) -> tuple[FloatArray, FloatArray]:
        """Weighted derivative (3 N, P), and information matrix of the parameters (P, P)."""
        Jw = self.J * (np.sqrt(np.repeat(self.weight, 3)) / self.sd)[:, None]
        return Jw, np.eye(Jw.shape[1]) + Jw.T @ Jw

    @cached_property
    def precision(self) -> FloatArray:
        """Inverse covariance (3 N, 3 N) 1/m2 of the points, with the parameters marginalised."""
        Jw, information = self._information
        inverse_sd = np.sqrt(np.repeat(self.weight, 3)) / self.sd
        return (np.eye(len(Jw)) - Jw @ np.linalg.solve(information, Jw.T)) * np.outer(inverse_sd, inverse_sd)

    @cached_property
    def weighted_residual(self) -> FloatArray:
        """Precision times the deviation of the points from their mean (N, 3) 1/m, linearised at the solution."""
        mean = self.predicted - (self.J @ self.parameters).reshape(-1, 3)
        return (self.precision @ (self.points - mean).ravel()).reshape(-1, 3)

    @cached_property
    def log_likelihood(self) -> float:
        """Logarithm of the probability density of the points, in m^-3N."""
        Jw, information = self._information
        _, log_determinant = np.linalg.slogdet(information)
        constant = 2.0 * np.log(self.sd).sum() + len(Jw) * np.log(2.0 * np.pi)
        return -0.5 * float(self.cost + log_determinant + constant)

    def swap_gains(self) -> FloatArray:
        """Return for each pair of points the decrease (N, N) of the cost if their labels are swapped (linearised)."""
        count = len(self.points)
        blocks = self.precision.reshape(count, 3, count, 3).transpose(0, 2, 1, 3)
        diagonal = blocks[np.arange(count), np.arange(count)]
        stiffness = diagonal[:, None] + diagonal[None, :] - blocks - blocks.transpose(1, 0, 2, 3)
        step = self.points[None, :] - self.points[:, None]
        residual = self.weighted_residual
        linear = np.einsum("ijk,ijk->ij", step, residual[:, None] - residual[None, :])
        gains: FloatArray = -(2.0 * linear + np.einsum("ijk,ijkl,ijl->ij", step, stiffness, step, optimize=True))
        return gains

    def leave_one_out_distances(self) -> FloatArray:
        """Return the squared Mahalanobis distance (N,) of each point from its prediction by all others."""
        count = len(self.points)
        Q = self.precision.reshape(count, 3, count, 3)
        diagonal = Q[np.arange(count), :, np.arange(count), :]
        deviation = np.linalg.solve(diagonal, self.weighted_residual[..., None])[..., 0]
        return np.asarray(np.einsum("ia,ia->i", self.weighted_residual, deviation), dtype=np.float64)

    def squared_mahalanobis_distances(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the squared Mahalanobis distance (M, N) of points (M, 3) from each place, including the uncertainty of the
        parameters.

        The second value (N,) is the logarithm of the determinant of each place's covariance, m^6.
        """
        count = len(self.person.places)
        J = self.J.reshape(count, 3, -1)
        information = self._information[1]
        covariance = np.einsum("kap,kpb->kab", J, np.linalg.solve(information, J.transpose(0, 2, 1)))
        covariance[:, np.arange(3), np.arange(3)] += (self.sd**2).reshape(count, 3)
        step = points[:, None] - self.predicted[None]
        squared = np.einsum("mka,kab,mkb->mk", step, np.linalg.inv(covariance), step, optimize=True)
        log_determinant: FloatArray = np.log(np.linalg.det(covariance))
        return squared, log_determinant


def fit_person(
    person: JointedPerson, points: FloatArray, start: FloatArray | None = None, weight: FloatArray | None = None
) -> PersonFit:
    """Fit a person to points (N, 3) m in World, Y up, in the order of its places: Gauss-Newton with step halving.

    Args: `start` parameters (P,), the mean posture if omitted; `weight` (N,) of the points.
    """
    converged = 0.3  # least decrease of the cost
    step_lengths = (1.0, 0.5, 0.2, 0.05)
    weight = np.ones(len(points)) if weight is None else weight
    parameters = _initial_parameters(person, points, weight) if start is None else start
    predicted, J = person.linearise_positions(parameters)
    sd = person.sd * person.relative_height(parameters) / np.sqrt(weight)[:, None]
    cost = _fit_cost(points, predicted, sd, parameters)
    for _ in range(12):
        Jw = J / sd.reshape(-1, 1)
        target_residual = ((points - predicted) / sd).ravel() + Jw @ parameters
        target = np.linalg.solve(np.eye(person.size) + Jw.T @ Jw, Jw.T @ target_residual)
        trials = (parameters + length * (target - parameters) for length in step_lengths)
        costs = ((_fit_cost(points, person.positions(trial), sd, trial), trial) for trial in trials)
        step = next(((new_cost, trial) for new_cost, trial in costs if new_cost < cost), None)
        if step is None:
            break
        decrease, cost, parameters = cost - step[0], *step
        predicted, J = person.linearise_positions(parameters)
        if decrease < converged:
            break
    return PersonFit(person, points, weight, parameters, predicted, J, cost)


def fit_person_robustly(person: JointedPerson, points: FloatArray) -> PersonFit:
    """Fit a person to points with outliers by iterative reweighting (Student's t with 3 degrees of freedom)."""
    fit = fit_person(person, points)
    for _ in range(6):
        squared = (((points - fit.predicted).ravel() / fit.sd) ** 2).reshape(-1, 3).sum(axis=1)
        # (freedom + dimension) / (freedom + d2)
        fit = fit_person(person, points, fit.parameters, 6.0 / (3.0 + squared))
    return fit


def _fit_cost(points: FloatArray, predicted: FloatArray, sd: FloatArray, parameters: FloatArray) -> float:
    return float((((points - predicted) / sd) ** 2).sum() + parameters @ parameters)


def _initial_parameters(person: JointedPerson, points: FloatArray, weight: FloatArray) -> FloatArray:
    """Return the parameters of the mean posture: position, heading and height by weighted least squares."""
    mean, variance = person.mean_posture
    weight = np.sqrt(weight / variance)
    # x = a mx + b mz + tx, z = a mz - b mx + tz, y = c my + ty
    A = np.zeros((len(points), 3, 6))
    A[:, 0, 0], A[:, 0, 1], A[:, 0, 3] = mean[:, 0], mean[:, 2], 1.0
    A[:, 2, 0], A[:, 2, 1], A[:, 2, 5] = mean[:, 2], -mean[:, 0], 1.0
    A[:, 1, 2], A[:, 1, 4] = mean[:, 1], 1.0
    rows = (A * weight[:, None, None]).reshape(-1, 6)
    a, b, c = np.linalg.lstsq(rows, (points * weight[:, None]).ravel(), rcond=None)[0][:3]
    return person.initial_parameters(points, float(np.arctan2(b, a)), float(np.clip(abs(c), 0.4, 1.4)), weight**2)
