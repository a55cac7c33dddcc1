"""Export a trial as OpenSim files: the scaled model with its markers, motion, loads and torques."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from biodyn.conventions import SIDE_NAMES, BoolArray, FloatArray, Side
from biodyn.errors import ResultError
from biodyn.geometry.rotations import matrices_from_quaternions
from biodyn.io.opensim.file_writers import external_loads_text, inverse_dynamics_setup, storage_text, trc_text
from biodyn.io.opensim.storage import SMOOTH
from biodyn.output.figures.trial import TrialView
from biodyn.output.store.folder import MODEL_NAME
from biodyn.processing.dynamics.actuated_motion import ActuatedMotion, actuated_motion_from_arrays
from biodyn.processing.signals.derivatives import MIN_STRETCH_FRAMES
from biodyn.processing.signals.filtering import finite_stretches
from biodyn.processing.signals.segment_angles import continuous_zxy
from biodyn.rigid_body.osim.model import Marker, OpenSimModel
from biodyn.rigid_body.osim.model_writer import (
    BASE_AXES,
    NamedCoordinate,
    component_name,
    model_with_cardan_base,
    osim_text,
)

MODEL, MARKERS, COORDINATES, FORCES = "model.osim", "markers.trc", "coordinates.mot", "grf.mot"
LOADS, TORQUES, SETUP = "external_loads.xml", "inverse_dynamics.sto", "inverse_dynamics_setup.xml"
_OPENSIMS: Final = "inverse_dynamics_opensim.sto"
# With a smaller vertical force the point of application is undefined, N (contact threshold of the plates).
_LEAST_N: Final = 20.0
_LABORATORY_M: Final = 100.0


@dataclass(frozen=True, eq=False)
class OpenSimMotion:
    """The motion and torques of a trial in the coordinates of its OpenSim model.

    Attributes:
        model: OpenSim model, with the six coordinates of the base first. rows: written rows of the result, without gaps.
        time_s: (T,) s. q: (T, n) rad, m. tau: (T, n) N m, N, NaN if not valid.
        notes: sentences on omitted data.
    """

    model: OpenSimModel
    rows: slice
    time_s: FloatArray
    q: FloatArray
    tau: FloatArray
    notes: tuple[str, ...]


def opensim_files(view: TrialView) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Return the files by name, and sentences on missing data; ResultError if the result contains no motion."""
    actuated = actuated_motion_from_arrays(view.arrays)
    motion = opensim_motion(view, actuated)
    names = [coordinate.name for coordinate in motion.model.coordinates]
    turning = np.array([coordinate.rotational for coordinate in motion.model.coordinates])
    title = component_name(str(view.record["input"].get("file", "walk")).rsplit(".", 1)[0])
    text = {
        MODEL: osim_text(motion.model, _model_credits(view)),
        **_motion_tables(
            f"{title} ",
            MODEL,
            motion.time_s,
            (names, turning),
            motion.q,
            motion.tau,
            _load_columns(view, actuated, motion),
        ),
    }
    text[MARKERS] = _markers_text(view, motion)
    return {name: content.encode() for name, content in text.items()}, motion.notes


def _motion_tables(
    title: str,
    model: str,
    time_s: FloatArray,
    coordinates: tuple[Sequence[str], BoolArray],
    q: FloatArray,
    tau: FloatArray,
    forces: tuple[dict[str, tuple[str, str]], dict[str, FloatArray]],
) -> dict[str, str]:
    """Return the tables of motion, torques and loads, and the set-up of OpenSim's inverse dynamics, by name.

    coordinates: names, and whether each is rotational (n,). q, tau: (T, n) rad, m, N m, N. forces: loads, and their columns
    (T,) by name.
    """
    names, turning = coordinates
    loads, columns = forces
    times, angles = {"time": time_s}, np.where(turning, np.degrees(q), q)
    load_name_table = [f"{name}_{'moment' if turns else 'force'}" for name, turns in zip(names, turning, strict=True)]
    text = {
        COORDINATES: storage_text(
            f"{title}coordinates",
            times | dict(zip(names, angles.T, strict=True)),
            (
                SMOOTH,
                "This motion, from which the torques were computed, is already smoothed: do not filter it again.",
                "Rates and accelerations are those of quintic splines through these rows. Degrees and metres.",
            ),
            in_degrees=True,
        ),
        TORQUES: storage_text(
            f"{title}inverse dynamics of biodyn",
            times | dict(zip(load_name_table, tau.T, strict=True)),
            (
                "Generalised forces along the coordinates, Nm and N, positive if they accelerate the coordinate in "
                "the positive direction.",
                "Those of the joint to ground are the residual. nan: unknown, because a ground contact was not measured.",
            ),
        ),
    }
    if loads:
        text[FORCES] = storage_text(
            f"{title}ground reaction",
            times | columns,
            (
                "Forces (N), points (m) and torques (Nm) about the points, in ground, as used for the joint torques.",
                "Zero if a foot is in the air, or if its contact was not measured (joint torques that depend on it are nan).",
            ),
        )
        text[LOADS] = external_loads_text(loads, FORCES)
    slack = 0.5 * float(time_s[1] - time_s[0])
    span = (float(time_s[0]) - slack, float(time_s[-1]) + slack)
    files = {"model": model, "coordinates": COORDINATES, "loads": LOADS if loads else ""}
    text[SETUP] = inverse_dynamics_setup(files, span, _OPENSIMS)
    return text


