"""Motions of any kind that obey physics: a plan of footholds, and the splines nearest to it whose forces the ground can supply.

Where no foot stands the ground supplies nothing: the search makes the whole wrench vanish there (flight). Where one
stands its pressure point lies on the sole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import PchipInterpolator

from biodyn.conventions import SIDES, STANDARD_GRAVITY_M_S2, FloatArray, Side
from biodyn.rigid_body import body_poses
from simulator import feet as contact
from simulator.curves import BASE_CURVES
from simulator.feet import Foot, standing_feet
from simulator.impacts import FootStrike, Impacts
from simulator.person import Body
from simulator.splines import SplineMotion, SplineProblem
from simulator.supports import Aid, Foothold, foot_plans, load_shares
from simulator.tables import load_data
from simulator.walking import required_wrench

# What a residual of one unit is worth.
_PLANTED_M, _CLEAR_M = 0.002, 0.004
_PRESSURE_M, _TWIST_M = 0.006, 0.01  # of body weight
_FLIGHT_BW, _FLIGHT_M = 0.0015, 0.001
_FRICTION, _FRICTION_BW, _LEAST_BW = 0.6, 0.05, 0.02
_PUSH = 0.05
# Third derivatives that cost one unit: m/s^3, rad/s^3.
_ROUGH_M, _ROUGH_RAD = 150.0, 2500.0
#: The load of a stance lives a little beyond its planned times: the splines do not bend in an instant.
EDGE_S = 0.03


@dataclass(frozen=True)
class MotionPlan:
    """What a person is to do.

    Attributes:
        duration_s: of the motion. footholds, aids: what carries.
        keys: by column of y (names of `curves.BASE_CURVES` and coordinates) pairs of (time s, value m or rad) beside the
            standing posture, joined smoothly. tolerance: by the same names, where it is not the usual one.
        calm_bw: body weights beside standing that cost a unit.
        clearance_m: height of the swing; swing_m: how far it may go elsewhere for a unit.
        knot_s, frame_s: distance of the splines' knots and of the frames of the search.
    """

    duration_s: float
    footholds: tuple[Foothold, ...]
    keys: Mapping[str, tuple[tuple[float, float], ...]]
    aids: tuple[Aid, ...] = ()
    tolerance: Mapping[str, float] | None = None
    calm_bw: float = 0.3
    clearance_m: float = 0.06
    swing_m: float = 0.03
    knot_s: float = 0.05
    frame_s: float = 0.02


@dataclass(frozen=True)
class PlannedMotion:
    """A solved motion: whose, after which plan, splines, soles, cost, and what the foot strikes add (None: nothing)."""

    body: Body
    plan: MotionPlan
    spline: SplineMotion
    feet: Mapping[Side, Foot]
    cost: float = 0.0
    impacts: Impacts | None = None

    def motion(self, time_s: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return q, v, vdot at the times (T,) s."""
        rows = self.spline.rows(time_s)
        if self.impacts is not None:
            added = self.impacts.rows(time_s, self.strikes())
            rows = (rows[0] + added[0], rows[1] + added[1], rows[2] + added[2])
        return self.body.motion(*rows)

    def strikes(self) -> list[FootStrike]:
        """The strikes of all footholds, numbered by these."""
        return [FootStrike(number, hold.side, hold.start_s) for number, hold in enumerate(self.plan.footholds)]


def part(role: str, side: str = "") -> str:
    """Name of the coordinate or segment that plans call so, of one side or of the middle."""
    name = str(load_data("motions")["parts"][role])
    return f"{name}_{side}" if side else name


def solve_motion(body: Body, plan: MotionPlan, iterations: int = 40) -> PlannedMotion:
    """Return the motion of a body after a plan; some seconds."""
    problem = _Problem(body, plan)
    coefficients, cost = problem.splines().solve(iterations)
    return PlannedMotion(body, plan, SplineMotion(coefficients, plan.knot_s), problem.feet, cost)


def planned_motion(body: Body, plan: MotionPlan, coefficients: FloatArray) -> PlannedMotion:
    """Return a motion that was solved before from its coefficients (n, ny)."""
    feet = standing_feet(body.model, body.static_q, load_data("gait")["foot"])
    return PlannedMotion(body, plan, SplineMotion(coefficients, plan.knot_s), feet)


