"""Names that the files store, and names of folders and files that begin with one."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from biodyn.recording import FileFacts
from biodyn.session.same_person import without_role_words
from biodyn.session.words import plain_text, tokens, vocabulary
from biodyn.study.discovery.files import FoundFile
from biodyn.study.discovery.subjects.assignment import SubjectAssignment

_ANOTHER_BODY = 0.1  # relative difference of mass or height: more than one person changes between visits


def letters_only(text: str) -> str:
    """Letters and digits only, without case and accents: files store 'Emile' for 'Émile'."""
    apart = unicodedata.normalize("NFKD", plain_text(text).casefold())
    return "".join(c for c in apart if c.isalnum())


def stored_names(files: Sequence[FoundFile]) -> dict[Path, str]:
    """Subject names that name somebody: none of a template that goes with bodies of different size."""
    names: dict[Path, str] = {}
    bodies: dict[str, FileFacts] = {}
    templates: set[str] = set()
    for file in files:
        name = without_role_words(file.facts.subject) if file.facts is not None else ""
        key = letters_only(name)
        if file.facts is None or len(key) < 2 or key in vocabulary()["nobody"]:
            continue
        names[file.path] = name
        other = bodies.get(key)
        if other is None or (other.mass_kg is None and other.height_m is None):
            bodies[key] = file.facts
        elif _another_body(other, file.facts):
            templates.add(key)
    return {path: name for path, name in names.items() if letters_only(name) not in templates}


def _another_body(mine: FileFacts, theirs: FileFacts) -> bool:
    pairs = ((mine.mass_kg, theirs.mass_kg), (mine.height_m, theirs.height_m))
    return any(a is not None and b is not None and abs(a - b) > _ANOTHER_BODY * a for a, b in pairs)


def by_known_names(assignment: SubjectAssignment, names: Iterable[str]) -> SubjectAssignment:
    """The longest of the names that a folder's or the file's name begins with."""
    best: tuple[int, int, SubjectAssignment] | None = None
    for name in names:
        if len(letters_only(name)) < 2:
            continue
        for level, text in enumerate(map(plain_text, assignment.folders)):
            end = begins_with(text, name)
            if end and (best is None or (len(name), -level) > best[:2]):
                found = replace(assignment, label=text[:end].strip("_- ."), level=level, span=(0, end))
                best = (len(name), -level, replace(found, source="the folder's and the stored name"))
        end = begins_with(assignment.stem, name)
        if end and (best is None or (len(name), -99) > best[:2]):
            found = replace(assignment, label=assignment.stem[:end].strip("_- ."), stem_spans=((0, end),))
            best = (len(name), -99, replace(found, source="the file's and the stored name"))
    return best[2] if best is not None else assignment


def begins_with(text: str, name: str) -> int:
    """Where the name ends in a text that begins with it whatever its separators: 'S4 AM Cal' with 'S4-AM' -> 5."""
    wanted = letters_only(name)
    i = 0
    for position, character in enumerate(text):
        for letter in letters_only(character):
            if i >= len(wanted) or letter != wanted[i]:
                return 0
            i += 1
        if i >= len(wanted):
            end = position + 1
            following = text[end : end + 2]
            if following[:1].isdigit() and text[end - 1].isdigit():
                return 0
            if following[:1].isalpha() and text[end - 1].isalpha():
                new_word = any(token.start == end for token in tokens(text))
                return end if new_word else 0
            return end
    return 0


def by_stored_name(assignment: SubjectAssignment, stored: dict[Path, str]) -> SubjectAssignment:
    """The name that the file itself stores (rule 5)."""
    name = stored.get(assignment.file.path, "")
    return (
        replace(assignment, label=name, source="the name stored in the file")
        if not assignment.label and name
        else assignment
    )
