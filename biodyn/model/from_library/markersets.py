"""Recognition of the marker set of a recording, which matches labels to landmarks and segments."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from biodyn.conventions import SIDES, other_side
from biodyn.errors import MarkerSetError
from biodyn.library.tables import entry_names, segment_title
from biodyn.library.toml_files import load_table, toml_text
from biodyn.model.from_library.label_reading.label_dictionary import DICTIONARY
from biodyn.model.from_library.label_reading.label_resolution import LabelReading, read_labels
from biodyn.model.from_library.label_reading.spelling import (
    mirror_label,
    normalise,
    side_readings,
    split_label,
    strip_common_ending,
)
from biodyn.model.from_library.marker_set_table import MarkerSet, load_marker_set
from biodyn.model.marker_roles import MarkerMapping, MarkerRole

_SHOWN = 12  # number of labels listed in a message
_SHOWN_SEGMENTS = 4
_HALF = 0.5


@dataclass(frozen=True)
class MissingMarker:
    """A required marker that is missing: label or landmark ("A or B" if one is sufficient), and its segment."""

    text: str
    body: str


def missing_markers(
    candidate: MarkerSet, plain: Mapping[str, str], reading: LabelReading, whole: bool = True, one_of_two: bool = False
) -> list[MissingMarker]:
    """Return the required markers of a set that are missing.

    Args: `plain` label -> normalised label; `reading` meaning of the labels; `whole` False for a file that may be a walk
    without its static trial, so that markers of static trials are not required; `one_of_two` True if the marker of one side is
    sufficient for the landmarks in this list of landmarks.toml.
    """
    optional: set[str] = set() if whole else {key for e in candidate.entries if e.static_only for key in e.keys}
    present = set(plain.values()) | {normalise(label) for label in plain}
    bodies = _segment_by_label(candidate)
    marked = {entry.landmark for entry in candidate.entries if present.intersection(entry.keys)}
    marked |= {meaning.landmark for meaning in reading.points.values()}
    dispensable = _marked_on_other_side(marked) if one_of_two else set()
    landmark_of = {key: entry.landmark for entry in candidate.entries for key in entry.keys}
    absent = [
        MissingMarker(" or ".join(candidate.original_spelling(key) for key in group), _common_segment(group, bodies))
        for group in candidate.requires
        if not present.intersection(group)
        and not optional.issuperset(group)
        and dispensable.isdisjoint(landmark_of.get(key, "") for key in group)
    ]
    marked |= dispensable
    return absent + [
        MissingMarker(
            " or ".join(_label_like_counterpart(landmark, reading) or landmark for landmark in group),
            _common_segment(group, bodies),
        )
        for group in candidate.requires_landmarks
        if not marked.intersection(group)
    ]


def _marked_on_other_side(marked: Collection[str]) -> set[str]:
    """Return the landmarks of one side that are not needed, because the other side has a marker of the same landmark."""
    stems = load_table("body/landmarks")["one_of_two"]
    return {f"{stem}_{side}" for stem in stems for side in SIDES if f"{stem}_{other_side(side)}" in marked}


def lacks_one_leg(candidate: MarkerSet, missing: Sequence[MissingMarker], least: float = _HALF) -> bool:
    """Return whether all missing markers belong to the same leg, as for an amputee or a marker set for one leg.

    More than the fraction `least` of the required markers of this leg must be missing, because a few may be spelt differently.
    """
    sides = {marker.body[-2:] for marker in missing}
    if len(sides) != 1 or not sides <= {f"_{side}" for side in SIDES}:
        return False
    bodies = _segment_by_label(candidate)
    required = [_common_segment(group, bodies)[-2:] for group in (*candidate.requires, *candidate.requires_landmarks)]
    return len(missing) > least * sum(side in sides for side in required)


def _common_segment(group: Sequence[str], bodies: Mapping[str, str]) -> str:
    """Return the segment of a group of labels or landmarks; "" if they are on several segments."""
    names = {bodies.get(name, "") for name in group}
    return names.pop() if len(names) == 1 else ""


def _segment_by_label(candidate: MarkerSet) -> dict[str, str]:
    """Return the segment of each label and landmark of a marker set."""
    return {name: entry.body for entry in candidate.entries for name in (*entry.keys, entry.landmark)}


def missing_landmarks(candidate: MarkerSet, marked: Collection[str], labels: Sequence[str]) -> list[MissingMarker]:
    """Return the missing markers of a recognised set that a walk should have and that mark a landmark.

    Args: `marked` landmarks of the labels. Markers that another marker of the set replaces (PSIS by a sacral marker) are not
    missing.
    """
    present = {normalise(label) for label in labels}
    met = {key for group in candidate.requires if present.intersection(group) for key in group}
    return [
        MissingMarker(f"{entry.spelling or entry.keys[0]} ({entry.landmark})", entry.body)
        for entry in candidate.entries
        if entry.landmark and not entry.static_only and entry.landmark not in marked and met.isdisjoint(entry.keys)
    ]


def unrecognised_error(
    labels: Sequence[str],
    nearest: Sequence[MarkerSet],
    missing: Mapping[str, list[MissingMarker]],
    scores: Mapping[str, float],
    reading: LabelReading,
) -> MarkerSetError:
    """Return the error for labels of an unknown marker set.

    It states the closest set, its missing markers, the segments that are undetermined without them, and the second closest set.
    """
    closest, *others = nearest
    shown = ", ".join(labels[:_SHOWN]) + (" ..." if len(labels) > _SHOWN else "")
    text = (
        f"The markers match no known marker set. The closest set, {closest.title} ({_matched_markers_text(closest, scores)}), "
        f"also needs {', '.join(marker.text for marker in missing[closest.name])} (the file has {shown or 'none'})"
    )
    unknown = [label for label in labels if label not in reading.points and label not in reading.ambiguous]
    if unknown and len(unknown) < len(labels):
        text += f"; unknown labels: {', '.join(unknown[:_SHOWN])}" + (" ..." if len(unknown) > _SHOWN else "")
    if others and scores[others[0].name] > 0.0:
        second = others[0]
        text += f"; the second closest is {second.title} ({_matched_markers_text(second, scores)})"
    consequences = _consequences_text(missing[closest.name])
    options = list(reading.ambiguous.items())[:_SHOWN_SEGMENTS]
    ambiguous = [f"{label} ({' or '.join(meanings)})" for label, meanings in options]
    hint = (
        "Write a marker set file with your labels ('biodyn check FILE.c3d --write-marker-set my_markers.toml' creates a "
        "template) and name it in a settings TOML: [model] marker_set = 'my_markers.toml'."
    )
    if are_keypoints(labels, reading):
        hint = (
            "These are keypoints of a video, not markers on the skin: they are inside the joints and do not determine the "
            "rotation of a segment about its long axis. Export segment poses (docs/markerless.md) or the coordinates of an "
            "OpenSim model instead."
        )
    elif ambiguous:
        hint = f"Ambiguous: {', '.join(ambiguous)}. {hint}"
    return MarkerSetError(f"{text}.", f"{consequences} {hint}".strip())


def are_keypoints(labels: Sequence[str], reading: LabelReading) -> bool:
    """Return whether the labels are keypoints of a video: joints on both sides, a nose or a neck, no bone of the pelvis."""
    table = load_table("body/label_words")["keypoints"]
    if any(m.landmark and m.body == table["without"] for m in reading.points.values()):
        return False
    sided = {("".join(side.rest), side.side) for label in labels for side in side_readings(split_label(label))}
    bare = {"".join(split_label(label)) for label in labels} | {stem for stem, _ in sided}
    return all((joint, side) in sided for joint in table["joints"] for side in SIDES) and not bare.isdisjoint(
        table["others"]
    )


def _matched_markers_text(candidate: MarkerSet, scores: Mapping[str, float]) -> str:
    return f"{100 * scores[candidate.name]:.0f} % of {'the labels' if candidate.name == DICTIONARY else 'its markers'}"


def _consequences_text(missing: Sequence[MissingMarker]) -> str:
    """Return a text with the segments that are undetermined because of the missing markers."""
    by_body: dict[str, list[str]] = {}
    for marker in missing:
        if marker.body:
            by_body.setdefault(marker.body, []).append(marker.text)
    if not by_body:
        return ""
    segments = [
        f"{segment_title(body)} without {', '.join(texts)}" for body, texts in list(by_body.items())[:_SHOWN_SEGMENTS]
    ]
    return f"Segments with undetermined pose: {'; '.join(segments)}. Joints on them and distal to them have no torques."


def _label_like_counterpart(landmark: str, reading: LabelReading) -> str:
    """Return the label that a missing landmark would have: the mirror image of the label on the other side."""
    stem, _, side = landmark.rpartition("_")
    if side not in SIDES:
        return ""
    counterpart = f"{stem}_{other_side(side)}"  # type: ignore[arg-type]
    label = next((label for label, meaning in reading.points.items() if meaning.landmark == counterpart), None)
    mirror = mirror_label(label, other_side(side)) if label is not None else ""  # type: ignore[arg-type]
    return f"{mirror} ({landmark})" if mirror else ""


def recognise_marker_set(
    labels: Sequence[str], marker_set: str = "auto", whole: bool = True, sparing: bool = False
) -> MarkerMapping:
    """Match labels to the named marker set, or to the most specific set with all required markers.

    Labels that are not in the set are interpreted word by word (`label_reading`), unless another label has their landmark.

    Args: `whole` False for the labels of one file, which may be a walk with more labels in its static trial; `sparing` True if
    some markers may be missing: one PSIS of two, or markers of one leg if every label is known. Raises MarkerSetError with the
    closest set, its missing markers and the consequences.
    """
    names = entry_names("markersets") if marker_set == "auto" else (marker_set,)
    sets = [load_marker_set(name) for name in names]
    plain = _normalised_labels(labels)
    reading = read_labels(labels)
    missing = {candidate.name: missing_markers(candidate, plain, reading, whole, sparing) for candidate in sets}
    scores = {candidate.name: _set_score(candidate, plain, reading) for candidate in sets}
    usable = {name for name, lacked in missing.items() if not lacked}
    usable = usable or {candidate.name for candidate in sets if lacks_one_leg(candidate, missing[candidate.name])}
    if not usable and sparing:
        one_leg = (candidate for candidate in sets if lacks_one_leg(candidate, missing[candidate.name], least=0.0))
        usable = {candidate.name for candidate in one_leg if not _build_mapping(labels, candidate, scores, "").unknown}
    if not usable:
        nearest = sorted(sets, key=lambda candidate: _closeness_to_set(candidate, plain, reading), reverse=True)
        raise unrecognised_error(labels, nearest, missing, scores, reading)

    # a specific set is preferred to the dictionary of labels
    def match_rank(candidate: MarkerSet) -> tuple[bool, bool, int, float]:
        return (
            candidate.name in usable,
            candidate.name != DICTIONARY,
            _matched_label_count(candidate, plain),
            scores[candidate.name],
        )

    best, *others = sorted(sets, key=match_rank, reverse=True)
    runner_up = next((other.name for other in others if scores[other.name] > 0.0), "")
    return _build_mapping(labels, best, scores, runner_up)


def nearest_marker_set(labels: Sequence[str]) -> MarkerSet:
    """Return the set of the library that contains most of the labels, preferably one with half of its required markers."""
    plain, reading = _normalised_labels(labels), read_labels(labels)

    def closeness_rank(candidate: MarkerSet) -> tuple[bool, int, float]:
        is_close, share, matched = _closeness_to_set(candidate, plain, reading)
        return is_close, matched, share

    return max((load_marker_set(name) for name in entry_names("markersets")), key=closeness_rank)


def missing_labels(candidate: MarkerSet, labels: Sequence[str]) -> list[str]:
    """Return the required labels or landmarks of a set that are missing, "A or B" if one of them is sufficient."""
    return [marker.text for marker in missing_markers(candidate, _normalised_labels(labels), read_labels(labels))]


def _normalised_labels(labels: Sequence[str]) -> dict[str, str]:
    """Return label -> normalised label, without an ending that all labels have."""
    endings = frozenset(load_table("body/label_words")["nothing"]["spelt"])
    return {label: normalise(bare) for label, bare in strip_common_ending(labels, endings).items()}


def _build_mapping(labels: Sequence[str], best: MarkerSet, scores: dict[str, float], runner_up: str) -> MarkerMapping:
    """Return the roles of the labels of the set, then of the others by their words."""
    roles = {} if best.name == DICTIONARY else _roles_in_set(labels, best)
    rest = read_labels(labels, {label: role.landmark for label, role in roles.items()})
    for label, entry in rest.points.items():
        roles[label] = MarkerRole(
            label, entry.landmark, entry.body, entry.weight, entry.static_only, DICTIONARY, entry.soft
        )
    ordered = tuple(roles[label] for label in labels if label in roles)
    unknown = tuple(label for label in labels if label not in roles)
    return MarkerMapping(best.name, best.title, ordered, unknown, scores, dict(rest.ambiguous), runner_up)


def _roles_in_set(labels: Sequence[str], best: MarkerSet) -> dict[str, MarkerRole]:
    roles: dict[str, MarkerRole] = {}
    taken: set[str] = set()
    plain = _normalised_labels(labels)
    # a label renamed by the user has priority over a label that has this name by chance
    for label in sorted(labels, key=lambda label: normalise(label) not in best.renamed):
        entry = best.find(label) or best.find(plain[label])
        if entry is None or (entry.landmark and entry.landmark in taken):
            continue
        if entry.landmark:
            taken.add(entry.landmark)
        roles[label] = MarkerRole(
            label, entry.landmark, entry.body, entry.weight, entry.static_only, best.name, entry.soft
        )
    return roles


def _matched_label_count(candidate: MarkerSet, plain: dict[str, str]) -> int:
    """Return the number of recorded labels that the marker set contains; `plain`: normalised label by label."""
    keys = {key for entry in candidate.entries for key in entry.keys}
    return sum(key in keys or normalise(label) in keys for label, key in plain.items())


def _set_score(candidate: MarkerSet, plain: dict[str, str], reading: LabelReading) -> float:
    """Return the fraction of the set's walking markers that are present; for the dictionary, the fraction of known labels."""
    if candidate.name == DICTIONARY:
        return len(reading.points) / max(len(plain), 1)
    expected = [entry for entry in candidate.entries if not entry.static_only]
    present = set(plain.values()) | {normalise(label) for label in plain}
    return sum(bool(present.intersection(entry.keys)) for entry in expected) / max(len(expected), 1)


