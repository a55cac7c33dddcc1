"""Analyse a trial on an OpenSim model: from the torques of its coordinates to contacts, events, joint loads and checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import numpy as np

from biodyn.analysis import ImportedModelData, StaticFacts, SubjectFacts, TrialAnalysis
from biodyn.checks import add_verdict, check_recording
from biodyn.checks.body import STEP as PROOF_STEP
from biodyn.checks.estimators.plate_faults import correct_corner_order
from biodyn.checks.trial_facts import collect_trial_evidence
from biodyn.conventions import SIDES, FloatArray, Side
from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError, ModelError, SettingsError
from biodyn.geometry.rotations import matrices_from_axis_angle
from biodyn.io import file_sha256
from biodyn.io.ground_forces import unusable_forces_note
from biodyn.io.recording_reader import NO_FORCES
from biodyn.model.from_osim.imported_model import ImportedModel, imported_model
from biodyn.model.marker_roles import MarkerMapping, MarkerRole
from biodyn.processing.calibration.subject_measurements import find_age, leg_length
from biodyn.processing.contacts.foot_motion import GaitPoints, gait_points
from biodyn.processing.contacts.ground_reaction import ground_reaction_from_forces
from biodyn.processing.dynamics.opensim_inverse_dynamics import ModelMotion, fit_from_model_motion, solve_model_dynamics
from biodyn.processing.gait.activity import Activity, recognise_activity
from biodyn.processing.gait.events import gait_events
from biodyn.processing.gait.kinematic_events import kinematic_events
from biodyn.processing.kinematics.opensim_inverse_kinematics import OWN_MARKERS_M
from biodyn.processing.kinematics.skeleton_fit import base_angles
from biodyn.processing.signals.plate_wrenches import plate_wrench
from biodyn.processing.signals.signal_preparation import TrialSignals, prepare_signals, replace_wrenches
from biodyn.processing.signals.smoothing.butterworth import BUTTERWORTH, ESTIMATE
from biodyn.processing.signals.world_frame import find_world, is_plate_z_up
from biodyn.recording import Contact, ForcePlate, GaitEvent, GroundReaction, PlateWrench, Recording
from biodyn.settings import Settings
from biodyn.threads import limit_to_one_thread
from biodyn.trial.bodies.opensim_loads import Loads
from biodyn.trial.bodies.opensim_motion import (
    coordinate_torques,
    find_adjacent_force_file,
    fit_model_to_markers,
    holds_coordinates,
    torques_of_fitted_model,
)
from biodyn.trial.bodies.opensim_result import CoordinateResult
from biodyn.trial.request import TrialRequest
from biodyn.trial.result import TrialResult
from biodyn.trial.stage_timing import StepClock
from biodyn.trial.trial_files import NO_STATIC
from biodyn.uncertainty.monte_carlo_bands import ImportedInputs, monte_carlo_torque_bands, nominal_draw, recompute_draw
from biodyn.uncertainty.propagation_inputs import TrialInputs, stride_time
from biodyn.uncertainty.torque_bands import TorqueUncertainty

#: Settings that apply to such a trial: entries, or whole sections.
FOLLOWED = (
    *("signals.cutoff_hz", "signals.method", "estimation", "model.osim", "contacts", "gait", "limits", "uncertainty"),
    *("signals.spline_gap_s", "signals.rigid_gap_s"),
    "inverse_kinematics.marker_weights",
    *("output", "report", "subject"),
)
_TRAVEL_M: Final = 0.5  # a person who travels less is assumed to move in the facing direction
_SPAN_S: Final = 0.1  # largest difference in duration between plates and markers


@dataclass(frozen=True, repr=False)
class ModelResult(TrialResult):
    """The result of a trial on an OpenSim model.

    own: coordinates, torques and residual in the order and with the names of the model; scaling; numerical check of the
    torques.
    """

    own: CoordinateResult = field(kw_only=True)

    def _input_lines(self) -> list[str]:
        """Return lines on the model, its motion and its loads."""
        activity = self.analysis.activity
        return [*self.own.summary(), f"Activity: {activity.kind}: {activity.reason}"]


@limit_to_one_thread()
def run_on_model(request: TrialRequest, progress: Callable[[str], None] | None = None) -> ModelResult:
    """Run a trial on the OpenSim model `model.osim` of its settings.

    The motion is given by markers (.trc, .c3d) or coordinates (.mot, .sto) of the model, or by a spreadsheet of either. Only
    the settings in `FOLLOWED` apply; `signals.method` is "estimate" or "auto".

    Raises InputFileError, ModelError and SettingsError as `fit_model_to_markers`, `coordinate_torques` and `complete_result` do.
    """
    settings, model = request.settings, Path(str(request.settings.model.osim))
    clock = StepClock(progress)
    coordinates = holds_coordinates(request.path)
    static = None if str(request.static_path) == NO_STATIC else request.static_path
    sizes = (static, request.scale_setup, settings.subject.mass_kg)
    _require_supported(request, coordinates and any(value is not None for value in (*sizes, request.ik_setup)))
    cutoff = settings.signals.cutoff_hz if "cutoff_hz" in settings.signals.model_fields_set else None
    cutoff_hz = None if isinstance(cutoff, str) else cutoff
    estimate = settings.signals.method == ESTIMATE

    def complete_torques(torques: CoordinateResult) -> ModelResult:
        return complete_result(torques, settings, model, settings.subject.height_m, clock)

    if coordinates:
        clock.start_step("estimate" if estimate else "inverse dynamics")
        torques = _torques_of_coordinates(request.path, model, request.forces, cutoff_hz, estimate)
        result = complete_torques(torques)
    else:
        inputs = (request.path, model, request.forces, request.ik_setup, *sizes, cutoff_hz, settings)
        followed = fit_model_to_markers(*inputs, clock.start_step, request.plate_calibration)
        torques = torques_of_fitted_model(followed, estimate, clock.start_step)
        result = complete_torques(torques)
        plates, corner_notes = order_plate_corners(result.analysis)
        if corner_notes:
            torques = torques_of_fitted_model(followed.with_plates(plates), estimate, clock.start_step)
            torques = replace(torques, notes=(*torques.notes, *corner_notes))
            result = complete_torques(torques)
    clock.end_step()
    # the numerical check of the torques is a separate step of the checks
    proof_s = result.analysis.timings.get(PROOF_STEP, 0.0)
    seconds = {**clock.seconds, "checks": clock.seconds["checks"] - proof_s, PROOF_STEP: proof_s}
    analysis = replace(result.analysis, timings=seconds, plate_calibration=request.plate_calibration)
    return replace(result, analysis=analysis)


def _require_supported(request: TrialRequest, scales_coordinates: bool) -> None:
    """Raise SettingsError for a request that is not supported for an OpenSim model or its coordinates."""
    method = request.settings.signals.method
    if method not in ("auto", ESTIMATE):
        raise SettingsError(
            f"signals.method = '{method}' does not apply to an OpenSim model, whose coordinates are smoothed by OpenSim's "
            f"filter.",
            "To estimate them together with the forces, set signals.method = 'estimate'.",
        )
    if scales_coordinates:
        raise SettingsError(
            "A motion given as joint coordinates is analysed with the OpenSim model as supplied; it is not scaled or refitted.",
            "Omit the static trial, scale_setup, ik_setup and the subject's mass.",
        )
    if request.static_frames is not None or request.files is not None:
        raise SettingsError(
            "static_frames and files do not apply to an OpenSim model, which uses all frames of its static trial and reads "
            "its own files."
        )


def _torques_of_coordinates(
    motion: Path, model: Path, forces: str | Path | None, cutoff_hz: float | None, estimate: bool
) -> CoordinateResult:
    """Return the torques of coordinates with the given forces, or with the forces in a file next to the motion."""
    loads, notes = (forces, []) if forces is not None else find_adjacent_force_file(motion)
    try:
        torques = coordinate_torques(motion, model, loads, cutoff_hz, estimate)
    except ModelError as error:  # forces found next to the motion, on bodies that this model does not have
        if forces is not None or loads is None:
            raise
        notes = [unusable_forces_note(f"The ground forces next to '{motion.name}'", error)]
        torques = coordinate_torques(motion, model, NO_FORCES, cutoff_hz, estimate)
    return replace(torques, notes=(*notes, *torques.notes))


# -- from the torques of the coordinates to the whole analysis ----------------------------------------------------------


def complete_result(
    own: CoordinateResult,
    settings: Settings,
    model_path: Path,
    height_m: float | None = None,
    clock: StepClock | None = None,
) -> ModelResult:
    """Complete the analysis of a trial on a model with known torques.

    height_m: height of the person, if known. clock: times the steps; the last step is not ended.

    Raises ModelError unless one body of the model is attached to ground, others move relative to it, and they have mass.
    """
    source, fit = own.source, own.fit
    model = imported_model(own.model, fit.labels if fit else (), fit.weights.tolist() if fit else ())
    if model is None or not model.coordinates or model.mass_kg <= 0.0:
        raise ModelError(
            f"'{model_path.name}' cannot be analysed, because it is not one chain of moving bodies with mass: several bodies are "
            "attached to ground, or it has a single body.",
            "Give a model of the body, or of a part of it.",
        )
    clock = clock or StepClock()
    clock.start_step("joint loads")
    method = BUTTERWORTH if own.estimated is None else ESTIMATE
    filters = settings.signals.model_copy(update={"cutoff_hz": own.cutoff_hz, "method": method})
    settings = settings.model_copy(update={"signals": filters})  # with the tasks of this trial
    R_WG = _travel_heading(own, model)
    motion = own.motion(R_WG)
    edge_s = 0.5 / own.cutoff_hz if own.cutoff_hz else 0.0
    labels, solution = ((), None) if fit is None else (fit.labels, fit.solution)
    body_fit = fit_from_model_motion(model, motion, source.recording.markers.time_s, edge_s, labels, solution)
    recording = source.recording.rotated(R_WG)
    mapping = _marker_mapping(model, recording)
    signals = prepare_signals(replace(recording, plates=()), mapping, settings.signals)
    on_plates = None if source.on_plates is None else source.on_plates.rotate_plates_and_reaction(R_WG)
    if on_plates is not None:
        signals = replace(signals, raw_plates=on_plates.signals.raw_plates, plates=on_plates.signals.plates)
    points = gait_points(body_fit, tuple(side for side in SIDES if side in model.sole_body), recording.markers.rate_hz)
    wrenches_G = source.loads.all_wrenches(own.q)
    wrenches = np.concatenate([wrenches_G[..., :3] @ R_WG.T, wrenches_G[..., 3:] @ R_WG.T], axis=2)
    if on_plates is not None:
        contacts, reaction = on_plates.contacts, on_plates.reaction
    else:
        contacts, reaction = _contacts_from_given_loads(own, source.loads, model, points, wrenches, signals, settings)
    activity, events, notes = _find_events(points, contacts, recording, settings, own.cutoff_hz)
    covered = source.loads.covered
    covered = covered if covered.ndim == 2 else np.repeat(covered[:, None], len(motion.names), axis=1)
    bodies = [model.multibody.body_index(own.model.multibody.body_names[body]) for body in source.loads.bodies]
    dynamics = solve_model_dynamics(body_fit, motion, reaction, wrenches, bodies, covered)
    inputs = TrialInputs(
        fit=body_fit,
        dynamics=dynamics,
        reaction=reaction,
        contacts=contacts,
        signals=signals,
        fit_settings=settings.inverse_kinematics,
        stride_s=stride_time(events if activity.steps else ()),
        calibration="model",
    )
    analysis = TrialAnalysis(
        recording=recording,
        static=StaticFacts(model_path, file_sha256(model_path), _size_source(own), 0, 0, 0.0, source="model"),
        settings=settings,
        subject=_subject_facts(source.recording, model.mass_kg, height_m, settings),
        R_WL=R_WG @ source.R_GL,
        world_reason=_world_description(R_WG),
        mapping=mapping,
        gaps=signals.gaps,
        model=model,
        fit=body_fit,
        base_angles=base_angles(model, body_fit),
        plates=signals.plates,
        contacts=contacts,
        reaction=reaction,
        points=points,
        dynamics=dynamics,
        events=events,
        activity=activity,
        diagnostics=(*own.findings, *notes, *_reversed_coordinates_note(model)),
        timings={},
        propagation=inputs,
        imported=ImportedModelData(motion, own.record, own.model_file or _file_content(model_path), own.motion_file),
    )
    clock.start_step("uncertainty")
    bands = _torque_bands(own, model, motion, inputs, np.nan_to_num(wrenches_G), settings)
    clock.start_step("checks")
    return ModelResult(add_verdict(check_recording(replace(analysis, uncertainty=bands))), own=own)


def _size_source(own: CoordinateResult) -> str:
    """Return a text that states how size and mass of the model were determined."""
    if own.estimated is not None:
        return "its masses and a mass centre were estimated"
    return "it is scaled to the person" if own.scaling else "it is used unchanged"


def _file_content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputFileError(f"'{path}' cannot be read: {error.strerror}.") from error


def _torque_bands(
    own: CoordinateResult,
    model: ImportedModel,
    motion: ModelMotion,
    inputs: TrialInputs,
    wrenches_G: FloatArray,
    settings: Settings,
) -> TorqueUncertainty | None:
    """Return the bands of the torques; None for given coordinates or computed markers, whose errors are unknown."""
    if own.fit is None or own.fit.rms_m < OWN_MARKERS_M:
        return None
    trial = ImportedInputs(
        model=model,
        inputs=inputs,
        R_WG=motion.R_WG,
        labels=own.fit.labels,
        positions=own.fit.recorded,
        time_s=own.source.recording.markers.time_s,
        tasks=own.source.tasks,
        cutoff_hz=own.cutoff_hz,
        wrenches=wrenches_G,
        bodies=own.source.loads.bodies,
        tau=motion.tau,
    )
    if own.estimated is not None:  # an estimate is at least as accurate as the filtered motion, whose bands are used
        trial = replace(trial, tau=recompute_draw(trial, nominal_draw(trial))[1])
    return monte_carlo_torque_bands(trial, settings.uncertainty)


def _travel_heading(own: CoordinateResult, model: ImportedModel) -> FloatArray:
    """Return the rotation (3, 3) about the vertical, in quarter turns, that makes X the direction of travel of the root.

    With plates, it is determined as for any recording with plates. A person who hardly travels is assumed to move in the facing
    direction. No rotation is applied if gravity does not act along -Y.
    """
    gravity = np.array(model.multibody.gravity_W)
    if abs(gravity[0]) + abs(gravity[2]) > 0.0:
        return np.eye(3)
    if own.source.on_plates is not None:
        return find_world(own.source.recording).R_WL
    q, _, _ = model.tree.motion(own.q, own.v, own.vdot)
    known = np.flatnonzero(np.isfinite(q[:, 0]))
    if not len(known) or not model.is_free:
        return np.eye(3)
    way = (q[known[-1], :3] - q[known[0], :3]) * (1.0, 0.0, 1.0)
    if float(np.linalg.norm(way)) < _TRAVEL_M:
        w, x, y, z = q[known, 3:7].T
        way = np.array([np.mean(1.0 - 2.0 * (y**2 + z**2)), 0.0, np.mean(2.0 * (x * z - w * y))])
    quarter = round(float(np.arctan2(way[2], way[0])) / (0.5 * np.pi))
    return np.round(matrices_from_axis_angle(np.array([0.0, 1.0, 0.0]), 0.5 * np.pi * quarter)) + 0.0


def _marker_mapping(model: ImportedModel, recording: Recording) -> MarkerMapping:
    """Return the roles of the markers, which move with the bodies to which the model attaches them."""
    roles = tuple(MarkerRole(m.label, "", m.body, m.weight, False, "model") for m in model.markers)
    known = {role.label for role in roles}
    unknown = tuple(label for label in recording.markers.labels if label not in known)
    return MarkerMapping("opensim_model", f"markers of {model.skeleton.title}", roles, unknown, {})


def _contacts_from_given_loads(
    own: CoordinateResult,
    loads: Loads,
    model: ImportedModel,
    points: GaitPoints,
    wrenches: FloatArray,
    signals: TrialSignals,
    settings: Settings,
) -> tuple[tuple[Contact, ...], GroundReaction]:
    """Return contacts and ground reaction of the feet from given loads, with wrenches (T, K, 6) in World."""
    on = [own.model.multibody.body_names[body] for body in loads.bodies]
    by_side: dict[Side, FloatArray] = {}
    heights: dict[Side, FloatArray] = {}
    places = loads.heights(slice(0, len(own.q)), own.q)
    for side in points.sole:
        foot = model.sole_body[side]
        beyond = {foot} | {body.definition.name for body in model.bodies if body.definition.parent == foot}
        of_foot = [k for k, body in enumerate(on) if body in beyond]
        by_side[side] = wrenches[:, of_foot].sum(axis=1)
        heights[side] = places[:, of_foot[0]] if len(of_foot) == 1 else np.full(len(own.q), np.nan)
    covered = loads.covered if loads.covered.ndim == 1 else np.asarray(loads.covered.any(axis=1))
    rate_hz, threshold_n = signals.markers.rate_hz, settings.contacts.threshold_n
    return ground_reaction_from_forces(by_side, heights, points.sole, covered, rate_hz, threshold_n)


def _find_events(
    points: GaitPoints, contacts: Sequence[Contact], recording: Recording, settings: Settings, cutoff_hz: float
) -> tuple[Activity, tuple[GaitEvent, ...], tuple[Diagnostic, ...]]:
    """Return the activity, the gait events, and findings; without events for a model without two known feet."""
    if len(points.sole) < len(SIDES):
        note = Diagnostic(
            "model-without-feet",
            "info",
            "Gait events, cycles and parameters are missing, because the model has no two bodies known as feet (such as calcn_r "
            "and calcn_l).",
        )
        reason = "the model has one foot" if points.sole else "the model has no bodies that are known as feet"
        return Activity("other", reason, "", False), (), (note,)
    rate_hz = recording.markers.rate_hz
    steps = points.filter_for_steps(rate_hz, cutoff_hz)
    activity = recognise_activity(steps, contacts, rate_hz)
    kinematic = kinematic_events(steps, rate_hz, activity.direction, activity.is_walking)
    events, notes = gait_events(
        contacts,
        recording.events,
        kinematic,
        settings.gait,
        pelvis_W=steps.pelvis,
        rate_hz=rate_hz,
        steps=activity.steps,
    )
    return activity, events, notes


def _subject_facts(recording: Recording, mass_kg: float, height_m: float | None, settings: Settings) -> SubjectFacts:
    subject = recording.subject
    age, age_source = find_age(settings.subject.age, (recording,))
    leg, leg_source = leg_length(settings.subject.measures, (recording,), {})
    height, height_source = subject.height_m, "stored in the file"
    if height_m is not None:
        height, height_source = height_m, "given by the user"
    sex_source = "stored in the file, not needed" if subject.sex else "unknown, not needed"
    if settings.subject.sex is not None:
        sex_source = "given by the user"
    height_source = "unknown, not needed" if height is None else f"{height_source}, not needed by the model"
    return SubjectFacts(
        name=settings.subject.name or subject.name or recording.path.stem,
        mass_kg=mass_kg,
        mass_source="of the model",
        height_m=float("nan") if height is None else height,
        height_source=height_source,
        sex=settings.subject.sex or subject.sex or "",
        sex_source=sex_source,
        age_years=age,
        age_source=age_source,
        leg_length_m=leg,
        leg_length_source=leg_source,
    )


def _world_description(R_WG: FloatArray) -> str:
    turned = round(float(np.degrees(np.arctan2(R_WG[0, 2], R_WG[0, 0]))))
    if turned:
        return (
            f"ground frame of the model rotated by {turned} degrees about the vertical, so that X is the direction of "
            f"travel; angles and torques of the model's coordinates refer to the unrotated ground frame"
        )
    return "ground frame of the model"


def _reversed_coordinates_note(model: ImportedModel) -> list[Diagnostic]:
    """Return a note on coordinates with the opposite sign of the variables in figures and cycles."""
    opposite = model.reversed_coordinates()
    if not opposite:
        return []
    message = (
        f"{', '.join(opposite)} of this model have the opposite sign of {', '.join(dict.fromkeys(opposite.values()))}. Gait "
        f"cycles and figures use the usual signs; joint_angles and joint_torques use the signs of the model."
    )
    return [Diagnostic("model-signs", "info", message)]


def order_plate_corners(analysis: TrialAnalysis) -> tuple[tuple[ForcePlate, ...], tuple[Diagnostic, ...]]:
    """Return the plates of the recording in the ground frame of the model with corners in order, and notes on corrections.

    analysis: analysis of the trial with the corners as stored, World.
    """
    plates, inputs, markers = analysis.recording.plates, analysis.propagation, analysis.recording.markers
    if inputs is None or analysis.imported is None or not analysis.plates:
        return plates, ()
    if not any(is_plate_z_up(plate) for plate in plates):
        return plates, ()
    if any(abs(len(p.channels) / p.rate_hz - markers.frame_count / markers.rate_hz) > _SPAN_S for p in plates):
        return plates, ()  # the part of the recording that the motion covers is unknown
    signals = inputs.signals

    def compute_wrench(plate: ForcePlate) -> PlateWrench:
        return replace_wrenches(signals, [plate_wrench(plate, markers.frame_count, markers.rate_hz)]).plates[0]

    ordered, notes = correct_corner_order(collect_trial_evidence(analysis), plates, compute_wrench, analysis.R_WL)
    R_WG = analysis.imported.motion.R_WG
    return tuple(replace(plate, corners=plate.corners @ R_WG) for plate in ordered), notes
