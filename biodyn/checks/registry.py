"""Registry of checks. A check is a decorated function in a module of this folder; the decorator contains its whole
definition."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, Literal, Protocol, TypeVar

from biodyn.diagnostics import Diagnostic, Status
from biodyn.library.registry import Registry
from biodyn.library.toml_files import load_table
from biodyn.settings import Settings

#: Subject of a check, which determines where it is shown:
#: "recording"  do markers, plates and subject contradict each other? A row of the table "Checks of the data" and of
#:              `data_checks` in run.json; its findings decide the verdict.
#: "result"     can the numbers be used? A line below the verdict and of `checks` in run.json; its status decides.
#: "finding"    shown only by its findings.
#: "file"       run by `biodyn check FILE` without an analysis.
Kind = Literal["recording", "result", "finding", "file"]

#: Default turn of a check, after all checks of biodyn.
LATE = 1000.0


class Facts(Protocol):
    """Input of a check function; see `trial_facts.TrialFacts` and `files.FileFacts`."""

    @property
    def settings(self) -> Settings:
        """Settings of the analysis."""


@dataclass(frozen=True)
class CheckResult:
    """Result of a check function.

    Attributes:
        status, text: status and text of a check of kind "result". For other kinds the status follows from the findings, and the
            text is optional.
        value: the deciding number, SI; NaN if not measurable, None if the check has no single number.
        limit: only if it depends on the trial; otherwise the limit of the definition applies.
        hint: recommended action if the check does not pass.
        findings: problems, each with values, frames and cause.
        title: replaces the title of the definition for this trial.
    """

    status: Status | None = None
    text: str = ""
    value: float | None = None
    limit: float | None = None
    hint: str = ""
    findings: tuple[Diagnostic, ...] = ()
    title: str = ""


CheckFunction = Callable[[Any, float], CheckResult]
_Function = TypeVar("_Function", bound=CheckFunction)


@dataclass(frozen=True)
class CheckDefinition:
    """Definition of a check, independent of any trial.

    Attributes:
        code: stable short name. title: displayed title.
        compares: the independent quantities that are compared; causes: usual causes of a finding.
        run: the function, called with the facts of a trial or file and the limit (NaN without one).
        place: position in the displayed list. kind: the list, see `Kind`.
        limit: a number, or the settings entry that contains it ("limits.marker_rms_m"); None if the function determines it.
        unit: SI unit of the value. display_unit: factor to the displayed unit, and this unit; None without a number.
        findings: title of every finding of the check by code. A finding with this code from another step also counts.
        unless: codes of checks whose findings suppress this check, because it would detect a consequence.
        turn: order of execution and of findings: causes before consequences.
        source: source of the limit.
        essential: True if a trial cannot pass if this check was not assessed.
        covers: codes of findings with the same content, which are not repeated as causes of the verdict.
    """

    code: str
    title: str
    compares: str
    causes: str
    run: CheckFunction
    place: float
    kind: Kind
    limit: float | str | None
    unit: str
    display_unit: tuple[float, str] | None
    findings: Mapping[str, str]
    unless: tuple[str, ...]
    turn: float
    source: str
    essential: bool
    covers: tuple[str, ...]

    def evaluate(self, facts: Facts) -> CheckResult:
        """Run the check; the result has both value and limit, or neither."""
        limit = attrgetter(self.limit)(facts.settings) if isinstance(self.limit, str) else self.limit
        if isinstance(limit, str):  # "auto" depends on the trial
            limit = None
        result = self.run(facts, math.nan if limit is None else limit)
        if result.value is None:
            return replace(result, limit=None)
        return result if result.limit is not None else replace(result, limit=limit)


_CHECKS: Registry[CheckDefinition] = Registry("biodyn.checks", "check")


def check(
    code: str,
    title: str,
    *,
    compares: str,
    causes: str,
    place: float,
    kind: Kind = "recording",
    limit: float | str | None = None,
    unit: str = "",
    display_unit: tuple[float, str] | None = None,
    findings: Mapping[str, str] | None = None,
    unless: tuple[str, ...] = (),
    turn: float = LATE,
    source: str = "",
    essential: bool = False,
    covers: tuple[str, ...] = (),
) -> Callable[[_Function], _Function]:
    """Register the function as a check; for the parameters see `CheckDefinition`."""

    def register(run: _Function) -> _Function:
        definition = CheckDefinition(
            code, title, compares, causes, run, place, kind, limit, unit, display_unit, findings or {}, unless, turn, source,
            essential, covers,
        )  # fmt: skip
        _CHECKS.add(code, definition, place)
        return run

    return register


def checks_of_kind(*kinds: Kind) -> tuple[CheckDefinition, ...]:
    """Return all checks of the given kinds (default: all kinds) in display order."""
    return tuple(definition for definition in _CHECKS.values() if not kinds or definition.kind in kinds)


def run_checks_in_order(facts: Facts, *kinds: Kind) -> dict[str, CheckResult]:
    """Run the checks of the given kinds in order of `turn`, except for those suppressed by earlier findings (`unless`).

    A suppressed check reports only its number; it is skipped if it has none.
    """
    results: dict[str, CheckResult] = {}
    for definition in sorted(checks_of_kind(*kinds), key=lambda definition: definition.turn):
        later = [code for code in definition.unless if code not in results]
        if later:
            raise ValueError(
                f"check '{definition.code}' refers to '{later[0]}' in unless, which does not run before it"
            )
        silent = any(results[code].findings for code in definition.unless)
        result = CheckResult() if silent and definition.display_unit is None else definition.evaluate(facts)
        results[definition.code] = replace(result, findings=()) if silent else result
    return results


def finding_title(code: str) -> str:
    """Return the title of a finding: from its check, from `finding_titles.toml`, or derived from the code."""
    for definition in checks_of_kind():
        if code in definition.findings:
            return definition.findings[code]
    titles = load_table("checks/finding_titles")["finding_titles"]
    return str(titles.get(code, code.replace("-", " ").capitalize()))
