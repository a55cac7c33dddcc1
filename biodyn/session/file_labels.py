"""Determine the session and condition of every file from the words of its folders and its name.

A condition consists of words, never of a trial number: 'walk01' and 'walk02' have the same condition. A code such as C1 in a
file name is a condition if a trial number follows it or several trials have it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from biodyn.session.name_tokens import Token, load_vocabulary, numbered_sessions, plain_text, split_name
from biodyn.session.subjects import Subject, SubjectAssignment, looks_static


@dataclass(frozen=True)
class FileLabels:
    """Session, condition and activity of one file; `activity` is the word for ordinary walking in its name."""

    session: str = ""
    condition: str = ""
    group: str = ""
    activity: str = ""


def label_files(people: Sequence[Subject]) -> dict[SubjectAssignment, FileLabels]:
    """Return session, condition, group and activity of every file of the people, with uniform spelling."""
    idle = _words_without_condition(people)
    labels: dict[SubjectAssignment, FileLabels] = {}
    sessions = _session_folders(people)
    for person in people:
        codes = _code_meanings(person)
        for p in person.members:
            labels[p] = _labels_of_path(p, person, sessions, codes, idle[p])
    labels = _with_activity_conditions(people, labels)
    spelling = _common_spelling(label.condition for label in labels.values())
    session_spelling = _common_spelling(label.session for label in labels.values())
    return {
        p: FileLabels(
            session_spelling[label.session.casefold()],
            spelling[label.condition.casefold()],
            label.group,
            label.activity,
        )
        for p, label in labels.items()
    }


def _labels_of_path(
    p: SubjectAssignment,
    person: Subject,
    sessions: frozenset[tuple[str, ...]],
    codes: Mapping[str, str],
    idle: frozenset[str],
) -> FileLabels:
    if p.keys:
        return _bids_labels(p)
    session: list[str] = []
    condition: list[str] = []
    group: list[str] = []
    activity = ""
    own_level = -1 if p.level is None else p.level
    for level in range(len(p.folders)):
        folder_words = p.folder_tokens(level)
        above = level < own_level or (p.level is None and p.site and plain_text(p.folders[level]) in p.site)
        text = plain_text(p.folders[level])
        is_session = p.folders[: level + 1] in sessions
        group += [t.text for t in folder_words if t.kind == "group" and above]
        session += numbered_sessions(text, folder_words)
        activity = next((t.text for t in folder_words if t.kind == "activity"), activity)
        said = [t for t in folder_words if t.kind == "condition"]
        if not above or len(person.sites) > 1:
            said += [t for t in folder_words if t.kind in ("plain", "group", "code", "subject", "number")]
        if is_session or (not above and _is_session_code(folder_words)):
            session.append(text[folder_words[0].start : folder_words[-1].end] if folder_words else text)
            continue
        said = sorted((t for t in said if not (above and t.kind == "group")), key=lambda t: t.start)
        condition += _join_tokens(text, said)
    stem = p.stem_tokens()
    session += [t.text for t in stem if t.kind == "session"]
    said = []
    for token in stem:
        text = token.text.casefold()
        if token.kind == "activity":
            activity = activity or token.text
        elif token.kind == "condition" or (token.kind in ("plain", "group") and text not in idle):
            said.append(token)
        elif codes.get(text) == "session":
            session.append(token.text)
        elif codes.get(text) == "condition" and text not in idle:
            said.append(token)
    condition += _join_tokens(p.stem, said)
    return FileLabels(
        "_".join(_without_repeats(session)),
        "_".join(_without_repeats(condition)),
        "_".join(_without_repeats(group)),
        activity,
    )


def laboratory_names(people: Sequence[Subject]) -> list[str]:
    """Return the laboratory of every person: the enclosing folder that does not name a group; "" if all have the same.

    A folder with an unknown name belongs to a laboratory if such folders contain several people, otherwise to one person.
    """
    names = [_laboratory_words(person) for person in people]
    has_several_people = max(Counter(filter(None, names)).values(), default=0) > 1
    is_site = any(token.kind == "site" for name in names for token in split_name(name))
    return names if len(set(names)) > 1 and (has_several_people or is_site) else [""] * len(people)


def _laboratory_words(person: Subject) -> str:
    if len(person.sites) > 1:
        return ""
    names = [name for name in person.sites[0] if not all(t.kind in ("group", "counter") for t in split_name(name))]
    known = [name for name in names if any(t.kind == "site" for t in split_name(name))]
    return (known or names or [""])[0]


def _bids_labels(p: SubjectAssignment) -> FileLabels:
    keys = load_vocabulary()["bids"]
    session = f"{keys['session']}-{p.keys[keys['session']]}" if keys["session"] in p.keys else ""
    values = [p.keys[key] for key in keys["condition"] if key in p.keys]
    condition = "_".join(value for value in values if not any(t.kind == "static" for t in split_name(value)))
    return FileLabels(session, condition)


def _join_tokens(text: str, said: Sequence[Token]) -> list[str]:
    """Return the texts of the tokens; adjacent tokens are joined to one word: no FF -> noFF."""
    words: list[str] = []
    end = -1
    for token in said:
        if token.start == end:
            words[-1] += text[token.start : token.end]
        else:
            words.append(text[token.start : token.end])
        end = token.end
    return words


def _without_repeats(words: Iterable[str]) -> list[str]:
    return list({word.casefold(): word for word in reversed(list(words))}.values())[::-1]


def _is_session_code(words: Sequence[Token]) -> bool:
    """Return whether the name of a folder below the person's is a number or a code such as T1 or V02."""
    if len(words) != 1:
        return False
    return words[0].kind == "number" or words[0].word in load_vocabulary()["session_numbered"]


