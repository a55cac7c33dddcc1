"""Determine the person of each recording in a folder by folder and file names and by stored parameters.

Names given by the user have priority. Otherwise the first of these rules that gives a name is used:

1. a name in BIDS form: sub-01_ses-02_task-walk
2. the stored subject name, if the name of a folder or of the file starts with it
3. a folder named as a person (P01, subject 3, HC030A, 017), unless its files store different people
4. a file name that starts with a person (P01_walk03), unless stored facts or a common static trial contradict it
5. the stored subject name, unless it is that of a template
6. a stored name of another file, if the name of a folder or of the file starts with it
7. the first words of the static trials ('Anna_static', 'Bob_static'), if there are several
8. the only person of the same folder
9. a folder with a name of unknown words ('Anna')
10. the folder of the study
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from biodyn.recording import FileFacts
from biodyn.session.inventory import FoundFile
from biodyn.session.name_tokens import Kind, Token, load_vocabulary, plain_text, split_name
from biodyn.session.person_comparison import letters_and_digits_only, measure_difference_reason, without_role_words
from biodyn.session.recording_role import read_motion_facts
from biodyn.session.static_trials import are_on_same_body

PERSON_KINDS: tuple[Kind, ...] = ("subject", "code", "number")
# Kinds of folders between a person and the trials, or between a laboratory and its people.
PASSING: tuple[Kind, ...] = ("static", "other", "empty", "activity", "condition", "session", "counter")
LONG_NUMBER = 3
BY_USER = "study.toml"


@dataclass(frozen=True, eq=False)
class SubjectAssignment:
    """Recording with the person assigned to it, and the parts of its path that name the person.

    Attributes:
        file: the file. label: name of the person as it occurs. source: text that states where the name was found.
        level: index of the folder that names the person, None if none exists; span: character range of the name in it.
        stem_spans: character ranges of the file name that name the person. site: folders above the person: laboratory, group.
        keys: keys and values of names in BIDS form.
    """

    file: FoundFile
    label: str = ""
    source: str = ""
    level: int | None = None
    span: tuple[int, int] = (0, 0)
    stem_spans: tuple[tuple[int, int], ...] = ()
    site: tuple[str, ...] = ()
    keys: dict[str, str] = field(default_factory=dict)

    @property
    def folders(self) -> tuple[str, ...]:
        """Return the folder names from the root down."""
        return self.file.path.parts[:-1]

    @property
    def stem(self) -> str:
        """Return the file name without its suffix, in composed Unicode."""
        return plain_text(self.file.path.stem)

    def stem_tokens(self) -> tuple[Token, ...]:
        """Return the tokens of the file name without those that name the person."""
        return _words_outside_spans(split_name(self.stem), self.stem_spans)

    def folder_tokens(self, level: int) -> tuple[Token, ...]:
        """Return the tokens of a folder name without those that name the person."""
        words = split_name(self.folders[level])
        return _words_outside_spans(words, [self.span]) if level == self.level else words

    def person_tokens(self) -> tuple[Token, ...]:
        """Return the tokens of the folder name that name the person."""
        if self.level is None:
            return ()
        other_words = self.folder_tokens(self.level)
        return tuple(token for token in split_name(self.folders[self.level]) if token not in other_words)


def _words_outside_spans(words: Sequence[Token], spans: Sequence[tuple[int, int]]) -> tuple[Token, ...]:
    return tuple(t for t in words if all(t.start >= end or t.end <= start for start, end in spans))


def looks_static(file: FoundFile) -> bool:
    """Return whether the name of a file or of a folder above it, or its header, denotes a static trial."""
    declared = file.facts is not None and file.facts.declared_static
    names = (file.path.stem, *file.path.parts[:-1])
    return declared or any(token.kind == "static" for name in names for token in split_name(name))


def has_only_trial_kind(name: str) -> bool:
    """Return whether the name of a folder only states a kind of trial."""
    words = split_name(name)
    return bool(words) and all(token.kind in PASSING for token in words)


def surrounding_folders(p: SubjectAssignment) -> tuple[str, ...]:
    """Return the folders of a file without those that state only a kind of trial."""
    return tuple(name for name in p.folders if not has_only_trial_kind(name))


def stored_subject_names(files: Sequence[FoundFile]) -> dict[Path, str]:
    """Return the stored subject names, except names of templates with bodies of different size."""
    names: dict[Path, str] = {}
    bodies: dict[str, FileFacts] = {}
    templates: set[str] = set()
    for file in files:
        name = without_role_words(file.facts.subject) if file.facts is not None else ""
        key = letters_and_digits_only(name)
        if file.facts is None or len(key) < 2 or key in load_vocabulary()["nobody"]:
            continue
        names[file.path] = name
        other = bodies.get(key)
        if other is None or (other.mass_kg is None and other.height_m is None):
            bodies[key] = file.facts
        elif _has_other_body(other, file.facts):
            templates.add(key)
    return {path: name for path, name in names.items() if letters_and_digits_only(name) not in templates}


def _has_other_body(mine: FileFacts, theirs: FileFacts) -> bool:
    another_body = 0.1  # relative difference of mass or height: larger than the change of one person between visits
    pairs = ((mine.mass_kg, theirs.mass_kg), (mine.height_m, theirs.height_m))
    return any(a is not None and b is not None and abs(a - b) > another_body * a for a, b in pairs)


def match_known_names(assignment: SubjectAssignment, names: Iterable[str]) -> SubjectAssignment:
    """Assign the longest of the names with which the name of a folder or of the file starts."""
    best: tuple[int, int, SubjectAssignment] | None = None
    for name in names:
        if len(letters_and_digits_only(name)) < 2:
            continue
        for level, text in enumerate(map(plain_text, assignment.folders)):
            end = end_of_leading_name(text, name)
            if end and (best is None or (len(name), -level) > best[:2]):
                named = replace(assignment, label=text[:end].strip("_- ."), level=level, span=(0, end))
                best = (len(name), -level, replace(named, source="the folder's and the stored name"))
        end = end_of_leading_name(assignment.stem, name)
        if end and (best is None or (len(name), -99) > best[:2]):
            named = replace(assignment, label=assignment.stem[:end].strip("_- ."), stem_spans=((0, end),))
            best = (len(name), -99, replace(named, source="the file's and the stored name"))
    return best[2] if best is not None else assignment


def end_of_leading_name(text: str, name: str) -> int:
    """Return the end of a name at the start of a text, ignoring separators: 5 for 'S4 AM Cal' and 'S4-AM'; 0 without a match."""
    wanted = letters_and_digits_only(name)
    i = 0
    for position, character in enumerate(text):
        for letter in letters_and_digits_only(character):
            if i >= len(wanted) or letter != wanted[i]:
                return 0
            i += 1
        if i >= len(wanted):
            end = position + 1
            following = text[end : end + 2]
            if following[:1].isdigit() and text[end - 1].isdigit():
                return 0
            if following[:1].isalpha() and text[end - 1].isalpha():
                new_word = any(token.start == end for token in split_name(text))
                return end if new_word else 0
            return end
    return 0


def match_stored_name(assignment: SubjectAssignment, stored: dict[Path, str]) -> SubjectAssignment:
    """Return the assignment with the name stored in the file as the person, if none is assigned yet (rule 5)."""
    name = stored.get(assignment.file.path, "")
    return (
        replace(assignment, label=name, source="the name stored in the file")
        if not assignment.label and name
        else assignment
    )


def is_one_person(code: str, files: Sequence[FoundFile], stored: dict[Path, str]) -> bool:
    """Return whether the files in a folder can be of one person, by their stored data."""
    names: dict[str, list[FileFacts]] = defaultdict(list)
    for file in files:
        if file.facts is not None and file.path in stored:
            names[letters_and_digits_only(stored[file.path])].append(file.facts)
    if len(names) < 2:
        return True
    named = sum(len(facts) for name, facts in names.items() if letters_and_digits_only(code) in name)
    if 2 * named > sum(map(len, names.values())):
        return True
    first, *others = (facts[0] for facts in names.values())
    return first.mass_kg is not None and all(_is_same_body(first, other) for other in others)


def _is_same_body(mine: FileFacts, theirs: FileFacts) -> bool:
    """Return whether both files store the same body measures."""
    return mine.mass_kg is not None and theirs.mass_kg is not None and not measure_difference_reason(mine, theirs)


def siblings_are_same_person(
    folders: tuple[str, ...], under: dict[tuple[str, ...], list[FoundFile]], stored: dict[Path, str]
) -> bool:
    """Return whether the files in sibling folders store the same name and body measures.

    The folders are then conditions of one person.
    """
    others = [key for key in under if len(key) == len(folders) and key[:-1] == folders[:-1] and key != folders]
    mine = stored_person(under[folders], stored)
    return mine is not None and any(stored_person(under[key], stored) == mine for key in others)


def stored_person(files: Sequence[FoundFile], stored: dict[Path, str]) -> tuple[str, float] | None:
    """Return the stored name and mass (kg) of the files; None if none are stored or they differ."""
    people = {
        (letters_and_digits_only(stored[f.path]), f.facts.mass_kg)
        for f in files
        if f.facts is not None and f.path in stored and f.facts.mass_kg is not None
    }
    return people.pop() if len(people) == 1 else None  # type: ignore[return-value]


def bodies_agree(mine: Sequence[SubjectAssignment], theirs: Sequence[SubjectAssignment]) -> bool | None:
    """Return whether the markers of two groups of files are on one body, from a static trial of one group and a walk of the
    other.

    None if they cannot be compared, or if replaced markers and two similar people cannot be distinguished.
    """
    for a, b in ((mine, theirs), (theirs, mine)):
        statics = standing_files(a)
        others = standing_files(b)
        walks = [path for path in _path_list(b) if path not in others]
        if statics and walks:
            return are_on_same_body(walks[0], statics[0])
    return None


def standing_files(group: Sequence[SubjectAssignment]) -> list[Path]:
    """Return the static trials of a group by their names; if none, the files among the first six in which the person stands."""
    looked_into = 6  # number of files that are read to find one with standing
    called = [p.file.facts.path for p in group if p.file.facts is not None and looks_static(p.file)]
    return called or [path for path in _path_list(group)[:looked_into] if _is_standing(path)]


def _path_list(group: Sequence[SubjectAssignment]) -> list[Path]:
    return [p.file.facts.path for p in group if p.file.facts is not None]


def _is_standing(path: Path) -> bool:
    motion = read_motion_facts(path)
    return motion is not None and motion.kind == "standing"


def have_different_bodies(mine: Sequence[SubjectAssignment], theirs: Sequence[SubjectAssignment]) -> bool:
    """Return whether the stored body measures differ or, if none are stored, most point labels."""
    least_common_labels = 0.5
    groups = [[p.file.facts for p in group if p.file.facts is not None] for group in (mine, theirs)]
    measured = [next((f for f in facts if f.mass_kg is not None), None) for facts in groups]
    if measured[0] is not None and measured[1] is not None:
        return bool(measure_difference_reason(measured[0], measured[1]))
    a, b = (frozenset[str]().union(*(f.labels for f in facts)) for facts in groups)
    return bool(a and b) and len(a & b) < least_common_labels * min(len(a), len(b))


_YEAR = re.compile("(?:19|20)[0-9]{2}")


def name_by_folders(assignments: list[SubjectAssignment], stored: dict[Path, str]) -> list[SubjectAssignment]:
    """Return the assignments with the persons that are named by folders (rule 3)."""
    under: dict[tuple[str, ...], list[FoundFile]] = defaultdict(list)
    for p in assignments:
        for level in range(len(p.folders)):
            under[p.folders[: level + 1]].append(p.file)
    parents: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    for folders in under:
        parents[folders[-1]].add(folders[:-1])
    checked: dict[tuple[tuple[str, ...], str], bool] = {}

    def is_person_folder(folders: tuple[str, ...], token: Token) -> bool:
        key = (folders, token.text)
        if key not in checked:
            counts = token.kind == "number" and _is_session_number(folders, token, parents[folders[-1]])
            same = token.kind != "subject" and siblings_are_same_person(folders, under, stored)
            checked[key] = is_one_person(token.text, under[folders], stored) and not counts and not same
        return checked[key]

    def assign_by_folder(p: SubjectAssignment) -> SubjectAssignment:
        for kind in PERSON_KINDS:
            for level, name in enumerate(p.folders):
                for token in split_name(name):
                    is_year = _YEAR.fullmatch(name) and not all(map(has_only_trial_kind, p.folders[level + 1 :]))
                    if (
                        token.kind == kind
                        and not is_year
                        and may_name_person(token, level)
                        and is_person_folder(p.folders[: level + 1], token)
                    ):
                        named = replace(p, label=token.text, level=level, span=(token.start, token.end))
                        return replace(named, source="the folder's name")
        return p

    return [p if p.label else assign_by_folder(p) for p in assignments]


def may_name_person(token: Token, level: int) -> bool:
    """Return whether a token may name a person; False for T1 or V2 below another folder, which is a session."""
    if level > 0 and token.kind == "code" and token.word in load_vocabulary()["session_numbered"]:
        return False
    return token.start == 0 or token.kind == "subject"


def _is_session_number(folders: tuple[str, ...], token: Token, parents: set[tuple[str, ...]]) -> bool:
    """Return whether a short number in a folder name numbers sessions (Anna/1, Bob/1).

    It does if the number occurs below several folders that are not groups.
    """
    if len(folders) < 2 or len(token.text) >= LONG_NUMBER or len(parents) < 2:
        return False
    return not any(t.kind == "group" for parent in parents for t in split_name(parent[-1] if parent else ""))


def name_by_plain_folders(assignments: list[SubjectAssignment]) -> list[SubjectAssignment]:
    """Assign persons by folders with unknown words (rule 9)."""
    parents: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    with_static: set[tuple[str, ...]] = set()
    for p in assignments:
        for level, name in enumerate(p.folders):
            parents[plain_text(name).casefold()].add(p.folders[:level])
            if looks_static(p.file):
                with_static.add(p.folders[: level + 1])

    def assign_by_plain_folder(p: SubjectAssignment) -> SubjectAssignment:
        levels = [
            level
            for level, name in enumerate(p.folders)
            if not has_only_trial_kind(name) and len(parents[plain_text(name).casefold()]) == 1
        ]
        levels = [level for level in levels if p.folders[: level + 1] in with_static] or levels
        if not levels:
            return p
        name = plain_text(p.folders[levels[-1]])
        return replace(p, label=name, level=levels[-1], span=(0, len(name)), source="the folder's name")

    return [p if p.label else assign_by_plain_folder(p) for p in assignments]


def add_person_folders(assignments: list[SubjectAssignment]) -> list[SubjectAssignment]:
    """Return the assignments with a folder for persons that were not named by a folder.

    It is the outermost folder that contains all files of the person and no others, if one exists.
    """
    of_person: dict[str, list[SubjectAssignment]] = defaultdict(list)
    people: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for p in assignments:
        of_person[p.label].append(p)
        for level in range(len(p.folders)):
            people[p.folders[: level + 1]].add(p.label)
    folder_levels: dict[str, int] = {}
    for label, files in of_person.items():
        if any(p.level is not None or p.stem_spans or p.keys for p in files):
            continue
        for level in range(min(len(p.folders) for p in files)):
            folders = {p.folders[: level + 1] for p in files}
            if len(folders) != 1:
                break
            if len(people[folders.pop()]) == 1 and not has_only_trial_kind(files[0].folders[level]):
                folder_levels[label] = level
                break
    return [
        replace(p, level=folder_levels[p.label], span=(0, len(plain_text(p.folders[folder_levels[p.label]]))))
        if p.label in folder_levels
        else p
        for p in assignments
    ]


def _person_token_of_stem(p: SubjectAssignment) -> Token | None:
    words = split_name(p.stem)
    for token in words:
        if token.kind == "subject":
            return token
    first = words[0] if len(words) > 1 else None
    return first if first is not None and first.kind in ("code", "number") else None


def name_by_stems(assignments: list[SubjectAssignment], stored: dict[Path, str]) -> list[SubjectAssignment]:
    """Assign persons by the start of file names (rule 4)."""
    groups: dict[tuple[str, ...], list[SubjectAssignment]] = defaultdict(list)
    for p in assignments:
        if not p.label:
            groups[surrounding_folders(p)].append(p)
    accepted: dict[tuple[str, ...], frozenset[Kind]] = {
        around: frozenset(kind for kind in PERSON_KINDS if _tokens_name_people(group, kind, stored))
        for around, group in groups.items()
    }

    def assign_by_stem(p: SubjectAssignment) -> SubjectAssignment:
        token = None if p.label else _person_token_of_stem(p)
        if token is None or token.kind not in accepted[surrounding_folders(p)]:
            return p
        named = replace(p, label=token.text, stem_spans=((token.start, token.end),))
        return replace(named, source="the file's name")

    return [assign_by_stem(p) for p in assignments]


def _tokens_name_people(group: Sequence[SubjectAssignment], kind: Kind, stored: dict[Path, str]) -> bool:
    """Return whether tokens of this kind in the file names of a folder name people, not conditions or trials."""
    by_value: dict[str, list[SubjectAssignment]] = defaultdict(list)
    without = []
    for p in group:
        token = _person_token_of_stem(p)
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
        return False  # one static trial for all of them
    with_static = any(looks_static(p.file) for members in by_value.values() for p in members)
    digits = min(sum(c.isdigit() for c in value) for value in by_value)
    differ = len(by_value) > 1 and len(set(people.values())) == len(by_value)
    return with_static or differ or digits >= (LONG_NUMBER if kind == "number" else 2)


def name_by_static_trials(assignments: list[SubjectAssignment]) -> list[SubjectAssignment]:
    """Assign persons by the words with which the name of a static trial also starts (rule 7)."""
    groups: dict[tuple[str, ...], list[SubjectAssignment]] = defaultdict(list)
    for p in assignments:
        if not p.label:
            groups[surrounding_folders(p)].append(p)
    leads = {
        around: {
            letters_and_digits_only(lead[0]) for p in group if looks_static(p.file) and (lead := _leading_words(p))
        }
        for around, group in groups.items()
    }

    def assign_by_static_trial(p: SubjectAssignment) -> SubjectAssignment:
        known = leads.get(surrounding_folders(p), set())
        leading = [lead for lead in _leading_words(p) if letters_and_digits_only(lead) in known]
        if p.label or len(known) < 2 or not leading:
            return p
        return replace(
            p,
            label=leading[0],
            stem_spans=((0, len(leading[0])),),
            source="the start of the file's name, as in its static trial",
        )

    return [assign_by_static_trial(p) for p in assignments]


def _leading_words(p: SubjectAssignment) -> list[str]:
    """Return the unknown words at the start of the file name, as texts from most to fewest words: Anna_pass, Anna."""
    ends: list[int] = []
    for token in split_name(p.stem):
        if token.kind != "plain":
            break
        ends.insert(0, token.end)
    return [p.stem[:end] for end in ends]


def _without_leading_zeros(text: str) -> str:
    """Return a code without leading zeros of its number, so that SUBJ01 equals SUBJ1."""
    return re.sub("(?<![0-9])0+(?=[0-9])", "", text.casefold())


def find_repeated_spans(p: SubjectAssignment, name: str) -> tuple[tuple[int, int], ...]:
    """Return the character ranges of the file name that repeat the label or stored name of the person."""
    spans = list(p.stem_spans)
    folder = "" if p.level is None else plain_text(p.folders[p.level])[slice(*p.span)]
    for text in filter(None, {p.label, name, folder}):
        end = end_of_leading_name(p.stem, text)
        spans += [(0, end)] if end else []
        spans += [
            (t.start, t.end)
            for t in split_name(p.stem)
            if _without_leading_zeros(t.text) == _without_leading_zeros(text)
        ]
    return tuple(spans)


_KEY = re.compile(r"(?:^|_)([a-zA-Z]+)-([^_\W]+)")


def _match_folder(p: SubjectAssignment, name: str) -> SubjectAssignment:
    """Assign a given name; a folder with this name, else one named as a person, becomes the folder of the person."""
    levels = [i for i, text in enumerate(p.folders) if letters_and_digits_only(text) == letters_and_digits_only(name)]
    levels += [
        i
        for i, text in enumerate(p.folders)
        if any(t.kind in PERSON_KINDS and may_name_person(t, i) for t in split_name(text))
    ]
    level = levels[0] if levels else None
    end = 0 if level is None else len(plain_text(p.folders[level]))
    return replace(p, label=name, source=BY_USER, level=level, span=(0, end))


def _bids_keys(path: Path) -> dict[str, str]:
    """Return the keys and values in names such as sub-01_ses-02_task-walk_run-03 of file and folders; empty without `sub`."""
    keys: dict[str, str] = {}
    for part in (*path.parts[:-1], path.stem):
        keys |= {key.lower(): value for key, value in _KEY.findall(plain_text(part))}
    return keys if load_vocabulary()["bids"]["subject"] in keys else {}


def _name_by_bids(assignment: SubjectAssignment) -> SubjectAssignment:
    if not assignment.keys:
        return assignment
    key = load_vocabulary()["bids"]["subject"]
    return replace(assignment, label=f"{key}-{assignment.keys[key]}", source=f"'{key}-' in its name")


def _name_like_neighbours(assignments: list[SubjectAssignment]) -> list[SubjectAssignment]:
    people: dict[tuple[str, ...], dict[str, SubjectAssignment]] = defaultdict(dict)
    for p in assignments:
        if p.label:
            for level in range(len(p.folders) + 1):
                people[p.folders[:level]].setdefault(p.label, p)

    def assign_like_neighbours(p: SubjectAssignment) -> SubjectAssignment:
        folders = p.folders
        while not people[folders] and folders and has_only_trial_kind(folders[-1]):
            folders = folders[:-1]
        if len(people[folders]) != 1:
            return p
        ((label, mate),) = people[folders].items()
        if have_different_bodies([mate], [p]):
            return p
        return replace(p, label=label, source="the only person of its folder")

    return [p if p.label else assign_like_neighbours(p) for p in assignments]


def _site_folders(p: SubjectAssignment) -> tuple[str, ...]:
    """Return the folders above the person's that state more than a kind of trial."""
    above = p.folders if p.level is None else p.folders[: p.level]
    return tuple(plain_text(name) for name in above if not has_only_trial_kind(name))