def support_wrenches(solved: PlannedMotion, time_s: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the wrench on each foothold and aid (T, S + A, 6) about the world origin, and what no support can carry (T, 6).

    The supports' wrenches sum to what the motion needs wherever one of them stands; in flight the rest is that need.
    """
    model = solved.body.model
    q, v, vdot = solved.motion(time_s)
    total = required_wrench(model, q, v, vdot)
    R, p = body_poses(model.multibody, q)
    if solved.impacts is None:
        return carried(solved, time_s, total, R, p)
    struck = np.zeros((len(time_s), len(solved.plan.footholds) + len(solved.plan.aids), 6))
    for strike, hold in zip(solved.strikes(), solved.plan.footholds, strict=True):
        stance_s = hold.end_s - hold.start_s
        foot = solved.feet[strike.side]
        struck[:, strike.number] = solved.impacts.load(strike, time_s, stance_s, foot, R, p)
    wrench, left = carried(solved, time_s, total - struck.sum(axis=1), R, p)
    return wrench + struck, left


def carried(
    solved: PlannedMotion, time_s: FloatArray, total: FloatArray, R: FloatArray, p: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Split a total wrench (T, 6) between the supports as `support_wrenches` returns it; R, p: poses of the links."""
    plan = solved.plan
    shares = load_shares(plan.footholds, plan.aids, time_s)
    shares = np.where(shares.sum(axis=1, keepdims=True) > 0.0, shares, _edges(plan, time_s))
    points = pressure_points(solved.feet, plan, time_s, R, p)
    mean = np.einsum("ts,tsi->ti", shares, points)
    force = total[:, 3:]
    missing = total[:, :3] - np.cross(mean, force)
    moment = np.cross(points, force[:, None]) + missing[:, None]
    wrench = shares[..., None] * np.concatenate([moment, np.broadcast_to(force[:, None], moment.shape)], axis=-1)
    _push_apart(wrench, shares[:, : len(plan.footholds)], points, force[:, 1])
    return wrench, np.where(shares.sum(axis=1, keepdims=True) > 0.0, 0.0, total)


def _edges(plan: MotionPlan, time_s: FloatArray) -> FloatArray:
    """Shares (T, S + A) in the moments just beyond a stance that begins or ends in flight."""
    shares = np.zeros((len(time_s), len(plan.footholds) + len(plan.aids)))
    for column, hold in enumerate(plan.footholds):
        shares[:, column] = (time_s >= hold.start_s - EDGE_S) & (time_s <= hold.end_s + EDGE_S)
    total = shares.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(shares, total, out=np.zeros_like(shares), where=total > 0.0))


def _push_apart(wrench: FloatArray, shares: FloatArray, points: FloatArray, upward_n: FloatArray) -> None:
    """Let two feet push each other apart along the line between them: it adds nothing to the sum."""
    for t in np.flatnonzero((shares > 1e-6).sum(axis=1) == 2):
        a, b = np.flatnonzero(shares[t] > 1e-6)
        along = points[t, a] - points[t, b]
        distance = np.linalg.norm(along)
        if distance < 0.1:
            continue
        push = 4.0 * _PUSH * shares[t, a] * shares[t, b] * upward_n[t] * along / distance
        for foot, sign in ((a, -1.0), (b, 1.0)):
            wrench[t, foot, 3:] += sign * push
            wrench[t, foot, :3] += sign * np.cross(points[t, foot], push)


def pressure_points(
    feet: Mapping[Side, Foot], plan: MotionPlan, time_s: FloatArray, R: FloatArray, p: FloatArray
) -> FloatArray:
    """Return where each support presses (T, S + A, 3) m, on the height of its ground; R, p: poses of the links."""
    table = load_data("gait")["foot"]
    points = np.zeros((len(time_s), len(plan.footholds) + len(plan.aids), 3))
    for column, hold in enumerate(plan.footholds):
        foot = feet[hold.side]
        if hold.rolls:
            share = contact.pressure_share((time_s - hold.start_s) / (hold.end_s - hold.start_s), table)
        else:
            share = _flat_share(hold, time_s, table)
        local = foot.back + share[:, None] * foot.forward
        points[:, column] = p[:, foot.link] + np.einsum("tij,tj->ti", R[:, foot.link], local)
        points[:, column, 1] = hold.heel_W[1]
    for column, aid in enumerate(plan.aids, start=len(plan.footholds)):
        points[:, column] = aid.tip_W
    return points


def _flat_share(hold: Foothold, time_s: FloatArray, table: Mapping[str, float]) -> FloatArray:
    """Share of the sole's length (T,) under which a foot that does not roll presses: its middle, on the toes their ball."""
    middle = 0.5 * (table["pressure_start"] + table["pressure_end"])
    toes = np.zeros(len(time_s))
    if hold.toes_at_start:
        toes = np.maximum(toes, 1.0 - contact.taken_over((time_s - hold.start_s - 0.08) / 0.12))
    if hold.toes_at_end:
        toes = np.maximum(toes, contact.taken_over((time_s - hold.end_s + 0.2) / 0.12))
    return np.asarray(middle + (table["ball"] - middle) * toes)


