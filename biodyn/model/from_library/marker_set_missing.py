"""What a marker set lacks in a recording, in the laboratory's own spelling, and what each missing marker costs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from biodyn.conventions import SIDES, other_side
from biodyn.errors import MarkerSetError
from biodyn.library.load import load_table
from biodyn.model.from_library.label_reading.meanings import LabelReading
from biodyn.model.from_library.label_reading.sides import mirrored, side_readings
from biodyn.model.from_library.label_reading.spelling import normalise, pieces
from biodyn.model.from_library.label_reading.words import DICTIONARY
from biodyn.model.from_library.marker_set_table import MarkerSet

_SHOWN = 12
_KEYPOINTS = (
    "These are names of a video's keypoints, not of markers on the skin: they lie inside the joints and do not tell how a "
    "segment is turned about its long axis. "
    "Export segment poses (docs/markerless.md) or the coordinates of an OpenSim model instead."
)
_MOST_COSTS = 4
_MOST_OF_A_LEG = 0.5
_SIDE_ENDS = frozenset(f"_{side}" for side in SIDES)


@dataclass(frozen=True)
class Missing:
    """What a set requires and does not find: label or landmark ("A or B" where one would do), and the segment it places."""

    text: str
    body: str


def missing_from(
    candidate: MarkerSet,
    plain: Mapping[str, str],
    reading: LabelReading,
    whole: bool = True,
    one_of_two: bool = False,
) -> list[Missing]:
    """Return what a set requires and the labels do not have.

    Parameters: `plain` label -> as it is compared; `reading` what the words of the labels mean; `whole` False for a file that
    may be a walk alone: what stands in static trials only is not missed; `one_of_two` True where one side's marker is enough
    for the landmarks that landmarks.toml names so.
    """
    later: set[str] = set() if whole else {key for e in candidate.entries if e.static_only for key in e.keys}
    present = set(plain.values()) | {normalise(label) for label in plain}
    bodies = _bodies(candidate)
    found = {entry.landmark for entry in candidate.entries if present.intersection(entry.keys)}
    found |= {point.landmark for point in reading.points.values()}
    spared = _other_sides(found) if one_of_two else set()
    meant = {key: entry.landmark for entry in candidate.entries for key in entry.keys}
    absent = [
        Missing(" or ".join(candidate.spelt(key) for key in group), _body_of(group, bodies))
        for group in candidate.requires
        if not present.intersection(group)
        and not later.issuperset(group)
        and spared.isdisjoint(meant.get(key, "") for key in group)
    ]
    found |= spared
    return absent + [
        Missing(
            " or ".join(_own_spelling(landmark, reading) or landmark for landmark in group), _body_of(group, bodies)
        )
        for group in candidate.requires_landmarks
        if not found.intersection(group)
    ]


def _other_sides(found: Collection[str]) -> set[str]:
    """The landmarks that can be done without, because the one of the other side is there."""
    stems = load_table("body/landmarks")["one_of_two"]
    return {f"{stem}_{side}" for stem in stems for side in SIDES if f"{stem}_{other_side(side)}" in found}


def lacks_one_leg(candidate: MarkerSet, missing: Sequence[Missing], least: float = _MOST_OF_A_LEG) -> bool:
    """True where everything that a set requires and does not find belongs to the same leg: an amputee, a set of one leg.

    More than the share `least` of what it requires of that leg is missing; a few labels that are spelt otherwise are no
    missing leg.
    """
    sides = {one.body[-2:] for one in missing}
    if len(sides) != 1 or not sides <= _SIDE_ENDS:
        return False
    bodies = _bodies(candidate)
    required = [_body_of(group, bodies)[-2:] for group in (*candidate.requires, *candidate.requires_landmarks)]
    return len(missing) > least * sum(side in sides for side in required)


def _body_of(group: Sequence[str], bodies: Mapping[str, str]) -> str:
    """The segment that a group of labels or landmarks places; none where each could be on another one."""
    placed = {bodies.get(name, "") for name in group}
    return placed.pop() if len(placed) == 1 else ""


def _bodies(candidate: MarkerSet) -> dict[str, str]:
    """Segment by label and landmark."""
    return {name: entry.body for entry in candidate.entries for name in (*entry.keys, entry.landmark)}


def missing_landmarks(candidate: MarkerSet, marked: Collection[str], labels: Sequence[str]) -> list[Missing]:
    """Return the markers of a recognised set that a walk should show, mark a landmark, and are not there.

    Parameters: `marked` the landmarks that the labels mark. What stands in for another of the set (a sacral marker for those
    of the PSIS) is not missed.
    """
    present = {normalise(label) for label in labels}
    met = {key for group in candidate.requires if present.intersection(group) for key in group}
    return [
        Missing(f"{entry.shown or entry.keys[0]} ({entry.landmark})", entry.body)
        for entry in candidate.entries
        if entry.landmark and not entry.static_only and entry.landmark not in marked and met.isdisjoint(entry.keys)
    ]


def not_recognised(
    labels: Sequence[str],
    nearest: Sequence[MarkerSet],
    missing: Mapping[str, list[Missing]],
    scores: Mapping[str, float],
    reading: LabelReading,
) -> MarkerSetError:
    """Return the error that names the closest set, what it lacks, what that costs, and the runner-up; `nearest` first."""
    closest, *others = nearest
    shown = ", ".join(labels[:_SHOWN]) + (" ..." if len(labels) > _SHOWN else "")
    text = (
        f"The markers match no known marker set: the closest, {closest.title} ({_share(closest, scores)}), lacks "
        f"{', '.join(one.text for one in missing[closest.name])} (the file has {shown or 'none'})"
    )
    strange = [label for label in labels if label not in reading.points and label not in reading.ambiguous]
    if strange and len(strange) < len(labels):
        text += f"; not understood: {', '.join(strange[:_SHOWN])}" + (" ..." if len(strange) > _SHOWN else "")
    if others and scores[others[0].name] > 0.0:
        second = others[0]
        text += f"; the runner-up is {second.title} ({_share(second, scores)})"
    costs = _costs(missing[closest.name])
    unsure = [f"{label} ({' or '.join(could)})" for label, could in list(reading.ambiguous.items())[:_MOST_COSTS]]
    hint = (
        "Give a marker set file that names your labels ('biodyn check FILE.c3d --write-marker-set my_markers.toml' begins "
        "one): [model] marker_set = 'my_markers.toml' in a settings TOML."
    )
    if are_keypoints(labels, reading):
        hint = _KEYPOINTS
    elif unsure:
        hint = f"Not certain: {', '.join(unsure)}. {hint}"
    return MarkerSetError(f"{text}.", f"{costs} {hint}".strip())


def are_keypoints(labels: Sequence[str], reading: LabelReading) -> bool:
    """True where the labels are a video's keypoints: bare joints on both sides, a nose or a neck, no bone of the pelvis."""
    table = load_table("body/label_words")["keypoints"]
    if any(point.landmark and point.body == table["without"] for point in reading.points.values()):
        return False
    readings = [one for label in labels for one in side_readings(pieces(label))]
    sided = {("".join(one.rest), one.side) for one in readings}
    bare = {"".join(pieces(label)) for label in labels} | {stem for stem, _ in sided}
    return all((joint, side) in sided for joint in table["joints"] for side in SIDES) and not bare.isdisjoint(
        table["others"]
    )


