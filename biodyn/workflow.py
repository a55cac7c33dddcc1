"""One walk from its C3D file to the result: the only place that knows the order of the steps."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from biodyn.analysis import StaticFacts, SubjectFacts, TrialAnalysis
from biodyn.conventions import SIDES
from biodyn.data_checks import data_checks
from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError, PlateError, StaticTrialError, SubjectError
from biodyn.io.c3d import read_c3d_many
from biodyn.io.statics import find_static
from biodyn.model.definition import SkeletonDefinition, load_skeleton
from biodyn.model.markersets import MarkerMapping, recognise
from biodyn.model.scaling import ScalingOptions, scale, uncertain_turns, with_mass
from biodyn.model.subject import SubjectModel
from biodyn.processing.body_mass import PLAUSIBLE_MASS_KG, MassEstimate, mass_from_standing, mass_from_strides
from biodyn.processing.calibration import find_turns, refine_centres, sample
from biodyn.processing.contact_notes import contact_diagnostics
from biodyn.processing.contacts import PlateSignals
from biodyn.processing.data_checks.units import unloaded_cause
from biodyn.processing.dynamics import solve_dynamics
from biodyn.processing.events import gait_events
from biodyn.processing.feet import GaitPoints, gait_points
from biodyn.processing.filtering import butterworth_lowpass
from biodyn.processing.gaps import Gap, fill_gaps
from biodyn.processing.ground_reaction import feet_on_plates
from biodyn.processing.kinematics import base_angles
from biodyn.processing.orientation import find_world
from biodyn.processing.plates import plate_wrench, resample_wrench
from biodyn.processing.standing import Standing, quiet_standing
from biodyn.processing.tracking import TrackingOptions, track
from biodyn.processing.uncertainty import TrialInputs, load_magnitudes, torque_uncertainty
from biodyn.processing.uncertainty.inputs import stride_time
from biodyn.result import TrialResult, read_view, write_report
from biodyn.settings import Settings, settings_from
from biodyn.trial import Contact, GaitEvent, GroundReaction, Markers, PlateWrench, Recording

Progress = Callable[[str], None]
# A marker seen in fewer frames than this share of the walk cannot carry a coordinate.
_TRACKED_SHARE = 0.5
_PLAUSIBLE_HEIGHT_M = (0.5, 2.6)


@dataclass
class _Clock:
    """Seconds spent in each step, and the caller's progress display."""

    progress: Progress | None
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        if self.progress is not None:
            self.progress(name)
        start = time.perf_counter()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start


@dataclass(frozen=True)
class _Signals:
    markers: Markers
    gaps: tuple[Gap, ...]
    raw_plates: tuple[PlateWrench, ...]
    plates: tuple[PlateWrench, ...]
    unfiltered: Markers


