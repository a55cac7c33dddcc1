"""Events of trimmed C3D files that count from another start than the format says, and such as only look like it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from biodyn.io.formats.c3d.read import read_c3d
from biodyn.io.formats.c3d.write import C3dContent, write_c3d
from biodyn.io.plate_loading import loading_times
from biodyn.recording import ForcePlate, GaitEvent, Recording
from biodyn.simulation import Person, SimulatedTrial, TrialOptions, session
from biodyn.simulation.files import analog_channels, trial_parameters

FIRST_FRAME = 151
CAPTURE_S = (FIRST_FRAME - 1) / 100.0


@pytest.fixture(scope="module")
def walk() -> SimulatedTrial:
    options = TrialOptions(force_noise_n=0.5, force_offset_n=8.0, noise_mm=0.5, seed=2)
    return session(Person("P", height_m=1.7, mass_kg=62.0, sex="female"), options)[1]


def trimmed(path: Path, walk: SimulatedTrial, start_s: float, plates: bool = True) -> Recording:
    """A recording that begins at FIRST_FRAME of its capture, at `start_s` by the clock of its events."""
    channels, labels, units = analog_channels(walk)
    moved = tuple(replace(event, time_s=event.time_s + start_s) for event in walk.events)
    parameters = dict(trial_parameters(replace(walk, events=moved), True, ""))
    if not plates:
        parameters["FORCE_PLATFORM"] = {"USED": 0}
    content = C3dContent(
        labels=list(walk.labels),
        positions=1e3 * walk.markers @ walk.options.R_LW.T,
        rate_hz=walk.options.rate_hz,
        first_frame=FIRST_FRAME,
        analog=channels,
        analog_labels=labels,
        analog_units=units,
        parameters=parameters,
    )
    write_c3d(path, content)
    return read_c3d(path)


def codes(recording: Recording) -> set[str]:
    return {note.code for note in recording.diagnostics if note.code.startswith("events")}


def times(events: tuple[GaitEvent, ...]) -> list[float]:
    return [event.time_s for event in events]


@pytest.mark.parametrize("start_s", [CAPTURE_S, 0.0])
def test_events_are_at_the_contacts_by_either_start(walk, start_s, tmp_path):
    found = trimmed(tmp_path / "walk.c3d", walk, start_s)
    assert times(found.events) == pytest.approx(times(walk.events), abs=1e-5)
    assert codes(found) == (set() if start_s else {"events-other-start"})
    assert all("begins and ends" in note.message for note in found.diagnostics if note.code == "events-other-start")


def test_events_at_no_contact_by_any_start_stay_as_the_format_says(walk, tmp_path):
    """A fifth of a second behind the contacts, counted from the first stored frame: all within, but at no contact."""
    assert max(times(walk.events)) + 0.2 < len(walk.markers) / 100.0
    found = trimmed(tmp_path / "walk.c3d", walk, 0.2)
    assert codes(found) == {"events-outside"}
    assert len(found.events) < len(walk.events)


def test_events_of_the_whole_capture_stay(walk, tmp_path):
    """Those before the first stored frame are of what was cut off, though they would lie within the recording."""
    earlier = (GaitEvent(CAPTURE_S - 0.4, "l", "foot_off", "file"), GaitEvent(0.3, "r", "foot_strike", "file"))
    late = tuple(replace(event, time_s=event.time_s + CAPTURE_S) for event in walk.events)
    found = trimmed(tmp_path / "walk.c3d", replace(walk, events=earlier + late), 0.0)
    assert times(found.events) == pytest.approx(times(walk.events), abs=1e-5)
    assert codes(found) == {"events-outside"}


def test_without_plates_all_must_be_outside_by_the_usual_start(walk, tmp_path):
    early = tuple(event for event in walk.events if event.time_s < CAPTURE_S - 0.02)
    assert len(early) >= 2
    found = trimmed(tmp_path / "early.c3d", replace(walk, events=early), 0.0, plates=False)
    assert times(found.events) == pytest.approx(times(early), abs=1e-5)
    assert codes(found) == {"events-other-start"}
    assert codes(trimmed(tmp_path / "all.c3d", walk, 0.0, plates=False)) == {"events-outside"}


def test_loads_begin_and_end_where_feet_strike_and_leave(walk, tmp_path):
    found = trimmed(tmp_path / "walk.c3d", walk, CAPTURE_S)
    for plate in found.plates:
        begin, end = loading_times(plate)
        assert len(begin) == len(end) == 1
        for kind, time_s in (("foot_strike", begin[0]), ("foot_off", end[0])):
            assert min(abs(event.time_s - time_s) for event in walk.events if event.kind == kind) < 0.02
    flat = replace(found.plates[0], channels=np.full_like(found.plates[0].channels, 3.0))
    assert [len(changes) for changes in loading_times(flat)] == [0, 0]
    assert isinstance(flat, ForcePlate)
