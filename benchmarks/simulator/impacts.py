"""Foot strikes on top of a smooth walk: the force of each, and what the body makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from biodyn.conventions import SIDE_SIGN, SIDES, FloatArray, Side, other_side, without_side
from simulator.curves import BASE_CURVES, TURNED_BY_MIRROR, axis_is_turned
from simulator.feet import Foot, at_point, pressure_share
from simulator.person import Body
from simulator.splines import basis
from simulator.tables import load_data

Rows = tuple[FloatArray, FloatArray, FloatArray]


@dataclass(frozen=True)
class Pulse:
    """A force under one point of the sole that leaves the body's velocity and place: what one lobe gives, two others take.

    Attributes:
        share: where the first lobe acts, share of the sole's length from its back; the others act where the foot presses.
        delay_s: after the strike. lobes_s: (3,) s, how long each of the lobes lasts, one behind the other.
        force_n: (3,) N of a right foot at the peak of the first lobe.
    """

    share: float
    delay_s: float
    lobes_s: tuple[float, float, float]
    force_n: FloatArray

    @property
    def end_s(self) -> float:
        """When it is over, s after the strike."""
        return self.delay_s + sum(self.lobes_s)

    def course(self, since_s: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the first lobe and the two others, as shares of the first peak (T,), at times (T,) s after the strike."""
        a, b, c = self.lobes_s
        third = a * (a + b) / (b + c)  # areas: no impulse, no first moment
        lobes = []
        begin = self.delay_s
        for length, area in ((a, a), (b, -a - third), (c, third)):
            phase = np.clip((since_s - begin) / length, 0.0, 1.0)
            lobes.append(area / length * np.sin(np.pi * phase) ** 2)
            begin += length
        return lobes[0], lobes[1] + lobes[2]


@dataclass(frozen=True)
class Impacts:
    """What every foot strike of a walk adds to its smooth course.

    Attributes:
        pulses: forces under a right foot.
        coefficients: (n, ny) of the splines that the body answers a right foot's strike with, columns as in `curves`.
        knot_s: their knots' distance. before_s, after_s: window of the answer about the strike; taper_s: over which it is
            blended in and out.
        mirror: column and sign (ny,) of each column of a left foot's strike.
        spread: standard deviation of the size from step to step, share; seed: of that.
    """

    pulses: tuple[Pulse, ...]
    coefficients: FloatArray
    knot_s: float
    before_s: float
    after_s: float
    taper_s: float
    mirror: tuple[FloatArray, FloatArray]
    spread: float
    seed: int

    @property
    def end_s(self) -> float:
        """When the force of a strike is over, s after it."""
        return max(pulse.end_s for pulse in self.pulses)

    def size(self, number: int) -> float:
        """Size of strike `number` (0 = the right foot's at time 0, odd = left)."""
        step = np.random.default_rng([self.seed, 1000 + number]).normal()
        return float(np.clip(1.0 + self.spread * step, 0.75, 1.25))

    def answer(self, since_s: FloatArray, side: Side, size: float) -> Rows:
        """Return the change of the curve values (T, ny) and of their time derivatives at times (T,) s after a strike."""
        count = len(self.coefficients)
        inside = np.flatnonzero((since_s > -self.before_s) & (since_s < self.after_s))
        rows = tuple(np.zeros((len(since_s), self.coefficients.shape[1])) for _ in range(3))
        if len(inside):
            at = since_s[inside]
            B = basis(at + self.before_s, count, self.knot_s)
            raw = tuple(B[order] @ self.coefficients for order in range(3))
            answer = blended(raw, self.windows(at))
            columns, signs = self.mirror
            for row, values in zip(rows, answer, strict=True):
                row[inside] = size * (values if side == "r" else values[:, columns.astype(int)] * signs)
        return rows[0], rows[1], rows[2]

    def windows(self, since_s: FloatArray) -> FloatArray:
        """Return the window and its first two derivatives (3, T)."""
        return window(since_s, self.before_s, self.after_s, self.taper_s)

    def rows(self, time_s: FloatArray, strikes: Sequence[FootStrike]) -> Rows:
        """Return what strikes add to the curve values (T, ny) and to their time derivatives."""
        total = tuple(np.zeros((len(time_s), self.coefficients.shape[1])) for _ in range(3))
        for strike in strikes:
            answer = self.answer(time_s - strike.time_s, strike.side, self.size(strike.number))
            for sum_, part in zip(total, answer, strict=True):
                sum_ += part
        return total[0], total[1], total[2]

    def load(
        self, strike: FootStrike, time_s: FloatArray, stance_s: float, foot: Foot, R: FloatArray, p: FloatArray
    ) -> FloatArray:
        """Return the wrench (T, 6) about the world origin of a strike on its foot; R, p: poses of the links."""
        since = time_s - strike.time_s
        return self.size(strike.number) * pulse_wrench(self.pulses, since, stance_s, foot, R, p)


