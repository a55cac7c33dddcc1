"""Analyse measured segment poses of markerless systems: they define the joint centres and axes of the skeleton.

Virtual points around every pose replace the markers, so gap filling, filters, the fit of the skeleton and all later steps are
the same. The model of the subject is determined from the poses (`model.from_library.posture_from_poses`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import SettingsError
from biodyn.geometry.rotations import matrices_from_axis_angle
from biodyn.io.segment_poses import require_known_system
from biodyn.library.pose_systems import OF_SKELETON, PoseSystem
from biodyn.model.assembly import ScaledBody
from biodyn.model.body_model import SubjectModel, with_bodies
from biodyn.model.from_library.posture_from_motion import evenly_spaced_frames
from biodyn.model.from_library.posture_from_poses import PoseFigure
from biodyn.model.from_library.scaling import SubjectScaling
from biodyn.model.from_library.skeleton_recipes import SkeletonRecipe, load_skeleton
from biodyn.model.marker_roles import MarkerMapping, MarkerRole
from biodyn.model.skeleton import static_angles
from biodyn.processing.calibration.standing_posture import StandingPosture
from biodyn.processing.calibration.subject_measurements import find_mass
from biodyn.processing.signals.smoothing.butterworth import ESTIMATE
from biodyn.processing.signals.world_frame import find_world
from biodyn.recording import Markers, Recording, SegmentPoses
from biodyn.recording.motion import point_label
from biodyn.settings import Settings
from biodyn.trial import stages
from biodyn.trial.bodies.body_from_markers import scaling_options
from biodyn.trial.stages import Calibration, next_stage
from biodyn.uncertainty.propagation_inputs import Magnitudes, PoseErrors, PoseOffset, load_magnitudes

# Largest drift between the joint centres of the two segments of a joint, m.
_APART_M = 0.05
# Small relative to every segment, large relative to rounding errors.
_STEP_M, _STEP_RAD = 1e-4, 1e-4
_FRAMES = 30  # number of frames that represent the change of a mean over all frames


class PoseBody:
    """The analysis steps of a library skeleton that is fitted to measured segment poses."""

    supports_joint_centre_fit = False
    has_outliers = False  # a joint that does not reproduce a pose

    def require_supported_settings(self, settings: Settings) -> None:
        """Raise SettingsError if an estimate of motion and forces is requested."""
        if settings.signals.method == ESTIMATE:
            raise SettingsError(
                "An estimate of motion and forces needs markers, because its error model does not apply to measured segment "
                "poses.",
                'Set [signals] method = "butterworth".',
            )

    def orient_recordings(self, trial: stages.LoadedTrial) -> stages.OrientedTrial:
        """Return the stage with the recording rotated to World axes."""
        world = find_world(with_segment_origins(trial.walk))
        walk = trial.walk.rotated(world.R_WL)
        return next_stage(trial, stages.OrientedTrial, walk=walk, static=walk, world=world).with_notes(
            *walk.diagnostics, *world.diagnostics
        )

    def label_markers(self, trial: stages.OrientedTrial) -> stages.LabelledTrial:
        """Return the role of each virtual point: it moves with its segment and is not a landmark."""
        system, skeleton = _pose_system(trial.walk), load_skeleton(trial.settings.table_names.skeleton)
        labels = trial.walk.markers.labels
        bodies = {label: body for label, body in system.bodies.items() if body in skeleton.free}
        roles = tuple(
            MarkerRole(label, "", body, 1.0, False, system.name)
            for segment, body in bodies.items()
            for label in (point_label(segment, k) for k in range(4))
            if label in labels
        )
        share = len(roles) / (4 * len(bodies))
        mapping = MarkerMapping(system.name, system.title, roles, (), {system.name: share})
        return next_stage(trial, stages.LabelledTrial, mapping=mapping)

    def scale_model(self, trial: stages.PreparedTrial) -> stages.ScaledTrial:
        """Return the model with the joint centres and axes of the poses."""
        poses, skeleton = trial.walk.poses, load_skeleton(trial.settings.table_names.skeleton)
        mass = find_mass(trial.settings.subject.mass_kg, (trial.walk,))
        options = scaling_options(trial)
        figure = PoseFigure(poses, _pose_system(trial.walk), skeleton, options.height_m)
        roles = tuple(
            MarkerRole(f"{landmark} (file)", landmark, body, 0.0, True, trial.mapping.name)
            for landmark, body in figure.carriers.items()
        )
        mapping = replace(trial.mapping, roles=trial.mapping.roles + roles)
        points = {**figure.points, **{f"{name} (file)": place for name, place in figure.landmarks.items()}}
        options = replace(
            options, mass_kg=1.0 if mass is None else mass.mass_kg, height_m=figure.height_m, marker_radius_m=0.0
        )
        scaling = SubjectScaling(skeleton, mapping, points, trial.signals.tracked_labels(), options)
        model, notes = scaling.model(known=figure.known)
        spread_m = max(figure.apart_m.values(), default=0.0)
        standing = StandingPosture(dict(figure.points), 0, poses.frame_count - 1, spread_m, ())
        return next_stage(
            trial,
            stages.ScaledTrial,
            mapping=mapping,
            calibrated=Calibration("poses", standing, {}, is_seen=False),
            mass=mass,
            scaling=scaling,
            model=replace(model, uncertain_turns={}),
            model_notes=(*map(_reword_for_poses, notes), *_drift_notes(figure.apart_m)),
        )

    def landmark_roles(self, mapping: MarkerMapping) -> tuple[MarkerRole, ...]:
        """Return an empty tuple, because poses have no landmarks."""
        return ()

    def pose_errors(self, trial: stages.ScaledTrial) -> PoseErrors | None:
        """Return the errors of the poses if bands are computed, else None."""
        settings = trial.settings
        if not settings.uncertainty.compute:
            return None
        magnitudes = load_magnitudes(settings.uncertainty.magnitudes)
        skeleton, system = load_skeleton(settings.table_names.skeleton), _pose_system(trial.walk)
        return pose_errors(trial.model, trial.walk.poses, system, skeleton, magnitudes)


def _pose_system(recording: Recording) -> PoseSystem:
    """Return the definition of the markerless system that wrote the poses of the recording."""
    return require_known_system(recording.path, recording.poses.labels)


def with_segment_origins(recording: Recording) -> Recording:
    """Return the recording with the segment origins as its points."""
    poses, system = recording.poses, _pose_system(recording)
    columns = [i for i, label in enumerate(poses.labels) if label not in system.unused]
    labels = tuple(poses.labels[i] for i in columns)
    return recording.with_markers(Markers(labels, poses.origins[:, columns], poses.rate_hz, virtual=True))


def _reword_for_poses(note: Diagnostic) -> Diagnostic:
    """Return a finding on missing markers with the wording for poses."""
    if note.code == "assumed-measure" and note.about:
        text = f"The file does not contain {note.about}; it was placed relative to the foot segments as in an average person."
        return replace(note, severity="info", message=text, hint="")
    if note.code == "assumed-measure":
        return replace(note, severity="info", hint="")
    return note


def _drift_notes(apart_m: Mapping[str, float]) -> list[Diagnostic]:
    far = {body: apart for body, apart in apart_m.items() if apart > _APART_M}
    if not far:
        return []
    body = max(far, key=lambda name: far[name])
    listed = ", ".join(
        f"{name} {1000 * apart:.0f} mm" for name, apart in sorted(far.items(), key=lambda item: -item[1])
    )
    return [
        Diagnostic(
            "pose-error",
            "warning",
            f"Segments translate relative to their parents at the joint (RMS): {listed}; the joints of the skeleton only "
            f"rotate.",
            value=float(np.max([*far.values()])),
            limit=_APART_M,
            unit="m",
            hint="Check for frames in which a segment jumps or a wrong segment was tracked.",
            about=body,
        )
    ]


# -- bands: change of the model for a small constant error of one segment pose --------------------------------------


@dataclass(frozen=True)
class _ReferenceModel:
    """The model without errors and the posture in some frames, with which displaced segments are compared."""

    model: SubjectModel
    figure: PoseFigure
    poses: SegmentPoses
    system: PoseSystem
    skeleton: SkeletonRecipe


def pose_errors(
    model: SubjectModel, poses: SegmentPoses, system: PoseSystem, skeleton: SkeletonRecipe, magnitudes: Magnitudes
) -> PoseErrors:
    """Return the error model of the segment poses (World) from which a body model was determined."""
    size = magnitudes.pose_error
    segments = {segment.body: segment for segment in system.segments}
    fitted = list(dict.fromkeys(marker.body for marker in model.markers))
    seen = np.isfinite(poses.origins[:, [poses.labels.index(segments[b].label) for b in fitted], 0]).all(axis=1)
    rows = evenly_spaced_frames(np.flatnonzero(seen), _FRAMES)
    assumed = frozenset(body for body in fitted if segments[body].joint == OF_SKELETON and body != skeleton.root.name)
    if not len(rows):
        return PoseErrors(size, magnitudes.pose_shares, (), assumed)
    some = SegmentPoses(poses.labels, poses.rotations[rows], poses.origins[rows], poses.rate_hz, None, poses.landmarks)
    base = _ReferenceModel(model, PoseFigure(some, system, skeleton, model.height_m), some, system, skeleton)
    offsets = tuple(
        _segment_displacement(base, body, segments[body].label, turns, axis)
        for body in fitted
        for turns in (False, True)
        for axis in np.eye(3)
    )
    return PoseErrors(size, magnitudes.pose_shares, offsets, assumed)


def _segment_displacement(base: _ReferenceModel, body: str, label: str, turns: bool, axis: FloatArray) -> PoseOffset:
    """Return the change of model and virtual points if one segment is displaced along or rotated about an axis of its body.

    turns: whether the segment is rotated (by `_STEP_RAD`) or displaced (by `_STEP_M`).
    """
    step = _STEP_RAD if turns else _STEP_M
    V = base.system.R_VB @ axis  # the same in segment axes
    at = base.poses.labels.index(label)
    rotations, origins = base.poses.rotations.copy(), base.poses.origins.copy()
    if turns:
        rotations[:, at] = rotations[:, at] @ matrices_from_axis_angle(V, step)
    else:
        origins[:, at] += step * (rotations[:, at] @ V)
    displaced = replace(base.poses, rotations=rotations, origins=origins)
    figure = PoseFigure(displaced, base.system, base.skeleton, base.model.height_m)
    moved_L = np.zeros((len(base.model.markers), 3))
    for m, marker in enumerate(base.model.markers):
        if marker.body == body:
            R, p = base.figure.known[body]
            arm = R.T @ (base.figure.points[marker.label] - p) - _points_origin(base, body)
            moved_L[m] = base.model.frames[body].R_LB @ (step * np.cross(axis, arm) if turns else step * axis)
    return PoseOffset(body, turns, step, _apply_figure(base, figure), moved_L)


def _points_origin(base: _ReferenceModel, body: str) -> FloatArray:
    """Return the segment origin (3,) m in body axes: the mean of its virtual points."""
    R, p = base.figure.known[body]
    points = [base.figure.points[m.label] for m in base.model.markers if m.body == body]
    return np.asarray(R.T @ (np.mean(points, axis=0) - p))


def _apply_figure(base: _ReferenceModel, figure: PoseFigure) -> SubjectModel:
    """Return the model with the joint centres, fixed angles and segment points of another posture (`figure`)."""
    before, after = base.figure.known, figure.known
    bodies = tuple(_change_body(body, before, after) for body in base.model.bodies)
    markers = tuple(
        replace(m, p_BM=m.p_BM + _figure_point(figure, m.body, m.label) - _figure_point(base.figure, m.body, m.label))
        for m in base.model.markers
    )
    return replace(with_bodies(base.model, bodies), markers=markers)


def _figure_point(figure: PoseFigure, body: str, label: str) -> FloatArray:
    R, p = figure.known[body]
    return np.asarray(R.T @ (figure.points[label] - p))


_Known = Mapping[str, tuple[FloatArray, FloatArray]]


def _change_body(body: ScaledBody, before: _Known, after: _Known) -> ScaledBody:
    name, parent = body.definition.name, body.definition.parent
    if name not in before or parent not in before:
        return body
    (R_old, p_old), (R_new, p_new) = (_pose_in_parent(known, name, parent) for known in (before, after))
    R_PB = body.R_PB @ R_old.T @ R_new
    angles = tuple(
        angle + (new - old if step.coordinate is None else 0.0)
        for step, angle, old, new in zip(
            body.definition.rotations,
            body.static_angles_rad,
            static_angles(body.definition, R_old),
            static_angles(body.definition, R_new),
            strict=True,
        )
    )
    return replace(body, R_PB=R_PB, p_PB=body.p_PB + p_new - p_old, static_angles_rad=angles)


def _pose_in_parent(known: _Known, name: str, parent: str) -> tuple[FloatArray, FloatArray]:
    (R_WP, p_WP), (R_WB, p_WB) = known[parent], known[name]
    return R_WP.T @ R_WB, R_WP.T @ (p_WB - p_WP)
