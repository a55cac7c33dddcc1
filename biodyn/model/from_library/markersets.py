"""Which laboratory's markers are these? Labels matched to landmarks and segments."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from biodyn.conventions import SIDES, other_side
from biodyn.errors import MarkerSetError
from biodyn.library.load import load_table
from biodyn.library.tables import entry_names
from biodyn.model.from_library.label_reading.meanings import LabelReading, read_labels
from biodyn.model.from_library.label_reading.spelling import (
    mirrored,
    normalise,
    pieces,
    side_readings,
    without_shared_ending,
)
from biodyn.model.from_library.label_reading.words import DICTIONARY
from biodyn.model.from_library.marker_set_table import MarkerSet, load_marker_set
from biodyn.model.marker_roles import MarkerMapping, MarkerRole

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


_HALF_THERE = 0.5


def recognise(
    labels: Sequence[str], marker_set: str = "auto", whole: bool = True, sparing: bool = False
) -> MarkerMapping:
    """Match labels to a marker set: the named one, or the most specific whose required markers are all there.

    Parameters: `whole` False for the labels of one file, which may be a walk whose static trial has more; `sparing` True
    where a set may lack what can be done without: one PSIS of two; markers of one leg, the other stays, where every label is
    understood, so that none of them is the missing one under another name.

    Labels the set does not explain are read word by word (`label_reading`), unless their landmark is taken.
    MarkerSetError says which set came closest, what it lacks and what that costs.
    """
    names = entry_names("markersets") if marker_set == "auto" else (marker_set,)
    sets = [load_marker_set(name) for name in names]
    plain = _plain(labels)
    reading = read_labels(labels)
    missing = {candidate.name: missing_from(candidate, plain, reading, whole, sparing) for candidate in sets}
    scores = {candidate.name: _score(candidate, plain, reading) for candidate in sets}
    usable = {name for name, lacked in missing.items() if not lacked}
    usable = usable or {candidate.name for candidate in sets if lacks_one_leg(candidate, missing[candidate.name])}
    if not usable and sparing:
        one_leg = (candidate for candidate in sets if lacks_one_leg(candidate, missing[candidate.name], least=0.0))
        usable = {candidate.name for candidate in one_leg if not _mapping(labels, candidate, scores, "").unknown}
    if not usable:
        nearest = sorted(sets, key=lambda candidate: _closeness(candidate, plain, reading), reverse=True)
        raise not_recognised(labels, nearest, missing, scores, reading)

    # The specific sets explain labels more sharply than the dictionary of labels: it is the last resort.
    def rank(candidate: MarkerSet) -> tuple[bool, bool, int, float]:
        return (
            candidate.name in usable,
            candidate.name != DICTIONARY,
            _matched(candidate, plain),
            scores[candidate.name],
        )

    best, *others = sorted(sets, key=rank, reverse=True)
    runner_up = next((other.name for other in others if scores[other.name] > 0.0), "")
    return _mapping(labels, best, scores, runner_up)


def set_to_extend(labels: Sequence[str]) -> MarkerSet:
    """The set of the library that explains most of the labels, of those that are half there, whether it is whole or not."""
    plain, reading = _plain(labels), read_labels(labels)

    def rank(candidate: MarkerSet) -> tuple[bool, int, float]:
        half_there, share, matched = _closeness(candidate, plain, reading)
        return half_there, matched, share

    return max((load_marker_set(name) for name in entry_names("markersets")), key=rank)


def lacking(candidate: MarkerSet, labels: Sequence[str]) -> list[str]:
    """What a set requires and does not find among the labels: labels or landmarks, "A or B" where one of them would do."""
    return [one.text for one in missing_from(candidate, _plain(labels), read_labels(labels))]


def _plain(labels: Sequence[str]) -> dict[str, str]:
    """Label -> as it is compared with those of a set: what laboratories put behind every label is taken away."""
    endings = frozenset(load_table("body/label_words")["nothing"]["spelt"])
    return {label: normalise(bare) for label, bare in without_shared_ending(labels, endings).items()}


def _mapping(labels: Sequence[str], best: MarkerSet, scores: dict[str, float], runner_up: str) -> MarkerMapping:
    """Roles of the set's own labels first, then of what the words of the others mean."""
    roles = {} if best.name == DICTIONARY else _own_roles(labels, best)
    rest = read_labels(labels, {label: role.landmark for label, role in roles.items()})
    for label, point in rest.points.items():
        roles[label] = MarkerRole(
            label, point.landmark, point.body, point.weight, point.static_only, DICTIONARY, point.soft
        )
    ordered = tuple(roles[label] for label in labels if label in roles)
    unknown = tuple(label for label in labels if label not in roles)
    return MarkerMapping(best.name, best.title, ordered, unknown, scores, dict(rest.ambiguous), runner_up)


def _own_roles(labels: Sequence[str], best: MarkerSet) -> dict[str, MarkerRole]:
    roles: dict[str, MarkerRole] = {}
    taken: set[str] = set()
    plain = _plain(labels)
    # a label that the user renamed goes before one that has its name by chance
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


def _matched(candidate: MarkerSet, plain: dict[str, str]) -> int:
    keys = {key for entry in candidate.entries for key in entry.keys}
    return sum(key in keys or normalise(label) in keys for label, key in plain.items())


