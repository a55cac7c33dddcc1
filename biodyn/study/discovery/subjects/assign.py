"""Whose recording a file is: from names of folders and files and from what the files store.

Asked in this order, after what the user says; the first answer counts:
1. a name laid out as BIDS has it: sub-01_ses-02_task-walk;
2. the stored subject name, where a folder's or the file's name begins with it;
3. a folder named like a person (P01, subject 3, HC030A, 017), unless files in it store different people;
4. a file name that begins like a person (P01_walk03), unless stored facts or a common static trial speak against it;
5. the stored subject name, unless it is a template's;
6. a stored name of another file, where a folder's or the file's name begins with it;
7. words before the statics' own ('Anna_static', 'Bob_static'), where there are several;
8. the only person of the same folder;
9. a folder named like nothing else ('Anna');
10. the folder of the study.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from biodyn.session.words import plain_text, tokens, vocabulary
from biodyn.study.discovery.files import FoundFile
from biodyn.study.discovery.subjects.assignment import BY_USER, PERSON_KINDS, SubjectAssignment, is_passing
from biodyn.study.discovery.subjects.evidence import speak_against_one
from biodyn.study.discovery.subjects.file_names import by_static_names, by_stems, repeated_spans
from biodyn.study.discovery.subjects.folder_names import by_folders, by_plain_folders, in_own_folders, may_name_person
from biodyn.study.discovery.subjects.stored_names import by_known_names, by_stored_name, letters_only, stored_names

_KEY = re.compile(r"(?:^|_)([a-zA-Z]+)-([^_\W]+)")


def _by_word(p: SubjectAssignment, name: str) -> SubjectAssignment:
    """The name as given; a folder called so is the person's, else one called like a person."""
    levels = [i for i, text in enumerate(p.folders) if letters_only(text) == letters_only(name)]
    levels += [
        i
        for i, text in enumerate(p.folders)
        if any(t.kind in PERSON_KINDS and may_name_person(t, i) for t in tokens(text))
    ]
    level = levels[0] if levels else None
    end = 0 if level is None else len(plain_text(p.folders[level]))
    return replace(p, label=name, source=BY_USER, level=level, span=(0, end))


def _bids(path: Path) -> dict[str, str]:
    """Keys of a name like sub-01_ses-02_task-walk_run-03, of the folders too; nothing without the subject's."""
    found: dict[str, str] = {}
    for part in (*path.parts[:-1], path.stem):
        found |= {key.lower(): value for key, value in _KEY.findall(plain_text(part))}
    return found if vocabulary()["bids"]["subject"] in found else {}


def _by_bids(assignment: SubjectAssignment) -> SubjectAssignment:
    if not assignment.keys:
        return assignment
    key = vocabulary()["bids"]["subject"]
    return replace(assignment, label=f"{key}-{assignment.keys[key]}", source=f"'{key}-' in its name")


def _as_neighbours(assignments: list[SubjectAssignment]) -> list[SubjectAssignment]:
    people: dict[tuple[str, ...], dict[str, SubjectAssignment]] = defaultdict(dict)
    for p in assignments:
        if p.label:
            for level in range(len(p.folders) + 1):
                people[p.folders[:level]].setdefault(p.label, p)

    def find(p: SubjectAssignment) -> SubjectAssignment:
        folders = p.folders
        while not people[folders] and folders and is_passing(folders[-1]):
            folders = folders[:-1]
        if len(people[folders]) != 1:
            return p
        ((label, mate),) = people[folders].items()
        if speak_against_one([mate], [p]):
            return p
        return replace(p, label=label, source="the only person of its folder")

    return [p if p.label else find(p) for p in assignments]


def _site(p: SubjectAssignment) -> tuple[str, ...]:
    """Folders above the person's that say more than the kind of trials."""
    above = p.folders if p.level is None else p.folders[: p.level]
    return tuple(plain_text(name) for name in above if not is_passing(name))


def assign_subjects(files: Sequence[FoundFile], root_name: str, given: Mapping[Path, str]) -> list[SubjectAssignment]:
    """Return every file with the person it is of, in the order given.

    `root_name` of the study's folder; `given`: whose files are by the user's word.
    """
    stored = stored_names(files)
    known = {letters_only(name): name for name in stored.values()}
    assignments = [SubjectAssignment(file, keys=_bids(file.path)) for file in files]
    assignments = [_by_word(p, given[p.file.path]) if p.file.path in given else _by_bids(p) for p in assignments]
    assignments = [p if p.label else by_known_names(p, [stored.get(p.file.path, "")]) for p in assignments]
    assignments = by_folders(assignments, stored)
    assignments = by_stems(assignments, stored)
    assignments = [by_stored_name(p, stored) for p in assignments]
    known |= {letters_only(p.label): p.label for p in assignments if p.label}
    assignments = [p if p.label else by_known_names(p, known.values()) for p in assignments]
    assignments = by_static_names(assignments)
    assignments = _as_neighbours(assignments)
    assignments = by_plain_folders(assignments)
    assignments = [p if p.label else replace(p, label=root_name, source="the study's folder") for p in assignments]
    assignments = in_own_folders(assignments)
    return [replace(p, site=_site(p), stem_spans=repeated_spans(p, stored.get(p.file.path, ""))) for p in assignments]
