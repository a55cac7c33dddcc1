"""From a folder to a plan: the only place that knows the order of the steps of discovery."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from biodyn.errors import SettingsError, printable
from biodyn.io.opensim.storage import TABLE_SUFFIXES
from biodyn.recording import FileFacts
from biodyn.session import MotionFacts, motion_of
from biodyn.session.words import plain_text
from biodyn.settings import joined
from biodyn.study.discovery.definition import StudyDefinition
from biodyn.study.discovery.files import FoundFile, Sought, take_inventory
from biodyn.study.discovery.finding import Finding
from biodyn.study.discovery.labels import label_files, laboratory_names
from biodyn.study.discovery.naming import natural_key, unique_names
from biodyn.study.discovery.overrides import apply_definition, is_named, left_out, words_about
from biodyn.study.discovery.patterns import nearest, path_text
from biodyn.study.discovery.roles import decide_use, name_pattern
from biodyn.study.discovery.statics import LabelledFile, possible_statics, serves
from biodyn.study.discovery.subjects.assign import assign_subjects
from biodyn.study.discovery.subjects.assignment import SubjectAssignment
from biodyn.study.discovery.subjects.join import Subject, join_subjects
from biodyn.study.plan import FileUse, PlannedTrial, StudyFile, StudyPlan
from biodyn.trial.files import NO_STATIC

# A study writes tables. Figures and a report of each trial cost more than everything else, bands of single trials as much
# as everything else, and no group result uses them: they are made on request. Text would take five times the room.
STUDY_SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "output": {"figures": False, "report": False, "tables": "packed"},
    "uncertainty": {"compute": False},
}
_TRIAL_ROLES: tuple[FileUse, ...] = ("walk", "unreadable")
# What tells of a person's joints beside the walk itself; statics tell which of these share one.
_SESSION_ROLES: tuple[FileUse, ...] = ("walk", "functional", "static")


def discover(folder: str | Path, definition: StudyDefinition | None = None) -> StudyPlan:
    """Find out what is in a folder, and plan its trials; what the definition says goes before.

    Only headers are read. Raises InputFileError where `folder` is no folder, SettingsError for an entry of the
    definition that matches nothing. A folder without a recording gives a plan without trials.
    """
    definition = definition or StudyDefinition()
    root = Path(folder).resolve()
    inventory = take_inventory(root, Sought(partial(is_named, definition=definition), on_model=definition.on_model))
    paths = [file.path for file in inventory.files]
    out = left_out(paths, definition)
    words = words_about(paths, definition)
    for path, word in words.items():
        why = word.last(lambda entry: entry.exclude)
        if why is not None:
            out[path] = why
    files = [file for file in inventory.files if file.path not in out]
    given = {path: word.subject for path, word in words.items() if word.subject is not None}
    findings = apply_definition(_findings(files, root, given, definition.on_model), words, definition)
    findings = _without_fitted(_with_named_statics(findings, root))
    listed = [StudyFile(path, "excluded", reason) for path, reason in out.items()]
    listed += [StudyFile(f.path, f.role, f.reason, f.facts.mass_kg if f.facts else None) for f in findings]
    listed += [StudyFile(p, "other", f"This folder cannot be opened: {why}.") for p, why in inventory.closed]
    listed += [StudyFile(p, "other", why) for p, why in inventory.passed]
    return StudyPlan(
        name=printable(plain_text(definition.name or root.name or "study")),
        root=root,
        trials=_trials(findings),
        files=tuple(sorted(listed, key=lambda file: natural_key(str(file.path)))),
    )


def _findings(files: Sequence[FoundFile], root: Path, given: Mapping[Path, str], on_model: bool) -> list[Finding]:
    """What every file is taken for by names, headers, and what is done in it."""
    motions: dict[Path, MotionFacts | None] = {}

    def motion(p: SubjectAssignment) -> MotionFacts | None:
        if p.file.path not in motions:
            motions[p.file.path] = motion_of(root / p.file.path)
        return motions[p.file.path]

    assignments = assign_subjects(files, root.name or "study", given)
    people = join_subjects(assignments)
    labels = label_files(people)
    uses = {p: decide_use(p, frozenset(), partial(motion, p), on_model) for p in assignments}
    walks = frozenset(name_pattern(p) for p, (use, _) in uses.items() if use == "walk" and _has_plates(p))
    laboratories = laboratory_names(people)
    findings = []
    for name, person, laboratory in zip(_names(people), people, laboratories, strict=True):
        for p in person.members:
            role, reason = decide_use(p, walks, partial(motion, p), on_model)
            findings.append(Finding(p.file.path, p.file.facts, role, reason, name, labels[p], p.site, laboratory))
    return sorted(findings, key=lambda finding: finding.path)


def _has_plates(p: SubjectAssignment) -> bool:
    return p.file.facts is not None and p.file.facts.plate_count > 0


def _names(people: Sequence[Subject]) -> list[str]:
    """Unique names; with the site's before where two people share one."""
    wanted = {i: (person.label, "_".join((*person.sites[0], person.label))) for i, person in enumerate(people)}
    names = unique_names(wanted)
    return [names[i] for i in range(len(people))]