def _share(candidate: MarkerSet, scores: Mapping[str, float]) -> str:
    return f"{100 * scores[candidate.name]:.0f} % of {'the labels' if candidate.name == DICTIONARY else 'its markers'}"


def _costs(missing: Sequence[Missing]) -> str:
    """Which segments the missing markers would place."""
    lacking: dict[str, list[str]] = {}
    for one in missing:
        if one.body:
            lacking.setdefault(one.body, []).append(one.text)
    if not lacking:
        return ""
    told = [f"{body} is not placed without {', '.join(texts)}" for body, texts in list(lacking.items())[:_MOST_COSTS]]
    return f"Segments: {'; '.join(told)}. Their joints, and those that they carry, have no torques."


def _own_spelling(landmark: str, reading: LabelReading) -> str:
    """A missing landmark as the laboratory would label it: the mirror image of the label on the other side."""
    stem, _, side = landmark.rpartition("_")
    if side not in SIDES:
        return ""
    counterpart = f"{stem}_{other_side(side)}"  # type: ignore[arg-type]
    label = next((label for label, point in reading.points.items() if point.landmark == counterpart), None)
    mirror = mirrored(label, other_side(side)) if label is not None else ""  # type: ignore[arg-type]
    return f"{mirror} ({landmark})" if mirror else ""