class _Problem:
    """Residuals of a plan, frame by frame."""

    def __init__(self, body: Body, plan: MotionPlan) -> None:
        self.body, self.model, self.plan = body, body.model, plan
        self.feet = standing_feet(body.model, body.static_q, load_data("gait")["foot"])
        self.time_s: FloatArray = np.asarray(np.arange(round(plan.duration_s / plan.frame_s) + 1) * plan.frame_s)
        length = float(np.linalg.norm(self.feet["r"].ball - self.feet["r"].heel))
        self.plans = foot_plans(plan.footholds, self.time_s, length, plan.clearance_m)
        self.shares = load_shares(plan.footholds, plan.aids, self.time_s)
        self.carried = self.shares.sum(axis=1) > 0.0
        self.reference = self._reference(body)
        self.weight = body.model.mass_kg * STANDARD_GRAVITY_M_S2

    def _reference(self, body: Body) -> FloatArray:
        names = (*BASE_CURVES, *(c.name for c in self.body.coordinates))
        standing = [0.0, body.static_q[1], *np.zeros(4), *(body.static_q[c.q_index] for c in self.body.coordinates)]
        reference = np.tile(standing, (len(self.time_s), 1))
        for name, pairs in self.plan.keys.items():
            if name not in names:  # a skeleton without arms
                continue
            times, values = np.array(sorted(dict(pairs).items())).T
            moved = (
                PchipInterpolator(times, values)(np.clip(self.time_s, times[0], times[-1]))
                if len(times) > 1
                else values[0]
            )
            reference[:, names.index(name)] += moved
        return reference

    def splines(self) -> SplineProblem:
        """The problem of the splines."""
        names = [c.name for c in self.body.coordinates]
        table, own = load_data("motions"), self.plan.tolerance or {}
        usual = {
            name.removesuffix("_deg"): np.deg2rad(v) if name.endswith("_deg") else v
            for name, v in table["root"].items()
        }
        tolerance = [own.get(name, usual[name]) for name in BASE_CURVES]
        for name in names:
            degrees = next(
                (v for stem, v in table["joints"].items() if name.startswith(stem)), table["joints"]["others"]
            )
            tolerance.append(own.get(name, np.deg2rad(degrees)))
        rough = [_ROUGH_M] * 3 + [_ROUGH_RAD] * (3 + len(names))
        count = int(np.ceil(self.plan.duration_s / self.plan.knot_s - 1e-9)) + 5
        return SplineProblem(
            self.time_s, self.residuals, self.reference, np.array(tolerance), np.array(rough), count, self.plan.knot_s
        )

    def residuals(self, rows: tuple[FloatArray, FloatArray, FloatArray], frames: np.ndarray) -> FloatArray:
        """Residuals (F, m) of standing feet, swinging feet and possible ground wrenches; rows: y, yd, ydd (F, ny)."""
        q, v, vdot = self.body.motion(*rows)
        R, p = body_poses(self.model.multibody, q)
        parts = []
        for side in SIDES:
            parts += self._foot(side, R, p, frames)
        parts += self._ground(required_wrench(self.model, q, v, vdot), R, p, q[:, :3], frames)
        return np.concatenate([part.reshape(len(q), -1) for part in parts], axis=1)

    def _foot(self, side: Side, R: FloatArray, p: FloatArray, frames: np.ndarray) -> list[FloatArray]:
        foot, plan = self.feet[side], self.plans[side]
        ends = contact.points_in_world(R[:, foot.link], p[:, foot.link], np.stack([foot.heel, foot.ball, foot.toe]))
        air = plan.standing[frames] < 0
        scale_heel = np.where(plan.heel_down[frames], _PLANTED_M, np.where(air, self.plan.swing_m, np.inf))[:, None]
        scale_ball = np.where(plan.ball_down[frames], _PLANTED_M, np.where(air, 2.0 * self.plan.swing_m, np.inf))[
            :, None
        ]
        least = (plan.floor + plan.clear)[frames][:, None]
        return [
            (ends[:, 0] - plan.heel[frames]) / scale_heel,
            (ends[:, 1] - plan.ball[frames]) / scale_ball,
            np.minimum(ends[:, :, 1] - least, 0.0) / _CLEAR_M,
        ]

    def _ground(
        self, wrench: FloatArray, R: FloatArray, p: FloatArray, root: FloatArray, frames: np.ndarray
    ) -> list[FloatArray]:
        shares, carried = self.shares[frames], self.carried[frames][:, None]
        points = pressure_points(self.feet, self.plan, self.time_s[frames], R, p)
        force = wrench[:, 3:]
        missing = (wrench[:, :3] - np.cross(np.einsum("ts,tsi->ti", shares, points), force)) / self.weight
        about_root = (wrench[:, :3] - np.cross(root, force)) / self.weight
        sideways = np.hypot(force[:, 0], force[:, 2])
        slip = np.maximum(sideways - _FRICTION * np.maximum(force[:, 1], 0.0), 0.0) / (self.weight * _FRICTION_BW)
        return [
            np.where(carried, missing / (_PRESSURE_M, _TWIST_M, _PRESSURE_M), about_root / _FLIGHT_M),
            np.where(carried, 0.0, force / (self.weight * _FLIGHT_BW)),
            np.where(carried[:, 0], slip, 0.0),
            np.where(carried, (force / self.weight - (0.0, 1.0, 0.0)) / self.plan.calm_bw, 0.0),
            np.where(carried[:, 0], np.minimum(force[:, 1], 0.0) / (self.weight * _LEAST_BW), 0.0),
        ]
