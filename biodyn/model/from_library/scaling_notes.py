"""What scaling tells people: markers that the walk lacks, segments that are carried, measures that were assumed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

from biodyn.conventions import SIDES
from biodyn.diagnostics import Diagnostic
from biodyn.model.body_model import AttachedMarker, SubjectModel
from biodyn.model.from_library.landmarks import StaticPose
from biodyn.model.marker_roles import MarkerMapping

# Three markers fix a segment by themselves.
_ENOUGH_MARKERS = 3
# A width so many times the usual one of this height, or the other way, is rather a slip: with knees of obese people it is 1.5.
_DOUBTFUL = 1.6
# So is a height so many times that of the legs, or the other way: .92 to 1.09 in eleven people; small children's legs are short.
_DOUBTFUL_HEIGHT = 1.3
_M_AN_INCH = 0.0254
# Half of what is wrong with these widths is wrong with a leg's joint centre; others place arms, hands and the foot's outline.
_OF_LEGS = ("knee_width", "ankle_width")


def _assumed_measures(assumed: Mapping[str, float]) -> list[Diagnostic]:
    """What is said of measures, m, that were taken from body height; of both sides at once."""
    kinds: dict[tuple[str, float], list[str]] = {}
    for name, value in assumed.items():
        kinds.setdefault((name.rpartition("_")[0], value), []).append(name)
    return [
        Diagnostic(
            "assumed-measure",
            "warning" if kind in _OF_LEGS else "info",
            f"{' and '.join(names)} {'are' if len(names) > 1 else 'is'} not in the file: {1000 * value:.0f} mm was taken from "
            "body height.",
            value=value,
            unit="m",
            hint=f"Measure it and give it: --set subject.{kind}_mm={1000 * value:.0f}, or [subject] of the settings; or add "
            "medial markers to the static trial.",
        )
        for (kind, value), names in kinds.items()
    ]


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
    notes += _assumed_measures(pose.assumed)
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


def given_measures(pose: StaticPose, given: Mapping[str, float | None]) -> list[Diagnostic]:
    """What became of the measures that the user gives; `given`: by name, what the files say in their place, m (None: nothing)."""
    used = {name: stored for name, stored in given.items() if name in pose.used}
    notes = []
    if used:
        told = ", ".join(
            f"{name} {1000 * pose.used[name]:.0f} mm"
            + ("" if stored is None else f" (the file: {1000 * stored:.0f} mm)")
            for name, stored in used.items()
        )
        notes.append(Diagnostic("measure-given", "info", f"Given by the user: {told}."))
    unused = [name for name in given if name not in pose.used]
    if unused:
        notes.append(
            Diagnostic(
                "measure-not-needed",
                "info",
                f"Given by the user, and not needed by this model, whose markers or methods tell otherwise: {', '.join(unused)}.",
            )
        )
    return notes


def doubtful_person(pose: StaticPose, given: Collection[str]) -> list[Diagnostic]:
    """A height that is not that of these legs, else widths that nobody of this height has; `given`: measures by the user."""
    by_legs = None if pose.height_estimated else pose.height_by_legs()
    if by_legs is not None and not 1.0 / _DOUBTFUL_HEIGHT <= pose.height_m / by_legs <= _DOUBTFUL_HEIGHT:
        return [_doubtful_height(pose.height_m, by_legs)]
    notes = []
    for name, value in pose.used.items():
        usual = pose.usual(name)
        if usual is None or 1.0 / _DOUBTFUL <= value / usual <= _DOUBTFUL:
            continue
        notes.append(
            Diagnostic(
                "measure-doubtful",
                "warning",
                f"{name} of {1000 * value:.0f} mm {'was given' if name in given else 'is in the file'}; people "
                f"{pose.height_m:.2f} m tall have about {1000 * usual:.0f} mm.",
                value=value,
                limit=usual,
                unit="m",
                hint="Look whether it is the width (not the circumference or the half), of this person, in mm"
                + (
                    f"; another one: --set subject.{name.rpartition('_')[0]}_mm={1000 * usual:.0f}."
                    if name not in given
                    else "."
                ),
            )
        )
    return notes


def _doubtful_height(height_m: float, by_legs_m: float) -> Diagnostic:
    inches_m = _M_AN_INCH * 100.0 * height_m  # what is read as cm
    is_inches = 1.0 / _DOUBTFUL_HEIGHT <= inches_m / by_legs_m <= _DOUBTFUL_HEIGHT
    return Diagnostic(
        "height-doubtful",
        "warning",
        f"Body height is {height_m:.2f} m; people with legs as long as these markers show are about {by_legs_m:.2f} m tall."
        + (f" {100.0 * height_m:.0f} inches are {inches_m:.2f} m." if is_inches else ""),
        value=height_m,
        limit=by_legs_m,
        unit="m",
        hint=f"Give it in metres: --height {inches_m if is_inches else by_legs_m:.2f}. Norms depend on it, and what no marker "
        "shows.",
    )