def _closeness_to_set(candidate: MarkerSet, plain: dict[str, str], reading: LabelReading) -> tuple[bool, float, int]:
    """Return how similar the labels are to a set: whether it is close, the fraction of its required markers, and matched
    labels.

    The set of all labels of the dictionary is never close: it contains the labels of the other sets, and its messages list
    landmarks instead of labels. It is therefore the closest set only if no other set is close.
    """
    required = len(candidate.requires) + len(candidate.requires_landmarks)
    share = 1.0 - len(missing_markers(candidate, plain, reading)) / max(required, 1)
    matched = _matched_label_count(candidate, plain)
    is_close = share > _HALF and matched > _HALF * len(reading.points)
    return candidate.name != DICTIONARY and is_close, share, matched


_HEAD = """# Marker set for the labels of {file}, generated by biodyn from the nearest set of the library, {title}.
# Remove the '#' before a correct line, correct the others, and name this file in a settings file:
#     [model]
#     marker_set = "{own}"
# Try it: biodyn check {file} --marker-set {own}
# Landmarks and segments: biodyn models --landmarks; marker sets: docs/marker_sets.md
extends = "{name}"
"""


def draft_marker_set(labels: Sequence[str], file: str, own: str) -> str:
    """Return the text of a valid TOML file that extends the nearest set of the library.

    Args: `labels` of the recording, `file` its name, `own` the name of the file to be written.
    """
    width = 34  # width of the column of labels
    nearest = nearest_marker_set(labels)
    words = read_labels(labels).points
    matched = {label: entry for label in labels if (entry := nearest.find(label) or words.get(label)) is not None}
    unknown = [label for label in labels if label not in matched]
    unmarked = _missing_entries(nearest, labels, {meaning.landmark for meaning in words.values()})
    lines = [_HEAD.format(file=_comment_text(file), title=nearest.title, own=_comment_text(own), name=nearest.name)]
    needed = missing_labels(nearest, labels)
    lines.append("# Missing required markers: " + (", ".join(needed) or "none") + ".\n")
    lines.append("[rename]")
    lines.append("# label in the file = label of the set")
    for label in unknown:
        proposal = _suggest_label(label, unmarked)
        line = f"# {toml_text(label)} = {toml_text(proposal or '?')}"
        lines.append(
            line if proposal else f"{line:<{width}} # one of the missing labels of the set, or remove this line"
        )
    if not unknown:
        lines.append("# (the set has every label of this recording)")
    lines += ["", "# Labels of the set that are missing in the recording:"]
    lines += [f"#   {key:<12} {mark}" for key, mark in unmarked.items()] or ["#   none"]
    lines += ["", "# Recognised labels:"]
    lines += [f"#   {_comment_text(label):<12} {e.landmark or '-'}, on {e.body}" for label, e in matched.items()] or [
        "#   none"
    ]
    lines += [
        "",
        "# A marker that is not in the set ({S} is R and L, {s} is r and l):",
        "# [[marker]]",
        '# labels = ["{S}MYLABEL"]',
        '# landmark = "knee_medial_{s}"   # optional: without it the marker only follows its segment',
        '# body = "femur_{s}"',
        "# weight = 1.0",
    ]
    return "\n".join(lines) + "\n"


