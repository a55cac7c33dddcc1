"""Joint torques of an OpenSim model from a recording of markers: its inverse kinematics, then its inverse dynamics.

The coordinates are those at which OpenSim's objective is least (`processing.kinematics.model_markers`); they are smoothed and
differentiated as OpenSim's tool does it (`processing.signals.coordinate_motion`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError, SettingsError
from biodyn.estimation.parameters import EstimationSettings
from biodyn.io.opensim.external_loads import read_external_loads
from biodyn.io.opensim.ik_setup import IkSetup, read_ik_setup
from biodyn.io.reading import NO_FORCES
from biodyn.processing.kinematics.model_markers import OWN_MARKERS_M, ModelFit, Tasks, fit_model
from biodyn.processing.signals.automatic_cutoff import automatic_cutoff
from biodyn.processing.signals.coordinate_motion import LEAST_ROWS, coordinate_motion
from biodyn.processing.signals.filtering import finite_stretches
from biodyn.processing.signals.gaps import fill_gaps
from biodyn.processing.signals.parameters import SignalSettings
from biodyn.processing.signals.spikes import without_spikes
from biodyn.recording import ForcePlate, Markers
from biodyn.rigid_body import OpenSimModel, from_osim
from biodyn.rigid_body.osim.write import osim_text
from biodyn.settings import Settings, settings_from
from biodyn.trial.bodies.opensim_estimate import balanced_fit
from biodyn.trial.bodies.opensim_loads import Loads, OnPlates, no_loads, plate_loads, table_loads, torques
from biodyn.trial.bodies.opensim_reading import (
    Points,
    ScaledModel,
    read_points,
    scaled_by_markers,
    scaled_by_setup,
    tasks_of,
)
from biodyn.trial.from_coordinates import too_short
from biodyn.trial.model_result import CoordinateResult, Source


def run_markers(
    walk: str | Path,
    model: str | Path,
    forces: str | Path | None = None,
    ik_setup: str | Path | None = None,
    static: str | Path | None = None,
    scale_setup: str | Path | None = None,
    mass_kg: float | None = None,
    cutoff_hz: float | None = None,
    settings: Settings | None = None,
    estimate: EstimationSettings | None = None,
    progress: Callable[[str], None] = lambda step: None,
    plates: Sequence[ForcePlate] | None = None,
) -> CoordinateResult:
    """Return the joint torques of an OpenSim model that follows the markers of a recording.

    Parameters:
        walk: .trc or .c3d. model: .osim whose markers have the recording's names.
        forces: ExternalLoads XML, or a table of forces whose columns name the foot; None = the recording's own plates or, of a
            TRC, the forces beside it, where there are some and the model has the usual feet; "none" = no load.
        ik_setup: InverseKinematicsTool or IKTaskSet XML with weights; None = every marker counts 1.
        static, scale_setup, mass_kg: a static trial, an OpenSim ScaleTool XML and a body mass (kg) by which a generic model is
            scaled first: by the set-up, else by the markers of the static trial alone. None of them = the model is the person's.
        cutoff_hz: low-pass of the coordinates, as for `run_coordinates`; None = chosen by the markers
            (`processing.signals.automatic_cutoff`), none at all where the markers are the model's own.
        settings: how long gaps are filled (`processing.signals.gaps`), over what time weights fade beside them, and weights by
            label, over those of the set-up; None = the usual ones.
        estimate: motion, masses and the trunk's mass centre become what explains markers and forces best together
            (`balanced_markers`), starting from the coordinates low-passed so; None = the low-passed coordinates stand.
        plates: in the model's ground, in place of those of the recording; None = those.

    Raises InputFileError, ModelError: a file that cannot be read, fewer than three common markers, too few frames.
    """
    progress("reading")
    sized = _sized(model, static, scale_setup, mass_kg)
    body = from_osim(model) if sized is None else sized.model
    setup = None if ik_setup is None else read_ik_setup(ik_setup)
    files = {"motion": Path(walk), "model": Path(model), **({} if sized is None else sized.files)}
    if setup is not None:
        files["ik_setup"] = setup.path
    points = read_points(walk, body, forces_beside=forces is None)
    if plates is not None:
        points = replace(points, recording=replace(points.recording, plates=tuple(plates)))
    kept = _part_named(setup, Path(walk), points.time_s)
    time_s, positions = points.time_s[kept], points.positions[kept]
    progress("inverse kinematics")
    options = settings_from(settings)
    fitting = options.inverse_kinematics
    tasks = _with_weights(tasks_of(setup, body, time_s), body, points.labels, fitting.marker_weights)
    tasks = replace(tasks, fade_s=fitting.visibility_ramp_s)
    filled = replace(points, positions=_filled(body, points, options.signals))
    fit = fit_model(body, points.labels, filled.positions[kept], time_s, tasks)
    chosen = [] if cutoff_hz is not None else [_chosen_cutoff(fit, positions, points.recording.markers.rate_hz)]
    hz = cutoff_hz if cutoff_hz is not None else float(chosen[0].value or 0.0)
    progress("contacts")
    acting = _acting(body, filled, kept, fit, time_s, hz, forces)
    files |= acting.files
    progress("inverse dynamics" if estimate is None else "estimate")
    if estimate is None:
        result = solved(body, fit, time_s, acting.loads, hz)
    else:
        result = estimated(body, fit, time_s, acting.loads, hz, estimate)
    recording = points.recording
    rate_hz = recording.markers.rate_hz
    return replace(
        result,
        files=files,
        source=Source(
            replace(
                recording.with_markers(Markers(points.labels, positions, rate_hz)),
                start_s=float(time_s[0]),
                first_frame=recording.first_frame + (kept.start or 0),
            ),
            points.R_GL,
            acting.loads,
            None if acting.on_plates is None else acting.on_plates.only(kept),
            tasks,
        ),
        loads=acting.named,
        scaling={} if sized is None else sized.record,
        model_file=result.model_file if sized is None or result.model_file else sized.content,
        notes=(
            *(() if sized is None else sized.notes),
            *points.notes,
            *chosen,
            *acting.notes,
            *(() if setup is None else setup.notes),
            *result.notes,
        ),
    )


def _filled(model: OpenSimModel, points: Points, gaps: SignalSettings) -> FloatArray:
    """Positions (T, M, 3) m without spikes, short gaps filled; the markers of a body of the model fill each other's."""
    bodies = {marker.name: marker.body for marker in model.markers}
    groups: dict[str, list[int]] = {}
    for column, label in enumerate(points.labels):
        body = bodies.get(label)
        if body is not None:
            groups.setdefault(body, []).append(column)
    mates = [tuple(group) for group in groups.values()]
    rate_hz = points.recording.markers.rate_hz
    seen = without_spikes(Markers(points.labels, points.positions, rate_hz)).positions
    return fill_gaps(seen, rate_hz, mates, gaps.spline_gap_s, gaps.rigid_gap_s).positions