def analyse_trial(
    walk: str | Path,
    static: str | Path | None = None,
    mass_kg: float | None = None,
    height_m: float | None = None,
    settings: Settings | Mapping[str, Any] | str | Path | None = None,
    progress: Progress | None = None,
) -> TrialAnalysis:
    """Analyse one walk; see `run_trial`. `progress` is called with the name of each step as it begins."""
    options = settings_from(settings if not isinstance(settings, Mapping) else dict(settings))
    _require_plausible("Body mass", mass_kg, PLAUSIBLE_MASS_KG, "kg", "--mass")
    _require_plausible("Body height", height_m, _PLAUSIBLE_HEIGHT_M, "m", "--height")
    clock = _Clock(progress)
    notes: list[Diagnostic] = []

    with clock.step("reading"):
        recording, standing_file, reason = _read(Path(walk), static)
        _require_loaded_plates(recording)
    with clock.step("axes"):
        world = find_world(recording)
        recording = recording.rotated(world.R_WL)
        upright = find_world(standing_file)
        standing_file = standing_file.rotated(upright.R_WL)
        notes += [*recording.diagnostics, *world.diagnostics]
    with clock.step("marker set"):
        labels = tuple(dict.fromkeys(recording.markers.labels + standing_file.markers.labels))
        mapping = recognise(labels, options.model.marker_set)
    with clock.step("signals"):
        signals = _signals(recording, mapping, options, notes)
    with clock.step("scaling"):
        standing = quiet_standing(standing_file.markers)
        notes += standing.diagnostics
        skeleton = load_skeleton("full_body" if options.model.skeleton == "auto" else options.model.skeleton)
        carried = _carried_standing(standing_file, standing, mapping, skeleton, notes)
        mass = _known_mass(mass_kg, recording, standing_file) or carried
        scaling = _scaling_options(options, recording, standing_file, height_m, mass)
        tracked = _tracked(signals.markers)

        def scaled(turns_rad: Mapping[str, float]) -> tuple[SubjectModel, list[Diagnostic]]:
            return scale(skeleton, mapping, standing.points, tracked, scaling, turns_rad)

        model, scale_notes = scaled({})
        notes += scale_notes
    with clock.step("calibration"):
        frames = sample(signals.markers)
        hinges = uncertain_turns(model, mapping, frozenset(standing.points))
        turns, turn_notes = find_turns(frames, model, hinges, lambda turns_rad: scaled(turns_rad)[0])
        model, _ = scaled(turns) if turns else (model, [])
        model, centre_notes = refine_centres(frames, model)
        notes += [*turn_notes, *centre_notes]
    with clock.step("inverse kinematics"):
        notes += _idle_weights(options.inverse_kinematics.marker_weights, signals.markers)
        fit, markers, fit_notes = track(model, signals.markers, mapping, _tracking_options(options))
        model, signals = fit.model, replace(signals, markers=markers)
        notes += fit_notes
    with clock.step("contacts"):
        points = gait_points(fit, SIDES, recording.markers.rate_hz)
        contacts, reaction = _contacts(recording, signals, points, options, mass)
        notes += contact_diagnostics(contacts, recording.markers.rate_hz)
    with clock.step("events"):
        events, event_notes = gait_events(
            contacts,
            recording.events,
            heel_W=points.heel,
            toe_W=points.toe,
            pelvis_W=points.pelvis,
            forward_W=points.forward,
            rate_hz=recording.markers.rate_hz,
            source=options.gait.events,
        )
        notes += event_notes
    with clock.step("inverse dynamics"):
        if mass is None:
            mass = _mass_from_strides(reaction, events, recording.markers.rate_hz, notes)
            model = with_mass(model, mass.mass_kg)
            fit = replace(fit, model=model)
        dynamics = solve_dynamics(fit, reaction)
    with clock.step("uncertainty"):
        propagation = TrialInputs(
            fit=fit,
            dynamics=dynamics,
            reaction=reaction,
            contacts=contacts,
            markers=signals.markers,
            raw=signals.unfiltered,
            raw_plates=signals.raw_plates,
            cutoff_hz=options.signals.cutoff_hz,
            force_cutoff_hz=options.force_cutoff_hz,
            filter_order=options.signals.filter_order,
            visibility_ramp_s=options.inverse_kinematics.visibility_ramp_s,
            weights=options.inverse_kinematics.marker_weights,
            stride_s=stride_time(events),
        )
        uncertainty = None
        if options.uncertainty.compute:
            magnitudes = load_magnitudes(options.uncertainty.magnitudes)
            uncertainty = torque_uncertainty(propagation, magnitudes, options.uncertainty.scale)

    analysis = TrialAnalysis(
        recording=recording,
        static=StaticFacts(
            standing_file.path,
            standing_file.sha256,
            reason,
            standing.first,
            standing.last,
            standing.movement_m,
            standing.points,
            None if carried is None else carried.mass_kg,
        ),
        settings=options,
        subject=_subject_facts(recording, standing_file, mass, model, height_m, options),
        R_WL=world.R_WL,
        world_reason=world.reason,
        mapping=mapping,
        gaps=signals.gaps,
        model=model,
        fit=fit,
        base_angles=base_angles(model, fit),
        plates=signals.plates,
        contacts=contacts,
        reaction=reaction,
        points=points,
        dynamics=dynamics,
        events=events,
        diagnostics=tuple(notes),
        timings=clock.seconds,
        propagation=propagation,
        uncertainty=uncertainty,
    )
    with clock.step("checks"):
        return replace(analysis, diagnostics=(*analysis.diagnostics, *data_checks(analysis)))


