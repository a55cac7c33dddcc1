"""Skin that does not follow the bone at speed: soft tissue that swings after foot strikes."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from biodyn.conventions import FloatArray, Side, other_side
from biodyn.library.tables import expand_sides
from simulator.person import Body
from simulator.skin import marker_labels
from simulator.tables import load_data


def swinging(body: Body, time_s: FloatArray, strikes: Sequence[tuple[Side, float, float]], seed: int) -> FloatArray:
    """Return the markers' movement against the bone (T, M, 3) m in segment axes after foot strikes: damped oscillations.

    strikes: side, time s and size of each. The markers of a segment swing partly together; the same person and seed have the
    same skin in every trial.
    """
    table = load_data("soft_tissue")["wobble"]
    skins, bodies = _places(body)
    by_body = _by_body(table["segments"])
    moved = np.zeros((len(time_s), len(skins), 3))
    for i, (skin, segment) in enumerate(zip(skins, bodies, strict=True)):
        entry = by_body.get(segment)
        if entry is None:
            continue
        direction = _direction(table["together"], seed, segment, skin)
        own = np.random.default_rng([seed, 19, zlib.crc32(segment.encode())]).normal(size=2)
        size = 1e-3 * entry["mm"] * float(np.clip(1.0 + table["spread"] * own[0], 0.3, 2.0))
        hz = entry["hz"] * float(np.clip(1.0 + 0.1 * own[1], 0.8, 1.25))
        for side, strike_s, strength in strikes:
            reached = table["other_leg"] if segment.endswith(f"_{other_side(side)}") else 1.0
            swing = _swing(time_s - strike_s, hz, entry["damping"])
            moved[:, i] += (reached * strength * size) * np.outer(swing, direction)
    return moved


def _places(body: Body) -> tuple[tuple[str, ...], list[str]]:
    patches = body.patches
    sits = [patches[label] for label in marker_labels(body)]
    return tuple(patch.skin for patch in sits), [patch.body for patch in sits]


def _by_body(table: dict[str, Any]) -> dict[str, Any]:
    return {name: entry for pattern, entry in table.items() for _, name in expand_sides(pattern)}


def _direction(together: float, seed: int, segment: str, skin: str) -> FloatArray:
    """Direction and size (3,) about 1 of a patch of skin: partly its segment's, mostly along it, partly its own."""
    common = np.array([0.4, -1.0, 0.2]) * np.random.default_rng([seed, 23, zlib.crc32(segment.encode())]).normal(
        1.0, 0.3, size=3
    )
    own = np.random.default_rng([seed, 23, zlib.crc32(skin.encode())]).normal(size=3) / np.sqrt(3.0)
    return np.asarray(np.sqrt(together) * common + np.sqrt(1.0 - together) * own)


def _swing(since_s: FloatArray, hz: float, damping: float) -> FloatArray:
    """Damped oscillation (T,) that begins at 0 and whose first peak is 1."""
    t = np.maximum(since_s, 0.0)
    omega = 2.0 * np.pi * hz
    free = omega * np.sqrt(1.0 - damping**2)
    first_s = np.arctan2(np.sqrt(1.0 - damping**2), damping) / free
    peak = np.exp(-damping * omega * first_s) * np.sin(free * first_s)
    return np.asarray(np.exp(-damping * omega * t) * np.sin(free * t) / peak)
