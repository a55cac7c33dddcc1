"""The jointed person as a probability distribution of marker places, and its fit to the points of one instant."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from biodyn.conventions import SIDES, FloatArray, other_side, without_side
from biodyn.library.load import load_table
from biodyn.library.tables import for_each_side, sided_rows

_TABLE = "body/person"
_ANGLES = ("flexion", "abduction", "turning")
_ANYWHERE_M = 10.0
_ANY_HEADING = 3.0  # rad
_ROOT = 5  # parameters of the person as a whole: place (3), heading, height


@dataclass(frozen=True)
class _Segment:
    name: str
    parent: int
    centre: FloatArray
    from_parent: FloatArray
    sign: float
    means: FloatArray  # (3,) rad
    both: tuple[int, ...]  # columns: of both sides, of this side, of its proportions
    own: tuple[int, ...]
    both_sd: FloatArray
    own_sd: FloatArray
    proportions: tuple[int, int]
    spread: tuple[float, float]
    along: int
    children: list[int]


@dataclass(frozen=True)
class _Poses:
    """Of S segments, in World of the standing person: attitudes R (S, 3, 3), joint centres p (S, 3), axes of the three turns
    (S, 3, 3), one a row, and scales (S, 3)."""

    R: FloatArray
    p: FloatArray
    axes: FloatArray
    scale: FloatArray


@cache
def place_names() -> tuple[str, ...]:
    """Names of all places: landmarks, and first labels of markers that mark none."""
    return tuple(entry.get("landmark") or entry["labels"][0] for _, entry in sided_rows(_TABLE, "place"))


@cache
def places_by_label() -> dict[str, str]:
    """Place by each label of markers that mark no landmark."""
    rows = sided_rows(_TABLE, "place")
    return {label: row["labels"][0] for _, row in rows if not row.get("landmark") for label in row["labels"]}


@cache
def mirrored_places() -> dict[str, str]:
    """Place -> the same of the other side; midline places are their own."""
    rows = sided_rows(_TABLE, "place")
    names = place_names()
    mirrored = dict(zip(names, names, strict=True))
    for raw in load_table(_TABLE)["place"]:
        pattern = raw.get("landmark") or raw["labels"][0]
        sided = dict(for_each_side(pattern))
        mirrored |= {sided[side]: sided[other_side(side)] for side in SIDES if side in sided}
    assert len(rows) == len(mirrored)
    return mirrored


@cache
def body_of_places() -> dict[str, str]:
    """Segment of every place."""
    rows = sided_rows(_TABLE, "place")
    return dict(zip(place_names(), (row["body"] for _, row in rows), strict=True))


@cache
def parts_with_sides() -> tuple[frozenset[str], ...]:
    """Segments of the parts of the body whose two sides may be exchanged as a whole."""
    return tuple(
        frozenset(name for raw in part for _, name in for_each_side(raw)) for part in load_table(_TABLE)["parts"]
    )


@cache
def person_with(places: tuple[str, ...]) -> JointedPerson:
    """Return the person that wears markers at these places (`place_names`)."""
    return JointedPerson(places)


class JointedPerson:
    """A person with markers at N places; P parameters, each of mean 0 and standard deviation 1.

    Attributes:
        places: names of the places, length N. sd: (N, 3) spread of the marker on its segment at reference height.
        size: number of parameters P.
    """

    def __init__(self, places: Sequence[str]) -> None:
        table = load_table(_TABLE)
        sided = dict(zip(place_names(), sided_rows(_TABLE, "place"), strict=True))
        rows = {place: row for place, (_, row) in sided.items()}
        self.places = tuple(places)
        self._height_sd = float(table["height_sd"])
        self._segments, self.size = _segments({rows[place]["body"] for place in places})
        index = {segment.name: i for i, segment in enumerate(self._segments)}
        self._body = np.array([index[rows[place]["body"]] for place in places], dtype=int)
        mirror = np.array([[1.0, 1.0, -1.0 if sided[place][0] == "l" else 1.0] for place in places]).reshape(-1, 3)
        position = np.array([rows[place]["position"] for place in places]).reshape(-1, 3) * mirror
        centres = np.array([segment.centre for segment in self._segments])
        self._local = position - centres[self._body]
        placed = np.array([rows[place]["sd"] for place in places]).reshape(-1, 3)
        self._prepare()
        self.sd: FloatArray = np.hypot(placed, float(table["unmodelled_sd_m"]))

    def _prepare(self) -> None:
        """What the derivatives need of the chain: S segments, N places."""
        segments, count = self._segments, len(self.places)
        self._below = np.array([np.isin(self._body, list(_descendants(segments, i))) for i in range(len(segments))])
        self._reach = np.zeros((len(segments), count, 3))
        self._directions = np.zeros((len(segments), 2, 3))
        self._to_parameters = np.zeros((self.size, 5 * len(segments)))
        for i, segment in enumerate(segments):
            self._reach[i, self._body == i] = self._local[self._body == i]
            for child in segment.children:
                self._reach[i, self._below[child]] = segments[child].from_parent
            self._directions[i, 0, segment.along] = 1.0
            self._directions[i, 1] = 1.0 - self._directions[i, 0]
            for k in range(3):
                self._to_parameters[segment.both[k], 3 * i + k] = segment.both_sd[k]
                if segment.own:
                    self._to_parameters[segment.own[k], 3 * i + k] = segment.own_sd[k]
            for k in range(2):
                self._to_parameters[segment.proportions[k], 3 * len(segments) + 2 * i + k] = segment.spread[k]
        self._last: tuple[FloatArray, _Poses] | None = None
        self._signs = np.array([segment.sign or 1.0 for segment in segments])
        self._means = np.array([segment.means for segment in segments])
        self._both = np.array([segment.both for segment in segments])
        self._both_sd = np.array([segment.both_sd for segment in segments])
        self._own = np.array([segment.own or (0, 0, 0) for segment in segments])
        self._own_sd = np.array([segment.own_sd if segment.own else np.zeros(3) for segment in segments])
        self._grows = np.array([segment.proportions for segment in segments])
        self._grows_sd = np.array([segment.spread for segment in segments])
        self._is_along = np.array([[axis == segment.along for axis in range(3)] for segment in segments])

    def positions(self, parameters: FloatArray) -> FloatArray:
        """(N, 3) m in World of parameters (P,)."""
        standing = self._places(self._posed(parameters))
        moved: FloatArray = standing @ self._turned(parameters).T + _ANYWHERE_M * parameters[:3]
        return moved

    def linearised(self, parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Positions (N, 3) and their derivative (3 N, P) at parameters (P,)."""
        posed = self._posed(parameters)
        standing = self._places(posed)
        arm = (standing - posed.p[:, None]) * self._below[..., None]
        x, y, z = posed.axes[:, :, None].transpose(3, 0, 1, 2)
        ax, ay, az = arm[:, None].transpose(3, 0, 1, 2)
        by_angle = np.stack([y * az - z * ay, z * ax - x * az, x * ay - y * ax], axis=-1)
        reach = self._directions[:, :, None] * self._reach[:, None]  # (S, 2, N, 3) in the segments' axes
        count = len(standing)
        by_scale = reach.reshape(len(reach), -1, 3) @ posed.R.transpose(0, 2, 1)
        J = self._to_parameters @ np.concatenate([by_angle.reshape(-1, 3 * count), by_scale.reshape(-1, 3 * count)])
        J = J.reshape(self.size, count, 3)
        turned_W = self._turned(parameters)
        J = J @ turned_W.T
        own_place = standing @ turned_W.T
        J[:3] = _ANYWHERE_M * np.eye(3)[:, None]
        J[3, :, 0], J[3, :, 2] = _ANY_HEADING * own_place[:, 2], -_ANY_HEADING * own_place[:, 0]
        J[4] = self._height_sd * own_place
        return own_place + _ANYWHERE_M * parameters[:3], J.reshape(self.size, -1).T

    def _turned(self, parameters: FloatArray) -> FloatArray:
        """(3, 3) of heading and size."""
        return self.size_of(parameters) * _about_y(_ANY_HEADING * float(parameters[3]))

    def _posed(self, parameters: FloatArray) -> _Poses:
        if self._last is not None and np.array_equal(self._last[0], parameters):
            return self._last[1]
        grown = 1.0 + self._grows_sd * parameters[self._grows]
        scale = np.where(self._is_along, grown[:, :1], grown[:, 1:])
        angles = self._means + self._both_sd * parameters[self._both] + self._own_sd * parameters[self._own]
        turns, outward = _turns(angles, self._signs)
        R, axes, p = np.empty_like(turns), np.empty_like(turns), np.empty((len(turns), 3))
        for i, segment in enumerate(self._segments):
            if segment.parent < 0:
                above, p[i] = np.eye(3), segment.centre
            else:
                above = R[segment.parent]
                p[i] = p[segment.parent] + above @ (scale[segment.parent] * segment.from_parent)
            R[i] = above @ turns[i]
            axes[i] = (above @ outward[i]).T
        posed = _Poses(R, p, axes, scale)
        self._last = parameters.copy(), posed
        return posed

    def _places(self, posed: _Poses) -> FloatArray:
        local = posed.scale[self._body] * self._local
        places: FloatArray = posed.p[self._body] + (posed.R[self._body] @ local[..., None])[..., 0]
        return places

    @cached_property
    def standing(self) -> tuple[FloatArray, FloatArray]:
        """(N, 3) m, the places of the mean person in mean posture; (N,) m2, their spread, mean of the three directions."""
        mean, J = self.linearised(np.zeros(self.size))
        spread = (J[:, _ROOT:] ** 2).sum(axis=1).reshape(-1, 3).mean(axis=1) + (self.sd**2).mean(axis=1)
        return mean, spread

    def laid(self, points: FloatArray, heading: float, size: float, weight: FloatArray) -> FloatArray:
        """Parameters (P,) of the mean posture, `size` times the reference height, turned to `heading` rad, over points (N, 3)."""
        mean = self.standing[0] @ _about_y(heading).T
        parameters = np.zeros(self.size)
        parameters[:3] = weight @ (points - size * mean) / weight.sum() / _ANYWHERE_M
        parameters[3] = heading / _ANY_HEADING
        parameters[4] = np.log(size) / self._height_sd
        return parameters

    def size_of(self, parameters: FloatArray) -> float:
        """Body height as a share of the reference height."""
        return math.exp(self._height_sd * float(parameters[4]))


