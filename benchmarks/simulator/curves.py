"""Periodic motion as Fourier series: the unknowns of the walk, and the state of the skeleton they make.

A row y of curve values is [forward, upward, sideways, tilt, list, rotation, coordinates ...]: the root's position in
World (m) and its Z-X-Y angles (rad), then the model's coordinates (rad). The left side repeats the right one half a
cycle later; curves of the middle of the body are mirrored into themselves after half a cycle, which leaves them even
harmonics where the mirror keeps their sign and odd ones where it turns it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from biodyn.conventions import FloatArray, without_side
from biodyn.geometry.rotations import matrices_from_cardan_zxy
from biodyn.model.assembly import Coordinate
from biodyn.model.body_model import SubjectModel

BASE_CURVES = ("forward", "upward", "sideways", "tilt", "list", "rotation")
# Mirroring at the sagittal plane turns sideways movement, and rotations about X and Y, into their opposite.
TURNED_BY_MIRROR = ("sideways", "list", "rotation")


@dataclass(frozen=True)
class Curve:
    """One independent curve of the walk.

    Attributes:
        columns: columns of y it drives, with the share of the cycle by which each lags.
        harmonics: which harmonics it has; 0 is the mean.
        reference: coefficients of the published curve, [mean if it has one, cos, sin of each harmonic], rad or m.
        tolerance: deviation that costs one unit, rad or m.
        mean_free: the mean costs next to nothing.
    """

    columns: tuple[tuple[int, float], ...]
    harmonics: tuple[int, ...]
    reference: FloatArray
    tolerance: float
    mean_free: bool

    @property
    def size(self) -> int:
        """Number of coefficients."""
        return sum(1 if k == 0 else 2 for k in self.harmonics)

    def orders(self) -> FloatArray:
        """Harmonic each coefficient belongs to (size,)."""
        return np.array([k for k in self.harmonics for _ in range(1 if k == 0 else 2)], dtype=float)


def walking_curves(
    model: SubjectModel, coordinates: Sequence[Coordinate], static_q: FloatArray, table: Mapping[str, Any]
) -> tuple[Curve, ...]:
    """Return the curves of a model's walk with their references from the table of published curves.

    coordinates: those of the model that have a column.
    """
    size = model.height_m / table["base"]["reference_height_m"]
    curves = [_base_curve(name, column, table["base"], size, static_q) for column, name in enumerate(BASE_CURVES)]
    lefts = {without_side(c.name, c.side): 6 + i for i, c in enumerate(coordinates) if c.side == "l"}
    for i, coordinate in enumerate(coordinates):
        if coordinate.side == "l":
            continue
        plain = without_side(coordinate.name, coordinate.side)
        entry = table["coordinates"][plain]
        columns: tuple[tuple[int, float], ...] = ((6 + i, 0.0),)
        if coordinate.side == "r":
            harmonics: Sequence[int] = range(entry["harmonics"] + 1)
            columns += ((lefts[plain], 0.5),)
        else:
            turned = axis_is_turned(model, coordinate.name)
            harmonics = [k for k in range(entry["harmonics"] + 1) if k % 2 == turned]
        static = static_q[coordinate.q_index] if entry.get("static_offset", False) else 0.0
        curves.append(_curve(columns, tuple(harmonics), entry, static, 1.0))
    return tuple(curves)


def axis_is_turned(model: SubjectModel, name: str) -> bool:
    """A rotation about an axis in the sagittal plane changes sign in the mirror, one about Z does not."""
    for body in model.bodies:
        for step in body.definition.rotations:
            if step.coordinate == name:
                return bool(abs(step.axis[2]) < 0.5)
    raise KeyError(name)


def _base_curve(name: str, column: int, table: Mapping[str, Any], size: float, static_q: FloatArray) -> Curve:
    turned = name in TURNED_BY_MIRROR
    first = 1 if turned or name == "forward" else 0  # where along the track the walk happens is the feet's choice
    harmonics = tuple(k for k in range(first, table["harmonics"] + 1) if k % 2 == turned)
    static = float(static_q[1]) if name == "upward" else 0.0
    return _curve(((column, 0.0),), harmonics, table[name], static, size)


def _curve(
    columns: tuple[tuple[int, float], ...],
    harmonics: tuple[int, ...],
    entry: Mapping[str, Any],
    offset: float,
    size: float,
) -> Curve:
    metres = "tolerance_m" in entry
    unit = size if metres else float(np.deg2rad(1.0))
    reference = []
    for k in harmonics:
        if k == 0:
            reference.append(offset + unit * entry["mean"])
        else:
            reference += [unit * entry[part][k - 1] if k <= len(entry[part]) else 0.0 for part in ("cos", "sin")]
    tolerance = size * entry["tolerance_m"] if metres else float(np.deg2rad(entry["tolerance_deg"]))
    return Curve(columns, harmonics, np.array(reference), tolerance, entry.get("mean_free", metres))


@dataclass(frozen=True)
class Sampled:
    """Linear map from coefficients to curve values: y = Y[..., 0] x, its first and second derivative in phase."""

    values: FloatArray  # (M, ny, n)
    rates: FloatArray
    accelerations: FloatArray


def sample(curves: Sequence[Curve], phase: FloatArray, columns: int) -> Sampled:
    """Return the map at the phases (M,), in cycles; derivatives per cycle and per cycle squared."""
    total = sum(curve.size for curve in curves)
    maps = np.zeros((3, len(phase), columns, total))
    at = 0
    for curve in curves:
        for column, lag in curve.columns:
            here = at
            for k in curve.harmonics:
                w = 2.0 * np.pi * k
                c, s = np.cos(w * (phase + lag)), np.sin(w * (phase + lag))
                if k == 0:
                    maps[0, :, column, here] = 1.0
                    here += 1
                    continue
                maps[:, :, column, here] = c, -w * s, -w * w * c
                maps[:, :, column, here + 1] = s, w * c, -w * w * s
                here += 2
        at += curve.size
    return Sampled(*maps)


def evaluate(
    curves: Sequence[Curve], coefficients: FloatArray, phase: FloatArray, columns: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return y (M, ny) and its first and second derivative in phase: `sample` times the coefficients (n,), without the maps."""
    y, yd, ydd = np.zeros((3, len(phase), columns))
    waves: dict[tuple[int, float], tuple[FloatArray, FloatArray]] = {}
    at = 0
    for curve in curves:
        for column, lag in curve.columns:
            here = at
            for k in curve.harmonics:
                if k == 0:
                    y[:, column] += coefficients[here]
                    here += 1
                    continue
                w = 2.0 * np.pi * k
                if (k, lag) not in waves:
                    waves[k, lag] = np.cos(w * (phase + lag)), np.sin(w * (phase + lag))
                c, s = waves[k, lag]
                wave = coefficients[here] * c + coefficients[here + 1] * s
                y[:, column] += wave
                yd[:, column] += w * (coefficients[here + 1] * c - coefficients[here] * s)
                ydd[:, column] -= w * w * wave
                here += 2
        at += curve.size
    return y, yd, ydd


