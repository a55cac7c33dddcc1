"""Find the static trial that belongs to a walk: beside it, of the same person, standing still.

Headers are read of many files (a millisecond each), whole recordings of the few that could be it. What speaks for and
against every candidate is kept, so that the choice can be told, and so can the places where nothing was found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.errors import InputFileError
from biodyn.io._places import c3d_files, folders_near
from biodyn.io.c3d import read_c3d_many
from biodyn.io.file_facts import FileFacts, different_person, file_facts
from biodyn.io.file_names import has_static_name, has_walk_name, named_otherwise, own_words
from biodyn.trial.recording import Markers, Recording

MAX_HEADERS = 200  # files looked into; a fifth of a second
MAX_READS = 4  # recordings read in full
_LEAST_COMMON_MARKERS = 0.5  # of the walk's markers, in the candidate
_STILL_M = 0.06  # typical range of a marker while standing; swaying heads reach 0.03 m in three seconds
# Difference of the distances between markers on one segment, walk to static: 0.002-0.005 for one person, one session
# (12 recordings), 0.006-0.07 for two people. A shared subject name forgives more: markers put on again.
_SAME_BODY_M = 0.012
_SAME_NAME_BODY_M = 0.03
_RIGID_M = 0.008  # spread of a distance within a segment during walking


@dataclass(frozen=True)
class StaticCandidate:
    """One file that was looked at: what speaks for it, why it was rejected ("" if it was not), its score."""

    path: Path
    score: float
    reasons: tuple[str, ...] = ()
    rejected: str = ""


@dataclass(frozen=True)
class StaticSearch:
    """Result of the search.

    Attributes:
        path: the static trial, None where none was found.
        reason: one sentence: what was chosen and why, or where nothing was found.
        walk: the walk's recording; recording: the static's (both already read).
        candidates: every file looked at, the best first.
        folders: the folders searched.
        why: what spoke for the one that was chosen, without a full stop; "" where nothing was found.
    """

    path: Path | None
    reason: str
    walk: Recording
    recording: Recording | None = None
    candidates: tuple[StaticCandidate, ...] = ()
    folders: tuple[Path, ...] = field(default=())
    why: str = ""


def find_static(walk: Recording | str | Path, *, max_headers: int = MAX_HEADERS) -> StaticSearch:
    """Find the static trial of the person in `walk` near the walk's file.

    Searched: the walk's folder, its subfolders, the folders beside it, and folders named like statics one level up.
    Never a different person's: another subject name, mass, height or leg length rejects a file, and so do marker
    distances within segments that differ. Raises InputFileError if `walk` is a path that cannot be read.
    """
    path = walk.path if isinstance(walk, Recording) else Path(walk)
    facts = file_facts(path)
    folders = folders_near(path.parent)
    paths = static_candidates(path, max_headers=max_headers)
    judged = sorted((_looked_into(facts, other) for other in paths), key=lambda c: (bool(c.rejected), -c.score))
    likely = [c for c in judged if not c.rejected]
    best_first = likely[: 1 if _is_clear(likely) else MAX_READS]
    known = isinstance(walk, Recording)
    read = read_c3d_many([c.path for c in best_first] if known else [path, *(c.path for c in best_first)])
    if isinstance(walk, Recording):
        walk_recording = walk
    else:
        first = read.pop(0)
        if isinstance(first, InputFileError):
            raise first
        walk_recording = first
    chosen, recording, looked_at = _choose(walk_recording, best_first, read)
    for candidate in likely[len(best_first) : MAX_READS] if chosen is None else ():
        more_chosen, recording, more = _choose(walk_recording, [candidate], read_c3d_many([candidate.path]))
        looked_at += more
        chosen = more_chosen
        if chosen is not None:
            break
    seen = {c.path for c in looked_at}
    candidates = (*looked_at, *(c for c in judged if c.path not in seen))
    if chosen is None:
        return StaticSearch(None, _nothing_found(candidates, folders), walk_recording, None, candidates, folders)
    why = "; ".join(chosen.reasons)
    return StaticSearch(
        chosen.path,
        f"{chosen.path.name} is used as the static trial: {why}.",
        walk_recording,
        recording,
        candidates,
        folders,
        why,
    )


def static_candidates(walk: Path, *, max_headers: int = MAX_HEADERS) -> list[Path]:
    """Return the C3D files that `find_static` would look into for the walk."""
    return c3d_files(folders_near(walk.parent), walk, max_headers)


def _looked_into(walk: FileFacts, path: Path) -> StaticCandidate:
    try:
        return judge_static(walk, file_facts(path))
    except InputFileError as error:
        return StaticCandidate(path, 0.0, rejected=error.message)


def judge_static(walk: FileFacts, other: FileFacts, same_person: bool = False) -> StaticCandidate:
    """Score a file by its name, place and header; reject it where it cannot be this person's static.

    `same_person`: known by more than names of files and folders, which then cannot speak against it.
    """
    path = other.path
    score = 0.0
    reasons: list[str] = []
    difference = different_person(walk, other)
    same_name = bool(walk.subject) and walk.subject.lower() == other.subject.lower()
    own, its_own = own_words(walk.path), own_words(path)
    if not difference and not same_name and not same_person:
        difference = named_otherwise(walk.path, path)
    common = len(walk.labels & other.labels) / max(1, len(walk.labels))
    if not difference and common < _LEAST_COMMON_MARKERS:
        difference = f"only {len(walk.labels & other.labels)} of the walk's {len(walk.labels)} point labels are in it"
    if difference:
        return StaticCandidate(path, 0.0, rejected=difference)
    if same_name:
        score += 3.0
        reasons.append(f"same subject name '{walk.subject}'")
    if other.leg_lengths_m or other.mass_kg:
        reasons.append("same stored body measures")
    if has_static_name(path):
        score += 2.0
        reasons.append("named like a static trial")
    elif has_walk_name(path):
        score -= 2.0
    if has_static_name(path.parent):
        score += 2.0
        reasons.append(f"in the folder '{path.parent.name}'")
    if other.declared_static:
        score += 3.0
        reasons.append("declared static in the file")
    union = own | its_own
    score += 2.0 * (len(own & its_own) / len(union) if union else 0.5)
    score += common + (0.5 if path.parent.resolve() == walk.path.parent.resolve() else 0.0)
    return StaticCandidate(path, score, tuple(reasons))


def _is_clear(likely: Sequence[StaticCandidate]) -> bool:
    """True where the best candidate's own name or folder calls it a static."""
    return bool(likely) and (has_static_name(likely[0].path) or has_static_name(likely[0].path.parent))


