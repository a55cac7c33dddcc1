"""What the program makes of a made folder, against what its files are."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from biodyn.io import read_facts
from biodyn.session import choose_static, preview_of_file, static_candidates
from biodyn.study.discovery import discover_trials
from biodyn.study.plan import PlannedTrial
from support.folder_habits import Layout, Truth

_USES = {"static": "static", "functional": "functional", "walk": "walk", "other": "other", "copy": "other"}


@dataclass
class Judgement:
    """How many of what were right, by name and "<name> of", and sentences on what was wrong."""

    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def note(self, name: str, right: bool, text: str) -> None:
        """Count one decision."""
        self.counts[f"{name} of"] += 1
        self.counts[name] += right
        if not right:
            self.wrong.append(f"{name}: {text}")


def judged(layout: Layout, root: Path) -> Judgement:
    """Judge roles, people, sessions, conditions, sites, and the static of every walk in `run` and in `study`."""
    result = Judgement()
    plan = discover_trials(root)
    roles = {_key(file.path): file for file in plan.files}
    for path, truth in layout.truth.items():
        found = roles.get(path)
        role = "missing" if found is None else found.role
        result.note("role", role == _USES[truth.role], f"{path}: {role}, is {truth.role} ({found and found.reason})")
    trials = {_key(trial.path): trial for trial in plan.trials}
    walks = {path: truth for path, truth in layout.truth.items() if truth.role == "walk" and path in trials}
    _partitions(result, walks, trials)
    for path in walks:
        _static(result, layout, root, path, trials[path])
    return result


def _key(path: Path) -> str:
    return path.as_posix().removesuffix(".c3d")


def _partitions(result: Judgement, walks: Mapping[str, Truth], trials: Mapping[str, PlannedTrial]) -> None:
    people: Mapping[str, int] = {path: truth.person for path, truth in walks.items()}
    wrong = _torn(people, {path: trials[path].subject for path in walks})
    for path in walks:
        result.note("person", path not in wrong, f"{path}: {trials[path].subject}, is person {people[path]}")
    labels: dict[str, tuple[Callable[[Truth], str], Callable[[PlannedTrial], str]]] = {
        "session": (lambda truth: truth.session, lambda trial: trial.session),
        "condition": (lambda truth: truth.condition, lambda trial: trial.condition),
        "site": (lambda truth: truth.site, lambda trial: getattr(trial, "site", "")),
    }
    for name, (true, found) in labels.items():
        known = {path: truth for path, truth in walks.items() if true(truth) != "?"}
        mine = {path: true(truth) for path, truth in known.items()}
        wrong = _torn(mine, {path: found(trials[path]) for path in known})
        for path in known:
            result.note(name, path not in wrong, f"{path}: '{found(trials[path])}', is '{mine[path]}'")


def _torn(true: Mapping[str, Hashable], found: Mapping[str, Hashable]) -> set[str]:
    """Members that are not together with exactly those they belong with."""
    a: dict[Hashable, set[str]] = defaultdict(set)
    b: dict[Hashable, set[str]] = defaultdict(set)
    for path in true:
        a[true[path]].add(path)
        b[found[path]].add(path)
    return {path for path in true if a[true[path]] != b[found[path]]}


def _static(result: Judgement, layout: Layout, root: Path, path: str, trial: PlannedTrial) -> None:
    truth, walk = layout.truth[path], root / f"{path}.c3d"
    if layout.files[path].motion == "squat":  # type: ignore[union-attr]
        return
    copies = {path: of for path, of in layout.files.items() if isinstance(of, str)}
    facts, markers = read_facts(walk), preview_of_file(walk).markers
    run = choose_static(facts, markers, static_candidates(walk))
    among = [root / static for static in ((trial.static,) if trial.static else trial.statics)]
    study = choose_static(facts, markers, among, same_person=True)
    taken = {"static in run": (run.path, run.diagnostics), "static in study": (study.path, study.diagnostics)}
    for name, (static, notes) in taken.items():
        found = None if static is None else _key(static.resolve().relative_to(root.resolve()))
        found = copies.get(found or "", found)
        right = found in truth.statics if found is not None else not truth.statics
        result.note(name, right, f"{path}: {found}, should be {sorted(truth.statics)}")
        if not right and found is not None and not any(d.severity == "warning" for d in notes):
            result.counts["silent"] += 1
    same = taken["static in run"][0] == taken["static in study"][0]
    result.note("run and study agree", same, f"{path}: {[str(static) for static, _ in taken.values()]}")