def _session_folders(people: Sequence[Subject]) -> frozenset[tuple[str, ...]]:
    """Return the folders that are sessions although their names have no known meaning.

    They are below the folder of a person and contain a static trial and walks. A person at the site must have several of them
    in one folder, because a single one may be a condition.
    """
    session_folders_by_site: dict[tuple[str, ...], list[tuple[str, ...]]] = defaultdict(list)
    sites_with_sessions: set[tuple[str, ...]] = set()
    for person in people:
        has_static_by_folder: dict[tuple[str, ...], set[bool]] = defaultdict(set)
        for p in person.members:
            first = 0 if p.level is None else p.level + 1
            for level in range(first, len(p.folders)):
                kinds = {t.kind for t in split_name(p.folders[level])}
                if kinds and kinds <= {"plain", "counter", "code"} and plain_text(p.folders[level]) not in p.site:
                    has_static_by_folder[p.folders[: level + 1]].add(looks_static(p.file))
        with_static = [folders for folders, statics in has_static_by_folder.items() if statics == {True, False}]
        session_folders_by_site[_site_folders(person)] += with_static
        if any(len(a) == len(b) and a[:-1] == b[:-1] and a != b for a in with_static for b in with_static):
            sites_with_sessions.add(_site_folders(person))
    return frozenset(folders for site in sites_with_sessions for folders in session_folders_by_site[site])


def _site_folders(person: Subject) -> tuple[str, ...]:
    """Return the folders above a person that name neither groups nor conditions."""
    if len(person.sites) > 1:
        return ()
    return tuple(name for name in person.sites[0] if not any(t.kind == "group" for t in split_name(name)))


def _code_meanings(person: Subject) -> dict[str, str]:
    """Return the meaning of codes such as T1 or C2 in walk names of a person: "session" or "condition".

    Codes without a meaning are numbers of trials. A code has a meaning if a trial number follows it in some name, or several
    walks have it; copies are not counted.
    """
    counts: Counter[str] = Counter()
    words: dict[str, str] = {}
    counted: set[str] = set()
    for p in person.members:
        stem = p.stem_tokens()
        for i, token in enumerate(stem):
            if token.kind in ("code", "subject") and not looks_static(p.file) and p.file.twin is None:
                text = token.text.casefold()
                words[text] = token.word
                counts[text] += 1
                if any(later.kind in ("counter", "code") for later in stem[i + 1 :]):
                    counted.add(text)
    table = load_vocabulary()
    meanings: dict[str, str] = {}
    for text, word in words.items():
        if text in counted and word in table["session_numbered"]:
            meanings[text] = "session"
        elif text in counted or (counts[text] > 1 and word not in table["counter_numbered"]):
            meanings[text] = "condition"
    return meanings


def _words_without_condition(people: Sequence[Subject]) -> dict[SubjectAssignment, frozenset[str]]:
    """Return, by file, the words of its name that do not state a condition.

    Such a word occurs in every walk of a site, in all files of one person and no other, or in a single file. A code is such a
    word only if it also occurs in the name of the person's static trial.
    """
    words = {p: {t.text.casefold() for t in p.stem_tokens()} for person in people for p in person.members}
    site_words: dict[tuple[str, ...], list[set[str]]] = defaultdict(list)
    site_walk_words: dict[tuple[str, ...], list[set[str]]] = defaultdict(list)
    users: dict[str, set[int]] = defaultdict(set)
    for number, person in enumerate(people):
        for p in person.members:
            if p.file.twin is None:
                site_words[p.site].append(words[p])
            if not looks_static(p.file):
                site_walk_words[p.site].append(words[p])
            for word in words[p]:
                users[word].add(number)
    common_words = {site: set.intersection(*file_words) for site, file_words in site_walk_words.items()}
    uses = defaultdict(Counter[str], {site: Counter(w for f in files for w in f) for site, files in site_words.items()})
    idle: dict[SubjectAssignment, frozenset[str]] = {}
    for person in people:
        of_person = set.intersection(*(words[p] for p in person.members))
        only_here = {word for word in of_person if len(users[word]) == 1}
        has_static = any(looks_static(p.file) for p in person.members)
        for p in person.members:
            plain = {t.text.casefold() for t in p.stem_tokens() if t.kind not in ("code", "subject")}
            lone = {t.text.casefold() for t in p.stem_tokens() if _states_no_condition(t, uses[p.site])}
            idle[p] = frozenset(
                (only_here if has_static else only_here & plain) | (common_words.get(p.site, set()) & plain) | lone
            )
    return idle


def _states_no_condition(token: Token, uses: Counter[str]) -> bool:
    """Return whether a word cannot be a condition: it occurs in a single file, or is the letter in "walk02b"."""
    return token.kind == "plain" and (uses[token.text.casefold()] < 2 or len(token.text) == 1)


def _with_activity_conditions(
    people: Sequence[Subject], labels: dict[SubjectAssignment, FileLabels]
) -> dict[SubjectAssignment, FileLabels]:
    """Return the labels with the word for ordinary walking as the condition, if other trials of the same site have conditions."""
    walks = {i: [p for p in person.members if not looks_static(p.file)] for i, person in enumerate(people)}
    sites = {_site_folders(person) for i, person in enumerate(people) if any(labels[p].condition for p in walks[i])}
    out = dict(labels)
    for i, person in enumerate(people):
        for p in walks[i] if _site_folders(person) in sites else ():
            label = labels[p]
            if not label.condition and label.activity:
                out[p] = FileLabels(label.session, label.activity, label.group, label.activity)
    return out


def _common_spelling(texts: Iterable[str]) -> dict[str, str]:
    """Return the most common spelling of texts that differ only in case."""
    counts = Counter(texts)
    best: dict[str, str] = {}
    for text, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        best.setdefault(text.casefold(), text)
    return best
