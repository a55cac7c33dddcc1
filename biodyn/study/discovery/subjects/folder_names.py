"""Folders named like a person (P01, subject 3, HC030A, 017), or like nothing else."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

from biodyn.session.words import Token, plain_text, tokens, vocabulary
from biodyn.study.discovery.files import FoundFile
from biodyn.study.discovery.subjects.assignment import (
    LONG_NUMBER,
    PERSON_KINDS,
    SubjectAssignment,
    is_passing,
    looks_static,
)
from biodyn.study.discovery.subjects.evidence import is_one_person, siblings_are_same_person

_YEAR = re.compile("(?:19|20)[0-9]{2}")


def by_folders(assignments: list[SubjectAssignment], stored: dict[Path, str]) -> list[SubjectAssignment]:
    """Name those in a folder that is named like a person (rule 3)."""
    under: dict[tuple[str, ...], list[FoundFile]] = defaultdict(list)
    for p in assignments:
        for level in range(len(p.folders)):
            under[p.folders[: level + 1]].append(p.file)
    parents: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    for folders in under:
        parents[folders[-1]].add(folders[:-1])
    checked: dict[tuple[tuple[str, ...], str], bool] = {}

    def passes(folders: tuple[str, ...], token: Token) -> bool:
        key = (folders, token.text)
        if key not in checked:
            counts = token.kind == "number" and _counts_sessions(folders, token, parents[folders[-1]])
            same = token.kind != "subject" and siblings_are_same_person(folders, under, stored)
            checked[key] = is_one_person(token.text, under[folders], stored) and not counts and not same
        return checked[key]

    def find(p: SubjectAssignment) -> SubjectAssignment:
        for kind in PERSON_KINDS:
            for level, name in enumerate(p.folders):
                for token in tokens(name):
                    is_year = _YEAR.fullmatch(name) and not all(map(is_passing, p.folders[level + 1 :]))
                    if (
                        token.kind == kind
                        and not is_year
                        and may_name_person(token, level)
                        and passes(p.folders[: level + 1], token)
                    ):
                        found = replace(p, label=token.text, level=level, span=(token.start, token.end))
                        return replace(found, source="the folder's name")
        return p

    return [p if p.label else find(p) for p in assignments]


def may_name_person(token: Token, level: int) -> bool:
    """False for T1 or V2 below another folder: a session's."""
    if level > 0 and token.kind == "code" and token.word in vocabulary()["session_numbered"]:
        return False
    return token.start == 0 or token.kind == "subject"


def _counts_sessions(folders: tuple[str, ...], token: Token, parents: set[tuple[str, ...]]) -> bool:
    """True for a short number below several folders that are no groups: Anna/1, Bob/1."""
    if len(folders) < 2 or len(token.text) >= LONG_NUMBER or len(parents) < 2:
        return False
    return not any(t.kind == "group" for parent in parents for t in tokens(parent[-1] if parent else ""))


def by_plain_folders(assignments: list[SubjectAssignment]) -> list[SubjectAssignment]:
    """Name those in a folder that is named like nothing else (rule 9)."""
    parents: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    with_static: set[tuple[str, ...]] = set()
    for p in assignments:
        for level, name in enumerate(p.folders):
            parents[plain_text(name).casefold()].add(p.folders[:level])
            if looks_static(p.file):
                with_static.add(p.folders[: level + 1])

    def find(p: SubjectAssignment) -> SubjectAssignment:
        levels = [
            level
            for level, name in enumerate(p.folders)
            if not is_passing(name) and len(parents[plain_text(name).casefold()]) == 1
        ]
        levels = [level for level in levels if p.folders[: level + 1] in with_static] or levels
        if not levels:
            return p
        name = plain_text(p.folders[levels[-1]])
        return replace(p, label=name, level=levels[-1], span=(0, len(name)), source="the folder's name")

    return [p if p.label else find(p) for p in assignments]


def in_own_folders(assignments: list[SubjectAssignment]) -> list[SubjectAssignment]:
    """A person whom no folder names may still have a folder: all their files are in it, and nobody else's."""
    of_person: dict[str, list[SubjectAssignment]] = defaultdict(list)
    people: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for p in assignments:
        of_person[p.label].append(p)
        for level in range(len(p.folders)):
            people[p.folders[: level + 1]].add(p.label)
    own: dict[str, int] = {}
    for label, files in of_person.items():
        if any(p.level is not None or p.stem_spans or p.keys for p in files):
            continue
        for level in range(min(len(p.folders) for p in files)):
            folders = {p.folders[: level + 1] for p in files}
            if len(folders) != 1:
                break
            if len(people[folders.pop()]) == 1 and not is_passing(files[0].folders[level]):
                own[label] = level
                break
    return [
        replace(p, level=own[p.label], span=(0, len(plain_text(p.folders[own[p.label]])))) if p.label in own else p
        for p in assignments
    ]