def _missing_entries(marker_set: MarkerSet, labels: Sequence[str], marked: Collection[str]) -> dict[str, str]:
    """Return {first label: landmark or segment} of every entry that has no label in the recording."""
    present = {normalise(label) for label in labels}
    return {
        entry.keys[0]: (entry.landmark or f"on {entry.body}") + (", static trial only" if entry.static_only else "")
        for entry in marker_set.entries
        if present.isdisjoint(entry.keys) and not (entry.landmark and entry.landmark in marked)
    }


def _suggest_label(label: str, unmarked: dict[str, str]) -> str:
    """Return the missing label that is most similar to this one, by its letters or its landmark; "" if none is similar."""
    key = normalise(label)
    ratios = {
        other: max(_text_similarity(key, other), _text_similarity(key, normalise(mark.partition(",")[0])))
        for other, mark in unmarked.items()
    }
    best = max(ratios, key=lambda other: ratios[other], default="")
    return best if best and ratios[best] >= 0.55 else ""


def _text_similarity(a: str, b: str) -> float:
    return SequenceMatcher(None, a, b, autojunk=False).ratio()


def _comment_text(text: str) -> str:
    """Return a text for a comment in a TOML file: characters that are not printable, such as line ends, are replaced."""
    return "".join(c if c.isprintable() else "?" for c in text)