# -- reading ----------------------------------------------------------------------------------------------------


def _read(walk: Path, static: str | Path | None) -> tuple[Recording, Recording, str]:
    if static is not None:
        walk_read, static_read = read_c3d_many([walk, static])
        return _readable(walk_read), _readable(static_read), "named by the user"
    search = find_static(walk)
    if search.recording is None:
        raise StaticTrialError(search.reason, "Name it with --static STATIC.c3d.")
    return search.walk, search.recording, search.reason


def _readable(result: Recording | InputFileError) -> Recording:
    if isinstance(result, InputFileError):
        raise result
    return result


def _require_loaded_plates(recording: Recording) -> None:
    if not recording.plates:
        raise PlateError(
            f"'{recording.path.name}' holds no force plate: joint torques need the ground reaction.",
            "Export the trial with its force plates (FORCE_PLATFORM parameters and analog channels).",
        )


def _require_plausible(what: str, value: float | None, limits: tuple[float, float], unit: str, option: str) -> None:
    if value is not None and not limits[0] <= value <= limits[1]:
        raise SubjectError(
            f"{what} of {value:g} {unit} is not plausible: expected {limits[0]:g} to {limits[1]:g} {unit}.",
            f"Give {option} in {unit}.",
        )


# -- signals ----------------------------------------------------------------------------------------------------


def _signals(recording: Recording, mapping: MarkerMapping, options: Settings, notes: list[Diagnostic]) -> _Signals:
    markers = recording.markers
    wanted = [i for i, label in enumerate(markers.labels) if mapping.role(label) or label in mapping.unknown]
    markers = Markers(tuple(markers.labels[i] for i in wanted), markers.positions[:, wanted], markers.rate_hz)
    filled = fill_gaps(
        markers.positions,
        markers.rate_hz,
        _segment_groups(markers, mapping),
        options.signals.spline_gap_s,
        options.signals.rigid_gap_s,
    )
    order = options.signals.filter_order
    smooth = butterworth_lowpass(filled.positions, markers.rate_hz, options.signals.cutoff_hz, order)
    raw = []
    for plate in recording.plates:
        wrench = plate_wrench(plate, markers.frame_count, markers.rate_hz)
        notes += wrench.diagnostics
        raw.append(wrench)
    plates = [
        resample_wrench(
            replace(plate, wrench=butterworth_lowpass(plate.wrench, plate.rate_hz, options.force_cutoff_hz, order)),
            markers.frame_count,
            markers.rate_hz,
        )
        for plate in raw
    ]
    unfiltered = replace(markers, positions=filled.positions)
    return _Signals(replace(markers, positions=smooth), tuple(filled.record), tuple(raw), tuple(plates), unfiltered)


def _segment_groups(markers: Markers, mapping: MarkerMapping) -> list[tuple[int, ...]]:
    groups: dict[str, list[int]] = {}
    for index, label in enumerate(markers.labels):
        role = mapping.role(label)
        if role is not None:
            groups.setdefault(role.body, []).append(index)
    return [tuple(group) for group in groups.values()]


def _tracked(markers: Markers) -> frozenset[str]:
    share = np.isfinite(markers.positions[..., 0]).mean(axis=0)
    return frozenset(label for label, seen in zip(markers.labels, share, strict=True) if seen >= _TRACKED_SHARE)


# -- subject ----------------------------------------------------------------------------------------------------


