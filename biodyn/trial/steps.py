"""The steps of an analysis, from the files to the checks. Read top to bottom they are the data's way.

A step takes the `TrialState`, reads what earlier ones wrote and writes what it finds; `STEPS` is their order. Every step
calls the stage that does the work and hands it its section of the settings. Another list may be run instead:

    mine = with_step(STEPS, "signals", my_signals)          # def my_signals(trial: TrialState) -> None: ...
    biodyn.trial.run.run_trial("walk.c3d", steps=mine)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from biodyn.checks import examine
from biodyn.checks.consistency import with_consistency
from biodyn.checks.evidence.units import impossible_load, unloaded_cause
from biodyn.conventions import SIDES, FloatArray, Side
from biodyn.diagnostics import Diagnostic
from biodyn.errors import EstimateError, MarkerSetError, PlateError, SettingsError
from biodyn.estimation.bands import estimate_bands
from biodyn.estimation.estimate import WIDEST_SHARE_OF_RATE, Estimate, estimate_trial
from biodyn.estimation.notes import estimate_notes, no_estimate
from biodyn.estimation.told import Told
from biodyn.library.load import nearest
from biodyn.model.changes import with_freed, with_mass
from biodyn.model.from_library.markersets import recognise
from biodyn.model.from_library.recognition.big_toe import with_big_toes
from biodyn.model.from_library.recognition.corrected import corrected
from biodyn.model.from_library.recognition.named import named
from biodyn.model.from_library.scaling import ScalingOptions
from biodyn.model.from_library.skeleton import SkeletonRecipe, foot_bodies, load_skeleton
from biodyn.model.from_library.subject_scaling import SubjectScaling
from biodyn.model.marker_roles import MarkerMapping
from biodyn.processing.calibration.standing import Standing
from biodyn.processing.calibration.stored_centres import centre_roles, stored_centres, with_stored_centres
from biodyn.processing.calibration.subject import in_kilograms, known_mass, standing_mass, stride_mass
from biodyn.processing.calibration.subject_fit.notes import fit_notes
from biodyn.processing.contacts.feet import GaitPoints, gait_points
from biodyn.processing.contacts.find import contact_decisions, reaction_of
from biodyn.processing.contacts.notes import contact_diagnostics
from biodyn.processing.contacts.other_loads import other_loads, with_unknown_loads, without_shared_plates
from biodyn.processing.contacts.plate_levels import with_known_feet, with_zero_from_balance
from biodyn.processing.dynamics.solve import solve_dynamics
from biodyn.processing.dynamics.three_points import in_three_point_axes
from biodyn.processing.gait.activity import recognise_activity
from biodyn.processing.gait.by_movement import movement_events
from biodyn.processing.gait.events import gait_events, strikes_by_movement
from biodyn.processing.kinematics.fit import base_angles
from biodyn.processing.kinematics.tracking import track
from biodyn.processing.signals.chosen_method import fallen_back
from biodyn.processing.signals.handedness import MIRROR, corners_run_backwards, mirrored_note
from biodyn.processing.signals.orientation import facing_as, find_world, with_true_vertical
from biodyn.processing.signals.prepare import TrialSignals, prepare_signals, with_force_cutoff, with_method
from biodyn.processing.signals.smoothing.estimate import ESTIMATE
from biodyn.recording import GaitEvent, GroundReaction
from biodyn.trial.files import read_files, require_plates
from biodyn.trial.on_poses import pose_mapping, scaled_on_poses, system_of, with_origins
from biodyn.trial.plate_corners import reorder_corners
from biodyn.trial.pose_offsets import pose_errors
from biodyn.trial.session_constants import SessionConstants, constants_of_session
from biodyn.trial.standing import Calibration, calibrate, calibration_note, standing_points
from biodyn.trial.state import TrialState
from biodyn.trial.subject import scaling_options
from biodyn.trial.subject_model import subject_model_fit
from biodyn.uncertainty.bands import torque_bands
from biodyn.uncertainty.inputs import TrialInputs, stride_time
from biodyn.uncertainty.magnitudes import load_magnitudes


def reading(trial: TrialState) -> None:
    """Read the walk and its static trial, unless they were read before."""
    if not hasattr(trial, "files"):
        frames, use = trial.static_frames, trial.settings.poses.use
        with trial.opinions.awaited():  # in `signals`
            trial.files = read_files(
                trial.path, trial.static_path, static_frames=frames, poses=use, forces=trial.forces
            )
    trial.walk, trial.static = trial.files.walk, trial.files.static
    if trial.is_on_poses and trial.settings.signals.method == ESTIMATE:
        raise SettingsError(
            "An estimate of motion and forces needs markers: errors of a segment's measured pose are none of single points.",
            'Set [signals] method = "butterworth".',
        )
    require_plates(trial.walk)


def axes(trial: TrialState) -> None:
    """Turn both recordings into the world frame: X forward, Y up, Z right."""
    if trial.is_on_poses:
        trial.world = find_world(with_origins(trial.walk))
        trial.walk = trial.static = trial.walk.rotated(trial.world.R_WL)
        trial.centres = ()
        trial.notes += [*trial.walk.diagnostics, *trial.world.diagnostics]
        return
    static = find_world(with_true_vertical(trial.static, trial.walk))
    trial.world = find_world(trial.walk, facing_as(trial.walk, trial.static, static))
    trial.walk = trial.walk.rotated(trial.world.R_WL)
    trial.centres = stored_centres(trial.static) if trial.settings.model.stored_centres else ()
    trial.static = with_stored_centres(trial.static, trial.centres)
    trial.static = trial.static.rotated(static.R_WL)
    trial.notes += [*trial.walk.diagnostics, *trial.world.diagnostics]


def marker_set(trial: TrialState) -> None:
    """Recognise which marker is which: by the labels, mended where the points contradict them."""
    settings = trial.settings.model
    if trial.is_on_poses:
        trial.mapping = pose_mapping(
            trial.walk.markers, system_of(trial.walk), load_skeleton(trial.settings.tables.skeleton)
        )
        return
    centres = {centre.label for centre in trial.centres}
    walk, static = trial.walk.markers, trial.static.markers
    labels = [label for label in dict.fromkeys(walk.labels + static.labels) if label not in centres]
    points = standing_points(trial.files, static) if settings.geometry else {}
    notes: list[Diagnostic] = []
    try:
        found = recognise(labels, settings.marker_set)
    except MarkerSetError as error:
        try:
            if not settings.geometry:
                raise
            by_place = named(walk, static, points, settings.marker_set, error)
        except MarkerSetError as refusal:
            found = _sparingly(labels, settings.marker_set, refusal)
        else:
            walk, static, points, found = by_place.walk, by_place.static, by_place.points, by_place.mapping
            notes += by_place.notes
    if settings.geometry:
        mended = corrected(walk, static, points, found)
        if mended.all_sides and corners_run_backwards(trial.walk.plates):
            _mirror(trial)
            points = {label: MIRROR @ point for label, point in points.items()}
            mended = corrected(walk.rotated(MIRROR), static.rotated(MIRROR), points, found)
        # where no static trial exists, the walk is both
        walk, static = mended.walk, mended.walk if trial.files.source == "walk" else mended.static
        found, toe_notes = with_big_toes(found, static)
        notes += [*mended.notes, *toe_notes]
    trial.walk, trial.static = trial.walk.with_markers(walk), trial.static.with_markers(static)
    trial.mapping, centre_notes = centre_roles(found, trial.centres)
    trial.notes += [*notes, *centre_notes]


def _sparingly(labels: Sequence[str], marker_set: str, refusal: MarkerSetError) -> MarkerMapping:
    """The set, if it lacks what can be done without; else the refusal of the whole set."""
    try:
        return recognise(labels, marker_set, sparing=True)
    except MarkerSetError:
        raise refusal from None


def _mirror(trial: TrialState) -> None:
    trial.walk, trial.static = trial.walk.rotated(MIRROR), trial.static.rotated(MIRROR)
    trial.world = replace(trial.world, R_WL=MIRROR @ trial.world.R_WL)
    trial.notes.append(mirrored_note())


def signals(trial: TrialState) -> None:
    """Fill gaps, smooth markers, and turn plate channels into filtered wrenches; hear what else was read in the walk's file."""
    trial.signals = prepare_signals(trial.walk, trial.mapping, trial.settings.signals)
    trial.notes += trial.opinions.of(trial.files.walk.path)


