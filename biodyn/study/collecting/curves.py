"""The rows of a trial's `gait_cycles` as one array a cycle."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from biodyn.conventions import CYCLE_POINTS, FloatArray
from biodyn.output.tables.gait import CycleSignal, cycle_signals
from biodyn.processing.gait.cycles import GaitCycle, gait_cycles
from biodyn.trial.result import TrialResult


class CycleCurves(NamedTuple):
    """One cycle, its k variables, and their values (CYCLE_POINTS, k), NaN where not valid."""

    cycle: GaitCycle
    signals: list[CycleSignal]
    curves: FloatArray


def cycle_curves(result: TrialResult) -> Iterator[CycleCurves]:
    """Yield the cycles in the order of the table, which goes cycle by cycle, variable by variable."""
    value = result.gait_cycles["value"].to_numpy()
    cycles = gait_cycles(result.analysis.events)
    signals = {side: list(cycle_signals(result.analysis, side)) for side in {cycle.side for cycle in cycles}}
    begin = 0
    for cycle in cycles:
        own = signals[cycle.side]
        end = begin + len(own) * CYCLE_POINTS
        yield CycleCurves(cycle, own, value[begin:end].reshape(len(own), CYCLE_POINTS).T)
        begin = end
