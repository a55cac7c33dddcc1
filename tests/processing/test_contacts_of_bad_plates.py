"""Contacts on plates that are not at zero, drift or are noisy: no contact lasts longer than a foot is there."""

from dataclasses import replace

import numpy as np
import pytest
from simulator import Plate
from support.feet_on_plates import feet_on_plates
from support.real import slow_but
from support.walker import ANALOG_HZ, RATE_HZ, SMEAR_S, WEIGHT_N, Step, level_steps, plate, walk, wrench_about_origin

from biodyn.processing.contacts.contact_evidence import foot_may_load
from biodyn.processing.contacts.foot_motion import foot_outline, frames_clear_of_plate
from biodyn.processing.contacts.ground_reaction import contact_diagnostics
from biodyn.processing.contacts.settings import ContactSettings
from biodyn.recording.wrenches import PlateZero
from biodyn.trial.run import analyse_trial

QUICK = {"uncertainty": {"compute": False}}

LEFT_PLATE, RIGHT_PLATE = plate(0.5, 1.1, -0.3, 0.3), plate(1.15, 1.75, -0.3, 0.3)


def decide(scene, mass_kg=None, **changes):
    settings = ContactSettings(**changes)
    return feet_on_plates(scene.plates, scene.outlines, RATE_HZ, settings, smear_s=SMEAR_S, mass_kg=mass_kg)


def reading(corners, level_n, steps, duration_s=3.2):
    """A walk over the plates, the first of which reads `level_n` all the time (its offset was not removed)."""
    count = round(duration_s * RATE_HZ) * round(ANALOG_HZ / RATE_HZ)
    force = np.outer(np.full(count, level_n), [0.0, 1.0, 0.0])
    return walk(steps, corners, duration_s, {0: wrench_about_origin(corners[0].mean(axis=0), force)})


def test_a_load_is_cut_to_the_time_of_the_foot_and_the_rest_is_rejected_with_its_newtons():
    contacts, reaction = decide(reading([LEFT_PLATE, RIGHT_PLATE], 21.0, level_steps()))
    first = [c for c in contacts if c.plate == 1]
    assert [c.decision for c in first] == ["rejected", "assigned", "rejected"]
    assert "no foot is above the plate, which measures 21 N" in first[0].reason
    # The force of this walker rises and falls within a millisecond: begin and end are the step's own.
    assert first[1].start_s == pytest.approx(0.5, abs=2e-3)
    assert first[1].end_s == pytest.approx(1.12, abs=2e-3)
    assert any("measures 21 N" in note.message for note in contact_diagnostics(contacts, RATE_HZ))
    # no force on a foot that is not there
    assert not np.nan_to_num(reaction.wrench["l"][:20]).any()


def test_a_level_that_is_a_good_part_of_the_load_makes_the_contact_no_measurement():
    contacts, reaction = decide(reading([LEFT_PLATE, RIGHT_PLATE], 90.0, level_steps()))
    (stance,) = [c for c in contacts if c.plate == 1 and c.side == "l"]
    assert stance.decision == "rejected"
    assert "the plate measures 90 N next to the contact without a foot" in stance.reason
    rows = slice(60, 110)
    assert not reaction.measured["l"][rows].any()
    assert "90 N" in reaction.reason["l"][80]
    assert [c.decision for c in contacts if c.plate == 2] == ["assigned"]


def test_a_plate_that_nobody_steps_on_is_no_contact():
    aside = plate(1.2, 1.8, 1.0, 1.6)
    contacts, _ = decide(reading([aside, LEFT_PLATE], 45.0, level_steps()))
    (idle,) = [c for c in contacts if c.plate == 1]
    assert (idle.side, idle.decision) == (None, "rejected")
    assert "measures 45 N" in idle.reason
    assert [(c.plate, c.side, c.decision) for c in contacts if c.plate == 2] == [(2, "l", "assigned")]


def test_a_foot_that_nobody_saw_may_be_anywhere():
    scene = walk(level_steps(4), [RIGHT_PLATE], 2.6)
    scene.outlines["r"][:] = np.nan
    foot_outlines = {side: foot_outline(scene.outlines[side], RATE_HZ) for side in "rl"}
    assert foot_may_load(scene.plates[0], foot_outlines, RATE_HZ).all()
    assert not frames_clear_of_plate(RIGHT_PLATE, scene.outlines["r"]).any()


def test_saturated_contacts_are_not_used():
    scene = walk(level_steps(), [LEFT_PLATE, RIGHT_PLATE], 3.2)
    scene.plates[0] = replace(scene.plates[0], saturated_s=((0.7, 0.8),))
    contacts, reaction = decide(scene)
    assert [(c.plate, c.decision) for c in contacts] == [(1, "rejected"), (2, "assigned")]
    assert "saturated for 100 ms" in contacts[0].reason
    assert not reaction.measured["l"][60:100].any()


def test_contacts_with_samples_that_hold_no_number_are_not_used():
    scene = walk(level_steps(), [LEFT_PLATE, RIGHT_PLATE], 3.2)
    scene.plates[0] = replace(scene.plates[0], unrecorded_s=((0.7, 0.71),))
    contacts, reaction = decide(scene)
    assert [(c.plate, c.decision) for c in contacts] == [(1, "rejected"), (2, "assigned")]
    assert "has no signal for 10 ms" in contacts[0].reason
    assert not reaction.measured["l"][60:100].any()


