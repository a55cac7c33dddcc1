"""Folders as laboratories lay them out, with what every file is: roles, people, sites, and the static of every walk.

`benchmarks/roles.py` counts the same over hundreds of layouts.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.folder_habits import HABITS, made_layout
from support.judged_layout import judged

_QUICK = ("qualisys", "sites", "functional_trials", "copies", "one_lacks_a_static", "numbers_in_brackets")


def _seed(habit: str, turn: int = 0) -> int:
    """An odd seed of the habit: no word was chosen on it."""
    return 2 * (tuple(HABITS).index(habit) + turn * len(HABITS)) + 1


@pytest.mark.parametrize("habit", _QUICK)
def test_a_layout(tmp_path: Path, habit: str) -> None:
    layout = made_layout(_seed(habit))
    assert layout.habit == habit
    result = judged(layout, layout.write(tmp_path))
    assert not result.wrong
    assert result.counts["silent"] == 0


@pytest.mark.parametrize(
    ("seed", "what"),
    [
        (167, "Anna_pass1 beside Anna_Calibration: 'pass' is no part of the name"),
        (225, "lw01 and its copy: the code is one walk's, no condition"),
        (389, "QuietStanding_barefoot serves walk_barefoot, arms held out or not"),
        (515, "one code in two folders nobody knows, the static called KAD: two people of two laboratories"),
    ],
)
def test_a_layout_that_was_once_taken_wrong(tmp_path: Path, seed: int, what: str) -> None:
    result = judged(made_layout(seed), made_layout(seed).write(tmp_path))
    assert not result.wrong, what


@pytest.mark.slow
@pytest.mark.parametrize("habit", sorted(HABITS))
def test_every_habit(tmp_path: Path, habit: str) -> None:
    layout = made_layout(_seed(habit, turn=1))
    result = judged(layout, layout.write(tmp_path))
    assert result.counts["silent"] == 0
    for name in ("role", "person", "static in run", "static in study"):
        assert result.counts[name] >= 0.9 * result.counts[f"{name} of"], result.wrong
