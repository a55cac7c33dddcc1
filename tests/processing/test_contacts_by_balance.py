"""Contacts judged by what the motion of the whole body needs, and contacts that the user sets."""

from dataclasses import replace

import numpy as np
import pytest
from support.feet_on_plates import feet_on_plates
from support.walker import ANALOG_HZ, RATE_HZ, SMEAR_S, WEIGHT_N, Step, level_steps, plate, walk, wrench_about_origin

from biodyn.errors import SettingsError
from biodyn.processing.contacts.contact_decision import unused_overrides
from biodyn.processing.contacts.force_balance import BodyBalance
from biodyn.processing.contacts.ground_reaction import contact_diagnostics
from biodyn.processing.contacts.settings import ContactOverride, ContactSettings
from biodyn.settings import Settings
from biodyn.study.discovery.definition import read_definition
from biodyn.trial.run import analyse_trial

MASS_KG = WEIGHT_N / 9.80665
#: Long single supports: right 0 to 0.9 s, left 0.75 to 1.65 s, right 1.5 to 2.4 s, on the floor or on plates.
STEPS = level_steps(4, step_s=0.75, stance_s=0.9)


def balance_of(scene, beyond=None, mass_known=True):
    """What the walker's body needs: all that its feet carry, and `beyond` (T, 6) that something else carries."""
    required = scene.truth["r"] + scene.truth["l"] + (0.0 if beyond is None else beyond)
    return BodyBalance(required, [one.wrench for one in scene.plates], MASS_KG, mass_known)


def decide(scene, balance, **changes):
    settings = ContactSettings(**changes)
    return feet_on_plates(scene.plates, scene.outlines, RATE_HZ, settings, smear_s=SMEAR_S, balance=balance)


def decisions(contacts):
    return [(contact.plate, contact.side, contact.decision) for contact in contacts]


def long_soled(scene, m):
    """The same feet, whose soles the model believes `m` longer in front than they are."""
    outlines = {}
    for side, points in scene.outlines.items():
        longer = points.copy()
        longer[:, 4:7, 0] += m
        outlines[side] = longer
    return replace(scene, outlines=outlines)


def test_a_sole_over_the_edge_is_used_where_the_plates_carry_the_whole_body():
    # The plate carries all of the foot; the model's sole is 5 cm longer and reaches 4 cm beyond it.
    corners = [plate(0.5, 0.92, -0.3, 0.3)]
    scene = long_soled(walk(STEPS, corners, 2.4), 0.05)
    without, _ = decide(scene, None)
    assert decisions(without) == [(1, "l", "rejected")]
    contacts, reaction = decide(scene, balance_of(scene))
    used = [contact for contact in contacts if contact.decision == "assigned"]
    assert [contact.side for contact in used] == ["l"]
    assert "supported" in used[0].reason
    assert abs(used[0].evidence["balance_missing_n"]) < 0.01 * WEIGHT_N
    known = reaction.measured["l"] & (scene.time_s > 0.75) & (scene.time_s < 1.65)
    assert known.sum() >= 30  # single support less the spread of the filter
    np.testing.assert_allclose(reaction.wrench["l"][known, 4], scene.truth["l"][known, 4], atol=0.02 * WEIGHT_N)


def test_a_foot_partly_on_the_floor_is_rejected_with_the_newtons_that_are_missing():
    scene = walk(STEPS, [plate(0.4, 0.8, -0.3, 0.3)], 2.4)  # the toes carry on the floor
    contacts, reaction = decide(scene, balance_of(scene))
    assert decisions(contacts) == [(1, "l", "rejected")]
    missing = contacts[0].evidence["balance_missing_n"]
    assert missing > 0.2 * WEIGHT_N
    assert f"the plates measure {missing:.0f} N less than required by the motion" in contacts[0].reason
    assert not reaction.measured["l"][80:160].any()


def test_double_support_on_the_floor_tells_nothing_of_a_sole_far_over_the_edge():
    # Heel 4 cm behind the plate by the markers: mid-stance is supported; while the right foot is on the floor nothing tells.
    scene = walk(STEPS, [plate(0.66, 1.2, -0.3, 0.3)], 2.4)
    outlines = {side: points.copy() for side, points in scene.outlines.items()}
    outlines["l"][:, [0, 10, 11], 0] -= 0.04
    scene = replace(scene, outlines=outlines)
    contacts, reaction = decide(scene, balance_of(scene))
    assert [contact.decision for contact in contacts] == ["rejected", "assigned", "rejected"]
    assert contacts[0].end_s == contacts[1].start_s
    assert not reaction.measured["l"][80:88].any()
    assert reaction.measured["l"][112:134].all()


