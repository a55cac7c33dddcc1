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
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from biodyn.io.file_facts import FileFacts, different_measures
from biodyn.study.discovery.files import FoundFile
from biodyn.study.discovery.words import Kind, Token, plain_text, tokens, vocabulary

_PERSON_KINDS: tuple[Kind, ...] = ("subject", "code", "number")
# Kinds of folders that stand between a person's trials and the person, or between people and their laboratory.
_PASSING: tuple[Kind, ...] = ("static", "other", "empty", "activity", "condition", "session", "counter")
_LEAST_COMMON_LABELS = 0.5
_ANOTHER_BODY = 0.1  # relative difference of mass or height: more than one person changes between visits
_LONG_NUMBER = 3
_YEAR = re.compile("(?:19|20)[0-9]{2}")


@dataclass(frozen=True, eq=False)
class Placed:
    """A file and whose it is.

    Attributes:
        file: it. label: the person's name as found. source: what the label was taken from.
        level: index of the folder that names the person, None where none does; span: which of its characters do.
        stem_spans: characters of the file's name that name the person. home: folders around the person: site, group.
        keys: of names laid out as BIDS has it.
    """

    file: FoundFile
    label: str = ""
    source: str = ""
    level: int | None = None
    span: tuple[int, int] = (0, 0)
    stem_spans: tuple[tuple[int, int], ...] = ()
    home: tuple[str, ...] = ()
    keys: dict[str, str] = field(default_factory=dict)

    @property
    def folders(self) -> tuple[str, ...]:
        """Names of the folders from the root down."""
        return self.file.path.parts[:-1]

    @property
    def stem(self) -> str:
        """Name of the file without its suffix, in composed Unicode."""
        return plain_text(self.file.path.stem)

    def stem_tokens(self) -> tuple[Token, ...]:
        """Tokens of the file's name without those that name the person."""
        return _outside(tokens(self.stem), self.stem_spans)

    def folder_tokens(self, level: int) -> tuple[Token, ...]:
        """Tokens of a folder's name without those that name the person."""
        found = tokens(self.folders[level])
        return _outside(found, [self.span]) if level == self.level else found


def _outside(found: Sequence[Token], spans: Sequence[tuple[int, int]]) -> tuple[Token, ...]:
    return tuple(t for t in found if all(t.start >= end or t.end <= start for start, end in spans))


def looks_static(file: FoundFile) -> bool:
    """True where the file's name, or a folder's of nothing else, is a static's, or the file says so."""
    declared = file.facts is not None and file.facts.declared_static
    names = (file.path.stem, *file.path.parts[:-1])
    return declared or any(token.kind == "static" for name in names for token in tokens(name))


def place_people(files: Sequence[FoundFile], root_name: str, given: Mapping[Path, str]) -> list[Placed]:
    """Return every file with the person it is of, in the order given.

    `root_name` of the study's folder; `given`: whose files are by the user's word.
    """
    stored = _stored_names(files)
    known = {_plain(name): name for name in stored.values()}
    placed = [Placed(file, keys=_bids(file.path)) for file in files]
    placed = [_by_word(p, given[p.file.path]) if p.file.path in given else _by_bids(p) for p in placed]
    placed = [p if p.label else _by_names(p, [stored.get(p.file.path, "")]) for p in placed]
    placed = _by_folders(placed, stored)
    placed = _by_stems(placed, stored)
    placed = [_stored(p, stored) for p in placed]
    known |= {_plain(p.label): p.label for p in placed if p.label}
    placed = [p if p.label else _by_names(p, known.values()) for p in placed]
    placed = _by_static_words(placed)
    placed = _as_neighbours(placed)
    placed = _by_plain_folders(placed)
    placed = [p if p.label else replace(p, label=root_name, source="the study's folder") for p in placed]
    placed = _in_own_folders(placed)
    return [replace(p, home=_home(p), stem_spans=_spans(p, stored.get(p.file.path, ""))) for p in placed]


# -- the user's word, 1: BIDS ------------------------------------------------------------------------------------------

_GIVEN = "study.toml"