def scaling(trial: TrialState) -> None:
    """Scale the skeleton to the subject as he or she stands."""
    settings = trial.settings
    skeleton = load_skeleton(settings.tables.skeleton)
    options = scaling_options(settings.model, settings.subject, trial.walk, trial.static, trial.given_height_m)
    if trial.is_on_poses:
        _scaled_on_poses(trial, skeleton, options)
        return
    trial.calibrated = calibrate(
        trial.files, trial.static.markers, trial.signals.markers, skeleton, trial.mapping, options
    )
    trial.standing = trial.calibrated.standing
    mass_notes: list[Diagnostic] = []
    trial.plates_mass = None
    if trial.calibrated.is_seen:
        trial.plates_mass, mass_notes = standing_mass(
            trial.static, trial.standing, trial.mapping, foot_bodies(skeleton)
        )
    trial.mass = known_mass(trial.given_mass_kg, (trial.walk, trial.static)) or trial.plates_mass
    if trial.mass is not None:
        trial.mass, in_pounds = in_kilograms(trial.mass, trial.plates_mass, settings.limits.mass_mismatch_fraction)
        mass_notes += in_pounds
    options = replace(
        options,
        mass_kg=1.0
        if trial.mass is None
        else trial.mass.mass_kg,  # with strides the mass comes later, scales the inertias
        joint_offsets_rad=trial.calibrated.joint_offsets_rad,
    )
    tracked = trial.signals.tracked()
    trial.scaling = SubjectScaling(skeleton, trial.mapping, trial.standing.points, tracked, options)
    trial.model, trial.model_notes = trial.scaling.model()
    note = calibration_note(trial.calibrated, load_magnitudes(settings.uncertainty.magnitudes))
    trial.notes += [*trial.standing.diagnostics, *mass_notes, *([] if note is None else [note])]


