"""A synthetic walker for the tests: planted feet, smooth swings, forces of known size at heel and toe, real plates."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from biodyn.processing.contacts.plate_loads import PlateSignals
from biodyn.processing.signals.filtering import butterworth_lowpass

RATE_HZ, ANALOG_HZ = 100.0, 1000.0
CUTOFF_HZ = 6.0
SMEAR_S = 0.5 / CUTOFF_HZ
LENGTH_M, WIDTH_M, WEIGHT_N = 0.26, 0.09, 700.0


@dataclass(frozen=True)
class Step:
    """A stance: side, times (s), heel position (x, floor height, z) in World, m; the foot points along X."""

    side: str
    strike_s: float
    off_s: float
    heel: tuple[float, float, float]


def plate(x0: float, x1: float, z0: float, z1: float, y: float = 0.0) -> np.ndarray:
    """Corners of a horizontal plate that spans x0..x1, z0..z1 at height y."""
    return np.array([[x1, y, z1], [x0, y, z1], [x0, y, z0], [x1, y, z0]])


def heel_path(steps: list[Step], side: str, time_s: np.ndarray) -> np.ndarray:
    """Heel positions (T, 3): planted in stance, minimum-jerk swing with 8 cm clearance between stances.

    Before its first and after its last stance a foot flies away, so that no unasked-for stance is in the scene.
    """
    own = [step for step in steps if step.side == side]
    path = np.tile(np.array(own[0].heel), (len(time_s), 1))
    outside_s = np.minimum(time_s - own[0].strike_s, 0.0) + np.maximum(time_s - own[-1].off_s, 0.0)
    away = np.abs(outside_s)[:, None] * outside_s[:, None] * [10.0, 0.0, 0.0]
    away[:, 1] = 0.3 * outside_s**2 / (outside_s**2 + 0.01)
    for before, after in pairwise(own):
        share = np.clip((time_s - before.off_s) / (after.strike_s - before.off_s), 0.0, 1.0)
        smooth = share**3 * (10 - 15 * share + 6 * share**2)
        moved = np.array(before.heel) + smooth[:, None] * (np.array(after.heel) - np.array(before.heel))
        moved[:, 1] += 0.08 * 16 * share**2 * (1 - share) ** 2
        path = np.where((time_s > before.off_s)[:, None], moved, path)
    return path + away


def outline(heel: np.ndarray) -> np.ndarray:
    """Twelve points (T, 12, 3) around the sole."""
    along = np.array([0, 0.25, 0.5, 0.75, 1, 1, 1, 0.75, 0.5, 0.25, 0, 0]) * LENGTH_M
    across = np.array([0.5, 0.5, 0.5, 0.5, 0.5, 0, -0.5, -0.5, -0.5, -0.5, -0.5, 0]) * WIDTH_M
    return heel[:, None, :] + np.stack([along, np.zeros(12), across], axis=1)


def point_forces(step: Step, time_s: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Forces (T, 3) at two points of the sole, 10 % and 90 % of its length: [(point, force)]."""
    share = (time_s - step.strike_s) / (step.off_s - step.strike_s)
    on = (share > 0) & (share < 1)
    s = np.where(on, share, 0.0)
    hump = np.where(on, np.sin(np.pi * s) ** 0.5 * (1.0 - 0.25 * np.sin(np.pi * s) ** 6), 0.0) * WEIGHT_N
    force = np.stack([-0.2 * hump * np.cos(np.pi * s), hump, 0.05 * hump], axis=1)
    toe = np.clip(s, 0.0, 1.0)[:, None]
    heel = np.array(step.heel)
    return [
        (heel + [0.1 * LENGTH_M, 0.0, 0.0], force * (1 - toe)),
        (heel + [0.9 * LENGTH_M, 0.0, 0.0], force * toe),
    ]


def wrench_about_origin(point: np.ndarray, force: np.ndarray) -> np.ndarray:
    return np.hstack([np.cross(point, force), force])


def lowpass(analog: np.ndarray) -> np.ndarray:
    """Filtered wrench at the marker rate."""
    return butterworth_lowpass(analog, ANALOG_HZ, CUTOFF_HZ)[:: round(ANALOG_HZ / RATE_HZ)]


@dataclass(frozen=True)
class Walk:
    """What the tests need: signals, soles and the truth."""

    plates: list[PlateSignals]
    outlines: dict[str, np.ndarray]
    heels: dict[str, np.ndarray]
    truth: dict[str, np.ndarray]  # filtered wrench of each foot, floor included
    time_s: np.ndarray
    raw: list[np.ndarray]  # what each plate records (Ta, 6)


def walk(
    steps: list[Step],
    corners: list[np.ndarray],
    duration_s: float,
    extra=None,
    noise_n: float = 0.0,
    belt_m_s: float = 0.0,
) -> Walk:
    """Simulate; `extra` maps a plate index to an additional raw wrench (Ta, 6) on it; a belt carries all backwards."""
    time_s = np.arange(round(duration_s * RATE_HZ)) / RATE_HZ
    analog_s = np.arange(len(time_s) * round(ANALOG_HZ / RATE_HZ)) / ANALOG_HZ
    on_plate = [np.zeros((len(analog_s), 6)) for _ in corners]
    feet = {side: np.zeros((len(analog_s), 6)) for side in "rl"}
    for step in steps:
        for point, force in point_forces(step, analog_s):
            point = point - np.outer(belt_m_s * analog_s, [1.0, 0.0, 0.0])
            wrench = wrench_about_origin(point, force)
            feet[step.side] += wrench
            for number, c in enumerate(corners):
                low, high = c.min(axis=0), c.max(axis=0)
                inside = np.all((point >= low) & (point <= high), axis=1, where=[True, False, True])
                inside &= np.abs(point[:, 1] - c[0, 1]) < 1e-9
                on_plate[number] += wrench * inside[:, None]
    for number, wrench in (extra or {}).items():
        on_plate[number] += wrench
    generator = np.random.default_rng(0)
    plates, records = [], []
    for number, c in enumerate(corners):
        raw = on_plate[number] + noise_n * generator.normal(size=on_plate[number].shape)
        records.append(raw)
        plates.append(PlateSignals(number + 1, c, lowpass(raw), raw[:, 4], ANALOG_HZ))
    carried = np.outer(belt_m_s * time_s, [1.0, 0.0, 0.0])
    heels = {side: heel_path(steps, side, time_s) - carried for side in "rl"}
    outlines = {side: butterworth_lowpass(outline(heels[side]), RATE_HZ, CUTOFF_HZ) for side in "rl"}
    return Walk(plates, outlines, heels, {side: lowpass(feet[side]) for side in "rl"}, time_s, records)


def level_steps(count: int = 6, step_m: float = 0.65, step_s: float = 0.5, stance_s: float = 0.62) -> list[Step]:
    """Alternating steps from x = 0 on, right first, 10 cm apart."""
    return [
        Step("rl"[n % 2], n * step_s, n * step_s + stance_s, (n * step_m, 0.0, 0.05 if n % 2 == 0 else -0.05))
        for n in range(count)
    ]
