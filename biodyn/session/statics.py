"""Find the static trial that belongs to a walk: beside it, of the same person, standing still.

Headers are read of many files (a millisecond each), whole recordings of the few that could be it. What speaks for and
against every candidate is kept, so that the choice can be told, and so can the places where nothing was found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError
from biodyn.io import format_of, read_facts, read_many
from biodyn.recording import FileFacts, Recording
from biodyn.session.file_names import has_static_name, has_walk_name, named_otherwise, own_words
from biodyn.session.places import folders_near, recordings_beside
from biodyn.session.same_person import different_person
from biodyn.session.static_choice import (
    Offsets,
    Possible,
    body_difference_m,
    choose,
    compared_offsets,
    typical_motion_m,
)

MAX_HEADERS = 200  # files looked into; a fifth of a second
MAX_READS = 4  # recordings read in full
_LEAST_COMMON_MARKERS = 0.5  # of the walk's markers, in the candidate
_STILL_M = 0.06  # typical range of a marker while standing; swaying heads reach 0.03 m in three seconds
# Difference of the distances between markers on one segment, walk to static: 0.002-0.005 for one person, one session
# (12 recordings), 0.006-0.07 for two people. A shared subject name forgives more: markers put on again.
_SAME_BODY_M = 0.012
_SAME_NAME_BODY_M = 0.03


@dataclass(frozen=True)
class StaticCandidate:
    """One file that was looked at.

    Attributes:
        path: the file. score: what name, place and header speak for it, and reasons: in words.
        rejected: why it is not taken, "" if it could be.
        called_static: its name, folder or header calls it a static trial.
        offsets: whether its stored joint offsets are the walk's.
    """

    path: Path
    score: float
    reasons: tuple[str, ...] = ()
    rejected: str = ""
    called_static: bool = False
    offsets: Offsets = "unknown"


@dataclass(frozen=True)
class StaticSearch:
    """Result of the search.

    Attributes:
        path: the static trial, None where none was found.
        reason: one sentence: what was chosen and why, or where nothing was found.
        walk: the walk's recording; recording: the static's (both already read).
        candidates: every file looked at, the best first.
        folders: the folders searched.
        diagnostics: what the user should know of the choice.
        why: what spoke for the one that was chosen, without a full stop; "" where nothing was found.
    """

    path: Path | None
    reason: str
    walk: Recording
    recording: Recording | None = None
    candidates: tuple[StaticCandidate, ...] = ()
    folders: tuple[Path, ...] = field(default=())
    diagnostics: tuple[Diagnostic, ...] = ()
    why: str = ""


def find_static(
    walk: Recording | str | Path, *, among: Sequence[Path] = (), max_headers: int = MAX_HEADERS
) -> StaticSearch:
    """Find the static trial of the person in `walk` near the walk's file, or among files that are known to be this person's.

    Searched: the walk's folder, its subfolders, the folders beside it, and folders named like statics one level up.
    Never a different person's: another subject name, mass, height or leg length rejects a file, and so do marker
    distances within segments that differ. Of several the one with the walk's stored joint offsets, then the one whose
    marker distances are nearest, then the one named and placed nearest (`static_choice.choose`).
    Raises InputFileError if `walk` is a path that cannot be read.
    """
    path = walk.path if isinstance(walk, Recording) else Path(walk)
    facts = read_facts(path)
    folders = tuple(dict.fromkeys(p.parent for p in among)) if among else folders_near(path.parent)
    paths = list(among) or static_candidates(path, max_headers=max_headers)
    judged = sorted(
        (_looked_into(facts, other, bool(among)) for other in paths), key=lambda c: (bool(c.rejected), -c.score)
    )
    rivals, rest = _rivals([c for c in judged if not c.rejected])
    known = [] if isinstance(walk, Recording) else [path]
    read = read_many([*known, *(c.path for c in rivals)])
    first = read.pop(0) if known else walk
    if not isinstance(first, Recording):
        raise first if isinstance(first, InputFileError) else InputFileError(f"'{path}' cannot be read.")
    chosen = _choose(first, rivals, read)
    for candidate in rest if chosen.path is None else ():
        more = _choose(first, [candidate], read_many([candidate.path]))
        chosen = replace(more, candidates=(*chosen.candidates, *more.candidates))
        if chosen.path is not None:
            break
    seen = {c.path for c in chosen.candidates}
    candidates = (*chosen.candidates, *(c for c in judged if c.path not in seen))
    reason = chosen.reason or _nothing_found(candidates, folders, format_of(path).title)
    return replace(chosen, reason=reason, candidates=candidates, folders=folders)


def static_candidates(walk: Path, *, max_headers: int = MAX_HEADERS) -> list[Path]:
    """Return the files that `find_static` would look into for the walk: recordings of its own format."""
    try:
        suffixes = format_of(walk).suffixes
    except InputFileError:  # a file that cannot be read has no companions
        return []
    return recordings_beside(folders_near(walk.parent), walk, suffixes, max_headers)


def _looked_into(walk: FileFacts, path: Path, same_person: bool) -> StaticCandidate:
    try:
        return judge_static(walk, read_facts(path), same_person)
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
    called_static = has_static_name(path) or has_static_name(path.parent) or other.declared_static
    offsets = compared_offsets(walk.joint_offsets_rad, other.joint_offsets_rad)
    if offsets == "same":
        reasons.append("same stored joint offsets")
    union = own | its_own
    score += 2.0 * (len(own & its_own) / len(union) if union else 0.5)
    score += common + (0.5 if path.parent.resolve() == walk.path.parent.resolve() else 0.0)
    return StaticCandidate(path, score, tuple(reasons), called_static=called_static, offsets=offsets)


def _rivals(likely: Sequence[StaticCandidate]) -> tuple[list[StaticCandidate], list[StaticCandidate]]:
    """Those to be compared with each other, the best first, and those to be tried one by one if none of them will do.

    Where any is called a static trial, only such; of many, those with the walk's stored joint offsets first.
    """
    called = [c for c in likely if c.called_static] or list(likely)
    called.sort(key=lambda c: c.offsets != "same")  # stable: by score otherwise
    rivals = called[:MAX_READS]
    return rivals, [c for c in likely if c not in rivals][: MAX_READS - len(rivals)]


def _choose(
    walk: Recording, candidates: Sequence[StaticCandidate], read: Sequence[Recording | InputFileError]
) -> StaticSearch:
    """The candidate that belongs to the walk, of those in which this person stands still, with what the data say."""
    checked = [_checked(walk, candidate, result) for candidate, result in zip(candidates, read, strict=True)]
    usable = [
        (candidate, result)
        for candidate, result in zip(checked, read, strict=True)
        if isinstance(result, Recording) and not candidate.rejected
    ]
    if not usable:
        return StaticSearch(None, "", walk, None, tuple(checked))
    all_markers = [result.markers for _, result in usable]
    possible = [
        Possible(c.path, c.score, c.offsets, body_difference_m(walk.markers, result.markers, all_markers))
        for c, result in usable
    ]
    choice = choose(possible)
    candidate, recording = usable[possible.index(choice.chosen)]
    why = "; ".join((*candidate.reasons, *([choice.why] if choice.why else [])))
    return StaticSearch(
        candidate.path,
        f"{candidate.path.name} is used as the static trial: {why}.",
        walk,
        recording,
        (candidate, *(c for c in checked if c is not candidate)),
        diagnostics=choice.diagnostics,
        why=why,
    )


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
        reasons.append(f"marker distances within segments agree to {1000 * body:.2g} mm")
    return replace(candidate, reasons=tuple(reasons))


def _nothing_found(candidates: Sequence[StaticCandidate], folders: Sequence[Path], title: str) -> str:
    where = ", ".join(f"'{folder}'" for folder in folders[:6]) + (" ..." if len(folders) > 6 else "")
    text = f"No static trial was found among {len(candidates)} {title} files in {where}"
    if candidates:
        text += f"; the nearest, {candidates[0].path.name}, is not taken because {candidates[0].rejected}"
    return text + "."