def _choose(
    walk: Recording, candidates: Sequence[StaticCandidate], read: Sequence[Recording | InputFileError]
) -> tuple[StaticCandidate | None, Recording | None, list[StaticCandidate]]:
    """The first candidate in which this person stands still, with what its data says."""
    looked_at: list[StaticCandidate] = []
    chosen: StaticCandidate | None = None
    recording: Recording | None = None
    for candidate, result in zip(candidates, read, strict=True):
        checked = candidate if chosen is not None else _checked(walk, candidate, result)
        looked_at.append(checked)
        if chosen is None and not checked.rejected and isinstance(result, Recording):
            chosen, recording = checked, result
    return chosen, recording, looked_at


def _checked(walk: Recording, candidate: StaticCandidate, result: Recording | InputFileError) -> StaticCandidate:
    """Judge a candidate by its recording: does the person stand still, and is it the same body?"""
    if isinstance(result, InputFileError):
        return replace(candidate, rejected=result.message)
    motion = typical_motion_m(result.markers)
    if motion > _STILL_M:
        return replace(candidate, rejected=f"the person moves in it (typical marker range {motion:.2f} m)")
    reasons = [*candidate.reasons, f"standing still (typical marker range {1000 * motion:.0f} mm)"]
    body = body_difference_m(walk.markers, result.markers)
    if body is not None:
        same_name = walk.subject.name and walk.subject.name.lower() == result.subject.name.lower()
        if body > (_SAME_NAME_BODY_M if same_name else _SAME_BODY_M):
            return replace(
                candidate,
                rejected=f"its marker distances differ from the walk's by {1000 * body:.0f} mm: another person",
            )
        reasons.append(f"marker distances within segments agree to {1000 * body:.0f} mm")
    return replace(candidate, reasons=tuple(reasons))


def typical_motion_m(markers: Markers) -> float:
    """Return the median over the markers of the largest range of a coordinate, m; 0 for a single frame."""
    seen = np.isfinite(markers.positions[..., 0]).any(axis=0)
    if markers.frame_count < 2 or not seen.any():
        return 0.0
    positions = markers.positions[:, seen]
    ranges = np.nanmax(positions, axis=0) - np.nanmin(positions, axis=0)
    return float(np.median(ranges.max(axis=1)))


def body_difference_m(walk: Markers, static: Markers) -> float | None:
    """Return the median difference of the distances between markers that move as one in the walk, m.

    None where fewer than three such pairs are in both.
    """
    common = [label for label in walk.labels if label in static.labels]
    frames = walk.positions[:: max(1, walk.frame_count // 40)]
    moving = frames[:, [walk.index(label) for label in common]]
    seen = np.atleast_1d(np.isfinite(static.positions[..., 0]).any(axis=0))
    standing = np.full((len(common), 3), np.nan)
    for i, label in enumerate(common):
        column = static.index(label)
        if seen[column]:
            standing[i] = np.nanmedian(static.positions[:, column], axis=0)
    first, second = np.triu_indices(len(common), k=1)
    distance = np.linalg.norm(moving[:, first] - moving[:, second], axis=2)
    enough = np.isfinite(distance).sum(axis=0) >= min(5, len(frames))
    if not enough.any():
        return None
    distance, first, second = distance[:, enough], first[enough], second[enough]
    rigid = np.nanstd(distance, axis=0) < _RIGID_M
    difference: FloatArray = np.abs(
        np.nanmedian(distance, axis=0) - np.linalg.norm(standing[first] - standing[second], axis=1)
    )[rigid]
    difference = difference[np.isfinite(difference)]
    return float(np.median(difference)) if difference.size >= 3 else None


def _nothing_found(candidates: Sequence[StaticCandidate], folders: Sequence[Path]) -> str:
    where = ", ".join(f"'{folder}'" for folder in folders[:6]) + (" ..." if len(folders) > 6 else "")
    text = f"No static trial was found among {len(candidates)} C3D files in {where}"
    if candidates:
        text += f"; the nearest, {candidates[0].path.name}, is not taken because {candidates[0].rejected}"
    return text + "."
