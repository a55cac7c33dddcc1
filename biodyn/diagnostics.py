"""Doubt as a result: findings, checks and verdicts that travel with the answer to the console, `run.json` and the report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

Severity = Literal["info", "warning", "error"]
Status = Literal["pass", "warn", "fail", "not_assessed"]

#: Every status as people read it, the gravest first.
STATUS_WORDS: dict[Status, str] = {"fail": "fail", "warn": "warn", "not_assessed": "not assessed", "pass": "pass"}
#: What a finding's severity does to the verdict.
STATUS_OF_SEVERITY: dict[Severity, Status] = {"info": "pass", "warning": "warn", "error": "fail"}


@dataclass(frozen=True)
class Diagnostic:
    """One finding about a trial.

    Attributes:
        code: stable short name in kebab-case, e.g. ``marker-error``.
        severity: ``info`` (does not colour the verdict), ``warning`` (review recommended), ``error`` (fails the trial).
        message: one plain sentence with the numbers in it.
        value, limit, unit: the measured number against its limit, in the named unit, where there is one.
        frames: first and last frame concerned (0-based, inclusive), where it concerns some frames only.
        hint: the likely cause and what to do.
        about: label of the marker, plate or coordinate concerned, where it is one.
    """

    code: str
    severity: Severity
    message: str
    value: float | None = None
    limit: float | None = None
    unit: str = ""
    frames: tuple[int, int] | None = None
    hint: str = ""
    about: str = ""

    @property
    def status(self) -> Status:
        """What the finding says about the trial."""
        return STATUS_OF_SEVERITY[self.severity]

    def as_dict(self) -> dict[str, Any]:
        """Return the record as JSON-ready values."""
        record = asdict(self)
        record["frames"] = list(self.frames) if self.frames is not None else None
        return record


@dataclass(frozen=True)
class Check:
    """One check of a trial.

    Attributes:
        code: stable short name; title: for people.
        status: `pass` (within the limit), `warn` (beyond it), `fail` (the numbers must not be used as they are),
            `not_assessed` (nothing to check it with).
        text: the finding in one or two plain sentences; of a check of the recording mostly "", its findings tell.
        value, limit, unit: the deciding number against its limit, where there is one.
        source: where the limit comes from; hint: what to do where the check does not pass.
        essential: a trial whose essential check was not assessed cannot pass.
        covers: codes of findings that tell the same: they are not told again as causes of the verdict.
        found: codes of the findings that belong to it.
    """

    code: str
    title: str
    status: Status
    text: str
    value: float | None = None
    limit: float | None = None
    unit: str = ""
    source: str = ""
    hint: str = ""
    essential: bool = False
    covers: tuple[str, ...] = ()
    found: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return a check of the result as plain values; a hint only where there is something to do."""
        values = {name: value for name, value in asdict(self).items() if name != "found"}
        return values | {"hint": self.hint if self.status in ("warn", "fail") else "", "covers": list(self.covers)}

    def as_data_dict(self) -> dict[str, Any]:
        """Return a check of the recording as plain values: what it measured (SI) and found."""
        return {
            "key": self.code,
            "status": self.status,
            "text": self.text,
            "value": self.value,
            "limit": self.limit,
            "found": list(self.found),
        }


@dataclass(frozen=True)
class Cause:
    """A check or finding that decided a verdict."""

    code: str
    title: str
    status: Status
    text: str
    hint: str


@dataclass(frozen=True)
class Verdict:
    """Of a trial as a whole: its status, the checks, and what decided, the gravest first; no causes where it passes.

    begin_with: codes of the causes that others only follow from.
    """

    status: Status
    checks: tuple[Check, ...]
    causes: tuple[Cause, ...]
    begin_with: frozenset[str] = frozenset()

    def besides(self, findings: Iterable[Diagnostic]) -> list[Diagnostic]:
        """Return the findings that no check has told already."""
        covered = {code for check in self.checks if check.status != "pass" for code in check.covers}
        return [finding for finding in findings if finding.code not in covered]

    @property
    def to_look_at(self) -> list[Cause]:
        """The causes in the order in which to look at them: first what others only follow from."""
        return sorted(self.causes, key=lambda cause: cause.code not in self.begin_with)

    @property
    def sentence(self) -> str:
        """One line: the status and what decided it."""
        titles = list(dict.fromkeys(cause.title for cause in self.causes if cause.status == self.status))
        if not titles:
            passed, count = sum(check.status == "pass" for check in self.checks), len(self.checks)
            open_ = sum(check.status == "not_assessed" for check in self.checks)
            titles = [f"{passed} of {count} checks passed" + (f", {open_} not assessed" if open_ else "")]
        return f"Verdict: {STATUS_WORDS[self.status]} ({'; '.join(titles)})"


def gravest(statuses: Iterable[Status]) -> Status:
    """The gravest of several statuses; `pass` where there are none."""
    order = list(STATUS_WORDS)
    return min(statuses, key=order.index, default="pass")


def plates_in_words(numbers: Sequence[int]) -> str:
    """Return how a sentence about plates begins: "Plate 2", "Plates 1, 2 and 4"."""
    if len(numbers) == 1:
        return f"Plate {numbers[0]}"
    return f"Plates {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"
