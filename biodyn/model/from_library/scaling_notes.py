"""What scaling tells people: markers that the walk lacks, segments that are carried, measures that were assumed."""

from __future__ import annotations

from collections import Counter

from biodyn.conventions import SIDES
from biodyn.diagnostics import Diagnostic
from biodyn.model.body_model import AttachedMarker, SubjectModel
from biodyn.model.from_library.landmarks import StaticPose
from biodyn.model.marker_roles import MarkerMapping

# Three markers fix a segment by themselves.
_ENOUGH_MARKERS = 3


def not_in_walk(
    mapping: MarkerMapping, markers: tuple[AttachedMarker, ...], tracked: frozenset[str]
) -> list[Diagnostic]:
    """Markers that the set expects in the walk and that are missing there, one finding per segment.

    Not expected are markers meant for the static trial alone, labels the set does not know, and landmarks whose marker is
    missing on both sides alike: those were taken off on purpose. A segment that keeps enough other markers is placed by
    them: said, no more.
    """
    kept = Counter(marker.body for marker in markers if marker.label in tracked)
    gone = {role.landmark for role in mapping.roles if role.label not in tracked}
    expected = {
        role.label for role in mapping.roles if not role.static_only and not _pair_of_sides(role.landmark) <= gone
    }
    lacking: dict[str, list[str]] = {}
    for marker in markers:
        if marker.label in expected and marker.label not in tracked:
            lacking.setdefault(marker.body, []).append(marker.label)
    return [
        Diagnostic(
            "marker-not-in-walk",
            "warning" if kept[body] < _ENOUGH_MARKERS else "info",
            f"{', '.join(labels)} of {body}: in the static trial, but not in the walk or for less than half of the person's time "
            f"in it; {kept[body] or 'no'} other {'marker places' if kept[body] == 1 else 'markers place'} the segment.",
            value=float(kept[body]),
            limit=float(_ENOUGH_MARKERS),
            hint="Label the marker in the walk, if it was there." if kept[body] < _ENOUGH_MARKERS else "",
            about=body,
        )
        for body, labels in lacking.items()
    ]


def _pair_of_sides(landmark: str) -> set[str]:
    """A landmark and the one of the other side; for one of the midline or without a name, something nothing holds."""
    stem, _, side = landmark.rpartition("_")
    return {f"{stem}_{each}" for each in SIDES} if side in SIDES else {""}


def assumptions(model: SubjectModel, pose: StaticPose) -> list[Diagnostic]:
    """Segments and coordinates that no marker tells, and measures taken from body height."""
    notes = []
    alone = [
        step.coordinate
        for body in model.moving
        for step in body.definition.rotations
        if step.coordinate in model.locked
    ]
    if model.locked_segments:
        notes.append(
            Diagnostic(
                "carried-segments",
                "info",
                f"No markers on {', '.join(model.locked_segments)}: masses and lengths there are those of the tables, "
                "and how these segments move is not measured.",
            )
        )
    if alone:
        notes.append(
            Diagnostic(
                "locked-coordinates",
                "info",
                f"No marker information on {', '.join(str(name) for name in alone)}: fixed at the static value.",
            )
        )
    for name, value in pose.assumed.items():
        notes.append(
            Diagnostic(
                "assumed-measure",
                "info" if name.startswith("foot_width") else "warning",
                f"{name} is not in the file: {1000 * value:.0f} mm was taken from body height.",
                value=value,
                unit="m",
                hint="Store it in the C3D file's parameters, or add medial markers to the static trial.",
            )
        )
    for landmark, notice in pose.stood_in.items():
        notes.append(
            Diagnostic(
                "landmark-stood-in",
                "warning",
                f"No marker shows {landmark}: {notice}.",
                hint="Place the marker in the static trial at least.",
                about=landmark,
            )
        )
    if pose.height_estimated:
        notes.append(
            Diagnostic(
                "height-estimated",
                "info",
                f"Body height was estimated from the legs: {pose.height_m:.2f} m.",
                value=pose.height_m,
                unit="m",
                hint="Give it with --height.",
            )
        )
    return notes