def test_more_than_the_body_needs_is_not_the_feet_s():
    corners = [plate(-0.1, 0.5, -0.3, 0.3), plate(0.5, 1.15, -0.3, 0.3), plate(1.15, 1.75, -0.3, 0.3)]
    time_s = np.arange(2400) / ANALOG_HZ
    leaning = np.where((time_s > 0.7) & (time_s < 1.7), 0.4 * WEIGHT_N, 0.0)
    # Somebody steps on the plate right beside the left foot.
    somebody = wrench_about_origin(np.array([0.8, 0.0, -0.1]), leaning[:, None] * [0.0, 1.0, 0.0])
    scene = walk(STEPS, corners, 2.4, extra={1: somebody})
    contacts, _ = decide(scene, balance_of(scene))
    by_plate = {contact.plate: contact for contact in contacts}
    assert by_plate[1].decision == by_plate[3].decision == "assigned"
    assert by_plate[2].decision == "rejected"
    assert "more than required by the motion" in by_plate[2].reason


def test_a_stick_beside_the_plates_leaves_the_foot_s_force_to_the_foot():
    corners = [plate(-0.1, 0.5, -0.3, 0.3), plate(0.5, 1.15, -0.3, 0.3), plate(1.15, 1.75, -0.3, 0.3)]
    scene = walk(STEPS, corners, 2.4)
    lean = np.where((scene.time_s > 0.85) & (scene.time_s < 1.5), 0.3 * WEIGHT_N, 0.0)
    stick = wrench_about_origin(np.array([0.8, 0.0, 0.6]), lean[:, None] * [0.0, 1.0, 0.0])
    contacts, reaction = decide(scene, balance_of(scene, stick))
    assert all(contact.decision == "assigned" for contact in contacts)
    assert "unmeasured support" in next(contact for contact in contacts if contact.plate == 2).reason
    assert reaction.measured["l"][85:150].all()
    assert [note.code for note in contact_diagnostics(contacts, RATE_HZ)] == ["support-not-measured"]


@pytest.mark.parametrize("mass_known", [True, False])
def test_a_wrong_or_unknown_mass_is_not_held_against_contacts_that_agree(mass_known):
    corners = [plate(-0.1, 0.5, -0.3, 0.3), plate(0.5, 1.15, -0.3, 0.3), plate(1.15, 1.75, -0.3, 0.3)]
    scene = walk(STEPS, corners, 2.4)
    right = balance_of(scene)
    factor = 1.3 if mass_known else 1.0 / MASS_KG
    wrong = BodyBalance(factor * right.required, right.plates, factor * MASS_KG, mass_known)
    contacts, _ = decide(scene, wrong)
    assert all(contact.decision == "assigned" for contact in contacts)
    assert abs(contacts[1].evidence["balance_missing_n"]) < 0.02 * WEIGHT_N
    if not mass_known:
        assert contacts[1].evidence["balance_mass_kg"] == pytest.approx(MASS_KG, rel=0.01)


def test_contacts_without_a_balance_hold_no_evidence_of_it():
    scene = walk(STEPS, [plate(0.4, 0.8, -0.3, 0.3)], 2.4)
    contacts, _ = decide(scene, None)
    assert "balance_missing_n" not in contacts[0].evidence


# -- set by the user -------------------------------------------------------------------------------------------------------


def override(**entry):
    return {"override": (ContactOverride(**entry),)}


def test_the_user_gives_a_load_to_a_foot_and_takes_one_away():
    scene = walk(level_steps(), [plate(0.4, 0.8, -0.3, 0.3), plate(1.15, 1.75, -0.3, 0.3)], 3.2)
    contacts, reaction = decide(scene, None, **override(plate=1, from_s=0.45, side="left"))
    assert decisions(contacts) == [(1, "l", "assigned"), (2, "r", "assigned")]
    assert contacts[0].reason == "set by the user"
    assert contacts[0].start_s == pytest.approx(0.5, abs=2e-3)
    assert reaction.measured["l"][55:105].all()
    contacts, reaction = decide(scene, None, **override(plate=2, from_s=1.0, side="none"))
    assert decisions(contacts)[1] == (2, None, "rejected")
    assert not reaction.measured["r"][105:160].any()


