"""One walk from its C3D file to the result: the only place that knows the order of the steps."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from biodyn.analysis import StaticFacts, SubjectFacts, TrialAnalysis
from biodyn.checks import judge
from biodyn.checks.data import data_checks
from biodyn.checks.evidence.units import impossible_load, unloaded_cause
from biodyn.conventions import SIDES
from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError, PlateError, SettingsError, StaticTrialError, printable
from biodyn.io.c3d.read import read_c3d_many
from biodyn.library.load import UserFile, read_user_toml
from biodyn.model.body_model import SubjectModel
from biodyn.model.from_library.markersets import recognise
from biodyn.model.from_library.scaling import ScalingOptions, scale, uncertain_turns, with_mass
from biodyn.model.from_library.skeleton import load_skeleton
from biodyn.model.from_library.user_tables import user_tables
from biodyn.output.store.read import read_view
from biodyn.output.store.user_files import changed_since, require_unchanged
from biodyn.output.store.write import FIGURES_FOLDER, REPORT_NAME, adding, write_report
from biodyn.output.tables.cycle_checks import cycle_findings
from biodyn.output.tables.gait import cycle_values
from biodyn.processing.calibration.body_mass import MassEstimate
from biodyn.processing.calibration.refine import find_turns, refine_centres, sample
from biodyn.processing.calibration.standing import quiet_standing
from biodyn.processing.calibration.subject import (
    known_mass,
    require_plausible,
    standing_mass,
    stored_height,
    stride_mass,
)
from biodyn.processing.contacts.decide import PlateSignals
from biodyn.processing.contacts.feet import GaitPoints, gait_points
from biodyn.processing.contacts.ground_reaction import feet_on_plates
from biodyn.processing.contacts.notes import contact_diagnostics
from biodyn.processing.contacts.plate_levels import with_known_feet
from biodyn.processing.dynamics.solve import solve_dynamics
from biodyn.processing.gait.events import gait_events
from biodyn.processing.kinematics.fit import base_angles
from biodyn.processing.kinematics.tracking import TrackingOptions, track
from biodyn.processing.signals.orientation import find_world
from biodyn.processing.signals.prepare import (
    SignalOptions,
    TrialSignals,
    prepare_signals,
    with_markers,
)
from biodyn.recording import Contact, GroundReaction, Recording
from biodyn.session.statics import find_static
from biodyn.settings import Settings, settings_from
from biodyn.trial.result import TrialResult
from biodyn.uncertainty import TrialInputs, load_magnitudes, torque_uncertainty
from biodyn.uncertainty.inputs import stride_time

Progress = Callable[[str], None]


@dataclass(frozen=True)
class TrialFiles:
    """The files of a trial, as they were read.

    Attributes:
        walk: recording to be analysed. static: the static trial of the same subject.
        why: why this static trial was taken, without a full stop.
    """

    walk: Recording
    static: Recording
    why: str


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


def analyse_trial(
    trial: str | Path,
    static: str | Path | None = None,
    mass_kg: float | None = None,
    height_m: float | None = None,
    settings: Settings | Mapping[str, Any] | str | Path | None = None,
    progress: Progress | None = None,
    files: TrialFiles | None = None,
    torques_only: bool = False,
) -> TrialAnalysis:
    """Analyse one walk; see `run_trial`.

    Parameters:
        progress: called with the name of each step as it begins.
        files: of an earlier `read_files`, which saves reading them again.
        torques_only: leave out what does not change a torque: bands, data checks and the verdict.
    """
    options = settings_from(settings if not isinstance(settings, Mapping) else dict(settings))
    own_files = own_files_of(settings, options)
    require_plausible(mass_kg, height_m)
    clock = _Clock(progress)
    notes: list[Diagnostic] = []

    with clock.step("reading"):
        read = files or read_files(Path(trial), static)
        recording, standing_file, reason = read.walk, read.static, read.why
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
        signals = prepare_signals(recording, mapping, _signal_options(options))
    with clock.step("scaling"):
        standing = quiet_standing(standing_file.markers)
        notes += standing.diagnostics
        skeleton = load_skeleton(options.tables.skeleton)
        carried, mass_notes = standing_mass(standing_file, standing, mapping, skeleton)
        notes += mass_notes
        mass = known_mass(mass_kg, (recording, standing_file)) or carried
        scaling = _scaling_options(options, recording, standing_file, height_m, mass)
        tracked = signals.tracked()

        def scaled(turns_rad: Mapping[str, float]) -> tuple[SubjectModel, list[Diagnostic]]:
            return scale(skeleton, mapping, standing.points, tracked, scaling, turns_rad)

        model, scale_notes = scaled({})
    with clock.step("calibration"):
        frames = sample(signals.markers)
        hinges = uncertain_turns(model, mapping, frozenset(standing.points))
        turns, turn_notes = find_turns(frames, model, hinges, lambda turns_rad: scaled(turns_rad)[0])
        if turns:
            model, scale_notes = scaled(turns)
        model, centre_notes = refine_centres(frames, model)
        notes += [*scale_notes, *turn_notes, *centre_notes]
    with clock.step("inverse kinematics"):
        fit, signals, fit_notes = track(
            model,
            signals,
            mapping,
            tracking_options(options),
            lambda recorded: with_markers(signals, recorded, mapping, _signal_options(options)),
        )
        model = fit.model
        notes += fit_notes
    with clock.step("contacts"):
        points = gait_points(fit, SIDES, recording.markers.rate_hz)
        signals = with_known_feet(signals, recording.plates, points.sole, _signal_options(options))
        notes += signals.diagnostics
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
            mass, mass_note = stride_mass(reaction, events, recording.markers.rate_hz)
            notes.append(mass_note)
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
        if options.uncertainty.compute and not torques_only:
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
        user_files=own_files,
    )
    require_unchanged(own_files)
    if torques_only:
        return analysis
    with clock.step("checks"):
        impossible = cycle_findings(cycle_values(analysis))
        analysis = replace(analysis, diagnostics=(*analysis.diagnostics, *data_checks(analysis), *impossible))
    return judge(analysis)


def own_files_of(settings: object, options: Settings) -> tuple[UserFile, ...]:
    """Return the user's own files behind an analysis, checked: the settings file, and every table that is named by path."""
    files = user_tables(options.tables)
    if isinstance(settings, (str, Path)):
        return (read_user_toml(settings, "settings file", SettingsError), *files)
    return files