@dataclass(frozen=True)
class _Acting:
    """Loads on the model, name and body of each, the files they were read from, what is said of them and of plates."""

    loads: Loads
    named: Sequence[tuple[str, str]] = ()
    files: Mapping[str, Path] = field(default_factory=dict)
    notes: Sequence[Diagnostic] = ()
    on_plates: OnPlates | None = None


def _acting(
    model: OpenSimModel,
    points: Points,
    kept: slice,
    fit: ModelFit,
    time_s: FloatArray,
    cutoff_hz: float,
    forces: str | Path | None,
) -> _Acting:
    """Return the loads of a file of forces, else of the plates of the recording, in its frames `kept`."""
    if forces is not None and str(forces) != NO_FORCES:
        measured = read_external_loads(forces)
        named = [(load.name, load.body) for load in measured.loads]
        files = {"forces": measured.table.path}
        return _Acting(table_loads(model, measured, time_s), named, files, measured.table.notes)
    if forces is not None:
        return _Acting(no_loads(len(time_s)))
    # the zero of plates and the feet that come and go are seen in the whole recording
    whole = fit if kept == slice(None) else fit_model(model, points.labels, points.positions, points.time_s)
    recording = points.recording
    found, notes = plate_loads(model, recording, whole.q, cutoff_hz, model.multibody.total_mass_kg)
    files = {f"also_read_{k}": path for k, (path, _) in enumerate(recording.also_read, start=1)}
    if found is None:
        return _Acting(no_loads(len(time_s)), (), files, notes)
    return _Acting(found.loads.only(kept), found.named, files, notes, found)