def _longest_stretch(posed: BoolArray) -> slice:
    """Return the longest interval of frames (T,) with a pose; ResultError if it is too short for accelerations."""
    first, stop = max(finite_stretches(posed), key=lambda run: run[1] - run[0], default=(0, 0))
    if stop - first < MIN_STRETCH_FRAMES:
        raise ResultError("The result contains no interval of motion that is long enough for accelerations.")
    return slice(first, stop)


def opensim_motion(view: TrialView, actuated: ActuatedMotion) -> OpenSimMotion:
    """Return model, coordinates and torques of the longest interval with a pose in every frame."""
    arrays = view.arrays
    posed = np.isfinite(actuated.q).all(axis=1)
    rows = _longest_stretch(np.asarray(posed))
    time_s = actuated.time_s[rows]
    notes = []
    if missing_frames := int(posed.sum()) - len(time_s):
        notes.append(
            f"Only the longest interval without gaps is written ({time_s[0]:.2f}-{time_s[-1]:.2f} s), without "
            f"{missing_frames} other frames with a pose."
        )
    base, coordinates, valid = _named_coordinates(view)
    at_q = [int(i) for i in (*arrays["coordinate_q"], *arrays.get("assumed_coordinate_q", ()))]
    at_v = [coordinate.v_index for coordinate in coordinates]
    R = matrices_from_quaternions(actuated.q[rows, 3:7])
    angles = continuous_zxy(R, actuated.rate_hz)
    q = np.column_stack([angles, actuated.q[rows, :3], actuated.q[rows][:, at_q]])
    tau = np.column_stack([_base_forces(R, angles, actuated.tau[rows, :6]), actuated.tau[rows][:, at_v]])
    known = np.column_stack([np.repeat(arrays["residual_valid"][rows, None], 6, axis=1), valid[rows]])
    tau[~known] = np.nan
    base = [_with_default_value(coordinate, q[0, k]) for k, coordinate in enumerate(base)]
    coordinates = [_with_default_value(coordinate, q[0, 6 + k]) for k, coordinate in enumerate(coordinates)]
    model = model_with_cardan_base(
        actuated.multibody, base, coordinates, _model_markers(arrays, actuated), _model_title(view)
    )
    return OpenSimMotion(model, rows, time_s, q, tau, tuple(notes))


def _model_title(view: TrialView) -> str:
    return f"biodyn_{view.record['subject'].get('name') or 'subject'}"


def _with_default_value(coordinate: NamedCoordinate, value: float) -> NamedCoordinate:
    """Return the coordinate with its first value as default, so that the model is shown in the first pose of the walk."""
    return NamedCoordinate(
        coordinate.name, coordinate.joint, coordinate.v_index, float(value), coordinate.lower, coordinate.upper
    )


def _named_coordinates(view: TrialView) -> tuple[list[NamedCoordinate], list[NamedCoordinate], np.ndarray]:
    """Return the six coordinates of the base, all others (assumed ones last), and (T, C) whether their torques are valid."""
    arrays = view.arrays
    columns = [name.rsplit("_", 1)[0] for name in view.tables["joint_angles"].columns[1:7]]
    root = str(arrays["body_names"][0])
    widths = (2.0 * np.pi,) * 3 + (_LABORATORY_M,) * 3
    base = [
        NamedCoordinate(name, f"ground_{root}", k, lower=-width, upper=width)
        for k, (name, width) in enumerate(zip(columns, widths, strict=True))
    ]
    names = []
    for kind in ("", "assumed_"):
        listed = arrays.get(f"{kind}coordinates", np.array([]))
        for k, name in enumerate(listed):
            joint = arrays.get(f"{kind}coordinate_joints")
            limits = arrays.get(f"{kind}coordinate_range_rad")
            low, high = (-np.pi, np.pi) if limits is None else limits[k]
            names.append(
                NamedCoordinate(
                    str(name),
                    f"{name}_joint" if joint is None else str(joint[k]),
                    int(arrays[f"{kind}coordinate_v"][k]),
                    lower=float(low),
                    upper=float(high),
                )
            )
    valid = np.zeros((len(arrays["time_s"]), len(names)), dtype=bool)
    measured = np.asarray(arrays["torque_valid"])
    valid[:, : measured.shape[1]] = measured
    return base, names, valid


