"""Gait events as a cause: what they change in the curves over the cycle, and that all parts add up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.planted_causes import planted, spans_of

import biodyn
from biodyn.analysis import TrialAnalysis
from biodyn.comparison.differences import (
    CycleSpan,
    Difference,
    curve_difference,
    cycle_differences,
    event_facts,
    find_differences,
    match_analyses,
    overall_shares,
    spans_differ,
)
from biodyn.comparison.part_exchange import EVENTS, INERTIAS
from biodyn.comparison.segments import moving_body_from_arrays
from biodyn.output.store.result_writer import result_arrays
from biodyn.trial.result import TrialResult

_RATE_HZ = 100.0
_TIME_S = np.arange(300) / _RATE_HZ


def _wave(offset: float = 0.0, other_size: float = 1.0) -> Difference:
    """A sine of 1 Hz, and the same with another size by one cause: what events add can be said exactly."""
    first = np.sin(2.0 * np.pi * _TIME_S) + offset
    other = other_size * first
    parts = {"size": other - first} if other_size != 1.0 else {}
    return curve_difference("knee", "r", "sagittal", "moment", (first, other), parts, np.ones(300, dtype=bool))


def test_equal_curves_with_other_events_differ_by_the_events_alone() -> None:
    spans = [CycleSpan("r", 0.5, 1.5)], [CycleSpan("r", 0.53, 1.53)]
    (found,) = cycle_differences([_wave()], _TIME_S, _RATE_HZ, *spans)
    assert found.quantity == "cycle moment"
    assert found.shares[EVENTS] == pytest.approx(1.0)
    # sin shifted by 30 ms less sin: 2 sin(pi 0.03) cos(...), RMS sqrt(2) sin(pi 0.03)
    assert found.rms == pytest.approx(np.sqrt(2.0) * np.sin(np.pi * 0.03), rel=1e-2)
    assert found.unexplained_rms == pytest.approx(0.0, abs=1e-12)


def test_the_parts_of_events_and_of_other_causes_add_up() -> None:
    spans = [CycleSpan("r", 0.5, 1.5), CycleSpan("r", 1.5, 2.5)], [CycleSpan("r", 0.52, 1.51)]
    (found,) = cycle_differences([_wave(0.3, 1.2)], _TIME_S, _RATE_HZ, *spans)
    assert set(found.parts) == {"size", EVENTS}
    np.testing.assert_allclose(sum(found.parts.values()), found.other - found.first, atol=1e-12)
    assert found.shares["size"] > 0.5 > found.shares[EVENTS] > 0.0
    # exchanged before and after the size: the mean of both
    moved = found.other / 1.2 - found.first
    np.testing.assert_allclose(found.parts[EVENTS], 0.5 * (1.0 + 1.2) * moved, atol=1e-12)


def test_gaps_stay_gaps() -> None:
    wave = _wave()
    curve = wave.first.copy()
    curve[90:110] = np.nan
    holed = replace(wave, first=curve, other=curve)
    known = np.isfinite(curve)
    spans = [CycleSpan("r", 0.5, 1.5)], [CycleSpan("r", 0.53, 1.53)]
    (found,) = cycle_differences([holed], _TIME_S, _RATE_HZ, *spans)
    (cut,) = cycle_differences(
        [replace(wave, first=curve[known], other=curve[known])], _TIME_S[known], _RATE_HZ, *spans
    )
    for one in (found, cut):
        unknown = np.flatnonzero(np.isnan(one.first))
        # frames 90 to 109 are 40 to 59 % of one cycle, 37 to 56 % of the other
        assert (unknown[0], unknown[-1], len(unknown)) == (37, 59, 23)


def test_the_same_events_add_no_rows() -> None:
    spans = [CycleSpan("r", 0.5, 1.5), CycleSpan("l", 1.0, 2.0)]
    later = [replace(span, start_s=span.start_s + 2e-5) for span in reversed(spans)]  # as a table rounds
    assert not spans_differ(spans, later)
    assert cycle_differences([_wave()], _TIME_S, _RATE_HZ, spans, later) == ()
    assert event_facts(spans, spans) == ()


def test_facts_say_which_strikes_differ() -> None:
    first = [CycleSpan("r", 0.5, 1.5), CycleSpan("l", 1.0, 2.0)]
    other = [CycleSpan("r", 0.51, 1.53), CycleSpan("l", 1.0, 2.0), CycleSpan("l", 2.0, 3.0)]
    right, left = event_facts(first, other)
    assert right.text == "right foot strikes of whole cycles: +20 ms on average over 2 strikes, 30 ms at most"
    assert left.text == "left foot strikes of whole cycles: 1 only in the second analysis"
    (near,) = event_facts([CycleSpan("r", 0.5, 1.5)], [CycleSpan("r", 0.5, 1.5006)])
    assert near.text == "right foot strikes of whole cycles: +0.3 ms on average over 2 strikes, 0.6 ms at most"


def _named(analysis: TrialAnalysis, changed: TrialAnalysis) -> dict[str, float]:
    both = match_analyses(
        moving_body_from_arrays(result_arrays(analysis)), moving_body_from_arrays(result_arrays(changed))
    )
    found = cycle_differences(
        find_differences(both), both.a.time_s, both.rate_hz, spans_of(analysis), spans_of(changed)
    )
    return overall_shares(found, "cycle moment")


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_planted_events_are_named(walk_result: TrialResult, seed: int) -> None:
    analysis = walk_result.analysis
    shares = _named(analysis, planted(analysis, "events", np.random.default_rng(seed)))
    assert next(iter(shares)) == EVENTS


def test_events_do_not_hide_a_larger_cause(walk_result: TrialResult) -> None:
    analysis = walk_result.analysis
    changed = planted(analysis, "inertia", np.random.default_rng(2))
    events = tuple(replace(e, time_s=e.time_s + 0.001) if e.kind == "foot_strike" else e for e in analysis.events)
    shares = _named(analysis, replace(changed, events=events))
    assert next(iter(shares)) == INERTIAS
    assert 0.0 <= shares[EVENTS] < 0.3


def test_results_with_other_events_are_told_so(walk_result: TrialResult) -> None:
    analysis = walk_result.analysis
    late = tuple(replace(e, time_s=e.time_s + 0.02) if e.side == "r" else e for e in analysis.events)
    found = biodyn.compare(walk_result, biodyn.TrialResult(replace(analysis, events=late)))
    text = "\n".join(found.summary())
    assert "Joint moments are equal." in text
    assert "Of the difference in joint moments over the gait cycle 100 % is explained: gait events 100 %." in text
    assert "gait events: right foot strikes of whole cycles: +20 ms" in text
    assert set(found.table["quantity"]) == {"angle", "moment", "cycle angle", "cycle moment"}
    assert found.table["gait_events_pct"].notna().any()