def _scaled_on_poses(trial: TrialState, skeleton: SkeletonRecipe, options: ScalingOptions) -> None:
    trial.plates_mass = None
    trial.mass = known_mass(trial.given_mass_kg, (trial.walk,))
    options = replace(options, mass_kg=1.0 if trial.mass is None else trial.mass.mass_kg)
    poses, system = trial.walk.poses, system_of(trial.walk)
    found = scaled_on_poses(poses, system, skeleton, trial.mapping, trial.signals.tracked(), options)
    standing = Standing(found.points, 0, poses.frame_count - 1, max(found.figure.apart_m.values(), default=0.0), ())
    trial.calibrated = Calibration("poses", standing, {}, is_seen=False)
    trial.standing, trial.mapping, trial.scaling = standing, found.scaling.mapping, found.scaling
    trial.model, trial.model_notes = found.model, list(found.notes)


def calibration(trial: TrialState) -> None:
    """Let the walk, or all of its session, correct what the static trial leaves uncertain: centres, axes, marker places."""
    if (
        trial.settings.model.fit != "none" and not trial.centres and not trial.is_on_poses
    ):  # centres that were asked for stay where they are
        found = subject_model_fit(trial)
        trial.notes += found.notes
        if found.fitted is not None:
            trial.model, trial.subject_fit = found.fitted.model, found.fitted.account
            trial.notes += fit_notes(found.fitted.account, trial.model.uncertain_turns)
    trial.notes += trial.model_notes


