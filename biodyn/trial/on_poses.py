"""A walk that is analysed on measured poses of its segments, as markerless systems store them, instead of on markers.

Virtual points set about every pose take the markers' place, so that gaps, filters, the fit of the skeleton and everything
behind it are the same; the subject's model comes from the poses themselves (`model.from_library.pose_figure`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError, MarkerSetError
from biodyn.io.segment_poses import require_known, require_seen, virtual_points
from biodyn.library.pose_systems import PoseSystem, pose_system_of
from biodyn.model.body_model import SubjectModel
from biodyn.model.from_library.markersets import recognise
from biodyn.model.from_library.pose_figure import PoseFigure, pose_figure
from biodyn.model.from_library.scaling import ScalingOptions
from biodyn.model.from_library.skeleton import SkeletonRecipe
from biodyn.model.from_library.subject_scaling import SubjectScaling
from biodyn.model.marker_roles import MarkerMapping, MarkerRole
from biodyn.recording import Markers, Recording, SegmentPoses
from biodyn.recording.poses import point_label

PoseUse: TypeAlias = Literal["auto", "poses", "markers"]
# Joint centres of two segments that drift apart by more than this are no joint's.
_APART_M = 0.05


def with_choice(recording: Recording, use: PoseUse, static: str | Path | None = None) -> Recording:
    """Return a recording as it is analysed: on its poses (`Recording.on_poses`) or on its markers, with what is said of that.

    Raises InputFileError where poses are asked for that cannot be used, or markers where it holds poses alone.
    """
    poses = recording.motion.poses
    if poses is None:
        return recording
    notes: list[Diagnostic] = []
    if recording.on_poses:
        if use == "markers":
            raise InputFileError(
                f"'{recording.path}' holds no markers; it holds {', '.join(recording.motion.held())}.",
                'Set [poses] use = "auto".',
            )
    else:
        use_poses = use == "poses" or (use == "auto" and not _understood(recording.markers) and _known(poses))
        notes.append(_both(recording.markers, poses, use_poses))
        if use_poses:
            system = require_known(recording.path, poses.labels)
            require_seen(recording.path, poses, system)
            recording = recording.with_markers(virtual_points(poses, system))
    if recording.on_poses and static is not None and str(static) != "none":
        text = "The static trial that was named is not used: poses of segments tell joint centres and axes themselves."
        notes.append(Diagnostic("static-not-used", "info", text))
    return replace(recording, diagnostics=(*recording.diagnostics, *notes))


def _understood(markers: Markers) -> bool:
    try:
        recognise(markers.labels)
    except MarkerSetError:
        return False
    return True


def _known(poses: SegmentPoses) -> bool:
    return pose_system_of(poses.labels) is not None


def _both(markers: Markers, poses: SegmentPoses, use_poses: bool) -> Diagnostic:
    used, other = ("poses", "markers") if use_poses else ("markers", "poses")
    return Diagnostic(
        "markers-and-poses",
        "info",
        f"The file holds {len(markers.labels)} markers and poses of {len(poses.labels)} segments: the {used} are used.",
        hint=f'[poses] use = "{other}" takes the {other}.',
    )


def system_of(recording: Recording) -> PoseSystem:
    """Return the system whose poses the recording holds."""
    return require_known(recording.path, recording.poses.labels)


def with_origins(recording: Recording) -> Recording:
    """Return the recording with the segments' origins as its points: they are where a body is, virtual points stand about it."""
    poses, system = recording.poses, system_of(recording)
    columns = [i for i, label in enumerate(poses.labels) if label not in system.unused]
    labels = tuple(poses.labels[i] for i in columns)
    return recording.with_markers(Markers(labels, poses.origins[:, columns], poses.rate_hz, virtual=True))


def pose_mapping(markers: Markers, system: PoseSystem, skeleton: SkeletonRecipe) -> MarkerMapping:
    """Return what each virtual point is for: it moves with its segment and marks no landmark."""
    named = {label: body for label, body in system.bodies.items() if body in skeleton.free}
    roles = tuple(
        MarkerRole(label, "", body, 1.0, False, system.name)
        for segment, body in named.items()
        for label in (point_label(segment, k) for k in range(4))
        if label in markers.labels
    )
    share = len(roles) / (4 * len(named))
    return MarkerMapping(system.name, system.title, roles, (), {system.name: share})


@dataclass(frozen=True)
class ScaledOnPoses:
    """The subject's model made of poses: how it was made, from which figure, and what is said of it."""

    model: SubjectModel
    scaling: SubjectScaling
    figure: PoseFigure
    notes: tuple[Diagnostic, ...]

    @property
    def points(self) -> dict[str, FloatArray]:
        """Virtual points (3,) m by label in the figure."""
        return dict(self.figure.points)


def scaled_on_poses(
    poses: SegmentPoses,
    system: PoseSystem,
    skeleton: SkeletonRecipe,
    mapping: MarkerMapping,
    tracked: frozenset[str],
    options: ScalingOptions,
) -> ScaledOnPoses:
    """Return the model whose joint centres and axes are those of the poses (World); `options` as for a static trial."""
    figure = pose_figure(poses, system, skeleton, options.height_m)
    told = tuple(
        MarkerRole(f"{landmark} (file)", landmark, body, 0.0, True, system.name)
        for landmark, body in figure.carriers.items()
    )
    places = {**figure.points, **{f"{name} (file)": place for name, place in figure.landmarks.items()}}
    mapping = replace(mapping, roles=mapping.roles + told)
    options = replace(options, height_m=figure.height_m, marker_radius_m=0.0)
    scaling = SubjectScaling(skeleton, mapping, places, tracked, options)
    model, notes = scaling.model(known=figure.known)
    return ScaledOnPoses(
        replace(model, uncertain_turns={}), scaling, figure, (*map(_of_poses, notes), *_apart(figure.apart_m))
    )


def _of_poses(note: Diagnostic) -> Diagnostic:
    """What scaling says of missing markers, as it is of poses: nobody can place a marker."""
    if note.code == "landmark-stood-in":
        text = f"The file does not tell {note.about}; it was placed by the segments of the foot as people have them."
        return replace(note, severity="info", message=text, hint="")
    if note.code == "assumed-measure":
        return replace(note, severity="info", hint="")
    return note


def _apart(apart_m: Mapping[str, float]) -> list[Diagnostic]:
    far = {body: apart for body, apart in apart_m.items() if apart > _APART_M}
    if not far:
        return []
    body = max(far, key=lambda name: far[name])
    listed = ", ".join(
        f"{name} {1000 * apart:.0f} mm" for name, apart in sorted(far.items(), key=lambda item: -item[1])
    )
    return [
        Diagnostic(
            "poses-apart",
            "warning",
            f"Segments move against their parents at the joint (RMS): {listed}; the skeleton's joints only turn.",
            value=float(np.max([*far.values()])),
            limit=_APART_M,
            unit="m",
            hint="Look for frames in which a segment jumps, or a wrong segment that was tracked.",
            about=body,
        )
    ]
