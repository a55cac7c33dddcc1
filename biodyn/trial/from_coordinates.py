"""Joint torques of an OpenSim model from coordinates and ground forces: the use case of OpenSim's InverseDynamicsTool.

The motion comes from a .mot or .sto, the loads from an ExternalLoads XML, the body from an .osim. What is computed is what
OpenSim's tool computes, smoothing included (`processing.signals.coordinate_motion`); the mass matrix proves it by another
algorithm.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import BiodynError, InputFileError
from biodyn.estimation.parameters import EstimationSettings
from biodyn.io.ground_forces.beside import forces_beside
from biodyn.io.opensim.external_loads import ExternalForces, loads_of_sheet, read_external_loads
from biodyn.io.opensim.storage import MOST_RADIANS, TABLE_SUFFIXES, Storage, read_storage
from biodyn.io.reading import NO_FORCES
from biodyn.io.tables.spreadsheet import SPREADSHEET_SUFFIXES, read_spreadsheet
from biodyn.processing.signals.coordinate_motion import LEAST_ROWS, coordinate_motion
from biodyn.rigid_body import OpenSimModel, from_osim
from biodyn.rigid_body.osim.write import osim_text
from biodyn.trial.bodies.opensim_estimate import balanced, even_times
from biodyn.trial.bodies.opensim_loads import Loads, no_loads, table_loads, torques
from biodyn.trial.model_analysis import MOST_ROWS, recording_of_rows
from biodyn.trial.model_result import CoordinateResult, Source

#: What nearly all set-ups of OpenSim's tool ask for.
CUTOFF_HZ: Final = 6.0


def run_coordinates(
    motion: str | Path,
    model: str | Path,
    forces: str | Path | None = None,
    cutoff_hz: float | None = None,
    estimate: EstimationSettings | None = None,
) -> CoordinateResult:
    """Return the joint torques that move an OpenSim model as its coordinates say.

    Parameters:
        motion: .mot, .sto or spreadsheet with coordinates; those that it lacks follow their coupling, or stay at the model's
            default.
        model: .osim. forces: ExternalLoads XML, or a table of forces whose columns name the foot; None = those of a spreadsheet
            itself, else no load; "none" = no load.
        cutoff_hz: low-pass of the coordinates, as OpenSim's tool has it; 0 = none; None = 6 Hz, or none where the file says that
            it is smooth (`biodyn export` writes so). Forces are taken as they are, by OpenSim's splines between their rows.
        estimate: motion, masses and the trunk's mass centre become what explains coordinates and forces best together
            (`balanced_coordinates`), starting from the coordinates low-passed so; None = the coordinates are taken as they are.

    Raises InputFileError, ModelError: a file that cannot be read, a load on a body the model does not have, too few rows, gaps.
    """
    body, (table, own) = from_osim(model), _motion_table(Path(motion))
    given, notes = coordinates_of(body, table)
    if len(table.time_s) < LEAST_ROWS:
        raise InputFileError(
            f"'{table.path.name}' has {len(table.time_s)} rows; accelerations need at least {LEAST_ROWS}."
        )
    if cutoff_hz is None:
        cutoff_hz = 0.0 if table.smooth else CUTOFF_HZ
        notes = [*notes, *_smooth_already(table)]
    loads = own if forces is None else None if str(forces) == NO_FORCES else read_external_loads(forces)
    time_s = table.time_s if estimate is None else even_times(table.time_s, table.path.name)
    acting = no_loads(len(given)) if loads is None else table_loads(body, loads, time_s)
    found = None if estimate is None else balanced(body, time_s, given, cutoff_hz, acting, estimate)
    if found is None:
        q, v, vdot = coordinate_motion(time_s, given, cutoff_hz)
    else:
        body, q, v, vdot, notes = found.model, found.q, found.v, found.vdot, [*notes, *found.notes]
    tau, proof = torques(body, q, v, vdot, acting)
    files = {"motion": table.path, "model": Path(model)}
    return CoordinateResult(
        model=body,
        files=files if loads is None else {**files, "forces": loads.table.path},
        loads=[] if loads is None else [(load.name, load.body) for load in loads.loads],
        time_s=time_s,
        q=q,
        v=v,
        vdot=vdot,
        tau=tau,
        cutoff_hz=cutoff_hz,
        notes=(
            *table.notes,
            *(() if loads is None else loads.table.notes),
            *notes,
            *too_short(acting.covered),
            *body.notes,
        ),
        proof=proof,
        estimated=found,
        model_file=None if found is None else osim_text(body).encode(),
        source=_source(table, acting),
    )


def _smooth_already(table: Storage) -> list[Diagnostic]:
    if not table.smooth:
        return []
    text = f"'{table.path.name}' says that biodyn wrote it of a motion that was smoothed: it is not filtered again."
    return [Diagnostic("motion-smooth", "info", text, hint="signals.cutoff_hz filters it all the same.")]


def holds_coordinates(motion: str | Path) -> bool:
    """Whether a file holds coordinates of a model, and no markers or poses; a spreadsheet is read to tell."""
    path = Path(motion)
    if path.suffix.lower() in SPREADSHEET_SUFFIXES:
        roles = read_spreadsheet(path).roles
        return bool(roles.coordinates) and not (roles.markers or roles.poses)
    return path.suffix.lower() in TABLE_SUFFIXES


def _motion_table(path: Path) -> tuple[Storage, ExternalForces | None]:
    """The table of a motion, and of a spreadsheet the forces in it that name their foot."""
    if path.suffix.lower() not in SPREADSHEET_SUFFIXES:
        return read_storage(path), None
    sheet = read_spreadsheet(path)
    sided = any(one.side for one in sheet.roles.forces)
    return sheet.table, loads_of_sheet(sheet) if sided else None


def loads_beside(motion: str | Path) -> tuple[Path | None, list[Diagnostic]]:
    """Return the file of forces beside a motion that belongs to it and names the feet, None where there is none; and notes."""
    path = Path(motion)
    if path.suffix.lower() in SPREADSHEET_SUFFIXES and _motion_table(path)[1] is not None:
        return None, []
    found = forces_beside(path)
    if found.path is None:
        several = ", ".join(file.name for file in found.several)
        text = f"Several files beside '{path.name}' could hold its ground forces: {several}; none is taken."
        unclear = Diagnostic("forces-unclear", "warning", text, hint="Name one: --forces FILE.")
        return None, [unclear] if found.several else []
    try:
        read_external_loads(found.path)
    except InputFileError as error:
        return None, [forces_unusable(path, error)]
    text = f"The ground forces are those of '{found.path.name}' beside the motion."
    hint = "--forces FILE names others, --forces none takes none."
    return found.path, [Diagnostic("forces-of-a-table", "info", text, hint=hint)]


def forces_unusable(motion: Path, error: BiodynError) -> Diagnostic:
    """Return what is said of forces beside a motion that cannot be used."""
    text = f"The ground forces beside '{motion.name}' are not used: {error.message}"
    return Diagnostic("forces-unusable", "warning", text, hint=error.hint)


def _source(table: Storage, acting: Loads) -> Source | None:
    recording = recording_of_rows(table.path, table.time_s) if len(table.time_s) <= MOST_ROWS else None
    return None if recording is None else Source(recording, np.eye(3), acting)


def too_short(covered: BoolArray) -> tuple[Diagnostic, ...]:
    """Return what is to be said where forces do not cover all rows (T,) of a motion, or all torques (T, n) of a row."""
    rows = np.atleast_1d(covered if covered.ndim == 1 else covered.any(axis=1))
    missing = int((~rows).sum())
    if not missing:
        return ()
    message = f"The forces do not cover {missing} of {len(rows)} rows of the motion: no torques there."
    return (Diagnostic("forces-too-short", "warning", message, value=float(missing)),)


def coordinates_of(model: OpenSimModel, table: Storage) -> tuple[FloatArray, list[Diagnostic]]:
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
        degrees = largest > MOST_RADIANS
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
