"""The steps of an analysis in their order, from the files to the checks.

A step takes a stage (`stages`) and returns the next one; `STEPS` defines their order. Every step calls the function that does
the work with its section of the settings. Another list of steps can be run instead:

    mine = with_step(STEPS, "signals", my_signals)          # def my_signals(trial: LabelledTrial) -> PreparedTrial: ...
    biodyn.trial.run.run_trial("walk.c3d", steps=mine)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from biodyn.checks import check_recording
from biodyn.checks.body import with_consistency
from biodyn.checks.estimators.plate_evidence import collect_evidence
from biodyn.checks.estimators.plate_faults import correct_corner_order, with_mass_from_plates
from biodyn.checks.estimators.plate_signals import find_impossible_load, reason_for_unloaded_plates
from biodyn.checks.estimators.synchronisation import TIME_OFFSET_S
from biodyn.conventions import SIDES, FloatArray, Side
from biodyn.diagnostics import Diagnostic
from biodyn.errors import EstimateError, PlateError, SettingsError
from biodyn.estimation.estimate import WIDEST_SHARE_OF_RATE, Estimate, estimate_torque_uncertainty, estimate_trial
from biodyn.estimation.shared_parameters import InformationForm
from biodyn.estimation.summary import estimate_findings, failed_estimate_finding
from biodyn.library.toml_files import suggest_name
from biodyn.model.body_model import with_freed_rotations, with_mass
from biodyn.processing.calibration.subject_fit.fit_result import subject_fit_findings
from biodyn.processing.calibration.subject_measurements import StanceMasses, stance_masses, stride_mass
from biodyn.processing.contacts.contact_decision import unused_overrides
from biodyn.processing.contacts.foot_motion import GaitPoints, gait_points
from biodyn.processing.contacts.force_balance import body_weight_n, measure_offsets_without_feet, required_wrench
from biodyn.processing.contacts.ground_reaction import (
    ContactDecisions,
    compute_reaction,
    contact_decisions,
    contact_diagnostics,
)
from biodyn.processing.contacts.plate_loads import loads_without_foot, mark_unknown_loads, unassign_walking_aid_contacts
from biodyn.processing.dynamics.inverse_dynamics import Dynamics, express_in_three_point_axes, solve_dynamics
from biodyn.processing.gait.activity import Activity, recognise_activity
from biodyn.processing.gait.events import gait_events, strikes_from_movement
from biodyn.processing.gait.kinematic_events import kinematic_events
from biodyn.processing.kinematics.skeleton_fit import Fit, base_angles
from biodyn.processing.kinematics.skeleton_tracking import track_skeleton
from biodyn.processing.signals.plate_wrenches import plate_wrench
from biodyn.processing.signals.signal_preparation import (
    TrialSignals,
    fall_back_to_filter,
    prepare_signals,
    refilter_plates,
    replace_smoothing_method,
    replace_wrenches,
)
from biodyn.processing.signals.smoothing.butterworth import ESTIMATE
from biodyn.processing.signals.world_frame import is_plate_z_up
from biodyn.recording import Contact, ForcePlate, GaitEvent, GroundReaction, PlateWrench, Recording
from biodyn.trial.bodies.body_from_markers import MarkerBody
from biodyn.trial.bodies.body_from_poses import PoseBody
from biodyn.trial.request import TrialRequest
from biodyn.trial.session_estimates import (
    WalkInformation,
    are_same_plates,
    contraction_peaks,
    exclusion_reason,
    fit_subject_model,
    plate_corners_L,
    requests_of_other_walks,
    unused_file_note,
)
from biodyn.trial.stages import (
    CheckedTrial,
    LabelledTrial,
    LoadedTrial,
    OrientedTrial,
    PreparedTrial,
    ScaledTrial,
    SolvedTrial,
    TrackedTrial,
    TrialWithContacts,
    make_analysis,
    next_stage,
)
from biodyn.trial.trial_files import require_plates, with_plate_calibration
from biodyn.uncertainty.propagation_inputs import TrialInputs, load_magnitudes, stride_time
from biodyn.uncertainty.torque_bands import torque_bands


def read_recordings(trial: TrialRequest) -> LoadedTrial:
    """Read the walk and its static trial if necessary, and apply the calibration of the plates."""
    files = with_plate_calibration(trial.read(), trial.plate_calibration)
    require_plates(files.walk)
    body = PoseBody() if files.source == "poses" else MarkerBody()
    body.require_supported_settings(trial.settings)
    return next_stage(trial, LoadedTrial, files=files, walk=files.walk, static=files.static, body=body)


def orient_recordings(trial: LoadedTrial) -> OrientedTrial:
    """Rotate both recordings to the world frame: X forward, Y up, Z right."""
    return trial.body.orient_recordings(trial)


def recognise_markers(trial: OrientedTrial) -> LabelledTrial:
    """Recognise the markers by their labels, corrected if positions contradict the labels."""
    return trial.body.label_markers(trial)


def prepare_trial_signals(trial: LabelledTrial) -> PreparedTrial:
    """Fill gaps, smooth markers, and convert plate channels to filtered wrenches."""
    return next_stage(trial, PreparedTrial, signals=prepare_signals(trial.walk, trial.mapping, trial.settings.signals))


def scale_skeleton(trial: PreparedTrial) -> ScaledTrial:
    """Scale the skeleton to the standing subject."""
    return trial.body.scale_model(trial)


def calibrate_model(trial: ScaledTrial) -> ScaledTrial:
    """Correct joint centres, axes and marker positions of the static trial by the walk or its session."""
    # requested joint centres are not changed
    if trial.settings.model.fit != "none" and not trial.centres and trial.body.supports_joint_centre_fit:
        fit, notes = fit_subject_model(trial)
        trial = trial.with_notes(*notes)
        if fit is not None:
            notes = tuple(subject_fit_findings(fit, fit.model.uncertain_turns))
            trial = replace(trial, model=fit.model, subject_fit=fit).with_notes(*notes)
    return trial.with_notes(*trial.model_notes)


def solve_inverse_kinematics(trial: ScaledTrial) -> TrackedTrial:
    """Fit the skeleton to the markers of the whole walk; outliers are removed from the signals."""
    settings = trial.settings
    fit, prepared, notes = track_skeleton(
        with_freed_rotations(trial.model, "knee_rotation") if settings.model.knee == "rotation" else trial.model,
        trial.signals,
        settings.inverse_kinematics,
        settings.limits.marker_max_m if trial.body.has_outliers else math.inf,
    )
    angles = base_angles(fit.model, fit)
    return next_stage(trial, TrackedTrial, fit=fit, model=fit.model, signals=prepared, base_angles=angles).with_notes(
        *notes
    )


# -- contacts, events ---------------------------------------------------------------------------------------------------


def determine_contacts(trial: TrackedTrial) -> TrialWithContacts:
    """Remove the offsets of the plates, assign their loads to feet, and compute the ground reaction of each foot.

    Foot strikes off the plates are determined from the movement and the recognised activity.
    """
    points = gait_points(trial.fit, SIDES, trial.rate_hz)
    steps = points.filter_for_steps(trial.rate_hz, trial.signals.cutoff_hz)
    trial, decided = _decide_contacts(trial, steps)
    walk, notes = _order_plate_corners(trial, decided, steps)
    if notes:
        trial, decided = _decide_contacts(replace(trial, walk=walk).with_notes(*notes), steps)
    others = loads_without_foot(decided.contacts, trial.signals.plates, trial.rate_hz, trial.mass_kg)
    used = unassign_walking_aid_contacts(decided.contacts, others)
    activity = recognise_activity(steps, used, trial.rate_hz)
    kinematic = kinematic_events(steps, trial.rate_hz, activity.direction, activity.is_walking)
    reaction = _ground_reaction(trial, decided, used, activity, kinematic, trial.signals)
    _require_contact(trial, used)
    return next_stage(
        trial,
        TrialWithContacts,
        points=points,
        decided=decided,
        other_loads=others,
        contacts=used,
        activity=activity,
        kinematic_events=tuple(kinematic),
        reaction=reaction,
    ).with_notes(
        *trial.signals.diagnostics,
        *contact_diagnostics(used, trial.rate_hz),
        *unused_overrides(used, [plate.number for plate in trial.walk.plates], trial.settings.contacts.override),
    )


def _decide_contacts(trial: TrackedTrial, points: GaitPoints) -> tuple[TrackedTrial, ContactDecisions]:
    """Return the trial without the offsets of the plates, and the contacts of the feet."""
    zeroed = measure_offsets_without_feet(trial.signals, trial.walk.plates, points.sole)
    _require_possible_loads(trial.walk, zeroed)
    decided = contact_decisions(zeroed, points.sole, trial.settings.contacts, trial.mass_kg, trial.fit)
    return replace(trial, signals=zeroed), decided


def _order_plate_corners(
    trial: TrackedTrial, decided: ContactDecisions, points: GaitPoints
) -> tuple[Recording, tuple[Diagnostic, ...]]:
    """Return the walk with plate corners in order, and notes on corrections; uses a first decision about the contacts."""
    walk, prepared, rate_hz = trial.walk, trial.signals, trial.rate_hz
    if not any(is_plate_z_up(plate) for plate in walk.plates):
        return walk, ()

    def compute_wrench(plate: ForcePlate) -> PlateWrench:
        return replace_wrenches(
            prepared, [plate_wrench(plate, prepared.markers.frame_count, prepared.markers.rate_hz)]
        ).plates[0]

    evidence = collect_evidence(
        trial.fit,
        points,
        required_wrench(trial.fit),
        prepared.plates,
        decided.contacts,
        rate_hz,
        trial.settings.contacts.threshold_n,
        body_weight_n(trial.fit.model.mass_kg),
        prepared.force_smear_s,
        recognise_activity(points, decided.contacts, rate_hz).direction == "forwards",
    )
    if trial.mass is None:
        evidence = with_mass_from_plates(evidence)
    ordered, notes = correct_corner_order(evidence, walk.plates, compute_wrench, trial.world.R_WL)
    return replace(walk, plates=ordered), notes


def _ground_reaction(
    trial: TrackedTrial,
    decided: ContactDecisions,
    used: Sequence[Contact],
    activity: Activity,
    kinematic: Sequence[GaitEvent],
    prepared: TrialSignals,
    full_bandwidth: GroundReaction | None = None,
) -> GroundReaction:
    """Return the ground reaction of the feet from the plate forces of the given signals."""
    strikes_s: Mapping[Side, FloatArray] = {}
    rate_hz = trial.rate_hz
    if activity.is_walking:  # the accuracy of kinematic foot strikes is known only for walking
        strikes_s = strikes_from_movement(used, kinematic, trial.walk.markers.frame_count / rate_hz, 1.0 / rate_hz)
    reaction = compute_reaction(decided, prepared, trial.settings.contacts, full_bandwidth, strikes_s)
    return mark_unknown_loads(reaction, decided.contacts, used, rate_hz, prepared.force_smear_s)


def determine_events(trial: TrialWithContacts) -> TrialWithContacts:
    """Determine foot strikes and foot offs from plates, movement and stored events."""
    points = trial.points.filter_for_steps(trial.rate_hz, trial.signals.cutoff_hz)
    all_events, notes = _find_events(trial, trial.kinematic_events, points)
    return replace(trial, events=all_events, event_notes=notes).with_notes(*notes)


def _find_events(
    trial: TrialWithContacts, kinematic: Sequence[GaitEvent], points: GaitPoints
) -> tuple[tuple[GaitEvent, ...], tuple[Diagnostic, ...]]:
    """Return the events, including those determined from the movement of the points, and findings."""
    return gait_events(
        trial.contacts,
        trial.walk.events,
        kinematic,
        trial.settings.gait,
        pelvis_W=points.pelvis,
        rate_hz=trial.rate_hz,
        steps=trial.activity.steps,
    )


# -- torques ------------------------------------------------------------------------------------------------------------


def solve_inverse_dynamics(trial: TrialWithContacts) -> SolvedTrial:
    """Solve for the joint torques; an unknown body mass is estimated from the strides first."""
    if trial.mass is None:
        masses = [
            (o.path, trial.memory.get_or_compute(f"mass {key}", partial(_masses_from_stances, o)))
            for o, key in requests_of_other_walks(trial)
        ]
        others = [found for _, found in masses if not isinstance(found, str)]
        not_used = [
            unused_file_note(path.name, "to estimate the body mass", why, "Give the body mass with --mass.")
            for path, why in masses
            if isinstance(why, str)
        ]
        is_steady = trial.activity.is_walking or trial.activity.kind in ("running", "stairs")  # without hops
        own = _stance_masses(trial) if is_steady else {}
        mass, note = stride_mass(own, others)
        model = with_mass(trial.model, mass.mass_kg)
        trial = replace(trial, mass=mass, model=model, fit=replace(trial.fit, model=model)).with_notes(note, *not_used)
    dynamics, notes = _convert_moment_axes(trial, trial.fit, solve_dynamics(trial.fit, trial.reaction))
    propagation = TrialInputs(
        fit=trial.fit,
        dynamics=dynamics,
        reaction=trial.reaction,
        contacts=trial.contacts,
        signals=trial.signals,
        fit_settings=trial.settings.inverse_kinematics,
        stride_s=stride_time(trial.events if trial.activity.steps else ()),
        calibration=trial.calibrated.source,
        centre_sd_m={} if trial.subject_fit is None else trial.subject_fit.centre_sd_m(),
        poses=trial.body.pose_errors(trial),
    )
    return next_stage(trial, SolvedTrial, dynamics=dynamics, propagation=propagation).with_notes(*notes)


def _stance_masses(trial: TrialWithContacts) -> StanceMasses:
    return stance_masses(trial.reaction, trial.events, trial.rate_hz)


def _masses_from_stances(other: TrialRequest) -> StanceMasses | str:
    """Return the body masses computed from the stances of another walk of the session.

    The result is empty if the activity is not walking, and a text with the reason if the walk cannot be analysed.
    """
    try:
        grounded: TrialWithContacts = run_steps(other, STEPS, "events")
    except Exception as error:
        return exclusion_reason(error)
    return _stance_masses(grounded) if grounded.activity.is_walking else {}


def _convert_moment_axes(
    trial: TrialWithContacts, fit: Fit, dynamics: Dynamics
) -> tuple[Dynamics, tuple[Diagnostic, ...]]:
    """Return the joint moments in the axes of the settings, with findings about missing markers."""
    if trial.settings.model.moment_axes == "fitted":
        return dynamics, ()
    labels = {role.landmark: role.label for role in trial.body.landmark_roles(trial.mapping)}
    return express_in_three_point_axes(dynamics, fit, trial.signals.markers, labels)


def estimate_motion_and_forces(trial: SolvedTrial) -> SolvedTrial:
    """Estimate motion and forces together, with plate forces at full bandwidth, if the settings require it."""
    settings = trial.settings
    if not trial.signals.method.is_estimate:
        return trial
    shared: tuple[InformationForm, ...] = ()
    session_notes: tuple[Diagnostic, ...] = ()
    if settings.model.fit == "session" and settings.estimation.session:
        shared, session_notes = _shared_parameters(trial)
    try:
        estimated = _estimate_trial(trial, shared, bands=settings.uncertainty.compute)
    except EstimateError as error:
        if settings.signals.method == ESTIMATE:
            raise
        # the estimate was not explicitly requested, so the filtered motion is used
        filtered = replace_smoothing_method(trial.signals, fall_back_to_filter(error.message.rstrip(".")))
        propagation = replace(trial.propagation, signals=filtered)
        return replace(trial, signals=filtered, propagation=propagation).with_notes(failed_estimate_finding(error))
    dynamics, _ = _convert_moment_axes(trial, estimated.fit, estimated.dynamics)
    points = gait_points(estimated.fit, SIDES, trial.rate_hz)
    unfiltered = points.filter_for_steps(trial.rate_hz, math.inf)  # the estimated motion is not filtered
    kinematic = kinematic_events(unfiltered, trial.rate_hz, trial.activity.direction, trial.activity.is_walking)
    found_events, event_notes = _find_events(trial, kinematic, unfiltered)
    assumed = {coordinate.body for coordinate in estimated.fit.model.assumed}
    other_notes = (note for note in trial.notes if note not in trial.event_notes)
    return replace(
        trial,
        fit=estimated.fit,
        model=estimated.fit.model,
        base_angles=base_angles(estimated.fit.model, estimated.fit),
        dynamics=dynamics,
        reaction=estimated.reaction,
        estimate=estimated.summary,
        propagation=replace(trial.propagation, fit=estimated.summary.raw_fit),
        points=points,
        events=found_events,
        event_notes=event_notes,
        notes=(
            *other_notes,
            *event_notes,
            *session_notes,
            *estimate_findings(estimated.summary, TIME_OFFSET_S, assumed),
        ),
    )


def _estimate_trial(trial: SolvedTrial, shared: tuple[InformationForm, ...] = (), bands: bool = False) -> Estimate:
    """Return the estimate of a trial after its inverse dynamics; EstimateError if an unmeasured support carries the body."""
    settings = trial.settings
    if trial.other_loads:
        raise EstimateError(
            "A walking aid or a person carries part of the body weight, so motion and foot forces are not in balance."
        )
    cutoff_hz = min(settings.estimation.force_cutoff_hz, WIDEST_SHARE_OF_RATE * trial.rate_hz)
    widest = refilter_plates(trial.signals, cutoff_hz)
    decisions = (trial.decided, trial.contacts, trial.activity, trial.kinematic_events)
    reaction = _ground_reaction(trial, *decisions, widest, trial.reaction.full_bandwidth)
    magnitudes = load_magnitudes(settings.uncertainty.magnitudes)
    chosen, R_WL = settings.estimation, trial.world.R_WL
    return estimate_trial(trial.propagation, reaction, cutoff_hz, chosen, magnitudes, bands, R_WL, shared)


def _shared_parameters(trial: SolvedTrial) -> tuple[tuple[InformationForm, ...], tuple[Diagnostic, ...]]:
    """Return the information of the other walks of the session on inertias and plates, and notes on unused walks."""
    shared: list[InformationForm] = []
    notes: list[Diagnostic] = []
    for other, key in requests_of_other_walks(trial):
        walk = trial.memory.get_or_compute(key, partial(information_of_walk, other))
        information = walk.information
        if walk.corners_L is not None and not are_same_plates(plate_corners_L(trial), walk.corners_L):
            information = "its plates are at other positions"
        if isinstance(information, str):
            hint = "To use it, it must be a walk on the same plates that can be analysed alone."
            purpose = "to estimate mass centres and plate errors"
            notes.append(unused_file_note(other.path.name, purpose, information, hint))
        else:
            shared.append(information)
    return tuple(shared), tuple(notes)


def information_of_walk(request: TrialRequest) -> WalkInformation:
    """Analyse a walk and return the information that its estimate provides about inertias and plate errors.

    If the analysis fails, the result contains the reason instead.
    """
    try:
        solved: SolvedTrial = run_steps(request, STEPS, "inverse dynamics")
        information = _estimate_trial(solved).shared_parameters
        numbers = tuple(plate.number for plate in solved.signals.raw_plates)
        return WalkInformation(
            "it has no frame in balance" if information is None else information,
            plate_corners_L(solved),
            numbers,
            solved.world.R_WL[1],
        )
    except Exception as error:
        return WalkInformation(exclusion_reason(error))


def compute_uncertainty(trial: SolvedTrial) -> SolvedTrial:
    """Propagate input errors to uncertainty bands of the torques."""
    settings = trial.settings.uncertainty
    if trial.estimate is None:
        return replace(trial, uncertainty=torque_bands(trial.propagation, settings))
    bands = estimate_torque_uncertainty(
        trial.propagation, trial.fit, trial.dynamics, trial.reaction, trial.estimate, settings
    )
    return replace(trial, uncertainty=bands)


def run_checks(trial: SolvedTrial) -> CheckedTrial:
    """Check data quality, physiological limits of every cycle, and torques by a second algorithm."""
    unchecked = make_analysis(trial)
    if unchecked.emg:
        unchecked = replace(unchecked, contractions=contraction_peaks(trial))
    analysis = replace(check_recording(unchecked), consistency=with_consistency(unchecked).consistency)
    return next_stage(trial, CheckedTrial, analysis=analysis, notes=analysis.diagnostics)


@dataclass(frozen=True)
class Step:
    """One step: its name for display and timing, its function, and whether a torque depends on it."""

    name: str
    run: Callable[[Any], Any]
    for_torques: bool = True


STEPS: tuple[Step, ...] = (
    Step("reading", read_recordings),
    Step("axes", orient_recordings),
    Step("marker set", recognise_markers),
    Step("signals", prepare_trial_signals),
    Step("scaling", scale_skeleton),
    Step("calibration", calibrate_model),
    Step("inverse kinematics", solve_inverse_kinematics),
    Step("contacts", determine_contacts),
    Step("events", determine_events),
    Step("inverse dynamics", solve_inverse_dynamics),
    Step("estimate", estimate_motion_and_forces),
    Step("uncertainty", compute_uncertainty, for_torques=False),
    Step("checks", run_checks, for_torques=False),
)


def run_steps(trial: TrialRequest, steps: Sequence[Step], last: str) -> Any:
    """Return the stage of a trial after the step named `last`."""
    stage: Any = trial
    for step in steps[: [step.name for step in steps].index(last) + 1]:
        stage = step.run(stage)
    return stage


def with_step(steps: Sequence[Step], name: str, run: Callable[[Any], Any]) -> tuple[Step, ...]:
    """Return the steps with one function replaced; SettingsError with the most similar name for an unknown step."""
    names = [step.name for step in steps]
    if name not in names:
        raise SettingsError(f"'{name}' is not a step of an analysis.", suggest_name(name, names))
    return tuple(replace(step, run=run) if step.name == name else step for step in steps)


# -- errors that end an analysis ----------------------------------------------------------------------------------------------


def _require_possible_loads(walk: Recording, prepared: TrialSignals) -> None:
    load = find_impossible_load(prepared.raw_plates)
    if load is not None:
        raise PlateError(
            f"The force plates of '{walk.path.name}' measure {load:.3g} N for 0.1 s, which exceeds any human load; "
            f"their forces have a wrong unit or scale.",
            "Check ANALOG:UNITS, ANALOG:SCALE and GEN_SCALE (N and Nmm are usual), and export the trial again.",
        )


def _require_contact(trial: TrackedTrial, used: Sequence[Contact]) -> None:
    if not used:
        raise PlateError(
            f"No force plate of '{trial.walk.path.name}' was ever loaded above {trial.settings.contacts.threshold_n:g} N.",
            f"{reason_for_unloaded_plates(trial.signals.raw_plates)} Joint torques need at least one foot on a plate; check "
            "the force channels with 'biodyn check FILE.c3d'.",
        )
