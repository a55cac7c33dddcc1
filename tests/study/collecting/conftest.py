"""The analysed walk of the shared laboratory."""

from __future__ import annotations

import pytest
from sessions import Laboratory

from biodyn import run_trial
from biodyn.result import TrialResult


@pytest.fixture(scope="session")
def walk_result(laboratory: Laboratory) -> TrialResult:
    """A simulated walk over three plates: its outer steps lie beside them."""
    return run_trial(laboratory.walk, static=laboratory.static)
