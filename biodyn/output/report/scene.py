"""Values of the 3-D view: motion in millimetres and forces in newtons as integers.

A scene holds one or several persons, each with times, plates and forces, in World (X forward, Y up, Z right). Segments are
drawn as spindles with the volume of their mass at 1000 kg/m^3, and as lines to the distal joints. Shapes depend on the body
model only.
"""

from __future__ import annotations

import base64
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pandas as pd

from biodyn.conventions import SIDE_NAMES, FloatArray
from biodyn.library.tables import segment_title
from biodyn.output.figures.style import COLORS, SIDE_COLORS
from biodyn.output.report.page import load_resource, script_json
from biodyn.processing.dynamics.actuated_motion import multibody_from_arrays
from biodyn.rigid_body import Multibody, body_poses
from biodyn.rigid_body.kinematics import StickFigure

#: Frames are omitted evenly to this size (300 kB of text).
MOST_BYTES: Final = 210_000
#: Colours of several persons and of their curves.
PERSON_COLORS: Final = ("#3d4852", "#b34700", "#0b5394", "#4f6b12")
_MIN_BONE_M: Final = 0.01  # shorter links belong to one joint
_MISSING: Final = -32768
# Fractions of stature, Drillis R, Contini R (1966), in Winter DA (2009): thigh and shank, hip, shoulder, chin; neck and half
# width of the head are estimates for the drawing.
_LEG, _HIP, _SHOULDER, _CHIN, _NECK, _HEAD_RADIUS = 0.491, 0.53, 0.818, 0.87, 0.75, 0.05


def scene_values(persons: Sequence[Mapping[str, Any] | None], one_place: bool = False) -> dict[str, Any] | None:
    """Return the values for the script of the page; None without persons.

    one_place: the persons share one World, as two analyses of one recording; otherwise their pelves are superimposed.
    """
    known = (person for person in persons if person is not None)
    coloured = [{**person, "color": color} for person, color in zip(known, PERSON_COLORS, strict=False)]
    return {"persons": coloured, "one_place": one_place} if coloured else None


