"""When a foot can load a plate at all: near it, low and slow. No contact lasts longer than that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from biodyn.conventions import BoolArray, FloatArray, Side
from biodyn.geometry.points import lengths
from biodyn.processing.contacts.foot_outline import FootOutline
from biodyn.processing.contacts.loading import PlateSignals, loadings, plate_surface
from biodyn.processing.signals.filtering import finite_stretches

# A sole farther than this above or below a plate's surface does not stand on it (shoe, marker and model error).
MAX_SOLE_HEIGHT_M = 0.08
# A sole point this far beside the plate may still press on it: corners measured badly, feet larger than their model.
REACH_M = 0.10
# Swinging feet pass at 3 to 5 m/s; the lowest point of a foot that lands or leaves is far slower.
MAX_SPEED_M_S = 1.0
# Filtered motion shows landing and leaving too late or too early by less than this.
WIDEN_S = 0.1
# Shorter stretches without a foot say nothing: the plate rings, the motion is not exact.
MIN_ABSENT_S = 0.1


@dataclass(frozen=True)
class Part:
    """A piece of an unbroken load: times in s, whether a foot can have made it, and whether the load goes on beside it."""

    start_s: float
    end_s: float
    foot: bool
    cut_before: bool
    cut_after: bool


@dataclass(frozen=True)
class Presence:
    """When feet can load a plate, found once however many loads it has: see `foot_may_load`."""

    plate: PlateSignals
    foot_outlines: Mapping[Side, FootOutline]
    rate_hz: float

    @cached_property
    def of_any(self) -> BoolArray:
        """Frames (T,) in which some foot can."""
        return foot_may_load(self.plate, self.foot_outlines, self.rate_hz)

    @cached_property
    def of_each(self) -> Mapping[Side, BoolArray]:
        """Frames (T,) in which each foot by itself can."""
        return {
            side: foot_may_load(self.plate, {side: sole}, self.rate_hz) for side, sole in self.foot_outlines.items()
        }


def foot_may_load(plate: PlateSignals, foot_outlines: Mapping[Side, FootOutline], rate_hz: float) -> BoolArray:
    """Frames (T,) in which some foot, of the plate's side if it has one, can load the plate: near, low and slow, or not seen."""
    frames = len(next(iter(foot_outlines.values())).known)
    here = np.zeros(frames, dtype=bool)
    for side, sole in foot_outlines.items():
        if plate.side not in (None, side):
            continue
        # where nobody knows the edges, every place may be the plate's
        near = sole.distance_to(plate.corners_W) < REACH_M if plate.outlined else np.ones(sole.low.shape, dtype=bool)
        # Over the floor or over a belt: which of them carries the foot is a guess where it hardly ever rests.
        in_room = lengths(np.gradient(sole.outline_W, 1.0 / rate_hz, axis=0)) if frames > 1 else sole.speed
        speed = np.nan_to_num(np.fmin(sole.speed, in_room), nan=0.0)
        touches = near & sole.low & (speed < MAX_SPEED_M_S)
        level = np.abs(np.nan_to_num(height_over(plate, sole.outline_W), nan=np.inf)) < MAX_SOLE_HEIGHT_M
        here |= (touches.any(axis=1) & level) | ~sole.known
    widen = round(WIDEN_S * rate_hz)
    wide = here.copy()
    for first, stop in finite_stretches(here):
        wide[max(first - widen, 0) : stop + widen] = True
    for first, stop in finite_stretches(~wide):
        if stop - first < MIN_ABSENT_S * rate_hz:
            wide[first:stop] = True
    return wide


def parts_of_load(start_s: float, end_s: float, here: BoolArray, rate_hz: float) -> list[Part]:
    """Cut a load from `start_s` to `end_s` where feet arrive and leave; `here` (T,) is `foot_may_load`.

    What is left over at an end for less than `MIN_ABSENT_S` stays with the foot: it is within the error of the motion.
    """
    first = min(max(int(np.floor(start_s * rate_hz)), 0), len(here) - 1)
    stop = min(max(int(np.ceil(end_s * rate_hz)), first) + 1, len(here))
    foot = here[first:stop].copy()
    for a, b in finite_stretches(~foot):
        if b - a < MIN_ABSENT_S * rate_hz and b - a < len(foot):
            foot[a:b] = True
    edges = np.concatenate(([0], np.flatnonzero(np.diff(foot)) + 1, [len(foot)]))
    parts = []
    for a, b in pairwise(edges):
        before, after = a > 0, b < len(foot)
        begin = (first + int(a)) / rate_hz if before else start_s
        end = (first + int(b)) / rate_hz if after else end_s
        parts.append(Part(begin, end, bool(foot[a]), bool(before), bool(after)))
    return parts


def level_beside(plate: PlateSignals, parts: Sequence[Part], number: int) -> float:
    """Vertical force (N) that the plate reads without a foot next to part `number` of a load; 0 where it is unloaded."""
    levels = [
        mean_force(plate, parts[n]) for n in (number - 1, number + 1) if 0 <= n < len(parts) and not parts[n].foot
    ]
    return max(levels, default=0.0)


def mean_force(plate: PlateSignals, part: Part) -> float:
    """Mean raw vertical force of a part, N."""
    first = int(part.start_s * plate.analog_rate_hz)
    samples = plate.vertical_force[first : max(int(part.end_s * plate.analog_rate_hz), first + 1)]
    known = samples[np.isfinite(samples)]
    return float(known.mean()) if len(known) else 0.0


def times_above(plate: PlateSignals, part: Part, level_n: float) -> tuple[float, float]:
    """Begin and end in s of a part's longest loading above `level_n`; its own where there is none.

    A part ends where the foot may no longer be there, a tenth of a second late; the force tells when it really left.
    """
    first = int(part.start_s * plate.analog_rate_hz)
    samples = plate.vertical_force[first : int(part.end_s * plate.analog_rate_hz) + 1]
    runs = loadings(samples, plate.analog_rate_hz, level_n)
    if not runs:
        return part.start_s, part.end_s
    begin, end = max(runs, key=lambda run: run[1] - run[0])
    at = first / plate.analog_rate_hz
    return (begin + at if part.cut_before else part.start_s), (end + at if part.cut_after else part.end_s)


def height_over(plate: PlateSignals, outline: FloatArray) -> FloatArray:
    """Height (T,) m of the lowest point of outlines (T, K, 3) over the plate's plane, measured there."""
    centre, normal = plate_surface(plate.corners_W)
    height: FloatArray = (((outline - centre) @ normal) / normal[1]).min(axis=1)
    return height