def motion(
    model: SubjectModel, y: FloatArray, yd: FloatArray, ydd: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return q (T, nq), v, vdot (T, nv) of curve values y and their time derivatives (T, ny); exact."""
    q = np.zeros((len(y), model.multibody.nq))
    v = np.zeros((len(y), model.multibody.nv))
    vdot = np.zeros_like(v)
    a, b, c = y[:, 3:6].T
    sb, cb, sc, cc = np.sin(b), np.cos(b), np.sin(c), np.cos(c)
    da, db, dc = yd[:, 3:6].T
    R = matrices_from_cardan_zxy(y[:, 3:6])
    zero, one = np.zeros_like(a), np.ones_like(a)
    # omega_B = a' Ry^T Rx^T e_z + b' Ry^T e_x + c' e_y
    E = np.stack(
        [np.stack([-sc * cb, sb, cc * cb], -1), np.stack([cc, zero, sc], -1), np.stack([zero, one, zero], -1)], -1
    )
    dE_a = np.stack([-cc * dc * cb + sc * sb * db, cb * db, -sc * dc * cb - cc * sb * db], -1)
    dE_b = np.stack([-sc * dc, zero, cc * dc], -1)
    omega = np.einsum("tij,tj->ti", E, yd[:, 3:6])
    alpha = np.einsum("tij,tj->ti", E, ydd[:, 3:6]) + dE_a * da[:, None] + dE_b * db[:, None]
    u = np.einsum("tji,tj->ti", R, yd[:, :3])
    q[:, :3], q[:, 3:7] = y[:, :3], _quaternion_zxy(a, b, c)
    v[:, :3], v[:, 3:6] = omega, u
    # spatial acceleration: R^T p'' - omega x v_B
    vdot[:, :3], vdot[:, 3:6] = alpha, np.einsum("tji,tj->ti", R, ydd[:, :3]) - np.cross(omega, u)
    into_q = [coordinate.q_index for coordinate in model.coordinates]
    into_v = [coordinate.v_index for coordinate in model.coordinates]
    q[:, into_q], v[:, into_v], vdot[:, into_v] = y[:, 6:], yd[:, 6:], ydd[:, 6:]
    return q, v, vdot


def _quaternion_zxy(a: FloatArray, b: FloatArray, c: FloatArray) -> FloatArray:
    """Quaternion w x y z (T, 4) of Rz(a) Rx(b) Ry(c)."""
    sa, ca, sb, cb, sc, cc = np.sin(a / 2), np.cos(a / 2), np.sin(b / 2), np.cos(b / 2), np.sin(c / 2), np.cos(c / 2)
    return np.stack(
        [
            ca * cb * cc - sa * sb * sc,
            ca * sb * cc - sa * cb * sc,
            ca * cb * sc + sa * sb * cc,
            ca * sb * sc + sa * cb * cc,
        ],
        axis=-1,
    )