# -- reading ----------------------------------------------------------------------------------------------------


def read_files(walk: Path, static: str | Path | None, among: Sequence[Path] = ()) -> TrialFiles:
    """Return the walk, the static trial, and why that one was taken; errors as for `run_trial`.

    Without a static trial it is looked for beside the walk, or `among` files known to be this person's.
    """
    if static is not None:
        walk_read, static_read = read_c3d_many([walk, static])
        return TrialFiles(_readable(walk_read), _readable(static_read), "named by the user")
    search = find_static(walk, among=among)
    if search.recording is None:
        raise StaticTrialError(search.reason, "Name it with --static STATIC.c3d.")
    noted = replace(search.walk, diagnostics=(*search.walk.diagnostics, *search.diagnostics))
    return TrialFiles(noted, search.recording, search.why)


def _readable(result: Recording | InputFileError) -> Recording:
    if isinstance(result, InputFileError):
        raise result
    return result


def _require_loaded_plates(recording: Recording) -> None:
    if not recording.plates:
        unusable = [note for note in recording.diagnostics if note.code in ("plate-size", "plate-unreadable")]
        if unusable:
            found = " ".join(note.message for note in unusable)
            raise PlateError(f"'{recording.path.name}' holds no usable force plate. {found}", unusable[0].hint)
        raise PlateError(
            f"'{recording.path.name}' holds no force plate: joint torques need the ground reaction.",
            "Export the trial with its force plates (FORCE_PLATFORM parameters and analog channels).",
        )


# -- settings and subject, as the steps need them ----------------------------------------------------------------


def _signal_options(options: Settings) -> SignalOptions:
    return SignalOptions(
        cutoff_hz=options.signals.cutoff_hz,
        force_cutoff_hz=options.force_cutoff_hz,
        filter_order=options.signals.filter_order,
        spline_gap_s=options.signals.spline_gap_s,
        rigid_gap_s=options.signals.rigid_gap_s,
    )


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
        height_m=height_m or stored_height((recording, standing_file))[0],
        sex=options.model.sex or stored_sex or "mean",
        measures=measures,
        anthropometry=options.model.anthropometry,
        hip_centre=options.model.hip_centre,
        marker_radius_m=diameter / 2.0,
        foot_flat=options.model.foot_flat,
    )