def _by_word(p: Placed, name: str) -> Placed:
    """The name as given; a folder called so is the person's, else one called like a person."""
    levels = [i for i, text in enumerate(p.folders) if _plain(text) == _plain(name)]
    levels += [
        i
        for i, text in enumerate(p.folders)
        if any(t.kind in _PERSON_KINDS and _may_name_person(t, i) for t in tokens(text))
    ]
    level = levels[0] if levels else None
    end = 0 if level is None else len(plain_text(p.folders[level]))
    return replace(p, label=name, source=_GIVEN, level=level, span=(0, end))


_KEY = re.compile(r"(?:^|_)([a-zA-Z]+)-([^_\W]+)")


def _bids(path: Path) -> dict[str, str]:
    """Keys of a name like sub-01_ses-02_task-walk_run-03, of the folders too; nothing without the subject's."""
    found: dict[str, str] = {}
    for part in (*path.parts[:-1], path.stem):
        found |= {key.lower(): value for key, value in _KEY.findall(plain_text(part))}
    return found if vocabulary()["bids"]["subject"] in found else {}


def _by_bids(placed: Placed) -> Placed:
    if not placed.keys:
        return placed
    key = vocabulary()["bids"]["subject"]
    return replace(placed, label=f"{key}-{placed.keys[key]}", source=f"'{key}-' in its name")


# -- 2, 5, 6: names the files store -----------------------------------------------------------------------------------


def _plain(text: str) -> str:
    """Letters and digits only, without case and accents: files store 'Emile' for 'Émile'."""
    apart = unicodedata.normalize("NFKD", plain_text(text).casefold())
    return "".join(c for c in apart if c.isalnum())


def _stored_names(files: Sequence[FoundFile]) -> dict[Path, str]:
    """Subject names that name somebody: none of a template that goes with bodies of different size."""
    names: dict[Path, str] = {}
    bodies: dict[str, FileFacts] = {}
    templates: set[str] = set()
    for file in files:
        name = plain_text(file.facts.subject).strip() if file.facts is not None else ""
        key = _plain(name)
        if file.facts is None or len(key) < 2 or key in vocabulary()["nobody"]:
            continue
        names[file.path] = name
        other = bodies.get(key)
        if other is None or (other.mass_kg is None and other.height_m is None):
            bodies[key] = file.facts
        elif _another_body(other, file.facts):
            templates.add(key)
    return {path: name for path, name in names.items() if _plain(name) not in templates}


def _another_body(mine: FileFacts, theirs: FileFacts) -> bool:
    pairs = ((mine.mass_kg, theirs.mass_kg), (mine.height_m, theirs.height_m))
    return any(a is not None and b is not None and abs(a - b) > _ANOTHER_BODY * a for a, b in pairs)


def _by_names(placed: Placed, names: Iterable[str]) -> Placed:
    """The longest of the names that a folder's or the file's name begins with."""
    best: tuple[int, int, Placed] | None = None
    for name in names:
        if len(_plain(name)) < 2:
            continue
        for level, text in enumerate(map(plain_text, placed.folders)):
            end = _begins_with(text, name)
            if end and (best is None or (len(name), -level) > best[:2]):
                found = replace(placed, label=text[:end].strip("_- ."), level=level, span=(0, end))
                best = (len(name), -level, replace(found, source="the folder's and the stored name"))
        end = _begins_with(placed.stem, name)
        if end and (best is None or (len(name), -99) > best[:2]):
            found = replace(placed, label=placed.stem[:end].strip("_- ."), stem_spans=((0, end),))
            best = (len(name), -99, replace(found, source="the file's and the stored name"))
    return best[2] if best is not None else placed


def _begins_with(text: str, name: str) -> int:
    """Where the name ends in a text that begins with it whatever its separators: 'S4 AM Cal' with 'S4-AM' -> 5."""
    wanted = _plain(name)
    i = 0
    for position, character in enumerate(text):
        for letter in _plain(character):
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


def _stored(placed: Placed, stored: dict[Path, str]) -> Placed:
    name = stored.get(placed.file.path, "")
    return replace(placed, label=name, source="the name stored in the file") if not placed.label and name else placed


# -- 3: folders named like a person -----------------------------------------------------------------------------------