def scene_person(
    arrays: Mapping[str, np.ndarray],
    tables: Mapping[str, pd.DataFrame],
    contacts: Any,
    name: str = "",
    most_bytes: int = MOST_BYTES,
    unmeasured: Collection[str] = (),
) -> dict[str, Any] | None:
    """Return the values of the 3-D view of one person; None if no frame has a pose, or an older result lacks the arrays.

    Parameters: `arrays` of result.npz, `tables` ground_reaction, joint_torques and, for the gait cycles, spatiotemporal,
    `contacts` of run.json, `name` of the person in a scene of several persons, `most_bytes`: limit of the size of the numbers,
    `unmeasured`: segments without markers, which are drawn pale.
    """
    if "body_names" not in arrays or not np.isfinite(arrays["q"]).all(axis=1).any():
        return None
    mb = multibody_from_arrays(arrays)
    time_s, q = arrays["time_s"], np.asarray(arrays["q"], dtype=np.float64)
    shape = _BodyShape.from_posture(mb, q[np.flatnonzero(np.isfinite(q).all(axis=1))[0]])
    markers = len(arrays["marker_labels"]) if "markers_W" in arrays else 0
    bytes_per_frame = 2 * 3 * (shape.count + markers + 5) + 3 * markers + shape.figure_count
    every = max(1, -(-len(time_s) * bytes_per_frame // most_bytes))
    rows = np.arange(0, len(time_s), every)
    known = np.all(np.isfinite(q[rows]), axis=1)
    R_W, p_W = body_poses(mb, np.where(known[:, None], q[rows], mb.neutral_q()))
    R_W[~known], p_W[~known] = np.nan, np.nan
    centre = np.nanmean(p_W[:, 0], axis=0) * (1.0, 0.0, 1.0)
    points = shape.points(R_W, p_W) - centre
    residual = tables["joint_torques"][[f"residual_f{axis}_N" for axis in "xyz"]].to_numpy(dtype=np.float64)
    return {
        "name": name,
        "times": np.round(time_s[rows], 4).tolist(),
        "cycles": _cycle_times(tables),
        "centre": np.round(centre, 3).tolist(),
        "top": round(float(np.nanmax(points[..., 1])), 2),
        "points": encode_positions(points),
        "count": shape.count,
        "spindles": shape.flag_unmeasured(shape.spindles, mb.body_names, unmeasured),
        "unmeasured": sorted(set(unmeasured) & set(mb.body_names)),
        "bones": shape.flag_unmeasured(shape.bones, mb.body_names, unmeasured),
        "ghost": _band_half_widths(arrays, rows, shape),
        "markers": _marker_values(arrays, rows, R_W, p_W, centre) if markers else None,
        "plates": _plate_values(arrays, centre, contacts),
        "forces": [
            _force_values(tables["ground_reaction"], side, rows, centre)
            for side in SIDE_NAMES
            if f"centre_of_pressure_{side}_x_m" in tables["ground_reaction"]
        ],
        "residual": encode_integers(residual[rows]),
    }


@dataclass(frozen=True)
class _BodyShape:
    """Points, spindles and lines that represent a tree of bodies.

    Attributes:
        figure: joints and ends of the bodies with mass. extra_m: (E, 3) further points on the body `trunk`.
        spindles: [from, to, radius mm], bones: [from, to], by point number: joints, then ends, then further points.
    """

    figure: StickFigure
    trunk: int
    extra_m: FloatArray
    spindles: list[list[int]]
    bones: list[list[int]]

    @property
    def figure_count(self) -> int:
        """Number of points of the figure."""
        return 2 * len(self.figure.bodies)

    @property
    def count(self) -> int:
        """Number of points."""
        return self.figure_count + len(self.extra_m)

    def flag_unmeasured(
        self, parts: list[list[int]], names: Sequence[str], unmeasured: Collection[str]
    ) -> list[list[int]]:
        """Return spindles or bones with a further number, 1 for unmeasured bodies; `names` of all bodies of the tree."""
        bodies = self.figure.bodies.tolist()
        owners = [bodies[first] if first < len(bodies) else self.trunk for first, *_ in parts]
        return [[*part, int(names[owner] in unmeasured)] for part, owner in zip(parts, owners, strict=True)]

    def points(self, R_W: FloatArray, p_W: FloatArray) -> FloatArray:
        """Return the points (T, P, 3) of the poses of all bodies of the tree."""
        more = p_W[:, self.trunk, None] + np.einsum("tij,ej->tei", R_W[:, self.trunk], self.extra_m)
        return np.concatenate([self.figure.points(R_W, p_W), more], axis=1)

    @classmethod
    def from_posture(cls, mb: Multibody, q: FloatArray) -> _BodyShape:
        """Return the shape of a tree in a posture (nq,), from masses and positions."""
        figure = StickFigure.from_posture(mb, q)
        joints = len(figure.bodies)
        p_W = body_poses(mb, q[None])[1][0, figure.bodies]
        spindles, bones = [], []
        for k, (body, end, carried) in enumerate(zip(figure.bodies, figure.ends_m, figure.carried, strict=True)):
            length = max(float(np.linalg.norm(end)), _MIN_BONE_M)
            spindles.append([k, joints + k, _radius_mm(mb.bodies[body].mass_kg, length)])
            distant = [child for child in carried if np.linalg.norm(p_W[child] - p_W[k]) > _MIN_BONE_M]
            bones += [[k, child] for child in distant] if carried else [[k, joints + k]]
        trunk, head = _trunk_with_head(mb, figure, q)
        if not len(head):
            return cls(figure, 0, head, spindles, bones)
        shoulder, chin, crown = (2 * joints + i for i in range(3))
        index = figure.bodies.tolist().index(trunk)
        height = float(np.linalg.norm(head[2] - head[1])) / (1.0 - _CHIN)
        thick = _radius_mm(mb.bodies[trunk].mass_kg, max(float(np.linalg.norm(head[0])), _MIN_BONE_M))
        spindles[index] = [index, shoulder, thick]
        spindles.append([chin, crown, round(1000.0 * _HEAD_RADIUS * height)])
        bones = [bone for bone in bones if bone != [index, joints + index]]
        return cls(figure, trunk, head, spindles, [*bones, [index, shoulder], [shoulder, crown]])


def _radius_mm(mass_kg: float, length_m: float, density_kg_m3: float = 1000.0, max_radius_m: float = 0.11) -> int:
    return round(1000.0 * min(float(np.sqrt(mass_kg / (density_kg_m3 * np.pi * length_m))), max_radius_m))


def _trunk_with_head(mb: Multibody, figure: StickFigure, q: FloatArray) -> tuple[int, FloatArray]:
    """Return the body of the trunk, and shoulder, chin and crown (3, 3) m on it; (0, 3) if the head is a separate body.

    The trunk is the heaviest body, with at least a quarter of the body mass. The stature is estimated
    from the two longest links of a leg, and the axis of the trunk from its mass centre. A body attached at the neck is the head.
    """
    R_W, p_W = (values[0] for values in body_poses(mb, q[None]))
    bodies = figure.bodies.tolist()
    trunk = max(bodies, key=lambda i: mb.bodies[i].mass_kg)
    centre = np.asarray(mb.bodies[trunk].com_m, dtype=np.float64)
    ways = [_ancestors(mb, i) for i in bodies]
    legs = [way for way, carried in zip(ways, figure.carried, strict=True) if not carried and trunk not in way[:-1]]
    none = 0, np.zeros((0, 3))
    if mb.bodies[trunk].mass_kg < 0.25 * mb.total_mass_kg or not legs or not centre.any():
        return none
    links = [
        sorted((float(np.linalg.norm(p_W[i] - p_W[j])), j) for i, j in pairwise(way) if j != way[-1]) for way in legs
    ]
    leg = max(range(len(legs)), key=lambda k: sum(length for length, _ in links[k][-2:]))
    if len(links[leg]) < 2:
        return none
    height = sum(length for length, _ in links[leg][-2:]) / _LEG
    hip = p_W[[j for _, j in links[leg][-2:]]]
    axis = centre / np.linalg.norm(centre)
    along = R_W[trunk] @ axis
    base = float((p_W[trunk] - hip[np.argmax(hip @ along)]) @ along)
    for child in figure.carried[bodies.index(trunk)]:
        at = R_W[trunk].T @ (p_W[bodies[child]] - p_W[trunk])
        if (
            at @ axis + base > (_NECK - _HIP) * height
            and np.linalg.norm(at - (at @ axis) * axis) < _HEAD_RADIUS * height
        ):
            return none
    return trunk, np.array([((level - _HIP) * height - base) * axis for level in (_SHOULDER, _CHIN, 1.0)])


def _ancestors(mb: Multibody, body: int) -> list[int]:
    """Return a body and its ancestors up to the root."""
    path = []
    while body >= 0:
        path.append(body)
        body = int(mb.parents[body])
    return path


def _cycle_times(tables: Mapping[str, pd.DataFrame]) -> list[list[Any]]:
    """Return side, start and end, s, of every gait cycle."""
    if "spatiotemporal" not in tables:
        return []
    cycles: list[list[Any]] = (
        tables["spatiotemporal"][["side", "start_s", "end_s"]].astype({"side": str}).values.tolist()
    )
    return cycles


def _band_half_widths(arrays: Mapping[str, np.ndarray], rows: np.ndarray, shape: _BodyShape) -> str | None:
    """Return half the width of the 95 % band of every joint and end, mm up to 255; None if it is unknown."""
    if "place_sd_m" not in arrays:
        return None
    frames, sd = arrays["place_sd_frames"], np.asarray(arrays["place_sd_m"], dtype=np.float64)
    if sd.shape[1] != shape.figure_count:
        return None
    bands = np.stack([np.interp(rows, frames, column) for column in sd.T], axis=1)
    if shape.count > shape.figure_count:  # further points have the band of the end of the trunk
        end = len(shape.figure.bodies) + shape.figure.bodies.tolist().index(shape.trunk)
        bands = np.hstack([bands, np.repeat(bands[:, [end]], len(shape.extra_m), axis=1)])
    return _encode_base64(np.clip(np.round(1000.0 * 1.959964 * bands), 0, 255).astype("u1"))


def _marker_values(
    arrays: Mapping[str, np.ndarray], rows: np.ndarray, R_W: FloatArray, p_W: FloatArray, centre: FloatArray
) -> dict[str, Any]:
    """Return the measured markers, and the offsets of the model markers from them: mm in 8 bits, up to 127 per axis."""
    bodies, offsets = arrays["marker_links"], arrays["marker_places"]
    fitted = p_W[:, bodies] + np.einsum("tmij,mj->tmi", R_W[:, bodies], offsets)
    measured = np.asarray(arrays["markers_W"], dtype=np.float64)[rows]
    labels = [str(label) for label in arrays["marker_labels"]]
    apart = np.nan_to_num(np.clip(np.round(1000.0 * (fitted - measured)), -127, 127)).astype("<i1")
    return {
        "labels": labels,
        "measured": encode_positions(measured - centre),
        "apart": _encode_base64(apart),
        "links": [],
    }


def _plate_values(arrays: Mapping[str, np.ndarray], centre: FloatArray, contacts: Any) -> list[dict[str, Any]]:
    """Return corners of each plate, and times and decisions of its contacts; plates with unknown edges are omitted."""
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


def _force_values(table: pd.DataFrame, side: str, rows: np.ndarray, centre: FloatArray) -> dict[str, Any]:
    """Return centre of pressure, mm, and force, N, of a foot."""
    cop = table[[f"centre_of_pressure_{side}_{axis}_m" for axis in "xyz"]].to_numpy(dtype=np.float64)[rows]
    force = table[[f"ground_force_{side}_{axis}_N" for axis in "xyz"]].to_numpy(dtype=np.float64)[rows]
    return {
        "name": SIDE_NAMES[side],  # type: ignore[index]
        "color": SIDE_COLORS[side],
        "place": encode_positions(cop - centre),
        "force": encode_integers(force),
    }


def encode_positions(values_m: FloatArray) -> str:
    """Encode positions (..., 3) m for the page."""
    return encode_integers(1000.0 * values_m)


def encode_integers(values: FloatArray) -> str:
    """Encode numbers as base64 of little-endian 16-bit integers; missing numbers and those beyond 32767 are -32768."""
    integers = np.where(np.abs(values) <= -_MISSING - 1, np.round(values), _MISSING)
    return _encode_base64(integers.astype("<i2"))


def _encode_base64(values: np.ndarray) -> str:
    return base64.b64encode(values.tobytes()).decode("ascii")


#: Template of a 3-D view, filled with the values of `scene_context`.
SCENE_TEMPLATE = '{% include "scene.html.j2" %}'
#: Alternative text of a 3-D view.
SEEN = "The body model in motion, measured points, force plates and ground reaction forces"


def scene_explanation(person: Mapping[str, Any], on_poses: bool, plates: int, filtered: bool | None) -> str:
    """Return the text that explains the marks in the view; `plates`: number of plates; `filtered`: True for filtered points,
    None if mixed."""
    words = [
        "Arrows: ground reaction force (1 m = 1000 N) of the right and left foot; "
        "at the pelvis the residual force, ten times as long."
    ]
    if person["ghost"] is not None:
        words.append(
            "95 % band: each joint is within the band in any direction with 95 % probability (1.96 SD of the input errors)."
        )
    if person.get("unmeasured"):
        names = ", ".join(map(segment_title, person["unmeasured"]))
        words.append(f"Pale: segments without markers, whose motion is assumed ({names}).")
    if person["markers"] is not None:
        points = "four points of each measured pose" if on_poses else "measured markers"
        seen_as = {True: ", filtered", False: ", as recorded", None: ""}[filtered]
        words.append(f"Dots: {points}{seen_as}; rings: model markers; red lines: distances above 2 cm.")
    if len(person["plates"]) < plates:
        words.append("Force plates with unknown edges are not drawn.")
    return " ".join(words)


def scene_context(data: Mapping[str, Any], seen: str, drawn: str, hidden_dots: bool = False) -> dict[str, Any]:
    """Return the values for the template of a 3-D view.

    `seen`: alternative text, `drawn`: explanation of the marks. `hidden_dots`: the measured points are those of poses and
    hidden at first. A page with several views keeps "script" of one only.
    """
    return {
        "scene": data,
        "scene_json": script_json(data),
        "script": load_resource("scene.js"),
        "seen": seen,
        "dots": "points of the poses" if hidden_dots else "markers",
        "hidden_dots": hidden_dots,
        "drawn": drawn,
    }
