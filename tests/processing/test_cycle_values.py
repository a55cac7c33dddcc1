"""Gait cycles as values: what the table of them holds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from biodyn.analysis import SharedCycles
from biodyn.conventions import CYCLE_POINTS
from biodyn.trial.result import TrialResult


def test_cycles_are_the_values_of_the_table(walk_result: TrialResult) -> None:
    table = walk_result.gait_cycles
    cycles = walk_result.analysis.cycles
    assert cycles
    for values in cycles:
        own = table[(table["side"] == values.cycle.side) & (table["cycle"] == values.cycle.number + 1)]
        assert list(own["variable"].astype(str).unique()) == list(values.variables)
        for signal in values.signals:
            rows = own[own["variable"] == signal.variable]
            np.testing.assert_array_equal(rows["value"].to_numpy(), values.curve(signal.variable))
            assert (rows["unit"] == signal.unit).all()


def test_a_curve_is_found_by_its_name(walk_result: TrialResult) -> None:
    values = walk_result.analysis.cycles[0]
    curve = values.curve("knee_angle")
    assert curve.shape == (CYCLE_POINTS,)
    np.testing.assert_array_equal(values.is_measured[:, values.variables.index("knee_angle")], np.isfinite(curve))
    with pytest.raises(KeyError, match="tail_angle"):
        values.curve("tail_angle")


def test_cycles_are_computed_once(walk_result: TrialResult) -> None:
    assert walk_result.analysis.cycles is walk_result.analysis.cycles


def test_cycles_are_found_once_and_anew_for_other_loads(walk_result: TrialResult) -> None:
    """What checks add to an analysis changes no cycle; another motion, other loads or another mass do."""
    analysis = replace(walk_result.analysis, shared_cycles=SharedCycles())
    cycles = analysis.cycles
    assert replace(analysis, diagnostics=(), verdict=None).cycles is cycles
    halved = replace(analysis.dynamics, torques=0.5 * analysis.dynamics.torques)
    other = replace(analysis, dynamics=halved)
    np.testing.assert_allclose(
        other.cycles[0].curve("knee_angle_moment"), 0.5 * cycles[0].curve("knee_angle_moment"), rtol=1e-12
    )
    heavier = replace(analysis.subject, mass_kg=2.0 * analysis.subject.mass_kg)
    assert replace(analysis, subject=heavier).cycles is not cycles
