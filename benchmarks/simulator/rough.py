"""A walk whose feet strike: a passive peak in the reaction force, and the body's answer to it by the laws of motion.

The smooth walk and the impact forces are given. Wanted is the change of the motion about a strike for which the ground has to
supply just that force more, the standing feet stay where they stand, and the joints give way like springs and dampers, with a
muscle tremor. It is found by least squares; whatever is left over, forces and torques belong to the motion exactly, for both
are computed from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.signal import butter, sosfiltfilt

from biodyn.conventions import SIDES, STANDARD_GRAVITY_M_S2, FloatArray, Side, without_side
from biodyn.library.tables import expand_sides
from biodyn.rigid_body import body_poses, inverse_dynamics
from simulator import feet as contact
from simulator.feet import Foot
from simulator.impacts import Impacts, Pulse, Rows, blended, mirror_of, pulse_wrench, window
from simulator.landing import landing_heel
from simulator.motions import PlannedMotion, carried
from simulator.person import Body
from simulator.reaction import shared_by_feet
from simulator.splines import DEGREE, SplineProblem
from simulator.tables import load_data
from simulator.walking import Walk, required_wrench

_FRAME_S = 0.004
_RECOVERED = 0.95  # share of the stance after which the recoil is over at the latest
_STIFFENS_S = 0.05  # before the strike: over which the leg that reached for the ground becomes as stiff as it stands
# What a residual of one unit is worth.
_PLACE_M, _FORCE_N_KG, _MOMENT_NM_KG = 0.0007, 0.05, 0.008
_SWING = 10.0  # how much less the joints are held to their springs while the leg reaches for the ground
_TOLERANCE_M, _TOLERANCE_RAD = 0.02, 0.1
_STEPS, _LEAST_GAIN = 3, 1e-2  # Levenberg-Marquardt steps at most; the share of the cost that one must gain, to go on
_ROUGH_M, _ROUGH_RAD = 1.5e3, 2.0e4  # third derivatives, m/s^3 and rad/s^3


@dataclass(frozen=True)
class Strike:
    """How hard a person strikes: sizes of the table times these; seed: of tremor and of the spread from step to step."""

    size: float = 1.0
    length: float = 1.0
    tremor: float = 1.0
    seed: int = 1


def drawn_strike(seed: int) -> Strike:
    """Return how hard the person of a seed strikes."""
    spread = load_data("rough")["spread"]
    size, length, tremor = np.random.default_rng([seed, 11]).normal(size=3)
    return Strike(
        float(np.clip(1.0 + spread["size"] * size, 0.5, 1.5)),
        float(np.clip(1.0 + spread["length"] * length, 0.7, 1.4)),
        float(np.clip(1.0 + spread["size"] * tremor, 0.5, 1.5)),
        seed,
    )


@dataclass(frozen=True)
class Step:
    """A right foot's strike in a smooth motion, and what comes before and after it.

    Attributes:
        rows: curve values and their time derivatives at times (T,) s after the strike.
        shared: splits a total wrench between the feet: since_s, wrench (T, 6), poses of the links.
        stance_s: how long the foot stands. rear_until_s: when the left foot leaves, s after the strike.
    """

    body: Body
    feet: Mapping[Side, Foot]
    speed_m_s: float
    stance_s: float
    rear_until_s: float
    rows: Callable[[FloatArray], Rows]
    shared: Callable[[FloatArray, FloatArray, FloatArray, FloatArray], Mapping[Side, FloatArray]]


def with_impacts(walk: Walk, strike: Strike) -> Walk:
    """Return the walk with foot strikes; a second or so."""
    step = Step(
        walk.body,
        walk.feet,
        walk.speed_m_s,
        walk.stance * walk.stride_s,
        walk.double_support * walk.stride_s,
        walk.smooth_rows,
        lambda since_s, total, R, p: shared_by_feet(walk, since_s, total, R, p),
    )
    return replace(walk, impacts=impacts_of(step, strike))


def run_with_impacts(solved: PlannedMotion, strike: Strike, speed_m_s: float) -> PlannedMotion:
    """Return a planned run with foot strikes: the answer to one strike of the right foot serves for all."""
    holds = solved.plan.footholds
    hold = next(hold for hold in holds if hold.side == "r" and hold.plate is not None)
    before = max((other.end_s for other in holds if other.start_s < hold.start_s), default=hold.start_s)

    def shared(since_s: FloatArray, total: FloatArray, R: FloatArray, p: FloatArray) -> dict[Side, FloatArray]:
        wrench, _ = carried(solved, hold.start_s + since_s, total, R, p)
        on = {side: [n for n, other in enumerate(holds) if other.side == side] for side in SIDES}
        return {side: wrench[:, columns].sum(axis=1) for side, columns in on.items()}

    step = Step(
        solved.body,
        solved.feet,
        speed_m_s,
        hold.end_s - hold.start_s,
        before - hold.start_s,
        lambda since_s: solved.spline.rows(hold.start_s + since_s),
        shared,
    )
    return replace(solved, impacts=impacts_of(step, strike))


def impacts_of(step: Step, strike: Strike) -> Impacts:
    """Return the force of a strike and the body's answer to it."""
    table = load_data("rough")
    pulses = _pulses(step, strike, table)
    coefficients, _ = _Answer(step, strike, pulses, table).splines().solve(_STEPS, _LEAST_GAIN)
    place = table["window"]
    return Impacts(
        pulses,
        coefficients,
        place["knot_s"],
        place["before_s"],
        place["after_s"],
        place["taper_s"],
        mirror_of(step.body),
        table["spread"]["step"],
        strike.seed,
    )