def assign_subjects(files: Sequence[FoundFile], root_name: str, given: Mapping[Path, str]) -> list[SubjectAssignment]:
    """Assign a person to every file, in the given order.

    root_name: name of the study folder. given: persons of files by study.toml.
    """
    stored = stored_subject_names(files)
    known = {letters_and_digits_only(name): name for name in stored.values()}
    assignments = [SubjectAssignment(file, keys=_bids_keys(file.path)) for file in files]
    assignments = [
        _match_folder(p, given[p.file.path]) if p.file.path in given else _name_by_bids(p) for p in assignments
    ]
    assignments = [p if p.label else match_known_names(p, [stored.get(p.file.path, "")]) for p in assignments]
    assignments = name_by_folders(assignments, stored)
    assignments = name_by_stems(assignments, stored)
    assignments = [match_stored_name(p, stored) for p in assignments]
    known |= {letters_and_digits_only(p.label): p.label for p in assignments if p.label}
    assignments = [p if p.label else match_known_names(p, known.values()) for p in assignments]
    assignments = name_by_static_trials(assignments)
    assignments = _name_like_neighbours(assignments)
    assignments = name_by_plain_folders(assignments)
    assignments = [p if p.label else replace(p, label=root_name, source="the study's folder") for p in assignments]
    assignments = add_person_folders(assignments)
    return [
        replace(p, site=_site_folders(p), stem_spans=find_repeated_spans(p, stored.get(p.file.path, "")))
        for p in assignments
    ]


