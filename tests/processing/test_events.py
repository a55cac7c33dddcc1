"""Gait events of known walkers, and the merging of contradicting sources."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.feet_on_plates import feet_on_plates
from support.walker import RATE_HZ, SMEAR_S, level_steps, plate, walk

from biodyn.processing.contacts.foot_motion import GaitPoints
from biodyn.processing.contacts.settings import ContactSettings
from biodyn.processing.gait.events import consistent_events, gait_events, merge_events, plate_events
from biodyn.processing.gait.kinematic_events import correct_mean_delays, foot_excursion_events, kinematic_events
from biodyn.processing.gait.settings import GaitSettings
from biodyn.recording import Contact, GaitEvent

STRIDE_S, SPEED_M_S, REACH_M = 1.0, 1.3, 0.35


def strider(duration_s=6.0, turn_rad_s=0.0):
    """Heel and toe swing as a cosine about the pelvis: strikes at 0, 1 ... s (right), half a stride later left.

    The walker may follow a circle; everything is turned with it.
    """
    time_s = np.arange(round(duration_s * RATE_HZ)) / RATE_HZ
    heading = turn_rad_s * time_s
    R = Rotation.from_rotvec(np.outer(heading, [0.0, 1.0, 0.0]))
    forward = R.apply([1.0, 0.0, 0.0])
    pelvis = np.cumsum(SPEED_M_S / RATE_HZ * forward, axis=0) + [0.0, 0.95, 0.0]
    heel, toe = {}, {}
    for side, lag, z in (("r", 0.0, 0.05), ("l", 0.5, -0.05)):
        # The toe is farthest behind 0.62 s after the strike.
        ahead = REACH_M * np.cos(2 * np.pi * (time_s - lag) / STRIDE_S)
        behind = REACH_M * np.cos(2 * np.pi * (time_s - lag - 0.12) / STRIDE_S) + 0.15
        zeros = np.zeros_like(time_s)
        heel[side] = pelvis + R.apply(np.column_stack([ahead, zeros - 0.9, zeros + z]))
        toe[side] = pelvis + R.apply(np.column_stack([behind, zeros - 0.93, zeros + z]))
    return time_s, heel, toe, pelvis, forward


def moved_and(heel, toe, pelvis, forward):
    """What `gait_events` is told of a strider whose soles nobody knows."""
    points = GaitPoints({}, heel, toe, pelvis, forward, np.zeros(3))
    return {"kinematic": kinematic_events(points, RATE_HZ), "pelvis_W": pelvis, "rate_hz": RATE_HZ}


def times(events, side, kind):
    return np.array([event.time_s for event in events if event.side == side and event.kind == kind])


@pytest.mark.parametrize("turn_rad_s", [0.0, 0.8])
def test_extremes_of_heel_and_toe_are_found_sub_frame_also_on_a_curve(turn_rad_s):
    _, heel, toe, pelvis, forward = strider(turn_rad_s=turn_rad_s)
    events = foot_excursion_events(heel, toe, pelvis, forward, RATE_HZ)
    # 0.5 ms: a parabola through three frames of a cosine.
    np.testing.assert_allclose(times(events, "r", "foot_strike"), [1, 2, 3, 4, 5], atol=5e-4)
    np.testing.assert_allclose(times(events, "l", "foot_strike"), [0.5, 1.5, 2.5, 3.5, 4.5, 5.5], atol=5e-4)
    np.testing.assert_allclose(times(events, "r", "foot_off"), np.arange(6) + 0.62, atol=5e-4)
    np.testing.assert_allclose(times(events, "l", "foot_off"), np.arange(6) + 0.12, atol=5e-4)


def test_a_gap_hides_only_its_own_events():
    _, heel, toe, pelvis, forward = strider()
    heel["r"][280:320] = np.nan
    events = foot_excursion_events(heel, toe, pelvis, forward, RATE_HZ)
    np.testing.assert_allclose(times(events, "r", "foot_strike"), [1, 2, 4, 5], atol=5e-4)
    merged, notes = merge_events(events)
    missing = [note for note in notes if note.code == "gait-event-missing"]
    assert len(missing) == 1
    assert "No foot strike of the right foot" in missing[0].message
    assert len(merged) == len(events)


def test_standing_has_no_events():
    _, heel, _, pelvis, forward = strider()
    still = {side: pelvis + 0.02 * (points - pelvis) for side, points in heel.items()}
    assert foot_excursion_events(still, still, pelvis, forward, RATE_HZ) == []
    assert merge_events([]) == ((), ())
    unseen = {side: np.full_like(points, np.nan) for side, points in heel.items()}
    assert foot_excursion_events(unseen, unseen, pelvis, forward, RATE_HZ) == []


def test_plate_events_of_the_walker_are_exact():
    scene = walk(level_steps(), [plate(0.5, 1.1, -0.3, 0.3), plate(1.15, 1.75, -0.3, 0.3)], 3.2, noise_n=0.5)
    contacts, _ = feet_on_plates(scene.plates, scene.outlines, RATE_HZ, ContactSettings(), smear_s=SMEAR_S)
    events = plate_events(contacts, 3.2, 1 / RATE_HZ)
    # 1 ms: where a force that grows as the root of a sine passes 20 N.
    assert times(events, "l", "foot_strike") == pytest.approx([0.5], abs=1e-3)
    assert times(events, "l", "foot_off") == pytest.approx([1.12], abs=1e-3)
    assert times(events, "r", "foot_strike") == pytest.approx([1.0], abs=1e-3)
    assert times(events, "r", "foot_off") == pytest.approx([1.62], abs=1e-3)


def contact(plate_number, start_s, end_s, side, decision="assigned"):
    return Contact(plate_number, start_s, end_s, side, decision, "")


def test_one_stance_over_two_plates_has_one_strike_and_one_off():
    events = plate_events([contact(1, 0.5, 0.9, "l"), contact(2, 0.6, 1.1, "l")], 3.0, 0.01)
    assert [(event.time_s, event.kind) for event in events] == [(0.5, "foot_strike"), (1.1, "foot_off")]


def test_cut_loads_and_the_ends_of_the_file_are_no_events():
    contacts = [
        contact(1, 0.0, 0.4, "r"),  # stood there before the file began
        contact(2, 0.5, 0.9, "l"),
        contact(2, 0.9, 1.2, None, "ambiguous"),
        contact(2, 1.2, 1.6, "r"),
        contact(1, 2.5, 2.999, "l"),
    ]
    events = plate_events(contacts, 3.0, 0.01)
    assert sorted((event.time_s, event.side, event.kind) for event in events) == [
        (0.4, "r", "foot_off"),
        (0.5, "l", "foot_strike"),
        (1.6, "r", "foot_off"),
        (2.5, "l", "foot_strike"),
    ]


def test_rejected_contacts_give_no_events():
    assert plate_events([contact(1, 0.5, 1.1, "l", "rejected")], 3.0, 0.01) == []


def test_kinematic_events_are_shifted_to_agree_with_the_plates():
    _, heel, toe, pelvis, forward = strider()
    true_lateness = {"foot_strike": -0.06, "foot_off": 0.03}  # kinematic minus plate
    contacts = [contact(1, 2.0 + 0.06, 2.62 - 0.03, "r"), contact(2, 2.5 + 0.06, 3.12 - 0.03, "l")]
    events, notes = gait_events(contacts, [], settings=GaitSettings(), **moved_and(heel, toe, pelvis, forward))
    assert notes == ()
    assert {event.source for event in events if 2.0 < event.time_s < 3.0 and event.side == "r"} == {"plate"}
    strikes, offs = times(events, "r", "foot_strike"), times(events, "r", "foot_off")
    np.testing.assert_allclose(strikes, np.arange(1, 6) - true_lateness["foot_strike"], atol=1e-3)
    np.testing.assert_allclose(offs, np.arange(6) + 0.62 - true_lateness["foot_off"], atol=1e-3)
    assert [event.time_s for event in events] == sorted(event.time_s for event in events)
    for source, low, high in (("plate", 0.985, 1.0), ("kinematic", 0.7, 0.99)):
        confidences = [event.confidence for event in events if event.source == source]
        assert confidences
        assert all(low <= value <= high for value in confidences)


def test_confidence_falls_with_the_disagreement_seen_on_the_plates():
    def confidence(scatter):
        truth = [GaitEvent(t, "r", "foot_strike", "plate") for t in (1.0, 2.0, 3.0)]
        seen = [
            GaitEvent(t + d, "r", "foot_strike", "kinematic")
            for t, d in zip((1, 2, 3), (-scatter, 0, scatter), strict=True)
        ]
        alone = GaitEvent(5.0, "r", "foot_strike", "kinematic")
        merged, _ = merge_events([*truth, *seen, alone])
        return next(event.confidence for event in merged if event.source == "kinematic")

    assert confidence(0.0) > confidence(0.02) > confidence(0.05)


def test_without_plates_the_typical_lateness_is_taken_off():
    _, heel, toe, pelvis, forward = strider()
    events, _ = gait_events([], [], settings=GaitSettings(), **moved_and(heel, toe, pelvis, forward))
    np.testing.assert_allclose(times(events, "r", "foot_strike"), np.arange(1, 6) + 0.045 * STRIDE_S, atol=1e-3)
    np.testing.assert_allclose(times(events, "r", "foot_off"), np.arange(6) + 0.62 - 0.012 * STRIDE_S, atol=1e-3)
    # as measured in laboratories that the lateness was not taken from
    measured = {"foot_strike": 0.67, "foot_off": 0.60}
    assert all(event.confidence == pytest.approx(measured[event.kind], abs=0.015) for event in events)


def test_no_event_lies_outside_the_recording():
    """The typical lateness is taken off: an off in the first frame would come before it, a strike at the end after it."""
    offs = correct_mean_delays([GaitEvent(0.005 + i, "r", "foot_off", "kinematic") for i in range(3)])
    assert [event.time_s for event in merge_events(offs)[0]] == pytest.approx([0.993, 1.993])
    strikes = correct_mean_delays([GaitEvent(0.5 + i, "r", "foot_strike", "kinematic") for i in range(3)])
    assert len(merge_events(strikes, last_s=2.54)[0]) == 2
    early = GaitEvent(-0.002, "r", "foot_off", "plate")
    assert merge_events([early])[0] == ()


def test_confidence_is_the_measured_share_within_20_ms():
    plate = plate_events([contact(1, 0.5, 1.1, "l")], 3.0, 0.01)
    assert [event.confidence for event in plate] == [pytest.approx(0.997, abs=1e-3), pytest.approx(0.990, abs=1e-3)]


def test_the_file_fills_what_nobody_else_found_and_can_stand_alone():
    _, heel, toe, pelvis, forward = strider()
    points = moved_and(heel, toe, pelvis, forward)
    stored = [GaitEvent(0.02, "r", "foot_strike", "file"), GaitEvent(3.05, "r", "foot_strike", "file")]
    events, _ = gait_events([], stored, settings=GaitSettings(), **points)
    assert [(event.time_s, event.side) for event in events if event.source == "file"] == [(0.02, "r")]
    alone, _ = gait_events([], stored, settings=GaitSettings(events="file"), **points)
    assert [event.time_s for event in alone] == [0.02, 3.05]
    moved, _ = gait_events([], stored, settings=GaitSettings(events="kinematic"), **points)
    assert {event.source for event in moved} == {"kinematic"}


@pytest.mark.parametrize("stored", [[], [GaitEvent(103.0, "r", "foot_strike", "file")]], ids=["none", "none inside"])
def test_a_source_that_was_asked_for_and_has_no_event_is_warned_of(stored):
    """Steps without gait cycles would pass in silence."""
    _, heel, toe, pelvis, forward = strider()
    points = moved_and(heel, toe, pelvis, forward)
    for asked, warned in (("file", ["gait-event-missing"]), ("auto", [])):
        events, notes = gait_events([], stored, settings=GaitSettings(events=asked), **points)
        assert [note.code for note in notes if note.severity == "warning"] == warned
        assert bool(events) == (asked == "auto")
    _, notes = gait_events(
        [], stored, settings=GaitSettings(events="file"), **(points | {"kinematic": []}), steps=False
    )
    assert notes == ()


def test_contradictions_keep_the_more_certain_event():
    events = [
        GaitEvent(1.0, "r", "foot_strike", "plate"),
        GaitEvent(1.2, "r", "foot_strike", "file"),  # a second strike in the same stance
        GaitEvent(1.62, "r", "foot_off", "plate"),
        GaitEvent(1.66, "r", "foot_strike", "file"),  # no swing is 40 ms long
    ]
    merged, notes = merge_events(events)
    assert [(event.time_s, event.source) for event in merged] == [(1.0, "plate"), (1.62, "plate")]
    assert [note.code for note in notes] == ["gait-event-dropped", "gait-event-dropped"]
    assert "Right foot strike at 1.20 s (file)" in notes[0].message


def walked_events(strides=4):
    """The events of a walk: strikes of the right foot at 1, 2 ... s, of the left one half a stride later; stances of 0.6 s."""
    return [
        GaitEvent(1.0 + number + lag + after, side, kind, "kinematic", 0.9)
        for number in range(strides)
        for side, lag in (("r", 0.0), ("l", 0.5))
        for kind, after in (("foot_strike", 0.0), ("foot_off", 0.6))
    ]


def stored_like(events, **changed):
    return [replace(event, source="file", **changed) for event in events]


@pytest.mark.parametrize("late_s", [-0.02, 0.0, 0.03])
def test_sound_events_of_a_file_are_all_believed(late_s):
    found = walked_events()
    stored = [replace(event, time_s=event.time_s + late_s) for event in stored_like(found)]
    assert consistent_events(stored, found, 1.0, 0.15) == (stored, ())
    # also those that plates and movement missed: one event, both of a stride, the first and the last of a foot
    for missed in ([5], [4, 5], [5, 8, 9], [0], [0, 1], [12, 13], [13], [2, 3, 14, 15]):
        seen = [event for number, event in enumerate(found) if number not in missed]
        assert consistent_events(stored, seen, 1.0, 0.15) == (stored, ())


def test_events_of_the_other_foot_are_left_out_and_named():
    """They made strides of half the time and length, without a word."""
    found = walked_events()
    stored = [replace(event, side="l" if event.side == "r" else "r") for event in stored_like(found)]
    events, notes = merge_events([*found, *stored])
    assert {event.source for event in events} == {"kinematic"}
    assert [note.code for note in notes] == ["gait-events-exchanged"]
    assert "right and left" in notes[0].message
    assert notes[0].value == len(stored)


def test_strikes_stored_as_offs_are_left_out_and_named():
    found = walked_events()
    stored = [
        replace(event, kind="foot_off" if event.kind == "foot_strike" else "foot_strike")
        for event in stored_like(found)
    ]
    events, notes = merge_events([*found, *stored])
    assert {event.source for event in events} == {"kinematic"}
    assert [note.code for note in notes] == ["gait-events-exchanged"]
    assert "strikes and foot offs" in notes[0].message


def test_one_event_at_another_time_is_left_out_and_the_others_stay():
    found = walked_events()
    slip = GaitEvent(2.45, "r", "foot_strike", "file")
    kept, notes = consistent_events([*stored_like(found), slip], found, 1.0, 0.15)
    assert kept == stored_like(found)
    assert [note.code for note in notes] == ["gait-events-contradicted"]
    assert "2.45 s" in notes[0].message
    # who asks for the file's own events has them all
    alone, notes = merge_events([*found, *stored_like(found), slip], "file")
    assert slip.time_s in [event.time_s for event in alone]
    assert {event.source for event in alone} == {"file"}
    assert "are used, because gait.events = 'file'" in notes[0].message
    assert "'auto'" in notes[0].hint


def test_a_wrong_frame_rate_is_named_by_the_times_of_stored_events() -> None:
    """The file stores events by its own clock: with a rate 1.2 times the true one, all are late by a fifth."""
    strides = [
        GaitEvent(0.3 + 1.05 * n + shift, side, kind, "plate")
        for n in range(3)
        for side, kind, shift in (
            ("r", "foot_strike", 0.0), ("l", "foot_off", 0.12), ("l", "foot_strike", 0.52), ("r", "foot_off", 0.65)
        )
    ]  # fmt: skip
    stored = [replace(event, time_s=1.2 * event.time_s + 0.2, source="file") for event in strides]
    _, notes = merge_events([*strides, *stored])
    (note,) = [note for note in notes if note.severity == "error"]
    assert note.code == "frame-rate-doubtful"
    assert "1.20 times the true rate" in note.message
