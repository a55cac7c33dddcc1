"""Checks of a file before any analysis (`biodyn check FILE`): visibility of markers, marker set, plates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from biodyn.checks.registry import CheckResult, check, run_checks_in_order
from biodyn.conventions import BoolArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import MarkerSetError, PlateError
from biodyn.model.from_library.markersets import recognise_marker_set
from biodyn.model.from_library.recognition.label_correction import swaps_in_file
from biodyn.model.marker_roles import MarkerMapping
from biodyn.processing.signals.plate_wrenches import plate_wrench
from biodyn.processing.signals.world_frame import are_corners_reversed, mirror_note
from biodyn.recording import PlateWrench, Recording, is_person_visible
from biodyn.settings import Settings


@dataclass(frozen=True)
class FileFacts:
    """A recording in World, the settings and the marker set of an analysis, and quantities shared by checks."""

    recording: Recording
    settings: Settings
    marker_set: str

    @cached_property
    def visible_fraction(self) -> dict[str, float]:
        """Fraction of the frames with the person in which each marker, or segment of measured poses, is visible, by label."""
        labels, seen = self._visible_labels_and_frames
        there = self.frames_with_person
        share = seen[there].mean(axis=0) if there.any() else np.zeros(len(labels))
        return dict(zip(labels, share.tolist(), strict=True))

    @cached_property
    def frames_with_person(self) -> BoolArray:
        """Frames (T,) with the person present, from the markers of the recognised set; all frames if no set is recognised."""
        labels, seen = self._visible_labels_and_frames
        if self.recording.uses_poses or isinstance(self.mapping, MarkerSetError):
            return is_person_visible(seen)
        return is_person_visible(seen[:, [self.mapping.role(label) is not None for label in labels]])

    @cached_property
    def _visible_labels_and_frames(self) -> tuple[tuple[str, ...], BoolArray]:
        """Labels, and the frames (T, M) in which each of them is visible."""
        markers, poses = self.recording.markers, self.recording.motion.poses
        if self.recording.uses_poses and poses is not None:
            return poses.labels, np.isfinite(poses.origins[..., 0])
        return markers.labels, np.isfinite(markers.positions[..., 0])

    @cached_property
    def mapping(self) -> MarkerMapping | MarkerSetError:
        """The recognised marker set, or the error if none is recognised."""
        try:
            return recognise_marker_set(self.recording.markers.labels, self.marker_set, whole=False, sparing=True)
        except MarkerSetError as error:
            return error

    @cached_property
    def wrenches(self) -> tuple[PlateWrench | PlateError, ...]:
        """Wrench of each plate, or the error because of which it cannot be computed."""
        markers = self.recording.markers
        wrenches: list[PlateWrench | PlateError] = []
        for plate in self.recording.plates:
            try:
                wrenches.append(plate_wrench(plate, markers.frame_count, markers.rate_hz))
            except PlateError as error:
                wrenches.append(error)
        return tuple(wrenches)


def find_problems(file: FileFacts) -> tuple[Diagnostic, ...]:
    """Return the findings of all checks of a file."""
    return tuple(note for result in run_checks_in_order(file, "file").values() for note in result.findings)


@check(
    "marker-visibility",
    "Markers rarely visible",
    compares="frames in which each marker is visible, compared with frames in which the person is present",
    causes="markers hidden from the cameras, or labelled only in a part of the trial",
    kind="file",
    place=10,
    turn=10,
    limit=0.9,
    findings={"marker-gap": "Gap not filled"},
)
def check_marker_visibility(file: FileFacts, limit: float) -> CheckResult:
    """Find markers that are missing in many frames."""
    rare = [f"{label} {100 * seen:.0f} %" for label, seen in file.visible_fraction.items() if seen < limit]
    period = "" if file.frames_with_person.all() else " with the person present"
    text = f"Visible in less than {100 * limit:.0f} % of the frames{period}: {', '.join(rare)}."
    findings = (Diagnostic("marker-gap", "warning", text),) if rare else ()
    return CheckResult(value=min(file.visible_fraction.values(), default=np.nan), findings=findings)


@check(
    "marker-set",
    "Marker set",
    compares="labels of the file compared with the labels of known marker sets",
    causes="laboratory labels that no set of the library contains (map them with a marker set file)",
    kind="file",
    place=20,
    turn=20,
    findings={
        "marker-set": "Marker set",
        "markers-exchanged": "Marker labels exchanged",
        "laboratory-mirrored": "Mirrored laboratory axes",
    },
)
def check_marker_set(file: FileFacts, limit: float) -> CheckResult:
    """Find a marker set for the labels."""
    if file.recording.uses_poses:
        return CheckResult()
    error = file.mapping
    if not isinstance(error, MarkerSetError):
        if not file.settings.model.geometry:
            return CheckResult()
        mirrored = mirror_note() if are_corners_reversed(file.recording.plates) else None
        return CheckResult(findings=swaps_in_file(file.recording.markers, error, mirrored))
    return CheckResult(findings=(Diagnostic("marker-set", "error", error.message, hint=error.hint),))


@check(
    "plates",
    "Force plates",
    compares="channels and parameters of each plate compared with the requirements of its type",
    causes="channels that were not exported, an unknown type of plate",
    kind="file",
    place=30,
    turn=30,
    findings={"plate-not-used": "Force plate not used"},
)
def check_plates(file: FileFacts, limit: float) -> CheckResult:
    """Compute the forces of every plate and report problems."""
    findings: list[Diagnostic] = []
    for wrench in file.wrenches:
        if isinstance(wrench, PlateError):
            findings.append(Diagnostic("plate-not-used", "error", wrench.message, hint=wrench.hint))
        else:
            findings += wrench.diagnostics
    return CheckResult(findings=tuple(findings))