@dataclass(frozen=True)
class Subject:
    """One person: label, the folders above its files (several if conditions are above the person), and its files."""

    label: str
    sites: tuple[tuple[str, ...], ...]
    members: tuple[SubjectAssignment, ...]


def join_subjects(assignments: Sequence[SubjectAssignment]) -> list[Subject]:
    """Join the files of each person; equal labels at two sites are two people if any evidence indicates so."""
    by_label: dict[str, list[SubjectAssignment]] = defaultdict(list)
    for p in assignments:
        by_label[letters_and_digits_only(p.label) or p.label].append(p)
    people = []
    for members in by_label.values():
        clusters: list[list[SubjectAssignment]] = []
        by_place: dict[tuple[tuple[str, ...], str], list[SubjectAssignment]] = defaultdict(list)
        for p in members:
            by_place[p.site, _ambiguous_folder_name(p, members)].append(p)
        for place in sorted(by_place):
            group = by_place[place]
            mates = [c for c in clusters if not _are_different_people(c, group)]
            if mates:
                mates[0].extend(group)
            else:
                clusters.append(list(group))
        for cluster in clusters:
            sites = tuple(sorted({p.site for p in cluster}))
            people.append(Subject(_most_common_label(p.label for p in cluster), sites, tuple(cluster)))
    return people


