"""Loads that seem to be a crutch's, on plates with a fault."""

from __future__ import annotations

import pytest
from support.described_plates import Platform, analysed

from biodyn.analysis import TrialAnalysis
from biodyn.checks.trial_facts import TrialFacts
from biodyn.processing.contacts.plate_loads import LoadWithoutFoot

# -- a fault of a plate is no crutch -----------------------------------------------------------------------------------


def load(number: int) -> LoadWithoutFoot:
    return LoadWithoutFoot(number, 0.8, 1.2, 500.0)


def facts_of(analysis: TrialAnalysis, *loads: LoadWithoutFoot) -> TrialFacts:
    """The facts of a trial in which the pressure of some loads was far from every foot."""
    facts = TrialFacts(analysis)
    facts.__dict__["other_loads"] = loads
    return facts


@pytest.mark.slow
def test_a_load_far_from_the_feet_is_none_where_a_fault_of_its_plate_explains_it(standing, walking, tmp_path) -> None:
    def turned(platform: Platform) -> None:
        platform["CORNERS"] = platform["CORNERS"].copy()
        platform["CORNERS"][1] = platform["CORNERS"][1][[2, 3, 0, 1]]

    found = analysed(tmp_path, standing, walking, turned)
    facts = facts_of(found, load(2), load(3))
    assert [causes[0].candidate.code for causes in facts.causes] == ["plate-rotated"]
    assert facts.unexplained_loads == (load(3),)  # its plate is sound: a crutch


@pytest.mark.slow
def test_a_load_on_a_sound_plate_stays_one(standing, walking, tmp_path) -> None:
    found = analysed(tmp_path, standing, walking, lambda platform: None)
    assert facts_of(found, load(2)).unexplained_loads == (load(2),)
