"""Two feet on one plate: how the load passes from the rear foot to the leading one.

The plate measures the sum. Its centre of pressure is a lever between the pressure points of both feet: on the rear foot when
the other lands, on the leading one when the rear foot has left. In between each foot's own point moves little and as it does
in every step, which leaves the share of the vertical force,

    a = (p - p_rear) . e / |p_lead - p_rear|,   e from p_rear to p_lead.

Horizontally each foot's force keeps its own direction, known where it is alone; what that leaves of the sum is given to both by
the squares of their vertical forces. The sum of both wrenches is the measured one, exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.geometry.rotations import cross
from biodyn.library.load import load_table
from biodyn.processing.signals.filtering import butterworth_lowpass

# The lever must be long against the errors of the pressure points (2 cm), and the centre of pressure near it.
MIN_LEVER_M = 0.2
MAX_BESIDE_M = 0.10
# Longer than that it is standing, not a step.
MAX_DOUBLE_SUPPORT_S = 0.8
# Less vertical force (share of the largest) has no centre of pressure.
MIN_FORCE_SHARE = 0.2


@dataclass(frozen=True)
class Sole:
    """Middle line of a foot's sole through a window, World: heel and toe (n, 3) m, length_m."""

    heel: FloatArray
    toe: FloatArray
    length_m: float


@dataclass(frozen=True)
class Passing:
    """A double support on one plate.

    Attributes:
        first, stop: samples of the window in which the load passes over.
        lead: (n, 6) F_Wo_W of the leading foot, Nm and N: zero before `first`, the whole load from `stop` on.
        sd: (6, n, 6) one standard deviation of it by independent causes (the rear foot the opposite): vertical force seen
            from either pressure point, along and across the line between the feet, free moment, pressure point across.
        force_sd_n: largest of the vertical ones, N.
    """

    first: int
    stop: int
    lead: FloatArray
    sd: FloatArray
    force_sd_n: float


def pass_over(
    wrench: FloatArray, rate_hz: float, rear: Sole, lead: Sole, height_m: float, middle: int, rear_is_right: bool
) -> Passing | None:
    """Share a plate's load between the rear and the leading foot; None where the centre of pressure does not tell it.

    Args:
        wrench: (n, 6) F_Wo_W of the plate, not filtered: from the rear foot alone to the leading foot alone.
        rate_hz: samples per second.
        rear, lead: the soles at these samples.
        height_m: World height of the surface.
        middle: sample near which the load passes over by the movement of the feet.
        rear_is_right: side of the rear foot; what happens across the line is mirrored between the sides.
    """
    table = load_table("gait/double_support")
    pressure = table["pressure"]
    smooth = butterworth_lowpass(wrench, rate_hz, min(pressure["cutoff_hz"], 0.4 * rate_hz))
    if np.min(smooth[:, 4]) < MIN_FORCE_SHARE * np.max(smooth[:, 4]) or not np.isfinite(smooth).all():
        return None
    cop = _pressure(smooth, height_m)
    ends = _ends(cop, rate_hz, rear, lead, middle, pressure)
    if ends is None:
        return None
    first, stop = ends
    progress = np.clip((np.arange(len(wrench)) - first) / (stop - first), 0.0, 1.0)
    p_rear = _path(rear, _place(cop[first], rear, first), None, pressure["rear_end"], progress)
    p_lead = _path(lead, None, _place(cop[stop], lead, stop), pressure["lead_start"], progress)
    line = p_lead - p_rear
    lever = np.linalg.norm(line, axis=1, keepdims=True)
    along = line / lever
    share = np.clip(np.sum((cop - p_rear) * along, axis=1) / lever[:, 0], 0.0, 1.0)
    share[:first], share[stop:] = 0.0, 1.0
    beside = cop - (p_rear + share[:, None] * line)
    inner = slice(first, stop)
    if lever[inner].min() < MIN_LEVER_M or np.linalg.norm(beside[inner], axis=1).max() > MAX_BESIDE_M:
        return None
    # Both points give way alike for what lies beside the line.
    wrench_lead = _wrench_of_lead(
        wrench, share, progress, p_rear + beside, p_lead + beside, along, height_m, (first, stop), rear_is_right
    )
    sd = _errors(wrench, share, p_rear, p_lead, along, height_m)
    return Passing(first, stop, wrench_lead, sd, table["error"]["vertical"] * float(wrench[inner, 4].max()))


