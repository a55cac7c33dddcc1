"""What differs between two analyses, in numbers a reader can check: how far centres lie apart, how axes are turned, masses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from biodyn.comparison.exchange import AXES, CENTRES, FORCE_SMOOTHING, INERTIAS, MASS, SMOOTHING, Exchange
from biodyn.comparison.smoothing import RelativeFilter
from biodyn.conventions import SIDE_NAMES

# Smaller differences are not told.
_LEAST_M, _LEAST_DEG, _LEAST_SHARE = 1e-4, 0.1, 1e-4


@dataclass(frozen=True)
class Fact:
    """Something measured that differs, and the cause it belongs to."""

    cause: str
    text: str


def facts(exchange: Exchange, joints: list[int], estimated: bool = False) -> tuple[Fact, ...]:
    """Return what differs in the segments `joints`, in the order of causes.

    estimated: one of the motions at least is an estimate, of which a cut-off would be no truth.
    """
    found = [*_centres(exchange, joints), *_axes(exchange, joints)]
    found += _smoother_estimate(exchange) if estimated else _filters(SMOOTHING, "motion", exchange.motion_filter)
    found += _filters(FORCE_SMOOTHING, "ground forces", exchange.force_filter)
    a, b = exchange.a.inertias, exchange.b.inertias
    masses = exchange.a.mass_kg, exchange.b.mass_kg
    if abs(masses[1] / masses[0] - 1.0) > _LEAST_SHARE:
        found.append(Fact(MASS, f"body mass {masses[0]:.1f} kg and {masses[1]:.1f} kg"))
    for s in joints:
        share = [float(x.mass[s] / m) for x, m in zip((a, b), masses, strict=True)]
        gyration = [float(np.sqrt(np.trace(x.tensor[s]) / 2.0 / max(x.mass[s], 1e-9))) for x in (a, b)]
        if abs(share[1] / share[0] - 1.0) > 1e-3 or abs(gyration[1] / gyration[0] - 1.0) > 1e-3:
            found.append(
                Fact(
                    INERTIAS,
                    f"{exchange.a.names[s]}: {100 * share[0]:.2f} and {100 * share[1]:.2f} % of the mass, radius of gyration "
                    f"{1e3 * gyration[0]:.0f} and {1e3 * gyration[1]:.0f} mm",
                )
            )
    return tuple(found)


def _centres(exchange: Exchange, joints: list[int]) -> list[Fact]:
    found = []
    for s in joints:
        x, y, z = (1e3 * exchange.offset[s]).tolist()
        size = float(np.linalg.norm(exchange.offset[s]))
        if size > _LEAST_M:
            where = f"{x:+z.0f} forward, {y:+z.0f} up, {z:+z.0f} to the right in the axes of {exchange.a.names[s]}"
            found.append(Fact(CENTRES, f"{joint_words(exchange, s)} centre {1e3 * size:.0f} mm away ({where})"))
    return found


def _axes(exchange: Exchange, joints: list[int]) -> list[Fact]:
    found = []
    for s in joints:
        own = exchange.turn_with_centres[s].T @ exchange.turn[s]
        turn = Rotation.from_matrix(own).as_rotvec(degrees=True)
        if np.linalg.norm(turn) > _LEAST_DEG:
            found.append(
                Fact(
                    AXES,
                    f"{exchange.a.names[s]} axes turned by {np.linalg.norm(turn):.1f} degrees "
                    f"({turn[0]:+z.1f} about forward, {turn[1]:+z.1f} about up, {turn[2]:+z.1f} about right)",
                )
            )
    return found


def _filters(cause: str, what: str, found: tuple[RelativeFilter, bool] | None) -> list[Fact]:
    if found is None:
        return []
    between, first_is_sharper = found
    which = "the second" if first_is_sharper else "the first"
    sharp = "not filtered" if np.isinf(between.high_hz) else f"{between.high_hz:.3g} Hz"
    how = f"{what}: {which} is smoother, {between.low_hz:.3g} Hz against {sharp}"
    if np.isnan(between.explained):
        return [Fact(cause, f"{how}, as the settings say")]
    return [Fact(cause, f"{how}, estimated ({100 * between.explained:.0f} % of what differs in its fast part)")]


def _smoother_estimate(exchange: Exchange) -> list[Fact]:
    if exchange.motion_filter is None:
        return []
    which = "second" if exchange.motion_filter[1] else "first"
    return [Fact(SMOOTHING, f"motion: the {which} is smoother (an estimate has no cut-off)")]


def joint_words(exchange: Exchange, segment: int) -> str:
    """Name of a segment's joint with its side in words."""
    side = SIDE_NAMES.get(exchange.a.sides[segment], "")
    return f"{side} {exchange.a.joints[segment]}".strip()
