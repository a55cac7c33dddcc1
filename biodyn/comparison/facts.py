"""What differs between two analyses, in numbers a reader can check: how far centres lie apart, how axes are turned, masses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from biodyn.comparison.exchange import AXES, CENTRES, FORCE_SMOOTHING, INERTIAS, MASS, SMOOTHING, Exchange
from biodyn.comparison.smoothing import RelativeFilter
from biodyn.conventions import SIDE_NAMES, FloatArray

# Smaller differences are not told: of millimetres what rounds to none.
_LEAST_M, _LEAST_DEG = 5e-4, 0.1


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
    masses = exchange.a.mass_kg, exchange.b.mass_kg
    if f"{masses[0]:.1f}" != f"{masses[1]:.1f}":
        found.append(Fact(MASS, f"body mass {masses[0]:.1f} kg and {masses[1]:.1f} kg"))
    found += _inertias(exchange, joints, masses)
    return tuple(found)


def _inertias(exchange: Exchange, joints: list[int], masses: tuple[float, float]) -> list[Fact]:
    """Mass, size and mass centre of each segment, where its two numbers are not written alike."""
    found = []
    a, b = exchange.a.inertias, exchange.b.inertias
    for s in joints:
        share = [f"{100 * x.mass[s] / m:.2f}" for x, m in zip((a, b), masses, strict=True)]
        gyration = [f"{1e3 * np.sqrt(np.trace(x.tensor[s]) / 2.0 / max(x.mass[s], 1e-9)):.0f}" for x in (a, b)]
        apart = b.com[s] - a.com[s]
        parts = [f"{share[0]} and {share[1]} % of the mass"] if share[0] != share[1] else []
        parts += [f"radius of gyration {gyration[0]} and {gyration[1]} mm"] if gyration[0] != gyration[1] else []
        parts += [f"mass centre against its joint {_away(apart)}"] if np.linalg.norm(apart) > _LEAST_M else []
        if parts:
            found.append(Fact(INERTIAS, f"{exchange.a.names[s]}: {', '.join(parts)}"))
    return found


def _away(offset_m: FloatArray) -> str:
    """How far a point lies from the first one's, in the axes of its segment."""
    x, y, z = (1e3 * offset_m).tolist()
    return f"{1e3 * np.linalg.norm(offset_m):.0f} mm away ({x:+z.0f} forward, {y:+z.0f} up, {z:+z.0f} to the right)"


def _centres(exchange: Exchange, joints: list[int]) -> list[Fact]:
    found = []
    for s in joints:
        if np.linalg.norm(exchange.offset[s]) > _LEAST_M:
            where = f"{_away(exchange.offset[s])} in the axes of {exchange.a.names[s]}"
            found.append(Fact(CENTRES, f"{joint_words(exchange, s)} centre {where}"))
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