def _score(candidate: MarkerSet, plain: dict[str, str], reading: LabelReading) -> float:
    """Share of the set's markers of a walk that are there; of the dictionary, the share of the labels that it explains."""
    if candidate.name == DICTIONARY:
        return len(reading.points) / max(len(plain), 1)
    expected = [entry for entry in candidate.entries if not entry.static_only]
    present = set(plain.values()) | {normalise(label) for label in plain}
    return sum(bool(present.intersection(entry.keys)) for entry in expected) / max(len(expected), 1)


def _closeness(candidate: MarkerSet, plain: dict[str, str], reading: LabelReading) -> tuple[bool, float, int]:
    """How near the labels come to a set: share of what it requires that is there, then labels it explains.

    The dictionary knows the labels of the other sets too: it is the nearest only where none of them is half there and
    explains half of what can be read, for its message speaks of landmarks, not of the labels that a laboratory knows.
    """
    required = len(candidate.requires) + len(candidate.requires_landmarks)
    share = 1.0 - len(missing_from(candidate, plain, reading)) / max(required, 1)
    matched = _matched(candidate, plain)
    worn = share > _HALF_THERE and matched > _HALF_THERE * len(reading.points)
    return candidate.name != DICTIONARY and worn, share, matched


_GOES_WELL = 0.55  # of two labels' letters in common: below this a proposal would be a guess
_WIDE = 34

_HEAD = """# Marker set for the labels of {file}, begun by biodyn: nearest set of the library, {title}.
# Take away the '#' before a line that is right, correct the others, and name this file in a settings file:
#     [model]
#     marker_set = "{own}"
# Try it: biodyn check {file} --marker-set {own}
# What landmarks and segments there are: biodyn models --landmarks; all about marker sets: docs/marker_sets.md
extends = "{name}"
"""


def starting_marker_set(labels: Sequence[str], file: str, own: str) -> str:
    """Return the text of a TOML file that extends the nearest set of the library; it loads as it stands.

    Parameters: `labels` of the recording, `file` its name, `own` the name of the file to be written.
    """
    nearest = set_to_extend(labels)
    words = read_labels(labels).points
    matched = {label: entry for label in labels if (entry := nearest.find(label) or words.get(label)) is not None}
    unknown = [label for label in labels if label not in matched]
    unmarked = _lacking(nearest, labels, {point.landmark for point in words.values()})
    lines = [_HEAD.format(file=_comment(file), title=nearest.title, own=_comment(own), name=nearest.name)]
    needed = lacking(nearest, labels)
    lines.append("# It must have and does not find: " + (", ".join(needed) or "nothing, it has all") + ".\n")
    lines.append("[rename]")
    lines.append("# label in the file = label of the set that it stands for")
    for label in unknown:
        proposal = _proposal(label, unmarked)
        line = f"# {_quoted(label)} = {_quoted(proposal or '?')}"
        lines.append(line if proposal else f"{line:<{_WIDE}} # one of those the set does not find, or nothing")
    if not unknown:
        lines.append("# (the set knows every label of this recording)")
    lines += ["", "# Labels of the set that the recording does not have:"]
    lines += [f"#   {key:<12} {mark}" for key, mark in unmarked.items()] or ["#   none"]
    lines += ["", "# Understood as they are:"]
    lines += [f"#   {_comment(label):<12} {e.landmark or '-'}, on {e.body}" for label, e in matched.items()] or [
        "#   none"
    ]
    lines += [
        "",
        "# A marker that the set does not have at all ({S} stands for R and L, {s} for r and l):",
        "# [[marker]]",
        '# labels = ["{S}MYLABEL"]',
        '# landmark = "knee_medial_{s}"   # may be left out: it then only follows its segment',
        '# body = "femur_{s}"',
        "# weight = 1.0",
    ]
    return "\n".join(lines) + "\n"


def _lacking(marker_set: MarkerSet, labels: Sequence[str], marked: Collection[str]) -> dict[str, str]:
    """First label of every entry that no label of the recording is known as, or marks -> what it marks."""
    present = {normalise(label) for label in labels}
    return {
        entry.keys[0]: (entry.landmark or f"on {entry.body}") + (", static trial only" if entry.static_only else "")
        for entry in marker_set.entries
        if present.isdisjoint(entry.keys) and not (entry.landmark and entry.landmark in marked)
    }


def _proposal(label: str, unmarked: dict[str, str]) -> str:
    """The lacking label that reads most like this one, or whose landmark does; "" where none does."""
    key = normalise(label)
    ratios = {
        other: max(_alike(key, other), _alike(key, normalise(what.partition(",")[0])))
        for other, what in unmarked.items()
    }
    best = max(ratios, key=lambda other: ratios[other], default="")
    return best if best and ratios[best] >= _GOES_WELL else ""


def _alike(a: str, b: str) -> float:
    return SequenceMatcher(None, a, b, autojunk=False).ratio()


def _comment(text: str) -> str:
    """Text that stays on the line of a comment."""
    return "".join(c if c.isprintable() else "?" for c in text)


def _quoted(text: str) -> str:
    """Text as a TOML string."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\u{ord(c) & 0xFFFF:04x}" for c in escaped) + '"'
