"""What a study.toml says of files, applied to what was found; an entry that matches nothing is an error."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from biodyn.errors import SettingsError
from biodyn.settings import joined
from biodyn.study.discovery.definition import StudyDefinition, SubjectEntry, TrialEntry
from biodyn.study.discovery.finding import Finding
from biodyn.study.discovery.labels import Labels
from biodyn.study.discovery.naming import safe_name
from biodyn.study.discovery.patterns import (
    LAYOUT_FIELDS,
    layout_matcher,
    name_matches,
    nearest,
    path_matches,
    path_text,
)
from biodyn.study.plan import FileUse

T = TypeVar("T")


@dataclass(frozen=True)
class FileWords:
    """What a study.toml says of one file: the fields of the layout, the entries of [trials] that match, in order."""

    layout: Mapping[str, str]
    entries: tuple[TrialEntry, ...]

    def last(self, get: Callable[[TrialEntry], T | None]) -> T | None:
        """The value of the last entry that gives one."""
        return next((value for entry in reversed(self.entries) if (value := get(entry)) is not None), None)

    @property
    def subject(self) -> str | None:
        """Whose the file is."""
        return self.last(lambda entry: entry.subject) or self.layout.get("subject")


def is_named(path: Path, definition: StudyDefinition) -> bool:
    """Whether the definition says by a pattern with the file's own ending that it is of the study: *.csv, P01/walk.csv."""
    patterns = (*definition.include, *definition.trials)
    return any(p.lower().endswith(path.suffix.lower()) and path_matches(p, path) for p in patterns)


def words_about(paths: Sequence[Path], definition: StudyDefinition) -> dict[Path, FileWords]:
    """Return what the definition says of each file. Raises SettingsError for an entry that matches no file."""
    texts = [path_text(path) for path in paths]
    for pattern in definition.trials:
        if not any(path_matches(pattern, path) for path in paths):
            raise SettingsError(f"Entry 'trials.{pattern}' matches no recording of the study.", nearest(pattern, texts))
    words = {}
    for path in paths:
        entries = tuple(entry for pattern, entry in definition.trials.items() if path_matches(pattern, path))
        match = layout_matcher(definition.layout).fullmatch(path_text(path)) if definition.layout else None
        words[path] = FileWords({} if match is None else match.groupdict(), entries)
    if definition.layout and paths and not any(word.layout for word in words.values()):
        raise SettingsError(
            f"Layout '{definition.layout}' fits none of the {len(paths)} recordings, e.g. '{texts[0]}'.",
            f"Fields are {', '.join(f'{{{name}}}' for name in LAYOUT_FIELDS)}; '/' stands between folders.",
        )
    return words


def left_out(paths: Sequence[Path], definition: StudyDefinition) -> dict[Path, str]:
    """Return the files that the definition leaves out, and why. Raises SettingsError for a pattern without a file."""
    texts = [path_text(path) for path in paths]
    for where, patterns in (("include", definition.include), ("exclude", definition.exclude)):
        for pattern in patterns:
            if not any(path_matches(pattern, path) for path in paths):
                raise SettingsError(f"Pattern '{pattern}' of {where} matches no recording.", nearest(pattern, texts))
    reasons: dict[Path, str] = {}
    for path in paths:
        if definition.include and not any(path_matches(pattern, path) for pattern in definition.include):
            reasons[path] = "Not named by 'include' of study.toml."
        for pattern in definition.exclude:
            if path_matches(pattern, path):
                reasons[path] = f"Left out by '{pattern}' under 'exclude' of study.toml."
    return reasons


def apply_definition(
    findings: Sequence[Finding], words: Mapping[Path, FileWords], definition: StudyDefinition
) -> list[Finding]:
    """Return the findings with roles, labels and facts as the definition has them.

    Raises SettingsError for a subject, session, condition or group pattern that fits nothing.
    """
    subjects = {finding.subject for finding in findings}
    entries = _entries_by_subject(subjects, definition)
    groups = _groups_by_subject(subjects, definition)
    found = [_with_layout(finding, words[finding.path].layout) for finding in findings]
    _require_used(found, entries, definition)
    return [_with_entries(f, words[f.path], entries.get(f.subject, SubjectEntry()), groups, definition) for f in found]


