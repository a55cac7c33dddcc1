"""Analyse markers on a library skeleton: axes, roles of the markers, and the model scaled to the standing subject."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import MarkerSetError
from biodyn.library.tables import expand_sides
from biodyn.model.from_library.markersets import recognise_marker_set
from biodyn.model.from_library.posture_from_motion import (
    assemble_posture,
    estimate_offsets,
    evenly_spaced_frames,
    frames_with_markers,
    is_upright,
    points_by_frame,
    with_estimated_height,
)
from biodyn.model.from_library.recognition.label_correction import assign_big_toe_markers, correct_labels
from biodyn.model.from_library.recognition.labelling_by_position import label_recordings
from biodyn.model.from_library.scaling import ScalingOptions, SubjectScaling
from biodyn.model.from_library.skeleton_recipes import SkeletonRecipe, foot_bodies, load_skeleton
from biodyn.model.marker_roles import MarkerMapping, MarkerRole
from biodyn.processing.calibration.standing_posture import (
    SOURCE_WORDS,
    CalibrationSource,
    StandingPosture,
    add_centre_roles,
    add_missing_markers,
    add_stored_centres,
    average_quiet_standing,
    flat_foot_frames,
    read_stored_centres,
)
from biodyn.processing.calibration.subject_measurements import (
    find_mass,
    find_stored_height,
    mass_in_kilograms,
    standing_mass,
)
from biodyn.processing.signals.world_frame import (
    MIRROR,
    are_corners_reversed,
    correct_static_vertical,
    facing_direction_from_static,
    find_world,
    mirror_note,
)
from biodyn.recording import Markers
from biodyn.settings import Settings
from biodyn.trial import stages
from biodyn.trial.stages import Calibration, next_stage
from biodyn.trial.trial_files import TrialFiles, has_quiet_part
from biodyn.uncertainty.propagation_inputs import Magnitudes, PoseErrors, load_magnitudes

#: Names of the joint offsets between wand and joint in the laboratory software.
WAND_OFFSETS = ("thigh_rotation_{s}", "shank_rotation_{s}", "ankle_abduction_{s}")
# Sufficient for a stride, s.
_FRAMES = 60


class MarkerBody:
    """The analysis steps of a library skeleton that is fitted to markers."""

    supports_joint_centre_fit = True
    has_outliers = True

    def require_supported_settings(self, settings: Settings) -> None:
        """Do nothing, because all settings are supported."""

    def orient_recordings(self, trial: stages.LoadedTrial) -> stages.OrientedTrial:
        """Return walk and static trial, each rotated to its own World axes."""
        static = find_world(correct_static_vertical(trial.static, trial.walk))
        world = find_world(trial.walk, facing_direction_from_static(trial.walk, trial.static, static))
        walk = trial.walk.rotated(world.R_WL)
        centres = read_stored_centres(trial.static) if trial.settings.model.stored_centres else ()
        in_world = add_stored_centres(trial.static, centres).rotated(static.R_WL)
        return next_stage(
            trial, stages.OrientedTrial, walk=walk, static=in_world, world=world, centres=centres
        ).with_notes(*walk.diagnostics, *world.diagnostics)

    def label_markers(self, trial: stages.OrientedTrial) -> stages.LabelledTrial:
        """Return the role of each marker by its label, corrected if its position contradicts the label."""
        settings = trial.settings.model
        centres = {centre.label for centre in trial.centres}
        walk, static = trial.walk.markers, trial.static.markers
        labels = [label for label in dict.fromkeys(walk.labels + static.labels) if label not in centres]
        points = standing_points(trial.files, static) if settings.geometry else {}
        notes: list[Diagnostic] = []
        try:
            found = recognise_marker_set(labels, settings.marker_set)
        except MarkerSetError as error:
            try:
                if not settings.geometry:
                    raise
                by_place = label_recordings(walk, static, points, settings.marker_set, error)
            except MarkerSetError as refusal:
                found = _recognise_incomplete_set(labels, settings.marker_set, refusal)
            else:
                walk, static, points, found = by_place.walk, by_place.static, by_place.points, by_place.mapping
                notes += by_place.notes
        if settings.geometry:
            corrected = correct_labels(walk, static, points, found)
            if corrected.all_sides and are_corners_reversed(trial.walk.plates):
                trial = _mirror_recordings(trial)
                points = {label: MIRROR @ point for label, point in points.items()}
                corrected = correct_labels(walk.rotated(MIRROR), static.rotated(MIRROR), points, found)
            # without a static trial, the walk replaces it
            walk, static = corrected.walk, corrected.walk if trial.files.source == "walk" else corrected.static
            found, toe_notes = assign_big_toe_markers(found, static)
            notes += [*corrected.notes, *toe_notes]
        mapping, centre_notes = add_centre_roles(found, trial.centres)
        recordings = {"walk": trial.walk.with_markers(walk), "static": trial.static.with_markers(static)}
        return next_stage(trial, stages.LabelledTrial, mapping=mapping, **recordings).with_notes(*notes, *centre_notes)

    def scale_model(self, trial: stages.PreparedTrial) -> stages.ScaledTrial:
        """Return the skeleton scaled to the standing subject."""
        settings = trial.settings
        skeleton = load_skeleton(settings.table_names.skeleton)
        options = scaling_options(trial)
        calibrated = calibrate(
            trial.files, trial.static.markers, trial.signals.markers, skeleton, trial.mapping, options
        )
        standing, plates_mass = calibrated.standing, None
        mass_notes: list[Diagnostic] = []
        if calibrated.is_seen:
            plates_mass, mass_notes = standing_mass(trial.static, standing, trial.mapping, foot_bodies(skeleton))
        mass = find_mass(settings.subject.mass_kg, (trial.walk, trial.static)) or plates_mass
        if mass is not None:
            mass, in_pounds = mass_in_kilograms(mass, plates_mass)
            mass_notes += in_pounds
        options = replace(
            options,
            mass_kg=1.0 if mass is None else mass.mass_kg,  # a mass estimated from strides scales the inertias later
            joint_offsets_rad=calibrated.joint_offsets_rad,
        )
        scaling = SubjectScaling(skeleton, trial.mapping, standing.points, trial.signals.tracked_labels(), options)
        model, model_notes = scaling.model()
        note = calibration_note(calibrated, load_magnitudes(settings.uncertainty.magnitudes))
        return next_stage(
            trial,
            stages.ScaledTrial,
            calibrated=calibrated,
            plates_mass=plates_mass,
            mass=mass,
            scaling=scaling,
            model=model,
            model_notes=tuple(model_notes),
        ).with_notes(*standing.diagnostics, *mass_notes, *([] if note is None else [note]))

    def landmark_roles(self, mapping: MarkerMapping) -> tuple[MarkerRole, ...]:
        """Return the roles of the markers on landmarks."""
        return mapping.roles

    def pose_errors(self, trial: stages.ScaledTrial) -> PoseErrors | None:
        """Return None, because markers were measured."""
        return None


def _recognise_incomplete_set(labels: Sequence[str], marker_set: str, refusal: MarkerSetError) -> MarkerMapping:
    """Return the mapping if only dispensable markers are missing; else raise the original MarkerSetError."""
    try:
        return recognise_marker_set(labels, marker_set, sparing=True)
    except MarkerSetError:
        raise refusal from None


def _mirror_recordings(trial: stages.OrientedTrial) -> stages.OrientedTrial:
    world = replace(trial.world, R_WL=MIRROR @ trial.world.R_WL)
    walk, static = trial.walk.rotated(MIRROR), trial.static.rotated(MIRROR)
    return replace(trial, world=world, walk=walk, static=static).with_notes(mirror_note())


def scaling_options(trial: stages.PreparedTrial) -> ScalingOptions:
    """Return the inputs of scaling; values given by the user have priority over those in the files.

    The mass is 1 kg, because it may be measured later in the static trial, which needs these options.
    """
    settings, walk, static = trial.settings.model, trial.walk, trial.static
    stored = {**static.subject.measures, **walk.subject.measures}
    given = trial.settings.subject.measures
    diameter = stored.get("marker_diameter", settings.marker_diameter_mm / 1000.0)
    return ScalingOptions(
        mass_kg=1.0,
        height_m=trial.settings.subject.height_m or find_stored_height((walk, static))[0],
        sex=trial.settings.subject.sex or walk.subject.sex or static.subject.sex or "mean",
        measures={**stored, **given},
        given={name: stored.get(name) for name in given},
        anthropometry=settings.anthropometry,
        hip_centre=settings.hip_centre,
        marker_radius_m=diameter / 2.0,
        foot_flat=settings.foot_flat,
    )


# -- calibration --------------------------------------------------------------------------------------------------------


def calibrate(
    files: TrialFiles,
    static: Markers,
    walk: Markers,
    skeleton: SkeletonRecipe,
    mapping: MarkerMapping,
    options: ScalingOptions,
) -> Calibration:
    """Return the calibration: from a static trial if there is one, else from the file of the walk.

    static: markers of the static trial in World. walk: markers of the walk in World, gaps filled and smoothed.
    Raises StaticTrialError if neither is sufficient.
    """
    rows = files.standing_rows
    if files.source == "static trial":
        return Calibration("static trial", add_missing_markers(average_quiet_standing(static, rows), walk, mapping), {})
    offsets = stored_wand_offsets(options.measures)
    quiet = _quiet_part(static, rows, skeleton, mapping, options)
    if quiet is not None:
        source: CalibrationSource = "stored offsets" if offsets else "quiet part"
        return Calibration(source, quiet, offsets)
    source = "stored offsets" if offsets else "walk"
    seen = points_by_frame(
        walk.labels, walk.positions[evenly_spaced_frames(frames_with_markers(walk.positions), _FRAMES)]
    )
    options = with_estimated_height(skeleton, mapping, seen, replace(options, joint_offsets_rad=offsets))
    offsets = estimate_offsets(skeleton, mapping, seen, options)
    standing = _assemble_standing_posture(walk, skeleton, mapping, replace(options, joint_offsets_rad=offsets))
    return Calibration(source, standing, offsets, is_seen=False)


def standing_points(files: TrialFiles, static: Markers) -> Mapping[str, FloatArray]:
    """Return the marker positions (3,) m (World) of the standing person by label; empty without quiet standing."""
    rows = files.standing_rows
    if files.source != "static trial" and rows is None and not has_quiet_part(static):
        return {}
    return average_quiet_standing(static, rows).points


def stored_wand_offsets(measures: Mapping[str, float]) -> dict[str, float]:
    """Return the wand offsets (rad) that the stored measures contain, by name."""
    names = [name for pattern in WAND_OFFSETS for _, name in expand_sides(pattern)]
    return {name: measures[name] for name in names if name in measures}


def _quiet_part(
    markers: Markers,
    rows: tuple[int, int] | None,
    skeleton: SkeletonRecipe,
    mapping: MarkerMapping,
    options: ScalingOptions,
) -> StandingPosture | None:
    """Return the standing part of a walk, or None; frames given by the user are used unchanged."""
    if rows is not None:
        return average_quiet_standing(markers, rows)
    if not has_quiet_part(markers):
        return None
    standing = average_quiet_standing(markers)
    return standing if is_upright(skeleton, mapping, standing.points, options) else None


def _assemble_standing_posture(
    walk: Markers, skeleton: SkeletonRecipe, mapping: MarkerMapping, options: ScalingOptions
) -> StandingPosture:
    flat = {foot: _flat_foot_frames(walk, mapping, foot) for foot in foot_bodies(skeleton)}
    points, spread_m = assemble_posture(skeleton, mapping, walk.labels, walk.positions, flat, options)
    return StandingPosture(points, 0, walk.frame_count - 1, spread_m, ())


def _flat_foot_frames(walk: Markers, mapping: MarkerMapping, foot: str) -> BoolArray:
    labels = [role.label for role in mapping.roles if role.body == foot and role.label in walk.labels]
    if not labels:
        return np.zeros(walk.frame_count, dtype=bool)
    return flat_foot_frames(walk.positions[:, [walk.index(label) for label in labels]], walk.rate_hz)


def calibration_note(calibrated: Calibration, magnitudes: Magnitudes) -> Diagnostic | None:
    """Return the warning of a model without a static trial: its replacement, and the added uncertainty of joint centres."""
    source = calibrated.source
    if source == "static trial":
        return None
    added = magnitudes.calibration_m.get(source, {})
    largest = max(added.values(), default=0.0)
    standing = calibrated.standing
    frames = standing.last - standing.first + 1
    return Diagnostic(
        "calibrated-without-static",
        "warning",
        f"No static trial is used: the model was calibrated from {SOURCE_WORDS[source]} ({frames} frames), which increases "
        f"the uncertainty of joint centres by up to {1000 * largest:.0f} mm along each axis; the bands include it.",
        value=largest,
        unit="m",
        frames=(standing.first, standing.last),
        hint="Give a file with the standing subject (--static) or frames in which the subject stands (--static-frames).",
    )
