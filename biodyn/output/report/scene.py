"""The numbers of the 3-D scene: what moves, as whole millimetres and newtons that a page can hold.

Coordinates are World's (X forward, Y up, Z right). A segment is drawn as a spindle as thick as its mass and length make it,
at 1000 kg/m^3, and as thin bones to the joints it carries: shapes follow from the body model, whatever its segments are called.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from biodyn.conventions import SIDE_NAMES, FloatArray
from biodyn.output.figures.style import COLORS, SIDE_COLORS
from biodyn.processing.dynamics.actuated import multibody_from_arrays
from biodyn.rigid_body import Multibody, body_poses

#: Frames are thinned out evenly until they need no more than this: 300 kB of text.
MOST_BYTES: Final = 210_000
_BYTES: Final = 2  # of a number
_DENSITY: Final = 1000.0  # kg/m^3, of soft tissue and water
_LEAST_M: Final = 0.01  # shorter "bones" are the links of one joint
_THICKEST_M: Final = 0.11
_MISSING: Final = -32768
_LARGEST: Final = 32767


def scene_data(
    arrays: Mapping[str, np.ndarray], tables: Mapping[str, pd.DataFrame], contacts: Any
) -> dict[str, Any] | None:
    """Return what the page's script draws; None where no frame has a pose, or an older result lacks the arrays.

    Parameters: `arrays` of result.npz, `tables` ground_reaction and joint_torques, `contacts` of run.json.
    """
    if "body_names" not in arrays or not np.isfinite(arrays["q"]).all(axis=1).any():
        return None
    mb = multibody_from_arrays(arrays)
    time_s, q = arrays["time_s"], np.asarray(arrays["q"], dtype=np.float64)
    shape = _Shape.of(mb)
    markers = len(arrays["marker_labels"]) if "markers_W" in arrays else 0
    a_frame = _BYTES * 3 * (shape.count + markers + 5) + 3 * markers
    every = max(1, -(-len(time_s) * a_frame // MOST_BYTES))
    rows = np.arange(0, len(time_s), every)
    known = np.all(np.isfinite(q[rows]), axis=1)
    R_W, p_W = body_poses(mb, np.where(known[:, None], q[rows], mb.neutral()))
    R_W[~known], p_W[~known] = np.nan, np.nan
    centre = np.nanmean(p_W[:, 0], axis=0) * (1.0, 0.0, 1.0)
    points = shape.points(R_W, p_W) - centre
    return {
        "times": np.round(time_s[rows], 4).tolist(),
        "centre": np.round(centre, 3).tolist(),
        "top": round(float(np.nanmax(points[..., 1])), 2),
        "points": millimetres(points),
        "count": shape.count,
        "spindles": shape.spindles,
        "bones": shape.bones,
        "markers": _markers(arrays, rows, R_W, p_W, centre) if markers else None,
        "plates": _plates(arrays, centre, contacts),
        "forces": [
            _force(tables["ground_reaction"], side, rows, centre)
            for side in SIDE_NAMES
            if f"centre_of_pressure_{side}_x_m" in tables["ground_reaction"]
        ],
        "residual": whole(_residual(tables["joint_torques"])[rows]),
    }


@dataclass(frozen=True)
class _Shape:
    """What is drawn of a tree of bodies: origins of those that have mass, and an end of each.

    Attributes:
        bodies: numbers of those bodies in the tree. tips_m: (B, 3) ends in their own axes.
        spindles: [from, to, radius mm], bones: [from, to], by number of point: origins first, then ends.
    """

    bodies: tuple[int, ...]
    tips_m: FloatArray
    spindles: list[list[int]]
    bones: list[list[int]]

    @property
    def count(self) -> int:
        """Number of points."""
        return 2 * len(self.bodies)

    def points(self, R_W: FloatArray, p_W: FloatArray) -> FloatArray:
        """Return the points (T, P, 3) of the poses of all bodies of the tree."""
        own = list(self.bodies)
        ends = p_W[:, own] + np.einsum("tbij,bj->tbi", R_W[:, own], self.tips_m)
        return np.concatenate([p_W[:, own], ends], axis=1)

    @classmethod
    def of(cls, mb: Multibody) -> _Shape:
        """Return the shape of a tree, from masses and places alone."""
        heavy = [i for i, body in enumerate(mb.bodies) if body.mass_kg > 0.0]
        held: dict[int, list[int]] = {i: [] for i in heavy}
        for i in heavy[1:]:
            parent = int(mb.parents[i])
            while parent not in held:
                parent = int(mb.parents[parent])
            held[parent].append(i)
        R_W, p_W = (values[0] for values in body_poses(mb, mb.neutral()[None]))
        tips = [R_W[i].T @ (p_W[held[i]] - p_W[i]).mean(axis=0) if held[i] else np.zeros(3) for i in heavy]
        spindles, bones = [], []
        for k, i in enumerate(heavy):
            body = mb.bodies[i]
            # to the middle of the joints it carries, but at least through its centre of mass to the other side
            if np.linalg.norm(tips[k]) < 2.0 * np.linalg.norm(body.com_m):
                tips[k] = 2.0 * body.com_m
            length = max(float(np.linalg.norm(tips[k])), _LEAST_M)
            radius = min(float(np.sqrt(body.mass_kg / (_DENSITY * np.pi * length))), _THICKEST_M)
            spindles.append([k, len(heavy) + k, round(1000.0 * radius)])
            carried = [child for child in held[i] if np.linalg.norm(p_W[child] - p_W[i]) > _LEAST_M]
            bones += [[k, heavy.index(child)] for child in carried] if held[i] else [[k, len(heavy) + k]]
        return cls(tuple(heavy), np.stack(tips), spindles, bones)


def _markers(
    arrays: Mapping[str, np.ndarray], rows: np.ndarray, R_W: FloatArray, p_W: FloatArray, centre: FloatArray
) -> dict[str, Any]:
    """Measured markers, and how far from them their places on the fitted body lie: mm in 8 bits, no more than 127 an axis."""
    bodies, places = arrays["marker_links"], arrays["marker_places"]
    fitted = p_W[:, bodies] + np.einsum("tmij,mj->tmi", R_W[:, bodies], places)
    measured = np.asarray(arrays["markers_W"], dtype=np.float64)[rows]
    labels = [str(label) for label in arrays["marker_labels"]]
    apart = np.nan_to_num(np.clip(np.round(1000.0 * (fitted - measured)), -127, 127)).astype("<i1")
    return {"labels": labels, "measured": millimetres(measured - centre), "apart": _as_text(apart), "links": []}


def _plates(arrays: Mapping[str, np.ndarray], centre: FloatArray, contacts: Any) -> list[dict[str, Any]]:
    """Corners and, of every contact, when and how it was decided; plates whose edges are not known are not drawn."""
    outlined = arrays.get("plate_outlined", np.ones(len(arrays["plate_numbers"]), dtype=bool))
    return [
        {
            "number": int(number),
            "corners": np.round(corners - centre, 3).tolist(),
            "contacts": [
                [c["start_s"], c["end_s"], COLORS.get(str(c["decision"]), COLORS["muted"])]
                for c in contacts or ()
                if c["plate"] == number
            ],
        }
        for number, corners, known in zip(arrays["plate_numbers"], arrays["plate_corners_W"], outlined, strict=True)
        if known
    ]


def _force(table: pd.DataFrame, side: str, rows: np.ndarray, centre: FloatArray) -> dict[str, Any]:
    """Centre of pressure, mm, and force, N, of a foot."""
    place = np.stack([_column(table, f"centre_of_pressure_{side}_{axis}_m") for axis in "xyz"], axis=1)[rows]
    force = np.stack([_column(table, f"ground_force_{side}_{axis}_N") for axis in "xyz"], axis=1)[rows]
    return {
        "name": SIDE_NAMES[side],  # type: ignore[index]
        "color": SIDE_COLORS[side],
        "place": millimetres(place - centre),
        "force": whole(force),
    }


def _residual(table: pd.DataFrame) -> FloatArray:
    return np.stack([_column(table, f"residual_f{axis}_N") for axis in "xyz"], axis=1)


def _column(table: pd.DataFrame, name: str) -> FloatArray:
    found: FloatArray = table[name].to_numpy(dtype=np.float64)
    return found


def millimetres(values_m: FloatArray) -> str:
    """Places (..., 3) in m as the page holds them."""
    return whole(1000.0 * values_m)


def whole(values: FloatArray) -> str:
    """Whole numbers as base64 of little-endian 16 bits; what is missing, or beyond 32 m, is -32768."""
    whole = np.where(np.abs(values) <= _LARGEST, np.round(values), _MISSING)  # NaN compares as beyond
    return _as_text(whole.astype("<i2"))


def _as_text(values: np.ndarray) -> str:
    return base64.b64encode(values.tobytes()).decode("ascii")
