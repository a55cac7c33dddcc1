"""What docs/report_standards.md claims to be in a page is in the page."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from support.standards import Point, points

from biodyn.output.figures.curves import CycleCurves, is_stance_known
from biodyn.output.report.sections.curves import curve_ranges, cycle_counts_text
from biodyn.output.report.trial_page import render_trial_report
from biodyn.trial.result import TrialResult

_SUBJECT = {"date": "2 March", "session": "first", "condition": "barefoot", "laboratory": "ours", "question": "why"}


@pytest.fixture(scope="module")
def page(walk_result: TrialResult) -> str:
    """The walk as it is reported by someone who fills in the head and records EMG."""
    record = walk_result.view.record
    named = {**record, "settings": {**record["settings"], "subject": _SUBJECT}}
    cycle = {"cycle": 1, "side": "r", "muscle": "vasti", "label": "RVAS", "percent": np.arange(101.0)}
    emg = pd.DataFrame(
        {
            **cycle,
            "envelope_mV": np.linspace(0.0, 0.1, 101),
            "share_of_reference": 0.5,
            "reference": "dynamic peak",
            "active": 1.0,
        }
    )
    view = replace(walk_result.view, record=named, tables={**walk_result.view.tables, "emg": emg})
    return render_trial_report(view, view.figures_svg())


def test_there_are_forty_points_each_answered_or_with_a_reason() -> None:
    found = points()
    assert [point.number for point in found] == list(range(1, 41))
    for point in found:
        assert point.sources <= {"C", "G", "E"}
        assert point.words
        assert point.page in ("trial", "session", "not available")


@pytest.mark.parametrize("point", [point for point in points() if point.page == "trial"], ids=lambda one: one.place)
def test_what_is_claimed_of_a_trial_is_in_its_page(page: str, point: Point) -> None:
    assert point.words in point.seen_in(page), point


def test_a_cycle_without_its_stance_is_loaded_in_part() -> None:
    whole, swing = np.ones(101), np.where(np.arange(101) > 60, 1.0, np.nan)
    last = np.where(np.arange(101) > 97, np.nan, 1.0)
    loads = CycleCurves(np.stack([swing, last]), "Nm/kg")
    motion = CycleCurves(np.stack([whole, whole]), "deg")
    told = cycle_counts_text({"hip_flexion": {"r": motion}, "hip_flexion_moment": {"r": loads}})
    assert told == "motion: right 2, left 0; loads: right 1 (1 in part), left 0"


def test_a_leg_that_is_known_in_swing_alone_has_no_peaks() -> None:
    """The largest moment of a swing is not the peak of a stance that no plate measured."""
    whole, swing = np.sin(np.linspace(0.0, 6.0, 101)), np.where(np.arange(101) > 60, 0.02, np.nan)
    curves = {"knee_angle_moment": {"r": CycleCurves(whole[None], "Nm/kg"), "l": CycleCurves(swing[None], "Nm/kg")}}
    (row,) = curve_ranges(curves, ["knee_angle_moment"], {"r": 60.0, "l": 60.0})
    assert row["r"]["max"] == "1.00"
    assert row["l"] is None
    late = CycleCurves(np.where(np.arange(101) > 20, whole, np.nan)[None], "Nm/kg")
    assert is_stance_known(late, 60.0)
    assert is_stance_known(CycleCurves(swing[None], "Nm/kg"), np.nan)  # where no foot off is known
    assert not is_stance_known(CycleCurves(np.empty((0, 101)), "Nm/kg"), 60.0)


def test_curves_without_norms_say_so(page: str, walk_result: TrialResult) -> None:
    record = walk_result.view.record
    bare = replace(walk_result.view, record={**record, "norms": {**record["norms"], "shown": []}})
    assert "No norms are shown behind these curves" in render_trial_report(bare, {})
    assert "No norms are shown behind these curves" not in page


def test_the_head_is_what_the_settings_say(page: str, walk_result: TrialResult) -> None:
    head = Point(0, frozenset(), "trial", "head", "").seen_in(page)
    for words in _SUBJECT.values():
        assert words in head
    bare = Point(0, frozenset(), "trial", "head", "").seen_in(render_trial_report(walk_result.view, {}))
    assert "Condition" not in bare
    assert walk_result.view.record["subject"]["name"] in bare