def _entries_by_subject(subjects: Iterable[str], definition: StudyDefinition) -> dict[str, SubjectEntry]:
    found: dict[str, SubjectEntry] = {}
    for name, entry in definition.subjects.items():
        subject = next((s for s in subjects if s.casefold() == safe_name(name).casefold()), None)
        if subject is None:
            raise SettingsError(f"Entry 'subjects.{name}' is of no subject of the study.", nearest(name, subjects))
        if subject in found:
            raise SettingsError(f"Entry 'subjects.{name}' is there twice.", "Join both.")
        found[subject] = entry
    return found


def _groups_by_subject(subjects: Iterable[str], definition: StudyDefinition) -> dict[str, str]:
    found: dict[str, str] = {}
    for group, patterns in definition.groups.items():
        for pattern in patterns:
            matching = [s for s in subjects if name_matches(pattern, s) or s == safe_name(pattern)]
            if not matching:
                raise SettingsError(
                    f"'{pattern}' in entry 'groups.{group}' is no subject of the study.", nearest(pattern, subjects)
                )
            for subject in matching:
                if found.setdefault(subject, group) != group:
                    raise SettingsError(
                        f"Subject '{subject}' is in two groups, '{found[subject]}' and '{group}'.",
                        "Correct [groups]; a pattern may reach too far.",
                    )
    return found


def _with_layout(finding: Finding, fields: Mapping[str, str]) -> Finding:
    labels = finding.labels
    session = fields.get("session", labels.session)
    condition = fields.get("condition", labels.condition) if finding.role != "static" else labels.condition
    return replace(finding, labels=Labels(session, condition, fields.get("group", labels.group)))


def _require_used(
    findings: Sequence[Finding], entries: Mapping[str, SubjectEntry], definition: StudyDefinition
) -> None:
    """Raise SettingsError for a pattern of sessions or conditions that fits none of the trials it is for."""
    tables: list[tuple[str, Mapping[str, str], str, Sequence[Finding]]] = [
        ("conditions", definition.conditions, "condition", findings)
    ]
    for subject, entry in entries.items():
        own = [finding for finding in findings if finding.subject == subject]
        tables.append((f"subjects.{subject}.sessions", entry.sessions, "session", own))
        tables.append((f"subjects.{subject}.conditions", entry.conditions, "condition", own))
    for where, table, label, those in tables:
        known = {getattr(finding.labels, label) for finding in those}
        for pattern in table:
            if not any(name_matches(pattern, name) for name in known):
                raise SettingsError(f"Entry '{where}.{pattern}' fits no {label} of it.", nearest(pattern, known))


def _with_entries(
    finding: Finding,
    words: FileWords,
    subject: SubjectEntry,
    groups: Mapping[str, str],
    definition: StudyDefinition,
) -> Finding:
    labels = finding.labels
    session = words.last(lambda entry: entry.session)
    condition = words.last(lambda entry: entry.condition)
    if session is None:
        session = _renamed(labels.session, subject.sessions)
    if condition is None:
        condition = _renamed(labels.condition, {**subject.conditions, **_without(definition.conditions, subject)})
    group = subject.group if subject.group is not None else groups.get(finding.subject, labels.group)
    settings = joined(definition.settings, subject.settings, *(entry.settings for entry in words.entries))
    role: FileUse | None = words.last(lambda entry: entry.role)
    if role is not None and finding.role not in ("unreadable", role):
        finding = replace(finding, role=role, reason=f"Called '{role}' in study.toml.")
    return replace(
        finding,
        labels=Labels(session, condition, group),
        static=words.last(lambda entry: entry.static) or subject.static,
        mass_kg=words.last(lambda entry: entry.mass_kg) or subject.mass_kg,
        height_m=words.last(lambda entry: entry.height_m) or subject.height_m,
        settings=settings,
    )


def _without(table: Mapping[str, str], subject: SubjectEntry) -> dict[str, str]:
    return {pattern: name for pattern, name in table.items() if pattern not in subject.conditions}


def _renamed(name: str, table: Mapping[str, str]) -> str:
    """The name of the first pattern that fits; an exact one comes before all patterns."""
    exact = (new for pattern, new in table.items() if pattern.casefold() == name.casefold())
    return next(exact, next((new for pattern, new in table.items() if name_matches(pattern, name)), name))