def inverse_kinematics(trial: TrialState) -> None:
    """Fit the skeleton to the markers of the whole walk; outliers leave the signals."""
    settings = trial.settings
    model = with_freed(trial.model, "knee_rotation") if settings.model.knee == "rotation" else trial.model
    trial.fit, trial.signals, notes = track(
        model,
        trial.signals,
        settings.inverse_kinematics,
        math.inf if trial.is_on_poses else settings.limits.marker_max_m,  # what a joint cannot follow is no outlier
    )
    trial.model = trial.fit.model
    trial.base_angles = base_angles(trial.model, trial.fit)
    trial.notes += notes


def contacts(trial: TrialState) -> None:
    """Decide whose foot loads which plate, and what the ground does to each foot; the plates' offsets first, now that the
    feet are known. Strikes that no plate sees are told by the movement, by way of what the person does.
    """
    trial.points = gait_points(trial.fit, SIDES, trial.rate_hz)
    points = _points_of_steps(trial)
    _decide_contacts(trial, points)
    if reorder_corners(trial, points):
        _decide_contacts(trial, points)
    trial.other_loads = other_loads(trial.decided.contacts, trial.signals.plates, trial.rate_hz, trial.mass_kg)
    trial.contacts = without_shared_plates(trial.decided.contacts, trial.other_loads)
    trial.activity = recognise_activity(points, trial.contacts, trial.rate_hz)
    trial.moved = _movement(trial, points)
    trial.reaction = _reaction(trial, trial.signals)
    _require_contact(trial)
    trial.notes += [*trial.signals.diagnostics, *contact_diagnostics(trial.contacts, trial.rate_hz)]


def _decide_contacts(trial: TrialState, points: GaitPoints) -> None:
    signals = with_known_feet(trial.signals, trial.walk.plates, points.sole)
    trial.signals = with_zero_from_balance(signals, points.sole, trial.fit, trial.mass_kg)
    _require_possible_loads(trial)
    trial.decided = contact_decisions(trial.signals, points.sole, trial.settings.contacts, trial.mass_kg, trial.fit)


def _points_of_steps(trial: TrialState) -> GaitPoints:
    return trial.points.of_steps(trial.rate_hz, trial.signals.cutoff_hz)


def _movement(trial: TrialState, points: GaitPoints) -> list[GaitEvent]:
    """What these points, filtered as steps are told by, tell of foot strikes and foot offs."""
    return movement_events(points, trial.rate_hz, trial.activity.direction, trial.activity.is_walked)


def _reaction(trial: TrialState, signals: TrialSignals, full_bandwidth: GroundReaction | None = None) -> GroundReaction:
    """The ground reaction of the feet, by the plates' forces as these signals have them."""
    strikes_s: Mapping[Side, FloatArray] = {}
    if trial.activity.is_walked:  # of other gaits nobody measured how well the movement tells strikes
        rate_hz, frames = trial.rate_hz, trial.walk.markers.frame_count
        strikes_s = strikes_by_movement(trial.contacts, trial.moved, frames / rate_hz, 1.0 / rate_hz)
    reaction = reaction_of(trial.decided, signals, trial.settings.contacts, full_bandwidth, strikes_s)
    return with_unknown_loads(reaction, trial.decided.contacts, trial.contacts, trial.rate_hz, signals.force_smear_s)


def events(trial: TrialState) -> None:
    """Find foot strikes and foot offs: plates, movement and file."""
    trial.events, trial.event_notes = _events_by(trial, trial.moved, _points_of_steps(trial))
    trial.notes += trial.event_notes


def _events_by(
    trial: TrialState, moved: Sequence[GaitEvent], points: GaitPoints
) -> tuple[tuple[GaitEvent, ...], tuple[Diagnostic, ...]]:
    """The events, with those that the movement of these points tells."""
    return gait_events(
        trial.contacts,
        trial.walk.events,
        moved,
        trial.settings.gait,
        pelvis_W=points.pelvis,
        rate_hz=trial.rate_hz,
        steps=trial.activity.steps,
    )