def _by_folders(placed: list[Placed], stored: dict[Path, str]) -> list[Placed]:
    under: dict[tuple[str, ...], list[FoundFile]] = defaultdict(list)
    for p in placed:
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
            same = token.kind != "subject" and _siblings_are_same_person(folders, under, stored)
            checked[key] = _is_one_person(token.text, under[folders], stored) and not counts and not same
        return checked[key]

    def find(p: Placed) -> Placed:
        for kind in _PERSON_KINDS:
            for level, name in enumerate(p.folders):
                for token in tokens(name):
                    is_year = _YEAR.fullmatch(name) and not all(map(_is_passing, p.folders[level + 1 :]))
                    if (
                        token.kind == kind
                        and not is_year
                        and _may_name_person(token, level)
                        and passes(p.folders[: level + 1], token)
                    ):
                        found = replace(p, label=token.text, level=level, span=(token.start, token.end))
                        return replace(found, source="the folder's name")
        return p

    return [p if p.label else find(p) for p in placed]


def _may_name_person(token: Token, level: int) -> bool:
    """False for T1 or V2 below another folder: a session's."""
    if level > 0 and token.kind == "code" and token.word in vocabulary()["session_numbered"]:
        return False
    return token.start == 0 or token.kind == "subject"


def _counts_sessions(folders: tuple[str, ...], token: Token, parents: set[tuple[str, ...]]) -> bool:
    """True for a short number below several folders that are no groups: Anna/1, Bob/1."""
    if len(folders) < 2 or len(token.text) >= _LONG_NUMBER or len(parents) < 2:
        return False
    return not any(t.kind == "group" for parent in parents for t in tokens(parent[-1] if parent else ""))


def _is_one_person(code: str, files: Sequence[FoundFile], stored: dict[Path, str]) -> bool:
    """False where files in one folder store different people."""
    names: dict[str, list[FileFacts]] = defaultdict(list)
    for file in files:
        if file.facts is not None and file.path in stored:
            names[_plain(stored[file.path])].append(file.facts)
    if len(names) < 2:
        return True
    named = sum(len(facts) for name, facts in names.items() if _plain(code) in name)
    if 2 * named > sum(map(len, names.values())):
        return True
    first, *others = (facts[0] for facts in names.values())
    return first.mass_kg is not None and all(_is_same_body(first, other) for other in others)


def _is_same_body(mine: FileFacts, theirs: FileFacts) -> bool:
    """True where both store body measures, and the same."""
    return mine.mass_kg is not None and theirs.mass_kg is not None and not different_measures(mine, theirs)


def _siblings_are_same_person(
    folders: tuple[str, ...], under: dict[tuple[str, ...], list[FoundFile]], stored: dict[Path, str]
) -> bool:
    """True where folders beside this one store the same name and body: they are conditions of one person."""
    others = [key for key in under if len(key) == len(folders) and key[:-1] == folders[:-1] and key != folders]
    mine = _person(under[folders], stored)
    return mine is not None and any(_person(under[key], stored) == mine for key in others)


def _person(files: Sequence[FoundFile], stored: dict[Path, str]) -> tuple[str, float] | None:
    """Name and mass that the files store; None unless all that store any store the same."""
    found = {
        (_plain(stored[f.path]), f.facts.mass_kg)
        for f in files
        if f.facts is not None and f.path in stored and f.facts.mass_kg is not None
    }
    return found.pop() if len(found) == 1 else None  # type: ignore[return-value]


# -- 4: file names that begin like a person ---------------------------------------------------------------------------


def _around(p: Placed) -> tuple[str, ...]:
    """Folders of a file without those that say only which kind of trials they hold."""
    return tuple(name for name in p.folders if not _is_passing(name))


def _is_passing(name: str) -> bool:
    found = tokens(name)
    return bool(found) and all(token.kind in _PASSING for token in found)


def _stem_person(p: Placed) -> Token | None:
    found = tokens(p.stem)
    for token in found:
        if token.kind == "subject":
            return token
    first = found[0] if len(found) > 1 else None
    return first if first is not None and first.kind in ("code", "number") else None


def _by_stems(placed: list[Placed], stored: dict[Path, str]) -> list[Placed]:
    groups: dict[tuple[str, ...], list[Placed]] = defaultdict(list)
    for p in placed:
        if not p.label:
            groups[_around(p)].append(p)
    accepted: dict[tuple[str, ...], frozenset[Kind]] = {
        around: frozenset(kind for kind in _PERSON_KINDS if _names_people(group, kind, stored))
        for around, group in groups.items()
    }

    def find(p: Placed) -> Placed:
        token = None if p.label else _stem_person(p)
        if token is None or token.kind not in accepted[_around(p)]:
            return p
        found = replace(p, label=token.text, stem_spans=((token.start, token.end),))
        return replace(found, source="the file's name")

    return [find(p) for p in placed]