def _most_common_label(labels: Iterable[str]) -> str:
    return min(Counter(labels).items(), key=lambda item: (-item[1], item[0]))[0]


def _ambiguous_folder_name(p: SubjectAssignment, members: Sequence[SubjectAssignment]) -> str:
    """Return the name of the folder of a person if its parent has another folder that differs only in case; else ""."""
    if p.level is None:
        return ""
    mine = p.folders[: p.level + 1]
    rivals = {q.folders[: q.level + 1] for q in members if q.level is not None and q.folders[: q.level] == mine[:-1]}
    return mine[-1] if len(rivals) > 1 and len({name[-1].casefold() for name in rivals}) < len(rivals) else ""


def _stored_names(group: Sequence[SubjectAssignment]) -> set[str]:
    """Return the subject names stored in the files of a group."""
    facts = [p.file.facts for p in group if p.file.facts is not None]
    return {letters_and_digits_only(without_role_words(f.subject)) for f in facts} - {""}


def _are_different_people(mine: Sequence[SubjectAssignment], theirs: Sequence[SubjectAssignment]) -> bool:
    a, b = mine[0], theirs[0]
    if BY_USER in (a.source, b.source):
        return False
    if a.site == b.site:
        return _ambiguous_folder_name(a, [*mine, *theirs]) != _ambiguous_folder_name(b, [*mine, *theirs])
    kinds = {t.kind for name in set(a.site) ^ set(b.site) for t in split_name(name)}
    if kinds & {"group", "site"}:
        return True
    names = [_stored_names(group) for group in (mine, theirs)]
    unknown = bool(kinds - set(PASSING))
    if unknown and have_different_bodies(mine, theirs):
        return True
    same_body = bodies_agree(mine, theirs) if unknown else None
    if same_body is not None:
        return not same_body
    # Folders with unknown names and a static trial each are more likely two laboratories than two conditions of one person.
    own_statics = all(standing_files(group) for group in (mine, theirs))
    if unknown and own_statics and not names[0] & names[1]:
        return True
    return have_different_bodies(mine, theirs)