@cache
def _chain() -> tuple[tuple[str, dict[str, object]], ...]:
    return sided_rows(_TABLE, "segment")


def _segments(worn: set[str]) -> tuple[list[_Segment], int]:
    """The segments that carry markers, with those between them and the pelvis, and the number of parameters."""
    rows = {str(row["name"]): (side, row) for side, row in _chain()}
    needed: set[str] = set()
    for name in worn:
        while name and name not in needed:
            needed.add(name)
            name = str(rows[name][1].get("parent", ""))
    columns: dict[tuple[str, str], int] = {}

    def column(owner: str, what: str) -> int:
        return columns.setdefault((owner, what), _ROOT + len(columns))

    segments: list[_Segment] = []
    index: dict[str, int] = {}
    for name, (side, row) in rows.items():
        if name not in needed:
            continue
        sign = {"r": 1.0, "l": -1.0}.get(side, 0.0)
        kind = without_side(name, side)
        centre = np.asarray(row["centre"]) * (1.0, 1.0, sign or 1.0)
        parent = index.get(str(row.get("parent", "")), -1)
        spread = np.deg2rad(np.array([row[angle] for angle in _ANGLES]))
        index[name] = len(segments)
        if parent >= 0:
            segments[parent].children.append(index[name])
        segments.append(
            _Segment(
                name=name,
                parent=parent,
                centre=centre,
                from_parent=centre - segments[parent].centre if parent >= 0 else centre,
                sign=sign,
                means=spread[:, 0],
                both=tuple(column(kind, angle) for angle in _ANGLES),
                own=tuple(column(name, angle) for angle in _ANGLES) if sign else (),
                both_sd=spread[:, 1],
                own_sd=spread[:, 2],
                proportions=(column(kind, "length"), column(kind, "breadth")),
                spread=(row["length"], row["breadth"]),  # type: ignore[arg-type]
                along="xyz".index(str(row.get("along", "y"))),
                children=[],
            )
        )
    return segments, _ROOT + len(columns)


