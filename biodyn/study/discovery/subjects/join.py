"""The files of one person together: the same label in several places may be one person or two."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from biodyn.session.same_person import without_role_words
from biodyn.session.words import tokens
from biodyn.study.discovery.subjects.assignment import BY_USER, PASSING, SubjectAssignment
from biodyn.study.discovery.subjects.evidence import bodies_agree, speak_against_one, standing_in
from biodyn.study.discovery.subjects.stored_names import letters_only


@dataclass(frozen=True)
class Subject:
    """One person: label, the folders around (several where conditions stand above the person), their files."""

    label: str
    sites: tuple[tuple[str, ...], ...]
    members: tuple[SubjectAssignment, ...]


def join_subjects(assignments: Sequence[SubjectAssignment]) -> list[Subject]:
    """Join the files of one person; the same label at two sites is two people where anything speaks against one."""
    by_label: dict[str, list[SubjectAssignment]] = defaultdict(list)
    for p in assignments:
        by_label[letters_only(p.label) or p.label].append(p)
    people = []
    for members in by_label.values():
        clusters: list[list[SubjectAssignment]] = []
        by_place: dict[tuple[tuple[str, ...], str], list[SubjectAssignment]] = defaultdict(list)
        for p in members:
            by_place[p.site, _own_folder(p, members)].append(p)
        for place in sorted(by_place):
            group = by_place[place]
            mates = [c for c in clusters if not _are_different(c, group)]
            if mates:
                mates[0].extend(group)
            else:
                clusters.append(list(group))
        for cluster in clusters:
            sites = tuple(sorted({p.site for p in cluster}))
            people.append(Subject(_commonest(p.label for p in cluster), sites, tuple(cluster)))
    return people


def _commonest(labels: Iterable[str]) -> str:
    return min(Counter(labels).items(), key=lambda item: (-item[1], item[0]))[0]


def _own_folder(p: SubjectAssignment, members: Sequence[SubjectAssignment]) -> str:
    """The person's folder where the same folder holds another whose name differs in case only; else ''."""
    if p.level is None:
        return ""
    mine = p.folders[: p.level + 1]
    rivals = {q.folders[: q.level + 1] for q in members if q.level is not None and q.folders[: q.level] == mine[:-1]}
    return mine[-1] if len(rivals) > 1 and len({name[-1].casefold() for name in rivals}) < len(rivals) else ""


def _stored(group: Sequence[SubjectAssignment]) -> set[str]:
    """Subject names stored in the files."""
    facts = [p.file.facts for p in group if p.file.facts is not None]
    return {letters_only(without_role_words(f.subject)) for f in facts} - {""}


def _are_different(mine: Sequence[SubjectAssignment], theirs: Sequence[SubjectAssignment]) -> bool:
    a, b = mine[0], theirs[0]
    if BY_USER in (a.source, b.source):
        return False
    if a.site == b.site:
        return _own_folder(a, [*mine, *theirs]) != _own_folder(b, [*mine, *theirs])
    kinds = {t.kind for name in set(a.site) ^ set(b.site) for t in tokens(name)}
    if kinds & {"group", "site"}:
        return True
    names = [_stored(group) for group in (mine, theirs)]
    unknown = bool(kinds - set(PASSING))
    if unknown and speak_against_one(mine, theirs):
        return True
    same_body = bodies_agree(mine, theirs) if unknown else None
    if same_body is not None:
        return not same_body
    # Folders that nobody knows, each with its own static: rather two laboratories than two conditions of one person.
    own_statics = all(standing_in(group) for group in (mine, theirs))
    if unknown and own_statics and not names[0] & names[1]:
        return True
    return speak_against_one(mine, theirs)