def _pressure(wrench: FloatArray, height_m: float) -> FloatArray:
    """Centre of pressure (n, 2) m, World x and z, at a height."""
    vertical = wrench[:, 4]
    x = (wrench[:, 2] + height_m * wrench[:, 3]) / vertical
    z = (height_m * wrench[:, 5] - wrench[:, 0]) / vertical
    return np.column_stack([x, z])


def _axes(sole: Sole) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Heel (n, 2), unit vectors forward and to the right of it seen from above."""
    heel, toe = sole.heel[:, ::2], sole.toe[:, ::2]
    forward = (toe - heel) / np.linalg.norm(toe - heel, axis=1, keepdims=True)
    return heel, forward, np.column_stack([-forward[:, 1], forward[:, 0]])


def _ends(
    cop: FloatArray, rate_hz: float, rear: Sole, lead: Sole, middle: int, pressure: dict[str, float]
) -> tuple[int, int] | None:
    """First and last sample of the passing: the centre of pressure leaves the rear foot and comes to rest on the other."""
    heel, forward, _ = _axes(rear)
    start = heel + pressure["rear_end"] * rear.length_m * forward
    heel, forward, _ = _axes(lead)
    line = heel + 0.12 * lead.length_m * forward - start
    way = np.sum((cop - start) * line, axis=1) / np.sum(line**2, axis=1)
    half = np.flatnonzero((way[:-1] < 0.5) & (way[1:] >= 0.5))
    if not len(half):
        return None
    at = int(half[np.argmin(np.abs(half - middle))])
    speed = np.gradient(way)
    reach = max(round(0.04 * rate_hz), 1)
    still = pressure["still"] * float(speed[max(at - reach, 0) : at + reach].max())
    # Walking back and forth from there until the centre of pressure is near a foot and slow.
    moving = (speed > still) | (way > pressure["near"])
    before = np.flatnonzero(~moving[: at + 1])
    moving = (speed > still) | (way < 1.0 - pressure["near"])
    after = np.flatnonzero(~moving[at:])
    if not len(before) or not len(after):
        return None
    first, stop = int(before[-1]), at + int(after[0])
    return (first, stop) if 2 <= stop - first <= MAX_DOUBLE_SUPPORT_S * rate_hz else None


def _place(point: FloatArray, sole: Sole, sample: int) -> FloatArray:
    """Place (2,) m of a point in the axes of a sole: forward of the heel, to the right."""
    heel, forward, right = _axes(sole)
    offset = point - heel[sample]
    return np.array([offset @ forward[sample], offset @ right[sample]])


def _path(
    sole: Sole, begin: FloatArray | None, end: FloatArray | None, known_share: float, progress: FloatArray
) -> FloatArray:
    """Pressure point (n, 2) under a foot: from `begin` (2,) to the usual end, or from the usual begin to `end`."""
    usual = known_share * sole.length_m
    if end is not None:
        begin = np.array([min(usual, end[0]), 0.0])
    else:
        assert begin is not None
        end = np.array([max(usual, begin[0]), begin[1]])
    local = begin + progress[:, None] * (end - begin)
    heel, forward, right = _axes(sole)
    return heel + local[:, :1] * forward + local[:, 1:] * right


def _wrench_of_lead(
    wrench: FloatArray,
    share: FloatArray,
    progress: FloatArray,
    p_rear: FloatArray,
    p_lead: FloatArray,
    along: FloatArray,
    height_m: float,
    ends: tuple[int, int],
    rear_is_right: bool,
) -> FloatArray:
    """Return the wrench (n, 6) of the leading foot: its share of the force in its own direction at its own point."""
    table = load_table("gait/double_support")["direction"]
    across = np.column_stack([-along[:, 1], along[:, 0]]) * (1.0 if rear_is_right else -1.0)
    vertical = wrench[:, 4]
    of_lead, of_rear = share * vertical, (1.0 - share) * vertical
    weight = of_lead**2 / np.maximum(of_lead**2 + of_rear**2, 1e-9)
    first, stop = ends
    parts = []
    for axis, growth, rear_change, lead_change in (
        (along, table["rear_growth"], 0.0, table["lead"]),
        (across, 0.0, table["rear_across"], table["lead_across"]),
    ):
        total = np.sum(wrench[:, [3, 5]] * axis, axis=1)
        tilt = total / vertical
        rear = _near(tilt, first, -1) * (1.0 + growth * progress) + rear_change * progress
        lead = _near(tilt, stop, 1) + lead_change * (1.0 - progress)
        guess = of_lead * lead
        parts.append(guess + weight * (total - guess - of_rear * rear))
    horizontal = parts[0][:, None] * along + parts[1][:, None] * across
    force = np.column_stack([horizontal[:, 0], of_lead, horizontal[:, 1]])
    both = wrench[:, 1] - _twist(p_lead, force) - _twist(p_rear, wrench[:, 3:] - force)
    result = _at(p_lead, height_m, force)
    result[:, 1] += share * both
    result[:first] = 0.0
    result[stop:] = wrench[stop:]
    return result


def _near(values: FloatArray, at: int, sense: int) -> float:
    """Mean of a few samples on the side of `at` where one foot is alone: the raw force rings."""
    width = 8
    part = values[max(at - width, 0) : at + 1] if sense < 0 else values[at : at + width + 1]
    return float(part.mean())


def _twist(point: FloatArray, force: FloatArray) -> FloatArray:
    """Vertical moment (n,) about the world origin of forces (n, 3) at points (n, 2)."""
    return np.asarray(point[:, 1] * force[:, 0] - point[:, 0] * force[:, 2])


def _at(point: FloatArray, height_m: float, force: FloatArray) -> FloatArray:
    """Wrench (n, 6) about the world origin of forces (n, 3) at points (n, 2) of a level."""
    place = np.column_stack([point[:, 0], np.full(len(point), height_m), point[:, 1]])
    return np.hstack([cross(place, force), force])


def _errors(
    wrench: FloatArray, share: FloatArray, p_rear: FloatArray, p_lead: FloatArray, along: FloatArray, height_m: float
) -> FloatArray:
    """One standard deviation (6, n, 6) of the leading foot's wrench.

    A wrong point of one foot leaves the other foot's moment as it is: the force that it brings over acts at the other's point.
    """
    table = load_table("gait/double_support")["error"]
    size = 4.0 * share * (1.0 - share) * wrench[:, 4]
    across = np.column_stack([-along[:, 1], along[:, 0]])
    up = np.tile([0.0, 1.0, 0.0], (len(share), 1))
    one = (table["vertical"] / np.sqrt(2.0) * size)[:, None]
    flat = [np.column_stack([axis[:, 0], np.zeros(len(axis)), axis[:, 1]]) for axis in (along, across)]
    nothing = np.zeros((len(share), 3))
    return np.stack(
        [
            _at(p_rear, height_m, one * up),
            _at(p_lead, height_m, one * up),
            _at(p_lead, height_m, (table["along"] * size)[:, None] * flat[0]),
            _at(p_lead, height_m, (table["across"] * size)[:, None] * flat[1]),
            np.hstack([(table["twist_m"] * size)[:, None] * up, nothing]),
            np.hstack([(table["point_m"] * size)[:, None] * flat[0], nothing]),
        ]
    )
