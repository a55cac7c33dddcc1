"""Where the plates lie: under the feet, or fixed, with the walk moved to meet them."""

from __future__ import annotations

import numpy as np

from biodyn.conventions import SIDES, FloatArray
from biodyn.errors import PlateError
from biodyn.rigid_body import body_poses
from simulator.feet import points_in_world
from simulator.plates import FOUR_SENSORS, Plate
from simulator.walking import Walk


def place_plates(walk: Walk, fixed: tuple[Plate, ...], plate_types: tuple[int, ...]) -> tuple[tuple[Plate, ...], float]:
    """The plates, and how far the walk is moved along X so that the right foot's first footprint meets the first one."""
    prints = [_footprint(walk, number) for number in range(max(len(fixed), len(plate_types)))]
    middles = np.array([0.5 * (points[:, 0].min() + points[:, 0].max()) for points in prints])
    if fixed:
        centres = np.array([plate.centre_x_m for plate in fixed])
        misses = centres - middles[: len(centres)]
        shift = float(0.5 * (misses.min() + misses.max()))
        plates = fixed
    else:
        shift = -float(middles[0])
        plates = tuple(
            Plate(kind, float(middle + shift), turned=number % 2 == 1, origin_m=_sensor(kind))
            for number, (kind, middle) in enumerate(zip(plate_types, middles, strict=True))
        )
    for plate, points in zip(plates, prints, strict=False):
        margin = plate.covers(points + np.array([shift, 0.0, 0.0]))
        if margin < 0.0:
            raise PlateError(
                f"A simulated foot lands {-100 * margin:.1f} cm beside the plate at X = {plate.centre_x_m:.2f} m.",
                "Change speed and stride, or the plates' distances.",
            )
    return plates, shift


def _sensor(kind: int) -> tuple[float, float, float]:
    return (0.2, 0.12, -0.045) if kind in FOUR_SENSORS else (0.0004, -0.0007, -0.041)


def _footprint(walk: Walk, number: int) -> FloatArray:
    """Outline (K, 3) of the sole on the floor at the middle of a stance; stance 0 is the right foot's at time 0."""
    side = SIDES[number % 2]
    foot = walk.feet[side]
    q, _, _ = walk.motion(np.array([(0.5 * number + 0.25) * walk.stride_s]))
    R, p = body_poses(walk.body.model.multibody, q)
    points: FloatArray = points_in_world(R[:, foot.link], p[:, foot.link], foot.outline)[0]
    return points
