"""Failures and warnings of a study, grouped: which, in how many trials, what to do. Grows trial by trial."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from biodyn.checks.titles import finding_title
from biodyn.diagnostics import STATUS_WORDS
from biodyn.output.store.old_words import OLD_TRIAL_STATUS, in_todays_words
from biodyn.study.collecting.metrics import NOT_RUN
from biodyn.study.record import FAILED
from biodyn.study.report.source import Trial

_LISTED = 200  # trials of one finding that are named; the page of a study of thousands must open
_VARYING = re.compile(r"'[^']*'|\d+(?:[.,]\d+)*")


@dataclass(frozen=True)
class FailureGroup:
    """Trials that failed in one way: the first's reason stands for all where they differ in names and numbers only."""

    title: str
    hint: str
    trials: tuple[Trial, ...]


def failures(trials: Iterable[Trial]) -> list[FailureGroup]:
    """Group the trials without a result by their reason, the most frequent first."""
    found: dict[tuple[str, str], list[Trial]] = {}
    for trial in trials:
        if not trial.done:
            found.setdefault((trial.error, _pattern(trial.reason)), []).append(trial)
    groups = []
    for own in found.values():
        title = _common([trial.reason for trial in own])
        hint = own[0].hint if len({trial.hint for trial in own}) == 1 else ""
        if own[0].status == NOT_RUN:
            title, hint = "Not analysed.", "Run the study again: it resumes where it stopped."
        groups.append(FailureGroup(title or own[0].error, hint, tuple(own)))
    return sorted(groups, key=lambda group: -len(group.trials))


def _pattern(reason: str) -> str:
    return _VARYING.sub("#", reason)


def _common(reasons: Sequence[str]) -> str:
    """What reasons of one pattern say, with "…" for names and numbers that are not the same in all of them."""
    varying = [_VARYING.findall(reason) for reason in reasons]
    same = iter([words[0] if len(set(words)) == 1 else "…" for words in zip(*varying, strict=True)])
    return _VARYING.sub(lambda _: next(same), reasons[0])


@dataclass
class _Finding:
    severity: str
    title: str
    example: str
    hint: str
    count: int = 0
    times: int = 0
    trials: list[Trial] = field(default_factory=list)


@dataclass(frozen=True)
class Finding:
    """One kind of finding: `count` trials have it, `times` in all; `trials` are those that are named."""

    severity: str
    title: str
    example: str
    hint: str
    count: int
    times: int
    trials: tuple[Trial, ...]

    @property
    def more(self) -> int:
        """How many trials are not named."""
        return self.count - len(self.trials)


class Findings:
    """Checks that did not pass and diagnostics of all trials, by their code."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], _Finding] = {}

    def add(self, trial: Trial, record: Mapping[str, Any]) -> None:
        """Take in the run.json of one trial."""
        record = in_todays_words(record)
        seen: set[tuple[str, str]] = set()
        for check in record["checks"]:
            if check["status"] in ("warn", "fail"):
                severity = "error" if check["status"] == "fail" else "warning"
                self._add(
                    ("check " + check["code"], severity), trial, seen, check["title"], check["text"], check["hint"]
                )
        told = {check["code"] for check in record["checks"] if check["status"] in ("warn", "fail")}
        for finding in record["diagnostics"]:
            if finding["code"] in told:  # the check says it already, with its limit
                continue
            title = finding_title(finding["code"])
            self._add((finding["code"], finding["severity"]), trial, seen, title, finding["message"], finding["hint"])

    def _add(
        self, key: tuple[str, str], trial: Trial, seen: set[tuple[str, str]], title: str, example: str, hint: str
    ) -> None:
        found = self._found.setdefault(key, _Finding(key[1], title, example, hint))
        found.times += 1
        if key not in seen:
            seen.add(key)
            found.count += 1
            if len(found.trials) < _LISTED:
                found.trials.append(trial)

    def of(self, *severities: str) -> list[Finding]:
        """Findings of these severities: the gravest first, then the most frequent."""
        chosen = [one for one in self._found.values() if one.severity in severities]
        chosen.sort(key=lambda one: (severities.index(one.severity), -one.count))
        return [
            Finding(one.severity, one.title, one.example, one.hint, one.count, one.times, tuple(one.trials))
            for one in chosen
        ]


def exclusions(trials: Iterable[Trial]) -> list[FailureGroup]:
    """Group the trials that are in no group result by their reason, the most frequent first."""
    found: dict[str, list[Trial]] = {}
    for trial in trials:
        if trial.excluded:
            found.setdefault(trial.excluded, []).append(trial)
    groups = [FailureGroup(reason, "", tuple(own)) for reason, own in found.items()]
    return sorted(groups, key=lambda group: -len(group.trials))


def outcome(trials: Sequence[Trial]) -> str:
    """One sentence: people, trials, how they ended."""
    ended = [OLD_TRIAL_STATUS.get(trial.status, trial.status) for trial in trials]
    counts = {status: ended.count(status) for status in (*STATUS_WORDS, FAILED, NOT_RUN)}
    people = len({trial.subject for trial in trials})
    done = sum(trial.done for trial in trials)
    parts = [f"{counts[status]} {text}" for status, text in reversed(STATUS_WORDS.items()) if counts[status]]
    analysed = "all" if done == len(trials) else str(done) if done else "none"
    lost = [f"{_count(counts[FAILED], 'trial')} failed"] if counts["failed"] else []
    lost += [f"{counts[NOT_RUN]} {'was' if counts[NOT_RUN] == 1 else 'were'} not run"] if counts[NOT_RUN] else []
    none_lost = "" if counts["fail"] else "; none failed"  # beside "1 fail" it would say the opposite
    excluded = sum(bool(trial.excluded) for trial in trials)
    kept_out = f" {_count(excluded, 'trial')} excluded from the group results." if excluded else ""
    return (
        f"{_count(people, 'subject')}, {_count(len(trials), 'trial')}: "
        f"{analysed} analysed{' (' + ', '.join(parts) + ')' if parts else ''}"
        f"{'; ' + ' and '.join(lost) if lost else none_lost}.{kept_out}"
    )


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
