"""A result on an OpenSim model as OpenSim's own files: the model as it was used, its motion, loads and torques, in its ground."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.errors import ResultError
from biodyn.io.opensim.storage import SMOOTH
from biodyn.io.opensim.write import external_loads_text, inverse_dynamics_setup, storage_text, trc_text
from biodyn.output.store.names import MODEL_NAME
from biodyn.processing.signals.derivatives import MIN_STRETCH_FRAMES
from biodyn.processing.signals.filtering import finite_stretches

if TYPE_CHECKING:
    from biodyn.output.report.view import TrialView

_MARKERS, _COORDINATES, _FORCES, _LOADS = "markers.trc", "coordinates.mot", "grf.mot", "external_loads.xml"
_TORQUES, _SETUP, _OPENSIMS = "inverse_dynamics.sto", "inverse_dynamics_setup.xml", "inverse_dynamics_opensim.sto"
# Below this a vertical force does not tell where it acts; the point is then below the root, and the torque makes up for it.
_LEAST_N = 1.0


def model_files(view: TrialView, model_file: bytes) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Return the files by name and sentences on what they lack. ResultError where the result holds no motion."""
    arrays, start_s = view.arrays, float(view.record["input"].get("start_s", 0.0))
    q, tau, turning = arrays["own_q"], arrays["own_tau"], np.asarray(arrays["own_rotational"], dtype=bool)
    posed = np.isfinite(q).all(axis=1)
    first, stop = max(finite_stretches(np.asarray(posed)), key=lambda run: run[1] - run[0], default=(0, 0))
    if stop - first < MIN_STRETCH_FRAMES:
        raise ResultError("The result holds no stretch of motion that is long enough for accelerations.")
    rows = slice(first, stop)
    time_s = start_s + arrays["time_s"][rows]
    names = [str(name) for name in arrays["own_coordinates"]]
    angles = np.where(turning, np.degrees(q[rows]), q[rows])
    loads, columns = _loads(view, rows)
    text = {
        _COORDINATES: storage_text(
            "coordinates",
            {"time": time_s} | dict(zip(names, angles.T, strict=True)),
            (SMOOTH, "The motion that the torques were computed from: smoothed already, so filter it no further."),
            in_degrees=True,
        ),
        _TORQUES: storage_text(
            "inverse dynamics of biodyn",
            {"time": time_s}
            | {
                f"{name}_{'moment' if turns else 'force'}": column
                for name, turns, column in zip(names, turning.tolist(), tau[rows].T, strict=True)
            },
            ("Generalised forces along the coordinates, Nm and N. nan: not known.",),
        ),
    }
    if loads:
        text[_FORCES] = storage_text(
            "ground reaction",
            {"time": time_s} | columns,
            (
                "Forces (N), points (m) and torques (Nm) about the points, in ground, as the torques were computed with them.",
            ),
        )
        text[_LOADS] = external_loads_text(loads, _FORCES)
    slack = 0.5 * float(time_s[1] - time_s[0])
    span = (float(time_s[0]) - slack, float(time_s[-1]) + slack)
    named = {"model": MODEL_NAME, "coordinates": _COORDINATES, "loads": _LOADS if loads else ""}
    text[_SETUP] = inverse_dynamics_setup(named, span, _OPENSIMS)
    if "markers_W" in arrays and len(arrays["marker_labels"]):
        positions = np.asarray(arrays["markers_W"], dtype=np.float64)[rows] @ arrays["own_R_WG"]
        begin = int(view.record["input"].get("first_frame") or 1) + first
        labels = [str(label) for label in arrays["marker_labels"]]
        text[_MARKERS] = trc_text(_MARKERS, labels, positions, time_s, begin)
    left = int(posed.sum()) - (stop - first)
    notes = (f"Only the longest stretch without a gap is written; {left} more frames have a motion.",) if left else ()
    return {MODEL_NAME: model_file, **{name: content.encode() for name, content in text.items()}}, notes


def _loads(view: TrialView, rows: slice) -> tuple[dict[str, tuple[str, str]], dict[str, FloatArray]]:
    """The loads (body and prefix of columns by name) and their columns."""
    arrays = view.arrays
    loads: dict[str, tuple[str, str]] = {}
    columns: dict[str, FloatArray] = {}
    for k, body in enumerate(arrays["foot_wrench_bodies"].tolist()):
        wrench = arrays["foot_wrenches"][rows, k]
        moment, force = wrench[:, :3] @ arrays["own_R_WG"], wrench[:, 3:] @ arrays["own_R_WG"]
        told = np.abs(force[:, 1]) > _LEAST_N
        safe = np.where(told, force[:, 1], 1.0)
        point = np.zeros_like(force)
        point[:, 0], point[:, 2] = np.where(told, moment[:, 2] / safe, 0.0), np.where(told, -moment[:, 0] / safe, 0.0)
        torque = moment - np.cross(point, force)
        prefix = f"ground_force_{k + 1}"
        loads[f"load_{k + 1}"] = (str(arrays["body_names"][body]), prefix)
        for word, vectors in (("v", force), ("p", point), ("m", torque)):
            columns |= {f"{prefix}_{word}{axis}": vectors[:, i] for i, axis in enumerate("xyz")}
    return loads, columns