def _descendants(segments: Sequence[_Segment], start: int) -> set[int]:
    found = {start}
    for child in segments[start].children:
        found |= _descendants(segments, child)
    return found


def _turns(angles: FloatArray, signs: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Segments turned by angles (S, 3): forward about Z, outward about X, outward about Y; `signs` (S,), -1 on the left.

    Returns the rotations (S, 3, 3) from the parent's axes and, there, the axes of the turns (S, 3, 3), one a column.
    """
    (cz, cx, cy), (sz, sx, sy) = np.cos(angles).T, np.sin(angles).T
    sx, sy, zero = signs * sx, signs * sy, np.zeros_like(cz)
    x = np.stack([cz, sz, zero], axis=-1)
    y = np.stack([-sz * cx, cz * cx, -sx], axis=-1)
    z = np.stack([-sz * sx, cz * sx, cx], axis=-1)
    turned = np.stack([x * cy[:, None] + z * sy[:, None], y, z * cy[:, None] - x * sy[:, None]], axis=-1)
    forward = np.broadcast_to([0.0, 0.0, 1.0], x.shape)
    return turned, np.stack([forward, -signs[:, None] * x, -signs[:, None] * y], axis=-1)


def _about_y(angle: float) -> FloatArray:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


_ITERATIONS = 12
_CONVERGED = 0.3  # change of the squared distance
_SHARES = (1.0, 0.5, 0.2, 0.05)  # of a step, where the whole one goes too far
_REWEIGHTED = 6
_FREEDOM = 3.0  # of Student's t


@dataclass(frozen=True)
class PersonFit:
    """A person fitted to points.

    Attributes:
        person: N places. points: (N, 3) m in World. weight: (N,) of the points in the fit.
        parameters: (P,), see `JointedPerson`. predicted: (N, 3) m, the places of the fitted person; J: (3 N, P) their
            derivative.
        cost: squared distance of points and parameters from their means, in standard deviations.
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
        """(3 N,) m, spread of the markers on their segments."""
        return (self.person.sd * self.person.size_of(self.parameters)).ravel()

    @cached_property
    def _inner(self) -> tuple[FloatArray, FloatArray]:
        """Derivative over spread (3 N, P), and the inverse covariance of the parameters (P, P)."""
        Jw = self.J * (np.sqrt(np.repeat(self.weight, 3)) / self.sd)[:, None]
        return Jw, np.eye(Jw.shape[1]) + Jw.T @ Jw

    @cached_property
    def precision(self) -> FloatArray:
        """(3 N, 3 N) 1/m2, inverse covariance of the points, the parameters not being known."""
        Jw, inner = self._inner
        own = np.sqrt(np.repeat(self.weight, 3)) / self.sd
        return (np.eye(len(Jw)) - Jw @ np.linalg.solve(inner, Jw.T)) * np.outer(own, own)

    @cached_property
    def pull(self) -> FloatArray:
        """(N, 3) 1/m, precision times the distance of the points from their mean around the solution."""
        mean = self.predicted - (self.J @ self.parameters).reshape(-1, 3)
        return (self.precision @ (self.points - mean).ravel()).reshape(-1, 3)

    @cached_property
    def log_likelihood(self) -> float:
        """Logarithm of the density of the points, in m^-3N."""
        Jw, inner = self._inner
        _, spread = np.linalg.slogdet(inner)
        return -0.5 * float(self.cost + spread + 2.0 * np.log(self.sd).sum() + len(Jw) * np.log(2.0 * np.pi))

    def exchange_gains(self) -> FloatArray:
        """(N, N): by how much the squared distance falls when the labels of two points are exchanged (linearised)."""
        count = len(self.points)
        blocks = self.precision.reshape(count, 3, count, 3).transpose(0, 2, 1, 3)
        own = blocks[np.arange(count), np.arange(count)]
        stiffness = own[:, None] + own[None, :] - blocks - blocks.transpose(1, 0, 2, 3)
        step = self.points[None, :] - self.points[:, None]
        linear = np.einsum("ijk,ijk->ij", step, self.pull[:, None] - self.pull[None, :])
        gains: FloatArray = -(2.0 * linear + np.einsum("ijk,ijkl,ijl->ij", step, stiffness, step, optimize=True))
        return gains

    def alone(self) -> tuple[FloatArray, FloatArray]:
        """(N,) squared distance and (N, 3) m of each point from where all others tell it to be."""
        count = len(self.points)
        Q = self.precision.reshape(count, 3, count, 3)
        own = Q[np.arange(count), :, np.arange(count), :]
        off = np.asarray(np.linalg.solve(own, self.pull[..., None])[..., 0], dtype=np.float64)
        return np.einsum("ia,ia->i", self.pull, off), off

    def to_places(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Squared distance (M, N) of points (M, 3) from each place of a person whose parameters are not quite known.

        The second value (N,) is the logarithm of the determinant of each place's covariance, m^6.
        """
        count = len(self.person.places)
        own = self.J.reshape(count, 3, -1)
        spread = np.einsum("kap,kpb->kab", own, np.linalg.solve(self._inner[1], own.transpose(0, 2, 1)))
        spread[:, np.arange(3), np.arange(3)] += (self.sd**2).reshape(count, 3)
        step = points[:, None] - self.predicted[None]
        squared = np.einsum("mka,kab,mkb->mk", step, np.linalg.inv(spread), step, optimize=True)
        volume: FloatArray = np.log(np.linalg.det(spread))
        return squared, volume


def fit_person(
    person: JointedPerson, points: FloatArray, start: FloatArray | None = None, weight: FloatArray | None = None
) -> PersonFit:
    """Fit to points (N, 3) m in World, Y up, in the order of the person's places; from parameters `start` or the mean posture."""
    weight = np.ones(len(points)) if weight is None else weight
    parameters = roughly(person, points, weight) if start is None else start
    predicted, J = person.linearised(parameters)
    sd = person.sd * person.size_of(parameters) / np.sqrt(weight)[:, None]
    cost = _cost(points, predicted, sd, parameters)
    for _ in range(_ITERATIONS):
        Jw = J / sd.reshape(-1, 1)
        wanted = ((points - predicted) / sd).ravel() + Jw @ parameters
        target = np.linalg.solve(np.eye(person.size) + Jw.T @ Jw, Jw.T @ wanted)
        steps = [parameters + share * (target - parameters) for share in _SHARES]
        new = next(
            ((found, tried) for tried in steps
             if (found := _cost(points, person.positions(tried), sd, tried)) < cost),
            None,
        )  # fmt: skip
        if new is None:
            break
        gained, cost, parameters = cost - new[0], *new
        predicted, J = person.linearised(parameters)
        if gained < _CONVERGED:
            break
    return PersonFit(person, points, weight, parameters, predicted, J, cost)


def robust_fit(person: JointedPerson, points: FloatArray) -> PersonFit:
    """Fit to the greater part of the points: those far off count little (Student's t, iteratively reweighted)."""
    fit = fit_person(person, points)
    for _ in range(_REWEIGHTED):
        off = (((points - fit.predicted).ravel() / fit.sd) ** 2).reshape(-1, 3).sum(axis=1)
        fit = fit_person(person, points, fit.parameters, (_FREEDOM + 3.0) / (_FREEDOM + off))
    return fit


def _cost(points: FloatArray, predicted: FloatArray, sd: FloatArray, parameters: FloatArray) -> float:
    return float((((points - predicted) / sd) ** 2).sum() + parameters @ parameters)


def roughly(person: JointedPerson, points: FloatArray, weight: FloatArray) -> FloatArray:
    """Parameters of a person of mean posture laid over the points: place, heading and height by weighted least squares."""
    mean, spread = person.standing
    weight = np.sqrt(weight / spread)
    # x = a mx + b mz + tx, z = a mz - b mx + tz, y = c my + ty
    A = np.zeros((len(points), 3, 6))
    A[:, 0, 0], A[:, 0, 1], A[:, 0, 3] = mean[:, 0], mean[:, 2], 1.0
    A[:, 2, 0], A[:, 2, 1], A[:, 2, 5] = mean[:, 2], -mean[:, 0], 1.0
    A[:, 1, 2], A[:, 1, 4] = mean[:, 1], 1.0
    rows = (A * weight[:, None, None]).reshape(-1, 6)
    a, b, c = np.linalg.lstsq(rows, (points * weight[:, None]).ravel(), rcond=None)[0][:3]
    return person.laid(points, float(np.arctan2(b, a)), float(np.clip(abs(c), 0.4, 1.4)), weight**2)
