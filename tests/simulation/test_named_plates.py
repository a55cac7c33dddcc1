"""Faults of a plate under their own name: a wrong type, and loads that seem to be a crutch's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.described_plates import Platform, analysed

from biodyn.analysis import TrialAnalysis
from biodyn.checks.evidence.plate_faults import ExplainedPlate, PlateFault
from biodyn.checks.facts import TrialFacts
from biodyn.conventions import FloatArray
from biodyn.io.plate_type import mistaken_types
from biodyn.processing.contacts.other_loads import OtherLoad
from biodyn.recording import ForcePlate
from biodyn.simulation import Person, TrialOptions, session


@pytest.mark.parametrize(("true", "declared", "grows"), [(2, 1, "grow with the load"), (1, 2, "stay as large")])
def test_the_channels_tell_the_type(tmp_path, true, declared, grows) -> None:
    trials = session(
        Person("P", height_m=1.75, mass_kg=70.0, sex="female"), TrialOptions(plate_types=(true, true, true))
    )

    def mistaken(platform: Platform) -> None:
        platform["TYPE"] = np.full_like(platform["TYPE"], declared)

    found = analysed(tmp_path, *trials, mistaken)
    notes = [note for note in found.diagnostics if note.code == "plate-type"]
    assert [note.message.split(" is declared")[0] for note in notes] == ["Plate 1", "Plate 2", "Plate 3"]
    assert all(f"as type {declared}, but its channels are those of type {true}" in note.message for note in notes)
    assert grows in notes[0].message
    assert found.verdict is not None
    assert found.verdict.status == "fail"
    # nothing else is made of it: no unit is "corrected"
    assert not {"moment-unit", "moment-unit-corrected"} & {note.code for note in found.diagnostics}


@pytest.mark.parametrize("plate_type", [1, 2])
def test_a_plate_that_is_what_it_says_is_left_alone(tmp_path, plate_type) -> None:
    trials = session(
        Person("P", height_m=1.75, mass_kg=70.0, sex="female"), TrialOptions(plate_types=(plate_type,) * 3)
    )
    found = analysed(tmp_path, *trials, lambda platform: None)
    assert "plate-type" not in [note.code for note in found.diagnostics]


def plate(kind: int, channels: FloatArray) -> ForcePlate:
    corners = np.array([[0.3, 0.2, 0.0], [-0.3, 0.2, 0.0], [-0.3, -0.2, 0.0], [0.3, -0.2, 0.0]])
    return ForcePlate(1, kind, corners, np.array([0.0, 0.0, -0.04]), channels, 1000.0)


def step(kind: int, moments: float = 1.0) -> FloatArray:
    """Channels (1200, 6) of one step from heel to toes, of a type; `moments`: factor on them."""
    time = np.linspace(-0.1, 1.1, 1200)
    on = (time > 0.0) & (time < 1.0)
    force = np.where(on, 700.0 * np.sin(np.pi * np.clip(time, 0.0, 1.0)) ** 0.7, 0.0)
    place = np.column_stack([-0.12 + 0.24 * time, 0.03 + 0.0 * time]) * on[:, None]
    told = place if kind == 1 else moments * np.column_stack([-place[:, 1], place[:, 0]]) * force[:, None]
    return np.column_stack([0.1 * force, 0.0 * force, -force, told, 0.0 * force])


def test_moments_in_newton_metres_read_as_millimetres_are_told_too() -> None:
    assert mistaken_types([plate(2, step(2))]) == ()
    assert mistaken_types([plate(1, step(1))]) == ()
    assert len(mistaken_types([plate(1, step(2))])) == 1
    assert len(mistaken_types([plate(1, step(2, 1e-3))])) == 1
    assert len(mistaken_types([plate(2, step(1))])) == 1


def test_moments_in_another_unit_are_still_moments() -> None:
    """A thousandth of their size: no places, which would stay as large while the foot leaves."""
    assert mistaken_types([plate(2, step(2, 1e-3)), plate(2, step(2, 1e3))]) == ()


def test_what_was_never_loaded_or_is_no_plate_of_six_channels_tells_nothing() -> None:
    assert mistaken_types([plate(1, 0.1 * step(2))]) == ()
    assert mistaken_types([plate(3, step(2)), replace(plate(1, step(2)), outlined=False)]) == ()
    assert mistaken_types([plate(1, np.full((100, 6), np.nan))]) == ()


def test_noise_is_no_step() -> None:
    noise = np.random.default_rng(0).normal(size=(2000, 6)) * (50.0, 50.0, 400.0, 0.1, 0.1, 1.0)
    assert mistaken_types([plate(2, noise), plate(1, noise)]) == ()


# -- a fault of a plate is no crutch -----------------------------------------------------------------------------------


def load(number: int) -> OtherLoad:
    return OtherLoad(number, 0.8, 1.2, 500.0)


def facts_of(analysis: TrialAnalysis, *loads: OtherLoad) -> TrialFacts:
    """The facts of a trial in which the pressure of some loads was far from every foot."""
    facts = TrialFacts(analysis)
    facts.__dict__["other_loads"] = loads
    return facts


def test_a_load_far_from_the_feet_is_none_where_a_fault_of_its_plate_explains_it(standing, walking, tmp_path) -> None:
    def turned(platform: Platform) -> None:
        platform["CORNERS"] = platform["CORNERS"].copy()
        platform["CORNERS"][1] = platform["CORNERS"][1][[2, 3, 0, 1]]

    found = analysed(tmp_path, standing, walking, turned)
    facts = facts_of(found, load(2), load(3))
    assert [one.fault.code for one in facts.explained_plates] == ["plate-rotated"]
    assert facts.explained_plates[0].is_sound_then
    assert facts.unexplained_loads == (load(3),)  # its plate is sound: a crutch


def test_a_load_on_a_sound_plate_stays_one(standing, walking, tmp_path) -> None:
    found = analysed(tmp_path, standing, walking, lambda platform: None)
    assert facts_of(found, load(2)).unexplained_loads == (load(2),)


def test_a_plate_that_a_fault_explains_in_part_may_carry_another_load() -> None:
    fault = PlateFault("plate-rotated", "as if it were turned", "", quarter_turns=2)
    assert ExplainedPlate(0, fault, 40.0, 2.0).is_sound_then
    assert not ExplainedPlate(0, fault, 40.0, 8.0).is_sound_then  # five times what a sound plate has
    assert not ExplainedPlate(0, fault, 8.0, 2.0).is_sound_then  # a quarter of it is left
