"""Compute the torques of an OpenSim model from its coordinates, as OpenSim's InverseDynamicsTool does, or from markers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
from scipy.interpolate import make_interp_spline

from biodyn.conventions import BoolArray, FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError, SettingsError
from biodyn.io import file_sha256
from biodyn.io.ground_forces import find_force_files, unusable_forces_note
from biodyn.io.opensim.external_loads import ExternalForces, loads_of_sheet, read_external_loads
from biodyn.io.opensim.storage import TABLE_SUFFIXES, Storage, are_angles_in_degrees, read_storage, uniform_rate_hz
from biodyn.io.opensim.tool_setups import IkSetup, read_ik_setup
from biodyn.io.recording_reader import NO_FORCES
from biodyn.io.tables.spreadsheet import SPREADSHEET_SUFFIXES, read_spreadsheet
from biodyn.processing.kinematics.opensim_inverse_kinematics import (
    OWN_MARKERS_M,
    ModelFit,
    TrackingTasks,
    fit_to_markers,
)
from biodyn.processing.kinematics.visibility import VISIBILITY_RAMP_S
from biodyn.processing.signals.derivatives import LEAST_ROWS, spline_derivatives
from biodyn.processing.signals.filtering import finite_stretches
from biodyn.processing.signals.gaps import fill_gaps, remove_spikes
from biodyn.processing.signals.settings import SignalSettings
from biodyn.processing.signals.smoothing.spline import choose_cutoff
from biodyn.recording import ForcePlate, Markers, PlateCalibration, Recording
from biodyn.recording.recording import StoredMotion
from biodyn.rigid_body import OpenSimModel, from_osim
from biodyn.rigid_body.osim.model_writer import osim_text
from biodyn.settings import Settings, settings_from
from biodyn.trial.bodies.opensim_estimate import balance_fit, balance_motion, require_uniform_times
from biodyn.trial.bodies.opensim_inputs import (
    ModelPoints,
    ScaledModel,
    read_points,
    scale_by_markers,
    scale_by_setup,
    tasks_of_setup,
)
from biodyn.trial.bodies.opensim_loads import (
    FootPlateLoads,
    Loads,
    compute_checked_torques,
    empty_loads,
    plate_loads,
    table_loads,
)
from biodyn.trial.bodies.opensim_result import CoordinateResult, MotionSource

#: Usual cut-off in set-ups of OpenSim's tool, Hz.
CUTOFF_HZ: Final = 6.0


def coordinate_torques(
    motion: str | Path,
    model: str | Path,
    forces: str | Path | None = None,
    cutoff_hz: float | None = None,
    estimate: bool = False,
) -> CoordinateResult:
    """Compute the joint torques of an OpenSim model from the motion of its coordinates.

    Parameters:
        motion: .mot, .sto or spreadsheet with coordinates; missing coordinates follow their coupling or keep the default of the
            model.
        model: .osim file. forces: ExternalLoads XML, or a table of forces with feet in its column names; None = forces in the
            spreadsheet itself, else no load; "none" = no load.
        cutoff_hz: low-pass cut-off of the coordinates, as in OpenSim's tool; 0 = no filter; None = 6 Hz, or no filter if the
            file states that it is smooth (as `biodyn export` does). Forces are not filtered, but interpolated by OpenSim's
            splines.
        estimate: whether motion, masses and the mass centre of the trunk are estimated from coordinates and forces together
            (`balance_motion`), starting from the low-passed coordinates.

    Raises InputFileError or ModelError if a file cannot be read, a loaded body is not in the model, rows are too few, or there
    are gaps.
    """
    body, (table, own_columns) = from_osim(model), _motion_table(Path(motion))
    given, notes = read_coordinates(body, table)
    if len(table.time_s) < LEAST_ROWS:
        raise InputFileError(
            f"'{table.path.name}' has only {len(table.time_s)} rows; accelerations need at least {LEAST_ROWS}."
        )
    if cutoff_hz is None:
        cutoff_hz = 0.0 if table.smooth else CUTOFF_HZ
        notes = [*notes, *_already_smooth_note(table)]
    loads = own_columns if forces is None else None if str(forces) == NO_FORCES else read_external_loads(forces)
    uniform_s, given, uneven_notes = _uniform_rows(table, given)
    notes = [*notes, *uneven_notes]
    time_s = require_uniform_times(uniform_s, table.path.name) if estimate else uniform_s
    acting = empty_loads(len(given)) if loads is None else table_loads(body, loads, time_s)
    balanced_motion = balance_motion(body, time_s, given, cutoff_hz, acting) if estimate else None
    if balanced_motion is None:
        q, v, vdot = spline_derivatives(time_s, given, cutoff_hz)
    else:
        body = balanced_motion.model
        q = balanced_motion.q
        v = balanced_motion.v
        vdot = balanced_motion.vdot
        notes = [*notes, *balanced_motion.notes]
    tau, proof = compute_checked_torques(body, q, v, vdot, acting)
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
            *uncovered_rows_note(acting.covered),
            *body.notes,
        ),
        proof=proof,
        estimated=balanced_motion,
        model_file=None if balanced_motion is None else osim_text(body).encode(),
        source=MotionSource(recording_of_rows(table.path, uniform_s), np.eye(3), acting),
    )


def _already_smooth_note(table: Storage) -> list[Diagnostic]:
    if not table.smooth:
        return []
    text = f"'{table.path.name}' states that it contains a smoothed motion written by biodyn; it is not filtered again."
    return [Diagnostic("model-cutoff", "info", text, hint="To filter it nevertheless, set signals.cutoff_hz.")]


def holds_coordinates(motion: str | Path) -> bool:
    """Return whether a file holds coordinates of a model and no markers or poses; a spreadsheet is read to determine it."""
    path = Path(motion)
    if path.suffix.lower() in SPREADSHEET_SUFFIXES:
        roles = read_spreadsheet(path).roles
        return bool(roles.coordinates) and not (roles.markers or roles.poses)
    return path.suffix.lower() in TABLE_SUFFIXES


def _motion_table(path: Path) -> tuple[Storage, ExternalForces | None]:
    """Return the table of a motion, and the forces with known feet that a spreadsheet contains."""
    if path.suffix.lower() not in SPREADSHEET_SUFFIXES:
        return read_storage(path), None
    sheet = read_spreadsheet(path)
    sided = any(force.side for force in sheet.roles.forces)
    return sheet.table, loads_of_sheet(sheet) if sided else None


def find_adjacent_force_file(motion: str | Path) -> tuple[Path | None, list[Diagnostic]]:
    """Return the force file of a motion next to it that states the feet (None if none exists), and notes."""
    path = Path(motion)
    if path.suffix.lower() in SPREADSHEET_SUFFIXES and _motion_table(path)[1] is not None:
        return None, []
    paths = find_force_files(path)
    if len(paths) != 1:
        several = ", ".join(file.name for file in paths)
        text = f"Several files next to '{path.name}' may contain its ground forces: {several}. None of them is used."
        unclear = Diagnostic("forces-unusable", "warning", text, hint="Choose one: --forces FILE.")
        return None, [unclear] if paths else []
    try:
        read_external_loads(paths[0])
    except InputFileError as error:
        return None, [unusable_forces_note(f"The ground forces next to '{path.name}'", error)]
    text = f"The ground forces are read from '{paths[0].name}' next to the motion."
    hint = "Use --forces FILE for other forces, or --forces none to use no forces."
    return paths[0], [Diagnostic("forces-of-a-table", "info", text, hint=hint)]


def uncovered_rows_note(covered: BoolArray) -> tuple[Diagnostic, ...]:
    """Return the finding if forces do not cover all rows (T,) of a motion, or all torques (T, n) of a row."""
    rows = np.atleast_1d(covered if covered.ndim == 1 else covered.any(axis=1))
    missing = int((~rows).sum())
    if not missing:
        return ()
    message = f"The forces do not cover {missing} of {len(rows)} rows of the motion; these rows have no torques."
    return (Diagnostic("forces-incomplete", "warning", message, value=float(missing)),)


def read_coordinates(model: OpenSimModel, table: Storage) -> tuple[FloatArray, list[Diagnostic]]:
    """Return the values (T, n) of all coordinates of the model, rad and m, and notes."""
    named = [c for c in model.coordinates if c.name in table.names]
    if not named:
        raise InputFileError(
            f"'{table.path.name}' contains no coordinate of the model.",
            f"Coordinates of the model: {', '.join(c.name for c in model.coordinates[:6])} ...; columns of the file: "
            f"{', '.join(table.names[:6])} ...",
        )
    degrees, notes = are_angles_in_degrees(table, [table.column(c.name) for c in named if c.rotational])
    values = np.empty((len(table.time_s), len(model.coordinates)))
    for k, c in enumerate(model.coordinates):
        column = table.column(c.name) if c in named else np.full(len(values), c.default)
        values[:, k] = np.radians(column) if c in named and c.rotational and degrees else column
    if not np.isfinite(values).all():
        k, row = (int(i) for i in np.argwhere(~np.isfinite(values))[0][::-1])
        raise InputFileError(
            f"'{table.path.name}' has no value of {model.coordinates[k].name} at {table.time_s[row]:.3f} s.",
            "Coordinates must not have gaps.",
        )
    tied = {coupling.dependent for coupling in model.couplings}
    lacking = [c.name for c in model.coordinates if c not in named]
    if any(name in tied for name in lacking):
        followed = model.apply_couplings(values)
        at = [k for k, c in enumerate(model.coordinates) if c.name in tied and c.name in lacking]
        values[:, at] = followed[:, at]
    uncoupled_missing = [name for name in lacking if name not in tied]
    if uncoupled_missing:
        listed = ", ".join(uncoupled_missing[:8]) + (" ..." if len(uncoupled_missing) > 8 else "")
        notes.append(
            Diagnostic(
                "locked-coordinates",
                "warning",
                f"{len(uncoupled_missing)} of {len(values[0])} coordinates are not in '{table.path.name}' and keep the default "
                f"of the model: {listed}.",
                value=float(len(uncoupled_missing)),
            )
        )
    return values, notes


def _uniform_rows(table: Storage, values: FloatArray) -> tuple[FloatArray, FloatArray, list[Diagnostic]]:
    """Return uniform times (T,) s and the values (T, n) at these times, interpolated if the rows are not uniform, with a note.

    OpenSim's forward tools write rows with variable steps.
    """
    if uniform_rate_hz(table.time_s) is not None:
        return table.time_s, values, []
    steps_ms = 1e3 * np.diff(table.time_s)
    uniform_s = np.linspace(table.time_s[0], table.time_s[-1], len(table.time_s))
    text = (
        f"The rows of '{table.path.name}' are not uniform in time (steps of {steps_ms.min():.3g} to {steps_ms.max():.3g} ms); "
        "the motion was interpolated at uniform times by cubic splines."
    )
    note = Diagnostic("recording-repaired", "info", text)
    return uniform_s, make_interp_spline(table.time_s, values, k=3)(uniform_s), [note]


def recording_of_rows(path: Path, time_s: FloatArray) -> Recording:
    """Return the rows of a coordinate file, uniform in time, as a recording without markers."""
    step = float(time_s[-1] - time_s[0]) / (len(time_s) - 1)
    markers = Markers((), np.empty((len(time_s), 0, 3)), 1.0 / step)
    return Recording(path, file_sha256(path), StoredMotion(markers=markers), start_s=float(time_s[0]))


@dataclass(frozen=True, eq=False)
class MarkerFittedModel:
    """A model fitted to the markers of a recording.

    Attributes:
        model: model, scaled if `sized` is given. points: points of the recording with short gaps filled. kept: fitted frames.
        time_s, positions: (T,) s and (T, M, 3) m in the fitted frames, with gaps as recorded.
        fit, tasks: fit of the coordinates and its tasks. cutoff_hz: low-pass cut-off of the coordinates, with the note on it.
        forces: given force file. files: files that were read, by kind. setup_notes: notes on the inverse kinematics set-up.
    """

    model: OpenSimModel
    sized: ScaledModel | None
    points: ModelPoints
    kept: slice
    time_s: FloatArray
    positions: FloatArray
    fit: ModelFit
    tasks: TrackingTasks
    cutoff_hz: float
    cutoff_notes: tuple[Diagnostic, ...]
    forces: str | Path | None
    files: Mapping[str, Path]
    setup_notes: tuple[Diagnostic, ...]

    def with_plates(self, plates: Sequence[ForcePlate]) -> MarkerFittedModel:
        """Return the fitted model with other plates, given in its ground frame."""
        recording = replace(self.points.recording, plates=tuple(plates))
        return replace(self, points=replace(self.points, recording=recording))


def fit_model_to_markers(
    walk: str | Path,
    model: str | Path,
    forces: str | Path | None = None,
    ik_setup: str | Path | None = None,
    static: str | Path | None = None,
    scale_setup: str | Path | None = None,
    mass_kg: float | None = None,
    cutoff_hz: float | None = None,
    settings: Settings | None = None,
    progress: Callable[[str], None] = lambda step: None,
    plates: PlateCalibration | None = None,
) -> MarkerFittedModel:
    """Fit the coordinates of an OpenSim model to the markers of a recording.

    Parameters:
        walk: .trc or .c3d. model: .osim with the marker names of the recording.
        forces: ExternalLoads XML, or a table of forces with feet in its column names; None = plates of the recording or, for a
            TRC file, forces in a file next to it if the model has the usual feet; "none" = no load.
        ik_setup: InverseKinematicsTool or IKTaskSet XML with weights; None = all weights are 1.
        static, scale_setup, mass_kg: static trial, OpenSim ScaleTool XML and body mass (kg) for scaling a generic model: by the
            set-up, else by the markers of the static trial. Without all three, the model is used unchanged.
        cutoff_hz: low-pass cut-off of the coordinates, as for `coordinate_torques`; None = determined from the markers
            (`smoothing.spline.choose_cutoff`), or no filter if the markers were computed with this model.
        settings: longest filled gap (`processing.signals.gaps`), and weights by label, which replace those of the set-up; None =
            defaults.
        plates: calibration of the plates of the recording.
    Raises InputFileError or ModelError if a file cannot be read, or there are fewer than three common markers or too few frames.
    """
    progress("reading")
    sized = _scale_model(model, static, scale_setup, mass_kg)
    body = from_osim(model) if sized is None else sized.model
    setup = None if ik_setup is None else read_ik_setup(ik_setup)
    files = {"motion": Path(walk), "model": Path(model), **({} if sized is None else sized.files)}
    if setup is not None:
        files["ik_setup"] = setup.path
    points = read_points(walk, body, forces is None, plates)
    rows = _frames_of_setup(setup, Path(walk), points.time_s)
    time_s, positions = points.time_s[rows], points.positions[rows]
    progress("inverse kinematics")
    options = settings_from(settings)
    tasks = _with_weights(
        tasks_of_setup(setup, body, time_s), body, points.labels, options.inverse_kinematics.marker_weights
    )
    tasks = replace(tasks, fade_s=VISIBILITY_RAMP_S)
    filled = replace(points, positions=_fill_marker_gaps(body, points, options.signals))
    fit = fit_to_markers(body, points.labels, filled.positions[rows], time_s, tasks)
    chosen = [] if cutoff_hz is not None else [_automatic_cutoff_note(fit, positions, points.recording.markers.rate_hz)]
    hz = cutoff_hz if cutoff_hz is not None else float(chosen[0].value or 0.0)
    setup_notes = () if setup is None else tuple(setup.notes)
    return MarkerFittedModel(
        body, sized, filled, rows, time_s, positions, fit, tasks, hz, tuple(chosen), forces, files, setup_notes
    )


def torques_of_fitted_model(
    followed: MarkerFittedModel, estimate: bool = False, progress: Callable[[str], None] = lambda step: None
) -> CoordinateResult:
    """Compute the joint torques of a model fitted to markers.

    estimate: whether motion, masses and the mass centre of the trunk are estimated from markers and forces together
    (`balance_fit`), starting from the low-passed coordinates; False = the low-passed coordinates are used.
    """
    model, fit, time_s, hz = followed.model, followed.fit, followed.time_s, followed.cutoff_hz
    progress("contacts")
    loads, named, files, notes, on_plates = _determine_loads(followed)
    points, kept, sized = followed.points, followed.kept, followed.sized
    recording = points.recording
    markers = Markers(points.labels, followed.positions, recording.markers.rate_hz)
    part = replace(
        recording.with_markers(markers), start_s=float(time_s[0]), first_frame=recording.first_frame + (kept.start or 0)
    )
    on_feet = None if on_plates is None else on_plates.select_frames(kept)
    source = MotionSource(part, points.R_GL, loads, on_feet, followed.tasks)
    progress("estimate" if estimate else "inverse dynamics")
    result = (torques_of_estimate if estimate else torques_of_fit)(model, fit, time_s, source, hz)
    return replace(
        result,
        files={**followed.files, **files},
        loads=named,
        scaling={} if sized is None else sized.record,
        model_file=result.model_file if sized is None or result.model_file else sized.content,
        notes=(
            *(() if sized is None else sized.notes),
            *points.notes,
            *followed.cutoff_notes,
            *notes,
            *followed.setup_notes,
            *result.notes,
        ),
    )


def _fill_marker_gaps(model: OpenSimModel, points: ModelPoints, gaps: SignalSettings) -> FloatArray:
    """Return positions (T, M, 3) m without spikes and with short gaps filled, from other markers of the same body if possible."""
    bodies = {marker.name: marker.body for marker in model.markers}
    groups: dict[str, list[int]] = {}
    for column, label in enumerate(points.labels):
        body = bodies.get(label)
        if body is not None:
            groups.setdefault(body, []).append(column)
    mates = [tuple(group) for group in groups.values()]
    rate_hz = points.recording.markers.rate_hz
    seen = remove_spikes(Markers(points.labels, points.positions, rate_hz)).positions
    return fill_gaps(seen, rate_hz, mates, gaps.spline_gap_s, gaps.rigid_gap_s).positions


def _determine_loads(
    followed: MarkerFittedModel,
) -> tuple[Loads, Sequence[tuple[str, str]], Mapping[str, Path], Sequence[Diagnostic], FootPlateLoads | None]:
    """Determine the loads on the bodies, from the force file if there is one, else from the plates.

    Returns the loads, the name and body of each, the files that were read, notes, and the loads of the plates on the feet
    (None if no plates were used).
    """
    model, points, kept, time_s = followed.model, followed.points, followed.kept, followed.time_s
    forces = followed.forces
    if forces is not None and str(forces) != NO_FORCES:
        measured = read_external_loads(forces)
        named = [(load.name, load.body) for load in measured.loads]
        files = {"forces": measured.table.path}
        return table_loads(model, measured, time_s), named, files, measured.table.notes, None
    if forces is not None:
        return empty_loads(len(time_s)), (), {}, (), None
    # baselines of plates and contacts are determined in the whole recording
    q = followed.fit.q
    if kept != slice(None):
        q = fit_to_markers(model, points.labels, points.positions, points.time_s).q
    recording = points.recording
    found, notes = plate_loads(model, recording, q, followed.cutoff_hz, model.multibody.total_mass_kg)
    files = {f"also_read_{k}": path for k, (path, _) in enumerate(recording.also_read, start=1)}
    if found is None:
        return empty_loads(len(time_s)), (), files, notes, None
    return found.loads.select_frames(kept), found.named, files, notes, found


def _scale_model(
    model: str | Path, static: str | Path | None, scale_setup: str | Path | None, mass_kg: float | None
) -> ScaledModel | None:
    """Return the model scaled to the person; None if no scaling is requested."""
    if scale_setup is not None:
        return scale_by_setup(model, scale_setup, static, mass_kg)
    if static is not None:
        return scale_by_markers(model, static, mass_kg)
    if mass_kg is not None:
        raise SettingsError(
            "A body mass alone cannot scale a model, because it does not determine lengths.",
            "Also give a static trial (--static, or 'static' in study.toml) or an OpenSim scale set-up.",
        )
    return None


def _automatic_cutoff_note(fit: ModelFit, positions: FloatArray, rate_hz: float) -> Diagnostic:
    """Return a finding that states the automatically chosen cut-off of the coordinates, with the reason."""
    if fit.rms_m < OWN_MARKERS_M:
        message = "The markers were computed with this model and match it exactly; its coordinates are not filtered."
        return Diagnostic("model-cutoff", "info", message, value=0.0, unit="Hz")
    automatic = choose_cutoff(positions, rate_hz)
    message = (
        f"Coordinates are low-passed at {automatic.cutoff_hz:g} Hz: {automatic.reason} (set by signals.cutoff_hz)."
    )
    return Diagnostic("model-cutoff", "info", message, value=automatic.cutoff_hz, unit="Hz")


def torques_of_fit(
    model: OpenSimModel, fit: ModelFit, time_s: FloatArray, source: MotionSource, cutoff_hz: float
) -> CoordinateResult:
    """Return the torques of a fitted motion with the given loads; frames without coordinates have no torques."""
    q, v, vdot = (np.full_like(fit.q, np.nan) for _ in range(3))
    runs = finite_stretches(np.asarray(np.isfinite(fit.q).all(axis=1)))
    stretches = [slice(first, stop) for first, stop in runs if stop - first >= LEAST_ROWS]
    if not stretches:
        raise InputFileError(
            f"Fewer than {LEAST_ROWS} consecutive frames show enough markers of the model; accelerations need at least as many."
        )
    for at in stretches:
        q[at], v[at], vdot[at] = spline_derivatives(time_s[at], fit.q[at], cutoff_hz)
    return _torque_result(model, fit, (time_s, q, v, vdot), source, cutoff_hz, fit.notes)


def torques_of_estimate(
    model: OpenSimModel, fit: ModelFit, time_s: FloatArray, source: MotionSource, cutoff_hz: float
) -> CoordinateResult:
    """Return the torques of the motion and inertias that fit markers and forces best."""
    motion, frames, fitted = balance_fit(model, fit, time_s, cutoff_hz, source.loads)
    states = []
    for values in (motion.q, motion.v, motion.vdot):
        every = np.full((len(time_s), values.shape[1]), np.nan)
        every[frames] = values[frames - frames[0]]
        states.append(every)
    result = _torque_result(motion.model, fitted, (time_s, *states), source, cutoff_hz, (*fit.notes, *motion.notes))
    return replace(result, model_file=osim_text(motion.model).encode(), estimated=motion)


def _torque_result(
    model: OpenSimModel,
    fit: ModelFit,
    motion: tuple[FloatArray, ...],
    source: MotionSource,
    cutoff_hz: float,
    notes: Sequence[Diagnostic],
) -> CoordinateResult:
    """Return the result of a motion (times, q, v, vdot) that was fitted to markers."""
    time_s, q, v, vdot = motion
    tau, proof = compute_checked_torques(model, q, v, vdot, source.loads)
    return CoordinateResult(
        model=model,
        files={},
        loads=(),
        time_s=time_s,
        q=q,
        v=v,
        vdot=vdot,
        tau=tau,
        cutoff_hz=cutoff_hz,
        notes=(*notes, *uncovered_rows_note(source.loads.covered), *model.notes),
        proof=proof,
        source=source,
        fit=fit,
    )


def _with_weights(
    tasks: TrackingTasks, model: OpenSimModel, labels: Sequence[str], given: Mapping[str, float]
) -> TrackingTasks:
    """Return the tasks with the given weights by label; without markers in the set-up, all other markers have the weight 1."""
    if not given:
        return tasks
    weights_of_model = (
        {marker.name: 1.0 for marker in model.markers if marker.name in labels}
        if tasks.markers is None
        else tasks.markers
    )
    return replace(tasks, markers={**weights_of_model, **given})


def _frames_of_setup(setup: IkSetup | None, walk: Path, time_s: FloatArray) -> slice:
    """Return the frames stated in the set-up if it was written for this recording, else all."""
    if setup is None or setup.time_range_s is None or Path(setup.marker_file.strip()).name != walk.name:
        return slice(None)
    first, last = (int(np.argmin(np.abs(time_s - t))) for t in setup.time_range_s)
    return slice(first, last + 1)