def _base_forces(R_WB: FloatArray, angles: FloatArray, tau: FloatArray) -> FloatArray:
    """Return the forces (T, 6) along the base angles and the origin x, y, z from those along its body-frame twist (T, 6)."""
    moment_W = np.einsum("tij,tj->ti", R_WB, tau[:, :3])
    force_W = np.einsum("tij,tj->ti", R_WB, tau[:, 3:])
    first, second = angles[:, 0], angles[:, 1]
    z, x = np.array(BASE_AXES[0]), np.array(BASE_AXES[1])
    c, s, zero = np.cos(first), np.sin(first), np.zeros(len(first))
    Rz = np.stack([np.stack([c, -s, zero], 1), np.stack([s, c, zero], 1), np.tile(z, (len(c), 1))], axis=1)
    c, s = np.cos(second), np.sin(second)
    Rx_y = np.stack([zero, c, s], axis=1)  # the y axis rotated about x
    axes = np.stack([np.tile(z, (len(c), 1)), Rz @ x, np.einsum("tij,tj->ti", Rz, Rx_y)], axis=1)
    return np.concatenate([np.einsum("tij,tj->ti", axes, moment_W), force_W], axis=1)


def _model_markers(arrays: Mapping[str, Any], actuated: ActuatedMotion) -> list[Marker]:
    if "marker_labels" not in arrays:
        return []
    names = actuated.multibody.body_names
    return [
        Marker(label, names[int(link)], (float(p[0]), float(p[1]), float(p[2])))
        for label, link, p in zip(
            marker_names(arrays["marker_labels"]), arrays["marker_links"], arrays["marker_places"], strict=True
        )
    ]


def marker_names(labels: Iterable[Any]) -> list[str]:
    """Return a unique name that is valid in OpenSim for each label."""
    names: list[str] = []
    for label in labels:
        name = component_name(str(label))
        count = 2
        while name in names:
            name, count = f"{component_name(str(label))}_{count}", count + 1
        names.append(name)
    return names


def _markers_text(view: TrialView, motion: OpenSimMotion) -> str:
    positions = np.asarray(view.arrays["markers_W"], dtype=np.float64)[motion.rows]
    first = int(view.record["input"].get("first_frame") or 1) + motion.rows.start
    return trc_text(MARKERS, marker_names(view.arrays["marker_labels"]), positions, motion.time_s, first)


def _load_columns(
    view: TrialView, actuated: ActuatedMotion, motion: OpenSimMotion
) -> tuple[dict[str, tuple[str, str]], dict[str, FloatArray]]:
    """Return the loads (body and prefix of columns, by name) and their columns."""
    loads: dict[str, tuple[str, str]] = {}
    columns: dict[str, FloatArray] = {}
    sides: list[Side] = [str(side) for side in view.arrays["sides"]]  # type: ignore[misc]
    for k, side in enumerate(sides):
        wrench = actuated.wrenches[motion.rows, k]
        body = component_name(actuated.multibody.body_names[int(actuated.wrench_bodies[k])])
        prefix = f"ground_force_{side}"
        loads[f"{SIDE_NAMES[side]}_foot"] = (body, prefix)
        point = point_of_application(wrench, _ground_height(view, side, motion.rows))
        torque = wrench[:, :3] - np.cross(point, wrench[:, 3:])
        for word, vectors in (("v", wrench[:, 3:]), ("p", point), ("m", torque)):
            columns |= {f"{prefix}_{word}{axis}": vectors[:, i] for i, axis in enumerate("xyz")}
    return loads, columns


def _ground_height(view: TrialView, side: str, rows: slice) -> FloatArray:
    """Return the height (T,) m of the ground under the foot, interpolated between stances."""
    table = view.tables["ground_reaction"]
    heights = np.asarray(table[f"centre_of_pressure_{side}_y_m"], dtype=np.float64)[rows]
    corners = np.asarray(view.arrays.get("plate_corners_W", np.zeros((0, 4, 3))))
    floor = float(corners[..., 1].mean()) if corners.size else 0.0
    return _interpolate_gaps(heights, floor)


