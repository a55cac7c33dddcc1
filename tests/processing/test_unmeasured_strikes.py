"""A strike that no plate sees has one time: the events tell it, and the ground reaction is unknown from there on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from biodyn.processing.contacts.stances_off_plates import strike_frame
from biodyn.processing.gait.events import merge_events, strikes_from_movement
from biodyn.recording import Contact, GaitEvent
from biodyn.trial.run import analyse_trial
from biodyn.trial.steps import STEPS

_SAMPLE_DATA = Path(__file__).parents[2] / "sample_data"
_UP_TO_EVENTS = STEPS[: [step.name for step in STEPS].index("inverse dynamics") + 1]


@pytest.mark.parametrize("name", ["subject01/walk02.c3d", "subject02/walk01.c3d"])
def test_a_foot_beside_the_plates_bears_from_its_event_on(name: str) -> None:
    found = analyse_trial(_SAMPLE_DATA / name, steps=_UP_TO_EVENTS, torques_only=True)
    rate_hz = found.recording.markers.rate_hz
    beside = [event for event in found.events if event.kind == "foot_strike" and event.source == "kinematic"]
    assert len(beside) >= 2
    for event in beside:
        reason, on_floor = found.reaction.reason[event.side], found.reaction.on_floor[event.side]
        first = int(np.ceil(event.time_s * rate_hz))
        assert reason[first].endswith("on the floor outside the plates")
        assert reason[first - 1].endswith("of an unmeasured strike")
        assert on_floor[first]
        assert not on_floor[first - 1]


def test_a_stance_begins_at_the_nearest_strike_of_the_events() -> None:
    strikes_s = np.array([1.004, 2.1, 3.3])

    def begin(first: int, stop: int) -> float:
        return strike_frame(first, stop, strikes_s, delay_s=0.02, rate_hz=100.0)

    assert begin(98, 170) == pytest.approx(100.4)
    assert begin(102, 170) == pytest.approx(100.4)
    assert begin(200, 260) == pytest.approx(210.0)  # the sole glides in low
    assert begin(200, 208) == pytest.approx(198.0)  # the foot leaves before the strike
    assert begin(250, 300) == pytest.approx(248.0)  # no strike is near: begin of kinematic stance less its delay
    assert begin(0, 170) == 0.0
    # there is no frame before the first
    assert strike_frame(1, 60, np.array([-0.01]), delay_s=0.0, rate_hz=100.0) == 0.0
    assert strike_frame(1, 60, np.empty(0), delay_s=0.02, rate_hz=100.0) == 0.0


def test_strikes_by_the_movement_are_those_of_the_events() -> None:
    """Two plates show the movement 10 ms late; what is at an extreme for want of a passage is told to no stance."""
    contacts = [Contact(1, 1.0, 1.6, "r", "assigned", ""), Contact(2, 1.5, 2.1, "l", "assigned", "")]
    moved = [
        GaitEvent(time_s, side, "foot_strike", "kinematic", confidence)
        for side, time_s, confidence in (("r", 1.01, 0.97), ("l", 1.51, 0.97), ("r", 2.01, 0.97), ("l", 2.53, 0.67))
    ]
    plates = [GaitEvent(contact.start_s, contact.side, "foot_strike", "plate", 0.99) for contact in contacts]
    told = strikes_from_movement(contacts, moved, 3.0, 0.01)
    merged, _ = merge_events([*plates, *moved])
    assert told["r"] == pytest.approx([1.0, 2.0])
    assert told["l"] == pytest.approx([1.5])
    assert {e.time_s for e in merged if e.side == "r" and e.source == "kinematic"} == {told["r"][-1]}
