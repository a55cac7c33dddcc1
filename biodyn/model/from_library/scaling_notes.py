"""Findings of the scaling: markers missing in the walk, segments without markers, assumed and implausible measures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

from biodyn.conventions import SIDE_NAMES, SIDES
from biodyn.diagnostics import Diagnostic
from biodyn.library.tables import segment_title
from biodyn.model.body_model import AttachedMarker, SubjectModel
from biodyn.model.from_library.static_pose import StaticPose
from biodyn.model.marker_roles import MarkerMapping


def _assumed_measure_notes(assumed: Mapping[str, float]) -> list[Diagnostic]:
    """Return a finding for each measure (m) estimated from body height, one for both sides."""
    kinds: dict[tuple[str, float], list[str]] = {}
    for name, value in assumed.items():
        kind, _, side = name.rpartition("_")
        kinds.setdefault((kind, value), []).append(SIDE_NAMES[side])
    # half of the error of these measures is an error of a leg's joint centre; the others locate arms, hands and foot outlines
    of_legs = ("knee_width", "ankle_width")
    return [
        Diagnostic(
            "assumed-measure",
            "warning" if kind in of_legs else "info",
            f"The {' and '.join(names)} {kind.replace('_', ' ')} is not in the file. {1000 * value:.0f} mm was estimated from "
            "body height.",
            value=value,
            unit="m",
            hint=f"Measure it and specify it with --set subject.{kind}_mm={1000 * value:.0f} or in [subject] of the "
            "settings, or add medial markers to the static trial.",
        )
        for (kind, value), names in kinds.items()
    ]


def missing_marker_notes(
    mapping: MarkerMapping, markers: tuple[AttachedMarker, ...], tracked: frozenset[str]
) -> list[Diagnostic]:
    """Return a finding for each segment with expected markers that are missing in the walk.

    Markers of the static trial only, unknown labels, and landmarks without markers on both sides (removed on purpose) are not
    expected. The severity is "info" if three other markers still determine the segment, else "warning".
    """
    enough = 3
    remaining = Counter(marker.body for marker in markers if marker.label in tracked)
    missing_landmarks = {role.landmark for role in mapping.roles if role.label not in tracked}
    expected = {
        role.label
        for role in mapping.roles
        if not role.static_only and not _pair_of_sides(role.landmark) <= missing_landmarks
    }
    missing: dict[str, list[str]] = {}
    for marker in markers:
        if marker.label in expected and marker.label not in tracked:
            missing.setdefault(marker.body, []).append(marker.label)
    return [
        Diagnostic(
            "marker-not-in-walk",
            "warning" if remaining[body] < enough else "info",
            f"{', '.join(labels)} of the {segment_title(body)} {('are' if len(labels) > 1 else 'is')} in the static trial, "
            "but missing in the walk or visible for less than half of it. Number of other markers of the segment: "
            f"{remaining[body]}.",
            value=float(remaining[body]),
            limit=float(enough),
            hint="Label the marker in the walk if it was attached." if remaining[body] < enough else "",
            about=body,
        )
        for body, labels in missing.items()
    ]


def _pair_of_sides(landmark: str) -> set[str]:
    """Return a landmark and its counterpart on the other side; {""} for a midline landmark or for ""."""
    stem, _, side = landmark.rpartition("_")
    return {f"{stem}_{s}" for s in SIDES} if side in SIDES else {""}


def assumption_notes(model: SubjectModel, pose: StaticPose) -> list[Diagnostic]:
    """Return findings for segments and coordinates without markers, and for measures estimated from body height."""
    notes = []
    unseen = [
        step.coordinate
        for body in model.moving_segments
        for step in body.definition.rotations
        if step.coordinate in model.locked
    ]
    if model.locked_segments:
        notes.append(
            Diagnostic(
                "carried-segments",
                "info",
                f"There are no markers on {', '.join(map(segment_title, model.locked_segments))}. Their masses and lengths "
                "are from the tables; their motion is not measured.",
            )
        )
    if unseen:
        notes.append(
            Diagnostic(
                "locked-coordinates",
                "info",
                f"The markers do not determine {', '.join(str(name) for name in unseen)}, which "
                f"{('are' if len(unseen) > 1 else 'is')} fixed at the static angle.",
            )
        )
    notes += _assumed_measure_notes(pose.assumed)
    for landmark, notice in pose.substitutes.items():
        notes.append(
            Diagnostic(
                "assumed-measure",
                "warning",
                f"No marker for {landmark}: {notice}.",
                hint="Attach the marker at least in the static trial.",
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
                hint="Specify it with --height.",
            )
        )
    return notes


def given_measure_notes(pose: StaticPose, given: Mapping[str, float | None]) -> list[Diagnostic]:
    """Return findings about measures given by the user; `given`: their values in the files, m, by name (None if not in the
    files)."""
    used = {name: stored for name, stored in given.items() if name in pose.used}
    notes = []
    if used:
        listed = ", ".join(
            f"{name} {1000 * pose.used[name]:.0f} mm"
            + ("" if stored is None else f" (the file: {1000 * stored:.0f} mm)")
            for name, stored in used.items()
        )
        notes.append(Diagnostic("measure-given", "info", f"Measures given by the user: {listed}."))
    unused = [name for name in given if name not in pose.used]
    if unused:
        notes.append(
            Diagnostic(
                "measure-given",
                "info",
                f"Measures given by the user, but not used because the markers determine them: {', '.join(unused)}.",
            )
        )
    return notes


_LARGEST_HEIGHT_RATIO = 1.3  # limits of the ratio of body height to the height estimated from the legs


def implausible_size_notes(pose: StaticPose, given: Collection[str]) -> list[Diagnostic]:
    """Return a finding about an implausible height, else about implausible widths; `given`: measures given by the user.

    Heights estimated from the legs were 0.92 to 1.09 times the true heights in eleven people, and less in small children. Knees
    of obese people are 1.5 times wider than average.
    """
    largest_ratio = 1.6
    by_legs = None if pose.height_estimated else pose.height_from_legs()
    if by_legs is not None and not 1.0 / _LARGEST_HEIGHT_RATIO <= pose.height_m / by_legs <= _LARGEST_HEIGHT_RATIO:
        return [_implausible_height(pose.height_m, by_legs)]
    notes = []
    for name, value in pose.used.items():
        usual = pose.length_from_height(name)
        if usual is None or 1.0 / largest_ratio <= value / usual <= largest_ratio:
            continue
        notes.append(
            Diagnostic(
                "measure-doubtful",
                "warning",
                f"{name} of {1000 * value:.0f} mm {('was given' if name in given else 'is in the file')}, but about "
                f"{1000 * usual:.0f} mm is typical for a body height of {pose.height_m:.2f} m.",
                value=value,
                limit=usual,
                unit="m",
                hint="Check that this is the width of this person in mm (not the circumference or half of the width)"
                + (
                    f"; change it with --set subject.{name.rpartition('_')[0]}_mm={1000 * usual:.0f}."
                    if name not in given
                    else "."
                ),
            )
        )
    return notes


def _implausible_height(height_m: float, by_legs_m: float) -> Diagnostic:
    inches_m = 0.0254 * 100.0 * height_m  # if the number read as cm is in inches
    is_inches = 1.0 / _LARGEST_HEIGHT_RATIO <= inches_m / by_legs_m <= _LARGEST_HEIGHT_RATIO
    return Diagnostic(
        "measure-doubtful",
        "warning",
        f"The body height is {height_m:.2f} m, but the leg length from the markers suggests about {by_legs_m:.2f} m."
        + (f" {100.0 * height_m:.0f} inches are {inches_m:.2f} m." if is_inches else ""),
        value=height_m,
        limit=by_legs_m,
        unit="m",
        hint=f"Specify the height in metres, e.g. --height {(inches_m if is_inches else by_legs_m):.2f}. Norms and "
        "estimated measures depend on it.",
    )
