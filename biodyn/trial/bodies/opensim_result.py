"""Coordinates and torques of an OpenSim model, and its motion for replay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import ModelError, ResultError
from biodyn.io import file_sha256
from biodyn.io.opensim.file_writers import storage_text
from biodyn.io.opensim.storage import SMOOTH
from biodyn.output.store.folder import (
    COORDINATES,
    KIND_ENTRY,
    MODEL_NAME,
)
from biodyn.processing.dynamics.actuated_motion import ActuatedMotion
from biodyn.processing.dynamics.opensim_inverse_dynamics import ModelMotion
from biodyn.processing.kinematics.opensim_inverse_kinematics import ModelFit, TrackingTasks
from biodyn.recording import Recording
from biodyn.rigid_body import OpenSimModel
from biodyn.rigid_body.coupling.reduced_tree import ReducedTree, floating_tree, require_coordinate_rates
from biodyn.rigid_body.marker_fit import STOPPED, UNDETERMINED, UNSEEN
from biodyn.rigid_body.osim.document import parse_document
from biodyn.rigid_body.osim.model import build_model, find_model_element
from biodyn.trial.bodies.opensim_estimate import BalancedMotion
from biodyn.trial.bodies.opensim_loads import PROOF_LIMIT, UNBORNE, FootPlateLoads, Loads, unbalanced_rows

_UNBORNE_FRAMES = 0.05  # smallest reported share of frames in which forces that carried the body are missing


@dataclass(frozen=True, eq=False)
class MotionSource:
    """The origin of a motion of a model, in the ground frame of the model.

    Attributes:
        recording: frames of the motion, without markers for given coordinates. R_GL: (3, 3) rotation from laboratory axes.
        loads: external loads. on_plates: loads from the plates of the recording, None without. tasks: tasks of the marker fit.
    """

    recording: Recording
    R_GL: FloatArray
    loads: Loads
    on_plates: FootPlateLoads | None = None
    tasks: TrackingTasks = field(default_factory=TrackingTasks)


@dataclass(frozen=True, eq=False)
class CoordinateResult:
    """Joint torques of an OpenSim model.

    Attributes:
        model: OpenSim model, scaled if requested. files: files that were read, by kind (motion, model, forces, ...).
        loads: name and body of every load; empty without external loads.
        time_s: (T,) s. q, v, vdot, tau: (T, n) in the order of `model.coordinates`; rad, m, N m, N. NaN if the motion is
            unknown; tau also if the forces are unknown.
        cutoff_hz: cut-off of the coordinates, 0 = no filter. notes: notes for the user.
        proof: largest difference of tau from mass matrix times acceleration plus bias, relative to the largest torque.
        fit: fit to markers, None for given coordinates; q is smoothed, `fit.q` is not.
        scaling: record of the scaling; empty = the model was not scaled.
        model_file: .osim file of the model. source: origin of the motion.
        estimated: changes made by the estimate of motion and inertias, None without an estimate.
    """

    model: OpenSimModel
    files: Mapping[str, Path]
    loads: Sequence[tuple[str, str]]
    time_s: FloatArray
    q: FloatArray
    v: FloatArray
    vdot: FloatArray
    tau: FloatArray
    cutoff_hz: float
    notes: tuple[Diagnostic, ...]
    proof: float
    source: MotionSource
    fit: ModelFit | None = None
    scaling: Mapping[str, Any] = field(default_factory=dict)
    model_file: bytes | None = None
    estimated: BalancedMotion | None = None

    def motion(self, R_WG: FloatArray) -> ModelMotion:
        """Return the motion in the coordinates of the model. R_WG: (3, 3) rotation from the ground frame of the model to
        World."""
        coordinates = self.model.coordinates
        names, rotational = tuple(c.name for c in coordinates), tuple(c.rotational for c in coordinates)
        return ModelMotion(names, rotational, self.q, self.v, self.vdot, self.tau, self.proof, R_WG)

    @property
    def residual(self) -> dict[str, float]:
        """Return the RMS torques and forces of the joint to ground by coordinate, N m and N; zero for a free root and perfect
        data."""
        return {
            c.name: float(np.sqrt(np.nanmean(self.tau[:, k] ** 2)))
            for k, c in enumerate(self.model.coordinates)
            if c.to_ground and np.isfinite(self.tau[:, k]).any()
        }

    @property
    def findings(self) -> tuple[Diagnostic, ...]:
        """Return the notes, and a warning if forces that carried the body are missing."""
        known = np.isfinite(self.tau).all(axis=1)
        share = float(np.mean(unbalanced_rows(self.model, self.tau[known]))) if known.any() else 0.0
        if share <= _UNBORNE_FRAMES:
            return self.notes
        message = (
            f"In {100 * share:.0f} % of the frames the joint to ground bears more than {100 * UNBORNE:.0f} % of body weight. "
            f"Ground forces and torques of the standing legs are missing or wrong in these frames."
        )
        hint = "Do not use torques of these frames; give the force file with --forces."
        return (*self.notes, Diagnostic("forces-missing", "warning", message, share, _UNBORNE_FRAMES, hint=hint))

    @property
    def record(self) -> Mapping[str, Any]:
        """Return entries of run.json."""
        return {
            KIND_ENTRY: COORDINATES,
            "input": {
                "frames": len(self.time_s),
                **{name: {"name": path.name, "sha256": file_sha256(path)} for name, path in self.files.items()},
                "start_s": self.source.recording.start_s,
            },
            "settings": {"cutoff_hz": self.cutoff_hz},
            "loads": [{"name": name, "body": body} for name, body in self.loads],
            **({} if self.fit is None else {"inverse_kinematics": _fit_record(self.fit)}),
            **({"scaling": self.scaling} if self.scaling else {}),
            **({} if self.estimated is None else {"balance": self.estimated.record}),
            "residual_rms": self.residual,
            "proof": {"mass_matrix": self.proof, "limit": PROOF_LIMIT},
        }

    def summary(self) -> list[str]:
        """Return lines for the screen on model, motion, marker errors, loads, residual and numerical check."""
        loads = [f"{name} on {body}" for name, body in self.loads]
        residual = ", ".join(f"{name} {value:.1f}" for name, value in self.residual.items())
        lines = [
            f"Model: {self.model.name}, {self.model.multibody.total_mass_kg:.1f} kg, {len(self.model.coordinates)} coordinates",
            f"Motion: {len(self.time_s)} rows, {self.time_s[0]:.2f}-{self.time_s[-1]:.2f} s, "
            + (f"low-passed at {self.cutoff_hz:g} Hz" if self.cutoff_hz else "as given"),
        ]
        if self.fit is not None:
            lines.append(f"Marker tracking error: {1e3 * self.fit.rms_m:.1f} mm RMS ({len(self.fit.labels)} markers)")
        if self.estimated is not None:
            lines += self.estimated.summary()
        return [
            *lines,
            f"Loads: {', '.join(loads) or 'none'}",
            f"Residual of the joint to ground, RMS (Nm, N): {residual or 'no such joint'}",
            f"Numerical check: mass matrix times acceleration plus bias differs by {self.proof:.0e} of the largest torque "
            f"(limit {PROOF_LIMIT:.0e}).",
        ]

    @property
    def motion_file(self) -> bytes | None:
        """Return the estimated coordinates as a .mot file, for use without a filter; None without an estimate."""
        if self.estimated is None:
            return None
        columns = {c.name: self.q[:, k] for k, c in enumerate(self.model.coordinates)}
        note = f"Estimated together with {MODEL_NAME}; do not filter again. Radians and metres."
        return storage_text("coordinates", {"time": self.time_s, **columns}, (SMOOTH, note)).encode()


def _fit_record(fit: ModelFit) -> dict[str, Any]:
    """Return the entry of run.json about a marker fit."""
    status = fit.solution.status
    return {
        "markers": {label: float(weight) for label, weight in zip(fit.labels, fit.weights, strict=True)},
        "rms_m": fit.rms_m,
        "frames_not_converged": int(np.count_nonzero(status == STOPPED)),
        "frames_undetermined": int(np.count_nonzero(status == UNDETERMINED)),
        "coordinates_undetermined": list(fit.open),
        "frames_unseen": int(np.count_nonzero(status == UNSEEN)),
    }


# A locked coordinate that moves by more (rad, m) was given as input and is replayed like the others.
_STILL = 1e-9


def model_motion(
    arrays: Mapping[str, np.ndarray], stored: ActuatedMotion, model_file: bytes
) -> tuple[ActuatedMotion, dict[str, tuple[int, int]]]:
    """Return motion and forces of a result in the free coordinates of the model, and their indices in q and v by name.

    Raises ResultError if it cannot be replayed.
    """
    model = build_model(find_model_element(parse_document(model_file, MODEL_NAME), MODEL_NAME))
    tree = floating_tree(model.coupled)
    if tree is None:
        raise ResultError("The motion cannot be replayed because several bodies of the model are attached to ground.")
    names, coupled = model.independent_coordinates()
    try:
        require_coordinate_rates(coupled.layers)
    except ModelError as error:
        raise ResultError(str(error)) from error
    all_names = [str(name) for name in arrays["own_coordinates"]]
    q = arrays["own_q"][:, [all_names.index(name) for name in names]]
    v = arrays["own_v"][:, [all_names.index(name) for name in names]]
    vdot = arrays["own_vdot"][:, [all_names.index(name) for name in names]]
    known = np.isfinite(q).all(axis=1)
    free = _moving_coordinates(model, names, q[known])
    places = np.array([names.index(name) for name in free], dtype=np.int64)
    held = np.nanmean(q[known], axis=0)
    reduced = ReducedTree(tree, coupled.layers, free, places, held)
    configurations = np.hstack([stored.q[:, :7], q[:, places]])
    speeds = np.hstack([stored.v[:, :6], v[:, places]])
    actuated = replace(
        stored,
        multibody=tree.multibody,
        reduced=reduced,
        q=configurations,
        v=speeds,
        vdot=np.hstack([stored.vdot[:, :6], vdot[:, places]]),
        tau=_coordinate_forces(reduced, configurations, speeds, stored.tau),
    )
    return actuated, {name: (7 + k, 6 + k) for k, name in enumerate(free)}


def _moving_coordinates(model: OpenSimModel, names: tuple[str, ...], q: FloatArray) -> tuple[str, ...]:
    """Return the moving coordinates: without those between root and ground, and without locked ones."""
    coordinates = {c.name: c for c in model.coordinates}
    still = dict(zip(names, np.ptp(q, axis=0) < _STILL, strict=True))
    return tuple(
        name
        for name in names
        if not coordinates[name].to_ground
        and not ((coordinates[name].locked or coordinates[name].prescribed) and still[name])
    )


def _coordinate_forces(reduced: ReducedTree, q: FloatArray, v: FloatArray, tau: FloatArray) -> FloatArray:
    """Return the forces (T, nv) along the free coordinates from those along the joints of the tree."""
    forces = np.full_like(v, np.nan)
    rows = np.flatnonzero(np.isfinite(q).all(axis=1) & np.isfinite(tau).all(axis=1))
    _, _, G, _ = reduced.tree_state(q[rows], v[rows])
    forces[rows] = reduced.reduced_forces(tau[rows], G)
    return forces
