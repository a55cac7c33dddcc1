"""Find the static trial of a walk: a file near it, of the same person, with quiet standing.

The headers of many files are read (1 ms each), and whole recordings of the few possible ones. The reasons for and against every
candidate, and the searched folders, are reported.

Among several static trials, the one with the same marker placement as the walk is selected. The evidence is, in this order:
joint offsets stored in both by the laboratory software, distances of markers within segments, and names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError
from biodyn.geometry.points import lengths
from biodyn.io import format_of, read, read_facts, read_preview
from biodyn.recording import FileFacts, Markers, Recording
from biodyn.recording.motion import normalised_label
from biodyn.recording.stillness import make_preview, median_over_frames
from biodyn.session.name_tokens import static_table
from biodyn.session.person_comparison import (
    NeighbouringFiles,
    compare_persons,
    distinguishing_words,
    files_of_same_condition,
    has_static_name,
    has_walk_name,
    labels_without_prefix,
    nearby_folders,
    nearby_recordings,
    unshared_folders,
)
from biodyn.session.recording_role import preview_of_file, read_motion_facts

Offsets = Literal["same", "unknown", "different"]
#: Markers that a static trial shares with a walk, markers of the walk, difference of their distances within segments, m.
MarkerFit = tuple[int, int, float | None]
_ORDER: tuple[Offsets, ...] = ("same", "unknown", "different")
# A larger difference of marker distances is another marker placement, whatever offsets are stored.
_OTHER_PLACEMENT_M = 0.002
# A difference smaller by this is a better match: the median over the pairs is accurate to a few tenths of a millimetre.
_NEARER_M = 0.0005
# Two static trials clearly differ if the distances of this many marker pairs on segments differ by this much.
_OTHER_PLACE_M = 0.004
_FEWEST_PAIRS = 3


@dataclass(frozen=True)
class StaticCandidate:
    """Possible static trial of a walk, with the evidence for and against it.

    Attributes:
        path: path of the file. score: score of its name, folder and header. reasons: texts in favour of it.
        rejected: reason why it is not used, "" if it is possible.
        called_static: whether its name, folder or header states a static trial.
        offsets: whether its stored joint offsets equal those of the walk.
        doubt: words in its name that may name another person. same_name: whether it stores the subject name of the walk.
        strange: whether its header excludes it (another person or day, other markers, or damage).
        distance_m: median difference of the marker distances within segments from the walk, None if unknown.
        pairs_m: (P,) m, the differences static minus walk, for the same pairs in all compared trials.
        labels: labels of its markers.
    """

    path: Path
    score: float
    reasons: tuple[str, ...] = ()
    rejected: str = ""
    called_static: bool = False
    offsets: Offsets = "unknown"
    doubt: str = ""
    same_name: bool = False
    strange: bool = False
    distance_m: float | None = None
    pairs_m: FloatArray = field(default_factory=lambda: np.zeros(0))
    labels: frozenset[str] = frozenset()


def compare_offsets(walk: Mapping[str, float], static: Mapping[str, float]) -> Offsets:
    """Compare the stored joint offsets of a walk and a static trial (by name, rad)."""
    least_offsets = 2  # a single equal number may be coincidence
    shared = walk.keys() & static.keys()
    if len(shared) < least_offsets:
        return "unknown"
    limit = float(static_table()["same_rad"])
    return "same" if all(abs(walk[key] - static[key]) <= limit for key in shared) else "different"


def select_static(possible: Sequence[StaticCandidate]) -> tuple[StaticCandidate, str, tuple[Diagnostic, ...]]:
    """Select the static trial of the walk from one or more; return it, the reason ("" for a single one), and notes.

    Trials with clearly different marker positions are excluded first; then equal stored offsets decide, then marker distances,
    then names and folders, and finally the given order, which is reported.
    """
    same_score = 0.1  # score difference of names and folders
    if len(possible) == 1:
        return possible[0], "", ()
    nearest = min((p.distance_m for p in possible if p.distance_m is not None), default=None)
    remaining = [p for p in possible if _is_within_distance(p, nearest, _OTHER_PLACEMENT_M)]
    remaining = [p for p in remaining if not any(_agrees_better_with_walk(q, p) for q in remaining)] or remaining
    why = _distance_reason(possible, remaining)
    best = min(_ORDER.index(p.offsets) for p in remaining)
    fitting = [p for p in remaining if _ORDER.index(p.offsets) == best]
    if len(fitting) < len(remaining):
        why = _offsets_reason(fitting[0], [p for p in remaining if p not in fitting])
    nearest = min((p.distance_m for p in fitting if p.distance_m is not None), default=None)
    near = [p for p in fitting if _is_within_distance(p, nearest, _NEARER_M)]
    why = _distance_reason(fitting, near) or why
    top = max(p.score for p in near)
    named = [p for p in near if top - p.score <= same_score]
    if len(named) < len(near):
        why = f"its name and folder are most similar to those of the walk, among {len(near)} trials with equally good markers"
    chosen = named[0]
    return chosen, why, (*_ambiguity_note(named), *_contradiction_note(chosen, possible))


def _is_within_distance(candidate: StaticCandidate, nearest: float | None, slack_m: float) -> bool:
    return nearest is None or candidate.distance_m is None or candidate.distance_m <= nearest + slack_m


def _agrees_better_with_walk(a: StaticCandidate, b: StaticCandidate) -> bool:
    """Return whether the walk agrees with static trial `a` in the marker distances in which `a` and `b` clearly differ.

    Foot markers that were replaced (over shoes) do not change the median over the whole body, hence this comparison.
    """
    other_posture_m = 0.05  # larger changes are not due to replaced markers but to another posture of the arms
    if a.pairs_m.shape != b.pairs_m.shape:
        return False
    difference = np.abs(a.pairs_m - b.pairs_m)
    apart = (difference > _OTHER_PLACE_M) & (difference < other_posture_m)
    if apart.sum() < _FEWEST_PAIRS:
        return False
    mine, theirs = (float(np.median(np.abs(p.pairs_m[apart]))) for p in (a, b))
    return mine < 0.5 * theirs


def _distance_reason(before: Sequence[StaticCandidate], after: Sequence[StaticCandidate]) -> str:
    out = [p for p in before if p not in after]
    if not out:
        return ""
    smallest = min((p.distance_m for p in after if p.distance_m is not None), default=None)
    others = ", ".join(f"{_format_mm(p.distance_m)} in {p.path.name}" for p in out)
    if smallest is not None and any(p.distance_m is not None and p.distance_m <= smallest for p in out):
        return f"its markers agree with the walk where the static trials differ, unlike {', '.join(p.path.name for p in out)}"
    return f"marker distances within segments agree to {_format_mm(smallest)}, against {others}"


def _offsets_reason(fitting: StaticCandidate, others: Sequence[StaticCandidate]) -> str:
    listed = ", ".join(p.path.name for p in others)
    if fitting.offsets == "same":
        return f"its stored joint offsets equal those of the walk, unlike those of {listed}"
    return f"the stored joint offsets of {listed} differ from the walk"


def _ambiguity_note(named: Sequence[StaticCandidate]) -> tuple[Diagnostic, ...]:
    """Return the note on equally suitable static trials, a warning if they may give different calibrations."""
    if len(named) < 2:
        return ()
    first, *others = named
    listed = ", ".join(f"{p.path.name} ({_format_mm(p.distance_m)})" for p in others)
    may_differ = any(p.labels != first.labels or p.distance_m is None for p in named)
    return (
        Diagnostic(
            "static-doubtful",
            "warning" if may_differ else "info",
            f"{first.path.name} ({_format_mm(first.distance_m)} difference of marker distances) and {listed} match "
            f"the walk equally well; {first.path.name} is used.",
            value=first.distance_m,
            limit=_NEARER_M,
            unit="m",
            hint="Choose the static trial with --static, or in study.toml.",
        ),
    )


def _contradiction_note(chosen: StaticCandidate, possible: Sequence[StaticCandidate]) -> tuple[Diagnostic, ...]:
    """Return the warning that stored offsets and markers favour different trials."""
    named = [p for p in possible if p.offsets == "same"]
    if chosen.offsets == "same" or not named:
        return ()
    return (
        Diagnostic(
            "static-doubtful",
            "warning",
            f"Static trial {chosen.path.name} is used: its inter-marker distances differ from the walk by "
            f"{_format_mm(chosen.distance_m)} ({named[0].path.name}: {_format_mm(named[0].distance_m)}). However, the joint "
            f"offsets stored in the walk are those of {named[0].path.name}.",
            value=named[0].distance_m,
            limit=_OTHER_PLACEMENT_M,
            unit="m",
            hint="Markers were probably replaced. If this is wrong, choose the static trial with --static.",
        ),
    )


def _format_mm(value_m: float | None) -> str:
    return "unknown" if value_m is None else f"{1000.0 * value_m:.2f} mm"


def typical_motion_m(markers: Markers) -> float:
    """Return the median over the markers of the largest range of a coordinate, m; 0 for a single frame."""
    seen = np.isfinite(markers.positions[..., 0]).any(axis=0)
    if markers.frame_count < 2 or not seen.any():
        return 0.0
    positions = markers.positions[:, seen]
    ranges = np.nanmax(positions, axis=0) - np.nanmin(positions, axis=0)
    return float(np.median(ranges.max(axis=1)))


def body_difference_m(walk: Markers, static: Markers) -> float | None:
    """Return the median difference (m) of the distances between markers that move rigidly in the walk.

    None if the recordings share fewer than three such pairs.
    """
    return typical_difference_m(pair_differences_m(walk, static))


def typical_difference_m(pairs_m: FloatArray) -> float | None:
    """Return the median of the absolute differences of marker distances, m; None for fewer than three differences."""
    sizes = np.abs(pairs_m[np.isfinite(pairs_m)])
    return float(np.median(sizes)) if sizes.size >= _FEWEST_PAIRS else None


def pair_differences_m(walk: Markers, static: Markers, shared: Sequence[Markers] = ()) -> FloatArray:
    """Return the differences (P,) m, static trial minus walk, of the distances between markers that move rigidly in the walk.

    The difference is NaN if a marker is not visible in the static trial.

    Only markers that all recordings `shared` also contain are used, so that the pairs are the same for all static trials and
    their differences can be compared.
    """
    rigid_m = 0.008  # spread of a distance within a segment during walking
    others = [set(markers.labels) for markers in (static, *shared)]
    common = [label for label in walk.labels if all(label in labels for labels in others)]
    frames = walk.positions[:: max(1, walk.frame_count // 40)]
    x, y, z = (np.ascontiguousarray(frames[:, [walk.index(label) for label in common], axis]) for axis in range(3))
    standing = median_over_frames(static.positions[:, [static.index(label) for label in common]])
    first, second = np.triu_indices(len(common), k=1)
    distance = np.sqrt(sum((along[:, first] - along[:, second]) ** 2 for along in (x, y, z)))
    enough = np.isfinite(distance).sum(axis=0) >= min(5, len(frames))
    if not enough.any():
        return np.zeros(0)
    distance, first, second = distance[:, enough], first[enough], second[enough]
    spread = np.std if np.isfinite(distance).all() else np.nanstd
    rigid = spread(distance, axis=0) < rigid_m
    difference: FloatArray = lengths(standing[first] - standing[second])[rigid]
    return difference - median_over_frames(distance[:, rigid])


MAX_HEADERS = 200  # number of headers that are read, in 0.2 s
MAX_PREVIEWS = 24  # number of recordings with markers that are read
_LEAST_COMMON_MARKERS = 0.5  # share of the markers of the walk that a candidate must have
# Difference (m) of marker distances on one segment between walk and static trial: 0.002-0.005 in one session of a person
# (12 recordings), 0.006-0.07 for two people. With an equal subject name a larger limit allows for replaced markers.
SAME_BODY_M = 0.012
SAME_NAME_BODY_M = 0.03
DOUBTFUL_BODY_M = 0.005  # if the name may be that of another person


def largest_body_difference_m(same_name: bool, doubtful: bool) -> float:
    """Return the largest difference of marker distances (m) that is accepted for one person.

    same_name: whether both files store the same subject name. doubtful: whether names suggest another person.
    """
    return SAME_NAME_BODY_M if same_name else DOUBTFUL_BODY_M if doubtful else SAME_BODY_M


@dataclass(frozen=True)
class StaticChoice:
    """The static trial of a walk among given files.

    Attributes:
        path: the static trial, None if none is suitable.
        why: reasons for the choice as a clause without full stop; "" if none was found.
        candidates: all examined files, the best first.
        diagnostics: notes on the choice for the user.
    """

    path: Path | None
    why: str = ""
    candidates: tuple[StaticCandidate, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, kw_only=True)
class StaticSearch(StaticChoice):
    """Result of the search for a static trial.

    Attributes:
        reason: one sentence: the choice and its reason, or the searched folders if none was found.
        walk: recording of the walk; recording: recording of the static trial (both already read).
        folders: searched folders.
    """

    reason: str
    walk: Recording
    recording: Recording | None = None
    folders: tuple[Path, ...] = ()


def find_static(
    walk: Recording | str | Path, *, among: Sequence[Path] = (), max_headers: int = MAX_HEADERS
) -> StaticSearch:
    """Find the static trial of the person in `walk`, near its file or among files that are known to be of this person.

    Searched are the folder of the walk, its subfolders, sibling folders, and folders named as static trials one level up. Files
    of another person are rejected, by subject name, mass, height, leg length or marker distances within segments. Among several
    static trials, stored joint offsets decide, then marker distances, then names and folders (`select_static`).
    Raises InputFileError if `walk` is a path that cannot be read.
    """
    path = walk.path if isinstance(walk, Recording) else Path(walk)
    recording = walk if isinstance(walk, Recording) else read(path)
    facts = read_facts(path)
    folders = tuple(dict.fromkeys(p.parent for p in among)) if among else nearby_folders(path.parent)
    paths = list(among) or static_candidates(path, max_headers=max_headers)
    spoilt: list[StaticCandidate] = []
    while True:
        readable = [other for other in paths if all(other != c.path for c in spoilt)]
        choice = choose_static(facts, recording.markers, readable, same_person=bool(among))
        choice = replace(choice, candidates=(*choice.candidates, *spoilt))
        if choice.path is None:
            c3d = () if among else _c3d_files_nearby(path, max_headers)
            if new := [other for other in c3d if other not in paths]:
                paths += new
                continue
            reason = _nothing_found_text(choice.candidates, folders)
            return StaticSearch(**vars(choice), reason=reason, walk=recording, folders=folders)
        try:
            static = read(choice.path)
        except InputFileError as error:
            spoilt.append(replace(choice.candidates[0], rejected=error.message))
            continue
        reason = f"{choice.path.name} is used as the static trial: {choice.why}."
        return StaticSearch(**vars(choice), reason=reason, walk=recording, recording=static, folders=folders)


def choose_static(walk: FileFacts, markers: Markers, paths: Sequence[Path], same_person: bool = False) -> StaticChoice:
    """Choose the static trial of a walk among files by their headers and previews; used by `run` and `study`.

    markers: markers of the walk, all frames or a preview. same_person: whether the files are known to be of its person and day.
    Files named as static trials are compared first. If none is suitable, other files with quiet standing throughout are used,
    then functional trials that are named as static trials.
    """
    neighbours = None if same_person else NeighbouringFiles([walk.path, *paths])
    judged = sorted(
        (_read_candidate(walk, path, neighbours) for path in paths), key=lambda c: (bool(c.rejected), -c.score)
    )
    likely = [c for c in judged if not c.rejected]
    likely.sort(key=lambda c: c.offsets != "same")  # stable: by score otherwise
    called = [c for c in likely if c.called_static]
    functional = [c for c in called if _is_functional(c.path)]
    groups = [
        [c for c in called if c not in functional],
        [c for c in likely if not c.called_static],
        functional,  # a quiet half second of these is better than no static trial
    ]
    seen: list[StaticCandidate] = []
    search = StaticChoice(None)
    for group in groups:
        search = _choose_candidate(walk, markers, group, same_person) if group else search
        seen = [*search.candidates, *seen] if group else seen
        if search.path is not None:
            break
    known = {c.path for c in seen}
    return replace(search, candidates=(*seen, *(c for c in judged if c.path not in known)))


def _is_functional(path: Path) -> bool:
    """Return whether one leg moves while the other is still, as in a functional trial that is named as a static trial
    ("KneeCal")."""
    motion = read_motion_facts(path)
    return motion is not None and motion.kind == "one_leg"


def static_candidates(walk: Path, *, max_headers: int = MAX_HEADERS) -> list[Path]:
    """Return the files that `find_static` examines for the walk: recordings of the same format."""
    try:
        known = format_of(walk)
    except InputFileError:  # a file that cannot be read has no companions
        return []

    def has_same_format(path: Path) -> bool:
        if path.suffix.lower() != walk.suffix.lower():
            return path.suffix.lower() in known.suffixes
        try:  # a .txt may be anything
            return path.suffix.lower() in known.suffixes or format_of(path) is known
        except InputFileError:
            return False

    return nearby_recordings(nearby_folders(walk.parent), walk, has_same_format, max_headers)


def _c3d_files_nearby(walk: Path, most: int) -> list[Path]:
    """Return the C3D files near the walk: a laboratory may export only the walks to another format, as for subject DM of the
    Knee Grand Challenge (Fregly et al. 2012, doi 10.1002/jor.22023)."""
    return nearby_recordings(nearby_folders(walk.parent), walk, lambda path: path.suffix.lower() == ".c3d", most)


def are_on_same_body(walk: Path, static: Path) -> bool | None:
    """Return whether the markers of two files are on one body, by distances within segments; None if undetermined."""
    try:
        moving, standing = preview_of_file(walk).markers, preview_of_file(static).quiet_markers()
    except (InputFileError, OSError):
        return None
    body = body_difference_m(moving, standing)
    if body is None or DOUBTFUL_BODY_M < body <= SAME_BODY_M:
        return None
    return body <= DOUBTFUL_BODY_M


def _read_candidate(walk: FileFacts, path: Path, neighbours: NeighbouringFiles | None) -> StaticCandidate:
    try:
        return score_static_candidate(walk, read_facts(path), neighbours)
    except InputFileError as error:
        return StaticCandidate(path, 0.0, rejected=error.message, strange=True)


def score_static_candidate(
    walk: FileFacts, other: FileFacts, neighbours: NeighbouringFiles | None = None
) -> StaticCandidate:
    """Score a file by its name, folder and header; reject it if it cannot be a static trial of this person.

    neighbours: files near both; None if other data already show that the person is the same, so file and folder names are
    ignored.
    """
    path = other.path
    score = 0.0
    reasons: list[str] = []
    difference, same_name, doubt = compare_persons(walk, other, neighbours)
    walk_words, other_words = distinguishing_words(walk.path), distinguishing_words(path)
    mine, theirs = _comparable_labels(walk.labels), _comparable_labels(other.labels)
    common = len(mine & theirs)
    if not difference and common < _LEAST_COMMON_MARKERS * min(len(walk.labels), len(other.labels)):
        difference = f"it has only {common} of the {len(walk.labels)} point labels of the walk"
    if difference:
        return StaticCandidate(path, 0.0, rejected=difference, strange=True)
    if same_name:
        score += 3.0
        reasons.append(f"same subject name '{walk.subject}'")
    if other.leg_lengths_m or other.mass_kg:
        reasons.append("same stored body measures")
    if has_static_name(path):
        score += 2.0
        reasons.append("named as a static trial")
    elif has_walk_name(path):
        score -= 2.0
    folder = next((name for name in unshared_folders(walk.path, path) if has_static_name(Path(name))), None)
    if folder is not None:
        score += 2.0
        reasons.append(f"in the folder '{folder}'")
    if other.declared_static:
        score += 3.0
        reasons.append("declared static in the file")
    called_static = has_static_name(path) or folder is not None or other.declared_static
    offsets = compare_offsets(walk.joint_offsets_rad, other.joint_offsets_rad)
    if offsets == "same":
        reasons.append("same stored joint offsets")
    union = walk_words | other_words
    score += 2.0 * (len(walk_words & other_words) / len(union) if union else 0.5)
    is_near = path.parent == walk.path.parent or path.parent.resolve() == walk.path.parent.resolve()
    score += 0.5 if is_near else 0.0
    return StaticCandidate(path, score, tuple(reasons), "", called_static, offsets, doubt, same_name)


@lru_cache(maxsize=256)
def _comparable_labels(labels: frozenset[str]) -> frozenset[str]:
    return frozenset(map(normalised_label, labels_without_prefix(labels)))


def _choose_candidate(
    walk: FileFacts, markers: Markers, group: Sequence[StaticCandidate], same_person: bool
) -> StaticChoice:
    """Return the best of the candidates whose markers show quiet standing of this person."""
    checked: list[StaticCandidate] = []
    standing: dict[Path, Markers] = {}
    for candidate in group[:MAX_PREVIEWS]:
        try:
            preview = preview_of_file(candidate.path)
        except (InputFileError, OSError) as error:
            checked.append(replace(candidate, rejected=str(getattr(error, "message", error))))
            continue
        standing[candidate.path] = preview.quiet_markers().with_spelling_of(markers.labels)
        checked.append(_check_candidate(walk, candidate, _marker_fit(markers, standing[candidate.path])))
    usable = [c for c in checked if not c.rejected]
    if not same_person:
        fitting = files_of_same_condition(walk.path, [c.path for c in usable])
        usable = [c for c in usable if c.path in fitting]
    if not usable:
        return StaticChoice(None, candidates=tuple(checked))
    shared = [standing[c.path] for c in usable]
    candidate, reason, notes = select_static([_compare_candidate(c, markers, standing[c.path], shared) for c in usable])
    why = "; ".join((*candidate.reasons, *([reason] if reason else [])))
    others = (c for c in checked if c.path != candidate.path)
    return StaticChoice(candidate.path, why, (candidate, *others), notes)


def _compare_candidate(
    candidate: StaticCandidate, walk: Markers, standing: Markers, shared: Sequence[Markers]
) -> StaticCandidate:
    """Return the candidate with its differences of marker distances from the walk."""
    pairs = pair_differences_m(walk, standing, shared)
    labels = frozenset(standing.labels)
    return replace(candidate, distance_m=typical_difference_m(pairs), pairs_m=pairs, labels=labels)


def static_trial_matches_walk(walk: FileFacts, candidate: StaticCandidate) -> bool:
    """Return whether the markers of the only possible static trial fit the walk: quiet standing and equal marker distances.

    Also True for unreadable markers, for which the analysis reports the error.
    """
    try:
        fit = _marker_fit_of_files(
            walk.path, candidate.path, *(p.stat().st_mtime_ns for p in (walk.path, candidate.path))
        )
    except (InputFileError, OSError):
        return True
    return not _check_candidate(walk, candidate, fit).rejected


@lru_cache(maxsize=4096)
def _marker_fit_of_files(walk: Path, static: Path, walk_changed_ns: int, static_changed_ns: int) -> MarkerFit:
    markers = read_preview(walk).markers
    return _marker_fit(markers, preview_of_file(static).quiet_markers().with_spelling_of(markers.labels))


def _marker_fit(walk: Markers, standing: Markers) -> MarkerFit:
    common = len(set(walk.labels) & set(standing.labels))
    return common, len(walk.labels), body_difference_m(walk, standing)


def _check_candidate(walk: FileFacts, candidate: StaticCandidate, fit: MarkerFit) -> StaticCandidate:
    """Check with the markers whether a candidate shows quiet standing of the same person.

    Return the candidate with the reasons for its use, or with the reason for its rejection.
    """
    common, marker_count, body = fit
    if common < _LEAST_COMMON_MARKERS * marker_count:
        return replace(candidate, rejected=f"it has only {common} of the {marker_count} markers of the walk")
    motion = read_motion_facts(candidate.path)
    if motion is None:
        return replace(candidate, rejected="it has too few markers for a person")
    if not motion.is_standing:
        return replace(candidate, rejected=f"the person moves in it: {motion.sentence()}")
    if motion.kind != "standing" and not candidate.called_static:
        return replace(candidate, rejected=f"it is not named as a static trial, and {motion.sentence()}")
    quiet = f"quiet standing (the markers move by {1000 * motion.quiet.movement_m:.0f} mm in half a second)"
    reasons = [*candidate.reasons, quiet]
    if body is not None:
        same_name = bool(walk.subject) and candidate.same_name
        if body > largest_body_difference_m(same_name, bool(candidate.doubt)):
            doubt = f" and {candidate.doubt}" if candidate.doubt else ""
            text = (
                f"its marker distances differ from the walk by {1000 * body:.0f} mm{doubt}, so it shows another person"
            )
            return replace(candidate, rejected=text)
        reasons.append(f"marker distances within segments agree to {1000 * body:.2g} mm")
    elif candidate.doubt:
        return replace(candidate, rejected=f"{candidate.doubt}, and too few markers move rigidly for a comparison")
    return replace(candidate, reasons=tuple(reasons))


def _nothing_found_text(candidates: Sequence[StaticCandidate], folders: Sequence[Path]) -> str:
    where = ", ".join(f"'{folder}'" for folder in folders[:6]) + (" ..." if len(folders) > 6 else "")
    files = f"{len(candidates)} {'recording' if len(candidates) == 1 else 'recordings'}"
    text = f"No static trial was found among {files} in {where}"
    if candidates:
        text += f"; the nearest, {candidates[0].path.name}, is not used because {candidates[0].rejected}"
    return text + "."


def other_person_warning(walk: Recording, static: Recording) -> Diagnostic | None:
    """Return a warning if the static trial given by the user appears to be of another person than the walk, else None.

    The criteria are those of the search: marker distances within segments, stored names and body measures. If the distances
    agree, a different name is ignored. Raises InputFileError if the header of a file cannot be read any more.
    """
    strange, same_name, _ = compare_persons(read_facts(walk.path), read_facts(static.path), None)
    body = body_difference_m(walk.markers, make_preview(static.markers).quiet_markers())
    limit = largest_body_difference_m(same_name, bool(strange))
    agrees = not strange if body is None else body <= limit
    if agrees:
        return None
    seen = [strange] if strange else []
    if body is not None:
        seen.insert(0, f"its marker distances within segments differ from the walk by {1000 * body:.0f} mm (median)")
    return Diagnostic(
        "static-doubtful",
        "warning",
        f"'{static.path.name}' is given as the static trial but appears to be of another person: {', and '.join(seen)}.",
        value=body,
        limit=None if body is None else limit,
        unit="" if body is None else "m",
        hint="Give a static trial of this person from the same day; without --static, biodyn searches for one near the walk.",
    )
