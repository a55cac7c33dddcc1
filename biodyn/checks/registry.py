"""The list of checks. A check is one decorated function in one file of this folder; the decorator says all about it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, Literal, Protocol, TypeVar

from biodyn.diagnostics import Diagnostic, Status
from biodyn.library.load import load_table
from biodyn.library.registry import Registry
from biodyn.settings import Settings

#: What a check looks at, and so where it is told:
#: "recording"  do markers, plates and subject contradict each other? A row of the table "Checks of the data" and of
#:              `data_checks` in run.json; its findings say what is wrong and decide the verdict.
#: "result"     can the numbers be used? A line below the verdict and of `checks` in run.json; its status decides.
#: "finding"    speaks by its findings alone, where it has any.
#: "file"       what `biodyn check FILE` notices before anything is analysed.
Kind = Literal["recording", "result", "finding", "file"]

#: Turn of a check that names none: after all those of biodyn.
LATE = 1000.0


class Facts(Protocol):
    """What a check function is given; see `facts.TrialFacts` and `files.FileFacts`."""

    @property
    def settings(self) -> Settings:
        """Settings of the analysis."""


@dataclass(frozen=True)
class CheckResult:
    """What a check function returns.

    Attributes:
        status, text: of a check of the result, which is told in words. Elsewhere the status follows from the findings, and a
            text says what was judged where no finding does.
        value: the deciding number, SI; NaN where there was nothing to measure, None where no single number tells.
        limit: only where the trial itself tells it; else it is the definition's.
        hint: what to do where the check does not pass.
        findings: what is wrong, each with its numbers, its frames and its cause.
        title: where another than the definition's says what was checked in this trial.
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
    """Everything that is known of a check before any trial.

    Attributes:
        code: stable short name; title: for people.
        compares: which things that share nothing; causes: what usually stands behind a finding.
        run: the function, called with the facts of a trial or of a file and the limit (NaN where there is none).
        place: in the list that people see; kind: which list, see `Kind`.
        limit: a number, or the settings entry that holds it ("limits.marker_rms_m"); None where the function finds it.
        unit: of the value, SI; shown: factor to the unit that people read, and that unit; None where no number tells.
        findings: title of every finding it may lead to, by its code. A finding of that code made elsewhere counts too.
        unless: codes of checks; where one of them found something, this one would see the consequence only and is silent.
        turn: checks that name causes are asked before those that see what follows; findings stand in this order.
        source: where the limit comes from.
        essential: a trial in which this check was not assessed cannot pass.
        covers: codes of findings that tell the same, and are not told again as causes of the verdict.
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
    shown: tuple[float, str] | None
    findings: Mapping[str, str]
    unless: tuple[str, ...]
    turn: float
    source: str
    essential: bool
    covers: tuple[str, ...]

    def ask(self, facts: Facts) -> CheckResult:
        """Run the check; limit and value come together, or neither."""
        limit = attrgetter(self.limit)(facts.settings) if isinstance(self.limit, str) else self.limit
        if isinstance(limit, str):  # "auto": only the trial itself knows it
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
    shown: tuple[float, str] | None = None,
    findings: Mapping[str, str] | None = None,
    unless: tuple[str, ...] = (),
    turn: float = LATE,
    source: str = "",
    essential: bool = False,
    covers: tuple[str, ...] = (),
) -> Callable[[_Function], _Function]:
    """Put the function into the list of checks; the parameters are those of `CheckDefinition`."""

    def add(run: _Function) -> _Function:
        definition = CheckDefinition(
            code, title, compares, causes, run, place, kind, limit, unit, shown, findings or {}, unless, turn, source,
            essential, covers,
        )  # fmt: skip
        _CHECKS.add(code, definition, place)
        return run

    return add


def checks(*kinds: Kind) -> tuple[CheckDefinition, ...]:
    """All checks of the given kinds (of every kind where none is given), in the order in which people see them."""
    return tuple(definition for definition in _CHECKS.values() if not kinds or definition.kind in kinds)


def ask_in_turn(facts: Facts, *kinds: Kind) -> dict[str, CheckResult]:
    """Ask the checks of the given kinds, causes first; where one was found, checks that name it in `unless` are silent.

    A silent check is asked for its number alone, and not at all where it has none.
    """
    results: dict[str, CheckResult] = {}
    for definition in sorted(checks(*kinds), key=lambda definition: definition.turn):
        later = [code for code in definition.unless if code not in results]
        if later:
            raise ValueError(f"check '{definition.code}' names '{later[0]}' in unless, which is not asked before it")
        silent = any(results[code].findings for code in definition.unless)
        result = CheckResult() if silent and definition.shown is None else definition.ask(facts)
        results[definition.code] = replace(result, findings=()) if silent else result
    return results


def finding_title(code: str) -> str:
    """Return the title of a finding: that of its check, or of a step (`finding_titles.toml`), or the code in words."""
    for definition in checks():
        if code in definition.findings:
            return definition.findings[code]
    titles = load_table("checks/finding_titles")["finding_titles"]
    return str(titles.get(code, code.replace("-", " ").capitalize()))
