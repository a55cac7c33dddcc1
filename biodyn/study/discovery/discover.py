"""From a folder to a plan: the only place that knows the order of the steps of discovery."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from biodyn.study.discovery.files import take_inventory
from biodyn.study.discovery.labels import Labels, label_files
from biodyn.study.discovery.naming import natural_key, unique_names
from biodyn.study.discovery.people import Person, Placed, gather_people, place_people
from biodyn.study.discovery.roles import decide_role, name_pattern
from biodyn.study.discovery.statics import LabelledFile, clear_static
from biodyn.study.plan import PlannedTrial, Role, StudyFile, StudyPlan

_TRIAL_ROLES: tuple[Role, ...] = ("walk", "unreadable")


@dataclass(frozen=True)
class Finding:
    """What one file is taken for."""

    path: Path
    role: Role
    reason: str
    subject: str
    labels: Labels
    placed: Placed


def discover(folder: Path, definition: None = None) -> StudyPlan:
    """Find out what is in a folder and plan its trials. Raises InputFileError where it is no folder."""
    root = Path(folder).resolve()
    findings, closed = look_around(root)
    trials = plan_trials(findings)
    files = [StudyFile(f.path, f.role, f.reason) for f in findings]
    files += [StudyFile(path, "other", f"This folder cannot be opened: {reason}.") for path, reason in closed]
    return StudyPlan(root.name, root, trials, tuple(sorted(files, key=lambda file: natural_key(str(file.path)))))


def look_around(root: Path) -> tuple[list[Finding], Sequence[tuple[Path, str]]]:
    """Return what every C3D file below `root` is taken for, and the folders that could not be opened."""
    inventory = take_inventory(root)
    placed = place_people(inventory.files, root.name)
    people = gather_people(placed)
    labels = label_files(people)
    walks = frozenset(name_pattern(p) for p in placed if _has_plates(p) and decide_role(p, frozenset())[0] == "walk")
    findings = []
    for person, name in _named(people).items():
        for p in people[person].members:
            role, reason = decide_role(p, walks)
            findings.append(Finding(p.file.path, role, reason, name, labels[p], p))
    return sorted(findings, key=lambda finding: finding.path), inventory.closed


def _has_plates(p: Placed) -> bool:
    return p.file.facts is not None and p.file.facts.plate_count > 0


def _named(people: Sequence[Person]) -> Mapping[int, str]:
    """Index of each person -> unique name; with the site's where two people share one."""
    return unique_names(
        {i: (person.label, "_".join((*person.homes[0], person.label))) for i, person in enumerate(people)}
    )


def plan_trials(findings: Sequence[Finding]) -> tuple[PlannedTrial, ...]:
    """Return the trials in their order, each with its static where that is clear."""
    statics: dict[str, list[LabelledFile]] = {}
    for finding in findings:
        if finding.role == "static":
            statics.setdefault(finding.subject, []).extend(_labelled(finding))
    names = _trial_names([f for f in findings if f.role in _TRIAL_ROLES])
    trials = []
    for finding in findings:
        if finding.role not in _TRIAL_ROLES:
            continue
        walk = _labelled(finding)
        trials.append(
            PlannedTrial(
                subject=finding.subject,
                trial=names[finding.path],
                path=finding.path,
                session=finding.labels.session,
                condition=finding.labels.condition,
                group=finding.labels.group,
                static=clear_static(walk[0], statics.get(finding.subject, ())) if walk else None,
            )
        )
    return tuple(sorted(trials, key=lambda t: tuple(map(natural_key, (t.subject, t.session, t.trial)))))


def _labelled(finding: Finding) -> list[LabelledFile]:
    facts = finding.placed.file.facts
    if facts is None:
        return []
    # The path below the root, for names above it are nobody's.
    return [LabelledFile(finding.path, facts, finding.labels.session, finding.labels.condition)]


def _trial_names(findings: Sequence[Finding]) -> dict[Path, str]:
    """Path -> name of the trial, unique in its subject: the file's, with its labels or folders before it where needed."""
    names: dict[Path, str] = {}
    for subject in sorted({f.subject for f in findings}):
        wanted = {}
        for f in (f for f in findings if f.subject == subject):
            stem = f.path.stem
            labels = [label for label in (f.labels.session, f.labels.condition) if label]
            wanted[f.path] = (stem, "_".join((*labels, stem)), "_".join((*f.path.parts[:-1], stem)))
        names |= unique_names(wanted)
    return names