def _pulses(step: Step, strike: Strike, table: Mapping[str, Any]) -> tuple[Pulse, ...]:
    weight = step.body.model.mass_kg * STANDARD_GRAVITY_M_S2
    foot = load_data("gait")["foot"]
    faster = step.speed_m_s / load_data("gait")["timing"]["reference_speed_m_s"]
    pulses = []
    for name, at in (("heel", "heel"), ("brake", "heel"), ("ball", "ball")):
        entry = table[name]
        peak = strike.size * entry["peak_bw"] * weight * faster / strike.length
        delay, first = entry.get("delay_s", 0.0), strike.length * entry["length_s"]
        fits = min(1.0, (_RECOVERED * step.stance_s - delay - first) / sum(entry["recoil_s"]))
        lobes = (first, fits * entry["recoil_s"][0], fits * entry["recoil_s"][1])
        force = peak * np.array([entry["forward"], 1.0, entry["sideways"]])
        pulses.append(Pulse(foot[at], delay, lobes, force))
    return tuple(pulses)


class _Answer:
    """The change of the motion about a right foot's strike at time 0, as splines."""

    def __init__(self, step: Step, strike: Strike, pulses: tuple[Pulse, ...], table: Mapping[str, Any]) -> None:
        place = table["window"]
        self.step, self.body, self.model, self.pulses = step, step.body, step.body.model, pulses
        self.before_s, self.knot_s = place["before_s"], place["knot_s"]
        length = place["before_s"] + place["after_s"]
        self.since_s: FloatArray = np.asarray(np.arange(round(length / _FRAME_S)) * _FRAME_S - place["before_s"])
        self.count = int(np.ceil(length / self.knot_s - 1e-9)) + DEGREE
        self.windows = window(self.since_s, place["before_s"], place["after_s"], place["taper_s"])
        self.smooth = step.rows(self.since_s)
        q, v, vdot = self.body.motion(*self.smooth)
        R, p = body_poses(self.model.multibody, q)
        self.total = required_wrench(self.model, q, v, vdot)
        self.root = q[:, :3]
        self.torque = self._torques(q, v, vdot, step.shared(self.since_s, self.total, R, p))
        self.places = {side: self._points(side, R, p) for side in SIDES}
        heel = landing_heel(lambda t: self._right_foot(t)[:, 0], self.since_s, self.step.stance_s, table["landing"])
        self.places["r"] = self.places["r"] - self.places["r"][:, :1] + heel[:, None]
        self.held = self._held(table["landing"]["begins_s"])
        self.stiffness, self.damping, self.unit = _springs(self.body, table)
        self.active = _tremor(self.body, strike, table, self.since_s) + _burst(self.body, strike, table, self.since_s)
        self.loose = _SWING ** np.clip(-self.since_s / _STIFFENS_S, 0.0, 1.0)

    def _held(self, begins_s: float) -> dict[str, FloatArray]:
        """Frames (T,) in which each foot's place is asked for, 1 or 0: right from its way down on, left until its off."""
        leads = (self.since_s > -begins_s) & (self.since_s < self.step.stance_s)
        rear = self.since_s < self.step.rear_until_s
        return {"r": leads.astype(float), "l": rear.astype(float)}

    def _points(self, side: str, R: FloatArray, p: FloatArray) -> FloatArray:
        foot = self.step.feet[side]  # type: ignore[index]
        return contact.points_in_world(R[:, foot.link], p[:, foot.link], np.stack([foot.heel, foot.ball, foot.toe]))

    def _right_foot(self, since_s: FloatArray) -> FloatArray:
        """Places (T, 3, 3) m of the right foot's heel, ball and toe in the smooth motion, s after the strike."""
        q, _, _ = self.body.motion(*self.step.rows(since_s))
        return self._points("r", *body_poses(self.model.multibody, q))

    def _torques(self, q: FloatArray, v: FloatArray, vdot: FloatArray, wrench: Mapping[Any, FloatArray]) -> FloatArray:
        tau = inverse_dynamics(
            self.model.multibody,
            q,
            v,
            vdot,
            wrenches=np.stack([wrench[side] for side in SIDES], axis=1),
            wrench_bodies=[self.step.feet[side].link for side in SIDES],
        )
        return np.asarray(tau[:, [coordinate.v_index for coordinate in self.body.coordinates]])

    def splines(self) -> SplineProblem:
        """The problem of the splines."""
        joints = len(self.body.coordinates)
        tolerance = np.array([_TOLERANCE_M] * 3 + [_TOLERANCE_RAD] * (3 + joints))
        rough = np.array([_ROUGH_M] * 3 + [_ROUGH_RAD] * (3 + joints))
        zero = np.zeros((len(self.since_s), 6 + joints))
        time_s = self.since_s + self.before_s
        return SplineProblem(time_s, self.residuals, zero, tolerance, rough, self.count, self.knot_s)

    def residuals(self, rows: Rows, frames: np.ndarray) -> FloatArray:
        """Residuals (F, m) of standing feet, of the ground's wrench and of the joints' springs."""
        mass = self.model.mass_kg
        change = blended(rows, self.windows[:, frames])
        q, v, vdot = self.body.motion(*(a[frames] + b for a, b in zip(self.smooth, change, strict=True)))
        R, p = body_poses(self.model.multibody, q)
        since = self.since_s[frames]
        struck = pulse_wrench(self.pulses, since, self.step.stance_s, self.step.feet["r"], R, p)
        rest = required_wrench(self.model, q, v, vdot) - struck
        more = rest - self.total[frames]
        about_root = more[:, :3] - np.cross(self.root[frames], more[:, 3:])
        parts = [more[:, 3:] / (mass * _FORCE_N_KG), about_root / (mass * _MOMENT_NM_KG)]
        for side in SIDES:
            away = (self._points(side, R, p) - self.places[side][frames]) / _PLACE_M
            parts.append((self.held[side][frames, None, None] * away).reshape(len(q), -1))
        wrench = dict(self.step.shared(since, rest, R, p))
        wrench["r"] = wrench["r"] + struck
        torque = self._torques(q, v, vdot, wrench) - self.torque[frames]
        spring = torque + self.stiffness * change[0][:, 6:] + self.damping * change[1][:, 6:] - self.active[frames]
        parts.append(spring / (self.unit * self.loose[frames, None]))
        return np.concatenate(parts, axis=1)