def _sized(
    model: str | Path, static: str | Path | None, scale_setup: str | Path | None, mass_kg: float | None
) -> ScaledModel | None:
    """Return the model scaled to the person, None where nothing was given to do it by."""
    if scale_setup is not None:
        return scaled_by_setup(model, scale_setup, static, mass_kg)
    if static is not None:
        return scaled_by_markers(model, static, mass_kg)
    if mass_kg is not None:
        raise SettingsError(
            "A body mass alone scales no model: it says nothing of the lengths.",
            "Name a static trial too (--static, in a study.toml 'static'), or an OpenSim scale set-up.",
        )
    return None


def _chosen_cutoff(fit: ModelFit, positions: FloatArray, rate_hz: float) -> Diagnostic:
    """Return the cut-off that the markers ask for, as a note with its value."""
    if fit.rms_m < OWN_MARKERS_M:
        message = "The markers were computed with this model: they lie on it, and its coordinates need no filter."
        return Diagnostic("model-cutoff", "info", message, value=0.0, unit="Hz")
    found = automatic_cutoff(positions, rate_hz)
    message = (
        f"Coordinates are low-passed at {found.cutoff_hz:g} Hz: {found.reason} (signals.cutoff_hz sets another one)."
    )
    return Diagnostic("model-cutoff", "info", message, value=found.cutoff_hz, unit="Hz")


def solved(model: OpenSimModel, fit: ModelFit, time_s: FloatArray, loads: Loads, cutoff_hz: float) -> CoordinateResult:
    """Return the torques of a fitted motion (T, n) under loads; frames without coordinates have none."""
    q, v, vdot = (np.full_like(fit.q, np.nan) for _ in range(3))
    runs = finite_stretches(np.asarray(np.isfinite(fit.q).all(axis=1)))
    stretches = [slice(first, stop) for first, stop in runs if stop - first >= LEAST_ROWS]
    if not stretches:
        raise InputFileError(
            f"No {LEAST_ROWS} frames in a row show enough markers of the model; accelerations need as many."
        )
    for at in stretches:
        q[at], v[at], vdot[at] = coordinate_motion(time_s[at], fit.q[at], cutoff_hz)
    return _result(model, fit, (time_s, q, v, vdot), loads, cutoff_hz, fit.notes)


def estimated(
    model: OpenSimModel,
    fit: ModelFit,
    time_s: FloatArray,
    loads: Loads,
    cutoff_hz: float,
    settings: EstimationSettings,
) -> CoordinateResult:
    """Return the torques of motion and inertias that explain markers and forces best together."""
    found = balanced_fit(model, fit, time_s, cutoff_hz, loads, settings)
    own = found.motion
    moved = (time_s, *(found.of_recording(part) for part in (own.q, own.v, own.vdot)))
    result = _result(own.model, found.fit, moved, loads, cutoff_hz, (*fit.notes, *own.notes))
    return replace(result, model_file=osim_text(own.model).encode(), estimated=own)


def _result(
    model: OpenSimModel,
    fit: ModelFit,
    motion: tuple[FloatArray, ...],
    loads: Loads,
    cutoff_hz: float,
    notes: Sequence[Diagnostic],
) -> CoordinateResult:
    """The torques of a motion (times, q, v, vdot) that was fitted to markers."""
    time_s, q, v, vdot = motion
    tau, proof = torques(model, q, v, vdot, loads)
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
        notes=(*notes, *too_short(loads.covered), *model.notes),
        proof=proof,
        fit=fit,
    )


def _with_weights(tasks: Tasks, model: OpenSimModel, labels: Sequence[str], given: Mapping[str, float]) -> Tasks:
    """The tasks with weights by label over their own; a set-up that names no markers follows all with 1."""
    if not given:
        return tasks
    own = {one.name: 1.0 for one in model.markers if one.name in labels} if tasks.markers is None else tasks.markers
    return replace(tasks, markers={**own, **given})


def _part_named(setup: IkSetup | None, walk: Path, time_s: FloatArray) -> slice:
    """Return the frames the set-up asks for, where it was written for this very recording."""
    if setup is None or setup.time_range_s is None or Path(setup.marker_file.strip()).name != walk.name:
        return slice(None)
    first, last = (int(np.argmin(np.abs(time_s - t))) for t in setup.time_range_s)
    return slice(first, last + 1)
