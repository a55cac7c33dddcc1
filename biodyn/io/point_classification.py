"""Classify the points of a file as markers, computed points and unlabelled points, and clean their labels."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.geometry.points import all_finite
from biodyn.io.name_tables import combined_pattern, load_name_table
from biodyn.library.toml_files import load_table

_SEPARATORS = " _.-"
# 251112_KUO_LASI has two words before the label
_MOST_STARTS = 4
_FEWEST_NAMED = 4
_FEWEST_ENDED = 8  # labels with a common ending, or labels of each person
# Share of labels that different persons have in common; smallest number of letters of a label.
_ALIKE, _NAME_LETTERS = 0.8, 3
_END = re.compile(r"[_.\-][A-Za-z0-9]+$")
_LETTER_START = re.compile("[a-z](?=[A-Z])")
#: Share of the labels that may lack the common prefix.
STRANGERS = 0.1


@dataclass(frozen=True)
class PointRoles:
    """The labels and kinds of the points of a file.

    Attributes:
        labels: cleaned label of every point.
        kinds: kind of every point: "marker", "dropped" or a kind of `ModelOutput`.
        diagnostics: notes for the user.
        subject: subject name in the prefix of the marker labels, "" without one. other_subjects: names of other persons, whose
            points are dropped.
    """

    labels: tuple[str, ...]
    kinds: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...]
    subject: str = ""
    other_subjects: tuple[str, ...] = ()

    @property
    def marker_indices(self) -> list[int]:
        """Return the indices of the points that are markers."""
        return [i for i, kind in enumerate(self.kinds) if kind == "marker"]

    @property
    def output_indices(self) -> list[int]:
        """Return the indices of the points that are computed points."""
        return [i for i, kind in enumerate(self.kinds) if kind not in ("marker", "dropped")]


def classify_points(
    raw_labels: Sequence[str],
    points: FloatArray,
    groups: dict[str, list[str]],
    subjects: Sequence[str],
    descriptions: Sequence[str] = (),
) -> PointRoles:
    """Classify points as markers, computed points or unlabelled points.

    points: (T, N, 3) file units, NaN if not seen. groups: label lists of the POINT group (ANGLES, ...). subjects: stored
    subject names. descriptions: POINT:DESCRIPTIONS of each point.
    """
    labels, subject, other_subjects, diagnostics = _remove_subject_prefix(raw_labels, points, subjects)
    kinds = ["marker"] * len(labels)
    _mark_unlabelled(labels, kinds)
    _mark_listed_outputs(labels, kinds, groups)
    small = not any(character.isupper() for label in labels for character in label)
    spelt = [label.upper() for label in labels] if small else labels
    _mark_outputs_by_name(spelt, kinds, small)
    _mark_segment_axes(spelt, kinds, points)
    _mark_computed_points(labels, kinds, descriptions)
    _keep_unlabelled(labels, kinds, points)
    diagnostics += _computed_points_note(labels, kinds, points)
    diagnostics += _resolve_duplicate_labels(labels, kinds, points)
    return PointRoles(tuple(labels), tuple(kinds), tuple(diagnostics), subject, other_subjects)


def _remove_subject_prefix(
    raw: Sequence[str], points: FloatArray, subjects: Sequence[str]
) -> tuple[list[str], str, tuple[str, ...], list[Diagnostic]]:
    """Remove the prefix `Subject:` (or `Subject_` if all labels have it); keep only the subject that is seen most."""
    stripped = [label.strip() for label in raw]
    persons = _person_prefixes(stripped)
    parts = [_split_prefix(label, persons) for label in stripped]
    prefixes, labels = [prefix for prefix, _ in parts], [label for _, label in parts]
    diagnostics: list[Diagnostic] = []
    present = Counter(prefix for prefix, label in zip(prefixes, labels, strict=True) if prefix and label)
    if _are_segment_prefixes(present, labels):
        return labels, "", (), diagnostics
    best = next(iter(present), "")
    if len(present) > 1:
        seen = np.isfinite(points[..., 0]).sum(axis=0) if points.size else np.zeros(len(labels))
        scores = {p: sum(float(seen[i]) for i, q in enumerate(prefixes) if q == p) for p in present}
        best = max(scores, key=lambda prefix: scores[prefix])
        labels = [label if prefix in ("", best) else "" for prefix, label in zip(prefixes, labels, strict=True)]
        diagnostics.append(
            Diagnostic(
                "several-subjects",
                "warning",
                f"The file holds points of several subjects ({', '.join(sorted(present))}); only {best}, who is seen in most "
                f"frames, is used.",
            )
        )
    if not present:
        labels = _without_common_start(labels, subjects)
    return labels, best, tuple(sorted(present.keys() - {best})), diagnostics


def _split_prefix(label: str, persons: tuple[str, ...]) -> tuple[str, str]:
    """Return the prefix of a label (a name with a colon, or the prefix of one of the persons) and the label without it."""
    start = next((start for start in persons if label.startswith(start)), "")
    if start:
        return start.rstrip(_SEPARATORS), label.removeprefix(start)
    prefix, _, bare = label.rpartition(":")
    return prefix, bare.strip()


def _person_prefixes(labels: Sequence[str]) -> tuple[str, ...]:
    """Return label prefixes without a colon that denote several persons (P1_LASI, P2_LASI): the same labels follow each of
    them."""
    named = [label for label in labels if label and not _is_unlabelled(label)]
    if any(":" in label for label in named):
        return ()
    for separator in _SEPARATORS:
        stems: dict[str, set[str]] = {}
        for start, sign, stem in (label.partition(separator) for label in named):
            if sign and not _is_side_word(start):
                stems.setdefault(start, set()).add(stem)
        words = {start: {stem for stem in stems[start] if len(stem) >= _NAME_LETTERS} for start in stems}
        persons = [start for start in words if len(words[start]) >= _FEWEST_ENDED]
        if len(persons) < 2:
            continue
        shared = set[str].intersection(*(words[start] for start in persons))
        covered = sum(len(stems[start]) for start in persons)
        are_alike = len(shared) >= _ALIKE * min(len(words[start]) for start in persons)
        if are_alike and covered >= (1 - STRANGERS) * len(named):
            return tuple(start + separator for start in persons)
    return ()


def _are_segment_prefixes(prefixes: Counter[str], labels: Sequence[str]) -> bool:
    """Return whether several prefixes denote segments of one person: the labels without prefixes are all different."""
    pattern = combined_pattern(tuple(load_name_table()["subject_prefix"]["segments"]), True)
    named = [label for label in labels if label]
    return len(prefixes) > 1 and len(set(named)) == len(named) and all(pattern.fullmatch(prefix) for prefix in prefixes)


def _without_common_start(labels: list[str], subjects: Sequence[str]) -> list[str]:
    """Remove a prefix such as `Subject_` that nearly all labelled markers share.

    The prefix is the stored subject name, or any word that does not denote a side. Computed and unlabelled points need not have
    it.
    """
    for _ in range(_MOST_STARTS):
        prefix = _common_start(labels, subjects)
        if not prefix:
            break
        labels = [label.removeprefix(prefix) for label in labels]
    return _without_common_letter(_without_common_end(labels))


def _without_common_end(labels: list[str]) -> list[str]:
    """Remove an ending such as `_01` or `_trial` that nearly all labels have and that does not denote a side."""
    computed = _computed_point_pattern()
    named = [label for label in labels if label and not _is_unlabelled(label)]
    ends = Counter(end[0] for label in named if (end := _END.search(label)))
    ending, count = ends.most_common(1)[0] if ends else ("", 0)
    others = sum(not label.endswith(ending) and computed.fullmatch(label) is None for label in named)
    if _is_side_word(ending) or count < _FEWEST_ENDED or others > STRANGERS * len(named):
        return labels
    return [label.removesuffix(ending) for label in labels]


def _without_common_letter(labels: list[str]) -> list[str]:
    """Remove a common small letter before a capital (pRightASI of Xsens) that does not denote a side."""
    named = [label for label in labels if label and not _is_unlabelled(label)]
    starts = Counter(label[0] for label in named if _LETTER_START.match(label))
    letter, count = starts.most_common(1)[0] if starts else ("", 0)
    is_side = letter in load_name_table()["subject_prefix"]["not_a_name"]
    if is_side or len(named) < _FEWEST_NAMED or len(named) - count > STRANGERS * len(named):
        return labels
    return [label[1:] if label[:1] == letter and _LETTER_START.match(label) else label for label in labels]


def _common_start(labels: Sequence[str], subjects: Sequence[str]) -> str:
    computed = _computed_point_pattern()
    named = [label for label in labels if label and not _is_unlabelled(label) and not computed.fullmatch(label)]
    if len(named) < _FEWEST_NAMED:
        return ""
    for separator in ("_", ".", "-", " "):
        starts = Counter(label.partition(separator)[0] for label in named if separator in label)
        start = starts.most_common(1)[0][0] if starts else ""
        known = any(start.lower() == subject.lower() for subject in subjects)
        is_side = start.lower() in load_name_table()["subject_prefix"]["not_a_name"]
        if not start or is_side or (separator != "_" and not known):
            continue
        prefix = start + separator
        shared = sum(label.startswith(prefix) for label in named)
        if len(named) - shared <= STRANGERS * len(named):
            return prefix
    return ""


def _is_side_word(text: str) -> bool:
    """Return whether a text is a word for right or left in a known language, ignoring separators."""
    bare = "".join(character for character in text if character.isalnum())
    return bare.upper() in _side_words() or bare.lower() in load_name_table()["subject_prefix"]["not_a_name"]


@cache
def _side_words() -> frozenset[str]:
    return frozenset(word for pair in load_table("body/label_words")["sides"]["pairs"] for word in pair)


def _computed_point_pattern() -> re.Pattern[str]:
    outputs = load_name_table()["model_outputs"]["patterns"].values()
    return combined_pattern(tuple(pattern for patterns in outputs for pattern in patterns))


@lru_cache(4096)
def _is_unlabelled(label: str) -> bool:
    return combined_pattern(tuple(load_name_table()["unlabelled"]["always"]), True).fullmatch(label) is not None


def _mark_unlabelled(labels: Sequence[str], kinds: list[str]) -> None:
    table = load_name_table()["unlabelled"]
    weak = [combined_pattern((pattern,), True) for pattern in table["when_several"]]
    numbered = [p for p in weak if sum(p.fullmatch(label) is not None for label in labels) >= table["several"]]
    for i, label in enumerate(labels):
        if not label or _is_unlabelled(label) or any(p.fullmatch(label) for p in numbered):
            kinds[i] = "dropped"


def _keep_unlabelled(labels: list[str], kinds: list[str], points: FloatArray) -> None:
    """If no point is labelled, keep the points that are seen most of the time as markers; positions may identify them.

    With computed points in the file they are ignored: the labelled markers were evidently removed.
    """
    mostly = 0.5  # share of the frames in which an unlabelled point must be seen
    if any(kind != "dropped" for kind in kinds) or not points.size:
        return
    seen = all_finite(points).mean(axis=0)
    for i in range(len(kinds)):
        if seen[i] >= mostly:
            kinds[i] = "marker"
            labels[i] = labels[i] or f"point {i + 1}"


def _mark_listed_outputs(labels: Sequence[str], kinds: list[str], groups: dict[str, list[str]]) -> None:
    """Mark the points listed in the POINT group (ANGLES, MOMENTS ...); a point of an unknown list is a scalar."""
    known = load_name_table()["model_outputs"]["groups"]
    for group, entries in groups.items():
        kind = known.get(group, "scalar")
        listed = {entry.rpartition(":")[2].strip() for entry in entries}
        for i, label in enumerate(labels):
            if label in listed and kinds[i] == "marker":
                kinds[i] = kind


def _mark_outputs_by_name(labels: Sequence[str], kinds: list[str], ignore_case: bool) -> None:
    for kind, patterns in load_name_table()["model_outputs"]["patterns"].items():
        pattern = combined_pattern(tuple(patterns), ignore_case)
        for i, label in enumerate(labels):
            if kinds[i] == "marker" and pattern.fullmatch(label):
                kinds[i] = kind


def _mark_segment_axes(labels: Sequence[str], kinds: list[str], points: FloatArray) -> None:
    """Mark groups of four points that draw the axes of a segment, and the other computed points of the same model."""
    table = load_name_table()["segment_axes"]
    index = {label: i for i, label in enumerate(labels) if kinds[i] in ("marker", "virtual_point")}
    stems: list[str] = []
    for suffixes in table["suffixes"]:
        for label in list(index):
            if not label.endswith(suffixes[0]):
                continue
            stem = label.removesuffix(suffixes[0])
            four = [index.get(stem + suffix) for suffix in suffixes]
            columns = [i for i in four if i is not None]
            known = (
                len(columns) >= table["least"] and combined_pattern(tuple(table["stems"])).fullmatch(stem) is not None
            )
            if not known and (len(columns) < len(suffixes) or not _are_segment_axes(points[:, columns], table)):
                continue
            stems.append(stem)
            for i in columns:
                kinds[i] = "virtual_point"
    for model in load_name_table()["model_points"]:
        signature = combined_pattern((model["signature"],))
        if not any(signature.fullmatch(stem) for stem in stems):
            continue
        for rule in model["points"]:
            _mark_points_by_rule(rule, labels, kinds)


def _mark_points_by_rule(rule: dict[str, Any], labels: Sequence[str], kinds: list[str]) -> None:
    pattern = combined_pattern((rule["pattern"],))
    for i, label in enumerate(labels):
        match = pattern.fullmatch(label)
        if kinds[i] != "marker" or match is None:
            continue
        if not any(other.format(*match.groups()) in labels for other in rule.get("unless", [])):
            kinds[i] = "virtual_point"


def _are_segment_axes(four: FloatArray, table: dict[str, Any]) -> bool:
    """Return whether points (T, 4, 3) are an origin and three points at one distance on perpendicular axes, in twenty frames."""
    seen = np.flatnonzero(np.isfinite(four).all(axis=(1, 2)))
    if not seen.size:
        return True  # never seen: only the four names can decide
    some = four[seen[:: max(1, len(seen) // 20)]]
    lines = some[:, 1:] - some[:, :1]
    length = np.linalg.norm(lines, axis=2)
    if (length <= 0).any() or (length.max(axis=1) > table["max_length_ratio"] * length.min(axis=1)).any():
        return False
    units = lines / length[..., None]
    cosines = np.abs(np.einsum("tix,tjx->tij", units, units)[:, [0, 0, 1], [1, 2, 2]])
    return bool(np.median(cosines.max(axis=1)) < table["max_cosine"])


def _mark_computed_points(labels: Sequence[str], kinds: list[str], descriptions: Sequence[str]) -> None:
    """Mark joint centres, segment origins and midpoints, by their label or their description in the file."""
    table = load_name_table()["model_outputs"]["computed"]
    by_label, by_text = combined_pattern(tuple(table["labels"])), combined_pattern(tuple(table["descriptions"]), True)
    texts = (*descriptions, *[""] * len(labels))
    for i, label in enumerate(labels):
        bare = "".join(c for c in label.upper() if c not in _SEPARATORS)
        if kinds[i] == "marker" and (by_label.fullmatch(bare) or by_text.fullmatch(texts[i])):
            kinds[i] = "virtual_point"


def _computed_points_note(labels: Sequence[str], kinds: Sequence[str], points: FloatArray) -> list[Diagnostic]:
    """Return the note that computed points, which are not markers, are ignored."""
    seen = np.atleast_1d(np.isfinite(points[..., 0]).any(axis=0))
    computed = [labels[i] for i, kind in enumerate(kinds) if kind == "virtual_point" and seen[i]]
    if not computed:
        return []
    shown = ", ".join(computed[:12]) + (f" and {len(computed) - 12} more" if len(computed) > 12 else "")
    text = f"{len(computed)} computed points (joint centres, segment axes, model outputs) are ignored: "
    return [Diagnostic("computed-points", "info", f"{text}{shown}.", value=float(len(computed)))]


def _resolve_duplicate_labels(labels: list[str], kinds: list[str], points: FloatArray) -> list[Diagnostic]:
    """Keep the marker that is seen most if several have one label; computed points get a number appended to the label."""
    diagnostics = []
    for label, count in Counter(labels).items():
        if count < 2:
            continue
        same = [i for i in range(len(labels)) if labels[i] == label and kinds[i] != "dropped"]
        if len(same) < 2:
            continue
        same.sort(key=lambda i: (kinds[i] != "marker", -int(np.isfinite(points[:, i, 0]).sum()), i))
        for number, i in enumerate(same[1:], start=2):
            if kinds[i] == "marker":
                kinds[i] = "dropped"
            else:
                labels[i] = f"{label}#{number}"
        # an unused entry of the marker list is not a second point
        if kinds[same[0]] == "marker" and kinds[same[1]] == "dropped" and np.isfinite(points[:, same[1], 0]).any():
            diagnostics.append(
                Diagnostic(
                    "recording-repaired",
                    "warning",
                    f"{len(same)} points have the label '{label}'; the one seen in most frames is used.",
                    value=float(len(same)),
                )
            )
    return diagnostics