def inverse_dynamics(trial: TrialState) -> None:
    """Solve for the joint torques; a body mass that nobody gave is taken from the strides first."""
    if trial.mass is None:
        trial.mass, note = stride_mass(trial.reaction, trial.events, trial.rate_hz)
        trial.notes.append(note)
        trial.model = with_mass(trial.model, trial.mass.mass_kg)
        trial.fit = replace(trial.fit, model=trial.model)
    trial.dynamics = solve_dynamics(trial.fit, trial.reaction)
    trial.notes += _in_moment_axes(trial)
    trial.propagation = TrialInputs(
        fit=trial.fit,
        dynamics=trial.dynamics,
        reaction=trial.reaction,
        contacts=trial.contacts,
        signals=trial.signals,
        fit_settings=trial.settings.inverse_kinematics,
        stride_s=stride_time(trial.events if trial.activity.steps else ()),
        calibration=trial.calibration_source,
        centre_sd_m={} if trial.subject_fit is None else trial.subject_fit.centre_sd_m(),
    )
    if trial.is_on_poses and trial.settings.uncertainty.compute:
        magnitudes = load_magnitudes(trial.settings.uncertainty.magnitudes)
        skeleton, system = load_skeleton(trial.settings.tables.skeleton), system_of(trial.walk)
        errors = pose_errors(trial.model, trial.walk.poses, system, skeleton, trial.settings.poses, magnitudes)
        trial.propagation = replace(trial.propagation, poses=errors)


def _in_moment_axes(trial: TrialState) -> tuple[Diagnostic, ...]:
    """Give the joints' moments in the axes that the settings name; return what is missing for that."""
    if trial.settings.model.moment_axes == "fitted":
        return ()
    labels = {} if trial.is_on_poses else {role.landmark: role.label for role in trial.mapping.roles}
    trial.dynamics, notes = in_three_point_axes(trial.dynamics, trial.fit, trial.signals.markers, labels)
    return notes


def estimate(trial: TrialState) -> None:
    """Make motion and forces one estimate, where the settings ask for it; the plates' forces at full bandwidth."""
    settings = trial.settings
    if not trial.signals.method.is_estimate:
        return
    others = SessionConstants()
    if settings.model.fit == "session" and settings.estimation.session:
        others = constants_of_session(trial, _up_to_torques, _estimated)
    try:
        found = _estimated(trial, others.told, bands=settings.uncertainty.compute)
    except EstimateError as error:
        if settings.signals.method == ESTIMATE:
            raise
        _fall_back(trial, error)
        return
    trial.fit, trial.dynamics, trial.reaction, trial.estimate = found.fit, found.dynamics, found.reaction, found.account
    _in_moment_axes(trial)
    trial.model = trial.fit.model
    trial.base_angles = base_angles(trial.model, trial.fit)
    kept = [note for note in trial.notes if note not in trial.event_notes]
    trial.points = gait_points(trial.fit, SIDES, trial.rate_hz)
    unfiltered = trial.points.of_steps(trial.rate_hz, math.inf)  # the estimate's motion passed no filter
    trial.events, trial.event_notes = _events_by(trial, _movement(trial, unfiltered), unfiltered)
    assumed = {coordinate.body for coordinate in trial.model.assumed}
    warned = estimate_notes(found.account, settings.limits.time_offset_s, assumed)
    trial.notes = [*kept, *trial.event_notes, *others.notes, *warned]


def _fall_back(trial: TrialState, error: EstimateError) -> None:
    """Let the filtered motion stand, and say so: nobody asked for an estimate by name."""
    trial.signals = with_method(trial.signals, fallen_back(error.message.rstrip(".")))
    trial.propagation = replace(trial.propagation, signals=trial.signals)
    trial.notes.append(no_estimate(error))