def _names_people(group: Sequence[Placed], kind: Kind, stored: dict[Path, str]) -> bool:
    """True where tokens of this kind in the file names of one folder tell people, not conditions or trials."""
    by_value: dict[str, list[Placed]] = defaultdict(list)
    without = []
    for p in group:
        token = _stem_person(p)
        if token is not None and token.kind == kind:
            by_value[token.text.casefold()].append(p)
        elif token is None:
            without.append(p)
    if not by_value:
        return False
    people = {value: _person([p.file for p in members], stored) for value, members in by_value.items()}
    if len(by_value) > 1 and None not in people.values() and len(set(people.values())) == 1:
        return False  # one person under several codes
    if any(not _is_one_person(v, [p.file for p in members], stored) for v, members in by_value.items()):
        return False
    if kind == "subject":
        return True
    if any(looks_static(p.file) for p in without):
        return False  # a static for all of them
    told = any(looks_static(p.file) for members in by_value.values() for p in members)
    digits = min(sum(c.isdigit() for c in value) for value in by_value)
    differ = len(by_value) > 1 and len(set(people.values())) == len(by_value)
    return told or differ or digits >= (_LONG_NUMBER if kind == "number" else 2)


# -- 7 to 10: what else there is --------------------------------------------------------------------------------------


def _by_static_words(placed: list[Placed]) -> list[Placed]:
    groups: dict[tuple[str, ...], list[Placed]] = defaultdict(list)
    for p in placed:
        if not p.label:
            groups[_around(p)].append(p)
    leads = {
        around: {_plain(lead) for p in group if looks_static(p.file) and (lead := _leading_words(p))}
        for around, group in groups.items()
    }

    def find(p: Placed) -> Placed:
        lead = _leading_words(p)
        if p.label or not lead or len(leads[_around(p)]) < 2 or _plain(lead) not in leads[_around(p)]:
            return p
        return replace(p, label=lead, stem_spans=((0, len(lead)),), source="the file's name, as its static's")

    return [find(p) for p in placed]


def _leading_words(p: Placed) -> str:
    end = 0
    for token in tokens(p.stem):
        if token.kind != "plain":
            break
        end = token.end
    return p.stem[:end]


def _as_neighbours(placed: list[Placed]) -> list[Placed]:
    people: dict[tuple[str, ...], dict[str, Placed]] = defaultdict(dict)
    for p in placed:
        if p.label:
            for level in range(len(p.folders) + 1):
                people[p.folders[:level]].setdefault(p.label, p)

    def find(p: Placed) -> Placed:
        folders = p.folders
        while not people[folders] and folders and _is_passing(folders[-1]):
            folders = folders[:-1]
        if len(people[folders]) != 1:
            return p
        ((label, mate),) = people[folders].items()
        if _speak_against_one([mate], [p]):
            return p
        return replace(p, label=label, source="the only person of its folder")

    return [p if p.label else find(p) for p in placed]


def _by_plain_folders(placed: list[Placed]) -> list[Placed]:
    parents: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    with_static: set[tuple[str, ...]] = set()
    for p in placed:
        for level, name in enumerate(p.folders):
            parents[plain_text(name).casefold()].add(p.folders[:level])
            if looks_static(p.file):
                with_static.add(p.folders[: level + 1])

    def find(p: Placed) -> Placed:
        levels = [
            level
            for level, name in enumerate(p.folders)
            if not _is_passing(name) and len(parents[plain_text(name).casefold()]) == 1
        ]
        levels = [level for level in levels if p.folders[: level + 1] in with_static] or levels
        if not levels:
            return p
        name = plain_text(p.folders[levels[-1]])
        return replace(p, label=name, level=levels[-1], span=(0, len(name)), source="the folder's name")

    return [p if p.label else find(p) for p in placed]


def _in_own_folders(placed: list[Placed]) -> list[Placed]:
    """A person whom no folder names may still have a folder: all their files are in it, and nobody else's."""
    of_person: dict[str, list[Placed]] = defaultdict(list)
    people: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for p in placed:
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
            if len(people[folders.pop()]) == 1 and not _is_passing(files[0].folders[level]):
                own[label] = level
                break
    return [
        replace(p, level=own[p.label], span=(0, len(plain_text(p.folders[own[p.label]])))) if p.label in own else p
        for p in placed
    ]


