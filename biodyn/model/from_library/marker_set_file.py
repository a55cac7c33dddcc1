"""A commented marker set file to start from, written for the labels of one recording."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from difflib import SequenceMatcher

from biodyn.model.from_library.label_reading.meanings import read_labels
from biodyn.model.from_library.label_reading.spelling import normalise
from biodyn.model.from_library.marker_set_table import MarkerSet
from biodyn.model.from_library.markersets import lacking, set_to_extend

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
