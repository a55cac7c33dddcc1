"""A run is no part of the mean walk: trials of another activity stay out of the group results, and are listed."""

from __future__ import annotations

from biodyn.study.trial_record import other_activity_reasons


def test_the_activity_of_most_trials_of_a_condition_counts() -> None:
    kinds = {
        ("A", "1"): "walking",
        ("A", "2"): "walking",
        ("A", "3"): "squat",
        ("B", "1"): "running",
        ("B", "2"): "walking",
    }
    left_out = other_activity_reasons(kinds)
    assert set(left_out) == {("A", "3"), ("B", "1")}
    assert "squat" in left_out[("A", "3")]
    assert "walking" in left_out[("A", "3")]


def test_of_equally_many_the_walks_stay() -> None:
    assert set(other_activity_reasons({("A", "1"): "running", ("A", "2"): "walking"})) == {("A", "1")}


def test_one_activity_alone_leaves_nothing_out() -> None:
    assert other_activity_reasons({("A", "1"): "squat", ("A", "2"): "squat"}) == {}
    assert other_activity_reasons({}) == {}