def _subject_facts(
    recording: Recording,
    standing_file: Recording,
    mass: MassEstimate,
    model: SubjectModel,
    height_m: float | None,
    options: Settings,
) -> SubjectFacts:
    height_source = "given by the user" if height_m is not None else stored_height((recording, standing_file))[1]
    if options.model.sex:
        sex_source = "settings"
    elif recording.subject.sex or standing_file.subject.sex:
        sex_source = "stored in the file"
    else:
        sex_source = "not known: mean of both"
    name = recording.subject.name or standing_file.subject.name or printable(recording.path.stem)
    return SubjectFacts(name, mass.mass_kg, mass.source, model.height_m, height_source, model.sex, sex_source)


def tracking_options(options: Settings) -> TrackingOptions:
    """Return the numbers of the fit that the settings name."""
    fit = options.inverse_kinematics
    return TrackingOptions(
        tolerance=fit.tolerance,
        max_iterations=fit.max_iterations,
        visibility_ramp_s=fit.visibility_ramp_s,
        weights=fit.marker_weights,
        longest_bridge_s=options.signals.rigid_gap_s,
        edge_s=0.5 / options.signals.cutoff_hz if options.signals.cutoff_hz else 0.0,
        outlier_limit_m=options.limits.marker_max_m,
    )


# -- motion and contacts ----------------------------------------------------------------------------------------


def _contacts(
    recording: Recording,
    signals: TrialSignals,
    points: GaitPoints,
    options: Settings,
    mass: MassEstimate | None,
) -> tuple[tuple[Contact, ...], GroundReaction]:
    load = impossible_load(signals.raw_plates)
    if load is not None:
        raise PlateError(
            f"The force plates of '{recording.path.name}' show {load:.3g} N for a tenth of a second: beyond any human "
            "load, so their forces are in a wrong unit or scale.",
            "Check ANALOG:UNITS, ANALOG:SCALE and GEN_SCALE (N and Nmm are usual), and export the trial again.",
        )
    plates = [
        PlateSignals(
            plate.number, plate.corners, plate.wrench, raw.wrench[:, 4], raw.rate_hz, raw.zero, raw.saturated_s
        )
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
    trial: str | Path,
    static: str | Path | None = None,
    mass_kg: float | None = None,
    height_m: float | None = None,
    settings: Settings | Mapping[str, Any] | str | Path | None = None,
    progress: Progress | None = None,
    files: TrialFiles | None = None,
) -> TrialResult:
    """Analyse one walk, from its C3D file to joint torques.

    Parameters:
        trial: C3D file with markers and force plates.
        static: C3D file of the same subject standing; None = looked for beside the walk.
        mass_kg, height_m: of the subject; None = the files', else measured (see README).
        settings: Settings, a dict or a TOML file with what differs from the defaults.
        progress: called with the name of each step as it begins.
        files: walk and static trial, read before (`read_files`); then `static` is not looked at.

    Raises BiodynError subclasses (InputFileError, MarkerSetError, PlateError, StaticTrialError, SubjectError,
    SettingsError) where the walk cannot be analysed.
    """
    return TrialResult(analyse_trial(trial, static, mass_kg, height_m, settings, progress, files))


def remake_report(folder: str | Path, progress: Progress | None = None, say: Progress | None = None) -> Path:
    """Draw figures and report of a result folder again, from what the folder keeps; returns the folder.

    Folders of older versions are read too. Files that biodyn did not write are not replaced: ResultError names them.
    `say` is called with a sentence for every file of the user that is no longer what the result was made with.
    """
    target = Path(folder)
    view = read_view(target)
    if say is not None:
        for note in changed_since(view.record, target):
            say(f"{note.message} {note.hint}")
    names = [f"{FIGURES_FOLDER}/{name}.png" for name in view.figures]
    with adding(target, [*names, REPORT_NAME]) as place:
        write_report(
            view,
            place,
            figures=True,
            report=True,
            dpi=int(view.record["settings"]["output"]["figure_dpi"]),
            progress=progress,
        )
    return target