def _known_mass(
    given: float | None,
    recording: Recording,
    standing_file: Recording,
) -> MassEstimate | None:
    if given is not None:
        return MassEstimate(given, "given by the user")
    for source in (recording, standing_file):
        stored = source.subject.mass_kg
        if stored is not None and PLAUSIBLE_MASS_KG[0] <= stored <= PLAUSIBLE_MASS_KG[1]:
            return MassEstimate(stored, f"stored in {source.path.name}")
    return None


def _carried_standing(
    standing_file: Recording,
    standing: Standing,
    mapping: MarkerMapping,
    skeleton: SkeletonDefinition,
    notes: list[Diagnostic],
) -> MassEstimate | None:
    feet_bodies = [body.name for body in skeleton.bodies if body.sole is not None]
    feet = []
    for body in feet_bodies:
        points = [standing.points[r.label] for r in mapping.roles if r.body == body and r.label in standing.points]
        if points:
            feet.append(np.mean(points, axis=0))
    markers = standing_file.markers
    try:
        plates = [plate_wrench(plate, markers.frame_count, markers.rate_hz) for plate in standing_file.plates]
    except PlateError as error:  # the walk does not depend on the plates of the static trial
        notes.append(Diagnostic("static-plates", "info", f"Plates of the static trial are not used. {error.message}"))
        return None
    return mass_from_standing(plates, standing.first / markers.rate_hz, (standing.last + 1) / markers.rate_hz, feet)


def _mass_from_strides(
    reaction: GroundReaction, events: tuple[GaitEvent, ...], rate_hz: float, notes: list[Diagnostic]
) -> MassEstimate:
    estimate = mass_from_strides(reaction, events, rate_hz)
    if estimate is None:
        raise SubjectError(
            "Body mass is neither given, nor stored in the files, nor measurable: the static trial is not on plates and "
            "no whole stride was measured.",
            "Give it with --mass.",
        )
    notes.append(
        Diagnostic(
            "mass-from-strides",
            "warning",
            f"Body mass was estimated from the {estimate.source}: {estimate.mass_kg:.1f} kg.",
            value=estimate.mass_kg,
            unit="kg",
            hint="It assumes steady walking; give the true mass with --mass.",
        )
    )
    return estimate


def _scaling_options(
    options: Settings,
    recording: Recording,
    standing_file: Recording,
    height_m: float | None,
    mass: MassEstimate | None,
) -> ScalingOptions:
    measures = {**standing_file.subject.measures, **recording.subject.measures}
    diameter = measures.get("marker_diameter", options.model.marker_diameter_mm / 1000.0)
    stored_sex = recording.subject.sex or standing_file.subject.sex
    return ScalingOptions(
        mass_kg=1.0 if mass is None else mass.mass_kg,  # with strides the mass comes later and scales the inertias
        height_m=height_m or _stored_height(recording, standing_file)[0],
        sex=options.model.sex or stored_sex or "mean",
        measures=measures,
        anthropometry=options.model.anthropometry,
        hip_centre=options.model.hip_centre,
        marker_radius_m=diameter / 2.0,
        foot_flat=options.model.foot_flat,
    )


def _stored_height(recording: Recording, standing_file: Recording) -> tuple[float | None, str]:
    for source in (recording, standing_file):
        stored = source.subject.height_m
        if stored is not None and _PLAUSIBLE_HEIGHT_M[0] <= stored <= _PLAUSIBLE_HEIGHT_M[1]:
            return stored, f"stored in {source.path.name}"
    return None, "estimated from the legs"


def _subject_facts(
    recording: Recording,
    standing_file: Recording,
    mass: MassEstimate,
    model: SubjectModel,
    height_m: float | None,
    options: Settings,
) -> SubjectFacts:
    height_source = "given by the user" if height_m is not None else _stored_height(recording, standing_file)[1]
    if options.model.sex:
        sex_source = "settings"
    elif recording.subject.sex or standing_file.subject.sex:
        sex_source = "stored in the file"
    else:
        sex_source = "not known: mean of both"
    name = recording.subject.name or standing_file.subject.name or recording.path.stem
    return SubjectFacts(name, mass.mass_kg, mass.source, model.height_m, height_source, model.sex, sex_source)


