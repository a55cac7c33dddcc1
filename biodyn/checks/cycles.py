"""Gait cycles that no person can have walked."""

from __future__ import annotations

from collections.abc import Iterable

from biodyn.checks.facts import TrialFacts
from biodyn.checks.registry import CheckResult, check
from biodyn.conventions import SIDE_NAMES, Side
from biodyn.diagnostics import Diagnostic
from biodyn.processing.gait.cycle_values import CycleValues
from biodyn.processing.gait.spatiotemporal import CycleSignal
from biodyn.variables import CurveFault, variable

_TOLD = 2  # variables of a cycle that are named
_HINTS = {
    "range": "A swapped or lost marker, a wrong contact or a wrong plate makes such values: see the trial's other findings.",
    "jump": "Labels that change places for a few frames make such jumps: look at the markers there.",
}


@check(
    "physiological_limits",
    "Physiological limits",
    compares="every variable of every gait cycle against what a living person can walk (`variables.toml`)",
    causes="a swapped or lost marker, a wrong contact, a wrong plate",
    kind="finding",
    place=900,
    turn=900,
    limit="limits.physiological_factor",
    findings={"cycle-impossible": "Impossible gait cycle"},
)
def physiological_limits(trial: TrialFacts, limit: float) -> CheckResult:
    """Does a cycle hold a value or a jump that nobody can walk?"""
    return CheckResult(findings=cycle_findings(trial.analysis.cycles))


def cycle_findings(cycles: Iterable[CycleValues]) -> tuple[Diagnostic, ...]:
    """One warning per cycle that holds something impossible: what, where, and what is invalid because of it."""
    return tuple(_finding(values) for values in cycles if values.refused.faults)


def _finding(values: CycleValues) -> Diagnostic:
    cycle, signals, refused = values.cycle, values.signals, values.refused
    worst = sorted(refused.faults.items(), key=lambda item: -abs(item[1].value / item[1].limit))
    column, fault = worst[0]
    told = [_told(signals[number], cycle.side, one) for number, one in worst[:_TOLD]]
    told += [f"and {len(worst) - _TOLD} more variables"] if len(worst) > _TOLD else []
    others = len(refused.reasons) - len(worst)
    more = f", with {others} moments and powers that depend on {'it' if len(worst) == 1 else 'them'}" if others else ""
    return Diagnostic(
        "cycle-impossible",
        "warning",
        f"Cycle {cycle.number + 1} of the {SIDE_NAMES[cycle.side]} side: {'; '.join(told)}. Not physiological: "
        f"{'this is' if len(worst) == 1 else 'these are'} left out of the gait cycles{more}.",
        value=fault.value,
        limit=fault.limit,
        unit=signals[column].unit,
        hint=_HINTS[fault.kind],
    )


def _told(signal: CycleSignal, side: Side, fault: CurveFault) -> str:
    """A fault in words, with the clinical sign."""
    meaning = variable(signal.variable)
    value, limit = (meaning.clinical(side) * number for number in (fault.value, fault.limit))
    if fault.kind == "jump":
        return f"{meaning.title} changes by {value:.3g} {signal.unit} within 1 % (at {fault.percent:.0f} %)"
    return f"{meaning.title} {value:.3g} {signal.unit} at {fault.percent:.0f} % (limit {limit:.3g})"
