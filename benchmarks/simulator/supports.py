"""What carries a person at which time: footholds, how two of them share the load, and the way of a foot between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from biodyn.conventions import SIDES, BoolArray, FloatArray, Side
from simulator.feet import taken_over

_LONGEST_SHIFT_S = 0.5  # of the weight from one foot to the other
_ON_TOES_S = 0.16  # before a take-off and behind a landing


@dataclass(frozen=True)
class Foothold:
    """One stance.

    Attributes:
        side: whose foot. start_s, end_s: of the stance.
        heel_W: (3,) m, where the heel stands; yaw_rad: direction of the foot, 0 along World X, positive to the left.
        rolls: the heel strikes first and rises before the foot leaves; else the foot is flat from begin to end, but for
            the time on the toes that `toes_at_start` and `toes_at_end` ask for (a jump).
        plate: index of the plate under it; None on the floor.
    """

    side: Side
    start_s: float
    end_s: float
    heel_W: tuple[float, float, float]
    yaw_rad: float = 0.0
    rolls: bool = True
    plate: int | None = None
    toes_at_start: bool = False
    toes_at_end: bool = False

    @property
    def forward(self) -> FloatArray:
        """Unit vector (3,) from heel to toe."""
        return np.array([np.cos(self.yaw_rad), 0.0, -np.sin(self.yaw_rad)])

    def during(self, time_s: FloatArray, first: float = 0.0, last: float = 1.0) -> BoolArray:
        """Times (T,) between two shares of the stance, both inclusive."""
        length = self.end_s - self.start_s
        return np.asarray((time_s >= self.start_s + first * length) & (time_s <= self.start_s + last * length))


@dataclass(frozen=True)
class Aid:
    """A crutch: held in a hand, its tip on the ground at a point (3,) m, with a share of the load.

    `body`: the hand's segment. plate: index of the plate under the tip; None on the floor.
    """

    body: str
    start_s: float
    end_s: float
    tip_W: tuple[float, float, float]
    share: float = 0.2
    plate: int | None = None


def load_shares(footholds: Sequence[Foothold], aids: Sequence[Aid], time_s: FloatArray) -> FloatArray:
    """Return the share of the load (T, S + A) that each foothold and each aid carries; rows are 0 in flight, else sum to 1."""
    weight = np.stack([_weight(own, footholds, time_s) for own in footholds], axis=1)
    total = weight.sum(axis=1, keepdims=True)
    feet = np.divide(weight, total, out=np.zeros_like(weight), where=total > 0.0)
    held = np.zeros((len(time_s), len(aids)))
    for column, aid in enumerate(aids):
        progress = (time_s - aid.start_s) / (aid.end_s - aid.start_s)
        held[:, column] = aid.share * np.where((progress > 0.0) & (progress < 1.0), np.sin(np.pi * progress) ** 2, 0.0)
    held *= total > 0.0
    return np.concatenate([feet * (1.0 - held.sum(axis=1, keepdims=True)), held], axis=1)


def _weight(own: Foothold, footholds: Sequence[Foothold], time_s: FloatArray) -> FloatArray:
    """1 while the foot stands; a smooth rise where it takes over from the other foot, a smooth fall where it hands over."""
    value = np.where(own.during(time_s), 1.0, 0.0)
    for other in footholds:
        if other.side == own.side:
            continue
        overlap = min(own.end_s, other.end_s) - max(own.start_s, other.start_s)
        if overlap <= 0.0:
            continue
        shift = min(overlap, _LONGEST_SHIFT_S)
        if other.start_s < own.start_s <= other.end_s:
            value = value * taken_over((time_s - own.start_s) / shift)
        if other.start_s <= own.end_s < other.end_s:
            value = value * taken_over((own.end_s - time_s) / shift)
    return value


@dataclass(frozen=True)
class FootPlan:
    """One foot through the time of a motion.

    Attributes:
        standing: (T,) index of the foothold, -1 in the air. progress: (T,) of the stance, 0 to 1.
        heel, ball: (T, 3) m wanted; in the air the way of the swing.
        heel_down, ball_down: (T,) bool, the point stands still.
        floor: (T,) m, height of what is below the foot.
        clear: (T,) m, least height of heel and ball over it.
    """

    standing: np.ndarray
    progress: FloatArray
    heel: FloatArray
    ball: FloatArray
    heel_down: BoolArray
    ball_down: BoolArray
    floor: FloatArray
    clear: FloatArray


def foot_plans(
    footholds: Sequence[Foothold], time_s: FloatArray, length_m: float, clearance_m: float
) -> dict[Side, FootPlan]:
    """Return both feet's plans; `length_m` from heel to ball, `clearance_m` height of the swing."""
    return {side: _foot_plan(side, footholds, time_s, length_m, clearance_m) for side in SIDES}


def _foot_plan(
    side: Side, footholds: Sequence[Foothold], time_s: FloatArray, length_m: float, clearance_m: float
) -> FootPlan:
    own = sorted(((n, f) for n, f in enumerate(footholds) if f.side == side), key=lambda item: item[1].start_s)
    count = len(time_s)
    standing, progress = np.full(count, -1), np.zeros(count)
    heel, ball = np.zeros((count, 3)), np.zeros((count, 3))
    heel_down, ball_down = np.zeros(count, bool), np.zeros(count, bool)
    floor, clear = np.zeros(count), np.zeros(count)
    for number, hold in own:
        here = hold.during(time_s)
        standing[here] = number
        progress[here] = (time_s[here] - hold.start_s) / (hold.end_s - hold.start_s)
        heel[here] = hold.heel_W
        ball[here] = hold.heel_W + length_m * hold.forward
        flat = (hold.start_s + _ON_TOES_S * hold.toes_at_start, hold.end_s - _ON_TOES_S * hold.toes_at_end)
        heel_down |= hold.during(time_s, 0.04, 0.42) if hold.rolls else (time_s >= flat[0]) & (time_s <= flat[1])
        ball_down |= hold.during(time_s, 0.15 if hold.rolls else 0.0, 0.96 if hold.rolls else 1.0)
        floor[here] = hold.heel_W[1]
    for air in np.flatnonzero(standing < 0):
        t = time_s[air]
        before = [f for _, f in own if f.end_s < t][-1:] or [f for _, f in own][:1]
        after = [f for _, f in own if f.start_s > t][:1] or [f for _, f in own][-1:]
        a, b = before[0], after[0]
        away = a is b  # before the first or after the last stance the foot hangs where it was
        s = 0.5 if away else float(np.clip((t - a.end_s) / (b.start_s - a.end_s), 0.0, 1.0))
        smooth = s**3 * (10 - 15 * s + 6 * s * s)
        yaw = a.yaw_rad + smooth * (b.yaw_rad - a.yaw_rad)
        heel[air] = (1 - smooth) * np.array(a.heel_W) + smooth * np.array(b.heel_W)
        rise = b.heel_W[1] - a.heel_W[1]
        early = float(np.clip(1.6 * s if rise > 0 else 1.6 * s - 0.6, 0.0, 1.0))
        bump = 16 * s * s * (1 - s) ** 2
        heel[air, 1] = a.heel_W[1] + rise * early**2 * (3 - 2 * early) + clearance_m * bump
        ball[air] = heel[air] + length_m * np.array([np.cos(yaw), 0.0, -np.sin(yaw)])
        floor[air] = heel[air, 1] - clearance_m * bump
        clear[air] = 0.4 * clearance_m * bump
    return FootPlan(standing, progress, heel, ball, heel_down, ball_down, floor, clear)