def _idle_weights(weights: Mapping[str, float], markers: Markers) -> list[Diagnostic]:
    """Weights for markers that are not there; no error, since one settings file may serve many trials."""
    unknown = [label for label in weights if label not in markers.labels]
    if not unknown:
        return []
    return [
        Diagnostic(
            "marker-weights",
            "warning",
            f"The settings weigh {', '.join(unknown)}, which the walk does not have.",
            hint=f"Its markers are {', '.join(markers.labels)}.",
        )
    ]


def _tracking_options(options: Settings) -> TrackingOptions:
    fit = options.inverse_kinematics
    return TrackingOptions(
        tolerance=fit.tolerance,
        max_iterations=fit.max_iterations,
        visibility_ramp_s=fit.visibility_ramp_s,
        weights=fit.marker_weights,
        longest_bridge_s=options.signals.rigid_gap_s,
        edge_s=0.5 / options.signals.cutoff_hz if options.signals.cutoff_hz else 0.0,
        stray_limit_m=options.limits.marker_max_m,
    )


# -- motion and contacts ----------------------------------------------------------------------------------------


def _contacts(
    recording: Recording,
    signals: _Signals,
    points: GaitPoints,
    options: Settings,
    mass: MassEstimate | None,
) -> tuple[tuple[Contact, ...], GroundReaction]:
    plates = [
        PlateSignals(plate.number, plate.corners, plate.wrench, raw.wrench[:, 4], raw.rate_hz)
        for plate, raw in zip(signals.plates, signals.raw_plates, strict=True)
    ]
    contacts, reaction = feet_on_plates(
        plates,
        points.sole,
        recording.markers.rate_hz,
        threshold_n=options.contacts.threshold_n,
        min_contact_s=options.contacts.min_contact_s,
        max_foot_distance_m=options.contacts.max_foot_distance_m,
        plate_margin_m=options.contacts.plate_margin_m,
        smear_s=0.5 / options.force_cutoff_hz if options.force_cutoff_hz else 0.0,
        mass_kg=None if mass is None else mass.mass_kg,
    )
    if not contacts:
        raise PlateError(
            f"No force plate of '{recording.path.name}' was ever loaded above {options.contacts.threshold_n:g} N.",
            f"{unloaded_cause(signals.raw_plates)} Joint torques need at least one foot on a plate; check the force "
            "channels with 'biodyn check FILE.c3d'.",
        )
    return contacts, reaction


# -- entry points -----------------------------------------------------------------------------------------------


def run_trial(
    walk: str | Path,
    static: str | Path | None = None,
    mass_kg: float | None = None,
    height_m: float | None = None,
    settings: Settings | Mapping[str, Any] | str | Path | None = None,
    progress: Progress | None = None,
) -> TrialResult:
    """Analyse one walk, from its C3D file to joint torques.

    Parameters:
        walk: C3D file with markers and force plates.
        static: C3D file of the same subject standing; None = looked for beside the walk.
        mass_kg, height_m: of the subject; None = the files', else measured (see README).
        settings: Settings, a dict or a TOML file with what differs from the defaults.
        progress: called with the name of each step as it begins.

    Raises BiodynError subclasses (InputFileError, MarkerSetError, PlateError, StaticTrialError, SubjectError,
    SettingsError) where the walk cannot be analysed.
    """
    return TrialResult(analyse_trial(walk, static, mass_kg, height_m, settings, progress))


def remake_report(folder: str | Path, progress: Progress | None = None) -> Path:
    """Draw figures and report of a result folder again, from what the folder keeps; returns the folder."""
    target = Path(folder)
    view = read_view(target)
    write_report(
        view,
        target,
        figures=True,
        report=True,
        dpi=int(view.record["settings"]["output"]["figure_dpi"]),
        progress=progress,
    )
    return target