def test_noise_raises_the_threshold_and_is_said():
    scene = walk(level_steps(), [LEFT_PLATE, RIGHT_PLATE], 3.2, noise_n=8.0)
    zero = PlateZero("feet", offset_n=3.0, noise_n=8.0, unloaded_s=2.0)
    scene.plates[:] = [replace(signals, zero=zero) for signals in scene.plates]
    contacts, _ = decide(scene, mass_kg=WEIGHT_N / 9.80665)
    assert [(c.plate, c.side, c.decision) for c in contacts] == [(1, "l", "assigned"), (2, "r", "assigned")]
    assert contacts[0].evidence["threshold_n"] == 40.0
    assert contacts[0].evidence["plate_noise_n"] == 8.0
    assert contacts[0].evidence["plate_offset_n"] == 3.0
    notes = contact_diagnostics(contacts, RATE_HZ)
    assert {note.code for note in notes} == {"plate-noise"}
    assert "threshold is 40 N" in notes[0].message


def test_a_foot_passing_low_over_a_silent_plate_changes_nothing():
    """Its soft landing lies within reach of both plates: decisions are those without the cut."""
    steps = [Step("l", 0.5, 1.12, (0.65, 0, -0.05)), Step("r", 1.0, 1.62, (1.3, 0, 0.05))]
    contacts, _ = decide(walk(steps, [LEFT_PLATE, RIGHT_PLATE], 2.2))
    assert [(c.plate, c.side, c.decision) for c in contacts] == [(1, "l", "assigned"), (2, "r", "assigned")]


# -- whole path -------------------------------------------------------------------------------------------------------


def spoilt(trial, kind, seed):
    """The walk with a fourth plate that nobody steps on, and all plates spoilt."""
    rng = np.random.default_rng(seed)
    rows = len(trial.components[0])
    plates = (*trial.plates, Plate(2, trial.plates[-1].centre_x_m + 3.0))
    components = []
    for clean in (*trial.components, np.zeros((rows, 6))):
        level = np.full(rows, rng.uniform(15.0, 50.0))
        noise = 1.0
        if kind == "drift":
            level = level + rng.uniform(10.0, 30.0) * np.linspace(0.0, 1.0, rows)
        if kind == "noise":
            noise = rng.uniform(4.0, 8.0)
        offset = np.array([3.0, -2.0, -1.0, 0.1, 0.2, 0.0]) if kind != "moments" else [0.0, 0.0, -1.0, 0.3, -0.4, 0.1]
        spread = noise * np.array([1.0, 1.0, 1.0, 0.05, 0.05, 0.05])
        components.append(
            clean + np.outer(level, offset) * [0.1, 0.1, 1, 1, 1, 1] + spread * rng.normal(size=(rows, 6))
        )
    return replace(trial, plates=plates, components=tuple(components))


@pytest.mark.slow
@pytest.mark.parametrize("kind", slow_but(["constant", "drift", "noise", "moments"], quick=["drift"]))
def test_bad_plates_give_the_true_contacts(laboratory, tmp_path, kind):
    files = laboratory.copy(tmp_path, walk=spoilt(laboratory.trials["walk"], kind, 3))
    settings = {"uncertainty": {"compute": False}}
    clean = analyse_trial(laboratory.walk, laboratory.static, settings=settings)
    analysis = analyse_trial(files.walk, files.static, settings=settings)
    used = [c for c in analysis.contacts if c.decision == "assigned"]
    assert [(c.plate, c.side) for c in used] == [(c.plate, c.side) for c in clean.contacts]
    for found, true in zip(used, clean.contacts, strict=True):
        # 40 N instead of 20 N on the slope of a step; noise crosses a little earlier or later
        assert found.start_s == pytest.approx(true.start_s, abs=0.02)
        assert found.end_s == pytest.approx(true.end_s, abs=0.02)
        assert found.evidence["plate_offset_n"] > 15.0
    assert all(c.plate != 4 for c in used)
    for side in "rl":
        known = analysis.reaction.measured[side] & clean.reaction.measured[side]
        assert np.count_nonzero(known) >= np.count_nonzero(clean.reaction.measured[side]) - 6  # contacts' ends
        off = analysis.reaction.wrench[side][known] - clean.reaction.wrench[side][known]
        # 8 N of white noise through 6 Hz at 1000 Hz leaves 1 N; drift ends and steps' edges add a few
        assert np.abs(off[:, 3:]).max() < 12.0


@pytest.mark.real
def test_a_real_plate_that_was_not_zeroed(real_data):
    analysis = analyse_trial(real_data / "gait" / "unzeroed_plate" / "Gait with EMG.c3d", settings=QUICK)
    assert [(c.plate, c.side, c.decision) for c in analysis.contacts] == [(1, "l", "assigned"), (2, "r", "assigned")]
    assert analysis.contacts[0].end_s - analysis.contacts[0].start_s < 0.7  # it was 2.2 s
    assert analysis.contacts[0].evidence["plate_offset_n"] == pytest.approx(21.0, abs=0.7)
    (note,) = [note for note in analysis.diagnostics if note.code == "plate-not-zeroed"]
    assert note.message.startswith("Plate 1 has an offset of 21 N")
    for side in "rl":
        standing_unmeasured = analysis.reaction.on_floor[side] & ~analysis.reaction.measured[side]
        assert standing_unmeasured.any()  # the steps beside the plates
    vertical = analysis.dynamics.residual_force[:, 1]
    # it was 400-610 N; a walk without markers of trunk and arms
    assert np.nanmax(np.abs(vertical)) < 80.0
