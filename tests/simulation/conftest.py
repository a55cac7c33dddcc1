from __future__ import annotations

import pytest
from simulator import Person, SimulatedTrial, TrialOptions, session


@pytest.fixture(scope="session")
def clean() -> tuple[SimulatedTrial, SimulatedTrial]:
    """Static trial and walk without noise."""
    return session(Person("P", height_m=1.75, mass_kg=70.0, sex="female"), TrialOptions(forward="-x"))


@pytest.fixture(scope="session")
def standing(clean) -> SimulatedTrial:
    return clean[0]


@pytest.fixture(scope="session")
def walking(clean) -> SimulatedTrial:
    return clean[1]