def _by_joint(body: Body, table: Mapping[str, Any]) -> FloatArray:
    """Values (C,) of the coordinates from a table by the segment beyond the joint."""
    named = {name: value for pattern, value in table.items() for _, name in expand_sides(pattern)}
    return np.array([named.get(coordinate.body, named["others"]) for coordinate in body.coordinates])


def _springs(body: Body, table: Mapping[str, Any]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Stiffness (C,) Nm/rad, damping (C,) Nm s/rad, and the torque (C,) Nm that costs one unit."""
    stiffness = body.model.mass_kg * _by_joint(body, table["stiffness"])
    damping = table["damping"]
    return stiffness, damping["share_s"] * stiffness, damping["tolerance_rad"] * stiffness


def _tremor(body: Body, strike: Strike, table: Mapping[str, Any], since_s: FloatArray) -> FloatArray:
    """Torques (T, C) Nm of muscles that act otherwise than the smooth walk needs."""
    band = [table["tremor"]["from_hz"], table["tremor"]["to_hz"]]
    sizes = {name: value for name, value in table["tremor"].items() if name not in ("from_hz", "to_hz")}
    rng = np.random.default_rng([strike.seed, 13])
    white = rng.normal(size=(len(since_s) + 400, len(body.coordinates)))
    sections = butter(2, band, btype="bandpass", fs=1.0 / _FRAME_S, output="sos")
    slow = sosfiltfilt(sections, white, axis=0)[200:-200]
    slow /= np.sqrt(np.mean(slow**2, axis=0))
    return np.asarray(strike.tremor * body.model.mass_kg * slow * _by_joint(body, sizes))


def _burst(body: Body, strike: Strike, table: Mapping[str, Any], since_s: FloatArray) -> FloatArray:
    """Torques (T, C) Nm with which the muscles of the leg that strikes, the right one, meet the ground."""
    entry = table["burst"]
    phase = np.clip((since_s + entry["before_s"]) / entry["length_s"], 0.0, 1.0)
    torque = entry["torque"]
    peak = [torque.get(without_side(c.name, "r"), 0.0) if c.side == "r" else 0.0 for c in body.coordinates]
    return np.asarray(strike.size * body.model.mass_kg * np.sin(np.pi * phase)[:, None] ** 2 * peak)
