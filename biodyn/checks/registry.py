"""The list of checks. A check is a function of an analysis; the decorator puts it into the list."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from biodyn.analysis import TrialAnalysis
from biodyn.diagnostics import Check, Status


@dataclass(frozen=True)
class CheckResult:
    """What a check function returns: the parts of a `diagnostics.Check` that the decorator does not know."""

    status: Status
    text: str
    value: float | None = None
    limit: float | None = None
    unit: str = ""
    hint: str = ""


@dataclass(frozen=True)
class QualityCheck:
    """A check that is run on every trial; `place` is its place in the list, the most important first."""

    place: int
    code: str
    title: str
    source: str
    essential: bool
    covers: tuple[str, ...]
    run: Callable[[TrialAnalysis], CheckResult]

    def of(self, analysis: TrialAnalysis) -> Check:
        """Run the check on an analysis."""
        found = self.run(analysis)
        return Check(
            code=self.code,
            title=self.title,
            status=found.status,
            text=found.text,
            value=found.value,
            limit=found.limit,
            unit=found.unit,
            source=self.source,
            hint=found.hint,
            essential=self.essential,
            covers=self.covers,
        )


_REGISTERED: dict[str, QualityCheck] = {}


def quality_check(
    code: str, title: str, *, place: int, source: str = "", essential: bool = False, covers: tuple[str, ...] = ()
) -> Callable[[Callable[[TrialAnalysis], CheckResult]], Callable[[TrialAnalysis], CheckResult]]:
    """Register a function as the check `code`.

    essential: a trial in which this check was not assessed cannot pass. covers: codes of findings that tell the same.
    """

    def register(run: Callable[[TrialAnalysis], CheckResult]) -> Callable[[TrialAnalysis], CheckResult]:
        if code in _REGISTERED:
            raise ValueError(f"two checks are called '{code}'")
        _REGISTERED[code] = QualityCheck(place, code, title, source, essential, covers, run)
        return run

    return register


def registered() -> tuple[QualityCheck, ...]:
    """All checks, the most important first."""
    return tuple(sorted(_REGISTERED.values(), key=lambda check: check.place))
