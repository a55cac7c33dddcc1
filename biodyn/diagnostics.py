"""Findings, checks and verdicts, as shown on the console, in `run.json` and in the report."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

Severity = Literal["info", "warning", "error"]
Status = Literal["pass", "warn", "fail", "not_assessed"]

#: Displayed words of every status, the most severe first.
STATUS_WORDS: dict[Status, str] = {"fail": "fail", "warn": "warn", "not_assessed": "not assessed", "pass": "pass"}
#: Status of the verdict by severity of a finding.
STATUS_OF_SEVERITY: dict[Severity, Status] = {"info": "pass", "warning": "warn", "error": "fail"}
#: RMS change of a joint moment, Nm/kg, from which a fault makes a trial fail.
LARGE_EFFECT_NM_KG = 0.25


def severity_of(effect_nm_kg: float) -> Severity:
    """Return the severity of a fault by its effect on joint moments, Nm/kg RMS."""
    return "error" if effect_nm_kg >= LARGE_EFFECT_NM_KG else "warning"


def effect_text(effect_nm_kg: float) -> str:
    """Return a text on the effect of a fault on joint moments, with its limit; "" if the effect is unknown."""
    if not math.isfinite(effect_nm_kg):
        return ""
    return f"; joint moments change by up to {effect_nm_kg:.2f} Nm/kg RMS (fail above {LARGE_EFFECT_NM_KG:g})"


@dataclass(frozen=True)
class Diagnostic:
    """One finding about a trial.

    Attributes:
        code: stable short name in kebab-case, e.g. ``marker-error``.
        severity: ``info`` (does not affect the verdict), ``warning`` (review recommended), ``error`` (fails the trial).
        message: one sentence with values and units.
        value, limit, unit: the measured number, its limit and their unit, if there is a number.
        frames: first and last frame concerned (0-based, inclusive), if not all frames are concerned.
        hint: the likely cause and what to do.
        about: label of the marker, plate or coordinate concerned, if it concerns a single one.
        alternatives: codes of the possible causes, the most probable first, if the data do not distinguish them.
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
    alternatives: tuple[str, ...] = ()

    @property
    def status(self) -> Status:
        """Return the status of a trial that results from this finding."""
        return STATUS_OF_SEVERITY[self.severity]

    def as_dict(self) -> dict[str, Any]:
        """Return the finding as values that JSON can store."""
        record = asdict(self)
        record["frames"] = list(self.frames) if self.frames is not None else None
        return record


@dataclass(frozen=True)
class Check:
    """One check of a trial.

    Attributes:
        code: stable short name; title: for people.
        status: `pass` (within the limit), `warn` (beyond it), `fail` (the numbers must not be used as they are),
            `not_assessed` (data for the check are missing).
        text: the result in one or two sentences; usually "" for checks of the recording, whose findings contain it.
        value, limit, unit: the deciding number and its limit, if there is one.
        source: origin of the limit; hint: what to do if the check does not pass.
        essential: without this check the trial cannot pass.
        covers: codes of findings with the same content, which are not repeated as causes of the verdict.
        found: codes of the findings of this check.
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
        """Return the check as values that JSON can store, with the hint unless it passed."""
        values = {name: value for name, value in asdict(self).items() if name != "found"}
        return values | {"hint": self.hint if self.status in ("warn", "fail") else "", "covers": list(self.covers)}

    def as_cause_dict(self) -> dict[str, Any]:
        """Return the check as the cause of a verdict, as values that JSON can store."""
        names = ("code", "title", "status", "text", "hint")
        return {name: getattr(self, name) for name in names}

    def as_data_dict(self) -> dict[str, Any]:
        """Return a check of the recording as values that JSON can store: measured quantities (SI) and codes of its findings."""
        return {
            "key": self.code,
            "status": self.status,
            "text": self.text,
            "value": self.value,
            "limit": self.limit,
            "found": list(self.found),
        }


@dataclass(frozen=True)
class Verdict:
    """Verdict of a trial: status, checks, and causes (decisive checks and findings), the most severe first.

    begin_with: codes of the primary causes.
    """

    status: Status
    checks: tuple[Check, ...]
    causes: tuple[Check, ...]
    begin_with: frozenset[str] = frozenset()

    def uncovered_findings(self, findings: Iterable[Diagnostic]) -> list[Diagnostic]:
        """Return the findings that are not covered by a check."""
        covered = {code for check in self.checks if check.status != "pass" for code in check.covers}
        return [finding for finding in findings if finding.code not in covered]

    @property
    def ordered_causes(self) -> list[Check]:
        """Return the causes in the order in which they should be inspected: primary causes first."""
        return sorted(self.causes, key=lambda cause: cause.code not in self.begin_with)

    @property
    def sentence(self) -> str:
        """Return one line with the status and its causes."""
        titles = list(dict.fromkeys(cause.title for cause in self.causes if cause.status == self.status))
        if not titles:
            passed, count = sum(check.status == "pass" for check in self.checks), len(self.checks)
            open_ = sum(check.status == "not_assessed" for check in self.checks)
            titles = [f"{passed} of {count} checks passed" + (f", {open_} not assessed" if open_ else "")]
        return f"Verdict: {STATUS_WORDS[self.status]} ({'; '.join(titles)})"


def worst_status(statuses: Iterable[Status]) -> Status:
    """Return the most severe status; `pass` without any."""
    order = list(STATUS_WORDS)
    return min(statuses, key=order.index, default="pass")


def plate_list_text(numbers: Sequence[int]) -> str:
    """Return a list of plates as text: "Plate 2", "Plates 1, 2 and 4"."""
    if len(numbers) == 1:
        return f"Plate {numbers[0]}"
    return f"Plates {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"