def _estimated(trial: TrialState, others: tuple[Told, ...] = (), bands: bool = False) -> Estimate:
    """The estimate of a trial after its inverse dynamics; EstimateError where something that no plate shows carries the body."""
    settings = trial.settings
    if trial.other_loads:
        raise EstimateError(
            "An aid or a person carries part of the body: motion and forces of the feet are not in balance."
        )
    cutoff_hz = min(settings.estimation.force_cutoff_hz, WIDEST_SHARE_OF_RATE * trial.rate_hz)
    reaction = _reaction(trial, with_force_cutoff(trial.signals, cutoff_hz), trial.reaction.full_bandwidth)
    magnitudes = load_magnitudes(settings.uncertainty.magnitudes)
    chosen, R_WL = settings.estimation, trial.world.R_WL
    return estimate_trial(trial.propagation, reaction, cutoff_hz, chosen, magnitudes, bands, R_WL, others)


def _up_to_torques(trial: TrialState) -> None:
    """All that comes before the estimate."""
    for step in STEPS[: [step.name for step in STEPS].index("estimate")]:
        step.run(trial)


def uncertainty(trial: TrialState) -> None:
    """Propagate the errors of all inputs to bands of the torques, where the settings ask for them."""
    settings = trial.settings.uncertainty
    if trial.estimate is None:
        trial.uncertainty = torque_bands(trial.propagation, settings)
    else:
        trial.uncertainty = estimate_bands(
            trial.propagation, trial.fit, trial.dynamics, trial.reaction, trial.estimate, settings
        )


def checks(trial: TrialState) -> None:
    """Hold the result against what a sound recording shows, every cycle against what a body can do, torques against equations."""
    found = trial.analysis()
    examined, proved = examine(found), with_consistency(found)
    trial.notes, trial.data_checks = list(examined.diagnostics), examined.data_checks
    trial.consistency = proved.consistency


@dataclass(frozen=True)
class Step:
    """One step: its name, as it is shown and timed, what it does, and whether a torque depends on it."""

    name: str
    run: Callable[[TrialState], None]
    for_torques: bool = True


STEPS: tuple[Step, ...] = (
    Step("reading", reading),
    Step("axes", axes),
    Step("marker set", marker_set),
    Step("signals", signals),
    Step("scaling", scaling),
    Step("calibration", calibration),
    Step("inverse kinematics", inverse_kinematics),
    Step("contacts", contacts),
    Step("events", events),
    Step("inverse dynamics", inverse_dynamics),
    Step("estimate", estimate),
    Step("uncertainty", uncertainty, for_torques=False),
    Step("checks", checks, for_torques=False),
)


def with_step(steps: Sequence[Step], name: str, run: Callable[[TrialState], None]) -> tuple[Step, ...]:
    """Return the steps with another function for one of them; SettingsError with the nearest name for an unknown one."""
    names = [step.name for step in steps]
    if name not in names:
        raise SettingsError(f"There is no step '{name}' in an analysis.", nearest(name, names))
    return tuple(replace(step, run=run) if step.name == name else step for step in steps)


# -- what ends an analysis ---------------------------------------------------------------------------------------------


def _require_possible_loads(trial: TrialState) -> None:
    load = impossible_load(trial.signals.raw_plates)
    if load is not None:
        raise PlateError(
            f"The force plates of '{trial.walk.path.name}' show {load:.3g} N for a tenth of a second: beyond any human "
            "load, so their forces are in a wrong unit or scale.",
            "Check ANALOG:UNITS, ANALOG:SCALE and GEN_SCALE (N and Nmm are usual), and export the trial again.",
        )


def _require_contact(trial: TrialState) -> None:
    if not trial.contacts:
        raise PlateError(
            f"No force plate of '{trial.walk.path.name}' was ever loaded above {trial.settings.contacts.threshold_n:g} N.",
            f"{unloaded_cause(trial.signals.raw_plates)} Joint torques need at least one foot on a plate; check the force "
            "channels with 'biodyn check FILE.c3d'.",
        )
