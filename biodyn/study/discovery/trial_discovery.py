"""Plan a study from a folder: roles of files by names and headers, overrides of study.toml, and trials."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from biodyn.errors import SettingsError, printable_text
from biodyn.io.opensim.storage import TABLE_SUFFIXES
from biodyn.io.tables.spreadsheet import SPREADSHEET_SUFFIXES
from biodyn.library.toml_files import suggest_name
from biodyn.recording import FileFacts
from biodyn.session import (
    MotionFacts,
    StaticCandidate,
    TrialNames,
    determine_role,
    is_contraction,
    read_motion_facts,
    score_static_candidate,
    static_trial_matches_walk,
)
from biodyn.session.file_labels import FileLabels, label_files, laboratory_names
from biodyn.session.inventory import FoundFile, take_inventory
from biodyn.session.name_tokens import plain_text
from biodyn.session.subjects import Subject, SubjectAssignment, assign_subjects, join_subjects
from biodyn.settings import merge_tables
from biodyn.study.discovery.definition import (
    LAYOUT_FIELDS,
    StudyDefinition,
    SubjectEntry,
    TrialEntry,
    layout_matcher,
    name_matches,
    natural_sort_key,
    path_matches,
    path_text,
    safe_name,
    unique_names,
)
from biodyn.study.plan import FileUse, PlannedTrial, StudyFile, StudyPlan
from biodyn.trial.trial_files import NO_STATIC


@dataclass(frozen=True)
class ClassifiedFile:
    """Recording with its role in the study, its subject and labels, and the values of study.toml (None if not stated).

    Attributes:
        path: path relative to the study root. facts: facts of the header, None if it cannot be read. subject: unique name.
        site: folders above the person's. laboratory: the folder among these that names a laboratory, "" if all recordings are of
        one laboratory.
        static: static trial as written in study.toml. settings: changes of the trial settings. rejected: reviewer and reason.
    """

    path: Path
    facts: FileFacts | None
    role: FileUse
    reason: str
    subject: str
    labels: FileLabels
    site: tuple[str, ...] = ()
    laboratory: str = ""
    static: str | None = None
    mass_kg: float | None = None
    height_m: float | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    rejected: str = ""


T = TypeVar("T")


@dataclass(frozen=True)
class FileDefinition:
    """Entries of study.toml about one file: fields of the layout in its path, and matching entries of [trials] in order."""

    layout: Mapping[str, str]
    entries: tuple[TrialEntry, ...]

    def last_value(self, get: Callable[[TrialEntry], T | None]) -> T | None:
        """Return the last value that the matching entries state; None if none states one.

        get: returns the value of an entry, None if the entry does not state it.
        """
        return next((value for entry in reversed(self.entries) if (value := get(entry)) is not None), None)

    @property
    def subject(self) -> str | None:
        """Return the name of the subject, None if not specified."""
        return self.last_value(lambda entry: entry.subject) or self.layout.get("subject")


def has_matching_pattern(path: Path, definition: StudyDefinition) -> bool:
    """Return whether study.toml names a file by a pattern that ends in its suffix, such as *.csv or P01/walk.csv."""
    patterns = (*definition.include, *definition.trials)
    return any(p.lower().endswith(path.suffix.lower()) and path_matches(p, path) for p in patterns)


def file_definitions(paths: Sequence[Path], definition: StudyDefinition) -> dict[Path, FileDefinition]:
    """Return the entries of study.toml about each file; SettingsError for an entry that matches no file."""
    texts = [path_text(path) for path in paths]
    for pattern in definition.trials:
        if not any(path_matches(pattern, path) for path in paths):
            raise SettingsError(
                f"Entry 'trials.{pattern}' matches no recording of the study.", suggest_name(pattern, texts)
            )
    words = {}
    for path in paths:
        entries = tuple(entry for pattern, entry in definition.trials.items() if path_matches(pattern, path))
        match = layout_matcher(definition.layout).fullmatch(path_text(path)) if definition.layout else None
        words[path] = FileDefinition({} if match is None else match.groupdict(), entries)
    if definition.layout and paths and not any(word.layout for word in words.values()):
        raise SettingsError(
            f"Layout '{definition.layout}' matches none of the {len(paths)} recordings, e.g. '{texts[0]}'.",
            f"The fields are {', '.join(f'{{{name}}}' for name in LAYOUT_FIELDS)}; '/' separates folders.",
        )
    return words


def excluded_files(paths: Sequence[Path], definition: StudyDefinition) -> dict[Path, str]:
    """Return the files that the definition excludes, with the reason; SettingsError for a pattern that matches no file."""
    texts = [path_text(path) for path in paths]
    for where, patterns in (("include", definition.include), ("exclude", definition.exclude)):
        for pattern in patterns:
            if not any(path_matches(pattern, path) for path in paths):
                raise SettingsError(
                    f"Pattern '{pattern}' of {where} matches no recording.", suggest_name(pattern, texts)
                )
    reasons: dict[Path, str] = {}
    for path in paths:
        if definition.include and not any(path_matches(pattern, path) for pattern in definition.include):
            reasons[path] = "Not matched by 'include' of study.toml."
        for pattern in definition.exclude:
            if path_matches(pattern, path):
                reasons[path] = f"Excluded by '{pattern}' under 'exclude' of study.toml."
    return reasons


def apply_definition(
    findings: Sequence[ClassifiedFile], words: Mapping[Path, FileDefinition], definition: StudyDefinition
) -> list[ClassifiedFile]:
    """Return the files with the roles, labels and values that study.toml states.

    Raises SettingsError for a subject, session, condition or group pattern that matches nothing.
    """
    subjects = {finding.subject for finding in findings}
    entries = _entries_by_subject(subjects, definition)
    groups = _groups_by_subject(subjects, definition)
    arranged = [_apply_layout(finding, words[finding.path].layout) for finding in findings]
    _require_matching_patterns(arranged, entries, definition)
    return [
        _apply_entries(f, words[f.path], entries.get(f.subject, SubjectEntry()), groups, definition) for f in arranged
    ]


def _entries_by_subject(subjects: Iterable[str], definition: StudyDefinition) -> dict[str, SubjectEntry]:
    by_subject: dict[str, SubjectEntry] = {}
    for name, entry in definition.subjects.items():
        subject = next((s for s in subjects if s.casefold() == safe_name(name).casefold()), None)
        if subject is None:
            raise SettingsError(
                f"Entry 'subjects.{name}' matches no subject of the study.", suggest_name(name, subjects)
            )
        if subject in by_subject:
            raise SettingsError(f"Entry 'subjects.{name}' exists twice.", "Join both.")
        by_subject[subject] = entry
    return by_subject


def _groups_by_subject(subjects: Iterable[str], definition: StudyDefinition) -> dict[str, str]:
    by_subject: dict[str, str] = {}
    for group, patterns in definition.groups.items():
        for pattern in patterns:
            matching = [s for s in subjects if name_matches(pattern, s) or s == safe_name(pattern)]
            if not matching:
                raise SettingsError(
                    f"'{pattern}' in entry 'groups.{group}' matches no subject of the study.",
                    suggest_name(pattern, subjects),
                )
            for subject in matching:
                if by_subject.setdefault(subject, group) != group:
                    raise SettingsError(
                        f"Subject '{subject}' is in two groups, '{by_subject[subject]}' and '{group}'.",
                        "Correct [groups]; a pattern may match too many subjects.",
                    )
    return by_subject


def _apply_layout(finding: ClassifiedFile, fields: Mapping[str, str]) -> ClassifiedFile:
    labels = finding.labels
    session = fields.get("session", labels.session)
    condition = fields.get("condition", labels.condition) if finding.role != "static" else labels.condition
    return replace(finding, labels=FileLabels(session, condition, fields.get("group", labels.group)))


def _require_matching_patterns(
    findings: Sequence[ClassifiedFile], entries: Mapping[str, SubjectEntry], definition: StudyDefinition
) -> None:
    """Raise SettingsError for a pattern of sessions or conditions that matches none of its trials."""
    tables: list[tuple[str, Mapping[str, str], str, Sequence[ClassifiedFile]]] = [
        ("conditions", definition.conditions, "condition", findings)
    ]
    for subject, entry in entries.items():
        recordings = [finding for finding in findings if finding.subject == subject]
        tables.append((f"subjects.{subject}.sessions", entry.sessions, "session", recordings))
        tables.append((f"subjects.{subject}.conditions", entry.conditions, "condition", recordings))
    for where, table, label, those in tables:
        known = {getattr(finding.labels, label) for finding in those}
        for pattern in table:
            if not any(name_matches(pattern, name) for name in known):
                raise SettingsError(f"Entry '{where}.{pattern}' matches no {label}.", suggest_name(pattern, known))


def _apply_entries(
    finding: ClassifiedFile,
    words: FileDefinition,
    subject: SubjectEntry,
    groups: Mapping[str, str],
    definition: StudyDefinition,
) -> ClassifiedFile:
    labels = finding.labels
    session = words.last_value(lambda entry: entry.session)
    condition = words.last_value(lambda entry: entry.condition)
    if session is None:
        session = _mapped_name(labels.session, subject.sessions)
    if condition is None:
        general = {name: new for name, new in definition.conditions.items() if name not in subject.conditions}
        condition = _mapped_name(labels.condition, {**subject.conditions, **general})
    group = subject.group if subject.group is not None else groups.get(finding.subject, labels.group)
    settings = merge_tables(definition.settings, subject.settings, *(entry.settings for entry in words.entries))
    review = words.last_value(lambda entry: entry.review)
    role: FileUse | None = words.last_value(lambda entry: entry.role)
    if role is not None and finding.role not in ("unreadable", role):
        finding = replace(finding, role=role, reason=f"Declared as '{role}' in study.toml.")
    return replace(
        finding,
        labels=FileLabels(session, condition, group),
        static=words.last_value(lambda entry: entry.static) or subject.static,
        mass_kg=words.last_value(lambda entry: entry.mass_kg) or subject.mass_kg,
        height_m=words.last_value(lambda entry: entry.height_m) or subject.height_m,
        settings=settings,
        rejected=""
        if review is None or review.decision != "rejected"
        else f"rejected by {review.name}: {review.reason}",
    )


def _mapped_name(name: str, table: Mapping[str, str]) -> str:
    """Return the new name of `name` by a table of patterns, or `name` if none matches; an exact match precedes patterns."""
    exact = (new for pattern, new in table.items() if pattern.casefold() == name.casefold())
    return next(exact, next((new for pattern, new in table.items() if name_matches(pattern, name)), name))


def decide_file_use(
    assignment: SubjectAssignment,
    walk_names: frozenset[tuple[str, ...]],
    motion: Callable[[], MotionFacts | None],
    on_model: bool = False,
) -> tuple[FileUse, str]:
    """Return whether and how the study uses a file, and the reason.

    walk_names: name patterns of walks with plates, see `name_pattern`. motion: returns the motion in the file.
    on_model: whether the study uses an OpenSim model.
    """
    file = assignment.file
    if file.twin is not None:
        return "other", f"It contains the same recording as '{file.twin}'."
    if file.path.name.startswith("."):
        return "other", "It is a hidden file, as macOS creates next to copies."
    if file.facts is None:
        return "unreadable", file.trouble
    if file.facts.coordinates:
        if file.path.suffix.lower() in SPREADSHEET_SUFFIXES and not on_model:
            return (
                "other",
                "It contains coordinates of a model; specify the model under [settings.model] of study.toml, osim = ...",
            )
        return "walk", "It contains coordinates of a model."
    role, reason = determine_role(_name_tokens(assignment), file.facts, name_pattern(assignment) in walk_names, motion)
    return "walk" if role == "run" else role, reason  # both are analysed in the same way


def name_pattern(assignment: SubjectAssignment) -> tuple[str, ...]:
    """Return the person and the words of a file name without counters; it is equal for "P01_walk01" and "P01_walk02"."""
    return (assignment.label, *(token.text.casefold() for token in assignment.stem_tokens() if token.kind != "counter"))


def _name_tokens(assignment: SubjectAssignment) -> TrialNames:
    levels = range(len(assignment.folders))
    return TrialNames(
        assignment.stem_tokens(), tuple(assignment.folder_tokens(level) for level in levels), assignment.person_tokens()
    )


def _rank_possible_statics(
    walk: ClassifiedFile, statics: Sequence[ClassifiedFile]
) -> list[tuple[ClassifiedFile, StaticCandidate]]:
    """Return the static trials of the person that may belong to the walk, the best first; empty if undetermined.

    They have the session of the walk or no session (markers are replaced between sessions); then its condition, or no
    condition, or its folder. Among several, joint offsets and markers decide when the walk is analysed, as for a single walk
    (`trial.session_estimates`).
    """
    usable = []
    for static in statics:
        if walk.facts is not None and static.facts is not None:
            verdict = score_static_candidate(walk.facts, static.facts)
            usable += [] if verdict.rejected else [(static, verdict)]
    usable = _statics_with_label(usable, "session", walk)
    fitting = _statics_with_label(usable, "condition", walk)
    usable = fitting or [entry for entry in usable if entry[0].site == walk.site]
    return sorted(usable, key=lambda entry: (-entry[1].score, entry[0].path))


def _statics_with_label(
    usable: list[tuple[ClassifiedFile, StaticCandidate]], label: str, walk: ClassifiedFile
) -> list[tuple[ClassifiedFile, StaticCandidate]]:
    """Return the static trials with the session (or condition) of the walk, else those without one.

    label: "session" or "condition".
    """
    wanted = getattr(walk.labels, label).casefold()
    same = [entry for entry in usable if getattr(entry[0].labels, label).casefold() == wanted]
    return same or [entry for entry in usable if not getattr(entry[0].labels, label)]


# A study writes tables. Figures and reports of trials take more time than everything else, bands of trials as much as
# everything else, and no group result uses them, so they are written on request. Text tables would need five times the space.
STUDY_SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "output": {"figures": False, "report": False, "tables": "packed"},
    "uncertainty": {"compute": False},
}
_TRIAL_ROLES: tuple[FileUse, ...] = ("walk", "unreadable")
# Recordings that determine the joints of a person in addition to the walk; those with the same static trial belong together.
_SESSION_ROLES: tuple[FileUse, ...] = ("walk", "functional", "static")


def discover_trials(folder: str | Path, definition: StudyDefinition | None = None) -> StudyPlan:
    """Plan the trials of a folder; the definition has priority over names and headers.

    Only headers are read, and some frames of static trials and of walks with a single one. Raises InputFileError if `folder` is
    not a folder, SettingsError for an entry of the definition that matches nothing. A folder without a recording gives a plan
    without trials.
    """
    definition = definition or StudyDefinition()
    root = Path(folder).resolve()
    recordings, passed = take_inventory(
        root, partial(has_matching_pattern, definition=definition), on_model=definition.uses_opensim_model
    )
    paths = [file.path for file in recordings]
    out = excluded_files(paths, definition)
    words = file_definitions(paths, definition)
    for path, word in words.items():
        why = word.last_value(lambda entry: entry.exclude)
        if why is not None:
            out[path] = why
    files = [file for file in recordings if file.path not in out]
    given = {path: word.subject for path, word in words.items() if word.subject is not None}
    findings = apply_definition(_classify_files(files, root, given, definition.uses_opensim_model), words, definition)
    findings = _exclude_computed_coordinates(_resolve_named_statics(findings, root))
    listed = [StudyFile(f.path, "excluded", out[f.path], f.facts) for f in recordings if f.path in out]
    listed += [StudyFile(f.path, f.role, f.reason, f.facts) for f in findings]
    listed += [StudyFile(path, "other", why) for path, why in passed]
    return StudyPlan(
        name=printable_text(plain_text(definition.name or root.name or "study")),
        root=root,
        trials=_plan_trials(findings),
        files=tuple(sorted(listed, key=lambda file: natural_sort_key(str(file.path)))),
    )


def _classify_files(
    files: Sequence[FoundFile], root: Path, given: Mapping[Path, str], on_model: bool
) -> list[ClassifiedFile]:
    """Return the role of every file by name, header and activity."""
    motions: dict[Path, MotionFacts | None] = {}

    def read_motion(p: SubjectAssignment) -> MotionFacts | None:
        if p.file.path not in motions:
            motions[p.file.path] = read_motion_facts(root / p.file.path)
        return motions[p.file.path]

    assignments = assign_subjects(files, root.name or "study", given)
    people = join_subjects(assignments)
    labels = label_files(people)
    uses = {p: decide_file_use(p, frozenset(), partial(read_motion, p), on_model) for p in assignments}
    walks = frozenset(name_pattern(p) for p, (use, _) in uses.items() if use == "walk" and _has_plates(p))
    laboratories = laboratory_names(people)
    findings = []
    for name, person, laboratory in zip(_unique_subject_names(people), people, laboratories, strict=True):
        for p in person.members:
            role, reason = decide_file_use(p, walks, partial(read_motion, p), on_model)
            findings.append(
                ClassifiedFile(p.file.path, p.file.facts, role, reason, name, labels[p], p.site, laboratory)
            )
    return sorted(findings, key=lambda finding: finding.path)


def _has_plates(p: SubjectAssignment) -> bool:
    return p.file.facts is not None and p.file.facts.plate_count > 0


def _unique_subject_names(people: Sequence[Subject]) -> list[str]:
    """Return unique names; the site precedes the name if two people have the same name."""
    wanted = {i: (person.label, "_".join((*person.sites[0], person.label))) for i, person in enumerate(people)}
    names = unique_names(wanted)
    return [names[i] for i in range(len(people))]


def _resolve_named_statics(findings: Sequence[ClassifiedFile], root: Path) -> list[ClassifiedFile]:
    """Return the files with the static trials named in study.toml resolved to paths of the study and given the role "static"."""
    by_text = {path_text(f.path).casefold(): f.path for f in findings}
    statics: dict[str, str] = {}
    for text in {f.static for f in findings if f.static is not None}:
        if text == NO_STATIC:
            statics[text] = text
            continue
        known = by_text.get(path_text(Path(text)).casefold())
        if known is None and not (root / text).is_file():
            near = suggest_name(path_text(Path(text)), (path_text(f.path) for f in findings))
            raise SettingsError(f"Static trial '{text}' of study.toml is not in the study folder.", near)
        statics[text] = text if known is None else str(known)
    named = set(statics.values()) - {NO_STATIC}
    return [
        replace(
            f,
            role="static" if str(f.path) in named else f.role,
            reason="Declared as static trial in study.toml." if str(f.path) in named else f.reason,
            static=None if f.static is None else statics[f.static],
        )
        for f in findings
    ]


def _exclude_computed_coordinates(findings: Sequence[ClassifiedFile]) -> list[ClassifiedFile]:
    """Return the files with coordinate files excluded if their subject has walks with markers.

    Such coordinates were computed from these markers.
    """
    tables = [f for f in findings if f.role == "walk" and f.path.suffix.lower() in TABLE_SUFFIXES]
    marked = {f.subject for f in findings if f.role == "walk" and f not in tables}
    why = "It contains coordinates of a subject whose walks with markers are used instead."
    return [replace(f, role="other", reason=why) if f in tables and f.subject in marked else f for f in findings]


def _plan_trials(findings: Sequence[ClassifiedFile]) -> tuple[PlannedTrial, ...]:
    """Return the planned trials in order, each with its static trial if names and headers determine it."""
    walks = [f for f in findings if f.role in _TRIAL_ROLES]
    conditions: dict[str, set[str]] = defaultdict(set)
    for f in walks:
        conditions[f.subject].add(f.labels.condition)
    statics: dict[str, list[ClassifiedFile]] = {}
    for f in findings:
        if f.role == "static" and f.facts is not None:
            condition = _condition_of_walks(f.labels.condition, conditions[f.subject])
            statics.setdefault(f.subject, []).append(replace(f, labels=replace(f.labels, condition=condition)))
    corrected = {f.path: _marker_names(f) for f in findings if f.role == "static" and _marker_names(f)}
    names = _trial_names(walks)
    possible = {f.path: _candidate_statics(f, statics.get(f.subject, ())) for f in walks}
    sessions: dict[tuple[str, str], list[Path]] = {}
    for f in findings:
        if f.role in _SESSION_ROLES or (f.role == "other" and is_contraction(f.path)):
            sessions.setdefault((f.subject, f.labels.session), []).append(f.path)
    trials = [
        PlannedTrial(
            subject=f.subject,
            trial=names[f.path],
            path=f.path,
            session=printable_text(f.labels.session),
            condition=printable_text(f.labels.condition),
            group=printable_text(f.labels.group),
            site=printable_text(f.laboratory),
            static=possible[f.path][0] if len(possible[f.path]) == 1 else None,
            statics=possible[f.path] if len(possible[f.path]) > 1 else (),
            named_static=f.static is not None,
            companions=tuple(path for path in sessions.get((f.subject, f.labels.session), ()) if path != f.path),
            mass_kg=f.mass_kg,
            height_m=f.height_m,
            settings=merge_tables(STUDY_SETTINGS, f.settings),
            static_marker_names={
                path: names
                for path, names in corrected.items()
                if path in possible[f.path] or path in (s.path for s in statics.get(f.subject, ()))
            },
            rejected=f.rejected,
        )
        for f in walks
    ]
    return tuple(sorted(trials, key=lambda t: tuple(map(natural_sort_key, (t.subject, t.session, t.trial)))))


def _marker_names(static: ClassifiedFile) -> dict[str, str]:
    return dict(static.settings.get("model", {}).get("marker_names", {}))


def _condition_of_walks(condition: str, walks: set[str]) -> str:
    """Return the condition of walks to which a static trial belongs; "" if there is none.

    Words of its own condition that occur in no walk are ignored: "Quiet_barefoot" belongs to "barefoot".
    """
    words = {word.casefold() for walk in walks for word in walk.split("_")}
    remainder = "_".join(word for word in condition.split("_") if word.casefold() in words)
    return next((text for text in (condition, remainder) if text in walks), "")


def _candidate_statics(walk: ClassifiedFile, statics: Sequence[ClassifiedFile]) -> tuple[Path, ...]:
    """Return the possible static trials of a walk: the one that study.toml states, else those found by names and headers."""
    if walk.static is not None:
        return (Path(walk.static),)
    if walk.facts is None or walk.facts.coordinates or (walk.facts.segments and not walk.facts.labels):
        return ()  # coordinates of a model and segment poses need no static trial
    possible = _rank_possible_statics(walk, statics)
    if len(possible) == 1 and not static_trial_matches_walk(walk.facts, possible[0][1]):
        return ()
    return tuple(static.path for static, _ in possible)


def _trial_names(walks: Sequence[ClassifiedFile]) -> dict[Path, str]:
    """Return the name of the trial of every walk by path, unique for its subject.

    It is the file name, preceded by labels or folders where needed.
    """
    by_subject: dict[str, dict[Path, Sequence[str]]] = {}
    for f in walks:
        labels = [label for label in (f.labels.session, f.labels.condition) if label]
        stem = f.path.stem
        wanted = (stem, "_".join((*labels, stem)), "_".join((*f.path.parts[:-1], stem)))
        by_subject.setdefault(f.subject, {})[f.path] = wanted
    names: dict[Path, str] = {}
    for wanted_names in by_subject.values():
        names |= unique_names(wanted_names)
    return names
