"""People of many sizes and shapes who stand with their markers on, from seeds, for the recognition of markers by geometry."""

from __future__ import annotations

import numpy as np
from simulator.person import template_points

SETS = ("plug_in_gait_lower", "plug_in_gait_full")


def standing_person(
    marker_set: str, rng: np.random.Generator, placement_m: float = 0.01, asymmetric: bool = True
) -> dict[str, np.ndarray]:
    """(3,) m by label of a person of 1.1 to 2.0 m, anywhere on the floor, facing anywhere, Y up.

    Knees and hips may be bent (crouched by up to 15 cm), the trunk leans, a leg may be shorter by 3 %, arms hang, are held out
    or folded; each marker is put on with `placement_m` of error.
    """
    height = rng.uniform(1.1, 2.0)
    points = template_points(height, marker_set, rng.uniform(0.94, 1.06), rng.uniform(0.9, 1.12))
    points = {label: place.copy() for label, place in points.items()}
    size = height / 1.75
    crouch = rng.uniform(0.0, 0.6) if rng.random() < 0.3 else rng.uniform(0.0, 0.1)
    lean = np.deg2rad(rng.normal(0.0, 6.0))
    arms = rng.choice(["hang", "out", "folded"], p=[0.6, 0.25, 0.15])
    shorter = {side: 1.0 - (0.03 * rng.random() if asymmetric else 0.0) for side in "LR"}
    wide = rng.uniform(0.7, 1.6)
    for label, p in points.items():
        side = {"L": -1.0, "R": 1.0}.get(label[0], 0.0) if label != "RBAK" else 0.0
        bare = label[1:]
        if bare in ("UPA", "ELB", "FRM", "WRA", "WRB", "FIN"):
            p[:] = _arm(p, side, size, str(arms))
        if bare in ("THI", "KNE", "TIB", "ANK", "HEE", "TOE"):
            p[1] *= shorter[label[0]]
            p[2] += side * 0.09 * size * (wide - 1.0) * (1.0 - p[1] / (0.93 * size))
            p[:] = _bent_leg(p, crouch, size, 0.93 * size)
        else:
            p[:] = _leaning(p, lean, 0.95 * size)
            p[:] = _bent_leg(p, crouch, size, 0.93 * size)
        p += rng.normal(scale=placement_m, size=3)
    heading, move = rng.uniform(0.0, 2.0 * np.pi), rng.uniform(-3.0, 3.0, size=2)
    c, s = np.cos(heading), np.sin(heading)
    R = np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])
    return {label: R @ p + (move[0], 0.0, move[1]) for label, p in points.items()}


def _bent_leg(p: np.ndarray, bend: float, size: float, hip: float) -> np.ndarray:
    """Thigh and shank turned by the angle `bend` (rad) each, the foot where it was; everything above comes down."""
    knee = 0.49 * size
    thigh, shank = hip - knee, knee - 0.07 * size
    if p[1] < 0.075 * size:
        return p
    tilted = np.array([np.sin(bend), np.cos(bend)])
    if p[1] < knee + 0.02 * size:
        along = p[1] - 0.07 * size
        across = p[0]
        return np.array(
            [along * tilted[0] + across * tilted[1], 0.07 * size + along * tilted[1] - across * tilted[0], p[2]]
        )
    at_knee = np.array([shank * tilted[0], 0.07 * size + shank * tilted[1]])
    if p[1] < hip - 0.1 * size:
        along, across = p[1] - knee, p[0]
        x = at_knee[0] - along * tilted[0] + across * tilted[1]
        return np.array([x, at_knee[1] + along * tilted[1] + across * tilted[0], p[2]])
    at_hip = at_knee + thigh * np.array([-tilted[0], tilted[1]])
    return np.array([p[0] + at_hip[0], p[1] - hip + at_hip[1], p[2]])


def _leaning(p: np.ndarray, lean: float, about: float) -> np.ndarray:
    if p[1] < about + 0.1:
        return p
    up, ahead = p[1] - about, p[0]
    return np.array([ahead * np.cos(lean) + up * np.sin(lean), about + up * np.cos(lean) - ahead * np.sin(lean), p[2]])


def _arm(p: np.ndarray, side: float, size: float, posture: str) -> np.ndarray:
    shoulder = np.array([-0.01, 1.42, 0.18 * side]) * size
    local = p - shoulder
    if posture == "out":
        local = np.array([local[0], -side * 0.1 * local[2], -side * local[1]])
    elif posture == "folded":
        down = max(-local[1] - 0.3 * size, 0.0)  # beyond the elbow
        upper = np.array(
            [local[0] + 0.1 * size * min(-local[1] / (0.3 * size), 1.0), max(local[1], -0.3 * size), local[2]]
        )
        local = upper + down * np.array([0.7, 0.3, -0.65 * side])
    return shoulder + local