def test_the_user_cuts_a_load():
    scene = walk(level_steps(), [plate(0.5, 1.1, -0.3, 0.3)], 3.2)
    contacts, _ = decide(scene, None, **override(plate=1, from_s=0.8, until_s=1.0, side="none"))
    assert [(c.decision, round(c.start_s, 2), round(c.end_s, 2)) for c in contacts] == [
        ("assigned", 0.5, 0.8),
        ("rejected", 0.8, 1.0),
        ("assigned", 1.0, 1.12),
    ]


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"plate": 1, "from_s": 2.5, "side": "left"}, "0.50 to 1.12 s"),
        ({"plate": 7, "from_s": 0.5, "side": "left"}, "no such plate (plates with a position and channels: 1)"),
    ],
)
def test_an_override_without_a_load_is_not_applied_and_reported(entry, words):
    scene = walk(level_steps(3), [plate(0.5, 1.1, -0.3, 0.3)], 2.0)
    plain, _ = decide(scene, None)
    contacts, _ = decide(scene, None, **override(**entry))
    assert decisions(contacts) == decisions(plain)
    (note,) = unused_overrides(contacts, [1], override(**entry)["override"])
    assert note.severity == "warning"
    assert words in note.message
    used = override(plate=1, from_s=0.5, side="right")["override"]
    assert not list(unused_overrides(decide(scene, None, override=used)[0], [1], used))


def test_one_step_alone_is_told_by_the_motion_of_the_whole_body():
    # A jump on one foot: no other support at any time.
    steps = [Step("r", 0.5, 1.3, (0.65, 0.0, 0.0)), Step("l", 3.0, 3.4, (3.0, 0.0, 0.0))]
    scene = walk(steps, [plate(0.5, 1.1, -0.3, 0.3)], 2.0)
    contacts, _ = decide(scene, balance_of(scene))
    assert decisions(contacts) == [(1, "r", "assigned")]
    assert contacts[0].evidence["balance_time_s"] == pytest.approx(0.8, abs=0.03)


def test_a_study_sets_contacts_of_single_trials(tmp_path):
    entry = '{plate = 2, from_s = 0.4, side = "left"}'
    (tmp_path / "study.toml").write_text(
        f'[trials."walk 1".settings.contacts]\noverride = [{entry}]\n', encoding="utf-8"
    )
    definition = read_definition(tmp_path / "study.toml")
    settings = Settings.model_validate(definition.trials["walk 1"].settings)
    assert settings.contacts.override == (ContactOverride(plate=2, from_s=0.4, side="left"),)
    (tmp_path / "study.toml").write_text(
        f"[settings.contacts]\noverride = [{entry.replace('left', 'lft')}]\n", encoding="utf-8"
    )
    with pytest.raises(SettingsError, match="side"):
        read_definition(tmp_path / "study.toml")


# -- real recordings ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.real
@pytest.mark.parametrize(
    ("walk_file", "decisions", "missing_n"),
    [
        # 5.4 cm beyond the plate: all of the body is on it in single support; the heel's landing is not told
        ("FlatFoot-Full", [(1, "r", "rejected"), (1, "r", "assigned"), (2, "l", "assigned")], {1: 5.0}),
        # 5.3 cm: a third of the body is not on it
        ("FlatFoot-One", [(1, "r", "assigned"), (2, "l", "rejected")], {2: 209.0}),
    ],
)
def test_feet_over_the_edge_are_judged_by_what_is_missing(real_data, walk_file, decisions, missing_n):
    path = real_data / "gait" / "btk_flatfoot" / f"PiG_Motion-{walk_file}.c3d"
    analysis = analyse_trial(path, settings={"uncertainty": {"compute": False}}, torques_only=True)
    assert [(c.plate, c.side, c.decision) for c in analysis.contacts] == decisions
    for contact in analysis.contacts:
        if contact.plate in missing_n:
            assert contact.evidence["balance_missing_n"] == pytest.approx(missing_n[contact.plate], abs=15.0)
