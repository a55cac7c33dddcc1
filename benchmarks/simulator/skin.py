"""What happens between bone and camera: skin that moves, noise, markers that are hidden for a while."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.library.tables import expand_sides
from biodyn.model.body_model import SubjectModel
from biodyn.rigid_body import body_poses
from simulator.person import Body
from simulator.tables import load_data


def marker_labels(body: Body) -> tuple[str, ...]:
    """Labels of the markers the body wears."""
    return tuple(body.static_points)


def marker_positions(body: Body, q: FloatArray, displacement: FloatArray | None = None) -> FloatArray:
    """Return the markers (T, M, 3) in World of configurations q (T, nq); `displacement` (T, M, 3) m in segment axes."""
    model = body.model
    R, p = body_poses(model.multibody, q)
    by_label = {marker.label: marker for marker in model.markers}
    columns = []
    for i, label in enumerate(marker_labels(body)):
        marker = by_label[label]
        R_WB, p_WB = model.body_poses(R, p, marker.body)
        p_BM = np.broadcast_to(marker.p_BM, (len(q), 3))
        if displacement is not None:
            p_BM = p_BM + displacement[:, i]
        columns.append(p_WB + np.einsum("tij,tj->ti", R_WB, p_BM))
    return np.stack(columns, axis=1)


def soft_tissue(body: Body, q: FloatArray, phase: FloatArray, seed: int) -> FloatArray:
    """Return the markers' movement against the bone (T, M, 3) m in segment axes; none in the static posture.

    phase: (T,) of the gait cycle. The same person and seed give the same skin in every trial. Sizes: `soft_tissue.toml`.
    """
    table = load_data("soft_tissue")
    labels, sits = marker_labels(body), body.patches
    of_landmark, of_segment, on_toes = (_by_name(table[part]) for part in ("landmark", "segment", "toes"))
    moved = np.zeros((len(q), len(labels), 3))
    for i, label in enumerate(labels):
        patch = sits[label]
        entry = of_segment[patch.body] | ({} if patch.plate else of_landmark.get(patch.landmark, {}))
        person = np.random.default_rng([seed, 31, zlib.crc32(patch.body[:-2].encode())]).normal()
        size_m = 1e-3 * np.exp(entry["spread"] * person) * np.array(entry["rms_mm"])
        skin = zlib.crc32(patch.skin.encode())
        for share, key in ((entry["common"], zlib.crc32(patch.body.encode())), (1.0 - entry["common"], skin)):
            moved[:, i] += np.sqrt(share) * _course(body, q, phase, patch.body, size_m, entry["flexion"], [seed, key])
        if patch.landmark in on_toes:
            moved[:, i] += _bent_toes(on_toes[patch.landmark], phase, patch.body)
        if patch.plate:
            turn = _course(body, q, phase, patch.body, np.ones(3), entry["flexion"], [seed, skin, 1])[:, 1]
            moved[:, i] += _turned(body, label, turn)
    return moved


def _by_name(table: Mapping[str, Any]) -> dict[str, Any]:
    return {name: entry for pattern, entry in table.items() for _, name in expand_sides(pattern)}


def _course(
    body: Body, q: FloatArray, phase: FloatArray, segment: str, size: FloatArray, flexion: float, seed: Sequence[int]
) -> FloatArray:
    """How a patch of skin on a segment moves (T, 3): root mean square about the mean as `size` (3,) along its axes.

    flexion: share of the variance that is linear in the flexion of the joints at both ends; the rest has the cycle's harmonics.
    """
    rng = np.random.default_rng(seed)
    with_joints = _with_joints(body.model, body.static_q, q, segment, size, rng)
    with_cycle = np.zeros((len(q), 3))
    for k in range(1, load_data("soft_tissue")["cycle_harmonics"] + 1):
        waves = np.stack([np.cos(2 * np.pi * k * phase), np.sin(2 * np.pi * k * phase)], axis=1)
        with_cycle += waves @ (size * rng.normal(size=(2, 3))) / k
    length = float(np.linalg.norm(size))
    return length * (np.sqrt(flexion) * _unit_rms(with_joints) + np.sqrt(1.0 - flexion) * _unit_rms(with_cycle))


def _bent_toes(entry: Mapping[str, float], phase: FloatArray, segment: str) -> FloatArray:
    """Movement (T, 3) m in the axes of the foot of a marker on the toes, which bend up at push-off."""
    late = entry["phase"] + (0.5 if segment.endswith("_l") else 0.0)
    away = np.mod(phase - late + 0.5, 1.0) - 0.5
    course = np.exp(-0.5 * (away / entry["width"]) ** 2)
    return 1e-3 * np.outer(course, [entry["forward_mm"], entry["upward_mm"], 0.0])


def _turned(body: Body, label: str, course: FloatArray) -> FloatArray:
    """Movement (T, 3) m of a marker of a plate that turns about its middle along the segment's long axis; course (T,) to 1."""
    sits = body.patches
    largest = {
        name: np.deg2rad(degrees)
        for pattern, degrees in load_data("soft_tissue")["plate_turn_deg"].items()
        for _, name in expand_sides(pattern)
    }
    places = {m.label: m.p_BM for m in body.model.markers if sits[m.label].skin == sits[label].skin}
    arm = places[label] - np.mean(list(places.values()), axis=0)
    angle = largest.get(sits[label].body, 0.0) * course
    across = np.array([arm[2], 0.0, -arm[0]])  # Y x arm
    flat = np.array([arm[0], 0.0, arm[2]])
    return np.outer(np.sin(angle), across) + np.outer(np.cos(angle) - 1.0, flat)


def _with_joints(
    model: SubjectModel, static_q: FloatArray, q: FloatArray, body: str, size: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Movement with the flexion of the joints at both ends of a segment, each in its own direction."""
    moved = np.zeros((len(q), 3))
    parents = {part.definition.name: part.definition.parent for part in model.bodies}
    flexions = {body.definition.rotations[0].coordinate for body in model.bodies if body.definition.rotations}
    for coordinate in model.coordinates:
        if coordinate.name in flexions and body in (coordinate.body, parents[coordinate.body]):
            direction = size * rng.normal(size=3)
            moved += np.outer(q[:, coordinate.q_index] - static_q[coordinate.q_index], direction)
    return moved


def _unit_rms(movement: FloatArray) -> FloatArray:
    """The same movement (T, 3) with a root mean square about its mean of 1; one that does not vary becomes zero."""
    rms = float(np.sqrt(np.mean(np.sum((movement - movement.mean(axis=0)) ** 2, axis=1))))
    return movement / rms if rms > 1e-9 else np.zeros_like(movement)


def hide(positions: FloatArray, gaps: int, longest: int, rng: np.random.Generator) -> FloatArray:
    """Return the markers (T, M, 3) with `gaps` stretches of up to `longest` frames set to NaN, none at the trial's ends."""
    hidden = positions.copy()
    frames, markers = positions.shape[:2]
    for _ in range(gaps):
        length = int(rng.integers(2, longest + 1))
        first = int(rng.integers(5, max(frames - length - 5, 6)))
        hidden[first : first + length, rng.integers(markers)] = np.nan
    return hidden