@dataclass(frozen=True)
class FootStrike:
    """A foot strike: its number in the motion, whose foot, and when, s."""

    number: int
    side: Side
    time_s: float


def walked_strikes(time_s: FloatArray, stride_s: float, before_s: float, after_s: float) -> list[FootStrike]:
    """Return the strikes of a walk whose surroundings reach into the times (T,); the right foot's number 0 is at time 0."""
    first = int(np.floor((time_s.min() - after_s) * 2.0 / stride_s))
    last = int(np.ceil((time_s.max() + before_s) * 2.0 / stride_s))
    return [FootStrike(number, SIDES[number % 2], 0.5 * stride_s * number) for number in range(first, last + 1)]


def pulse_wrench(
    pulses: Sequence[Pulse], since_s: FloatArray, stance_s: float, foot: Foot, R: FloatArray, p: FloatArray
) -> FloatArray:
    """Return the wrench (T, 6) about the world origin of a strike's pulses on a foot, s after the strike."""
    total = np.zeros((len(since_s), 6))
    outward = np.array([1.0, 1.0, SIDE_SIGN[foot.side]])
    presses = pressure_share(since_s / stance_s, load_data("gait")["foot"])
    for pulse in pulses:
        for course, share in zip(pulse.course(since_s), (np.full_like(presses, pulse.share), presses), strict=True):
            local = foot.back + share[:, None] * foot.forward
            point = (p[:, foot.link] + np.einsum("tij,tj->ti", R[:, foot.link], local)) * (1.0, 0.0, 1.0)
            total += at_point(point, course[:, None] * (pulse.force_n * outward), np.zeros(len(since_s)))
    return total


def blended(rows: Rows, windows: FloatArray) -> Rows:
    """Return rows (T, ny) times a window, with their time derivatives."""
    w, wd, wdd = windows[:, :, None]
    y, yd, ydd = rows
    return w * y, w * yd + wd * y, w * ydd + 2.0 * wd * yd + wdd * y


def window(since_s: FloatArray, before_s: float, after_s: float, taper_s: float) -> FloatArray:
    """Return (3, T): 1 about a strike, 0 outside, between them a polynomial without a jump in its third derivative."""
    rise = _ramp((since_s + before_s) / taper_s) / np.array([[1.0], [taper_s], [taper_s**2]])
    fall = _ramp((after_s - since_s) / taper_s) / np.array([[1.0], [-taper_s], [taper_s**2]])
    return np.stack(
        [
            rise[0] * fall[0],
            rise[1] * fall[0] + rise[0] * fall[1],
            rise[2] * fall[0] + 2.0 * rise[1] * fall[1] + rise[0] * fall[2],
        ]
    )


def _ramp(x: FloatArray) -> FloatArray:
    s = np.clip(x, 0.0, 1.0)
    return np.stack(
        [
            s**4 * (35.0 - 84.0 * s + 70.0 * s**2 - 20.0 * s**3),
            140.0 * s**3 * (1.0 - s) ** 3,
            420.0 * s**2 * (1.0 - s) ** 2 * (1.0 - 2.0 * s),
        ]
    )


def mirror_of(body: Body) -> tuple[FloatArray, FloatArray]:
    """Return for each column of y the column it takes in the mirror image of a motion, and its sign (ny,)."""
    names = [coordinate.name for coordinate in body.coordinates]
    columns = list(range(len(BASE_CURVES)))
    signs = [-1.0 if name in TURNED_BY_MIRROR else 1.0 for name in BASE_CURVES]
    for coordinate in body.coordinates:
        if coordinate.side:
            side: Side = "r" if coordinate.side == "r" else "l"
            twin = f"{without_side(coordinate.name, side)}_{other_side(side)}"
            columns.append(len(BASE_CURVES) + names.index(twin))
            signs.append(1.0)
        else:
            columns.append(len(BASE_CURVES) + names.index(coordinate.name))
            signs.append(-1.0 if axis_is_turned(body.model, coordinate.name) else 1.0)
    return np.array(columns, dtype=float), np.array(signs)