def _with_named_statics(findings: Sequence[Finding], root: Path) -> list[Finding]:
    """The findings with statics named in study.toml checked, as paths of the study, and taken for statics."""
    by_text = {path_text(f.path).casefold(): f.path for f in findings}
    found: dict[str, str] = {}
    for text in {f.static for f in findings if f.static is not None}:
        if text == NO_STATIC:
            found[text] = text
            continue
        known = by_text.get(path_text(Path(text)).casefold())
        if known is None and not (root / text).is_file():
            near = nearest(path_text(Path(text)), (path_text(f.path) for f in findings))
            raise SettingsError(f"Static trial '{text}' of study.toml is not in the study's folder.", near)
        found[text] = text if known is None else str(known)
    named = set(found.values()) - {NO_STATIC}
    return [
        replace(
            f,
            role="static" if str(f.path) in named else f.role,
            reason="Named as static trial in study.toml." if str(f.path) in named else f.reason,
            static=None if f.static is None else found[f.static],
        )
        for f in findings
    ]


def _without_fitted(findings: Sequence[Finding]) -> list[Finding]:
    """The findings; coordinates of a subject whose walks are there with markers were fitted to them: no walks more."""
    tables = [f for f in findings if f.role == "walk" and f.path.suffix.lower() in TABLE_SUFFIXES]
    marked = {f.subject for f in findings if f.role == "walk" and f not in tables}
    why = "It holds coordinates of a subject whose walks are here with markers: those are taken."
    return [replace(f, role="other", reason=why) if f in tables and f.subject in marked else f for f in findings]


def _trials(findings: Sequence[Finding]) -> tuple[PlannedTrial, ...]:
    """The trials in their order, each with its static where that is clear."""
    walks = [f for f in findings if f.role in _TRIAL_ROLES]
    conditions: dict[str, set[str]] = defaultdict(set)
    for f in walks:
        conditions[f.subject].add(f.labels.condition)
    statics: dict[str, list[LabelledFile]] = {}
    for f in findings:
        if f.role == "static" and f.facts is not None:
            known = _labelled(f, f.facts)
            known = replace(known, condition=_of_walks(known.condition, conditions[f.subject]))
            statics.setdefault(f.subject, []).append(known)
    names = _trial_names(walks)
    possible = {f.path: _statics(f, statics.get(f.subject, ())) for f in walks}
    sessions: dict[tuple[str, str], list[Path]] = {}
    for f in findings:
        if f.role in _SESSION_ROLES:
            sessions.setdefault((f.subject, f.labels.session), []).append(f.path)
    trials = [
        PlannedTrial(
            subject=f.subject,
            trial=names[f.path],
            path=f.path,
            session=printable(f.labels.session),
            condition=printable(f.labels.condition),
            group=printable(f.labels.group),
            site=printable(f.laboratory),
            static=possible[f.path][0] if len(possible[f.path]) == 1 else None,
            statics=possible[f.path] if len(possible[f.path]) > 1 else (),
            named_static=f.static is not None,
            companions=tuple(path for path in sessions.get((f.subject, f.labels.session), ()) if path != f.path),
            mass_kg=f.mass_kg,
            height_m=f.height_m,
            settings=joined(STUDY_SETTINGS, f.settings),
        )
        for f in walks
    ]
    return tuple(sorted(trials, key=lambda t: tuple(map(natural_key, (t.subject, t.session, t.trial)))))


def _of_walks(condition: str, walks: set[str]) -> str:
    """A static's condition without words that no walk of the person has ("Quiet_barefoot"); "" where none has the rest."""
    words = {word.casefold() for walk in walks for word in walk.split("_")}
    left = "_".join(word for word in condition.split("_") if word.casefold() in words)
    return next((text for text in (condition, left) if text in walks), "")


def _statics(walk: Finding, statics: Sequence[LabelledFile]) -> tuple[Path, ...]:
    """The static trials that may belong to a walk: the one that study.toml names, else those of names and headers."""
    if walk.static is not None:
        return (Path(walk.static),)
    if walk.facts is None or walk.facts.coordinates or (walk.facts.segments and not walk.facts.labels):
        return ()  # what needs none: coordinates of a model, poses alone
    mine = _labelled(walk, walk.facts)
    possible = possible_statics(mine, statics)
    if len(possible) == 1 and not serves(mine, next(s for s in statics if s.path == possible[0])):
        return ()
    return possible


def _labelled(f: Finding, facts: FileFacts) -> LabelledFile:
    return LabelledFile(f.path, facts, f.labels.session, f.labels.condition, f.site)


def _trial_names(walks: Sequence[Finding]) -> dict[Path, str]:
    """Path -> name of the trial, unique in its subject: the file's, with labels or folders before it where needed."""
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
