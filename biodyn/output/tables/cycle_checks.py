"""Which variables of a gait cycle no person can have walked, and what that makes invalid."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from biodyn.conventions import SIDE_NAMES, FloatArray, Side
from biodyn.diagnostics import Diagnostic
from biodyn.variables import CurveFault, curve_faults, variable

if TYPE_CHECKING:
    from biodyn.output.tables.gait import CycleSignal, CycleValues
    from biodyn.processing.gait.cycles import GaitCycle

_WORDS = {
    "range": "beyond its physiological limits",
    "jump": "jumps within 1 % of the cycle",
}
_TOLD = 2  # variables of a cycle that are named
_HINTS = {
    "range": "A swapped or lost marker, a wrong contact or a wrong plate makes such values: see the trial's other findings.",
    "jump": "Labels that change places for a few frames make such jumps: look at the markers there.",
}


@dataclass(frozen=True)
class Refused:
    """What is invalid in one cycle.

    Attributes:
        faults: by column of the signals, the variables that are impossible themselves.
        reasons: by column, why it is invalid: those, and the loads that hang on them.
    """

    faults: Mapping[int, CurveFault]
    reasons: Mapping[int, str]


def refused(
    signals: Sequence[CycleSignal], curves: FloatArray, feet: Mapping[str, Sequence[Side]], side: Side, factor: float
) -> Refused:
    """Return what is impossible in one cycle (101, k) of the k signals.

    Moments and powers of one leg come from the same motion and the same foot: where one is impossible, or the leg's own
    ground reaction is, or an angle of the leg jumps (accelerations follow from it), all of them are invalid. Elsewhere the
    loads of one joint are.

    Parameters:
        feet: feet at or beyond each segment's joint (`feet_below`). factor: multiple of the limits.
    """
    faults = curve_faults(curves, [signal.variable for signal in signals], factor)
    reasons = {column: _WORDS[fault.kind] for column, fault in faults.items()}
    spoilt: dict[str, str] = {}
    for column, fault in faults.items():
        signal = signals[column]
        if signal.kind in ("load", "ground") or (signal.kind == "angle" and fault.kind == "jump"):
            spoilt.setdefault(_chain(signal, feet, side), f"{signal.variable} {_WORDS[fault.kind]}")
    for column, signal in enumerate(signals):
        if signal.kind == "load" and (why := spoilt.get(_chain(signal, feet, side))):
            reasons.setdefault(column, why)
    return Refused(faults, reasons)


def _chain(signal: CycleSignal, feet: Mapping[str, Sequence[Side]], side: Side) -> str:
    """What loads with the same cause share: the leg of the cycle's side, else the segment."""
    if signal.kind == "ground" or list(feet.get(signal.body, ())) == [side]:
        return f"leg {side}"
    return signal.body


def cycle_findings(cycles: Iterable[CycleValues]) -> tuple[Diagnostic, ...]:
    """One warning per cycle that holds something impossible: what, where, and what is invalid because of it."""
    return tuple(_finding(values.cycle, values.signals, values.refused) for values in cycles if values.refused.faults)


def _finding(cycle: GaitCycle, signals: Sequence[CycleSignal], found: Refused) -> Diagnostic:
    worst = sorted(found.faults.items(), key=lambda item: -abs(item[1].value / item[1].limit))
    column, fault = worst[0]
    told = [_told(signals[number], cycle.side, one) for number, one in worst[:_TOLD]]
    told += [f"and {len(worst) - _TOLD} more variables"] if len(worst) > _TOLD else []
    others = len(found.reasons) - len(worst)
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
