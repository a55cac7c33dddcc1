"""File names that begin like a person (P01_walk03), or with the words of a static's own name."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from biodyn.session.words import Kind, Token, plain_text, tokens
from biodyn.study.discovery.subjects.assignment import (
    LONG_NUMBER,
    PERSON_KINDS,
    SubjectAssignment,
    looks_static,
    surrounding_folders,
)
from biodyn.study.discovery.subjects.evidence import is_one_person, stored_person
from biodyn.study.discovery.subjects.stored_names import begins_with, letters_only


def _stem_person(p: SubjectAssignment) -> Token | None:
    found = tokens(p.stem)
    for token in found:
        if token.kind == "subject":
            return token
    first = found[0] if len(found) > 1 else None
    return first if first is not None and first.kind in ("code", "number") else None


def by_stems(assignments: list[SubjectAssignment], stored: dict[Path, str]) -> list[SubjectAssignment]:
    """Name those whose file name begins like a person (rule 4)."""
    groups: dict[tuple[str, ...], list[SubjectAssignment]] = defaultdict(list)
    for p in assignments:
        if not p.label:
            groups[surrounding_folders(p)].append(p)
    accepted: dict[tuple[str, ...], frozenset[Kind]] = {
        around: frozenset(kind for kind in PERSON_KINDS if _names_people(group, kind, stored))
        for around, group in groups.items()
    }

    def find(p: SubjectAssignment) -> SubjectAssignment:
        token = None if p.label else _stem_person(p)
        if token is None or token.kind not in accepted[surrounding_folders(p)]:
            return p
        found = replace(p, label=token.text, stem_spans=((token.start, token.end),))
        return replace(found, source="the file's name")

    return [find(p) for p in assignments]


def _names_people(group: Sequence[SubjectAssignment], kind: Kind, stored: dict[Path, str]) -> bool:
    """True where tokens of this kind in the file names of one folder tell people, not conditions or trials."""
    by_value: dict[str, list[SubjectAssignment]] = defaultdict(list)
    without = []
    for p in group:
        token = _stem_person(p)
        if token is not None and token.kind == kind:
            by_value[token.text.casefold()].append(p)
        elif token is None:
            without.append(p)
    if not by_value:
        return False
    people = {value: stored_person([p.file for p in members], stored) for value, members in by_value.items()}
    if len(by_value) > 1 and None not in people.values() and len(set(people.values())) == 1:
        return False  # one person under several codes
    if any(not is_one_person(v, [p.file for p in members], stored) for v, members in by_value.items()):
        return False
    if kind == "subject":
        return True
    if any(looks_static(p.file) for p in without):
        return False  # a static for all of them
    told = any(looks_static(p.file) for members in by_value.values() for p in members)
    digits = min(sum(c.isdigit() for c in value) for value in by_value)
    differ = len(by_value) > 1 and len(set(people.values())) == len(by_value)
    return told or differ or digits >= (LONG_NUMBER if kind == "number" else 2)


def by_static_names(assignments: list[SubjectAssignment]) -> list[SubjectAssignment]:
    """Name those whose file name begins with words that a static's own name begins with (rule 7)."""
    groups: dict[tuple[str, ...], list[SubjectAssignment]] = defaultdict(list)
    for p in assignments:
        if not p.label:
            groups[surrounding_folders(p)].append(p)
    leads = {
        around: {letters_only(lead[0]) for p in group if looks_static(p.file) and (lead := _leading_words(p))}
        for around, group in groups.items()
    }

    def find(p: SubjectAssignment) -> SubjectAssignment:
        known = leads.get(surrounding_folders(p), set())
        found = [lead for lead in _leading_words(p) if letters_only(lead) in known]
        if p.label or len(known) < 2 or not found:
            return p
        return replace(p, label=found[0], stem_spans=((0, len(found[0])),), source="the file's name, as its static's")

    return [find(p) for p in assignments]


def _leading_words(p: SubjectAssignment) -> list[str]:
    """The unknown words that the file's name begins with, all of them first, then fewer: Anna_pass, Anna."""
    ends: list[int] = []
    for token in tokens(p.stem):
        if token.kind != "plain":
            break
        ends.insert(0, token.end)
    return [p.stem[:end] for end in ends]


def _as_counted(text: str) -> str:
    """A code without zeros before its number: SUBJ1 is SUBJ01."""
    return re.sub("(?<![0-9])0+(?=[0-9])", "", text.casefold())


def repeated_spans(p: SubjectAssignment, name: str) -> tuple[tuple[int, int], ...]:
    """Where the file's name repeats the person's label or stored name, whatever it was taken from."""
    spans = list(p.stem_spans)
    folder = "" if p.level is None else plain_text(p.folders[p.level])[slice(*p.span)]
    for text in filter(None, {p.label, name, folder}):
        end = begins_with(p.stem, text)
        spans += [(0, end)] if end else []
        spans += [(t.start, t.end) for t in tokens(p.stem) if _as_counted(t.text) == _as_counted(text)]
    return tuple(spans)
