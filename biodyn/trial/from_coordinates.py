"""Joint torques of an OpenSim model from coordinates and ground forces: the use case of OpenSim's InverseDynamicsTool.

The motion comes from a .mot or .sto, the loads from an ExternalLoads XML, the body from an .osim. What is computed is what
OpenSim's tool computes, smoothing included (`processing.signals.coordinate_motion`); the mass matrix proves it by another
algorithm.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError
from biodyn.io import file_sha256
from biodyn.io.opensim.external_loads import ExternalForce, ExternalForces, read_external_loads
from biodyn.io.opensim.storage import Storage, read_storage
from biodyn.output.store.names import COORDINATES, KIND_ENTRY, RECORD_NAME, RECORD_VERSION, TABLES_FOLDER, table_path
from biodyn.output.store.record.run import versions
from biodyn.output.store.replacing import writing
from biodyn.output.store.write import seal
from biodyn.output.tables.csv import write_csv
from biodyn.processing.signals.coordinate_motion import LEAST_ROWS, coordinate_motion
from biodyn.rigid_body import OpenSimModel, from_osim
from biodyn.rigid_body.coupling.functions import cubic_spline

#: What nearly all set-ups of OpenSim's tool ask for.
CUTOFF_HZ: Final = 6.0
# No joint turns farther: numbers beyond this are degrees.
_MOST_RADIANS: Final = 4.0 * np.pi
# Two algorithms, double precision, models of up to a hundred coordinates.
_PROOF_LIMIT: Final = 1e-9


@dataclass(frozen=True, eq=False)
class CoordinateResult:
    """Joint torques from given coordinates.

    Attributes:
        model: the OpenSim model. motion, forces: the files read; forces None = no load.
        time_s: (T,). q, v, vdot, tau: (T, n) in the order of `model.coordinates`; rad, m, N m, N. tau is NaN where the table of
            forces does not reach.
        cutoff_hz: of the coordinates, 0 = none. notes: what was assumed or left out.
        proof: largest difference of tau to mass matrix times acceleration plus bias, as a share of the largest torque.
    """

    model: OpenSimModel
    model_path: Path
    motion: Path
    forces: ExternalForces | None
    time_s: FloatArray
    q: FloatArray
    v: FloatArray
    vdot: FloatArray
    tau: FloatArray
    cutoff_hz: float
    notes: tuple[Diagnostic, ...]
    proof: float

    @property
    def joint_angles(self) -> pd.DataFrame:
        """time_s, then <coordinate>_deg or _m."""
        return self._table(self.q, "_deg", "_m", np.degrees(1.0))

    @property
    def joint_torques(self) -> pd.DataFrame:
        """time_s, then <coordinate>_Nm or _N; those of the joint to ground are the residual."""
        return self._table(self.tau, "_Nm", "_N", 1.0)

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """All tables by name."""
        return {"joint_angles": self.joint_angles, "joint_torques": self.joint_torques}

    @property
    def residual(self) -> dict[str, float]:
        """RMS of the torques and forces of the joint to ground, N m and N by coordinate: of a free root zero for perfect data."""
        return {
            c.name: float(np.sqrt(np.nanmean(self.tau[:, k] ** 2)))
            for k, c in enumerate(self.model.coordinates)
            if c.to_ground and np.isfinite(self.tau[:, k]).any()
        }

    @property
    def record(self) -> Mapping[str, Any]:
        """What run.json holds."""
        files = {"motion": self.motion, "model": self.model_path}
        if self.forces is not None:
            files["forces"] = self.forces.table.path
        return {
            "record_version": RECORD_VERSION,
            KIND_ENTRY: COORDINATES,
            "versions": versions(),
            "input": {
                "frames": len(self.time_s),
                **{name: {"name": path.name, "sha256": file_sha256(path)} for name, path in files.items()},
            },
            "settings": {"cutoff_hz": self.cutoff_hz},
            "subject": {"mass_kg": self.model.multibody.total_mass_kg},
            "loads": [] if self.forces is None else [{"name": f.name, "body": f.body} for f in self.forces.loads],
            "residual_rms": self.residual,
            "proof": {"mass_matrix": self.proof, "limit": _PROOF_LIMIT},
            "diagnostics": [note.as_dict() for note in self.notes],
        }

    def save(self, folder: str | Path, force: bool = False) -> Path:
        """Write run.json and the tables; ResultError where the folder cannot become a result (see `writing`)."""
        with writing(Path(folder), force) as place:
            (place / TABLES_FOLDER).mkdir()
            for name, table in self.tables.items():
                write_csv(table, place / table_path(name))
            text = json.dumps(self.record, indent=2, allow_nan=False) + "\n"
            (place / RECORD_NAME).write_text(text, encoding="utf-8")
            seal(place)
        return Path(folder)

    def summary(self) -> list[str]:
        """Lines for the screen."""
        loads = [] if self.forces is None else [f"{f.name} on {f.body}" for f in self.forces.loads]
        residual = ", ".join(f"{name} {value:.1f}" for name, value in self.residual.items())
        return [
            f"Model: {self.model.name}, {self.model.multibody.total_mass_kg:.1f} kg, {len(self.model.coordinates)} coordinates",
            f"Motion: {len(self.time_s)} rows, {self.time_s[0]:.2f}-{self.time_s[-1]:.2f} s, "
            + (f"low-passed at {self.cutoff_hz:g} Hz" if self.cutoff_hz else "as given"),
            f"Loads: {', '.join(loads) or 'none'}",
            f"Residual of the joint to ground, RMS (Nm, N): {residual or 'no such joint'}",
            f"Mass matrix times acceleration plus bias gives the same torques within {self.proof:.0e} of the largest "
            f"(limit {_PROOF_LIMIT:.0e}).",
        ]

    def _table(self, values: FloatArray, turning: str, sliding: str, factor: float) -> pd.DataFrame:
        columns = {"time_s": self.time_s}
        for k, c in enumerate(self.model.coordinates):
            columns[c.name + (turning if c.rotational else sliding)] = values[:, k] * (factor if c.rotational else 1.0)
        return pd.DataFrame(columns)


def run_coordinates(
    motion: str | Path,
    model: str | Path,
    forces: str | Path | None = None,
    cutoff_hz: float = CUTOFF_HZ,
) -> CoordinateResult:
    """Return the joint torques that move an OpenSim model as its coordinates say.

    Parameters:
        motion: .mot or .sto with coordinates; those that it lacks follow their coupling, or stay at the model's default.
        model: .osim. forces: ExternalLoads XML, or a table of forces whose columns name the foot; None = no load.
        cutoff_hz: low-pass of the coordinates, as OpenSim's tool has it; 0 = none. Forces are taken as they are, by OpenSim's
            splines between their rows.

    Raises InputFileError, ModelError: a file that cannot be read, a load on a body the model does not have, too few rows, gaps.
    """
    body, table = from_osim(model), read_storage(motion)
    given, notes = _coordinates(body, table)
    if len(table.time_s) < LEAST_ROWS:
        raise InputFileError(
            f"'{table.path.name}' has {len(table.time_s)} rows; accelerations need at least {LEAST_ROWS}."
        )
    q, v, vdot = coordinate_motion(table.time_s, given, cutoff_hz)
    loads = None if forces is None else read_external_loads(forces)
    wrenches, bodies, covered = _wrenches(body, loads, table.time_s, q)
    tau = body.coupled.inverse_dynamics(q, v, vdot, wrenches, bodies)
    bias = body.coupled.inverse_dynamics(q, v, np.zeros_like(vdot), wrenches, bodies)
    by_mass = np.einsum("tij,tj->ti", body.coupled.mass_matrix(q), vdot) + bias
    proof = float(np.abs(by_mass - tau).max() / max(float(np.abs(tau).max()), 1e-12))
    tau[~covered] = np.nan
    if not covered.all():
        notes.append(
            Diagnostic(
                "forces-too-short",
                "warning",
                f"The forces do not cover {int((~covered).sum())} of {len(covered)} rows of the motion: no torques there.",
                value=float((~covered).sum()),
            )
        )
    return CoordinateResult(
        body,
        Path(model),
        table.path,
        loads,
        table.time_s,
        q,
        v,
        vdot,
        tau,
        cutoff_hz,
        (*notes, *body.notes),
        proof,
    )


def _coordinates(model: OpenSimModel, table: Storage) -> tuple[FloatArray, list[Diagnostic]]:
    """Return (T, n) rad and m of every coordinate of the model."""
    named = [c for c in model.coordinates if c.name in table.names]
    if not named:
        raise InputFileError(
            f"'{table.path.name}' holds no coordinate of the model.",
            f"The model's are {', '.join(c.name for c in model.coordinates[:6])} ...; the file's columns "
            f"{', '.join(table.names[:6])} ...",
        )
    notes: list[Diagnostic] = []
    degrees = table.in_degrees
    if degrees is None:
        largest = max((float(np.nanmax(np.abs(table.column(c.name)))) for c in named if c.rotational), default=0.0)
        degrees = largest > _MOST_RADIANS
        unit = "degrees" if degrees else "radians"
        message = f"'{table.path.name}' does not say its unit of angle: taken as {unit} (largest number {largest:.3g})."
        notes.append(Diagnostic("angle-unit-assumed", "info", message, value=largest))
    values = np.empty((len(table.time_s), len(model.coordinates)))
    for k, c in enumerate(model.coordinates):
        column = table.column(c.name) if c in named else np.full(len(values), c.default)
        values[:, k] = np.radians(column) if c in named and c.rotational and degrees else column
    if not np.isfinite(values).all():
        k, row = (int(i) for i in np.argwhere(~np.isfinite(values))[0][::-1])
        raise InputFileError(
            f"'{table.path.name}' has no number for {model.coordinates[k].name} at {table.time_s[row]:.3f} s.",
            "Coordinates must have no gaps.",
        )
    tied = {coupling.dependent for coupling in model.couplings}
    lacking = [c.name for c in model.coordinates if c not in named]
    if any(name in tied for name in lacking):
        followed = model.with_couplings(values)
        at = [k for k, c in enumerate(model.coordinates) if c.name in tied and c.name in lacking]
        values[:, at] = followed[:, at]
    still = [name for name in lacking if name not in tied]
    if still:
        listed = ", ".join(still[:8]) + (" ..." if len(still) > 8 else "")
        notes.append(
            Diagnostic(
                "coordinates-at-default",
                "warning",
                f"{len(still)} of {len(values[0])} coordinates are not in '{table.path.name}' and stay at the model's default: "
                f"{listed}.",
                value=float(len(still)),
            )
        )
    return values, notes


def _wrenches(
    model: OpenSimModel, forces: ExternalForces | None, time_s: FloatArray, q: FloatArray
) -> tuple[FloatArray | None, list[int], np.ndarray]:
    """Return wrenches (T, K, 6) about the world origin, the bodies they act on, and the rows (T,) that the table covers."""
    if forces is None:
        return None, [], np.ones(len(time_s), dtype=bool)
    table = forces.table
    slack = float(np.median(np.diff(table.time_s)))
    covered = (time_s >= table.time_s[0] - slack) & (time_s <= table.time_s[-1] + slack)
    wrenches, bodies = np.zeros((len(time_s), len(forces.loads), 6)), []
    for k, load in enumerate(forces.loads):
        force, point, moment = (_at(table, names, time_s) for names in (load.force, load.point, load.moment))
        force, moment = (_in_world(model, q, load.force_in, vector, None) for vector in (force, moment))
        point = _in_world(model, q, load.point_in, point, load)
        wrenches[:, k, :3], wrenches[:, k, 3:] = moment + np.cross(point, force), force
        bodies.append(model.multibody.body_index(load.body))
    return wrenches, bodies, covered


def _at(table: Storage, names: tuple[str, ...], time_s: FloatArray) -> FloatArray:
    """Three columns (T, 3) at other times by OpenSim's splines; what has no number is no load."""
    if not names:
        return np.zeros((len(time_s), 3))
    columns = [np.nan_to_num(table.column(name)) for name in names]
    return np.column_stack([cubic_spline(table.time_s, column).at(time_s[None])[0] for column in columns])


def _in_world(
    model: OpenSimModel,
    q: FloatArray,
    body: str,
    vectors: FloatArray,
    place: ExternalForce | None,
) -> FloatArray:
    """Return vectors (T, 3) of a body's axes in the world's, as places where they are some."""
    if body.lower() == "ground":
        return vectors
    b, (R_WB, p_WB) = model.multibody.body_index(body), model.coupled.body_poses(q)
    turned = np.einsum("tij,tj->ti", R_WB[:, b], vectors)
    return turned if place is None else turned + p_WB[:, b]