def point_of_application(wrench: FloatArray, height: FloatArray) -> FloatArray:
    """Return the points (T, 3) m at which the axis of a wrench (T, 6) about the origin reaches a height (T,) m.

    If the vertical force is too small to determine it, the point is interpolated linearly.
    """
    moment, force = wrench[:, :3], wrench[:, 3:]
    with np.errstate(divide="ignore", invalid="ignore"):
        x = (moment[:, 2] + height * force[:, 0]) / force[:, 1]
        z = (height * force[:, 2] - moment[:, 0]) / force[:, 1]
    loaded = force[:, 1] > _LEAST_N
    x, z = (_interpolate_gaps(np.where(loaded, values, np.nan), 0.0) for values in (x, z))
    return np.stack([x, height, z], axis=1)


def _interpolate_gaps(values: FloatArray, otherwise: float) -> FloatArray:
    """Return numbers (T,) with gaps interpolated linearly; `otherwise` if all are missing."""
    known = np.flatnonzero(np.isfinite(values))
    if not len(known):
        return np.full(len(values), otherwise)
    return np.interp(np.arange(len(values)), known, values[known])


def _model_credits(view: TrialView) -> str:
    record = view.record
    skeleton = record.get("model", {}).get("citations", {}).get("skeleton", {})
    version = dict(record.get("versions") or {}).get("biodyn", "")
    return (
        f"Scaled by biodyn {version} to {record['subject'].get('mass_kg')} kg, {record['subject'].get('height_m')} m. "
        f"{skeleton.get('title', '')}. Axes: X forward, Y up, Z right, as in this walk. No muscles."
    )


# -- a result on an OpenSim model ---------------------------------------------------------------------------------------

# A smaller vertical force does not determine its point of application, N; a point below the root is used, with a matching
# torque.
_LEAST_POINT_N = 1.0


def model_files(view: TrialView, model_file: bytes) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Return the files by name, and sentences on missing data; ResultError if the result contains no motion."""
    arrays, start_s = view.arrays, float(view.record["input"].get("start_s", 0.0))
    posed = np.isfinite(arrays["own_q"]).all(axis=1)
    rows = _longest_stretch(np.asarray(posed))
    time_s = start_s + arrays["time_s"][rows]
    coordinates = [str(name) for name in arrays["own_coordinates"]], np.asarray(arrays["own_rotational"], dtype=bool)
    q, tau = arrays["own_q"][rows], arrays["own_tau"][rows]
    text = _motion_tables("", MODEL_NAME, time_s, coordinates, q, tau, _model_loads(view, rows))
    if "markers_W" in arrays and len(arrays["marker_labels"]):
        positions = np.asarray(arrays["markers_W"], dtype=np.float64)[rows] @ arrays["own_R_WG"]
        begin = int(view.record["input"].get("first_frame") or 1) + rows.start
        labels = [str(label) for label in arrays["marker_labels"]]
        text[MARKERS] = trc_text(MARKERS, labels, positions, time_s, begin)
    missing_frames = int(posed.sum()) - len(time_s)
    notes = (
        (f"Only the longest interval without gaps is written, without {missing_frames} other frames with a motion.",)
        if missing_frames
        else ()
    )
    return {MODEL_NAME: model_file, **{name: content.encode() for name, content in text.items()}}, notes


def _model_loads(view: TrialView, rows: slice) -> tuple[dict[str, tuple[str, str]], dict[str, FloatArray]]:
    """Return the loads (body and prefix of columns, by name) and their columns."""
    arrays = view.arrays
    loads: dict[str, tuple[str, str]] = {}
    columns: dict[str, FloatArray] = {}
    for k, body in enumerate(arrays["foot_wrench_bodies"].tolist()):
        wrench = arrays["foot_wrenches"][rows, k]
        moment, force = wrench[:, :3] @ arrays["own_R_WG"], wrench[:, 3:] @ arrays["own_R_WG"]
        loaded = np.abs(force[:, 1]) > _LEAST_POINT_N
        safe = np.where(loaded, force[:, 1], 1.0)
        point = np.zeros_like(force)
        point[:, 0] = np.where(loaded, moment[:, 2] / safe, 0.0)
        point[:, 2] = np.where(loaded, -moment[:, 0] / safe, 0.0)
        torque = moment - np.cross(point, force)
        prefix = f"ground_force_{k + 1}"
        loads[f"load_{k + 1}"] = (str(arrays["body_names"][body]), prefix)
        for word, vectors in (("v", force), ("p", point), ("m", torque)):
            columns |= {f"{prefix}_{word}{axis}": vectors[:, i] for i, axis in enumerate("xyz")}
    return loads, columns
