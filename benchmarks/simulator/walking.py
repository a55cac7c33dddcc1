"""A walk that obeys physics: published curves bent until the feet stand still and the ground can supply the wrench."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from biodyn.conventions import SIDES, STANDARD_GRAVITY_M_S2, FloatArray, Side
from biodyn.geometry.rotations import matrices_from_quaternions
from biodyn.model.body_model import SubjectModel
from biodyn.rigid_body import body_poses, inverse_dynamics
from simulator import feet as contact
from simulator.curves import Curve, evaluate, sample, walking_curves
from simulator.feet import Foot, standing_feet
from simulator.impacts import Impacts, walked_strikes
from simulator.person import Body
from simulator.solver import least_squares
from simulator.styles import Style, normal_style

_FRAMES = 60  # of half a cycle; 15 to a period of the highest harmonic
_STEP = 1e-6  # in units of a curve's tolerance, for the numeric derivatives
_SIDE_LAG: dict[Side, float] = {"r": 0.0, "l": 0.5}
# What a residual of one unit is worth.
_SLIP_M, _HEIGHT_M, _CLEARANCE_M = 0.004, 0.003, 0.004
_PRESSURE_X_M, _PRESSURE_Z_M = 0.008, 0.005
_FREE_MOMENT_NM_KG = 0.03
_VERTICAL_BW, _FRICTION = 0.05, 0.02
_SWING_CLEARANCE_M = 0.012
_LANDING = 0.1  # share of the cycle
_ROUGHNESS_BW = 40.0  # second derivative of the force in phase, body weights a cycle squared
_RIPPLE_NM_KG = 200.0  # second derivative of a leg's torque in phase, Nm/kg a cycle squared
_CLOSENESS = 3.0  # how much the published curves count


@dataclass(frozen=True)
class Walk:
    """A periodic walk of a body along World X.

    Attributes:
        body: who walks. feet: the soles.
        speed_m_s, stride_s: of the walk; double_support: share of the cycle, each time.
        curves, coefficients: the Fourier series, (n,) rad and m.
        foothold: (3,) m, heel of the right foot on the floor at phase 0, with the curves as they are.
        cost: of the solution.
        impacts: what the foot strikes add to the smooth course (`rough.with_impacts`); None: nothing.
    """

    body: Body
    feet: Mapping[Side, Foot]
    speed_m_s: float
    stride_s: float
    double_support: float
    curves: tuple[Curve, ...]
    coefficients: FloatArray
    foothold: FloatArray
    cost: float
    impacts: Impacts | None = None

    @property
    def stride_m(self) -> float:
        """Distance a cycle covers, m."""
        return self.speed_m_s * self.stride_s

    @property
    def stance(self) -> float:
        """Share of the cycle a foot is on the floor."""
        return 0.5 + self.double_support

    def smooth_rows(self, time_s: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the curve values without impacts, and their time derivatives, (T, ny) at the times (T,) s."""
        phase = time_s / self.stride_s
        y, yd, ydd = evaluate(self.curves, self.coefficients, phase, 6 + len(self.body.coordinates))
        y[:, 0] += self.stride_m * phase
        yd[:, 0] += self.stride_m
        return y, yd / self.stride_s, ydd / self.stride_s**2

    def motion(self, time_s: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return q, v, vdot at the times (T,) s; the right foot strikes at time 0."""
        rows = self.smooth_rows(time_s)
        if self.impacts is not None:
            near = walked_strikes(time_s, self.stride_s, self.impacts.before_s, self.impacts.after_s)
            added = self.impacts.rows(time_s, near)
            rows = (rows[0] + added[0], rows[1] + added[1], rows[2] + added[2])
        return self.body.motion(*rows)


def required_wrench(model: SubjectModel, q: FloatArray, v: FloatArray, vdot: FloatArray) -> FloatArray:
    """Return the wrench (T, 6) about the world origin that the ground must supply for the motion, Nm and N."""
    tau = inverse_dynamics(model.multibody, q, v, vdot)
    R = matrices_from_quaternions(q[:, 3:7])
    force = np.einsum("tij,tj->ti", R, tau[:, 3:6])
    moment = np.einsum("tij,tj->ti", R, tau[:, :3]) + np.cross(q[:, :3], force)
    return np.concatenate([moment, force], axis=-1)


def solve_walk(
    body: Body,
    speed_m_s: float,
    stride_s: float,
    iterations: int = 60,
    near: Walk | None = None,
    style: Style | None = None,
) -> Walk:
    """Return the walk of a body at a speed (m/s) with strides of `stride_s` seconds.

    style: the curves it stays near; those of normal walking where None.
    near: the walk of a similar body or at a similar speed to start from, which saves iterations; whatever is not yet
    minimal, forces and torques belong to the motion exactly.
    """
    problem = _Problem(body, speed_m_s, stride_s, normal_style() if style is None else style)
    start = problem.start() if near is None else problem.pack(near.coefficients, near.foothold)
    x, cost = least_squares(problem, start, iterations, 1e-5)
    coefficients, foothold = problem.unpack(x)
    return Walk(
        body, problem.feet, speed_m_s, stride_s, problem.double_support, problem.curves, coefficients, foothold, cost
    )


def _carries_a_foot(model: SubjectModel, body: str) -> bool:
    """True for the bodies between the root and the soles."""
    parents = {part.definition.name: part.definition.parent for part in model.bodies}
    for name in model.sole_body.values():
        while parents[name]:
            if name == body:
                return True
            name = parents[name]
    return False


class _Problem:
    """The least-squares problem in units of tolerances: x = (coefficients, foothold x and z)."""

    def __init__(self, body: Body, speed_m_s: float, stride_s: float, style: Style) -> None:
        table = style.table
        self.least_bw, self.most_bw, self.most_friction = style.least_bw, style.most_bw, style.most_friction
        self.body, self.model = body, body.model
        self.table: Mapping[str, Any] = table
        self.timing = table["timing"]
        self.stride_s, self.stride_m = stride_s, speed_m_s * stride_s
        self.double_support: float = self.timing["double_support"] + self.timing["double_support_per_m_s"] * (
            speed_m_s - self.timing["reference_speed_m_s"]
        )
        self.feet = standing_feet(body.model, body.static_q, table["foot"])
        self.curves = walking_curves(body.model, body.coordinates, body.static_q, table)
        self.leg_columns = [c.v_index for c in body.coordinates if _carries_a_foot(body.model, c.body)]
        self.phase = np.arange(_FRAMES) / (2.0 * _FRAMES)
        self.maps = sample(self.curves, self.phase, 6 + len(body.coordinates))
        orders = np.concatenate([curve.orders() for curve in self.curves])
        self.unit = np.concatenate([np.full(curve.size, curve.tolerance) for curve in self.curves])
        self.reference = np.concatenate([curve.reference for curve in self.curves])
        means_free = np.concatenate([np.full(curve.size, curve.mean_free) for curve in self.curves]) & (orders == 0)
        # Deviations cost the more the faster they are: what physics bends, it bends smoothly.
        steps = 4.0 * np.pi * self.phase
        self.published_force = {
            axis: sum(
                c * np.cos(k * steps) + s * np.sin(k * steps)
                for k, (c, s) in enumerate(zip(entry["cos"], entry["sin"], strict=True), start=1)
            )
            for axis, entry in table["ground"].items()
            if axis != "push"
        }
        self.prior = _CLOSENESS * np.where(means_free, 0.1, 1.0 + (orders / 4.0) ** 3)

    def start(self) -> FloatArray:
        """The published curves, and the foothold under the heel a little after the strike."""
        x = np.concatenate([self.reference / self.unit, [0.0, 0.0]])
        q, _, _ = self.states(x[None, :])
        R, p = body_poses(self.model.multibody, q[:_FRAMES])
        foot = self.feet["r"]
        frame = round(0.1 * 2 * _FRAMES)
        heel = contact.points_in_world(R[frame, foot.link], p[frame, foot.link], foot.heel[None])[0]
        x[-2:] = heel[[0, 2]] / _SLIP_M
        # the lowest sole point of the first stance on the floor
        ground = contact.points_in_world(
            R[:_FRAMES, foot.link], p[:_FRAMES, foot.link], np.stack([foot.heel, foot.ball])
        )
        height = np.median(ground[8:, :, 1].min(axis=1))
        upward = sum(curve.size for curve in self.curves[:1])
        x[upward] -= height / self.unit[upward]
        return x

    def unpack(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Coefficients (n,) and foothold (3,) m."""
        return x[:-2] * self.unit, np.array([x[-2] * _SLIP_M, 0.0, x[-1] * _SLIP_M])

    def pack(self, coefficients: FloatArray, foothold: FloatArray) -> FloatArray:
        """The x of `unpack`'s answer."""
        return np.concatenate([coefficients / self.unit, foothold[[0, 2]] / _SLIP_M])

    def states(self, X: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """q, v, vdot of several x (K, n + 2), frames of all of them in one row (K M, ...)."""
        coefficients = X[:, :-2] * self.unit
        parts = []
        for order, maps in enumerate((self.maps.values, self.maps.rates, self.maps.accelerations)):
            y = np.einsum("mcn,kn->kmc", maps, coefficients, optimize=True)
            if order == 0:
                y[..., 0] += self.stride_m * self.phase
            elif order == 1:
                y[..., 0] += self.stride_m
            parts.append(y.reshape(-1, y.shape[-1]) / self.stride_s**order)
        return self.body.motion(*parts)

    def __call__(self, x: FloatArray, with_jacobian: bool) -> tuple[FloatArray, FloatArray | None]:
        """Residual and, on demand, its derivative by forward differences."""
        prior = self.prior * (x[:-2] - self.reference / self.unit)
        if not with_jacobian:
            return np.concatenate([self.physics(x[None, :])[0], prior]), None
        X = np.concatenate([x[None, :], x + _STEP * np.eye(len(x))])
        r = self.physics(X)
        J = np.concatenate([(r[1:] - r[0]).T / _STEP, np.pad(np.diag(self.prior), ((0, 0), (0, 2)))])
        return np.concatenate([r[0], prior]), J

    def physics(self, X: FloatArray) -> FloatArray:
        """Residuals (K, m) of standing feet and possible ground wrenches."""
        count = len(X)
        q, v, vdot = self.states(X)
        R, p = body_poses(self.model.multibody, q)
        wrench = required_wrench(self.model, q, v, vdot).reshape(count, _FRAMES, 6)
        foothold = np.stack([X[:, -2] * _SLIP_M, np.zeros(count), X[:, -1] * _SLIP_M], axis=-1)
        parts = []
        wanted = {}
        for side in SIDES:
            foot = self.feet[side]
            R_L = R[:, foot.link].reshape(count, _FRAMES, 3, 3)
            p_L = p[:, foot.link].reshape(count, _FRAMES, 3)
            own = self.phase + _SIDE_LAG[side]  # this foot's own phase
            parts += self.standing(side, own, R_L, p_L, foothold)
            progress = contact.pressure_share(own / (0.5 + self.double_support), self.table["foot"])
            local = foot.back + progress[:, None] * foot.forward
            point = p_L + np.einsum("kmij,mj->kmi", R_L, local)
            wanted[side] = point * (1.0, 0.0, 1.0)
        parts += self.ground(wrench, wanted)
        parts.append(self.torques(q, v, vdot, wrench, wanted))
        return np.concatenate([part.reshape(count, -1) for part in parts], axis=1)

    def standing(
        self, side: Side, own: FloatArray, R_L: FloatArray, p_L: FloatArray, foothold: FloatArray
    ) -> list[FloatArray]:
        """No slip, no sinking in, clearance in swing."""
        foot = self.feet[side]
        ends = contact.points_in_world(R_L, p_L, np.stack([foot.heel, foot.ball, foot.toe]))
        sign = 1.0 if side == "r" else -1.0
        toe_out = np.deg2rad(self.table["foot"]["toe_out_deg"])
        length = np.linalg.norm(foot.ball - foot.heel)
        heel = foothold * (1.0, 1.0, sign) - np.array([_SIDE_LAG[side] * self.stride_m, 0.0, 0.0])
        ball = heel + length * np.array([np.cos(toe_out), 0.0, sign * np.sin(toe_out)])
        scale = np.array([_SLIP_M, _HEIGHT_M, _SLIP_M])
        heel_down = (own >= self.timing["heel_planted_from"]) & (own <= self.timing["heel_planted"])
        lands = np.where(own[heel_down] < _LANDING, self.timing["landing_counts"], 1.0)
        ball_down = (own >= self.timing["ball_planted_from"]) & (own <= 0.5 + self.double_support)
        parts = [
            (ends[:, heel_down, 0] - heel[:, None]) * lands[:, None] / scale,
            (ends[:, ball_down, 1] - ball[:, None]) / scale,
            np.minimum(ends[:, :, :2, 1], 0.0) / _HEIGHT_M,
        ]
        swing = (own > 0.5 + self.double_support + 0.08) & (own < self.timing["clear_until"])
        if swing.any():
            lowest = ends[..., 1][:, swing]
            parts.append(np.minimum(lowest - _SWING_CLEARANCE_M, 0.0) / _CLEARANCE_M)
        return parts

    def ground(self, wrench: FloatArray, wanted: Mapping[Side, FloatArray]) -> list[FloatArray]:
        """Pressure under the feet, friction, little twist, a push upwards of a possible size."""
        mass = self.model.mass_kg
        weight = mass * STANDARD_GRAVITY_M_S2
        point, free = contact.zero_moment_point(wrench)
        lead = contact.taken_over(self.phase / self.double_support)[:, None]
        missing = point - lead * wanted["r"] - (1.0 - lead) * wanted["l"]
        up = wrench[..., 4] / weight
        friction = np.hypot(wrench[..., 3], wrench[..., 5]) / np.maximum(wrench[..., 4], 0.2 * weight)
        return [
            missing[..., 0] / _PRESSURE_X_M,
            missing[..., 2] / _PRESSURE_Z_M,
            free / (mass * _FREE_MOMENT_NM_KG),
            (np.minimum(up - self.least_bw, 0.0) + np.maximum(up - self.most_bw, 0.0)) / _VERTICAL_BW,
            np.maximum(friction - self.most_friction, 0.0) / _FRICTION,
            (wrench[..., 3] / weight - self.published_force["forward"]) / self.table["ground"]["forward"]["tolerance"],
            (up - 1.0 - self.published_force["upward"]) / self.table["ground"]["upward"]["tolerance"],
            np.diff(wrench[..., 3:], n=2, axis=1) * (2.0 * _FRAMES) ** 2 / (weight * _ROUGHNESS_BW),
        ]

    def torques(
        self, q: FloatArray, v: FloatArray, vdot: FloatArray, wrench: FloatArray, wanted: Mapping[Side, FloatArray]
    ) -> FloatArray:
        """Torques of the legs without ripple: their second derivative."""
        count = len(wrench)
        share = np.tile(contact.taken_over(self.phase / self.double_support), count)
        lead, rear = contact.shared(
            wrench.reshape(-1, 6),
            share,
            wanted["r"].reshape(-1, 3),
            wanted["l"].reshape(-1, 3),
            self.table["ground"]["push"],
        )
        tau = inverse_dynamics(
            self.model.multibody,
            q,
            v,
            vdot,
            wrenches=np.stack([lead, rear], axis=1),
            wrench_bodies=[self.feet[side].link for side in SIDES],
        )
        legs = tau[:, self.leg_columns].reshape(count, _FRAMES, -1)
        return np.diff(legs, n=2, axis=1) * (2.0 * _FRAMES) ** 2 / (self.model.mass_kg * _RIPPLE_NM_KG)
