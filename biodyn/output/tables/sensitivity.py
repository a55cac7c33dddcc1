"""What other choices (hip centre, anthropometry, cut-off, marker weights) do to the moment curves."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from biodyn.analysis import TrialAnalysis
from biodyn.conventions import CYCLE_POINTS, SIDES, FloatArray
from biodyn.output.tables.registry import table
from biodyn.processing.gait.cycles import gait_cycles, normalise
from biodyn.processing.gait.variables import cycle_signals

#: Factor and level of the analysis that the others are held against.
BASE = ("none", "as analysed")
_MOMENT = "_moment"
_REQUEST = "Ask for it with 'biodyn run --vary FACTORS' or biodyn.vary_trial."


def _varied(analysis: TrialAnalysis) -> bool:
    return bool(analysis.variations)


@table(
    "sensitivity",
    place=130,
    description="Mean moment curves with other choices, tidy.",
    needs=_varied,
    request=_REQUEST,
)
def sensitivity(analysis: TrialAnalysis) -> pd.DataFrame:
    """Mean moment curves over the gait cycle, Nm/kg: `factor`, `level`, `side`, `variable`, `percent`, `value`, `unit`.

    The cycles are those of the analysis itself, so that curves differ by the choice alone. Its own curves come first.
    """
    rows = [
        (factor, level, side, name, curve)
        for factor, level, found in _all(analysis)
        for (side, name), curve in _curves(found, analysis).items()
    ]
    heads = pd.DataFrame([row[:4] for row in rows], columns=["factor", "level", "side", "variable"])
    curves = heads.loc[np.repeat(heads.index, CYCLE_POINTS)].reset_index(drop=True).astype("category")
    curves["percent"] = np.tile(np.linspace(0.0, 100.0, CYCLE_POINTS), len(rows))
    curves["value"] = np.concatenate([row[4] for row in rows]) if rows else np.empty(0)
    curves["unit"] = pd.Categorical.from_codes(np.zeros(len(curves), dtype=np.int64), categories=pd.Index(["Nm/kg"]))
    return curves


@table(
    "sensitivity_summary",
    place=140,
    description="Change of every moment curve with other choices.",
    needs=_varied,
    request=_REQUEST,
)
def sensitivity_summary(analysis: TrialAnalysis) -> pd.DataFrame:
    """Change of every mean moment curve: its peak (largest magnitude) and its rms, Nm/kg and per cent of the peak."""
    base = _curves(analysis, analysis)
    rows = []
    for factor, level, found in _all(analysis):
        if (factor, level) == BASE:
            continue
        for (side, name), curve in _curves(found, analysis).items():
            own = base.get((side, name))
            known = np.isfinite(curve) & np.isfinite(own) if own is not None else np.zeros(len(curve), dtype=bool)
            if own is None or not known.any():
                continue
            at = int(np.nanargmax(np.where(known, np.abs(own), np.nan)))
            sign = np.sign(own[at])
            peak = float(np.abs(own[at]))
            change = float(np.max(sign * curve[known]) - peak)
            rms = float(np.sqrt(np.mean((curve[known] - own[known]) ** 2)))
            largest = float(np.max(np.abs(curve[known] - own[known])))
            shares = (100.0 * change / peak, 100.0 * rms / peak) if peak else (np.nan, np.nan)
            rows.append((factor, level, side, name, peak, change, rms, largest, *shares, "Nm/kg"))
    columns = ["factor", "level", "side", "variable", "peak", "peak_change", "rms_change", "largest_change"]
    return pd.DataFrame(rows, columns=[*columns, "peak_change_percent", "rms_change_percent", "unit"])


def _all(analysis: TrialAnalysis) -> Iterator[tuple[str, str, TrialAnalysis]]:
    yield (*BASE, analysis)
    for variation in analysis.variations:
        yield variation.factor, variation.level, variation.analysis


def _curves(found: TrialAnalysis, analysis: TrialAnalysis) -> dict[tuple[str, str], FloatArray]:
    """Mean curves (101,) of the moments by side and variable, over the cycles of `analysis`."""
    cycles = gait_cycles(analysis.gait_events)
    rate_hz = analysis.recording.markers.rate_hz
    curves: dict[tuple[str, str], FloatArray] = {}
    for side in SIDES:
        own = [cycle for cycle in cycles if cycle.side == side]
        signals = [(s.variable, s.values) for s in cycle_signals(found.walked, side) if _MOMENT in s.variable]
        if not own or not signals:
            continue
        stack = np.column_stack([values for _, values in signals])
        each = np.stack([normalise(stack, rate_hz, cycle.start_s, cycle.end_s) for cycle in own])
        known = np.isfinite(each)
        count = known.sum(axis=0)
        mean = np.divide(
            np.where(known, each, 0.0).sum(axis=0), count, out=np.full(count.shape, np.nan), where=count > 0
        )
        for column, (name, _) in enumerate(signals):
            if count[:, column].any():
                curves[side, name] = mean[:, column]
    return curves