def _home(p: Placed) -> tuple[str, ...]:
    """Folders above the person's that say more than the kind of trials."""
    above = p.folders if p.level is None else p.folders[: p.level]
    return tuple(plain_text(name) for name in above if not _is_passing(name))


def _spans(p: Placed, name: str) -> tuple[tuple[int, int], ...]:
    """Where the file's name repeats the person's label or stored name, whatever it was taken from."""
    spans = list(p.stem_spans)
    folder = "" if p.level is None else plain_text(p.folders[p.level])[slice(*p.span)]
    for text in filter(None, {p.label, name, folder}):
        end = _begins_with(p.stem, text)
        spans += [(0, end)] if end else []
        spans += [(t.start, t.end) for t in tokens(p.stem) if t.text.casefold() == text.casefold()]
    return tuple(spans)


# -- the same label in several places ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Person:
    """One person: label, the folders around (several where conditions stand above the person), their files."""

    label: str
    homes: tuple[tuple[str, ...], ...]
    members: tuple[Placed, ...]


def gather_people(placed: Sequence[Placed]) -> list[Person]:
    """Join the files of one person; the same label at two sites is two people where anything speaks against one."""
    by_label: dict[str, list[Placed]] = defaultdict(list)
    for p in placed:
        by_label[_plain(p.label) or p.label].append(p)
    people = []
    for members in by_label.values():
        clusters: list[list[Placed]] = []
        by_place: dict[tuple[tuple[str, ...], str], list[Placed]] = defaultdict(list)
        for p in members:
            by_place[p.home, _own_folder(p, members)].append(p)
        for place in sorted(by_place):
            group = by_place[place]
            mates = [c for c in clusters if not _are_different(c, group)]
            if mates:
                mates[0].extend(group)
            else:
                clusters.append(list(group))
        for cluster in clusters:
            homes = tuple(sorted({p.home for p in cluster}))
            people.append(Person(_commonest(p.label for p in cluster), homes, tuple(cluster)))
    return people


def _commonest(labels: Iterable[str]) -> str:
    return min(Counter(labels).items(), key=lambda item: (-item[1], item[0]))[0]


def _own_folder(p: Placed, members: Sequence[Placed]) -> str:
    """The person's folder where the same folder holds another whose name differs in case only; else ''."""
    if p.level is None:
        return ""
    mine = p.folders[: p.level + 1]
    rivals = {q.folders[: q.level + 1] for q in members if q.level is not None and q.folders[: q.level] == mine[:-1]}
    return mine[-1] if len(rivals) > 1 and len({name[-1].casefold() for name in rivals}) < len(rivals) else ""


def _are_different(mine: Sequence[Placed], theirs: Sequence[Placed]) -> bool:
    a, b = mine[0], theirs[0]
    if _GIVEN in (a.source, b.source):
        return False
    if a.home == b.home:
        return _own_folder(a, [*mine, *theirs]) != _own_folder(b, [*mine, *theirs])
    kinds = {t.kind for name in set(a.home) ^ set(b.home) for t in tokens(name)}
    if "group" in kinds:
        return True
    names = [{_plain(p.file.facts.subject) for p in g if p.file.facts is not None} - {""} for g in (mine, theirs)]
    # Folders that nobody knows, each with its own static: rather two laboratories than two conditions of one person.
    unknown = bool(kinds - set(_PASSING)) and not names[0] & names[1]
    if unknown and all(any(looks_static(p.file) for p in group) for group in (mine, theirs)):
        return True
    return _speak_against_one(mine, theirs)


def _speak_against_one(mine: Sequence[Placed], theirs: Sequence[Placed]) -> bool:
    """True where stored body measures differ, or, where there are none, most point labels."""
    groups = [[p.file.facts for p in group if p.file.facts is not None] for group in (mine, theirs)]
    measured = [next((f for f in facts if f.mass_kg is not None), None) for facts in groups]
    if measured[0] is not None and measured[1] is not None:
        return bool(different_measures(measured[0], measured[1]))
    a, b = (frozenset[str]().union(*(f.labels for f in facts)) for facts in groups)
    return bool(a and b) and len(a & b) < _LEAST_COMMON_LABELS * min(len(a), len(b))
