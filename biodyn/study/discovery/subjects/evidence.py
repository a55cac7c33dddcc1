"""What stored names and body measures say for or against files being of one person."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from biodyn.recording import FileFacts
from biodyn.session import motion_of, same_body
from biodyn.session.same_person import different_measures
from biodyn.study.discovery.files import FoundFile
from biodyn.study.discovery.subjects.assignment import SubjectAssignment, looks_static
from biodyn.study.discovery.subjects.stored_names import letters_only

_LEAST_COMMON_LABELS = 0.5
_LOOKED_INTO = 6  # files of a person, for one in which he or she stands


def is_one_person(code: str, files: Sequence[FoundFile], stored: dict[Path, str]) -> bool:
    """False where files in one folder store different people."""
    names: dict[str, list[FileFacts]] = defaultdict(list)
    for file in files:
        if file.facts is not None and file.path in stored:
            names[letters_only(stored[file.path])].append(file.facts)
    if len(names) < 2:
        return True
    named = sum(len(facts) for name, facts in names.items() if letters_only(code) in name)
    if 2 * named > sum(map(len, names.values())):
        return True
    first, *others = (facts[0] for facts in names.values())
    return first.mass_kg is not None and all(_is_same_body(first, other) for other in others)


def _is_same_body(mine: FileFacts, theirs: FileFacts) -> bool:
    """True where both store body measures, and the same."""
    return mine.mass_kg is not None and theirs.mass_kg is not None and not different_measures(mine, theirs)


def siblings_are_same_person(
    folders: tuple[str, ...], under: dict[tuple[str, ...], list[FoundFile]], stored: dict[Path, str]
) -> bool:
    """True where folders beside this one store the same name and body: they are conditions of one person."""
    others = [key for key in under if len(key) == len(folders) and key[:-1] == folders[:-1] and key != folders]
    mine = stored_person(under[folders], stored)
    return mine is not None and any(stored_person(under[key], stored) == mine for key in others)


def stored_person(files: Sequence[FoundFile], stored: dict[Path, str]) -> tuple[str, float] | None:
    """Name and mass that the files store; None unless all that store any store the same."""
    found = {
        (letters_only(stored[f.path]), f.facts.mass_kg)
        for f in files
        if f.facts is not None and f.path in stored and f.facts.mass_kg is not None
    }
    return found.pop() if len(found) == 1 else None  # type: ignore[return-value]


def bodies_agree(mine: Sequence[SubjectAssignment], theirs: Sequence[SubjectAssignment]) -> bool | None:
    """Whether the markers of two groups of files sit on one body: a static of one against a walk of the other.

    None where they cannot be compared, or where markers put on again and two people of one build look alike.
    """
    for a, b in ((mine, theirs), (theirs, mine)):
        statics = standing_in(a)
        others = standing_in(b)
        walks = [path for path in _paths(b) if path not in others]
        if statics and walks:
            return same_body(walks[0], statics[0])
    return None


def standing_in(group: Sequence[SubjectAssignment]) -> list[Path]:
    """Files in which the person stands: those called so, else those of the first few in which nothing else is done."""
    called = [p.file.facts.path for p in group if p.file.facts is not None and looks_static(p.file)]
    return called or [path for path in _paths(group)[:_LOOKED_INTO] if _stands(path)]


def _paths(group: Sequence[SubjectAssignment]) -> list[Path]:
    return [p.file.facts.path for p in group if p.file.facts is not None]


def _stands(path: Path) -> bool:
    motion = motion_of(path)
    return motion is not None and motion.kind == "standing"


def speak_against_one(mine: Sequence[SubjectAssignment], theirs: Sequence[SubjectAssignment]) -> bool:
    """True where stored body measures differ, or, where there are none, most point labels."""
    groups = [[p.file.facts for p in group if p.file.facts is not None] for group in (mine, theirs)]
    measured = [next((f for f in facts if f.mass_kg is not None), None) for facts in groups]
    if measured[0] is not None and measured[1] is not None:
        return bool(different_measures(measured[0], measured[1]))
    a, b = (frozenset[str]().union(*(f.labels for f in facts)) for facts in groups)
    return bool(a and b) and len(a & b) < _LEAST_COMMON_LABELS * min(len(a), len(b))
