"""Which variables of a gait cycle no person can have walked, and which others are invalid because of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from biodyn.conventions import FloatArray, Side
from biodyn.processing.gait.spatiotemporal import CycleSignal
from biodyn.variables import CurveFault, curve_faults

_WORDS = {
    "range": "beyond its physiological limits",
    "jump": "jumps within 1 % of the cycle",
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
