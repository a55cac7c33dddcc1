"""A walk whose feet strike: a passive peak in the reaction force, and the body's answer to it by the laws of motion.

The smooth walk and the impact forces are given. Wanted is the change of the motion about a strike for which the ground has to
supply just that force more, the standing feet stay where they stand, and the joints give way like springs and dampers, with a
muscle tremor. It is found by least squares; whatever is left over, forces and torques belong to the motion exactly, for both
are computed from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.signal import butter, sosfiltfilt

from biodyn.conventions import SIDES, STANDARD_GRAVITY_M_S2, FloatArray
from biodyn.library.tables import for_each_side
from biodyn.rigid_body import body_poses, inverse_dynamics
from biodyn.simulation import feet as contact
from biodyn.simulation.impacts import Impacts, Pulse, Rows, blended, mirror_of, pulse_wrench, window
from biodyn.simulation.person import Body, load_data
from biodyn.simulation.reaction import shared_by_feet
from biodyn.simulation.splines import DEGREE, SplineProblem
from biodyn.simulation.walking import Walk, required_wrench

_FRAME_S = 0.004
_STOP_S = 0.02  # in which the heel's fall is stopped
# What a residual of one unit is worth.
_PLACE_M, _FORCE_N_KG, _MOMENT_NM_KG = 0.0007, 0.05, 0.008
_SWING = 10.0  # how much less the leg is held to its springs while it reaches for the ground
_TOLERANCE_M, _TOLERANCE_RAD = 0.02, 0.1
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


def with_impacts(walk: Walk, strike: Strike, iterations: int = 3) -> Walk:
    """Return the walk with foot strikes; a second or so."""
    table = load_data("rough")
    pulses = _pulses(walk, strike, table)
    problem = _Answer(walk, strike, pulses, table)
    coefficients, _ = problem.splines().solve(iterations, 1e-2)
    place, spread = table["window"], table["spread"]["step"]
    return replace(
        walk,
        impacts=Impacts(
            pulses,
            coefficients,
            place["knot_s"],
            place["before_s"],
            place["after_s"],
            place["taper_s"],
            mirror_of(walk.body),
            spread,
            strike.seed,
        ),
    )


def _pulses(walk: Walk, strike: Strike, table: Mapping[str, Any]) -> tuple[Pulse, ...]:
    weight = walk.body.model.mass_kg * STANDARD_GRAVITY_M_S2
    foot = load_data("gait")["foot"]
    faster = walk.speed_m_s / load_data("gait")["timing"]["reference_speed_m_s"]
    pulses = []
    for name in ("heel", "ball"):
        entry = table[name]
        peak = strike.size * entry["peak_bw"] * weight * faster / strike.length
        lobes = (strike.length * entry["length_s"], *entry["recoil_s"])
        force = peak * np.array([entry["forward"], 1.0, entry["sideways"]])
        pulses.append(Pulse(foot[name], entry.get("delay_s", 0.0), lobes, force))
    return tuple(pulses)


class _Answer:
    """The change of the motion about a right foot's strike at time 0, as splines."""

    def __init__(self, walk: Walk, strike: Strike, pulses: tuple[Pulse, ...], table: Mapping[str, Any]) -> None:
        place = table["window"]
        self.walk, self.body, self.model, self.pulses = walk, walk.body, walk.body.model, pulses
        self.before_s, self.knot_s = place["before_s"], place["knot_s"]
        length = place["before_s"] + place["after_s"]
        self.since_s: FloatArray = np.asarray(np.arange(round(length / _FRAME_S)) * _FRAME_S - place["before_s"])
        self.count = int(np.ceil(length / self.knot_s - 1e-9)) + DEGREE
        self.windows = window(self.since_s, place["before_s"], place["after_s"], place["taper_s"])
        self.smooth = walk.smooth_rows(self.since_s)
        q, v, vdot = self.body.motion(*self.smooth)
        R, p = body_poses(self.model.multibody, q)
        self.total = required_wrench(self.model, q, v, vdot)
        self.root = q[:, :3]
        self.torque = self._torques(q, v, vdot, shared_by_feet(walk, self.since_s, self.total, R, p))
        self.places = {side: self._points(side, R, p) + self._offset(side, strike, table) for side in SIDES}
        self.held = self._held()
        self.stiffness, self.damping, self.unit = _springs(self.body, table)
        self.tremor = _tremor(self.body, strike, table, self.since_s)
        self.loose = np.where(self.since_s < _STOP_S, _SWING, 1.0)

    def _held(self) -> dict[str, FloatArray]:
        """Frames (T,) in which each foot's place is asked for, 1 or 0: right from its last approach on, left until its off."""
        leads = (self.since_s > -0.05).astype(float)
        rear = (self.since_s < self.walk.double_support * self.walk.stride_s).astype(float)
        return {"r": leads, "l": rear}

    def _points(self, side: str, R: FloatArray, p: FloatArray) -> FloatArray:
        foot = self.walk.feet[side]  # type: ignore[index]
        return contact.points_in_world(R[:, foot.link], p[:, foot.link], np.stack([foot.heel, foot.ball, foot.toe]))

    def _offset(self, side: str, strike: Strike, table: Mapping[str, Any]) -> FloatArray:
        """How much higher (T, 1, 3) m the right foot is before it lands and is stopped."""
        offset = np.zeros((len(self.since_s), 1, 3))
        if side == "r":
            speed = table["heel"]["approach_m_s"] * strike.size
            offset[:, 0, 1] = _fall(self.since_s, speed, table["heel"]["approach_s"])
        return offset

    def _torques(self, q: FloatArray, v: FloatArray, vdot: FloatArray, wrench: Mapping[Any, FloatArray]) -> FloatArray:
        tau = inverse_dynamics(
            self.model.multibody,
            q,
            v,
            vdot,
            wrenches=np.stack([wrench[side] for side in SIDES], axis=1),
            wrench_bodies=[self.walk.feet[side].link for side in SIDES],
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
        struck = pulse_wrench(self.pulses, since, self.walk.stance * self.walk.stride_s, self.walk.feet["r"], R, p)
        rest = required_wrench(self.model, q, v, vdot) - struck
        more = rest - self.total[frames]
        about_root = more[:, :3] - np.cross(self.root[frames], more[:, 3:])
        parts = [more[:, 3:] / (mass * _FORCE_N_KG), about_root / (mass * _MOMENT_NM_KG)]
        for side in SIDES:
            away = (self._points(side, R, p) - self.places[side][frames]) / _PLACE_M
            parts.append((self.held[side][frames, None, None] * away).reshape(len(q), -1))
        wrench = shared_by_feet(self.walk, since, rest, R, p)
        wrench["r"] = wrench["r"] + struck
        torque = self._torques(q, v, vdot, wrench) - self.torque[frames]
        spring = torque + self.stiffness * change[0][:, 6:] + self.damping * change[1][:, 6:] - self.tremor[frames]
        parts.append(spring / (self.unit * self.loose[frames, None]))
        return np.concatenate(parts, axis=1)


def _fall(since_s: FloatArray, speed_m_s: float, approach_s: float) -> FloatArray:
    """Height (T,) m of a fall that is stopped from `speed_m_s` at time 0 within `_STOP_S`; it begins `approach_s` before."""
    low = 0.5 * speed_m_s * _STOP_S
    s = np.clip(since_s / approach_s + 1.0, 0.0, 1.0)  # quintic from rest at 0 to (low, -speed, 0)
    rise = low * (10 * s**3 - 15 * s**4 + 6 * s**5)
    slope = -speed_m_s * approach_s * (-4 * s**3 + 7 * s**4 - 3 * s**5)
    landing = low * (1.0 - np.clip(since_s / _STOP_S, 0.0, 1.0)) ** 2
    return np.asarray(np.where(since_s < 0.0, rise + slope, landing))


def _by_joint(body: Body, table: Mapping[str, Any]) -> FloatArray:
    """Values (C,) of the coordinates from a table by the segment beyond the joint."""
    named = {name: value for pattern, value in table.items() for _, name in for_each_side(pattern)}
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
